"""Pictures of matplotlib figures, curves with their intervals, and bars of offsets."""

from __future__ import annotations

import contextlib
import hashlib
import io
import re
from collections.abc import Mapping, Sequence

import numpy as np

from bertlook_teach.views import (
    GROWS,
    INK,
    LINE,
    MUTED,
    RULE,
    SELECTED,
    Picture,
    as_array,
    coordinate,
    number,
    text,
    with_minus,
)

from .text_table import TextTable


def figure_picture(figure, sentence: str, numbers: tuple[TextTable, ...] | None = None) -> Picture:
    """A matplotlib figure as a `Picture`: SVG with real text, its sentence as label, coordinates rounded.

    Rounding to a tenth of a point makes the bytes the same on machines that differ in the last digits of a float.
    """
    import matplotlib

    from .figure_tables import figure_numbers
    from .figures import FIGURE_STYLE

    file = io.StringIO()
    with matplotlib.rc_context(FIGURE_STYLE), _anchored_lines(figure):
        figure.savefig(
            file, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
        )
    svg = file.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(
        r"<style type=\"text/css\">.*?</style>", "", svg, flags=re.DOTALL
    )  # it would restyle the page
    svg = re.sub(
        r"<[^>]+>", lambda tag: _DECIMAL.sub(_rounded, tag.group()), svg
    )  # not the text between tags
    svg = _renamed_ids(svg).strip()
    opening = re.match(r"<svg[^>]*>", svg).group()
    width, height = map(float, re.search(r'viewBox="0 0 (\S+) ([^"]+)"', opening).groups())
    body = [svg[len(opening) : -len("</svg>")].strip()]
    numbers = figure_numbers(figure) if numbers is None else numbers
    return Picture(body, width, height, "", sentence, numbers=numbers, across=GROWS, unit=4 / 3)


@contextlib.contextmanager
def _anchored_lines(figure):
    """Each line of a text of several lines is written with the anchor of the whole text.

    matplotlib does so for a single line. It sets every one of several where its own typeface puts the first letter, and in a page's
    typeface, which is narrower, they stand aside.
    """
    from matplotlib.text import Text

    several = [one for one in figure.findobj(Text) if "\n" in one.get_text()]
    for one in several:

        def draw(renderer, one=one, plain=one.draw):
            write = renderer.draw_text

            def anchored(*given, mtext=None, **more):
                write(*given, mtext=one, **more)

            renderer.draw_text = anchored
            try:
                plain(renderer)
            finally:
                renderer.draw_text = write

        one.draw = draw
    try:
        yield
    finally:
        for one in several:
            del one.draw


_DECIMAL = re.compile(r"-?\d+\.\d+")


def _rounded(found) -> str:
    return coordinate(float(found.group()))


def _renamed_ids(svg: str) -> str:
    """matplotlib names its ids after exact coordinates; name them after the picture's tags and words instead.

    Two pictures on one page keep different ids, and no number changes one: the last digits of numbers are not the same on every
    processor.
    """
    ids = list(dict.fromkeys(re.findall(r'\bid="([^"]+)"', svg)))
    for position, name in enumerate(ids):
        svg = re.sub(rf'(id="|#){re.escape(name)}(?=["\)])', rf"\g<1>i{position}", svg)
    tags_and_words = re.sub(r"(<[\w:]+)[^>]*|[-+−.\d]+", r"\1", svg)
    prefix = hashlib.sha256(tags_and_words.encode()).hexdigest()[:8]
    return re.sub(r'(id="|#)i(\d+)(?=["\)])', rf"\g<1>p{prefix}-\2", svg)


def interval_curves(
    series: Mapping[str, object],
    *,
    baseline: tuple[str, float] | None = None,
    size: tuple[float, float] = (9.8, 3.9),
    ax=None,
    **curves,
):
    """Layer curves with their intervals, published curves and a baseline, at the size of a slide: a matplotlib figure.

    Parameters
    ----------
    series : mapping of name to (mean, low, high), each of shape (layer,)
        What ``Profile.layer_mean`` returns.
    baseline : (name, value), optional
        A horizontal line.
    published, ylabel, title, ylim, size, ax
        As in `layer_curves`. A published curve has no band: nobody printed an interval for it.

    Raises
    ------
    ValueError
        If an interval does not lie around its mean.
    """
    from .figures import layer_curves, legend_outside

    for name, (mean, low, high) in series.items():
        if not (np.all(np.asarray(low) <= mean) and np.all(np.asarray(mean) <= high)):
            raise ValueError(
                f"series {name!r} needs (mean, low, high) with low <= mean <= high in every layer."
            )
    means = {name: np.asarray(mean) for name, (mean, _, _) in series.items()}
    before = len(getattr(ax, "lines", ()))
    figure = layer_curves(means, size=size, font_size=18, ax=ax, **curves)
    axes = figure.axes[0] if ax is None else ax
    for line, (_, low, high) in zip(list(axes.lines)[before:], series.values()):
        axes.fill_between(line.get_xdata(), low, high, color=line.get_color(), alpha=0.25, linewidth=0)
    if baseline:
        name, value = baseline
        axes.axhline(value, color=MUTED, linewidth=2, linestyle=(0, (1, 2)), label=name, zorder=1)
    # once more, now that the baseline has a name too
    for legend in list(figure.legends) if ax is None else ():
        legend.remove()
    legend_outside(figure, axes, "outside upper left", most=2)
    return figure


