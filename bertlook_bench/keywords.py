"""``bertlook keywords``: which heads give key words more, what all heads say together, beside rules, a random twin and fine-tuning."""

from argparse import ArgumentParser, Namespace
from contextlib import ExitStack
from pathlib import Path

from bertlook_course.analyses.keywords import report
from bertlook_course.corpora import iter_keyphrases, load_keyphrases

from . import common
from .driver import Command, Data, Given


class Keyphrases(Data):
    """Texts with their key phrases."""

    def add(self, parser: ArgumentParser) -> None:
        common.add_data(
            parser, "JSON lines with id, text and keyphrases; .gz too (default: the shipped texts)"
        )
        common.add_limit(parser, "texts of the file")

    def read(self, args: Namespace, stack: ExitStack) -> Given:
        skipped: list = []
        stream = (
            iter_keyphrases(args.data, on_empty="skip", skipped=skipped) if args.data else load_keyphrases()
        )
        documents = common.first(stream, args.limit)
        about = {
            "data": Path(args.data).name if args.data else "the shipped texts",
            "texts without a phrase in the file": len(skipped),
        }
        lines = [f"{len(skipped)} texts were left out: they have no phrase in the file."] if skipped else []
        return Given((documents,), about, lines=lines)


COMMAND = Command(
    "keywords",
    report,
    Keyphrases({"limit": 4}),
    "keywords heads removal",
    "keywords --data my.jsonl --tune --out result",
)
