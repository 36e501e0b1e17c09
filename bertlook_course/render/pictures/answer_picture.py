"""A lesson's answer as a picture: its findings in words, and beside each the bars that it rests on."""

from __future__ import annotations

from collections.abc import Mapping

from bertlook_teach.views import INK, RULE, Picture, coordinate, model_of, text, text_width, with_minus

from ..drawing.layout import broken_lines
from ..drawing.marks import bar_look
from ..drawing.text_table import Estimate, TextTable

_WIDTH, _EM, _LINE = 1180.0, 30.0, 36.0
_FINDING = 270.0  # how wide a finding may be beside the longest name
_SHORTEST = 60.0  # a bar of the whole scale
_BOLD = 1.05  # times as wide
_FALLBACK = 1.15  # so much wider is what stands in for the slides' font in a saved notebook


def answer_picture(
    findings: Mapping[str, Mapping[str, Estimate]], caption: str = "", *, model: str = ""
) -> Picture:
    """One row a finding: the sentence, and a bar with its number for each measure that it compares.

    A model's bar looks as everywhere. Bars begin at 0. Per cent end at 100, numbers of no more than 1 at 1, others at the row's largest.

    Parameters
    ----------
    findings : mapping of str to mapping of str to Estimate
        Each finding, and its measures by name.
    caption : str, optional
        What else is to be said. Where the scales of rows differ, that is added.
    model : str, optional
        Whose the bars are that name no model.

    Raises
    ------
    ValueError
        If the name of a measure is so long that its bar has no room.

    Examples
    --------
    >>> answer_picture({"One head does.": {"best head": Estimate(0.9), "random twin": Estimate(0.1)}})
    Picture: One head does. (best head 0.90, random twin 0.10)
    """
    body, top = [], 0.0
    ends = [_ends(measures) for measures in findings.values()]
    # Rows of one unit have one scale and one 0, so that they can be compared.
    spans = [(min(low for low, other in ends if other == high), high) for _, high in ends]
    widest = max(text_width(name, _EM) for measures in findings.values() for name in measures)
    start = _FINDING + widest + 40
    longest = min(  # as leaves room for the number behind each bar
        (_WIDTH - start - 12 - _FALLBACK * text_width(str(value), _EM))
        * (high - low)
        / (max(0.0, *value.numbers) - low)
        for measures, (low, high) in zip(findings.values(), spans)
        for value in measures.values()
        if max(0.0, *value.numbers) > low
    )
    if longest < _SHORTEST:
        longest_name = max((name for measures in findings.values() for name in measures), key=len)
        raise ValueError(f"{longest_name!r} leaves no room for the bars of this picture. Shorten the name.")
    for (finding, measures), (least, most) in zip(findings.items(), spans):
        own = max(text_width(name, _EM) for name in measures)
        lines = broken_lines(finding, _EM * _BOLD, start - own - 40)
        scale = longest / (most - least)
        high = _LINE * max(len(lines), len(measures)) + 20
        if top:
            body.append(f'<path d="M0 {coordinate(top)}H{_WIDTH:.0f}" stroke="{RULE}" stroke-width="1"/>')
        first = top + (high - _LINE * (len(lines) - 1)) / 2
        bold = ' font-weight="700"'
        body += [text(0, first + _LINE * k, line, extra=bold) for k, line in enumerate(lines)]
        y = top + (high - _LINE * (len(measures) - 1)) / 2
        body += _bars(measures, model, start, start - least * scale, scale, y)
        top += high
    said = " ".join(
        f"{finding} ({', '.join(f'{name} {value}' for name, value in measures.items())})"
        for finding, measures in findings.items()
    )
    rows = [
        [finding, name, value] for finding, measures in findings.items() for name, value in measures.items()
    ]
    return Picture(
        body,
        _WIDTH,
        top,
        "The answer",
        said,
        _EM,
        numbers=(TextTable(["finding", "measure", "value"], rows),),
        caption=" ".join(filter(None, [caption, "Rows differ in scale." * (len(set(spans)) > 1)])),
        wide=True,
    )


def _ends(measures: Mapping[str, Estimate]) -> tuple[float, float]:
    numbers = [number for value in measures.values() for number in value.numbers]
    shares = any(value.after.lstrip().startswith("%") for value in measures.values())
    return min(0.0, *numbers), 100.0 if shares else max(1.0, *numbers)


def _bars(
    measures: Mapping[str, Estimate], model: str, start: float, zero: float, scale: float, y: float
) -> list[str]:
    c, body = coordinate, []
    for k, (name, value) in enumerate(measures.items()):
        middle, (number, least, most) = y + _LINE * k, value.numbers
        look = bar_look(name if model_of(name) else model)
        fill, edge = (look.get(key, look.get("color")) for key in ("facecolor", "edgecolor"))
        left, right = sorted((zero, zero + number * scale))
        body += [
            text(start - 14, middle, name, anchor="end", fill=INK),
            f'<rect x="{c(left)}" y="{c(middle - 11)}" width="{c(right - left)}" height="22" fill="{fill}" stroke="{edge}" stroke-width="2"/>',
        ]
        if least < most:
            reach = zero + least * scale, zero + most * scale
            body.append(
                f'<path d="M{c(reach[0])} {c(middle)}H{c(reach[1])}" stroke="{INK}" stroke-width="3"/>'
            )
        body.append(text(max(right, zero + most * scale) + 12, middle, with_minus(str(value))))
    body.append(
        f'<path d="M{c(zero)} {c(y - 16)}V{c(y + _LINE * (len(measures) - 1) + 16)}" stroke="{INK}" stroke-width="2"/>'
    )
    return body
