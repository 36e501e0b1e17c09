"""The arithmetic behind the essay's eleven claims: closed forms on arrays, no model, no text.

The claims are registered in `hypotheses`, what they are computed from is collected in `essay_evidence`. A *statistic* takes the means
over the inputs that report and over those that choose, and grows with the evidence *for* the claim.

Where a claim names layers of 12 (5-10, say), a model of another depth takes the layers whose middle lies in the same part of its
depth; the *deep* layers (11-12 of 12) are the last sixth, but at least two, since in the very last layer the masked-LM loss
depends on the masked tokens' rows alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import permutations

import numpy as np

from bertlook_teach.stats import monte_carlo_p

from ...metrics import CannotDecide, rank_correlation
from ..claim import Values
from .phases import deep_layers, relative_layers

MIDDLE = (4, 9)  # layers that specialise in syntax


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
