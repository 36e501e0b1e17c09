"""The ledger's engine: a published sentence, the number that decides it, and what one model has to say.

A claim fixes its statistic and its line before anything is computed. The evidence, some quantities for every input,
is collected once for all claims that name it, for the model and for a randomly initialised twin. Inputs with even
index choose (the best head, the highest layer), those with odd index report; a bootstrap over the reporting inputs
gives the interval. The claims themselves stand in `bertlook_teach.ledger`, one module a lesson.
"""

from __future__ import annotations

import hashlib
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module

import numpy as np

from .profile import CONFIDENCE, REPLICATES
from .store import Memory, kept

__all__ = [
    "FAILS",
    "HOLDS",
    "OPEN",
    "CannotDecide",
    "Claim",
    "Evidence",
    "Resources",
    "Values",
    "Verdict",
    "collect_evidence",
    "decide",
    "decide_lesson",
    "evidence_table",
    "iter_verdicts",
    "ledger",
    "measure",
]

HOLDS, FAILS, OPEN = "holds", "does not hold", "cannot be decided here"
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


class CannotDecide(Exception):
    """Raised by a collector or a statistic: the claim does not apply to this model or these inputs, and why."""


@dataclass(frozen=True)
class Claim:
    """One sentence of a paper, and what decides it.

    Attributes
    ----------
    key : str
        Unique, beginning with the lesson: ``"04-sep-norm-small"``.
    lesson : str
        Two digits.
    sentence : str
        What is claimed, in our words.
    source, section : str
        Who says so, and where: ``"Clark et al. 2019"``, ``"3.2, Figure 2"``.
    published : str, or function without arguments that returns one
        The published number as printed; ``""`` if the paper gives none.
    exactness : str
        How exact that number is: P printed, V from a vector drawing, O output of the authors' code, A read off a raster figure,
        D derived, N from notes, S from a reproduction (see ``EXACTNESS``); two with a slash between; ``""`` without a number.
    operational : str
        What is measured here, in words.
    refuted_if : str
        What would refute the claim, in words.
    evidence : str
        Name of the evidence that it is computed from.
    statistic : function of (values, choice), or None
        One number from the means over the inputs that report and the means over those that choose. None: it cannot
        be decided by what this package measures, for the reason in ``operational``.
    line : float
        The claim holds if the statistic lies above it. For a difference, what would be worth a sentence rather than 0:
        above 0 is half of all noise.
    erratum : str
        What is wrong with the sentence or its number where it was published.
    control : bool
        False where a random twin that reaches the line does not undermine the claim.
    """

    key: str
    lesson: str
    sentence: str
    source: str
    section: str
    published: str | Callable[[], str]
    exactness: str
    operational: str
    refuted_if: str
    evidence: str
    statistic: Callable[[Values, Values], float] | None
    line: float = 0.0
    erratum: str = ""
    control: bool = True

    def __post_init__(self):
        if not re.fullmatch(r"\d\d", self.lesson) or not self.key.startswith(f"{self.lesson}-"):
            raise ValueError(
                f"a claim's key begins with its lesson, two digits and a hyphen; got key {self.key!r}, lesson {self.lesson!r}."
            )
        for name in ("sentence", "source", "operational", "refuted_if", "evidence"):
            if not getattr(self, name).strip():
                raise ValueError(
                    f"claim {self.key!r} has no {name}; it must be there before anything is computed."
                )
        unknown = set(filter(None, self.exactness.split("/"))) - set(EXACTNESS)
        if unknown:
            raise ValueError(
                f"claim {self.key!r}: exactness is one of {', '.join(EXACTNESS)} or empty; got {self.exactness!r}. "
                "A number from memory has no place in the ledger."
            )

    def published_text(self) -> str:
        """The published value as text, computed from the published tables where it stands in one."""
        return self.published() if callable(self.published) else self.published


@dataclass(frozen=True)
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

    def __repr__(self) -> str:
        numbers = (
            ""
            if np.isnan(self.value)
            else f" {self.value:.3f} [{self.low:.3f}, {self.high:.3f}], n={self.n}:"
        )
        return f"Verdict({self.claim.key}:{numbers} {self.verdict})"


