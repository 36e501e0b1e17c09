"""Labelled spans for probes that ask what a layer knows: word classes, relations, kinds of entity, coreference.

Tenney et al. (2019) put every question in one form: here are one or two spans of a text, which label do they have? The
questions come from a treebank with ``Entity=`` in its last column (ours, or GUM), or from JSON lines made elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .coreference import CorefDocument, Mention, coreference_documents, entity_spans
from .texts import from_json, json_lines, json_span, json_words

Span = tuple[int, int]

SAME, DIFFERENT = "same", "different"

# Task -> (spans, negative label, what is asked). Micro-F1 counts every label but the negative one.
TASKS = {
    "pos": (1, None, "word class"),
    "dep": (2, None, "relation"),
    "entity": (1, None, "kind of entity"),
    "coref": (2, DIFFERENT, "same thing?"),
}

WINDOW = 3  # sentences in which two mentions are compared

NEGATIVES = 2  # for each pair of the same thing, at most


class EdgeTarget(NamedTuple):
    """One question: half-open spans of words, counted from 0, and the label. ``span2`` is None for a single span.

    In a dependency ``span1`` is the dependent and ``span2`` its governor; in coreference ``span1`` comes first.
    """

    span1: Span
    span2: Span | None
    label: str


@dataclass(frozen=True)
class EdgeSentence:
    """A sentence, or a window of some, with its questions."""

    words: tuple[str, ...]
    targets: tuple[EdgeTarget, ...]
    doc_id: str
    sent_id: str = ""

    def text(self, span: Span) -> str:
        """The words of a span."""
        return " ".join(self.words[span[0] : span[1]])


# --- from a treebank -----------------------------------------------------------------------------------
def treebank_edges(sentences: Iterable, task: str, *, seed: int = 0) -> list[EdgeSentence]:
    """The questions of one task about the sentences of a treebank.

    Parameters
    ----------
    sentences : iterable of TreebankSentence
        For example `bertlook_course.corpora.load_treebank()`.
    task : {"pos", "dep", "entity", "coref"}
        The universal word class of each word; the relation of each word but the root, from the word and its governor; the kind
        of each mention (person, place, ...); whether two mentions within three sentences are the same thing. A mention with gaps
        is no span and is not asked about.
    seed : int
        For "coref": which pairs of different things are asked, at most two for each pair of the same.

    Raises
    ------
    ValueError
        If there is no such task, or nothing to ask: no ``Entity=``, say.
    """
    _known(task)
    sentences = list(sentences)
    if task == "coref":
        found = coreference_edges(coreference_documents(sentences), seed=seed)
    else:
        ask = {"pos": _word_classes, "dep": _relations, "entity": _entities}[task]
        asked = (EdgeSentence(tuple(s.words), tuple(ask(s)), s.doc_id, s.sent_id) for s in sentences)
        found = [s for s in asked if s.targets]
    if not found:
        lack = (
            "; entities and coreference need Entity= in the last column"
            if task in ("entity", "coref")
            else ""
        )
        raise ValueError(f"{len(sentences)} sentences hold nothing to ask for the task {task!r}{lack}.")
    return found


def _word_classes(sentence) -> Iterable[EdgeTarget]:
    return (EdgeTarget((i, i + 1), None, tag) for i, tag in enumerate(sentence.upos))


def _relations(sentence) -> Iterable[EdgeTarget]:
    for word, (governor, relation) in enumerate(zip(sentence.governors, sentence.relations)):
        if governor >= 0:
            yield EdgeTarget((word, word + 1), (governor, governor + 1), relation)


def _entities(sentence) -> Iterable[EdgeTarget]:
    where = sentence.sent_id or "a sentence"
    for parts, values in entity_spans(sentence, where):
        if values.get("etype") and len(parts) == 1:
            yield EdgeTarget(parts[0], None, values["etype"])


def coreference_edges(documents: Iterable[CorefDocument], *, seed: int = 0) -> list[EdgeSentence]:
    """Pairs of mentions within windows of three sentences that do not overlap: the same thing, or not.

    At most two pairs of different things, drawn at random, for each pair of the same; none in which one mention contains the other.
    """
    rng = np.random.default_rng(seed)
    found = []
    for document in documents:
        for start in range(0, len(document.sentences), WINDOW):
            spans = document.sentences[start : start + WINDOW]
            low, high = spans[0][0], spans[-1][1]
            inside = [m for m in document.mentions if low <= m.start and m.end <= high and not m.parts]
            pairs = [(a, b) for i, a in enumerate(inside) for b in inside[i + 1 :]]
            same = [pair for pair in pairs if pair[0].cluster == pair[1].cluster]
            other = [pair for pair in pairs if pair[0].cluster != pair[1].cluster and not _nested(*pair)]
            keep = sorted(rng.permutation(len(other))[: NEGATIVES * len(same)].tolist())
            asked = [_pair(*pair, low, SAME) for pair in same]
            asked += [_pair(*other[i], low, DIFFERENT) for i in keep]
            if asked:
                name = f"{document.doc_id}-{start + 1}"
                found.append(EdgeSentence(document.words[low:high], tuple(asked), document.doc_id, name))
    return found


def _nested(a: Mention, b: Mention) -> bool:
    return a.start < b.end and b.start < a.end


def _pair(a: Mention, b: Mention, low: int, label: str) -> EdgeTarget:
    return EdgeTarget((a.start - low, a.end - low), (b.start - low, b.end - low), label)


# --- from JSON lines -----------------------------------------------------------------------------------
def read_edges(path: str | Path, *, limit: int | None = None) -> list[EdgeSentence]:
    """Questions from JSON lines (plain or ``.gz``): ``{"id": ..., "tokens": [...], "targets": [{"span1", "span2", "label"}]}``.

    Spans are half-open and count tokens from 0; ``span2`` stands in all targets of a file or in none. Labels 1 and 0 become "same"
    and "different". The document is ``doc_id``, or else the id up to its last hyphen. A line without targets is left out.

    Parameters
    ----------
    path : path
    limit : int, optional
        Read only the first lines.

    Raises
    ------
    ValueError
        With file and line, if something is broken, or nothing is asked at all.
    """
    if limit is not None and limit < 1:
        raise ValueError(f"limit is a number of lines, at least 1; got {limit}.")
    found, pairs = [], None
    for number, where, line in json_lines(path):
        if limit is not None and number > limit:
            break
        sentence = _json_sentence(line, where, number)
        for target in sentence.targets:
            pairs = target.span2 is not None if pairs is None else pairs
            if pairs != (target.span2 is not None):
                raise ValueError(
                    f"{where}: span2 stands in some targets and not in others; one file asks one kind of question."
                )
        if sentence.targets:
            found.append(sentence)
    if not found:
        raise ValueError(
            f"{path} asks nothing: expected lines with id, tokens and targets (span1, span2 where there are two, label)."
        )
    return found


def _json_sentence(line: str, where: str, number: int) -> EdgeSentence:
    try:
        item = from_json(line)
        words, raw = item["tokens"], item["targets"]
        name = str(item.get("id", number))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{where}: expected an object with id, tokens and targets; {type(error).__name__}: {error}."
        ) from None
    words = json_words(words, f"{where}, tokens")
    if not isinstance(raw, list):
        raise ValueError(f"{where}: targets must be a list; got {raw!r:.60}.")  # noqa: TRY004
    targets = tuple(_json_target(target, len(words), where) for target in raw)
    doc_id = str(item.get("doc_id") or name.rpartition("-")[0] or name)
    return EdgeSentence(words, targets, doc_id, name)


def _json_target(target, n_words: int, where: str) -> EdgeTarget:
    try:
        label, first, second = target["label"], target["span1"], target.get("span2")
    except (KeyError, TypeError, AttributeError):
        raise ValueError(
            f"{where}: a target needs span1 and label, and span2 for a pair; got {target!r:.80}."
        ) from None
    span1 = json_span(first, n_words, where)
    span2 = None if second is None else json_span(second, n_words, where)
    if not isinstance(label, str | int) or label == "":
        raise ValueError(f"{where}: a target needs span1 and label, and span2 for a pair; got {target}.")
    if span2 is not None:
        label = {"0": 0, "1": 1}.get(label, label)  # as jiant writes them
    if isinstance(label, (bool, int)):
        if label not in (0, 1):
            raise ValueError(
                f"{where}: a label is a text, or 1 and 0 for the same thing and not; got {label}."
            )
        label = (DIFFERENT, SAME)[int(label)]
    return EdgeTarget(span1, span2, str(label))


def _known(task: str) -> None:
    if task not in TASKS:
        raise ValueError(f"task must be one of {', '.join(TASKS)}; got {task!r}.")


def n_questions(sentences: Sequence[EdgeSentence]) -> int:
    """How many questions there are in all."""
    return sum(len(sentence.targets) for sentence in sentences)
