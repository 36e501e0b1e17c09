"""Which heads know syntax: every head's answers on a treebank, and a table that is fair to the baselines.

For each relation the best head, its direction and the best offset are chosen on one half of the documents (of the
sentences where none are named) and scored on the other, both ways; beside it stands the flattering number, chosen and scored on the same sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from bertlook_teach import __version__
from bertlook_teach.stats import CONFIDENCE, REPLICATES, draws, monte_carlo_p, unit_interval

from ...corpora import document_numbers
from ...metrics import Packed, best_index, fair_choice
from .answers import _ROOT, Answers, in_scheme
from .gold import Gold, OffsetAnswers, gold_cases
from .relation_table import Choice, RelationRow, RelationTable

OFFSETS = (-4, -3, -2, -1, 1, 2, 3, 4)

PUBLISHED_OFFSETS = (-3, -2, -1, 0, 1, 2)

ENOUGH_DOCUMENTS = 20  # to draw for an interval; of fewer, sentences are drawn

_PROTOCOLS = {  # by ``as_published``
    True: "chosen and scored on the same sentences, as published",
    False: "chosen on one half of the documents, scored on the other, both ways",
}

_BLOCK = 4096  # cases whose answers are in memory at a time

_SHUFFLED = 1 << 21  # shuffled distances in memory at a time


# --- why the best of many flatters ---------------------------------------------------------------------
def best_of_many(
    n_heads: int, n_cases: int, accuracy: float, *, repeats: int = 2000, seed: int = 0
) -> tuple[float, float]:
    """What heads that are all equally good seem to reach when the best of them is picked.

    Every head is right in each case with the same probability, independently. In each repetition the best of ``n_heads`` is
    picked on ``n_cases`` cases and scored twice: on these cases, and on as many new ones.

    Returns
    -------
    in_sample, fair : float
        Means over the repetitions. The second is ``accuracy``, up to chance; the first lies above it, the more so the more
        heads and the fewer cases there are.

    Examples
    --------
    >>> in_sample, fair = best_of_many(72, 50, 0.1)
    >>> in_sample > 0.18, abs(fair - 0.1) < 0.01
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


