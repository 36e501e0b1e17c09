"""``bertlook coref``: antecedents found by heads and by rules, on any text with mentions or pronoun pairs."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from ..analyses.coreference import CANDIDATES, antecedent_table, ask_heads, find_antecedents, pronoun_table
from ..corpora import open_text, read_coreference, read_pronoun_cases
from ..disk import align, claim_folder, save_rows, with_interval
from . import common


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


def run(args: Namespace) -> int:
    """``bertlook coref``: returns the exit code."""
    from ..disk import data_path
    from ..model import load_encoder

    common.at_least(args, limit=1)
    folder = claim_folder(args.out)
    path = Path(args.data or data_path("treebank", "treebank.conllu"))
    score, about = (_pronoun_pairs if _has_pronoun_pairs(path) else _documents)(args, path)
    encoder = load_encoder(args.model, device=args.device)
    rows = []
    for model in common.with_twin(args, encoder):
        table, left_out = score(model, common.bar(args, model.name))
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
    common.say_skipped(skipped)

    def score(model, progress: Callable):
        found = find_antecedents(
            model, documents, first_only=args.first_only, batch_size=args.batch_size, progress=progress
        )
        return antecedent_table(found, candidates=args.candidates), {
            "n_sentences_the_model_cannot_read": found.n_skipped
        }

    about = {"kind": "documents", "candidates": args.candidates, "first_only": args.first_only}
    return score, {**about, "n_documents": len(documents), "n_broken": len(skipped)}


def _pronoun_pairs(args, path):
    cases, neither = read_pronoun_cases(path, limit=args.limit)

    def score(model, progress: Callable):
        right, read = ask_heads(model, cases, batch_size=args.batch_size, progress=progress)
        return pronoun_table(right, read), {"n_texts_the_model_cannot_read": len(cases) - len(read)}

    return score, {
        "kind": "pronoun pairs",
        "n_cases": len(cases),
        "n_left_out_as_neither_is_right": neither,
    }
