"""Misconceptions with what refutes them: a table for a slide, plain text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from ..drawing.text_table import TextTable

REFUTED, NOT_REFUTED = "refuted", "not refuted"


def misconception_table(entries: Sequence, results: Sequence, *, truth: bool = False) -> TextTable:
    """One row an entry: what is said, what was found, whether it is refuted. HTML in a notebook, every cell escaped.

    Parameters
    ----------
    entries : sequence of Misconception
    results : sequence of Refutation
        One an entry, in the same order.
    truth : bool
        A column more, with what is true.

    Raises
    ------
    ValueError
        If there are not as many results as entries, or none.
    """
    _check(entries, results)
    header = ["often said", "what the data say", *(["what is true"] if truth else []), "verdict"]
    rows = [
        [f"“{entry.says}”", result.sentence, *([entry.true] if truth else []), _verdict(result)]
        for entry, result in zip(entries, results)
    ]
    return TextTable(header, rows, count_refuted(results))


def format_misconceptions(entries: Sequence, results: Sequence) -> str:
    """The same as plain characters, entry by entry, with the source and the lessons: what the command prints."""
    _check(entries, results)
    blocks = []
    for entry, result in zip(entries, results):
        sources = "; ".join(f"{key}, {place}" for key, place in entry.sources)
        blocks.append(
            f"{entry.key} (lesson {', '.join(entry.lessons)}): {_verdict(result)}\n"
            f"  “{entry.says}”\n"
            f"  {result.sentence}\n"
            f"  {entry.true} [{sources}]"
        )
    return "\n\n".join([*blocks, count_refuted(results)])


def count_refuted(results: Sequence) -> str:
    """How many are refuted, in a sentence."""
    return f"{sum(result.refuted for result in results)} of {len(results)} refuted by these data."


def _verdict(result) -> str:
    return REFUTED if result.refuted else NOT_REFUTED


def _check(entries: Sequence, results: Sequence) -> None:
    if not entries or len(entries) != len(results):
        raise ValueError(
            f"a table of misconceptions needs one result an entry, at least one; got {len(entries)} entries and {len(results)} results."
        )
