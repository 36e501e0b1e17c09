"""Compare a CoNLL-U treebank with reference treebanks, as Markdown tables.

Does a small treebank written for teaching look like real ones? The report sets sentence lengths,
word classes, relations, arc lengths and arc directions side by side, and marks every relation that
is less than half or more than twice as frequent as in the references::

    python tools/treebank_report.py data/treebank/treebank.conllu \\
        --reference EWT en_ewt-ud-dev.conllu en_ewt-ud-test.conllu \\
        --reference GUM en_gum-ud-dev.conllu en_gum-ud-test.conllu

The files of one ``--reference`` are pooled; its first word is the name of the column. Files ending in
``.gz`` are read as they are. Multi-word ranges and empty nodes are not counted: a "word" is a syntactic word.
"""

from __future__ import annotations

import argparse
import gzip
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import conllu

LENGTH_BINS = ((1, 5), (6, 10), (11, 15), (16, 20), (21, 25), (26, 30), (31, 10_000))
ARC_BINS = ((1, 1), (2, 2), (3, 3), (4, 4), (5, 9), (10, 10_000))


@dataclass
class Statistics:
    """Counts of one treebank, or of several pooled.

    Attributes
    ----------
    name : str
        The heading of its column.
    lengths : list of int
        Syntactic words in each sentence, punctuation included.
    upos, relations : Counter
        How often each word class and each relation (with its subtype) occurs.
    arcs : dict of str to list of int
        For each relation, head position minus dependent position: negative when the head
        stands to the left. The root has no arc.
    crossing : int
        Arcs that are not projective.
    """

    name: str
    lengths: list[int] = field(default_factory=list)
    upos: Counter = field(default_factory=Counter)
    relations: Counter = field(default_factory=Counter)
    arcs: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    crossing: int = 0

    @property
    def words(self) -> int:
        return sum(self.lengths)

    def add(self, words: list[tuple[int, str, int, str]]) -> None:
        """Count one sentence given as ``(position, upos, head, relation)`` for each word."""
        heads = {position: head for position, _, head, _ in words}
        self.lengths.append(len(words))
        for position, upos, head, relation in words:
            self.upos[upos] += 1
            self.relations[relation] += 1
            if head:
                self.arcs[relation].append(head - position)
                self.crossing += not is_projective(position, heads)


def is_projective(position: int, heads: dict[int, int]) -> bool:
    """Say whether every word between a word and its head hangs, directly or not, on that head."""
    head = heads[position]
    for between in range(min(position, head) + 1, max(position, head)):
        ancestor = between
        while ancestor and ancestor != head:
            ancestor = heads[ancestor]
        if ancestor != head:
            return False
    return True


def read_words(path: str | Path) -> Iterator[list[tuple[int, str, int, str]]]:
    """Yield each sentence of a CoNLL-U file as ``(position, upos, head, relation)`` tuples.

    Raises
    ------
    SystemExit
        If the file is missing, holds no sentence, is not CoNLL-U, or has a word without a head.
    """
    path = Path(path)
    if not path.is_file():
        raise SystemExit(f"{path}: no such file. Give the path of a CoNLL-U file (.conllu or .conllu.gz).")
    opener = gzip.open if path.suffix == ".gz" else open
    found = False
    with opener(path, "rt", encoding="utf-8-sig") as lines:
        try:
            for sentence in conllu.parse_incr(lines):
                found = True
                # Leave out multi-word ranges and empty nodes: their ids are tuples.
                tokens = [token for token in sentence if isinstance(token["id"], int)]
                words = [(token["id"], token["upos"], token["head"], token["deprel"]) for token in tokens]
                if any(head is None or not 0 <= head <= len(words) for _, _, head, _ in words):
                    where = sentence.metadata.get("sent_id", sentence.metadata.get("text", "a sentence"))
                    raise SystemExit(
                        f"{path}, {where}: expected a head between 0 and {len(words)} in column 7 of every word."
                    )
                yield words
        except (conllu.exceptions.ParseException, KeyError) as error:  # KeyError: a missing column
            raise SystemExit(f"{path}: not readable as CoNLL-U: {error}") from error
    if not found:
        raise SystemExit(f"{path}: no sentence found. Is it a CoNLL-U file, ten columns divided by tabs?")


def count(name: str, paths: Iterable[str | Path]) -> Statistics:
    """Count the sentences of one or more files under one name."""
    result = Statistics(name)
    for path in paths:
        for words in read_words(path):
            result.add(words)
    return result


def share(part: float, whole: float) -> float:
    """Return a percentage; 0 when there is nothing to divide by."""
    return 100 * part / whole if whole else 0.0


