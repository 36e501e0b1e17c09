"""Refutations on scores: what choosing, chance, probes, distances and layers do to a number. All small or simulated."""

from __future__ import annotations

from functools import cache
from itertools import islice
from types import SimpleNamespace

import numpy as np

from bertlook_teach.disk import data_path
from bertlook_teach.measures import js_distances

from ...analyses.ablation import best_gain_by_chance
from ...analyses.probing import centre_of_gravity, expected_layer, mixing_bits, scalar_mix
from ...analyses.syntax import predicted_governors
from ...corpora import iter_conllu
from ...metrics import metric_mds
from .refutation import Refutation


# --- one head, many words -----------------------------------------------------------------------------------
def rows_and_columns_ask_the_same(weights=((0.1, 0.7, 0.2), (0.3, 0.1, 0.6), (0.2, 0.5, 0.3))) -> Refutation:
    """Lesson 06. "the cat sat": whom does each word look at, and who looks at it?"""
    attention = SimpleNamespace(
        weights=np.asarray(weights)[None, None], special=(False,) * len(weights), level="word"
    )
    rows, columns = predicted_governors(attention)[:, 0, 0].tolist()
    differ = sum(a != b for a, b in zip(rows, columns))
    return Refutation(f"Read by rows the words name {rows}, by columns {columns}.", float(differ), differ > 0)


def finding_needs_much_weight(row=(0.95, 0.01, 0.03, 0.01)) -> Refutation:
    """Lesson 06. The first key is [SEP], which does not compete."""
    row = np.asarray(row)
    named = 1 + int(row[1:].argmax())
    sentence = f"The head names word {named} with {row[named]:.0%} of its attention; [SEP] has {row[0]:.0%}."
    return Refutation(sentence, float(row[named]), bool(row[named] < 0.1))


def longer_lists_look_better(many: int = 10, few: int = 1, texts: int = 2000) -> Refutation:
    """Lesson 05. A head that does not look at anything in particular, and the largest weight among some tokens."""
    weights = np.random.default_rng(0).dirichlet(np.ones(20), texts)
    of_many, of_few = weights[:, :many].max(axis=1).mean(), weights[:, -few:].max(axis=1).mean()
    sentence = (
        f"By chance the largest of {many} weights is {of_many:.2f} on average, of {few} it is {of_few:.2f}."
    )
    return Refutation(sentence, float(of_many - of_few), bool(of_many > 1.5 * of_few))


def negation_is_the_letters_no(
    words=("i", "know", "nobody", "noticed", "another", "note", ",", "not", "one"),
) -> Refutation:
    """Lessons 05 and 14."""
    negations = {"no", "not", "never", "nobody", "nothing", "none", "n't"}
    matched = [word for word in words if "no" in word]
    right = [word for word in words if word in negations]
    sentence = f"The letters n-o stand in {len(matched)} of {len(words)} words; {len(right)} of them negate: {', '.join(right) or 'none'}."
    return Refutation(sentence, float(len(matched) - len(right)), len(matched) > len(right))


def half_right_is_half_knowledge(answers=((0, 0), (0, 0), (1, 1), (0, 0), (1, 1))) -> Refutation:
    """Lesson 07. Minimal pairs: the right answers are persons 0 and 1; by default a rule always names the same one."""
    right = np.asarray(answers) == [0, 1]
    single, both = float(right.mean()), float(right.all(axis=1).mean())
    sentence = f"{single:.0%} of the single answers are right, and in {both:.0%} of the pairs both."
    return Refutation(sentence, single - both, single >= 0.4 and both < 0.1)


# --- choosing and chance --------------------------------------------------------------------------------------
def best_of_many_is_a_discovery(heads: int = 288, cases: int = 30, truth: float = 0.1) -> Refutation:
    """Lessons 06 and 11. Every head is equally poor; the best is picked and reported on the cases that picked it."""
    scores = np.random.default_rng(0).binomial(cases, truth, (400, heads)) / cases
    best = float(scores.max(axis=1).mean())
    sentence = f"Of {heads} heads that are right in {truth:.0%}, the best seems right in {best:.0%} of {cases} cases."
    return Refutation(sentence, best, best > truth + 0.05)


def removing_helped_so_the_head_hurts(examples: int = 300, heads: int = 144) -> Refutation:
    """Lesson 11. No head matters; switching one off changes a tenth of the answers, for better or worse at random."""
    gain = float(best_gain_by_chance(examples, heads, runs=300).mean())
    sentence = (
        f"Of {heads} heads without effect, the best removal gains {gain:.1f} points on {examples} examples."
    )
    return Refutation(sentence, gain, gain > 1)


