"""The room's predictions beside the data: codes typed or pasted by the teacher, counted in the page, sent nowhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_uppercase

import anywidget
import traitlets

from bertlook_teach.views import page_bundle, style_source

from ...render import TextTable
from ...syllabus import Votes, count_votes
from ..assets import module_source, view_style


class Tally(anywidget.AnyWidget):
    """A box for codes such as ``3-1B`` (lesson 3, question 1, answer B), and a bar for each answer.

    How codes are read is said at `count_votes`. The bars, and which answer is the computed one, stay hidden until *show the room* is pressed, so
    that who writes last does not write what most have written. It works in an exported page too; the votes are not saved with the notebook.

    Parameters
    ----------
    lesson, question : int
        From 1.
    choices : mapping from letter to str, or sequence of str
        The answers. In a sequence they are lettered in order; letters alone, as in ``"ABC"``, stand for themselves.
    answer : str
        The letter that the data say, marked once the room is shown; none if empty.
    votes : str
        Codes that are there already.
    font_size : float
        In pixels; 0 follows the page's text size.

    Raises
    ------
    ValueError
        If the choices are not two or more different letters, or the answer is none of them.
    """

    _esm = module_source("tally")
    _css = style_source() + view_style("tally")
    _ipython_display_ = None  # ipywidgets 7 would leave out the table for saved pages

    lesson = traitlets.Int().tag(sync=True)
    question = traitlets.Int().tag(sync=True)
    choices = traitlets.List([]).tag(sync=True)  # [[letter, meaning], ...]
    answer = traitlets.Unicode("").tag(sync=True)
    votes = traitlets.Unicode("").tag(sync=True)
    shown = traitlets.Bool(False).tag(sync=True)
    font_size = traitlets.Float(0).tag(sync=True)

    def __init__(
        self,
        lesson: int,
        question: int,
        choices: Mapping[str, str] | Sequence[str],
        *,
        answer: str = "",
        votes: str = "",
        font_size: float = 0,
    ):
        if not isinstance(choices, Mapping):
            choices = _lettered(choices)
        count_votes(votes, lesson, question, choices)  # refuses choices that are none
        choices = {letter.upper(): meaning for letter, meaning in choices.items()}
        if answer and answer.upper() not in choices:
            raise ValueError(f"the answer is one of the choices {', '.join(choices)}; got {answer!r}.")
        super().__init__(
            lesson=lesson,
            question=question,
            choices=[list(choice) for choice in choices.items()],
            answer=(answer or "").upper(),
            votes=votes,
            font_size=font_size,
        )

    @property
    def count(self) -> Votes:
        """What has been typed so far, counted."""
        return count_votes(self.votes, self.lesson, self.question, dict(self.choices))

    def _repr_mimebundle_(self, **kwargs):
        table = TextTable(["letter", "prediction"], self.choices)
        return page_bundle(self, table._repr_html_()) | table._repr_mimebundle_()

    def __repr__(self) -> str:
        return f"Tally(lesson {self.lesson}, question {self.question}, {self.count.n} votes)"


def _lettered(choices: Sequence[str]) -> dict[str, str]:
    """Answers by letter: A to the first, B to the second."""
    answers = [str(choice) for choice in choices]
    if len(answers) > len(ascii_uppercase):
        raise ValueError(f"there are {len(answers)} answers and {len(ascii_uppercase)} letters for them.")
    if all(len(answer) == 1 and answer.isalpha() for answer in answers):
        return dict.fromkeys(answers, "")
    return dict(zip(ascii_uppercase, answers))
