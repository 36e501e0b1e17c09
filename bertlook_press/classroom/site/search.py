"""A page that searches the site: the words of every page lie beside it, and are read when somebody types."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from html import unescape
from pathlib import Path

from .frame import frame, site_file

PAGE, WORDS = "search.html", "search-words.js"

# A handout has the words of its deck; pages of views have few; the reference searches itself.
_NOT_SEARCHED = re.compile(
    r"_handout\.html$|^(?:404|index|playground|search)\.html$|^(?:api|recorded)/|_(?:key|exam)\.html$"
)

_UNSPOKEN = re.compile(
    r'<(script|style|svg|noscript|nav|button|select|aside)\b.*?</\1>|<section class="bertlook-live.*?>',
    re.DOTALL,
)

_SLIDE = re.compile(r'<section id="slide-([\d-]+)"[^>]*>(.*?)</section>', re.DOTALL)

_HEADING = re.compile(r'<h[1-6]\b(?: id="([^"]*)")?[^>]*>(.*?)</h[1-6]>', re.DOTALL)

_MAIN = re.compile(r"<main\b[^>]*>(.*)</main>", re.DOTALL)


def search_page(there: frozenset[str]) -> str:
    """The page with the field for words."""
    body = (
        '<h1>Search</h1><form id="ask" class="ask" role="search"><label class="grow">Words '
        '<input id="words" type="search" autocomplete="off" spellcheck="false"></label></form>'
        '<p id="said" class="quiet" role="status"></p><ol id="found" class="list"></ol>'
        "<noscript><p>The search needs JavaScript.</p></noscript>"
        f"<script>\n{site_file('search.js')}\n</script>"
    )
    style = f"<style>{site_file('playground.css')}</style>\n"
    about = "Search the slides, exercises and texts of the course on BERT's attention heads."
    return frame(PAGE, "Search", about, body, there=there, head=style)


def search_words(folder: Path, places: Iterable[str]) -> str:
    """The words of the pages of a site, as a classic script, because a page that was opened from a disk may not fetch.

    Parameters
    ----------
    folder : Path
        The site.
    places : iterable of str
        Paths of its files; those that are searched are read.
    """
    found = []
    for place in sorted(places):
        if place.endswith(".html") and not _NOT_SEARCHED.search(place):
            page = (folder / place).read_text(encoding="utf-8")
            title = re.search(r"<title>(.*?)</title>", page, re.DOTALL)
            name = unescape(title[1]).removesuffix(" · bertlook") if title else place
            found.append([place, name, sections(page)])
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    return f"globalThis.bertlookWords = {text};\n"


def sections(page: str) -> list[list[str]]:
    """The parts of a page, each [anchor, heading, words]: slides of a deck, or what stands under each heading.

    >>> sections('<main>Before. <h2 id="a">One <i>head</i></h2><p>It looks</p><p>back.</p></main>')
    [['', '', 'Before.'], ['#a', 'One head', 'It looks back.']]
    >>> sections('<main><section id="slide-2-0" data-routes=""><h2>Two</h2>heads</section></main>')
    [['#/slide-2-0', 'Two', 'heads']]
    """
    main = _MAIN.search(page)
    body = _UNSPOKEN.sub(" ", main[1] if main else "")
    if slides := _SLIDE.findall(body):
        return [[f"#/slide-{name}", *_headed(markup)] for name, markup in slides]
    starts = list(_HEADING.finditer(body))
    parts = [["", "", _words(body[: starts[0].start()] if starts else body)]]
    for one, following in zip(starts, [*starts[1:], None]):
        until = following.start() if following else len(body)
        anchor = f"#{unescape(one[1])}" if one[1] else ""
        parts.append([anchor, _words(one[2]), _words(body[one.end() : until])])
    return [part for part in parts if part[1] or part[2]]


def _headed(slide: str) -> list[str]:
    heading = _HEADING.search(slide)
    rest = slide.replace(heading[0], " ", 1) if heading else slide
    return [_words(heading[2]) if heading else "", _words(rest)]


def _words(markup: str) -> str:
    """What is read, in one line."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", markup)).split())
