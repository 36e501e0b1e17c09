"""The tally in a browser: it reads votes as Python does, keeps them hidden until asked, and keeps its keys from the slides."""

from __future__ import annotations

from course.test_tally import CASES, CHOICES

from bertlook_course.syllabus import count_votes
from bertlook_course.widgets import Tally

from .conftest import still
from .test_widgets_browser import show  # noqa: F401 - a fixture


def test_the_page_counts_as_python_does(show):  # noqa: F811
    page = show(view=Tally(3, 1, CHOICES))
    page.click("text=show the room")
    for text, *_ in CASES:
        page.fill("textarea", text)
        still(page)
        votes = count_votes(text, 3, 1, CHOICES)
        assert [int(n) for n in page.locator(".bl-tally-bars td:last-child").all_inner_texts()] == [
            *votes.counts.values()
        ], text
        said = page.inner_text(".bl-caption")
        assert all(reason in said for reason in votes.refused[:2])
        assert (f"{votes.elsewhere} for other questions" in said) == bool(votes.elsewhere)
    assert page.errors == []


def test_votes_and_the_answer_are_hidden_until_asked_for(show):  # noqa: F811
    page = show(view=Tally(3, 1, {**CHOICES, "D": "<img src=x onerror=window.broken=1>"}, answer="B"))
    page.click("textarea")
    page.keyboard.type("3-1A\n3-1B\n3-1B\n3-1D\n4-1A")
    still(page)
    assert page.evaluate("window.shortcuts") == []  # letters and Enter turn no slide
    assert page.inner_text(".bl-caption").startswith("4 votes; drawn when you say so.")
    assert "4-1A is of lesson 4; this is lesson 3" in page.inner_text(".bl-caption")
    assert page.locator(".bl-tally-right").count() == 0 and "✓" not in page.inner_text("body")
    page.click("text=show the room")
    still(page)
    said = "4 votes: A 1, B 2, C 0, D 1. Computed: B, which 50 % of the room predicted."
    assert page.inner_text(".bl-caption").startswith(said)
    assert page.inner_text(".bl-tally-right th").startswith("✓ B 1 to 3")
    widths = [bar.bounding_box()["width"] for bar in page.locator(".bl-tally-track span").all()]
    assert widths[1] == 2 * widths[0] > 0 == widths[2]
    assert page.errors == [] and not page.evaluate("window.broken")


def test_a_press_on_an_answer_is_one_vote_for_it(show):  # noqa: F811
    view = Tally(3, 2, CHOICES, votes="3-2A x2")
    page = show(view=view)
    page.click("text=B 1 to 3")
    page.locator(".bl-tally-choice").nth(1).press("Enter")
    still(page)
    assert page.input_value("textarea") == "3-2A x2\n3-2B\n3-2B\n"
    page.click("text=show the room")
    still(page)
    assert page.inner_text(".bl-caption").startswith("4 votes: A 2, B 2, C 0.")
    assert page.errors == []
