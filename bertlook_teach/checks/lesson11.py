"""Checks of lesson 11: which heads matter."""

from __future__ import annotations

import numpy as np

from ..model import head_label
from ..stats import holm
from .answers import check_choice, check_function, check_list, check_number, check_set
from .cases import close, closing_examples
from .feedback import args
from .sheet import keep_sheet


def _contexts(seed=0, tokens=5, heads=3, dim=4):
    return np.random.default_rng(seed).normal(size=(tokens, heads, dim))


# --- 1 and 2: switching off --------------------------------------------------------------------------------
def _masked(contexts, head):
    out = contexts.copy()
    out[:, head] = 0
    return out


def check_mask(function):
    """``mask(contexts, head)``: the head gives nothing; contexts of shape (token, head, dim)."""

    def token_axis(contexts, head):
        out = contexts.copy()
        out[head] = 0
        return out

    def keep_one(contexts, head):
        out = np.zeros_like(contexts)
        out[:, head] = contexts[:, head]
        return out

    def cut_out(contexts, head):
        return np.delete(contexts, head, axis=1)

    return check_function(
        function,
        [
            ((_contexts(seed), head), _masked(_contexts(seed), head))
            for seed, head in ((1, 0), (2, 2), (3, 1))
        ],
        axes=("token", "head", "dim"),
        mistakes=[
            (token_axis, "you took away a *token*: the first axis is the token, the second the head"),
            (keep_one, "you kept this head and took away the others"),
            (
                cut_out,
                "the head is gone from the array. That is pruning; masking leaves its place, filled with 0",
            ),
        ],
        learnt="Zero in the head's place, for every token. The others are as they were.",
    )


def check_disable(function):
    """``disable(contexts, values, head)``: the head looks at all tokens equally."""

    def right(contexts, values, head):
        out = contexts.copy()
        out[:, head] = values[:, head].mean(axis=0)
        return out

    def mean_of_contexts(contexts, values, head):
        out = contexts.copy()
        out[:, head] = contexts[:, head].mean(axis=0)
        return out

    def sum_of_values(contexts, values, head):
        out = contexts.copy()
        out[:, head] = values[:, head].sum(axis=0)
        return out

    cases = [(_contexts(s), _contexts(s + 10), head) for s, head in ((1, 0), (2, 2), (3, 1))]
    return check_function(
        function,
        [(case, right(*case)) for case in cases],
        axes=("token", "head", "dim"),
        mistakes=[
            (
                mean_of_contexts,
                "that is the mean of what the head *gave*; it should take the mean of the **values**, what there was to take",
            ),
            (sum_of_values, "that is the sum; weights of 1/L give the mean"),
            (
                lambda contexts, values, head: _masked(contexts, head),
                "that is masking. With equal weights the head still hands on the mean of its values",
            ),
        ],
        learnt="Every token gets the same: the mean of the head's value vectors. Less than before, but not nothing.",
    )


# --- 3: the positive control ---------------------------------------------------------------------------------
CONTROL_OPTIONS = (
    "switch no head off: the output must stay",
    "switch one head off: the output must change",
    "switch all heads off: the output must change",
)


def check_control(answer):
    """Which test finds an intervention that does nothing."""
    return check_choice(
        answer,
        CONTROL_OPTIONS[2],
        options=CONTROL_OPTIONS,
        mistakes=[
            (CONTROL_OPTIONS[0], "an intervention that is ignored passes this one with ease"),
            (
                CONTROL_OPTIONS[1],
                "there may really be a head of no use; then a sound intervention would fail the test",
            ),
        ],
        learnt="A positive control: something *must* happen, or nothing that follows can be believed.",
    )


# --- 4: one head at a time -----------------------------------------------------------------------------------
def check_most_costly(answer, change):
    """The printed name of the head without which the loss rises most."""
    change = np.asarray(change, dtype=float)
    at, least = (np.unravel_index(i, change.shape) for i in (change.argmax(), change.argmin()))
    expected = head_label(*(int(i) for i in at))
    name = answer if isinstance(answer, str) or answer is ... else str(answer)
    heads = [head_label(layer, head) for layer, head in np.ndindex(change.shape)]
    mistakes = [
        (head_label(*(int(i) for i in least)), "without this head the loss is *lowest*"),
        (
            head_label(int(at[1]), int(at[0])) if at[1] < len(change) and at[0] < change.shape[1] else None,
            "layer first, then head",
        ),
    ]
    mistakes = [m for m in mistakes if m[0] in heads and m[0] != expected]
    if isinstance(name, str) and name not in heads:
        mistakes.append(
            (lambda given: True, "printed names count from 1; `head_label(layer, head)` makes them")
        )
    return check_choice(
        name,
        expected,
        options=[*heads, *([name] if isinstance(name, str) and name not in heads else [])],
        mistakes=mistakes,
        learnt=f"Without head {expected} the loss rises by {change.max():.3f} nats; the median head costs {np.median(change):.3f}.",
    )


