"""Recorded attention: what a model did on some inputs, kept in a file, read without the model.

One file, ``NAME.bertlook``: an npz archive without pickle. Its member ``about`` is UTF-8 JSON (format, version, model, and the tokens of
every input); ``w000``, ``w001``, ... are the weights of the inputs, 16 bits each. The 65,535 parts of a row are dealt out whole, so that
every row of a file sums to 1 exactly, and a row that does not was not written here.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..disk import MOST_VALUES, TooLarge, data_path, load_arrays, parse_json, replacing, save_arrays
from .attention import Attention
from .head_names import head_label
from .matching import MATCHING, NotRecorded, input_key, regrouped
from .reading import SEGMENT_RULES

FORMAT, VERSION, ENDING = "bertlook recording", 1, ".bertlook"

# The published models, by what readers call them; these come with the course.
LABELS = {"bert-base-uncased": "BERT-base", "bert-base-cased": "BERT-base (cased)"}
SHIPPED_RECORDINGS = tuple(LABELS)
_SHIPPED = ("specimen", "specimen-random", "minilm", "minilm-random")
_TAKEN = (*_SHIPPED, *LABELS, *LABELS.values())  # names that say which model it is

RECORDED = "recorded, not computed here"

_SAME_NAME = re.compile(r"[\W_]+")  # "BERT base" is read as BERT-base

_PARTS = 65535
_ROW_TOLERANCE = 1e-3  # some sources kept four decimals
_VECTORS = ("queries", "keys", "values")
_LISTS = ("tokens", "word_ids", "segment_ids", "special", "words")
_FIELDS = (*_LISTS, "text", "text_pair", "segments", "truncated")


class NotComputed(AttributeError, ValueError):
    """What only a model that can be run has: its weights, its tokenizer, a forward pass."""


_RUNS = frozenset(
    {
        "model",
        "tokenizer",
        "word_tokenizer",
        "attend",
        "device",
        "engine",
        "config",
        "has_segments",
        "head_size",
    }
)


@dataclass(frozen=True, eq=False)
class _Input:
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
    inputs: tuple[_Input, ...] = field(default=(), repr=False)
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
        return _digest(_header(self), [one.arrays for one in self.inputs])[:16]

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
        if segments not in SEGMENT_RULES:
            raise ValueError(f"segments must be one of {', '.join(SEGMENT_RULES)}; got {segments!r}.")
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

    def _attention(self, found: _Input) -> Attention:
        arrays = {"weights": found.arrays["weights"] / np.float32(_PARTS)}
        for name in _VECTORS:
            if name in found.arrays:
                arrays[name] = found.arrays[name] * found.arrays[f"{name}_step"][:, :, None, None]
        return Attention(**found.fields, **arrays, model=self.name, recorded=self.badge)

    def _computes(self) -> str:
        """What to do about anything that was not recorded."""
        if self.twin_of and self.name not in _SHIPPED:
            return "The twin can be drawn again from its model: random_twin(load_encoder(...))"
        if self.name in _SHIPPED:
            return f"The model itself can, and comes with the course: load_encoder({self.name!r}), or --model {self.name}"
        return (
            f"The model itself can: load_encoder({self.name!r}), or --model {self.name}, which fetches it the first time and so needs a "
            "network; the specimen needs none"
        )

    def _find(self, item) -> _Input:
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


# --- reading ----------------------------------------------------------------------------------------------------
def load_recording(name: str | os.PathLike = "bert-base-uncased") -> Recording:
    """Recorded attention: what comes with the course, a file, or all files of a folder.

    Parameters
    ----------
    name : str or path
        ``"bert-base-uncased"`` or ``"bert-base-cased"``, the published models on the inputs in ``data/bert_base``; a ``.bertlook``
        file, as ``bertlook record`` writes it; or a folder of such files, all of one model.

    Raises
    ------
    FileNotFoundError
        If there is no such file or folder, or none in the folder.
    ValueError
        If the name is empty, a file is damaged or of another version, or the files of a folder are of different models.

    Examples
    --------
    >>> recording = load_recording("bert-base-uncased")
    >>> recording
    Recording('bert-base-uncased', 12 layers x 12 heads, 12 inputs, recorded, not computed here)
    >>> int(recording["The cat sat on the mat"].head(2, 0)[1].argmax())  # head 3-1 looks at the next token
    2
    """
    name = os.fspath(name)
    if not name.strip():
        raise ValueError(
            f"a recording needs a name: {', '.join(map(repr, SHIPPED_RECORDINGS))}, a {ENDING} file, or a folder of them; got an empty one."
        )
    if name in SHIPPED_RECORDINGS:
        return _read(data_path("bert_base", f"{name}{ENDING}"))
    path = Path(name).expanduser()
    if path.is_dir():
        files = sorted(path.glob(f"*{ENDING}"))
        if not files:
            raise FileNotFoundError(
                f"the folder {path} holds no *{ENDING} file; `bertlook record` writes one."
            )
        return _joined([_read(file) for file in files], files)
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no recording {name!r}: give {' or '.join(map(repr, SHIPPED_RECORDINGS))}, a {ENDING} file, or a folder of them."
        )
    return _read(path)


def _read(path: Path) -> Recording:
    try:
        members = load_arrays(path)
    except FileNotFoundError:
        raise
    except TooLarge as error:
        raise ValueError(f"{path} is not read: {error}. No recording of attention is like that.") from None
    except (OSError, ValueError):
        raise ValueError(
            f"{path} cannot be read as a recording: it is cut short, damaged, or another kind of file. Copy it again, or write it "
            "anew with `bertlook record`."
        ) from None
    try:
        text = members.pop("about").tobytes()
        about = parse_json(text, MOST_VALUES + sum(array.nbytes for array in members.values()) // 64)
    except TooLarge as error:
        raise ValueError(f"{path} is not read: of what it says of its inputs {error}.") from None
    except (KeyError, ValueError):
        about = None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ValueError(f"{path} is not a recording of this course; `bertlook record` writes one.")
    if type(about.get("version")) is not int or about["version"] != VERSION:
        raise ValueError(
            f"{path} was written in version {about.get('version')!r:.20} of the format, and this bertlook reads version {VERSION}. "
            "Update bertlook, or write the file anew with `bertlook record`."
        )
    named = ("model", "label", "about", "matching", "model_fingerprint", "checksum")
    unnamed = [name for name in named if not isinstance(about.get(name), str)]
    if unnamed:
        raise ValueError(f"{path} does not say its {unnamed[0]!r}: the file is not whole.")
    if not about["model"].strip():
        raise ValueError(f"{path} does not say its 'model': the name is blank.")
    for name in ("model", "label"):
        if not _prints(about[name]):
            raise ValueError(
                f"{path}: its {name}, {ascii(about[name])[:60]}, holds characters that do not print."
            )
    if about["matching"] not in MATCHING:
        raise ValueError(
            f"{path}: matching must be one of {', '.join(MATCHING)}; got {about['matching']!r:.40}."
        )
    twin_of = about.get("twin_of", "")
    if not isinstance(twin_of, str):
        raise ValueError(f"{path}: twin_of names the model of a random twin; got {twin_of!r:.40}.")  # noqa: TRY004
    listed = about.get("inputs")
    if not isinstance(listed, list) or not listed:
        raise ValueError(f"{path} lists no inputs; a recording holds at least one.")
    inputs = tuple(_checked_input(path, number, one, members) for number, one in enumerate(listed))
    shapes = {one.arrays["weights"].shape[:2] for one in inputs}
    if len(shapes) > 1:
        raise ValueError(
            f"{path}: its inputs have different numbers of layers and heads, {sorted(shapes)}; one model has one."
        )
    if members:
        raise ValueError(
            f"{path} holds {', '.join(sorted(members))[:80]}, which its list of inputs does not name."
        )
    recording = Recording(
        about["model"],
        about["label"],
        about["about"],
        about["matching"],
        about["model_fingerprint"],
        inputs,
        twin_of,
    )
    if about["checksum"] != _digest(_header(recording), [one.arrays for one in inputs]):
        raise ValueError(
            f"{path} was changed after it was written: its checksum does not fit. Copy it again."
        )
    if len(recording._places) < len(inputs):
        raise ValueError(
            f"{path} holds {_twice(inputs, about['matching'])!r:.80} twice; an input is recorded once."
        )
    return recording


def _twice(inputs: Sequence[_Input], matching: str) -> str | tuple[str, str]:
    """The first text that comes a second time."""
    seen: set[tuple] = set()
    for one in inputs:
        key = input_key(one.key, matching)
        if key in seen:
            return one.key
        seen.add(key)
    raise ValueError("every input comes once.")


def _checked_input(path: Path, number: int, about: Any, members: dict) -> _Input:
    where = f"{path}, input {number + 1}"  # as `bertlook show` counts them
    if not isinstance(about, dict) or not isinstance(about.get("tokens"), list) or not about["tokens"]:
        raise ValueError(f"{where}: its tokens are missing; without them nobody can say what looks at what.")
    missing = [name for name in _FIELDS if name not in about]
    if missing:
        raise ValueError(f"{where}: {', '.join(missing)} missing; the file is not whole.")
    arrays = {}
    for name, short in (("weights", "w"), *((v, v[0]) for v in _VECTORS)):
        if f"{short}{number:03d}" in members:
            arrays[name] = members.pop(f"{short}{number:03d}")
            if name != "weights":
                arrays[f"{name}_step"] = members.pop(f"{short}{number:03d}_step", None)
    weights = arrays.get("weights")
    if (
        weights is None
        or weights.dtype != np.uint16
        or weights.ndim != 4
        or weights.shape[2] != weights.shape[3]
        or not weights.size
    ):
        raise ValueError(f"{where}: its weights are missing or not uint16 of shape (layer, head, n, n).")
    n = weights.shape[-1]
    kinds = {"tokens": str, "words": str, "segment_ids": int, "special": bool, "word_ids": int | None}
    for name in _LISTS:
        values = about[name]
        if not isinstance(values, list) or not all(isinstance(value, kinds[name]) for value in values):
            raise ValueError(f"{where}: {name} is not a list of what it should hold.")
        if name != "words" and len(values) != n:
            raise ValueError(f"{where}: {len(values)} {name} for weights between {n} tokens.")
    if not all(w is None or 0 <= w < len(about["words"]) for w in about["word_ids"]):
        raise ValueError(
            f"{where}: a token belongs to a word that is not in its {len(about['words'])} words."
        )
    kinds_of_texts = type(about["text"]), type(about["text_pair"])
    if kinds_of_texts not in ((str, str), (str, type(None))):
        raise ValueError(f"{where}: text and text_pair must be texts.")
    if not set(about["segment_ids"]) <= {0, 1}:
        raise ValueError(f"{where}: segment ids are 0 and 1; got {sorted(set(about['segment_ids']))}.")
    if about["segments"] not in (*SEGMENT_RULES, "none", "unknown"):
        raise ValueError(
            f"{where}: segments must be one of {', '.join(SEGMENT_RULES)}, none, unknown; got {about['segments']!r:.40}."
        )
    if not isinstance(about["truncated"], bool):
        raise ValueError(f"{where}: truncated is true or false; got {about['truncated']!r:.40}.")  # noqa: TRY004
    sums = weights.sum(axis=-1, dtype=np.int64)
    if (sums != _PARTS).any():
        layer, head, row = np.argwhere(sums != _PARTS)[0]
        raise ValueError(
            f"{where}: row {row + 1} of head {head_label(layer, head)}, that of {about['tokens'][row]!r:.40}, sums to "
            f"{sums[layer, head, row] / _PARTS:.4f}, and attention sums to 1. The weights are damaged, or were not written by `bertlook record`."
        )
    for name in _VECTORS:
        if name in arrays:
            array, step = arrays[name], arrays[f"{name}_step"]
            if array.dtype != np.int16 or array.ndim != 4 or array.shape[:3] != weights.shape[:3]:
                raise ValueError(f"{where}: its {name} are not int16 of shape (layer, head, token, dim).")
            if (
                step is None
                or step.dtype != np.float32
                or step.shape != weights.shape[:2]
                or not np.isfinite(step).all()
            ):
                raise ValueError(
                    f"{where}: the step of its {name} is missing or not finite float32 of shape (layer, head)."
                )
    fields = {name: tuple(about[name]) if name in _LISTS else about[name] for name in _FIELDS}
    source = about.get("source")
    return _Input(fields, arrays, source if isinstance(source, dict) else {})


def _joined(recordings: Sequence[Recording], files: Sequence[Path]) -> Recording:
    """The recordings of a folder as one, if they are of one model; files that call it differently give it its own name."""
    first, inputs, places = recordings[0], [], {}
    for recording, file in zip(recordings, files):
        if _identity(recording) != _identity(first):
            twice = [repr(text) for text in recording.texts if text in first]
            both = f" Both hold {twice[0]:.80}." if twice else ""
            raise ValueError(
                f"{_apart(first, files[0], recording, file)}{both} Numbers of two models are never mixed: give one file, or a folder "
                "for each model."
            )
        for one in recording.inputs:
            key = input_key(one.key, recording.matching)
            if key in places:
                raise ValueError(
                    f"{file.name} and {places[key]} both hold {one.key!r:.80}; leave it in one of them."
                )
            places[key] = file.name
            inputs.append(one)
    same_label = len({recording.label for recording in recordings}) == 1
    about = "; ".join(dict.fromkeys(recording.about for recording in recordings if recording.about))
    return replace(first, label=first.label if same_label else first.name, about=about, inputs=tuple(inputs))


def _identity(recording: Recording) -> tuple:
    """Weights by their fingerprint where there is one: a folder may be called by several paths."""
    return (
        recording.model_fingerprint or recording.name,
        recording.twin_of,
        recording.matching,
        recording.n_layers,
        recording.n_heads,
    )


def _apart(first: Recording, its: Path, second: Recording, other: Path) -> str:
    """What keeps two recordings apart, and no more than is known."""
    if first.name == second.name and bool(first.model_fingerprint) != bool(second.model_fingerprint):
        silent = other if first.model_fingerprint else its
        return (
            f"{its.name} and {other.name} are both called {first.name}, and {silent.name} does not say which weights gave it, so nobody "
            "can know that it was the same ones."
        )
    told = [f"{one.name} ({one.model_fingerprint or 'unknown weights'})" for one in (first, second)]
    return f"{its.name} and {other.name} were recorded by different models, {told[0]} and {told[1]}."


# --- writing ----------------------------------------------------------------------------------------------------
def _prints(name: str) -> bool:
    return not any(unicodedata.category(c)[0] == "C" for c in name)


def _plain_name(name: str) -> str:
    """Letters and digits alone."""
    return _SAME_NAME.sub("", name).casefold()


def _without_folders(name: str) -> str:
    """A model's name; of one in a folder the folder's own: the way to it is its owner's affair."""
    path = Path(name).expanduser()
    return path.name if path.is_absolute() or name.startswith((".", "~")) else name


