"""The arithmetic behind the essay's eleven claims: closed forms on arrays, no model, no text.

The claims are registered in `hypotheses`, what they are computed from is collected in `essay_evidence`. A *statistic* takes the means
over the inputs that report and over those that choose, and grows with the evidence *for* the claim.

Where a claim names layers of 12 (5-10, say), a model of another depth takes the layers whose middle lies in the same part of its
depth; the *deep* layers (11-12 of 12) are the last sixth, but at least two, since in the very last layer the masked-LM loss
depends on the masked tokens' rows alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations, pairwise, permutations

import numpy as np

from bertlook_teach.stats import monte_carlo_p

from ...metrics import CannotDecide, rank_correlation
from ..claim import Values

DEPTH = 12  # of BERT-base, for which the essay names its layers

PHASES = (4, 10)  # the essay's first two phases end with these layers

MIDDLE = (4, 9)  # layers that specialise in syntax

SHUFFLES = 10_000

EXACT_UP_TO = 7  # layers of which all orders are tried

# Relations of Universal Dependencies that can have a row; punctuation has no grammar to find.
_NAMES = """
nsubj obj det case advmod obl amod conj aux nmod cc compound mark cop nmod:poss advcl xcomp nummod
ccomp acl:relcl obl:unmarked flat parataxis acl appos aux:pass nsubj:pass discourse iobj fixed expl compound:prt
"""
RELATIONS = tuple(_NAMES.split())

# What Clark's five named heads (8-10, 8-11, 7-6, 4-10, 9-6) find: objects, determiners, owners, passive auxiliaries, objects of
# prepositions; in Universal Dependencies the preposition hangs on its object.
HAVEN_RELATIONS = ("obj", "det", "nmod:poss", "aux:pass", "case")

OPEN_RELATIONS = ("obj", "nsubj", "amod")  # open-class dependents, named in the refuting condition

# Word classes of the essay's "insiders": words that hold a sentence together.
FUNCTION_CLASSES = frozenset({"ADP", "AUX", "CCONJ", "DET", "PART", "PRON", "SCONJ"})


# --- layers of a model of any depth --------------------------------------------------------------------
def relative_layers(first: int, last: int, n_layers: int, *, depth: int = DEPTH) -> np.ndarray:
    """The layers, counted from 0, that lie in the same part of a model as layers first..last, counted from 1, of ``depth``.

    A layer belongs there if its middle does.

    Raises
    ------
    CannotDecide
        If no layer's middle lies there.

    Examples
    --------
    >>> relative_layers(5, 10, 12).tolist(), relative_layers(5, 10, 6).tolist()
    ([4, 5, 6, 7, 8, 9], [2, 3, 4])
    """
    middles = (np.arange(n_layers) + 0.5) / n_layers
    found = np.flatnonzero((middles > (first - 1) / depth) & (middles <= last / depth))
    if not len(found):
        raise CannotDecide(
            f"a model of {n_layers} layers has none where layers {first}-{last} of {depth} lie"
        )
    return found


def deep_layers(n_layers: int) -> np.ndarray:
    """The last sixth of the layers, but at least two: layers 11-12 of 12, 5-6 of 6. Counted from 0.

    Raises
    ------
    CannotDecide
        If there are fewer than four layers: then two of them are not an end.
    """
    if n_layers < 4:
        raise CannotDecide(f"a model of {n_layers} layers has no deep layers to set apart from the others")
    return np.arange(n_layers)[-max(2, round(n_layers / 6)) :]


def phase_cuts(n_layers: int) -> tuple[int, int]:
    """After how many layers the essay's first two phases end: (4, 10) of 12, (2, 5) of 6.

    Raises
    ------
    CannotDecide
        If there are too few layers for three phases.
    """
    first, second = (round(n_layers * cut / DEPTH) for cut in PHASES)
    if not 0 < first < second < n_layers or n_layers < 4:
        raise CannotDecide(f"{n_layers} layers cannot be cut into three phases with something to choose")
    return first, second


# --- ranks ---------------------------------------------------------------------------------------------
def rank_residuals(x, given) -> np.ndarray:
    """What is left of the ranks of x once the ranks of ``given`` are accounted for; mean 0, not scaled.

    The ordinary correlation of two such series is the partial rank correlation.
    """
    from scipy.stats import rankdata

    ranks, held = (rankdata(np.asarray(v, dtype=float)) for v in (x, given))
    ranks, held = ranks - ranks.mean(), held - held.mean()
    square = held @ held
    return ranks - (ranks @ held / square) * held if square > 0 else ranks


def moments(x: float, y) -> dict[str, np.ndarray]:
    """What one case adds to a correlation of x with each column of y; the means over cases give it back."""
    y = np.asarray(y, dtype=float)
    return {"x": np.float64(x), "y": y, "xx": np.float64(x * x), "yy": y * y, "xy": x * y}


def correlation_of_moments(values: Values) -> np.ndarray:
    """Pearson's correlation of x with each y, from the means of `moments`; NaN where a side is constant."""
    covariance = values["xy"] - values["x"] * values["y"]
    spread = (values["xx"] - values["x"] ** 2) * (values["yy"] - values["y"] ** 2)
    return np.divide(
        covariance,
        np.sqrt(np.maximum(spread, 0)),
        out=np.full(np.shape(covariance), np.nan),
        where=spread > 1e-12,
    )


