"""A few small attention maps beside each other, to compare their shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bertlook_teach.views import Picture

from ..drawing.figure_pictures import figure_picture
from ..drawing.figures import legend_outside


def small_maps(
    maps: Mapping[str, tuple],
    sentence: str,
    *,
    size: tuple[float, float] = (9.8, 3.9),
    words: Sequence[str] = (),
    aspect: str = "equal",
    font_size: float = 18,
) -> Picture:
    """Maps in one row: rows look, columns are looked at, and what is said of each map stands below it.

    All have one scale: the largest weight of all maps is darkest.

    Parameters
    ----------
    maps : mapping of title to (array of shape (query, key), str)
    sentence : str
        What the picture shows; its caption.
    size : (float, float)
        In inches.
    words : sequence of str
        Of the queries and the keys. Default: none are written.
    aspect : {"equal", "auto"}
        Whether the cells are squares, or fill their panel.
    font_size : float
        In points.
    """
    from matplotlib.figure import Figure

    darkest = max(weights.max() for weights, _ in maps.values())
    figure = Figure(figsize=size, layout="constrained")
    for number, (axes, (title, (weights, said))) in enumerate(
        zip(figure.subplots(1, len(maps)), maps.items())
    ):
        axes.imshow(weights, cmap="Blues", vmin=0, vmax=darkest, aspect=aspect)
        axes.set_title(title, fontsize=font_size)
        axes.set_xlabel(said, fontsize=font_size)
        axes.set_xticks(range(len(words)), words, fontsize=font_size, rotation=90)
        axes.set_yticks(range(len(words)), words if not number else [""] * len(words), fontsize=font_size)
    return figure_picture(figure, sentence)


def map_beside(
    figure, weights, words: Sequence[str], title: str, *, share: float = 0.36, font_size: float = 18
):
    """Draw a map at the right of a figure's only pair of axes, which becomes narrower; the figure keeps its size, its key gets lower.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        With one pair of axes, as `interval_curves` gives it.
    weights : array of shape (query, key)
    words : sequence of str
        Of the rows; one that is empty is not named.
    title : str
    share : float
        Of the width, for the map and its words.

    Raises
    ------
    ValueError
        If the figure has several panels, or a row has no word.
    """
    if len(figure.axes) != 1 or len(words) != len(weights):
        raise ValueError(
            f"a map stands beside one panel, with a word for each row; got {len(figure.axes)} panels, "
            f"{len(words)} words for {len(weights)} rows."
        )
    places, curves = figure.add_gridspec(1, 2, width_ratios=(1 - share, share)), figure.axes[0]
    curves.set_subplotspec(places[0])
    for key in list(figure.legends):
        key.remove()
        legend_outside(figure, curves, "outside upper left", most=3)
    axes = figure.add_subplot(places[1])
    axes.imshow(weights, cmap="Blues", vmin=0, aspect="auto")
    axes.set_title(title, fontsize=font_size)
    axes.set_xticks([])
    axes.set_yticks(range(len(words)), words, fontsize=font_size)
    axes.tick_params(length=0)
