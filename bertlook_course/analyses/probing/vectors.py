"""The cases of one probing task, with the vectors a probe may read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...corpora import TASKS, EdgeSentence


# --- what a probe reads ------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class SpanVectors:
    """The questions of one task with what a probe may read of them.

    Attributes
    ----------
    task : str
    vectors : float32 ndarray of shape (layer, case, span * dim)
        Mean over a span's words, and over a word's pieces, in the output of each layer; layer 0 is the embedding output, so there are L + 1.
        Of two spans the first comes first.
    n_spans : {1, 2}
    labels : tuple of str
        The treebank's, one for each case.
    forms : tuple of str
        The words of the span or spans, in lower case: what a list of words could go by.
    documents : tuple of str
        Where a case comes from; a text without a document id counts as its own document.
    places : tuple of (int, int)
        Which sentence, and which of its targets.
    negative : str or None
        The negative label, which micro-F1 ignores.
    n_skipped : int
        Sentences left out because the model cannot read them whole.
    """

    task: str
    vectors: np.ndarray
    n_spans: int
    labels: tuple[str, ...]
    forms: tuple[str, ...]
    documents: tuple[str, ...]
    places: tuple[tuple[int, int], ...]
    negative: str | None = None
    n_skipped: int = 0

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def n_layers(self) -> int:
        """L: layers above the embeddings."""
        return len(self.vectors) - 1

    def take(self, cases) -> SpanVectors:
        """Some of the cases: indices or booleans."""
        chosen = np.asarray(cases)
        cases = np.arange(len(self))[chosen if chosen.size else chosen.astype(int)]
        picked = {
            name: tuple(getattr(self, name)[i] for i in cases)
            for name in ("labels", "forms", "documents", "places")
        }
        return replace(self, vectors=np.ascontiguousarray(self.vectors[:, cases]), **picked)

    def swapped(self) -> SpanVectors:
        """The same with the spans of each pair swapped: a test of whether a probe uses their order."""
        if self.n_spans != 2:
            raise ValueError(f"only pairs can be swapped; the task {self.task!r} has one span.")
        first, second = np.split(self.vectors, 2, axis=-1)
        return replace(self, vectors=np.concatenate([second, first], axis=-1))


def span_vectors(
    states: Mapping[tuple[str, ...], np.ndarray], sentences: Sequence[EdgeSentence], task: str
) -> SpanVectors:
    """What a probe reads of each question, from hidden states that were read before.

    Parameters
    ----------
    states : mapping
        From `read_states`. Sentences that are not there are left out and counted.
    sentences : sequence of EdgeSentence
    task : str
        A name of `bertlook_course.corpora.TASKS`.

    Raises
    ------
    ValueError
        If no question is left, or the questions have not the spans that the task asks for.
    """
    n_spans, negative, _ = TASKS[task] if task in TASKS else _no_task(task)
    named = len({s.doc_id for s in sentences}) > 1
    vectors, labels, forms, documents, places, unread = [], [], [], [], [], 0
    for number, sentence in enumerate(sentences):
        layers = states.get(sentence.words)
        if layers is None:
            unread += 1
            continue
        for at, target in enumerate(sentence.targets):
            spans = [target.span1] if target.span2 is None else [target.span1, target.span2]
            if len(spans) != n_spans:
                raise ValueError(
                    f"the task {task!r} asks about {n_spans} span(s); {sentence.sent_id or sentence.doc_id!r} has {len(spans)}. Is it another task's file?"
                )
            vectors.append(np.concatenate([layers[:, a:b].mean(axis=1) for a, b in spans], axis=-1))
            labels.append(target.label)
            forms.append(" | ".join(sentence.text(span).lower() for span in spans))
            documents.append(sentence.doc_id if named else " ".join(sentence.words))
            places.append((number, at))
    if not labels:
        raise ValueError(
            f"no question of the task {task!r} is left of {len(sentences)} sentences ({unread} of which the model cannot read whole)."
        )
    return SpanVectors(
        task=task,
        vectors=np.stack(vectors, axis=1),
        n_spans=n_spans,
        labels=tuple(labels),
        forms=tuple(forms),
        documents=tuple(documents),
        places=tuple(places),
        negative=negative,
        n_skipped=unread,
    )


def _no_task(task: str):
    raise ValueError(f"task must be one of {', '.join(TASKS)}; got {task!r}.")


def four_fifths(data: SpanVectors, seed: int) -> SpanVectors:
    """The cases of four fifths of the documents, drawn by ``seed``."""
    names = sorted(set(data.documents))
    order = np.random.default_rng(seed).permutation(len(names))
    kept = {names[i] for i in order[: max(1, round(0.8 * len(names)))]}
    return data.take([document in kept for document in data.documents])


def draw_cases(data: SpanVectors, most: int, *, seed: int = 0) -> SpanVectors:
    """At most so many cases, drawn at random and left in order."""
    if most >= len(data):
        return data
    return data.take(np.sort(np.random.default_rng(seed).permutation(len(data))[:most]))
