"""The misconception bank: what is often said about attention, what is true, where that stands, and a run that refutes it.

The words lie in ``data/misconceptions.toml``, the runs in `bertlook_course.claims.misconceptions.refutation`, one function an entry, with the
entry's key as its name.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from inspect import signature

from bertlook_teach.disk import data_path
from bertlook_teach.model import NoMaskedLMHead

from .refutation import Refutation, all_refutations

_FIELDS = {"lessons", "says", "true", "sources"}


@dataclass(frozen=True)
class Misconception:
    """One entry of the bank.

    Attributes
    ----------
    key : str
        Words with hyphens: ``"columns-sum-to-one"``.
    lessons : tuple of str
        Two digits each; the first is where it belongs, the others touch it.
    says : str
        The misconception, as students (or accounts) say it.
    true : str
        What is true, in two to four sentences.
    sources : tuple of (str, str)
        Key of ``docs/bibliography.bib`` and the place there.
    """

    key: str
    lessons: tuple[str, ...]
    says: str
    true: str
    sources: tuple[tuple[str, str], ...]

    def __post_init__(self):
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", self.key):
            raise ValueError(f"a key is small letters, digits and hyphens; got {self.key!r}.")
        if not self.lessons or not all(re.fullmatch(r"\d\d", lesson) for lesson in self.lessons):
            raise ValueError(f"misconception {self.key!r} needs lessons of two digits; got {self.lessons!r}.")
        if not self.says.strip() or not self.true.strip() or not self.sources:
            raise ValueError(
                f"misconception {self.key!r} needs what is said, what is true and at least one source."
            )

    def refute(self, **inputs) -> Refutation:
        """Run its refutation; ``inputs`` replace the data it is run on."""
        return all_refutations()[self.key](**inputs)

    def refute_on(self, encoder, twin) -> Refutation:
        """Run its refutation on another model and its random twin, where it runs one; else as it is.

        What needs a masked-LM head is run on the specimen if the model has none, and the sentence says so.
        """
        asked = signature(all_refutations()[self.key]).parameters
        models = {name: model for name, model in (("encoder", encoder), ("twin", twin)) if name in asked}
        try:
            return self.refute(**models)
        except NoMaskedLMHead:
            found = self.refute()
            return found._replace(
                sentence=f"The specimen ({encoder.title.partition(',')[0]} has no masked-LM head): {found.sentence}"
            )


def read_misconceptions(text: str) -> tuple[Misconception, ...]:
    """The entries of a bank written as TOML: a table an entry, with lessons, says, true and sources.

    Raises
    ------
    ValueError
        If it is no TOML, two entries share a key, or a field is missing or unknown.
    """
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as reason:
        raise ValueError(f"the bank is not valid TOML: {reason}.") from None
    entries = []
    for key, fields in tables.items():
        if not isinstance(fields, dict) or set(fields) != _FIELDS:
            got = ", ".join(sorted(fields)) if isinstance(fields, dict) else repr(fields)
            raise ValueError(f"misconception {key!r} must have {', '.join(sorted(_FIELDS))}; got {got}.")
        sources = tuple((source, place) for source, place in fields["sources"])
        entries.append(Misconception(key, tuple(fields["lessons"]), fields["says"], fields["true"], sources))
    return tuple(entries)


@cache
def _shipped() -> tuple[Misconception, ...]:
    return read_misconceptions(data_path("misconceptions.toml").read_text(encoding="utf-8"))


def find_misconceptions(lesson: str | int | None = None) -> tuple[Misconception, ...]:
    """The whole bank, or the entries that belong to a lesson, in the order of the course.

    Parameters
    ----------
    lesson : str or int, optional
        ``"03"``, ``"3"`` or ``3``.

    Raises
    ------
    ValueError
        If no entry belongs to the lesson; the message lists those that have some.

    Examples
    --------
    >>> find_misconceptions(1)[0].key
    'columns-sum-to-one'
    """
    if lesson is None:
        return _shipped()
    wanted = str(lesson).zfill(2)
    found = tuple(entry for entry in _shipped() if wanted in entry.lessons)
    if not found:
        known = ", ".join(sorted({name for entry in _shipped() for name in entry.lessons}))
        raise ValueError(f"no misconception belongs to lesson {lesson!r}; there are some for {known}.")
    return found


def refute(key: str, **inputs) -> Refutation:
    """Run the refutation of one entry, on the data of the course or on others.

    Parameters
    ----------
    key : str
    **inputs
        Replace the defaults of the function of that name in `bertlook_course.claims.misconceptions.refutation`; an ``encoder`` where a model is run.

    Raises
    ------
    KeyError
        If there is no such entry; the message names the nearest ones.

    Examples
    --------
    >>> refute("columns-sum-to-one").sentence
    'Rows sum to 1; the columns receive 0.60, 1.30, 1.10.'
    >>> refute("columns-sum-to-one", weights=[[0.5, 0.5], [0.5, 0.5]]).refuted      # uniform: here it happens to be true
    False
    """
    entries = {entry.key: entry for entry in _shipped()}
    if key not in entries:
        from difflib import get_close_matches

        near = get_close_matches(key, entries, 3, 0.3) or list(entries)[:3]
        raise KeyError(f"no misconception {key!r}; did you mean {', '.join(near)}?")
    return entries[key].refute(**inputs)
