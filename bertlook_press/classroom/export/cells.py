"""Cells to markup: text, code and outputs with the class names that JupyterLab gives them, so that one style sheet does."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from html import escape

from bertlook_course.syllabus import routes_of

from .state import VIEW, displayed

_FORMULA = re.compile(r"\$\$.+?\$\$|(?<![\w\\$])\$(?=\S)[^$`\n]+?(?<=\S)\$(?!\w)", re.DOTALL)

_INLINE = re.compile(r"data:image/(?:png|jpeg|gif|svg\+xml);base64,[A-Za-z0-9+/=]+")

_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")

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
    for cell in notebook.cells:
        kind = cell.metadata.get("slideshow", {}).get("slide_type") or "-"
        if kind == "skip" or cell.cell_type == "raw":
            continue
        if kind == "notes":
            if slides:
                slides[-1].notes.append(markdown(cell.source, cell.get("attachments")))
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
    return slides


def cell_markup(cell, output: Callable[[dict], str]) -> str:
    """One cell as it stands on a slide; hidden sources are left out."""
    if cell.cell_type == "markdown":
        text = markdown(cell.source, cell.get("attachments"))
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
        text = markdown(data["text/markdown"])
        return f'<div class="jp-RenderedHTMLCommon jp-RenderedMarkdown jp-OutputArea-output">{text}</div>'
    if "image/svg+xml" in data:
        return f'<div class="jp-RenderedSVG jp-OutputArea-output">{data["image/svg+xml"]}</div>'
    for image in ("image/png", "image/jpeg", "image/gif"):
        if image in data:
            name = escape(data.get("text/plain", "picture"), quote=True)
            content = "".join(data[image].split())
            return (
                '<div class="jp-RenderedImage jp-OutputArea-output">'
                f'<img src="data:{image};base64,{content}" alt="{name}"></div>'
            )
    if "text/plain" in data:
        return _text(data["text/plain"])
    return ""


def live_output(output, names: dict[str, str]) -> str:
    """An output that comes alive in the page; the saved picture stands there until it does."""
    model = next(iter(displayed([output])), None)
    if model not in names:
        return static_output(output)
    data = {key: value for key, value in output["data"].items() if key != VIEW}
    picture = static_output({**output, "data": data})
    return f'<div class="jp-OutputArea-output" data-model="{names[model]}">{picture}</div>'


def markdown(source: str, attachments=None) -> str:
    """Markdown as markup, without scripts."""
    from nbconvert.filters.markdown_mistune import InvalidNotebook, IPythonRenderer, MarkdownWithMath

    from .errors import ExportError

    held = {name: _bytes_only(files) for name, files in (attachments or {}).items()}
    renderer = IPythonRenderer(escape=False, attachments=held, exclude_anchor_links=True, anchor_link_text="")
    try:
        made = MarkdownWithMath(renderer=renderer).render(source)
    except (InvalidNotebook, RuntimeError) as error:  # a picture that the cell names and does not hold
        raise ExportError(
            f"a text cell shows a picture that the notebook does not hold ({error}): {source[:60]!r}"
        ) from None
    # The cleaner takes away every address of bytes; those of pictures wait outside.
    mark, pictures = secrets.token_hex(8), _INLINE.findall(made)
    numbers = iter(range(len(pictures)))
    made = _cleaner()(_INLINE.sub(lambda found: f"{mark}-{next(numbers)}", made))
    return re.sub(rf"{mark}-(\d+)", lambda found: pictures[int(found[1])], made)


def _bytes_only(files) -> dict[str, str]:
    """What of an attachment is bytes, which is all that an address of bytes may hold."""
    pairs = files.items() if isinstance(files, dict) else ()
    return {kind: data for kind, data in pairs if isinstance(data, str) and _BASE64.fullmatch(data)}


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
