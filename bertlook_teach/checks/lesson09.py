"""Checks of lesson 9: families of heads."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from ..measures import THRESHOLDS, UNLABELLED, behaviour_labels, group_test, js_distances
from ..model import head_label
from ..stats import kruskal_stress
from .answers import check_choice, check_function, check_list, check_number, check_set
from .cases import case_rows, close, closing_examples, entropy, js_divergence
from .feedback import args, check_all
from .sheet import keep_sheet


# --- 1 and 2 ---------------------------------------------------------------------------------------------
def check_divergence(function):
    """``divergence(p, q)``: the Jensen-Shannon divergence of two rows, in nats."""
    p, q = case_rows(2, 4)
    disjoint = [([1.0, 0, 0], [0, 0.5, 0.5]), ([1.0, 0], [0, 1.0])]
    pairs = [(p, q), (p, p), *(tuple(map(np.array, rows)) for rows in disjoint)]

    def naive(p, q):
        m = (p + q) / 2
        with np.errstate(all="ignore"):
            return -(m * np.log(m)).sum() + ((p * np.log(p)).sum() + (q * np.log(q)).sum()) / 2

    return check_function(
        function,
        [((a, b), js_divergence(a, b)) for a, b in pairs],
        mistakes=[
            (
                naive,
                "it gives nan where a weight is 0. In the limit 0 log 0 is 0, as in the entropy of lesson 3",
            ),
            (
                lambda p, q: max(js_divergence(p, q), 0) ** 0.5,
                "that is its square root, as SciPy's `jensenshannon` gives it; leave the root out",
            ),
            (
                lambda p, q: js_divergence(p, q) / np.log(2),
                "that is in bits; nats need the natural logarithm",
            ),
            (
                lambda p, q: -js_divergence(p, q),
                "the right size, the wrong sign: the mixture is the broader one",
            ),
            (
                lambda p, q: 2 * js_divergence(p, q),
                "twice too much: half of both entropies, and half of p + q",
            ),
            (
                lambda p, q: entropy((p + q) / 2) - (entropy(p) + entropy(q)),
                "subtract the *mean* of the two entropies, not their sum",
            ),
            (
                lambda p, q: abs(entropy(p) - entropy(q)),
                "two rows can be equally broad and look at different tokens; you need the entropy of their mixture",
            ),
            (
                lambda p, q: 2 * entropy((p + q) / 2) - 2 * np.log(2) - (entropy(p) + entropy(q)) / 2,
                "p + q sums to 2; the mixture is (p + q) / 2",
            ),
        ],
        learnt="0 for equal rows, ln 2 for rows that share no key, and defined when a weight is 0.",
    )


RANGE_OPTIONS = ("1", "ln 2", "ln n", "no limit")


def check_largest(answer):
    """The largest divergence two rows can have."""
    return check_choice(
        answer,
        "ln 2",
        options=RANGE_OPTIONS,
        mistakes=[
            ("1", "so it is in bits. What is 1 bit in nats?"),
            ("ln n", "that is the largest entropy of one row; try rows without a common key"),
            (
                "no limit",
                "that is the Kullback-Leibler divergence. The mixture is never 0 where a row is not",
            ),
        ],
        learnt="However many tokens there are: from which of two rows a draw came is one yes or no, and that is at most ln 2 nats.",
    )


# --- 3 and 4 ---------------------------------------------------------------------------------------------
def _map_distance(a, b):
    return float(np.mean([js_divergence(p, q) for p, q in zip(a, b)]))


def check_head_distance(function):
    """``head_distance(a, b)``: mean divergence over the rows of two maps of shape (query, key)."""
    # Whoever reads columns gets the same number: the formula adds up a term for each entry of the maps, in any order.
    cases = [tuple(case_rows(2, 5, 5, seed=s)) for s in (1, 2)] + [(np.eye(3), np.roll(np.eye(3), 1, axis=1))]
    summed = "that is the sum over the tokens, as in the paper; the *mean* was asked for"
    return check_function(
        function,
        [((a, b), _map_distance(a, b)) for a, b in cases],
        mistakes=[
            (lambda a, b: _map_distance(a, b) * len(a), summed),
            (
                lambda a, b: js_divergence(a.mean(axis=0), b.mean(axis=0)),
                "you took the mean of the rows first. Heads that look at the same tokens, but from other places, then seem alike",
            ),
            (lambda a, b: js_divergence(a.ravel() / len(a), b.ravel() / len(b)) * len(a), summed),
        ],
        learnt="Row against row, then the mean: nats a token, from 0 to 0.693.",
    )


def check_closest_pair(answer, distances, n_heads):
    """The printed names of the two heads that are closest to each other."""
    distances = np.asarray(distances, dtype=float)
    off = distances + np.where(np.eye(len(distances), dtype=bool), np.inf, 0)
    i, j = np.unravel_index(off.argmin(), off.shape)
    far = np.unravel_index(distances.argmax(), distances.shape)

    def named(*heads):
        return {head_label(*divmod(int(head), n_heads)) for head in heads}

    zero_based = {f"{int(head) // n_heads}-{int(head) % n_heads}" for head in (i, j)}
    mistakes = [
        (
            {int(i), int(j)},
            "those are rows of the matrix; make names of them: `head_label(*divmod(row, n_heads))`",
        ),
        (
            named(0, 0),
            "the smallest entry is on the diagonal: each head is at distance 0 from itself. Leave it out",
        ),
        (named(*far), "those are the two that are *farthest* from each other"),
        (zero_based, "printed names count from 1; `head_label` does that"),
    ]
    return check_set(
        answer,
        named(i, j),
        mistakes=[(wrong, why) for wrong, why in mistakes if wrong != named(i, j)],
        learnt=f"{' and '.join(sorted(named(i, j)))}: {off[i, j]:.3f} nats a token; the mean of all pairs is {distances[np.triu_indices(len(distances), 1)].mean():.3f}.",
    )


# --- 5 and 6 ---------------------------------------------------------------------------------------------
def check_layer_gap(function):
    """``layer_gap(distances, layers)``: mean distance between heads of different layers minus that within layers."""

    def parts(distances, layers):
        same = layers[:, None] == layers[None, :]
        upper = np.triu(np.ones_like(same), 1)
        return distances[same & upper].mean(), distances[~same].mean()

    def right(distances, layers):
        within, between = parts(distances, layers)
        return float(between - within)

    cases = []
    for seed, (n_layers, n_heads) in ((3, (3, 2)), (4, (2, 4))):
        cases.append(
            (
                js_distances(case_rows(n_layers, n_heads, 5, 5, seed=seed)),
                np.repeat(np.arange(n_layers), n_heads),
            )
        )

    def with_diagonal(distances, layers):
        same = layers[:, None] == layers[None, :]
        return float(distances[~same].mean() - distances[same].mean())

    return check_function(
        function,
        [(case, right(*case)) for case in cases],
        mistakes=[
            (
                with_diagonal,
                "the zeros of the diagonal are in your mean within layers: a head is not its own neighbour. Use `np.triu(..., 1)`, or leave out the diagonal",
            ),
            (
                lambda d, layers: -right(d, layers),
                "the other way round: between minus within, so that a positive number says that layers keep together",
            ),
            (
                lambda d, layers: parts(d, layers)[1],
                "that is the mean between layers; subtract the mean within",
            ),
            (
                lambda d, layers: float(
                    d[layers[:, None] != layers[None, :]].sum() / 2
                    - d[layers[:, None] == layers[None, :]].sum() / 2
                ),
                "means, not sums: there are many more pairs between layers than within",
            ),
        ],
        learnt="Every pair once, no head with itself. Positive: heads of one layer are closer to each other.",
    )


def check_p_value(answer, distances, layers, shuffled):
    """The share of shuffles that do at least as well as the true layers, which count as one of them."""
    found = group_test(distances, layers, permutations=0).difference
    shuffled = np.asarray(shuffled, dtype=float)
    as_good = int((shuffled >= found - 1e-12).sum())
    expected = (1 + as_good) / (1 + len(shuffled))
    mistakes = [
        (
            as_good / len(shuffled),
            "the true order is one of the possible orders: add 1 above and below, then p is never 0",
        ),
        (as_good, "that is how many; the share was asked for"),
        (1 - expected, "that is the share of the shuffles that do worse"),
        (float((shuffled < found).mean()), "that is the share of the shuffles that do worse"),
    ]
    return check_number(
        answer,
        expected,
        tolerance=1e-9,
        mistakes=[(value, why) for value, why in mistakes if abs(value - expected) > 1e-9],
        learnt=f"{as_good} of {len(shuffled)} shuffles keep together as well as the layers do: p = {expected:.3f}.",
    )


# --- 7 and 8 ---------------------------------------------------------------------------------------------
def check_stress(function):
    """``stress(distances, drawn)``: Kruskal's stress-1 from measured and drawn distances."""
    generator = np.random.default_rng(5)
    cases = []
    for n in (4, 6):
        points, other = generator.normal(size=(2, n, 2))
        drawn, measured = (np.sqrt(((p[:, None] - p[None]) ** 2).sum(-1)) for p in (points, other))
        cases.append(((measured, drawn), kruskal_stress(measured, points)))

    def wrong(power, below):
        def version(measured, drawn):
            return float((((drawn - measured) ** 2).sum() / (below(measured, drawn) ** 2).sum()) ** power)

        return version

    return check_function(
        function,
        cases,
        mistakes=[
            (wrong(1.0, lambda m, d: d), "that is stress squared: take the root at the end"),
            (wrong(0.5, lambda m, d: m), "divide by the squared distances that are *drawn*"),
            (
                lambda m, d: float(np.sqrt(((d - m) ** 2).sum())),
                "without a division the number grows with the scale of the map; divide by the squared drawn distances",
            ),
            (
                lambda m, d: float(np.sqrt(((d - m) ** 2).mean())),
                "that is a mean error in nats; divide by the squared drawn distances to get rid of the scale",
            ),
            (
                lambda m, d: float(np.abs(d - m).sum() / d.sum()),
                "squares, not absolute values; and a root at the end",
            ),
        ],
        learnt="0 for a perfect map, and the same number in nats, bits or millimetres.",
    )


