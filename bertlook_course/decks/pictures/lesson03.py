"""What lesson 03 draws without a model of ours: made-up maps, and what was published."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bertlook_teach.measures import attention_entropy
from bertlook_teach.views import Picture

from ...published import published_layers, published_sst2_entropy, read_published
from ...render import (
    Estimate,
    TextTable,
    figure_picture,
    interval_curves,
    joined,
    small_maps,
)

_RELEASED = "Numbers released with the code of egebasaran99/bert-attention-entropy."
DOGS = ("my dog is cute", "he likes eating")  # short: a map of few cells


def errata_picture() -> Picture:
    """Layer means of BERT-base as published, to hold against what the paper's text says of them."""
    sep, sep_sep, cls = (published_layers(measure) for measure in ("sep", "sep_to_sep", "cls"))
    over = " and ".join(f"{i + 1} ({sep_sep[i]:.3f})" for i in np.flatnonzero(sep_sep > 0.9))
    figure = interval_curves(
        {},
        published={"all to [SEP]": sep, "[SEP] to [SEP]": sep_sep, "all to [CLS]": cls},
        baseline=("half", 0.5),
        ylabel="share",
        ylim=(0, 1),
        size=(9.8, 3.4),
    )
    return figure_picture(
        figure,
        "BERT-base, layer means of Clark et al. 2019, Figure 2. To [SEP], over half: layers "
        f"{', '.join(layers(sep > 0.5))}. [SEP] to [SEP], over .9: layers {over}. "
        f"To [CLS]: {cls[0]:.2f} in layer 1, {cls[1]:.2f} in layer 2, {cls[2]:.2f} in layer 3.",
    )


def layers(mask) -> list[str]:
    """The layers where a mask is true, counted from 1."""
    return [str(i + 1) for i in np.flatnonzero(mask)]


def diagonals_picture(known: np.ndarray, names: Sequence[str], sentence: str, **look) -> Picture:
    """A map whose answer is known, beside the cells that count as previous and as next."""
    maps = (known, np.eye(len(known), k=-1), np.eye(len(known), k=1))
    return small_maps(
        {name: (cells, "") for name, cells in zip(names, maps)}, sentence, aspect="auto", **look
    )


def focus_picture() -> Picture:
    """Three made-up maps, and their entropy in nats, as so many tokens, and normalised."""
    one = np.eye(8)
    maps = {"one token": one, "two tokens": (one + one[::-1]) / 2, "all tokens": np.full((8, 8), 1 / 8)}
    nats = {name: float(attention_entropy(rows)) for name, rows in maps.items()}
    shown = {
        name: (
            rows,
            f"{nats[name]:.2f} nats = ln {np.exp(nats[name]):.0f}\nnormalised {nats[name] / np.log(8):.2f}",
        )
        for name, rows in maps.items()
    }
    said = ", ".join(f"{name} ({value:.2f} nats)" for name, value in nats.items())
    return small_maps(shown, f"Every row looks at {said}.", aspect="auto")


def average_table(share: Sequence[float], macro: float, pooled: float) -> TextTable:
    """The share of [SEP] in a short and in a long text, and two means of them."""
    names = (
        "text of 10 tokens",
        "text of 100 tokens",
        "each text weighs the same",
        "each token weighs the same",
    )
    return TextTable(
        ["what", "share of [SEP]"],
        [[name, Estimate(value, form=".3f")] for name, value in zip(names, (*share, macro, pooled))],
        f"Two averages of the same two texts: {macro:.3f} and {pooled:.3f}.",
    )


