"""Pictures of lesson 11 that show what switching off does: to a guess, to the loss, to single answers, to single sentences."""

from __future__ import annotations

import numpy as np

from bertlook_teach import extract_attention, head_label
from bertlook_teach.model import parse_head_label
from bertlook_teach.views import (
    INK,
    LINE,
    MUTED,
    OKABE_ITO,
    PAPER,
    RULE,
    Cell,
    Grid,
    Picture,
    coordinate,
    magnitude_colour,
    text,
)

from ...analyses.ablation import all_heads, disagreement
from ...claims.lessons import lesson11
from ...render import Estimate, TextTable
from ..lesson11 import Deck

_WIDE, _EM = 1030.0, 26.0
_BOLD = ' font-weight="650"'
_MISSED = 0.01  # of the loss: below it a head is not missed


def guesses_picture(deck: Deck, bench, head: str) -> Picture:
    """The first three guesses with all heads, with one and with its layer masked, and with both looking at all tokens equally.

    Parameters
    ----------
    deck : Deck
    bench : Bench
        Of a sentence with [MASK].
    head : str
        As "1-6"; beside each guess, what it looks at from [MASK].
    """
    c, tokens = coordinate, list(bench.sentence.tokens)
    layer, place = parse_head_label(head)
    seen = extract_attention(deck.encoder, _SENTENCE).weights[layer, place, bench.sentence.masked]
    nothing, even = np.zeros(len(tokens)), np.full(len(tokens), 1 / len(tokens))
    cases = (
        ("all heads on", "", "zero", seen),
        (f"head {head} masked", head, "zero", nothing),
        (f"head {head} disabled", head, "uniform", even),
        (f"layer {layer + 1} masked", f"{layer + 1}-*", "zero", nothing),
        (f"layer {layer + 1} disabled", f"{layer + 1}-*", "uniform", even),
    )
    found = [[*bench.run(off, how).guesses[:3]] for _, off, how, _ in cases]
    largest, body, rows = max(share for row in found for _, share in row), [], []
    body += [
        text(240, 16, f"head {head}, from [MASK]", fill=MUTED),
        text(590, 16, "the first three guesses", fill=MUTED),
    ]
    for k, ((name, _, _, weights), guesses) in enumerate(zip(cases, found)):
        y = 72 + 72.0 * k
        grid = Grid(240, y - 18, 1, len(tokens), 312 / len(tokens), 36, _EM)
        body.append(text(0, y, name, extra=_BOLD))
        body += grid.cells(
            lambda _, j, weights=weights: Cell(
                magnitude_colour(weights[j] / seen.max()) if weights.any() else PAPER,
                f"{tokens[j]}: {weights[j]:.2f}",
                edge=RULE,
            ),
            gap=(1, 0),
        )
        if not k:  # under the darkest cell, its token
            at = int(weights.argmax())
            body.append(text(240 + 312 / len(tokens) * (at + 0.5), y + 35, tokens[at], anchor="middle"))
        for at, (word, share) in enumerate(guesses):
            x = 590 + 150 * at
            body.append(text(x, y - 14, f"{word} {100 * share:.0f} %", extra=_BOLD if not at else ""))
            body.append(
                f'<rect x="{c(x)}" y="{c(y + 6)}" width="{c(135 * share / largest)}" height="20" fill="{LINE if not at else RULE}"/>'
            )
        rows.append([name, *(Estimate.per_cent(share, after=f" % {word}") for word, share in guesses)])
    said = f"{deck.Subject}, “{_SENTENCE}” A masked head hands on nothing; a disabled one still hands on the mean of what it could take."
    table = TextTable(["off", "first", "second", "third"], rows)
    return Picture(
        body,
        _WIDE,
        72 + 72 * (len(cases) - 1) + 36,
        "Masked and disabled",
        said,
        _EM,
        numbers=(table,),
        wide=True,
    )


_SENTENCE = "He opened the door and walked [MASK] the room."


def control_table(deck: Deck, bench) -> TextTable:
    """The loss with all heads and with none."""
    on, off = bench.run(), bench.run(all_heads(deck.encoder))
    rows = [["all heads on", Estimate(on.losses.mean())], ["all heads off", Estimate(off.losses.mean())]]
    said = f"{deck.Subject}: masked-LM loss, a mean of {len(on.losses)} hidden pieces. It rises, so here the heads are off."
    return TextTable(["the control", "loss, nats"], rows, said)


