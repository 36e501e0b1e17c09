"""Whether two pieces of markup, pictures or data say the same: labels and structure, marks within what is seen. For `compare_outputs`."""

from __future__ import annotations

import base64
import binascii
import difflib
import io
import json
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from urllib.parse import unquote_to_bytes

import numpy as np
from bs4 import BeautifulSoup, Tag, UnusualUsageWarning  # comes with nbconvert
from bs4.element import PreformattedString
from compare_texts import ROUNDING, Tolerance, many_of, short, text_differences, tokens_of

_PLACES = {
    "x",
    "y",
    "x1",
    "x2",
    "y1",
    "y2",
    "cx",
    "cy",
    "r",
    "rx",
    "ry",
    "width",
    "height",
    "dx",
    "dy",
    "d",
    "points",
    "transform",
    "viewbox",
}
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_REFERENCE = re.compile(r"(?<=#)[^\s\"')]+")
_NAMES_IDS = {"for", "aria-labelledby", "aria-describedby", "aria-controls", "aria-owns", "list", "headers"}
# What a BertViz frame carries as whole thousandths.
_PACKED = ("attention", "queries", "keys")
_FRAME_DATA = re.compile(r"const data = (?=\{)")


warnings.filterwarnings("ignore", category=UnusualUsageWarning)  # an output may be XML, or a text alone


def _read(markup: str) -> BeautifulSoup:
    """Markup as a tree."""
    return BeautifulSoup(markup, "html.parser", multi_valued_attributes=None)


def _children(element: Tag) -> list[Tag | str]:
    """What is in an element, without comments and without text that is only space between tags."""
    return [
        child
        for child in element.contents
        if isinstance(child, Tag) or (child.strip() and not isinstance(child, PreformattedString))
    ]


def markup_differences(old: str, new: str, tolerance: Tolerance = ROUNDING) -> list[str]:
    """Where two pieces of HTML or SVG differ for a reader; pictures and frames inside are compared the same way.

    >>> markup_differences('<p id="a">0.52</p>', '<p id="b">0.53</p>')
    []
    >>> markup_differences("<table><tr><td>1</td></tr></table>", "<table></table>")
    ['in <table>: <tr> “1” is missing']
    """
    if old == new:
        return []
    one, other = _read(old), _read(new)
    ids = [[element["id"] for element in tree.find_all(id=True)] for tree in (one, other)]
    renamed: dict[str, str] = {}
    found = []
    for before, after in zip(*ids):
        if renamed.setdefault(before, after) != after:
            found.append(f"the id {before} became {renamed[before]} in one place and {after} in another")
    if len(set(renamed.values())) < len(renamed):
        found.append("several ids became one")
    return found or _Comparison(renamed, tolerance).elements(one, other, _Scale(tolerance))


@dataclass(frozen=True)
class _Scale:
    """How far a coordinate may be off where we are."""

    tolerance: Tolerance
    longer_side: float = 100.0  # outside of pictures coordinates are pixels or per cent
    apart: bool = False  # inside <defs> or a scaled group: a shape in units of its own

    def within(self, element: Tag) -> _Scale:
        if element.name == "svg" and "viewbox" in element.attrs:
            sides = [abs(float(n)) for n in _NUMBER.findall(element.attrs["viewbox"])][2:]
            return _Scale(self.tolerance, max(sides, default=100.0))
        if element.name == "defs" or "scale" in element.attrs.get("transform", ""):
            return _Scale(self.tolerance, self.longer_side, True)
        return self

    @property
    def allowed(self) -> float:
        # coordinates are printed with one decimal: 0.05 and 0.15 may be one number
        return 0.11 if self.apart else max(0.11, self.tolerance.picture * self.longer_side)


