"""Write files whole or not at all, and say what to do where that is not possible. Everything that saves writes through here."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
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
    with _staged() as begin:
        yield begin(Path(path), mode)


@contextlib.contextmanager
def _staged() -> Iterator[Callable[[Path, str], IO]]:
    """A function that begins a new file beside its place. At the end all are on the disk before the first gets its name; after an error none does."""
    begun: list[tuple[Path, Path, IO]] = []
    at = None  # what is being written

    def begin(path: Path, mode: str) -> IO:
        nonlocal at
        at = path
        part = path.with_name(f".{path.name[:40]}-{secrets.token_hex(8)}.part")
        options = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
        file = open(part, mode.replace("w", "x"), **options)  # noqa: SIM115 - closed below, when all are written
        begun.append((path, part, file))
        return file

    try:
        yield begin
        for at, part, file in begun:
            file.flush()
            os.fsync(file.fileno())
            file.close()
            if at.is_dir() and not at.is_symlink():
                raise IsADirectoryError(errno.EISDIR, "a folder of this name is in the way")
            if at.is_file() and not at.is_symlink():
                shutil.copymode(at, part)
        for at, part, _ in begun:  # and nothing else: a kill in between would leave files of two runs
            os.replace(part, at)
    except OSError as error:
        ours = {None, str(at), *(str(part) for _, part, _ in begun)}
        if at is None or (error.filename if error.filename is None else str(error.filename)) not in ours:
            raise  # it is about another file
        raise cannot_write(at, error) from None
    finally:
        for _, part, file in begun:
            with contextlib.suppress(OSError):
                file.close()
            with contextlib.suppress(OSError):
                part.unlink()


def write_file(path: str | Path, content: str | bytes) -> Path:
    """Write text (UTF-8, line ends as given) or bytes; missing folders are made.

    Raises
    ------
    OSError
        If the folder cannot be made or written to, with what to do.
    """
    write_files({path: content})
    return Path(path)


def write_files(contents: Mapping[str | Path, str | bytes]) -> None:
    """Write the files of one result: all of them, or after an error none, so that they are never of two runs.

    Raises
    ------
    OSError
        If a folder cannot be made or a file not be written, with what to do.
    """
    with _staged() as begin:
        for path, content in contents.items():
            try:
                Path(path).parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise cannot_write(Path(path), error) from None
            encoded = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
            begin(Path(path), "wb").write(encoded)


def json_text(content, *, indent: int = 1, allow_nan: bool = True) -> str:
    """A value as JSON, as it is written to files."""
    return json.dumps(content, indent=indent, ensure_ascii=False, allow_nan=allow_nan) + "\n"


def cannot_write(path: Path, error: OSError) -> OSError:
    """The same error, with what to do about it."""
    reason = (
        "a file of this name is in the way" if isinstance(error, FileExistsError) else error.strerror or error
    )
    told = re.search(r"os error (\d+)", str(error))  # Rust (safetensors) names the number in its text only
    advice = {
        errno.ENOSPC: "make room, or choose a folder on another disk",
        errno.EDQUOT: "your share of this disk is used up: make room, or choose a folder on another disk",
        errno.EFBIG: "the system lets no file grow so large: raise that limit (ulimit -f), or choose another disk",
    }.get(int(told[1]) if told else error.errno, f"choose a folder of your own, for example in {Path.home()}")
    said = f"cannot write {path} ({reason}); {advice}"
    return OSError(said) if error.errno is None else type(error)(error.errno, said)
