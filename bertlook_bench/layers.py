"""``bertlook layers``: what each layer of a model knows, beside lists of words, a random twin and made-up labels."""

from argparse import ArgumentParser, Namespace
from contextlib import ExitStack
from pathlib import Path

from bertlook_course.analyses.probing import report_layers
from bertlook_course.corpora import (
    TASKS,
    EdgeSentence,
    halves_by_document,
    iter_conllu,
    n_questions,
    read_edges,
    treebank_edges,
)
from bertlook_teach.disk import data_path

from . import common
from .driver import Command, Data, Given


class Questions(Data):
    """Questions of a task, to fit on and to score."""

    def add(self, parser: ArgumentParser) -> None:
        what = "word classes, relations, kinds of entity, or coreference"
        parser.add_argument("--task", choices=tuple(TASKS), required=True, help=what)
        common.add_data(
            parser,
            "to fit on: CoNLL-U (with Entity= for entity and coref), or JSON lines with tokens and targets; "
            ".gz too (default: every second document of the shipped treebank)",
        )
        test = "to score on (default: every second document of --data, which is not fitted on)"
        parser.add_argument("--test", metavar="FILE", help=test)
        common.add_limit(parser, "sentences of each file")

    def check(self, args: Namespace) -> None:
        if args.test and not args.data:
            raise ValueError("--test needs --data: what is scored must not be what was fitted on.")

    def read(self, args: Namespace, stack: ExitStack) -> Given:
        train = _read(args.data or data_path("treebank", "treebank.conllu"), args)
        halves = (train, _read(args.test, args)) if args.test else halves_by_document(train)
        if not all(map(n_questions, halves)):
            raise ValueError(
                f"both halves need questions; got {n_questions(halves[0])} to fit on and {n_questions(halves[1])} to score. Is --limit too small?"
            )
        about = {
            "train": Path(args.data).name if args.data else "treebank.conllu, every second document",
            "test": Path(args.test).name if args.test else "every second document",
        }
        return Given((*halves, args.task), about)


def _read(path, args: Namespace) -> list[EdgeSentence]:
    name = Path(path).name.removesuffix(".gz")
    if name.endswith((".jsonl", ".json")):
        return read_edges(path, limit=args.limit)
    return treebank_edges(common.first(iter_conllu(path), args.limit), args.task)


COMMAND = Command(
    "layers",
    report_layers,
    Questions({"limit": 2}),
    "layers",
    "layers --task dep --data my.conllu --out result",
    twin="the random twin and the made-up labels",
    notes="--mix adds the mixes of Tenney et al. (2019).",
)
