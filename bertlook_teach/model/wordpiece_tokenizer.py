"""BERT's own tokenizer without transformers, whose import takes seconds; for folders that hold nothing but BERT's usual settings."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from .folders import longest_input, quiet_loading
from .tokenizing import TURN

_NAMED = {f"{name.lower()}_token": f"[{name}]" for name in ("UNK", "SEP", "PAD", "CLS", "MASK")}
_BERT = (None, "BertTokenizer", "BertTokenizerFast")
_AS_SAVED = ("TokenizersBackend", "PreTrainedTokenizerFast")  # name every special token themselves
# Settings that change no token. Any other that is not checked below is left to transformers.
_HARMLESS = {
    "added_tokens_decoder",
    "backend",
    "clean_up_tokenization_spaces",
    "is_local",
    "local_files_only",
    "model_max_length",
    "name_or_path",
}
_UNLIMITED = int(1e30)  # transformers' number where a folder names no longest input

_READ: WeakValueDictionary = WeakValueDictionary()  # digest of the files -> what was read, shared with a twin


class WordPieceTokenizer:
    """What this package and most notebooks ask of a tokenizer; whatever else is asked, transformers' tokenizer of the folder answers."""

    is_fast = True
    model_input_names = ("input_ids", "token_type_ids", "attention_mask")

    def __init__(self, backend, folder: Path, longest: int):
        self.backend_tokenizer, self.model_max_length, self._folder = backend, longest, folder
        for name, piece in _NAMED.items():
            setattr(self, name, piece)
            setattr(self, f"{name}_id", backend.token_to_id(piece))

    @property
    def all_special_ids(self) -> list[int]:
        return [self.backend_tokenizer.token_to_id(piece) for piece in _NAMED.values()]

    @cached_property
    def full(self) -> Any:
        """transformers' tokenizer, loaded when it is first needed."""
        from transformers import AutoTokenizer

        with quiet_loading():
            return AutoTokenizer.from_pretrained(self._folder, local_files_only=True, trust_remote_code=False)

    def __call__(
        self,
        text,
        text_pair=None,
        *,
        is_split_into_words=False,
        add_special_tokens=True,
        truncation=False,
        max_length=None,
        **options,
    ):
        """One text, one pair, or one text split into words, as an encoding that is read like a dict; the rest goes to transformers."""
        options.pop("verbose", None)
        words = isinstance(text, list) and text_pair is None and all(isinstance(word, str) for word in text)
        texts = isinstance(text, str) and isinstance(text_pair, str | None)
        if (
            options
            or not (words if is_split_into_words else texts)
            or (truncation, max_length is None) not in ((False, True), ("longest_first", False))
        ):
            options |= {"is_split_into_words": is_split_into_words, "add_special_tokens": add_special_tokens}
            return self.full(text, text_pair, truncation=truncation, max_length=max_length, **options)
        how = {"is_pretokenized": is_split_into_words, "add_special_tokens": add_special_tokens}
        with TURN:
            if truncation:
                self.backend_tokenizer.enable_truncation(max_length)
            try:
                return _Encoded(self.backend_tokenizer.encode(text, text_pair, **how))
            finally:
                self.backend_tokenizer.no_truncation()

    def __len__(self) -> int:
        return self.backend_tokenizer.get_vocab_size()

    def get_vocab(self) -> dict[str, int]:
        return self.backend_tokenizer.get_vocab()

    def tokenize(self, text: str) -> list[str]:
        return self.backend_tokenizer.encode(text, add_special_tokens=False).tokens

    def convert_ids_to_tokens(self, ids):
        if isinstance(ids, int):
            return self.backend_tokenizer.id_to_token(ids)
        return [self.backend_tokenizer.id_to_token(int(i)) for i in ids]

    def __getattr__(self, name: str):
        if name.startswith("__") or name in ("full", "_folder"):  # asked for while a copy is being made
            raise AttributeError(name)
        return getattr(self.full, name)

    def __repr__(self) -> str:
        return f"WordPieceTokenizer({len(self)} wordpieces, at most {self.model_max_length} in an input)"


class _Encoded(dict):
    """Vocabulary numbers and their like by name, and where each token comes from: the part of transformers' BatchEncoding that is used."""

    def __init__(self, encoding):
        super().__init__(
            input_ids=encoding.ids,
            token_type_ids=encoding.type_ids,
            attention_mask=encoding.attention_mask,
        )
        self._encoding = encoding

    def tokens(self):
        return self._encoding.tokens

    def word_ids(self):
        return self._encoding.word_ids

    def sequence_ids(self):
        return self._encoding.sequence_ids

    def token_to_chars(self, token: int):
        return self._encoding.token_to_chars(token)


def wordpiece_tokenizer(folder: Path) -> WordPieceTokenizer | None:
    """The tokenizer of a folder, or None where transformers would read it in another way, or not at all."""
    from tokenizers import Tokenizer

    try:
        settings = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
        text = (folder / "tokenizer.json").read_text(encoding="utf-8")
        extra = folder / "special_tokens_map.json"
        named = json.loads(extra.read_text(encoding="utf-8")) if extra.is_file() else {}
        if (folder / "added_tokens.json").exists():
            return None
        longest = settings.get("model_max_length")
        longest = _UNLIMITED if longest is None else longest_input(folder / "tokenizer_config.json", longest)
        digest = hashlib.sha256(f"{settings} {named} {text}".encode()).hexdigest()
        if known := _READ.get(digest):
            return WordPieceTokenizer(known.backend_tokenizer, folder, longest)
        written = json.loads(text)
        if not _is_usual(settings, written, named):
            return None
        backend = Tokenizer.from_str(text)
        backend.no_truncation()  # what a file asks for here, transformers too overrides at each call
        backend.no_padding()
        pair, numbers = (
            backend.encode("a", "a"),
            {p: backend.token_to_id(p) for p in ("[CLS]", "[SEP]", "a")},
        )
    # tokenizers raises nothing narrower. A damaged folder is explained where transformers reads it.
    except Exception:  # noqa: BLE001
        return None
    around = [numbers[piece] for piece in ("[CLS]", "a", "[SEP]", "a", "[SEP]")]
    if pair.ids != around or pair.type_ids != [0, 0, 0, 1, 1]:
        return None
    _READ[digest] = found = WordPieceTokenizer(backend, folder, longest)
    return found


def _is_usual(settings: dict, written: dict, named: dict) -> bool:
    """Whether the settings beside a tokenizer say what its own file says."""
    rest = {key: value for key, value in (settings | named).items() if key not in _HARMLESS}
    kind = rest.pop("tokenizer_class", None)
    basic, unsplit = rest.pop("do_basic_tokenize", True), rest.pop("never_split", None)
    normalizer = {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": rest.pop("tokenize_chinese_chars", True),
        "strip_accents": rest.pop("strip_accents", None),
        "lowercase": rest.pop("do_lower_case", True),
    }
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False) | {"special": True}
    model = written["model"]
    return (
        kind in (_BERT if rest != _NAMED else _BERT + _AS_SAVED)
        and rest.items() <= _NAMED.items()
        and basic is True
        and not unsplit
        and written["normalizer"] == normalizer
        and written["pre_tokenizer"] == {"type": "BertPreTokenizer"}
        and (model.get("type"), model.get("unk_token"), model.get("continuing_subword_prefix"))
        == ("WordPiece", "[UNK]", "##")
        and model.get("max_input_chars_per_word", 100) == 100
        and sorted(t["content"] for t in written["added_tokens"]) == sorted(_NAMED.values())
        and all(token.items() >= plain.items() for token in written["added_tokens"])
    )
