"""The shipped models in a page: each one's weights and vocabulary as a file, and the scripts that read and run it there."""

from __future__ import annotations

import base64
import json
import posixpath
import zlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bertlook_course.syllabus import CAPTIONS
from bertlook_teach.model import SHIPPED, load_encoder
from bertlook_teach.views import asset

FOLDER = Path(__file__).parent / "js"

FORMAT, VERSION = "bertlook weights", 1

_CONFIG = (
    "hidden_size",
    "intermediate_size",
    "num_attention_heads",
    "num_hidden_layers",
    "layer_norm_eps",
    "max_position_embeddings",
)

_NORMALIZER = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": True,
    "strip_accents": None,
    "lowercase": True,
}


@dataclass(frozen=True)
class PageModel:
    """A shipped model as a page reads it.

    Attributes
    ----------
    name, title : str
        As `load_encoder` knows it, and as readers do.
    fingerprint : str
        Of the encoder: a view of another model is not answered with this one.
    script : str
        The text of its file. A classic script, because a page that was opened from a disk may not fetch: it puts the weights under a
        global name.
    """

    name: str
    title: str
    fingerprint: str
    script: str

    @property
    def file(self) -> str:
        """The name of the file beside the page."""
        return f"{self.name}.js"

    def told(self, missing: str, instead: str, folder: str = "") -> dict[str, object]:
        """What a page is told of the model before it reads it.

        ``missing`` says to a reader that the file is not in ``folder``, ``instead`` what to do.
        """
        return {
            "name": self.name,
            "title": self.title,
            "fingerprint": self.fingerprint,
            "file": posixpath.join(folder, self.file),
            "size": len(self.script),
            "missing": missing,
            "instead": instead,
        }


@cache
def page_model(name: str) -> PageModel:
    """A shipped model, packed once a process.

    Parameters
    ----------
    name : {"specimen", "minilm"}

    Raises
    ------
    ValueError
        As `model_bytes`.
    """
    packed = model_bytes(name)
    about = json.loads(packed[8 : 8 + int.from_bytes(packed[:4], "little")])
    text = base64.b64encode(packed).decode()
    script = f'(globalThis.bertlookWeights ??= {{}}).{name} = "{text}";\n'
    return PageModel(name, about["title"], about["fingerprint"], script)


def model_bytes(name: str) -> bytes:
    """Weights and vocabulary of a shipped model as ``js/engine.js`` reads them.

    The length of the header and the CRC-32 of all that follows (4 bytes each), the header as JSON, zeros up to a multiple of 8, then the
    model's own file of weights as it is: 16 bits a weight in the specimen, 8 bits and their scales in MiniLM.

    Parameters
    ----------
    name : {"specimen", "minilm"}

    Raises
    ------
    ValueError
        If there is no such model, or its tokenizer is not BERT's uncased one, which is what the page has.
    """
    if name not in SHIPPED:
        raise ValueError(f"a page computes the models that ship, {' and '.join(SHIPPED)}; got {name!r}.")
    encoder = load_encoder(name)
    engine, tokenizer, vocabulary = encoder.engine, encoder.tokenizer, encoder.tokenizer.get_vocab()
    if json.loads(tokenizer.backend_tokenizer.to_str())["normalizer"] != _NORMALIZER:
        raise ValueError(f"the page has BERT's uncased tokenizer; that of {name} is another one.")
    weights = (encoder.folder / "model.safetensors").read_bytes()
    about = {
        "format": FORMAT,
        "version": VERSION,
        "name": name,
        "title": getattr(encoder, "title", name),
        "fingerprint": encoder.fingerprint,
        "config": {key: getattr(engine.config, key) for key in _CONFIG},
        "vocabulary": sorted(vocabulary, key=vocabulary.get),
        "order": [
            *engine.weights,
            *engine.heads,
        ],  # in which BERT makes its tensors; the file has another one
        "bytes": len(weights),
    }
    header = json.dumps(about, ensure_ascii=False, separators=(",", ":")).encode()
    rest = header + b"\0" * (-len(header) % 8) + weights
    return len(header).to_bytes(4, "little") + zlib.crc32(rest).to_bytes(4, "little") + rest


def model_source() -> str:
    """What stands in for the models of a kernel in a page, the class `SavedModel`."""
    return asset("model.js", (FOLDER,))


def engine_source() -> str:
    """What reads and runs a shipped model, `bertlookEngine.load(told, hear)`, and what answers a reader with it; see the files' own words.

    In front stand the words that Python says too.
    """
    words = f"globalThis.bertlookCaptions = {json.dumps(CAPTIONS, ensure_ascii=False)};\n"
    parts = ("engine", "traits", "patterns", "page_answers")
    return words + "".join(asset(f"{part}.js", (FOLDER,)) for part in parts)
