"""A claim, and the verdict on it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

HOLDS, FAILS, OPEN = "holds", "does not hold", "cannot be decided here"
NOISE = 1e-5  # what lies nearer than this to a line lies on it: processors differ in their last digits

EXACTNESS = {
    "P": "printed",
    "V": "recovered from the vector drawing of a figure",
    "O": "output or data of the authors' code",
    "A": "read off a raster figure",
    "D": "derived from published numbers",
    "N": "taken from page-cited notes",
    "S": "from a third party's reproduction",
}

Values = Mapping[str, np.ndarray]
Statistic = Callable[[Values, Values], float]
Null = Callable[[Values, Values], tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One sentence of a paper, and what decides it.

    Attributes
    ----------
    key : str
        Unique, beginning with the lesson, two digits: ``"04-sep-norm-small"``.
    sentence : str
        What is claimed, in our words.
    source, section : str
        Who says so, and where: ``"Clark et al. 2019"``, ``"3.2, Figure 2"``.
    published : str, or function without arguments that returns one
        The published number in the unit of what is measured here, converted where it was given in another; ``""`` if the paper gives
        none that can be converted.
    original : str, or function without arguments that returns one
        What the paper gives, where that is something else than ``published``: a pair of numbers, per cent, another unit.
    exactness : str
        How exact the published number is: P printed, V from a vector drawing, O output of the authors' code, A read off a raster figure,
        D derived, N from notes, S from a reproduction (see ``EXACTNESS``); two with a slash between; ``""`` without a number.
    operational : str
        What is measured here, in words.
    refuted_if : str
        What would refute the claim, in words.
    evidence : str
        Name of the evidence that it is computed from.
    collect : function of (encoder, resources), optional
        The collector of that evidence; where there is none, `decide` has to be given one under that name.
    statistic : function of (values, choice), or None
        One number from the means over the inputs that report and the means over those that choose. None: it cannot
        be decided by what this package measures, for the reason in ``operational``.
    threshold : float
        The claim holds if the statistic lies above it. For a difference, what would be worth a sentence rather than 0:
        above 0 is half of all noise.
    below : bool
        True for a claim that something is small: its statistic is the negative of what ``operational`` names. Tables show that quantity itself,
        and that it has to lie below its line.
    origin : float
        Added to the statistic (to its negative, with ``below``) where tables show it: .5 for an AUC of which chance was taken away.
    erratum : str
        What is wrong with the sentence or its number where it was published.
    control : bool
        False where a random twin that reaches the line does not undermine the claim. Where p is corrected for many claims, any twin that
        reaches the interval does, and False says only that a twin without numbers does not.
    null : function of (values, choice) -> (p, smallest p that is possible), optional
        A second, exact or permutation p that must be small as well: what the interval over inputs cannot say.
    title : str
        Short, for tables.
    remark : str
        What to know when one reads the verdict.
    """

    key: str
    sentence: str
    source: str
    section: str = ""
    published: str | Callable[[], str] = ""
    original: str | Callable[[], str] = ""
    exactness: str = ""
    operational: str
    refuted_if: str
    evidence: str
    collect: Callable | None = None
    statistic: Statistic | None
    threshold: float = 0.0
    below: bool = False
    origin: float = 0.0
    erratum: str = ""
    control: bool = True
    null: Null | None = None
    title: str = ""
    remark: str = ""

    def __post_init__(self):
        if not re.match(r"\d\d-.", self.key):
            raise ValueError(
                f"a claim's key begins with its lesson, two digits and a hyphen; got {self.key!r}."
            )
        for name in ("sentence", "source", "operational", "refuted_if", "evidence"):
            if not getattr(self, name).strip():
                raise ValueError(
                    f"claim {self.key!r} has no {name}; it must be there before anything is computed."
                )
        if not np.isfinite(self.threshold):
            raise ValueError(f"claim {self.key!r}: the threshold must be a number; got {self.threshold}.")
        unknown = set(filter(None, self.exactness.split("/"))) - set(EXACTNESS)
        if unknown:
            raise ValueError(
                f"claim {self.key!r}: exactness is one of {', '.join(EXACTNESS)} or empty; got {self.exactness!r}. "
                "A number from memory has no place in the ledger."
            )

    @property
    def lesson(self) -> str:
        """Two digits."""
        return self.key[:2]

    def published_text(self) -> str:
        """The published value as text, computed from the published tables where it stands in one."""
        return self.published() if callable(self.published) else self.published

    def original_text(self) -> str:
        """What the paper gives, where the published value is shown in another unit."""
        return self.original() if callable(self.original) else self.original

    def quantity(self, statistic: float) -> float:
        """What ``operational`` names, from the statistic: the way tables show it.

        >>> few = dict(key="09-few", sentence="Few", source="x", operational="share", refuted_if="many", evidence="e")
        >>> Claim(**few, statistic=None, threshold=-0.1, below=True).quantity(-0.1)
        0.1
        """
        return self.origin - statistic if self.below else self.origin + statistic


