"""Two pictures in steps: what a bootstrap interval is, and why the best of many flatters.

Each step is a fragment of the slide, so Space draws once more and Shift+Space goes back, live and in an exported file. What a step replaces it
covers, so paper, and a page without a slideshow, show the last one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bertlook_teach.stats import REPLICATES, draws, natural_range, sample_interval
from bertlook_teach.views import (
    INK,
    MUTED,
    OKABE_ITO,
    RULE,
    Picture,
    axis_numbers,
    coordinate,
    text,
    text_width,
)

from ..drawing.moving_pictures import step

_WIDTH, _EM = 1180.0, 30.0
_FRAMES = 6  # draws that are shown one after the other
_R = 0.3 * _EM
_STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1, 2, 5, 10)


class _Scale:
    """A horizontal axis with round numbers, on the right of the names of the rows."""

    def __init__(self, values, names: Sequence[str]):
        low, high = float(np.min(values)), float(np.max(values))
        self.step = next((s for s in _STEPS if (high - low) / s <= 6), (high - low) or 1.0)
        self.digits = max(2, 1 - int(np.floor(np.log10(self.step))))
        self.low = self.step * np.floor(low / self.step + 1e-9)
        self.high = max(self.step * np.ceil(high / self.step - 1e-9), self.low + self.step)
        self.left = max(text_width(name, _EM) for name in names) + _EM
        self.right = _WIDTH - 1.5 * _EM

    def __call__(self, value: float) -> float:
        return self.left + (value - self.low) / (self.high - self.low) * (self.right - self.left)

    def drawn(self, top: float, bottom: float, axis: str) -> list[str]:
        ticks = self._ticks()
        return [
            *self._rules(top, bottom),
            *(
                text(self(value), bottom + 0.7 * _EM, said, anchor="middle", fill=MUTED)
                for value, said in zip(ticks, axis_numbers(ticks))
            ),
            text((self.left + self.right) / 2, bottom + 1.75 * _EM, axis, anchor="middle", fill=MUTED),
        ]

    def _ticks(self) -> np.ndarray:
        return np.arange(self.low, self.high + self.step / 2, self.step)

    def _rules(self, top: float, bottom: float) -> list[str]:
        return [
            f'<path d="M{coordinate(self(value))} {coordinate(top)}V{coordinate(bottom)}" stroke="{RULE}"/>'
            for value in self._ticks()
        ]

    def cleared(self, top: float, bottom: float) -> list[str]:
        """What covers the marks of a row, with the rules of the axis over it."""
        left, width = self.left - 0.5 * _EM, _WIDTH - self.left + 0.5 * _EM
        paper = f'<rect x="{coordinate(left)}" y="{coordinate(top)}" width="{coordinate(width)}" height="{coordinate(bottom - top)}" fill="#fff"/>'
        return [paper, *self._rules(top, bottom)]


def _dots(
    scale: _Scale, values: np.ndarray, times: np.ndarray, floor: float, room: float, fill: str
) -> list[str]:
    """A dot for each time a value comes, one above the other; smaller ones where there is no room."""
    spots: dict[str, int] = {}
    x = [coordinate(scale(value)) for value in np.repeat(values, times)]
    pitch = min(2.1 * _R, room / max((x.count(one) for one in x), default=1))
    marks = []
    for one in x:
        spots[one] = spots.get(one, 0) + 1
        y = coordinate(floor - (spots[one] - 0.5) * pitch)
        marks.append(f'<circle cx="{one}" cy="{y}" r="{coordinate(min(_R, pitch / 2))}" fill="{fill}"/>')
    return marks


def _tick(x: float, top: float, bottom: float, colour: str, width: float = 5) -> str:
    return f'<path d="M{coordinate(x)} {coordinate(top)}V{coordinate(bottom)}" stroke="{colour}" stroke-width="{width:g}"/>'


def bootstrap_picture(values: Sequence[float], *, axis: str, unit: str = "texts", seed: int = 0) -> Picture:
    """How sure is a mean? Draw as many inputs again from these, some twice, some not at all; the means of such draws spread like this.

    Parameters
    ----------
    values : sequence of float
        One number an input, at least two.
    axis : str
        What the numbers are.
    unit : str
        What the inputs are called.
    seed : int

    Raises
    ------
    ValueError
        If there are fewer than two numbers, or one is not finite.
    """
    found = np.asarray(values, dtype=float)
    if found.ndim != 1 or len(found) < 2 or not np.isfinite(found).all():
        raise ValueError(f"a resample needs at least two finite numbers in a row; got shape {found.shape}.")
    n, mean = len(found), float(found.mean())
    shown = draws(n, scheme="multinomial", replicates=_FRAMES, seed=seed)
    means = draws(n, scheme="multinomial", seed=seed + 1) @ found / n
    low, high = (float(end) for end in sample_interval(means, mean, n, within=natural_range(found)))
    names = (f"the {n} {unit}", "drawn again", f"{REPLICATES:,} means")
    scale = _Scale([*found, low, high], names)
    rows = [3.2 * _EM, 7.4 * _EM, 12 * _EM]  # floors
    body = [*scale.drawn(0.4 * _EM, rows[2], axis)]
    body += [
        text(scale.left - 0.6 * _EM, floor - 0.8 * _EM, name, anchor="end")
        for floor, name in zip(rows, names)
    ]
    body += _dots(scale, found, np.ones(n, int), rows[0], 2.6 * _EM, INK)
    body.append(_tick(scale(mean), rows[0] - 2.6 * _EM, rows[0], OKABE_ITO["vermillion"]))
    for k, times in enumerate(shown):
        x = scale(float(times @ found / n))
        marks = [
            *_dots(scale, found, times, rows[1], 3.4 * _EM, INK),
            _tick(x, rows[1] - 3.4 * _EM, rows[1], OKABE_ITO["blue"]),
            _tick(x, rows[2] - 1.2 * _EM, rows[2], OKABE_ITO["blue"], 3),
        ]
        body += step([*scale.cleared(rows[1] - 3.6 * _EM, rows[1]), *marks]) if k else marks
    counts, edges = np.histogram(means, bins=30)
    bars = [
        f'<rect x="{coordinate(scale(a))}" y="{coordinate(rows[2] - 2.6 * _EM * c / counts.max())}" width="{coordinate(max(scale(b) - scale(a) - 1, 1))}" '
        f'height="{coordinate(2.6 * _EM * c / counts.max())}" fill="{OKABE_ITO["blue"]}"/>'
        for a, b, c in zip(edges, edges[1:], counts)
        if c
    ]
    top = rows[2] - 3.2 * _EM
    bracket = f'<path d="M{coordinate(scale(low))} {coordinate(top + 10)}v-10H{coordinate(scale(high))}v10" fill="none" stroke="{OKABE_ITO["vermillion"]}" stroke-width="4"/>'
    shown_mean, *ends = (f"{value:.{scale.digits}f}" for value in (mean, low, high))
    said = text(
        (scale(low) + scale(high)) / 2,
        top - 0.6 * _EM,
        f"{shown_mean} [{ends[0]}, {ends[1]}]",
        anchor="middle",
    )
    body += step([*scale.cleared(top - 1.2 * _EM, rows[2]), *bars, bracket, said])
    sentence = (
        f"At the top: {n} {unit} and their mean. Each step draws {n} of them again, some twice, some not at all, and marks the mean below. "
        f"Last: the means of {REPLICATES:,} such draws, and the interval that holds 95 % of them, widened a little, because {n} {unit} are few."
    )
    return Picture(body, _WIDTH, rows[2] + 2.4 * _EM, "A bootstrap interval", sentence, _EM)


def winners_curse_picture(heads: int = 36, cases: int = 25, rate: float = 0.1, seed: int = 0) -> Picture:
    """Heads that are all equally good: the best of them on some cases, and the same head on as many others.

    Parameters
    ----------
    heads, cases : int
    rate : float
        How often every head is right, between 0 and 1.
    seed : int

    Raises
    ------
    ValueError
        If there is no head or no case, or the rate is not one.
    """
    if heads < 1 or cases < 1 or not 0 < rate < 1:
        raise ValueError(
            f"heads and cases are at least 1 and the rate is between 0 and 1; got {heads}, {cases}, {rate}."
        )
    generator = np.random.default_rng(seed)
    scores = generator.binomial(cases, rate, (REPLICATES, heads)) / cases
    other = (
        generator.binomial(cases, rate, REPLICATES) / cases
    )  # of the head that was best: the cases know nothing of the choice
    best = scores.max(axis=1)
    names = (f"{heads} heads, {cases} cases", "its other cases", f"{REPLICATES:,} rounds")
    scale = _Scale([0.0, scores[:_FRAMES].max(), 1.5 * best.mean()], names)  # room for the words at the right
    rows = [5.2 * _EM, 7.6 * _EM, 10.2 * _EM]
    body = [*scale.drawn(0.4 * _EM, rows[2], "share of right answers")]
    body += [
        text(scale.left - 0.6 * _EM, floor - 0.8 * _EM, name, anchor="end")
        for floor, name in zip(rows, names)
    ]
    red, blue = OKABE_ITO["vermillion"], OKABE_ITO["blue"]
    for k in range(_FRAMES):
        values, times = np.unique(scores[k], return_counts=True)
        ring = f'<circle cx="{coordinate(scale(best[k]))}" cy="{coordinate(rows[0] - 0.5 * _EM)}" r="{coordinate(1.9 * _R)}" fill="none" stroke="{red}" stroke-width="4"/>'
        marks = [*_dots(scale, values, times, rows[0] - 0.2 * _EM, 4.4 * _EM, INK), ring]
        marks += _dots(scale, np.array([other[k]]), np.array([1]), rows[1] - 0.4 * _EM, _EM, blue)
        body += step([*scale.cleared(0.4 * _EM, rows[1]), *marks]) if k else marks
    ends = []
    for value, colour, label in ((best.mean(), red, "best"), (other.mean(), blue, "then")):
        ends.append(_tick(scale(value), rows[2] - 1.6 * _EM, rows[2], colour, 8))
        ends.append(text(scale(value) + 0.4 * _EM, rows[2] - 0.8 * _EM, f"{label}: {value:.2f}"))
    body += step(ends)
    sentence = (
        f"{heads} heads, each right in {100 * rate:.0f} % of all cases. Ringed: the best on {cases} cases, one of them if several are level; below, the same "
        f"head on {cases} other cases. Each step is another round. Last: the mean share of both over {REPLICATES:,} rounds."
    )
    return Picture(body, _WIDTH, rows[2] + 2.4 * _EM, "The best of many", sentence, _EM)
