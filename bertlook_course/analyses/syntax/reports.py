"""The relation table of a model on a treebank of any length: sentences and answers need not lie in memory."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bertlook_teach.model import NOT_RECORDED, Recording, check_reading, left_out_lines

from ...corpora import TreebankSentence, document_keys, numbers_of_keys
from ...storage import IN_PLACE, OnDisk, Report, Work, attributes, digest_of, interval, tabulate
from .answers import collect_answers, in_scheme
from .gold import Gold, gold_cases
from .relation_table import RelationRow, RelationTable
from .relations import poss_rule, score_cases

SENTENCES = 256  # in a chunk

RECORD_WORDS = (
    "A treebank cuts words otherwise than a text (ca n't): `bertlook record --data` records them as it does."
)


def report(
    encoder,
    sentences: Collection[TreebankSentence],
    *,
    twin=None,
    scheme: Literal["ud", "stanford"] = "ud",
    subtypes: Literal["merge", "keep"] = "merge",
    query: Literal["mean", "first", "max"] | None = None,
    as_published: bool = False,
    min_cases: int = 20,
    permutations: int = 200,
    batch_size: int = 32,
    work: Work = IN_PLACE,
) -> Report:
    """Compare the best head for each syntactic relation of a treebank with the best fixed offset.

    Both are chosen on one half of the sentences and scored on the other, with 95 % intervals, the random
    twin and the number the paper's procedure would give. Any language; the Stanford scheme is for English.

    Parameters
    ----------
    encoder, twin : encoder or Recording
    sentences : list of TreebankSentence, or what can be read again and again
    scheme : {"ud", "stanford"}
        stanford: convert the treebank as docs/stanford.md describes.
    subtypes : {"merge", "keep"}
        In UD, score nmod:poss as nmod, or as a relation of its own.
    query : str, optional
        Which row stands for a word of several pieces (default: mean; first with --as-published).
    as_published : bool
        Follow the released code: choose on the scored sentences, offsets -3 to +2, rows of first pieces.
    min_cases : int
        Leave out relations with fewer than N cases.
    permutations : int
        Permutations for the p-values; 0 leaves them out.
    batch_size, work
        As of every report; see `bertlook_course.storage.Report`.

    Returns
    -------
    Report
        With one table, ``syntax``: a row for each relation, accuracies as fractions.

    Raises
    ------
    ValueError
        If fewer than two sentences can be read, or no relation is frequent enough for a row.
    """
    if isinstance(encoder, Recording) and all(check_reading(encoder, s.words).obstacle for s in sentences):
        raise ValueError(
            f"none of the {len(sentences)} sentences of the treebank is among the {len(encoder)} inputs recorded of {encoder.name}. "
            f"{RECORD_WORDS}"
        )
    how = {"scheme": scheme, "subtypes": subtypes, "as_published": as_published}
    query = query or ("first" if as_published else "mean")
    models = [encoder] if twin is None else [encoder, twin]
    parts = [_answers(work, model, sentences, query=query, batch_size=batch_size, **how) for model in models]
    if len({part.read for part in parts}) > 1:
        raise ValueError("the twin must have answered the same sentences; record both on the same treebank.")
    answered = parts[0]
    table = score_cases(
        answered.gold,
        answered.documents,
        answered.distances,
        twin=parts[1].distances if parts[1:] else None,
        about={**answered.about, "twin": parts[1].about["model"] if parts[1:] else ""},
        **how,
        min_cases=min_cases,
        permutations=permutations,
    )
    if not table.rows:
        raise ValueError(f"no relation has {min_cases} cases in {len(sentences)} sentences; lower min_cases.")
    found = report_of(table)
    lines = left_out_lines(answered.skipped, len(sentences), "sentences left out", encoder)
    lines += [RECORD_WORDS] if NOT_RECORDED in answered.skipped else []
    return Report("\n".join([found.text, *lines]), found.tables, found.about)


def report_of(table: RelationTable) -> Report:
    """A table of `score_relations`, to be printed and saved.

    Raises
    ------
    ValueError
        If the table has no row.
    """
    if not table.rows:
        raise ValueError("the table has no relation frequent enough for a row; lower min_cases.")
    about = table.about
    scheme = about["scheme"] + (f", subtypes {about['subtypes']}" if about["subtypes"] else "")
    rows = [flat_row(row) for row in table.rows]
    text = [
        f"{about['model']}, scheme {scheme}, {about['n_sentences']} sentences; {about['protocol']}.",
        tabulate(
            rows,
            {
                "relation": "relation",
                "n": "n",
                "head": "head",
                "acc [95 %]": interval(value="accuracy"),
                "offset": "offset",
                "acc": lambda row: f"{100 * row['baseline']:.1f}",
                "gain [95 %]": interval("gain", sign="+"),
                "twin": lambda row: "" if row["twin"] is None else f"{100 * row['twin']:.1f}",
                "in-sample": lambda row: f"{100 * row['in_sample']:.1f}",
                "p corr.": lambda row: "" if row["p_corrected"] is None else f"{row['p_corrected']:.3f}",
            },
        ),
        "d>g: the dependent looks at its governor; g>d: the governor looks at its dependent. Accuracies in per cent.",
        "p corrected: do some head's answers go with more than the relation's typical distance? A random twin's often do too: the twin is the control.",
    ]
    if table.too_rare:
        rare = ", ".join(f"{name} {n}" for name, n in sorted(table.too_rare.items()))
        least = about["min_cases"]
        text.append(
            f"No row for fewer than {least} cases, or too few in one half of the documents to choose a head there: {rare}."
        )
    return Report("\n".join(text), {"syntax": rows}, {**about, "too_rare": table.too_rare})


def flat_row(row: RelationRow) -> dict[str, object]:
    """One row as plain values: fractions, heads with printed labels."""
    return {
        **attributes(
            row, "relation n n_sentences head accuracy low high offset baseline gain gain_low gain_high"
        ),
        **attributes(row, "twin twin_low twin_high in_sample"),
        "in_sample_head": str(row.in_sample_choice),
        **attributes(row, "in_sample_baseline in_sample_offset twin_in_sample p p_corrected"),
    }


# --- answers from chunks -------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class _Answered:
    """What one model makes of a treebank: 16 bytes of a word in memory, the answers of the heads on disk."""

    gold: Gold
    documents: np.ndarray  # int (sentence,)
    distances: OnDisk  # rows as those of `Answers`
    read: str  # digest of the words that were read
    skipped: Counter
    about: dict


def _answers(work: Work, encoder, sentences: Collection[TreebankSentence], **options) -> _Answered:
    """What every head answers for every word, from chunks.

    Raises
    ------
    ValueError
        If the model reads fewer than two sentences.
    """
    n = len(sentences)
    done = work.chunks(answer_chunk, encoder, sentences, size=SENTENCES, total=n, **options)
    golds, documents, distances = [], [], OnDisk(work.folder)
    read, skipped = hashlib.sha256(), Counter()
    for chunk in done:
        skipped.update(chunk["skipped"])
        if "gold" in chunk:
            golds.append(chunk["gold"])
            documents.append(chunk["documents"])
            distances.add(chunk["distances"])
            read.update(chunk["read"].encode())
    reasons = ", ".join(f"{count} {why}" for why, count in skipped.items())
    if not golds:
        raise ValueError(
            f"no sentence of the treebank can be read by {encoder.name}: {reasons or 'there was none'}."
        )
    numbers = numbers_of_keys(np.concatenate(documents))
    if len(numbers) < 2:
        raise ValueError(
            f"choosing on one half and scoring on the other needs two sentences; {encoder.name} reads {len(numbers)} of {n}"
            f"{f' ({reasons})' if reasons else ''}."
        )
    about = {
        "model": encoder.name,
        **attributes(encoder, "fingerprint n_layers n_heads"),
        "query": options["query"],
        "skipped": dict(skipped),
    }
    return _Answered(Gold.joined(golds), numbers, distances, read.hexdigest(), skipped, about)


def answer_chunk(
    encoder, items: Sequence, *, scheme: str, subtypes: str, as_published: bool, **options
) -> dict:
    """What every head answers for every word of some sentences, what the treebank says of them, and why the others were not read."""
    obstacles = [check_reading(encoder, sentence.words).obstacle for sentence in items]
    usable = [sentence for sentence, obstacle in zip(items, obstacles) if not obstacle]
    chunk = {"skipped": dict(Counter(filter(None, obstacles)))}
    if not usable:
        return chunk
    trees = in_scheme(usable, scheme, subtypes=subtypes)
    return chunk | {
        "gold": gold_cases(trees, poss_rule(scheme, as_published)),
        "documents": document_keys(sentence.doc_id for sentence in usable),
        "distances": collect_answers(encoder, usable, **options).distances,
        "read": digest_of(sentence.words for sentence in usable),
    }
