"""Checks of lesson 9: families of heads."""

from __future__ import annotations

import numpy as np

from bertlook_teach.measures import THRESHOLDS, UNLABELLED, behaviour_labels, group_test, js_distances
from bertlook_teach.model import head_label

from .answers import ChoiceCheck, FunctionCheck, ListCheck, NumberCheck, SetCheck
from .cases import PartsCheck, case_attention, case_rows, close, entropy, js_divergence, labels_of, of_run
from .sheet import keep_sheet


# --- 1 and 2 ---------------------------------------------------------------------------------------------
def _with_nan(p, q):
    m = (p + q) / 2
    return -(m * np.log(m)).sum() + ((p * np.log(p)).sum() + (q * np.log(q)).sum()) / 2


_P, _Q = case_rows(2, 4)

check_divergence = FunctionCheck(
    js_divergence,
    asks="``divergence(p, q)``: the Jensen-Shannon divergence of two rows, in nats.",
    cases=[
        (_P, _Q),
        (_P, _P),
        (np.array([1.0, 0, 0]), np.array([0, 0.5, 0.5])),
        (np.array([1.0, 0]), np.array([0, 1.0])),
    ],
    wrong=[
        "it gives nan where a weight is 0. In the limit 0 log 0 is 0, as in the entropy of lesson 3",
        _with_nan,
        "that is its square root, as SciPy's `jensenshannon` gives it; leave the root out",
        lambda p, q: max(js_divergence(p, q), 0) ** 0.5,
        "that is in bits; nats need the natural logarithm",
        lambda p, q: js_divergence(p, q) / np.log(2),
        "the right size, the wrong sign: the mixture is the broader one",
        lambda p, q: -js_divergence(p, q),
        "twice as much as it should be: take half of both entropies, and half of p + q",
        lambda p, q: 2 * js_divergence(p, q),
        "subtract the *mean* of the two entropies, not their sum",
        lambda p, q: entropy((p + q) / 2) - (entropy(p) + entropy(q)),
        "two rows can be equally broad and look at different tokens; you need the entropy of their mixture",
        lambda p, q: abs(entropy(p) - entropy(q)),
        "p + q sums to 2; the mixture is (p + q) / 2",
        lambda p, q: 2 * entropy((p + q) / 2) - 2 * np.log(2) - (entropy(p) + entropy(q)) / 2,
    ],
    learnt="0 for equal rows, ln 2 for rows that share no key, and defined when a weight is 0.",
)

check_largest = ChoiceCheck.among(
    {
        "1": "it is 1 in bits. What is 1 bit in nats?",
        "ln 2": None,
        "ln n": "that is the largest entropy of one row; try rows without a common key",
        "no limit": "that is the Kullback-Leibler divergence. The mixture is never 0 where a row is not",
    },
    asks="The largest divergence two rows can have.",
    learnt='However many tokens there are, the answer to "Which of the two rows was this token drawn from?" is one of two, and carries at most ln 2 nats.',
)
RANGE_OPTIONS = check_largest.options


# --- 3 and 4 ---------------------------------------------------------------------------------------------
def _map_distance(a, b):
    return float(np.mean([js_divergence(p, q) for p, q in zip(a, b)]))


check_head_distance = FunctionCheck(
    _map_distance,
    asks="``head_distance(a, b)``: mean divergence over the rows of two maps of shape (query, key).",
    # Whoever reads columns gets the same number: the formula adds up a term for each entry of the maps, in any order.
    cases=[
        *(tuple(case_rows(2, 5, 5, seed=seed)) for seed in (1, 2)),
        (np.eye(3), np.roll(np.eye(3), 1, axis=1)),
    ],
    wrong=[
        "that is the sum over the tokens, as in the paper; the *mean* was asked for",
        lambda a, b: _map_distance(a, b) * len(a),
        "you took the mean of the rows first. Heads that look at the same tokens, but from other places, then seem alike",
        lambda a, b: js_divergence(a.mean(axis=0), b.mean(axis=0)),
    ],
    learnt="Row against row, then the mean: nats per token, from 0 to 0.693.",
)


