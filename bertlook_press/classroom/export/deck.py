"""A deck as one HTML file: reveal.js, the deck's own look, its views alive, and nothing fetched from anywhere."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from functools import cache
from html import escape
from pathlib import Path

from bertlook_course.syllabus import shipped_course
from bertlook_teach import __version__

from ...pages import engine_source, model_source
from .cells import Slide, live_output, slides_of
from .frames import shared_frames
from .links import page_links
from .reveal import script, style, typeface
from .state import Live

_PAGE = Path(__file__).parent / "page"

# Whatever the page holds, the browser fetches nothing for it: frames hold what the page itself writes.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; img-src data: blob:; "
    "font-src data:; frame-src 'self' file: blob: data:; base-uri 'none'; form-action 'none'"
)

# A page that computes reads the files of its models beside itself: from a disk as scripts, from a server by fetching them.
BESIDE = "connect-src 'self'; script-src 'self' file:"

# Of a deck's `rise` metadata, what page/start.js takes.
_SETTINGS = ("center", "controls", "progress", "slideNumber", "transition", "look", "part", "lesson")


def render_deck(
    notebook,
    live: Live,
    *,
    title: str,
    look: str,
    beside: Collection[str] = (),
    inside: Collection[str] = (),
) -> str:
    """The page.

    Parameters
    ----------
    notebook : NotebookNode
        Executed.
    live : Live
        Its widgets.
    title : str
    look : str
        The deck's style sheet, from `deck_look`.
    beside : collection of str
        Decks whose exported pages lie in the same folder, to which links lead.
    inside : collection of str
        The texts of the models' files, for a page that carries them; otherwise it reads them beside itself.
    """
    policy = POLICY if inside or not live.computed else POLICY.replace("script-src", BESIDE)
    rise = dict(notebook.metadata.get("rise", {}))
    slides = slides_of(notebook, lambda output: live_output(output, live.names))
    settings = {name: rise[name] for name in _SETTINGS if name in rise}
    settings["routes"] = sorted({minutes for slide in slides for minutes in slide.routes})
    host = f"{model_source()}\n{page_file('host.js')}"
    stacks, frames = shared_frames("\n".join(page_links(line, beside) for line in _stacks(slides)))
    bars = "".join(
        f'<{name} id="rise-{name}">{escape(str(rise[name]))}</{name}>'
        for name in ("header", "footer")
        if rise.get(name)
    )
    return "\n".join(
        [
            *page_head(title, _styles(rise, look, live), policy),
            '<body class="rise-enabled bertlook-exported">',
            "<noscript><p>This deck needs JavaScript to turn its slides; the handout does not.</p></noscript>",
            '<main><div class="reveal"><div class="slides">',
            stacks,
            "</div></div></main>",
            bars,
            _data("bertlook-settings", settings),
            _data("bertlook-frames", frames),
            _data("bertlook-widgets", live.page_data()),
            *(f"<script>\n{as_script(text)}\n</script>" for text in _scripts()),
            *(
                [f"<script>\n{text}\n</script>" for text in (*inside, as_script(engine_source()))]
                if live.computed
                else ()
            ),
            f"<script>\n(() => {{\n'use strict';\n{as_script(host)}\nbringToLife();\n}})();\n</script>",
            "</body>",
            "</html>",
            "",
        ]
    )


def deck_look(folder: Path, stylesheet: str = "") -> str:
    """The style sheet beside a deck (rise.css), with what it imports put in its place.

    A deck that has none wears the course's, without which long slides would be cut off. One that has its own gets the course's too if its
    metadata ask for it: ``rise.stylesheet`` "bertlook", which is then the second argument.
    """

    def read(path: Path) -> str:
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        return re.sub(
            r'@import\s+url\(["\']?([^)"\']+)["\']?\);?',
            lambda found: read(path.parent / found.group(1)),
            text,
        )

    own = read(Path(folder) / "rise.css") or read(Path(folder) / "slides" / "rise.css")
    wanted = stylesheet == "bertlook" or not (own or stylesheet)
    return (read(shipped_course() / "slides" / "rise.css") if wanted else "") + own


@cache
def page_file(name: str) -> str:
    """A file of the page that is the same in every export."""
    return (_PAGE / name).read_text(encoding="utf-8")


def as_script(text: str) -> str:
    """JavaScript that cannot end the element it stands in."""
    return re.sub(r"<(?=/script|!--)", r"\\x3c", text, flags=re.IGNORECASE)


def page_head(title: str, styles: list[str], policy: str) -> list[str]:
    """The lines of a self-contained page down to its body; ``policy`` says what the page may do, and that it may ask nobody."""
    return [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<meta name="generator" content="bertlook_teach {__version__}">',
        f"<title>{escape(title)}</title>",
        *(f"<style>\n{as_style(sheet)}\n</style>" for sheet in styles),
        "</head>",
    ]


def as_style(text: str) -> str:
    """A style sheet that cannot end the element it stands in."""
    return re.sub(r"</(?=style)", r"<\\/", text, flags=re.IGNORECASE)


def _data(name: str, content) -> str:
    text = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    # No character that means something to HTML, nor a line end that JavaScript once took for one.
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return f'<script type="application/json" id="{name}">{text}</script>'


def _stacks(slides: list[Slide]) -> list[str]:
    lines, column = [], None
    for slide in slides:
        across = slide.name.partition("-")[0]
        if across != column:
            lines += ["</section>"] * (column is not None) + ["<section>"]
            column = across
        routes = " ".join(map(str, slide.routes))
        lines.append(f'<section id="slide-{slide.name}" data-routes="{routes}">{_blocks(slide)}')
        if slide.notes:
            lines.append(f'<aside class="notes">{"".join(slide.notes)}</aside>')
        lines.append("</section>")
    return lines + ["</section>"] * (column is not None)


def _blocks(slide: Slide) -> str:
    """Cells that follow a fragment come with it."""
    markup, fragment = [], None
    for place, block in slide.blocks:
        if place != fragment:
            markup.append(
                ("</div>" if fragment is not None else "")
                + f'<div class="fragment" data-fragment-index="{place}">'
            )
            fragment = place
        markup.append(block)
    return "\n".join(markup) + ("</div>" if fragment is not None else "")


def _styles(rise: dict, look: str, live: Live) -> list[str]:
    theme = rise.get("theme") or "white"
    return [
        style("dist/reveal.css"),
        style(f"dist/theme/{theme}.css"),
        typeface() if theme == "white" else "",
        page_file("export.css"),
        look,
        *live.styles,
    ]


def _scripts() -> list[str]:
    return [
        script("dist/reveal.esm.js", "Reveal"),
        page_file("fill.js"),
        page_file("start.js"),
    ]