# --- 1: insiders ---------------------------------------------------------------------------------------
def constancy(sentences: Iterable, fewest: int = 10) -> dict[str, tuple[float, int]]:
    """How constant a word's relation to its governor is: word -> (largest share, occurrences).

    The share is that of the commonest pair of relation and side (governor before, after, or none) among the word's occurrences.

    Parameters
    ----------
    sentences : iterable of TreebankSentence
    fewest : int
        Rarer words are left out, punctuation too.

    Examples
    --------
    >>> from bertlook_course.corpora import TreebankSentence
    >>> tree = TreebankSentence(("The", "dog", "saw", "the", "cat"), (1, 2, -1, 4, 2), ("det", "nsubj", "root", "det", "obj"),
    ...     ("DET", "NOUN", "VERB", "DET", "NOUN"), ("",) * 5, ("",) * 5, ({},) * 5)
    >>> constancy([tree], fewest=2)
    {'the': (1.0, 2)}
    """
    uses: dict[str, dict] = {}
    for sentence in sentences:
        rows = zip(sentence.words, sentence.governors, sentence.relations, sentence.upos)
        for place, (word, governor, relation, kind) in enumerate(rows):
            if kind == "PUNCT":
                continue
            side = 0 if governor < 0 else (1 if governor > place else -1)
            seen = uses.setdefault(word.lower(), {})
            seen[relation, side] = seen.get((relation, side), 0) + 1
    totals = {word: (max(seen.values()), sum(seen.values())) for word, seen in uses.items()}
    return {word: (most / n, n) for word, (most, n) in totals.items() if n >= fewest}


def insiders_are_narrow(values: Values, choice: Values | None = None) -> float:
    """Minus the median over layers of the partial rank correlation of constancy and entropy."""
    return -float(np.median(correlation_of_moments(values)))


# --- 2: the hunter -------------------------------------------------------------------------------------
def cls_excess(values: Values, choice: Values | None = None) -> float:
    """Entropy of the rows of [CLS] minus that of all rows, in nats; the smaller of the deep layers."""
    gap = (values["entropy_from_cls"] - values["entropy"]).mean(axis=1)
    return float(gap[deep_layers(len(gap))].min())


# --- 3: havens -----------------------------------------------------------------------------------------
def pairs_above(scores, members) -> tuple[np.ndarray, int]:
    """Over all pairs of a non-member and a member: how often the non-member's score is higher (ties count half), and of how many.

    Parameters
    ----------
    scores : array of shape (..., case)
    members : boolean array of shape (case,)

    Returns
    -------
    above : array of shape (...)
    pairs : int
        ``above / pairs`` is the AUC.

    Examples
    --------
    >>> pairs_above([.9, .1, .5], [False, True, False])
    (np.float64(2.0), 2)
    """
    scores, members = np.asarray(scores, dtype=float), np.asarray(members, dtype=bool)
    if scores.shape[-1:] != members.shape:
        raise ValueError(
            f"members must be one boolean a case; got {members.shape} for {scores.shape[-1:]} cases."
        )
    out, inside = scores[..., ~members], scores[..., members]
    difference = out[..., :, None] - inside[..., None, :]
    above = (difference > 0).sum(axis=(-2, -1)) + (difference == 0).sum(axis=(-2, -1)) / 2
    return above, int(out.shape[-1] * inside.shape[-1])