def _related():
    """Distances of four layers of three heads that keep together, and the layer of each head."""
    layers = np.repeat(np.arange(4), 3)
    distances = 0.1 + 0.3 * (layers[:, None] != layers) + 0.01 * np.random.default_rng(0).random((12, 12))
    distances = (distances + distances.T) / 2
    distances[2, :], distances[:, 2] = distances[2] + 0.2, distances[:, 2] + 0.2
    np.fill_diagonal(distances, 0)
    return distances, layers


@of_run(lambda: (_related()[0], 3))
def check_closest_pair(distances, n_heads):
    """The printed names of the two heads that are closest to each other."""
    distances = np.asarray(distances, dtype=float)
    off = distances + np.where(np.eye(len(distances), dtype=bool), np.inf, 0)
    i, j = (int(head) for head in np.unravel_index(off.argmin(), off.shape))

    def named(*heads):
        return {head_label(*divmod(int(head), n_heads)) for head in heads}

    return SetCheck(
        named(i, j),
        wrong=[
            "those are rows of the matrix; make names of them: `head_label(*divmod(row, n_heads))`",
            {i, j},
            "the smallest entry is on the diagonal: each head is at distance 0 from itself. Leave it out",
            named(0, 0),
            "those are the two that are *farthest* from each other",
            named(*np.unravel_index(distances.argmax(), distances.shape)),
            "printed names count from 1; `head_label` does that",
            {f"{head // n_heads}-{head % n_heads}" for head in (i, j)},
        ],
        learnt=f"{' and '.join(sorted(named(i, j)))}: {off[i, j]:.3f} nats per token; the mean of all pairs is {distances[np.triu_indices(len(distances), 1)].mean():.3f}.",
    )


# --- 5 and 6 ---------------------------------------------------------------------------------------------
def _gap(distances, layers, average=np.mean):
    """Between layers minus within them, each pair of heads once."""
    same = layers[:, None] == layers
    pairs = np.triu(np.ones_like(same), 1)
    return average(distances[~same & pairs]) - average(distances[same & pairs])


def _whole_gap(distances, layers):
    same = layers[:, None] == layers
    return distances[~same].mean() - distances[same].mean()


def _between(distances, layers):
    return distances[layers[:, None] != layers].mean()


check_layer_gap = FunctionCheck(
    _gap,
    asks="``layer_gap(distances, layers)``: mean distance between heads of different layers minus that within layers.",
    cases=[
        (js_distances(case_rows(n_layers, n_heads, 5, 5, seed=seed)), np.repeat(np.arange(n_layers), n_heads))
        for seed, n_layers, n_heads in ((3, 3, 2), (4, 2, 4))
    ],
    wrong=[
        "the zeros of the diagonal are in your mean within layers: a head is not its own neighbour. Use `np.triu(..., 1)`, or leave out the diagonal",
        _whole_gap,
        "the other way round: between minus within, so that a positive number says that layers keep together",
        lambda d, layers: -_gap(d, layers),
        "that is the mean between layers; subtract the mean within",
        _between,
        "means, not sums: there are many more pairs between layers than within",
        lambda d, layers: _gap(d, layers, average=np.sum),
    ],
    learnt="Every pair once, no head with itself. Positive: heads of one layer are closer to each other.",
)


def _shuffled():
    distances, layers = _related()
    found = group_test(distances, layers, permutations=0).difference
    return distances, layers, [found + 0.1, found + 0.2, *np.linspace(-found, found / 2, 17)]


