"""The film of a training run: what every head did at checkpoints along the way, as `training/specimen_report.py` measured it."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bertlook_teach.disk import Table, data_path
from bertlook_teach.model import head_rows

_KEYS = ("tokens", "layer", "head")

_LABELS = {
    "next": "to the next token (share)",
    "previous": "to the previous token (share)",
    "cls": "to [CLS] (share)",
    "sep": "to [SEP] (share)",
    "punct": "to . and , (share)",
    "entropy": "entropy (1: spread evenly)",
}

_CLEAR = 0.05  # a smaller change between the first and the last point is not called one


class Baseline(NamedTuple):
    """What a measure is worth without a head: its name, its value, and over how many inputs or cases."""

    name: str
    value: float
    n: int


@dataclass(frozen=True, eq=False)
class Film(Table):
    """Measures of every head at each checkpoint.

    Attributes
    ----------
    tokens : tuple of int
        Tokens read up to each checkpoint, rising.
    values : dict of str to float array of shape (checkpoint, layer, head)
        A measure each: shares, accuracies, normalised entropy; from 0 to 1. NaN where a layer is not there yet: a model may be
        trained with fewer layers first.
    baselines : dict of str to Baseline
        For those measures that have one.
    skipped : tuple of str
        Columns of the file that are empty throughout.
    """

    tokens: tuple[int, ...]
    values: Mapping[str, np.ndarray]
    baselines: Mapping[str, Baseline] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[int, int]:
        """Layers and heads at the end."""
        return next(iter(self.values.values())).shape[1:]

    @property
    def layers(self) -> tuple[int, ...]:
        """How many layers the model has at each checkpoint."""
        return tuple(int(n) for n in np.isfinite(next(iter(self.values.values()))[:, :, 0]).sum(axis=1))

    def rows(self) -> list[dict]:
        """One dict a checkpoint and head; NaN where the layer is not there yet."""
        return [
            {"tokens": tokens} | row
            for point, tokens in enumerate(self.tokens)
            for row in head_rows({name: values[point] for name, values in self.values.items()})
        ]

    def __repr__(self) -> str:
        layers, heads = self.shape
        return (
            f"Film({len(self.tokens)} checkpoints from {tokens_in_words(self.tokens[0])} to {tokens_in_words(self.tokens[-1])} tokens, "
            f"{layers} x {heads} heads, {len(self.values)} measures)"
        )


def read_film(path=None, baselines=None) -> Film:
    """Read the film of a training run; by default the specimen's.

    Parameters
    ----------
    path : str or Path, optional
        A CSV with the columns ``tokens``, ``layer``, ``head`` and one for each measure, one row for each head and checkpoint, layers and heads from 0.
    baselines : str or Path, optional
        A CSV with the columns ``measure``, ``baseline``, ``value``, ``n``. By default the specimen's if the film is the specimen's, and
        none otherwise.

    Returns
    -------
    Film

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If a column or a head is missing or there twice, or a cell is not a number from 0 to 1; the message names file and line.

    Examples
    --------
    >>> film = read_film()
    >>> film.shape, len(film.tokens) == len(film.values["next"])
    ((6, 6), True)
    """
    if path is None:
        path = data_path("model", "film.csv")
        baselines = data_path("model", "film_baselines.csv") if baselines is None else baselines
    path = Path(path)
    header, rows = _table(path, _KEYS)
    names = [name for name in header if name not in _KEYS]
    if not names:
        raise ValueError(f"{path.name} has no measures beside {', '.join(_KEYS)}.")
    cells: dict[tuple[int, int, int], list[float]] = {}
    for line, row in rows:
        where = f"{path.name}, line {line}"
        place = tuple(_whole(row[name], f"{where}: {name}") for name in _KEYS)
        if place in cells:
            raise ValueError(
                f"{where}: layer {place[1]}, head {place[2]} at {place[0]} tokens appears twice."
            )
        cells[place] = [_share(row[name], f"{where}: {name}") for name in names]
    tokens = sorted({place[0] for place in cells})
    if len(tokens) < 2:
        raise ValueError(f"{path.name} has {len(tokens)} checkpoint; a film needs at least two.")
    layers, heads = (max(place[axis] for place in cells) + 1 for axis in (1, 2))
    depths = [max(layer for t, layer, _ in cells if t == point) + 1 for point in tokens]
    if depths != sorted(depths):
        at = next(i for i in range(1, len(depths)) if depths[i] < depths[i - 1])
        raise ValueError(
            f"{path.name}: {depths[at]} layers at {tokens[at]} tokens, but {depths[at - 1]} before; a training loses no layers."
        )
    whole = np.full((len(names), len(tokens), layers, heads), np.nan)
    for at, (point, depth) in enumerate(zip(tokens, depths)):
        for layer, head in np.ndindex(depth, heads):
            if (point, layer, head) not in cells:
                raise ValueError(
                    f"{path.name}: layer {layer}, head {head} is missing at {point} tokens, where the model has {depth} layers of {heads} heads."
                )
            whole[:, at, layer, head] = cells[point, layer, head]
    there = np.arange(layers)[:, None] < np.array(depths)[:, None, None]  # (checkpoint, layer, 1)
    blank = np.isnan(whole).all(axis=(1, 2, 3))
    for name, values, empty in zip(names, whole, blank):
        if not empty and (np.isnan(values) & there).any():
            at = np.argwhere(np.isnan(values) & there)[0]
            raise ValueError(
                f"{path.name}: {name} is empty for layer {at[1]}, head {at[2]} at {tokens[at[0]]} tokens and given elsewhere."
            )
    kept = {name: values for name, values, empty in zip(names, whole, blank) if not empty}
    if not kept:
        raise ValueError(f"every measure of {path.name} is empty.")
    skipped = tuple(name for name, empty in zip(names, blank) if empty)
    return Film(tuple(tokens), kept, {} if baselines is None else _baselines(Path(baselines), kept), skipped)


def measure_label(name: str) -> str:
    """A measure of the film in words.

    >>> measure_label("next"), measure_label("obj dependent-to-governor")
    ('to the next token (share)', 'obj: to the governor (accuracy)')
    """
    if name in _LABELS:
        return _LABELS[name]
    relation, _, direction = name.rpartition(" ")
    _, to, looked_at = direction.partition("-to-")
    return f"{relation}: to the {looked_at} (accuracy)" if relation and to else name


def tokens_in_words(tokens: int) -> str:
    """A number of tokens with two digits that count.

    >>> tokens_in_words(51642), tokens_in_words(1359328), tokens_in_words(45000000), tokens_in_words(999)
    ('52 thousand', '1.4 million', '45 million', '999')
    """
    for size, word in ((1_000_000_000, "billion"), (1_000_000, "million"), (1000, "thousand")):
        amount = tokens / size
        if amount >= 0.9995:
            return (
                f"{math.floor(amount * 10 + 0.5) / 10:.1f} {word}"
                if amount < 9.95
                else f"{math.floor(amount + 0.5)} {word}"
            )
    return str(tokens)


def half_way(curve) -> int | None:
    """The first checkpoint at which a curve has come half of its way from its first to its last value; None if it hardly moves.

    >>> half_way([0.1, 0.2, 0.6, 0.9]), half_way([0.9, 0.2, 0.1]), half_way([0.1, 0.9, 0.11])
    (2, 1, None)
    """
    curve = np.asarray(curve, dtype=float)
    first = int(np.argmax(np.isfinite(curve)))  # before it the head is not there
    way = curve[-1] - curve[first]
    if abs(way) < _CLEAR:
        return None
    return first + int(np.argmax((curve[first:] - curve[first]) * np.sign(way) >= abs(way) / 2))


def _table(path: Path, wanted) -> tuple[list[str], list]:
    """The header and (line, row) of a CSV that has the wanted columns, each once."""
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no file {path.name} in {path.parent}; training/specimen_report.py makes it."
        )
    try:
        with open(path, newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            header, rows = list(reader.fieldnames or []), [(reader.line_num, row) for row in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path.name} is not CSV in UTF-8: {error}.") from error
    missing = [name for name in wanted if name not in header]
    if missing or len(set(header)) < len(header):
        raise ValueError(
            f"{path.name} needs the columns {', '.join(wanted)}, each once; it has {', '.join(header[:6]) or 'none'}."
        )
    for line, row in rows:
        if None in row or None in row.values():
            raise ValueError(
                f"{path.name}, line {line} does not have as many cells as the header, {len(header)}."
            )
    return header, rows


def _whole(text: str, where: str) -> int:
    if not text.strip().isdecimal():
        raise ValueError(f"{where} must be a whole number, 0 or more; got {text!r}.")
    return int(text)


def _share(text: str, where: str) -> float:
    if not text.strip():
        return math.nan
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise ValueError(f"{where} must be a number from 0 to 1, or empty; got {text!r}.")
    return value


def _baselines(path: Path, measures) -> dict[str, Baseline]:
    _, rows = _table(path, ("measure", "baseline", "value", "n"))
    found = {}
    for line, row in rows:
        where = f"{path.name}, line {line}"
        value = _share(row["value"], f"{where}: value")
        if math.isnan(value) or row["measure"] in found:
            raise ValueError(f"{where}: {row['measure']!r} needs one value, once.")
        found[row["measure"]] = Baseline(row["baseline"], value, _whole(row["n"], f"{where}: n"))
    return {name: found[name] for name in measures if name in found}
