"""``bertlook profile``: measure every head over a corpus."""

import sys
from argparse import ArgumentParser, Namespace
from contextlib import ExitStack
from functools import partial

from bertlook_course.analyses.anatomy import report
from bertlook_course.corpora import iter_pairs, iter_texts
from bertlook_course.storage import checksum
from bertlook_teach.disk import data_path

from . import common
from .driver import Command, Corpus, Data, Given


class Texts(Data):
    """Texts or pairs of files; of a recording what was recorded, if none are named."""

    def add(self, parser: ArgumentParser) -> None:
        common.add_texts(parser.add_mutually_exclusive_group(), nargs="+")

    def read(self, args: Namespace, stack: ExitStack) -> Given:
        if args.model.startswith(common.RECORDED) and not (args.texts or args.pairs):
            return self._recorded(args)
        paths = common.files_of(args.texts or args.pairs or [data_path("texts", "paragraphs.txt")], stack)
        read = partial(iter_texts if args.texts else iter_pairs, on_error=args.on_error)
        texts = Corpus(lambda broken: (text for path in paths for text in read(path)))
        same = {"corpus_sha256": checksum(paths)}
        return Given((texts,), {**same, "corpus": ", ".join(path.name for path in paths)}, lambda: same)

    def _recorded(self, args: Namespace) -> Given:
        recording = self.load(args, recorded=True)
        pairs = sum(isinstance(text, tuple) for text in recording.texts)
        print(
            f"{recording.badge}: {len(recording) - pairs} single texts and {pairs} pairs. Examples are not a sample of texts: an interval speaks of inputs "
            "like these. No random twin stands beside them.",
            file=sys.stderr,
        )
        same = {"corpus_sha256": recording.fingerprint}
        return Given((recording.texts,), {**same, "corpus": recording.badge}, lambda: same, model=recording)


COMMAND = Command(
    "profile",
    report,
    Texts(),
    "profile",
    "profile --model bert-base-uncased --texts my.txt --out result",
    notes="With a recording (--model recorded:NAME) the corpus is what was recorded; --texts or --pairs choose from it.\n\n"
    "A corpus is a file, .gz too, several files, a folder of files, or - for standard input. "
    "A run that was stopped, by Ctrl-C or by force, continues when it is started again with the same --out.",
    recorded=True,
    scale=True,
)
