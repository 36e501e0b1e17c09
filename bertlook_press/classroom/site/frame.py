"""What every page of the site has: head, menu, foot, and links that lead to pages that are there."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from functools import cache
from html import escape, unescape
from pathlib import Path
from urllib.parse import unquote

from bertlook_teach import __version__

from ..export.cells import markdown

_FILES = Path(__file__).parent / "page"

# Nothing is asked of another host. A page opened from a disk has no host: there 'self' is the scheme file.
POLICY = (
    "default-src 'none'; connect-src 'self'; script-src 'self' file: 'unsafe-inline' blob:; worker-src blob:; style-src 'self' file: 'unsafe-inline'; "
    "img-src 'self' file: data:; font-src 'self' file: data:; base-uri 'none'; form-action 'none'"
)

MENU = {
    "index.html": "Course",
    "playground.html": "Playground",
    "exercises/index.html": "Exercises",
    "read/index.html": "Read",
    "search.html": "Search",
    "recorded/bert-base-uncased.html": "BERT-base",
    "api/index.html": "Reference",
}

_ADDRESS = re.compile(r"""(<(?:a|img)\b[^>]*?)\s(href|src)="([^"]*)"([^>]*>)""")

_HEADING = re.compile(r"<h([1-6])[^>]*>(.*?)</h\1>", re.DOTALL)

_TABLE = re.compile(r"<table\b.*?</table>", re.DOTALL)


@cache
def site_file(name: str) -> str:
    """A file that is the same on every site."""
    return (_FILES / name).read_text(encoding="utf-8")


def plain(markup: str) -> str:
    """The words of markup in one line."""
    return " ".join(unescape(re.sub(r"<[^>]+>", "", markup)).split())


def shortened(text: str, limit: int = 155) -> str:
    """As much of a text as a search engine shows, cut between words.

    >>> shortened("one two three", 9)
    'one two …'
    """
    return text if len(text) <= limit else text[: limit - 1].rsplit(" ", 1)[0].rstrip(",;:") + " …"


def to_page(place: str, target: str) -> str:
    """The address of one page of the site as another one writes it.

    >>> to_page("read/glossary.html", "decks/03.html"), to_page("index.html", "read/index.html")
    ('../decks/03.html', 'read/index.html')
    """
    return posixpath.relpath(target, posixpath.dirname(place) or ".")


def frame(
    place: str,
    title: str,
    description: str,
    body: str,
    *,
    there: frozenset[str],
    head: str = "",
    wide: bool = False,
) -> str:
    """A page.

    Parameters
    ----------
    place : str
        Its path on the site.
    title, description : str
        What a search engine shows.
    body : str
        Markup.
    there : set of str
        Paths of all pages: the menu names those that are there.
    head : str
        More for the head, before the site's own style.
    wide : bool
        Views and pictures use the whole width.
    """
    menu = "".join(
        f'<a href="{to_page(place, target)}"{_here(place, target)}>{name}</a>'
        for target, name in MENU.items()
        if target in there
    )
    name = title if place == "index.html" else f"{title} · bertlook"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="bertlook_teach {__version__}">
<meta name="description" content="{escape(shortened(description), quote=True)}">
<meta property="og:title" content="{escape(title, quote=True)}">
<meta property="og:description" content="{escape(shortened(description), quote=True)}">
<title>{escape(name)}</title>
<link rel="icon" href="data:,">
{head}<link rel="stylesheet" href="{to_page(place, "fonts.css")}">
<link rel="stylesheet" href="{to_page(place, "site.css")}">
<script>{site_file("look.js")}</script>
</head>
<body{' class="wide"' if wide else ""}>
<a class="skip" href="#text">To the text</a>
<header><nav aria-label="Site">{menu}</nav><button type="button" id="look" hidden>Dark</button></header>
<main id="text">
{body}
</main>
<footer><p>bertlook {__version__}. This page asks nothing of the network.</p></footer>
</body>
</html>
"""


def _here(place: str, target: str) -> str:
    if place == target:
        return ' aria-current="page"'
    folder = posixpath.dirname(place)
    return ' aria-current="true"' if folder and folder == posixpath.dirname(target) else ""


def document(source: str) -> tuple[str, str, str]:
    """A text in Markdown as markup: (title, description, body), without scripts, its headings with anchors, its tables in boxes that scroll."""
    body = markdown(source)
    seen: dict[str, int] = {}

    def anchored(found: re.Match) -> str:
        words = plain(found[2])
        slug = re.sub(r"[^\w\- ]", "", words.lower()).strip().replace(" ", "-") or "part"
        seen[slug] = seen.get(slug, -1) + 1
        name = f"{slug}-{seen[slug]}" if seen[slug] else slug
        return f'<h{found[1]} id="{escape(name, quote=True)}">{found[2]}</h{found[1]}>'

    body = _HEADING.sub(anchored, body)
    body = _TABLE.sub(boxed, body.replace("<th></th>", "<td></td>"))  # a column without a name has no heading
    # What can be scrolled must be reached by key.
    body = re.sub(r"<pre(?=[ >])", '<pre tabindex="0"', body)
    heading = re.search(r"<h1[^>]*>(.*?)</h1>", body, re.DOTALL)
    first = re.search(r"<p>(.*?)</p>", body, re.DOTALL)
    return plain(heading[1]) if heading else "", plain(first[1]) if first else "", body


def boxed(table: re.Match) -> str:
    """A table that is wider than a telephone scrolls by itself."""
    return f'<div class="table" role="group" aria-label="Table" tabindex="0">{table[0]}</div>'


def contents(body: str) -> str:
    """Links to the second-level headings of a long page."""
    parts = re.findall(r'<h2 id="([^"]*)">(.*?)</h2>', body, re.DOTALL)
    if len(parts) < 4:
        return ""
    items = "".join(f'<li><a href="#{name}">{escape(plain(words))}</a></li>' for name, words in parts)
    return f'<nav class="contents" aria-label="On this page"><details><summary>On this page</summary><ul>{items}</ul></details></nav>'


def led(body: str, source: str, place: str, pages: Mapping[str, str]) -> str:
    """Markup whose links between files of the repository lead to the pages made from them.

    Parameters
    ----------
    body : str
    source : str
        The file that it was made from, from the repository's root.
    place : str
        Its page.
    pages : mapping of file to page
        A link to a file without a page loses its address, and says what it named.
    """

    def lead(found: re.Match) -> str:
        opening, kind, address, rest = found[1], found[2], unescape(found[3]), found[4]
        path, _, anchor = address.partition("#")
        if not path or re.match(r"[a-zA-Z][\w+.-]*:|//", path):
            return found[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), unquote(path)))
        if target in pages:
            anchor = f"#{anchor}" if anchor else ""
            return f'{opening} {kind}="{escape(to_page(place, pages[target]) + anchor, quote=True)}"{rest}'
        return f'{opening} title="{escape(f"in the repository: {target}", quote=True)}"{rest}'

    return _ADDRESS.sub(lead, body)