def haven_auc(values: Values, choice: Values) -> float:
    """Mean AUC of attention to [SEP] for "takes no part in the relation", over the heads that find a relation.

    Chosen on the other half: for each of `HAVEN_RELATIONS` the head and direction that find it best; a relation whose best head does not
    beat the best fixed distance has no such head. Pairs of words are of one sentence.
    """
    found = []
    for name in HAVEN_RELATIONS:
        r = RELATIONS.index(name)
        cases = choice["cases"][r]
        if cases <= 0:
            continue
        right = choice["right"][r]
        if right.max() <= choice["offsets"][r].max():
            continue
        place = np.unravel_index(int(right.argmax()), right.shape)
        pairs = values["pairs"][HAVEN_RELATIONS.index(name), place[0]]
        if pairs > 0:
            found.append(values["above"][(HAVEN_RELATIONS.index(name), *place)] / pairs)
    if not found:
        raise CannotDecide(
            "no head finds one of the five relations better than a fixed distance does, so there is no linguistic head to ask"
        )
    return float(np.mean(found))


# --- 4: havens carry nothing ---------------------------------------------------------------------------
def loss_spared(values: Values, choice: Values | None = None) -> float:
    """1 - |change of the loss without [SEP]'s values| / |change without another token's|: 1 nothing lost, 0 as much.

    Raises
    ------
    CannotDecide
        If taking away the values of *all* tokens changes nothing: then the intervention does not work (the positive control).
    """
    if not values["loss all"] > 1e-9:
        raise CannotDecide("the positive control fails: without any value vector the loss is the same")
    if not values["loss other"] > 0:
        raise CannotDecide("no other token's values matter to the loss, so there is nothing to compare with")
    return float(1 - values["loss sep"] / values["loss other"])


# --- 5: drifters ---------------------------------------------------------------------------------------
def drift(values: Values, choice: Values | None = None) -> float:
    """ln of |alpha dL/dalpha| in the rows of unmasked . and , over that of the words next to them."""
    if not (values["drift punct"] > 0 and values["drift matched"] > 0):
        raise CannotDecide("the loss does not depend on the deep layers' rows of unmasked tokens")
    return float(np.log(values["drift punct"] / values["drift matched"]))


# --- 6: finer segments ---------------------------------------------------------------------------------
def clause_lengths(tokens: Sequence[str], marks: Iterable[str] = (".", ",")) -> list[int]:
    """Lengths of the stretches that end with a mark; the mark belongs to what it ends.

    >>> clause_lengths(["yes", ",", "we", "can", "."])
    [2, 3]
    """
    marks = frozenset(marks)
    lengths, begun = [], 0
    for token in tokens:
        begun += 1
        if token in marks:
            lengths.append(begun)
            begun = 0
    return lengths + [begun] if begun else lengths


def clause_ids(lengths: Sequence[int]) -> np.ndarray:
    """Number of the clause of each token: [2, 3] -> 0 0 1 1 1."""
    return np.repeat(np.arange(len(lengths)), lengths)


def arrangements(lengths: Sequence[int], most: int = 60, seed: int = 0) -> list[tuple[int, ...]]:
    """The same clauses in other orders of their lengths, without the true one: all of them, or ``most`` drawn at random.

    Boundaries moved in this way leave as many pairs of tokens at each distance inside a clause as there were. A head that
    goes by distance alone has as much inside as before, exactly.
    """
    true = tuple(lengths)
    if len(true) <= 5:
        found = sorted({order for order in permutations(true)} - {true})
    else:
        random = np.random.default_rng(seed)
        drawn = (tuple(int(v) for v in random.permutation(true)) for _ in range(most))
        found = sorted(set(drawn) - {true})
    return found[:most]


