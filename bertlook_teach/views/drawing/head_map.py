"""One number per head as a picture: a row per layer, a column per head."""

from __future__ import annotations

import numpy as np

from ...model import head_label
from .grid import Cell, Grid
from .inputs import checked_present, checked_values
from .palette import MISSING, MUTED, difference_colour, magnitude_colour
from .pictures import Picture
from .sentences import describe_head_map, number, short_number, short_signed, signed_number
from .svg import text, text_width

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
) -> Picture:
    """Draw one number per head as a grid of layers and heads, counted from 1.

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
        Write the value into each cell; by default up to 8 heads a layer. It is always in the cell's tooltip.
    font_size : float
        In pixels. On a slide 24 or more.

    Raises
    ------
    ValueError
        If values do not have shape (layer, head), hold NaN, or the range or the selected head is impossible.

    Examples
    --------
    >>> picture = render_head_map([[.1, .2, .3], [.4, .5, .9]], title="to the previous token", selected=(1, 2))
    >>> "head 2-3 has the largest value (0.900)" in picture.sentence
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
    numbers = n_heads <= 8 if numbers is None else numbers
    em = float(font_size)
    side = 2.4 * em if numbers else 1.35 * em
    grid = Grid(4.4 * em, 4.6 * em, n_layers, n_heads, side, side, em)
    heading = f"Change: {title}" if difference else title
    width = max(grid.right + 1.2 * em, text_width(heading, em) * 1.1 + 2.4 * em)
    height = grid.bottom + 1.2 * em

    def cell(layer: int, head: int) -> Cell:
        value, name = values[layer, head], f"Head {head_label(layer, head)}"
        if absent[layer, head]:
            return Cell(MISSING, f"{name}: not there", "–" if numbers else "")
        sign = ("\u2212" if value < 0 else "+") if difference and abs(value) >= 0.1 * high else ""
        fill = (
            difference_colour(value / high) if difference else magnitude_colour((value - low) / (high - low))
        )
        return Cell(fill, f"{name}: {say(value)}", short(value) if numbers else sign)

    body = [
        text(1.2 * em, 1.2 * em, heading, extra=' font-weight="600"'),
        *grid.named(("head", "layer"), 1.4 * em, 2.6 * em),
        *grid.numbered(),
        *grid.cells(cell, range(1, n_layers + 1)),
    ]
    if selected is not None:
        body.append(grid.framed(*selected))
    sentence = describe_head_map(values, title=title, selected=selected, absent=absent, difference=difference)
    if difference:
        body.append(text(1.2 * em, height + 0.4 * em, DIFFERENCE_LEGEND, fill=MUTED))
        height, width = height + 1.4 * em, max(width, text_width(DIFFERENCE_LEGEND, em) * 1.1 + 2.4 * em)
    return Picture(body, width, height, title=title, sentence=sentence, font_size=em)
