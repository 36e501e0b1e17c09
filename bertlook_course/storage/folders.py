"""Folders for results: made and tried before an hour of computing, kept to one run, and filled whole or not at all; digests of what lies in them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from bertlook_teach.disk import cannot_write


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
        raise cannot_write(folder, error) from None
    except Exception as error:
        if not type(error).__module__.startswith("safetensors"):
            raise
        raise cannot_write(
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
        raise cannot_write(folder, error) from None
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
            raise cannot_write(path, error) from None
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


def code_digest() -> str:
    """Of all that computes and draws: Python, JavaScript and styles of the packages that are installed together."""
    packages = sorted(Path(__file__).resolve().parents[2].glob("bertlook_*"))
    return digest(*(tree_digest(package, ".py", ".js", ".css") for package in packages))


def checksum(paths: Iterable[Path]) -> str:
    """SHA-256 of the files' bytes, one after the other."""
    digest = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as file:
            for block in iter(lambda: file.read(1 << 20), b""):
                digest.update(block)
    return digest.hexdigest()