def check_labelled(answer, measures, label="broad"):
    """The printed names of the heads that the rule gives one label."""
    rule = dict(THRESHOLDS)
    labels = behaviour_labels(measures, rule)
    [(measure, line)] = [(name, line) for name, (given, line) in rule.items() if given == label]
    names = {head_label(*place) for place in np.argwhere(labels == label)}
    over = {head_label(*place) for place in np.argwhere(np.asarray(measures[measure]) > line)}
    raw = {f"{layer}-{head}" for layer, head in np.argwhere(labels == label)}
    mistakes = [
        (raw, "printed names count from 1; `head_label(layer, head)` does that"),
        (over, "some of these are over the line, but a later line of the rule gives them another label"),
        ({head_label(*place) for place in np.argwhere(labels != label)}, "those are all the others"),
        (
            {head_label(*place) for place in np.argwhere(labels == UNLABELLED)},
            "those are the heads without a label",
        ),
    ]
    return check_set(
        answer,
        names,
        mistakes=[(wrong, why) for wrong, why in mistakes if wrong != names],
        learnt=f"{len(names)} of {labels.size} heads are {label}.",
    )


# --- 9 and 10 --------------------------------------------------------------------------------------------
ALIGN_OPTIONS = (
    "the specimen and BERT-base",
    "the specimen on two halves of the texts",
    "the specimen's heads and a shuffled list of them",
)


