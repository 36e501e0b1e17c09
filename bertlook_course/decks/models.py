"""Which model a deck reads with: its own, or the one that ``--model`` names; and how its slides call it."""

from __future__ import annotations

import os
from pathlib import Path

from bertlook_teach import load_encoder, random_twin
from bertlook_teach.model import Encoder, masked_lm_head

from ..analyses.ablation import next_sentence_head

MODEL = (
    "BERTLOOK_MODEL"  # set by `bertlook present --model NAME` and its kin, read where a deck's kernel starts
)


def live_models(name: str = "specimen") -> tuple[Encoder, Encoder]:
    """The model whose numbers a deck computes, and its random twin.

    Parameters
    ----------
    name : str
        The deck's own choice, as `bertlook_teach.load_encoder` takes it. A name given to ``bertlook present --model``, or in the
        environment variable ``BERTLOOK_MODEL``, is taken in its place.

    Raises
    ------
    FileNotFoundError, ValueError, ConnectionError
        As `bertlook_teach.load_encoder` does.
    """
    encoder = load_encoder(os.environ.get(MODEL) or name)
    return encoder, encoder if encoder.seed is not None else random_twin(encoder)


def pretrained(encoder: Encoder, twin: Encoder) -> tuple[Encoder, Encoder]:
    """The same two models if the first has both heads of BERT's training, else the specimen and its twin, which have them.

    What guesses a masked word, or whether one sentence follows another, is lost where a model was trained on: MiniLM has neither.
    """
    if _has_heads(encoder):
        return encoder, twin
    return load_encoder("specimen"), load_encoder("specimen-random")


def _has_heads(encoder: Encoder) -> bool:
    engine = encoder.engine
    if engine is not None and all(map(engine.has_head, ("masked_lm", "next_sentence"))):
        return True
    try:
        masked_lm_head(encoder)
        next_sentence_head(encoder)
    except ValueError:  # either says that there is none
        return False
    return True


def stand_in_line(encoder: Encoder):
    """A line for a slide on which the specimen stands in for a model without these heads, as Markdown; None where it does not."""
    from IPython.display import Markdown

    if _has_heads(encoder):
        return None
    return Markdown(
        f"*{short_title(encoder)} has not kept the heads that guess words: here the specimen answers.*"
    )


def choose_model(name: str | None) -> None:
    """Let the decks that are run from now on read with this model; None leaves each deck its own.

    Raises
    ------
    FileNotFoundError, ValueError, ConnectionError
        If the model cannot be loaded: it is said before Jupyter starts.
    """
    if name is None:
        return
    if Path(name).expanduser().is_dir():  # a kernel starts in the notebook's folder
        name = str(Path(name).expanduser().resolve())
    load_encoder(name)
    os.environ[MODEL] = name


def short_title(encoder: Encoder) -> str:
    """How a model is called over a column and in a key: ``"specimen"``, ``"MiniLM"``, ``"bert-base-uncased"``, ``"MiniLM's twin"``."""
    plain, _, twin = encoder.title.partition(", random")
    return plain.partition(",")[0] + ("'s twin" if twin else "")


def subject(encoder: Encoder) -> str:
    """The same in a sentence: ``"the specimen"``, ``"MiniLM"``, ``"MiniLM's random twin"``."""
    short = short_title(encoder).replace("'s twin", "'s random twin")
    return f"the {short}" if short.startswith("specimen") else short
