"""BERT's uncased and cased WordPiece in plain Python, where the package tokenizers is missing: a page of the browser has none.

Follows the Rust code of Hugging Face's tokenizers (BertNormalizer, BertPreTokenizer, WordPiece, truncation by the longest first); a test
compares the two; characters that are newer than one of their tables of Unicode may be cut otherwise. A thousand words take it 20 milliseconds, and tokenizers 2.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple


class _Piece(NamedTuple):
    """One token: its number and text, its word, the characters it comes from, and its text of the pair."""

    number: int
    token: str
    word: int | None = None
    chars: tuple[int, int] | None = None
    sequence: int | None = None


class Encoding:
    """What `tokenizers.Encoding` says of one input, as far as `WordPieceTokenizer` asks."""

    def __init__(self, pieces: list[_Piece], type_ids: list[int]):
        self._pieces, self.type_ids = pieces, type_ids
        self.ids = [piece.number for piece in pieces]
        self.tokens = [piece.token for piece in pieces]
        self.word_ids = [piece.word for piece in pieces]
        self.sequence_ids = [piece.sequence for piece in pieces]
        self.attention_mask = [1] * len(pieces)

    def token_to_chars(self, token: int) -> tuple[int, int] | None:
        return self._pieces[token].chars


class PlainWordPieces:
    """What `tokenizers.Tokenizer` does for a folder of BERT.

    Parameters
    ----------
    written : dict
        The content of tokenizer.json; `wordpiece_tokenizer` has checked that it holds BERT's usual settings.
    """

    def __init__(self, written: dict):
        self._vocabulary: dict[str, int] = written["model"]["vocab"]
        self._added = {token["content"]: token["id"] for token in written["added_tokens"]}
        self._tokens = {number: token for token, number in {**self._vocabulary, **self._added}.items()}
        self._split = re.compile(
            "(" + "|".join(map(re.escape, sorted(self._added, key=len, reverse=True))) + ")"
        )
        settings = written["normalizer"]
        self._lower, self._chinese = settings["lowercase"], settings["handle_chinese_chars"]
        self._bare = self._lower if settings["strip_accents"] is None else settings["strip_accents"]
        self._most: int | None = None

    def enable_truncation(self, longest: int) -> None:
        self._most = longest

    def no_truncation(self) -> None:
        self._most = None

    def token_to_id(self, token: str) -> int | None:
        return self._added.get(token, self._vocabulary.get(token))

    def id_to_token(self, number: int) -> str | None:
        return self._tokens.get(number)

    def get_vocab(self) -> dict[str, int]:
        return {**self._vocabulary, **self._added}

    def get_vocab_size(self) -> int:
        return len(self._tokens)

    def encode(self, text, pair=None, *, is_pretokenized=False, add_special_tokens=True) -> Encoding:
        """One text or a pair, or one text as a list of words."""
        if is_pretokenized:
            sides = [[piece for i, word in enumerate(text) for piece in self._pieces(word, i)]]
        else:
            sides = [self._pieces(one) for one in (text, pair) if one is not None]
        if self._most is not None:
            sides = _cut(sides, max(0, self._most - add_special_tokens * (len(sides) + 1)))
        pieces: list[_Piece] = [self._special("[CLS]")] if add_special_tokens else []
        types = [0] * len(pieces)
        for side, found in enumerate(sides):
            pieces += [piece._replace(sequence=side) for piece in found]
            pieces += [self._special("[SEP]")] if add_special_tokens else []
            types += [side] * (len(pieces) - len(types))
        return Encoding(pieces, types)

    def _special(self, token: str) -> _Piece:
        return _Piece(self._added[token], token)

    def _pieces(self, text: str, word: int | None = None) -> list[_Piece]:
        """The pieces of a text; each word has the next number, or all have the one given."""
        found, begin, count = [], 0, 0
        for part in self._split.split(text):
            words = [(part, begin, begin + len(part))] if part in self._added else self._words(part, begin)
            begin += len(part)
            for content, *places in words:
                here = count if word is None else word
                count += 1
                if part in self._added:
                    found.append(_Piece(self._added[part], part, here, tuple(places)))
                else:
                    found += self._matched(content, places[0], here)
        return found

    def _words(self, text: str, begin: int) -> list[tuple[str, list[tuple[int, int]]]]:
        """Words and signs of a text after cleaning, each with the place of every character in what was typed."""
        words: list[tuple[list[str], list[tuple[int, int]]]] = [([], [])]
        for at, typed in enumerate(text, begin):
            for char in self._cleaned(typed):
                alone = _is_sign(char) or (self._chinese and _is_chinese(char))
                if (char.isspace() or alone) and words[-1][0]:
                    words.append(([], []))
                if not char.isspace():
                    words[-1][0].append(char)
                    words[-1][1].append((at, at + 1))
                if alone:
                    words.append(([], []))
        return [("".join(chars), places) for chars, places in words if chars]

    def _cleaned(self, char: str) -> str:
        if char in "\t\n\r":
            return " "
        if char == "\ufffd" or unicodedata.category(char) in ("Cc", "Cf", "Co"):
            return ""
        if char.isspace():
            return " "
        if self._bare:
            char = "".join(c for c in unicodedata.normalize("NFD", char) if unicodedata.category(c) != "Mn")
        return "".join(c.lower() for c in char) if self._lower else char

    def _matched(self, word: str, places: list[tuple[int, int]], number: int) -> list[_Piece]:
        """The longest pieces of the vocabulary from the left; one [UNK] where they do not make up the word."""
        found, begin = [], 0
        while begin < len(word) and len(word) <= 100:
            for end in range(len(word), begin, -1):
                token = "##" * (begin > 0) + word[begin:end]
                if token in self._vocabulary:
                    break
            else:
                break
            found.append(
                _Piece(self._vocabulary[token], token, number, (places[begin][0], places[end - 1][1]))
            )
            begin = end
        if begin == len(word):
            return found
        return [_Piece(self._added["[UNK]"], "[UNK]", number, (places[0][0], places[-1][1]))]


def _cut(sides: list[list[_Piece]], most: int) -> list[list[_Piece]]:
    """At most so many pieces in all, taken from the end of the longer text first."""
    if sum(map(len, sides)) <= most:
        return sides
    if len(sides) == 1:
        return [sides[0][:most]]
    short, long = sorted(map(len, sides))
    long = max(short, most - short)
    if short + long > most:
        short, long = most // 2, most // 2 + most % 2
    first = short if len(sides[0]) <= len(sides[1]) else long
    return [sides[0][:first], sides[1][: most - first]]


def _is_sign(char: str) -> bool:
    return (
        char.isascii() and char.isprintable() and not char.isalnum() and char != " "
    ) or unicodedata.category(char)[0] == "P"


def _is_chinese(char: str) -> bool:
    blocks = (
        (0x4E00, 0x9FFF),
        (0x3400, 0x4DBF),
        (0x20000, 0x2A6DF),
        (0x2A700, 0x2B73F),
        (0x2B740, 0x2B81F),
        (0x2B920, 0x2CEAF),
    )
    return any(low <= ord(char) <= high for low, high in (*blocks, (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)))
