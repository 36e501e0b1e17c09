"""Head names: integers in code count from 0, printed labels count from 1, as in Clark et al. (2019)."""

from __future__ import annotations


def head_label(layer: int, head: int) -> str:
    """The printed name of a head: tensor index ``[7, 9]`` is head ``"8-10"`` in the paper.

    >>> head_label(7, 9)
    '8-10'
    """
    if layer < 0 or head < 0:
        raise ValueError(
            f"layer and head count from 0 and cannot be negative; got layer {layer}, head {head}."
        )
    return f"{layer + 1}-{head + 1}"


def parse_head_label(label: str) -> tuple[int, int]:
    """Zero-based ``(layer, head)`` of a printed name.

    >>> parse_head_label("8-10")
    (7, 9)
    """
    layer, dash, head = label.strip().partition("-")
    if not (dash and layer.isdecimal() and head.isdecimal() and int(layer) and int(head)):
        raise ValueError(
            f"a head is named layer-head, both counted from 1, for example '8-10' (index [7, 9]); got {label!r}."
        )
    return int(layer) - 1, int(head) - 1
