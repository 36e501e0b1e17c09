"""Which heads know syntax: every head's answers on a treebank, and a table that is fair to the baselines.

For each relation the best head, its direction and the best offset are chosen on one half of the sentences and scored
on the other, both ways; beside it stands the flattering number, chosen and scored on the same sentences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from . import __version__
from .attention import check_reading
from .corpora import TreebankSentence
from .labels import head_label
from .predictors import ALL, ROOT, WITHOUT_PUNCT, answering_words, predicted_governors
from .profile import CONFIDENCE, REPLICATES
from .stanford import to_stanford

__all__ = [
    "OFFSETS",
    "PUBLISHED_OFFSETS",
    "SCHEMES",
    "Answers",
    "RelationRow",
    "RelationTable",
    "best_of_many",
    "collect_answers",
    "in_scheme",
    "score_relations",
]

SCHEMES = ("ud", "stanford")
OFFSETS = (-4, -3, -2, -1, 1, 2, 3, 4)
PUBLISHED_OFFSETS = (-3, -2, -1, 0, 1, 2)
_NOWHERE, _ROOT = np.iinfo(np.int16).min, np.iinfo(np.int16).min + 1  # answers that are no distance


def in_scheme(
    sentences: Iterable[TreebankSentence], scheme: str = "ud", *, subtypes: str = "merge"
) -> list[TreebankSentence]:
    """The same sentences with the arcs and relation names of a scheme.

    Parameters
    ----------
    sentences : iterable of TreebankSentence
        In Universal Dependencies, as `read_conllu` gives them.
    scheme : {"ud", "stanford"}
        ``"stanford"``: Stanford basic dependencies as in Clark et al. (2019); see `bertlook_teach.stanford`.
    subtypes : {"merge", "keep"}
        UD only: whether ``nmod:poss`` is scored as ``nmod`` or by itself.
    """
    if scheme not in SCHEMES:
        raise ValueError(f"scheme must be one of {', '.join(SCHEMES)}; got {scheme!r}.")
    if subtypes not in ("merge", "keep"):
        raise ValueError(f"subtypes must be 'merge' or 'keep'; got {subtypes!r}.")
    if scheme == "stanford":
        return [to_stanford(sentence) for sentence in sentences]
    if subtypes == "keep":
        return list(sentences)
    return [replace(s, relations=tuple(r.partition(":")[0] for r in s.relations)) for s in sentences]


# --- answers -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Answers:
    """What every head answers for every word of a treebank; the maps themselves are not kept.

    Attributes
    ----------
    distances : int16 ndarray of shape (word, direction, layer, head)
        Predicted governor minus the word's own position. The words of all sentences, one after the other.
    sentences : list of TreebankSentence
        Those that were read, in their order.
    skipped : Counter of reason -> number of sentences
    removed : float ndarray of shape (layer, head)
        Share of a word's attention that goes to special tokens and to the word itself, which no answer uses.
    about : dict
        Model, fingerprint, query rule.
    """

    distances: np.ndarray
    sentences: list[TreebankSentence]
    skipped: Counter
    removed: np.ndarray
    about: dict

    @property
    def sentence_index(self) -> np.ndarray:
        """For each word, the number of its sentence."""
        return np.repeat(np.arange(len(self.sentences)), [len(s) for s in self.sentences])

    def of(self, number: int) -> np.ndarray:
        """Predicted governors in sentence ``number``, shape (direction, layer, head, word)."""
        start = sum(len(s) for s in self.sentences[:number])
        n = len(self.sentences[number])
        distances = np.moveaxis(self.distances[start : start + n], 0, -1)
        return np.where(distances == _NOWHERE, -2, distances + np.arange(n))

    def first(self, n: int) -> Answers:
        """The answers to the first ``n`` sentences alone; what was removed and skipped stays that of all."""
        sentences = self.sentences[:n]
        return replace(self, distances=self.distances[: sum(map(len, sentences))], sentences=sentences)

    def __repr__(self) -> str:
        left_out = f", {self.skipped.total()} left out" if self.skipped else ""
        return f"Answers({self.about.get('model', '?')}: {len(self.sentences)} sentences, {len(self.distances)} words{left_out})"


def collect_answers(
    encoder,
    sentences: Iterable[TreebankSentence],
    *,
    query: str = "mean",
    batch_size: int = 32,
    progress: Callable[[Iterable], Iterable] | None = None,
) -> Answers:
    """Run the encoder once over each sentence and keep what every head answers.

    Sentences the model cannot read whole are left out and counted by reason: too long, or with a word of which the
    tokenizer leaves nothing.

    Parameters
    ----------
    encoder : Encoder
    sentences : iterable of TreebankSentence
    query : {"mean", "first", "max"}
        How the rows of a word's pieces become one row. ``"mean"`` is the paper's rule, ``"first"`` what its released
        code does by default.
    progress : function
        Wrapped round the stream of sentences, for example ``tqdm``.

    Raises
    ------
    ValueError
        If no sentence is left.
    """
    from .attention import iter_attention

    usable, skipped = [], Counter()
    for sentence in sentences:
        length, problem = check_reading(encoder, sentence.words)
        if problem:
            skipped[problem] += 1
        else:
            usable.append((length, sentence))
    if not usable:
        reasons = ", ".join(f"{n} {why}" for why, n in skipped.items()) or "there was none"
        raise ValueError(f"no sentence of the treebank can be read by {encoder.name}: {reasons}.")
    order = sorted(range(len(usable)), key=lambda i: usable[i][0])  # equal lengths together: little padding
    stream = iter_attention(encoder, (list(usable[i][1].words) for i in order), batch_size=batch_size)
    distances: list[np.ndarray | None] = [None] * len(usable)
    removed, words = np.zeros((encoder.n_layers, encoder.n_heads)), 0
    for i, attention in zip(order, stream if progress is None else progress(stream)):
        attention = attention.to_words(query)
        n = len(usable[i][1])
        governors = predicted_governors(attention)
        distance = np.where(governors < 0, _NOWHERE, governors - np.arange(n, dtype=np.int16))
        distances[i] = np.moveaxis(distance, -1, 0).astype(np.int16)
        removed += _removed(attention)
        words += n
    return Answers(
        np.concatenate(distances),
        [sentence for _, sentence in usable],
        skipped,
        removed / words,
        {
            "model": encoder.name,
            "fingerprint": encoder.fingerprint,
            "n_layers": encoder.n_layers,
            "n_heads": encoder.n_heads,
            "query": query,
        },
    )


def _removed(attention) -> np.ndarray:
    """Per head, summed over words: attention to special tokens and to the word itself."""
    special = np.asarray(attention.special)
    rows = attention.weights[..., ~special, :]
    to_itself = attention.weights[..., np.flatnonzero(~special), np.flatnonzero(~special)]
    return (rows[..., special].sum(-1) + to_itself).sum(-1).astype(float)


# --- why the best of many flatters ---------------------------------------------------------------------


def best_of_many(
    n_heads: int, n_cases: int, accuracy: float, *, repeats: int = 2000, seed: int = 0
) -> tuple[float, float]:
    """What heads that are all equally good seem to reach when the best of them is picked.

    Every head is right in each case with the same probability, independently. In each repetition the best of ``n_heads`` is
    picked on ``n_cases`` cases and scored twice: on these cases, and on as many new ones.

    Returns
    -------
    optimistic, fair : float
        Means over the repetitions. The second is ``accuracy``, up to chance; the first lies above it, the more so the more
        heads and the fewer cases there are.

    Examples
    --------
    >>> optimistic, fair = best_of_many(72, 50, 0.1)
    >>> optimistic > 0.18, abs(fair - 0.1) < 0.01
    (True, True)
    """
    if n_heads < 1 or n_cases < 1 or not 0 <= accuracy <= 1:
        raise ValueError(
            f"at least one head, one case, and an accuracy from 0 to 1; got {n_heads}, {n_cases}, {accuracy}."
        )
    generator = np.random.default_rng(seed)
    picked = generator.binomial(n_cases, accuracy, (repeats, n_heads)).max(axis=1) / n_cases
    again = generator.binomial(n_cases, accuracy, repeats) / n_cases  # the one that was picked, on new cases
    return float(picked.mean()), float(again.mean())


# --- the table -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Choice:
    """A head and the direction in which it is read."""

    layer: int
    head: int
    direction: int

    def __str__(self) -> str:
        return f"{head_label(self.layer, self.head)} {'d>g' if self.direction == 0 else 'g>d'}"


@dataclass(frozen=True)
class RelationRow:
    """One relation. Accuracies are fractions; intervals are 95 % bootstrap intervals over sentences.

    ``accuracy`` and ``baseline`` are fair: chosen on one half of the sentences, scored on the other, both ways, each
    case once. ``optimistic`` is the best of all heads on the very sentences it is scored on, as in the paper.
    ``p`` asks whether the optimistic head knows more than the typical distance of the relation; ``p_corrected``
    whether the best of all heads does, given that it is the best of so many.
    """

    relation: str
    n: int
    n_sentences: int
    accuracy: float
    low: float
    high: float
    choices: tuple[Choice, ...]
    baseline: float
    offsets: tuple[int, ...]
    gain: float
    gain_low: float
    gain_high: float
    optimistic: float
    optimistic_choice: Choice
    optimistic_baseline: float
    optimistic_offset: int
    p: float | None = None
    p_corrected: float | None = None
    twin: float | None = None
    twin_low: float | None = None
    twin_high: float | None = None
    twin_optimistic: float | None = None

    @property
    def head(self) -> str:
        """The chosen head or heads, as printed: "4-2 d>g", or two of them if the halves chose differently."""
        return " / ".join(dict.fromkeys(map(str, self.choices)))

    @property
    def offset(self) -> str:
        return " / ".join(dict.fromkeys(f"{offset:+d}" for offset in self.offsets))


@dataclass(frozen=True, eq=False)
class RelationTable:
    """Rows by falling number of cases, and what the table is about.

    ``left_out`` counts the cases of relations that are too rare for a row.
    """

    rows: list[RelationRow]
    about: dict
    left_out: dict[str, int] = field(default_factory=dict)

    def __getitem__(self, relation: str) -> RelationRow:
        for row in self.rows:
            if row.relation == relation:
                return row
        known = ", ".join(row.relation for row in self.rows)
        cases = self.left_out.get(relation, 0)
        why = f"it has {cases} cases, too few" if cases else "it never occurs"
        raise KeyError(f"there is no row for {relation!r}: {why}. Rows: {known}.")

    def __contains__(self, relation: str) -> bool:
        return any(row.relation == relation for row in self.rows)

    def __repr__(self) -> str:
        return (
            f"RelationTable({self.about.get('model', '?')}, {self.about.get('scheme')}: {len(self.rows)} rows, "
            f"{self.about.get('n_sentences')} sentences)"
        )


@dataclass(frozen=True, eq=False)
class Gold:
    """The cases of a treebank in one scheme: for each word its relation, and the distance to its governor."""

    distances: np.ndarray  # int16 (word,), _ROOT for the root
    relations: np.ndarray  # of str (word,)
    sentences: np.ndarray  # int (word,)
    answering: np.ndarray  # int (word,): the word whose answer counts
    room: np.ndarray  # int (word, 2): words of the sentence before and after it

    def cases(self, count_root: bool) -> dict[str, np.ndarray]:
        """Relation -> the words that are its cases; the two rows over all relations first."""
        arcs = self.distances != _ROOT
        punct = np.array([r.startswith("punct") for r in self.relations], dtype=bool)
        everything = np.ones_like(arcs) if count_root else arcs
        cases = {ALL: np.flatnonzero(everything), WITHOUT_PUNCT: np.flatnonzero(everything & ~punct)}
        for relation, _ in Counter(self.relations[arcs].tolist()).most_common():
            cases[relation] = np.flatnonzero(arcs & (self.relations == relation))
        return cases


def gold_cases(trees: Sequence[TreebankSentence], poss_rule: str = "") -> Gold:
    """Lay the sentences' words in one row, as `Answers` does."""
    distances, relations, answering, room, start = [], [], [], [], 0
    for tree in trees:
        places = np.arange(len(tree))
        governors = np.asarray(tree.governors)
        distances.append(np.where(governors == ROOT, _ROOT, governors - places))
        relations.extend(tree.relations)
        answering.append(start + answering_words(tree, poss_rule))
        room.append(np.stack([places, len(tree) - 1 - places], axis=1))
        start += len(tree)
    return Gold(
        np.concatenate(distances).astype(np.int16),
        np.array(relations),
        np.repeat(np.arange(len(trees)), [len(t) for t in trees]),
        np.concatenate(answering),
        np.concatenate(room),
    )


