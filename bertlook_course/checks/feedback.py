"""Feedback for exercises: was it answered, is it right, and if not, what is the likely reason?

One module per lesson (``checks/lesson01.py``, ...) holds its checks, each a record: see `bertlook_course.checks.answers`. A check takes the
student's answer and returns a :class:`Feedback`; it never raises because of what a student wrote, and it never prints the solution. A test
tries the right answer, each wrong one and an unfilled one of every record.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from .compare import _holds_ellipsis

# The word says it; the colour (Okabe-Ito) and the mark only repeat it.
_LEADS = {
    "unanswered": ("Not answered yet.", "○", "#666666"),
    "wrong": ("Not right yet.", "✗", "#D55E00"),
    "right": ("Right.", "✓", "#009E73"),
}

CHECK = "application/vnd.bertlook.check+json"  # beside the words that a saved notebook shows of a feedback

_FILL_IN = "Put your answer in place of the `...` and run this cell again."


@dataclass(frozen=True)
class Feedback:
    """What a check says about one answer. It is true in an ``if`` or ``assert`` only when the answer is right.

    Parameters
    ----------
    status : {"unanswered", "wrong", "right"}
    message : str
        What to do next, the likely mistake, or what was learnt. Text between backquotes is shown as code.
    lesson, check : str
        Whose answer it was about, as in ``"05"`` and ``"kappa"``; `keep_sheet` fills them in.
    """

    status: str
    message: str
    lesson: str = field(default="", compare=False)
    check: str = field(default="", compare=False)

    def __post_init__(self):
        if self.status not in _LEADS:
            raise ValueError(f"status must be one of {', '.join(_LEADS)}; got {self.status!r}")
        if not isinstance(self.message, str) or not self.message.strip():
            raise ValueError("a Feedback needs a message: a reader with only 'wrong' has nothing to act on")

    def __bool__(self):
        return self.status == "right"

    def __repr__(self):
        return f"{_LEADS[self.status][0]} {self.message}"

    def _repr_mimebundle_(self, include=None, exclude=None):
        """The feedback as data, which `bertlook collect` reads in a notebook that was handed in."""
        return {CHECK: asdict(self)} if self.check else {}

    def _repr_html_(self):
        lead, mark, colour = _LEADS[self.status]
        message = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(self.message, quote=False))
        return (
            f'<div class="bertlook-feedback" data-status="{self.status}" role="status" '
            f'style="border-left: 6px solid {colour}; padding: 0.3em 0.8em;">'
            f'<span aria-hidden="true">{mark}</span> <strong>{lead}</strong> {message}</div>'
        )


def is_unanswered(answer) -> bool:
    """Whether an answer still is, or contains, the ``...`` of the unfilled notebook.

    Parameters
    ----------
    answer : object
        ``...``, an empty text, and lists, tuples, sets or dictionaries that hold a ``...`` count as unanswered.
    """
    if answer is ...:
        return True
    if isinstance(answer, str):
        return answer.strip() in ("", "...", "…")
    if isinstance(answer, Mapping):
        return any(value is ... or _holds_ellipsis(value) for value in answer.values())
    return _holds_ellipsis(answer)


def check_all(*feedbacks, learnt=None) -> Feedback:
    """Join the parts of one exercise: the first wrong part, else the first unanswered one, else right.

    Parameters
    ----------
    *feedbacks : Feedback
    learnt : str, optional
        What the whole shows; without it, the last part's message.

    Raises
    ------
    ValueError
        If there is no part.
    """
    if not feedbacks:
        raise ValueError("check_all needs at least one Feedback")
    for status in ("wrong", "unanswered"):
        for number, feedback in enumerate(feedbacks, start=1):
            if feedback.status == status:
                where = f"Part {number}: " if len(feedbacks) > 1 and status == "wrong" else ""
                return Feedback(status, where + feedback.message)
    return Feedback("right", learnt or feedbacks[-1].message)


def unanswered() -> Feedback:
    """What every check says of an answer that is not there yet."""
    return Feedback("unanswered", _FILL_IN)


def require_lesson(learnt, tolerance=0.0):
    """Complain about the lesson's own mistakes, loudly and early."""
    if not isinstance(learnt, str) or not learnt.strip():
        raise ValueError("learnt must say, in a sentence, what a right answer shows")
    if not tolerance >= 0:
        raise ValueError(f"tolerance must be zero or more; got {tolerance!r}")