@of_run(_shuffled)
def check_p_value(distances, layers, shuffled):
    """The share of shuffles that do at least as well as the true layers, which count as one of them."""
    found = group_test(distances, layers, permutations=0).difference
    shuffled = np.asarray(shuffled, dtype=float)
    as_good = int((shuffled >= found - 1e-12).sum())
    expected = (1 + as_good) / (1 + len(shuffled))
    return NumberCheck(
        expected,
        tolerance=1e-9,
        wrong=[
            "the true order is one of the possible orders: add 1 above and below, then p is never 0",
            as_good / len(shuffled),
            "that is how many; the share was asked for",
            as_good,
            "that is the share of the shuffles that do worse",
            1 - expected,
            "that is the share of the shuffles that do worse",
            (shuffled < found).mean(),
        ],
        learnt=f"{as_good} of {len(shuffled)} shuffles have at least as large a gap as the true layers: p = {expected:.3f}.",
    )


# --- 7 and 8 ---------------------------------------------------------------------------------------------
def _between_points(points):
    return np.sqrt(((points[:, None] - points) ** 2).sum(-1))


def _squares(measured, drawn):
    return ((drawn - measured) ** 2).sum()


_RNG = np.random.default_rng(5)

check_stress = FunctionCheck(
    lambda measured, drawn: np.sqrt(_squares(measured, drawn) / (drawn**2).sum()),
    asks="``stress(distances, drawn)``: Kruskal's stress-1 from measured and drawn distances.",
    cases=[tuple(map(_between_points, _RNG.normal(size=(2, n, 2))[::-1])) for n in (4, 6)],
    wrong=[
        "that is stress squared: take the root at the end",
        lambda m, d: _squares(m, d) / (d**2).sum(),
        "divide by the squared distances that are *drawn*",
        lambda m, d: np.sqrt(_squares(m, d) / (m**2).sum()),
        "without a division the number grows with the scale of the map; divide by the squared drawn distances",
        lambda m, d: np.sqrt(_squares(m, d)),
        "that is a mean error in nats; divide by the squared drawn distances to get rid of the scale",
        lambda m, d: np.sqrt(((d - m) ** 2).mean()),
        "squares, not absolute values; and a root at the end",
        lambda m, d: np.abs(d - m).sum() / d.sum(),
    ],
    learnt="0 for a perfect map, and the same number in nats, bits or millimetres.",
)


def _two_broad():
    """Measures with two broad heads, one of which a later line of the rule takes over."""
    measures = {name: np.zeros((4, 3)) for name in THRESHOLDS}
    measures["entropy_normalized"][[0, 2], [1, 0]], measures["punct"][2, 0] = 0.9, 0.7
    return measures


@of_run(lambda: (_two_broad(),))
def check_labelled(measures, label="broad"):
    """The printed names of the heads that the rule gives one label."""
    rule = dict(THRESHOLDS)
    labels = behaviour_labels(measures, rule)
    [(measure, line)] = [(name, line) for name, (given, line) in rule.items() if given == label]

    names = labels_of(labels == label)
    return SetCheck(
        names,
        wrong=[
            "printed names count from 1; `head_label(layer, head)` does that",
            {f"{layer}-{head}" for layer, head in np.argwhere(labels == label)},
            "some of these are above the threshold, but a later line of the rule gives them another label",
            labels_of(np.asarray(measures[measure]) > line),
            "those are all the others",
            labels_of(labels != label),
            "those are the heads without a label",
            labels_of(labels == UNLABELLED),
        ],
        learnt=f"{len(names)} of {labels.size} heads are {label}.",
    )


# --- 9 and 10 --------------------------------------------------------------------------------------------
def _labelled():
    """The distances above, and a behaviour for each head; the loner's nearest head is of its own kind."""
    kinds = np.array([["next"], ["broad"], ["punct"], ["[SEP]"]]).repeat(3, axis=1).astype(object)
    kinds[0] = "previous"
    return _related()[0], kinds, 3


