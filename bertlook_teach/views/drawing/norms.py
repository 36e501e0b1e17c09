"""Weighted norms in words: what a view says when it shows how long each contribution is, not how much weight it has.

The JavaScript views build the same sentences (`views/js/core.js`), from the same words (`captions.py`); a browser test holds the two together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .captions import worded
from .inputs import as_array, checked_tokens
from .sentences import TokensInView, clear_habit, number, other_tokens, percent


def checked_norms(norms, tokens: Sequence[str]) -> tuple[np.ndarray, tuple[str, ...]]:
    """One head's weighted norms as float64 of shape (query, key) and its tokens; refuses what cannot be drawn truly."""
    tokens = checked_tokens(tokens)
    norms = as_array(norms)
    if norms.shape != (len(tokens), len(tokens)):
        raise ValueError(
            f"{len(tokens)} tokens need weighted norms of shape (query, key) = ({len(tokens)}, {len(tokens)}); "
            f"got {norms.shape}. Multiply one head's weights by the norms of its keys: weights * norms[None, :]."
        )
    for wrong, why in ((~np.isfinite(norms), "must be finite"), (norms < 0, "cannot be negative")):
        if wrong.any():
            query, key = np.argwhere(wrong)[0]
            raise ValueError(
                f"weighted norms {why}; query {query} ({tokens[query]!r}), key {key} ({tokens[key]!r}) is "
                f"{norms[query, key]:g}."
            )
    return norms, tokens


def describe_norms(
    norms,
    tokens: Sequence[str],
    *,
    longest: float | None = None,
    **view,
) -> str:
    """What one head's weighted norms show, in sentences computed from them.

    Parameters
    ----------
    norms : array of shape (query, key)
        Weighted norms, weight times the length of the key's transformed vector.
    tokens : sequence of str
    longest : float, optional
        The length that is drawn at full strength; said at the end.
    head, special, hide_special, unit
        As in `describe_attention`.

    Returns
    -------
    str
        The largest contribution; then where, on average over the tokens, most of a token's sum of norms comes from.
        A token whose sum is 0 has no shares and is left out of that average.

    Raises
    ------
    ValueError
        If norms are negative or not finite, or do not match the tokens.

    Examples
    --------
    >>> describe_norms([[.1, 1.8], [.3, 1.2]], ["the", "cat"], head=(2, 0), longest=2)
    'Head 3-1, norms: the largest, 1.800, comes to “the” from “cat”. On average, 47 % of a sum comes from the next token. Drawn against 2.000, the longest vector.'
    """
    norms, tokens = checked_norms(norms, tokens)
    view = TokensInView(tokens=tokens, **view)
    name = worded("norms of head", head=view.name)
    if not view.shown:
        return worded("all hidden", head=name)
    query, key = max(view.pairs(), key=lambda pair: norms[pair])
    if norms[query, key] == 0:
        return worded("no norms", head=name)
    pair = {"query": view.quoted(query), "key": view.quoted(key, query)}
    sentences = [worded("largest norm", head=name, length=number(norms[query, key]), **pair)]
    shares = {i: norms[i] / norms[i].sum() for i in view.shown if norms[i].sum() > 0}
    sentences.append(_source(shares, view))
    if view.hidden:
        mass = sum(share[j] for share in shares.values() for j in view.hidden) / len(shares)
        sentences.append(worded("hidden give", share=percent(mass)))
    if longest is not None:
        sentences.append(worded("longest", length=number(longest)))
    return " ".join(sentences)


def describe_token_norms(
    norms,
    tokens: Sequence[str],
    position: int,
    *,
    side: str = "query",
    special: Sequence[bool] | None = None,
    top: int = 3,
) -> str:
    """What one token gets from each key (``side="query"``), or what it gives (``side="key"``), as norms.

    >>> describe_token_norms([[.1, 1.9], [.2, 1.6]], ["the", "cat"], 0)
    '“the” gets norms from “cat” 1.900 (95 %), itself 0.100 (5 %).'
    >>> describe_token_norms([[.1, 1.9], [.2, 1.6]], ["the", "cat"], 1, side="key")
    '“cat” gives norms to “the” 1.900, itself 1.600.'
    """
    norms, tokens = checked_norms(norms, tokens)
    view = TokensInView(tokens=tokens, special=special)
    if side not in ("query", "key"):
        raise ValueError(f"side is 'query' (the token gets) or 'key' (it gives); got {side!r}.")
    if not 0 <= position < len(tokens):
        raise ValueError(f"position must lie between 0 and {len(tokens) - 1}; got {position}.")
    line = norms[position] if side == "query" else norms[:, position]
    name, total = view.quoted(position), float(line.sum())
    if total == 0:
        return worded("gets nothing" if side == "query" else "gives nothing", token=name)

    def amount(value: float) -> str:
        return number(value) + (f" ({percent(value / total)})" if side == "query" else "")

    order = sorted(range(len(tokens)), key=lambda j: (-line[j], j))
    named = [f"{view.quoted(j, position)} {amount(line[j])}" for j in order[:top]]
    rest = len(tokens) - len(named)
    if rest and side == "query":
        named.append(other_tokens(rest, amount(sum(line[j] for j in order[top:]))))
    return worded("gets norms" if side == "query" else "gives norms", token=name, others=", ".join(named))


def _source(shares, view: TokensInView) -> str:
    """Where a token's sum of norms comes from on average."""
    place, share = clear_habit(shares, view)
    if place is None:
        return worded("comes from nowhere", unit=view.unit, share=percent(share))
    return worded("comes on average", share=percent(share), place=place)
