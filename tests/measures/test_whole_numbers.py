"""Maps of 0 and 1, as whole numbers or as booleans, are measured like the same maps as floats: nothing is cut off."""

from __future__ import annotations

import dataclasses
import inspect
import warnings

import numpy as np
import pytest

from bertlook_teach import measures

MAPS = np.stack(
    [[np.roll(np.eye(6, dtype=int), layer + 2 * head, axis=1) for head in range(3)] for layer in range(2)]
)
OTHER = np.roll(MAPS, 1, axis=-1)


def measured(name: str, dtype):
    """What a public function of the measures gives for one such array, or for two; None if it asks for something else."""
    function = getattr(measures, name)
    if (
        not callable(function)
        or inspect.isclass(function)
        or next(iter(inspect.signature(function).parameters), "") not in ("attention", "maps")
    ):
        return None
    for arrays in ((MAPS,), (MAPS, OTHER)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numbers of a map that has no spread
            try:
                return function(*(array.astype(dtype) for array in arrays))
            except (TypeError, ValueError, AttributeError, IndexError):
                continue
    return None


def assert_same(one, other) -> None:
    if dataclasses.is_dataclass(one):
        one, other = vars(one), vars(other)
    if isinstance(one, dict):
        one, other = list(one.values()), list(other.values())
    if isinstance(one, list | tuple):
        assert len(one) == len(other)
        for first, second in zip(one, other):
            assert_same(first, second)
    elif np.asarray(one).dtype.kind in "biuf":
        np.testing.assert_allclose(np.asarray(one, float), np.asarray(other, float), atol=1e-6)
    else:  # names of classes
        assert np.array_equal(np.asarray(one), np.asarray(other))


NAMES = [name for name in measures.__all__ if measured(name, float) is not None]


def test_there_are_measures_to_try():
    assert {"looks_alike", "offset_attention", "attention_rollout", "js_distances"} <= set(NAMES)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, bool])
@pytest.mark.parametrize("name", NAMES)
def test_whole_numbers_are_measured_like_floats(name, dtype):
    found, expected = measured(name, dtype), measured(name, float)
    assert found is not None, "refused, though the same maps as floats are measured"
    assert_same(found, expected)