class _Comparison:
    """Two trees, side by side."""

    def __init__(self, renamed: Mapping[str, str], tolerance: Tolerance):
        self.renamed, self.tolerance = renamed, tolerance

    def elements(self, one: Tag, other: Tag, scale: _Scale) -> list[str]:
        scale = scale.within(one)
        found = self.attributes(one, other, scale)
        if one.name in ("script", "style"):
            return found + self.script("".join(one.contents), "".join(other.contents))
        children, their_children = _children(one), _children(other)
        if _has_marks(one) and _has_marks(other) and not self.equal_paths(one, other, scale):
            found += self.marks(one, other, scale)
            children, their_children = ([c for c in e if not _is_mark(c)] for e in (children, their_children))
        if [_name(c) for c in children] == [_name(c) for c in their_children]:
            pairs = list(zip(children, their_children))
        else:
            pairs, lines = self.aligned(children, their_children)
            found += [f"in <{one.name}>: {line}" if one.parent else line for line in lines]
        for a, b in pairs:
            if isinstance(a, str):
                found += text_differences(a, b, self.tolerance)
            else:
                found += self.elements(a, b, scale)
        return found

    def aligned(self, children, their_children):
        """Children put side by side by what they say, and a line for each that is on one side only."""
        keys = [[(_name(child), _said(child)) for child in some] for some in (children, their_children)]
        pairs, lines = [], []
        for what, i, i2, j, j2 in difflib.SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
            for a, b in zip_longest(children[i:i2], their_children[j:j2]):
                if a is None:
                    lines.append(f"{_described(b)} was added")
                elif b is None:
                    lines.append(f"{_described(a)} is missing")
                elif _name(a) != _name(b):
                    lines.append(f"{_described(a)} became {_described(b)}")
                else:
                    pairs.append((a, b))
        return pairs, lines

    def attributes(self, one: Tag, other: Tag, scale: _Scale) -> list[str]:
        found = []
        for key in one.attrs.keys() | other.attrs.keys():
            old, new = one.attrs.get(key), other.attrs.get(key)
            if old == new:
                continue
            if old is None or new is None:
                lines = [f"{old or 'nothing'} became {new or 'nothing'}"]
            else:
                lines = self.attribute(key, old, new, scale)
            found += [f"<{one.name}> {key}: {line}" for line in lines]
        return sorted(found)

    def attribute(self, key: str, old: str, new: str, scale: _Scale) -> list[str]:
        if key == "id":
            return []  # their renaming was looked at as a whole
        if key in _NAMES_IDS:
            renamed = " ".join(self.renamed.get(name, name) for name in old.split())
            return [] if renamed == " ".join(new.split()) else [f"{old} became {new}"]
        if key == "srcdoc":
            return markup_differences(old, new, self.tolerance)
        if old.startswith("data:") and new.startswith("data:"):
            return self.address(old, new)
        old = _REFERENCE.sub(lambda name: self.renamed.get(name.group(), name.group()), old)
        if old == new:
            return []
        if key in _PLACES:
            return _place_differences(old, new, scale.allowed)
        if key.endswith("opacity"):
            return _place_differences(old, new, self.tolerance.opacity)
        if key == "stroke-width":
            return _place_differences(old, new, self.tolerance.width)
        if key == "class":
            return [f"{old} became {new}"]
        return text_differences(old, new, self.tolerance)

    def address(self, old: str, new: str) -> list[str]:
        """A picture that is carried inside its address."""
        (kind, old_bytes), (their_kind, new_bytes) = map(_carried, (old, new))
        if kind != their_kind:
            return [f"a picture of kind {kind} became one of kind {their_kind}"]
        if kind == "image/svg+xml":
            return markup_differences(old_bytes.decode(), new_bytes.decode(), self.tolerance)
        if kind.startswith("image/"):
            return image_differences(old_bytes, new_bytes, self.tolerance)
        return [] if old_bytes == new_bytes else [f"other content ({kind})"]

    def script(self, old: str, new: str) -> list[str]:
        """The code to the letter but for renamed ids, the data that a BertViz frame begins with by their numbers."""
        if old == new:
            return []
        parts = [_FRAME_DATA.search(text) for text in (old, new)]
        if all(parts):
            read = json.JSONDecoder().raw_decode
            (data, end), (their_data, their_end) = (read(t, p.end()) for t, p in zip((old, new), parts))
            found = json_differences(data, their_data, self.tolerance, renamed=self.renamed)
            rest = old[: parts[0].start()] + old[end:], new[: parts[1].start()] + new[their_end:]
            return found + text_differences(*rest, self.tolerance)
        for name, other in self.renamed.items():
            if name != other:
                old = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", other, old)
        return text_differences(old, new, self.tolerance)

    # -- marks: paths that share a colour because they share a step may be grouped otherwise

    def equal_paths(self, one: Tag, other: Tag, scale: _Scale) -> bool:
        ours, theirs = ([c for c in _children(e) if _is_mark(c)] for e in (one, other))
        return len(ours) == len(theirs) and not any(
            self.attributes(a, b, scale) for a, b in zip(ours, theirs)
        )

    def marks(self, one: Tag, other: Tag, scale: _Scale) -> list[str]:
        """Each mark of one picture must be in the other: of the same form, about there, and about as dark."""
        left = [mark for child in _children(other) if _is_mark(child) for mark in _marks(child)]
        missing, allowed = [], scale.allowed
        for mark in (mark for child in _children(one) if _is_mark(child) for mark in _marks(child)):
            alike = [theirs for theirs in left if mark.alike(theirs, allowed, self)]
            if alike:
                left.remove(min(alike, key=mark.away))
            else:
                missing.append(mark)
        found = []
        for lines, said in ((missing, "missing or changed"), (left, "added or changed")):
            if lines:
                found.append(f"{many_of(len(lines), 'mark')} {said}, the first: {lines[0]}")
        return found