def effects_of_heads_add_up(first: float = 1.0, second: float = 1.0) -> Refutation:
    """Lesson 11. Two heads can do a job, and the stronger one does it: the output is the larger of the two."""
    whole = max(first, second)
    alone = (whole - max(0.0, second)) + (whole - max(first, 0.0))
    sentence = (
        f"Switched off one at a time the two cost {alone:.1f} together; switched off together, {whole:.1f}."
    )
    return Refutation(sentence, whole - alone, whole - alone > 0.01)


# --- probes -----------------------------------------------------------------------------------------------------
@cache
def _arcs(limit: int = 150) -> tuple[np.ndarray, ...]:
    """The governors of some sentences of the shipped treebank, -1 for the root."""
    trees = islice(iter_conllu(data_path("treebank", "treebank.conllu")), limit)
    return tuple(np.asarray(tree.governors) for tree in trees)


def _pair_distances(governors, generator) -> tuple[np.ndarray, np.ndarray]:
    """How far apart linked words stand, and as many unlinked ones, in one sentence."""
    words = np.flatnonzero(governors >= 0)
    i, j = np.triu_indices(len(governors), 1)
    unlinked = generator.permutation((j - i)[(governors[i] != j) & (governors[j] != i)])[: len(words)]
    return np.abs(words - governors[words])[: len(unlinked)], unlinked


def pairs_are_parsing(sentences=None, near: int = 2) -> Refutation:
    """Lesson 08. Linked pairs and as many unlinked ones, told apart by distance alone: linked if at most two apart."""
    generator = np.random.default_rng(0)
    each = [_pair_distances(np.asarray(s), generator) for s in (_arcs() if sentences is None else sentences)]
    linked, unlinked = (np.concatenate(distances) for distances in zip(*each))
    share = float(((linked <= near).mean() + (unlinked > near).mean()) / 2)
    sentence = f"A rule that sees only the distance tells {share:.0%} of {2 * len(linked)} balanced pairs; a coin, half."
    return Refutation(sentence, share, share > 0.6)


def undirected_is_as_good(sentences=None) -> Refutation:
    """Lesson 08. The same guess, "a neighbour", counted with and without direction."""
    sentences = [np.asarray(governors) for governors in (_arcs() if sentences is None else sentences)]
    steps = np.concatenate(
        [(governors - np.arange(len(governors)))[governors >= 0] for governors in sentences]
    )
    directed, undirected = float((steps == 1).mean()), float((np.abs(steps) == 1).mean())
    sentence = (
        f"{undirected:.0%} of the arcs join neighbours; in {directed:.0%} the next word is the governor."
    )
    return Refutation(sentence, undirected - directed, undirected - directed > 0.02)


def large_probe_weight_is_importance(copies=((5.0, -4.0), (0.5, 0.5), (0.0, 1.0)), second=None) -> Refutation:
    """Lesson 08. Two heads with the same map, and several ways to weigh them."""
    first = np.array([0.1, 0.7, 0.2])
    heads = np.stack([first, first if second is None else np.asarray(second)])
    scores = np.asarray(copies) @ heads
    spread = float(np.ptp(scores, axis=0).max())
    sentence = f"Weights of the first head: {', '.join(f'{w[0]:g}' for w in copies)}. The probe's scores differ by {spread:.2f}."
    return Refutation(sentence, spread, spread < 1e-9 and np.ptp([w[0] for w in copies]) > 1)


def a_probe_reads_what_is_there(types: int = 40, words: int = 2000, classes: int = 5) -> Refutation:
    """Lesson 08. Every word form draws a class at random; the probe learns the list on one half and is asked the other."""
    generator = np.random.default_rng(0)
    label, text = generator.integers(classes, size=types), generator.integers(types, size=words)
    learnt = {int(form): int(label[form]) for form in text[::2]}
    right = float(np.mean([learnt.get(int(form), 0) == label[form] for form in text[1::2]]))
    sentence = f"A list of words is right about {right:.0%} of classes that were drawn at random; guessing, {1 / classes:.0%}."
    return Refutation(sentence, right, right > 2 / classes)


# --- families and maps ------------------------------------------------------------------------------------------
def _rows(*rows) -> np.ndarray:
    return np.array([[[row, row] for row in rows]])  # (layer, head, query, key)


