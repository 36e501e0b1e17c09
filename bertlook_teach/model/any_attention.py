"""Attention maps as other libraries hand them over, as one array of shape (layer, head, query, key)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .in_memory import is_in_memory
from .tokenizing import letters_of_bytes
from .words import CONTINUES, SPACES, looks_special

_SLACK = 2e-3  # half-precision maps of 512 keys stay inside it
_COARSE = 1e-2  # bfloat16 keeps eight binary digits of a weight

# Ends of lines and tabs as byte-level tokenizers spell them, or leave them.
_LINE_ENDS = "ĊĉčĠ\n\t\r"
_LINE_BYTES = ("<0x0A>", "<0x09>", "<0x0D>")

PADDING = frozenset({"[PAD]", "<pad>", "<PAD>", "<|pad|>"})

_NOT_RETURNED = (
    'fused attention (SDPA, flash) returns no weights. Load the model with attn_implementation="eager" and call it with '
    "output_attentions=True."
)


def stacked_weights(weights) -> np.ndarray:
    """Maps as float32 of shape (layer, head, query, key), without importing the library that made them.

    Parameters
    ----------
    weights
        ``outputs`` or ``outputs.attentions`` of Hugging Face (a tuple, one entry a layer, of shape (1, head, query, key)); a cache
        of TransformerLens (``blocks.0.attn.hook_pattern`` and so on); or an array or nested list: (query, key) for one map, (head,
        query, key) for one layer, (layer, head, query, key) for all, with a batch axis of 1 after the layers if there is one.

    Raises
    ------
    ValueError
        If an entry is None, there is more than one text, or the layers have different shapes.
    """
    if hasattr(weights, "attend") or hasattr(weights, "recall") or is_in_memory(weights):
        raise TypeError(
            f"attention was expected, and {type(weights).__name__} is a model: give extract_attention(encoder, text) with encoder = "
            "load_encoder(...), or show it by HeadExplorer(encoder, text)."
        )
    if hasattr(weights, "traits"):
        raise TypeError(f"{type(weights).__name__} is a view: give the attention that it shows.")
    if hasattr(weights, "keys") and not hasattr(weights, "shape"):
        weights = _of_mapping(weights)
    if weights is None:
        raise ValueError(f"there is no attention: {_NOT_RETURNED}")
    if isinstance(weights, (tuple, list)):
        weights = _of_layers(weights)
    array = _plain(weights)
    if array.ndim == 5 and 1 not in array.shape[:2]:
        raise ValueError(_many_texts(array.shape[1]))
    if array.ndim == 5:  # the text's axis stands behind the layers, or in front of them
        array = array[:, 0] if array.shape[1] == 1 else array[0]
    if not 2 <= array.ndim <= 4 or 0 in array.shape:
        raise ValueError(
            "attention has shape (query, key), (head, query, key) or (layer, head, query, key); got shape "
            f"{array.shape}."
        )
    return array.reshape((1,) * (4 - array.ndim) + array.shape)


def _plain(array) -> np.ndarray:
    coarse = "bfloat16" in str(getattr(array, "dtype", ""))
    if hasattr(array, "detach"):
        array = array.detach().cpu().float().numpy()  # NumPy has no bfloat16
    if coarse:  # a row that is a distribution to its digits is made one
        array = np.asarray(array, dtype=np.float32)
        sums = array.sum(axis=-1, keepdims=True)
        return np.where(np.abs(sums - 1) <= _COARSE, array / np.where(sums == 0, 1, sums), array)
    if isinstance(array, str):
        raise TypeError(f"attention was expected first, and {array!r:.60} is a text.")
    try:
        return np.asarray(array, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise ValueError(f"attention must be numbers in rows of one length; NumPy says: {error}") from None


def _of_mapping(cache):
    """The maps in a TransformerLens cache, or in a model's whole output."""
    names = [str(name) for name in cache.keys()]  # noqa: SIM118 - an ActivationCache iterates over its names only by keys()
    if found := [name for name in names if name.endswith(".attn.hook_pattern")]:
        layers = [f"blocks.{layer}.attn.hook_pattern" for layer in range(len(found))]
        if set(found) != set(layers):
            raise ValueError(
                f"the cache holds {', '.join(found[:8])}, and {layers[0]} and so on were expected. Give one, cache[{found[0]!r}], or a list of them."
            )
        return [cache[name] for name in layers]
    if "attentions" in names:
        return cache["attentions"]
    if several := [name for name in names if name.endswith("_attentions")]:
        raise ValueError(
            f"the output holds {', '.join(several)}: pass one of them, such as outputs.{several[0]}."
        )
    raise ValueError(
        "neither attentions nor blocks.0.attn.hook_pattern is in what was passed; it holds "
        f"{', '.join(names[:8]) or 'nothing'}. Call the model with output_attentions=True, or give the layers in a list."
    )


