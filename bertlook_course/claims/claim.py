"""A claim, and the verdict on it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

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

# Tokens on which attention can rest, as evidence names them, and in words.
SINKS = {"cls": "[CLS]", "sep": "[SEP]", "punct": "punctuation"}

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
        What would refute the claim, where that teaches more than its line does; see `refuted_text`.
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
    erratum : str
        What is wrong with the sentence or its number where it was published.
    control : bool
        False where a random twin that reaches the line does not undermine the claim. Where p is corrected for many claims, any twin that
        reaches the interval does, and False says only that a twin without numbers does not.
    null : function of (values, choice) -> (p, smallest p that is possible), optional
        A second, exact or permutation p that must be small as well: what the interval over inputs cannot say.
    number : int
        Its place among claims that were registered together; 0 for others.
    title : str
        Short, for tables.
    remark : str
        What to know when one reads the verdict.
    registered : str
        What is measured, as it was registered before anything was computed, where ``operational`` says it shorter.
    sink : str
        For a claim of the token on which attention rests: the quantities that say how much each kind of token gets, ``{}`` for the kind.
        The claim is written down of [SEP], where BERT-base's attention rests; `of_the_sink` makes it one of the model at hand.
    """

    key: str
    sentence: str
    source: str
    section: str = ""
    published: str | Callable[[], str] = ""
    original: str | Callable[[], str] = ""
    exactness: str = ""
    operational: str
    refuted_if: str = ""
    evidence: str
    collect: Callable | None = None
    statistic: Statistic | None
    threshold: float = 0.0
    below: bool = False
    erratum: str = ""
    control: bool = True
    null: Null | None = None
    number: int = 0
    title: str = ""
    remark: str = ""
    registered: str = ""
    sink: str = ""

    def __post_init__(self):
        if not re.match(r"\d\d-.", self.key):
            raise ValueError(
                f"a claim's key begins with its lesson, two digits and a hyphen; got {self.key!r}."
            )
        for name in ("sentence", "source", "operational", "evidence"):
            if not getattr(self, name).strip():
                raise ValueError(
                    f"claim {self.key!r} has no {name}; it must be there before anything is computed."
                )
        if not np.isfinite(self.threshold):
            raise ValueError(f"claim {self.key!r}: the threshold must be a number; got {self.threshold}.")
        if self.statistic is None and not self.refuted_if.strip():
            raise ValueError(
                f"claim {self.key!r} is not measured here; say in refuted_if what would refute it."
            )
        unknown = set(filter(None, self.exactness.split("/"))) - set(EXACTNESS)
        if unknown:
            raise ValueError(
                f"claim {self.key!r}: exactness is one of {', '.join(EXACTNESS)} or empty; got {self.exactness!r}. "
                "A number from memory has no place in the ledger."
            )

    def of_the_sink(self, choice: Values) -> Claim:
        """The same claim of the kind of token that some layer gives most, by its mean over heads, on the inputs that choose.

        What was published stays of [SEP], and then says so. Without ``sink``, and where [SEP] gets most, it is the claim itself.
        """
        named = {kind: self.sink.format(kind) for kind in SINKS} if self.sink else {}
        most = {kind: choice[name].mean(axis=1).max() for kind, name in named.items() if name in choice}
        kind = max(most, key=most.get, default="sep")
        if kind == "sep":
            return self
        arguments = tuple(kind if one == "sep" else one for one in self.statistic.arguments)
        said = {
            name: getattr(self, name).replace("[SEP]", SINKS[kind]) for name in ("sentence", "operational")
        }
        for name in ("published", "original"):
            if text := getattr(self, f"{name}_text")():
                said[name] = f"[SEP]: {text}"
        return replace(self, statistic=replace(self.statistic, arguments=arguments), **said)

    @property
    def lesson(self) -> str:
        """Two digits."""
        return self.key[:2]

    @property
    def name(self) -> str:
        """Number and title, as tables of a register have them: ``"3 [SEP] is a haven"``."""
        return f"{self.number} {self.title}"

    def published_text(self) -> str:
        """The published value as text, computed from the published tables where it stands in one."""
        return self.published() if callable(self.published) else self.published

    def original_text(self) -> str:
        """What the paper gives, where the published value is shown in another unit."""
        return self.original() if callable(self.original) else self.original

    def quantity(self, statistic: float) -> float:
        """What ``operational`` names, from the statistic: the way tables show it.

        >>> few = dict(key="09-few", sentence="Few", source="x", operational="share", evidence="e")
        >>> Claim(**few, statistic=lambda values, choice: -values["x"], threshold=-0.1, below=True).quantity(-0.1)
        0.1
        """
        return -statistic if self.below else statistic

    def places(self) -> int:
        """Decimals to show: two, and more where the claim's line has more."""
        return max(2, len(f"{self.threshold:.4f}".rstrip("0").partition(".")[2]))

    def line(self) -> str:
        """The line as tables show it, of the quantity that is measured: ``".50"``."""
        needed = self.quantity(self.threshold)
        number = f"{needed:.{self.places()}f}" if needed else "0"
        return number.replace("0.", ".", 1) if number.startswith(("0.", "-0.")) else number

    def refuted_text(self) -> str:
        """What would refute the claim: what is measured lies on the line or beyond it, unless the claim has words of its own.

        >>> few = dict(key="09-few", sentence="Few", source="x", operational="share", evidence="e")
        >>> Claim(**few, statistic=lambda values, choice: -values["x"], threshold=-0.1, below=True).refuted_text()
        'it is .10 or more'
        """
        return self.refuted_if or f"it is {self.line()} or {'more' if self.below else 'less'}"


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
