"""One line that says where the results on a deck's slides come from."""

from __future__ import annotations

from ...storage import HERE, origins

WHAT, BEFORE = "The fits and training runs of these slides were", "done beforehand"


def evidence_line() -> str:
    """What this process has shown so far, in Markdown: done beforehand, computed here, or which of both.

    Call it in the last cell that fits, trains or decides something.
    """
    found = origins()
    here = sorted(name.removeprefix("evidence ") for name, origin in found.items() if origin == HERE)
    if not here and found:
        return f"{WHAT} **{BEFORE}**."
    if len(here) == len(found):
        return f"{WHAT} **{HERE}**."
    return f"{WHAT} **{BEFORE}**, but these were **{HERE}**: {', '.join(dict.fromkeys(here))}."
