"""Cards of the map of the course: how a class predicts, three sentences on trial, what makes a claim, where things are, before class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bertlook_teach.model import extract_attention
from bertlook_teach.views import (
    LINE,
    MUTED,
    OKABE_ITO,
    PAPER,
    SELECTED,
    SELECTED_INK,
    Cell,
    Grid,
    Picture,
    magnitude_colour,
    text,
)

from ...claims import FAILS, HOLDS, Verdict
from ...render import cards_picture, draw_box, draw_chips, draw_path, value_cell
from ..common import subject

_EM = 26.0
_WORD = "photogenic"
_MADE_UP = np.array([[0.1, 0.7, 0.2], [0.3, 0.1, 0.6], [0.2, 0.5, 0.3]])


# --- sketches ---------------------------------------------------------------------------------------------------
def _big(words: str, size: int = 64, y: float = 0, fill: str = SELECTED_INK) -> str:
    return text(0, y, words, anchor="middle", fill=fill, extra=f' font-size="{size}" font-weight="650"')


def _page(lines: int = 3, x: float = 0) -> list[str]:
    """A sheet of paper with a folded corner."""
    ruled = "".join(f"M{x - 32:g} {-22 + 22 * k}h{(64, 50, 58, 30)[k]}" for k in range(lines))
    return [
        draw_path(f"M{x - 48:g} -64h70l26 26v102h-96zM{x + 22:g} -64v26h26", fill=PAPER),
        draw_path(ruled, colour=MUTED),
    ]


def _pencil() -> list[str]:
    return [
        draw_path("M22 34l58 -78l22 16l-58 78l-28 12z", colour=SELECTED, fill=PAPER),
        draw_path("M22 34l22 16"),
    ]


def _hands() -> list[str]:
    """Three people, each with a hand up, and the key that goes on."""
    people = [
        f'<circle cx="{x}" cy="-8" r="13" fill="{LINE}"/>'
        + draw_path(f"M{x - 18} 36c0 -34 36 -34 36 0zM{x + 18} 20v-72", colour=LINE, width=7, fill=LINE)
        for x in (-78, -26, 26)
    ]
    return [*people, draw_box(58, 54, 82, 36), text(58, 54, "Space", anchor="middle")]


def _map(
    weights: np.ndarray, side: float, *, written: bool = False, top: float = -75
) -> tuple[Grid, list[str]]:
    n = len(weights)
    grid = Grid(-n * side / 2, top, n, n, side, side, _EM)
    shown = np.asarray(weights) / (np.max(weights) if written else 2 * np.mean(weights))
    cells = grid.cells(
        lambda i, j: Cell(
            magnitude_colour(min(1, 0.9 * shown[i, j])), written=f"{weights[i, j]:.1f}"[1:] if written else ""
        ),
        size=1,
        round=0,
    )
    return grid, cells


def _sums(below: Sequence[str]) -> list[str]:
    """A made-up map of three tokens, the sum of each row beside it, and below it what the columns are said to have."""
    grid, body = _map(_MADE_UP, 40, written=True)
    body += [text(grid.right + 12, grid.middle(row, 0)[1], "1", fill=LINE) for row in range(3)]
    x = [grid.middle(0, column)[0] + 22 * (column - 1) for column in range(3)]
    return body + [text(at, 64, said, anchor="middle", fill=SELECTED_INK) for at, said in zip(x, below)]


# --- pictures ---------------------------------------------------------------------------------------------------
def predict_picture() -> Picture:
    """How a class predicts, in three steps."""
    slide = [draw_box(0, 0, 190, 120), _big("?", 84)]
    cards = [
        (slide, "1  The slide asks", "Nobody says anything yet."),
        (
            [*_page(0), _big("B", 60), *_pencil()],
            "2  All write",
            "One letter, on paper. That is the commitment.",
        ),
        (_hands(), "3  Hands up, then Space", "The computer answers, here and now."),
    ]
    caption = (
        "If you did not write it down, you did not predict it: afterwards everybody “knew it all along”."
    )
    return cards_picture(cards, caption, arrows=True, high=200)


def said_picture(entries: Sequence) -> Picture:
    """Three sentences that people often say, each with a sketch of what it says."""
    wild = np.random.default_rng(3).random((8, 8)) ** 3
    sketches = (
        _sums("111"),
        draw_chips([["Birds", "sing"], [_WORD]]),
        _map(wild, 18)[1],
    )
    cards = [
        (sketch, f"{letter}  {entry.says}", "") for letter, sketch, entry in zip("ABC", sketches, entries)
    ]
    return cards_picture(cards, "The numbers and the map in these sketches are made up.", high=200)


def found_picture(entries: Sequence, results: Sequence, encoder, twin) -> Picture:
    """The same three with what was found: the columns of the map, the pieces of a word, and a map of an untrained model."""
    pieces = [token for token in extract_attention(encoder, _WORD).tokens if not token.startswith("[")]
    seen = extract_attention(twin, "the old man saw a small bird")
    even = seen.weights.reshape(-1, *seen.weights.shape[2:])[0]
    sketches = (
        _sums([f"{column:.2f}" for column in _MADE_UP.sum(axis=0)]),
        [*draw_chips([[_WORD]], -44), draw_path("M0 -20v34m-10 -12l10 12l10 -12"), *draw_chips([pieces], 40)],
        _map(even, 16)[1],
    )
    cards = [
        (sketch, f"{letter}  {entry.says}", result.sentence, FAILS if result.refuted else HOLDS, "")
        for letter, sketch, entry, result in zip("ABC", sketches, entries, results)
    ]
    caption = f"A: made up. B: {subject(encoder)}. C: a head of its random twin. The course keeps a bank of such sentences."
    return cards_picture(cards, caption, high=150)


def claim_steps_picture(found: Verdict) -> Picture:
    """What makes a published sentence a claim: the sentence, what would refute it, and the verdict."""
    claim, printed = found.claim, found.published.replace(", ", " for head ")
    line = draw_path("M-130 0H130", colour=MUTED) + draw_path("M0 -60V50", dash="3 6")
    shaded = (
        f'<rect x="-130" y="-40" width="130" height="80" fill="{OKABE_ITO["vermillion"]}" opacity="0.15"/>'
    )
    dot = f'<circle cx="{95 if found.verdict == HOLDS else -65}" cy="0" r="11" fill="{PAPER}" stroke="{LINE}" stroke-width="4"/>'
    refuted = text(-65, 62, "refuted", anchor="middle", fill=MUTED)
    cards = [
        (
            _page(4),
            "Somebody says it",
            f"{claim.sentence}: {claim.source}, {claim.section}, {printed}.",
        ),
        (
            [shaded, line, refuted],
            "We say what would refute it",
            f"Before we run anything: {claim.operational} must be {'below' if claim.below else 'above'} {claim.line()}.",
        ),
        (
            [shaded, line, dot],
            "The computer decides",
            f"{value_cell(found)} in {found.n} texts; its twin {found.twin:.2f}.",
            found.verdict,
            found.verdict,
        ),
    ]
    return cards_picture(
        cards, "If nobody can say what would refute it, it “cannot be decided”.", arrows=True
    )


def places_picture() -> Picture:
    """Where a student finds what is not on the slides."""
    tick = draw_path("M-26 2l16 18l34 -44", colour=OKABE_ITO["green"], width=8)
    book = draw_path("M0 -46q-50 -22 -86 0v92q36 -22 86 0q50 -22 86 0v-92q-36 -22 -86 0v92", fill=PAPER)
    bubble = draw_path("M-84 -54h168v76h-104l-24 30v-30h-40z", fill=PAPER)
    cross = draw_path("M-34 -42l68 52m0 -52l-68 52", colour=OKABE_ITO["vermillion"], width=7)
    folder = draw_path("M-92 56v-112h60l14 18h110v94z", colour=MUTED, fill=PAPER)
    cards = [
        ([*_page(0), tick], "Exercises", "One notebook for each lesson. A wrong answer gets a hint at once."),
        (
            [book, _big("A–Z", 40, y=-2)],
            "Glossary",
            "One word has one meaning. The bibliography lists every source.",
        ),
        ([bubble, cross], "Misconceptions", "Often said, but not true: each with a run that refutes it."),
        (
            [folder, *_page(3, x=10)],
            "Papers",
            "Put clark2019.pdf into the folder papers: slides then show its page.",
        ),
    ]
    return cards_picture(cards, "All of them work without a network.", high=150)


def before_class_picture() -> Picture:
    """What a teacher does in the five minutes before class."""
    doctor = [
        draw_box(0, 0, 164, 110),
        text(0, -22, "bertlook", anchor="middle"),
        text(0, 14, "doctor", anchor="middle"),
    ]
    ready = [draw_box(0, 0, 164, 110), draw_path("M22 -42h54", colour=SELECTED, width=7, dash="10 6")]
    around = draw_path(
        "M-80 -18h150m-16 -14l16 14l-16 14M80 26h-150m16 -14l-16 14l16 14", colour=LINE, width=6
    )
    cards = [
        (doctor, "1  Check", "bertlook doctor tells you what is wrong, and how to mend it."),
        (ready, "2  Open", "Wait until the line at the top right of the deck is gone."),
        ([around], "3  Click", "Go through the whole deck and back: steps, views, notes."),
        (
            [*_page(2), _big("03", 40, y=32)],
            "4  Share",
            "No projector? bertlook export 03 makes one file for each student.",
        ),
    ]
    return cards_picture(cards, "No network is needed.", arrows=True, high=170)
