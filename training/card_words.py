"""What the tables of the model card say, in words: sentences that would be false for other weights are made, not written.

    python training/card_words.py            write them into the cards of both shipped models, between the two marks
    python training/card_words.py --check    write nothing; exit 1 if they are not what the tables say

The tables come from `training/specimen_report.py --card`; `training/remake.py` puts them there and calls this.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # so that a plain checkout works too

from tools.written import write_or_check

CARD, MINILM_CARD = (ROOT / "data" / folder / "MODEL_CARD.md" for folder in ("model", "minilm"))
BEGIN, END = "<!-- from the tables: training/card_words.py -->", "<!-- end of what is from the tables -->"
COMMON, HIGH, NEAR = 800, 0.1, 0.02  # cases of a common relation; ten points; what is no gain worth reporting


def row(card, name):
    """The cells of a row of the first tables, by its name."""
    found = re.search(rf"^\| {re.escape(name)}[^|]*\|(.*)\|$", card, re.MULTILINE)
    if found is None:
        raise ValueError(f"the card has no row {name!r}")
    return [cell.strip() for cell in found[1].split("|")]


def heads(cell):
    """``2: 1-1 (0.98), 2-5 (0.56)`` -> the names with their shares."""
    return re.findall(r"(\d+-\d+) \(([\d.]+)\)", cell)


def relations(card):
    """The relations on unseen treebanks: (name, cases, head, accuracy, offset, its accuracy, twin's accuracy)."""
    part = card.partition("\nRelations (Universal Dependencies)")[2].partition(
        "\nThe same on the project's own treebank"
    )[0]
    pattern = r"^\|(?: \*\*| )`([^`]+)`\**" + r" \| ([^|]+)" * 6 + r" \|$"
    found = re.findall(pattern, part, re.MULTILINE)
    if not found:
        raise ValueError("the card has no table of relations")
    return [
        (name, int(cases), head.strip(), float(share), offset.strip(), float(by_offset), float(twin))
        for name, cases, head, share, offset, by_offset, twin in found
    ]


def listed(parts):
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last


def two(number):
    """A share with two places, without its 0."""
    return f"{float(number):.2f}".lstrip("0")


def words(card):
    """The list in Markdown."""
    lines = []
    for name in ("next", "previous"):
        found = heads(row(card, f"heads with > .5 on the {name} token")[0])
        said = listed([f"{head} ({two(share)})" for head, share in found]) if found else "no head"
        lines.append(f"More than half of its attention to the {name} token: {said}.")
    marked = [float(x) for x in row(card, "[CLS] + [SEP] + . and , by layer")[0].split()]
    sep = [float(x) for x in row(card, "- [SEP] by layer")[0].split()]
    above = [str(layer) for layer, share in enumerate(marked, 1) if share > 0.5]
    lines.append(
        f"[CLS], [SEP], full stops and commas take more than half of all attention in {f'layers {listed(above)}' if len(above) > 1 else f'layer {above[0]}' if above else 'no layer'}; "
        f"to [SEP] alone most goes in layer {sep.index(max(sep)) + 1}, {two(max(sep))}."
    )
    table = [r for r in relations(card) if r[0] != "punct"]
    gains = sorted((r for r in table if r[3] - r[5] >= HIGH - 1e-9), key=lambda r: r[5] - r[3])
    said = [
        f"`{name}` by {head}: {two(share)} against {two(by)} ({offset})"
        for name, _, head, share, offset, by, _ in gains
    ]
    lines.append(
        f"Ten points or more above the best fixed offset: {len(gains)} relations"
        + (f", {'; '.join(said)}." if gains else ".")
    )
    if twins := [f"`{r[0]}`" for r in gains if r[6] - r[5] >= HIGH - 1e-9]:
        lines.append(f"So is the random twin on {listed(twins)}.")
    common = [r for r in table if r[1] >= COMMON and r not in gains]
    for begin, chosen in (
        ("Above it by less, with 800 cases or more", [r for r in common if r[3] - r[5] >= NEAR]),
        (
            "No more than the offset gives (2 points or less between them)",
            [r for r in common if abs(r[3] - r[5]) < NEAR],
        ),
        ("Below it", [r for r in common if r[3] - r[5] <= -NEAR]),
    ):
        if chosen:
            lines.append(f"{begin}: {listed([f'`{r[0]}`' for r in chosen])}.")
    if "| next-sentence accuracy" in card:
        lines += _held_out_words(card)
    return "\n".join(f"- {line}" for line in lines)


def _held_out_words(card):
    """What a model with pre-training heads says of text it never saw."""
    order, commoner = (float(re.match(r"[\d.]+", cell)[0]) for cell in row(card, "next-sentence accuracy"))
    model, unigram = (float(re.match(r"[\d.]+", cell)[0]) for cell in row(card, "masked-LM perplexity"))
    return [
        f"It tells a next sentence from a random one in {two(order)} of the held-out pairs; the commoner answer is right in {two(commoner)}.",
        f"A masked wordpiece has perplexity {model:.1f} for it, {unigram:.0f} for the frequencies of these very texts.",
    ]


def with_words(card):
    """The card with the list between its marks made anew."""
    if card.count(BEGIN) != 1 or card.count(END) != 1:
        raise ValueError(f"the card must have {BEGIN!r} and {END!r} once each")
    before, after = card.partition(BEGIN)[0], card.partition(END)[2]
    return f"{before}{BEGIN}\n{words(card)}\n{END}{after}"


def main(arguments=None):
    otherwise = "the words of a card are not what its tables say; run training/card_words.py"
    return max(
        write_or_check(
            arguments,
            __doc__,
            card,
            lambda card=card: with_words(card.read_text(encoding="utf-8")),
            otherwise,
        )
        for card in (CARD, MINILM_CARD)
    )


if __name__ == "__main__":
    sys.exit(main())