def the_divergence_is_a_distance(between=(0.5, 0.5)) -> Refutation:
    """Lesson 09. From one head to another directly, and by way of a third."""
    d = js_distances(_rows((1.0, 0.0), (0.0, 1.0), between), smoothing=0)
    direct, detour = float(d[0, 1]), float(d[0, 2] + d[2, 1])
    sentence = f"Directly {direct:.3f} nats, by way of a third head {detour:.3f}: a detour can be shorter."
    return Refutation(sentence, direct - detour, direct > detour + 1e-6)


def big_distance_sum_is_far(texts: int = 50) -> Refutation:
    """Lesson 09. Two heads that are nearly alike, over many texts."""
    maps = _rows((0.6, 0.4), (0.4, 0.6))
    total = sum(float(js_distances(maps, per_token=False)[0, 1]) for _ in range(texts))
    per_token = float(js_distances(maps)[0, 1])
    sentence = (
        f"Summed over {texts} texts {total:.2f} nats; per token {per_token:.3f} of at most {np.log(2):.3f}."
    )
    return Refutation(sentence, total, total > np.log(2) > 10 * per_token)


def left_of_the_map_means_something(
    points=((0.0, 0.0), (3.0, 0.0), (0.0, 4.0)), turn: float = 90
) -> Refutation:
    """Lesson 09."""
    points, angle = np.asarray(points), np.radians(turn)
    turned = points @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])

    def distances(p):
        return np.linalg.norm(p[:, None] - p[None], axis=-1)

    moved = float(np.abs(turned - points).max())
    kept = float(np.abs(distances(turned) - distances(points)).max())
    sentence = f"Turned by {turn:g} degrees the points move by up to {moved:.1f}, the distances change by {kept:.1f}."
    return Refutation(sentence, moved, moved > 0.1 and kept < 1e-9)


def a_map_shows_distances(distances=None) -> Refutation:
    """Lesson 09. By default five heads, each equally far from every other."""
    distances = np.ones((5, 5)) - np.eye(5) if distances is None else np.asarray(distances)
    stress = float(metric_mds(distances).stress)
    return Refutation(
        f"The best map of {len(distances)} heads in a plane has a stress of {stress:.2f}.",
        stress,
        stress > 0.05,
    )


# --- layers, fine-tuning ------------------------------------------------------------------------------------------
def flat_is_the_middle(weights=None) -> Refutation:
    """Lesson 10. A probe that does not care which layer it reads."""
    weights = np.full(13, 1 / 13) if weights is None else np.asarray(weights)
    centre, bits = centre_of_gravity(weights), mixing_bits(weights)
    sentence = f"The centre of gravity is {centre:.1f} of {len(weights) - 1}, and the mix is {bits:.2f} bits from flat."
    middle = abs(centre - (len(weights) - 1) / 2) < 1
    return Refutation(sentence, bits, bool(middle and bits < 0.1))


def probe_l_reads_layer_l(shares=(9.0, 0.0, 0.0, 0.0)) -> Refutation:
    """Lesson 10. The probe P(3) may mix layers 0 to 3, and here it likes layer 0."""
    hidden = np.eye(len(shares))  # layer l is the unit vector l, so the mix shows the shares
    mixed = scalar_mix(hidden, shares)
    sentence = f"P({len(shares) - 1}) takes {mixed[0]:.0%} from the embeddings and {mixed[-1]:.0%} from layer {len(shares) - 1}."
    return Refutation(sentence, float(mixed[-1]), bool(mixed[-1] < mixed[:-1].max()))


def only_learning_has_an_expected_layer(f1=(0.500, 0.501, 0.500, 0.502, 0.503)) -> Refutation:
    """Lesson 10. A curve that goes nowhere."""
    where, gain = expected_layer(f1), float(np.asarray(f1)[-1] - np.asarray(f1)[0])
    return Refutation(
        f"A gain of {gain:.3f} in all, and yet an expected layer of {where:.2f}.", where, gain < 0.02
    )


def cosine_near_one_is_unchanged(tokens: int = 12, padding: int = 188) -> Refutation:
    """Lesson 14. Two unrelated maps; then the same two, padded to 200 places that look alike in both."""
    one, other = np.random.default_rng(0).dirichlet(np.ones(tokens), (2, tokens))

    def cosine(a, b) -> float:
        return float((a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()))

    pad = np.full(padding, 1 / np.sqrt(max(tokens, 1)))
    bare, padded = cosine(one, other), cosine(np.r_[one.ravel(), pad], np.r_[other.ravel(), pad])
    sentence = f"Two maps that have nothing to do with each other: cosine {bare:.2f}, and {padded:.2f} with padding counted."
    return Refutation(sentence, padded, bare > 0.3 and padded > bare + 0.05)
