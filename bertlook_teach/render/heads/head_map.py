"""One number per head as a picture: a row per layer, a column per head."""

from __future__ import annotations

import numpy as np

from ...model import head_label
from ..drawing.inputs import checked_present, checked_values
from ..drawing.palette import INK, MISSING, MUTED, SELECTED, difference_colour, magnitude_colour, text_colour
from ..drawing.sentences import describe_head_map, number, short_number, short_signed, signed_number
from ..drawing.svg import coordinate, frame, text, text_width, upright

DIFFERENCE_LEGEND = "blue, +: more than before; brown, −: less"


def value_range(values, vmin: float | None = None, vmax: float | None = None) -> tuple[float, float]:
    """The values drawn palest and darkest: 0 and the largest, unless said otherwise.

    Starting at 0 keeps a map of nearly equal heads pale instead of inventing contrast.

    >>> value_range([[.2, .5]]), value_range([[-1., 2.]]), value_range([[0., 0.]])
    ((0.0, 0.5), (-1.0, 2.0), (0.0, 1.0))
    """
    values = checked_values(values)
    low = min(0.0, float(values.min())) if vmin is None else float(vmin)
    high = float(values.max()) if vmax is None else float(vmax)
    if vmin is None and vmax is None and high == low:
        high = low + 1.0
    if not low < high:
        raise ValueError(f"vmin must be below vmax; got vmin={low:g} and vmax={high:g}.")
    return low, high


def difference_range(values, vmin: float | None = None, vmax: float | None = None) -> tuple[float, float]:
    """The same for differences: from minus to plus the largest size, so that 0 is palest and both signs are equally dark.

    >>> difference_range([[.2, -.5]]), difference_range([[0., 0.]])
    ((-0.5, 0.5), (-1.0, 1.0))
    """
    values = checked_values(values)
    high = (float(np.abs(values).max()) or 1.0) if vmax is None else float(vmax)
    low = -high if vmin is None else float(vmin)
    if not 0 < high == -low:
        raise ValueError(
            f"the scale of a difference goes from minus to plus the same number; got {low:g} to {high:g}."
        )
    return low, high


def render_head_map(
    values,
    *,
    title: str = "value",
    vmin: float | None = None,
    vmax: float | None = None,
    selected: tuple[int, int] | None = None,
    absent=None,
    difference: bool = False,
    numbers: bool | None = None,
    font_size: float = 16,
) -> str:
    """Draw, as a standalone SVG, one number per head as a grid of layers and heads, counted from 1.

    Parameters
    ----------
    values : array of shape (layer, head)
        What a measure returns.
    title : str
        What the number is, with its unit: "to the previous token (share)".
    vmin, vmax : float, optional
        The values drawn palest and darkest; by default 0 (or the smallest, if negative) and the largest.
        Give both to compare two maps.
    selected : (int, int), optional
        Zero-based layer and head to frame.
    absent : array of bool, shape (layer, head), optional
        Heads that are not there, for example yet: drawn grey with a dash.
    difference : bool
        The numbers are after minus before: more is blue, less is brown, on a scale from minus to plus the largest size; each cell
        has its sign.
    numbers : bool, optional
        Write the value into each cell; by default up to 16 heads a layer. It is always in the cell's tooltip.
    font_size : float
        In pixels. On a slide 24 or more.

    Raises
    ------
    ValueError
        If values do not have shape (layer, head), hold NaN, or the range or the selected head is impossible.

    Examples
    --------
    >>> svg = render_head_map([[.1, .2, .3], [.4, .5, .9]], title="to the previous token", selected=(1, 2))
    >>> "largest in head 2-3 (0.900)" in svg
    True
    """
    values, absent = checked_present(values, absent)
    low, high = (difference_range if difference else value_range)(values[~absent][None], vmin, vmax)
    say, short = (signed_number, short_signed) if difference else (number, short_number)
    n_layers, n_heads = values.shape
    if selected is not None:
        layer, head = selected
        if not (0 <= layer < n_layers and 0 <= head < n_heads):
            raise ValueError(
                f"selected must be a layer below {n_layers} and a head below {n_heads}, counted from 0; got {selected}."
            )
    numbers = n_heads <= 16 if numbers is None else numbers
    em = float(font_size)
    cell = 2.4 * em if numbers else 1.7 * em
    left, top = 4.4 * em, 4.6 * em
    width = max(
        left + n_heads * cell + 1.2 * em, text_width(f"{'Change: ' * difference}{title}", em) * 1.1 + 2.4 * em
    )
    height = top + n_layers * cell + 1.2 * em
    body = [
        text(1.2 * em, 1.2 * em, f"Change: {title}" if difference else title, extra=' font-weight="600"'),
        text(left, 2.6 * em, "head", fill=MUTED),
        upright(1.4 * em, top + n_layers * cell / 2, "layer"),
    ]
    body += [
        text(left + (h + 0.5) * cell, top - 0.8 * em, str(h + 1), anchor="middle") for h in range(n_heads)
    ]
    for layer in range(n_layers):
        y = top + layer * cell
        body.append(text(left - 0.5 * em, y + cell / 2, str(layer + 1), anchor="end"))
        for head in range(n_heads):
            x, value = left + head * cell, values[layer, head]
            gone = absent[layer, head]
            shade = (
                difference_colour(value / high)
                if difference
                else magnitude_colour((value - low) / (high - low))
            )
            fill = MISSING if gone else shade
            inside = ""
            if numbers or (difference and not gone and abs(value) >= 0.1 * high):
                inside = text(
                    x + cell / 2,
                    y + cell / 2,
                    "–" if gone else short(value) if numbers else "\u2212" if value < 0 else "+",
                    anchor="middle",
                    fill=text_colour(fill),
                    extra=f' font-size="{coordinate(0.85 * em)}"',
                )
            body.append(
                f"<g><title>Head {head_label(layer, head)}: {'not there' if gone else say(value)}</title>"
                f'<rect x="{coordinate(x + 1)}" y="{coordinate(y + 1)}" width="{coordinate(cell - 2)}" '
                f'height="{coordinate(cell - 2)}" rx="3" fill="{fill}"/>{inside}</g>'
            )
    if selected is not None:
        layer, head = selected
        body.append(
            f'<rect x="{coordinate(left + head * cell)}" y="{coordinate(top + layer * cell)}" '
            f'width="{coordinate(cell)}" height="{coordinate(cell)}" rx="4" fill="none" '
            f'stroke="{SELECTED}" stroke-width="{coordinate(0.18 * em)}"/>'
            f'<rect x="{coordinate(left + head * cell + 2)}" y="{coordinate(top + layer * cell + 2)}" '
            f'width="{coordinate(cell - 4)}" height="{coordinate(cell - 4)}" rx="3" fill="none" stroke="{INK}"/>'
        )
    sentence = describe_head_map(values, title=title, selected=selected, absent=absent, difference=difference)
    if difference:
        body.append(text(1.2 * em, height + 0.4 * em, DIFFERENCE_LEGEND, fill=MUTED))
        height, width = height + 1.4 * em, max(width, text_width(DIFFERENCE_LEGEND, em) * 1.1 + 2.4 * em)
    return frame(body, width, height, title=title, sentence=sentence, font_size=em)
