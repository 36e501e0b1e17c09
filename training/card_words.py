"""What the tables of the model card say, in words: sentences that would be false for other weights are made, not written.

    python training/card_words.py            write them into the cards of both shipped models, between the two marks
    python training/card_words.py --check    write nothing; exit 1 if they are not what the tables say

The tables come from `training/specimen_report.py --card`; `training/remake.py` puts them there and calls this.
"""

import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # so that a plain checkout works too

from tools.page_tables import tables_of
from tools.written import write_or_check

CARD, MINILM_CARD = (ROOT / "data" / folder / "MODEL_CARD.md" for folder in ("model", "minilm"))
BEGIN, END = "<!-- from the tables: training/card_words.py -->", "<!-- end of what is from the tables -->"
COMMON, HIGH, NEAR = 800, 0.1, 0.02  # cases of a common relation; ten points; what is no gain worth reporting


class Relation(NamedTuple):
    """A relation on unseen treebanks, in the order of the table's columns."""

    name: str
    cases: int
    head: str
    accuracy: float
    offset: str
    by_offset: float
    twin: float

    @property
    def gain(self):
        return self.accuracy - self.by_offset


def row(card, name):
    """The cells of the first row that begins with a name."""
    rows = (cells for table in tables_of(card) for cells in table.rows)
    found = next((cells for first, *cells in rows if first.startswith(name)), None)
    if found is None:
        raise ValueError(f"the card has no row {name!r}")
    return found


def heads(cell):
    """``2: 1-1 (0.98), 2-5 (0.56)`` -> the names with their shares."""
    return re.findall(r"(\d+-\d+) \(([\d.]+)\)", cell)


def relations(card):
    """The relations on unseen treebanks, the first of two such tables."""
    table = next((table for table in tables_of(card) if table.columns[0] == "relation (UD)"), None)
    if table is None:
        raise ValueError("the card has no table of relations")
    return [
        Relation(name, int(cases), head, float(accuracy), offset, float(by_offset), float(twin))
        for name, cases, head, accuracy, offset, by_offset, twin in table.rows
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
    table = [r for r in relations(card) if r.name != "punct"]
    gains = sorted((r for r in table if r.gain >= HIGH - 1e-9), key=lambda r: -r.gain)
    said = [
        f"`{r.name}` by {r.head}: {two(r.accuracy)} against {two(r.by_offset)} ({r.offset})" for r in gains
    ]
    lines.append(
        f"Ten points or more above the best fixed offset: {len(gains)} relations"
        + (f", {'; '.join(said)}." if gains else ".")
    )
    if twins := [f"`{r.name}`" for r in gains if r.twin - r.by_offset >= HIGH - 1e-9]:
        lines.append(f"So is the random twin on {listed(twins)}.")
    common = [r for r in table if r.cases >= COMMON and r not in gains]
    for begin, chosen in (
        ("Above it by less, with 800 cases or more", [r for r in common if r.gain >= NEAR]),
        (
            "No more than the offset gives (2 points or less between them)",
            [r for r in common if abs(r.gain) < NEAR],
        ),
        ("Below it", [r for r in common if r.gain <= -NEAR]),
    ):
        if chosen:
            lines.append(f"{begin}: {listed([f'`{r.name}`' for r in chosen])}.")
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
