"""Recorded attention as a file, read with care, since anybody may have written it.

One file, ``NAME.bertlook``: an npz archive without pickle. Its member ``about`` is UTF-8 JSON (format, version, model, and the tokens of
every input); ``w000``, ``w001``, ... are the weights of the inputs, 16 bits each. A row is rounded to
integers that sum to 65,535, so that it sums to 1 exactly; any other sum means a damaged or foreign file.
"""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..disk import MOST_VALUES, TooLarge, data_path, load_arrays, parse_json
from .head_names import head_label
from .recording import (
    FIELDS,
    FORMAT,
    LABELS,
    LISTS,
    MATCHING,
    PARTS,
    VECTORS,
    VERSION,
    RecordedInput,
    Recording,
    checksum_of,
    header_of,
    input_key,
)
from .tokenizing import SEGMENT_RULES

ENDING = ".bertlook"

SHIPPED_RECORDINGS = tuple(LABELS)


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


def _require(holds: bool, fault: str) -> None:
    """Refuse a file in which something does not hold."""
    if not holds:
        raise ValueError(fault)


def _read(path: Path) -> Recording:
    about, members = _opened(path)
    _check_header(path, about)
    inputs = tuple(_checked_input(path, number, one, members) for number, one in enumerate(about["inputs"]))
    shapes = {one.arrays["weights"].shape[:2] for one in inputs}
    _require(
        len(shapes) == 1,
        f"{path}: its inputs have different numbers of layers and heads, {sorted(shapes)}; one model has one.",
    )
    _require(
        not members,
        f"{path} holds {', '.join(sorted(members))[:80]}, which its list of inputs does not name.",
    )
    own = (about[name] for name in ("model", "label", "about", "matching", "model_fingerprint"))
    recording = Recording(*own, inputs, about.get("twin_of", ""))
    _require(
        about["checksum"] == checksum_of(header_of(recording), [one.arrays for one in inputs]),
        f"{path} was changed after it was written: its checksum does not fit. Copy it again.",
    )
    twice = _twice(recording)
    _require(twice is None, f"{path} holds {twice!r:.80} twice; an input is recorded once.")
    return recording


def _opened(path: Path) -> tuple[dict, dict[str, np.ndarray]]:
    """What a file says, and its arrays; it is a recording, and of this version."""
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
        raise ValueError(f"{path} is not read: in the description of its inputs {error}.") from None
    except (KeyError, ValueError):
        about = None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ValueError(f"{path} is not a recording of this course; `bertlook record` writes one.")
    version = about.get("version")
    _require(
        type(version) is int and version == VERSION,
        f"{path} was written in version {version!r:.20} of the format, and this bertlook reads version {VERSION}. "
        "Update bertlook, or write the file anew with `bertlook record`.",
    )
    return about, members


def _check_header(path: Path, about: dict) -> None:
    """Which model it is, in words that print, and how texts are told apart."""
    for name in ("model", "label", "about", "matching", "model_fingerprint", "checksum"):
        _require(
            isinstance(about.get(name), str), f"{path} does not say its {name!r}: the file is not whole."
        )
    _require(about["model"].strip() != "", f"{path} does not say its 'model': the name is blank.")
    for name in ("model", "label"):
        _require(
            prints(about[name]),
            f"{path}: its {name}, {ascii(about[name])[:60]}, holds characters that do not print.",
        )
    matching, twin_of, inputs = about["matching"], about.get("twin_of", ""), about.get("inputs")
    _require(
        matching in MATCHING, f"{path}: matching must be one of {', '.join(MATCHING)}; got {matching!r:.40}."
    )
    _require(
        isinstance(twin_of, str), f"{path}: twin_of names the model of a random twin; got {twin_of!r:.40}."
    )
    _require(
        isinstance(inputs, list) and len(inputs) > 0,
        f"{path} lists no inputs; a recording holds at least one.",
    )


