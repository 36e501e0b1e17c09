"""Write files whole or not at all, and say what to do where that is not possible. Everything that saves writes through here."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def replacing(path: str | Path, mode: str = "w") -> Iterator[IO]:
    """A new file that takes the place of ``path`` when all is written; after an error the old one stays, and nothing else.

    It lies in the same folder under a name of its own, so two processes never write into one file. It is on the disk before
    it gets its name. A symbolic link is replaced, never followed; the permissions of an ordinary file are kept.

    Parameters
    ----------
    path : path
    mode : {"w", "wb"}
        Text is UTF-8 with line ends as given.

    Raises
    ------
    OSError
        If it cannot be written, with what to do.
    """
    path = Path(path)
    part = path.with_name(f".{path.name[:40]}-{secrets.token_hex(8)}.part")
    options = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
    try:
        with open(part, mode.replace("w", "x"), **options) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if path.is_file() and not path.is_symlink():
            shutil.copymode(path, part)
        os.replace(part, path)
    except OSError as error:
        if error.filename is not None and str(error.filename) != str(part):
            raise  # it is about another file
        raise _cannot_write(path, error) from None
    finally:
        with contextlib.suppress(OSError):
            part.unlink()


def write_file(path: str | Path, content: str | bytes) -> Path:
    """Write text (UTF-8, line ends as given) or bytes; missing folders are made.

    Raises
    ------
    OSError
        If the folder cannot be made or written to, with what to do.
    """
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _cannot_write(path, error) from None
    with replacing(path, "wb") as file:
        file.write(content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content)
    return path


def write_json(path: str | Path, content, *, indent: int = 1, allow_nan: bool = True) -> Path:
    """Write a value as JSON, as `write_file` writes."""
    text = json.dumps(content, indent=indent, ensure_ascii=False, allow_nan=allow_nan)
    return write_file(path, text + "\n")


def writable_folder(folder: str | Path) -> Path:
    """The folder, made if need be; a clear error now rather than after an hour of computing.

    Raises
    ------
    OSError
        If it cannot be made or written to, with what to do.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _cannot_write(folder, error) from None
    return folder


def _cannot_write(path: Path, error: OSError) -> OSError:
    reason = error.strerror or error
    advice = f"choose a folder of your own, for example in {Path.home()}"
    return type(error)(error.errno, f"cannot write {path} ({reason}); {advice}")
