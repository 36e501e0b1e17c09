"""Every map of a corpus between words, extracted once and kept: after that any number of questions costs next to nothing."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bertlook_teach import __version__
from bertlook_teach.disk import MOST_VALUES, load_arrays, parse_json, replacing
from bertlook_teach.model import check_reading

from ...corpora import TreebankSentence
from ..syntax import predicted_governors
from .conditions import PatternText


@dataclass(frozen=True, eq=False)
class WordMaps:
    """What all heads do on all texts of a corpus, between words: enough to score any pattern at once.

    Attributes
    ----------
    readings : list of PatternText
    weights : list of float16 ndarray of shape (layer, head, query, key)
        Pieces looked at are added up, rows of pieces averaged; special tokens are positions too.
    answers : list of int16 ndarray of shape (2, layer, head, query)
        The position that is looked at most, found before rounding: among other words (-1: there is none), among all.
    skipped : Counter of reason -> number of texts
    about : dict
    """

    readings: list[PatternText]
    weights: list[np.ndarray]
    answers: list[np.ndarray]
    skipped: Counter
    about: dict

    @classmethod
    def of(cls, attentions: Iterable, trees: Iterable[TreebankSentence] | None = None) -> WordMaps:
        """Of attention that is at hand, with its trees if there are any."""
        attentions = list(attentions)
        if not attentions:
            raise ValueError("attention of at least one text is needed; the list is empty.")
        for one in attentions:
            if not hasattr(one, "to_words"):
                raise TypeError(
                    "a list of Attention was expected, one for each text; make each by extract_attention(encoder, text) or "
                    f"Attention.from_arrays(outputs.attentions, tokens); got {type(one).__name__}."
                )
        if len(shapes := {(one.n_layers, one.n_heads) for one in attentions}) > 1:
            raise ValueError(
                f"all attention must come from one model; got (layers, heads) of {' and '.join(map(str, sorted(shapes)))}."
            )
        trees = [None] * len(attentions) if trees is None else list(trees)
        if len(trees) != len(attentions):
            raise ValueError(f"one tree for each attention; got {len(attentions)} and {len(trees)}.")
        readings, weights, answers = map(
            list, zip(*(_entry(a, t, "mean") for a, t in zip(attentions, trees)))
        )
        return cls(readings, weights, answers, Counter(), {"model": attentions[0].model, "query": "mean"})

    def __len__(self) -> int:
        return len(self.readings)

    @property
    def shape(self) -> tuple[int, int]:
        """(layer, head)."""
        return self.weights[0].shape[:2]

    @property
    def nbytes(self) -> int:
        return sum(w.nbytes for w in self.weights) + sum(a.nbytes for a in self.answers)

    def __repr__(self) -> str:
        left_out = f", {self.skipped.total()} left out" if self.skipped else ""
        return f"WordMaps({self.about.get('model', '?')}: {len(self)} texts, {self.nbytes / 2**20:.0f} MiB{left_out})"

    def save(self, path: str | Path) -> None:
        """Write one ``.npz`` file."""
        fields = [
            {name: getattr(r, name) for name in PatternText.__dataclass_fields__} for r in self.readings
        ]
        content = {
            "about": self.about,
            "skipped": dict(self.skipped),
            "shape": self.shape,
            "readings": fields,
        }
        with replacing(Path(path), "wb") as file:
            np.savez(
                file,
                content=np.array(json.dumps(content)),
                weights=np.concatenate([w.ravel() for w in self.weights]),
                answers=np.concatenate([a.ravel() for a in self.answers]),
            )

    @classmethod
    def load(cls, path: str | Path) -> WordMaps:
        """Read what :meth:`save` wrote."""
        try:
            file = load_arrays(path)
            content = parse_json(str(file["content"]), MOST_VALUES + file["weights"].nbytes // 64)
            weights, answers = file["weights"], file["answers"]
        except (KeyError, ValueError) as error:
            raise ValueError(
                f"{path} was not written by WordMaps.save, or is damaged ({error}). Delete it, and it will be made again."
            ) from None
        readings = [
            PatternText(**{name: _tuple(value) for name, value in row.items()}) for row in content["readings"]
        ]
        layers, heads = content["shape"]
        sizes = [len(r) for r in readings]
        return cls(
            readings,
            _cut(weights, [(layers, heads, n, n) for n in sizes]),
            _cut(answers, [(2, layers, heads, n) for n in sizes]),
            Counter(content["skipped"]),
            content["about"],
        )


def _tuple(value):
    return tuple(map(_tuple, value)) if isinstance(value, list) else value


def _cut(flat: np.ndarray, shapes: Sequence[tuple[int, ...]]) -> list[np.ndarray]:
    ends = np.cumsum([np.prod(shape) for shape in shapes])
    return [part.reshape(shape) for part, shape in zip(np.split(flat, ends[:-1]), shapes)]


def word_maps(
    encoder,
    corpus: Iterable[TreebankSentence | str | tuple[str, str]],
    *,
    query: str = "mean",
    batch_size: int = 32,
    cache: str | Path | None = None,
    progress: Callable[[Iterable], Iterable] | None = None,
) -> WordMaps:
    """Run the encoder once over a corpus and keep the maps, two bytes a number.

    Parameters
    ----------
    encoder : Encoder
    corpus : iterable
        Sentences of a treebank, texts, or pairs of texts; one kind throughout. Sentences that the model cannot read whole are
        left out and counted; longer texts are cut, and counted.
    query : {"mean", "first", "max"}
        How the rows of a word's pieces become one row.
    cache : folder, optional
        Kept there under a name made of model, corpus and rule; found there, nothing is computed.
    progress : function, optional
        Wrapped round the stream of texts.

    Raises
    ------
    ValueError
        If the corpus is empty, mixes kinds, or has no text that the model can read.
    """
    corpus = list(corpus)
    kinds = {type(item).__name__ for item in corpus}
    if len(kinds) != 1 or not isinstance(corpus[0], (TreebankSentence, str, tuple)):
        raise ValueError(
            "a corpus is a list of treebank sentences, of texts, or of pairs of texts, one kind throughout; "
            f"got {' and '.join(sorted(kinds)) or 'nothing'}."
        )
    if cache is None:
        return _extract(encoder, corpus, query, batch_size, progress)
    fields = PatternText.__dataclass_fields__  # maps that were kept with fewer are made anew
    content = "\0".join([encoder.fingerprint, query, __version__, *fields, *map(repr, corpus)])
    path = Path(cache) / f"maps-{hashlib.sha256(content.encode()).hexdigest()[:16]}.npz"
    if path.exists():
        return WordMaps.load(path)
    maps = _extract(encoder, corpus, query, batch_size, progress)
    path.parent.mkdir(parents=True, exist_ok=True)
    maps.save(path)
    return maps


def _extract(encoder, corpus, query, batch_size, progress) -> WordMaps:
    from bertlook_teach.model import iter_attention

    skipped, usable = Counter(), []
    for item in corpus:
        length, problem = sum(map(len, item)) if isinstance(item, tuple) else len(item), ""
        if isinstance(item, TreebankSentence):
            length, problem = check_reading(encoder, item.words)
        if problem:
            skipped[problem] += 1
        else:
            usable.append((length, item))
    if not usable:
        reasons = ", ".join(f"{n} {why}" for why, n in skipped.items())
        raise ValueError(f"no text can be read by {encoder.name}: {reasons}.")
    order = sorted(range(len(usable)), key=lambda i: usable[i][0])  # equal lengths together: little padding
    inputs = (list(i.words) if isinstance(i, TreebankSentence) else i for i in (usable[n][1] for n in order))
    stream = iter_attention(encoder, inputs, batch_size=batch_size, truncate=True)
    found: list[tuple | None] = [None] * len(usable)
    for i, attention in zip(order, stream if progress is None else progress(stream)):
        item = usable[i][1]
        skipped.update(["cut to what the model reads"] if attention.truncated else [])
        found[i] = _entry(attention, item if isinstance(item, TreebankSentence) else None, query)
    readings, weights, answers = map(list, zip(*found))
    about = {
        "model": encoder.name,
        "fingerprint": encoder.fingerprint,
        "query": query,
        "kind": {TreebankSentence: "treebank", str: "texts", tuple: "pairs"}[type(corpus[0])],
    }
    return WordMaps(readings, weights, answers, skipped, about)


def _entry(
    attention, tree: TreebankSentence | None, query: str
) -> tuple[PatternText, np.ndarray, np.ndarray]:
    words = attention.to_words(query)
    reading = PatternText.of_attention(attention) if tree is None else PatternText.of(tree, attention)
    return reading, words.weights.astype(np.float16), _answers(words)


def _answers(words) -> np.ndarray:
    """The position each head looks at most, among other words and among all, (2, layer, head, query)."""
    among_all = words.weights.argmax(-1)
    among_words = np.full_like(among_all, -1)
    at = np.flatnonzero(~np.asarray(words.special))
    if len(at) > 1:
        among_words[..., at] = at[predicted_governors(words)[0]]
    return np.stack([among_words, among_all]).astype(np.int16)
