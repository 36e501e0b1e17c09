"""Vectors as strips of colour, one below the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bertlook_teach.views import (
    MUTED,
    RULE,
    Cell,
    Grid,
    Picture,
    difference_colour,
    short_number,
    text,
)

from .layout import TYPE, WIDE

_WIDTH, _EM, _LEFT, _RIGHT = WIDE, TYPE, 216.0, 930.0
_TALL, _APART = 46.0, 14.0


def strips_picture(groups: Sequence[Sequence[tuple[str, object]]], sentence: str) -> Picture:
    """Each vector as a strip of its numbers, blue for positive ones and brown for negative ones; a group has one scale.

    Parameters
    ----------
    groups : sequence of sequences of (name, vector)
        What one scale makes comparable. The largest size of a group is written beside it.
    sentence : str
        What is to be seen.

    Raises
    ------
    ValueError
        If a vector is not one-dimensional, or empty.
    """
    body, top = [], 6.0
    for group in groups:
        vectors = [np.asarray(vector, dtype=float) for _, vector in group]
        for (name, _), vector in zip(group, vectors):
            if vector.ndim != 1 or not len(vector):
                raise ValueError(
                    f"{name!r} needs a vector, an array of shape (n,); got shape {vector.shape}."
                )
        largest = max(np.abs(vector).max() for vector in vectors) or 1.0
        for (name, _), vector in zip(group, vectors):
            grid = Grid(_LEFT, top, 1, len(vector), (_RIGHT - _LEFT) / len(vector), _TALL, _EM)
            body.append(text(0, top + _TALL / 2, name))
            body += grid.cells(
                lambda _, k, name=name, vector=vector, largest=largest: Cell(
                    difference_colour(vector[k] / largest), f"{name}, {k}: {short_number(vector[k])}"
                ),
                gap=(0, 0),
                round=0,
            )
            body.append(grid.border(RULE))
            top += _TALL + _APART
        middle = top - _APART - len(group) * (_TALL + _APART) / 2 + _APART / 2
        body.append(text(_RIGHT + 16, middle, f"± {short_number(largest)}", fill=MUTED))
        top += 1.5 * _APART
    return Picture(body, _WIDTH, top - 1.5 * _APART, "Vectors", sentence, _EM, wide=True)
