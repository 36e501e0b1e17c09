"""What the map of the course says at its end."""

from __future__ import annotations

from ..claims import HOLDS, Verdict

DETERMINERS = (7, 10)  # BERT-base's head 8-11


def answer(attention, found: Verdict) -> str:
    """What it takes to say that a head looks at something, a list in Markdown.

    Parameters
    ----------
    attention : Attention
        Of a recorded sentence with two *the*, for *animal* and for *street*.
    found : Verdict
        On the claim that some head gives the next token most of its attention.
    """
    places = [place for place, token in enumerate(attention.tokens) if token == "the"]
    first, second = (float(attention.head(*DETERMINERS)[place, place + 1]) for place in places)
    finding = "That is a finding" if found.verdict == HOLDS else "Here that is not a finding"
    return (
        f"- **Looking:** in head 8-11 of BERT-base, the first *the* gives *animal* {first:.2f} of its attention, the second "
        f"gives *street* {second:.2f}. That is one sentence.\n"
        f"- **How we know:** in {found.n} texts, one head of the specimen gives the next token {found.value:.2f} "
        f"[{found.low:.2f}, {found.high:.2f}] of its attention; the best head of its twin {found.twin:.2f}. {finding}.\n"
        "- **Does it matter?** Nothing here says so. Lessons 11 to 14 ask."
    )
