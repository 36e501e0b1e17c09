"""What the decks of all lessons have: the model they read with and its name, its twin, and the verdicts on the lesson's claims."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from bertlook_teach import head_label, load_encoder, random_twin
from bertlook_teach.model import SHIPPED, Encoder, masked_lm_scorer
from bertlook_teach.views import model_of

from ..analyses.ablation import next_sentence_head
from ..claims import Resources, Verdict, decide_lesson
from ..options import model_from_anywhere
from ..published import MeasuredTable, measured_of
from ..render import count_verdicts

# --- which model -------------------------------------------------------------------------------------------
# Set by `bertlook present --model NAME` and its kin, read where a deck's kernel starts.
MODEL = "BERTLOOK_MODEL"


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
    if not _lost_heads(encoder):
        return encoder, twin
    return load_encoder("specimen"), load_encoder("specimen-random")


def _lost_heads(encoder: Encoder) -> str:
    """What a model without its heads cannot do, in words; empty where it has both."""
    lost = []
    for does, head in (
        ("guesses words", masked_lm_scorer),
        ("knows whether a sentence follows", next_sentence_head),
    ):
        try:
            head(encoder)
        except ValueError:  # it says that there is none
            lost.append(does)
    return " or ".join(lost)


def stand_in_line(encoder: Encoder):
    """A line for a slide on which the specimen stands in for a model without these heads, as Markdown; None where it does not."""
    from IPython.display import Markdown

    lost = _lost_heads(encoder)
    return (
        Markdown(f"*{short_title(encoder)} has no head that {lost}: here the specimen answers.*")
        if lost
        else None
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
    name = model_from_anywhere(name)  # a kernel starts in the notebook's folder
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


# --- the deck of a lesson ----------------------------------------------------------------------------------
class LessonDeck:
    """The models of a deck and what the ledger says of them; a lesson's own class adds what its slides show.

    Parameters
    ----------
    encoder, twin : Encoder
        The model that the slides speak of, and one of the same shape that never learnt: `bertlook_course.decks.live_models`.
    resources : Resources, optional
        What both read; by default what the ledger reads.
    beside : Encoder, optional
        A model that stands beside it in pictures and tables; left out where it is the same one.

    Attributes
    ----------
    name, subject : str
        What the model is called over a column, and in a sentence: ``"specimen"`` and ``"the specimen"``, or ``"MiniLM"`` for both.
    models : dict of str to Encoder
        Both models by the names that tables and keys give them.
    """

    lesson: str  # "11"

    def __init__(self, encoder, twin, resources: Resources | None = None, beside=None):
        self.encoder, self.twin = encoder, twin
        self.beside = None if beside is None or beside.fingerprint == encoder.fingerprint else beside
        self.name, self.subject = short_title(encoder), subject(encoder)
        self.models = {self.name: encoder, "random twin": twin}
        self.resources = resources

    @property
    def Subject(self) -> str:
        """`subject` at the beginning of a sentence."""
        return self.subject.replace("the ", "The ", 1) if self.subject.startswith("the ") else self.subject

    @property
    def mark(self) -> str | None:
        """As which model dots of this one are drawn, where nothing else names it; None for a model without a form of its own."""
        return model_of(self.name)

    def quoted(self, table: str) -> MeasuredTable | None:
        """What docs/results.md has of the deck's model, else of the model beside it; None if of neither. The table says whose it is."""
        asked = (model for model in (self.encoder, self.beside) if model is not None)
        return next(filter(None, (measured_of(model, table) for model in asked)), None)

    def not_measured(self, found: MeasuredTable | None, where: str) -> str:
        """That the deck's model was not measured there, for the beginning of a sentence; nothing if it was."""
        its_own = found is not None and (
            found.weights == self.encoder.fingerprint or found.model == self.subject
        )
        return "" if its_own else f"{self.Subject} was not measured {where}. "

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """The verdicts on all claims of the lesson."""
        return decide_lesson(self.lesson, self.encoder, resources=self.resources, twin=self.twin)

    def verdicts_on(self, *keys: str) -> list[Verdict]:
        """The verdicts on some claims, in this order; a key comes without the number of its lesson."""
        found = {verdict.claim.key.removeprefix(f"{self.lesson}-"): verdict for verdict in self.verdicts}
        return [found[key] for key in keys]

    def verdict_count(self) -> str:
        """How many claims hold, and where all of them can be read."""
        return f"{count_verdicts(self.verdicts)} The rest: `{self.claims_command}`, or the handout."

    @property
    def badge(self) -> str:
        """What a view of numbers alone, such as a map of heads, carries; nothing for the specimen."""
        return "" if self.encoder.name == "specimen" else self.encoder.title

    @property
    def claims_command(self) -> str:
        """What tries all claims of the lesson on the deck's model."""
        name = self.encoder.name
        model = (
            "" if name == "specimen" else f" --model {name if name in SHIPPED else short_title(self.encoder)}"
        )
        return f"bertlook claims --lesson {self.lesson}{model}"


def letter(value: float, limits: Sequence[float], letters: str = "ABCD") -> str:
    """The answer that a number amounts to, where the answers of a question are ranges.

    Parameters
    ----------
    value : float
    limits : sequence of float
        Where one range ends and the next one begins, rising; a limit belongs to the upper range.
    letters : str
        One for each range, from the lowest to the highest.

    Examples
    --------
    >>> letter(0.7, (0.15, 0.5, 0.85)), letter(0.7, (0, 0.8, 1.1), "DCBA")
    ('C', 'C')
    """
    return letters[int(np.digitize(value, limits))]


def heads_where(mask: np.ndarray) -> str:
    """The heads where a mask of shape (layer, head) is true, by name, or "none"."""
    return ", ".join(head_label(*head) for head in np.argwhere(mask)) or "none"
