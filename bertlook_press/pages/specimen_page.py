"""The specimen for a page: its weights and vocabulary as one file, and the script that reads it there."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np

from bertlook_teach.views import asset

FOLDER = Path(__file__).parent / "js"

FORMAT, VERSION = "bertlook specimen", 1
BITS = 16

_CONFIG = (
    "hidden_size",
    "intermediate_size",
    "num_attention_heads",
    "num_hidden_layers",
    "layer_norm_eps",
    "max_position_embeddings",
)


def specimen_bytes(encoder) -> bytes:
    """Weights and vocabulary of a small BERT as ``js/specimen.js`` reads them.

    The length of the header (4 bytes), the header as JSON, zeros up to a multiple of 4, then the tensors in 16 bits. The specimen's own file
    has 16 bits too, so nothing is lost.

    Parameters
    ----------
    encoder : Encoder
        That NumPy runs: the specimen, its random twin or a folder of BERT with an uncased tokenizer and both heads of its pre-training.

    Raises
    ------
    ValueError
        If it is another kind of model.
    """
    engine = getattr(encoder, "engine", None)
    if engine is None or not hasattr(engine, "weights"):
        raise ValueError(
            f"a page computes small BERTs such as the specimen; {encoder.name} is none that NumPy can run."
        )
    if not all(engine.has_head(kind) for kind in ("masked_lm", "next_sentence")):
        raise ValueError(
            f"{encoder.name} lacks a head of its pre-training (masked words, next sentence), which the page asks for its guesses."
        )
    normalizer = json.loads(encoder.tokenizer.backend_tokenizer.to_str())["normalizer"]
    if normalizer != _NORMALIZER:
        raise ValueError(f"the page has BERT's uncased tokenizer; that of {encoder.name} is another one.")
    tensors, parts, at = {}, [], 0
    for name, array in {**engine.weights, **engine.heads}.items():
        tensors[name] = {"at": at, "shape": list(array.shape)}
        parts.append(np.ascontiguousarray(array, "<f2").tobytes())
        parts.append(b"\0" * (len(parts[-1]) % 4))
        at += sum(map(len, parts[-2:]))
    vocabulary = sorted(encoder.tokenizer.get_vocab().items(), key=lambda entry: entry[1])
    about = {
        "format": FORMAT,
        "version": VERSION,
        "name": encoder.name,
        "fingerprint": encoder.fingerprint,
        "bits": BITS,
        "config": {name: getattr(engine.config, name) for name in _CONFIG},
        "vocabulary": [piece for piece, _ in vocabulary],
        "tensors": tensors,
        "bytes": at,
    }
    header = json.dumps(about, ensure_ascii=False, separators=(",", ":")).encode()
    return len(header).to_bytes(4, "little") + header + b"\0" * (-(4 + len(header)) % 4) + b"".join(parts)


_NORMALIZER = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": True,
    "strip_accents": None,
    "lowercase": True,
}


def specimen_script(data: bytes) -> str:
    """The same as a classic script, for pages opened from a disk, which may not fetch: it puts the bytes under a global name."""
    return f'globalThis.bertlookSpecimenData = "{base64.b64encode(data).decode()}";\n'


def model_source() -> str:
    """What stands in for the models of a kernel in a page, the class `SavedModel`."""
    return asset("model.js", (FOLDER,))


def specimen_source() -> str:
    """What runs it, `bertlookSpecimen.open(bytes)` and `.worker(bytes)`, and what answers a reader with it; see the files' own words."""
    return "".join(
        asset(f"{part}.js", (FOLDER,)) for part in ("specimen", "specimen_views", "patterns", "page_answers")
    )
