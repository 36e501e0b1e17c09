"""Compare an answer with what was expected, and say how they differ."""

from __future__ import annotations

import ast
import copy
import dis
import inspect
import math
import numbers
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType

import numpy as np


def _holds_ellipsis(value) -> bool:
    if isinstance(value, (list, tuple, set, frozenset)):
        return any(item is ... or _holds_ellipsis(item) for item in value)
    if isinstance(value, np.ndarray) and value.dtype == object:
        return any(item is ... for item in value.flat)
    return False


@dataclass(frozen=True)
class Whenever:
    """All wrong answers of a kind.

    Parameters
    ----------
    holds : callable
        Says of an answer whether it is one of them.
    such_as : object
        One of them, for the tests.
    """

    holds: Callable[[object], bool]
    such_as: object


def _reason(answer, mistakes, matches) -> str | None:
    """The reason of the first known mistake that the answer makes."""
    for reason, mistake in mistakes:
        try:
            if mistake.holds(answer) if isinstance(mistake, Whenever) else matches(mistake):
                return reason
        except Exception:  # noqa: BLE001, S112 - what holds of lists may meet a number: not this mistake
            continue
    return None


def _sentence(text: str) -> str:
    text = text.strip()
    text = text[0].upper() + text[1:]
    return text if text[-1] in ".?!" else text + "."


def _lower_first(text: str) -> str:
    return text if text.startswith("True") else text[0].lower() + text[1:]


def _kind(value) -> str:
    """What a value is, in a student's words."""
    if value is None:
        return "None"
    if isinstance(value, (bool, np.bool_)):
        return "True or False"
    if isinstance(value, str):
        return "a text (in quotation marks)"
    if isinstance(value, numbers.Number):
        return "a number"
    if _shape(value) is not None:
        return f"an array of shape {_shape(value)}"
    if callable(value):
        return "a function"
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def _shape(value):
    """Shape of a NumPy array or torch tensor, None for anything else."""
    if isinstance(value, np.ndarray) or hasattr(value, "detach"):
        return tuple(int(size) for size in value.shape)
    return None


def _show(value, *, code=False) -> str:
    """A value in at most 60 characters, without memory addresses; backquotes would end the code span."""
    if _shape(value) == ():  # a scalar, shown as the number it is
        value = value.item()
    if _shape(value):
        text = f"array of shape {_shape(value)}"
    elif isinstance(value, (bool, np.bool_)):
        text = str(bool(value))
    elif isinstance(value, numbers.Integral):
        text = str(int(value))
    elif isinstance(value, numbers.Real):
        text = f"{float(value):.6g}"
    elif callable(value):
        text = getattr(value, "__name__", "a function")
    elif isinstance(value, str) and code:
        text = value
    else:
        text = re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))
    text = text.replace("`", "'")
    text = text if len(text) <= 60 else text[:57] + "..."
    return f"`{text}`" if code else text


def _to_array(value):
    """A NumPy array of numbers (bool, int or float), or None when the value is no such thing."""
    try:
        if hasattr(value, "detach"):  # a torch tensor, recognised without importing torch
            value = value.detach().cpu().numpy()
        array = np.asarray(value)
    except Exception:  # noqa: BLE001 - not convertible, for whatever reason: not an array of numbers
        return None
    return array if array.dtype.kind in "biuf" else None


def _to_number(value):
    """(number, None), or (None, what is wrong)."""
    if isinstance(value, (bool, np.bool_)):
        return None, "A number was expected; yours is True or False."
    if isinstance(value, str):
        return None, "A number was expected; yours is a text. Leave out the quotation marks."
    array = _to_array(value)
    if array is None:
        return None, f"A number was expected; yours is {_kind(value)}."
    if array.size != 1:
        return None, f"One number was expected; yours is an array of shape {array.shape}."
    if array.dtype.kind == "b":
        return None, "A number was expected; yours is True or False."
    number = float(array.reshape(()))
    if math.isnan(number):
        return (
            None,
            "Your answer is nan, not a number: was something divided by zero, or the log of zero taken?",
        )
    return number, None


