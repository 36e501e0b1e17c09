"""One pass over a corpus: the mean of any measures for every head, with an interval, in constant memory.

Each input weighs the same (the macro average of Clark et al.). Intervals come from a Poisson bootstrap over
inputs: input *i* enters replicate *b* with a weight drawn from Poisson(1), seeded by *i*, so the replicates can
be added up while the corpus streams by, and two profiles of two halves of a corpus can be merged.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from . import __version__
from .labels import head_label
from .surface import surface_measures

REPLICATES = 400
CONFIDENCE = 0.95
_FILES = {"table": "profile.csv", "about": "profile.json", "state": "profile_sums.npz"}


@dataclass(eq=False)
class Profile:
    """A table with one row per head and, for each measure, its mean, interval and n.

    Attributes
    ----------
    about : dict
        Model, fingerprint, corpus, segments, package version: what is needed to repeat the profile.
    sums : dict of str -> ndarray of shape (1 + REPLICATES, layer, head)
        Weighted sums: row 0 of the corpus itself, the others of the bootstrap replicates.
    counts : ndarray of shape (1 + REPLICATES,)
        The weights that went into each row of ``sums``.
    """

    about: dict = field(default_factory=dict)
    sums: dict[str, np.ndarray] = field(default_factory=dict)
    counts: np.ndarray = field(default_factory=lambda: np.zeros(1 + REPLICATES))
    n_tokens: int = 0
    n_truncated: int = 0

    @property
    def n(self) -> int:
        """Number of inputs measured."""
        return int(self.counts[0])

    @property
    def measures(self) -> list[str]:
        return list(self.sums)

    def mean(self, measure: str) -> np.ndarray:
        """Mean over the inputs, shape (layer, head)."""
        return self._sums(measure)[0] / self.n

    def interval(self, measure: str) -> tuple[np.ndarray, np.ndarray] | None:
        """Lower and upper end of the 95 % bootstrap interval, each (layer, head); None for a single input."""
        if self.n < 2:
            return None
        drawn = self.counts[1:] > 0
        means = self._sums(measure)[1:][drawn] / self.counts[1:][drawn, None, None]
        tail = (1 - CONFIDENCE) / 2
        return tuple(np.quantile(means, (tail, 1 - tail), axis=0))

    def layer_mean(self, measure: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mean over the heads of each layer, with its interval: three arrays of shape (layer,)."""
        if self.n < 2:
            raise ValueError("an interval needs at least two inputs; the profile holds one.")
        means = self._sums(measure).mean(axis=2)
        drawn = self.counts[1:] > 0
        tail = (1 - CONFIDENCE) / 2
        low, high = np.quantile(means[1:][drawn] / self.counts[1:][drawn, None], (tail, 1 - tail), axis=0)
        return means[0] / self.n, low, high

    def _sums(self, measure: str) -> np.ndarray:
        if measure not in self.sums:
            raise KeyError(
                f"the profile has no measure {measure!r}; it has {', '.join(self.sums) or 'none'}."
            )
        return self.sums[measure]

    def add(self, values: Mapping[str, np.ndarray], n_tokens: int, truncated: bool = False) -> None:
        """Take in one input's measures, each an array of shape (layer, head)."""
        weights = self._weights()
        for name, value in values.items():
            value = np.asarray(value, dtype=float)
            if value.ndim != 2 or not np.isfinite(value).all():
                raise ValueError(
                    f"measure {name!r} must give one finite number per head, shape (layer, head), for every input; "
                    f"for input {self.n} it gave shape {value.shape}"
                    + ("." if np.isfinite(value).all() else ", with NaN or infinity among the values.")
                )
            self.sums.setdefault(name, np.zeros((1 + REPLICATES, *value.shape)))
            self.sums[name] += weights[:, None, None] * value
        self.counts += weights
        self.n_tokens += n_tokens
        self.n_truncated += truncated

    def _weights(self) -> np.ndarray:
        """1 for the corpus itself, then the replicates' weights of the next input."""
        generator = np.random.default_rng([self.about.get("first", 0) + self.n, REPLICATES])
        return np.concatenate([[1.0], generator.poisson(1.0, REPLICATES)])

    def merge(self, other: Profile) -> Profile:
        """The profile of both corpora together. ``other`` must have been started with ``first=`` at our n."""
        for key in ("fingerprint", "segments", "version"):
            if self.about.get(key) != other.about.get(key):
                raise ValueError(
                    f"profiles of different {key} cannot be merged: {self.about.get(key)!r} and {other.about.get(key)!r}."
                )
        if self.measures != other.measures:
            raise ValueError(
                f"profiles of different measures cannot be merged: {self.measures} and {other.measures}."
            )
        if other.about.get("first", 0) != self.about.get("first", 0) + self.n:
            raise ValueError(
                f"the second profile must begin where the first ends, at input {self.about.get('first', 0) + self.n}; it begins at "
                f"{other.about.get('first', 0)}. Otherwise both would draw the same bootstrap weights."
            )
        about = {**self.about, "corpus": f"{self.about.get('corpus')} + {other.about.get('corpus')}"}
        return Profile(
            about=about,
            sums={name: self.sums[name] + other.sums[name] for name in self.sums},
            counts=self.counts + other.counts,
            n_tokens=self.n_tokens + other.n_tokens,
            n_truncated=self.n_truncated + other.n_truncated,
        )

    def rows(self) -> list[dict]:
        """One dict per head: layer and head from 0, the printed label, n, and each measure with low and high."""
        if not self.n:
            raise ValueError("the profile is empty: no input has been measured.")
        intervals = {name: self.interval(name) for name in self.sums}
        means = {name: self.mean(name) for name in self.sums}
        n_layers, n_heads = next(iter(means.values())).shape
        table = []
        for layer in range(n_layers):
            for head in range(n_heads):
                row = {"layer": layer, "head": head, "label": head_label(layer, head), "n": self.n}
                for name, mean in means.items():
                    row[name] = float(mean[layer, head])
                    for end, values in zip(("low", "high"), intervals[name] or (None, None)):
                        row[f"{name}_{end}"] = "" if values is None else float(values[layer, head])
                table.append(row)
        return table

    def save(self, folder: str | Path) -> Path:
        """Write ``profile.csv`` (the table), ``profile.json`` (what it is about) and the sums needed to merge."""
        folder = writable_folder(folder)
        rows = self.rows()
        about = {
            **self.about,
            "n": self.n,
            "n_tokens": self.n_tokens,
            "n_truncated": self.n_truncated,
            "measures": self.measures,
        }
        with replacing(folder / _FILES["table"]) as file:
            writer = csv.DictWriter(file, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(
                {k: round(v, 6) if isinstance(v, float) else v for k, v in row.items()} for row in rows
            )
        with replacing(folder / _FILES["about"]) as file:
            file.write(json.dumps(about, indent=2, ensure_ascii=False) + "\n")
        with replacing(folder / _FILES["state"], "wb") as file:
            np.savez_compressed(file, counts=self.counts, **{f"sum_{k}": v for k, v in self.sums.items()})
        return folder

    @classmethod
    def load(cls, folder: str | Path) -> Profile:
        """Read what :meth:`save` wrote."""
        folder = Path(folder)
        for file in _FILES.values():
            if not (folder / file).is_file():
                raise FileNotFoundError(
                    f"{folder} holds no {file}; `bertlook profile --out {folder}` writes it."
                )
        about = json.loads((folder / _FILES["about"]).read_text(encoding="utf-8"))
        with np.load(folder / _FILES["state"], allow_pickle=False) as state:
            sums = {name: state[f"sum_{name}"] for name in about.pop("measures")}
            counts = state["counts"]
        about.pop("n")
        return cls(about, sums, counts, about.pop("n_tokens"), about.pop("n_truncated"))

    def __repr__(self) -> str:
        return f"Profile({self.about.get('model', '?')}, n={self.n}, {len(self.sums)} measures)"


def profile_heads(
    encoder,
    corpus: Iterable,
    measures: Mapping[str, Callable] | None = None,
    *,
    segments: str = "standard",
    batch_size: int = 8,
    truncate: bool = True,
    name: str = "",
    first: int = 0,
    into: Profile | None = None,
    progress: Callable[[Iterable], Iterable] | None = None,
) -> Profile:
    """Measure every head on every input of a corpus, in one pass and constant memory.

    Parameters
    ----------
    encoder : Encoder
    corpus : iterable of texts, pairs of texts (tuples) or split texts (lists of words)
    measures : dict of name -> function(Attention) -> array of shape (layer, head)
        Default: :func:`bertlook_teach.surface.surface_measures`.
    segments : {"standard", "zeros"}
        ``"zeros"`` as in the code released by Clark et al.
    truncate : bool
        Cut inputs that are too long (they are counted in ``n_truncated``) rather than stop.
    name : str
        What to call the corpus in the result.
    first : int
        Number of the first input, when the corpus is one part of several whose profiles are to be merged.
    into : Profile
        Filled in place, so that a caller who is interrupted keeps what was done.
    progress : function
        Wrapped round the stream of inputs, for example ``tqdm``.

    Returns
    -------
    Profile

    Examples
    --------
    >>> profile_heads(load_encoder("specimen"), load_pairs()).mean("next")       # doctest: +SKIP
    """
    from .attention import iter_attention

    measures = surface_measures() if measures is None else measures
    result = Profile() if into is None else into
    result.about.update(
        model=encoder.name,
        fingerprint=encoder.fingerprint,
        n_layers=encoder.n_layers,
        n_heads=encoder.n_heads,
        corpus=name,
        segments=segments,
        first=first,
        interval=f"{CONFIDENCE:.0%} Poisson bootstrap over inputs, {REPLICATES} replicates",
        version=__version__,
    )
    stream = iter_attention(encoder, corpus, batch_size=batch_size, segments=segments, truncate=truncate)
    for attention in stream if progress is None else progress(stream):
        values = {measure: function(attention) for measure, function in measures.items()}
        result.add(values, attention.n_tokens, attention.truncated)
    if not result.n:
        raise ValueError("the corpus is empty: there was nothing to measure.")
    return result


# --- files ---------------------------------------------------------------------------------------------


def writable_folder(folder: str | Path) -> Path:
    """The folder, made if need be; a clear error now rather than after an hour of computing.

    Raises
    ------
    OSError
        If it cannot be made or written to.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise type(error)(
            error.errno, f"cannot write to the folder {folder} ({error.strerror}); choose another with --out"
        ) from None
    return folder


@contextmanager
def replacing(path: Path, mode: str = "w"):
    """Write beside the file and put it in place at the end, so that no half-written file is ever seen."""
    temporary = path.with_name(path.name + ".tmp")
    options = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
    with open(temporary, mode, **options) as file:
        yield file
    os.replace(temporary, path)


# --- the command ---------------------------------------------------------------------------------------


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``bertlook profile``."""
    parser.description = (
        "Measure every head of a model on a corpus: relative position, special tokens, entropy. Writes profile.csv "
        "(one row per head; each measure with its 95 % interval), profile.json and the sums needed to merge."
    )
    parser.add_argument(
        "--model",
        default="specimen",
        help="specimen, specimen-random, a hub name or a folder (default: specimen)",
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--texts", metavar="FILE", help="UTF-8 file, one text a line (.gz is fine)")
    source.add_argument(
        "--pairs",
        metavar="FILE",
        help="UTF-8 file of text pairs: two lines and an empty line, or a tab between (default: the shipped texts)",
    )
    parser.add_argument("--out", metavar="DIR", required=True, help="folder for the result")
    parser.add_argument(
        "--segments",
        choices=("standard", "zeros"),
        default="standard",
        help="zeros: one segment id for everything, as the code of Clark et al. (2019) does",
    )
    parser.add_argument(
        "--too-long",
        choices=("truncate", "stop"),
        default="truncate",
        help="what to do with inputs the model cannot read whole; cut ones are counted (default: truncate)",
    )
    parser.add_argument("--batch-size", type=int, default=8, metavar="N")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, mps (default: auto)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def run(args: argparse.Namespace) -> int:
    """``bertlook profile``: returns the exit code; Ctrl-C keeps what was measured and returns 130."""
    from tqdm import tqdm

    from .corpora import data_path, iter_pairs, iter_texts
    from .encoder import load_encoder

    path = Path(args.texts or args.pairs or data_path("texts", "paragraphs.txt"))
    read = iter_texts if args.texts else iter_pairs
    folder = writable_folder(args.out)
    total = sum(
        1 for _ in read(path)
    )  # a first pass: says early what is wrong with the file, and how long the bar is
    encoder = load_encoder(args.model, device=args.device)
    result = Profile(about={"corpus_sha256": _checksum(path)})
    interrupted = False
    try:
        profile_heads(
            encoder,
            read(path),
            segments=args.segments,
            batch_size=args.batch_size,
            truncate=args.too_long == "truncate",
            name=path.name,
            into=result,
            progress=lambda stream: tqdm(
                stream, total=total, unit="text", disable=args.quiet, file=sys.stderr
            ),
        )
    except KeyboardInterrupt:
        interrupted = True
        if not result.n:
            print("interrupted before the first text was measured; nothing written.", file=sys.stderr)
            return 130
    result.about["complete"] = not interrupted
    result.save(folder)
    done = f"{result.n} of {total} texts" if interrupted else f"{result.n} texts"
    cut = f", {result.n_truncated} cut to {encoder.max_tokens} wordpieces" if result.n_truncated else ""
    print(
        f"{'interrupted: ' if interrupted else ''}{encoder.name}: {done}, {result.n_tokens} wordpieces{cut} -> {folder / _FILES['table']}"
    )
    return 130 if interrupted else 0


def _checksum(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()
