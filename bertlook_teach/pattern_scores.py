"""How well every head follows a pattern: answers and attention mass, beside offsets, chance and the random twin.

A case is a query for which the pattern has at least one key. *Accuracy*: the share of cases in which the position that
is most looked at is such a key. *Mass*: the mean attention that goes to all such keys together. What may be an answer is
as in `bertlook_teach.predictors`: words besides the query itself; special tokens and the query too if the pattern asks
for them. Head and offset are chosen on one half of the texts and scored on the other, both ways.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from . import __version__
from .attention import check_reading
from .claims import CannotDecide, Claim, Resources
from .corpora import TreebankSentence
from .intervals import ratio_interval
from .labels import head_label
from .pattern_language import PAIRS, TREEBANK, Pattern, Reading, _needs_treebank, parse_pattern
from .predictors import predicted_governors
from .profile import CONFIDENCE, REPLICATES, replacing
from .report import align, with_interval
from .syntax import OFFSETS

__all__ = [
    "ANSWERS",
    "PatternScore",
    "ScoreRow",
    "WordMaps",
    "as_claim",
    "evidence",
    "score_pattern",
    "word_maps",
]

ANSWERS = ("words", "anything")  # what a head may answer: other words, or every position
MEASURES = ("accuracy", "mass")


# --- every map of a corpus, extracted once -------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class WordMaps:
    """What all heads do on all texts of a corpus, between words: enough to score any pattern at once.

    Attributes
    ----------
    readings : list of Reading
    weights : list of float16 ndarray of shape (layer, head, query, key)
        Pieces looked at are added up, rows of pieces averaged; special tokens are positions too.
    answers : list of int16 ndarray of shape (2, layer, head, query)
        The position that is looked at most, found before rounding: among other words (-1: there is none), among all.
    skipped : Counter of reason -> number of texts
    about : dict
    """

    readings: list[Reading]
    weights: list[np.ndarray]
    answers: list[np.ndarray]
    skipped: Counter
    about: dict

    def __len__(self) -> int:
        return len(self.readings)

    @property
    def shape(self) -> tuple[int, int]:
        """(layer, head)."""
        return self.weights[0].shape[:2]

    @property
    def nbytes(self) -> int:
        return sum(w.nbytes for w in self.weights) + sum(a.nbytes for a in self.answers)

    def __repr__(self) -> str:
        left_out = f", {self.skipped.total()} left out" if self.skipped else ""
        return f"WordMaps({self.about.get('model', '?')}: {len(self)} texts, {self.nbytes / 2**20:.0f} MiB{left_out})"

    def save(self, path: str | Path) -> None:
        """Write one ``.npz`` file."""
        fields = [{name: getattr(r, name) for name in Reading.__dataclass_fields__} for r in self.readings]
        content = {
            "about": self.about,
            "skipped": dict(self.skipped),
            "shape": self.shape,
            "readings": fields,
        }
        with replacing(Path(path), "wb") as file:
            np.savez(
                file,
                content=np.array(json.dumps(content)),
                weights=np.concatenate([w.ravel() for w in self.weights]),
                answers=np.concatenate([a.ravel() for a in self.answers]),
            )

    @classmethod
    def load(cls, path: str | Path) -> WordMaps:
        """Read what :meth:`save` wrote."""
        with np.load(path, allow_pickle=False) as file:
            if "content" not in file or "weights" not in file:
                raise ValueError(
                    f"{path} was not written by WordMaps.save: it holds {', '.join(file) or 'nothing'}."
                )
            content = json.loads(str(file["content"]))
            weights, answers = file["weights"], file["answers"]
        readings = [
            Reading(**{name: _tuple(value) for name, value in row.items()}) for row in content["readings"]
        ]
        layers, heads = content["shape"]
        sizes = [len(r) for r in readings]
        return cls(
            readings,
            _cut(weights, [(layers, heads, n, n) for n in sizes]),
            _cut(answers, [(2, layers, heads, n) for n in sizes]),
            Counter(content["skipped"]),
            content["about"],
        )


def _tuple(value):
    return tuple(map(_tuple, value)) if isinstance(value, list) else value


def _cut(flat: np.ndarray, shapes: Sequence[tuple[int, ...]]) -> list[np.ndarray]:
    ends = np.cumsum([np.prod(shape) for shape in shapes])
    return [part.reshape(shape) for part, shape in zip(np.split(flat, ends[:-1]), shapes)]


def word_maps(
    encoder,
    corpus: Iterable[TreebankSentence | str | tuple[str, str]],
    *,
    query: str = "mean",
    batch_size: int = 32,
    cache: str | Path | None = None,
    progress: Callable[[Iterable], Iterable] | None = None,
) -> WordMaps:
    """Run the encoder once over a corpus and keep the maps, two bytes a number.

    Parameters
    ----------
    encoder : Encoder
    corpus : iterable
        Sentences of a treebank, texts, or pairs of texts; one kind throughout. Sentences that the model cannot read whole are
        left out and counted; longer texts are cut, and counted.
    query : {"mean", "first", "max"}
        How the rows of a word's pieces become one row.
    cache : folder, optional
        Kept there under a name made of model, corpus and rule; found there, nothing is computed.
    progress : function, optional
        Wrapped round the stream of texts.

    Raises
    ------
    ValueError
        If the corpus is empty, mixes kinds, or has no text that the model can read.
    """
    corpus = list(corpus)
    kinds = {type(item).__name__ for item in corpus}
    if len(kinds) != 1 or not isinstance(corpus[0], (TreebankSentence, str, tuple)):
        raise ValueError(
            "a corpus is a list of treebank sentences, of texts, or of pairs of texts, one kind throughout; "
            f"got {' and '.join(sorted(kinds)) or 'nothing'}."
        )
    if cache is None:
        return _extract(encoder, corpus, query, batch_size, progress)
    content = "\0".join([encoder.fingerprint, query, __version__, *map(repr, corpus)])
    path = Path(cache) / f"maps-{hashlib.sha256(content.encode()).hexdigest()[:16]}.npz"
    if path.exists():
        return WordMaps.load(path)
    maps = _extract(encoder, corpus, query, batch_size, progress)
    path.parent.mkdir(parents=True, exist_ok=True)
    maps.save(path)
    return maps


def _extract(encoder, corpus, query, batch_size, progress) -> WordMaps:
    from .attention import iter_attention

    skipped, usable = Counter(), []
    for item in corpus:
        length, problem = len(item[0] + item[1]) if isinstance(item, tuple) else len(item), ""
        if isinstance(item, TreebankSentence):
            length, problem = check_reading(encoder, item.words)
        if problem:
            skipped[problem] += 1
        else:
            usable.append((length, item))
    if not usable:
        reasons = ", ".join(f"{n} {why}" for why, n in skipped.items())
        raise ValueError(f"no text can be read by {encoder.name}: {reasons}.")
    order = sorted(range(len(usable)), key=lambda i: usable[i][0])  # equal lengths together: little padding
    inputs = (list(i.words) if isinstance(i, TreebankSentence) else i for i in (usable[n][1] for n in order))
    stream = iter_attention(encoder, inputs, batch_size=batch_size, truncate=True)
    found: list[tuple | None] = [None] * len(usable)
    for i, attention in zip(order, stream if progress is None else progress(stream)):
        item = usable[i][1]
        skipped.update(["cut to what the model reads"] if attention.truncated else [])
        reading = (
            Reading.of(item, attention)
            if isinstance(item, TreebankSentence)
            else Reading.of_attention(attention)
        )
        words = attention.to_words(query)
        found[i] = reading, words.weights.astype(np.float16), _answers(words)
    readings, weights, answers = map(list, zip(*found))
    about = {
        "model": encoder.name,
        "fingerprint": encoder.fingerprint,
        "query": query,
        "kind": {TreebankSentence: "treebank", str: "texts", tuple: "pairs"}[type(corpus[0])],
    }
    return WordMaps(readings, weights, answers, skipped, about)


def _answers(words) -> np.ndarray:
    """The position each head looks at most, among other words and among all, (2, layer, head, query)."""
    among_all = words.weights.argmax(-1)
    among_words = np.full_like(among_all, -1)
    at = np.flatnonzero(~np.asarray(words.special))
    if len(at) > 1:
        among_words[..., at] = at[predicted_governors(words)[0]]
    return np.stack([among_words, among_all]).astype(np.int16)


# --- counting ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PatternCounts:
    """Sums over the cases of each text; all that a score, an interval or a claim needs.

    Attributes
    ----------
    cases : ndarray of shape (text,)
        Queries for which the pattern has a key.
    right, mass : ndarray of shape (text, layer, head)
        Right answers, and attention to the pattern's keys.
    rules : ndarray of shape (text, rule)
        Right answers of each fixed rule, named in ``rule_names``.
    guess, even : ndarray of shape (text,)
        Right answers to be expected of guessing among the candidates, and the mass that even attention gives.
    """

    cases: np.ndarray
    right: np.ndarray
    mass: np.ndarray
    rules: np.ndarray
    guess: np.ndarray
    even: np.ndarray
    rule_names: tuple[str, ...]


def _candidates(reading: Reading, answers: str) -> np.ndarray:
    """(query, key): what may be looked at and counts as an answer."""
    if answers == "anything":
        return np.ones((len(reading), len(reading)), dtype=bool)
    return reading.word_pairs & ~np.eye(len(reading), dtype=bool)


def _rules(reading: Reading, answers: str) -> dict[str, np.ndarray]:
    """Where each fixed rule looks from every position; -1: nowhere."""
    n = len(reading)
    if answers == "anything":
        at, places, steps = np.arange(n), np.arange(n), sorted((*OFFSETS, 0))
    else:
        at, places, steps = reading.word_positions, reading.places, OFFSETS
    rules = {}
    for step in steps:
        goal = places + step
        inside = (goal >= 0) & (goal < len(at))
        rules[f"{step:+d}" if step else "itself"] = (
            np.where(inside, at[goal.clip(0, max(len(at) - 1, 0))], -1) if len(at) else np.full(n, -1)
        )
    if answers == "anything":
        rules |= {"first token": np.zeros(n, dtype=int), "last token": np.full(n, n - 1)}
    return rules


def count_cases(pattern: Pattern, maps: WordMaps, answers: str) -> PatternCounts:
    """Go through all texts once. Raises CannotDecide where nothing, or everything, matches."""
    which = ANSWERS.index(answers)
    n, names = len(maps), tuple(_rules(maps.readings[0], answers))
    cases, guess, even = np.zeros((3, n))
    right, mass = np.zeros((2, n, *maps.shape))
    rules = np.zeros((n, len(names)))
    candidates_in_all, matched_in_all, matched_outside = 0, 0, 0
    for i, reading in enumerate(maps.readings):
        found = pattern.mask(reading)
        candidates = _candidates(reading, answers)
        matched_outside += int((found & ~candidates).sum())
        found &= candidates
        candidates_in_all += int(candidates.sum())
        matched_in_all += int(found.sum())
        asked = np.flatnonzero(found.any(axis=1))
        if not len(asked):
            continue
        keys = found[asked]
        cases[i] = len(asked)
        guess[i] = (keys.sum(1) / candidates[asked].sum(1)).sum()
        even[i] = keys.sum() / len(reading)
        right[i] = keys[np.arange(len(asked)), maps.answers[i][which][..., asked]].sum(-1)
        mass[i] = (maps.weights[i][:, :, asked].astype(np.float32) * keys).sum((-2, -1), dtype=float)
        for r, goal in enumerate(_rules(reading, answers).values()):
            goal = goal[asked]
            rules[i, r] = (keys[np.arange(len(asked)), goal] & (goal >= 0)).sum()
    if not candidates_in_all:
        raise CannotDecide("no text has two words, and a word does not answer with itself")
    if not matched_in_all:
        why = "the pattern matches no pair of words in any text"
        if matched_outside:
            why += (
                "; it matches special tokens or the query itself, which answer only with answers='anything'"
            )
        raise CannotDecide(why)
    if matched_in_all == candidates_in_all:
        raise CannotDecide("the pattern matches every pair, so that every head is always right")
    return PatternCounts(cases, right, mass, rules, guess, even, names)


# --- scoring -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScoreRow:
    """One measure. Shares between 0 and 1; intervals are 95 % bootstrap intervals over texts.

    ``value`` is fair: the head is chosen on one half of the texts and scored on the other, both ways. ``optimistic`` is
    the best of all heads on the very texts it is scored on. ``rule`` is the best fixed rule, chosen as fairly; its mass is that of
    a head which looks nowhere else. ``chance``: guessing among the candidates; for the mass, even attention.
    """

    measure: str
    n: int
    n_texts: int
    heads: tuple[str, ...]
    value: float
    low: float
    high: float
    rules: tuple[str, ...]
    rule: float
    chance: float
    gain: float
    gain_low: float
    gain_high: float
    optimistic: float
    optimistic_head: str
    twin: float | None = None
    twin_low: float | None = None
    twin_high: float | None = None


@dataclass(frozen=True, eq=False)
class PatternScore:
    """What :func:`score_pattern` found; printed, it is its table.

    Attributes
    ----------
    pattern : Pattern
    rows : tuple of ScoreRow
        Accuracy, then mass.
    accuracy, mass : float ndarray of shape (layer, head)
        Of every head on all texts.
    counts : PatternCounts
    about : dict
    """

    pattern: Pattern
    rows: tuple[ScoreRow, ...]
    accuracy: np.ndarray
    mass: np.ndarray
    counts: PatternCounts = field(repr=False)
    about: dict

    def __getitem__(self, measure: str) -> ScoreRow:
        for row in self.rows:
            if row.measure == measure:
                return row
        raise KeyError(f"measure is accuracy or mass; got {measure!r}.")

    def head_maps(self) -> dict[str, np.ndarray]:
        """For ``HeadMap``: measure -> array of shape (layer, head)."""
        return {"accuracy": self.accuracy, "mass": self.mass}

    def head_rows(self) -> list[dict]:
        """One row for each head: both measures with their intervals, on all texts (of the best of them: too good)."""
        counts = self.counts
        rows = []
        for layer, head in np.ndindex(self.accuracy.shape):
            row: dict[str, object] = {"head": head_label(layer, head), "n": int(counts.cases.sum())}
            for measure, sums in (("accuracy", counts.right), ("mass", counts.mass)):
                low, high = ratio_interval(np.stack([sums[:, layer, head], counts.cases], axis=1))
                row |= {
                    measure: float(self.head_maps()[measure][layer, head]),
                    f"{measure}_low": low,
                    f"{measure}_high": high,
                }
            rows.append(row)
        return rows

    def table(self) -> str:
        """The table in plain characters, shares in per cent."""
        header = [
            "",
            "n",
            "head",
            "value [95 %]",
            "best rule",
            "value",
            "chance",
            "gain [95 %]",
            "twin [95 %]",
            "optimistic",
        ]
        lines = [header]
        for row in self.rows:
            lines.append(
                [
                    row.measure,
                    str(row.n),
                    " / ".join(row.heads),
                    with_interval(row.value, row.low, row.high),
                    " / ".join(row.rules),
                    f"{100 * row.rule:.1f}",
                    f"{100 * row.chance:.1f}",
                    with_interval(row.gain, row.gain_low, row.gain_high),
                    "" if row.twin is None else with_interval(row.twin, row.twin_low, row.twin_high),
                    f"{100 * row.optimistic:.1f} ({row.optimistic_head})",
                ]
            )
        among = "other words" if self.about["answers"] == "words" else "all positions"
        about = (
            f"{self.about['model']}, {self.about['n_texts']} texts, {self.rows[0].n_texts} with a case; "
            f"answers among {among}; chosen on one half, scored on the other."
        )
        legend = "Per cent. Gain: over the best fixed rule. Chance: guessing; for the mass, even attention."
        return "\n".join([repr(self.pattern), self.pattern.in_words(), about, align(lines), legend])

    def sentence(self, measure: str = "accuracy") -> str:
        """What the row says, in words."""
        row = self[measure]
        did = "answers so" if measure == "accuracy" else "gives such keys"
        share = (
            f"in {100 * row.value:.0f} % of {row.n} cases"
            if measure == "accuracy"
            else f"{100 * row.value:.0f} % of its attention in {row.n} cases"
        )
        twin = "" if row.twin is None else f"; the random twin's best head {100 * row.twin:.0f} %"
        return (
            f"The best head ({' / '.join(row.heads)}), chosen on other texts, {did} {share} [{100 * row.low:.0f}, {100 * row.high:.0f}]; "
            f"the best fixed rule ({' / '.join(row.rules)}) {100 * row.rule:.0f} %, chance {100 * row.chance:.0f} %{twin}."
        )

    def __repr__(self) -> str:
        return self.table()


def score_pattern(
    pattern: Pattern | str, maps: WordMaps, twin: WordMaps | None = None, *, answers: str | None = None
) -> PatternScore:
    """Score every head on a pattern, and the best of them fairly.

    Parameters
    ----------
    pattern : Pattern or str
        A str is read by `parse_pattern`.
    maps : WordMaps
        From :func:`word_maps`.
    twin : WordMaps, optional
        Of the randomly initialised twin on the same corpus; its best head is chosen as fairly.
    answers : {"words", "anything"}, optional
        What counts as an answer; default ``"anything"`` if the pattern asks for special tokens or the query itself, else ``"words"``.

    Raises
    ------
    CannotDecide
        If the pattern matches nothing or everything, or only the texts of one half have a case.
    ValueError
        If it needs a treebank or pairs and there are none, names a tag or relation that no word has, or the twin read other texts.
    """
    pattern = parse_pattern(pattern) if isinstance(pattern, str) else pattern
    answers = answers_of(pattern) if answers is None else answers
    if answers not in ANSWERS:
        raise ValueError(f"answers must be one of {', '.join(ANSWERS)}; got {answers!r}.")
    check_corpus(pattern, maps.readings)
    if twin is not None and [r.words for r in twin.readings] != [r.words for r in maps.readings]:
        raise ValueError("the twin must have read the same texts; make its maps from the same corpus.")
    counts = count_cases(pattern, maps, answers)
    twins = None if twin is None else count_cases(pattern, twin, answers)
    half = np.arange(len(maps)) % 2
    for side in (0, 1):
        if not counts.cases[half == side].sum():
            n = int(counts.cases.sum())
            raise CannotDecide(
                f"{'the only case stands' if n == 1 else f'all {n} cases stand'} in texts of one half; choosing on "
                "one half and scoring on the other needs cases in both: give more texts"
            )
    total = counts.cases.sum()
    return PatternScore(
        pattern,
        (_row("accuracy", counts, twins, half), _row("mass", counts, twins, half)),
        counts.right.sum(0) / total,
        counts.mass.sum(0) / total,
        counts,
        {
            **maps.about,
            "pattern": repr(pattern),
            "in_words": pattern.in_words(),
            "answers": answers,
            "n_texts": len(maps),
            "skipped": dict(maps.skipped),
            "twin": "" if twin is None else twin.about["model"],
            "protocol": "chosen on one half, scored on the other, both ways",
            "interval": f"{CONFIDENCE:.0%} Poisson bootstrap over texts, {REPLICATES} replicates",
            "version": __version__,
        },
    )


def answers_of(pattern: Pattern) -> str:
    """What may answer if nobody says otherwise."""
    return "anything" if pattern.asks_beyond_words() else "words"


def check_corpus(pattern: Pattern, readings: Sequence[Reading]) -> None:
    """Whether a pattern can be asked of these texts at all.

    Raises
    ------
    ValueError
        With what is missing, or with the tags or relations that there are.
    """
    if TREEBANK in pattern.needs and readings[0].governors is None:
        raise ValueError(_needs_treebank([c for c in pattern.conditions() if c.needs == {TREEBANK}]))
    if PAIRS in pattern.needs and not any(any(r.segments) for r in readings):
        asked = ", ".join(dict.fromkeys(repr(c) for c in pattern.conditions() if c.needs == {PAIRS}))
        raise ValueError(
            f"{asked} asks for two segments, and these texts have one; give pairs of texts (read_pairs, or --pairs FILE)."
        )
    for name, column in (("pos", "upos"), ("relation", "relations")):
        wanted = [(c, a) for c in pattern.conditions() if c.name == name for a in c.arguments]
        if not wanted:
            continue
        there = {value for r in readings for value in getattr(r, column) if value}
        known = there | {value.partition(":")[0] for value in there} if name == "relation" else there
        for condition, value in wanted:
            if value not in known:
                raise ValueError(
                    f"{condition!r}: no word of these {len(readings)} sentences has {value!r}; there are: {', '.join(sorted(there))}."
                )


def _crossed(sums: np.ndarray, half: np.ndarray) -> tuple[np.ndarray, tuple[int, int]]:
    """(sums of each text by the column chosen on the other half; the columns chosen on half 0 and on half 1)."""
    chosen = tuple(int(sums[half == side].sum(0).argmax()) for side in (0, 1))
    return np.where(half == 0, sums[:, chosen[1]], sums[:, chosen[0]]), chosen


def _row(measure: str, counts: PatternCounts, twins: PatternCounts | None, half: np.ndarray) -> ScoreRow:
    def sums_of(some: PatternCounts) -> np.ndarray:
        sums = some.right if measure == "accuracy" else some.mass
        return sums.reshape(len(sums), -1)

    def interval(sums) -> tuple[float, float]:
        return ratio_interval(np.stack([sums, counts.cases], axis=1))

    def label(column: int) -> str:
        return head_label(*map(int, np.unravel_index(column, counts.right.shape[1:])))

    n = counts.cases.sum()
    found, heads = _crossed(sums_of(counts), half)
    by_rule, rules = _crossed(counts.rules, half)
    low, high = interval(found)
    gain_low, gain_high = interval(found - by_rule)
    best = sums_of(counts).sum(0)
    more = {}
    if twins is not None:
        by_twin, _ = _crossed(sums_of(twins), half)
        twin_low, twin_high = interval(by_twin)
        more = {"twin": float(by_twin.sum() / n), "twin_low": twin_low, "twin_high": twin_high}
    chance = counts.guess if measure == "accuracy" else counts.even
    return ScoreRow(
        measure,
        int(n),
        int((counts.cases > 0).sum()),
        tuple(dict.fromkeys(map(label, heads))),
        float(found.sum() / n),
        low,
        high,
        tuple(dict.fromkeys(counts.rule_names[r] for r in rules)),
        float(by_rule.sum() / n),
        float(chance.sum() / n),
        float((found - by_rule).sum() / n),
        gain_low,
        gain_high,
        float(best.max() / n),
        label(int(best.argmax())),
        **more,
    )


# --- into the ledger -----------------------------------------------------------------------------------

CORPORA = ("treebank", "texts", "pairs")


@dataclass(frozen=True)
class PatternEvidence:
    """Collects, for each text with a case, what :class:`PatternCounts` holds of it."""

    pattern: Pattern
    on: str

    def __call__(self, encoder, resources):
        maps = _maps_for_claims(encoder, resources, self.on)
        check_corpus(self.pattern, maps.readings)
        counts = count_cases(self.pattern, maps, answers_of(self.pattern))
        for i, cases in enumerate(counts.cases):
            if not cases:
                yield {}
                continue
            names = ("right", "mass", "rules", "guess", "even", "cases")
            yield {name: getattr(counts, name)[i] for name in names}


_kept: OrderedDict[tuple, WordMaps] = OrderedDict()


def _maps_for_claims(encoder, resources: Resources, on: str) -> WordMaps:
    """The maps of the last four models and corpora are kept: another pattern asks them again."""
    key = (encoder.fingerprint, resources.digest, on)
    if key not in _kept:
        _kept[key] = word_maps(encoder, getattr(resources, on))
        while len(_kept) > 4:
            _kept.popitem(last=False)
    return _kept[key]


def _corpus_of(pattern: Pattern, on: str | None) -> str:
    on = ("pairs" if PAIRS in pattern.needs else "treebank") if on is None else on
    if on not in CORPORA:
        raise ValueError(f"on must be one of {', '.join(CORPORA)}; got {on!r}.")
    return on


def _evidence_name(pattern: Pattern, on: str) -> str:
    return f"{on}: {pattern!r}"


def evidence(pattern: Pattern, *, on: str | None = None) -> dict[str, PatternEvidence]:
    """What ``decide(claims, encoder, evidence=...)``, or a lesson's ``EVIDENCE``, needs for the claims of a pattern.

    Parameters
    ----------
    pattern : Pattern
    on : {"treebank", "texts", "pairs"}, optional
        Default: the treebank, or pairs for a pattern about two segments.
    """
    on = _corpus_of(pattern, on)
    return {_evidence_name(pattern, on): PatternEvidence(pattern, on)}


def as_claim(
    pattern: Pattern,
    key: str,
    lesson: str,
    sentence: str,
    source: str,
    line: float,
    *,
    measure: str = "accuracy",
    against: str = "rule",
    section: str = "",
    on: str | None = None,
    **details,
) -> Claim:
    """The claim that some head follows a pattern, by more than ``line``.

    Parameters
    ----------
    pattern : Pattern
    key, lesson, sentence, source, section
        As in `bertlook_teach.claims.Claim`.
    line : float
        What the gain must lie above.
    measure : {"accuracy", "mass"}
        Of the head that is best on the texts that choose.
    against : {"rule", "chance", "nothing"}
        What is taken away: the best fixed rule (chosen on the same texts as the head), guessing (for the mass: even attention), or 0.
    on : {"treebank", "texts", "pairs"}, optional
        As in :func:`evidence`.
    details
        More fields of the claim: ``published``, ``exactness``, ``refuted_if``, ``operational``, ``erratum``, ``control``.
    """
    if measure not in MEASURES:
        raise ValueError(f"measure is accuracy or mass; got {measure!r}.")
    if against not in ("rule", "chance", "nothing"):
        raise ValueError(f"against must be rule, chance or nothing; got {against!r}.")
    what = (
        "share of cases in which the head looks most at such a key"
        if measure == "accuracy"
        else "attention to such keys"
    )
    taken = {"rule": ", minus the best fixed rule's", "chance": ", minus chance", "nothing": ""}[against]
    fields = {
        "published": "",
        "exactness": "",
        "operational": f"{what}, head chosen on other texts{taken}: {pattern!r}",
        "refuted_if": f"no head does so by more than {line:g}",
        **details,
    }
    name = _evidence_name(pattern, _corpus_of(pattern, on))
    return Claim(
        key, lesson, sentence, source, section, evidence=name, statistic=PatternGain(measure, against), line=line, **fields
    )  # fmt: skip


@dataclass(frozen=True)
class PatternGain:
    """The statistic of such a claim: sums over cases, divided by their number."""

    measure: str
    against: str

    def __call__(self, values, choice) -> float:
        name = "right" if self.measure == "accuracy" else "mass"
        head = np.unravel_index(choice[name].argmax(), choice[name].shape)
        found = values[name][head]
        if self.against == "rule":
            found = found - values["rules"][choice["rules"].argmax()]
        elif self.against == "chance":
            found = found - values["guess" if self.measure == "accuracy" else "even"]
        return float(found / values["cases"])