def _number_problem(number, expected, tolerance):
    if abs(number - expected) <= tolerance:
        return None
    shown = (
        f"Your answer is {_show(int(number) if number == int(number) else number)}"
        if math.isfinite(number)
        else f"Your answer is {number}"
    )
    if abs(number + expected) <= tolerance:
        return f"{shown}: the size is right, the sign is not."
    if 0 < abs(expected) <= 1 and abs(number) > 1 and abs(number / 100 - expected) <= tolerance:
        return f"{shown}: that is a percentage; shares are fractions from 0 to 1 here."
    return f"{shown}, which is too {'large' if number > expected else 'small'}."


def _array_problem(answer, target, tolerance, axes, mistakes=()):
    array = _to_array(answer)
    if array is None:
        return f"An array of numbers was expected; yours is {_kind(answer)}."
    named = f" ({', '.join(axes)})" if axes else ""
    swapped = (
        target.ndim >= 2
        and array.shape == np.swapaxes(target, -1, -2).shape
        and np.allclose(array, np.swapaxes(target, -1, -2), rtol=0, atol=tolerance)
        and not (array.shape == target.shape and np.allclose(array, target, rtol=0, atol=tolerance))
    )
    rows_are_weights = (
        target.ndim >= 2 and bool(np.all(target >= 0)) and np.allclose(target.sum(axis=-1), 1, atol=1e-3)
    )
    if swapped and rows_are_weights:
        return "These rows sum over queries; did you swap the last two axes?"
    if swapped:
        return "The values are right but the last two axes are swapped."

    def is_mistake(mistake):
        known = _to_array(mistake)
        return known is not None and known.shape == array.shape and np.allclose(array, known, 0, tolerance)

    if array.shape != target.shape and (reason := _reason(array, mistakes, is_mistake)):
        return _sentence(reason)
    if array.ndim != target.ndim:
        return f"It has {_axes(array.ndim)}, shape {array.shape}; {_axes(target.ndim)}{named} were expected."
    if array.shape != target.shape:
        return f"It has shape {array.shape}; the expected shape is {target.shape}{named}."
    if array.dtype.kind == "b" and target.dtype.kind != "b":
        return "It holds True and False; numbers were expected."
    if np.allclose(array, target, rtol=0, atol=tolerance):
        return None

    reason = _reason(array, mistakes, is_mistake)
    if reason:
        return _sentence(reason)
    if np.isnan(array).any():
        where = _index(np.argwhere(np.isnan(array))[0], axes)
        return f"The entry at {where} is nan: was something divided by zero, or the log of zero taken?"
    if rows_are_weights and not np.allclose(array.sum(axis=-1), 1, atol=1e-3):
        square = array.shape[-1] == array.shape[-2]
        if square and np.allclose(array.sum(axis=-2), 1, atol=1e-3):
            return "These rows sum over queries; did you swap the last two axes?"
        row = np.argwhere(~np.isclose(array.sum(axis=-1), 1, atol=1e-3))[0]
        where = _index(row, axes[:-1] if axes else None)
        return f"Each row should sum to 1; the row at {where} sums to {_show(float(array.sum(axis=-1)[tuple(row)]))}."
    first = np.argwhere(~np.isclose(array, target, rtol=0, atol=tolerance))[0]
    where = _index(first, axes)
    value = array[tuple(first)]
    return f"The first entry that differs is at {where}: yours is {_show(value.item())}."


def _axes(count: int) -> str:
    return "1 axis" if count == 1 else f"{count} axes"


def _index(index, axes) -> str:
    if len(index) == 0:
        return "the only place"
    if axes:
        return ", ".join(f"{name} {int(i)}" for name, i in zip(axes, index))
    return "index [" + ", ".join(str(int(i)) for i in index) + "]"


def _items(answer):
    """The entries of a list, tuple, set, array or tensor; None for texts, dictionaries and single values."""
    if isinstance(answer, (str, bytes, Mapping)) or not isinstance(answer, Iterable):
        return None
    try:
        return list(answer)
    except Exception:  # noqa: BLE001 - such as an array without axes
        return None


def _plain(value, *, fold=True):
    """A hashable form in which equal values are equal; with ``fold``, case and outer spaces of text do not count."""
    if isinstance(value, str):
        return value.strip().casefold() if fold else value
    if isinstance(value, (list, tuple)):
        return tuple(_plain(item, fold=fold) for item in value)
    if isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "detach"):
        return _plain(value.tolist(), fold=fold)
    hash(value)
    return value


