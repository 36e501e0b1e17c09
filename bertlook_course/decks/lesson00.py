"""What the map of the course says at its end."""

from __future__ import annotations

import numpy as np

from bertlook_teach.model import Attention

from ..claims import HOLDS, Verdict
from ..render import Estimate
from .common import short_title, subject

DETERMINERS = (7, 10)  # BERT-base's head 8-11


def models(specimen, live) -> str:
    """The models of the course, a list in Markdown; ``live`` reads what is typed first."""
    lines = [
        f"- **The specimen** explains: {specimen.n_layers} layers of {specimen.n_heads} heads, trained for this course and small "
        + "enough to take apart. [Its card](../data/model/MODEL_CARD.md)"
    ]
    if live.name != specimen.name:
        card = (
            ", a published BERT. [Its card](../data/minilm/MODEL_CARD.md)" if live.name == "minilm" else "."
        )
        lines.append(
            f"- **{short_title(live)}** reads what you type: {live.n_layers} layers of {live.n_heads} heads{card}"
        )
    lines.append(
        "- **BERT-base** is the model of the papers: printed numbers, and a recording of it, 12 layers of 12 heads."
    )
    return "\n".join(lines)


def recorded_head(recording, text: str) -> dict:
    """BERT-base's head 8-11 on a text of a recording, as options of a `RecordedExplorer`; the map measures what the head shows."""
    from bertlook_teach.views import default_measures  # loads the views

    sentences = [list(recording)[i] for i in (1, 3, 6, 7)]
    layer, head = DETERMINERS
    return {
        "sentences": sentences,
        "sentence": text,
        "measures": {"from “the” to its noun": to_its_noun, **default_measures()},
        "hide_special": True,
        "layer": layer,
        "head": head,
    }


def to_its_noun(attention: Attention) -> np.ndarray:
    """What each head gives from *the* to the token after it, its noun in the recorded sentences: the mean, shape (layer, head)."""
    places = [i for i, token in enumerate(attention.tokens[:-1]) if token == "the"]
    return np.asarray(attention.weights)[:, :, places, [i + 1 for i in places]].mean(axis=-1)


def answer(attention, found: Verdict, encoder) -> str:
    """What it takes to say that a head looks at something, a list in Markdown.

    Parameters
    ----------
    attention : Attention
        Of a recorded sentence with two *the*, for *animal* and for *street*.
    found : Verdict
        On the claim that some head gives the next token most of its attention.
    encoder : Encoder
        The model that it was decided on.
    """
    places = [place for place, token in enumerate(attention.tokens) if token == "the"]
    first, second = (float(attention.head(*DETERMINERS)[place, place + 1]) for place in places)
    finding = "That is a finding" if found.verdict == HOLDS else "Here that is not a finding"
    return (
        f"- **Looking:** in head 8-11 of BERT-base, the first *the* gives *animal* {first:.2f} of its attention, the second "
        f"gives *street* {second:.2f}. That is one sentence.\n"
        f"- **How we know:** in {found.n} texts, one head of {subject(encoder)} gives the next token "
        f"{Estimate(found.value, found.low, found.high)} of its attention; the best head of its twin {found.twin:.2f}. {finding}.\n"
        "- **Does it matter?** Nothing here says so. Lessons 11 to 14 ask."
    )
