"""Refutations on a live model: the specimen, its random twin, or any encoder that is given."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from bertlook_teach.measures import attention_entropy, attention_gradients, map_classes, offset_attention
from bertlook_teach.model import extract_attention, head_label, load_recording, read

from ...analyses.ablation import ablated, all_heads
from .refutation import Refutation

if TYPE_CHECKING:
    from bertlook_teach.model import Encoder

TEXT = "The old man saw a small bird on the lake."


@cache
def _shipped(name: str) -> Encoder:
    from bertlook_teach.model import load_encoder

    return load_encoder(name)


def _inputs(encoder: Encoder) -> dict:
    ids = encoder.tokenizer(TEXT, return_tensors="pt").to(encoder.device)
    return {"input_ids": ids["input_ids"], "attention_mask": ids["attention_mask"]}


def _states(encoder: Encoder, **options) -> np.ndarray:
    return encoder.model(**_inputs(encoder), **options).last_hidden_state.detach().cpu().numpy()


def _cls(encoder: Encoder, text: str) -> np.ndarray:
    ids = encoder.tokenizer(text, return_tensors="pt").to(encoder.device)
    states = encoder.model(input_ids=ids["input_ids"], attention_mask=ids["attention_mask"]).last_hidden_state
    return states[0, 0].detach().cpu().numpy()


def one_word_one_token(
    encoder: Encoder | None = None, text: str = "An unbelievably photogenic astronomer."
) -> Refutation:
    """Lesson 01."""
    attention = extract_attention(encoder or _shipped("specimen"), text)
    pieces, words = attention.special.count(False), len(text.replace(".", " .").split())
    return Refutation(
        f"“{text}” has {words} words and marks, but {pieces} wordpieces.",
        float(pieces - words),
        pieces > words,
    )


def random_means_wild(twin: Encoder | None = None) -> Refutation:
    """Lesson 01. By default the random twin."""
    attention = extract_attention(twin or _shipped("specimen-random"), TEXT)
    even = float(attention_entropy(attention, normalized=True).min())
    sentence = f"Even the sharpest head of an untrained model spreads its attention almost evenly: its entropy is {100 * even:.1f} % of the largest possible."
    return Refutation(sentence, even, even > 0.9)


def names_carry_over(
    encoder: Encoder | None = None, text: str = "The cat sat on the mat", recorded: str = "bert-base-uncased"
) -> Refutation:
    """Lesson 02. BERT-base, recorded: its head that looks most at the next token, and the head of that name in another BERT."""
    here, there = extract_attention(encoder or _shipped("specimen"), text), load_recording(recorded)[text]
    ours, theirs = offset_attention(here, +1), offset_attention(there, +1)
    ours, theirs = (
        shares[: min(len(ours), len(theirs))] for shares in (ours, theirs)
    )  # the layers that both have
    ours, theirs = (shares[:, : min(ours.shape[1], theirs.shape[1])] for shares in (ours, theirs))
    place = np.unravel_index(theirs.argmax(), theirs.shape)
    one, other = float(theirs[place]), float(ours[place])
    sentence = f"Head {head_label(*map(int, place))} gives the next token {one:.2f} in BERT-base, recorded, and {other:.2f} in another BERT."
    return Refutation(sentence, one - other, one > 2 * other)


def cls_is_the_meaning(
    encoder: Encoder | None = None,
    text: str = "The dog chased the cat.",
    other_meaning: str = "The cat chased the dog.",
    same_meaning: str = "The cat was chased by the dog.",
) -> Refutation:
    """Lesson 01. The last vector of [CLS] for a sentence, for its words in another order, and for its meaning in other words."""
    encoder = encoder or _shipped("specimen")
    vectors = [_cls(encoder, one) for one in (text, other_meaning, same_meaning)]
    other, same = (
        float(vectors[0] @ one / np.linalg.norm(vectors[0]) / np.linalg.norm(one)) for one in vectors[1:]
    )
    sentence = f"The [CLS] of “{text}” has a cosine of {other:.3f} with “{other_meaning}”, of {same:.3f} with “{same_meaning}”."
    return Refutation(sentence, other - same, other > same)


def padding_needs_no_mask(encoder: Encoder | None = None, padding: int = 20) -> Refutation:
    """Lesson 03. A batch is filled up with [PAD]; the attention mask is forgotten."""
    encoder = encoder or _shipped("specimen")
    ids = _inputs(encoder)["input_ids"]
    n = ids.shape[1]
    filled = ids.new_full((1, n + padding), encoder.tokenizer.pad_token_id)
    filled[:, :n] = ids
    maps, _ = encoder.attend(filled, filled.new_ones(filled.shape))
    lost = float(np.mean([layer[0, :, :n, n:].sum(-1).mean().item() for layer in maps]))
    return Refutation(
        f"Without its mask, {padding} places of padding get {lost:.0%} of all attention.", lost, lost > 0.02
    )


def two_methods_two_proofs(encoder: Encoder | None = None) -> Refutation:
    """Lesson 04. The gradient of a weight against the length of what the weight would move."""
    found = attention_gradients(read(encoder or _shipped("specimen"), TEXT))
    inside = float((found.importance <= 1.001 * found.bound).mean())
    sentence = f"{inside:.0%} of {found.importance.size} gradients lie below the bound that the norm sets."
    return Refutation(sentence, inside, inside > 0.999)


def heterogeneous_is_useful(twin: Encoder | None = None) -> Refutation:
    """Lesson 05. By default the random twin."""
    classes = map_classes(extract_attention(twin or _shipped("specimen-random"), TEXT))
    useful = float(np.isin(classes, ("heterogeneous", "block")).mean())
    sentence = f"Counted as heterogeneous or block, {useful:.0%} of the maps of a model that never learnt are useful."
    return Refutation(sentence, useful, useful > 0.6)


def head_mask_switches_heads_off(encoder: Encoder | None = None) -> Refutation:
    """Lesson 11. All heads masked by the argument, and all heads switched off by hooks."""
    encoder = encoder or _shipped("specimen")
    before = _states(encoder)
    zeros = _inputs(encoder)["input_ids"].new_zeros((encoder.n_layers, encoder.n_heads)).float()
    try:
        by_argument = float(np.abs(_states(encoder, head_mask=zeros) - before).max())
    except TypeError:
        return Refutation("This version of transformers refuses head_mask.", 0.0, True)
    with ablated(encoder, all_heads(encoder), allow_all=True):
        by_hooks = float(np.abs(_states(encoder) - before).max())
    sentence = f"All heads off: head_mask changes the output by {by_argument:.1g}, hooks change it by {by_hooks:.1g}."
    return Refutation(sentence, by_argument, by_argument < 1e-6 < by_hooks)


def switched_off_means_zero(encoder: Encoder | None = None, heads=((0, 0), (0, 1))) -> Refutation:
    """Lesson 11. The same heads, masked and made uniform."""
    encoder, states = encoder or _shipped("specimen"), []
    for how in ("zero", "uniform"):
        with ablated(encoder, heads, how):
            states.append(_states(encoder))
    apart = float(np.abs(states[0] - states[1]).max())
    sentence = f"Weights set to 0 and weights set to 1/n give outputs that differ by up to {apart:.2g}."
    return Refutation(sentence, apart, apart > 1e-3)
