"""What a room predicted: short codes, such as 3-1B for lesson 3, question 1, answer B, counted from any text they stand in.

A code says nothing of who wrote it. Nothing is sent: students write it on paper, into a chat or into a form, and the teacher types or
pastes what came. The same rules stand in widgets/js/tally.js, so that an exported page counts too; a test in a browser holds the two together.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .captions import worded

# Not inside a date or a longer number: 2026-03-1 is none.
_CODE = re.compile(
    r"(?<![\w.-])0*(\d{1,2})[-.]0*(\d{1,2})[ \t]*[-:.)=]?[ \t]*([A-Za-z])(?:[ \t]*[x×][ \t]*(\d{1,3}))?(?![\w'’-])",
    re.ASCII,
)
_DASHES = re.compile("[‐-―−]")
_LETTER = re.compile(r"([A-Za-z])(?:[x×]?(\d{1,3}))?", re.ASCII)


@dataclass(frozen=True)
class Votes:
    """The count of one question.

    Attributes
    ----------
    counts : dict
        Votes for each choice, in the order of the choices.
    elsewhere : int
        Votes for other questions of the same lesson, which are left alone.
    refused : tuple of str
        What was not counted, each with the reason.
    """

    counts: dict[str, int]
    elsewhere: int = 0
    refused: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """All votes for this question."""
        return sum(self.counts.values())


def count_votes(
    text: str | Iterable[str], lesson: int, question: int, choices: Sequence[str] | Mapping[str, str]
) -> Votes:
    """Count the codes of one question in a text: lines, a chat, or a form's CSV.

    Each code is one vote, so equal codes count as often as they come; ``3-1B x12`` is twelve, for hands that were counted. A line that
    consists of letters alone (``B``, or ``A4 B12 C3``) is read as votes for this question, and so is the one letter that stands alone
    between the commas or colons of a line (``10:06 Ida: B``). Names, times and other words are passed over.

    Parameters
    ----------
    text : str, or sequence of lines
    lesson, question : int
        From 1.
    choices : sequence of str, or mapping
        The letters, ``"ABCD"``, or a mapping from them to what they mean.

    Raises
    ------
    ValueError
        If a choice is not one letter, a letter comes twice, or there are fewer than two.

    Examples
    --------
    >>> votes = count_votes("3-1A\\n3-1b\\n09:14, Ada, 3-1B\\n4-1A", 3, 1, "ABC")
    >>> votes.counts
    {'A': 1, 'B': 2, 'C': 0}
    >>> votes.refused
    ('4-1A is of lesson 4; this is lesson 3',)
    """
    letters, lesson, question = [str(letter).upper() for letter in choices], int(lesson), int(question)
    if (
        len(letters) < 2
        or len({*letters}) < len(letters)
        or not all(re.fullmatch("[A-Z]", x) for x in letters)
    ):
        raise ValueError(f"choices are two or more different letters from A to Z; got {letters}.")
    counts, elsewhere, refused = dict.fromkeys(letters, 0), 0, []
    for line in text.splitlines() if isinstance(text, str) else map(str, text):
        line = _DASHES.sub(
            "-", unicodedata.normalize("NFKC", line)
        )  # full-width digits, and the dashes that phones put in
        found = [(int(a), int(b), c, n) for a, b, c, n in _CODE.findall(line)]
        words = [_LETTER.fullmatch(word) for word in re.split(r"[\s,;]+", line.strip())]
        if not found and all(words):
            found = [(lesson, question, *word.groups()) for word in words]
        alone = [
            word for part in re.split("[,;:\t]", line) if (word := _LETTER.fullmatch(part.strip(" \"'")))
        ]
        if not found and len(alone) == 1:
            found = [(lesson, question, *alone[0].groups())]
        elif not found and alone:
            example = f"{lesson}-{question}A"
            refused.append(worded("several letters", line=line.strip()[:40], code=example))
        for its_lesson, its_question, letter, times in found:
            letter, n = letter.upper(), int(times or 1)
            code = f"{its_lesson}-{its_question}{letter}"
            if its_lesson != lesson:
                refused.append(worded("other lesson", code=code, its_lesson=its_lesson, lesson=lesson))
            elif its_question != question:
                elsewhere += n
            elif letter not in counts:
                refused.append(worded("no choice", code=code, letters=", ".join(letters)))
            else:
                counts[letter] += n
    return Votes(counts, elsewhere, tuple(refused))
