"""What claims are decided on: the texts, and some quantities for each of them.

A claim fixes its statistic and its line before anything is computed. The evidence, some quantities for every input,
is collected once for all claims that name it, for the model and for a randomly initialised twin. Inputs with even
index choose (the best head, the highest layer), those with odd index report; a bootstrap over the reporting inputs
gives the interval.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bertlook_teach.stats import REPLICATES, draws

from ..metrics import CannotDecide
from ..storage import Memory, cached


# --- what the claims are tried on -----------------------------------------------------------------------------
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

    def __init__(self, pairs=None, texts=None, treebank=None, limit: int | None = None):
        if limit is not None and limit < 1:
            raise ValueError(f"limit is the number of inputs to use, at least 1; got {limit}.")
        own = {"pairs": pairs, "texts": texts, "treebank": treebank}
        self._own = {name: value if value is None else list(value)[:limit] for name, value in own.items()}
        self.limit = limit

    @cached_property
    def pairs(self) -> list:
        from ..corpora import load_pairs

        return self._own_or("pairs", load_pairs)

    @cached_property
    def texts(self) -> list:
        from ..corpora import load_texts

        return self._own_or("texts", load_texts)

    @cached_property
    def treebank(self) -> list:
        from ..corpora import load_treebank

        return self._own_or("treebank", load_treebank)

    def _own_or(self, name: str, load: Callable[[], list]) -> list:
        return load()[: self.limit] if self._own[name] is None else self._own[name]

    @cached_property
    def digest(self) -> str:
        """The same for the same content, so that evidence collected before can be used again."""
        content = ["shipped" if own is None else repr(own) for own in self._own.values()]
        return hashlib.sha256("\0".join([*content, str(self.limit)]).encode()).hexdigest()

    def __repr__(self) -> str:
        named = [f"{name}: {'shipped' if own is None else len(own)}" for name, own in self._own.items()]
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
                    raise ValueError(f"{where} is not an array of numbers: {value!r:.80}.") from None
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

    def rows(self) -> Iterator[dict[str, np.ndarray]]:
        """The other way: one dict an input, as a collector gives them."""
        rows: list[dict] = [{} for _ in range(self.n)]
        for quantity, places in self.inputs.items():
            for place, value in zip(places, self.values[quantity]):
                rows[place][quantity] = value
        yield from rows


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
            seed = [REPLICATES, self.n_reporting]
            self.weights[2:, 1::2] = draws(self.n_reporting, scheme="multinomial", seed=seed)
        self._known: dict[str, tuple[np.ndarray, np.ndarray]] = {}

    def row(self, index: int) -> _Means:
        return _Means(self, index)

    def means(self, quantity: str) -> tuple[np.ndarray, np.ndarray]:
        """Means of a quantity, one for each row, and the number of inputs behind each; a row without inputs holds zeros."""
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

    def count(self, quantity) -> int:
        """Inputs that have the quantity and a weight in this row."""
        if quantity not in self.sample.evidence.values:
            return 0
        return int(self.sample.means(quantity)[1][self.index])

    def __contains__(self, quantity: object) -> bool:
        return self.count(quantity) > 0  # asking does not count as use

    def total(self, quantity: str) -> np.ndarray:
        """Sum over the inputs of this row; one that was drawn twice counts twice."""
        if self.count(quantity) == 0:
            raise _Undefined(quantity)
        weights = self.sample.weights[self.index, self.sample.evidence.inputs[quantity]]
        return self.sample.means(quantity)[0][self.index] * weights.sum()

    def __iter__(self) -> Iterator[str]:
        return (quantity for quantity in self.sample.evidence.values if self.count(quantity))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def evidence(name: str, *, version: int, unit: str = "inputs") -> Callable:
    """Decorates a collector whose evidence is kept on disk, and ships if ``tools/make_evidence.py`` is run.

    Parameters
    ----------
    name : str
        Of the evidence.
    version : int
        Raise it when a number may come out otherwise; evidence of another version is not used. A collector that rests on kept results
        (`bertlook_course.storage.cached`) or on another collector is raised with them.
    unit : str
        What it yields one dict for from the course's own corpora, as slides say it beside n: sentences, documents, pairs of texts.

    >>> @evidence("lengths", version=1)
    ... def lengths(encoder, resources):
    ...     yield from ({"words": len(text.split())} for text in resources.texts)
    >>> lengths.kept_as
    ('lengths', 1)
    """

    def decorate(collector: Callable) -> Callable:
        collector.kept_as, collector.unit = (name, version), unit
        return collector

    return decorate


_kept = Memory(64)  # evidence, or why it cannot be had


def collect(
    name: str,
    collector: Callable,
    encoder,
    resources: Resources | None = None,
    *,
    progress: Callable[[Iterable, str], Iterable] | None = None,
    claim: str = "",
) -> Evidence:
    """What a collector finds for one model, from memory or disk (`bertlook_course.storage.cache`) if it is shipped or has been collected before.

    Parameters
    ----------
    name : str
        Of the evidence.
    collector : function of (encoder, resources)
        Yields a dict of quantities for each input. What it finds is kept on disk if it says its version (`evidence`).
    encoder : Encoder
    resources : Resources, optional
        Default: all shipped texts.
    progress : function(stream, label), optional
        Wrapped round the stream of inputs.
    claim : str
        Key of the claim to name in an error.

    Raises
    ------
    CannotDecide
        If the collector says that it does not apply to this model or these inputs.
    ValueError
        If it yields something other than finite numbers of one shape.
    """
    resources = Resources() if resources is None else resources
    key = (encoder.fingerprint, name, collector, resources.digest)

    def stream():
        yield from collector(encoder, resources)  # called here, so that progress sees a slow beginning too

    def make():
        rows = stream() if progress is None else progress(stream(), f"{name}, {encoder.name}")
        return Evidence.of(name, rows, claim)

    def made_or_reason() -> Evidence | CannotDecide:
        try:
            return make()
        except CannotDecide as reason:
            return reason

    def kept_or_made() -> Evidence | CannotDecide:
        if not hasattr(collector, "kept_as"):
            return made_or_reason()
        kind, version = collector.kept_as
        return cached(
            f"evidence {kind}",
            (encoder, resources.digest),
            made_or_reason,
            version=version,
            out=lambda found: str(found) if isinstance(found, CannotDecide) else found,
            back=lambda found: CannotDecide(found) if isinstance(found, str) else found,
        )

    found = _kept.once(key, kept_or_made)
    if isinstance(found, CannotDecide):
        raise CannotDecide(*found.args)
    return found
