"""What changed in one head: two maps of the same text, one less the other, in words and in numbers.

Changes of weights are given in points (hundredths of all of a token's weight), so that they are not taken for per cents of a weight.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .captions import worded
from .inputs import as_array, checked_tokens
from .sentences import TokensInView, percent


def points(change: float) -> str:
    """The size of a change in points, with one decimal.

    >>> points(0.342), points(-0.342), points(0.0)
    ('34.2', '34.2', '0.0')
    """
    return f"{math.floor(abs(change) * 1000 + 0.5) / 10:.1f}"


def signed_points(change: float) -> str:
    """The same with its sign.

    >>> signed_points(0.342), signed_points(-0.342), signed_points(0.0001)
    ('+34.2', '-34.2', '0.0')
    """
    size = points(change)
    return size if size == "0.0" else f"{'+' if change > 0 else '-'}{size}"


def check_same_text(attention, minus) -> None:
    """Refuse two attentions that are not of one text and one shape of model.

    Raises
    ------
    ValueError
        With what differs: layers and heads, the level, the number of tokens, or the first token that is another.
    """
    after, before = np.shape(attention.weights), np.shape(minus.weights)
    if after[:2] != before[:2]:
        raise ValueError(
            f"a difference needs models of one shape; (layer, head) is {after[:2]} here and {before[:2]} in minus."
        )
    if attention.level != minus.level:
        raise ValueError(
            f"a difference needs the same level; this attention is between {attention.level}s, minus between {minus.level}s."
        )
    one, other = list(attention.tokens), list(minus.tokens)
    if len(one) != len(other):
        raise ValueError(
            f"a difference needs the same text; it has {len(one)} {attention.level}s here and {len(other)} in minus. "
            "Do both models have the same vocabulary?"
        )
    for position, (here, there) in enumerate(zip(one, other)):
        if here != there:
            raise ValueError(
                f"a difference needs the same text; token {position} is {here!r} here and {there!r} in minus. "
                "Do both models have the same vocabulary?"
            )


def checked_difference(changes, tokens: Sequence[str]) -> tuple[np.ndarray, tuple[str, ...]]:
    """One head's changes as float64 of shape (query, key), between -1 and 1, and its tokens."""
    tokens, changes = checked_tokens(tokens), as_array(changes)
    if changes.shape != (len(tokens), len(tokens)):
        raise ValueError(
            f"{len(tokens)} tokens need changes of shape ({len(tokens)}, {len(tokens)}); got {changes.shape}."
        )
    if not np.isfinite(changes).all() or np.abs(changes).max() > 1.002:  # as much as half precision is off
        raise ValueError(
            "changes of weights are finite and lie between -1 and 1; pass after minus before of two heads' weights."
        )
    return changes, tokens


def describe_difference(
    changes,
    tokens: Sequence[str],
    **view,
) -> str:
    """Where a head looks more and less than before, and how much of a token's weight has moved on average.

    What moved is half the sum of all changes of a row without their signs (total variation): 100 % if none of the weight stayed.
    ``head``, ``special``, ``hide_special`` and ``unit`` are as in `describe_attention`.

    >>> describe_difference([[.3, -.3], [-.1, .1]], ["the", "cat"], head=(2, 0))
    "Head 3-1, after minus before: “the” gives 30.0 points more to itself; “the” gives 30.0 points less to “cat”. On average 20 % of a token's weight has moved."
    """
    changes, tokens = checked_difference(changes, tokens)
    view = TokensInView(tokens=tokens, **view)
    name, shown, pairs = worded("changed head", head=view.name), view.shown, view.pairs()
    if not shown:
        return worded("all hidden", head=name)
    up, down = max(pairs, key=lambda pair: changes[pair]), min(pairs, key=lambda pair: changes[pair])
    parts = []
    for (query, key), gives, counts in (
        (up, "gives more", changes[up] > 0),
        (down, "gives less", changes[down] < 0),
    ):
        if counts:
            pair = {"query": view.quoted(query), "key": view.quoted(key, query)}
            parts.append(worded(gives, size=points(changes[query, key]), **pair))
    if not parts:
        return worded("no change in view" if view.hidden else "no change", head=name)
    moved = sum(sum(abs(x) for x in changes[i].tolist()) for i in shown) / 2 / len(shown)
    said = [
        worded("changes", head=name, changes="; ".join(parts)),
        worded("moved", share=percent(moved), unit=view.unit),
    ]
    if view.hidden:
        mass = sum(float(changes[i, j]) for i in shown for j in view.hidden) / len(shown)
        said.append(worded("hidden change", size=signed_points(mass)))
    return " ".join(said)


def describe_token_difference(
    changes, tokens: Sequence[str], position: int, *, side: str = "query", special=None, top: int = 2
) -> str:
    """What one token looks at more and less than before, or which tokens look at it more and less.

    >>> describe_token_difference([[.3, -.3], [-.1, .1]], ["the", "cat"], 0)
    '“the” looks more at itself (+30.0 points) and less at “cat” (-30.0).'
    """
    changes, tokens = checked_difference(changes, tokens)
    view = TokensInView(tokens=tokens, special=special)
    line = (changes[position] if side == "query" else changes[:, position]).tolist()
    does = "looks" if side == "query" else "is looked at"
    parts = []
    for sign, word in ((1, "more"), (-1, "less")):
        order = sorted(
            (j for j in range(len(line)) if sign * line[j] > 0), key=lambda j: (-sign * line[j], j)
        )
        if order:
            named = ", ".join(
                worded(
                    "change" if parts or i else "first change",
                    token=view.quoted(j, position),
                    size=signed_points(line[j]),
                )
                for i, j in enumerate(order[:top])
            )
            parts.append(worded(f"{does} {word}", others=named))
    name = view.quoted(position)
    if not parts:
        return worded(f"{does} unchanged", token=name)
    changes = parts[0] if len(parts) == 1 else worded("two changes", first=parts[0], second=parts[1])
    return worded(f"{does} changed", token=name, changes=changes)
