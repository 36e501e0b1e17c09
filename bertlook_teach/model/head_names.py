"""What heads and models are called: heads count from 0 in code and from 1 in print, as in Clark et al. (2019)."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from pathlib import PurePath

import numpy as np

_TITLES = {"specimen": "specimen", "minilm": "MiniLM, 8 bits"}


def model_title(name: str) -> str:
    """How readers are told which model it is: one that ships by its title, any other by the last part of its name.

    >>> [model_title(name) for name in ("specimen", "minilm", "minilm-random", "models/tiny")]
    ['specimen', 'MiniLM, 8 bits', 'MiniLM, random twin', 'tiny']
    """
    trained = name.removesuffix("-random")
    title = _TITLES.get(trained) or PurePath(trained.replace("\\", "/")).name
    return title if trained == name else f"{title.partition(',')[0]}, random twin"


def whole_number(value, what: str) -> int:
    try:
        if not isinstance(value, (bool, np.bool_)):
            return operator.index(value)
    except TypeError:
        pass
    raise TypeError(f"{what} is a whole number from 0 on; got {type(value).__name__}: {value!r:.40}.")


def check_head(layer: int, head: int, n_layers: int, n_heads: int) -> tuple[int, int]:
    """A head as two whole numbers, counted from 0.

    Raises
    ------
    TypeError
        If one is not a whole number.
    IndexError
        If there is no such head.

    >>> check_head(5, 0, 6, 6)
    (5, 0)
    """
    layer, head = whole_number(layer, "layer"), whole_number(head, "head")
    if not (0 <= layer < n_layers and 0 <= head < n_heads):
        raise IndexError(
            f"no head [{layer}, {head}]: layers go from 0 to {n_layers - 1}, heads from 0 to {n_heads - 1}. "
            "A printed name such as '8-10' counts from 1; parse_head_label('8-10') gives the index."
        )
    return layer, head


def head_label(layer: int, head: int) -> str:
    """The printed name of a head: tensor index ``[7, 9]`` is head ``"8-10"`` in the paper.

    >>> head_label(7, 9)
    '8-10'
    """
    layer, head = whole_number(layer, "layer"), whole_number(head, "head")
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
    if not isinstance(label, str):
        raise TypeError(
            f"a head is named by a text such as '8-10', layer and head counted from 1; got {type(label).__name__}: {label!r:.40}."
        )
    layer, dash, head = label.strip().partition("-")
    if not (dash and label.isascii() and layer.isdecimal() and head.isdecimal() and int(layer) and int(head)):
        raise ValueError(
            f"a head is named layer-head, both counted from 1, for example '8-10' (index [7, 9]); got {label!r}."
        )
    return int(layer) - 1, int(head) - 1


def head_rows(columns: Mapping, **same) -> list[dict]:
    """A row for each head, with ``layer`` and ``head`` from 0 and the printed ``label``.

    Parameters
    ----------
    columns : mapping of name -> array of shape (layer, head)
    **same
        What is the same in all rows, such as ``n``.

    Examples
    --------
    >>> head_rows({"sep": [[0.5, 0.25]]}, n=3)[1]
    {'layer': 0, 'head': 1, 'label': '1-2', 'sep': 0.25, 'n': 3}
    """
    first = next(iter(columns.values()))
    return [
        {"layer": layer, "head": head, "label": head_label(layer, head)}
        | {name: float(values[layer][head]) for name, values in columns.items()}
        | same
        for layer in range(len(first))
        for head in range(len(first[layer]))
    ]
