"""Cells to markup: text, code and outputs with the class names that JupyterLab gives them, so that one style sheet does."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from html import escape

from bertlook_course.syllabus import routes_of

from .pictures import INLINE, PICTURES, attached, rendered, with_pictures
from .state import VIEW, displayed

_FORMULA = re.compile(r"\$\$.+?\$\$|(?<![\w\\$])\$(?=\S)[^$`\n]+?(?<=\S)\$(?!\w)", re.DOTALL)

_CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)


@dataclass
class Slide:
    """One slide: blocks of markup with the fragment they belong to (None: shown at once), and what the speaker says."""

    name: str  # "h-v", counted from 0
    blocks: list[tuple[int | None, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    routes: tuple[int, ...] = ()  # minutes


def slides_of(notebook, output: Callable[[dict], str]) -> list[Slide]:
    """The slides of a notebook, by the slide types of RISE.

    Parameters
    ----------
    notebook : NotebookNode
    output : callable
        ``output(one)`` is the markup of one output of a code cell.
    """
    slides: list[Slide] = []
    across, down, fragment = -1, 0, None
    before: list[str] = []  # notes that stand above the first slide
    for cell in notebook.cells:
        kind = slide_type(cell)
        if kind == "skip" or cell.cell_type == "raw":
            continue
        if kind == "notes":
            (slides[-1].notes if slides else before).append(_text_of(cell))
            continue
        if kind == "slide" or not slides:
            across, down, fragment = across + 1, 0, None
            slides.append(Slide(f"{across}-{down}", routes=routes_of(cell)))
        elif kind == "subslide":
            down, fragment = down + 1, None
            slides.append(Slide(f"{across}-{down}", routes=routes_of(cell)))
        elif kind == "fragment":
            fragment = 0 if fragment is None else fragment + 1
        slides[-1].blocks.append((fragment, cell_markup(cell, output)))
    if slides:
        slides[0].notes[:0] = before
    return slides


def slide_type(cell) -> str:
    """Slide, subslide, fragment, notes, skip; "-" goes on with what stands before."""
    return cell.metadata.get("slideshow", {}).get("slide_type") or "-"


def _text_of(cell) -> str:
    """A text cell as markup; a cell of code that is a note stands as it is typed."""
    if cell.cell_type != "markdown":
        return f"<pre>{code(cell.source)}</pre>"
    return markdown(cell.source, cell.get("attachments"), cell.metadata.get(PICTURES))


def cell_markup(cell, output: Callable[[dict], str]) -> str:
    """One cell as it stands on a slide; hidden sources are left out."""
    if cell.cell_type == "markdown":
        text = _text_of(cell)
        return (
            '<div class="jp-Cell jp-MarkdownCell"><div class="jp-RenderedHTMLCommon jp-RenderedMarkdown '
            f'jp-MarkdownOutput">{text}</div></div>'
        )
    parts = []
    if cell.source.strip() and not cell.metadata.get("jupyter", {}).get("source_hidden"):
        parts.append(
            '<div class="jp-Cell-inputWrapper"><div class="jp-InputArea-editor"><div class="cm-scroller">'
            f'<pre class="cm-content">{code(cell.source)}</pre></div></div></div>'
        )
    if not cell.metadata.get("jupyter", {}).get("outputs_hidden"):
        outputs = "".join(output(one) for one in cell.outputs)
        if outputs:
            parts.append(
                f'<div class="jp-Cell-outputWrapper"><div class="jp-OutputArea">{outputs}</div></div>'
            )
    return f'<div class="jp-Cell jp-CodeCell">{"".join(parts)}</div>' if parts else ""


def static_output(output) -> str:
    """An output as a page without live views shows it."""
    kind = output["output_type"]
    if kind == "stream":
        return _text(output["text"], "jp-stderr" if output["name"] == "stderr" else "")
    if kind == "error":
        return _text("\n".join(output["traceback"]), "jp-stderr")
    data = output["data"]
    if "text/html" in data:
        return f'<div class="jp-RenderedHTMLCommon jp-RenderedHTML jp-OutputArea-output">{data["text/html"]}</div>'
    if "text/markdown" in data:
        text = markdown(data["text/markdown"], pictures=output.get("metadata", {}).get(PICTURES))
        return f'<div class="jp-RenderedHTMLCommon jp-RenderedMarkdown jp-OutputArea-output">{text}</div>'
    if "image/svg+xml" in data:
        return f'<div class="jp-RenderedSVG jp-OutputArea-output">{data["image/svg+xml"]}</div>'
    for image in ("image/png", "image/jpeg", "image/gif", "image/webp"):
        if image in data:
            name = escape(data.get("text/plain", "picture"), quote=True)
            content = "".join(data[image].split())
            return (
                '<div class="jp-RenderedImage jp-OutputArea-output">'
                f'<img src="data:{image};base64,{content}" alt="{name}"></div>'
            )
    # A formula stands as it is typed: the page carries no MathJax.
    for kind in ("text/latex", "text/plain"):
        if kind in data:
            return _text(data[kind])
    return ""


def live_output(output, names: dict[str, str]) -> str:
    """An output that comes alive in the page; the saved picture stands there until it does."""
    model = next(iter(displayed([output])), None)
    if model not in names:
        return static_output(output)
    data = {key: value for key, value in output["data"].items() if key != VIEW}
    picture = static_output({**output, "data": data})
    return f'<div class="jp-OutputArea-output" data-model="{names[model]}">{picture}</div>'


def markdown(source: str, attachments=None, pictures=None) -> str:
    """Markdown as markup, without scripts.

    Parameters
    ----------
    source : str
    attachments : mapping, optional
        Of the cell: name -> {kind: bytes in base64}.
    pictures : mapping, optional
        Address -> address of bytes, as `pictures.carry_pictures` notes it.
    """
    pictures, held = pictures or {}, attachments or {}
    made = with_pictures(rendered(source), lambda one: pictures.get(one) or attached(one, held))
    # The cleaner takes away every address of bytes; those of pictures wait outside.
    mark, shown = secrets.token_hex(8), INLINE.findall(made)
    numbers = iter(range(len(shown)))
    made = _cleaner()(INLINE.sub(lambda found: f"{mark}-{next(numbers)}", made))
    return re.sub(rf"{mark}-(\d+)", lambda found: shown[int(found[1])], made)


def has_formula(source: str) -> bool:
    """Whether a text holds a formula between dollars, which an exported page shows as it is typed.

    >>> has_formula("the $x^2$ of it"), has_formula("costs $5 or $6"), has_formula("`$x$`")
    (True, False, False)
    """
    return bool(_FORMULA.search(_CODE.sub("", source)))


def code(source: str) -> str:
    """Python with its words marked."""
    from nbconvert.filters import Highlight2HTML

    marked = Highlight2HTML(pygments_lexer="ipython3")(source)
    return re.search(r"<pre>(?:<span></span>)?(.*)</pre>", marked, re.DOTALL).group(1).rstrip("\n")


def _text(text: str, more: str = "") -> str:
    from nbconvert.filters import ansi2html

    marked = re.sub(r' id="[^"]*"', "", ansi2html(text)) if "\x1b" in text else escape(text, quote=False)
    return f'<div class="jp-RenderedText jp-OutputArea-output {more}"><pre>{marked.rstrip()}</pre></div>'


@cache
def _cleaner() -> Callable[[str], str]:
    """JupyterLab takes scripts and handlers out of markdown; so do we."""
    from nbconvert.preprocessors.sanitize import SanitizeHTML

    words = """a abbr b blockquote br code dd del details div dl dt em figcaption figure h1 h2 h3 h4 h5 h6 hr i img ins kbd li
        mark ol p pre s samp small span strong sub summary sup table tbody td tfoot th thead tr u ul var"""
    attributes = {
        "*": ["class", "style", "id", "title", "lang", "dir", "role", "align"],
        "a": ["href", "title"],
        "img": ["src", "alt", "width", "height"],
        "th": ["scope", "colspan", "rowspan"],
        "td": ["colspan", "rowspan"],
        "ol": ["start"],
    }
    return SanitizeHTML(tags=words.split(), attributes=attributes).sanitize_html_tags
