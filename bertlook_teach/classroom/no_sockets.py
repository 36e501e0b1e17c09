"""Start a command that can open no socket but those of its own network: python -I no_sockets.py COMMAND ...

A socket with a name in the file system (of a container's manager, a desktop's bus, an agent with keys) is reached without any network, and on a
disk that is read-only too; whoever answers there works outside the walls. Linux's own filter of system calls forbids it. Nothing is imported from
the package: the file runs by itself. Ends with 125 where the system does not allow it.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys

# machine: (its mark in a call, the numbers of socket, socketpair, io_uring_setup, the first number that is none of its own)
_CALLS = {"x86_64": (0xC000003E, 41, 53, 425, 0x40000000), "aarch64": (0xC00000B7, 198, 199, 425, 0x40000000)}
_FAMILIES = (
    2,
    10,
    16,
)  # the internet's two, and the one in which the system answers what interfaces there are
_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_FORBID, _ALLOW = 0x00050001, 0x7FFF0000  # "not permitted", go on


def program(machine: str) -> bytes:
    """The filter: a list of (what, jump if true, jump if false, value), as Linux reads it."""
    mark, socket, pair, ring, foreign = _CALLS[machine]
    lines = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 1, 0, mark),
        (_RETURN, 0, 0, _FORBID),
        (_LOAD, 0, 0, 0),
        (_AT_LEAST, 0, 1, foreign),
        (_RETURN, 0, 0, _FORBID),
        (_EQUAL, 0, 1, ring),  # it opens sockets past this filter
        (_RETURN, 0, 0, _FORBID),
        (_EQUAL, 0, 4, pair),
        (_LOAD, 0, 0, 24),  # of two that are joined only streams: others can be sent elsewhere later
        (_AND, 0, 0, 0xF),
        (_EQUAL, 6, 0, 1),
        (_RETURN, 0, 0, _FORBID),
        (_EQUAL, 0, 4, socket),
        (_LOAD, 0, 0, 16),
        *((_EQUAL, 2 - place, 0, family) for place, family in enumerate(_FAMILIES[:2])),
        (_EQUAL, 0, 1, _FAMILIES[2]),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _FORBID),
    ]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


def main(command: list[str]) -> int:
    """Does not come back where all is well."""
    if sys.platform != "linux" or platform.machine() not in _CALLS:
        return 125
    code = program(platform.machine())
    held = ctypes.create_string_buffer(code, len(code))
    whole = ctypes.create_string_buffer(struct.pack("@HP", len(code) // 8, ctypes.addressof(held)))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    number = ctypes.c_ulong
    if prctl(38, number(1), number(0), number(0), number(0)):  # no new rights, which the filter asks for
        return 125
    if prctl(22, number(2), whole, number(0), number(0)):
        return 125
    os.execvp(command[0], command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
