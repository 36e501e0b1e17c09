"""Compare two profiles of one corpus: by how much does a layer differ, and is that more than chance? What is a head called?"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from .. import __version__
from ..disk import Table, csv_text, json_text, load_arrays, read_json, save_arrays, write_files
from ..model import head_label
from ..stats import CONFIDENCE, REPLICATES, natural_range, sample_interval, unit_weights
from .surface import surface_measures

MOST_BYTES = 20_000_000  # of what a profile is about


FILES = {"table": "profile.csv", "about": "profile.json", "state": "profile_sums.npz"}


@dataclass(eq=False)
class Profile(Table):
    """A table with one row per head and, for each measure, its mean, interval and n.

    Attributes
    ----------
    about : dict
        Model, fingerprint, corpus, segments, package version: what is needed to repeat the profile.
    sums : dict of str -> ndarray of shape (1 + REPLICATES, layer, head)
        Weighted sums: row 0 of the corpus itself, the others of the bootstrap replicates.
    counts : ndarray of shape (1 + REPLICATES,)
        The weights that went into each row of ``sums``.
    """

    about: dict = field(default_factory=dict)
    sums: dict[str, np.ndarray] = field(default_factory=dict)
    counts: np.ndarray = field(default_factory=lambda: np.zeros(1 + REPLICATES))
    n_tokens: int = 0
    n_truncated: int = 0

    @property
    def n(self) -> int:
        """Number of inputs measured."""
        return int(self.counts[0])

    @property
    def measures(self) -> list[str]:
        return list(self.sums)

    def mean(self, measure: str) -> np.ndarray:
        """Mean over the inputs, shape (layer, head)."""
        return self.of_measure(measure)[0] / self.n

    def interval(self, measure: str) -> tuple[np.ndarray, np.ndarray] | None:
        """Lower and upper end of the 95 % bootstrap interval, each (layer, head), in its `natural_range`; None for a single input."""
        return None if self.n < 2 else self._interval(self.of_measure(measure))

    def layer_mean(self, measure: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mean over the heads of each layer, with its interval: three arrays of shape (layer,)."""
        if self.n < 2:
            raise ValueError("an interval needs at least two inputs; the profile holds one.")
        sums = self.of_measure(measure).mean(axis=2)
        return sums[0] / self.n, *self._interval(sums)

    def _interval(self, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of sums that begin with the corpus."""
        drawn = self.counts > 0
        mean, *means = np.moveaxis(np.moveaxis(sums[drawn], 0, -1) / self.counts[drawn], -1, 0)
        return sample_interval(means, mean, self.n, within=natural_range(means))

    def of_measure(self, measure: str) -> np.ndarray:
        """The sums of one measure, shape (1 + REPLICATES, layer, head)."""
        if measure not in self.sums:
            raise KeyError(
                f"the profile has no measure {measure!r}; it has {', '.join(self.sums) or 'none'}."
            )
        return self.sums[measure]

    def add(self, values: Mapping[str, np.ndarray], n_tokens: int, truncated: bool = False) -> None:
        """Take in one input's measures, each an array of shape (layer, head)."""
        self.add_many(
            {name: np.asarray(value)[None] for name, value in values.items()}, [n_tokens], [truncated]
        )

    def add_many(
        self, values: Mapping[str, np.ndarray], n_tokens: Sequence[int], truncated: Sequence[bool]
    ) -> None:
        """Take in several inputs' measures, each an array of shape (input, layer, head): as one by one, to rounding."""
        first = self.about.get("first", 0) + self.n
        weights = np.stack([unit_weights(first + i) for i in range(len(n_tokens))], axis=1)
        # The corpus itself, and the replicates.
        weights = np.concatenate([np.ones_like(weights[:1]), weights]).astype(float)
        for name, value in values.items():
            value = np.asarray(value, dtype=float)
            if value.ndim != 3 or not np.isfinite(value).all():
                wrong = [not np.isfinite(one).all() for one in value]
                raise ValueError(
                    f"measure {name!r} must give one finite number per head, shape (layer, head), for every input; "
                    f"for input {self.n + (wrong.index(True) if any(wrong) else 0)} it gave shape {value.shape[1:]}"
                    + (", with NaN or infinity among the values." if any(wrong) else ".")
                )
            self.sums.setdefault(name, np.zeros((1 + REPLICATES, *value.shape[1:])))
            self.sums[name] += np.tensordot(weights, value, 1)
        self.counts += weights.sum(axis=1)
        self.n_tokens += sum(n_tokens)
        self.n_truncated += sum(truncated)

    def merge(self, other: Profile) -> Profile:
        """The profile of both corpora together. ``other`` must have been started with ``first=`` at our n."""
        for key in ("fingerprint", "segments", "version"):
            if self.about.get(key) != other.about.get(key):
                raise ValueError(
                    f"profiles of different {key} cannot be merged: {self.about.get(key)!r} and {other.about.get(key)!r}."
                )
        if self.measures != other.measures:
            raise ValueError(
                f"profiles of different measures cannot be merged: {self.measures} and {other.measures}."
            )
        if other.about.get("first", 0) != self.about.get("first", 0) + self.n:
            raise ValueError(
                f"the second profile must begin where the first ends, at input {self.about.get('first', 0) + self.n}; it begins at "
                f"{other.about.get('first', 0)}. Otherwise both would draw the same bootstrap weights."
            )
        about = {**self.about, "corpus": f"{self.about.get('corpus')} + {other.about.get('corpus')}"}
        texts = [one.about.get("texts") for one in (self, other)]
        about["texts"] = None if None in texts else sum(texts)
        return Profile(
            about=about,
            sums={name: self.sums[name] + other.sums[name] for name in self.sums},
            counts=self.counts + other.counts,
            n_tokens=self.n_tokens + other.n_tokens,
            n_truncated=self.n_truncated + other.n_truncated,
        )

    def rows(self) -> list[dict]:
        """One dict per head: layer and head from 0, the printed label, n, and each measure with low and high."""
        if not self.n:
            raise ValueError("the profile is empty: no input has been measured.")
        intervals = {name: self.interval(name) for name in self.sums}
        means = {name: self.mean(name) for name in self.sums}
        n_layers, n_heads = next(iter(means.values())).shape
        table = []
        for layer in range(n_layers):
            for head in range(n_heads):
                row = {"layer": layer, "head": head, "label": head_label(layer, head), "n": self.n}
                for name, mean in means.items():
                    row[name] = float(mean[layer, head])
                    for end, values in zip(("low", "high"), intervals[name] or (None, None)):
                        row[f"{name}_{end}"] = None if values is None else float(values[layer, head])
                table.append(row)
        return table

    def save(self, folder: str | Path) -> Path:
        """Write ``profile.csv`` (the table), ``profile.json`` (what it is about) and the sums needed to merge."""
        folder = Path(folder)
        rows = self.rows()
        about = {
            **self.about,
            "n": self.n,
            "n_tokens": self.n_tokens,
            "n_truncated": self.n_truncated,
            "measures": self.measures,
        }
        rounded = [{k: round(v, 6) if isinstance(v, float) else v for k, v in row.items()} for row in rows]
        state = io.BytesIO()
        save_arrays(state, {"counts": self.counts, **{f"sum_{k}": v for k, v in self.sums.items()}})
        contents = {
            FILES["table"]: csv_text(rounded),
            FILES["about"]: json_text(about, indent=2),
            FILES["state"]: state.getvalue(),
        }
        write_files({folder / name: content for name, content in contents.items()})
        return folder

    @classmethod
    def load(cls, folder: str | Path) -> Profile:
        """Read what :meth:`save` wrote.

        Raises
        ------
        FileNotFoundError
            If a file is missing.
        ValueError
            If they are not what was written, or too large to be.
        """
        folder = Path(folder)
        for file in FILES.values():
            if not (folder / file).is_file():
                raise FileNotFoundError(
                    f"{folder} holds no {file}; `bertlook profile --out {folder}` writes it."
                )
        try:
            about = read_json(folder / FILES["about"], MOST_BYTES)
            state = load_arrays(folder / FILES["state"])
            sums = {name: state[f"sum_{name}"] for name in about.pop("measures")}
            about.pop("n")
            return cls(about, sums, state["counts"], about.pop("n_tokens"), about.pop("n_truncated"))
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{folder} does not hold a profile as `bertlook profile` writes it: {type(error).__name__}: {error}."
            ) from None

    def __repr__(self) -> str:
        return f"Profile({self.about.get('model', '?')}, n={self.n}, {len(self.sums)} measures)"


