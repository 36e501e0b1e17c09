"""``bertlook pattern``: a line of the pattern language, scored for every head on any treebank or text."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from bertlook_course.analyses.patterns import CONDITIONS, PAIRS, parse_pattern, report
from bertlook_course.corpora import iter_conllu, iter_pairs, iter_texts
from bertlook_course.storage import writable_folder
from bertlook_teach.disk import data_path

from . import common
from .driver import Command, Corpus, Data, Given

_READERS = {"data": iter_conllu, "texts": iter_texts, "pairs": iter_pairs}

_SHIPPED = {"data": ("treebank", "treebank.conllu"), "pairs": ("texts", "paragraphs.txt")}


class Asked(Data):
    """A pattern, and a treebank, texts or pairs; of a recording what was recorded, if none are named."""

    def add(self, parser: ArgumentParser) -> None:
        parser.add_argument("pattern", metavar="PATTERN", help="in quotes; see below")
        corpus = parser.add_mutually_exclusive_group()
        default = "(default: the shipped treebank; for a pattern about two segments the shipped pairs)"
        common.add_data(corpus, f"a treebank in CoNLL-U, .gz too {default}", nargs="+")
        common.add_texts(corpus, nargs="+")
        common.add_on_error(parser)
        common.add_limit(parser, "texts")

    def check(self, args: Namespace) -> None:
        parse_pattern(args.pattern)
        args.cache = None if args.cache is None else writable_folder(args.cache)

    def read(self, args: Namespace, stack: ExitStack) -> Given:
        pattern = parse_pattern(args.pattern)
        kind = next((kind for kind in _READERS if getattr(args, kind)), None)
        recording = self.load(args, recorded=True) if args.model.startswith(common.RECORDED) else None
        if recording is not None and kind is None:  # what it was recorded on
            wanted, files = tuple if PAIRS in pattern.needs else str, recording.badge
            corpus = Corpus(lambda broken: (t for t in recording.texts if isinstance(t, wanted)), args.limit)
        else:
            given = getattr(args, kind) if kind else None
            kind = kind or ("pairs" if PAIRS in pattern.needs else "data")
            paths = common.files_of(given or [data_path(*_SHIPPED[kind])], stack)
            files = [path.name for path in paths]
            corpus = Corpus(partial(_items, kind, paths, args.on_error), args.limit)
        common.say_skipped(corpus.broken, "broken texts")
        about = {"files": files, "broken": list(map(str, corpus.broken))}
        return Given((corpus, args.pattern), about, lambda: {"corpus_sha256": corpus.digest}, recording)


def _items(kind: str, paths: Sequence[Path], on_error: str, broken: list) -> Iterator:
    """The texts of some files; those that nobody can read are named in ``broken`` instead, where that is asked for."""
    found = False
    for path in paths:
        if kind == "data":
            yield from iter_conllu(path, on_error=on_error, skipped=broken)
            continue
        for number, item in enumerate(_READERS[kind](path, on_error=on_error), 1):
            if _is_whole(item):
                found = True
                yield item
            else:
                broken.append(f"{path}: text {number} is not UTF-8, or no pair")
    if kind != "data" and not found:
        raise ValueError(f"none of the {len(broken)} texts can be read; the first: {broken[0]}.")


def _is_whole(item: str | tuple[str, str]) -> bool:
    parts = (item,) if isinstance(item, str) else item
    try:
        return (isinstance(item, str) or len(item) == 2) and all(part.strip().encode() for part in parts)
    except UnicodeEncodeError:  # a byte that is not a character
        return False


COMMAND = Command(
    "pattern",
    report,
    Asked({"limit": (2, "two texts, one to choose on and one to score on")}),
    "pattern pattern_heads",
    "pattern \"query.pos('DET') & key.governor()\" --out result",
    notes="A pattern is made of conditions of query and key, put together with & | ~, for example: "
    "query.pos('DET') & key.governor(); key.next(','); ~query.word('the', 'a') & key.offset(-1). "
    f"Conditions: {', '.join(sorted(CONDITIONS))}; docs/patterns.md explains them.",
    recorded=True,
    scale=True,
    metavar={"cache": "DIR"},
)