# --- what the claims are tried on -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Resources:
    """Texts, pairs of texts and a treebank: the shipped ones unless others are given.

    Attributes
    ----------
    pairs : list of (str, str)
    texts : list of str
    treebank : list of TreebankSentence
        Each cut to the first ``limit``; read only when asked for.
    limit : int or None
    """

    own_pairs: Sequence | None = None
    own_texts: Sequence | None = None
    own_treebank: Sequence | None = None
    limit: int | None = None

    def __init__(self, pairs=None, texts=None, treebank=None, limit=None):
        if limit is not None and limit < 1:
            raise ValueError(f"limit is the number of inputs to use, at least 1; got {limit}.")
        for name, value in (
            ("own_pairs", pairs),
            ("own_texts", texts),
            ("own_treebank", treebank),
            ("limit", limit),
        ):
            object.__setattr__(self, name, list(value) if name != "limit" and value is not None else value)

    @cached_property
    def pairs(self) -> list:
        from .corpora import load_pairs

        return (load_pairs() if self.own_pairs is None else self.own_pairs)[: self.limit]

    @cached_property
    def texts(self) -> list:
        from .corpora import load_texts

        return (load_texts() if self.own_texts is None else self.own_texts)[: self.limit]

    @cached_property
    def treebank(self) -> list:
        from ._paths import data_path
        from .corpora import read_conllu

        shipped = self.own_treebank is None
        return (read_conllu(data_path("treebank", "treebank.conllu")) if shipped else self.own_treebank)[
            : self.limit
        ]

    @cached_property
    def digest(self) -> str:
        """The same for the same content, so that evidence collected before can be used again."""
        content = [
            "shipped" if own is None else repr(own[: self.limit])
            for own in (self.own_pairs, self.own_texts, self.own_treebank)
        ]
        return hashlib.sha256("\0".join([*content, str(self.limit)]).encode()).hexdigest()

    def __repr__(self) -> str:
        own = {"pairs": self.own_pairs, "texts": self.own_texts, "treebank": self.own_treebank}
        named = [f"{name}: {'shipped' if value is None else len(value)}" for name, value in own.items()]
        return f"Resources({', '.join(named)}, limit={self.limit})"


# --- evidence ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Evidence:
    """Some quantities for every input of a corpus.

    Attributes
    ----------
    name : str
    n : int
        Number of inputs.
    values : dict of quantity -> array of shape (inputs that have it, ...)
    inputs : dict of quantity -> integer array of shape (inputs that have it,)
        Which inputs these are, counted from 0.
    """

    name: str
    n: int
    values: dict[str, np.ndarray]
    inputs: dict[str, np.ndarray]

    @classmethod
    def of(cls, name: str, rows: Iterable[Mapping[str, np.ndarray]], claim: str = "") -> Evidence:
        """Stack what a collector gives, one dict an input, after checking it.

        Raises
        ------
        ValueError
            If a value is NaN or infinite, no number, or changes its shape; naming claim, input and quantity.
        """
        values: dict[str, list] = {}
        inputs: dict[str, list] = {}
        n = 0
        for n, row in enumerate(rows, 1):
            for quantity, value in row.items():
                where = f"{f'claim {claim!r}: ' if claim else ''}evidence {name!r}, input {n - 1}: quantity {quantity!r}"
                try:
                    value = np.asarray(value, dtype=float)
                except (TypeError, ValueError):
                    raise ValueError(f"{where} is no array of numbers: {value!r:.80}.") from None
                if not np.isfinite(value).all():
                    raise ValueError(
                        f"{where} holds NaN or infinity. A quantity that is undefined for an input is left out of its dict."
                    )
                known = values.setdefault(quantity, [])
                if known and known[0].shape != value.shape:
                    raise ValueError(
                        f"{where} has shape {value.shape}; it was {known[0].shape} for the inputs before."
                    )
                known.append(value)
                inputs.setdefault(quantity, []).append(n - 1)
        return cls(
            name,
            n,
            {quantity: np.stack(known) for quantity, known in values.items()},
            {quantity: np.array(known) for quantity, known in inputs.items()},
        )