def _label(label: str, model: str) -> str:
    """The label without blanks around it, or the model's name; never the name of another model."""
    label = label.strip() or model
    if not _prints(label):
        raise ValueError(
            f"the label {ascii(label)[:60]} holds characters that do not print; give another one."
        )
    taken = {_plain_name(name) for name in _TAKEN} - {_plain_name(model), _plain_name(LABELS.get(model, ""))}
    if _plain_name(label) in taken:
        raise ValueError(
            f"the label {label!r} is the name of another model, and {model} gave these maps; give another label, or none."
        )
    return label


def write_recording(
    path: str | os.PathLike,
    attentions: Iterable[Attention],
    *,
    label: str = "",
    about: str = "",
    matching: str = "exact",
    model_fingerprint: str = "",
    twin_of: str = "",
    sources: Sequence[Mapping] = (),
) -> Recording:
    """Write attention of one model as a ``.bertlook`` file, and give what `load_recording` will read.

    Weights keep 16 bits (they move by less than 1/65,535), vectors 16 bits of the largest of their head.

    Parameters
    ----------
    path : path
        Ends in ``.bertlook``.
    attentions : iterable of Attention
        At wordpiece level; an input once.
    label : str
        The model's name for readers; blank: its name. Beside any other label the badge keeps the name.
    about : str
        Where the numbers come from.
    matching : {"lowered words", "words", "exact"}
        From `matching_of` where the tokenizer is at hand.
    model_fingerprint : str
        `Encoder.fingerprint`, or empty.
    twin_of : str
        For a random twin: that of the model it is the control of.
    sources : sequence of dict
        One an input, plain values; or none.

    Raises
    ------
    ValueError
        If there is nothing to write, an input comes twice, or in words; if a row does not sum to 1, if two models gave them, or
        if the label is the name of another known model.
    """
    path = Path(path)
    if path.suffix != ENDING:
        raise ValueError(f"a recording is a file named *{ENDING}; got {path.name!r}.")
    if matching not in MATCHING:
        raise ValueError(f"matching must be one of {', '.join(MATCHING)}; got {matching!r}.")
    inputs, names = [], []
    for number, attention in enumerate(attentions):
        if not number:  # before the rest is computed
            label = _label(label, _without_folders(attention.model))
        if attention.level != "wordpiece":
            raise ValueError(
                f"input {number + 1} is between words; record what extract_attention gave, before to_words()."
            )
        arrays = {"weights": _parts(attention.weights, number)}
        for name in _VECTORS:
            if getattr(attention, name) is not None:
                arrays[name], arrays[f"{name}_step"] = _steps(getattr(attention, name), name, number)
        fields = {name: getattr(attention, name) for name in _FIELDS}
        inputs.append(_Input(fields, arrays, dict(sources[number]) if sources else {}))
        names.append(attention.model)
    if not inputs:
        raise ValueError("nothing to record: there was no input.")
    if len(set(names)) > 1:
        raise ValueError(
            f"one recording is of one model; these are of {', '.join(sorted(set(names)))}. Write a file for each."
        )
    recording = Recording(
        _without_folders(names[0]), label, about, matching, model_fingerprint, tuple(inputs), twin_of
    )
    if len(recording._places) < len(inputs):
        raise ValueError(f"{_twice(inputs, matching)!r:.80} comes twice; an input is recorded once.")
    header = _header(recording)
    header["checksum"] = _digest(_header(recording), [one.arrays for one in inputs])
    members = {
        "about": np.frombuffer(
            json.dumps(header, ensure_ascii=False).encode("utf-8", "backslashreplace"), np.uint8
        )
    }
    for number, one in enumerate(inputs):
        for name, array in one.arrays.items():
            members[f"{name[0]}{number:03d}{'_step' if name.endswith('_step') else ''}"] = array
    with replacing(path, "wb") as file:
        save_arrays(file, members)
    return recording


