"""What the map of the course says at its end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bertlook_teach.model import Attention
from bertlook_teach.views import Picture

from ..claims import FAILS, HOLDS, Verdict, find_misconceptions
from ..render import Estimate, answer_picture, claim_picture
from .common import short_title, subject
from .pictures.lesson00 import models_picture

DETERMINERS = (7, 10)  # BERT-base's head 8-11


KEYS = (
    (("Space",), "the next step"),
    (("Shift", "Space"), "one step back"),
    (("\u2190", "\u2192"), "heads, or slides"),
    (("Esc",), "leaves a view"),
    (("t",), "the speaker's window"),
    (("w",), "overview of the slides"),
    (("Home", "End"), "first, last slide"),
    (("D",), "dark or light"),
    (("C",), "the code of the slide"),
)


def on_trial() -> list:
    """Three sentences that many people believe, from the bank of misconceptions."""
    bank = {entry.key: entry for entry in find_misconceptions()}
    return [bank[key] for key in ("columns-sum-to-one", "one-word-one-token", "random-means-wild")]


def models(specimen, live) -> Picture:
    """The models of the course as grids of heads; ``live`` reads what is typed first."""
    shown = [
        ("specimen", specimen.n_layers, specimen.n_heads, "reads what you type; small enough to take apart")
    ]
    if live.name != specimen.name:
        purpose = "reads what you type" + "; a published model" * (live.name == "minilm")
        shown.append((short_title(live), live.n_layers, live.n_heads, purpose))
    shown.append(("BERT-base", 12, 12, "the papers' model: printed numbers, and a recording"))
    return models_picture(shown)


def recorded_head(recording, text: str) -> dict:
    """BERT-base's head 8-11 on a text of a recording, as options of a `RecordedExplorer`; the map measures what the head shows."""
    from bertlook_teach.views import default_measures  # loads the views

    sentences = [list(recording)[i] for i in (1, 3, 6, 7)]
    layer, head = DETERMINERS
    return {
        "sentences": sentences,
        "sentence": text,
        "measures": {"From “the” to its noun": to_its_noun, **default_measures()},
        "hide_special": True,
        "layer": layer,
        "head": head,
    }


def to_its_noun(attention: Attention) -> np.ndarray:
    """What each head gives from *the* to the token after it, its noun in the recorded sentences: the mean, shape (layer, head)."""
    places = [i for i, token in enumerate(attention.tokens[:-1]) if token == "the"]
    return np.asarray(attention.weights)[:, :, places, [i + 1 for i in places]].mean(axis=-1)


def decided(found: Verdict) -> Picture:
    """The row of the ledger that the class was asked about, and the letter that it amounts to."""
    said = {HOLDS: "A: it holds.", FAILS: "B: it does not hold."}.get(found.verdict, "C: we cannot tell.")
    picture = claim_picture([found])
    return replace(picture, caption=f"{said} {picture.caption}")


def answer(attention, found: Verdict, encoder) -> Picture:
    """What it takes to say that a head looks at something.

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
    weights = [float(attention.head(*DETERMINERS)[place, place + 1]) for place in places]
    learnt = (
        f"A head of {subject(encoder)} looks at the next token."
        if found.verdict == HOLDS
        else "That is not a finding."
    )
    share = Estimate(found.value, found.low, found.high)
    return answer_picture(
        {
            "In BERT-base, one head looks from “the” to its noun, here also the next word.": {
                f"BERT-base 8-11, “the” to “{attention.tokens[place + 1]}”": Estimate(weight)
                for place, weight in zip(places, weights)
            },
            learnt: {
                f"{short_title(encoder)}, best head": Estimate(found.value),
                "its random twin": Estimate(found.twin),
            },
        },
        f"Above: one sentence, recorded; both nouns are also the next word, and lesson 6 asks whether the head beats “the next word”. Below: "
        f"{subject(encoder)} on {found.n} pairs of texts, {share}. Does it matter? Nothing here says so; lessons 11 to 14 ask.",
    )
