"""Antecedents found by the best head and by plain rules, in documents or pronoun pairs of any number."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import Literal

import numpy as np

from bertlook_teach.model import check_reading

from ...corpora import KINDS, CorefDocument, PronounCase, anaphors, by_first, cut_documents, document_keys
from ...metrics import Packed
from ...storage import IN_PLACE, Report, Work, about, at_least, attributes, interval, tabulate
from .antecedents import Antecedents, antecedent_table, find_antecedents
from .pronouns import ask_heads, pronoun_table

DOCUMENTS = 8  # in a chunk

CASES = 256  # pronoun pairs in a chunk


@at_least(max_tokens=(3, "3, for a wordpiece between [CLS] and [SEP]"))
def report(
    encoder,
    items: Collection[CorefDocument] | Collection[PronounCase],
    *,
    twin=None,
    candidates: Literal["mentions", "open"] = "mentions",
    first_only: bool = False,
    max_tokens: int | None = None,
    batch_size: int = 8,
    work: Work = IN_PLACE,
) -> Report:
    """How often does the best head find the antecedent of a mention, and how often do plain rules?

    The head is chosen on one half of the documents and scored on the other, both ways; intervals are 95 %
    over documents; the randomly initialised twin gets the same chance.

    Parameters
    ----------
    encoder, twin : encoder
    items : list of CorefDocument or of PronounCase, or what can be read again and again
    candidates : {"mentions", "open"}
        mentions: a head chooses among earlier mentions, as the rules do; open: among all words.
    first_only : bool
        Use only the beginning of each document, as much as fits the model, as Clark et al. did.
    max_tokens : int, optional
        Longest run of sentences, in wordpieces, so that models with different limits can be compared; by default the model's limit.
    batch_size, work
        As of every report; see `bertlook_course.storage.Report`.

    Returns
    -------
    Report
        With one table, ``coref``: a row for each predictor, on all mentions and by kind.

    Raises
    ------
    ValueError
        If nothing can be read, or halves cannot be made.
    """
    pronouns = isinstance(next(iter(items), None), PronounCase)
    rows = []
    for model in [encoder] if twin is None else [encoder, twin]:
        if pronouns:
            table, left_out = _pronoun_pairs(work, model, items, batch_size)
        else:
            parts = {"first_only": first_only, "max_tokens": max_tokens}
            found = _antecedents(work, model, items, candidates, **parts, batch_size=batch_size)
            table = antecedent_table(found, candidates=candidates)
            left_out = {"n_sentences_the_model_cannot_read": found.n_skipped}
        rows += [{"model": model.name, **asdict(row)} for row in table if model is encoder or row.heads]
    said = {"kind": "pronoun pairs", "n_cases": len(items)}
    if not pronouns:
        said = {"kind": "documents", "candidates": candidates, **parts}
        said["n_documents"] = len(items)
    said |= left_out
    table = tabulate(
        rows,
        {
            "model": "model",
            "predictor": "predictor",
            "of": lambda row: row.get("kind") or row.get("group") or "all",
            "n": "n",
            "accuracy [95 %]": interval(value="accuracy"),
            "head chosen on one half / the other": lambda row: " / ".join(row["heads"]),
        },
    )
    counts = [
        f"{key.removeprefix('n_').replace('_', ' ')}: {value}"
        for key, value in said.items()
        if key.startswith("n_") and value
    ]
    return Report("\n".join([table, *counts]), {"coref": rows}, about(encoder, said))


def _pronoun_pairs(work: Work, encoder, cases: Collection[PronounCase], batch_size: int) -> tuple:
    """The table, and how many texts the model cannot read."""
    right, read = [], []
    done = work.chunks(pronoun_chunk, encoder, cases, size=CASES, total=len(cases), batch_size=batch_size)
    for number, chunk in enumerate(done):
        right += [chunk["right"]] if chunk["places"] else []
        read += [cases[number * CASES + place] for place in chunk["places"]]
    if not read:
        ask_heads(encoder, cases)  # which says why
    return pronoun_table(np.concatenate(right), read), {
        "n_texts_the_model_cannot_read": len(cases) - len(read)
    }


def pronoun_chunk(encoder, items: Sequence, *, batch_size: int) -> dict:
    """Whether each head answers each case rightly, and which cases the model can read."""
    places = [i for i, case in enumerate(items) if not check_reading(encoder, case.words).obstacle]
    if not places:
        return {"places": []}
    right, _ = ask_heads(encoder, [items[i] for i in places], batch_size=batch_size)
    return {"places": places, "right": right}


def _antecedents(
    work: Work, encoder, documents: Collection[CorefDocument], candidates: str, **options
) -> Antecedents:
    """As `find_antecedents` gives them for all documents, from chunks; of an answer one bit is kept, of a document nothing but a number."""
    heads, kinds, where, rules, unread = Packed(), [], [], {}, 0
    done = work.chunks(document_chunk, encoder, documents, size=DOCUMENTS, total=len(documents), **options)
    for chunk in done:
        unread += chunk["n_skipped"]
        if "kinds" in chunk:
            heads.add(chunk["heads"][candidates])
            for name, right in chunk["rules"].items():
                rules.setdefault(name, []).append(right)
            kinds.append(np.array([KINDS.index(kind) for kind in chunk["kinds"]], np.uint8))
            where.append(chunk["names"][chunk["documents"]])
    if not where:
        return find_antecedents(encoder, list(documents), **options)  # which says why
    return Antecedents(
        {candidates: heads},
        {name: np.concatenate(parts) for name, parts in rules.items()},
        np.array(KINDS, dtype=object)[np.concatenate(kinds)],
        by_first(np.concatenate(where)),
        len(documents),
        unread,
    )


def document_chunk(encoder, items: Sequence, **options) -> dict:
    """The answers for every anaphor of some documents, and eight bytes for each document's id; only what cannot be read, where no mention refers back."""
    parts, unread = cut_documents(
        encoder, items, first_only=options["first_only"], max_tokens=options["max_tokens"]
    )
    if not any(map(anaphors, parts)):
        return {"n_skipped": unread}
    found = find_antecedents(encoder, items, **options)
    ids = dict.fromkeys(document.doc_id for document in items)
    return {
        **attributes(found, "heads rules kinds documents n_skipped"),
        "names": document_keys(ids),
    }