def offset_answers(
    trees: Sequence[TreebankSentence], offsets: Sequence[int], edge: str = "none"
) -> np.ndarray:
    """What the fixed offsets answer, as distances: int16 of shape (word, offset)."""
    answers = []
    for tree in trees:
        n = len(tree)
        places = np.arange(n)[:, None]
        guess = places + np.asarray(offsets)
        outside = (guess < 0) | (guess >= n)
        distance = np.clip(guess, 0, n - 1) - places
        if edge == "none":
            distance = np.where(outside, _NOWHERE, distance)
        elif edge == "published":
            distance = np.where(guess < 0, _ROOT, distance)
        answers.append(distance)
    return np.concatenate(answers).astype(np.int16)


def score_relations(
    answers: Answers,
    *,
    scheme: str = "ud",
    subtypes: str = "merge",
    twin: Answers | None = None,
    min_cases: int = 20,
    as_published: bool = False,
    offsets: Sequence[int] | None = None,
    replicates: int = REPLICATES,
    permutations: int = 200,
    seed: int = 0,
) -> RelationTable:
    """The table: for each relation the best head against the best offset, fairly chosen.

    Parameters
    ----------
    answers : Answers
        From `collect_answers`.
    scheme, subtypes
        As in `in_scheme`.
    twin : Answers, optional
        Of the random twin on the same sentences; it gets the same chance.
    min_cases : int
        Relations with fewer cases get no row; they are counted in ``left_out``.
    as_published : bool
        The conventions of the code released with the paper: head and offset are chosen on the sentences they are
        scored on, offsets run from -3 to +2 and name the root (left) or the last word (right) outside the sentence, the
        root counts in "all", the last of equals wins. Collect the answers with ``query="first"`` for its rows.
    offsets : sequence of int
        Default -4 to +4 without 0; -3 to +2 with 0 if ``as_published``.
    replicates : int
        Of the bootstrap over sentences. The choice of the head is not repeated in them.
    permutations : int
        For ``p``: the gold distances of a relation are shuffled among its cases, within what each sentence has room for, so
        that a head which only knows the typical distance scores as well as before. ``p_corrected`` compares with the best of all heads in both
        directions in each shuffle. 0 leaves both out.
    seed : int

    Returns
    -------
    RelationTable

    Raises
    ------
    ValueError
        If the twin's answers are to other sentences, or there are fewer than two sentences.
    """
    if len(answers.sentences) < 2:
        raise ValueError(
            f"choosing on one half and scoring on the other needs two sentences; got {len(answers.sentences)}."
        )
    if twin is not None and [s.words for s in twin.sentences] != [s.words for s in answers.sentences]:
        raise ValueError(
            "the twin must have answered the same sentences; collect its answers from the same list."
        )
    trees = in_scheme(answers.sentences, scheme, subtypes=subtypes)
    rule = "" if scheme == "ud" else "published" if as_published else "possessive"
    gold = gold_cases(trees, rule)
    offsets = tuple((PUBLISHED_OFFSETS if as_published else OFFSETS) if offsets is None else offsets)
    competitors = {
        "heads": answers.distances,
        "offsets": offset_answers(trees, offsets, "published" if as_published else "none"),
    }
    if twin is not None:
        competitors["twin"] = twin.distances
    generator = np.random.default_rng(seed)
    weights = generator.poisson(1.0, (replicates, len(trees))).astype(float)  # floats multiply fast
    rows, left_out = [], {}
    for relation, words in gold.cases(as_published).items():
        half = gold.sentences[words] % 2
        if len(words) < max(min_cases, 1) or half.min(initial=0) == half.max(initial=0):
            left_out[relation] = len(words)  # too rare, or all in one half: no fair choice
            continue
        marks = {
            name: _marks(_effective(distances, gold, words), gold.distances[words])
            for name, distances in competitors.items()
        }
        rows.append(
            _row(
                relation,
                words,
                half,
                marks,
                gold,
                offsets,
                weights,
                answers.distances.shape[1:],
                as_published,
            )
        )
        if permutations:
            rows[-1] = _with_p(rows[-1], answers, gold, words, permutations, generator)
    about = {
        **answers.about,
        "scheme": scheme,
        "subtypes": subtypes if scheme == "ud" else "",
        "protocol": "chosen and scored on the same sentences, as published"
        if as_published
        else "chosen on one half, scored on the other, both ways",
        "offsets": list(offsets),
        "n_sentences": len(trees),
        "n_words": len(gold.distances),
        "skipped": dict(answers.skipped),
        "twin": twin.about["model"] if twin is not None else "",
        "min_cases": min_cases,
        "interval": f"{CONFIDENCE:.0%} Poisson bootstrap over sentences, {replicates} replicates",
        "permutations": permutations,
        "seed": seed,
        "version": __version__,
    }
    return RelationTable(rows, about, left_out)