def check_may_align(answer):
    """Which two maps may be turned onto each other."""
    return check_choice(
        answer,
        ALIGN_OPTIONS[1],
        options=ALIGN_OPTIONS,
        mistakes=[
            (
                ALIGN_OPTIONS[0],
                "36 points and 144: which head of the one should come to lie on which of the other?",
            ),
            (ALIGN_OPTIONS[2], "then each head is matched with a stranger; sort both lists first"),
        ],
        learnt="Alignment needs to know which point belongs to which. The same heads, measured twice, qualify.",
    )


def check_best_partner(name, distance, distances, labels, n_heads):
    """The head of another behaviour that is closest to a labelled head: its name and its distance."""
    distances = np.asarray(distances, dtype=float)
    flat = np.asarray(labels).ravel()
    start = int(distances.sum(axis=1).argmax())
    other = np.where(flat != flat[start], distances[start], np.inf)
    best = int(other.argmin())
    nearest = np.where(np.arange(len(flat)) == start, np.inf, distances[start])
    any_head = int(nearest.argmin())
    expected = head_label(*divmod(best, n_heads))
    near = head_label(*divmod(any_head, n_heads))
    wrong = [([near], "that head has the same label; another was asked for")] if near != expected else []
    return check_all(
        check_list(name if name is ... else [name], [expected], mistakes=wrong, learnt="The name is right."),
        check_number(
            distance,
            float(distances[start, best]),
            tolerance=1e-6,
            mistakes=[
                (
                    float(distances[start, any_head]),
                    "that is the distance of the nearest head, whatever its label",
                )
            ]
            if any_head != best
            else [],
            learnt="The distance is right.",
        ),
        learnt=f"The loner is {head_label(*divmod(start, n_heads))} ({flat[start]}); its nearest head of another kind is {expected} "
        f"({flat[best]}), {distances[start, best]:.3f} nats a token away.",
    )


