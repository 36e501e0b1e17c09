"""Does a head look at nouns, at subjects, at negation? The largest column mean of each feature, sentence by sentence.

Kovaleva et al. (2019) ask it with a maximum: over all queries together, how much does the most-looked-at noun get? A
maximum over many nouns is larger than one over a single negation word whatever the head does, so every number here comes
with the same maximum over equally many words drawn at random.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..model import array_namespace
from .surface import attention_weights, token_masks

SUBJECTS = ("nsubj", "csubj")

OBJECTS = ("obj", "iobj")

CORE = (*SUBJECTS, *OBJECTS, "obl")

# Whole words only: a matcher of substrings finds "no" in "know" and "not" in "nothing" alike.
NEGATION = frozenset(
    {"no", "not", "n't", "never", "none", "nobody", "nothing", "nowhere", "neither", "nor", "cannot"}
)


def feature_masks(sentence) -> dict[str, np.ndarray]:
    """Which words of a treebank sentence carry each feature: boolean arrays of shape (word,).

    Subjects and objects by relation, with subtypes (``nsubj:pass`` is a subject); negation by whole words.
    """
    relations = [relation.partition(":")[0] for relation in sentence.relations]
    masks = {
        "nouns": [tag in ("NOUN", "PROPN") for tag in sentence.upos],
        "verbs": [tag == "VERB" for tag in sentence.upos],
        "pronouns": [tag == "PRON" for tag in sentence.upos],
        "subjects": [relation in SUBJECTS for relation in relations],
        "objects": [relation in OBJECTS for relation in relations],
        "negation": [word.lower() in NEGATION for word in sentence.words],
    }
    return {name: np.array(mask, dtype=bool) for name, mask in masks.items()}


def token_mask(attention, word_mask: Sequence[bool]) -> np.ndarray:
    """The tokens of an Attention whose word is in the mask; a special token never is.

    Raises
    ------
    ValueError
        If the mask does not have one entry for each word.
    """
    if len(word_mask) != len(attention.words):
        raise ValueError(
            f"the mask needs one entry a word, {len(attention.words)} of them; got {len(word_mask)}. "
            "Was the attention taken with words=sentence.words?"
        )
    return np.array([word is not None and bool(word_mask[word]) for word in attention.word_ids])


def column_maxima(attention, masks: Mapping[str, Sequence[bool]]) -> dict[str, np.ndarray]:
    """For each mask over the tokens: the largest column mean among its tokens, shape (layer, head).

    Parameters
    ----------
    attention : Attention or array of shape (..., layer, head, query, key)
    masks : mapping of name to bool array of shape (token,)

    Returns
    -------
    dict of str to array
        A feature that does not occur is left out: there is no largest of nothing.

    References
    ----------
    Kovaleva et al. (2019), attention to linguistic features. ([SEP] here is the larger of the two, where Clark et al. add
    them up.)

    Examples
    --------
    >>> weights = np.array([[0.2, 0.8], [0.4, 0.6]])
    >>> column_maxima(weights, {"first": [True, False], "none": [False, False]})
    {'first': np.float64(0.30000000000000004)}
    """
    weights = attention_weights(attention)
    xp = array_namespace(weights)
    columns = xp.mean(weights, axis=-2)
    found = {}
    for name, mask in masks.items():
        mask = np.asarray(mask, dtype=bool)
        if mask.shape != (weights.shape[-1],):
            raise ValueError(
                f"mask {name!r} needs one entry a token, {weights.shape[-1]}; got shape {mask.shape}."
            )
        if mask.any():
            found[name] = xp.max(xp.take(columns, xp.asarray(np.flatnonzero(mask)), axis=-1), axis=-1)
    return found


def feature_maxima(attention, sentence) -> dict[str, np.ndarray]:
    """Column maxima of the six features, of [CLS] and of [SEP], each of shape (layer, head); absent ones are left out."""
    masks = {name: token_mask(attention, mask) for name, mask in feature_masks(sentence).items()}
    special = token_masks(attention)
    return column_maxima(attention, masks | {"[CLS]": special["cls"], "[SEP]": special["sep"]})


def chance_maxima(attention, sentence, *, draws: int = 20, seed: int = 0) -> dict[str, np.ndarray]:
    """What each feature's maximum would be for as many tokens of any words, drawn at random: its baseline."""
    words = np.flatnonzero([word is not None for word in attention.word_ids])
    columns = attention_weights(attention).mean(axis=-2)
    generator = np.random.default_rng(seed)
    found = {}
    for name, mask in feature_masks(sentence).items():
        size = int(token_mask(attention, mask).sum())
        if size:
            drawn = np.stack([generator.choice(words, size, replace=False) for _ in range(draws)])
            found[name] = columns[..., drawn].max(axis=-1).mean(axis=-1)
    return found


def argument_pairs(sentence, *, min_distance: int = 2, max_words: int = 12) -> list[tuple[int, int]]:
    """(verb, core argument) pairs of a short sentence, at least two words apart.

    Kovaleva et al. took links between a frame's target and its core elements from FrameNet, in sentences of at most 12
    tokens. The treebank holds no frames. A verb and its subject, object or oblique stand in for them here; that is
    another question, about syntax, and its answer is not theirs.
    """
    if len(sentence.words) > max_words:
        return []
    return [
        (governor, word)
        for word, (governor, relation) in enumerate(zip(sentence.governors, sentence.relations))
        if governor >= 0
        and sentence.upos[governor] == "VERB"
        and relation.partition(":")[0] in CORE
        and abs(word - governor) >= min_distance
    ]


def pair_maxima(attention, pairs: Sequence[tuple[int, int]]) -> np.ndarray:
    """The largest weight between linked words, in either direction, shape (layer, head).

    Parameters
    ----------
    attention : Attention
        At word level (``.to_words()``), so that a weight between words is one number.
    pairs : sequence of (int, int)
        Word indices.

    Raises
    ------
    ValueError
        If there is no pair, or the attention is between wordpieces.
    """
    if getattr(attention, "level", None) != "word":
        raise ValueError("pairs are pairs of words; take attention.to_words() first.")
    if not len(pairs):
        raise ValueError("there is no pair of linked words, so there is no largest weight between them.")
    position = {word: i for i, word in enumerate(attention.word_ids) if word is not None}
    rows = [position[a] for a, _ in pairs] + [position[b] for _, b in pairs]
    columns = [position[b] for _, b in pairs] + [position[a] for a, _ in pairs]
    return attention_weights(attention)[..., rows, columns].max(axis=-1)


def chance_pair_maxima(
    attention, pairs: Sequence[tuple[int, int]], *, draws: int = 20, seed: int = 0
) -> np.ndarray:
    """What `pair_maxima` would be for equally many pairs of any words, each as far apart as the linked one.

    A head that looks two words back finds many arguments without knowing what an argument is; this is what it finds
    among words that nothing links.
    """
    if not len(pairs):
        raise ValueError("there is no pair of linked words, so there is nothing to compare with.")
    weights = attention_weights(attention)
    position = {word: i for i, word in enumerate(attention.word_ids) if word is not None}
    order = np.array([position[word] for word in range(len(attention.words))])
    distance = np.array([abs(a - b) for a, b in pairs])
    generator = np.random.default_rng(seed)
    first = generator.integers(0, len(order) - distance, (draws, len(pairs)))
    rows, columns = order[first], order[first + distance]
    both = np.maximum(weights[..., rows, columns], weights[..., columns, rows])
    return both.max(axis=-1).mean(axis=-1)
