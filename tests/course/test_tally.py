"""Votes of a room: what counts as one, and what is refused with a reason."""

from __future__ import annotations

import pytest

from bertlook_course.render import TABLE
from bertlook_course.syllabus import count_votes
from bertlook_course.widgets import Tally

CHOICES = {"A": "none", "B": "1 to 3", "C": "4 to 9"}

# text, counts of A B C, votes for other questions, a piece of each refusal: tests/browser/test_tally_browser.py has the page read them too
CASES = [
    ("", (0, 0, 0), 0, ()),
    ("3-1A\n3-1b\r\n03.01-B", (1, 2, 0), 0, ()),
    ("3-1B 3-1B, 3-1C;3-1a", (1, 2, 1), 0, ()),
    ("3-1B x12\n3-1A×3", (3, 12, 0), 0, ()),
    ("3–1B\n３‐１Ａ\n3−1b", (1, 2, 0), 0, ()),  # the dashes and digits that phones put in
    ("b\nA4 Bx2 c", (4, 3, 1), 0, ()),
    (
        'Timestamp,Name,Your code\n"2026-11-23 09:14:02","Ada, A.",3-1B\n2026/11/23 9.15,Bo,3-2C',
        (0, 1, 0),
        1,
        (),
    ),
    ("4-1A\n3-1A", (1, 0, 0), 0, ("4-1A is of lesson 4; this is lesson 3",)),
    ("3-1E\nD", (0, 0, 0), 0, ("3-1E is none of the choices A, B, C", "3-1D is none")),
    ("3-1 B\n3-1: A\n3-1) c x2\n3-1 = b.", (1, 2, 2), 0, ()),
    ('10:06 Ida: B\n2026/11/27 10:06:00,"A"\nTime,Vote\nA: as in BERT', (2, 1, 0), 0, ()),
    (
        "3-1: I'd say none\n10:07, B, C",
        (0, 0, 0),
        0,
        ("10:07, B, C has several letters; write codes, such as 3-1A",),
    ),
    ("Hello, I think it is B\nversion 13-1Bx or 3-1Ba\n2026-3-1A", (0, 0, 0), 0, ()),
]


@pytest.mark.parametrize(("text", "counts", "elsewhere", "refused"), CASES)
def test_votes_are_counted(text, counts, elsewhere, refused):
    votes = count_votes(text, 3, 1, CHOICES)
    assert count_votes(text.splitlines(), "3", 1, CHOICES) == votes
    assert (tuple(votes.counts.values()), votes.elsewhere) == (counts, elsewhere)
    assert votes.n == sum(counts) and len(votes.refused) == len(refused)
    assert all(said.startswith(reason) for said, reason in zip(votes.refused, refused))


@pytest.mark.parametrize("choices", ["A", "AAB", ["A", "one"], "A1"])
def test_choices_are_letters(choices):
    with pytest.raises(ValueError, match="two or more different letters"):
        count_votes("", 3, 1, choices)


def test_the_view_counts_and_refuses_an_answer_that_is_none():
    view = Tally(3, 1, CHOICES, answer="c", votes="3-1A\n3-1A")
    assert view.count.counts == {"A": 2, "B": 0, "C": 0} and view.answer == "C" and not view.shown
    assert "2 votes" in repr(view)
    with pytest.raises(ValueError, match="one of the choices A, B, C; got 'E'"):
        Tally(3, 1, CHOICES, answer="E")


@pytest.mark.parametrize(
    ("given", "choices"),
    [
        (["none", "1 to 3"], [["A", "none"], ["B", "1 to 3"]]),
        (("no", "B", "yes"), [["A", "no"], ["B", "B"], ["C", "yes"]]),
        ("ABC", [["A", ""], ["B", ""], ["C", ""]]),
        (["x", "y"], [["X", ""], ["Y", ""]]),
        ([1, 2], [["A", "1"], ["B", "2"]]),
    ],
)
def test_answers_without_letters_get_them_in_their_order(given, choices):
    view = Tally(3, 1, given, votes=f"3-1{choices[1][0]}")
    assert view.choices == choices and view.count.counts[choices[1][0]] == 1


@pytest.mark.parametrize(("given", "said"), [(["one"], "two or more different letters"), ([str(i) for i in range(10, 40)], "30 answers and 26 letters"), ("AA", "two or more")])  # fmt: skip
def test_too_few_or_too_many_answers_are_refused(given, said):
    with pytest.raises(ValueError, match=said):
        Tally(3, 1, given)


def test_the_saved_notebook_holds_letters_and_no_votes_and_no_answer():
    bundle = Tally(3, 1, CHOICES, answer="B", votes="Ada 3-1B")._repr_mimebundle_()
    page = bundle["text/html"]
    assert bundle[TABLE]["rows"] == [list(choice) for choice in CHOICES.items()]
    assert ">A<" in page and "1 to 3" in page and "Ada" not in page and "✓" not in page
