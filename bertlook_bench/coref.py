"""``bertlook coref``: antecedents found by heads and by rules, on any text with mentions or pronoun pairs."""

import json
from argparse import ArgumentParser, Namespace
from contextlib import ExitStack
from pathlib import Path

from bertlook_course.analyses.coreference import report
from bertlook_course.corpora import is_gap_table, iter_coreference, open_text, read_pronoun_cases
from bertlook_course.storage import checksum
from bertlook_teach.disk import data_path

from . import common
from .driver import Command, Corpus, Data, Given


class Mentions(Data):
    """One file of documents with mentions, or of pronoun pairs."""

    def add(self, parser: ArgumentParser) -> None:
        common.add_data(parser, "mentions or pronoun pairs, .gz too (default: the shipped treebank)")
        common.add_on_error(parser)
        common.add_limit(parser, "documents or pairs")

    def read(self, args: Namespace, stack: ExitStack) -> Given:
        [path, *more] = common.files_of([args.data or data_path("treebank", "treebank.conllu")], stack)
        if more:
            raise ValueError(f"{args.data} is a folder of {len(more) + 1} files; --data takes one file.")
        about, lines = {"data": path.name}, []
        if _has_pronoun_pairs(path):
            items, neither = read_pronoun_cases(path, limit=args.limit)
            about["n_left_out_as_neither_is_right"] = neither
            lines += [f"left out as neither is right: {neither}"] if neither else []
        else:

            def documents(broken: list):
                return iter_coreference(path, limit=args.limit, on_error=args.on_error, skipped=broken)

            items = Corpus(documents)
            common.say_skipped(items.broken)
            about["n_broken"] = len(items.broken)
            lines += [f"broken: {len(items.broken)}"] if items.broken else []
        same = {"corpus_sha256": checksum([path]), "limit": args.limit, "on_error": args.on_error}
        return Given((items,), about, lambda: same, lines=lines)


def _has_pronoun_pairs(path: Path) -> bool:
    """Whether a file holds pronoun pairs: GAP's table, or JSONL whose first object has a text and a pronoun."""
    if is_gap_table(path):
        return True
    if not path.name.removesuffix(".gz").endswith((".jsonl", ".json")):
        return False
    with open_text(path) as file:
        try:
            first = json.loads(next((line for line in file if line.strip()), "{}"))
        except ValueError:
            return False  # the reader will say what is wrong and where
    return isinstance(first, dict) and "pronoun" in first and "text" in first


COMMAND = Command(
    "coref",
    report,
    Mentions({"limit": 1}),
    "coref",
    "coref --data gum.conllu --out result",
    notes="FILE is CoNLL-U with Entity=(e1-person-2 ... e1) in the last column, as in GUM; or JSONL with doc_id, tokens, sentences "
    "[[0, 7], ...] and mentions [{span: [0, 3], cluster: 1}, ...]; or JSONL of pronoun pairs as in GAP, Winogender and WinoBias.",
    scale=True,
)
