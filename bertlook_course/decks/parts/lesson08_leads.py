"""By how much the probes of lesson 08 are ahead of what they are compared with, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bertlook_teach.stats import ratio_interval

from ...claims.lessons import lesson08
from ...render import signed_gain


def said_lead(found: lesson08.Measured, points: str = "") -> str:
    """What attention alone leads distances and words by, with its interval behind the word for points."""
    lead = found.leads["attention only"]
    return f"{said_points(lead.difference)}{points} [{said_points(lead.low)}, {said_points(lead.high)}]"


def said_alone(whose: str, found: lesson08.Measured) -> str:
    """Whether attention alone is ahead of distances and words in a model, after "attention alone": by how much, with its interval."""
    lead = found.leads["attention only"]
    low, high = said_points(lead.low), said_points(lead.high)
    if lead.low <= 0 <= lead.high:
        return f"in {whose} the two cannot be told apart ({said_points(lead.difference)} [{low}, {high}])"
    side = "ahead" if lead.low > 0 else "behind"
    return f"in {whose} it is {abs(100 * lead.difference):.1f} points {side} [{low}, {high}]"


def said_order(panels: Mapping[str, Mapping[str, float]], printed: Sequence[str]) -> str:
    """Whether the probes come in the printed order, from the lowest to the highest, in every model."""
    orders = [sorted(printed, key=shares.get) for shares in panels.values()]
    if all(order == [*printed] for order in orders):
        return "Yes."
    if all(order[2:] == [*printed[2:]] for order in orders):
        return "Almost: only the two lowest change places."
    moved = [
        f"the {name}" if name.startswith("specimen") else name
        for name, order in zip(panels, orders)
        if order != [*printed]
    ]
    return f"No: the order is another in {' and '.join(moved)}."


def said_ahead(found: lesson08.Measured, other: lesson08.Measured) -> str:
    """How far attention alone is ahead of the rival that reads another model's words, with its interval over the same documents."""
    mine, theirs = (one.rows["word-probes"][0].values for one in (found, other))
    lead = found.scores["attention only"].uas - other.scores["distances and words"].uas
    said = f"{said_points(abs(lead)).lstrip('+')} points {'ahead' if lead >= 0 else 'behind'}"
    if not np.array_equal(mine["words"], theirs["words"]):  # other documents, or cut elsewhere
        return said
    lost = np.stack([mine["attention right"] - theirs["distances right"], mine["words"]], axis=1)
    return f"{said} [{', '.join(map(said_points, ratio_interval(lost, within=(-1, 1))))}]"


def said_points(share: float, digits: int = 1) -> str:
    """A difference of shares, in points with its sign."""
    return signed_gain(100 * share, digits)
