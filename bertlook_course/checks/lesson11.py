"""Checks of lesson 11: which heads matter."""

from __future__ import annotations

import numpy as np

from bertlook_teach.model import head_label
from bertlook_teach.stats import holm

from .answers import ChoiceCheck, FunctionCheck, ListCheck, NumberCheck, SetCheck
from .cases import close, label_at, labels_of, of_run
from .compare import Whenever
from .sheet import keep_sheet


# --- 1 and 2: switching off --------------------------------------------------------------------------------
def _contexts(seed):
    return np.random.default_rng(seed).normal(size=(5, 3, 4))


def _put(contexts, head, what):
    """The contexts of shape (token, head, dim), with something else in the head's place."""
    out = contexts.copy()
    out[:, head] = what
    return out


def _token_off(contexts, token):
    out = contexts.copy()
    out[token] = 0
    return out


check_mask = FunctionCheck(
    lambda contexts, head: _put(contexts, head, 0),
    asks="``mask(contexts, head)``: the head gives nothing; contexts of shape (token, head, dim).",
    cases=[(_contexts(1), 0), (_contexts(2), 2), (_contexts(3), 1)],
    axes=("token", "head", "dim"),
    wrong=[
        "you took away a *token*: the first axis is the token, the second the head",
        _token_off,
        "you kept this head and took away the others",
        lambda c, head: _put(np.zeros_like(c), head, c[:, head]),
        "the head is gone from the array. That is pruning; masking leaves its place in the array, filled with 0",
        lambda c, head: np.delete(c, head, axis=1),
    ],
    learnt="Zero in the head's place, for every token. The others are as they were.",
)

check_disable = FunctionCheck(
    lambda contexts, values, head: _put(contexts, head, values[:, head].mean(axis=0)),
    asks="``disable(contexts, values, head)``: the head looks at all tokens equally.",
    cases=[
        (_contexts(1), _contexts(11), 0),
        (_contexts(2), _contexts(12), 2),
        (_contexts(3), _contexts(13), 1),
    ],
    axes=("token", "head", "dim"),
    wrong=[
        "that is the mean of what the head *gave*; it should take the mean of the **values**, what there was to take",
        lambda c, v, head: _put(c, head, c[:, head].mean(axis=0)),
        "that is the sum; weights of 1/L give the mean",
        lambda c, v, head: _put(c, head, v[:, head].sum(axis=0)),
        "that is masking. With equal weights the head still hands on the mean of its values",
        lambda c, v, head: _put(c, head, 0),
        "1/L is the weight of each token. What the head hands on is the values with these weights, their mean",
        lambda c, v, head: _put(c, head, 1 / len(c)),
    ],
    learnt="Every token gets the same: the mean of the head's value vectors. That says less than before, but not nothing.",
)

# --- 3: the positive control ---------------------------------------------------------------------------------
check_control = ChoiceCheck.among(
    {
        "switch no head off: the output must stay": "an intervention that is ignored passes this one with ease",
        "switch one head off: the output must change": "a head may really have no effect; then a working intervention would fail the test",
        "switch all heads off: the output must change": None,
    },
    asks="Which test finds an intervention that does nothing.",
    learnt="A positive control: something *must* happen, or nothing that follows can be believed.",
)
CONTROL_OPTIONS = check_control.options


# --- 4: one head at a time -----------------------------------------------------------------------------------
_CHANGE = np.array([[0.1, 0.5, -0.1], [0.3, 0.2, 0.0]])


@of_run(lambda: (_CHANGE,))
def check_most_costly(change):
    """The printed name of the head without which the loss rises most."""
    change = np.asarray(change, dtype=float)
    expected = label_at(change)
    heads = {head_label(*place) for place in np.ndindex(change.shape)}
    swapped = "-".join(reversed(expected.split("-")))
    return ChoiceCheck(
        expected,
        wrong=[
            "printed names count from 1; `head_label(layer, head)` makes them",
            Whenever(lambda given: str(given) not in heads, such_as="0-1"),
            "without this head the loss is *lowest*",
            label_at(change, np.argmin),
            "layer first, then head",
            swapped,
        ],
        learnt=f"Without head {expected} the loss rises by {change.max():.3f} nats; the median head costs {np.median(change):.3f}.",
    )


# --- 5: many tests ---------------------------------------------------------------------------------------------
def _holm(p, running=np.maximum.accumulate, cap=1.0):
    """Holm's correction, or without the largest value so far, or without the cap."""
    order, out = p.argsort(kind="stable"), np.empty(len(p))
    out[order] = np.minimum(running(p[order] * (len(p) - np.arange(len(p)))), cap)
    return out


check_holm = FunctionCheck(
    holm,
    asks="``corrected(p)``: Holm's correction of a list of p-values.",
    cases=[
        np.array([0.01, 0.04, 0.03]),
        np.array([0.5, 0.6, 0.001, 0.02]),
        np.array([0.2]),
        np.array([0.04, 0.04, 0.9]),
        np.array([0.6, 0.5, 0.7]),
    ],
    wrong=[
        "that is Bonferroni's: *every* p times the number of tests. Holm's multiplies the second smallest by one less, and so on",
        lambda p: np.minimum(p * len(p), 1),
        "a larger p must not end up below a smaller one: carry the largest value so far along",
        lambda p: _holm(p, running=np.asarray),
        "the right numbers, but in order of size; each belongs to its own head",
        lambda p: np.sort(holm(p)),
        "a probability is at most 1",
        lambda p: _holm(p, cap=np.inf),
    ],
    learnt="The chance of even one false star among all of them is now at most 5 %, however many heads were tried.",
)


