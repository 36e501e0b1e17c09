"""A check is a record: the right answer, the wrong ones with their reasons, what is learnt. One class for each kind of answer."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

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

_NOT_PLAIN = "Each entry must be a plain value (a number, a text, a tuple of them)."


@dataclass(frozen=True, eq=False)
class Check:
    """One exercise as a record; called with a student's answer it returns Feedback.

    It never raises because of what a student wrote, and it never prints the solution.

    Parameters
    ----------
    right : object
        The right answer; of a `FunctionCheck` the right function.
    wrong : dict of reason -> wrong answer, or list
        Likely mistakes, tried in this order: a wrong answer, or `Whenever` for all answers of a kind. In a list, for what does not fit
        on a line, each reason stands before its wrong answer.
    learnt : str
        What a right answer shows; said only then.
    asks : str
        What is asked for, as ``help`` prints it.

    Raises
    ------
    ValueError
        If the record itself is faulty: an empty ``learnt``, a negative ``tolerance``, a reason without a wrong answer.
    """

    right: object
    _: KW_ONLY
    wrong: Mapping[str, object] | Sequence = ()
    learnt: str
    asks: str = ""
    answers: ClassVar[int] = 1

    def __post_init__(self):
        require_lesson(self.learnt, getattr(self, "tolerance", 0.0))
        if len(self.wrong) % 2 and not isinstance(self.wrong, Mapping):
            raise ValueError("wrong has a reason without a wrong answer, or a wrong answer without a reason")
        if not all(isinstance(reason, str) for reason, _ in self.mistakes):
            raise ValueError("in wrong each reason, a text, stands before its wrong answer")

    @property
    def mistakes(self) -> list[tuple[str, object]]:
        """The pairs (reason, wrong answer), in the order in which they are tried."""
        return list(
            self.wrong.items() if isinstance(self.wrong, Mapping) else zip(self.wrong[::2], self.wrong[1::2])
        )

    def __call__(self, answer) -> Feedback:
        if is_unanswered(answer):
            return unanswered()
        problem = self.problem(answer)
        return Feedback("wrong", _sentence(problem)) if problem else Feedback("right", self.confirm(answer))

    def problem(self, answer) -> str | None:
        """What is wrong with an answer that was given; None if it is right."""
        raise NotImplementedError

    def confirm(self, answer) -> str:
        """What is said of a right answer."""
        return self.learnt


@dataclass(frozen=True, eq=False, kw_only=True)
class NumberCheck(Check):
    """A number: int, float, or a NumPy or torch scalar. Wrong sign and percent for fraction are recognised without being listed.

    Parameters
    ----------
    tolerance : float
        Largest accepted absolute difference, in the unit of the answer; a listed mistake is recognised within it, too.

    Examples
    --------
    >>> share = NumberCheck(0.25, tolerance=0.001, wrong={"that is the number of keys": 4}, learnt="Four equal weights are 1/4 each.")
    >>> share(0.25)
    Right. Four equal weights are 1/4 each.
    >>> share(4)
    Not right yet. Your answer is 4: that is the number of keys.
    >>> share(...)
    Not answered yet. Put your answer in place of the `...` and run this cell again.
    """

    tolerance: float

    def __post_init__(self):
        super().__post_init__()
        if not math.isfinite(self.right):
            raise ValueError(f"the right answer must be a finite number; got {self.right!r}")

    def problem(self, answer):
        number, problem = _to_number(answer)
        if problem or abs(number - self.right) <= self.tolerance:
            return problem
        reason = _reason(number, self.mistakes, lambda wrong: abs(number - float(wrong)) <= self.tolerance)
        if reason:
            return f"Your answer is {_show(answer)}: {reason}"
        return _number_problem(number, self.right, self.tolerance)


@dataclass(frozen=True, eq=False, kw_only=True)
class ArrayCheck(Check):
    """An array, compared entry by entry, after what is wrong with it as a whole has been said.

    Named in this order: not an array of numbers, last two axes swapped, a listed mistake, wrong number of axes or
    shape, rows that should sum to 1 and do not, and the first differing entry with its index (never its
    expected value).

    Parameters
    ----------
    tolerance : float
        Largest accepted absolute difference of one entry.
    axes : sequence of str, optional
        Names of the axes for messages, for example ``("query", "key")``.

    Examples
    --------
    >>> ArrayCheck([0.2, 0.8], axes=["key"], learnt="...")([0.2, 0.7])
    Not right yet. The first entry that differs is at key 1: yours is 0.7.
    """

    tolerance: float = 1e-6
    axes: Sequence[str] | None = None

    def __post_init__(self):
        super().__post_init__()
        target = _to_array(self.right)
        if target is None or not np.all(np.isfinite(target)):
            raise ValueError("the right answer must be an array of finite numbers")
        if self.axes is not None and len(self.axes) != target.ndim:
            raise ValueError(f"axes names {len(self.axes)} axes, but the right answer has {target.ndim}")

    def problem(self, answer):
        return _array_problem(answer, _to_array(self.right), self.tolerance, self.axes, self.mistakes)


@dataclass(frozen=True, eq=False, kw_only=True)
class ChoiceCheck(Check):
    """One of several options. Text is compared without regard to case and outer spaces.

    Parameters
    ----------
    options : sequence, optional
        What may be chosen; shown when the answer is none of them. Without options anything may be answered.

    Examples
    --------
    >>> ChoiceCheck("query", options=["query", "key"], wrong={"the key is looked at": "key"}, learnt="...")("Key")
    Not right yet. Your choice is `Key`: the key is looked at.
    """

    options: Sequence | None = None

    def __post_init__(self):
        super().__post_init__()
        if self.options is not None and _plain(self.right) not in map(_plain, self.options):
            raise ValueError(
                f"the right answer {self.right!r} is not one of the options {list(self.options)!r}"
            )

    @classmethod
    def among(cls, reasons: dict[str, str | None], **fields) -> ChoiceCheck:
        """A choice among the keys of ``reasons``: for each why it tempts and is not right, None for the right one."""
        [right] = [option for option, reason in reasons.items() if reason is None]
        wrong = [one for option, reason in reasons.items() if reason is not None for one in (reason, option)]
        return cls(right, options=tuple(reasons), wrong=wrong, **fields)

    def problem(self, answer):
        try:
            choice = _plain(answer)
        except TypeError:  # a list of lists, a dictionary, a set: nothing that could be an option
            wanted = "A plain value" if self.options is None else "One of the options"
            return f"{wanted} was expected; yours is {_kind(answer)}."
        right = _plain(self.right)
        if choice == right and isinstance(choice, bool) == isinstance(right, bool):
            return None
        if self.options is not None and choice not in map(_plain, self.options):
            listed = ", ".join(f"`{option}`" for option in self.options)
            return f"{_show(answer, code=True)} is not one of the options: {listed}."
        reason = _reason(answer, self.mistakes, lambda wrong: _plain(wrong) == choice)
        return f"Your choice is {_show(answer, code=True)}: {reason or 'look again and compare'}"


@dataclass(frozen=True, eq=False, kw_only=True)
class SetCheck(Check):
    """A set, list, tuple or array in which neither order nor repetition matters, such as a set of heads.

    Examples
    --------
    >>> SetCheck({(0, 1), (1, 3)}, learnt="...")([(0, 1), (2, 2)])
    Not right yet. `(2, 2)` does not belong. 1 is still missing.
    """

    def problem(self, answer):
        if isinstance(answer, (str, Mapping)) or not isinstance(answer, (Iterable, np.ndarray)):
            return f"A set or a list was expected; yours is {_kind(answer)}."
        target = {_plain(item) for item in self.right}
        try:
            given = {_plain(item) for item in answer}
        except TypeError:
            return _NOT_PLAIN
        if given == target:
            return None
        # Whoever has found nothing has made no listed mistake: a set that happens to be empty is not its reason.
        if given and (
            reason := _reason(given, self.mistakes, lambda wrong: set(map(_plain, wrong)) == given)
        ):
            return reason
        extra, missing = sorted(given - target, key=repr), len(target - given)
        parts = []
        if extra:
            rest = f" and {len(extra) - 1} more do not belong" if len(extra) > 1 else " does not belong"
            parts.append(f"{_show(extra[0], code=True)}{rest}.")
        if missing:
            parts.append(f"{missing} {'is' if missing == 1 else 'are'} still missing.")
        return " ".join(parts)


@dataclass(frozen=True, eq=False, kw_only=True)
class ListCheck(Check):
    """A list in which the order counts, such as the wordpieces of a sentence.

    Parameters
    ----------
    single : bool
        Whether one thing is asked for, as a list of one: its bare value is then taken as well.

    Examples
    --------
    >>> ListCheck(["[CLS]", "a", "b", "[SEP]"], learnt="...")(["[CLS]", "a", "b"])
    Not right yet. Your list has 3 entries, 4 were expected.
    """

    single: bool = False

    def problem(self, answer):
        if self.single and not isinstance(answer, (list, tuple)):
            answer = [answer]
        items = None if isinstance(answer, AbstractSet) else _items(answer)
        if items is None:
            return f"A list was expected; yours is {_kind(answer)}."
        target = _entries(self.right)
        try:
            given = _entries(items)
        except TypeError:
            return _NOT_PLAIN
        if given == target:
            return None
        if reason := _reason(given, self.mistakes, lambda wrong: _entries(wrong) == given):
            return reason
        if len(given) != len(target):
            entries = "1 entry" if len(given) == 1 else f"{len(given)} entries"
            were = "was" if len(target) == 1 else "were"
            return f"Your list has {entries}, {len(target)} {were} expected."
        index = next(i for i, (mine, theirs) in enumerate(zip(given, target)) if mine != theirs)
        shown = _show(items[index], code=True)
        return f"The first entry that differs is number {index} (counting from 0): {shown}."


@dataclass(frozen=True, eq=False, kw_only=True)
class FunctionCheck(Check):
    """A student's function, called on every case beside the right one, and beside *wrong versions* of it.

    It gets a copy of the arguments; one that changes them is told so. A wrong version is recognised when it agrees with the student's
    function on all cases. "Unanswered" is also a function that returns ``...``, has an empty body, or trips over a ``...`` inside.

    Parameters
    ----------
    cases : list
        The arguments of each call: a tuple of them, or the only one.
    tolerance : float
        Largest accepted absolute difference of a number or an array entry.
    axes : sequence of str, optional
        Names of the axes of array results, for messages.

    Examples
    --------
    >>> FunctionCheck(lambda x: 1 / max(x, 1), cases=[2, 0], learnt="...")(lambda x: 1 / x)
    Not right yet. With input `0` it stopped with ZeroDivisionError: division by zero.
    """

    cases: Sequence
    tolerance: float = 1e-6
    axes: Sequence[str] | None = None

    def __post_init__(self):
        super().__post_init__()
        if not self.cases:
            raise ValueError("a check of a function needs at least one case")

    def __call__(self, function) -> Feedback:
        if is_unanswered(function) or _has_empty_body(function):
            return unanswered()
        if not callable(function):
            kind = _kind(function)
            return Feedback(
                "wrong",
                f"A function was expected; yours is {kind}. Give its name, without brackets after it.",
            )
        cases = [case if isinstance(case, tuple) else (case,) for case in self.cases]
        problem, results = None, []
        for case in cases:
            given = copy.deepcopy(case)
            shown = f"With input `{', '.join(_show(argument) for argument in case)}`"
            try:
                result = function(*given)
            except Exception as error:  # noqa: BLE001 - whatever a student's code raises becomes feedback
                # "unsupported operand type(s) for +: 'ellipsis' and 'int'"
                if "ellipsis" in str(error).lower():
                    return unanswered()
                text = " ".join(str(error).split())
                text = text if len(text) <= 160 else text[:157] + "..."
                said = f"{type(error).__name__}: {text}" if text else type(error).__name__
                return Feedback("wrong", problem or f"{shown} it stopped with {said.rstrip('.')}.")
            if is_unanswered(result) and not isinstance(result, str):
                return unanswered()
            results.append(result)
            problem = problem or self._problem_of_case(shown, case, given, result)
        if problem is None:
            return Feedback("right", self.learnt)
        for reason, version in self.mistakes:
            if _agrees(version, cases, results, self.tolerance):
                return Feedback("wrong", _sentence(reason))
        return Feedback("wrong", problem)

    def _problem_of_case(self, shown, case, given, result) -> str | None:
        expected = self.right(*copy.deepcopy(case))
        expected = expected.item() if isinstance(expected, np.ndarray) and expected.ndim == 0 else expected
        if result is None and expected is not None:
            return f"{shown} it returns None: is there a `return` at the end?"
        if trouble := _value_problem(result, expected, self.tolerance, self.axes):
            return f"{shown}: {_lower_first(trouble)}"
        if any(_value_problem(mine, kept, 0.0, None) for mine, kept in zip(given, case)):
            return f"{shown} the result is right, but the function changed its input. Work on a copy."
        return None


@dataclass(frozen=True, eq=False, kw_only=True)
class TextCheck(Check):
    """A free sentence, by what it should mention. The check can only see words; ``learnt`` gives an answer to compare with.

    Parameters
    ----------
    mentions : dict of hint -> pattern
        What is to be found in the text, as a regular expression (case ignored), and the hint given when it is not.
    min_words : int
        Fewer words than this are asked to become a sentence.

    Examples
    --------
    >>> TextCheck("A softmax does it.", mentions={"which step makes them sum to one?": "softmax"}, learnt="...")("The rows sum to one")
    Not right yet. Which step makes them sum to one?
    """

    mentions: Mapping[str, str]
    min_words: int = 3

    def __post_init__(self):
        super().__post_init__()
        if not self.mentions:
            raise ValueError("a check of a text needs at least one hint and pattern in mentions")

    def problem(self, answer):
        if not isinstance(answer, str):
            return f"A sentence between quotation marks was expected; yours is {_kind(answer)}."
        if len(answer.split()) < self.min_words:
            return f"Say it in a sentence of at least {self.min_words} words."
        if reason := _reason(answer, self.mistakes, lambda wrong: wrong == answer):
            return reason
        missing = (hint for hint, it in self.mentions.items() if not re.search(it, answer, re.IGNORECASE))
        return next(missing, None)


def _entries(items) -> list:
    return [_plain(item, fold=False) for item in items]
