"""What the essay's eleven claims are computed from: a dict of quantities for every input, as the ledger wants it.

Words and their governors come from a treebank; the rest from running text. Of a pair of paragraphs the first is read alone where a
claim is about one [SEP] or about clauses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from bertlook_teach.measures import token_masks

from ...metrics import CannotDecide
from ..evidence import evidence
from ..verdicts import treebank_units
from .phases import deep_layers, relative_layers
from .statistics import (
    FUNCTION_CLASSES,
    HAVEN_RELATIONS,
    RELATIONS,
    clause_excess,
    clause_lengths,
    constancy,
    middle_share,
    moments,
    pairs_above,
    rank_residuals,
)

FEWEST_USES = 10  # occurrences of a word that counts as a type

FEWEST_CASES = 10  # of a relation in each half

SHUFFLES = 600  # of the distances of a relation; p can then fall to 1/601

HAVEN_LAYERS = (5, 10)  # of 12: where the essay's havens are

OTHERS_ZEROED = 6  # tokens of the text whose values are taken away beside [SEP]'s

MOST_CASES = 500  # of a probe, in each half: a class is waiting

L2 = 0.03  # penalty on the maps of its mixes


# --- a treebank ------------------------------------------------------------------------------------------
@evidence("13 insiders", version=1, unit="word types")
def insiders(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each word type of the treebank, ranks of its constancy and of its entropy in each layer, log frequency accounted for.

    An input is a word type here, and all of them report: an empty dict stands before each. The entropy is that of the word's row over
    all words of its sentence, [CLS] and [SEP] among them, divided by ln n; mean over heads and occurrences.
    """
    uses, entropies = constancy(_trees(encoder, resources), FEWEST_USES), {}
    if len(uses) < 10:
        raise CannotDecide(f"{len(uses)} words occur {FEWEST_USES} times in the treebank; ten are the fewest")
    for words, attention in _read(encoder, resources):
        weights = np.asarray(attention.weights, dtype=float)
        logs = np.log(np.maximum(weights, np.finfo(float).tiny))
        rows = -(weights * logs).sum(axis=-1).mean(axis=1) / np.log(weights.shape[-1])  # (layer, row)
        text = rows[:, ~np.asarray(attention.special)]
        for place, word in enumerate(words):
            if word.lower() in uses:
                entropies.setdefault(word.lower(), []).append(text[:, place])
    names = sorted(uses)
    constant = np.array([uses[name][0] for name in names])
    frequency = np.log([uses[name][1] for name in names])
    means = np.stack([np.mean(entropies[name], axis=0) for name in names])
    x = rank_residuals(constant, frequency)
    y = np.stack([rank_residuals(column, frequency) for column in means.T], axis=1)
    for i in range(len(names)):
        yield {}
        yield moments(x[i], y[i])


