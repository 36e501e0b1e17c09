"""Pictures that a notebook names by an address: carried into the page, or named as lost. An exported page asks nobody for anything."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping
from html import escape
from pathlib import Path
from urllib.parse import unquote, unquote_to_bytes

from bertlook_course.storage import visible

from .strangers import MarkupReader

PICTURES = "bertlook_pictures"  # in the metadata of a cell or an output: address as it is written -> address of bytes

MOST_BYTES = 20_000_000  # of one picture

KINDS = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".svg": "image/svg+xml",
    ".webp": "image/webp",
    ".avif": "image/avif",
    ".bmp": "image/bmp",
}

INLINE = re.compile(r"data:image/(?:png|jpeg|gif|svg\+xml|webp|avif|bmp);base64,[A-Za-z0-9+/=]+")

_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")

# What may name a picture beside <img>, by element; an attribute of any element under "".
_ELSEWHERE = {
    "source": ("srcset",),
    "image": ("href", "xlink:href"),
    "object": ("data",),
    "embed": ("src",),
    "input": ("src",),
    "video": ("poster",),
    "": ("background",),
}

_STYLE = re.compile(r"url\(\s*[\"']?([^\"')#][^\"')]*)")

_MAY_NAME = re.compile(
    r"<(?:img|source|image|object|embed|input|video)\b|\bbackground\s*=|url\(", re.IGNORECASE
)


class _Lost(Exception):
    """Why a picture is not carried."""


def carry_pictures(notebook, folder: Path) -> list[str]:
    """Note beside every text and output, in place, the bytes of the pictures that they name; what is lost and why is given back.

    Texts keep what is written in them: `cells.markdown` puts the bytes where a reader of Markdown finds a picture. Outputs of HTML get them.

    Parameters
    ----------
    notebook : NotebookNode
    folder : path
        Where the notebook lies: of a relative address, the files below it are carried and no others.

    Returns
    -------
    list of str
        "ADDRESS is not carried: REASON", once each.
    """
    lost: dict[str, str] = {}

    def carried(markup: str, attachments: Mapping | None = None) -> dict[str, str]:
        tags, found = _Tags(markup), {}
        for address in dict.fromkeys(tags.addresses()):
            try:
                found[address] = _bytes_of(address, Path(folder), attachments or {})
            except _Lost as reason:
                lost[address] = str(reason)
        lost.update(dict.fromkeys(tags.elsewhere, "an exported page shows pictures of <img> alone"))
        return found

    for cell in notebook.cells:
        cell.metadata.pop(PICTURES, None)
        if cell.cell_type == "markdown" and (
            found := carried(rendered(cell.source), cell.get("attachments"))
        ):
            cell.metadata[PICTURES] = found
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            output.get("metadata", {}).pop(PICTURES, None)
            markup = next(
                (data[kind] for kind in ("text/html", "image/svg+xml") if isinstance(data.get(kind), str)), ""
            )
            if "text/html" in data and _MAY_NAME.search(markup):
                data["text/html"] = with_pictures(markup, carried(markup).get)
            elif _MAY_NAME.search(markup):
                carried(markup)
            elif "text/markdown" in data and (found := carried(rendered(data["text/markdown"]))):
                output.setdefault("metadata", {})[PICTURES] = found
    return [f"{visible(address)[:100]} is not carried: {reason}" for address, reason in lost.items()]


def rendered(source: str) -> str:
    """Markdown as markup, as the reader of nbconvert makes it; pictures have the addresses that are written."""
    from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

    class Renderer(IPythonRenderer):
        def _embed_image_or_attachment(self, src: str) -> str:
            return src

    renderer = Renderer(escape=False, exclude_anchor_links=True, anchor_link_text="")
    return MarkdownWithMath(renderer=renderer).render(source)


def with_pictures(markup: str, known: Callable[[str], str | None]) -> str:
    """Markup in which each ``<img>`` whose address is known has what it is known as."""
    parts, done = [], 0
    for begin, written, attributes, address in _Tags(markup).images:
        if (bytes_of := known(address)) and bytes_of != attributes.get("src"):
            said = {**attributes, "src": bytes_of}
            said.pop("srcset", None)
            parts += [
                markup[done:begin],
                "<img",
                *(f' {name}="{escape(value)}"' for name, value in said.items()),
                ">",
            ]
            done = begin + len(written)
    return "".join([*parts, markup[done:]])


class _Tags(MarkupReader):
    """The pictures that a markup names: those of ``<img>`` with their places, and the addresses that only something else names."""

    def __init__(self, markup: str):
        super().__init__(convert_charrefs=True)
        self.images: list[tuple[int, str, dict[str, str], str]] = []
        self.elsewhere: list[str] = []
        self._lines = [0, *(found.end() for found in re.finditer("\n", markup))]
        self._choice: list[str] | None = (
            None  # of an open <picture>: what its sources name, until its <img> comes
        )
        self.feed(
            markup[: markup.rfind(">") + 1]
        )  # of tags without an end the parser tries each to the end of all
        self.close()

    def addresses(self) -> Iterator[str]:
        return (address for *_, address in self.images)

    def handle_starttag(self, tag, attributes):
        said = {name: value or "" for name, value in attributes}
        if tag == "picture":
            self._choice = []
        if tag == "img":
            if address := said.get("src", "").strip() or _first_of(said.get("srcset", "")):
                line, column = self.getpos()
                self.images.append((self._lines[line - 1] + column, self.get_starttag_text(), said, address))
                self._choice = None
        elif named := [said[name] for name in (*_ELSEWHERE.get(tag, ()), *_ELSEWHERE[""]) if said.get(name)]:
            named = [_first_of(one) if tag == "source" else one for one in named if _is_picture(tag, one)]
            (self.elsewhere if self._choice is None else self._choice).extend(named)
        self.elsewhere += [
            one.strip() for one in _STYLE.findall(said.get("style", "")) if not one.startswith("data:")
        ]

    def handle_endtag(self, tag):
        if tag == "picture":
            self.elsewhere += self._choice or []
            self._choice = None


def _first_of(srcset: str) -> str:
    return (srcset.split() or [""])[0].rstrip(",")


def _is_picture(tag: str, address: str) -> bool:
    """Whether an address may be that of a picture: a film and a page are none."""
    if address.startswith(("data:", "#")):
        return False
    return tag in ("image", "input", "video", "source") or Path(_bare(address)).suffix.lower() in KINDS


def _bare(address: str) -> str:
    return re.split(r"[?#]", address, maxsplit=1)[0]


def _bytes_of(address: str, folder: Path, attachments: Mapping) -> str:
    """The address of bytes of a picture; `_Lost` says why there is none."""
    if address.startswith("attachment:"):
        return attached(address, attachments) or _lose("the notebook holds no such attachment")
    if address.startswith("data:"):
        return _as_base64(address)
    if re.match(r"[a-zA-Z][\w+.-]*:|//", address):
        _lose("it lies elsewhere, and an exported page asks nobody for anything")
    path = next((path for path in _places(address, folder) if _lies_there(path, folder)), None)
    if path is None:
        _lose("it is not there, or not below the folder of the notebook")
    kind = KINDS.get(path.suffix.lower()) or _lose(f"its name ends in none of {' '.join(KINDS)}")
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        _lose(f"it has more than {MOST_BYTES // 1_000_000} MB")
    return _address(kind, content)


def _places(address: str, folder: Path) -> list[Path]:
    """Where a picture may lie: an address may end in a question or a part, and so may a file's name."""
    try:
        return [(folder / unquote(one)).resolve() for one in dict.fromkeys([address, _bare(address)])]
    except (ValueError, OSError):  # no name of a file
        return []


