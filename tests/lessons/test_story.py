"""A deck is a story: a question on its title, one slide of the ledger, an answer that says what would change it, the rest behind."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from bertlook_course.syllabus import LESSONS, PARTS, lesson

DRAWN = re.compile(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)")
SLIDES = Path(__file__).resolve().parents[2] / "slides"
TOLD = [one.number for one in LESSONS]
MOST_ON_THE_MAIN_LINE, MOST_CLAIMS = 20, 4
CHANGE, BEHIND = re.compile(r"\*\*What would change the answer:?\*\*"), re.compile(r"# For 90 minutes")


def slides_of(nb) -> list[list]:
    """The cells of each slide, without its notes and without set-up cells."""
    slides: list[list] = []
    for cell in nb.cells:
        kind = cell.metadata.get("slideshow", {}).get("slide_type", "-")
        if kind in ("slide", "subslide"):
            slides.append([])
        if slides and kind not in ("notes", "skip"):
            slides[-1].append(cell)
    return slides


def said(slide) -> str:
    """What a class reads on a slide: its text, and what its cells show."""
    parts = []
    for cell in slide:
        parts.append(cell.source if cell.cell_type == "markdown" else "")
        parts += [str(text) for output in cell.get("outputs", []) for text in output.get("data", {}).values()]
    parts += [base64.b64decode(drawn).decode() for drawn in DRAWN.findall("\n".join(parts))]
    return "\n".join(parts)


def wrong_with_the_story(nb, number: str) -> list[str]:
    """Sentences about what a deck lacks."""
    slides, wrong = slides_of(nb), []
    title = said(slides[0])
    part = PARTS[lesson(number).part].lower()
    if not re.search(r"(?m)^## .+\?$", title):
        wrong.append("the title asks no question in a line of its own")
    place = " · ".join(f"**{one.lower()}**" if one.lower() == part else one.lower() for one in PARTS)
    for begins in (slide for i, slide in enumerate(slides) if not i or slide[0].source.startswith("# ")):
        if place not in said(begins).split("\n"):
            wrong.append(f"{begins[0].source.partition(chr(10))[0]!r} does not say where we are: {part}")
    tables = [
        s for s in slides if any("claim_picture(" in cell.source for cell in s if cell.cell_type == "code")
    ]
    if len(tables) != 1:
        wrong.append(f"{len(tables)} slides of the ledger; wanted is one")
    for slide in tables:
        rows = [said(slide).count(f">{v}</text>") for v in ("holds", "does not hold", "undecided")]
        if not 1 <= sum(rows) <= MOST_CLAIMS:
            wrong.append(f"{sum(rows)} claims on the slide of the ledger; wanted are 1 to {MOST_CLAIMS}")
    answers = [i for i, slide in enumerate(slides) if CHANGE.search(said(slide))]
    end_of_it = "\n".join(said(slide) for slide in (*tables, *(slides[i] for i in answers)))
    if "bertlook claims --lesson" not in end_of_it or not re.search(
        r"(?:Of|All) (?:all |the |these )?\d+ claims", end_of_it
    ):
        wrong.append(
            "neither the slide of the ledger nor the answer counts all claims and says how to get them"
        )
    if len(answers) != 1:
        return [*wrong, f"{len(answers)} slides say what would change the answer; wanted is one"]
    (end,) = answers
    if end + 1 > MOST_ON_THE_MAIN_LINE:
        wrong.append(f"the answer is slide {end + 1}, at most {MOST_ON_THE_MAIN_LINE}")
    if not any(cell.cell_type == "code" and re.search(r"\d", said([cell])) for cell in slides[end]):
        wrong.append("the answer has no computed number")
    if len(re.findall(r"(?m)^- ", CHANGE.split(said(slides[end]), 1)[0].partition("<")[0])) > 3:
        wrong.append("the answer has more than three points")
    if len(slides) > end + 1 and not BEHIND.match(said(slides[end + 1])):
        wrong.append("what stands behind the answer does not begin with a slide for 90 minutes")
    return wrong


@pytest.mark.parametrize("number", TOLD)
def test_a_deck_asks_tries_and_answers(number):
    (path,) = SLIDES.glob(f"{number}_*.ipynb")
    assert wrong_with_the_story(nbformat.read(str(path), as_version=4), number) == []


# --- the check finds what it is for ---------------------------------------------------------------------


def on(kind, cell):
    cell.metadata["slideshow"] = {"slide_type": kind}
    return cell


def shows(source, text):
    return new_code_cell(source, outputs=[new_output("display_data", {"text/html": text})])


def good_deck():
    row = "<text>holds</text>"
    return new_notebook(
        cells=[
            on(
                "slide",
                new_markdown_cell("# Lesson 3\n\n## Where?\n\na head · **looking** · knowing · mattering"),
            ),
            on("slide", new_markdown_cell("## What holds?")),
            on("-", shows("claim_picture(x)", row + "Of 9 claims 1 holds. bertlook claims --lesson 03")),
            on("slide", new_markdown_cell("## Where?")),
            on("-", shows("answer", "0.5 there")),
            on("-", new_markdown_cell("**What would change the answer:** more texts.")),
            on(
                "slide",
                new_markdown_cell("# For 90 minutes · more\n\na head · **looking** · knowing · mattering"),
            ),
        ]
    )


def change(nb, cell, old, new):
    if nb.cells[cell].cell_type == "code":
        html = nb.cells[cell].outputs[0]["data"]["text/html"]
        nb.cells[cell].outputs[0]["data"]["text/html"] = html.replace(old, new)
    else:
        nb.cells[cell].source = nb.cells[cell].source.replace(old, new)
    return nb


def test_a_good_story_passes():
    assert wrong_with_the_story(good_deck(), "03") == []


@pytest.mark.parametrize(
    ("cell", "old", "new", "complaint"),
    [
        (0, "## Where?", "Where", "no question"),
        (0, "**looking**", "looking", "where we are"),
        (2, "<text>holds</text>", "<text>holds</text>" * 5, "5 claims"),
        (2, "Of 9 claims", "", "counts all claims"),
        (4, "0.5 there", "there", "no computed number"),
        (5, "**What would change the answer:**", "", "0 slides say what would change"),
        (6, "# For 90 minutes", "# More", "begin with a slide for 90"),
        (
            6,
            "a head · **looking**",
            "**a head** · looking",
            "For 90 minutes · more' does not say where we are",
        ),
    ],
)
def test_what_is_missing_is_found(cell, old, new, complaint):
    assert any(complaint in one for one in wrong_with_the_story(change(good_deck(), cell, old, new), "03"))


def test_two_slides_of_the_ledger_and_a_long_main_line_are_found():
    nb = good_deck()
    nb.cells[3:3] = [
        on("slide", shows("claim_picture(y)", "<text>holds</text>Of 9 claims; bertlook claims --lesson 03"))
    ]
    assert any("2 slides of the ledger" in one for one in wrong_with_the_story(nb, "03"))
    nb = good_deck()
    nb.cells[1:1] = [on("slide", new_markdown_cell(f"## {i}")) for i in range(20)]
    assert any("at most 20" in one for one in wrong_with_the_story(nb, "03"))
