"""Write files whole or not at all, and say what to do where that is not possible. Everything that saves writes through here."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
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
        for (
            at,
            part,
            _,
        ) in begun:  # nothing else happens here: a kill in between would leave files of two runs
            os.replace(part, at)
    except OSError as error:
        ours = {None, str(at), *(str(part) for _, part, _ in begun)}
        if at is None or (error.filename if error.filename is None else str(error.filename)) not in ours:
            raise  # it is about another file
        raise _cannot_write(at, error) from None
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
    path = _in_folder(path)
    with replacing(path, "wb") as file:
        file.write(_encoded(content))
    return path


def _in_folder(path: str | Path) -> Path:
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _cannot_write(path, error) from None
    return path


def _encoded(content: str | bytes) -> bytes:
    return content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content


def write_files(contents: Mapping[str | Path, str | bytes]) -> None:
    """Write the files of one result: all of them, or after an error none, so that they are never of two runs.

    Raises
    ------
    OSError
        If a folder cannot be made or a file not be written, with what to do.
    """
    with _staged() as begin:
        for path, content in contents.items():
            begin(_in_folder(path), "wb").write(_encoded(content))


def json_text(content, *, indent: int = 1, allow_nan: bool = True) -> str:
    """A value as JSON, as it is written to files."""
    return json.dumps(content, indent=indent, ensure_ascii=False, allow_nan=allow_nan) + "\n"


def write_json(path: str | Path, content, *, indent: int = 1, allow_nan: bool = True) -> Path:
    """Write a value as JSON, as `write_file` writes."""
    return write_file(path, json_text(content, indent=indent, allow_nan=allow_nan))


@contextlib.contextmanager
def filling(folder: str | Path) -> Iterator[Path]:
    """A new folder for what other libraries write; its files go into ``folder`` when all are there, and after an error none does.

    Raises
    ------
    OSError
        If it cannot be written, with what to do.
    """
    folder = writable_folder(folder)
    part = folder / f".{secrets.token_hex(8)}.part"
    try:
        part.mkdir()
        yield part
        for file in part.iterdir():
            os.replace(file, folder / file.name)
    except OSError as error:
        raise _cannot_write(folder, error) from None
    except Exception as error:
        if not type(error).__module__.startswith("safetensors"):
            raise
        raise _cannot_write(
            folder, OSError(str(error))
        ) from None  # a full disk is an error of its own kind there
    finally:
        shutil.rmtree(part, ignore_errors=True)


def writable_folder(folder: str | Path) -> Path:
    """The folder, made if need be; a clear error now rather than after an hour of computing.

    Raises
    ------
    OSError
        If it cannot be made or written to, with what to do.
    """
    folder = Path(folder)
    try:
        new = [place for place in (folder.absolute(), *folder.absolute().parents) if not place.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        _made.extend(new)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _cannot_write(folder, error) from None
    return folder


_LOCK = ".bertlook-run"

_held: list[tuple[Path, IO]] = []
_made: list[Path] = []  # folders that were not there before


def claim_folder(folder: str | Path) -> Path:
    """`writable_folder`, for this run alone until `release_folders`, or until its process ends, however it ends.

    The lock is the system's, on a file in the folder, so nothing has to be tidied up after a kill. Where a file system has no locks, it goes without.

    Raises
    ------
    OSError
        If another run is writing there, or it cannot be written to; with what to do.
    """
    folder = writable_folder(folder)
    path = folder / _LOCK
    for _ in range(20):
        try:
            file = os.fdopen(
                os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644), "r+b"
            )
        except OSError as error:
            raise _cannot_write(path, error) from None
        try:
            _lock(file)
        except BlockingIOError:
            file.close()
            raise OSError(
                f"another bertlook is writing into {folder}: their results would mix. Wait until it is done, or choose another folder."
            ) from None
        except OSError:  # no locks here
            pass
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
                _held.append((path, file))
                _sweep(folder)
                break
        file.close()  # the run before took the file away in between
    return folder


def _sweep(folder: Path) -> None:
    """Take away what killed runs left half written; nobody else writes here now."""
    for part in folder.glob(".*.part"):
        if re.search(r"[.-][0-9a-f]{16}\.part$", part.name):
            with contextlib.suppress(OSError):
                shutil.rmtree(part) if part.is_dir() and not part.is_symlink() else part.unlink()


def release_folders() -> None:
    """Let other runs write into the folders that this process has claimed; those it made and left empty go again."""
    while _held:
        path, file = _held.pop()
        with contextlib.suppress(OSError):  # Windows keeps a file that is open
            path.unlink()
        file.close()
    for place in sorted(_made, key=lambda place: -len(place.parts)):
        with contextlib.suppress(OSError):  # something is in it
            place.rmdir()
    _made.clear()


def _lock(file: IO) -> None:
    """Raise `BlockingIOError` if another holds it."""
    if os.name == "nt":
        import msvcrt

        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(*error.args) from None
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _cannot_write(path: Path, error: OSError) -> OSError:
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


# --- digests -------------------------------------------------------------------------------------------
def digest(*parts) -> str:
    """SHA-256 of some values: of bytes themselves, of others as they are printed."""
    found = hashlib.sha256()
    for part in parts:
        content = part if isinstance(part, bytes) else repr(part).encode("utf-8", "backslashreplace")
        found.update(hashlib.sha256(content).digest())
    return found.hexdigest()


def digest_of(items: Iterable) -> str:
    """SHA-256 of what a stream gives, each item as it is printed."""
    found = hashlib.sha256()
    for item in items:
        found.update(repr(item).encode("utf-8", "backslashreplace"))
    return found.hexdigest()


def tree_digest(folder: Path, *endings: str) -> str:
    """Of every file below a folder whose name has one of these endings."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name.endswith(endings))
    files = [path for path in files if "__pycache__" not in path.parts]
    return digest(
        *(part for path in files for part in (path.relative_to(folder).as_posix(), path.read_bytes()))
    )