def flips_picture(n_items: int, share: float = 0.1, seed: int = 5) -> Picture:
    """Answers of a test set, a share of which has flipped by chance: a made-up layer that does not matter."""
    generator, columns = np.random.default_rng(seed), 70
    flipped = generator.choice(n_items, round(share * n_items), replace=False)
    right = set(flipped[generator.random(len(flipped)) < 0.5].tolist())
    grid = Grid(0, 4, -(-n_items // columns), columns, _WIDE / columns, 22, _EM)
    blue, red = OKABE_ITO["blue"], OKABE_ITO["vermillion"]

    def cell(row: int, column: int) -> Cell:
        number = columns * row + column
        if number >= n_items:
            return Cell(PAPER)
        return Cell((blue if number in right else red) if number in set(flipped.tolist()) else "#e6e9ed")

    gain = 100 * (2 * len(right) - len(flipped)) / n_items
    said = f"One made-up layer: {len(right)} answers become right (blue), {len(flipped) - len(right)} wrong (orange), {gain:+.1f} points."
    return Picture(
        grid.cells(cell, gap=(1.5, 1.5)), _WIDE, grid.bottom + 4, "Answers that flip", said, _EM, wide=True
    )


def sentences_picture(deck: Deck) -> Picture:
    """What each sentence loses without one head that nobody misses on average: the head that one sentence needs most."""
    c, effects = coordinate, deck.effects
    change = effects.losses - effects.base_losses
    unmissed = change.mean(axis=-1) / effects.base_losses.mean() < _MISSED
    layer, head = np.unravel_index(np.where(unmissed, change.max(axis=-1), -np.inf).argmax(), unmissed.shape)
    one = -np.sort(-change[layer, head])
    zero, scale, wide = 178.0, 165 / one.max(), (_WIDE - 60) / len(one)
    body = [
        f'<rect x="{c(60 + wide * k + 1)}" y="{c(zero - max(value, 0) * scale)}" width="{c(wide - 2)}" height="{c(abs(value) * scale)}" '
        f'fill="{OKABE_ITO["blue"] if value > 0 else OKABE_ITO["orange"]}"/>'
        for k, value in enumerate(one)
    ]
    body.append(f'<path d="M54 {c(zero)}H{_WIDE:.0f}" stroke="{INK}" stroke-width="2"/>')
    body += [
        text(0, 26, "nats"),
        text(46, zero, "0", anchor="end"),
        text(60 + wide + 10, 26, f"{one[0]:+.2f} nats in one sentence"),
    ]
    body.append(text(_WIDE, 26, f"mean {one.mean():+.2f} nats", anchor="end", extra=_BOLD))
    name = head_label(int(layer), int(head))
    said = (
        f"One bar for each of {len(one)} sentences: how many nats the loss rises (blue) or falls without head {name} of {deck.subject}. On "
        f"average it rises by less than 1 %. Of the {int(unmissed.sum())} heads that pass slide 5's "
        f"test, this one has the largest rise in one sentence. As the largest of {int(unmissed.sum())} × {len(one)}, it is partly luck of the masked pieces."
    )
    bottom = zero - one.min() * scale + 6
    return Picture(body, _WIDE, bottom, "One head, many sentences", said, _EM, wide=True)


def versions_table(deck: Deck) -> TextTable:
    """Whether the quantities that go by the name Iₕ rank the heads alike."""
    versions = lesson11.versions(deck.encoder, deck.resources)
    names = {"paper": "paper", "released": "code", "script": "script"}
    agree = disagreement(versions[deck.n_texts])
    rows = [
        [f"{names[a]} and {names[b]}, one batch of all {deck.n_texts}", Estimate(rho)]
        for (a, b), rho in agree.items()
        if (a, b) != ("paper", "script")  # it stands below, by batch size
    ]
    for size, each in versions.items():
        rho = disagreement(each)["paper", "script"]
        batch = f"batch {size}" if size != deck.n_texts else f"one batch of all {size}"
        rows.append([f"paper and script, {batch}", Estimate(rho)])
    low, high = lesson11.script_by_order(deck.encoder, deck.resources)
    return TextTable(
        ["pair", "rank correlation"],
        rows,
        f"Paper and code nearly agree ({agree['paper', 'released']:.2f}), the script does not. With batch size 1, its agreement with the "
        f"paper ranges from {low:.2f} to {high:.2f} when only the order of the texts changes. {deck.Subject}, {deck.n_heads} heads.",
    )
