"""What is kept on disk: it comes back as it was, or the file is refused; never another value, and nothing in it is run."""

import math
import random

import numpy as np
from fuzzing import CASES, broken_bytes, refused_or_read

from bertlook_course.storage import pack, unpack
from bertlook_teach.model import ReadingCheck

LEAVES = (None, True, False, 0, -1, 2**62, 2**80, 0.1, -0.0, math.inf, -math.inf, math.nan, "", "é\u0301", "\ud83d", "a\0b", "{'dict'}")  # fmt: skip
KINDS = ("float64", "float32", "int64", "int8", "uint16", "bool", "complex128", "U3")


def some_value(generator, depth=0):
    """Anything that is kept: plain values, arrays of any kind and shape, lists, tuples, dicts, our own tuples."""
    way = generator.randrange(8) if depth < 4 else generator.randrange(4)
    if way <= 1:
        return generator.choice(LEAVES)
    if way <= 3:
        shape = tuple(generator.randint(0, 3) for _ in range(generator.randint(0, 3)))
        numbers = np.random.default_rng(generator.randrange(2**32)).normal(size=shape) * 100
        array = np.asarray(numbers).astype(generator.choice(KINDS))
        return np.asarray(array) if shape or generator.random() < 0.5 else array[()]
    parts = [some_value(generator, depth + 1) for _ in range(generator.randint(0, 3))]
    if way == 4:
        return parts
    if way == 5:
        return tuple(parts)
    if way == 6:
        return {generator.choice((i, f"key {i}", (i, None), "")): part for i, part in enumerate(parts)}
    return ReadingCheck(generator.choice(LEAVES), parts)


def equal(one, other) -> bool:
    """The same value of the same type, NaN and -0 included."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray | np.generic):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, dict):
        return equal(list(one), list(other)) and all(equal(one[key], other[key]) for key in one)
    return repr(one) == repr(other)


def test_what_is_kept_comes_back_as_it_was():
    generator = random.Random(0)
    for _ in range(CASES):
        value = some_value(generator)
        assert equal(unpack(pack(value)), value), value


def test_a_damaged_file_is_refused_and_never_another_value():
    generator = random.Random(1)
    value = {
        "a": np.arange(12.0).reshape(3, 4),
        "b": [ReadingCheck(1, "x"), (1, None)],
        "c": np.array(["x", "yz"]),
    }
    for content in (pack(value), pack(value, bits=10)):
        for _ in range(CASES // 2):
            damaged = broken_bytes(generator, content)
            found = refused_or_read(unpack, damaged)
            assert found is None or equal(found, unpack(content)), damaged


def test_many_changed_single_bytes_are_seen():
    content = pack({"a": np.arange(6, dtype="f4"), "b": "text"})
    generator = random.Random(2)
    for _ in range(CASES):
        at = generator.randrange(len(content))
        damaged = content[:at] + bytes([content[at] ^ (1 << generator.randrange(8))]) + content[at + 1 :]
        found = refused_or_read(unpack, damaged)
        assert found is None or equal(found, unpack(content))
