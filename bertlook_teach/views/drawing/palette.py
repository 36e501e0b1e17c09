"""The project's colours, in one place: Okabe-Ito for categories, one hue for magnitude.

The same values are handed to the JavaScript views, so a figure, a widget and a saved page look alike.
Colour never carries a meaning alone: wherever these are used, a number, a label or a shape says the same.

References
----------
Okabe and Ito (2008), "Color Universal Design": eight colours that people with the common kinds of
colour-blindness can tell apart.
"""

from __future__ import annotations

import re
from itertools import pairwise

INK = "#1b1f24"

MUTED = "#565d66"

RULE = "#d5dae0"

PAPER = "#ffffff"

OKABE_ITO = {
    "black": "#000000",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "green": "#009E73",
    "yellow": "#F0E442",
    "blue": "#0072B2",
    "vermillion": "#D55E00",
    "purple": "#CC79A7",
}

# Categories in the order in which a figure uses them. Yellow is left out: it cannot be seen on white.
CATEGORY_CYCLE = tuple(
    OKABE_ITO[name] for name in ("blue", "vermillion", "green", "purple", "orange", "sky", "black")
)

# With the colours above, so that two series also differ in shape when colours do not help.
MARKER_CYCLE = ("o", "s", "^", "D", "v", "P", "X")

LINE = OKABE_ITO["blue"]

# How a model is known by the name of a series, a row or a badge: the first that fits.
MODEL_WORDS = {
    "random twin": r"twin|random network|untrained",
    "BERT-base": r"\bBERT\b(?!-large)|\bpublished\b",
    "MiniLM": r"(?i:minilm)",
    "specimen": r"specimen",
    "baseline": r"\bchance\b|\bguessing\b|\bbaseline\b|\b(best|fixed) (offset|distance)\b|\bnearest\b|\bcommonest\b",
}

# The badge of a model: paper, frame and words. The colours of drawing/marks.py, dark enough to be read; the specimen's is hollow, too.
BADGES = {
    "specimen": (PAPER, "#005a8c", "#005a8c"),
    "MiniLM": ("#5b2a86", "#5b2a86", PAPER),
    "random twin": (MUTED, MUTED, PAPER),
    "BERT-base": ("#00705a", "#00705a", PAPER),
}

SELECTED = OKABE_ITO["vermillion"]

SELECTED_INK = "#a34700"  # the same, dark enough for text on white

SEGMENT_A = OKABE_ITO["blue"]

SEGMENT_B = OKABE_ITO["orange"]

# The parts of the course in their order (course.PARTS); the same as in the decks' theme.
PART_COLOURS = ("#7a3b78", "#0072b2", "#00705a", "#b04a00")

# One hue, from almost paper to almost ink. Lightness falls all the way, so it survives a grey printer.
MAGNITUDE_STOPS = ((0.0, "#f6f9fc"), (0.3, "#b5d3e7"), (0.65, "#2f83bb"), (1.0, "#00294a"))

MISSING = "#e8e8e8"

# Differences: the same blue for more, brown for less, equally pale at 0. Dark at both ends, so a sign is always written or drawn too.
MORE_STOPS = ((0.0, "#f7f7f7"), (0.3, "#b5d3e7"), (0.65, "#2f83bb"), (1.0, "#00294a"))

LESS_STOPS = ((0.0, "#f7f7f7"), (0.3, "#f3cba2"), (0.65, "#c96a14"), (1.0, "#4f1d00"))

LESS = "#b04a00"


def model_of(name: str) -> str | None:
    """Which of `MODEL_WORDS` a series, a row or a badge speaks of.

    >>> [model_of(name) for name in ("its random twin", "BERT-base, recorded", "specimen, layer 3", "guessing", "POS")]
    ['random twin', 'BERT-base', 'specimen', 'baseline', None]
    """
    return next((model for model, words in MODEL_WORDS.items() if re.search(words, name)), None)


def rgb(colour: str) -> tuple[int, int, int]:
    """The three channels of ``"#rrggbb"``.

    >>> rgb("#0072B2")
    (0, 114, 178)
    """
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def magnitude_colour(share: float) -> str:
    """The colour of a magnitude between 0 (pale) and 1 (dark); values outside are clipped.

    >>> magnitude_colour(0.0), magnitude_colour(1.0)
    ('#f6f9fc', '#00294a')
    """
    return _along(MAGNITUDE_STOPS, share)


def difference_colour(share: float) -> str:
    """The colour of a difference between -1 (dark brown) and 1 (dark blue); 0 is almost paper; values outside are clipped.

    >>> difference_colour(-1.0), difference_colour(0.0), difference_colour(1.0)
    ('#4f1d00', '#f7f7f7', '#00294a')
    """
    return _along(MORE_STOPS if share >= 0 else LESS_STOPS, abs(share))


def _along(stops, share: float) -> str:
    share = min(1.0, max(0.0, float(share)))
    for (low, start), (high, end) in pairwise(stops):
        if share <= high:
            along = (share - low) / (high - low)
            mixed = (round(a + along * (b - a)) for a, b in zip(rgb(start), rgb(end)))
            return "#{:02x}{:02x}{:02x}".format(*mixed)
    raise AssertionError("unreachable: the stops end at 1")


def relative_luminance(colour: str) -> float:
    """Luminance as WCAG 2.2 defines it, from 0 (black) to 1 (white)."""
    linear = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in rgb(colour))
    )
    return sum(weight * channel for weight, channel in zip((0.2126, 0.7152, 0.0722), linear))


def contrast(first: str, second: str) -> float:
    """WCAG contrast ratio of two colours, from 1 (the same) to 21 (black on white).

    >>> round(contrast("#000000", "#ffffff"), 1)
    21.0
    """
    bright, dark = sorted((relative_luminance(first), relative_luminance(second)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def text_colour(background: str) -> str:
    """Black or white, whichever is easier to read on this background: always at least 4.5 to 1.

    >>> text_colour("#f6f9fc"), text_colour("#00294a")
    ('#000000', '#ffffff')
    """
    return max("#000000", "#ffffff", key=lambda colour: contrast(colour, background))


def for_views() -> dict[str, object]:
    """What the JavaScript views need: a plain dict, 256 magnitude and 255 difference colours (from -127 to 127 steps) and the text colour on each."""
    magnitudes = [magnitude_colour(step / 255) for step in range(256)]
    differences = [difference_colour(step / 127) for step in range(-127, 128)]
    return {
        "ink": INK,
        "muted": MUTED,
        "rule": RULE,
        "paper": PAPER,
        "line": LINE,
        "selected": SELECTED,
        "segmentA": SEGMENT_A,
        "segmentB": SEGMENT_B,
        "missing": MISSING,
        "magnitude": magnitudes,
        "onMagnitude": [text_colour(colour) for colour in magnitudes],
        "less": LESS,
        "difference": differences,
        "badges": [[MODEL_WORDS[model], *look] for model, look in BADGES.items()],
        "onDifference": [text_colour(colour) for colour in differences],
    }
