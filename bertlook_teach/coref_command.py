"""``bertlook coref``: antecedents found by heads and by rules, on any text with mentions or pronoun pairs."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from dataclasses import asdict
from functools import partial
from pathlib import Path

from . import __version__
from .coreference import CANDIDATES, antecedent_table, find_antecedents, read_coreference
from .corpora import ON_ERROR, open_text
from .profile import writable_folder
from .pronouns import ask_heads, pronoun_table, read_pronoun_cases
from .report import align, save_rows, with_interval

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``bertlook coref``."""
    parser.description = (
        "How often does the best head find the antecedent of a mention, and how often do plain rules? The head is chosen on one half "
        "of the documents and scored on the other, both ways; intervals are 95 % over documents; the randomly "
        "initialised twin gets the same chance. Writes coref.csv and coref.json."
    )
    parser.epilog = (
        "FILE is CoNLL-U with Entity=(e1-person-2 ... e1) in the last column, as in GUM; or JSONL with doc_id, tokens, sentences "
        "[[0, 7], ...] and mentions [{span: [0, 3], cluster: 1}, ...]; or JSONL of pronoun pairs as in GAP, Winogender and WinoBias."
    )
    add = parser.add_argument
    add(
        "--model",
        default="specimen",
        help="specimen, specimen-random, a hub name or a folder (default: specimen)",
    )
    add("--data", metavar="FILE", help="mentions or pronoun pairs, .gz too (default: the shipped treebank)")
    add("--out", metavar="DIR", required=True, help="folder for the result")
    add(
        "--candidates",
        choices=CANDIDATES,
        default="mentions",
        help="mentions: a head chooses among earlier mentions, as the rules do; open: among all words (default: mentions)",
    )
    add(
        "--first-only",
        action="store_true",
        help="only the beginning of each document that fits the model, as Clark et al. did",
    )
    add(
        "--on-error",
        choices=ON_ERROR,
        default="stop",
        help="a broken sentence or line: stop and say where, or skip and count it (default: stop)",
    )
    add("--limit", type=int, metavar="N", help="use only the first N documents or pairs")
    add("--no-twin", action="store_true", help="leave out the randomly initialised twin")
    add("--batch-size", type=int, default=8, metavar="N")
    add("--device", default="auto", help="auto, cpu, cuda, mps (default: auto)")
    add("--quiet", action="store_true", help="no progress bar")


def run(args: argparse.Namespace) -> int:
    """``bertlook coref``: returns the exit code."""
    from tqdm import tqdm

    from ._paths import data_path
    from .encoder import load_encoder, random_twin

    if args.limit is not None and args.limit < 1:
        raise ValueError(f"--limit is the number of documents to use, at least 1; got {args.limit}.")
    folder = writable_folder(args.out)
    path = Path(args.data or data_path("treebank", "treebank.conllu"))
    score, about = (_pronoun_pairs if _has_pronoun_pairs(path) else _documents)(args, path)
    encoder = load_encoder(args.model, device=args.device)
    rows = []
    for model in [encoder] if args.no_twin else [encoder, random_twin(encoder)]:
        bar = partial(tqdm, desc=model.name, unit="text", disable=args.quiet, file=sys.stderr)
        table, left_out = score(model, bar)
        is_twin = model is not encoder
        rows += [{"model": model.name, **asdict(row)} for row in table if not is_twin or row.heads]
        about.update(left_out)
    about.update(model=encoder.name, fingerprint=encoder.fingerprint, data=path.name, version=__version__)
    print(_format(rows))
    for key, value in about.items():
        if key.startswith("n_") and value:
            print(f"{key.removeprefix('n_').replace('_', ' ')}: {value}")
    print(save_rows(folder, "coref", rows, about))
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
    skipped: list[str] = []
    documents = read_coreference(path, limit=args.limit, on_error=args.on_error, skipped=skipped)
    for message in skipped[:10]:
        print(f"left out: {message}", file=sys.stderr)

    def score(model, bar: Iterable):
        found = find_antecedents(
            model, documents, first_only=args.first_only, batch_size=args.batch_size, progress=bar
        )
        return antecedent_table(found, candidates=args.candidates), {
            "n_sentences_the_model_cannot_read": found.n_unread
        }

    about = {"kind": "documents", "candidates": args.candidates, "first_only": args.first_only}
    return score, {**about, "n_documents": len(documents), "n_broken": len(skipped)}


def _pronoun_pairs(args, path):
    cases, neither = read_pronoun_cases(path, limit=args.limit)

    def score(model, bar: Iterable):
        right, read = ask_heads(model, cases, batch_size=args.batch_size, progress=bar)
        return pronoun_table(right, read), {"n_texts_the_model_cannot_read": len(cases) - len(read)}

    return score, {
        "kind": "pronoun pairs",
        "n_cases": len(cases),
        "n_left_out_as_neither_is_right": neither,
    }


def _format(rows: list[dict]) -> str:
    lines = [["model", "predictor", "of", "n", "accuracy [95 %]", "head chosen on one half / the other"]]
    for row in rows:
        accuracy = with_interval(row["accuracy"], row["low"], row["high"])
        of = row.get("kind") or row.get("group") or "all"
        lines.append([row["model"], row["predictor"], of, str(row["n"]), accuracy, " / ".join(row["heads"])])
    return align(lines)