class _Undefined(KeyError):
    """A mean over no input at all."""


class _Sample:
    """Evidence with the weights its inputs have: in row 0 those that choose, in row 1 those that report.

    Each further row is one sample of the inputs that report, drawn with replacement, always the same ones: the model and
    its twin are compared on the same samples. All rows' means of a quantity are one matrix product.
    """

    def __init__(self, evidence: Evidence):
        self.evidence = evidence
        order = np.arange(evidence.n)
        reporting = order[1::2]
        self.n_reporting = len(reporting)
        self.weights = np.zeros((2 + REPLICATES, evidence.n))
        self.weights[0, ::2] = self.weights[1, 1::2] = 1
        if self.n_reporting:
            generator = np.random.default_rng([REPLICATES, self.n_reporting])
            even = np.full(self.n_reporting, 1 / self.n_reporting)
            self.weights[2:, 1::2] = generator.multinomial(self.n_reporting, even, REPLICATES)
        self._known: dict[str, tuple[np.ndarray, np.ndarray]] = {}

    def row(self, index: int) -> _Means:
        return _Means(self, index)

    def means(self, quantity: str) -> tuple[np.ndarray, np.ndarray]:
        """Means of a quantity, one a row, and the number of inputs behind each; a row without inputs holds zeros."""
        if quantity not in self._known:
            weights = self.weights[:, self.evidence.inputs[quantity]]
            values = self.evidence.values[quantity]
            totals = weights.sum(axis=1)
            sums = weights @ values.reshape(len(values), -1) / np.where(totals > 0, totals, 1)[:, None]
            self._known[quantity] = sums.reshape(-1, *values.shape[1:]), (weights > 0).sum(axis=1)
        return self._known[quantity]


class _Means(Mapping):
    """One row of a sample, as the mapping that a statistic gets; it remembers what it was asked for."""

    def __init__(self, sample: _Sample, index: int):
        self.sample, self.index, self.used = sample, index, set()

    def __getitem__(self, quantity: str) -> np.ndarray:
        if self.count(quantity) == 0:
            raise _Undefined(quantity)
        self.used.add(quantity)
        return self.sample.means(quantity)[0][self.index]

    def count(self, quantity: str) -> int:
        """Inputs that have the quantity and a weight in this row."""
        if quantity not in self.sample.evidence.values:
            return 0
        return int(self.sample.means(quantity)[1][self.index])

    def __iter__(self) -> Iterator[str]:
        return (quantity for quantity in self.sample.evidence.values if self.count(quantity))

    def __len__(self) -> int:
        return sum(1 for _ in self)


_kept = Memory(64)  # evidence, or why it cannot be had


def collect_evidence(
    name: str,
    encoder,
    resources: Resources | None = None,
    *,
    evidence: Mapping[str, Callable] | None = None,
    progress: Callable[[Iterable, str], Iterable] | None = None,
    claim: str = "",
) -> Evidence:
    """The named evidence for one model, from memory or disk (`bertlook_teach.store`) if it has been collected before.

    Parameters
    ----------
    name : str
        A key of some lesson's ``EVIDENCE``, or of ``evidence``.
    encoder : Encoder
    resources : Resources, optional
        Default: all shipped texts.
    evidence : dict of name -> collector, optional
        Searched before the lessons' tables; kept in memory alone.
    progress : function(stream, label), optional
        Wrapped round the stream of inputs.
    claim : str
        Key of the claim to name in an error.

    Raises
    ------
    CannotDecide
        If the collector says that it does not apply to this model or these inputs.
    ValueError
        If there is no such evidence, or it yields something other than finite numbers of one shape.
    """
    resources = Resources() if resources is None else resources
    collect = _collector(name, evidence, claim)
    key = (encoder.fingerprint, name, collect, resources.digest)

    def stream():
        yield from collect(encoder, resources)  # called here, so that progress sees a slow beginning too

    def make():
        rows = stream() if progress is None else progress(stream(), f"{name}, {encoder.name}")
        return Evidence.of(name, rows, claim)

    def made_or_read():
        try:
            if evidence is not None and name in evidence:
                return make()
            return kept(f"evidence {name}", (collect.__module__, encoder.fingerprint, resources.digest), make)
        except CannotDecide as reason:
            return reason

    found = _kept.once(key, made_or_read)
    if isinstance(found, CannotDecide):
        raise CannotDecide(*found.args)
    return found


