"""Predict, commit, reveal: a guess is locked before the answer is seen, and shown to be the same afterwards.

What is written on the board is the guess's digest, made of the guess and of nothing else: no time, no machine, no name. Anybody
who knows the guess gets the same digest; nobody changes the guess and keeps it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import unicodedata

import numpy as np


def commit(guess, *, secret: str = "") -> str:
    """The digest that locks a guess: SHA-256, 64 hexadecimal digits.

    Parameters
    ----------
    guess : str, number, bool, None, or lists and dicts of these; or a pattern
        Outer spaces and the way accents are typed make no difference; anything else does.
    secret : str
        A word of one's own, kept until the end. Without it others can try all 144 heads and find the one.

    Raises
    ------
    ValueError
        If the guess is empty.
    TypeError
        If it is none of these.

    Examples
    --------
    >>> locked = commit("head 8-10", secret="plum")
    >>> reveal(locked, "head 8-10", secret="plum")
    'head 8-10'
    """
    plain = _plain(guess)
    if plain in ("", [], {}, None):
        raise ValueError("the guess is empty; write down what you expect before you lock it.")
    content = json.dumps([plain, secret.strip()], ensure_ascii=False, sort_keys=True, allow_nan=False)
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def reveal(digest: str, guess, *, secret: str = ""):
    """The guess, if it is the one that was locked.

    Raises
    ------
    ValueError
        If the guess does not match, or ``digest`` is not a digest.

    Examples
    --------
    >>> reveal(commit("8-10"), "8-11")
    Traceback (most recent call last):
    ...
    ValueError: this is not the guess that was locked: '8-11' (with this secret, or none) gives another digest.
    """
    digest = str(digest).strip().lower()
    if len(digest) != 64 or set(digest) - set("0123456789abcdef"):
        raise ValueError(f"a digest has 64 hexadecimal digits, as commit() gives it; got {digest!r:.70}.")
    if not hmac.compare_digest(digest, commit(guess, secret=secret)):
        raise ValueError(
            f"this is not the guess that was locked: {guess!r:.80} (with this secret, or none) gives another digest."
        )
    return guess


def _plain(guess):
    """As JSON has it, so that the same guess is the same text everywhere."""
    if isinstance(guess, str):
        return unicodedata.normalize("NFC", guess).strip()
    if isinstance(guess, np.generic):
        guess = guess.item()  # of a mean, or a place of the largest
    if guess is None or isinstance(guess, (bool, int, float)):
        return guess
    if isinstance(guess, (list, tuple)):
        return [_plain(part) for part in guess]
    if isinstance(guess, dict):
        return {str(name): _plain(part) for name, part in guess.items()}
    if type(guess).__module__ == "bertlook_course.analyses.patterns.language":
        return repr(guess)
    raise TypeError(
        f"a guess is a text, a number, a pattern, or a list or dict of these; got {type(guess).__name__}."
    )