def clause_excess(weights, lengths: Sequence[int], seed: int = 0) -> np.ndarray | None:
    """Share of attention inside the clause, minus the same with the boundaries moved: shape (...); None if they cannot be moved.

    Parameters
    ----------
    weights : array of shape (..., token, token)
        Of the tokens that are not special; rows need not sum to 1.
    lengths : sequence of int
        Of the clauses, one after the other; they sum to the number of tokens.
    """
    weights = np.asarray(weights, dtype=float)
    n = weights.shape[-1]
    if sum(lengths) != n or weights.shape[-2] != n:
        raise ValueError(
            f"the clauses' lengths must sum to the number of tokens; got {sum(lengths)} for a map of {weights.shape[-2:]}."
        )
    moved = arrangements(lengths, seed=seed)
    if not moved:
        return None
    same = [clause_ids(order) for order in (tuple(lengths), *moved)]
    inside = np.stack([(ids[:, None] == ids).ravel() for ids in same], axis=1).astype(float)
    flat = weights.reshape(*weights.shape[:-2], -1)
    shares = flat @ inside / flat.sum(axis=-1, keepdims=True)
    return shares[..., 0] - shares[..., 1:].mean(axis=-1)


def segments_respected(values: Values, choice: Values | None = None) -> float:
    """Mean over the heads of the deep layers of what lies inside the clause beyond what lies inside moved boundaries."""
    excess = values["clause excess"]
    return float(excess[deep_layers(len(excess))].mean())


# --- 7: three phases -----------------------------------------------------------------------------------
def explained_by_split(series, cuts: Sequence[int]) -> float:
    """Share of the sum of squares that contiguous groups of layers explain.

    Parameters
    ----------
    series : array of shape (layer, feature)
    cuts : increasing ints
        After how many layers a group ends: (4, 10) makes groups of 4, 6 and the rest.

    Examples
    --------
    >>> round(explained_by_split([[0], [0], [1], [1]], [2]), 6)
    1.0
    """
    series = np.asarray(series, dtype=float)
    cuts = list(cuts)
    if series.ndim != 2 or cuts != sorted(set(cuts)) or not all(0 < cut < len(series) for cut in cuts):
        raise ValueError(
            f"series has shape (layer, feature), and cuts increase between 1 and layers - 1; got {series.shape} and {cuts}."
        )
    total = ((series - series.mean(axis=0)) ** 2).sum()
    if total <= 0:
        raise CannotDecide("all layers have the same shares, so there is nothing to split")
    within = sum(((part - part.mean(axis=0)) ** 2).sum() for part in np.split(series, cuts))
    return float(1 - within / total)


def best_split(series, groups: int = 3) -> tuple[tuple[int, ...], float]:
    """The cuts into contiguous groups that explain most, and the share they explain."""
    series = np.asarray(series, dtype=float)
    every = _splits(len(series), groups)
    if not every:
        raise CannotDecide(f"{len(series)} layers cannot be cut into {groups} groups")
    shares = [explained_by_split(series, cuts) for cuts in every]
    best = int(np.argmax(shares))
    return every[best], shares[best]


@lru_cache(maxsize=8)
def _splits(n_layers: int, groups: int) -> tuple[tuple[int, ...], ...]:
    return tuple(combinations(range(1, n_layers), groups - 1))


@lru_cache(maxsize=4)
def _orders(n_layers: int, shuffles: int, seed: int) -> np.ndarray:
    """All orders of few layers, or so many drawn at random; the true one first."""
    if n_layers <= EXACT_UP_TO:
        return np.array(list(permutations(range(n_layers))))
    random = np.random.default_rng(seed)
    drawn = random.permuted(np.tile(np.arange(n_layers), (shuffles, 1)), axis=1)
    return np.concatenate([np.arange(n_layers)[None], drawn])


def _best_of_orders(series: np.ndarray, groups: int, shuffles: int, seed: int) -> np.ndarray:
    """The share that the best split explains in every order of the layers: shape (order,)."""
    n = len(series)
    centred = series - series.mean(axis=0)
    total = (centred**2).sum()
    if total <= 0:
        raise CannotDecide("all layers have the same shares, so there is nothing to split")
    ordered = centred[_orders(n, shuffles, seed)]  # (order, layer, feature)
    sums = np.concatenate([np.zeros_like(ordered[:, :1]), ordered.cumsum(axis=1)], axis=1)
    best = np.zeros(len(ordered))
    for cuts in _splits(n, groups):
        edges = (0, *cuts, n)
        between = sum(((sums[:, b] - sums[:, a]) ** 2).sum(axis=-1) / (b - a) for a, b in pairwise(edges))
        np.maximum(best, between, out=best)
    return best / total