@evidence("13 relations", version=1, unit="documents")
def relations(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each document what every head finds of each relation, and what words look at [SEP] that take no part in it.

    The register says sentences; where a treebank names 40 documents or more, whole documents choose and report.

    ``cases`` (relation,), of which ``closed`` have a function word as dependent; ``right`` (relation, direction, layer, head);
    ``offsets`` (relation, offset); ``pairs`` (haven relation, direction) and ``above`` (haven relation, direction, layer, head), see
    `pairs_above`; ``null middle`` (shuffle,), the same for every document: `middle_share` with the distances of each relation shuffled.
    Relations that are rare in one half count as absent.
    """
    from ...analyses.syntax import OFFSETS, predicted_governors

    trees = _trees(encoder, resources)
    units = treebank_units(trees)
    rare = _rare(trees, units)
    rows: list[dict] = [{} for _ in range(units.max() + 1)]
    given = []
    for number, (words, attention) in enumerate(_read(encoder, resources)):
        tree = trees[number]
        assert list(tree.words) == words
        found = predicted_governors(attention)
        row = rows[units[number]]
        for name, counts in _sentence(tree, found, attention, rare, OFFSETS).items():
            row[name] = row.get(name, 0) + counts
        given.append(found)
    report = np.flatnonzero(units % 2)
    null = shuffled_middle([trees[i] for i in report], [given[i] for i in report], rare)
    for row in rows:
        yield row | {"null middle": null}


def _sentence(tree, found, attention, rare, offsets) -> dict[str, np.ndarray]:
    n_relations, shape = len(RELATIONS), found.shape[:3]
    row = {
        "cases": np.zeros(n_relations),
        "closed": np.zeros(n_relations),
        "right": np.zeros((n_relations, *shape)),
        "offsets": np.zeros((n_relations, len(offsets))),
        "pairs": np.zeros((len(HAVEN_RELATIONS), 2)),
        "above": np.zeros((len(HAVEN_RELATIONS), *shape)),
    }
    governors, names = np.asarray(tree.governors), np.asarray(tree.relations)
    for r, name in enumerate(RELATIONS):
        words = np.flatnonzero((names == name) & (governors >= 0))
        if not len(words) or name in rare:
            continue
        row["cases"][r] = len(words)
        row["closed"][r] = sum(tree.upos[word] in FUNCTION_CLASSES for word in words)
        row["right"][r] = (found[..., words] == governors[words]).sum(axis=-1)
        row["offsets"][r] = ((words[:, None] + np.asarray(offsets)) == governors[words, None]).sum(axis=0)
    to_sep = _to_sep(attention)
    for h, name in enumerate(HAVEN_RELATIONS):
        words = np.flatnonzero((names == name) & (governors >= 0))
        if name in rare:
            continue
        for direction, members in enumerate((words, governors[words])):
            mask = np.zeros(len(names), dtype=bool)
            mask[members] = True
            row["above"][h, direction], row["pairs"][h, direction] = pairs_above(to_sep, mask)
    return row


def _to_sep(attention) -> np.ndarray:
    """What each word gives to [SEP]: shape (layer, head, word)."""
    special, sep = np.asarray(attention.special), token_masks(attention)["sep"]
    return np.asarray(attention.weights, dtype=float)[..., ~special, :][..., sep].sum(axis=-1)


def shuffled_middle(trees, found, rare=frozenset(), *, shuffles: int = SHUFFLES, seed: int = 0) -> np.ndarray:
    """`middle_share` with every relation's distances shuffled among its cases: shape (shuffle,).

    A distance is traded only where it stays inside the sentence, so heads that go by distance score as before.

    Parameters
    ----------
    trees : list of TreebankSentence
        Those that report.
    found : list of arrays (direction, layer, head, word)
        Predicted governors, a sentence each.
    """
    from ...analyses.syntax import gold_cases, shuffled_distances

    gold = gold_cases(trees)
    places = np.concatenate([np.arange(len(tree)) for tree in trees])
    answers = np.concatenate([np.moveaxis(f, -1, 0) for f in found]).astype(np.int16)
    answers -= places.astype(np.int16)[:, None, None, None]
    random = np.random.default_rng(seed)
    shape = answers.shape[1:]
    counts = np.zeros((shuffles, len(RELATIONS), *shape))
    cases = np.zeros(len(RELATIONS))
    for r, name in enumerate(RELATIONS):
        words = np.flatnonzero(gold.relations == name)
        if not len(words) or name in rare:
            continue
        cases[r] = len(words)
        given = np.ascontiguousarray(answers[words].reshape(len(words), -1))
        stream = shuffled_distances(gold.distances[words], gold.room[words], shuffles, random)
        for shuffle, target in enumerate(stream):
            counts[shuffle, r] = (given == target[:, None]).sum(axis=0).reshape(shape)
    return np.array([middle_share(right, cases) for right in counts])


def _rare(trees, units) -> frozenset[str]:
    """Relations with too few cases in one half."""
    halves = [Counter(), Counter()]
    for tree, unit in zip(trees, units):
        halves[unit % 2].update(tree.relations)
    return frozenset(name for name in RELATIONS if min(half[name] for half in halves) < FEWEST_CASES)


def _trees(encoder, resources) -> list:
    from bertlook_teach.model import check_reading

    trees = [tree for tree in resources.treebank if not check_reading(encoder, tree.words).obstacle]
    if len(trees) < 2:
        raise CannotDecide("two sentences of a treebank are the fewest; the model can read none or one")
    return trees


def _read(encoder, resources) -> Iterator[tuple[list[str], object]]:
    """The words and the map between words of each sentence that the model can read, in order."""
    from bertlook_teach.model import iter_attention

    words = [list(tree.words) for tree in _trees(encoder, resources)]
    for given, attention in zip(words, iter_attention(encoder, words, batch_size=32)):
        yield given, attention.to_words("mean")


# --- the masked-LM loss -----------------------------------------------------------------------------------
@evidence("13 zeroed losses", version=1, unit="paragraphs")
def zeroed_losses(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each paragraph, 15 % of it masked: by how much the loss changes without the values of [SEP], of other tokens, of all.

    In the layers where layers 5-10 of 12 lie, value vectors are set to 0 for all heads; the weights stay. Absolute changes, in nats.
    """
    from bertlook_teach.model import NoMaskedLMHead

    for number, (text, _) in enumerate(resources.pairs):
        try:
            found = _zeroed(encoder, text, number)
        except NoMaskedLMHead as reason:
            raise CannotDecide(str(reason)) from None
        yield found


def _zeroed(encoder, text: str, seed: int) -> dict[str, np.ndarray]:
    from bertlook_teach.model import choose_masked, read

    from .zeroed_values import losses_without

    reading = read(encoder, text, truncate=True)
    special, tokens = np.asarray(reading.special), np.asarray(reading.tokens)
    masking = choose_masked(encoder, reading.ids, special, seed=seed)
    sep = np.flatnonzero(token_masks(reading)["sep"])
    others = np.setdiff1d(np.flatnonzero(~special & ~np.isin(tokens, [".", ","])), masking.positions)
    if not len(sep) or len(others) < OTHERS_ZEROED:
        return {}
    some = others[np.linspace(0, len(others) - 1, OTHERS_ZEROED).round().astype(int)]
    cuts = [(), tuple(sep), *((int(i),) for i in some), tuple(range(len(tokens)))]
    layers = relative_layers(*HAVEN_LAYERS, encoder.n_layers)
    losses = losses_without(reading, masking, cuts, layers)
    change = np.abs(losses[1:] - losses[0])
    return {"loss sep": change[0], "loss other": change[1:-1].mean(), "loss all": change[-1]}


@evidence("13 drifters", version=1, unit="paragraphs")
def drifters(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each paragraph, 15 % of it masked: sum over keys of |alpha dL/dalpha| in rows of . and , of their neighbours, of [MASK].

    Mean over the heads of the deep layers and over the rows of a kind; . and , that are not masked, and for each of them the nearest
    unmasked token that is neither special nor a mark.
    """
    from bertlook_teach.measures import attention_gradients
    from bertlook_teach.model import NoMaskedLMHead, read

    for number, (text, _) in enumerate(resources.pairs):
        try:
            found = attention_gradients(read(encoder, text, truncate=True), seed=number)
        except NoMaskedLMHead as reason:
            raise CannotDecide(str(reason)) from None
        yield drift_quantities(found)


def drift_quantities(found) -> dict[str, np.ndarray]:
    """Of one `Gradients`; empty where no mark has a neighbour to be compared with."""
    rows = np.abs(found.contribution).sum(axis=-1)
    deep = rows[deep_layers(len(rows))].mean(axis=(0, 1))  # (token,)
    masks, shown = token_masks(found.attention), found.unmasked()
    marks, others = np.flatnonzero(masks["punct"] & shown), np.flatnonzero(masks["other"] & shown)
    if not len(marks) or not len(others):
        return {}
    matched = others[np.abs(others[None] - marks[:, None]).argmin(axis=1)]
    return {
        "drift punct": deep[marks].mean(),
        "drift matched": deep[matched].mean(),
        "drift other": deep[others].mean(),
        "drift mask": deep[~shown].mean(),
    }


@evidence("13 clauses", version=1, unit="paragraphs")
def clauses(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each paragraph: share of attention inside the clause minus that inside moved boundaries, shape (layer, head).

    Of what tokens that are not special give each other. A paragraph whose boundaries cannot be moved has nothing to say.
    """
    from bertlook_teach.model import iter_attention

    texts = [text for text, _ in resources.pairs]
    for number, attention in enumerate(iter_attention(encoder, texts, truncate=True)):
        yield clause_quantities(attention, number)


def clause_quantities(attention, seed: int = 0) -> dict[str, np.ndarray]:
    text = ~np.asarray(attention.special)
    weights = np.asarray(attention.weights)[..., text, :][..., text]
    tokens = [token for token, own in zip(attention.tokens, text) if own]
    excess = clause_excess(weights, clause_lengths(tokens), seed=seed) if tokens else None
    return {} if excess is None else {"clause excess": excess}


# --- probes ------------------------------------------------------------------------------------------------
@evidence("13 phases", version=2, unit="documents")
def phases(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each document that was scored, the counts of cumulative probes of word classes, relations and clause ends.

    A word ends a clause if . or , follows; its F1 counts the ends found. The mixes of the paper; how even they are is chosen on training
    documents.
    """
    from ...analyses.probing import cumulative_probes, draw_cases, read_states, span_vectors
    from ...corpora import EdgeSentence, EdgeTarget, halves_by_document, treebank_edges
    from ..lessons.lesson10 import FEWEST, curve_evidence, finished

    trees = _trees(encoder, resources)
    asked = {task: treebank_edges(trees, task) for task in ("pos", "dep")}
    asked["clause"] = [
        EdgeSentence(
            tuple(tree.words),
            tuple(EdgeTarget((i, i + 1), None, label) for i, label in clause_ends(tree)),
            tree.doc_id,
            tree.sent_id,
        )
        for tree in trees
    ]
    states = read_states(encoder, (sentence.words for sentence in asked["pos"]))
    tasks = {}
    for task, questions in asked.items():
        halves = halves_by_document([question for question in questions if question.targets])
        if min(len({s.doc_id for s in half}) for half in halves) < FEWEST:
            raise CannotDecide(f"the probes need {FEWEST} documents to fit on and {FEWEST} to score")
        found = [span_vectors(states, half, "pos" if task == "clause" else task) for half in halves]
        if task == "clause":
            found = [replace(data, task="clause", negative="inside") for data in found]
        tasks[task] = tuple(draw_cases(data, MOST_CASES) for data in found)
    scores = {task: cumulative_probes(*halves, l2=L2) for task, halves in tasks.items()}
    finished(scores.values())
    yield from curve_evidence(scores)


def clause_ends(tree) -> Iterator[tuple[int, str]]:
    """(word, "end" or "inside") for each word but punctuation.

    A word is an end if the next one is . or ,
    """
    words = list(tree.words)
    for i, kind in enumerate(tree.upos):
        if kind != "PUNCT":
            yield i, "end" if i + 1 < len(words) and words[i + 1] in (".", ",") else "inside"


EVIDENCE = {
    "13 insiders": insiders,
    "13 relations": relations,
    "13 zeroed losses": zeroed_losses,
    "13 drifters": drifters,
    "13 clauses": clauses,
    "13 phases": phases,
}
