"""Recorded attention: what a model did on some inputs, asked as a model is. As a file: `recording_file.py`."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from .attention import Attention
from .folders import SHIPPED_MODELS
from .tokenizing import check_segments

FORMAT, VERSION = "bertlook recording", 1

# The published models, by what readers call them; these come with the course.
LABELS = {"bert-base-uncased": "BERT-base", "bert-base-cased": "BERT-base (cased)"}

RECORDED = "recorded, not computed here"

PARTS = 65535  # of a row, 16 bits
VECTORS = ("queries", "keys", "values")
LISTS = ("tokens", "word_ids", "segment_ids", "special", "words")
FIELDS = (*LISTS, "text", "text_pair", "segments", "truncated")


class NotComputed(AttributeError, ValueError):
    """What only a model that can be run has: its weights, its tokenizer, a forward pass."""


_RUNS = frozenset(
    {
        "model",
        "tokenizer",
        "attend",
        "device",
        "engine",
        "config",
        "has_segments",
        "head_size",
    }
)


@dataclass(frozen=True, eq=False)
class RecordedInput:
    """One recorded input: fields of its `Attention`, and its arrays as they lie in the file."""

    fields: dict
    arrays: dict[str, np.ndarray]
    source: dict

    @property
    def key(self) -> str | tuple[str, str]:
        text, pair = self.fields["text"], self.fields["text_pair"]
        return text if pair is None else (text, pair)


@dataclass(frozen=True, eq=False)
class Recording(Mapping):
    """Attention that a model once gave on some inputs: a mapping of input -> `Attention`, and a model that knows only these.

    ``extract_attention(recording, text)`` and ``iter_attention(recording, texts)`` work as with an encoder, for what was recorded.
    The keys are the texts, or pairs of texts. Made by :func:`load_recording`.

    Attributes
    ----------
    name : str
        The model that was recorded, for example ``"bert-base-uncased"``.
    label : str
        Its name for readers, for example ``"BERT-base"``.
    about : str
        Where the numbers come from.
    matching : {"lowered words", "words", "exact"}
        What makes a text the same as a recorded one.
    model_fingerprint : str
        Of the weights that gave it, as in `Encoder`; empty where they were not at hand.
    twin_of : str
        Of a random twin: the fingerprint of the model it is the control of. Empty for any other model.

    Raises
    ------
    NotComputed
        Where a function asks for the model itself, such as its tokenizer.
    """

    name: str
    label: str
    about: str
    matching: str
    model_fingerprint: str = ""
    inputs: tuple[RecordedInput, ...] = field(default=(), repr=False)
    twin_of: str = ""

    __hash__ = object.__hash__  # Mapping compares by content and takes it away

    def __eq__(self, other) -> bool:
        return self is other

    def __getattr__(self, name: str):
        name = "model" if name in ("engine", "config") else name  # what runs it, and its settings
        if name in _RUNS:
            raise NotComputed(
                f"{self.name} is {RECORDED}, so it has no {name}: its attention on {len(self)} inputs is all there is (.texts lists them). "
                f"{self._computes()}."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def badge(self) -> str:
        """What a view writes beside it: ``"BERT-base, recorded"``. A label of somebody's own never stands without the model's name."""
        label = self.label.strip() or self.name
        known = label in (self.name, LABELS.get(self.name))
        return f"{label if known else f'{label} ({self.name})'}, recorded"

    @property
    def note(self) -> str:
        """The badge in full: ``"recorded, not computed here"``."""
        return RECORDED

    @property
    def texts(self) -> tuple[str | tuple[str, str], ...]:
        """The recorded inputs, in the order of the file: a text, or a pair of texts."""
        return tuple(one.key for one in self.inputs)

    @property
    def texts_with_vectors(self) -> tuple[str | tuple[str, str], ...]:
        """Those of which queries and keys were recorded too."""
        return tuple(one.key for one in self.inputs if "queries" in one.arrays)

    @property
    def n_layers(self) -> int:
        return self.inputs[0].arrays["weights"].shape[0]

    @property
    def n_heads(self) -> int:
        return self.inputs[0].arrays["weights"].shape[1]

    @property
    def max_tokens(self) -> int:
        """The longest recorded input in wordpieces, special tokens included."""
        return max(len(one.fields["tokens"]) for one in self.inputs)

    @cached_property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that change when a weight, a token or a name changes."""
        return checksum_of(header_of(self), [one.arrays for one in self.inputs])[:16]

    def source(self, text: str | tuple[str, str]) -> dict:
        """Where one input was found, as the file says it: for example repository, path, commit."""
        return dict(self._find(text).source)

    def recall(
        self, item, *, segments: str = "standard", truncate: bool = False, vectors: bool = False
    ) -> Attention:
        """What `extract_attention` gives for an input: a text, a pair of texts (tuple) or the words of a text (list).

        Raises
        ------
        NotRecorded
            If the input, its vectors, or that rule for segments was not recorded; if it was cut and ``truncate`` does not allow it.
        """
        check_segments(segments)
        found = self._find(item)
        if found.fields["truncated"] and not truncate:
            raise NotRecorded(
                f"{found.key!r:.80} was too long for {self.name}, and was cut to {len(found.fields['tokens'])} wordpieces when it was "
                "recorded. Pass truncate=True to take what was read of it."
            )
        told = found.fields["segments"]
        as_it_is = told in (segments, "none") or (told == "unknown" and segments == "standard")
        if not as_it_is and any(found.fields["segment_ids"]):
            raise NotRecorded(
                f"{found.key!r} was recorded with segments={told!r}, not {segments!r}; a recording cannot be computed anew. "
                f"{self._computes()}."
            )
        if vectors and "queries" not in found.arrays:
            there = "; ".join(map(repr, self.texts_with_vectors)) or "none"
            raise NotRecorded(
                f"queries and keys of {found.key!r} were not recorded. They were for: {there}. {self._computes()}."
            )
        attention = self._attention(found)
        if not vectors:
            attention = replace(attention, queries=None, keys=None, values=None)
        if isinstance(item, list):
            words, word_ids = regrouped(item, found.fields, self.matching)
            attention = replace(attention, words=words, word_ids=word_ids, text=" ".join(item))
        return attention

    def __getitem__(self, text: str | tuple[str, str]) -> Attention:
        return self._attention(self._find(text))

    def __contains__(self, item) -> bool:
        try:
            return input_key(item, self.matching) in self._places
        except TypeError:  # no text at all
            return False

    def __iter__(self) -> Iterator[str | tuple[str, str]]:
        return iter(self.texts)

    def __len__(self) -> int:
        return len(self.inputs)

    def _attention(self, found: RecordedInput) -> Attention:
        arrays = {"weights": found.arrays["weights"] / np.float32(PARTS)}
        for name in VECTORS:
            if name in found.arrays:
                arrays[name] = found.arrays[name] * found.arrays[f"{name}_step"][:, :, None, None]
        return Attention(**found.fields, **arrays, model=self.name, recorded=self.badge)

    def _computes(self) -> str:
        """What to do about anything that was not recorded."""
        if self.twin_of and self.name not in SHIPPED_MODELS:
            return "The twin can be drawn again from its model: random_twin(load_encoder(...))"
        if self.name in SHIPPED_MODELS:
            return f"The model itself can, and comes with the course: load_encoder({self.name!r}), or --model {self.name}"
        return (
            f"The model itself can: load_encoder({self.name!r}), or --model {self.name}. A name on the hub is fetched the first time, which needs "
            "a network; the specimen needs none"
        )

    def _find(self, item) -> RecordedInput:
        key = input_key(item, self.matching)
        if key not in self._places and key[::-1] in self._places:
            there = self.inputs[self._places[key[::-1]]].key
            raise NotRecorded(
                f"{item!r:.200} was recorded in the other order: {there!r}. A model reads the first text first, so the two orders are two "
                "inputs; ask for the recorded one."
            )
        if key not in self._places:
            known = "\n".join(f"  {text!r}" for text in self.texts[:20])
            more = f"\n  and {len(self) - 20} more (.texts has all)" if len(self) > 20 else ""
            raise NotRecorded(
                f"{item!r:.200} is not among the {len(self)} inputs recorded of {self.name}:\n{known}{more}\n"
                f"A recording cannot read another sentence. {self._computes()}."
            )
        return self.inputs[self._places[key]]

    @cached_property
    def _places(self) -> dict:
        return {input_key(one.key, self.matching): number for number, one in enumerate(self.inputs)}

    def __repr__(self) -> str:
        return f"Recording({self.name!r}, {self.n_layers} layers x {self.n_heads} heads, {len(self)} inputs, {RECORDED})"