# --- 5: many tests ---------------------------------------------------------------------------------------------
def check_holm(function):
    """``corrected(p)``: Holm's correction of a list of p-values."""

    def bonferroni(p):
        return np.minimum(np.asarray(p) * len(p), 1)

    def not_running(p):
        p = np.asarray(p, dtype=float)
        order, out = p.argsort(kind="stable"), np.empty(len(p))
        out[order] = np.minimum(p[order] * (len(p) - np.arange(len(p))), 1)
        return out

    def sorted_out(p):
        return np.sort(holm(p))

    def uncapped(p):
        p = np.asarray(p, dtype=float)
        order, out = p.argsort(kind="stable"), np.empty(len(p))
        out[order] = np.maximum.accumulate(p[order] * (len(p) - np.arange(len(p))))
        return out

    cases = [[0.01, 0.04, 0.03], [0.5, 0.6, 0.001, 0.02], [0.2], [0.04, 0.04, 0.9], [0.6, 0.5, 0.7]]
    return check_function(
        function,
        [((np.array(p),), holm(p)) for p in cases],
        mistakes=[
            (
                bonferroni,
                "that is Bonferroni's: *every* p times the number of tests. Holm's multiplies the second smallest by one less, and so on",
            ),
            (
                not_running,
                "a larger p must not end up below a smaller one: carry the largest value so far along",
            ),
            (sorted_out, "the right numbers, but in order of size; each belongs to its own head"),
            (uncapped, "a probability is at most 1"),
        ],
        learnt="Any false star among all of them now has a chance of 5 %, however many heads were tried.",
    )


# --- 6: paired answers -----------------------------------------------------------------------------------------
def check_flips(function):
    """``flips(before, after)``: how many answers were lost and how many gained."""

    def right(before, after):
        return int((before & ~after).sum()), int((~before & after).sum())

    pairs = [np.random.default_rng(seed).random((2, 12)) < 0.6 for seed in (1, 2, 3)]
    return check_function(
        function,
        [((a, b), right(a, b)) for a, b in pairs],
        mistakes=[
            (
                lambda a, b: right(b, a),
                "lost and gained are exchanged: *lost* was right before and is wrong after",
            ),
            (
                lambda a, b: (int((~a).sum()), int(a.sum())),
                "those are all wrong and right answers before; only those that *changed* count",
            ),
            (
                lambda a, b: (int(b.sum()) - int(a.sum()), 0),
                "that is the difference of the two scores; it hides how many flipped",
            ),
        ],
        learnt="Two models may have the same score and disagree on half of the answers. McNemar's test looks at these two numbers alone.",
    )


# --- 7: the best of many ---------------------------------------------------------------------------------------
def check_other_half(function):
    """``gains(change, half)``: gain of the best head on the half that chose it, and on the other."""

    def right(change, half):
        best = int(change[:, half].mean(axis=1).argmin())
        return -change[best, half].mean(), -change[best, ~half].mean()

    def both_halves_choose(change, half):
        other = int(change[:, ~half].mean(axis=1).argmin())
        return right(change, half)[0], -change[other, ~half].mean()

    def worst(change, half):
        best = int(change[:, half].mean(axis=1).argmax())
        return -change[best, half].mean(), -change[best, ~half].mean()

    def sign(change, half):
        return tuple(-x for x in right(change, half))

    generator = np.random.default_rng(5)
    cases = [(generator.normal(size=(6, 10)), np.arange(10) % 2 == seed) for seed in (0, 1)]
    return check_function(
        function,
        [(case, right(*case)) for case in cases],
        mistakes=[
            (
                both_halves_choose,
                "the other half chose a head of its own; it may only *report* on the head of the first",
            ),
            (
                worst,
                "that is the head without which the loss is highest. The gain is greatest where the change is lowest",
            ),
            (sign, "a gain is a loss that falls: turn the sign round"),
        ],
        learnt="One half chooses, the other reports. The second number is the one to print.",
    )


# --- 8: importance -----------------------------------------------------------------------------------------------
def check_importance(function):
    """``importance(slopes)``: the paper's I_h from the slopes of shape (example, head)."""
    cases = [np.random.default_rng(seed).normal(size=(7, 4)) for seed in (1, 2)]
    return check_function(
        function,
        [((s,), np.abs(s).mean(axis=0)) for s in cases],
        mistakes=[
            (
                lambda s: np.abs(s.mean(axis=0)),
                "the absolute value comes *before* the mean; examples then cancel, as in the script for one batch",
            ),
            (
                lambda s: s.mean(axis=0),
                "signs are left: a head that helps one text and harms another would count as nothing",
            ),
            (
                lambda s: np.abs(s).mean(axis=1),
                "one number for each *head* was asked for; you averaged over the heads",
            ),
            (lambda s: np.abs(s).sum(axis=0), "that is the sum; I_h is a mean over examples"),
        ],
        learnt="How much the loss depends on the head, whichever way: up in one text and down in another both count.",
    )


