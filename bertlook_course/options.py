"""Options and progress bars that every command has under one name."""

from __future__ import annotations

import argparse
import sys
from argparse import ArgumentParser, Namespace
from functools import partial
from pathlib import Path
from textwrap import fill

from .storage import refuse_below

_WIDTH = 100


def describe(parser: ArgumentParser, what: str, example: str, *below: str) -> None:
    """Set the description of a command, and below its options the notes and an example to copy."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = fill(what, _WIDTH)
    notes = [fill(note, _WIDTH, break_on_hyphens=False) for note in below]
    parser.epilog = "\n\n".join([*notes, f"Example:\n  bertlook {example}"])


def add_out(parser: ArgumentParser, *, required: bool = True, help: str = "folder for the result") -> None:
    parser.add_argument("--out", metavar="DIR", required=required, help=help)


def add_model(parser: ArgumentParser, what: str) -> None:
    """``--model``, of commands whose own model is the one that the course chose."""
    parser.add_argument(
        "--model",
        metavar="NAME",
        help=f"{what}: specimen, minilm, a hub name or a folder, with -random for its random twin (default: each lesson's own)",
    )


def model_from_anywhere(name: str) -> str:
    """A model's name as every folder understands it: one that lies in a folder, or its random twin, by the whole path."""
    trained = name.removesuffix("-random")
    folder = Path(trained).expanduser()
    return f"{folder.resolve()}{name[len(trained) :]}" if folder.is_dir() else name


def add_force(parser: ArgumentParser) -> None:
    """``--force``, of runs that continue after a stop."""
    parser.add_argument(
        "--force",
        action="store_true",
        help="start from the beginning: delete what stopped runs have left in the folder",
    )


def at_least(args: Namespace, **least: int | tuple[int, str]) -> None:
    """Refuse options below their least value: ``limit=2``, or ``limit=(2, "two texts, for intervals")``.

    Raises
    ------
    ValueError
        With option, least value and what was given.
    """
    refuse_below(vars(args), least, lambda name: f"--{name.replace('_', '-')}")


def bar(args: Namespace, what: str | None = None, unit: str = "text", total: int | None = None) -> partial:
    """A function that shows on stderr how far a stream has been read; silent with ``--quiet``."""
    from tqdm import tqdm

    return partial(tqdm, desc=what, unit=unit, total=total, disable=args.quiet, file=sys.stderr)