def split_p(series, cuts: Sequence[int], *, shuffles: int = SHUFFLES, seed: int = 0) -> tuple[float, float]:
    """How often layers in a shuffled order have a split, anywhere, that explains as much as these cuts do in the true one.

    Returns
    -------
    p : float
        Exact for at most seven layers; otherwise from so many shuffles, the true order counted in.
    floor : float
        The smallest p that a perfect split with these cuts could reach: of few layers many orders are the same phases.
    """
    series = np.asarray(series, dtype=float)
    groups = len(list(cuts)) + 1
    observed = explained_by_split(series, cuts)
    found = _best_of_orders(series, groups, shuffles, seed)
    perfect = np.eye(groups)[np.repeat(np.arange(groups), np.diff([0, *cuts, len(series)]))]
    floor = _best_of_orders(perfect, groups, shuffles, seed)
    return float((found >= observed - 1e-9).mean()), float((floor >= 1 - 1e-9).mean())


def category_shares(values: Values) -> np.ndarray:
    """Mean over heads of the shares of [CLS], [SEP], . and , and the rest: shape (layer, 4)."""
    shares = [np.asarray(values[kind], dtype=float).mean(axis=1) for kind in ("cls", "sep", "punct")]
    return np.stack([*shares, 1 - sum(shares)], axis=1)


def phases_margin(values: Values, choice: Values | None = None) -> float:
    """What the essay's cuts explain minus what the best other cuts explain: above 0 they are the best."""
    series = category_shares(values)
    claimed = phase_cuts(len(series))
    rivals = [explained_by_split(series, cuts) for cuts in _splits(len(series), 3) if cuts != claimed]
    return explained_by_split(series, claimed) - max(rivals)


def phases_p(values: Values, choice: Values | None = None) -> tuple[float, float]:
    """`split_p` of the essay's cuts."""
    series = category_shares(values)
    return split_p(series, phase_cuts(len(series)))


# --- 8: attention and importance ---------------------------------------------------------------------------
def within_layers_p(share, gradient, *, shuffles: int = 2000, seed: int = 0) -> float:
    """One-sided p that heads of a layer which look more have no smaller gradient: heads shuffled within their layer.

    Parameters
    ----------
    share, gradient : arrays of shape (layer, head)
    """
    share, gradient = (np.asarray(v, dtype=float) for v in (share, gradient))
    if share.shape != gradient.shape or share.ndim != 2:
        raise ValueError(
            f"share and gradient have shape (layer, head); got {share.shape} and {gradient.shape}."
        )
    from scipy.stats import rankdata

    fixed, ranks = (rankdata(v - v.mean(axis=1, keepdims=True)).reshape(v.shape) for v in (share, gradient))
    random = np.random.default_rng(seed)
    shuffled = random.permuted(np.broadcast_to(ranks, (shuffles, *ranks.shape)), axis=2)
    sums = (shuffled * fixed).sum(axis=(1, 2))
    return monte_carlo_p(-sums, -(ranks * fixed).sum())


def looks_where_it_matters_less(values: Values, choice: Values | None = None) -> float:
    """Minus the rank correlation over heads of weight and gradient on [SEP], each minus its layer's mean."""
    share, gradient = (np.asarray(values[f"{name}_sep"], dtype=float) for name in ("weight", "grad"))
    try:
        return -rank_correlation(*(v - v.mean(axis=1, keepdims=True) for v in (share, gradient)))
    except ValueError as reason:
        raise CannotDecide(str(reason)) from None


def looks_p(values: Values, choice: Values | None = None) -> tuple[float, float]:
    """`within_layers_p` of weight and gradient on [SEP]."""
    return within_layers_p(values["weight_sep"], values["grad_sep"]), 1 / 2001


