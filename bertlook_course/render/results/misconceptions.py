"""Misconceptions with what refutes them, as plain text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

REFUTED, NOT_REFUTED = "refuted", "not refuted"


def format_misconceptions(entries: Sequence, results: Sequence) -> str:
    """Entry by entry what is said, what was found and what is true, with the source and the lessons: what the command prints."""
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
