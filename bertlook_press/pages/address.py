"""A link that opens the playground as an explorer stands."""

from __future__ import annotations

from urllib.parse import urlencode

from bertlook_teach.model import SHIPPED, head_label
from bertlook_teach.views import HeadExplorer, default_measures


def playground_link(explorer: HeadExplorer, page: str = "playground.html") -> str:
    """The address at which the playground shows what an explorer shows now: text, head, view, map and chosen tokens.

    Parameters
    ----------
    explorer : HeadExplorer
        Of a model that the playground holds.
    page : str
        Where the playground is: a file of `bertlook site`, or its address on the web.

    Raises
    ------
    ValueError
        If the playground cannot show it: another model, or a difference.

    Examples
    --------
    >>> from bertlook_teach.model import load_encoder
    >>> playground_link(HeadExplorer(load_encoder("specimen"), "The cat sat.", layer=1, head=2))
    'playground.html#text=The+cat+sat.&head=2-3&view=0'
    """
    name = getattr(explorer.encoder, "name", None)
    if name not in SHIPPED or explorer.minus is not None:
        raise ValueError(
            f"the playground holds {' and '.join(SHIPPED)}, and shows no differences; got {explorer!r:.80}."
        )
    view, (text, pair) = explorer.head_view, explorer.text_box.shown
    state = {"text": text, "head": head_label(explorer.layer, explorer.head), "view": view.style_index}
    _, *others = default_measures()
    if pair:
        state["pair"] = pair
    if name != next(iter(SHIPPED)):
        state["model"] = name
    if explorer.head_map.measure in others:
        state["map"] = explorer.head_map.measure
    if view.level_index:
        state["of"] = view.level_index
    for side in ("query", "key"):
        if getattr(view, side) >= 0:
            state[side] = getattr(view, side) + 1
    return f"{page}#{urlencode(state)}"
