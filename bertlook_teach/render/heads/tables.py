"""The same data as tables and plain text: for screen readers, terminals, docstrings and failing tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...model import head_label
from ..drawing.inputs import checked_attention, checked_values
from ..drawing.sentences import number, signed_number, visible_token
from ..drawing.svg import content

_SHADES = " .:-=+*#%@"


def format_attention_grid(weights, tokens: Sequence[str], *, numbers: bool = False) -> str:
    """One head's attention in plain characters: a row per query, a column per key, denser for more weight.

    Parameters
    ----------
    weights : array of shape (query, key)
        Attention weights, shares between 0 and 1.
    tokens : sequence of str
        One per position; columns are headed by the position of the key.
    numbers : bool
        Whole per cent instead of shades.

    Examples
    --------
    A head that looks back:

    >>> back = [[1, 0, 0], [.9, .1, 0], [0, .5, .5]]
    >>> print(format_attention_grid(back, ["[CLS]", "the", "cat"]))
              0 1 2
    0 [CLS]   @ . .
    1 the     % . .
    2 cat     . + +
    >>> print(format_attention_grid(back, ["[CLS]", "the", "cat"], numbers=True))
                0   1   2
    0 [CLS]   100   0   0
    1 the      90  10   0
    2 cat       0  50  50
    """
    weights, tokens = checked_attention(weights, tokens)
    n = len(tokens)
    digits = len(str(n - 1))
    names = [f"{i:>{digits}} {visible_token(token)}" for i, token in enumerate(tokens)]
    room = max(max(map(len, names)), 8)
    wide = max(3, digits) if numbers else digits
    header = " " * (room + 2) + " ".join(f"{j:>{wide}}" for j in range(n))
    lines = [header]
    for name, row in zip(names, weights):
        cells = [str(int(w * 100 + 0.5)) if numbers else _shade(w) for w in row]
        lines.append(f"{name:<{room}}  " + " ".join(f"{cell:>{wide}}" for cell in cells))
    return "\n".join(line.rstrip() for line in lines)


def format_head_map(values, *, title: str = "") -> str:
    """One number per head in plain characters, layers and heads counted from 1.

    >>> print(format_head_map([[.1, .2], [.3, .4]], title="to the previous token"))
    to the previous token
    layer   head 1  head 2
        1    0.100   0.200
        2    0.300   0.400
    """
    values = checked_values(values)
    header = "layer" + "".join(
        f"{f'head {head + 1}':>{9 if head == 0 else 8}}" for head in range(values.shape[1])
    )
    rows = [
        f"{layer + 1:>5}"
        + "".join(f"{number(value):>{9 if head == 0 else 8}}" for head, value in enumerate(row))
        for layer, row in enumerate(values)
    ]
    return "\n".join(([title] if title else []) + [header, *rows])


def attention_table(weights, tokens: Sequence[str], *, caption: str = "", form: str = "html") -> str:
    """The table equivalent of one head's picture: every weight, with its query and its key named.

    Parameters
    ----------
    weights : array of shape (query, key)
    tokens : sequence of str
    caption : str
        Printed above the numbers.
    form : {"html", "text"}
        An HTML table with row and column headers, or plain text (per cent).

    Examples
    --------
    >>> attention_table([[.1, .9], [.2, .8]], ["<b>", "cat"], caption="Head 3-1").count("&lt;b&gt;")
    2
    """
    weights, tokens = checked_attention(weights, tokens)
    if form == "text":
        grid = format_attention_grid(weights, tokens, numbers=True)
        return f"{caption}\n{grid}" if caption else grid
    if form != "html":
        raise ValueError(f"form is 'html' or 'text'; got {form!r}.")
    heads = "".join(f'<th scope="col" dir="auto">{content(token)}</th>' for token in tokens)
    rows = [
        f'<tr><th scope="row" dir="auto">{content(token)}</th>'
        + "".join(f"<td>{weight:.2f}</td>" for weight in np.round(row, 2))
        + "</tr>"
        for token, row in zip(tokens, weights)
    ]
    return "\n".join(
        [
            "<table>",
            *([f"<caption>{content(caption)}</caption>"] if caption else []),
            f'<thead><tr><th scope="col">query looks at key</th>{heads}</tr></thead>',
            "<tbody>",
            *rows,
            "</tbody></table>",
        ]
    )


def head_map_table(values, *, caption: str = "", difference: bool = False) -> str:
    """The table equivalent of a head map, as HTML; differences with their signs.

    >>> head_map_table([[.1, .2]]).count("<td>")
    2
    """
    values = checked_values(values)
    say = signed_number if difference else number
    heads = "".join(f'<th scope="col">head {head + 1}</th>' for head in range(values.shape[1]))
    rows = [
        f'<tr><th scope="row">layer {layer + 1}</th>'
        + "".join(f"<td>{say(value)}</td>" for value in row)
        + "</tr>"
        for layer, row in enumerate(values)
    ]
    return "\n".join(
        [
            "<table>",
            *([f"<caption>{content(caption)}</caption>"] if caption else []),
            f'<thead><tr><th scope="col">layer</th>{heads}</tr></thead>',
            "<tbody>",
            *rows,
            "</tbody></table>",
        ]
    )


def format_strongest_heads(values, *, top: int = 5) -> str:
    """The heads with the largest numbers, one on each line.

    >>> print(format_strongest_heads([[.1, .2], [.3, .4]], top=2))
    2-2  0.400
    2-1  0.300
    """
    values = checked_values(values)
    order = np.argsort(-values, axis=None, kind="stable")[:top]
    named = [divmod(int(flat), values.shape[1]) for flat in order]
    return "\n".join(f"{head_label(layer, head)}  {number(values[layer, head])}" for layer, head in named)


def _shade(weight: float) -> str:
    """One character for a weight; a dot for nothing, so that columns can be followed."""
    step = int(min(weight, 1.0) * (len(_SHADES) - 1) + 0.5)
    return _SHADES[max(step, 1)]
