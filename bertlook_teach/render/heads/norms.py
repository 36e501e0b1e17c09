"""Weighted norms in words: what a view says when it shows how long each contribution is, not how much weight it has.

The JavaScript views build the same sentences (`widgets/js/core.js`); a browser test holds the two together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...model import head_label
from ..drawing.inputs import as_array, checked_tokens
from ..drawing.sentences import _CLEAR_HABIT, _special, number, percent, quoted, simple_places


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
    head: tuple[int, int] | None = None,
    special: Sequence[bool] | None = None,
    hide_special: bool = False,
    unit: str = "token",
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
    special = _special(tokens, special)
    n = len(tokens)
    shown = [i for i in range(n) if not (hide_special and special[i])]
    name = "This head" if head is None else f"Head {head_label(*head)}"
    if not shown:
        return f"{name}, norms: every token is special and hidden."
    query, key = max(((i, j) for i in shown for j in shown), key=lambda pair: norms[pair])
    if norms[query, key] == 0:
        return f"{name}, norms: all are 0, so this head adds nothing here."
    source = "itself" if query == key else quoted(tokens[key], special[key])
    receiver = quoted(tokens[query], special[query])
    sentences = [
        f"{name}, norms: the largest, {number(norms[query, key])}, comes to {receiver} from {source}."
    ]
    counted = [i for i in shown if norms[i].sum() > 0]
    shares = {i: norms[i] / norms[i].sum() for i in counted}
    sentences.append(_source(shares, tokens, special, shown, unit))
    if hide_special and len(shown) < n:
        hidden = [j for j in range(n) if special[j]]
        mass = sum(shares[i][j] for i in counted for j in hidden) / len(counted)
        sentences.append(f"Special tokens are hidden and give {percent(mass)}.")
    if longest is not None:
        sentences.append(f"Drawn against {number(longest)}, the longest vector.")
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
    special = _special(tokens, special)
    if side not in ("query", "key"):
        raise ValueError(f"side is 'query' (the token gets) or 'key' (it gives); got {side!r}.")
    if not 0 <= position < len(tokens):
        raise ValueError(f"position must lie between 0 and {len(tokens) - 1}; got {position}.")
    line = norms[position] if side == "query" else norms[:, position]
    name, total = quoted(tokens[position], special[position]), float(line.sum())
    if total == 0:
        return f"{name} gets nothing: every norm is 0." if side == "query" else f"{name} gives nothing."

    def amount(value: float) -> str:
        return number(value) + (f" ({percent(value / total)})" if side == "query" else "")

    order = sorted(range(len(tokens)), key=lambda j: (-line[j], j))
    named = [
        f"{'itself' if j == position else quoted(tokens[j], special[j])} {amount(line[j])}"
        for j in order[:top]
    ]
    rest = len(tokens) - len(named)
    if rest and side == "query":
        named.append(f"{rest} other{'s' if rest > 1 else ''} {amount(sum(line[j] for j in order[top:]))}")
    return f"{name} {'gets norms from' if side == 'query' else 'gives norms to'} {', '.join(named)}."


def _source(shares, tokens, special, shown, unit) -> str:
    """Where a token's sum of norms comes from on average: the best of a few simple places, or nowhere in particular."""
    places = simple_places(tokens, special, shown, unit)
    visible = set(shown)
    means = {
        place: sum(share[j] for i, share in shares.items() for j in keys(i) if j in visible) / len(shares)
        for place, keys in places.items()
    }
    best = max(means, key=means.get)  # the first of equals, in the order above
    if means[best] >= _CLEAR_HABIT and len(shown) > 1:
        return f"On average, {percent(means[best])} of a sum comes from {best}."
    peak = sum(max(share[j] for j in shown) for share in shares.values()) / len(shares)
    return f"On average, the largest part of a {unit}'s sum is {percent(peak)}."
