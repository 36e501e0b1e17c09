"""What a probe believes about one sentence, layer by layer."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ...corpora import EdgeSentence, EdgeTarget
from .depth_curves import LayerScores
from .states import hidden_states
from .vectors import SpanVectors


# --- one case ------------------------------------------------------------------------------------------------
def sentence_beliefs(
    scores: LayerScores, data: SpanVectors, sentences: Sequence[EdgeSentence], number: int, *, top: int = 4
) -> dict:
    """What the probes believe of each question about one sentence, depth by depth (the paper's Figure 3), as a plain dict.

    Parameters
    ----------
    scores : LayerScores
        Of `cumulative_probes`.
    data : SpanVectors
        The cases that were scored.
    sentences : sequence of EdgeSentence
        Those that ``data`` was made from.
    number : int
        Which of them.
    top : int
        Number of labels for each question: those that some probe finds most likely, always with the treebank's own.

    Returns
    -------
    dict with ``words``, ``task``, and ``targets``, each with ``span1``, ``span2`` (or None), ``gold``, ``labels`` and ``beliefs``, a
    list of shape (label, layer) of probabilities rounded to three digits

    Raises
    ------
    ValueError
        If the scores are of other cases, or none of the sentence's questions was scored.
    """
    if scores.beliefs.shape[1] != len(data) or scores.task != data.task:
        raise ValueError(
            f"scores and data must be of the same cases; got {scores.beliefs.shape[1]} of {scores.task!r} and {len(data)} of {data.task!r}."
        )
    cases = [case for case, (sentence, _) in enumerate(data.places) if sentence == number]
    if not cases:
        raise ValueError(
            f"no question about sentence {number} was scored; one of {sorted({s for s, _ in data.places})[:8]} ... has some."
        )
    sentence = sentences[number]
    asked = [sentence.targets[data.places[case][1]] for case in cases]
    return _case(scores, sentence.words, asked, scores.beliefs[:, cases], top)


def typed_beliefs(scores: LayerScores, encoder, text: str, *, top: int = 4) -> dict:
    """The same for each word of any sentence; nobody knows the right label, so ``gold`` is empty.

    Parameters
    ----------
    scores : LayerScores
        Of a task with one span, fitted on vectors of this encoder.
    encoder : Encoder
    text : str
        Split at spaces and before punctuation.

    Raises
    ------
    ValueError
        If there is no word, the model cannot read the text whole, or the task asks about pairs.
    """
    if scores.probes[0].n_spans != 1:
        raise ValueError(
            f"the task {scores.task!r} asks about pairs; only single words of a typed text can be asked."
        )
    words = tuple(re.findall(r"\w+(?:['’]\w+)*|[^\w\s]", text))
    if not words:
        raise ValueError("there is no word to ask about; type a sentence.")
    [states] = hidden_states(encoder, [words])
    beliefs = np.stack([probe.beliefs(states) for probe in scores.probes])
    asked = [EdgeTarget((i, i + 1), None, "") for i in range(len(words))]
    return _case(scores, words, asked, beliefs, top)


def _case(
    scores: LayerScores, words: Sequence[str], asked: Sequence[EdgeTarget], beliefs: np.ndarray, top: int
) -> dict:
    targets = []
    for case, target in enumerate(asked):
        believed = beliefs[:, case]
        order = sorted(
            range(len(scores.labels)), key=lambda i: (scores.labels[i] != target.label, -believed[:, i].max())
        )
        order = sorted(order[:top], key=lambda i: -believed[-1, i])
        targets.append(
            {
                "span1": list(target.span1),
                "span2": None if target.span2 is None else list(target.span2),
                "gold": target.label,
                "labels": [scores.labels[i] for i in order],
                "beliefs": [[round(float(p), 3) for p in believed[:, i]] for i in order],
            }
        )
    return {"task": scores.task, "words": list(words), "targets": targets}