def order_pictures() -> dict[str, Picture]:
    """Entropy of a BERT-base on sentences as they are and with their words shuffled, for a menu: both, and the difference."""
    plain, shuffled = (published_sst2_entropy(of) for of in ("sentences", "words shuffled"))
    change = shuffled.mean - plain.mean
    # The two means are of the same sentences; how they go together was not released: the widest that any correlation allows.
    bound = 1.96 * (plain.deviation + shuffled.deviation) / np.sqrt(plain.n)
    beyond, most = int((np.abs(change) > bound).sum()), int(np.abs(change).argmax())
    largest = f"{change[most]:+.2f} nats from {plain.mean[most]:.2f}"
    broader, narrower = (", ".join(layers(moved)) or "none" for moved in (change > 0.05, change < -0.01))
    tokens = " to ".join(f"{np.exp(of.mean[most]):.1f}" for of in (plain, shuffled))
    levels = {"BERT-base (published)": plain.mean, "words shuffled (published)": shuffled.mean}
    curve = {"BERT-base (published): shuffled minus as they are": (change, change - bound, change + bound)}
    return {
        "both": figure_picture(
            interval_curves({}, published=levels, ylabel="entropy, nats"),
            f"Mostly as before: broader in layers {broader} (in {most + 1}, from {tokens} tokens), narrower in {narrower}; "
            f"n = {plain.n:,} (SST-2). {_RELEASED}",
        ),
        "the difference": figure_picture(
            interval_curves(curve, baseline=("no change", 0), ylabel="nats", ylim=(-0.1, 0.25)),
            f"{beyond} of {len(change)} layers change beyond chance, layer {most + 1} most: {largest}. "
            f"Band: the widest possible (95 %, n = {plain.n:,}). {_RELEASED}",
        ),
    }


def position_table() -> TextTable:
    """Heads of BERT-base that look at the next token, as the paper's plot has them, and what its text says."""
    rows = [r for r in read_published("clark_relative_position") if "next token" in r.quantity]
    heads = [r for r in rows if r.head]
    in_text = ", ".join(r.layer for r in rows if "text" in r.quantity)
    in_plot = ", ".join(r.layer for r in heads if float(r.value) > 0.5)
    return TextTable(
        ["head", "share"],
        [[f"head {r.layer}-{r.head}", Estimate(float(r.value))] for r in heads],
        f"Shares: read off a plot in the authors' notebook (good to about 0.02); heads: Figure 6. Over half in the plot: layers {in_plot}; "
        f"named in the text: layers {in_text}.",
    )


def said_top(what: str, curves: Mapping[str, np.ndarray]) -> str:
    """In which layer each curve is highest."""
    return _each(what, curves, lambda curve: f"is highest in layer {curve.argmax() + 1} ({curve.max():.3f})")


def said_most(what: str, curves: Mapping[str, np.ndarray]) -> str:
    """How high each curve comes, and where."""
    return _each(what, curves, lambda curve: f"at most {curve.max():.3f} (layer {curve.argmax() + 1})")


def said_ends(what: str, curves: Mapping[str, np.ndarray]) -> str:
    """Which models look broadly in layer 1, and which are nowhere sharper than there; then their numbers."""
    sharp = [who for who, curve in curves.items() if curve.argmin() == 0]
    broad = [who for who in curves if who not in sharp]
    starts = "; ".join(
        f"{joined(names)} {'start' if len(names) > 1 else 'starts'} {how}"
        for names, how in ((broad, "broad"), (sharp, "sharp"))
        if names
    )
    numbers = _each(what, curves, _from_end_to_end)
    return f"{starts[0].upper()}{starts[1:]}. {numbers[0].upper()}{numbers[1:]}"


def _each(what: str, curves: Mapping[str, np.ndarray], say: Callable[[np.ndarray], str]) -> str:
    return f"{what}: {'; '.join(f'{who} {say(curve)}' for who, curve in curves.items())}"


def _from_end_to_end(curve: np.ndarray) -> str:
    """Broad, sharp, broad again, or not: the first layer, the lowest, and the last one."""
    lowest = int(curve.argmin())
    if lowest == 0:
        return f"is sharpest in layer 1 ({curve[0]:.2f}) and ends at {curve[-1]:.2f}"
    ends = "" if lowest == len(curve) - 1 else f" and ends at {curve[-1]:.2f}"
    return f"falls from {curve[0]:.2f} to {curve[lowest]:.2f} in layer {lowest + 1}{ends}"
