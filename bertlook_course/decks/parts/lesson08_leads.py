"""By how much the probes of lesson 08 are ahead of what they are compared with, in words."""

from __future__ import annotations

import numpy as np

from bertlook_teach.stats import ratio_interval

from ...claims.lessons import lesson08
from ...render import signed_gain


def leads_of(found: lesson08.Measured) -> dict[str, str]:
    """What probes with attention lead distances and words by, each with its interval."""
    return {
        name: f"{said_points(lead.difference)} points [{said_points(lead.low)}, {said_points(lead.high)}]"
        for name, lead in found.leads.items()
    }


def said_lead(name: str, found: lesson08.Measured, probe: str = "attention only") -> str:
    """The same of one model and one probe."""
    return f"{name} {leads_of(found)[probe].replace(' points', '')}"


def said_ahead(found: lesson08.Measured, other: lesson08.Measured) -> str:
    """How far attention alone is ahead of the rival that reads another model's words, with its interval over the same documents."""
    mine, theirs = (one.rows["word-probes"][0].values for one in (found, other))
    lead = found.scores["attention only"].uas - other.scores["distances and words"].uas
    said = f"{said_points(abs(lead)).lstrip('+')} points {'ahead' if lead >= 0 else 'behind'}"
    if not np.array_equal(mine["words"], theirs["words"]):  # other documents, or cut elsewhere
        return said
    lost = np.stack([mine["attention right"] - theirs["distances right"], mine["words"]], axis=1)
    return f"{said} [{', '.join(map(said_points, ratio_interval(lost, within=(-1, 1))))}]"


def said_selectivity(found: lesson08.Measured) -> str:
    """What each probe with attention finds of the treebank less what it finds of the made-up grammar, in points."""
    names = ("attention only", "attention and words")
    return " and ".join(
        said_points(found.scores[n].uas - found.scores[f"{n}, made up"].uas, 0) for n in names
    )


def said_points(share: float, digits: int = 1) -> str:
    """A difference of shares, in points with its sign."""
    return signed_gain(100 * share, digits)
