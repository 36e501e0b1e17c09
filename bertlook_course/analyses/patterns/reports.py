"""A pattern scored on a corpus of any length: maps of a batch at a time, and a few numbers of each text."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from bertlook_teach.model import check_reading, left_out_lines

from ...corpora import TreebankSentence, document_keys, numbers_of_keys
from ...metrics import CannotDecide
from ...storage import IN_PLACE, OnDisk, Report, Work, digest_of
from ...syllabus import worded
from .conditions import PatternText
from .counting import PatternCounts, answers_of, check_corpus, check_pairs, count_part
from .language import Pattern, parse_pattern
from .readings import word_maps
from .scores import PatternScore, score_counts, score_pattern

TEXTS = 256  # in a chunk; of their maps a batch is held at a time

# Of a text as many numbers as there are heads, or rules.
_TABLES = ("right", "mass", "right_rules", "mass_rules")


def report(
    encoder,
    texts: Collection,
    pattern: str,
    *,
    twin=None,
    candidates: Literal["words", "anything"] | None = None,
    query: Literal["mean", "first", "max"] = "mean",
    cache: Path | None = None,
    batch_size: int = 32,
    work: Work = IN_PLACE,
) -> Report:
    """Which heads look where a pattern says?

    Score every head: the share of cases in which it looks most at a key that the pattern allows, and the
    attention that such keys get. The best head is chosen on one half of the documents and scored on the other,
    both ways, beside the best fixed rule, chance and the randomly initialised twin.

    Parameters
    ----------
    encoder, twin : encoder or Recording
    texts : list of sentences, of texts, or of pairs of texts, or what can be read again and again
    pattern : str
        As it is typed: ``"query.pos('DET') & key.governor()"``.
    candidates : {"words", "anything"}, optional
        What a head chooses from: all words but the query, or anything (default: words, unless the pattern asks for more).
    query : {"mean", "first", "max"}
        Which row stands for a word of several pieces.
    cache : path, optional
        Keep the maps in this folder, for the next pattern on the same texts.
    batch_size, work
        As of every report; see `bertlook_course.storage.Report`.

    Returns
    -------
    Report
        With two tables: ``pattern``, accuracy and mass of the best head, and ``pattern_heads``, those of every head.

    Raises
    ------
    ValueError
        If the pattern cannot be asked of these texts, none of them can be read, or nothing can be decided.
    """
    asked = parse_pattern(pattern)
    check_corpus(asked, map(_preview, texts))  # before a minute is spent on maps
    answers = candidates or answers_of(asked)
    models = [encoder] if twin is None else [encoder, twin]
    try:
        if cache is not None:
            options = {"query": query, "batch_size": batch_size, "cache": cache}
            maps = [word_maps(model, list(texts), **options) for model in models]
            score, skipped = score_pattern(asked, *maps, answers=answers), maps[0].skipped
        else:
            options = {"answers": answers, "query": query, "batch_size": batch_size}
            parts = [_counts(work, model, texts, pattern=repr(asked), **options) for model in models]
            if len({part.read for part in parts}) > 1:
                raise ValueError("the twin must have read the same texts; record both on the same corpus.")
            score, skipped = parts[0].score(asked, *parts[1:], answers=answers), parts[0].skipped
    except CannotDecide as reason:
        raise ValueError(worded("undecided", reason=reason)) from None
    lines = [score.table(), score.sentence("accuracy"), score.sentence("mass")]
    lines += left_out_lines(skipped, len(texts), "texts", encoder)
    tables = {"pattern": [vars(row) for row in score.rows], "pattern_heads": score.head_rows()}
    return Report("\n".join(lines), tables, score.about)


def _preview(item: TreebankSentence | str | tuple[str, str]) -> PatternText:
    """A text as far as it can be known without a model."""
    if isinstance(item, TreebankSentence):
        return PatternText.of(item)
    parts = item if isinstance(item, tuple) else (item,)
    found = [(word, segment) for segment, part in enumerate(parts) for word in part.split()]
    words, segments = zip(*found)
    return PatternText(words, (False,) * len(words), segments, tuple((word,) for word in words))


# --- counts from chunks --------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class _Counted:
    """What one model makes of the corpus: of a text eight bytes of its document and a few numbers in memory, the others on disk."""

    counts: PatternCounts
    pairs: np.ndarray
    read: str  # digest of the words that were read
    skipped: Counter
    about: dict

    def score(self, pattern: Pattern, twin: _Counted | None = None, *, answers: str) -> PatternScore:
        check_pairs(self.pairs)
        return score_counts(
            pattern,
            self.counts,
            twin and twin.counts,
            answers=answers,
            about=self.about,
            skipped=self.skipped,
            twin=twin.about["model"] if twin else "",
        )


def _counts(work: Work, encoder, texts: Collection, *, pattern: str, **options) -> _Counted:
    """The counts of the whole corpus, from chunks.

    Raises
    ------
    ValueError
        If the model can read no text.
    """
    done = work.chunks(count_chunk, encoder, texts, size=TEXTS, total=len(texts), pattern=pattern, **options)
    tables = {name: OnDisk(work.folder) for name in _TABLES}
    cases, documents, rules, about = [], [], (), {}
    pairs, read, skipped = np.zeros(4, dtype=int), hashlib.sha256(), Counter()
    for chunk in done:
        skipped.update(chunk["skipped"])
        if not len(chunk["cases"]):
            continue
        about, rules = chunk["about"], tuple(chunk["rule_names"])
        pairs += chunk["pairs"]
        read.update(chunk["read"].encode())
        cases.append(chunk["cases"])
        documents.append(chunk["documents"])
        for name, table in tables.items():
            table.add(chunk[name])
    if not cases:
        reasons = ", ".join(f"{count} {why}" for why, count in skipped.items())
        raise ValueError(f"no text can be read by {encoder.name}: {reasons}.")
    numbers = numbers_of_keys(np.concatenate(documents))
    counts = PatternCounts(numbers, np.concatenate(cases), **tables, rule_names=rules)
    return _Counted(counts, pairs, read.hexdigest(), skipped, about)


def count_chunk(encoder, items: Sequence, *, pattern: str, answers: str, batch_size: int, **options) -> dict:
    """What the heads and the rules make of the cases of some texts, and why the others were left out or were cut; maps of a batch at a time."""
    asked, trees = parse_pattern(pattern), isinstance(items[0], TreebankSentence)
    obstacles = [check_reading(encoder, item.words).obstacle if trees else "" for item in items]
    skipped = Counter(filter(None, obstacles))
    usable = [item for item, obstacle in zip(items, obstacles) if not obstacle]
    if not usable:
        return {"skipped": dict(skipped), "cases": np.zeros(0)}
    order = by_length([item.words if trees else item for item in usable])
    names = ("cases", *_TABLES)
    parts, pairs, readings = [], np.zeros(4, dtype=int), {}
    for start in range(0, len(order), batch_size):
        batch = order[start : start + batch_size]
        maps = word_maps(encoder, [usable[i] for i in batch], batch_size=batch_size, **options)
        counts, found = count_part(asked, maps, answers)
        parts.append([getattr(counts, name) for name in names])
        readings.update(zip(batch, maps.readings))
        pairs += found
        skipped += maps.skipped
    back = np.argsort(order)
    return {
        **{name: np.concatenate(column)[back] for name, column in zip(names, zip(*parts))},
        "documents": document_keys([readings[i].doc_id for i in range(len(usable))]),
        "pairs": pairs,
        "read": digest_of(readings[i].words for i in range(len(usable))),
        "skipped": dict(skipped),
        "rule_names": counts.rule_names,
        "about": maps.about,
    }


def by_length(items: Sequence) -> list[int]:
    """Places of texts, pairs or lists of words, short ones first, so that a batch holds what is alike: characters stand for pieces."""

    def length(item) -> int:
        return len(item) if isinstance(item, str) else sum(map(len, item)) + len(item)

    return sorted(range(len(items)), key=lambda i: length(items[i]))
