"""Bad input by the thousand: seeded, bounded, and more of it with the variable BERTLOOK_FUZZ (cases a test; 2,000 without it)."""

from __future__ import annotations

import copy
import json
import os
import random
from collections.abc import Callable, Iterator

CASES = int(os.environ.get("BERTLOOK_FUZZ", "2000"))

# What a damaged file may be answered with: in words of ours, so that neither Unicode's nor JSON's own errors are among them.
PROMISED = (ValueError, OSError)
RAW = (UnicodeError, json.JSONDecodeError)

ODD = (None, True, -1, 0, 1, 3, 2**70, 0.5, float("nan"), float("inf"), "", " ", "a", "\ud83d", "<b>", "ä\u0301", [], {}, [[]], [0, 1], [3, 1], [0, 99], {"a": 1})  # fmt: skip
BYTES = (b"\n", b"\n\n", b"\t", b"\x00", b"\xff", b"\xed\xa0\xbd", b"\xe2\x80\xa8", b"# ", b"\r", b"{", b"]", b'"', b"-", b"_", b"1-2", b"\xef\xbb\xbf", b"0", b"9", b"\xd9\xa3", b" ")  # fmt: skip


def broken_bytes(generator: random.Random, content: bytes) -> bytes:
    """Content with one to four places changed, cut out, doubled or cut off."""
    for _ in range(generator.randint(1, 4)):
        at = generator.randrange(len(content) + 1)
        to = min(len(content), at + generator.randint(0, 12))
        way = generator.randrange(5)
        if way == 0:
            content = content[:at] + generator.choice(BYTES) + content[at:]
        elif way == 1:
            content = content[:at] + generator.choice(BYTES) + content[to:]
        elif way == 2:
            content = content[:at] + content[to:]
        elif way == 3:
            content = content[:to] + content[at:]
        elif at:
            content = content[:at]
    return content


def broken_value(generator: random.Random, value):
    """A value of JSON with one or two of its parts replaced, left out or doubled."""
    value = copy.deepcopy(value)
    for _ in range(generator.randint(1, 2)):
        places = list(_places(value))
        if not places:
            return generator.choice(ODD)
        parent, key = generator.choice(places)
        way = generator.randrange(4)
        if way == 0:
            del parent[key]
        elif way == 1 and isinstance(parent, list):
            parent.insert(key, copy.deepcopy(generator.choice(ODD)))
        else:
            parent[key] = copy.deepcopy(generator.choice(ODD))
    return value


def _places(value) -> Iterator[tuple[list | dict, object]]:
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])


def refused_or_read(call: Callable, given, shown: object = None):
    """What ``call(given)`` gives, or None if it refused in words; any other error shows what was given."""
    shown = given if shown is None else shown
    try:
        return call(given)
    except PROMISED as error:
        if isinstance(error, RAW) or not str(error).strip():
            raise AssertionError(f"a raw {error!r} for {shown!r:.2000}") from error
    except Exception as error:
        raise AssertionError(f"{error!r} for {shown!r:.2000}") from error
    return None
