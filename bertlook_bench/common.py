"""What the commands share: options of one name and one meaning, inputs, progress bars, the random twin, what a result is about."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, nullcontext
from itertools import islice
from pathlib import Path

from bertlook_course.options import add_force, add_out, at_least, bar, describe

__all__ = ["add_force", "add_out", "at_least", "bar", "describe"]  # handed on beside the functions below

MODELS = "specimen, minilm, a hub name or a folder, with -random for its random twin (default: specimen)"
RECORDED = "recorded:"
MODELS_TOO_RECORDED = "specimen, minilm, a hub name, a folder (with -random: its random twin), or recorded:FILE, recorded:FOLDER, recorded:bert-base-uncased (default: specimen)"
RECORD_WORDS = (
    "A treebank cuts words otherwise than a text (ca n't): `bertlook record --data` records them as it does."
)

MOST_FILES = 100_000  # of one folder: a home or a disk given by mistake holds more


# --- options -------------------------------------------------------------------------------------------
def add_model(parser: ArgumentParser, help: str = MODELS) -> None:
    parser.add_argument("--model", metavar="NAME", default="specimen", help=help)


def add_data(parser, help: str, *, nargs: str | None = None) -> None:
    """The annotated data that a command reads; plain text comes with ``--texts`` or ``--pairs``."""
    parser.add_argument("--data", metavar="FILE", nargs=nargs, help=help)


def add_texts(parser, *, nargs: str | None = None, default: str = "") -> None:
    """``--texts`` and ``--pairs``; the parser is a group that excludes one of them, or takes both."""
    parser.add_argument(
        "--texts",
        metavar="FILE",
        nargs=nargs,
        help=f"UTF-8, one text per line, .gz too; lines such as '# id = a' are comments{default}",
    )
    parser.add_argument(
        "--pairs",
        metavar="FILE",
        nargs=nargs,
        help="UTF-8, pairs of texts: two lines and an empty line, or a tab between them, .gz too",
    )


def add_treebank(parser: ArgumentParser) -> None:
    """The options that `read_treebank` reads."""
    default = "a treebank in CoNLL-U: files (.gz too), a folder, or - for standard input (default: the shipped treebank)"
    add_data(parser, default, nargs="+")
    add_on_error(parser)
    add_limit(parser, "sentences")


def add_on_error(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--on-error",
        choices=("stop", "skip"),
        default="stop",
        help="when a sentence or text cannot be read: stop and report where it is, or skip it and report how many were skipped (default: stop)",
    )


def add_limit(parser: ArgumentParser, what: str) -> None:
    parser.add_argument("--limit", type=int, metavar="N", help=f"use only the first N {what}")


def add_no_twin(parser: ArgumentParser, what: str = "the random twin") -> None:
    parser.add_argument("--no-twin", action="store_true", help=f"leave out {what}")


def add_recorded_twin(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--twin",
        metavar="recorded:FILE",
        help="with a recording: its random twin, recorded on the same inputs (`bertlook record --random-twin`)",
    )


def add_truncate(parser: ArgumentParser, *, default: bool = False) -> None:
    parser.add_argument(
        "--truncate",
        action=argparse.BooleanOptionalAction,
        default=default,
        help="cut inputs that are too long for the model and count them, or stop at the first one "
        f"(default: {'cut' if default else 'stop'})",
    )


def add_device(parser: ArgumentParser, *, batch_size: int | None = None) -> None:
    """Where to compute, how much at once, and whether to show how far it is."""
    if batch_size is not None:
        parser.add_argument(
            "--batch-size",
            type=int,
            default=batch_size,
            metavar="N",
            help=f"how many inputs to compute at a time (default: {batch_size})",
        )
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or mps (default: auto)")
    parser.add_argument("--quiet", action="store_true", help="show no progress bar")


# --- what was given ------------------------------------------------------------------------------------
def files_of(paths: Iterable[str | Path], stack: ExitStack) -> list[Path]:
    """The files behind names of files and folders; ``-`` is standard input, copied to a file until the stack closes, as a pipe is.

    Raises
    ------
    ValueError
        If a folder holds no file, or more than a corpus has.
    OSError
        If a folder inside cannot be read.
    """
    found: list[Path] = []
    for path in map(Path, paths):
        if str(path) == "-" or path.is_fifo():  # a corpus is read more than once, what flows once only
            copy = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bertlook-"))) / "stdin"
            with (
                nullcontext(sys.stdin.buffer) if str(path) == "-" else open(path, "rb") as flow,
                open(copy, "wb") as file,
            ):
                shutil.copyfileobj(flow, file, 1 << 20)
            # bytes of gzip are told by their beginning, there may be no name to tell
            with open(copy, "rb") as file:
                zipped = file.read(2) == b"\x1f\x8b"
            found.append(copy.rename(copy.with_suffix(".gz")) if zipped else copy)
        elif path.is_dir():
            found += _files_inside(path)
        else:
            found.append(path)
    return found


# What lies beside a corpus and says something of it.
_ABOUT = re.compile(
    r"(?i)(readme|license|licence|copying|changelog|contributing)\b|.*\.(md|html?|pdf|png|svg|py)$"
)


def _files_inside(folder: Path) -> list[Path]:
    def refuse(error: OSError):
        raise error  # a folder that is closed to us is a part of the corpus, lost without a word

    inside: list[Path] = []
    for where, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        inside += [p for p in (Path(where, name) for name in names if name[0] != ".") if p.is_file()]
        if len(inside) > MOST_FILES:
            raise ValueError(
                f"the folder {folder} holds more than {MOST_FILES:,} files; give the folders or files that hold the corpus."
            )
    trees = [path for path in inside if path.name.removesuffix(".gz").endswith((".conllu", ".conll"))]
    corpus = trees or [path for path in inside if not _ABOUT.match(path.name)]
    if not corpus:
        raise ValueError(f"the folder {folder} holds no file of a corpus; give one with the corpus in it.")
    if left := sorted({path.name for path in inside} - {path.name for path in corpus}):
        print(
            f"left out of {folder}: {', '.join(left[:10])}{' ...' if len(left) > 10 else ''}", file=sys.stderr
        )
    return sorted(corpus)


def say_skipped(skipped: Sequence, what: str = "broken sentences") -> None:
    """The first broken sentences or lines and the number of all, on stderr."""
    for one in skipped[:10]:
        print(f"left out: {one}", file=sys.stderr)
    if skipped:
        print(f"{len(skipped)} {what} left out in all.", file=sys.stderr)


# --- computing and reporting ---------------------------------------------------------------------------
def load_model(name: str, device: str):
    """The encoder of ``--model``, or the recording that ``recorded:NAME`` names."""
    from bertlook_teach.model import load_encoder, load_recording

    if name.startswith(RECORDED):
        named = name.removeprefix(RECORDED)
        if not named.strip():
            raise ValueError(
                f"{RECORDED} needs a name behind the colon: {RECORDED}bert-base-uncased, {RECORDED}bert-base-cased, {RECORDED}FILE.bertlook or "
                f"{RECORDED}FOLDER; got {name!r}."
            )
        return load_recording(named)
    return load_encoder(name, device=device)


def recorded_twin(args: Namespace, recording):
    """The recording of ``--twin``, checked to be the random twin of this recording; None if none was given."""
    from bertlook_course.claims import check_twin
    from bertlook_teach.model import Recording

    if args.twin is None:
        return None
    if not isinstance(recording, Recording):
        raise ValueError(  # noqa: TRY004 - an option that does not fit, not a call
            "--twin goes with --model recorded:NAME; for a model that can be run, the twin is made here."
        )
    if not args.twin.startswith(RECORDED):
        raise ValueError(f"--twin names a recording, recorded:FILE; got {args.twin!r}.")
    twin = load_model(args.twin, args.device)
    check_twin(recording, twin)
    return twin


def with_twin(args: Namespace, encoder) -> list:
    """The encoder, and its randomly initialised twin unless ``--no-twin`` was given. That of a recording is recorded, or missing, which is said."""
    from bertlook_teach.model import Recording, random_twin

    given = recorded_twin(args, encoder) if "twin" in args else None
    if given is not None and args.no_twin:
        raise ValueError("--twin gives a twin and --no-twin leaves it out; give only one of them.")
    if given is not None:
        return [encoder, given]
    if isinstance(encoder, Recording):
        if not args.no_twin:
            print(
                f"{encoder.badge}: no random twin beside it, since a recording cannot be initialised anew. `bertlook record --random-twin` "
                "records one; name it with --twin.",
                file=sys.stderr,
            )
        return [encoder]
    return [encoder] if args.no_twin else [encoder, random_twin(encoder)]


def first(stream: Iterable, limit: int | None) -> list:
    """The first items of a stream, or all."""
    return list(islice(stream, limit))
