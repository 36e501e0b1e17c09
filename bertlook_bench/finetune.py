"""``bertlook finetune``: teach a model a task, several times, beside majority, bag of words and its random twin."""

from argparse import ArgumentParser, Namespace
from contextlib import ExitStack

from bertlook_course.analyses.finetuning import report
from bertlook_course.corpora import OVERLAP, SHIPPED, load_task, read_glue
from bertlook_course.metrics import METRICS
from bertlook_course.storage import digest_of

from .driver import Command, Data, Given


class Examples(Data):
    """A task by its name or folder, or files in the form of GLUE's."""

    def add(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("--task", metavar="NAME", help=f"{', '.join(SHIPPED)}, or a folder of the same form")
        train = "in place of --task: GLUE's files, .jsonl or .tsv, .gz too; with --dev"
        add("--train", metavar="FILE", help=train)
        dev = "the file to choose the epoch on; without --test it is the file to report on, and the choice is made on a tenth of --train"
        add("--dev", metavar="FILE", help=dev)
        add("--test", metavar="FILE", help="the file to report on, with labels")
        metric = "how answers are scored (default: matthews for CoLA, spearman for numbers, else accuracy)"
        add("--metric", choices=METRICS, help=metric)
        overlap = (
            "when an example is in two files: refuse to start, or drop the earlier one (default: refuse)"
        )
        add("--overlap", choices=OVERLAP, default="refuse", help=overlap)
        limit = "train on N examples only, drawn at random (the same for every seed)"
        add("--limit", type=int, metavar="N", help=limit)

    def check(self, args: Namespace) -> None:
        if bool(args.task) == bool(args.train):
            raise ValueError("give either --task NAME, or --train FILE with --dev FILE.")
        unused = [name for name in ("dev", "test", "metric", "limit") if getattr(args, name) is not None]
        if args.task and unused:
            raise ValueError(f"--{unused[0]} goes with --train; a task's folder brings its own.")
        if args.train and not args.dev:
            raise ValueError("--train needs --dev FILE beside it.")

    def read(self, args: Namespace, stack: ExitStack) -> Given:
        how = {"metric": args.metric, "overlap": args.overlap, "limit": args.limit}
        task = load_task(args.task) if args.task else read_glue(args.train, args.dev, args.test, **how)
        examples = [task.labels, task.metric, *task.train, *task.dev, *task.test]
        return Given((task,), same=lambda: {"examples_sha256": digest_of(examples)})


COMMAND = Command(
    "finetune",
    report,
    Examples(),
    "finetune",
    "finetune --task sentiment --out result",
    resumes=True,
    notes="Each classifier is saved too (seed-0, seed-1, ...). A run that was stopped continues after its last complete epoch when the same command is given again.",
)