def _collector(name: str, evidence: Mapping[str, Callable] | None, claim: str) -> Callable:
    """Found in ``evidence``, then in the claim's own lesson, then in the others."""
    if evidence and name in evidence:
        return evidence[name]
    modules = _modules(None)
    for _, module in sorted(modules, key=lambda item: item[0] != claim[:2]):
        if name in module().EVIDENCE:
            return module().EVIDENCE[name]
    known = ", ".join(sorted({*evidence_table(), *(evidence or ())})) or "none"
    if claim:
        raise ValueError(
            f"claim {claim!r} names evidence {name!r}, which no lesson collects; there is: {known}."
        )
    raise ValueError(f"there is no evidence {name!r}; there is: {known}.")


# --- the ledger -----------------------------------------------------------------------------------------------


def ledger(lesson: str | None = None) -> tuple[Claim, ...]:
    """The claims of one lesson, or of all, in the order of the course.

    Parameters
    ----------
    lesson : str, optional
        Two digits, for example ``"03"``.

    Raises
    ------
    ValueError
        If the lesson has no claims (the message lists those that have), two claims share a key, or a claim stands
        in another lesson's module.
    """
    claims: dict[str, Claim] = {}
    for number, module in _modules(lesson):
        for claim in module().CLAIMS:
            if claim.lesson != number:
                raise ValueError(
                    f"claim {claim.key!r} of lesson {claim.lesson} stands in the module of lesson {number}."
                )
            if claim.key in claims:
                raise ValueError(f"two claims have the key {claim.key!r}; a key names one claim.")
            claims[claim.key] = claim
    return tuple(claims.values())


def evidence_table() -> dict[str, Callable]:
    """Name -> collector of every lesson's evidence.

    Raises
    ------
    ValueError
        If two lessons give different evidence one name.
    """
    found: dict[str, Callable] = {}
    for number, module in _modules(None):
        for name, collect in module().EVIDENCE.items():
            if found.setdefault(name, collect) is not collect:
                raise ValueError(
                    f"evidence {name!r} of lesson {number} has the name of another lesson's evidence."
                )
    return found


def _modules(lesson: str | None) -> list:
    """(number, function that imports the module) of the lessons that have claims."""
    from . import ledger as package

    numbers = sorted(
        module.name.removeprefix("lesson")
        for module in pkgutil.iter_modules(package.__path__)
        if re.fullmatch(r"lesson\d\d", module.name)
    )
    if lesson is not None and lesson not in numbers:
        raise ValueError(f"no lesson {lesson!r} with claims; there is: {', '.join(numbers) or 'none'}.")
    chosen = numbers if lesson is None else [lesson]
    return [(number, partial(import_module, f"{package.__name__}.lesson{number}")) for number in chosen]


# --- deciding -------------------------------------------------------------------------------------------------


