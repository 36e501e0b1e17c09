"""A notebook that was not run here may be a stranger's: what its saved outputs would run in the reader's browser is taken out."""

from __future__ import annotations

import json
import re
from functools import cache
from html import escape
from html.parser import HTMLParser

from .state import saved_state

# With all that stands in them; and those that are left out alone, their text stays.
_WHOLE = frozenset(
    [
        "script",
        "iframe",
        "frame",
        "frameset",
        "object",
        "embed",
        "applet",
        "template",
        "noscript",
        "foreignobject",
    ]
)

_TAGS = frozenset(
    [
        "base",
        "meta",
        "link",
        "form",
        "input",
        "button",
        "textarea",
        "xmp",
        "plaintext",
        "noembed",
        "noframes",
        "portal",
        "html",
        "head",
        "body",
        "animate",
        "animatemotion",
        "animatetransform",
        "set",
        "handler",
        "listener",
        "annotation-xml",
    ]
)

_EMPTY = frozenset(["area", "br", "col", "hr", "img", "source", "track", "wbr"])

_ADDRESSES = frozenset(
    ["href", "xlink:href", "src", "srcset", "data", "poster", "background", "cite", "longdesc"]
)

_NEVER = frozenset(["srcdoc", "formaction", "action", "ping", "manifest"])

_HARMLESS = re.compile(
    r"#|https?://|mailto:|data:image/(png|jpeg|gif|webp|svg\+xml)[;,]|[^:]*$", re.IGNORECASE
)

_MARKUP = ("text/html", "image/svg+xml")

_HTML_KINDS = ("HTMLModel", "HTMLMathModel")


def harmless(notebook) -> int:
    """Take out, in place, what saved outputs and widgets would run; how many outputs had something of the kind."""
    changed = 0
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            for kind in _MARKUP:
                if kind in data:
                    clean = without_scripts(data[kind])
                    changed += clean.had_scripts
                    data[kind] = clean.markup
    models = saved_state(notebook)
    forget_foreign_views(models)  # what is displayed stays a picture, with the reason
    for model in models.values():
        traits = model["state"]
        for trait in ("value",) if model["model_name"] in _HTML_KINDS else ("picture",):
            if isinstance(traits.get(trait), str):
                traits[trait] = without_scripts(traits[trait]).markup
    return changed


def forget_foreign_views(models: dict) -> None:
    """Take those saved widgets out, in place, whose script is not one of ours: a front end may run it before anything is shown."""
    for name, model in list(models.items()):
        traits = model.get("state") if isinstance(model, dict) else None
        whole = isinstance(traits, dict) and '"_esm"' not in json.dumps(model.get("buffers", ""))
        script = traits.get("_esm") if whole else 0  # never one that comes as bytes
        if script is not None and not (isinstance(script, str) and script in _own_modules()):
            del models[name]


@cache
def _own_modules() -> frozenset[str]:
    from bertlook_course.widgets import module_source, view_names

    return frozenset(map(module_source, view_names()))


def without_scripts(markup: str) -> _Cleaned:
    """Markup without scripts, handlers, frames, forms and addresses that run; written anew, so that a browser reads what was checked here."""
    cleaned = _Cleaned()
    cleaned.feed(markup)
    cleaned.close()
    return cleaned


class MarkupReader(HTMLParser):
    """Reads any markup to its end: Python's parser raises at ``<![`` without a name behind it, which for a browser is a remark."""

    def parse_marked_section(self, i, report=1):
        place = self.lineno, self.offset
        try:
            return super().parse_marked_section(i, report)
        except AssertionError:
            self.lineno, self.offset = place  # it had gone on before it raised
            return self.parse_bogus_comment(i)


class _Cleaned(MarkupReader):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self._parts: list[str] = []
        self._inside: list[str] = []  # of the elements that are left out whole
        self.had_scripts = False

    @property
    def markup(self) -> str:
        return "".join(self._parts)

    def handle_starttag(self, tag, attributes, closed=False):
        if tag in _WHOLE:
            self.had_scripts = True
            if not closed:
                self._inside.append(tag)
        if self._inside or tag in _TAGS or not re.fullmatch(r"[a-z][a-z0-9:-]*", tag):
            return
        kept = [(name, value or "") for name, value in attributes if self._keeps(name, value or "")]
        said = "".join(f' {name}="{escape(value)}"' for name, value in kept)
        self._parts.append(f"<{tag}{said}{'/' if closed else ''}>")

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes, closed=True)

    def handle_endtag(self, tag):
        if tag in self._inside:
            del self._inside[self._inside.index(tag) :]
        elif not self._inside and tag not in _TAGS | _EMPTY and re.fullmatch(r"[a-z][a-z0-9:-]*", tag):
            self._parts.append(f"</{tag}>")

    def handle_data(self, data):
        if self._inside:
            return
        if self.cdata_elem:  # a style sheet: in SVG a browser reads elements there
            self._parts.append(data.replace("<", ""))
        else:
            self._parts.append(escape(data, quote=False))

    def _keeps(self, name: str, value: str) -> bool:
        address = re.sub(r"[\x00-\x20\x7f-\xa0\u2028\u2029]", "", value)
        runs = (
            name.startswith("on") or name in _NEVER or (name in _ADDRESSES and not _HARMLESS.match(address))
        )
        self.had_scripts |= runs
        return not runs and re.fullmatch(r"[a-z_:][\w:.-]*", name, re.ASCII) is not None