# --- 11: a recording of BERT-base ------------------------------------------------------------------------
SAME_LAYER = ((7, 9), (7, 10))  # 8-10 and 8-11
OTHER_LAYERS = ((5, 1), (6, 3))  # 6-2 and 7-4


def check_two_pairs(same, other, attention):
    """Distance of two heads of one layer, 8-10 and 8-11, and of two heads of different layers, 6-2 and 7-4."""
    weights = np.asarray(attention.weights, dtype=float)

    def part(answer, pair):
        (a, b), n = pair, weights.shape[-1]
        maps, later = (weights[a], weights[b]), (weights[a[0] + 1, a[1] + 1], weights[b[0] + 1, b[1] + 1])
        expected = _map_distance(*maps)
        mistakes = [
            (
                _map_distance(*later),
                "those are two other heads: names count from 1, so 8-11 has the index [7, 10]",
            ),
            (expected * n, "that is the sum over the tokens; the mean was asked for"),
            (_map_distance(maps[0], maps[0]), "that is a head and itself"),
        ]
        return expected, check_number(
            answer,
            expected,
            tolerance=2e-3,  # the package mixes in a thousandth of uniform attention
            mistakes=[(value, why) for value, why in mistakes if abs(value - expected) > 2e-3],
            learnt="This distance is right.",
        )

    (within, first), (between, second) = part(same, SAME_LAYER), part(other, OTHER_LAYERS)
    names = [f"{head_label(*a)} and {head_label(*b)}" for a, b in (SAME_LAYER, OTHER_LAYERS)]
    nearer = "different layers" if between < within else "one layer"
    return check_all(
        first,
        second,
        learnt=f"{names[0]}: {within:.3f}, {names[1]}: {between:.3f} nats a token ({attention.recorded}). Of these two pairs, the one of {nearer} is "
        "closer. Is that a finding?",
    )


PAIR_OPTIONS = (
    "heads of different layers are closer than heads of one layer",
    "on this text, heads of one layer are closer on average",
    "every head's nearest relative is in its own layer",
)


def check_pairs(answer):
    """What all pairs of heads show that two pairs could not."""
    return check_choice(
        answer,
        PAIR_OPTIONS[1],
        options=PAIR_OPTIONS,
        mistakes=[
            (
                PAIR_OPTIONS[0],
                "that holds for our two pairs, which we picked; compare the two means over all pairs",
            ),
            (
                PAIR_OPTIONS[2],
                "a smaller mean does not say that; the second line counts for how many heads it holds",
            ),
        ],
        learnt="A mean over all pairs, a test that shuffles heads, and still a single text: for a family of heads, many texts are needed.",
    )


# --- the last two: a picture, and a claim on trial ---------------------------------------------------------
PICTURE_OPTIONS, check_picture, on_trial, TRIAL_OPTIONS, check_trial = close("09")


