"""A deck as a page to read: every slide under its heading, every picture with its sentence and its numbers."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Collection
from html import escape
from pathlib import Path

from bertlook_course.storage import find_chromium
from bertlook_teach import __version__
from bertlook_teach.views import picture_key

from .cells import slides_of, static_output
from .deck import page_file, page_head
from .errors import ExportError
from .links import page_links
from .state import VIEW

HANDOUT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
)

SECONDS_TO_PRINT = 120

_HEADING = re.compile(r"<h([1-6])\b([^>]*)>(.*?)</h\1>", re.DOTALL)

_FRAME = re.compile(r"<iframe\b.*?</iframe>", re.DOTALL)

_ID = re.compile(r'(<h[1-6]\b[^>]*?) id="[^"]*"')

_ELSEWHERE = '<p class="live-only">The numbers behind this picture are those of the cell that draws it: run it in the deck.</p>'

_LIVE_ONLY = '<p class="live-only">This view is live only: see it in the deck.</p>'


def render_handout(
    notebook,
    *,
    title: str,
    tables: dict[str, list[str]] | None = None,
    notes: bool = False,
    beside: Collection[str] = (),
) -> str:
    """The page.

    Parameters
    ----------
    notebook : NotebookNode
        Executed.
    title : str
    tables : dict, optional
        Numbers of the pictures of each displayed widget, by model id, and of other pictures, by `picture_key`: the
        recording's ``tables``.
    notes : bool
        Put what the speaker says under each slide.
    beside : collection of str
        Decks whose handouts lie in the same folder, to which links lead.
    """
    tables = tables or {}

    def output(one) -> str:
        data = one.get("data", {})
        key = data.get(VIEW, {}).get("model_id")
        if key is None and isinstance(data.get("text/html"), str):
            key = picture_key(data["text/html"])
        shown = static_output({**one, "data": {k: v for k, v in data.items() if k != VIEW}} if data else one)
        return _reached(_FRAME.sub(_LIVE_ONLY, shown)) + _numbers(tables.get(key, ()))

    sections, contents, first = [], [], True
    for number, slide in enumerate(slides_of(notebook, output), 1):
        body = "\n".join(markup for _, markup in slide.blocks)
        if "<figure" in body and "<table" not in body and _LIVE_ONLY not in body:
            body += _ELSEWHERE
        found = _HEADING.search(body)
        name = _plain(found.group(3)) if found else f"Slide {number}"
        body = _lowered(body, top=1 if first else 2)
        if not found:
            body = f"<h{1 if first else 2}>{escape(name)}</h{1 if first else 2}>{body}"
        first = False
        # The heading that is read out for the section is its first one.
        body = re.sub(r"<h([1-6])", rf'<h\1 id="slide-{number}"', body, count=1)
        said = ""
        if notes and slide.notes:
            said = f'<aside aria-label="Speaker notes for {escape(name, quote=True)}">{"".join(slide.notes)}</aside>'
        sections.append(f'<section aria-labelledby="slide-{number}">{body}{_lowered(said, top=3)}</section>')
        contents.append(f'<li><a href="#slide-{number}">{escape(name)}</a></li>')
    return "\n".join(
        [
            *page_head(f"{title}: handout", [page_file("handout.css")], HANDOUT_POLICY),
            "<body>",
            '<a class="skip" href="#slides">To the text</a>',
            f"<header><p>{escape(title)}: handout</p></header>",
            f'<nav aria-label="Contents"><details><summary>Contents</summary><ol>{"".join(contents)}</ol></details></nav>',
            '<main id="slides">',
            *(page_links(section, beside, "_handout.html") for section in sections),
            "</main>",
            f"<footer><p>Made by bertlook_teach {__version__}. Numbers are those of the model named beside them.</p></footer>",
            "</body>",
            "</html>",
            "",
        ]
    )


def print_pdf(page: Path, pdf: Path) -> Path:
    """Print a page with a headless Chromium.

    Raises
    ------
    ExportError
        If no Chromium or Chrome is found, or it does not print.
    """
    chromium = find_chromium()
    if chromium is None:
        raise ExportError(
            f"no PDF: no Chromium, Chrome or Edge was found. Install one, or name it in the variable BERTLOOK_CHROMIUM; or "
            f"open {page} in any browser and print it."
        )
    with tempfile.TemporaryDirectory(prefix="bertlook-chromium-") as profile:
        command = [
            str(chromium),
            "--headless",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-component-update",
            "--no-first-run",
            "--no-pdf-header-footer",
            "--generate-pdf-document-outline",  # a bookmark for each heading; an older Chromium ignores it
            f"--user-data-dir={profile}",
            f"--print-to-pdf={pdf}",
            page.resolve().as_uri(),
        ]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.insert(1, "--no-sandbox")  # Chromium refuses to be root in its sandbox
        before = pdf.stat().st_mtime_ns if pdf.exists() else None
        try:
            done = subprocess.run(
                command, check=False, capture_output=True, text=True, timeout=SECONDS_TO_PRINT
            )
            reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        except subprocess.TimeoutExpired:
            reason = f"it took more than {SECONDS_TO_PRINT} s"
        except OSError as error:
            reason = str(error)
    if not pdf.exists() or pdf.stat().st_mtime_ns == before:
        raise ExportError(f"no PDF: {chromium} did not print {page.name} ({reason}). The HTML is there.")
    return pdf


def _lowered(markup: str, *, top: int) -> str:
    """Headings not above a level; a page has one of the first, its title's."""

    def lower(found):
        level = max(int(found.group(1)), top) if top > 1 else int(found.group(1))
        return f"<h{level}{found.group(2)}>{found.group(3)}</h{level}>"

    return _HEADING.sub(lower, _ID.sub(r"\1", markup))


def _reached(output: str) -> str:
    """An output with a table is wider than a telephone and scrolls: it is reached by key."""
    if "<table" not in output:
        return output
    return output.replace(
        "jp-OutputArea-output", 'jp-OutputArea-output" tabindex="0" role="group" aria-label="Table', 1
    )


def _numbers(tables) -> str:
    shown = "".join(
        f'<div class="numbers" role="group" aria-label="Numbers of the picture" tabindex="0">{table}</div>'
        for table in tables
        if table
    )
    return shown


def _plain(markup: str) -> str:
    """The words of a heading."""
    from html import unescape

    return " ".join(unescape(re.sub(r"<[^>]+>", " ", markup)).split())