# --- 9: dependents and governors -------------------------------------------------------------------------
def _gains(values: Values, choice: Values) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Of each relation with cases: best head by rows minus best head by columns, share of function words, names."""
    gains, shares, names = [], [], []
    for r, name in enumerate(RELATIONS):
        if not (choice["cases"][r] > 0 and values["cases"][r] > 0):
            continue
        best = []
        for direction in (0, 1):
            chosen = int(choice["right"][r, direction].argmax())
            best.append(values["right"][r, direction].flat[chosen] / values["cases"][r])
        gains.append(best[0] - best[1])
        shares.append(values["closed"][r] / values["cases"][r])
        names.append(name)
    if len(gains) < 5:
        raise CannotDecide(f"five relations are the fewest to correlate; {len(gains)} are frequent enough")
    return np.array(gains), np.array(shares), names


def direction_follows_class(values: Values, choice: Values) -> float:
    """Rank correlation over relations of (dependent looks minus governor looks) and the share of function words."""
    gains, shares, _ = _gains(values, choice)
    try:
        return rank_correlation(gains, shares)
    except ValueError as reason:
        raise CannotDecide(str(reason)) from None


def direction_p(
    values: Values, choice: Values, *, shuffles: int = 2000, seed: int = 0
) -> tuple[float, float]:
    """One-sided p of the correlation, the relations shuffled; 1 if objects, subjects and adjectives gain as much as function words do."""
    gains, shares, names = _gains(values, choice)
    observed = rank_correlation(gains, shares)
    random = np.random.default_rng(seed)
    found = [rank_correlation(random.permutation(gains), shares) for _ in range(shuffles)]
    p = monte_carlo_p(found, observed)
    named = [gain for gain, name in zip(gains, names) if name in OPEN_RELATIONS]
    closed = gains[shares > 0.5]
    if len(named) and len(closed) and np.mean(named) >= closed.mean():
        p = 1.0
    return p, 1 / (1 + shuffles)


# --- 10: layers of syntax ----------------------------------------------------------------------------------
def middle_share(right: np.ndarray, cases: np.ndarray) -> float:
    """Share of the relations whose best head, in either direction, lies where layers 4-9 of 12 lie.

    Parameters
    ----------
    right : array of shape (relation, direction, layer, head)
    cases : array of shape (relation,)
        Relations without cases are left out.
    """
    n_layers = right.shape[2]
    if n_layers < 4:
        raise CannotDecide(f"a model of {n_layers} layers has no middle")
    asked = np.flatnonzero(np.asarray(cases) > 0)
    if len(asked) < 5:
        raise CannotDecide(f"five relations are the fewest; {len(asked)} are frequent enough")
    by_layer = right[asked].max(axis=(1, 3))
    return float(np.isin(by_layer.argmax(axis=1), relative_layers(*MIDDLE, n_layers)).mean())


def syntax_in_the_middle(values: Values, choice: Values | None = None) -> float:
    """Share of best heads in layers 4-9 of 12 minus what shuffled distances give."""
    return middle_share(values["right"], values["cases"]) - float(np.mean(values["null middle"]))


def syntax_p(values: Values, choice: Values | None = None) -> tuple[float, float]:
    """How often relations with shuffled distances have as many of their best heads there."""
    null = np.asarray(values["null middle"])
    observed = middle_share(values["right"], values["cases"])
    return monte_carlo_p(null, observed), 1 / (1 + len(null))


# --- 11: what the phases learn -----------------------------------------------------------------------------
PROBED = {"pos": "word classes", "dep": "relations", "clause": "ends of clauses"}  # in the essay's order

WORTH_A_SENTENCE = 0.02  # F1: less than this is not a gain to speak of


def phases_in_order(values: Values, choice: Values | None = None) -> float:
    """The smaller step of the order word classes, relations, clause ends, as a share of the depth.

    ``values`` holds of each task the right, wrong and missed labels of P(0) .. P(L), shape (layer, 3).

    Raises
    ------
    CannotDecide
        If all layers together add less than .02 of F1 to the embeddings in one task: its expected layer would be noise.
    """
    from ...analyses.probing import expected_layer
    from ...metrics import micro_f1

    depths = []
    for task, name in PROBED.items():
        f1 = micro_f1(*np.moveaxis(np.asarray(values[task], dtype=float), -1, 0))
        if not f1[-1] - f1[0] >= WORTH_A_SENTENCE:
            raise CannotDecide(
                f"the layers add {f1[-1] - f1[0]:+.3f} of F1 to what the embeddings tell of {name}, too little to say where"
            )
        depths.append(expected_layer(f1) / (len(f1) - 1))
    return float(np.diff(depths).min())
