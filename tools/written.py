"""What scripts share that write a file from a source: with --check they write nothing, and say whether it is what would be written."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path


def write_or_check(
    argv: Sequence[str] | None, about: str, file: Path, make: Callable[[], str], otherwise: str
) -> int:
    """Run such a script.

    Parameters
    ----------
    argv : sequence of str, optional
        Its arguments.
    about : str
        What ``--help`` says.
    file : Path
        What is written, in UTF-8.
    make : function
        Gives what the file should hold.
    otherwise : str
        Printed with ``--check`` where the file holds something else.

    Returns
    -------
    int
        The exit code: 1 where the file was only compared, and holds something else.
    """
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, only compare")
    check = parser.parse_args(argv).check
    text = make()
    same = file.is_file() and file.read_text(encoding="utf-8") == text
    if check and not same:
        print(otherwise)
    elif not same:
        file.write_text(text, encoding="utf-8", newline="\n")
    return int(check and not same)