# --- 9: a task ---------------------------------------------------------------------------------------------------
def check_starred(answer, p):
    """The printed names of the heads that are significant after Holm's correction."""
    p = np.asarray(p, dtype=float)

    def named(mask):
        return {head_label(int(layer), int(head)) for layer, head in np.argwhere(mask)}

    expected = named(holm(p) < 0.05)
    mistakes = []
    if named(p < 0.05) != expected:
        mistakes.append(
            (named(p < 0.05), "these are all with p < .05; correct for the number of heads first")
        )
    return check_set(
        answer,
        expected,
        mistakes=mistakes,
        learnt="After the correction few heads are left of many, or none. Which ones is a fact about this classifier: another seed may need others.",
    )


# --- 10: pruning -------------------------------------------------------------------------------------------------
def check_saved(answer, width, head_size, heads):
    """How many parameters go with some heads."""
    each = head_size * (4 * width + 3)
    return check_number(
        answer,
        float(heads * each),
        tolerance=0.5,
        mistakes=[
            (float(each), f"that is one head; {heads} go"),
            (
                float(heads * head_size * 4 * width),
                "the biases of queries, keys and values go too: three for each dimension",
            ),
            (float(heads * head_size * (3 * width + 3)), "the columns of the output projection go as well"),
            (0.0, "that would be masking; a pruned head's rows and columns are really gone"),
        ],
        learnt="Rows of three matrices with their biases, columns of a fourth. Its bias stays: it belongs to no head.",
    )


def check_order(answer, importance, n):
    """The printed names of the n least important heads, least first."""
    importance = np.asarray(importance, dtype=float)
    order = np.argsort(importance, axis=None, kind="stable")

    def named(places):
        return [head_label(*(int(i) for i in np.unravel_index(place, importance.shape))) for place in places]

    return check_list(
        answer,
        named(order[:n]),
        mistakes=[
            (named(order[::-1][:n]), "those are the *most* important; pruning begins at the other end")
        ],
        learnt="Least important first, from all layers together: that is why each layer was divided by its norm before.",
    )


# --- the last two: a picture, and a claim on trial ---------------------------------------------------------
PICTURE_OPTIONS, check_picture, on_trial, TRIAL_OPTIONS, check_trial = close("11")


# --- the checks' own proof -------------------------------------------------------------------------------
def EXAMPLES():
    """Right, wrong and unfilled answers of every check."""
    change = np.array([[0.1, 0.5, 0.0], [-0.1, 0.2, 0.0]])
    p = np.array([[0.001, 0.04], [0.5, 0.9]])

    def disable(contexts, values, head):
        out = contexts.copy()
        out[:, head] = values[:, head].mean(axis=0)
        return out

    def gains(change, half):
        best = change[:, half].mean(axis=1).argmin()
        return -change[best, half].mean(), -change[best, ~half].mean()

    return {
        "check_mask": (_masked, lambda c, h: np.delete(c, h, axis=1), ...),
        "check_disable": (disable, lambda c, v, h: _masked(c, h), ...),
        "check_control": (CONTROL_OPTIONS[2], CONTROL_OPTIONS[0], ...),
        "check_most_costly": (args("1-2", change), args("2-1", change), args(..., change)),
        "check_holm": (holm, lambda p: np.minimum(np.asarray(p) * len(p), 1), ...),
        "check_flips": (
            lambda a, b: (int((a & ~b).sum()), int((~a & b).sum())),
            lambda a, b: (int((~a & b).sum()), int((a & ~b).sum())),
            ...,
        ),
        "check_other_half": (gains, lambda c, h: tuple(-x for x in gains(c, h)), ...),
        "check_importance": (lambda s: np.abs(s).mean(axis=0), lambda s: np.abs(s.mean(axis=0)), ...),
        "check_starred": (args({"1-1"}, p), args({"1-1", "1-2"}, p), args(..., p)),
        "check_saved": (args(2 * 4 * 43, 10, 4, 2), args(4 * 43, 10, 4, 2), args(..., 10, 4, 2)),
        "check_order": (
            args(["2-1", "1-3"], change, 2),
            args(["1-2", "2-2"], change, 2),
            args(..., change, 2),
        ),
        **closing_examples("11"),
    }


sheet = keep_sheet(globals())  # what the checks above have said, as the last cell shows it
