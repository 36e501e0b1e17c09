"""Predictors of syntactic governors, and the one judge they all meet.

A predictor is a function: a sentence in, one governor for each of its words out. A head makes one (the word it looks
at most), a fixed offset makes another (always the next word); `evaluate` scores both in the same way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from bertlook_teach.model import check_head

from ...corpora import TreebankSentence

# How a map answers "which word governs this one?": by its row, or by its column.
DIRECTIONS = ("dependent looks at governor", "governor looks at dependent")

ROOT, NO_ANSWER = -1, -2

ALL, WITHOUT_PUNCT = "all", "all but punct"

Predictor = Callable[[TreebankSentence], Sequence[int]]


class Accuracy(NamedTuple):
    """Right answers out of so many."""

    right: int
    n: int

    @property
    def accuracy(self) -> float:
        return self.right / self.n


def predicted_governors(attention, *, query: str = "mean") -> np.ndarray:
    """The governor every head names for every word of one sentence.

    Parameters
    ----------
    attention : Attention
        Of one sentence given as words; at wordpiece level it is merged first.
    query : {"mean", "first", "max"}
        How the rows of a word's pieces become one row; see `bertlook_teach.model.merge_weights`.

    Returns
    -------
    int16 ndarray of shape (direction, layer, head, word)
        Direction 0: the word that the dependent looks at most (arg max of its row). Direction 1: the word that looks
        most at the dependent (arg max of its column). Special tokens and the word itself are left out, without
        renormalising; of equal weights the first word wins. A sentence of one word has `NO_ANSWER`.

    References
    ----------
    Clark et al. (2019), section 4.2.

    Examples
    --------
    "the" looks at "cat", "cat" looks at "sat":

    >>> from types import SimpleNamespace
    >>> maps = np.array([[[[.0, .9, .1], [.2, .1, .7], [.4, .5, .1]]]])
    >>> attention = SimpleNamespace(weights=maps, special=(False,) * 3, level="word")
    >>> predicted_governors(attention)[0, 0, 0].tolist()     # whom each word looks at
    [1, 2, 1]
    >>> predicted_governors(attention)[1, 0, 0].tolist()     # who looks at each word
    [2, 0, 1]
    """
    if attention.level != "word":
        attention = attention.to_words(query)
    keep = np.flatnonzero(~np.asarray(attention.special))
    weights = np.array(attention.weights[..., keep, :][..., keep])  # a copy: the diagonal is changed
    n = len(keep)
    if n < 2:
        return np.full((2, *weights.shape[:2], n), NO_ANSWER, dtype=np.int16)
    weights[..., np.arange(n), np.arange(n)] = -1
    return np.stack([weights.argmax(-1), weights.argmax(-2)]).astype(np.int16)


def head_predictor(encoder, layer: int, head: int, direction: int = 0, *, query: str = "mean") -> Predictor:
    """One head as a predictor; for all heads at once see `bertlook_course.analyses.syntax.collect_answers`.

    Parameters
    ----------
    encoder : Encoder
    layer, head : int
        Counted from 0.
    direction : {0, 1}
        0: the dependent looks at its governor. 1: the governor looks at its dependent. See `DIRECTIONS`.
    query : {"mean", "first", "max"}
    """
    from bertlook_teach.model import extract_attention

    if direction not in (0, 1):
        raise ValueError(f"direction is 0 ({DIRECTIONS[0]}) or 1 ({DIRECTIONS[1]}); got {direction!r}.")
    layer, head = check_head(layer, head, encoder.n_layers, encoder.n_heads)

    def predict(sentence: TreebankSentence) -> np.ndarray:
        attention = extract_attention(encoder, words=list(sentence.words))
        return predicted_governors(attention, query=query)[direction, layer, head]

    return predict


def offset_predictor(offset: int) -> Predictor:
    """The baseline: the governor is always the word at the same distance; outside the sentence there is no answer, which is wrong.

    Parameters
    ----------
    offset : int
        -1 is the previous word, +1 the next; +1 is right-branching.

    Examples
    --------
    >>> sentence = TreebankSentence(("a", "b", "c"), (1, -1, 1), ("det", "root", "obj"), *[("_",) * 3] * 3, ({},) * 3)
    >>> offset_predictor(-2)(sentence).tolist()
    [-2, -2, 0]
    """

    def predict(sentence: TreebankSentence) -> np.ndarray:
        n = len(sentence)
        guess = np.arange(n) + offset
        return np.where((guess >= 0) & (guess < n), guess, NO_ANSWER)

    return predict


def judge(predicted, sentence: TreebankSentence, *, poss_rule: str = "") -> np.ndarray:
    """Which words got the right governor. Heads and baselines, alone or stacked, go through this.

    Parameters
    ----------
    predicted : int array of shape (..., word)
    sentence : TreebankSentence
        With the governors of the scheme that is scored.
    poss_rule : {"", "possessive", "published"}
        See `answering_words`.

    Returns
    -------
    bool ndarray of shape (..., word)

    Raises
    ------
    ValueError
        If there is not one answer for each word.
    """
    predicted = np.asarray(predicted)
    if predicted.shape[-1:] != (len(sentence),):
        raise ValueError(
            f"a predictor gives one governor for each of the {len(sentence)} words; got shape {predicted.shape}."
        )
    answers = predicted[..., answering_words(sentence, poss_rule)]
    if poss_rule == "published":  # their guard: an owner that answers with the last word keeps its own answer
        answers = np.where(predicted == len(sentence) - 1, predicted, answers)
    return answers == np.asarray(sentence.governors)


def answering_words(sentence: TreebankSentence, poss_rule: str = "") -> np.ndarray:
    """For each word, the word whose answer counts: itself, but for owners followed by their possessive mark.

    In "the dog 's tail" the treebank hangs *dog* on *tail*; a head may as well mark the phrase by its last word, "'s".
    So for a ``poss`` the answer given at the following "'s" counts in place of its own: one answer a case,
    for heads and baselines alike.

    Parameters
    ----------
    sentence : TreebankSentence
        In the Stanford scheme, with the relations ``poss`` and ``possessive``.
    poss_rule : {"", "possessive", "published"}
        ``"possessive"``: the following word is the owner's ``possessive`` (also a bare apostrophe). ``"published"``:
        the following word is "'s" or "s'", as in the code released with the paper. ``""``: no such rule.

    References
    ----------
    Clark et al. (2019), section 4.2. Their released line has an operator-precedence slip; this is what it means. Its guard, that the owner's
    own answer is not the last word, depends on the answer and is kept by `judge`.
    """
    if poss_rule not in ("", "possessive", "published"):
        raise ValueError(f"poss_rule must be '', 'possessive' or 'published'; got {poss_rule!r}.")
    answering = np.arange(len(sentence))
    if poss_rule:
        for word, relation in enumerate(sentence.relations[:-1]):
            follower = word + 1
            if poss_rule == "published":
                marked = sentence.words[follower] in ("'s", "s'")
            else:
                marked = sentence.relations[follower] == "possessive" and sentence.governors[follower] == word
            if relation == "poss" and marked:
                answering[word] = follower
    return answering


def evaluate(
    predictor: Predictor,
    sentences: Iterable[TreebankSentence],
    *,
    poss_rule: str = "",
    count_root: bool = False,
) -> dict[str, Accuracy]:
    """Score any predictor, relation by relation.

    Parameters
    ----------
    predictor : function of a sentence
        Returns one governor for each word, counted from 0.
    sentences : iterable of TreebankSentence
        In the scheme that is scored; see `bertlook_course.analyses.syntax.in_scheme`.
    poss_rule : {"", "possessive", "published"}
    count_root : bool
        Whether the root, which no word governs, counts (as wrong) in "all". The released code counts it.

    Returns
    -------
    dict of relation -> Accuracy
        With "all" (every arc, punctuation included) and "all but punct".

    Examples
    --------
    >>> sentence = TreebankSentence(("the", "cat", "sat"), (1, 2, -1), ("det", "nsubj", "root"), *[("_",) * 3] * 3, ({},) * 3)
    >>> evaluate(offset_predictor(+1), [sentence])["all"]
    Accuracy(right=2, n=2)
    """
    right, n = defaultdict(int), defaultdict(int)
    for sentence in sentences:
        marks = judge(predictor(sentence), sentence, poss_rule=poss_rule)
        for relation, governor, is_right in zip(sentence.relations, sentence.governors, marks):
            if governor == ROOT and not count_root:
                continue
            names = [ALL] if governor == ROOT else [relation, ALL]
            if not relation.startswith("punct"):
                names.append(WITHOUT_PUNCT)
            for name in names:
                right[name] += int(is_right)
                n[name] += 1
    return {name: Accuracy(right[name], n[name]) for name in n}
