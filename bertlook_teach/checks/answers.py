"""One kind of answer a check: a number, an array, a choice, a set, a list, a function, a sentence."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

import numpy as np

from .compare import (
    _agrees,
    _array_problem,
    _has_empty_body,
    _items,
    _kind,
    _lower_first,
    _number_problem,
    _plain,
    _reason,
    _sentence,
    _show,
    _to_array,
    _to_number,
    _value_problem,
)
from .feedback import Feedback, is_unanswered, require_lesson, unanswered


def check_number(answer, expected, *, tolerance, mistakes=(), learnt) -> Feedback:
    """Compare one number with the expected one.

    Parameters
    ----------
    answer : object
        What the student wrote: int, float, a NumPy or torch scalar, or ``...``.
    expected : float
    tolerance : float
        Largest accepted absolute difference, in the unit of the answer.
    mistakes : list of (value or predicate, str)
        Known wrong answers with the likely reason. A value matches within ``tolerance``; a predicate is called
        with the number. Wrong sign and percent for fraction are recognised without being listed.
    learnt : str
        What a right answer shows; said only then.

    Raises
    ------
    ValueError
        If ``expected`` is not finite or ``tolerance`` is negative.

    Examples
    --------
    >>> check_number(0.25, 0.25, tolerance=0.001, learnt="Four equal weights are 1/4 each.")
    Right. Four equal weights are 1/4 each.
    >>> check_number(4, 0.25, tolerance=0.001, mistakes=[(4, "that is the number of keys")], learnt="...")
    Not right yet. Your answer is 4: that is the number of keys.
    >>> check_number(..., 0.25, tolerance=0.001, learnt="...")
    Not answered yet. Put your answer in place of the `...` and run this cell again.
    """
    require_lesson(learnt, tolerance)
    if not math.isfinite(expected):
        raise ValueError(f"expected must be a finite number; got {expected!r}")
    if is_unanswered(answer):
        return unanswered()
    number, problem = _to_number(answer)
    if problem is None:
        if abs(number - expected) <= tolerance:
            return Feedback("right", learnt)
        shown = f"Your answer is {_show(answer)}"
        reason = _reason(number, mistakes, lambda mistake: abs(number - float(mistake)) <= tolerance)
        problem = _sentence(f"{shown}: {reason}") if reason else _number_problem(number, expected, tolerance)
    return Feedback("wrong", problem)


def check_array(answer, expected, *, tolerance=1e-6, axes=None, mistakes=(), learnt) -> Feedback:
    """Compare an array, entry by entry, and say what is wrong with it before saying where.

    Named in this order: not an array of numbers, last two axes swapped, a listed mistake, wrong number of axes or
    shape, rows that should sum to 1 and do not, and the first differing entry with its index (never its
    expected value).

    Parameters
    ----------
    answer : array-like
        NumPy array, torch tensor, nested list, or ``...``.
    expected : array-like
    tolerance : float
        Largest accepted absolute difference of one entry.
    axes : sequence of str, optional
        Names of the axes for messages, for example ``("query", "key")``.
    mistakes : list of (array or predicate, str)
        Known wrong answers with the likely reason.

    Raises
    ------
    ValueError
        If ``expected`` holds a NaN, ``axes`` does not fit it, or ``tolerance`` is negative.

    Examples
    --------
    >>> check_array([0.2, 0.7], [0.2, 0.8], axes=["key"], learnt="...")
    Not right yet. The first entry that differs is at key 1: yours is 0.7.
    """
    require_lesson(learnt, tolerance)
    target = _to_array(expected)
    if target is None or not np.all(np.isfinite(target)):
        raise ValueError("expected must be an array of finite numbers")
    if axes is not None and len(axes) != target.ndim:
        raise ValueError(f"axes names {len(axes)} axes, but expected has {target.ndim}")
    if is_unanswered(answer):
        return unanswered()
    problem = _array_problem(answer, target, tolerance, axes, mistakes)
    return Feedback("wrong", problem) if problem else Feedback("right", learnt)


def check_choice(answer, expected, *, options, mistakes=(), learnt) -> Feedback:
    """Check one choice among given options. Text is compared without regard to case and outer spaces.

    Parameters
    ----------
    answer : object
        The chosen option, or ``...``.
    expected : object
        The right option; it must be one of ``options``.
    options : sequence
        What may be chosen; shown when the answer is none of them.
    mistakes : list of (option or predicate, str)
        Why an option tempts and why it is not right.

    Raises
    ------
    ValueError
        If ``expected`` is not one of ``options``.

    Examples
    --------
    >>> check_choice("Key", "query", options=["query", "key"], mistakes=[("key", "the key is looked at")],
    ...              learnt="...")
    Not right yet. Your choice is `Key`: the key is looked at.
    """
    require_lesson(learnt)
    allowed = [_plain(option) for option in options]
    if _plain(expected) not in allowed:
        raise ValueError(f"expected {expected!r} is not one of the options {list(options)!r}")
    if is_unanswered(answer):
        return unanswered()
    try:
        choice = _plain(answer)
    except TypeError:  # a list of lists, a dictionary, a set: nothing that could be an option
        return Feedback("wrong", f"One of the options was expected; yours is {_kind(answer)}.")
    if choice == _plain(expected) and isinstance(choice, bool) == isinstance(_plain(expected), bool):
        return Feedback("right", learnt)
    if choice not in allowed:
        listed = ", ".join(f"`{option}`" for option in options)
        return Feedback("wrong", f"{_show(answer, code=True)} is not one of the options: {listed}.")
    reason = _reason(answer, mistakes, lambda mistake: _plain(mistake) == choice)
    return Feedback(
        "wrong", _sentence(f"Your choice is {_show(answer, code=True)}: {reason or 'look again and compare'}")
    )


def check_set(answer, expected, *, mistakes=(), learnt) -> Feedback:
    """Check a collection in which neither order nor repetition matters, such as a set of heads.

    Parameters
    ----------
    answer : set, list, tuple or array
        The collection, or ``...``.
    expected : collection
    mistakes : list of (collection or predicate, str)
        Known wrong collections with the likely reason.

    Examples
    --------
    >>> check_set([(0, 1), (2, 2)], {(0, 1), (1, 3)}, learnt="...")
    Not right yet. `(2, 2)` does not belong. 1 is still missing.
    """
    require_lesson(learnt)
    if is_unanswered(answer):
        return unanswered()
    if (
        isinstance(answer, str)
        or not isinstance(answer, (Iterable, np.ndarray))
        or isinstance(answer, Mapping)
    ):
        return Feedback("wrong", f"A set or a list was expected; yours is {_kind(answer)}.")
    target = {_plain(item) for item in expected}
    try:
        given = {_plain(item) for item in answer}
    except TypeError:
        return _not_plain()
    if given == target:
        return Feedback("right", learnt)
    reason = _reason(given, mistakes, lambda mistake: {_plain(item) for item in mistake} == given)
    if reason:
        return Feedback("wrong", _sentence(reason))
    extra, missing = sorted(given - target, key=repr), len(target - given)
    parts = []
    if extra:
        rest = f" and {len(extra) - 1} more do not belong" if len(extra) > 1 else " does not belong"
        parts.append(f"{_show(extra[0], code=True)}{rest}.")
    if missing:
        parts.append(f"{missing} {'is' if missing == 1 else 'are'} still missing.")
    return Feedback("wrong", " ".join(parts))


def check_list(answer, expected, *, mistakes=(), learnt) -> Feedback:
    """Check a list in which the order counts, such as the wordpieces of a sentence.

    Parameters
    ----------
    answer : list or tuple
        The list, or ``...``.
    expected : sequence
    mistakes : list of (sequence or predicate, str)
        Known wrong lists with the likely reason.

    Examples
    --------
    >>> check_list(["[CLS]", "a", "b"], ["[CLS]", "a", "b", "[SEP]"], learnt="...")
    Not right yet. Your list has 3 entries, 4 were expected.
    """
    require_lesson(learnt)
    if is_unanswered(answer):
        return unanswered()
    items = None if isinstance(answer, AbstractSet) else _items(answer)
    if items is None:
        return Feedback("wrong", f"A list was expected; yours is {_kind(answer)}.")
    target = [_plain(item, fold=False) for item in expected]
    try:
        given = [_plain(item, fold=False) for item in items]
    except TypeError:
        return _not_plain()
    if given == target:
        return Feedback("right", learnt)
    reason = _reason(given, mistakes, lambda mistake: [_plain(item, fold=False) for item in mistake] == given)
    if reason:
        return Feedback("wrong", _sentence(reason))
    if len(given) != len(target):
        entries = "1 entry" if len(given) == 1 else f"{len(given)} entries"
        were = "was" if len(target) == 1 else "were"
        return Feedback("wrong", f"Your list has {entries}, {len(target)} {were} expected.")
    index = next(i for i, (mine, theirs) in enumerate(zip(given, target)) if mine != theirs)
    shown = _show(items[index], code=True)
    return Feedback("wrong", f"The first entry that differs is number {index} (counting from 0): {shown}.")


def check_function(function, cases, *, tolerance=1e-6, axes=None, mistakes=(), learnt) -> Feedback:
    """Call the student's function on every case and compare the results.

    Parameters
    ----------
    function : callable
        The student's function, or ``...``. It gets a copy of the arguments; one that changes them is told so.
    cases : list of (tuple, object)
        Arguments and the expected result: a number, an array, a text, or a tuple, list or dictionary of them.
    tolerance : float
        Largest accepted absolute difference of a number or an array entry.
    axes : sequence of str, optional
        Names of the axes of array results, for messages.
    mistakes : list of (callable, str)
        *Wrong versions of the function* with the likely reason. A version is recognised when it agrees with the
        student's function on all cases.

    Returns
    -------
    Feedback
        "unanswered" also when the function returns ``...``, has an empty body, or trips over a ``...`` inside.

    Raises
    ------
    ValueError
        If there is no case or ``tolerance`` is negative.

    Examples
    --------
    >>> check_function(lambda x: 1 / x, [((2,), 0.5), ((0,), 0.0)], learnt="...")
    Not right yet. With input `0` it stopped with ZeroDivisionError: division by zero.
    """
    require_lesson(learnt, tolerance)
    cases = list(cases)
    if not cases:
        raise ValueError("check_function needs at least one case")
    if is_unanswered(function) or _has_empty_body(function):
        return unanswered()
    if not callable(function):
        kind = _kind(function)
        return Feedback(
            "wrong", f"A function was expected; yours is {kind}. Give its name, without brackets after it."
        )
    problem, results = None, []
    for arguments, expected in cases:
        given = copy.deepcopy(tuple(arguments))
        shown = f"With input `{', '.join(_show(argument) for argument in arguments)}`"
        try:
            result = function(*given)
        except Exception as error:  # noqa: BLE001 - whatever a student's code raises becomes feedback
            if "ellipsis" in str(error).lower():  # "unsupported operand type(s) for +: 'ellipsis' and 'int'"
                return unanswered()
            text = " ".join(str(error).split())
            text = text if len(text) <= 160 else text[:157] + "..."
            said = f"{type(error).__name__}: {text}" if text else type(error).__name__
            return Feedback("wrong", problem or f"{shown} it stopped with {said.rstrip('.')}.")
        if is_unanswered(result) and not isinstance(result, str):
            return unanswered()
        results.append(result)
        if problem is None:
            if result is None and expected is not None:
                problem = f"{shown} it returns None: is there a `return` at the end?"
            else:
                trouble = _value_problem(result, expected, tolerance, axes)
                problem = trouble and f"{shown}: {_lower_first(trouble)}"
        if problem is None and any(
            _value_problem(mine, kept, 0.0, None) for mine, kept in zip(given, arguments)
        ):
            problem = f"{shown} the result is right, but the function changed its input. Work on a copy."
    if problem is None:
        return Feedback("right", learnt)
    for wrong_version, reason in mistakes:
        if _agrees(wrong_version, cases, results, tolerance):
            return Feedback("wrong", _sentence(reason))
    return Feedback("wrong", problem)


def check_text(answer, mentions, *, min_words=3, mistakes=(), learnt) -> Feedback:
    """Check a free sentence by what it should mention. It can only see words; ``learnt`` gives the model answer.

    Parameters
    ----------
    answer : str
        The sentence, or ``...``.
    mentions : list of (str, str)
        A regular expression to be found in the text (case ignored), and the hint given when it is not.
    min_words : int
        Fewer words than this are asked to become a sentence.
    mistakes : list of (str or predicate, str)
        A regular expression found in a typical wrong answer, with the likely reason.
    learnt : str
        The model answer, to compare with.

    Raises
    ------
    ValueError
        If ``mentions`` is empty.

    Examples
    --------
    >>> check_text("The rows sum to one", [(r"softmax", "which step makes them sum to one?")], learnt="...")
    Not right yet. Which step makes them sum to one?
    """
    require_lesson(learnt)
    mentions = list(mentions)
    if not mentions:
        raise ValueError("check_text needs at least one (pattern, hint) in mentions")
    if is_unanswered(answer):
        return unanswered()
    if not isinstance(answer, str):
        return Feedback(
            "wrong", f"A sentence between quotation marks was expected; yours is {_kind(answer)}."
        )
    if len(answer.split()) < min_words:
        return Feedback("wrong", f"Say it in a sentence of at least {min_words} words.")
    reason = _reason(answer, mistakes, lambda mistake: re.search(mistake, answer, re.IGNORECASE))
    if reason:
        return Feedback("wrong", _sentence(reason))
    for pattern, hint in mentions:
        if not re.search(pattern, answer, re.IGNORECASE):
            return Feedback("wrong", _sentence(hint))
    return Feedback("right", learnt)


def _not_plain() -> Feedback:
    return Feedback("wrong", "Each entry must be a plain value (a number, a text, a tuple of them).")