def _name(child: Tag | str) -> str:
    return child.name if isinstance(child, Tag) else "text"


def _words(child: Tag | str) -> str:
    """All text in it."""
    return (
        child if isinstance(child, str) else " ".join(_words(grandchild) for grandchild in _children(child))
    )


def _said(child: Tag | str) -> str:
    """What it says but for its decimal numbers, by which it is recognised."""
    return " ".join("#" if token.rounded else token.text for token in tokens_of(_words(child)))


def _described(child: Tag | str) -> str:
    words = short(_words(child), 60)
    if isinstance(child, str):
        return f"“{words}”"
    place = child.attrs.get("d") or " ".join(child.attrs.get(k, "") for k in ("x", "y", "cx", "cy"))
    at = f" at {short(place, 30)}" if place.strip() and not words else ""
    return f"<{child.name}>" + (f" “{words}”" if words else at)


def _place_differences(old: str, new: str, allowed: float) -> list[str]:
    """Coordinates: the same words and letters between them, and each number about there."""
    if _NUMBER.sub("#", old) != _NUMBER.sub("#", new):
        one, other = (len(_NUMBER.findall(text)) for text in (old, new))
        many = f" ({one} numbers became {other})" if one != other else ""
        return [f"another form{many}: {short(old, 40)} became {short(new, 40)}"]
    off = [(abs(float(a) - float(b)), a, b) for a, b in zip(_NUMBER.findall(old), _NUMBER.findall(new))]
    worst = max(off, default=(0, "", ""))
    if worst[0] <= allowed * (1 + 1e-6):
        return []
    many = sum(how_far > allowed for how_far, *_ in off)
    rest = f" and {many - 1} others" if many > 1 else ""
    return [f"{worst[1]} became {worst[2]}{rest} ({allowed:.2g} is allowed)"]


@dataclass(frozen=True)
class _Mark:
    """One stroke or cell of a path."""

    form: str  # its letters
    numbers: tuple[float, ...]
    look: Mapping[str, str]

    def alike(self, other: _Mark, allowed: float, comparison: _Comparison) -> bool:
        return (
            self.form == other.form
            and self.look.keys() == other.look.keys()
            and self.near(other, allowed * (1 + 1e-6))
            and not any(
                comparison.attribute(key, value, other.look[key], _Scale(comparison.tolerance))
                for key, value in self.look.items()
                if value != other.look[key]
            )
        )

    def near(self, other: _Mark, allowed: float) -> bool:
        """Whether it is no farther away; of thousands of marks nearly all differ in their first number by more."""
        for one, number in zip(self.numbers, other.numbers):
            if abs(one - number) > allowed:
                return False
        return True

    def away(self, other: _Mark) -> float:
        return max((abs(a - b) for a, b in zip(self.numbers, other.numbers)), default=0.0)

    def __str__(self) -> str:
        colour = self.look.get("stroke", self.look.get("fill", ""))
        return f"a {colour} one at {self.numbers[0]:g}, {self.numbers[1]:g}".replace("  ", " ")