def profile_heads(
    encoder,
    corpus: Iterable,
    measures: Mapping[str, Callable] | None = None,
    *,
    segments: str = "standard",
    batch_size: int = 8,
    truncate: bool = True,
    name: str = "",
    first: int = 0,
    progress: Callable[[Iterable], Iterable] | None = None,
) -> Profile:
    """Measure every head on every input of a corpus, in one pass and constant memory.

    Parameters
    ----------
    encoder : Encoder
    corpus : iterable of texts, pairs of texts (tuples) or split texts (lists of words)
    measures : dict of name -> function(Attention) -> array of shape (layer, head)
        Default: :func:`bertlook_teach.measures.surface_measures`.
    segments : {"standard", "zeros"}
        ``"zeros"`` as in the code released by Clark et al.
    truncate : bool
        Cut inputs that are too long (they are counted in ``n_truncated``) rather than stop.
    name : str
        What to call the corpus in the result.
    first : int
        Number of the first input, when the corpus is one part of several whose profiles are to be merged.
    progress : function
        Wrapped round the stream of inputs, for example ``tqdm``.

    Returns
    -------
    Profile

    Examples
    --------
    >>> profile_heads(load_encoder("specimen"), load_pairs()).mean("next")       # doctest: +SKIP
    """
    from ..model import check_encoder, iter_attention

    check_encoder(encoder)
    measures = surface_measures() if measures is None else measures
    if not isinstance(measures, Mapping):
        raise TypeError(
            f"measures have names: give a mapping such as {{'entropy': attention_entropy}}; got {measures!r:.60}."
        )
    result = Profile()
    result.about.update(
        model=encoder.name,
        fingerprint=encoder.fingerprint,
        n_layers=encoder.n_layers,
        n_heads=encoder.n_heads,
        corpus=name,
        segments=segments,
        first=first,
        interval=f"{CONFIDENCE:.0%} Poisson bootstrap over inputs, {REPLICATES} replicates",
        version=__version__,
        texts=0,
    )
    stream = iter_attention(encoder, corpus, batch_size=batch_size, segments=segments, truncate=truncate)
    for attention in stream if progress is None else progress(stream):
        values = {measure: function(attention) for measure, function in measures.items()}
        read = f"{first + result.n} {attention.text} {attention.text_pair}"
        result.about["texts"] += zlib.crc32(read.encode())  # a sum: that of merged parts is that of the whole
        result.add(values, attention.n_tokens, attention.truncated)
    if not result.n:
        raise ValueError("the corpus is empty: there was nothing to measure.")
    return result