def decide(
    claims: Sequence[Claim],
    encoder,
    *,
    resources: Resources | None = None,
    twin=None,
    progress: Callable[[Iterable, str], Iterable] | None = None,
    evidence: Mapping[str, Callable] | None = None,
    strict: bool = True,
) -> list[Verdict]:
    """Decide claims on one model, with its random twin as the control.

    Parameters
    ----------
    claims : sequence of Claim
    encoder : Encoder
    resources : Resources, optional
        Texts, pairs, treebank and how many of them. Default: all that is shipped.
    twin : Encoder, optional
        Default: ``random_twin(encoder)``; for a model that is itself that twin, a twin with another seed.
    progress : function(stream, label), optional
        Wrapped round each stream of inputs.
    evidence : dict of name -> collector, optional
        Evidence besides that of the lessons.
    strict : bool
        Whether an error in a collector or a statistic stops everything, or becomes the reason why its claims cannot be decided.

    Returns
    -------
    list of Verdict, in the order of the claims
        *holds* if the whole interval lies above the line and above the twin's, and the twin's does not lie above the line;
        *does not hold* if the whole interval lies below the line; otherwise *cannot be decided here*, with the reason.
    """
    found = {
        id(verdict.claim): verdict
        for verdict in iter_verdicts(
            claims,
            encoder,
            resources=resources,
            twin=twin,
            progress=progress,
            evidence=evidence,
            strict=strict,
        )
    }
    return [found[id(claim)] for claim in claims]


def decide_lesson(lesson: str, encoder, *, n: int | None = None, **options) -> list[Verdict]:
    """:func:`decide` for the claims of one lesson, on the first ``n`` of the shipped inputs of each kind.

    >>> decide_lesson("03", load_encoder("specimen"), n=40)      # doctest: +SKIP
    """
    if n is not None and options.get("resources") is not None:
        raise ValueError("give n or resources, not both; Resources(limit=n) says how many to use.")
    resources = options.pop("resources", None) or Resources(limit=n)
    return decide(ledger(lesson), encoder, resources=resources, **options)


def iter_verdicts(
    claims: Sequence[Claim],
    encoder,
    *,
    resources: Resources | None = None,
    twin=None,
    progress: Callable[[Iterable, str], Iterable] | None = None,
    evidence: Mapping[str, Callable] | None = None,
    strict: bool = True,
) -> Iterator[Verdict]:
    """:func:`decide` one evidence after the other, so that a caller who is interrupted keeps what is done."""
    resources = Resources() if resources is None else resources
    for claim in claims:
        if claim.statistic is not None:
            _collector(
                claim.evidence, evidence, claim.key
            )  # a name that is wrong is found before hours of work
    twin = _Twin(encoder) if twin is None else twin
    groups: dict[str, list[Claim]] = {}
    for claim in claims:
        groups.setdefault(claim.evidence, []).append(claim)
    for name, group in groups.items():
        tested = [claim for claim in group if claim.statistic is not None]
        collected = []
        for model in (encoder, twin) if tested else ():
            try:
                if isinstance(model, _Twin):
                    model = model.encoder
                collected.append(
                    collect_evidence(
                        name, model, resources, evidence=evidence, progress=progress, claim=tested[0].key
                    )
                )
            except CannotDecide as reason:
                collected.append(reason)
            except Exception as error:
                if strict:
                    raise
                collected.append(CannotDecide(f"collecting {name!r} failed: {_short(error)}"))
        samples = [_Sample(found) if isinstance(found, Evidence) else found for found in collected]
        for claim in group:
            measured = [_measure(claim, sample, strict) for sample in samples if claim.statistic is not None]
            yield _verdict(claim, *(measured or [None, None]), encoder.name, twin.name)


class _Twin:
    """The random twin, made only when something is to be measured on it."""

    def __init__(self, original):
        self.original = original

    @property
    def name(self) -> str:
        return f"{self.original.name}-random"

    @cached_property
    def encoder(self):
        from .encoder import RANDOM_SEED, random_twin

        twin = random_twin(self.original)
        if (
            twin.fingerprint == self.original.fingerprint
        ):  # the model is random itself: another draw is its control
            twin = random_twin(self.original, seed=RANDOM_SEED + 1)
        return twin


@dataclass(frozen=True)
class _Measured:
    """A statistic with its interval, or the reason why there is none."""

    value: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    n: int = 0
    n_choice: int = 0
    reason: str = ""
    replicates: np.ndarray | None = None


def measure(claim: Claim, evidence: Evidence | CannotDecide) -> _Measured:
    """A claim's statistic on evidence: ``value``, ``low``, ``high``, ``n``, ``n_choice``, ``replicates``; or only a ``reason``.

    ``replicates`` holds the statistic in each sample of the inputs that report, NaN where it is undefined there.
    """
    return _measure(claim, _Sample(evidence) if isinstance(evidence, Evidence) else evidence, True)


