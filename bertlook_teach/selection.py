"""The best of many heads, told honestly: chosen on one half of the texts, reported on the other.

Among 36 or 144 heads something always comes out on top. Its number on the very texts that put it there is too good;
its number on other texts is fair. What the same choice yields on a randomly initialised model is the baseline.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .labels import head_label


@dataclass(frozen=True)
class BestHead:
    """A head that was chosen on some texts and measured on others.

    Attributes
    ----------
    layer, head : int
        Counted from 0.
    mean, low, high : float
        Over the texts that did not take part in the choice: their mean, the smallest and the largest.
    n : int
        How many such texts.
    """

    layer: int
    head: int
    mean: float
    low: float
    high: float
    n: int

    @property
    def label(self) -> str:
        """The printed name, counted from 1."""
        return head_label(self.layer, self.head)

    def __repr__(self) -> str:
        return f"BestHead({self.label}: mean {self.mean:.3f}, from {self.low:.3f} to {self.high:.3f}, on {self.n} other texts)"


def best_head(values) -> BestHead:
    """Choose the head with the largest mean on every second text, and report it on the texts between.

    Parameters
    ----------
    values : array of shape (text, layer, head)
        One number per head for each text. The texts with even index choose, those with odd index report.

    Returns
    -------
    BestHead

    Raises
    ------
    ValueError
        If there are fewer than two texts, or a value is NaN.

    Examples
    --------
    Head 1-2 wins on the first and third text, and is reported on the second and fourth:

    >>> best_head(np.array([[[.1, .9]], [[.8, .2]], [[.1, .7]], [[.5, .4]]]))
    BestHead(1-2: mean 0.300, from 0.200 to 0.400, on 2 other texts)
    """
    values = np.asarray(values, dtype=float)
    if values.ndim != 3 or len(values) < 2:
        raise ValueError(
            f"values must have shape (text, layer, head) with at least two texts, one to choose and one to report; got {values.shape}."
        )
    if np.isnan(values).any():
        text, layer, head = np.argwhere(np.isnan(values))[0]
        raise ValueError(
            f"the value of head {head_label(layer, head)} on text {text} is NaN, so no head is best."
        )
    means = values[::2].mean(axis=0)
    layer, head = (int(i) for i in np.unravel_index(means.argmax(), means.shape))
    reported = values[1::2, layer, head]
    return BestHead(
        layer, head, float(reported.mean()), float(reported.min()), float(reported.max()), len(reported)
    )
