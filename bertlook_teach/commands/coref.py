"""``bertlook coref``: antecedents found by heads and by rules, on any text with mentions or pronoun pairs."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np

from ..analyses.coreference import (
    CANDIDATES,
    Antecedents,
    antecedent_table,
    ask_heads,
    find_antecedents,
    pronoun_table,
)
from ..corpora import (
    KINDS,
    anaphors,
    by_first,
    cut_documents,
    document_keys,
    iter_coreference,
    open_text,
    read_pronoun_cases,
)
from ..disk import align, claim_folder, save_rows, with_interval
from ..model import check_reading
from ..stats import Packed
from . import chunks, common

DOCUMENTS = 8  # in a chunk


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``bertlook coref``."""
    common.describe(
        parser,
        "How often does the best head find the antecedent of a mention, and how often do plain rules? The head is chosen on one half "
        "of the documents and scored on the other, both ways; intervals are 95 % over documents; the randomly "
        "initialised twin gets the same chance. Writes coref.csv and coref.json.",
        "coref --data gum.conllu --out result",
        "FILE is CoNLL-U with Entity=(e1-person-2 ... e1) in the last column, as in GUM; or JSONL with doc_id, tokens, sentences "
        "[[0, 7], ...] and mentions [{span: [0, 3], cluster: 1}, ...]; or JSONL of pronoun pairs as in GAP, Winogender and WinoBias.",
    )
    common.add_model(parser)
    common.add_data(parser, "mentions or pronoun pairs, .gz too (default: the shipped treebank)")
    common.add_on_error(parser)
    common.add_limit(parser, "documents or pairs")
    common.add_out(parser)
    parser.add_argument(
        "--candidates",
        choices=CANDIDATES,
        default="mentions",
        help="mentions: a head chooses among earlier mentions, as the rules do; open: among all words (default: mentions)",
    )
    parser.add_argument(
        "--first-only",
        action="store_true",
        help="only the beginning of each document that fits the model, as Clark et al. did",
    )
    common.add_no_twin(parser)
    common.add_device(parser, batch_size=8)
    chunks.add_scale(parser)


def run(args: Namespace) -> int:
    """``bertlook coref``: returns the exit code."""
    from ..disk import data_path
    from ..model import load_encoder

    common.at_least(args, limit=1)
    folder = claim_folder(args.out)
    with ExitStack() as stack:
        [path, *more] = common.files_of([args.data or data_path("treebank", "treebank.conllu")], stack)
        if more:
            raise ValueError(f"{args.data} is a folder of {len(more) + 1} files; --data takes one file.")
        score, about = (_pronoun_pairs if _has_pronoun_pairs(path) else _documents)(args, path)
        encoder = load_encoder(args.model, device=args.device)
        models = common.with_twin(args, encoder)
        same = {
            "command": "coref",
            "fingerprints": [model.fingerprint for model in models],
            "corpus_sha256": chunks.checksum([path]),
            "kind": about["kind"],
            **{name: getattr(args, name) for name in ("limit", "on_error", "first_only")},
        }
        rows = []
        work = stack.enter_context(chunks.Run(args, folder, same))
        for model, named in zip(models, chunks.Model.each(args, models)):
            table, left_out = score(work, named)
            is_twin = model is not encoder
            rows += [{"model": model.name, **asdict(row)} for row in table if not is_twin or row.heads]
            about.update(left_out)
    about = common.about(encoder, {**about, "data": path.name})
    header = ["model", "predictor", "of", "n", "accuracy [95 %]", "head chosen on one half / the other"]
    lines = []
    for row in rows:
        accuracy = with_interval(row["accuracy"], row["low"], row["high"])
        of = row.get("kind") or row.get("group") or "all"
        lines.append([row["model"], row["predictor"], of, row["n"], accuracy, " / ".join(row["heads"])])
    print(align([header, *lines]))
    for key, value in about.items():
        if key.startswith("n_") and value:
            print(f"{key.removeprefix('n_').replace('_', ' ')}: {value}")
    print(save_rows(folder, "coref", rows, about))
    work.finished()
    return 0