# --- what a head is called ---------------------------------------------------------------------------------------
UNLABELLED = "unlabelled"

# Measure -> (label, threshold), in the order of the rule: a later line overrides an earlier one. Clark's notebook says
# punct > .6, but the labels printed in Figure 6 begin at .507; .5 reproduces the figure. "Broad" is 3.8 nats in texts
# of 122.1 tokens; divided by ln n it can be asked of texts of any length.
THRESHOLDS: dict[str, tuple[str, float]] = {
    "next": ("next", 0.5),
    "previous": ("previous", 0.5),
    "entropy_normalized": ("broad", 3.8 / float(np.log(122.1))),
    "cls": ("[CLS]", 0.6),
    "sep": ("[SEP]", 0.6),
    "punct": ("punct", 0.5),
}


def behaviour_labels(
    measures: Mapping[str, object], thresholds: Mapping[str, tuple[str, float]] = THRESHOLDS
) -> np.ndarray:
    """A name for what each head mostly does, by the rule of Clark et al. (2019), Figure 6.

    Parameters
    ----------
    measures : Profile, or mapping of name to array of shape (layer, head)
        The means over a corpus that ``thresholds`` asks for; those of `bertlook_teach.measures.surface_measures`.
    thresholds : mapping of measure to (label, threshold)
        Strictly above the threshold gives the label; a later entry overrides an earlier one.

    Returns
    -------
    array of str, shape (layer, head)
        A label of ``thresholds``, or "unlabelled". The figure's six linguistic heads are not among them: they need a
        treebank (lessons 6 and 7).

    Raises
    ------
    ValueError
        If a measure is missing, is not (layer, head), or holds NaN.

    Examples
    --------
    >>> rule = {"next": ("next", 0.5), "sep": ("[SEP]", 0.6)}
    >>> behaviour_labels({"next": [[0.9, 0.2]], "sep": [[0.1, 0.7]]}, rule).tolist()
    [['next', '[SEP]']]
    """
    if isinstance(measures, Profile):
        measures = {name: measures.mean(name) for name in measures.measures}
    if missing := [name for name in thresholds if name not in measures]:
        raise ValueError(
            f"the rule needs {', '.join(map(repr, thresholds))}; missing: {', '.join(map(repr, missing))}."
        )
    labels = None
    for name, (label, threshold) in thresholds.items():
        values = np.asarray(measures[name], dtype=float)
        if values.ndim != 2 or (labels is not None and values.shape != labels.shape):
            raise ValueError(
                f"measure {name!r} must have shape (layer, head), the same for all; got {values.shape}."
            )
        if not np.isfinite(values).all():
            raise ValueError(
                f"measure {name!r} holds a number that is not finite; was it taken over no tokens?"
            )
        if labels is None:
            labels = np.full(values.shape, UNLABELLED, dtype=object)
        labels[values > threshold] = label
    return labels.astype(str)