def _effective(distances: np.ndarray, gold: Gold, words: np.ndarray) -> np.ndarray:
    """Answers for these words, (case, competitor): those of the words that answer for them, as distances."""
    source = gold.answering[words]
    found = distances[source].reshape(len(words), -1)
    shift = (source - words).astype(np.int16)[:, None]
    return np.where(found <= _ROOT, found, found + shift) if shift.any() else found


def _marks(answers: np.ndarray, gold: np.ndarray) -> np.ndarray:
    return answers == gold[:, None]


def _best(counts: np.ndarray, last: bool) -> int:
    """Index of the largest; of equals the first, or the last as the released code has it."""
    return len(counts) - 1 - int(counts[::-1].argmax()) if last else int(counts.argmax())


def _cross_fitted(marks: np.ndarray, half: np.ndarray) -> tuple[np.ndarray, tuple[int, int]]:
    """(right or wrong for each case, by the competitor chosen on the other half; the two choices)."""
    chosen = tuple(_best(marks[half == side].sum(0), last=False) for side in (0, 1))
    return np.where(half == 0, marks[:, chosen[1]], marks[:, chosen[0]]), chosen


def _row(relation, words, half, marks, gold, offsets, weights, shape, as_published) -> RelationRow:
    sentences = gold.sentences[words]
    right, chosen, top = {}, {}, {}
    for name, found in marks.items():
        top[name] = _best(found.sum(0), as_published)
        if as_published:
            right[name], chosen[name] = found[:, top[name]], (top[name],)
        else:
            right[name], chosen[name] = _cross_fitted(found, half)

    def interval(case_values):
        """Weighted mean over cases in each replicate, by sentence."""
        size = weights.shape[1]
        cases = weights @ np.bincount(sentences, minlength=size).astype(float)
        sums = weights @ np.bincount(sentences, case_values.astype(float), minlength=size)
        drawn = cases > 0
        tail = (1 - CONFIDENCE) / 2
        return tuple(map(float, np.quantile(sums[drawn] / cases[drawn], (tail, 1 - tail))))

    def choice(index) -> Choice:
        direction, layer, head = np.unravel_index(index, shape)
        return Choice(int(layer), int(head), int(direction))

    low, high = interval(right["heads"])
    gain = right["heads"].astype(int) - right["offsets"].astype(int)
    gain_low, gain_high = interval(gain)
    twin = {}
    if "twin" in right:
        twin_low, twin_high = interval(right["twin"])
        twin = {
            "twin": float(right["twin"].mean()),
            "twin_low": twin_low,
            "twin_high": twin_high,
            "twin_optimistic": float(marks["twin"][:, top["twin"]].mean()),
        }
    return RelationRow(
        relation,
        len(words),
        len(np.unique(sentences)),
        float(right["heads"].mean()),
        low,
        high,
        tuple(map(choice, chosen["heads"])),
        float(right["offsets"].mean()),
        tuple(offsets[i] for i in chosen["offsets"]),
        float(gain.mean()),
        gain_low,
        gain_high,
        float(marks["heads"][:, top["heads"]].mean()),
        choice(top["heads"]),
        float(marks["offsets"][:, top["offsets"]].mean()),
        offsets[top["offsets"]],
        **twin,
    )


