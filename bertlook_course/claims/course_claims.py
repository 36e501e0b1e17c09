"""The ledger: the claims of all lessons, and the evidence that decides them, by name.

Stands above evidence, verdicts and lessons, none of which knows it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path

from .claim import Claim, Verdict
from .evidence import Evidence, Resources, collect
from .lesson_files import read_claims
from .verdicts import decide

FOLDER = Path(__file__).parent / "lessons"


def ledger(lesson: str | int | None = None) -> tuple[Claim, ...]:
    """The claims of one lesson, or of all, in the order of the course.

    Parameters
    ----------
    lesson : str or int, optional
        For example ``"03"`` or 3.

    Raises
    ------
    ValueError
        If the lesson has no claims (the message lists those that have), or a claim is not written down as it should be.
    """
    return tuple(claim for number in _lessons(lesson) for claim in _claims(number))


def evidence_table() -> dict[str, Callable]:
    """Name -> collector of every lesson's evidence, and of the patterns among the claims.

    Raises
    ------
    ValueError
        If two lessons give different evidence one name.
    """
    found = {claim.evidence: claim.collect for claim in ledger() if claim.collect is not None}
    for number in _lessons():
        for name, collector in _collectors(number).items():
            if found.setdefault(name, collector) is not collector:
                raise ValueError(
                    f"evidence {name!r} of lesson {number} has the name of another lesson's evidence."
                )
    return found


def decide_lesson(lesson: str | int, encoder, *, n: int | None = None, **options) -> list[Verdict]:
    """`bertlook_course.claims.decide` for the claims of one lesson, on the first ``n`` of the shipped inputs of each kind.

    >>> decide_lesson(3, load_encoder("specimen"), n=40)      # doctest: +SKIP
    """
    if n is not None and options.get("resources") is not None:
        raise ValueError("give n or resources, not both; Resources(limit=n) says how many to use.")
    resources = options.pop("resources", None) or Resources(limit=n)
    return decide(ledger(lesson), encoder, resources=resources, **options)


def collect_evidence(
    name: str,
    encoder,
    resources: Resources | None = None,
    *,
    evidence: Mapping[str, Callable] | None = None,
    progress: Callable[[Iterable, str], Iterable] | None = None,
) -> Evidence:
    """The named evidence of some lesson for one model: `bertlook_course.claims.collect` by name.

    Parameters
    ----------
    name : str
        A key of some lesson's ``EVIDENCE``, or of ``evidence``.
    encoder : Encoder
    resources : Resources, optional
        Default: all shipped texts.
    evidence : dict of name -> collector, optional
        Searched before the lessons' tables.
    progress : function(stream, label), optional

    Raises
    ------
    CannotDecide, ValueError
        As `collect` does; ValueError also if there is no such evidence.
    """
    own = evidence or {}
    table = own if name in own else evidence_table() | own
    if name not in table:
        raise ValueError(f"there is no evidence {name!r}; there is: {', '.join(sorted(table)) or 'none'}.")
    return collect(name, table[name], encoder, resources, progress=progress)


def _lessons(lesson: str | int | None = None) -> list[str]:
    """Numbers of the lessons that have claims, or the one asked for."""
    files = sorted(FOLDER.glob("lesson*.toml"))
    numbers = [file.stem[6:] for file in files if re.fullmatch(r"lesson\d\d", file.stem)]
    if lesson is None:
        return numbers
    if str(lesson).zfill(2) not in numbers:
        raise ValueError(f"no lesson {lesson!r} with claims; there is: {', '.join(numbers) or 'none'}.")
    return [str(lesson).zfill(2)]


def _claims(number: str) -> tuple[Claim, ...]:
    text = (FOLDER / f"lesson{number}.toml").read_text(encoding="utf-8")
    return read_claims(text, number, _collectors(number))


def _collectors(number: str) -> dict[str, Callable]:
    """Name -> collector of the evidence that the claims of a lesson can name."""
    return import_module(f".lessons.lesson{number}", __package__).EVIDENCE