def _parts(weights: np.ndarray, number: int) -> np.ndarray:
    """Rows in 65,535ths that sum to 1 exactly: rounded down, then one part each to those that lost most."""
    sums = weights.sum(axis=-1, dtype=float)
    if not np.isfinite(weights).all() or weights.min() < 0 or np.abs(sums - 1).max() > _ROW_TOLERANCE:
        bad = ~(np.abs(sums - 1) <= _ROW_TOLERANCE) | (weights.min(axis=-1) < 0)
        layer, head, row = np.argwhere(bad)[0]
        raise ValueError(
            f"input {number + 1}: row {row + 1} of head {head_label(layer, head)} sums to {sums[layer, head, row]:.4f}; attention is positive "
            "and sums to 1. Was something else than attention after softmax given?"
        )
    exact = weights.astype(float) / sums[..., None] * _PARTS
    parts = np.floor(exact)
    missing = (_PARTS - parts.sum(axis=-1)).astype(int)
    rank = np.argsort(np.argsort(parts - exact, axis=-1, kind="stable"), axis=-1, kind="stable")
    return (parts + (rank < missing[..., None])).astype(np.uint16)


def _steps(vectors: np.ndarray, name: str, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Vectors as int16, and the step of each head."""
    if not np.isfinite(vectors).all():
        raise ValueError(f"input {number + 1}: its {name} hold NaN or infinity.")
    largest = np.abs(vectors).max(axis=(-2, -1))
    step = (np.where(largest > 0, largest, 1) / 32767).astype(np.float32)
    return np.rint(vectors / step[:, :, None, None]).clip(-32767, 32767).astype(np.int16), step


def _header(recording: Recording) -> dict:
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


def _digest(header: Mapping, arrays: Iterable[Mapping[str, np.ndarray]]) -> str:
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for one in arrays:
        for name, array in sorted(one.items()):
            digest.update(f"{name} {array.dtype.str} {array.shape}\0".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