def _has_pronoun_pairs(path: Path) -> bool:
    """Whether a file holds pronoun pairs: JSONL whose first object has a text and a pronoun."""
    if not path.name.removesuffix(".gz").endswith((".jsonl", ".json")):
        return False
    with open_text(path) as file:
        try:
            first = json.loads(next((line for line in file if line.strip()), "{}"))
        except ValueError:
            return False  # the reader will say what is wrong and where
    return isinstance(first, dict) and "pronoun" in first and "text" in first


def _documents(args, path):
    documents = partial(iter_coreference, path, limit=args.limit, on_error=args.on_error)
    skipped: list[str] = []
    total = sum(1 for _ in documents(skipped=skipped))  # says early what is wrong with a file
    common.say_skipped(skipped)

    def score(work: chunks.Run, model: chunks.Model):
        options = {"first_only": args.first_only, "batch_size": args.batch_size}
        found = _antecedents(work, model, documents, total, args.candidates, **options)
        return antecedent_table(found, candidates=args.candidates), {
            "n_sentences_the_model_cannot_read": found.n_skipped
        }

    about = {"kind": "documents", "candidates": args.candidates, "first_only": args.first_only}
    return score, about | {"n_documents": total, "n_broken": len(skipped)}


def _pronoun_pairs(args, path):
    cases, neither = read_pronoun_cases(path, limit=args.limit)

    def score(work: chunks.Run, model: chunks.Model):
        encoder = model.load()
        right, read = [], []
        done = work.results(
            pronoun_chunk, model, cases, total=len(cases), label=encoder.name, batch_size=args.batch_size
        )
        for number, chunk in enumerate(done):
            right += [chunk["right"]] if chunk["places"] else []
            read += [cases[number * chunks.CHUNK + place] for place in chunk["places"]]
        if not read:
            ask_heads(encoder, cases)  # which says why
        left_out = {"n_texts_the_model_cannot_read": len(cases) - len(read)}
        return pronoun_table(np.concatenate(right), read), left_out

    about = {"kind": "pronoun pairs", "n_cases": len(cases), "n_left_out_as_neither_is_right": neither}
    return score, about


def pronoun_chunk(encoder, items: Sequence, *, batch_size: int) -> dict:
    """Whether each head answers each case rightly, and which cases the model can read."""
    places = [i for i, case in enumerate(items) if not check_reading(encoder, case.words).obstacle]
    if not places:
        return {"places": []}
    right, _ = ask_heads(encoder, [items[i] for i in places], batch_size=batch_size)
    return {"places": places, "right": right}


def _antecedents(
    work: chunks.Run, model: chunks.Model, documents: Callable, total: int, candidates: str, **options
) -> Antecedents:
    """As `find_antecedents` gives them for all documents, from chunks; of an answer one bit is kept, of a document nothing but a number."""
    encoder = model.load()
    heads, kinds, where, rules, unread = Packed(), [], [], {}, 0
    done = work.results(
        document_chunk, model, documents(), total=total, label=encoder.name, size=DOCUMENTS, **options
    )
    for chunk in done:
        unread += chunk["n_skipped"]
        if "kinds" in chunk:
            heads.add(chunk["heads"][candidates])
            for name, right in chunk["rules"].items():
                rules.setdefault(name, []).append(right)
            kinds.append(np.array([KINDS.index(kind) for kind in chunk["kinds"]], np.uint8))
            where.append(chunk["names"][chunk["documents"]])
    if not where:
        return find_antecedents(encoder, list(documents()), **options)  # which says why
    return Antecedents(
        {candidates: heads},
        {name: np.concatenate(parts) for name, parts in rules.items()},
        np.array(KINDS, dtype=object)[np.concatenate(kinds)],
        by_first(np.concatenate(where)),
        total,
        unread,
    )


def document_chunk(encoder, items: Sequence, **options) -> dict:
    """The answers for every anaphor of some documents, and eight bytes for each document's id; only what cannot be read, where no mention refers back."""
    parts, unread = cut_documents(encoder, items, first_only=options["first_only"])
    if not any(map(anaphors, parts)):
        return {"n_skipped": unread}
    found = find_antecedents(encoder, items, **options)
    ids = dict.fromkeys(document.doc_id for document in items)
    return {
        **common.columns(found, "heads rules kinds documents n_skipped"),
        "names": document_keys(ids),
    }
