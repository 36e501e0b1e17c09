"""What a student has reached in one lesson: counted while the checks run, shown and saved when asked for."""

from __future__ import annotations

import functools
import hashlib
import html
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .feedback import Feedback

_WORDS = {"right": "right", "wrong": "not right yet", "unanswered": "not answered yet", "not run": "not run"}
_KEYS = {"lesson", "right", "of", "answers", "check"}


@dataclass(frozen=True)
class Sheet:
    """The checks of a lesson and how each was last answered.

    Parameters
    ----------
    lesson : str
        For example ``"03"``.
    answers : dict of name -> {"right", "wrong", "unanswered", "not run"}
    said : str
        What became of saving; empty if it was not asked for.
    """

    lesson: str
    answers: dict[str, str]
    said: str = ""

    @property
    def right(self) -> int:
        """How many were right when they were last run."""
        return sum(status == "right" for status in self.answers.values())

    def __repr__(self):
        open_ = [(name, _WORDS[status]) for name, status in self.answers.items() if status != "right"]
        lines = [f"{self.right} of {len(self.answers)} right in lesson {self.lesson}."]
        lines += [f"  {name.replace('_', ' ')}: {words}" for name, words in open_]
        return "\n".join(lines + [self.said] * bool(self.said))

    def _repr_html_(self):
        first, *rest = (html.escape(line) for line in repr(self).splitlines())
        return (
            f'<div class="bertlook-sheet" role="status"><strong>{first}</strong>'
            + "".join(f"<div>{line}</div>" for line in rest)
            + "</div>"
        )

    def to_json(self) -> str:
        """The sheet as a teacher gets it; ``check`` shows a later change by hand, it does not prove who wrote it."""
        held = {"lesson": self.lesson, "right": self.right, "of": len(self.answers), "answers": self.answers}
        return json.dumps(held | {"check": _digest(held)}, indent=1) + "\n"


def _digest(held) -> str:
    return hashlib.sha256(json.dumps(held, sort_keys=True).encode()).hexdigest()[:16]


def read_sheet(path) -> Sheet:
    """A sheet that was handed in.

    Parameters
    ----------
    path : path
        A file that ``check.sheet(save=...)`` wrote.

    Raises
    ------
    ValueError
        If the file is no sheet, or was changed after it was written.
    """
    path = Path(path)
    advice = 'Ask for a new one: run all cells, then check.sheet(save="NAME.json").'
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise ValueError(f"{path.name} is not JSON. {advice}") from None
    if not isinstance(held, dict) or set(held) != _KEYS:
        raise ValueError(f"{path.name} is not a sheet: it needs {', '.join(sorted(_KEYS))}. {advice}")
    said = held.pop("check")
    if said != _digest(held):
        raise ValueError(f"{path.name} was changed after check.sheet wrote it. {advice}")
    return Sheet(held["lesson"], held["answers"])


def keep_sheet(names: dict) -> Callable[..., Sheet]:
    """Let every check of a lesson's module note its last answer; return the module's ``sheet``.

    Parameters
    ----------
    names : dict
        ``globals()`` of the module, after its last check.
    """
    lesson = names["__name__"][-2:]
    own = [
        name
        for name, thing in names.items()
        if name.startswith("check_") and thing.__module__ == names["__name__"]
    ]
    answers = {name[len("check_") :]: "not run" for name in own}

    def noting(check):
        @functools.wraps(check)
        def noted(*arguments, **options):
            feedback = check(*arguments, **options)
            if isinstance(feedback, Feedback):
                answers[check.__name__[len("check_") :]] = feedback.status
            return feedback

        return noted

    names.update({name: noting(names[name]) for name in own})

    def sheet(save=None) -> Sheet:
        """What was reached in this notebook so far; ``save="NAME.json"`` writes it as a file to hand in."""
        made = Sheet(lesson, dict(answers))
        if save is None:
            return made
        if not str(save).endswith(".json"):
            return Sheet(lesson, made.answers, f'Not saved: the name must end in .json, got "{save}".')
        try:
            Path(save).write_text(made.to_json(), encoding="utf-8")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            return Sheet(
                lesson, made.answers, f'Not saved: "{save}" cannot be written ({reason}). Name another file.'
            )
        return Sheet(lesson, made.answers, f"Saved as {Path(save).name}: hand in this file.")

    return sheet