def score_relations(
    answers: Answers,
    *,
    scheme: str = "ud",
    subtypes: str = "merge",
    twin: Answers | None = None,
    min_cases: int = 20,
    as_published: bool = False,
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
        Relations with fewer cases get no row, nor those with less than a quarter of it in a half; they are counted in ``too_rare``.
    as_published : bool
        The conventions of the code released with the paper: head and offset are chosen on the sentences they are
        scored on, offsets run from -3 to +2 and name the root (left) or the last word (right) outside the sentence, the
        root counts in "all", the last of equals wins (by layer, head, direction), an owner that answers with the last word keeps its answer. Collect the answers with ``query="first"`` for its rows.
    permutations : int
        For ``p``: the gold distances of a relation are shuffled among its cases, within what each sentence has room for, so
        that a head which only goes by the typical distance scores as well as before. ``p_corrected`` compares with the best of all heads in both
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
    return score_cases(
        gold_cases(trees, poss_rule(scheme, as_published)),
        document_numbers(answers.sentences),
        answers.distances,
        twin=None if twin is None else twin.distances,
        about={
            **answers.about,
            "skipped": dict(answers.skipped),
            "twin": twin.about["model"] if twin else "",
        },
        scheme=scheme,
        subtypes=subtypes,
        min_cases=min_cases,
        as_published=as_published,
        permutations=permutations,
        seed=seed,
    )


def poss_rule(scheme: str, as_published: bool) -> str:
    """Whose answer counts for an owner; see `answering_words`."""
    return "" if scheme == "ud" else "published" if as_published else "possessive"


def score_cases(
    gold: Gold,
    documents: np.ndarray,
    heads,
    *,
    twin=None,
    about: dict,
    scheme: str,
    subtypes: str,
    min_cases: int,
    as_published: bool,
    permutations: int,
    seed: int = 0,
) -> RelationTable:
    """The table of `score_relations`, of a treebank whose sentences and answers need not lie in memory.

    Parameters
    ----------
    gold : Gold
        In the scheme that is scored.
    documents : int array of shape (sentence,)
        From `document_numbers`.
    heads, twin : int16 array of shape (word, direction, layer, head), or `bertlook_course.storage.OnDisk` of such rows
        As `Answers` has them.
    about : dict
        What goes into the table's: the model, what was skipped, the twin's name.
    scheme, subtypes, min_cases, as_published, permutations, seed
        As in `score_relations`.
    """
    offsets = PUBLISHED_OFFSETS if as_published else OFFSETS
    competitors = _competitors(gold, heads, twin, offsets, as_published)
    generator = np.random.default_rng(seed)
    units, kind = _drawn_units(documents)
    weights = draws(units.max() + 1, replicates=REPLICATES, seed=generator)
    weights = weights.astype(float)  # floats multiply fast
    rows, too_rare = [], {}
    for relation, words in gold.cases(as_published).items():
        half = documents[gold.sentences[words]] % 2
        if len(words) < min_cases or np.bincount(half, minlength=2).min() < max(min_cases // 4, 1):
            too_rare[relation] = len(words)  # too rare, or nearly all in one half: no fair choice
            continue
        row = _row(
            relation=relation,
            words=words,
            half=half,
            units=units[gold.sentences[words]],
            marks={
                name: _packed_marks(each, gold, words, as_published) for name, each in competitors.items()
            },
            gold=gold,
            offsets=offsets,
            weights=weights,
            shape=heads.shape[1:],
            as_published=as_published,
        )
        if permutations:
            row = _with_p(row, heads, gold, words, permutations, generator, as_published=as_published)
        rows.append(row)
    told = {
        **about,
        "scheme": scheme,
        "subtypes": subtypes if scheme == "ud" else "",
        "protocol": _PROTOCOLS[as_published],
        "offsets": list(offsets),
        "n_sentences": len(documents),
        "n_words": len(gold.distances),
        "min_cases": min_cases,
        "interval": f"{CONFIDENCE:.0%} Poisson bootstrap over {kind}, {REPLICATES} replicates",
        "permutations": permutations,
        "seed": seed,
        "version": __version__,
    }
    return RelationTable(rows, told, too_rare)


def _drawn_units(documents: np.ndarray) -> tuple[np.ndarray, str]:
    """What is drawn for an interval, as a number for each sentence, and what it is called."""
    if documents.max() + 1 >= ENOUGH_DOCUMENTS:
        return documents, "documents"
    return np.arange(len(documents)), "sentences"


def _competitors(gold: Gold, heads, twin, offsets: Sequence[int], as_published: bool) -> dict:
    """What answers for every word: the heads, fixed offsets, and the twin's heads where there is one."""
    answers = {
        "heads": heads,
        "offsets": OffsetAnswers(gold.room, offsets, "published" if as_published else "none"),
    }
    return answers if twin is None else {**answers, "twin": twin}


def _rows(answers, words: np.ndarray) -> np.ndarray:
    """The answers for some words, from an array or from disk: one row for each word."""
    found = answers.rows(words) if hasattr(answers, "rows") else answers[words]
    return found.reshape(len(words), -1)


def _packed_marks(answers, gold: Gold, words: np.ndarray, as_published: bool) -> Packed:
    """Which answers for these words are right."""
    marks = Packed()
    for start in range(0, len(words), _BLOCK):
        block = words[start : start + _BLOCK]
        marks.add(_marks(_effective(answers, gold, block, as_published), gold.distances[block]))
    return marks


def _effective(distances, gold: Gold, words: np.ndarray, as_published: bool = False) -> np.ndarray:
    """Answers for these words, (case, competitor): those of the words that answer for them, as distances.

    As published, a word that answers with the last word of its sentence answers for itself.
    """
    source = gold.answering[words]
    found = _rows(distances, source)
    shift = (source - words).astype(np.int16)[:, None]
    if not shift.any():
        return found
    found = np.where(found <= _ROOT, found, found + shift)
    if not as_published:
        return found
    own = _rows(distances, words)
    return np.where(own == gold.room[words, 1:], own, found)


def _last_best(right: np.ndarray, shape: tuple[int, ...] | None) -> int:
    """Of equals the last: heads by layer, then head, then direction, as the released code sorts them; offsets, without a shape, as they stand."""
    if shape is None:
        return best_index(right, last=True)[0]
    layer, head, direction = best_index(np.moveaxis(right.reshape(shape), 0, -1), last=True)
    return int(np.ravel_multi_index((direction, layer, head), shape))


def _marks(answers: np.ndarray, gold: np.ndarray) -> np.ndarray:
    return answers == gold[:, None]


def _row(*, relation, words, half, units, marks, gold, offsets, weights, shape, as_published) -> RelationRow:
    right, chosen, top = {}, {}, {}
    for name, found in marks.items():
        by = shape if as_published and name != "offsets" else None
        total = found.sum(np.ones(len(words), dtype=bool))
        top[name] = _last_best(total, by) if as_published else best_index(total)[0]
        if as_published:
            right[name], chosen[name] = found.of((top[name],)), (top[name],)
        else:
            choice = fair_choice(found, half, both_ways=True, least=1)
            right[name], chosen[name] = choice.reported, [index for (index,) in choice.chosen]

    def interval(case_values, within=(0, 1)):
        return unit_interval(case_values, units, weights.shape[1], weights=weights, within=within)

    def named(index) -> Choice:
        direction, layer, head = np.unravel_index(index, shape)
        return Choice(int(layer), int(head), int(direction))

    low, high = interval(right["heads"])
    gain = right["heads"].astype(int) - right["offsets"].astype(int)
    gain_low, gain_high = interval(gain, within=(-1, 1))
    twin = {}
    if "twin" in right:
        twin_low, twin_high = interval(right["twin"])
        twin = {
            "twin": float(right["twin"].mean()),
            "twin_low": twin_low,
            "twin_high": twin_high,
            "twin_in_sample": float(marks["twin"].of((top["twin"],)).mean()),
        }
    return RelationRow(
        relation=relation,
        n=len(words),
        n_sentences=len(np.unique(gold.sentences[words])),
        accuracy=float(right["heads"].mean()),
        low=low,
        high=high,
        choices=tuple(map(named, chosen["heads"])),
        baseline=float(right["offsets"].mean()),
        offsets=tuple(offsets[i] for i in chosen["offsets"]),
        gain=float(gain.mean()),
        gain_low=gain_low,
        gain_high=gain_high,
        in_sample=float(marks["heads"].of((top["heads"],)).mean()),
        in_sample_choice=named(top["heads"]),
        in_sample_baseline=float(marks["offsets"].of((top["offsets"],)).mean()),
        in_sample_offset=offsets[top["offsets"]],
        **twin,
    )


def _with_p(row: RelationRow, heads, gold, words, permutations, generator, *, as_published) -> RelationRow:
    """Add both p values: shuffle the gold distances among the relation's cases."""
    best = row.in_sample_choice
    index = np.ravel_multi_index((best.direction, best.layer, best.head), heads.shape[1:])
    observed = round(row.in_sample * row.n)
    alone, any_head = [], []
    shuffles = shuffled_distances(gold.distances[words], gold.room[words], permutations, generator)
    # The answers of all cases need not fit memory: a block of them meets some shuffles at a time.
    while targets := list(islice(shuffles, max(1, _SHUFFLED // len(words)))):
        counts = np.zeros((len(targets), int(np.prod(heads.shape[1:]))), dtype=int)
        for start in range(0, len(words), _BLOCK):
            block = slice(start, start + _BLOCK)
            found = np.ascontiguousarray(_effective(heads, gold, words[block], as_published))
            for count, target in zip(counts, targets):
                count += _marks(found, target[block]).sum(0)
        alone.extend(counts[:, index])
        any_head.extend(counts.max(1))
    return replace(row, p=monte_carlo_p(alone, observed), p_corrected=monte_carlo_p(any_head, observed))


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
        yield distances.copy()
