"""Which document a text comes from: halves and intervals go by documents, since the texts of one resemble each other."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np


def halves_by_document(sentences: Sequence) -> tuple[list, list]:
    """Treebank sentences to fit on and to score on: every second document, so that no paragraph is in both halves.

    A treebank that names no documents, or one only, is halved by sentences.
    """
    places = document_numbers(sentences) % 2
    return tuple([s for s, place in zip(sentences, places) if place == half] for half in (0, 1))


def document_numbers(sentences: Sequence, fewest: int = 2) -> np.ndarray:
    """The document of each sentence, counted from 0; a sentence that names none is one of its own.

    Of fewer documents than ``fewest`` nothing can be drawn: then each sentence is its own.
    """
    numbers: dict[str, int] = {}
    found = [numbers.setdefault(s.doc_id or f"sentence {i}", len(numbers)) for i, s in enumerate(sentences)]
    return np.array(found if len(numbers) >= fewest else range(len(found)), dtype=int)


def document_keys(ids: Iterable[str]) -> np.ndarray:
    """Eight bytes for the name of each document; 0 where there is no name."""
    names = (
        hashlib.blake2b(one.encode("utf-8", "backslashreplace"), digest_size=8).digest() if one else bytes(8)
        for one in ids
    )
    return np.frombuffer(b"".join(names), "<u8")


def by_first(names: np.ndarray) -> np.ndarray:
    """Numbers in place of names, counted in the order in which they first come.

    >>> by_first(np.array([7, 7, 3, 7])).tolist()
    [0, 0, 1, 0]
    """
    _, first, found = np.unique(names, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[found]


def numbers_of_keys(keys: np.ndarray) -> np.ndarray:
    """The document of each text, as `document_numbers` counts them, from `document_keys`.

    A text without a name is a document of its own. Of a single document nothing can be drawn: then each text is its own.
    """
    own = keys == 0
    numbers = by_first(np.where(own, np.arange(len(keys), dtype=keys.dtype) + 1, keys))
    return numbers if numbers.max() > 0 else np.arange(len(keys))