def _with_p(row: RelationRow, answers, gold, words, permutations, generator) -> RelationRow:
    """Add both p values: shuffle the gold distances among the relation's cases."""
    found = np.ascontiguousarray(_effective(answers.distances, gold, words))
    best = row.optimistic_choice
    index = np.ravel_multi_index((best.direction, best.layer, best.head), answers.distances.shape[1:])
    observed = round(row.optimistic * row.n)
    alone = any_head = 0
    for target in shuffled_distances(gold.distances[words], gold.room[words], permutations, generator):
        counts = _marks(found, target).sum(0)
        alone += counts[index] >= observed
        any_head += counts.max() >= observed
    return replace(
        row, p=(1 + int(alone)) / (1 + permutations), p_corrected=(1 + int(any_head)) / (1 + permutations)
    )


def shuffled_distances(
    distances: np.ndarray, room: np.ndarray, times: int, generator
) -> Iterator[np.ndarray]:
    """Shuffle distances among cases so that each still points into its sentence.

    Free shuffling would not do: a word at the beginning has its governor to the right, and so has the answer of a head
    that knows nothing. Two cases therefore trade their distances only if both fit; many rounds of random pairs walk
    evenly through all assignments that fit.

    Parameters
    ----------
    distances : int array of shape (case,)
        Roots, which have no distance, stay.
    room : int array of shape (case, 2)
        Words before and after each case.
    times : int
        How many shuffles to give.
    """
    distances = distances.copy()
    movable = np.flatnonzero(distances != _ROOT)
    half = len(movable) // 2
    for shuffle in range(times):
        for _ in range(30 if shuffle == 0 else 6):  # at first until the order of the treebank is forgotten
            pairs = generator.permutation(movable)
            a, b = pairs[:half], pairs[half : 2 * half]
            da, db = distances[a], distances[b]
            fits = (db >= -room[a, 0]) & (db <= room[a, 1]) & (da >= -room[b, 0]) & (da <= room[b, 1])
            distances[a], distances[b] = np.where(fits, db, da), np.where(fits, da, db)
        yield distances
