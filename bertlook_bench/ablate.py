"""``bertlook ablate``: every head switched off in turn, with an interval, n and a p-value corrected for the number of heads."""

from argparse import ArgumentParser, Namespace
from contextlib import ExitStack
from pathlib import Path

from bertlook_course.analyses.ablation import MaskedLM, report
from bertlook_course.corpora import load_task, read_examples, read_texts
from bertlook_course.storage import digest_of
from bertlook_teach.model import load_encoder

from . import common
from .driver import Command, Data, Given


class Scored(Data):
    """A classifier and labelled examples, or an encoder and texts whose words are masked."""

    def add_model(self, parser: ArgumentParser, recorded: bool) -> None:
        encoders = "with --masked-lm specimen, specimen-random, a hub name or a folder"
        common.add_model(parser, f"a classifier's folder; {encoders} (default: specimen)")

    def add(self, parser: ArgumentParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        task = "score a classifier on the test examples of this task: its name, or its folder"
        what.add_argument("--task", metavar="NAME", help=task)
        test = "score a classifier on these labelled examples, .jsonl or .tsv (.gz too)"
        what.add_argument("--test", metavar="FILE", help=test)
        masked = "score an encoder on masked words of these texts, one per line"
        what.add_argument("--masked-lm", metavar="FILE", nargs="+", help=masked)
        train = "with --test: examples on which importance ranks the heads, needed for --curve"
        parser.add_argument("--train", metavar="FILE", help=train)
        common.add_limit(parser, "examples of each file")

    def check(self, args: Namespace) -> None:
        if args.train and not args.test:
            raise ValueError(
                "--train goes with --test; a task brings its own training examples, and texts are halved."
            )

    def read(self, args: Namespace, stack: ExitStack) -> Given:
        model, test, train, source = _masked(args, stack) if args.masked_lm else _classified(args)
        same = {"scored_on": source, "batch_size": args.batch_size, "seed": args.seed}
        return Given(
            (test, train, source),
            same=lambda: {**same, "examples_sha256": digest_of(test)},
            model=model,
            kind="masked" if args.masked_lm else "classifier",
        )


def _masked(args: Namespace, stack: ExitStack) -> tuple:
    """A scorer on masked words; every second text ranks, the others are scored when a curve is asked for."""
    files = common.files_of(args.masked_lm, stack)
    texts = [text for path in files for text in read_texts(path)][: args.limit]
    needed = 8 if args.curve else 4
    if len(texts) < needed:
        raise ValueError(
            f"{', '.join(args.masked_lm)}: {len(texts)} texts (one on each line); at least {needed} are needed, since they are divided into halves."
        )
    scorer, names = MaskedLM(load_encoder(args.model, device=args.device)), ", ".join(p.name for p in files)
    test, train = (texts[1::2], texts[::2]) if args.curve else (texts, ())
    every = ", every second" if args.curve else ""
    return scorer, test, train, f"masked words of {len(test)} texts ({names}{every})"


def _classified(args: Namespace) -> tuple:
    from bertlook_course.analyses.finetuning import load_classifier

    if args.model in ("specimen", "specimen-random"):
        raise ValueError(
            f"{args.model} is an encoder and answers no task; give --model FOLDER of a fine-tuned classifier, or --masked-lm FILE."
        )
    if args.task:
        task = load_task(args.task)
        train, test, source = task.train, task.test, f"the test examples of {task.name}"
    else:
        test, source = read_examples(args.test), Path(args.test).name
        train = read_examples(args.train) if args.train else ()
    classifier = load_classifier(args.model, device=args.device)
    return classifier, list(test)[: args.limit], list(train)[: args.limit], source


COMMAND = Command(
    "ablate",
    report,
    Scored({"limit": (4, "four examples, two for each half")}),
    "ablate",
    "ablate --masked-lm my.txt --out result",
    scale=True,
    notes="With --curve it writes ablate_curve.csv and ablate_curve.json too.",
)
