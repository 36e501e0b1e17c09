"""The same data as tables and plain text: for screen readers, terminals, docstrings and failing tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bertlook_teach.model import head_label
from bertlook_teach.views import checked_attention, checked_values, content, number, signed_number


def attention_table(weights, tokens: Sequence[str], *, caption: str = "") -> str:
    """The table equivalent of one head's picture: every weight, with its query and its key named.

    Parameters
    ----------
    weights : array of shape (query, key)
    tokens : sequence of str
    caption : str
        Printed above the numbers.

    Examples
    --------
    >>> attention_table([[.1, .9], [.2, .8]], ["<b>", "cat"], caption="Head 3-1").count("&lt;b&gt;")
    2
    """
    weights, tokens = checked_attention(weights, tokens)
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
