"""Nothing is cited that the bibliography does not have, and its page is what its source gives."""

import json
import re
from pathlib import Path

import pytest

from bertlook_course.claims import ledger
from tools import bibliography

ROOT = Path(__file__).resolve().parents[2]
ENTRIES = bibliography.read_bibliography((ROOT / "docs" / "bibliography.bib").read_text(encoding="utf-8"))
# "Clark et al. (2019)", "Das and Pavlick 2019", "Vig's posts of 2018" is not one: the last name before a year.
CITED = re.compile(r"\b(?:de )?([A-Z][A-Za-zÀ-ž]+(?:-[A-Z][a-zÀ-ž]+)?)(?: et al\.)?,? \(?((?:19|20)\d\d)\b")
NO_AUTHOR = {
    "Accounts",
    "Copyright",
    "March",
    "November",
    "May",
    "Need",
    "Nobody",
    "SEM",
    "SemEval",
    "At",
    "COLING",
    "CONLL",
    "Fernandes",
}
NOT_A_SOURCE = re.compile(r"(popular accounts|this course|our (control|inference)|users of)", re.IGNORECASE)


def cited(text: str) -> set[tuple[str, str]]:
    """(last name, year) of what looks like a citation."""
    return {(name, year) for name, year in CITED.findall(text) if name not in NO_AUTHOR}


def known() -> set[tuple[str, str]]:
    """The same of the bibliography; a name is the last part of "de Leeuw"."""
    names = {
        (name.split()[-1], entry.get("year", ""))
        for entry in ENTRIES.values()
        for name in bibliography.surnames(entry)
    }
    return names | {("Vig", "2018")}


def notebook_text(path: Path) -> str:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells)


TEXTS = [
    *sorted(ROOT.glob("bertlook_*/**/*.py")),
    *sorted((ROOT / "tools").glob("*.py")),
    *sorted((ROOT / "training").glob("*.*")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "data").glob("*/*.md")),
    ROOT / "README.md",
]
NOTEBOOKS = [*sorted((ROOT / "slides").glob("*.ipynb")), *sorted((ROOT / "notebooks").glob("*/*.ipynb"))]


def test_every_author_and_year_in_package_and_docs_is_in_the_bibliography():
    found = {pair for path in TEXTS for pair in cited(path.read_text(encoding="utf-8"))}
    assert not found - known()
    assert len(found) > 20


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_author_and_year_in_a_notebook_is_in_the_bibliography(path):
    assert not cited(notebook_text(path)) - known()


def test_every_source_of_the_ledger_is_in_the_bibliography():
    names, titles = known(), [entry.get("title", entry.get("note")) for entry in ENTRIES.values()]
    for claim in ledger():
        source = claim.source
        if NOT_A_SOURCE.search(source) or any(source.startswith(title[:25]) for title in titles):
            continue
        pairs = cited(source) or {(source.split(",")[0].split()[0], "")}
        assert pairs <= names, f"{claim.key}: {source}"


def test_a_source_that_is_missing_would_be_found():
    assert cited("as Turing (1950) has it; Tenney, Das and Pavlick 2019; in May 2025") - known() == {
        ("Turing", "1950")
    }


def test_every_source_of_the_published_tables_is_there():
    text = (ROOT / "data" / "published" / "README.md").read_text(encoding="utf-8")
    keys = {
        key.removesuffix("-code")
        for key in re.findall(r"^\| `([a-z]+\d{4}\w*(?:-\w+)?)` \|", text, re.MULTILINE)
    }
    assert len(keys) > 5 and keys <= set(ENTRIES)


def test_entries_are_sorted_and_complete():
    assert list(ENTRIES) == sorted(ENTRIES)
    for key, entry in ENTRIES.items():
        assert entry["author"] and entry["lessons"], key
        assert entry.get("title") or entry.get("note"), key
        assert "pages" not in entry, f"{key}: pages are not checked, so they are left out"


def test_the_page_is_what_the_source_gives():
    assert bibliography.main(["--check"]) == 0


def test_a_page_that_is_out_of_date_is_noticed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bibliography, "PAGE", tmp_path / "bibliography.md")
    assert bibliography.main(["--check"]) == 1 and "Run: python" in capsys.readouterr().out
    assert bibliography.main([]) == 0 and bibliography.main(["--check"]) == 0


@pytest.mark.parametrize(
    "text", ["title = {x}\n", "@misc{a,\n}\n@misc{a,\n}\n", "@misc{a,\n  title = x,\n}\n"]
)
def test_a_file_that_cannot_be_read_is_refused(text):
    with pytest.raises(ValueError, match="line"):
        bibliography.read_bibliography(text)