def _checked_input(path: Path, number: int, about: Any, members: dict) -> RecordedInput:
    where = f"{path}, input {number + 1}"  # as `bertlook show` counts them
    _require(
        isinstance(about, dict) and isinstance(about.get("tokens"), list) and len(about["tokens"]) > 0,
        f"{where}: its tokens are missing; without them nobody can say what looks at what.",
    )
    missing = [name for name in FIELDS if name not in about]
    _require(not missing, f"{where}: {', '.join(missing)} missing; the file is not whole.")
    arrays = {}
    for name in ("weights", *VECTORS):
        short = f"{name[0]}{number:03d}"
        if short in members:
            arrays[name] = members.pop(short)
            if name != "weights":
                arrays[f"{name}_step"] = members.pop(f"{short}_step", None)
    weights = arrays.get("weights")
    _require(
        weights is not None
        and weights.dtype == np.uint16
        and weights.ndim == 4
        and weights.shape[2] == weights.shape[3]
        and weights.size > 0,
        f"{where}: its weights are missing or not uint16 of shape (layer, head, n, n).",
    )
    _check_fields(where, about, weights.shape[-1])
    _check_rows(where, about["tokens"], weights)
    for name in VECTORS:
        if name in arrays:
            _check_vectors(where, name, arrays[name], arrays[f"{name}_step"], weights.shape)
    fields = {name: tuple(about[name]) if name in LISTS else about[name] for name in FIELDS}
    source = about.get("source")
    return RecordedInput(fields, arrays, source if isinstance(source, dict) else {})


def _check_fields(where: str, about: dict, n: int) -> None:
    """What is said of the tokens and texts fits ``n`` tokens and itself."""
    kinds = {"tokens": str, "words": str, "segment_ids": int, "special": bool, "word_ids": int | None}
    for name in LISTS:
        values = about[name]
        _require(
            isinstance(values, list) and all(isinstance(value, kinds[name]) for value in values),
            f"{where}: {name} is not a list of what it should hold.",
        )
        _require(
            name == "words" or len(values) == n,
            f"{where}: {len(values)} {name} for weights between {n} tokens.",
        )
    n_words, segments = len(about["words"]), about["segments"]
    _require(
        all(w is None or 0 <= w < n_words for w in about["word_ids"]),
        f"{where}: a token belongs to a word that is not in its {n_words} words.",
    )
    _require(
        isinstance(about["text"], str) and isinstance(about["text_pair"], str | None),
        f"{where}: text and text_pair must be texts.",
    )
    ids = set(about["segment_ids"])
    _require(ids <= {0, 1}, f"{where}: segment ids are 0 and 1; got {sorted(ids)}.")
    _require(
        segments in (*SEGMENT_RULES, "none", "unknown"),
        f"{where}: segments must be one of {', '.join(SEGMENT_RULES)}, none, unknown; got {segments!r:.40}.",
    )
    cut = about["truncated"]
    _require(isinstance(cut, bool), f"{where}: truncated is true or false; got {cut!r:.40}.")


def _check_rows(where: str, tokens: Sequence[str], weights: np.ndarray) -> None:
    sums = weights.sum(axis=-1, dtype=np.int64)
    if (sums != PARTS).any():
        layer, head, row = np.argwhere(sums != PARTS)[0]
        raise ValueError(
            f"{where}: row {row + 1} of head {head_label(layer, head)}, that of {tokens[row]!r:.40}, sums to "
            f"{sums[layer, head, row] / PARTS:.4f}, and attention sums to 1. The weights are damaged, or were not written by `bertlook record`."
        )


def _check_vectors(where: str, name: str, array: np.ndarray, step: np.ndarray | None, shape: tuple) -> None:
    _require(
        array.dtype == np.int16 and array.ndim == 4 and array.shape[:3] == shape[:3],
        f"{where}: its {name} are not int16 of shape (layer, head, token, dim).",
    )
    _require(
        step is not None
        and step.dtype == np.float32
        and step.shape == shape[:2]
        and bool(np.isfinite(step).all()),
        f"{where}: the step of its {name} is missing or not finite float32 of shape (layer, head).",
    )


def _twice(recording: Recording) -> str | tuple[str, str] | None:
    """The first text that comes a second time."""
    seen: set[tuple] = set()
    for text in recording.texts:
        key = input_key(text, recording.matching)
        if key in seen:
            return text
        seen.add(key)
    return None


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


def prints(name: str) -> bool:
    """Whether a name can be written as it is."""
    return not any(unicodedata.category(c)[0] == "C" for c in name)


def file_members(recording: Recording) -> dict[str, np.ndarray]:
    """What the file of a recording holds: name -> array.

    Raises
    ------
    ValueError
        If an input comes twice.
    """
    twice = _twice(recording)
    _require(twice is None, f"{twice!r:.80} comes twice; an input is recorded once.")
    header = header_of(recording)
    header["checksum"] = checksum_of(header, [one.arrays for one in recording.inputs])
    about = json.dumps(header, ensure_ascii=False).encode("utf-8", "backslashreplace")
    members = {"about": np.frombuffer(about, np.uint8)}
    for number, one in enumerate(recording.inputs):
        for name, array in one.arrays.items():
            members[f"{name[0]}{number:03d}{'_step' if name.endswith('_step') else ''}"] = array
    return members
