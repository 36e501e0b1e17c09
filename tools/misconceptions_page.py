"""Write docs/misconceptions.md from the misconception bank, the one place where its entries are kept.

python tools/misconceptions_page.py            write it anew
python tools/misconceptions_page.py --check    write nothing, exit 1 if it is not what would be written
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bertlook_course.claims import find_misconceptions as misconceptions
from bertlook_course.syllabus import LESSONS, short_reference
from tools.written import write_or_check

PAGE = ROOT / "docs" / "misconceptions.md"
HEADING = """# Common misconceptions, and what is true

{n} statements that students make and that accounts of attention repeat, by lesson: what is true instead, the source, and a run that refutes
the statement. `bertlook misconceptions --lesson 03` runs those of lesson 03; in Python, `refute("key")` from
`bertlook_course.claims.misconceptions.bank` runs one, on other data too. On other data a statement may come out as not refuted: try it on data of your own.

Written by `tools/misconceptions_page.py` from [misconceptions.toml](../data/misconceptions.toml): edit that.
"""


def page() -> str:
    """The page in Markdown: a section a lesson; an entry stands in full where it belongs, and is named where it is touched."""
    entries = misconceptions()
    parts = [HEADING.format(n=len(entries))]
    for lesson in LESSONS:
        here = [entry for entry in entries if lesson.number in entry.lessons]
        if not here:
            continue
        parts.append(f"## Lesson {lesson.number}\n")
        parts += [_full(entry) for entry in here if entry.lessons[0] == lesson.number]
        parts += [
            f"- “{entry.says}” ([`{entry.key}`](#{entry.key}), lesson {entry.lessons[0]})\n"
            for entry in here
            if entry.lessons[0] != lesson.number
        ]
    return "\n".join(parts)


def _full(entry) -> str:
    sources = "; ".join(f"{short_reference(key)}, {place}" for key, place in entry.sources)
    return f"### {entry.key}\n\n> {entry.says}\n\n{entry.true} ({sources})\n"


def main(argv: list[str] | None = None) -> int:
    otherwise = f"{PAGE.name} is not what the bank gives. Run: python tools/misconceptions_page.py"
    return write_or_check(argv, __doc__, PAGE, page, otherwise)


if __name__ == "__main__":
    raise SystemExit(main())
