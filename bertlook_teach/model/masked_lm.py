"""The loss an encoder was trained with: guess the wordpieces that were masked (Devlin et al. 2019)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from .folders import import_torch
from .numpy_bert import as_array

if TYPE_CHECKING:
    from .encoder import Encoder

MASKED_SHARE = 0.15

_MASK, _RANDOM = (
    0.8,
    0.1,
)  # of the chosen pieces; the remaining tenth stays as it is, and is to be guessed all the same

_HEADS: WeakKeyDictionary[Any, Callable] = WeakKeyDictionary()


class NoMaskedLMHead(ValueError):
    """The model was saved without the part that guesses masked pieces."""


@dataclass(frozen=True)
class Masking:
    """Which positions are to be guessed, and what the model reads there instead."""

    positions: tuple[int, ...]
    replaced_by: tuple[int, ...]

    def applied(self, ids: Sequence[int]) -> list[int]:
        """The vocabulary numbers that the model reads."""
        ids = list(ids)
        for position, piece in zip(self.positions, self.replaced_by):
            ids[position] = piece
        return ids


def choose_masked(
    encoder: Encoder, ids: Sequence[int], special: Sequence[bool], *, share=MASKED_SHARE, seed=0
):
    """Choose pieces to guess as in pre-training: 15 %, of which 80 % become [MASK], 10 % a random piece, 10 % stay.

    Parameters
    ----------
    encoder : Encoder
    ids : sequence of int
        Vocabulary numbers of the input.
    special : sequence of bool
        True for [CLS] and [SEP], which are never masked.
    share : float
        Share of the other pieces; at least one piece is chosen.
    seed : int
        The same seed and input give the same choice.

    Returns
    -------
    Masking
    """
    if not 0 < share <= 1:
        raise ValueError(f"share is the part of the pieces to mask, above 0 and at most 1; got {share}.")
    random = np.random.default_rng(seed)
    candidates = np.flatnonzero(~np.asarray(special, dtype=bool))
    count = max(1, round(share * len(candidates)))
    positions = sorted(int(i) for i in random.choice(candidates, size=count, replace=False))
    reserved = set(encoder.tokenizer.all_special_ids)
    pieces = [i for i in range(len(encoder.tokenizer)) if i not in reserved]
    replaced_by = []
    for position in positions:
        draw, other = random.random(), int(random.choice(pieces))
        if draw < _MASK:
            replaced_by.append(mask_id(encoder))
        else:
            replaced_by.append(other if draw < _MASK + _RANDOM else ids[position])
    return Masking(tuple(positions), tuple(replaced_by))


def chosen_masked(encoder: Encoder, positions: Sequence[int], special: Sequence[bool]) -> Masking:
    """Put [MASK] at positions of the caller's choice.

    Raises
    ------
    ValueError
        If there is none, or one lies outside the input or on [CLS] or [SEP].
    """
    mask = np.asarray(positions).dtype == bool  # one for each token
    positions = tuple(sorted({int(i) for i in (np.flatnonzero(positions) if mask else positions)}))
    if not positions:
        raise ValueError("no position to mask was given: without a masked piece there is no loss.")
    for i in positions:
        if not 0 <= i < len(special):
            raise ValueError(
                f"position {i} lies outside the input: its {len(special)} tokens count from 0 to {len(special) - 1}."
            )
        if special[i]:
            raise ValueError(
                f"position {i} holds a special token, which is never masked; choose a piece of the text."
            )
    return Masking(positions, (mask_id(encoder),) * len(positions))


def mask_id(encoder: Encoder) -> int:
    """The vocabulary number of [MASK]."""
    number = encoder.tokenizer.mask_token_id
    if number is None:
        raise ValueError(f"the tokenizer of {encoder.name} has no mask token, so nothing can be masked.")
    return number


def masked_lm_head(encoder: Encoder) -> Callable:
    """The part of the model that turns a hidden vector into one score per wordpiece of the vocabulary.

    It is read from the folder the encoder came from; a random twin gets a random one, drawn with the twin's seed.

    Returns
    -------
    function
        Hidden vectors (..., width), a torch tensor, to scores (..., vocabulary). Gradients pass through.

    Raises
    ------
    NoMaskedLMHead
        If the folder holds no masked-LM head.
    """
    if encoder not in _HEADS:
        _HEADS[encoder] = _load_head(encoder)
    return _HEADS[encoder]


def masked_lm_scorer(encoder: Encoder) -> Callable[[np.ndarray], np.ndarray]:
    """`masked_lm_head` for arrays: without torch where the encoder computes in NumPy.

    Returns
    -------
    function
        Hidden vectors (..., width) to scores (..., vocabulary), float32.

    Raises
    ------
    NoMaskedLMHead
        If the folder holds no masked-LM head.
    """
    if encoder.engine is not None and encoder.engine.has_head("masked_lm"):
        return encoder.engine.masked_lm
    head, torch = masked_lm_head(encoder), import_torch()

    def scores(vectors):
        with torch.inference_mode():
            return as_array(head(torch.as_tensor(vectors, device=encoder.device)))

    return scores


def _load_head(encoder: Encoder) -> Callable:
    from .blocks import with_pretraining_head
    from .folders import first_line

    none = f"{encoder.name} has no masked-LM head"
    advice = (
        "To guess a masked piece, or to take the gradient of that loss, use a model that was saved with one (BertForPreTraining, BertForMaskedLM, "
        "...), for example 'specimen' or 'bert-base-uncased'."
    )
    model = with_pretraining_head(encoder, "AutoModelForMaskedLM", NoMaskedLMHead, none, advice)
    torch = import_torch()
    from transformers.modeling_outputs import BaseModelOutput

    # The head keeps its tie to the word embeddings of *this* encoder; the second copy of the encoder is dropped.
    prefix = model.base_model_prefix
    setattr(model, prefix, encoder.model)
    model.tie_weights()

    class Given(torch.nn.Module):
        """Stands in for the encoder: hands on the hidden vectors it is given."""

        def forward(self, *_, inputs_embeds=None, **__):
            return BaseModelOutput(last_hidden_state=inputs_embeds)

    setattr(model, prefix, Given())
    model.to(encoder.device)

    def head(hidden):
        flat = hidden.reshape(1, -1, hidden.shape[-1])
        return model.to(hidden.dtype)(inputs_embeds=flat).logits.reshape(*hidden.shape[:-1], -1)

    try:
        with torch.inference_mode():
            head(torch.zeros(1, encoder.model.config.hidden_size, dtype=torch.float32, device=encoder.device))
    except (AttributeError, TypeError, RuntimeError, ValueError) as error:
        kind = encoder.model.config.model_type
        raise NoMaskedLMHead(
            f"{none} that can be used by itself: that of {kind} models asks for more than hidden vectors ({first_line(error)}). {advice}"
        ) from error
    return head
