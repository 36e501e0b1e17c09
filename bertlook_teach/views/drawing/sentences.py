"""A sentence for every picture, computed from the data it shows.

The JavaScript views build the same sentences (`views/js/core.js`), from the same words (`captions.py`); tests hold the two together.
Shares print as whole per cent, which is also why 8 bits a weight are enough to draw from.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...model import head_label
from .captions import worded
from .inputs import checked_attention, checked_present, looks_special, special_tokens

# Letters written from right to left, and the invisible marks that turn the direction of what follows.
_TURNS = re.compile("[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc]")

# XML has no way to write these, so a picture could not be opened.
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")

_CLEAR_HABIT = 0.3  # below this share, no single place is where the head looks


def visible_token(token: str) -> str:
    """A token as it can be shown: blanks made visible, characters that no page can hold replaced.

    >>> visible_token("cat"), visible_token(" "), visible_token("")
    ('cat', '␣', '∅')
    """
    if not token:
        return "∅"
    if not token.strip():
        return "␣" * len(token)
    return _UNWRITABLE.sub("\ufffd", token)


def quoted(token: str, special: bool | None = None) -> str:
    """A token inside a sentence: quoted, unless it is a special token; right-to-left text kept in its place."""
    shown = visible_token(token)
    if _TURNS.search(shown):
        shown = f"\u2068{shown}\u2069"
    return shown if (looks_special(token) if special is None else special) else f"“{shown}”"


def percent(share: float) -> str:
    """A share as whole per cent, honest at both ends.

    >>> percent(0.976), percent(0.004), percent(0.998), percent(1.0), percent(0.0)
    ('98 %', 'under 1 %', 'over 99 %', '100 %', '0 %')
    """
    if 0 < share < 0.005:
        return "under 1 %"
    if 0.995 <= share < 0.9999:
        return "over 99 %"
    return f"{math.floor(share * 100 + 0.5)} %"


@dataclass(kw_only=True)
class TokensInView:
    """Which tokens of one head's picture are drawn, and how a sentence names them and the head.

    In cross attention ``key_tokens`` are looked at, and ``columns`` says which of them are drawn. ``in_line`` says whether the token
    before and the token after mean something, as in a text.
    """

    tokens: Sequence[str]
    key_tokens: Sequence[str] | None = None
    key_special: Sequence[bool] | None = None
    in_line: bool = True
    head: tuple[int, int] | None = None
    special: Sequence[bool] | None = None
    hide_special: bool = False
    unit: str = "token"

    def __post_init__(self):
        self.special = special_tokens(self.tokens, self.special)
        self.cross = self.key_tokens is not None
        keys = self.key_tokens if self.cross else self.tokens
        self.key_special = special_tokens(keys, self.key_special) if self.cross else self.special
        self.keys, self.in_line = keys, self.in_line and not self.cross
        self.shown = [i for i in range(len(self.tokens)) if not (self.hide_special and self.special[i])]
        self.columns = [j for j in range(len(keys)) if not (self.hide_special and self.key_special[j])]
        self.hidden = [j for j in range(len(keys)) if self.hide_special and self.key_special[j]]
        self.name = "This head" if self.head is None else worded("head", label=head_label(*self.head))

    def pairs(self) -> list[tuple[int, int]]:
        """Every query with every key that is drawn."""
        return [(i, j) for i in self.shown for j in self.columns]

    def quoted(self, position: int, beside: int | None = None) -> str:
        """A token in a sentence; "itself" where the one beside it is the same."""
        return (
            worded("itself") if position == beside else quoted(self.tokens[position], self.special[position])
        )

    def quoted_key(self, position: int, query: int) -> str:
        """A key in a sentence beside its query."""
        if self.cross:
            return quoted(self.keys[position], self.key_special[position])
        return self.quoted(position, query)


def describe_attention(
    weights,
    tokens: Sequence[str],
    *,
    head: tuple[int, int] | None = None,
    special: Sequence[bool] | None = None,
    hide_special: bool = False,
    unit: str = "token",
    **keys,
) -> str:
    """What one head looks at, in one or two sentences computed from its weights.

    Parameters
    ----------
    weights : array of shape (query, key)
        One head's attention weights.
    tokens : sequence of str
        One per position.
    head : (int, int), optional
        Zero-based layer and head, printed as "3-1".
    special : sequence of bool, optional
        Which tokens the tokenizer added. By default, those written like [CLS] or </s>.
    hide_special : bool
        Leave special tokens out. Nothing is renormalised: the sentence says how much they hold.
    unit : str
        What one position is called: "token", or "word" after `Attention.to_words`.
    key_tokens, key_special, in_line
        As in `TokensInView`, for cross attention and for patches.

    Returns
    -------
    str
        The strongest weight, then where the head looks on average: at the token itself, the one before, the one
        after, or a special token, whichever gets most. An edge token has no neighbour there and counts as 0,
        as in `bertlook_teach.measures.offset_attention`.

    Raises
    ------
    ValueError
        If weights are not shares, or do not match the tokens.

    Examples
    --------
    >>> describe_attention([[.1, .9], [.2, .8]], ["the", "cat"], head=(2, 0))
    'Head 3-1: 90 % of “the” goes to “cat”. On average, 45 % goes to the token itself.'
    """
    weights, tokens = checked_attention(weights, tokens, keys.get("key_tokens"))
    view = TokensInView(
        tokens=tokens, head=head, special=special, hide_special=hide_special, unit=unit, **keys
    )
    if not view.shown or not view.columns:
        return worded("all hidden", head=view.name)
    query, key = max(view.pairs(), key=lambda pair: weights[pair])
    pair = {"query": view.quoted(query), "key": view.quoted_key(key, query)}
    sentences = [worded("largest weight", head=view.name, share=percent(weights[query, key]), **pair)]
    sentences.append(_habit(weights, view))
    if view.hidden:
        mass = sum(weights[i, j] for i in view.shown for j in view.hidden) / len(view.shown)
        sentences.append(worded("hidden hold", share=percent(mass)))
    return " ".join(sentences)


def describe_token(
    weights,
    tokens: Sequence[str],
    position: int,
    *,
    side: str = "query",
    special: Sequence[bool] | None = None,
    top=3,
    **keys,
) -> str:
    """What one token looks at (``side="query"``), or which tokens look at it (``side="key"``).

    >>> describe_token([[.1, .9], [.2, .8]], ["the", "cat"], 0)
    '“the” looks at “cat” 90 %, itself 10 %.'
    >>> describe_token([[.1, .9], [.2, .8]], ["the", "cat"], 1, side="key")
    '“cat” is looked at by “the” 90 %, itself 80 %.'
    """
    weights, tokens = checked_attention(weights, tokens, keys.get("key_tokens"))
    view = TokensInView(tokens=tokens, special=special, **keys)
    if side not in ("query", "key"):
        raise ValueError(f"side is 'query' (the token looks) or 'key' (it is looked at); got {side!r}.")
    asks = side == "query"
    n = len(tokens if asks else view.keys)
    if not 0 <= position < n:
        raise ValueError(f"position must lie between 0 and {n - 1}; got {position}.")
    line = weights[position] if asks else weights[:, position]
    order = sorted(range(len(line)), key=lambda j: (-line[j], j))

    def name(j: int, beside: int | None, as_key: bool) -> str:
        return view.quoted_key(j, beside) if as_key else view.quoted(j, None if view.cross else beside)

    named = [f"{name(j, position, asks)} {percent(line[j])}" for j in order[:top]]
    rest = len(line) - len(named)
    if rest and side == "query":
        named.append(other_tokens(rest, percent(sum(line[j] for j in order[top:]))))
    said = "looks" if side == "query" else "is looked at"
    return worded(said, token=name(position, None, not asks), others=", ".join(named))


def other_tokens(count: int, amount: str) -> str:
    """The tokens that a list does not name, and what they hold together."""
    return worded("others" if count > 1 else "another", count=count, amount=amount)


def describe_head_map(
    values,
    *,
    title: str = "value",
    selected: tuple[int, int] | None = None,
    absent=None,
    difference: bool = False,
) -> str:
    """The largest and the smallest of one number per head, and the chosen one.

    >>> describe_head_map([[.1, .2, .3], [.4, .5, .9]], title="to the previous token", selected=(0, 1))
    'to the previous token, 2 layers of 3 heads: head 2-3 has the largest value (0.900), head 1-1 the smallest (0.100). Head 1-2 has 0.200.'
    >>> describe_head_map([[.1, -.2]], title="to [SEP]", difference=True)
    'to [SEP], after minus before, 1 layer of 2 heads: it rises most in head 1-1 (+0.100), falls most in head 1-2 (-0.200).'
    """
    values, absent = checked_present(values, absent)
    n_layers, n_heads = values.shape
    largest = divmod(int(np.where(absent, -np.inf, values).argmax()), n_heads)
    smallest = divmod(int(np.where(absent, np.inf, values).argmin()), n_heads)
    say = signed_number if difference else number
    size = f"{n_layers} layer{'s' * (n_layers > 1)} of {n_heads} head{'s' * (n_heads > 1)}"
    top, low = (f"head {head_label(*head)}" for head in (largest, smallest))
    most, least = say(values[largest]), say(values[smallest])
    if difference:
        up = f"it rises most in {top} ({most})" if values[largest] > 0 else "it rises nowhere"
        down = f"falls most in {low} ({least})" if values[smallest] < 0 else "falls nowhere"
        text = f"{visible_token(title)}, after minus before, {size}: {up}, {down}."
    else:
        text = f"{visible_token(title)}, {size}: {top} has the largest value ({most}), {low} the smallest ({least})."
    if selected is not None and (difference or tuple(selected) != largest):  # which has just been named
        chosen = tuple(selected)
        text += f" Head {head_label(*chosen)} {'is not there' if absent[chosen] else 'has ' + say(values[chosen])}."
    return text


def number(value: float) -> str:
    """A measure's value with three decimals, or four digits once it is large.

    >>> number(0.1234), number(12.345), number(-0.0001)
    ('0.123', '12.35', '0.000')
    """
    decimals = 3 if abs(value) < 10 else 2 if abs(value) < 100 else 0
    scale = 10**decimals
    rounded = math.floor(abs(value) * scale + 0.5) / scale
    return f"{'-' if value < 0 and rounded else ''}{rounded:.{decimals}f}"


def signed_number(value: float) -> str:
    """A difference: as `number`, with a plus where it is above 0 in print.

    >>> signed_number(0.1234), signed_number(-0.1234), signed_number(0.0001)
    ('+0.123', '-0.123', '0.000')
    """
    text = number(value)
    return f"+{text}" if value > 0 and float(text) > 0 else text


def short_signed(value: float) -> str:
    """A difference for a narrow cell.

    >>> short_signed(0.123), short_signed(-0.123), short_signed(0.0)
    ('+.12', '−.12', '0')
    """
    text = short_number(value)
    return f"+{text}" if value > 0 and text != "0" else text


def short_number(value: float) -> str:
    """A value drawn in a narrow cell: two digits, no leading zero, a minus sign as in print.

    >>> short_number(0.42), short_number(0.996), short_number(1.0), short_number(2.34), short_number(-12.3)
    ('.42', '1.0', '1.0', '2.3', '−12')
    """
    sign, size = ("\u2212" if value < 0 else ""), abs(value)
    if size < 0.995:
        hundredths = math.floor(size * 100 + 0.5)
        return f"{sign}.{hundredths:02d}" if hundredths else "0"
    if size < 9.95:
        return f"{sign}{math.floor(size * 10 + 0.5) / 10:.1f}"
    return f"{sign}{math.floor(size + 0.5):.0f}"


def simple_places(
    tokens, special, shown, unit, cross=False, in_line=True
) -> dict[str, Callable[[int], list[int]]]:
    """Where a habit may lead, in words, each with the keys it means for a query: itself, a neighbour, a special token."""
    n = len(tokens)
    places = {} if cross else {worded("place itself", unit=unit): lambda i: [i]}
    if in_line:
        places[worded("place before", unit=unit)] = lambda i: [i - 1] if i > 0 else []
        places[worded("place after", unit=unit)] = lambda i: [i + 1] if i + 1 < n else []
    for label in dict.fromkeys(quoted(tokens[j], True) for j in shown if special[j]):
        spots = [j for j in range(n) if special[j] and quoted(tokens[j], True) == label]
        places[label] = lambda i, spots=spots: spots
    return places


def clear_habit(rows: Mapping[int, Sequence[float]], view: TokensInView) -> tuple[str | None, float]:
    """Where rows of shares lead on average: the best of a few simple places and its share, or None and the mean of the largest shares.

    ``rows`` holds the shares of each query that counts, by its position.
    """
    visible = set(view.columns)
    places = simple_places(view.keys, view.key_special, view.columns, view.unit, view.cross, view.in_line)
    shares = {
        place: sum(row[j] for i, row in rows.items() for j in keys(i) if j in visible) / len(rows)
        for place, keys in places.items()
    }
    best = max(shares, key=shares.get, default=None)  # the first of equals, in the order above
    if best and shares[best] >= _CLEAR_HABIT and len(view.columns) > 1:
        return best, shares[best]
    return None, sum(max(row[j] for j in view.columns) for row in rows.values()) / len(rows)


def _habit(weights, view: TokensInView) -> str:
    place, share = clear_habit({i: weights[i] for i in view.shown}, view)
    if place is None:
        return worded("goes nowhere", unit=view.unit, share=percent(share))
    return worded("goes on average", share=percent(share), place=place)