def table(header: list[str], rows: list[list[str]]) -> str:
    """Lay out a Markdown table, first column left, the others right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    align = [str.ljust] + [str.rjust] * (len(header) - 1)

    def line(cells: list[str]) -> str:
        return "| " + " | ".join(a(c, w) for a, c, w in zip(align, cells, widths, strict=True)) + " |"

    rule = (
        "|" + "|".join(["-" * (w + 2) if i == 0 else "-" * (w + 1) + ":" for i, w in enumerate(widths)]) + "|"
    )
    return "\n".join([line(header), rule, *map(line, rows)])


def overview(banks: list[Statistics]) -> str:
    """Size, sentence length and the overall shape of the arcs."""
    arcs = [[a for list_ in bank.arcs.values() for a in list_] for bank in banks]
    lengths = [[abs(a) for a in list_] for list_ in arcs]
    rows = [
        ["sentences"] + [f"{len(bank.lengths):,}" for bank in banks],
        ["words"] + [f"{bank.words:,}" for bank in banks],
        ["mean sentence length"] + [f"{statistics.mean(bank.lengths):.1f}" for bank in banks],
        ["median sentence length"] + [f"{statistics.median(bank.lengths):g}" for bank in banks],
    ]
    for low, high in LENGTH_BINS:
        label = f"{low} to {high} words, %" if high < 10_000 else f"over {low - 1} words, %"
        rows.append(
            [label]
            + [f"{share(sum(low <= n <= high for n in b.lengths), len(b.lengths)):.1f}" for b in banks]
        )
    rows.append(["mean arc length"] + [f"{statistics.mean(list_):.2f}" for list_ in lengths])
    for low, high in ARC_BINS:
        label = f"arcs of length {low}" if low == high else f"arcs of length {low} to {high}"
        label = label if high < 10_000 else f"arcs of length {low} or more"
        rows.append(
            [label + ", %"] + [f"{share(sum(low <= n <= high for n in a), len(a)):.1f}" for a in lengths]
        )
    rows.append(["head to the right, %"] + [f"{share(sum(n > 0 for n in a), len(a)):.1f}" for a in arcs])
    rows.append(
        ["crossing arcs, %"] + [f"{share(b.crossing, len(a)):.2f}" for b, a in zip(banks, arcs, strict=True)]
    )
    return table(["", *(bank.name for bank in banks)], rows)


def reference_share(counter: str, key: str, references: list[Statistics]) -> float:
    """Mean over the references of the percentage of words that carry ``key``."""
    return statistics.mean(share(getattr(bank, counter)[key], bank.words) for bank in references)


def mark(ours: float, reference: float) -> str:
    """Flag a share under half or over double the reference share."""
    if reference == 0:
        return "only ours" if ours else ""
    ratio = ours / reference
    return f"{ratio:.2f}" + (" low" if ratio < 0.5 else " HIGH" if ratio > 2 else "")


def frequencies(counter: str, banks: list[Statistics], limit: int | None = None) -> str:
    """Percentages of word classes or relations, the commonest in the references first."""
    references = banks[1:]
    keys = {key for bank in banks for key in getattr(bank, counter)}
    order = sorted(keys, key=lambda key: (-reference_share(counter, key, references), key))[:limit]
    rows = []
    for rank, key in enumerate(order, 1):
        shares = [share(getattr(bank, counter)[key], bank.words) for bank in banks]
        flag = mark(shares[0], reference_share(counter, key, references))
        rows.append([key, str(rank), *(f"{value:.2f}" for value in shares), flag])
    return table(["", "rank", *(bank.name for bank in banks), "ratio"], rows)


def arc_table(banks: list[Statistics], limit: int) -> str:
    """Mean arc length and share of heads to the right, for the commonest relations."""
    references = banks[1:]
    keys = {key for bank in references for key in bank.arcs}
    order = sorted(keys, key=lambda key: -reference_share("relations", key, references))[:limit]
    rows = []
    for key in order:
        lengths, right = [], []
        for bank in banks:
            arcs = bank.arcs.get(key, [])
            lengths.append(f"{statistics.mean(map(abs, arcs)):.2f}" if arcs else "-")
            right.append(f"{share(sum(a > 0 for a in arcs), len(arcs)):.0f}" if arcs else "-")
        rows.append([key, *lengths, *right])
    header = ["", *(f"length {b.name}" for b in banks), *(f"right % {b.name}" for b in banks)]
    return table(header, rows)


def report(ours: Statistics, references: list[Statistics], limit: int = 25) -> str:
    """Return the whole report as Markdown."""
    banks = [ours, *references]
    return "\n\n".join(
        [
            "### Size, sentence length, arcs\n\n" + overview(banks),
            "### Word classes, % of words\n\n" + frequencies("upos", banks),
            "### Relations, % of words\n\n" + frequencies("relations", banks),
            f"### Arc length and direction of the {limit} commonest relations\n\n" + arc_table(banks, limit),
        ]
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("treebank", nargs="+", help="CoNLL-U files of the treebank to be checked")
    parser.add_argument("--name", default="ours", help="name of its column (default: ours)")
    parser.add_argument(
        "--reference",
        nargs="+",
        action="append",
        required=True,
        metavar=("NAME", "FILE"),
        help="a name and one or more CoNLL-U files to compare with; may be repeated",
    )
    parser.add_argument("--limit", type=int, default=25, help="relations in the arc table (default: 25)")
    options = parser.parse_args(arguments)
    for name, *files in options.reference:
        if not files:
            parser.error(
                f"--reference {name}: give a name and at least one file, e.g. --reference EWT dev.conllu"
            )
    references = [count(name, files) for name, *files in options.reference]
    print(report(count(options.name, options.treebank), references, options.limit))
    return 0


if __name__ == "__main__":
    sys.exit(main())