def _of_layers(layers: Sequence):
    """One array of a tuple with an entry a layer; nested lists of numbers stay as they are."""
    if not layers:  # what transformers 5 hands over where its layers return none
        raise ValueError(
            f"the attention holds no layer. Was it outputs.attentions, and not another field? Else {_NOT_RETURNED}"
        )
    if absent := [i for i, layer in enumerate(layers) if layer is None]:
        raise ValueError(f"layer {absent[0]} of {len(layers)} is None: {_NOT_RETURNED}")
    if any(hasattr(layer, "tokens") for layer in layers):
        raise ValueError(
            f"{len(layers)} attentions were given, each of a text, where one was expected: give them one at a time."
        )
    if any(isinstance(layer, (tuple, list)) and layer and hasattr(layer[0], "shape") for layer in layers):
        raise ValueError(
            "each entry is itself a tuple, as generate() returns it, one entry for each step. Call the model once with the whole text, "
            "or pass one step: attentions[0]."
        )
    if not all(hasattr(layer, "shape") for layer in layers):
        return layers
    arrays = [_plain(layer) for layer in layers]
    if len({array.shape for array in arrays}) > 1:
        shapes = ", ".join(dict.fromkeys(str(array.shape) for array in arrays))
        raise ValueError(
            f"the layers have different shapes: {shapes}. A model with windows or with pruned heads is shown layer by "
            "layer: pass one entry."
        )
    if arrays and arrays[0].ndim == 4 and arrays[0].shape[0] != 1:
        raise ValueError(_many_texts(arrays[0].shape[0]))
    return np.stack([array.reshape(array.shape[-3:]) for array in arrays])


def _many_texts(count: int) -> str:
    return (
        f"the attention is of {count} texts at once, and a view shows one. Choose the first with "
        "tuple(layer[:1] for layer in outputs.attentions), of a cache with [cache[name][:1] for name in names], without its padding."
    )


def as_maps(given):
    """The weights of an Attention, an array as it is, and what a model hands over as a tuple or in bfloat16 as an array."""
    weights = given.weights if hasattr(given, "tokens") else given
    if isinstance(weights, (tuple, list)) and weights and isinstance(weights[0], (tuple, list)):
        return np.asarray(weights, dtype=float)
    if not hasattr(weights, "ndim"):
        return stacked_weights(weights)
    return _plain(weights) if "bfloat16" in str(getattr(weights, "dtype", "")) else weights


def not_padding(weights: np.ndarray, tokens: Sequence[str]) -> np.ndarray:
    """Which tokens to keep, bool of shape (token,): padding is called so, or fills an end of the text, and no other token looks at it."""
    padding = np.array([token in PADDING for token in tokens])
    for order in (slice(None), slice(None, None, -1)):  # GPT-2 is padded with the token that ends a text
        first, *others = tokens[order]
        length = next((i for i, token in enumerate(others, 1) if token != first), 0)
        if length > 1 and looks_special(first):
            padding[order][:length] = True
    return ~(padding & ~weights[:, :, ~padding].any(axis=(0, 1, 2)))


def check_weights(
    weights: np.ndarray, tokens: Sequence[str], key_tokens: Sequence[str] | None = None, whole: bool = False
) -> None:
    """Refuse weights of shape (..., query, key) with one that is not a share, or a query that looks nowhere.

    With ``whole``, each row must sum to 1.
    """
    sums = weights.sum(axis=-1)
    scores = "Are these scores from before the softmax, or of a model in training, with dropout (call model.eval())?"
    wrong = {
        "must be finite": (
            ~np.isfinite(weights),
            "Was padding masked with -inf in every key, or is the precision too low?",
        ),
        "cannot be negative": (weights < 0, scores),
        "are shares between 0 and 1": (weights > 1 + _SLACK, scores),
        "are shares of 1 in each row": (
            abs(sums - 1) > _SLACK if whole else sums == 0,
            "Scores from before the softmax, dropout (call model.eval()), rounding (divide by the sum), keys left out, or attention to no token?",
        ),
    }
    for rule, (where, remedy) in wrong.items():
        if not where.any():
            continue
        at = np.argwhere(where)[0]
        axes = ("layer", "head", "query", "key")[4 - weights.ndim :]
        names = {"query": tokens, "key": tokens if key_tokens is None else key_tokens}
        place = ", ".join(
            f"{a} {i}" + (f" ({names[a][i]!r})" if a in names else "") for a, i in zip(axes, at)
        )
        one = where.ndim == weights.ndim
        said = f"is {weights[tuple(at)]:.3f}" if one else f"sums to {sums[tuple(at)]:.3f}"
        if not one and sums[tuple(at)] == 0:
            remedy = "It looks nowhere. Was this head ablated, or is this padding? Leave it out, in the weights and in the tokens."
        raise ValueError(f"attention weights {rule}; {place} {said}. {remedy}")


