"""``bertlook negation``: do heads find the cue of a negation, before and after tuning on scopes, beside tuning on something else?"""

from argparse import ArgumentParser, Namespace
from contextlib import ExitStack
from pathlib import Path

from bertlook_course.analyses.negation import report
from bertlook_course.corpora import load_negation, read_negation

from . import common
from .driver import Command, Data, Given


class Negations(Data):
    """Sentences with their negations."""

    def add(self, parser: ArgumentParser) -> None:
        common.add_data(parser, "JSONL with words, negations and split (default: the shipped sentences)")

    def read(self, args: Namespace, stack: ExitStack) -> Given:
        return Given((read_negation(Path(args.data)) if args.data else load_negation(),))


COMMAND = Command(
    "negation",
    report,
    Negations(),
    "negation negation-heads",
    "negation --seeds 5 --save-models --out result",
    notes="With --save-models the tuned checkpoints are saved too, for bertlook compare.",
)
