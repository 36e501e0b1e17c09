"""Write docs/bibliography.md from docs/bibliography.bib, the one place where sources are described.

    python tools/bibliography.py            write it anew
    python tools/bibliography.py --check    write nothing, exit 1 if it is not what would be written

A field that we are not sure of is left out. `lessons` says where in the course a source is used, `note` what was seen of it.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bertlook_course.syllabus import read_bibliography, surnames
from tools.written import write_or_check

ROOT = Path(__file__).resolve().parent.parent
SOURCE, PAGE = ROOT / "docs" / "bibliography.bib", ROOT / "docs" / "bibliography.md"
HEADING = """# Bibliography

Every source that the course cites, by key; `bertlook misconceptions`, the [misconception bank](../data/misconceptions.toml) and the
[published numbers](../data/published/README.md) use the same keys. Written by `tools/bibliography.py` from
[bibliography.bib](bibliography.bib): edit that. Fields that we are not sure of are left out, pages among them. What is wrong in a
source is said beside its claim in the ledger (`bertlook claims`).

| key | source | lessons |
|---|---|---|
"""


def page(entries: dict[str, dict[str, str]]) -> str:
    """The page in Markdown: a row a source, in the order of the file."""
    return HEADING + "".join(
        f"| `{key}` | {_described(e)} | {e.get('lessons', '')} |\n" for key, e in entries.items()
    )


def _described(entry: dict[str, str]) -> str:
    others = " et al." if entry.get("author", "").endswith("and others") else ""
    who = ", ".join(surnames(entry)) + others + (f" ({entry['year']})" if "year" in entry else "")
    parts = [who, *([f"*{entry['title']}*"] if "title" in entry else [])]
    sentences = [", ".join(parts), entry.get("howpublished", ""), entry.get("note", "")]
    return " ".join(f"{sentence}." for sentence in sentences if sentence).replace("?*.", "?*")


def main(argv: list[str] | None = None) -> int:
    def make() -> str:
        return page(read_bibliography(SOURCE.read_text(encoding="utf-8")))

    otherwise = f"{PAGE.name} is not what {SOURCE.name} gives. Run: python tools/bibliography.py"
    return write_or_check(argv, __doc__, PAGE, make, otherwise)


if __name__ == "__main__":
    raise SystemExit(main())
