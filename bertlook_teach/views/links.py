"""Tie controls and views together: in the browser, so that no kernel is needed, and for changes made in Python."""

from __future__ import annotations

import ipywidgets


def link_traits(source, source_trait: str, target, target_trait: str):
    """Keep two traits equal, in the page and in Python. The target starts with the source's value.

    In the page this is `ipywidgets.jslink`. A change that comes from the page has been passed on there already
    and is not passed on a second time from Python: with a slow kernel the two would chase each other.
    """
    setattr(target, target_trait, getattr(source, source_trait))
    _pass_on(source, source_trait, target, target_trait)
    _pass_on(target, target_trait, source, source_trait)
    return ipywidgets.jslink((source, source_trait), (target, target_trait))


def link_heads(*widgets) -> list:
    """Let several views show the same head: a choice in one is seen in all, also without a kernel.

    Parameters
    ----------
    *widgets
        Two or more of `HeadMap`, `HeadView`, `LensView`, `HeadExplorer`, `SixLenses`, or anything else with ``layer``
        and ``head``. All take the first one's choice.

    Returns
    -------
    list
        The links; call ``unlink()`` on each to let go in the page.

    Raises
    ------
    ValueError
        If fewer than two are given, or they do not have equally many layers and heads.
    """
    if len(widgets) < 2:
        raise ValueError(f"linking needs at least two views; got {len(widgets)}.")
    widgets = [_view_of(widget) for widget in widgets]
    shapes = {repr(widget): tuple(widget.shape[:2]) for widget in widgets if hasattr(widget, "shape")}
    if len(set(shapes.values())) > 1:
        raise ValueError(f"linked views need the same layers and heads; got {shapes}.")
    first, *others = widgets
    return [link_traits(first, trait, other, trait) for other in others for trait in ("layer", "head")]


def _view_of(widget):
    """The part of a box of widgets that holds the choice of the head."""
    for part in ("head_view", "view"):
        if hasattr(widget, part):
            return getattr(widget, part)
    return widget


def _pass_on(source, source_trait: str, target, target_trait: str) -> None:
    def changed(change) -> None:
        # ipywidgets (7 and 8) holds these locks exactly while it applies a message from the page.
        if getattr(source, "_property_lock", None):
            return
        if getattr(target, target_trait) != change["new"]:
            setattr(target, target_trait, change["new"])

    source.observe(changed, names=source_trait)
