"""Which model a deck reads with: its own, or the one that ``--model`` names; and how its slides call it."""

from __future__ import annotations

import os
from pathlib import Path

from bertlook_teach import load_encoder, random_twin
from bertlook_teach.model import Encoder

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
    """How a model is called over a column and in a key: ``"specimen"``, ``"MiniLM"``, ``"bert-base-uncased"``."""
    return encoder.title.partition(",")[0]


def subject(encoder: Encoder) -> str:
    """The same in a sentence: ``"the specimen"``, ``"MiniLM"``."""
    return "the specimen" if encoder.name == "specimen" else short_title(encoder)