def render_offset_bars(
    values,
    offsets: Sequence[int] = tuple(range(-8, 9)),
    *,
    title: str = "",
    baseline: float | None = None,
) -> Picture:
    """One bar per offset: how much attention goes so many tokens back (negative) or ahead (positive).

    Parameters
    ----------
    values : array of shape (offset,)
        Shares, from 0 to 1; the scale is the same for every head, so that two pictures can be compared.
    offsets : sequence of int
    baseline : float, optional
        Drawn as a dashed line: what a head that looks at all tokens equally would give.

    Returns
    -------
    Picture
        The previous and the next token are named in words below the axis.
    """
    values = as_array(values)
    if values.shape != (len(offsets),):
        raise ValueError(f"one value per offset is needed, {len(offsets)} of them; got shape {values.shape}.")
    if not np.isfinite(values).all() or values.min() < 0 or values.max() > 1.0005:
        raise ValueError("attention to an offset is a share from 0 to 1; scores before the softmax are not.")
    em, width, height = 24.0, 480.0, 400.0
    left, top, bottom = 2.6 * em, 3.0 * em, 2.9 * em
    plot = height - top - bottom
    pitch = (width - left - 0.5 * em) / len(offsets)

    def y(value):
        return top + (1 - value) * plot

    body = [text(0.3 * em, 0.9 * em, title, extra=' font-weight="600"')]
    for tick in (0, 0.5, 1):
        body.append(
            f'<path d="M{coordinate(left)} {coordinate(y(tick))}H{coordinate(width - 0.5 * em)}" stroke="{RULE}"/>'
        )
        body.append(text(left - 0.4 * em, y(tick), f"{tick:g}", anchor="end", fill=MUTED))
    for k, (offset, value) in enumerate(zip(offsets, values)):
        x = left + k * pitch
        fill = SELECTED if abs(offset) == 1 else LINE
        body.append(
            f"<g><title>offset {offset:+d}: {number(value)}</title>"
            f'<rect x="{coordinate(x + 0.12 * pitch)}" y="{coordinate(y(value))}" width="{coordinate(0.76 * pitch)}" '
            f'height="{coordinate(max(0.8, value * plot))}" fill="{fill}"/></g>'
        )
        if value >= 0.045:
            body.append(text(x + pitch / 2, y(value) - 0.6 * em, f"{value:.2f}".lstrip("0"), anchor="middle"))
        if offset % 2 == 0:
            body.append(
                text(
                    x + pitch / 2,
                    height - bottom + 0.8 * em,
                    with_minus(f"{offset:+d}") if offset else "0",
                    anchor="middle",
                )
            )
    if baseline is not None:
        body.append(
            f'<path d="M{coordinate(left)} {coordinate(y(baseline))}H{coordinate(width - 0.5 * em)}" '
            f'stroke="{MUTED}" stroke-width="2" stroke-dasharray="3 4"/>'
        )
    body.append(text(left, height - 0.8 * em, "← looks back", fill=INK))
    body.append(text(width - 0.5 * em, height - 0.8 * em, "looks ahead →", anchor="end", fill=INK))
    sentence = describe_offsets(values, offsets)
    # Grows with the screen, so that on a large one the type does not stay behind the text around it.
    across = f"max({coordinate(width)}px,44vw)"
    return Picture(body, width, height, title or "offsets", sentence, em, across=across)


def describe_offsets(values, offsets: Sequence[int] = tuple(range(-8, 9))) -> str:
    """Where a profile has its peak, and how much of all attention lies in the window.

    >>> describe_offsets([0.7, 0.1, 0.0], [-1, 0, 1])
    'Most goes to offset -1, the previous token (0.700); these offsets hold 0.800 of all attention.'
    """
    values = as_array(values)
    peak = int(values.argmax())
    names = {-1: "the previous token", 0: "the token itself", 1: "the next token"}
    offset = offsets[peak]
    name = names.get(offset, f"{abs(offset)} tokens {'back' if offset < 0 else 'ahead'}")
    return (
        f"Most goes to offset {offset:+d}, {name} ({number(values[peak])}); "
        f"these offsets hold {number(values.sum())} of all attention."
    ).replace("offset +0", "offset 0")
