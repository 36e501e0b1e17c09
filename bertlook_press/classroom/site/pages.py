"""The pages that are made from what is written: the course, texts, exercises, the page that says *not found*."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from html import escape
from pathlib import Path

from bertlook_course.syllabus import GUEST, LESSONS, MAP, PARTS, Lesson, deck_routes, lesson

from ..export.cells import code, static_output
from ..export.reveal import typeface
from ..worksheet import notebook_of
from .frame import contents, document, frame, led, shortened, site_file, to_page

_ABOUT = {
    MAP: ("The map of the course", "What will the course ask, and what do you believe before it?"),
    GUEST: ("Guest lecture", "One hour in somebody else's class: what do attention heads look at?"),
}

_COLOURS = (4, 1, 2, 3)  # of the parts of the course, as its decks have them

_SHELVES = {
    "Beside the lessons": "glossary misconceptions teaching slides bibliography",
    "What was found, and how": "results reliability patterns decisions training treebank stanford",
    "What the package can do": "instrument gallery views models architecture",
}


# --- texts --------------------------------------------------------------------------------------------------------
def texts(root: Path) -> dict[str, str]:
    """Every text of the repository that a reader of the site may want: its path from the root, its Markdown."""
    if not (root / "docs").is_dir():
        return {}
    found = [*root.glob("docs/*.md"), *root.glob("data/*/*.md"), *root.glob("data/*/*/README.md")]
    found += [path for path in (root / "CHANGELOG.md", root / "CONTRIBUTING.md") if path.is_file()]
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in sorted(found)}


def images(root: Path) -> dict[str, Path]:
    """The pictures of the texts, by their place below ``docs/images``."""
    found = sorted(path for path in root.glob("docs/images/**/*") if path.suffix in (".png", ".gif", ".svg"))
    return {path.relative_to(root / "docs" / "images").as_posix(): path for path in found}


def slug(name: str) -> str:
    """The page of a text, by its path.

    >>> slug("docs/results.md"), slug("data/bert_base/README.md"), slug("data/bert_base/measured/README.md")
    ('results', 'data-bert-base', 'data-bert-base-measured')
    """
    stem = name.removeprefix("docs/").removesuffix(".md").removesuffix("/README")
    return re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")


def text_page(source: str, name: str, place: str, pages: Mapping[str, str], there: frozenset[str]) -> str:
    """The page of one text."""
    title, description, body = document(source)
    body = led(body, name, place, pages)
    head, end, rest = body.partition("</h1>")
    body = f"{head}{end}{contents(body)}{rest}" if end else contents(body) + body
    return frame(place, title or slug(name), description or title, body, there=there)


def texts_page(found: Mapping[str, str], pages: Mapping[str, str], there: frozenset[str]) -> str:
    """All texts, on shelves."""
    place, by_slug = "read/index.html", {slug(name): name for name in found}
    shelves = {title: names.split() for title, names in _SHELVES.items()}
    shelves["Data, versions, taking part"] = [
        one for one in by_slug if not any(one in names for names in shelves.values())
    ]
    parts = []
    for title, names in shelves.items():
        items = []
        for name in (by_slug[one] for one in names if one in by_slug):
            heading, first, _ = document(found[name])
            items.append(
                f'<li><a href="{to_page(place, pages[name])}">{escape(heading)}</a><br>{escape(shortened(first))}</li>'
            )
        parts.append(f'<h2>{escape(title)}</h2><ul class="list">{"".join(items)}</ul>' if items else "")
    body = "<h1>To read</h1>" + "".join(parts)
    return frame(
        place,
        "To read",
        "Glossary, misconceptions, results, decisions and data of the course on BERT's heads.",
        body,
        there=there,
    )


# --- exercises ----------------------------------------------------------------------------------------------------
def notebook_page(path: Path, name: str, place: str, pages: Mapping[str, str], there: frozenset[str]) -> str:
    """An exercise or a solution to read, with the notebook itself to take along."""
    parts, title, description = [], "", ""
    for cell in notebook_of(path).cells:
        if cell.cell_type == "markdown":
            heading, first, body = document(cell.source)
            title, description = title or heading, description or first
            parts.append(body)
        elif cell.cell_type == "code":
            source = f'<pre tabindex="0">{code(cell.source)}</pre>' if cell.source.strip() else ""
            outputs = "".join(static_output(one) for one in cell.outputs or ())
            parts.append(
                source
                + (
                    f'<div class="outputs" tabindex="0" role="group" aria-label="Output">{outputs}</div>'
                    if outputs
                    else ""
                )
            )
    body = led("\n".join(parts), name, place, pages)
    kind = "Solution" if "/solutions/" in name else "Exercises"
    take = f'<p><a href="{path.name}" download>Take the notebook along</a>; it runs where bertlook is installed.</p>'
    head, end, rest = body.partition("</h1>")
    body = f"{head}{end}{take}{rest}" if end else take + body
    return frame(place, title or f"{kind}: {path.stem}", description or title or kind, body, there=there)


def exercises_page(pages: Mapping[str, str], there: frozenset[str]) -> str:
    """All exercises by lesson."""
    place, items = "exercises/index.html", []
    for one in LESSONS:
        links = {
            "Exercises": f"exercises/{one.stem}.html",
            "Solution": f"solutions/{one.stem}.html",
            "Deck": f"decks/{one.stem}.html",
            "Worksheet": f"worksheets/{one.stem}.html",
        }
        if links["Exercises"] in there:
            items.append(
                f'<li><h2>{_number(one.number)}{escape(one.title)}</h2><p class="links">{_links(place, links, there)}</p></li>'
            )
    body = (
        f'<h1>Exercises</h1><p class="lead">Each notebook checks its answers itself. Read them here; run them where bertlook is installed, '
        f'with <code>bertlook lab</code>.</p><ul class="lessons">{"".join(items)}</ul>'
    )
    return frame(
        place,
        "Exercises",
        "Exercises on BERT's attention heads, lesson by lesson, with checks.",
        body,
        there=there,
    )


# --- decks --------------------------------------------------------------------------------------------------------
def deck_on_site(page: str, stem: str, place: str, pages: Mapping[str, str]) -> str:
    """An exported deck or handout whose links lead to pages of the site, with a description for search engines."""

    def lead(found: re.Match) -> str:
        target = pages.get(found[1])
        return f' href="{to_page(place, target)}"' if target else found[0]

    if typeface() in page:  # once for the whole site, a quarter of a megabyte
        page = page.replace(typeface(), "").replace(
            "style-src 'unsafe-inline'", "style-src 'self' file: 'unsafe-inline'", 1
        )
        page = page.replace(
            "</title>", f'</title>\n<link rel="stylesheet" href="{to_page(place, "fonts.css")}">', 1
        )
    page = re.sub(r' title="in the course: ([^"]+)"', lead, page)
    about = escape(_titled(stem)[1], quote=True)
    return page.replace(
        "</title>",
        f'</title>\n<meta name="description" content="{about}">\n<link rel="icon" href="data:,">',
        1,
    )


def _titled(stem: str) -> tuple[str, str]:
    if stem in _ABOUT:
        return _ABOUT[stem]
    one = next((one for one in LESSONS if one.stem == stem), None)
    return (one.title, one.question) if one else (stem, stem)


# --- the course ---------------------------------------------------------------------------------------------------
def course_page(decks: Mapping[str, Path], there: Collection[str]) -> str:
    """The map of the course: every deck with its question, its minutes and what goes with it."""
    doors = {
        "Try a sentence": "playground.html",
        "Open the first deck": f"decks/{MAP}.html",
        "Exercises": "exercises/index.html",
        "Words": "read/glossary.html",
    }
    door = "".join(
        f'<li><a href="{target}">{name}</a></li>' for name, target in doors.items() if target in there
    )
    parts = [
        "<h1>What do BERT’s attention heads look at?</h1>",
        '<p class="lead">A course in fourteen lessons, and an instrument to measure every head. Each deck is live in the page: '
        + "choose a head, point at a word. Nothing is installed and nothing is sent anywhere.</p>",
        f'<ul class="doors">{door}</ul>',
    ]
    parts.append(_part(0, "Before the first lesson", [MAP], decks, there))
    for number, part in enumerate(PARTS):
        stems = [one.stem for one in LESSONS if one.part == number]
        parts.append(_part(_COLOURS[number], part, stems, decks, there))
    parts.append(_part(0, "In somebody else’s class", [GUEST], decks, there))
    return frame(
        "index.html",
        "bertlook: what BERT’s attention heads look at",
        "A course on BERT’s attention heads in fourteen lessons, with live slides, exercises and a page to try sentences on.",
        "\n".join(parts),
        there=frozenset(there),
        wide=True,
    )


def _part(
    colour: int, title: str, stems: list[str], decks: Mapping[str, Path], there: Collection[str]
) -> str:
    items = "".join(_card(stem, decks[stem], there) for stem in stems if stem in decks)
    style = f"--part: var(--part{colour})"
    return (
        f'<section class="part" style="{style}"><h2>{escape(title)}</h2><ul class="lessons">{items}</ul></section>'
        if items
        else ""
    )


def _card(stem: str, deck: Path, there: Collection[str]) -> str:
    title, question = _titled(stem)
    number = stem[:2] if stem[:2].isdecimal() and stem != MAP else ""
    page = f"decks/{stem}.html"
    heading = f'<a href="{page}">{escape(title)}</a>' if page in there else escape(title)
    routes = deck_routes(json.loads(deck.read_text(encoding="utf-8")))
    address = page + "?route=" if page in there else ""
    times = ", ".join(
        (f'<a href="{address}{minutes}">{minutes}</a>' if address else str(minutes))
        + f" ({len(slides)} slides)"
        for minutes, slides in routes.items()
    )
    needs = ", ".join(str(int(one)) for one in lesson(number).needs) if number else ""
    return (
        f"<li><h3>{_number(number)}{heading}</h3><p>{escape(question)}</p>"
        f'<p class="quiet">Minutes: {times}{f". After {needs}" if needs else ""}</p>'
        f'<p class="links">{_links("index.html", _with(stem), there)}</p></li>'
    )


def _with(stem: str) -> dict[str, str]:
    """What goes with a deck."""
    return {
        "Lesson": f"lessons/{stem}.html",
        "Handout": f"decks/{stem}_handout.html",
        "PDF": f"decks/{stem}_handout.pdf",
        "Exercises": f"exercises/{stem}.html",
        "Solution": f"solutions/{stem}.html",
        "Worksheet": f"worksheets/{stem}.html",
        "Key": f"worksheets/{stem}_key.html",
        "Exam": f"worksheets/{stem}_exam.html",
    }


def lesson_page(stem: str, there: Collection[str]) -> str:
    """One lesson at an address that stays: what a course page elsewhere links to, with all that belongs to it."""
    one = next(one for one in LESSONS if one.stem == stem)
    place = f"lessons/{stem}.html"
    doors = {
        "Slides": f"decks/{stem}.html",
        "Exercises": f"exercises/{stem}.html",
        "Worksheet": f"worksheets/{stem}.html",
    }
    door = "".join(
        f'<li><a href="{to_page(place, target)}">{name}</a></li>'
        for name, target in doors.items()
        if target in there
    )
    rest = {name: target for name, target in _with(stem).items() if name != "Lesson" and name not in doors}
    needed = [other for other in LESSONS if other.number in one.needs]
    leads = [other for other in LESSONS if one.number in other.needs]
    body = (
        f'<h1>{_number(one.number)}{escape(one.title)}</h1><p class="lead">{escape(one.question)}</p>'
        f'<ul class="doors">{door}</ul><p class="links">{_links(place, rest, there)}</p>'
        + _lessons("It stands on", needed, place, there)
        + _lessons("It leads to", leads, place, there)
    )
    return frame(place, one.title, one.question, body, there=frozenset(there))


def _lessons(title: str, lessons: list[Lesson], place: str, there: Collection[str]) -> str:
    """A heading and the lessons below it, each with its question."""
    items = "".join(
        f'<li><a href="{to_page(place, target)}">{_number(one.number)}{escape(one.title)}</a><br>{escape(one.question)}</li>'
        for one in lessons
        if (target := f"lessons/{one.stem}.html") in there
    )
    return f'<h2>{title}</h2><ul class="list">{items}</ul>' if items else ""


def _number(number: str) -> str:
    return f'<span class="number">{int(number)}</span>' if number else ""


def _links(place: str, links: Mapping[str, str], there: Collection[str]) -> str:
    return " ".join(
        f'<a href="{to_page(place, target)}">{name}</a>' for name, target in links.items() if target in there
    )


# --- the rest -----------------------------------------------------------------------------------------------------
def missing_page(url: str) -> str:
    """What a server shows for an address without a page: it may stand at any depth, so it carries its style and finds the way home."""
    home = escape(url.rstrip("/") + "/index.html", quote=True) if url else "index.html"
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><meta name="description" content="This page is not here."><link rel="icon" href="data:,">
<title>Not found · bertlook</title><style>{site_file("site.css")}</style><script>{site_file("look.js")}</script></head>
<body><main><h1>This page is not here</h1><p class="lead"><a id="home" href="{home}">To the map of the course</a></p></main>
<script>
// Without an address of its own the site ends where one of its folders begins.
const [, root] = location.pathname.match(/^(.*?\\/)(?:decks|lessons|exercises|solutions|worksheets|read|recorded|api)\\//) ?? [];
if (root && {json.dumps(not url)}) document.getElementById("home").href = root + "index.html";
</script></body></html>
"""


def site_map(url: str, places: list[str]) -> str:
    """The pages for search engines."""
    base = url.rstrip("/") + "/"
    rows = "".join(
        f"<url><loc>{escape(base + place.removesuffix('index.html'))}</loc></url>\n" for place in places
    )
    name = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{name}">\n{rows}</urlset>\n'