def _measure(claim: Claim, sample: _Sample | CannotDecide, strict: bool) -> _Measured:
    try:
        if isinstance(sample, CannotDecide):
            raise sample
        return _with_interval(claim, sample)
    except CannotDecide as reason:
        return _Measured(reason=str(reason))
    except Exception as error:
        if strict:
            raise ValueError(f"the statistic of claim {claim.key!r} fails: {_short(error)}") from error
        return _Measured(reason=f"its statistic fails: {_short(error)}")


def _with_interval(claim: Claim, sample: _Sample) -> _Measured:
    choice, values = sample.row(0), sample.row(1)
    try:
        value = float(claim.statistic(values, choice))
    except _Undefined as missing:
        raise CannotDecide(_too_few(missing.args[0], values)) from None
    if sample.n_reporting < 2:
        raise CannotDecide(f"only {_inputs(sample.n_reporting)} to report on; an interval needs two")
    for quantity in sorted(values.used):
        if values.count(quantity) < 2:
            raise CannotDecide(_too_few(quantity, values))
    if not np.isfinite(value):
        raise CannotDecide("its statistic is undefined for these inputs")
    low, high, replicates = _interval(claim, sample, choice)
    n = min((values.count(quantity) for quantity in values.used), default=sample.n_reporting)
    n_choice = min((choice.count(quantity) for quantity in choice.used), default=0)
    return _Measured(value, low, high, n, n_choice, replicates=replicates)


def _interval(claim: Claim, sample: _Sample, choice: _Means) -> tuple[float, float, np.ndarray]:
    """Quantiles of the statistic over the samples drawn from the inputs that report, and the statistic in each of them."""
    replicates = np.full(REPLICATES, np.nan)
    for b in range(REPLICATES):
        try:
            replicates[b] = claim.statistic(sample.row(2 + b), choice)
        except (_Undefined, CannotDecide):  # a rare quantity was not drawn this time
            continue
    defined = np.isfinite(replicates)
    if defined.mean() < CONFIDENCE:
        raise CannotDecide(f"only {defined.sum()} of {REPLICATES} resamples of the inputs give a number")
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(replicates[defined], (tail, 1 - tail))
    return float(low), float(high), replicates


def _too_few(quantity: str, values: _Means) -> str:
    if quantity not in values.sample.evidence.values:
        return f"no input yields {quantity!r}"
    if values.count(quantity) >= 2:  # then it was asked of the other half
        return f"no input to choose on has {quantity!r}"
    return f"only {_inputs(values.count(quantity))} to report on with {quantity!r}; an interval needs two"


def _inputs(n: int) -> str:
    return f"{n} input{'' if n == 1 else 's'}"


def _verdict(
    claim: Claim, ours: _Measured | None, control: _Measured | None, model: str, twin: str
) -> Verdict:
    if ours is None:
        ours = control = _Measured(reason=claim.operational)
    if ours.reason:
        verdict, why = OPEN, ours.reason
    elif ours.high < claim.line:
        verdict, why = FAILS, "the whole interval is below the line"
    elif ours.low <= claim.line:
        verdict, why = OPEN, "the interval includes the line"
    elif claim.control and control.reason:
        verdict, why = OPEN, f"the random twin gives no control: {control.reason}"
    elif claim.control and control.low > claim.line:
        verdict, why = OPEN, "a random twin reaches it too"
    elif claim.control and control.high >= ours.low:
        verdict, why = OPEN, "a random twin's interval reaches into it"
    elif claim.control:
        verdict, why = HOLDS, "the whole interval is above the line, the twin's is not"
    else:
        verdict, why = HOLDS, "the whole interval is above the line"
    return Verdict(
        claim,
        claim.published_text(),
        *(ours.value, ours.low, ours.high),
        *(control.value, control.low, control.high),
        ours.n,
        ours.n_choice,
        verdict,
        why,
        model,
        twin,
    )


def _short(error: Exception) -> str:
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
