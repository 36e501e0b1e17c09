"""Lesson 09: what its claims are decided on: distances between heads, and what the rule for labels asks for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bertlook_teach.measures import THRESHOLDS, js_distances, surface_measures

from ..evidence import evidence


# --- evidence ------------------------------------------------------------------------------------------
@evidence("families", version=1, unit="pairs of texts")
def families(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each pair of texts: distances between all heads, nats a token, and what the rule for labels asks for."""
    from bertlook_teach.model import iter_attention

    for attention in iter_attention(encoder, resources.pairs, truncate=True):
        yield family_quantities(attention)


def family_quantities(attention) -> dict[str, np.ndarray]:
    measures = surface_measures()
    return {"distance": js_distances(attention)} | {name: measures[name](attention) for name in THRESHOLDS}


EVIDENCE = {"families": families}
