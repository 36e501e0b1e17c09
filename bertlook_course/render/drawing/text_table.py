"""A small table for a slide that reads well as plain text too."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bertlook_teach.views import INK, RULE, content, typeset_sentence, with_minus

from ...storage import align

TABLE = "application/vnd.bertlook.table+json"  # beside what a saved notebook shows of a table

_NOTHING = re.compile(r"-(?=[¹²³⁴⁵⁶⁷⁸⁹]?$)")  # a footnote may say why


@dataclass(frozen=True)
class Estimate:
    """A number with its interval, for a cell of a table: a picture of the table draws the numbers, a page prints them.

    Parameters
    ----------
    value : float
    low, high : float, optional
        Its interval, or the smallest and the largest of what it is the mean of.
    form : str
        How each of them is printed, as in a format string; with more places where both ends of an interval would be printed alike.
    between : str
        How the interval is printed.
    before, after : str
        Words around the numbers, such as the head they belong to.
    short : bool
        Without the zero before the point, where many columns must fit: ".42".

    Examples
    --------
    >>> print(Estimate(0.981, 0.97, 0.99, after=" in 1-1"), Estimate(0.5, form="+.1f"), Estimate(-0.25, short=True), sep="; ")
    0.98 [0.97, 0.99] in 1-1; +0.5; -.25
    >>> print(Estimate(0.9806, 0.9803, 0.9809))
    0.981 [0.980, 0.981]
    """

    value: float
    low: float | None = None
    high: float | None = None
    form: str = ".2f"
    between: str = "[{}, {}]"
    before: str = ""
    after: str = ""
    short: bool = False

    def __post_init__(self):
        if (self.low is None) != (self.high is None):
            raise ValueError(f"an interval has two ends, or none; got {self.low} and {self.high}.")

    @classmethod
    def per_cent(cls, *shares: float, form: str = ".0f", after: str = "") -> Estimate:
        """A share of one, and its interval if there is one, in per cent.

        >>> print(Estimate.per_cent(0.251, 0.2, 0.3), Estimate.per_cent(0.251, form=".1f"))
        25 [20, 30] 25.1
        """
        return cls(*(100 * share for share in shares), form=form, after=after)

    @property
    def numbers(self) -> tuple[float, float, float]:
        """The value and the ends of its interval, which is the value itself where there is none."""
        value = float(self.value)
        return (value, value, value) if self.low is None else (value, float(self.low), float(self.high))

    def __str__(self) -> str:
        value, *ends = (self._print(number, self._form) for number in self.numbers)
        interval = "" if self.low is None else f" {self.between.format(*ends)}"
        return f"{self.before}{value}{interval}{self.after}"

    @property
    def _form(self) -> str:
        """`form`, with up to two places more where an interval would be printed as if it had no width."""
        _, low, high = self.numbers
        head, point, places = self.form.rstrip("f").rpartition(".")
        if low == high or not self.form.endswith("f") or not places.isdigit():
            return self.form
        finer = (f"{head}{point}{int(places) + more}f" for more in range(3))
        return next((form for form in finer if f"{low:{form}}" != f"{high:{form}}"), self.form)

    def _print(self, number: float, form: str) -> str:
        printed = f"{number:{form}}"
        if float(printed) == 0:  # "-0.00" would make a reader look for a minus that is not there
            printed = printed.removeprefix("-")
        return re.sub(r"^([+-]?)0\.", r"\1.", printed) if self.short else printed


@dataclass(frozen=True)
class TextTable:
    """A small table: HTML in a notebook, plain characters elsewhere. Every cell is printed by ``str`` and escaped.

    >>> TextTable(["head", "share"], [["1-2", "0.98"], ["12-10", "0.5"]])
    head   share
    1-2    0.98
    12-10  0.5
    """

    header: Sequence[str]
    rows: Sequence[Sequence[object]]
    caption: str = ""

    def __post_init__(self):
        for row in self.rows:
            if len(row) != len(self.header):
                raise ValueError(
                    f"a row needs {len(self.header)} cells, one a column; got {len(row)}: {list(row)}."
                )

    def _repr_mimebundle_(self, include=None, exclude=None):
        """The cells as data, for what is made from a saved notebook; `TextTable` takes them back."""
        header, *rows = ([str(cell) for cell in row] for row in (self.header, *self.rows))
        return {TABLE: {"header": header, "rows": rows, "caption": self.caption}}

    def _repr_html_(self) -> str:
        style = f"padding:.2em .8em .2em .35em;text-align:left;vertical-align:top;border-bottom:1px solid {RULE};font-size:1em"
        head = "".join(
            f'<th scope="col" style="{style};white-space:{_wrapping(name)}">{content(typeset_cell(name))}</th>'
            for name in self.header
        )
        body = []
        for first, *rest in self.rows:
            cells = "".join(
                f'<td style="{style};white-space:{_wrapping(cell)}">{content(typeset_cell(cell))}</td>'
                for cell in rest
            )
            body.append(
                '<tr style="background:transparent">'
                f'<th scope="row" style="{style};font-weight:600;white-space:normal">{content(typeset_cell(first))}</th>{cells}</tr>'
            )
        caption = f'<caption style="caption-side:bottom;text-align:left;font-size:1em;color:{INK};padding:.3em .35em">{typeset_sentence(content(self.caption))}</caption>'
        return "\n".join(
            [
                f'<table class="bertlook-table" style="font-size:1em;width:auto;margin:.2em 0;border-collapse:collapse;color:{INK}">',
                *([caption] if self.caption else []),
                f"<thead><tr>{head}</tr></thead><tbody>",
                *body,
                "</tbody></table>",
            ]
        )

    def __repr__(self) -> str:
        shown = align([[str(cell) for cell in row] for row in (self.header, *self.rows)])
        return f"{self.caption}\n{shown}" if self.caption else shown


def typeset_cell(cell: object) -> str:
    """A cell with the signs of print, which not every terminal has: a minus before a number, a long dash for nothing.

    >>> typeset_cell("-0.5 [-1, 3]"), typeset_cell("-"), typeset_cell("3-1")
    ('−0.5 [−1, 3]', '—', '3-1')
    """
    text = str(cell)
    return "\u2014" + text[1:] if _NOTHING.match(text) else with_minus(text)


def _wrapping(cell: object) -> str:
    """A number with its interval stays on one line; a phrase may break."""
    return "nowrap" if len(str(cell)) <= 20 else "normal"
