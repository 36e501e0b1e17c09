"""Whether two texts say the same: words as they are, numbers within what a reader sees. For `compare_outputs`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile


@dataclass(frozen=True)
class Tolerance:
    """What two outputs may differ by and still say the same. The one place where this is stated."""

    places: float = 1.0
    """Of a decimal number: units of its last printed place (``0.52`` and ``0.53``, ``55 %`` and ``56 %``)."""
    relative: float = 0.001
    """Of a decimal number with more digits than anyone reads: a share of its size."""
    picture: float = 0.003
    """Of a coordinate: a share of the picture's longer side. A picture of 940 units: 2.8."""
    colour: int = 12
    """Of a channel of a colour or pixel, of 255: the next of 32 shades in its steepest part."""
    opacity: float = 0.08
    """Of an opacity: the next of 32 levels where they differ most."""
    width: float = 0.4
    """Of a stroke's width, in the picture's units: the next of 32 levels."""
    packed: int = 1
    """Of the whole thousandths in which a BertViz frame carries its weights."""


ROUNDING = Tolerance()


# A sign belongs to a number unless something stands right before it: "1-6" names a head. A number with two points is a version,
# whole digits with letters are a word, and a point at the end ends a sentence.
_TOKEN = re.compile(
    r"""(?P<colour>\#[0-9a-fA-F]{6}\b)
    | (?P<version>(?<![\w.])\d+(?:\.\d+){2,})
    | (?P<number>(?<![\w.])[-+−]?(?:\d*\.\d+(?:[eE][-+]?\d+)? | \d+[eE][-+]?\d+(?!\w) | \d+(?!\w|\.\d)))
    | (?P<word>\w+)
    | (?P<line>\n)
    | (?P<mark>[^\w\s])""",
    re.VERBOSE,
)
_PERCENT = re.compile(r"\s?(?:%|per cent)")
_MINUS = ("-", "−")


@dataclass(frozen=True)
class _Token:
    kind: str  # "word", "number", ...
    text: str
    start: int
    apart: bool  # whether a space stands before it
    rounded: bool = False  # a number that was rounded when it was printed

    @property
    def alike(self) -> str:
        """What must be equal for two tokens to be put side by side."""
        return self.kind if self.kind in ("number", "colour") else self.text

    @property
    def sign(self) -> str:
        return self.text[0] if self.text[0] in ("+", *_MINUS) else ""

    @property
    def value(self) -> float:
        return float(self.text.replace("−", "-"))

    @property
    def unit(self) -> float:
        """One of the last printed place."""
        digits, _, power = self.text.lower().partition("e")
        return 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))


def tokens_of(text: str) -> list[_Token]:
    found, end = [], 0
    for match in _TOKEN.finditer(text):
        kind, piece = match.lastgroup, match.group()
        printed = "." in piece or "e" in piece.lower() or _PERCENT.match(text, match.end())
        rounded = kind == "number" and bool(printed)
        found.append(_Token(kind, piece, match.start(), match.start() > end, rounded))
        end = match.end()
    return found


def text_differences(old: str, new: str, tolerance: Tolerance = ROUNDING) -> list[str]:
    """Where two texts differ for a reader.

    Spaces next to a number are not compared, for tables are padded to the longest number.

    >>> text_differences("1-6 has 0.52", "1-6 has 0.53"), text_differences("1-6 holds", "1-5 holds")
    ([], ['6 became 5 in “1-5 holds”'])
    """
    if old == new:
        return []
    one, other = tokens_of(old), tokens_of(new)
    found = []
    for what, i, i2, j, j2 in _steps([t.alike for t in one], [t.alike for t in other]):
        if what == "equal":
            for a, b, before in zip(one[i:i2], other[j:j2], [None, *one[i : i2 - 1]]):
                line = _token_difference(a, b, before, tolerance)
                if line:
                    found.append(f"{line} in “{_around(new, b.start, b.start + len(b.text))}”")
        else:
            was, now = _piece(old, one[i:i2]), _piece(new, other[j:j2])
            at = other[j].start if j < len(other) else len(new)
            found.append(f"{was} became {now} in “{_around(new, at, at + len(now) - 2)}”")
    return found


def _steps(one: list[str], other: list[str]) -> Iterator[tuple[str, int, int, int, int]]:
    """difflib's steps from one list to the other. It takes minutes for a long script, so it is given only what is not equal at
    the beginning or the end."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other)))
    left = min(len(one), len(other)) - same
    tail = sum(1 for _ in takewhile(lambda k: one[-k] == other[-k], range(1, left + 1)))
    yield "equal", 0, same, 0, same
    middle, other_middle = one[same : len(one) - tail], other[same : len(other) - tail]
    matcher = difflib.SequenceMatcher(None, middle, other_middle, autojunk=False)
    for what, *places in matcher.get_opcodes():
        yield what, *(same + place for place in places)
    yield "equal", len(one) - tail, len(one), len(other) - tail, len(other)


def _token_difference(a: _Token, b: _Token, before: _Token | None, tolerance: Tolerance) -> str:
    if a.kind == "number":
        return _number_difference(a, b, tolerance)
    if a.kind == "colour":
        return _colour_difference(a.text, b.text, tolerance)
    beside_number = before is not None and before.kind == "number"
    if a.apart != b.apart and not beside_number and a.kind != "line":
        return f"a space {'is missing' if a.apart else 'was added'} before {a.text}"
    return ""


def _number_difference(a: _Token, b: _Token, tolerance: Tolerance) -> str:
    if a.text == b.text:
        return ""
    if not (a.rounded or b.rounded):
        # "-0." is no other number than "0."
        return "" if a.value == b.value == 0 else f"{a.text} became {b.text}"
    if a.sign != b.sign and (a.sign in _MINUS) == (b.sign in _MINUS):
        return f"{a.text} became {b.text}, another sign"
    if not _close(a, b, tolerance):
        off, unit = abs(a.value - b.value), _allowed(a, b, tolerance)
        return f"{a.text} became {b.text} (off by {off:.3g}, {unit:.3g} is allowed)"
    return ""


def _allowed(a: _Token, b: _Token, tolerance: Tolerance) -> float:
    unit = min(token.unit for token in (a, b) if token.rounded)
    return max(tolerance.places * unit, tolerance.relative * max(abs(a.value), abs(b.value)))


def _close(a: _Token, b: _Token, tolerance: Tolerance) -> bool:
    return abs(a.value - b.value) <= _allowed(a, b, tolerance) * (1 + 1e-6)


def _piece(text: str, tokens: Sequence[_Token]) -> str:
    if not tokens:
        return "nothing"
    piece = text[tokens[0].start : tokens[-1].start + len(tokens[-1].text)]
    return f"“{short(piece, 80)}”"


def short(text: str, length: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 1] + "…"


def _around(text: str, start: int, end: int) -> str:
    """The place with some words on each side, of its own line."""
    left = max(text.rfind("\n", 0, start) + 1, start - 40)
    right = text.find("\n", end)
    right = min(len(text) if right < 0 else right, end + 30)
    return " ".join(text[left:right].split())


def _colour_difference(a: str, b: str, tolerance: Tolerance) -> str:
    channels = (abs(int(a[i : i + 2], 16) - int(b[i : i + 2], 16)) for i in (1, 3, 5))
    return f"colour {a} became {b}" if max(channels) > tolerance.colour else ""


def many_of(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"