# --- as it lies in the file ------------------------------------------------------------------------------------
def header_of(recording: Recording) -> dict:
    """What the file says of a recording and its inputs, without the checksum."""
    inputs = [
        {name: list(value) if isinstance(value, tuple) else value for name, value in one.fields.items()}
        | {"source": one.source}
        for one in recording.inputs
    ]
    return {
        "format": FORMAT,
        "version": VERSION,
        "model": recording.name,
        "label": recording.label,
        "about": recording.about,
        "matching": recording.matching,
        "model_fingerprint": recording.model_fingerprint,
        **({"twin_of": recording.twin_of} if recording.twin_of else {}),
        "inputs": inputs,
    }


def checksum_of(header: Mapping, arrays: Iterable[Mapping[str, np.ndarray]]) -> str:
    """Of everything that a file holds."""
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for one in arrays:
        for name, array in sorted(one.items()):
            digest.update(f"{name} {array.dtype.str} {array.shape}\0".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


# --- which recorded input is it? Two texts are one if the recorded model's tokenizer would read them alike -----------
# What a text must share with a recorded one to be the same input: for BERT's tokenizers the words, whose spacing they do not see.
MATCHING = ("lowered words", "words", "exact")

_MARKS = re.compile(r"(\[(?:MASK|UNK|CLS|SEP|PAD)\])")
# Where BERT's tokenizer cuts before it looks into its vocabulary: at spaces, punctuation, and each sign of Chinese. A sign of money or degree is no
# punctuation: "20 °C" and "20°C" are two inputs.
_CUT = re.compile(
    r"[!-/:-@\[-`{-~\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002ceaf\U0002f800-\U0002fa1f]"
)


class NotRecorded(KeyError, ValueError):
    """An input that a recording does not hold; the message says which it holds and what to do."""

    def __str__(self) -> str:
        return str(self.args[0])


def input_key(item, matching: str) -> tuple:
    """What two inputs share if a recorded model would read them alike; see `Recording.matching`."""
    if isinstance(item, list):
        item = " ".join(map(str, item)) if matching != "exact" else item
    if not isinstance(item, str | list) and not (isinstance(item, tuple) and len(item) == 2):
        raise TypeError(
            f"an input is a text, a pair of texts or a list of words; got {type(item).__name__}: {item!r:.80}."
        )
    parts = item if isinstance(item, tuple) else (item,)
    if matching == "exact":
        return tuple(tuple(part) if isinstance(part, list) else part for part in parts)
    return tuple(tuple(_words(_folded(part, matching))) for part in parts)


def _folded(text: str, matching: str) -> str:
    """A text as an uncased BERT sees it: lower case, no accents."""
    if matching != "lowered words":
        return text
    marks = _MARKS.split(text)
    return "".join(mark if number % 2 else _plain(mark) for number, mark in enumerate(marks))


def _words(text: str) -> list[str]:
    """A text as BERT's tokenizer cuts it before it looks into its vocabulary."""
    found = []
    for number, part in enumerate(_MARKS.split(text)):
        if number % 2:
            found.append(part)
            continue
        seen = (c for c in part if c in "\t\n\r" or (unicodedata.category(c)[0] != "C" and c != "\ufffd"))
        apart = (f" {c} " if _CUT.match(c) or unicodedata.category(c)[0] == "P" else c for c in seen)
        found += "".join(apart).split()
    return found


def _plain(text: str) -> str:
    # Each character by itself, as the tokenizer does: lower() of a whole text knows Greek's final sigma.
    lower = "".join(c.lower() for c in text)
    return "".join(c for c in unicodedata.normalize("NFD", lower) if unicodedata.category(c) != "Mn")


def regrouped(given: Sequence[str], fields: Mapping, matching: str) -> tuple[tuple, tuple]:
    """The words of a split text, and each token's index into them: words that were recorded apart may be one here."""
    if matching == "exact":
        return tuple(given), fields["word_ids"]
    lengths = [len(_words(_folded(word, matching))) for word in given]
    whole = [len(_words(_folded(word, matching))) for word in fields["words"]]
    ends, recorded_ends = np.cumsum(lengths), np.cumsum(whole)
    if not set(ends.tolist()) <= set(recorded_ends.tolist()) or 0 in lengths:
        raise NotRecorded(
            f"the words {list(given)!r:.120} cut the recorded input elsewhere than its own words, {list(fields['words'])!r:.120}, do."
        )
    new = np.searchsorted(ends, recorded_ends)
    return tuple(given), tuple(None if w is None else int(new[w]) for w in fields["word_ids"])
