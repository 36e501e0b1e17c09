"""What every picture asks of its input, with messages that say what to do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...model import Attention, check_weights, looks_special


def checked_tokens(tokens: Sequence[str]) -> tuple[str, ...]:
    """The tokens as a tuple of strings, at least one."""
    if isinstance(tokens, str):
        raise TypeError(
            f"tokens must be a sequence of strings, one per position; got one string, {tokens!r}."
        )
    tokens = tuple(tokens)
    for position, token in enumerate(tokens):
        if not isinstance(token, str):
            raise TypeError(
                f"tokens must be strings; token {position} is {token!r}. "
                "Convert ids with tokenizer.convert_ids_to_tokens(ids)."
            )
    if not tokens:
        raise ValueError("there are no tokens, so there is nothing to draw.")
    return tokens


def checked_attention(
    weights, tokens: Sequence[str], key_tokens: Sequence[str] | None = None
) -> tuple[np.ndarray, tuple[str, ...]]:
    """One head's weights as float64 of shape (query, key) and its tokens; refuses what cannot be drawn truly.

    ``key_tokens`` are other tokens that are looked at, in attention from one text to another.
    """
    tokens = checked_tokens(tokens)
    n_keys = len(tokens if key_tokens is None else checked_tokens(key_tokens))
    weights = as_array(weights)
    if weights.ndim != 2:
        raise ValueError(
            f"one head's weights have shape (query, key); got shape {weights.shape}. "
            "Choose a head first: attention.weights[layer, head]."
        )
    if weights.shape != (len(tokens), n_keys):
        raise ValueError(
            f"{len(tokens)} tokens need weights of shape ({len(tokens)}, {n_keys}); got {weights.shape}. "
            "Do weights and tokens come from the same text and the same level (wordpiece or word)?"
        )
    check_weights(weights, tokens, key_tokens)
    return weights, tokens


def checked_values(values) -> np.ndarray:
    """One number per head as float64 of shape (layer, head)."""
    values = as_array(values)
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(
            f"a head map needs one number per head, shape (layer, head); got shape {values.shape}. "
            "A measure such as offset_attention(attention) returns that."
        )
    if not np.isfinite(values).all():
        layer, head = np.argwhere(~np.isfinite(values))[0]
        raise ValueError(
            f"a head map needs finite numbers; layer {layer}, head {head} is {values[layer, head]}. "
            "Was a measure taken over no tokens?"
        )
    return values


def checked_present(values, absent=None) -> tuple[np.ndarray, np.ndarray]:
    """One number per head, and which heads are not there (their number is 0 and means nothing)."""
    if absent is None:
        values = checked_values(values)
        return values, np.zeros(values.shape, dtype=bool)
    absent = np.asarray(absent, dtype=bool)
    if absent.shape != np.shape(values) or absent.all():
        raise ValueError(
            f"absent needs a yes or no for each head, not yes for all; got shape {absent.shape} for {np.shape(values)}."
        )
    return checked_values(np.where(absent, 0.0, values)), absent


def checked_mask(mask, tokens: Sequence[str], name: str) -> tuple[bool, ...]:
    """A yes or no per token."""
    mask = tuple(bool(entry) for entry in mask)
    if len(mask) != len(tokens):
        raise ValueError(f"{name} needs one entry per token: {len(tokens)} expected, got {len(mask)}.")
    return mask


def special_tokens(tokens: Sequence[str], special: Sequence[bool] | None = None) -> tuple[bool, ...]:
    """Which tokens the tokenizer added: as said, or by default those written like one."""
    return tuple(map(looks_special, tokens)) if special is None else checked_mask(special, tokens, "special")


def as_array(values) -> np.ndarray:
    """Any array or torch tensor, also on another device, as a new float64 array."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
    try:
        return np.array(values, dtype=np.float64)
    except TypeError:
        raise TypeError(
            f"numbers were expected; got {type(values).__name__}. Of a model, take attention = extract_attention(encoder, text) and a measure "
            "of it, such as offset_attention(attention); of a profile, profile.mean(name)."
        ) from None
    except ValueError as error:  # words, or rows of different lengths
        raise ValueError(f"numbers in rows of one length were expected, and NumPy says: {error}") from None


def _are_words(given) -> bool:
    return isinstance(given, (list, tuple)) and bool(given) and all(isinstance(one, str) for one in given)


def given_attention(attention, tokens=None, key_tokens=None, grid=None, sentence_b_start=None) -> Attention:
    """`Attention.from_arrays`, where a grid is not passed over in silence, and tokens may come first, as CircuitsVis has it.

    Raises
    ------
    ValueError
        If an Attention was made without the grid; and what `Attention.from_arrays` raises.
    """
    if tokens is not None and _are_words(attention) and not _are_words(tokens):
        attention, tokens = tokens, attention
    found = Attention.from_arrays(attention, tokens, key_tokens, grid=grid, sentence_b_start=sentence_b_start)
    if grid is not None and not np.array_equal(found.grid, grid):
        raise ValueError(
            "an Attention has its grid from the start and cannot be given one here; pass grid to Attention.from_arrays."
        )
    return found
