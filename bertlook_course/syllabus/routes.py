"""The routes of a deck: which slides are shown in 20, in 50 and in 90 minutes.

The first cell of a slide carries the tags ``route-20`` and ``route-50``; 90 minutes show every slide. The slide numbers in the
teaching guide are held to these tags by a test.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path

ROUTES = (20, 50, 90)  # minutes

_STARTS = ("slide", "subslide")


def routes_of(cell: Mapping) -> tuple[int, ...]:
    """The routes on which the slide is that begins with this cell.

    >>> routes_of({"metadata": {"tags": ["route-20", "route-50"]}}), routes_of({"metadata": {}})
    ((20, 50, 90), (90,))
    """
    tags = cell["metadata"].get("tags", ())
    return tuple(minutes for minutes in ROUTES if minutes == ROUTES[-1] or f"route-{minutes}" in tags)


def deck_routes(notebook: Mapping) -> dict[int, list[int]]:
    """Minutes to the numbers of the slides, counted from 1. A deck without tags has no route but the longest."""
    found: dict[int, list[int]] = {}
    starts = (cell for cell in notebook["cells"] if _kind(cell) in _STARTS)
    for number, cell in enumerate(starts, 1):
        for minutes in routes_of(cell):
            found.setdefault(minutes, []).append(number)
    return dict(sorted(found.items()))


def on_route(notebook: Mapping, minutes: int) -> Mapping:
    """A copy in which all other slides are skipped. Their cells still run: later ones may need what they define.

    The numbers that its slides have in the whole deck go along in the metadata: they stay, since texts and notes name them.

    Raises
    ------
    ValueError
        If the deck has no such route; the message names those that it has.
    """
    there = deck_routes(notebook)
    if minutes not in there:
        has = " and ".join(map(str, there)) or "none: it has no slides"
        raise ValueError(
            f"this deck has no route of {minutes} minutes; it has {has}. Leave --route out to show all slides, or tag the "
            f"first cell of each slide of the route with route-{minutes}."
        )
    copied, shown = deepcopy(notebook), True
    rise = copied.setdefault("metadata", {}).setdefault("rise", {})
    rise["numbers"], rise["slides"] = there[minutes], len(there[ROUTES[-1]])
    for cell in copied["cells"]:
        if _kind(cell) in _STARTS:
            shown = minutes in routes_of(cell)
        if not shown:
            cell["metadata"]["slideshow"] = {"slide_type": "skip"}
    return copied


@contextmanager
def route_copy(root: Path, deck: Path, minutes: int) -> Iterator[Path]:
    """A copy of a deck with the slides of one route, beside it and for as long as it is shown.

    Parameters
    ----------
    root : Path
        The folder that holds ``slides``.
    deck : Path
        Relative to ``root``, as is what is handed out.
    minutes : {20, 50, 90}
    """
    copy = deck.with_name(f"route{minutes}_{deck.name}")
    chosen = on_route(json.loads((root / deck).read_text(encoding="utf-8")), minutes)
    (root / copy).write_text(json.dumps(chosen, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    try:
        yield copy
    finally:
        (root / copy).unlink(missing_ok=True)


def _kind(cell: Mapping) -> str:
    return cell["metadata"].get("slideshow", {}).get("slide_type", "-")