def _value_problem(result, expected, tolerance, axes):
    """What is wrong with one result of a function; dispatches on the type of what was expected."""
    if isinstance(expected, (bool, np.bool_)):
        if not isinstance(result, (bool, np.bool_)):
            return f"True or False was expected; it returns {_kind(result)}."
        return None if bool(result) == bool(expected) else f"it returns {bool(result)}."
    if isinstance(expected, numbers.Real):
        number, problem = _to_number(result)
        return problem or _number_problem(number, float(expected), tolerance)
    if isinstance(expected, Mapping):
        if not isinstance(result, Mapping):
            return f"a dictionary was expected; it returns {_kind(result)}."
        if set(result) != set(expected):
            return f"the dictionary has {len(result)} keys, {len(expected)} others were expected."
        pairs = [(f"at key {_show(key)}: ", result[key], expected[key]) for key in expected]
    elif isinstance(expected, (list, tuple)) and (
        _to_array(expected) is None or isinstance(result, tuple) != isinstance(expected, tuple)
    ):
        if isinstance(result, str) or not isinstance(result, (Sequence, np.ndarray)):
            return f"a {type(expected).__name__} was expected; it returns {_kind(result)}."
        if len(result) != len(expected):
            return f"it returns {len(result)} values, {len(expected)} were expected."
        pairs = [(f"at place {i}: ", mine, theirs) for i, (mine, theirs) in enumerate(zip(result, expected))]
    elif _to_array(expected) is not None:
        return _array_problem(result, _to_array(expected), tolerance, axes)
    else:
        try:
            same = bool(result == expected)
        except Exception:  # noqa: BLE001 - values that cannot be compared are not the same
            same = False
        if same:
            return None
        return f"{_kind(expected)} was expected; it returns {_show(result, code=True)}."
    for where, mine, theirs in pairs:
        problem = _value_problem(mine, theirs, tolerance, None)
        if problem:
            return where + problem
    return None


def _agrees(wrong_version: Callable, cases, results, tolerance) -> bool:
    """Whether a known wrong version gives the student's results on every case."""
    for case, result in zip(cases, results):
        try:
            with np.errstate(all="ignore"):
                wrong = wrong_version(*copy.deepcopy(case))
        except Exception:  # noqa: BLE001 - a wrong version that fails on a case is not what the student wrote
            return False
        if not _same(result, wrong, tolerance):
            return False
    return True


def _same(result, wrong, tolerance) -> bool:
    """Whether two results are equal; here nan equals nan, and None equals None."""
    if result is None or wrong is None:
        return result is wrong
    given = [None if _to_array(one) is None else np.asarray(one) for one in (result, wrong)]
    if all(one is not None and one.dtype.kind == "f" for one in given) and given[0].shape == given[1].shape:
        holes = [np.isnan(one) for one in given]
        if holes[1].any():
            result, wrong = (np.where(hole, 0, one) for hole, one in zip(holes, given))
            return bool((holes[0] == holes[1]).all()) and not _value_problem(result, wrong, tolerance, None)
    return not _value_problem(result, wrong, tolerance, None)


def _has_empty_body(function) -> bool:
    """Whether a function does nothing: its body is ``...`` or ``pass``, perhaps after a docstring.

    ``return None`` compiles to the same steps as ``...``; only the source tells that somebody has written it.
    """
    if not isinstance(function, FunctionType) or _writes_return(function):
        return False
    busy = [
        step
        for step in dis.get_instructions(function)
        if step.opname not in ("RESUME", "NOP", "RETURN_VALUE", "RETURN_CONST", "LOAD_CONST")
    ]
    returned = [
        step.argval
        for step in dis.get_instructions(function)
        if step.opname in ("RETURN_CONST", "LOAD_CONST")
    ]
    return not busy and returned in ([None], [...])


def _writes_return(function) -> bool:
    if function.__name__ == "<lambda>":
        return True
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):  # typed where no source is kept
        return False
    return any(isinstance(node, ast.Return) for node in ast.walk(tree))