class Claims:
    """The claims of one lesson, in the order in which they are written down.

    A claim stands above the statistic that decides it; one whose statistic is made by a function that others use too is given it.

    >>> claim = Claims("04", {"norms": norms}, source="Kobayashi et al. 2020", evidence="norms")      # doctest: +SKIP
    >>> @claim(key="mixing", sentence="Heads mix in less than their weights say", ...)                # doctest: +SKIP
    ... def mixing_falls(values, choice):
    ...     return values["mixed_by_weight"] - values["mixed_by_norm"]
    >>> claim(key="bound", sentence="A gradient cannot ...", ..., statistic=minus("over_bound"))      # doctest: +SKIP

    Parameters
    ----------
    lesson : str
        Two digits, put before each key.
    collectors : dict of evidence -> collector
    usual
        Fields that a claim has unless it says otherwise.
    """

    def __init__(self, lesson: str, collectors: Mapping[str, Callable], **usual):
        self.lesson, self.collectors, self.usual = lesson, collectors, usual
        self._written: list[Claim] = []

    def __call__(self, *, key: str, **fields) -> Statistic | Callable[[Statistic], Statistic]:
        """Write a claim down: its fields, but no ``statistic`` where this is a decorator; returns the statistic unchanged."""
        if "statistic" not in fields:
            return lambda statistic: self(key=key, statistic=statistic, **fields)
        fields = self.usual | fields
        fields.setdefault("collect", self.collectors.get(fields["evidence"]))
        self._written.append(Claim(key=f"{self.lesson}-{key}", **fields))
        return fields["statistic"]

    def __iter__(self) -> Iterator[Claim]:
        return iter(self._written)


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A claim decided on one model.

    Attributes
    ----------
    claim : Claim
    published : str
    value, low, high : float
        Statistic and its 95 % interval; NaN where there is none, and then ``why`` says the reason.
    twin, twin_low, twin_high : float
        The same for the randomly initialised twin.
    n : int
        Inputs that report: of the quantities that the statistic uses, the smallest count.
    n_choice : int
        Inputs that chose; 0 for a statistic without a choice.
    verdict : str
        ``HOLDS``, ``FAILS`` or ``OPEN``.
    why : str
    model, twin_model : str
        Names of the two models.
    p, against : float
        For the claim and for its opposite, one-sided, corrected for all claims that were decided together; NaN where nothing was corrected.
    """

    claim: Claim
    published: str
    value: float
    low: float
    high: float
    twin: float
    twin_low: float
    twin_high: float
    n: int
    n_choice: int
    verdict: str
    why: str
    model: str = ""
    twin_model: str = ""
    p: float = float("nan")
    against: float = float("nan")

    def __repr__(self) -> str:
        numbers = (
            ""
            if np.isnan(self.value)
            else f" {self.value:.3f} [{self.low:.3f}, {self.high:.3f}], n={self.n}:"
        )
        return f"Verdict({self.claim.key}:{numbers} {self.verdict})"
