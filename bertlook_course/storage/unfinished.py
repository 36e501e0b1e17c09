"""What a run that was stopped has left: kept in the folder of its result under a digest of all that decides its numbers, and gone on with."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path

from bertlook_teach import __version__
from bertlook_teach.disk import json_text, write_file

UNFINISHED = (
    "unfinished"  # in the folder of the result, while a run lasts: a folder a run, named by its digest
)

COMPUTING = ("numpy", "tokenizers", "torch", "transformers")


class Unfinished:
    """The folder where one run keeps what is done, until its result is written.

    Parameters
    ----------
    folder : Path
        The folder of the result, claimed by this process.
    same : dict
        What decides the numbers: command, models, data, settings. Versions are added.
    force : bool
        Begin afresh: drop what stopped runs have left.

    Attributes
    ----------
    kept : Path
        Where things are kept.
    """

    def __init__(self, folder: Path, same: dict, *, force: bool = False):
        self._folder = folder
        same = json.loads(json_text({**same, "version": __version__, **_versions()}))
        digest = hashlib.sha256(json.dumps(same, sort_keys=True).encode()).hexdigest()[:16]
        self.kept = folder / UNFINISHED / digest
        if force:
            shutil.rmtree(folder / UNFINISHED, ignore_errors=True)
        for other in sorted((folder / UNFINISHED).glob("*/run.json")):
            if other.parent != self.kept:
                print(_of_another(other, same, folder), file=sys.stderr)
        # a copy of the folder may hold damaged parts; they are made again
        with suppress(OSError, ValueError):
            if json.loads((self.kept / "run.json").read_text(encoding="utf-8")) != same:
                shutil.rmtree(self.kept, ignore_errors=True)
        write_file(self.kept / "run.json", json_text(same))

    def value(self, name: str):
        """What `keep` was given under this name, also by an earlier run; None where there is nothing, or nothing that can be read."""
        with suppress(OSError, ValueError):
            return json.loads((self.kept / f"{name}.json").read_text(encoding="utf-8"))
        return None

    def keep(self, name: str, value):
        """Keep a plain value, and give it back."""
        write_file(self.kept / f"{name}.json", json_text(value))
        return value

    def finished(self) -> None:
        """The result is written: what was kept of this run is not needed any more."""
        shutil.rmtree(self.kept, ignore_errors=True)
        with suppress(OSError):  # other runs' lie there
            (self._folder / UNFINISHED).rmdir()


def _versions() -> dict[str, str]:
    found = {}
    for name in COMPUTING:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _of_another(path: Path, same: dict, folder: Path) -> str:
    """In what an unfinished run that lies here too differs from this one."""
    try:
        theirs = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        theirs = {}
    keys = [key for key in dict.fromkeys(chain(theirs, same)) if theirs.get(key) != same.get(key)]
    differ = "; ".join(f"{key}: {theirs.get(key)!r:.60} there, {same.get(key)!r:.60} now" for key in keys[:4])
    return f"{folder} also holds an unfinished run of something else ({differ}). It is left there, and this one begins afresh; --force drops it."