# --- the checks' own proof -------------------------------------------------------------------------------
def _example():
    """Four layers of three heads that keep together, and measures with two broad heads, one of them overridden."""
    layers = np.repeat(np.arange(4), 3)
    distances = 0.1 + 0.3 * (layers[:, None] != layers) + 0.01 * np.random.default_rng(0).random((12, 12))
    distances = (distances + distances.T) / 2
    distances[2, :], distances[:, 2] = distances[2] + 0.2, distances[:, 2] + 0.2
    np.fill_diagonal(distances, 0)
    measures = {name: np.zeros((4, 3)) for name in THRESHOLDS}
    measures["entropy_normalized"][[0, 2], [1, 0]], measures["punct"][2, 0] = 0.9, 0.7
    return distances, layers, measures


def EXAMPLES():
    """Right, wrong and unfilled answers of every check."""
    distances, layers, measures = _example()
    generator = np.random.default_rng(1)
    shuffled = [
        group_test(distances, generator.permutation(layers), permutations=0).difference for _ in range(19)
    ]
    off = distances + np.where(np.eye(12, dtype=bool), np.inf, 0)
    pair = {head_label(*divmod(int(i), 3)) for i in np.unravel_index(off.argmin(), off.shape)}
    labels = np.where(
        behaviour_labels(measures) == "broad", "broad", np.array([["next"], ["punct"], ["next"], ["[SEP]"]])
    )
    labels = labels.astype(object)
    labels[0, 2] = "previous"
    recorded = SimpleNamespace(weights=case_rows(12, 12, 4, 4, seed=8), recorded="made up")
    two = [_map_distance(recorded.weights[a], recorded.weights[b]) for a, b in (SAME_LAYER, OTHER_LAYERS)]
    partner = int(np.where(labels.ravel() != "previous", distances[2], np.inf).argmin())

    def gap(d, groups):
        same = groups[:, None] == groups[None, :]
        return d[~same].mean() - d[same & np.triu(np.ones_like(same), 1)].mean()

    def stress(measured, drawn):
        return np.sqrt(((drawn - measured) ** 2).sum() / (drawn**2).sum())

    def divergence(p, q):
        terms = [a * np.log(2 * a / (x + y)) for x, y in zip(p, q) for a in (x, y) if a > 0]
        return float(np.sum(terms) / 2)

    return {
        "check_divergence": (divergence, lambda p, q: np.sqrt(js_divergence(p, q)), ...),
        "check_largest": ("ln 2", "1", ...),
        "check_head_distance": (
            lambda a, b: np.mean([divergence(p, q) for p, q in zip(a, b)]),
            lambda a, b: np.sum([divergence(p, q) for p, q in zip(a, b)]),
            ...,
        ),
        "check_closest_pair": (
            args(pair, distances, 3),
            args({"1-1"}, distances, 3),
            args(..., distances, 3),
        ),
        "check_layer_gap": (gap, lambda d, groups: -gap(d, groups), ...),
        "check_p_value": (
            args((1 + sum(s >= gap(distances, layers) for s in shuffled)) / 20, distances, layers, shuffled),
            args(0, distances, layers, shuffled),
            args(..., distances, layers, shuffled),
        ),
        "check_stress": (stress, lambda m, d: stress(m, d) ** 2, ...),
        "check_labelled": (args({"1-2"}, measures), args({"1-2", "3-1"}, measures), args(..., measures)),
        "check_may_align": (ALIGN_OPTIONS[1], ALIGN_OPTIONS[0], ...),
        "check_best_partner": (
            args(head_label(*divmod(partner, 3)), distances[2, partner], distances, labels, 3),
            args("4-3", distances[2, partner], distances, labels, 3),
            args(..., ..., distances, labels, 3),
        ),
        "check_two_pairs": (
            args(*two, recorded),
            args(two[0], 4 * two[1], recorded),
            args(..., ..., recorded),
        ),
        "check_pairs": (PAIR_OPTIONS[1], PAIR_OPTIONS[0], ...),
        **closing_examples("09"),
    }


sheet = keep_sheet(globals())  # what the checks above have said, as the last cell shows it