def words_from_marks(
    tokens: Sequence[str], special: Sequence[bool]
) -> tuple[tuple[int | None, ...], tuple[str, ...]]:
    """The word of each token and the words, by the marks of the common tokenizers: ##, Ġ and ▁ in front, @@ and </w> behind.

    >>> words_from_marks(["[CLS]", "un", "##real", "cat"], [True, False, False, False])
    ((None, 0, 0, 1), ('unreal', 'cat'))
    >>> words_from_marks(["The", "Ġun", "real"], [False] * 3)
    ((0, 1, 1), ('The', 'unreal'))

    A mark that stands alone belongs to what follows, the end of a line to what stands before.

    >>> words_from_marks(["▁The", "▁", "▁cat"], [False] * 3)
    ((0, 1, 1), ('The', 'cat'))
    >>> words_from_marks(["Ġcats", "Ċ", "dogs"], [False] * 3)
    ((0, 0, 1), ('cats', 'dogs'))
    >>> words_from_marks(["un@@", "real", "cat"], [False] * 3), words_from_marks(["un", "real</w>", "cat</w>"], [False] * 3)
    (((0, 0, 1), ('unreal', 'cat')), ((0, 0, 1), ('unreal', 'cat')))
    """
    behind = [
        token
        for token, is_special in zip(tokens, special)
        if not is_special and token.endswith(("@@", "</w>"))
    ]
    if behind:  # what goes on says so, or what ends does: as ## says it
        return words_from_marks(*_marked_in_front(tokens, special, ends=behind[0].endswith("</w>")))
    marked = any(token.startswith(SPACES) for token, is_special in zip(tokens, special) if not is_special)
    ids: list[int | None] = []
    words: list[str] = []
    marks, ended = "".join(SPACES), False
    for token, is_special in zip(tokens, special):
        continues = len(token) > 2 and token.startswith(CONTINUES)
        if is_special:
            ids.append(None)
            continue
        inside = bool(ids) and ids[-1] is not None
        if inside and token.strip(_LINE_ENDS) in ("", *_LINE_BYTES):
            ids.append(ids[-1])
            ended = True
            continue
        inside, ended = inside and not ended, False
        if inside and not words[-1].strip(marks):
            words[-1] = token.lstrip(marks) or token
        elif inside and (continues or (marked and not token.startswith(SPACES))):
            words[-1] += token[2:] if continues else token
        else:
            words.append(token.lstrip(marks) or token)
        ids.append(len(words) - 1)
    return tuple(ids), tuple(words)


def _marked_in_front(tokens, special, *, ends: bool) -> tuple[list[str], Sequence[bool]]:
    """Tokens of subword-nmt and fastBPE (``un@@ real``), or of GPT-1 and CLIP (``un real</w>``), with ## before what goes on."""
    found, goes_on = [], False
    for token, is_special in zip(tokens, special):
        found.append(f"{CONTINUES}{token}" if goes_on and not is_special else token)
        goes_on = not is_special and (not token.endswith("</w>") if ends else token.endswith("@@"))
        if not is_special:
            found[-1] = found[-1].removesuffix("</w>" if ends else "@@")
    return found, special


def by_letters(pieces: Sequence[str], special: Sequence[bool] = ()) -> tuple[str, ...]:
    """`letters_of_bytes` where a space is written Ġ and all bytes make letters; else as it is, for Ġ is a letter of Maltese as well."""
    letters = letters_of_bytes(pieces, special)
    bytewise = any(piece.startswith("Ġ") for piece in pieces) and not any("<0x" in one for one in letters)
    return letters if bytewise else tuple(pieces)