def _is_mark(child: Tag | str) -> bool:
    return isinstance(child, Tag) and child.name == "path" and not _children(child)


def _has_marks(element: Tag) -> bool:
    return any(map(_is_mark, _children(element)))


def _marks(path: Tag) -> list[_Mark]:
    """The strokes of a path; a row of equal cells drawn at one go is that many cells."""
    look = {key: value for key, value in path.attrs.items() if key not in ("d", "id")}
    marks = []
    for stroke in re.findall(r"M[^M]*", path.attrs.get("d", "")):
        form, numbers = _NUMBER.sub("#", stroke), tuple(map(float, _NUMBER.findall(stroke)))
        if form == "M# #h#v#h#z" and numbers[3] > 0 and numbers[2] > 1.5 * numbers[3]:
            x, y, wide, high, _ = numbers
            count = round(wide / high)
            marks += [
                _Mark(form, (x + i * wide / count, y, wide / count, high, -wide / count), look)
                for i in range(count)
            ]
        else:
            marks.append(_Mark(form, numbers, look))
    return marks


# ---- data and images ------------------------------------------------------------------------------------------------


def json_differences(
    old, new, tolerance, where="", *, packed=False, renamed: Mapping[str, str] = {}
) -> list[str]:
    """Structure, texts and whole numbers exactly, other numbers within tolerance."""
    if old == new and type(old) is type(new) and not isinstance(old, (dict, list)):  # True == 1
        return []
    if isinstance(old, dict) and isinstance(new, dict):
        found = [f"{where}.{key} is missing" for key in old if key not in new]
        found += [f"{where}.{key} was added" for key in new if key not in old]
        for key in old:
            if key in new:
                inner = {"packed": packed or bool(renamed) and key in _PACKED, "renamed": renamed}
                found += json_differences(old[key], new[key], tolerance, f"{where}.{key}", **inner)
        return found
    if isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            return [f"{where}: a list of {len(old)} became one of {len(new)}"]
        return [
            line
            for index, (a, b) in enumerate(zip(old, new))
            for line in json_differences(a, b, tolerance, f"{where}[{index}]", packed=packed, renamed=renamed)
        ]
    if isinstance(old, str) and isinstance(new, str):
        if renamed.get(old) == new:
            return []
        return [f"{where}: {line}" for line in text_differences(old, new, tolerance)]
    if all(isinstance(n, (int, float)) and not isinstance(n, bool) for n in (old, new)):
        if packed:
            near = abs(old - new) <= tolerance.packed
        elif isinstance(old, float) or isinstance(new, float):
            near = abs(old - new) <= tolerance.relative * max(abs(old), abs(new))
        else:
            near = False
        if near:
            return []
    return [f"{where}: {short(repr(old), 40)} became {short(repr(new), 40)}"]


def _carried(address: str) -> tuple[str, bytes]:
    """Kind and content of a data address."""
    head, _, content = address.removeprefix("data:").partition(",")
    kind, *rest = head.split(";")
    return kind, decoded(content) if "base64" in rest else unquote_to_bytes(content)


def decoded(content: str) -> bytes:
    try:
        return base64.b64decode("".join(content.split()), validate=True)
    except binascii.Error:
        return content.encode()


def image_differences(old: bytes, new: bytes, tolerance: Tolerance) -> list[str]:
    """Size and pixels of two PNG images; what matplotlib does not read as such must have the same bytes."""
    if old == new:
        return []
    from matplotlib.image import imread  # late: most outputs hold no image

    try:
        ours, theirs = (imread(io.BytesIO(image), format="png") for image in (old, new))
    except (ValueError, OSError, SyntaxError):
        return ["another image"]
    (height, width), (their_height, their_width) = ours.shape[:2], theirs.shape[:2]
    if (height, width) != (their_height, their_width):
        return [f"an image of {width} x {height} pixels became one of {their_width} x {their_height}"]
    if ours.shape != theirs.shape:
        return ["an image with other channels"]
    off = np.rint(255 * np.abs(ours - theirs)).astype(int)
    many = int((off > tolerance.colour).sum())
    if many:
        return [f"{many_of(many, 'value')} of {off.size} in an image differ, by up to {off.max()} of 255"]
    return []
