"""Vectors of the plane as arrows, tip to tail, and their sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bertlook_teach.views import LINE, MUTED, OKABE_ITO, Picture, coordinate, text

_WIDTH, _EM, _TALL = 1030.0, 26.0, 300.0


def vectors_picture(panels: Mapping[str, Sequence], sentence: str) -> Picture:
    """In each panel vectors tip to tail, and their sum as a thick arrow behind them.

    Parameters
    ----------
    panels : mapping of title to sequence of (x, y)
    sentence : str
        What is to be seen.

    Raises
    ------
    ValueError
        If a vector has not two numbers.
    """
    chains = {}
    for title, vectors in panels.items():
        vectors = np.asarray(vectors, dtype=float)
        if vectors.ndim != 2 or vectors.shape[1] != 2:
            raise ValueError(
                f"{title!r} needs vectors of two numbers, an array of shape (n, 2); got shape {vectors.shape}."
            )
        starts = np.vstack([[0, 0], vectors.cumsum(axis=0)[:-1]])
        chains[title] = starts, starts + vectors
    column = _WIDTH / len(panels)
    points = [np.vstack([[0, 0], *chain]) for chain in chains.values()]
    wide = max(np.ptp(found[:, 0]) for found in points) or 1.0
    tall = max(np.ptp(found[:, 1]) for found in points) or 1.0
    scale = min((column - 150) / wide, (_TALL - 80) / tall, 260.0)
    body = []
    for k, (title, (starts, ends)) in enumerate(chains.items()):
        found = points[k]
        left = column * k + 20 - scale * found[:, 0].min()
        foot = 60 + (_TALL - 60) / 2 + scale * (found[:, 1].max() + found[:, 1].min()) / 2
        body.append(text(column * k, 18, title, extra=' font-weight="650"'))

        def at(point, left=left, foot=foot):
            return left + scale * point[0], foot - scale * point[1]

        end, length = at(ends[-1]), float(np.hypot(*ends[-1]))
        if length > 1e-9:
            body.append(_arrow(at((0, 0)), end, OKABE_ITO["vermillion"], 9, ' opacity="0.55"'))
        else:
            body.append(
                f'<circle cx="{coordinate(end[0])}" cy="{coordinate(end[1])}" r="9" fill="{OKABE_ITO["vermillion"]}"/>'
            )
        for n, ((x1, y1), (x2, y2)) in enumerate(zip(map(at, starts), map(at, ends))):
            apart = 9 * (n - (len(starts) - 1) / 2)  # or one arrow would hide the other
            body.append(_arrow((x1, y1 + apart), (x2, y2 + apart), LINE, 4))
        body.append(text(column * k, _TALL + 16, f"sum: length {length:.2g}", fill=MUTED))
    return Picture(body, _WIDTH, _TALL + 36, "Vectors", sentence, _EM, wide=True)


def _arrow(
    start: tuple[float, float], end: tuple[float, float], colour: str, thick: float, look: str = ""
) -> str:
    c, (x1, y1), (x2, y2) = coordinate, start, end
    length = float(np.hypot(x2 - x1, y2 - y1)) or 1.0
    along, across = np.array([x2 - x1, y2 - y1]) / length, np.array([y1 - y2, x2 - x1]) / length
    tip = 3.2 * thick + 6
    neck = np.array([x2, y2]) - tip * along
    wings = [neck + 0.55 * tip * across, neck - 0.55 * tip * across]
    return (
        f'<path d="M{c(x1)} {c(y1)}L{c(neck[0])} {c(neck[1])}" stroke="{colour}" stroke-width="{thick:g}"{look}/>'
        f'<path d="M{c(x2)} {c(y2)}L{c(wings[0][0])} {c(wings[0][1])}L{c(wings[1][0])} {c(wings[1][1])}Z" fill="{colour}"{look}/>'
    )
