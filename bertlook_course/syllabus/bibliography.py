"""The sources of the course by key, and the PDFs of them that a teacher has put into a folder."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from bertlook_teach.disk import data_path

from .copies import course_folder

PAPERS = "BERTLOOK_PAPERS"  # variable that names another folder than `papers` beside the slides


def read_bibliography(text: str) -> dict[str, dict[str, str]]:
    """Key -> fields, the kind of entry as field "kind": enough of BibTeX for a file with one field a line.

    Raises
    ------
    ValueError
        If a line is not an entry, no field and no end, or a key comes twice.
    """
    entries: dict[str, dict[str, str]] = {}
    fields: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("%"):
            continue
        if start := re.fullmatch(r"@(\w+)\{([\w-]+),", line):
            if start[2] in entries:
                raise ValueError(f"line {number}: {start[2]} comes twice.")
            fields = entries[start[2]] = {"kind": start[1]}
        elif field := re.fullmatch(r"  (\w+) = \{(.*)\},", line):
            fields[field[1]] = field[2]
        elif line != "}":
            raise ValueError(f"line {number}: neither an entry nor a field nor an end: {line!r}.")
    return entries


def surnames(entry: Mapping[str, str]) -> list[str]:
    """The authors' last names; "and others" is left out.

    >>> surnames({"author": "de Leeuw, Jan and Cohen, Jacob and others"})
    ['de Leeuw', 'Cohen']
    """
    names = entry.get("author", "").split(" and ")
    return [name.split(",")[0].strip("{}") for name in names if name and name != "others"]


@cache
def _shipped() -> dict[str, dict[str, str]]:
    path = data_path().parent / "docs" / "bibliography.bib"
    if path.is_file():
        return read_bibliography(path.read_text(encoding="utf-8"))
    raise FileNotFoundError(
        f"bibliography.bib is missing: looked in {path.parent}. "
        "Install from a clone of the repository (pip install -e .) or from a complete wheel."
    )


def source(key: str) -> dict[str, str]:
    """The fields of one source.

    Raises
    ------
    KeyError
        If the bibliography has no such key; the message names the nearest ones.
    """
    if key not in _shipped():
        from difflib import get_close_matches

        near = get_close_matches(key, _shipped(), 3, 0.4) or list(_shipped())[:3]
        raise KeyError(f"the bibliography has no key {key!r}; did you mean {', '.join(near)}?")
    return _shipped()[key]


def short_reference(key: str) -> str:
    """As it stands in a sentence.

    >>> short_reference("clark2019"), short_reference("vig2019")
    ('Clark et al. (2019)', 'Vig (2019)')
    """
    entry = source(key)
    names = surnames(entry)
    many = len(names) > 2 or entry["author"].endswith("and others")
    who = f"{names[0]} et al." if many else " and ".join(names)
    return f"{who} ({entry['year']})" if "year" in entry else who


def papers_folder() -> Path:
    """Where PDFs are looked for: what the variable BERTLOOK_PAPERS names, else ``papers`` beside ``slides``."""
    named = os.environ.get(PAPERS)
    return Path(named).expanduser() if named else course_folder() / "papers"


def find_paper(key: str) -> Path | None:
    """The PDF of a source, named by its key, or None. Nothing is ever downloaded.

    Raises
    ------
    KeyError
        If the bibliography has no such key.
    """
    source(key)
    path = papers_folder() / f"{key}.pdf"
    return path if path.is_file() else None
