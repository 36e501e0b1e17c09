"""What a student has reached in one lesson: counted while the checks run, shown and saved when asked for."""

from __future__ import annotations

import hashlib
import html
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from .feedback import Feedback

_WORDS = {"right": "right", "wrong": "not right yet", "unanswered": "not answered yet", "not run": "not run"}
_KEYS = {"lesson", "right", "of", "answers", "check"}
_LONGEST = 500  # characters of a mistake; a message may quote the answer


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
    mistakes : dict of name -> str
        What the check said of each answer that is wrong; a sheet of an earlier edition has none.
    """

    lesson: str
    answers: dict[str, str]
    said: str = ""
    mistakes: dict[str, str] = field(default_factory=dict)

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
        if self.mistakes:
            held["mistakes"] = self.mistakes
        return json.dumps(held | {"check": _digest(held)}, indent=1) + "\n"


def _digest(held) -> str:
    return hashlib.sha256(json.dumps(held, sort_keys=True).encode()).hexdigest()[:16]


def sheet_from(content: bytes, name: str) -> Sheet:
    """A sheet that was handed in.

    Parameters
    ----------
    content : bytes
        Of a file that ``check.sheet(save=...)`` wrote.
    name : str
        Of the file, for the messages.

    Raises
    ------
    ValueError
        If the file is not a sheet, or was changed after it was written.
    """
    advice = 'Ask for a new one: run all cells, then check.sheet(save="NAME.json").'
    try:
        held = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise ValueError(f"{name} is not JSON. {advice}") from None
    if not isinstance(held, dict) or set(held) - {"mistakes"} != _KEYS:
        raise ValueError(f"{name} is not a sheet: it needs {', '.join(sorted(_KEYS))}. {advice}")
    said = held.pop("check")
    if said != _digest(held):
        raise ValueError(f"{name} was changed after check.sheet wrote it. {advice}")
    answers, mistakes = held["answers"], held.get("mistakes", {})
    # A sheet with a right digest may still have been made by hand.
    if (
        not isinstance(held["lesson"], str)
        or not isinstance(answers, dict)
        or not all(isinstance(status, str) and status in _WORDS for status in answers.values())
        or not isinstance(mistakes, dict)
        or not all(answers.get(name) == "wrong" and isinstance(m, str) for name, m in mistakes.items())
    ):
        raise ValueError(f"{name} is not a sheet as check.sheet writes it. {advice}")
    return Sheet(held["lesson"], answers, mistakes=mistakes)


def sheet_of(lesson: str, names: Iterable[str], said: Iterable[Feedback]) -> Sheet:
    """The sheet of a lesson with these checks, from all that they said; of each check the last counts."""
    last = {one.check: one for one in said}
    answers = {name: last[name].status if name in last else "not run" for name in names}
    wrong = [name for name, status in answers.items() if status == "wrong"]
    return Sheet(lesson, answers, mistakes={name: last[name].message[:_LONGEST] for name in wrong})


def keep_sheet(names: dict) -> Callable[..., Sheet]:
    """Let every check of a lesson's module note its last answer; return the module's ``sheet``.

    Parameters
    ----------
    names : dict
        ``globals()`` of the module, after its last check.
    """
    lesson = names["__name__"][-2:]
    own = [name for name in names if name.startswith("check_")]
    last: dict[str, Feedback] = {}

    def noting(name, check):
        def noted(*arguments, **options):
            short = name[len("check_") :]
            last[short] = replace(check(*arguments, **options), lesson=lesson, check=short)
            return last[short]

        noted.__name__ = noted.__qualname__ = name
        noted.__module__, noted.__doc__, noted.__wrapped__ = names["__name__"], check.asks, check
        return noted

    names.update({name: noting(name, names[name]) for name in own})

    def sheet(save=None) -> Sheet:
        """What was reached in this notebook so far; ``save="NAME.json"`` writes it as a file to hand in."""
        made = sheet_of(lesson, [name[len("check_") :] for name in own], last.values())
        if save is None:
            return made
        if not str(save).endswith(".json"):
            return replace(made, said=f'Not saved: the name must end in .json, got "{save}".')
        try:
            Path(save).write_text(made.to_json(), encoding="utf-8")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            return replace(made, said=f'Not saved: "{save}" cannot be written ({reason}). Name another file.')
        return replace(made, said=f"Saved as {Path(save).name}: hand in this file.")

    return sheet
