"""What a model was trained for, and how well it does it, as a figure."""

from __future__ import annotations

from collections.abc import Mapping

from bertlook_teach.views import INK

from ..drawing.figures import styled_figure
from ..drawing.marks import bar_look


def tasks_figure(
    tasks: Mapping[str, Mapping[str, tuple[float, float, float]]], *, size=(9.8, 3.6), font_size: float = 18
):
    """A panel a task and a bar for each who tries it, in per cent, with its interval: a matplotlib figure.

    Parameters
    ----------
    tasks : mapping of task to mapping of name to (share, low, high)
        Of 1. Without an interval, low and high are the share. The name of a rule begins with "baseline: ".

    Raises
    ------
    ValueError
        If an interval does not lie around its share.
    """
    with styled_figure(size, font_size, len(tasks)) as (figure, panels):
        for axes, (task, tried) in zip(panels, tasks.items()):
            for row, (name, numbers) in enumerate(tried.items()):
                share, low, high = (100 * number for number in numbers)
                if not low <= share <= high:
                    raise ValueError(f"{name!r} needs low <= share <= high; got {low}, {share}, {high}.")
                look = {"color": "#9aa3ad"} if "baseline" in name else bar_look(name)
                axes.barh(row, share, height=0.6, **look)
                if low < high:
                    axes.plot([low, high], [row, row], color=INK, linewidth=3)
                axes.text(high + 3, row, f"{share:.0f}", va="center")
            axes.set_yticks(range(len(tried)), [name.removeprefix("baseline: ") for name in tried])
            axes.invert_yaxis()
            axes.set(xlim=(0, 100), xticks=(0, 50, 100))
            axes.set_title(task, loc="left", fontsize=font_size)
            axes.set_xlabel("per cent right")
        figure.get_layout_engine().set(wspace=0.08)
    return figure