@of_run(_labelled, answers=2)
def check_best_partner(distances, labels, n_heads):
    """The head of another behaviour that is closest to a labelled head: its name and its distance."""
    distances = np.asarray(distances, dtype=float)
    flat = np.asarray(labels).ravel()
    start = int(distances.sum(axis=1).argmax())
    best = int(np.where(flat != flat[start], distances[start], np.inf).argmin())
    nearest = int(np.where(np.arange(len(flat)) == start, np.inf, distances[start]).argmin())
    loner, expected, near = (head_label(*divmod(head, n_heads)) for head in (start, best, nearest))
    name = ListCheck(
        [expected],
        single=True,
        wrong={"that head has the same label; another was asked for": [near]},
        learnt="The name is right.",
    )
    distance = NumberCheck(
        float(distances[start, best]),
        tolerance=1e-6,
        wrong={"that is the distance of the nearest head, whatever its label": distances[start, nearest]},
        learnt="The distance is right.",
    )
    return PartsCheck(
        (name, distance),
        learnt=f"The loner is {loner} ({flat[start]}); its nearest head of another kind is {expected} "
        f"({flat[best]}), {distances[start, best]:.3f} nats per token away.",
    )


check_may_align = ChoiceCheck.among(
    {
        "the specimen and BERT-base": "36 points and 144: which head of the one should come to lie on which of the other?",
        "the specimen on two halves of the texts": None,
        "the specimen's heads and a shuffled list of them": "then each head is matched with a stranger; sort both lists first",
    },
    asks="Which two maps may be turned onto each other.",
    learnt="Alignment needs to know which point belongs to which. The same heads, measured twice, qualify.",
)
ALIGN_OPTIONS = check_may_align.options


# --- 11: a recording of BERT-base ------------------------------------------------------------------------
SAME_LAYER = ((7, 9), (7, 10))  # 8-10 and 8-11
OTHER_LAYERS = ((5, 1), (6, 3))  # 6-2 and 7-4


@of_run(lambda: (case_attention(("[CLS]", "a", "b", "[SEP]"), 12, 12, seed=8),), answers=2)
def check_two_pairs(attention):
    """Distance of two heads of one layer, 8-10 and 8-11, and of two heads of different layers, 6-2 and 7-4."""
    weights = np.asarray(attention.weights, dtype=float)

    def part(pair):
        one, other = (weights[place] for place in pair)
        expected = _map_distance(one, other)
        later = _map_distance(*(weights[layer + 1, head + 1] for layer, head in pair))
        return NumberCheck(
            expected,
            tolerance=2e-3,  # the package mixes in a thousandth of uniform attention
            wrong={
                "those are two other heads: names count from 1, so 8-11 has the index [7, 10]": later,
                "that is the sum over the tokens; the mean was asked for": expected * weights.shape[-1],
                "that is a head and itself": _map_distance(one, one),
            },
            learnt="This distance is right.",
        )

    parts = part(SAME_LAYER), part(OTHER_LAYERS)
    within, between = (one.right for one in parts)
    names = [f"{head_label(*a)} and {head_label(*b)}" for a, b in (SAME_LAYER, OTHER_LAYERS)]
    nearer = "different layers" if between < within else "one layer"
    return PartsCheck(
        parts,
        learnt=f"{names[0]}: {within:.3f}, {names[1]}: {between:.3f} nats per token ({attention.recorded}). Of these two pairs, the pair from {nearer} is "
        "closer. Is that a finding?",
    )


check_pairs = ChoiceCheck.among(
    {
        "heads of different layers are closer than heads of one layer": "that holds for our two pairs, which we picked; compare the two means over all pairs",
        "on this text, heads of one layer are closer on average": None,
        "every head's nearest relative is in its own layer": "a smaller mean does not say that; the second line counts for how many heads it holds",
    },
    asks="What all pairs of heads show that two pairs could not.",
    learnt="A mean over all pairs, a test that shuffles heads, and still a single text: for a family of heads, many texts are needed.",
)
PAIR_OPTIONS = check_pairs.options

# --- the last two: a picture, and a claim on trial ---------------------------------------------------------
PICTURE_OPTIONS, check_picture, on_trial, TRIAL_OPTIONS, check_trial = close("09")

sheet = keep_sheet(globals())  # what the checks above have said, as the last cell shows it