def _lies_there(path: Path, folder: Path) -> bool:
    try:
        return path.is_file() and path.is_relative_to(folder.resolve())
    except (ValueError, OSError):
        return False


def attached(address: str, attachments: Mapping) -> str | None:
    """The address of bytes of a picture that a cell holds itself; drawings before photographs, as Jupyter chooses."""
    name = address.removeprefix("attachment:")
    files = attachments.get(name) or attachments.get(unquote(name))
    held = {
        kind: data
        for kind, data in (files.items() if isinstance(files, dict) else ())
        if isinstance(data, str)
    }
    for kind in sorted(held, key=lambda kind: (kind != "image/svg+xml", kind != "image/png")):
        # An address of bytes may hold nothing but bytes.
        if kind in KINDS.values() and _BASE64.fullmatch(held[kind]):
            return f"data:{kind};base64,{''.join(held[kind].split())}"
    return None


def _as_base64(address: str) -> str:
    if INLINE.fullmatch(address):
        return address
    about, _, body = address[5:].partition(",")
    kind = about.split(";")[0].strip().lower().replace("image/jpg", "image/jpeg")
    if kind not in KINDS.values():
        _lose(f"an exported page shows no {kind or 'address of bytes'}"[:60])
    try:
        plain = unquote_to_bytes(body)
        return _address(kind, base64.b64decode(plain) if about.lower().endswith("base64") else plain)
    except binascii.Error:
        return _lose("its bytes are damaged")


def _address(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def _lose(reason: str):
    raise _Lost(reason)