# --- 6: paired answers -----------------------------------------------------------------------------------------
def _flips(before, after):
    return int((before & ~after).sum()), int((~before & after).sum())


check_flips = FunctionCheck(
    _flips,
    asks="``flips(before, after)``: how many answers were lost and how many gained.",
    cases=[tuple(np.random.default_rng(seed).random((2, 12)) < 0.6) for seed in (1, 2, 3)],
    wrong=[
        "lost and gained are exchanged: *lost* was right before and is wrong after",
        lambda a, b: _flips(b, a),
        "those are all wrong and right answers before; only those that *changed* count",
        lambda a, b: ((~a).sum(), a.sum()),
        "that is the difference of the two scores; it hides how many flipped",
        lambda a, b: (b.sum() - a.sum(), 0),
    ],
    learnt="Two models may have the same score and disagree on half of the answers. McNemar's test looks at these two numbers alone.",
)


# --- 7: the best of many ---------------------------------------------------------------------------------------
def _gains(change, half, best):
    return -change[best, half].mean(), -change[best, ~half].mean()


def _chosen_by(change, half):
    """The head without which the change is lowest on one half."""
    return change[:, half].mean(axis=1).argmin()


_DRAWN = np.random.default_rng(5)

check_other_half = FunctionCheck(
    lambda change, half: _gains(change, half, _chosen_by(change, half)),
    asks="``gains(change, half)``: gain of the best head on the half that chose it, and on the other.",
    cases=[(_DRAWN.normal(size=(6, 10)), np.arange(10) % 2 == seed) for seed in (0, 1)],
    wrong=[
        "the other half chose a head of its own; it may only *report* on the head of the first",
        lambda c, half: (_gains(c, half, _chosen_by(c, half))[0], _gains(c, half, _chosen_by(c, ~half))[1]),
        "that head was chosen on all examples, including those that report: let one half choose alone",
        lambda c, half: _gains(c, half, c.mean(axis=1).argmin()),
        "that is the head without which the loss is highest. The gain is greatest where the change is lowest",
        lambda c, half: _gains(c, half, _chosen_by(-c, half)),
        "a gain is a loss that falls: reverse the sign",
        lambda c, half: _gains(-c, half, _chosen_by(c, half)),
    ],
    learnt="One half chooses, the other reports. The second number is the one to print.",
)

# --- 8: importance -----------------------------------------------------------------------------------------------
check_importance = FunctionCheck(
    lambda slopes: np.abs(slopes).mean(axis=0),
    asks="``importance(slopes)``: the paper's I_h from the slopes of shape (example, head).",
    cases=[np.random.default_rng(seed).normal(size=(7, 4)) for seed in (1, 2)],
    wrong=[
        "take the absolute value *before* the mean; otherwise examples cancel, as in the script for one batch",
        lambda s: np.abs(s.mean(axis=0)),
        "the signs are still in: a head that helps one text and harms another would count as nothing",
        lambda s: s.mean(axis=0),
        "one number for each *head* was asked for; you averaged over the heads",
        lambda s: np.abs(s).mean(axis=1),
        "that is the sum; I_h is a mean over examples",
        lambda s: np.abs(s).sum(axis=0),
    ],
    learnt="How much the loss depends on the head, whichever way: up in one text and down in another both count.",
)


# --- 9 and 10: pruning -------------------------------------------------------------------------------------------
@of_run(lambda: (_CHANGE, 2))
def check_order(importance, n):
    """The printed names of the n least important heads, least first."""
    importance = np.asarray(importance, dtype=float)
    places = np.argsort(importance, axis=None, kind="stable").tolist()
    order = [head_label(*divmod(place, importance.shape[1])) for place in places]
    return ListCheck(
        order[:n],
        wrong={"those are the *most* important; pruning begins at the other end": order[::-1][:n]},
        learnt="Least important first, from all layers together: that is why each layer was divided by its norm before.",
    )


@of_run(lambda: (10, 4, 2))
def check_saved(width, head_size, heads):
    """How many parameters go with some heads."""
    each = head_size * (4 * width + 3)
    return NumberCheck(
        heads * each,
        tolerance=0.5,
        wrong=[
            f"that is one head; {heads} go",
            each,
            "the biases of queries, keys and values go too: three for each dimension",
            heads * head_size * 4 * width,
            "the columns of the output projection go as well",
            heads * head_size * (3 * width + 3),
            "that would be masking; a pruned head's rows and columns are really gone",
            0,
        ],
        learnt="Rows of three matrices with their biases, columns of a fourth. Its bias stays: it belongs to no head.",
    )


# --- 11: a task --------------------------------------------------------------------------------------------------
@of_run(lambda: ([[0.001, 0.04], [0.5, 0.9]],))
def check_starred(p):
    """The printed names of the heads that are significant after Holm's correction."""
    p = np.asarray(p, dtype=float)
    return SetCheck(
        labels_of(holm(p) < 0.05),
        wrong={
            "these are all heads with p < .05; correct for the number of heads first": labels_of(p < 0.05)
        },
        learnt="After the correction few heads are left of many, or none. Which ones is a fact about this classifier: another seed may need others.",
    )


# --- the last two: a picture, and a claim on trial ---------------------------------------------------------
PICTURE_OPTIONS, check_picture, on_trial, TRIAL_OPTIONS, check_trial = close("11")

sheet = keep_sheet(globals())  # what the checks above have said, as the last cell shows it
