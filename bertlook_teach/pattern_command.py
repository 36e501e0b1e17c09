"""``bertlook pattern``: a line of the pattern language, scored for every head on any treebank or text."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

from .claims import CannotDecide
from .corpora import TreebankSentence, iter_conllu, iter_pairs, iter_texts
from .pattern_conditions import CONDITIONS, PAIRS, Reading
from .pattern_language import Pattern, parse_pattern
from .pattern_scores import ANSWERS, PatternScore, check_corpus, score_pattern
from .profile import writable_folder
from .report import save_rows
from .word_maps import word_maps
from .words import QUERY_RULES

__all__ = ["add_arguments", "run", "save_score"]

_READERS = {"treebank": iter_conllu, "texts": iter_texts, "pairs": iter_pairs}
_SHIPPED = {"treebank": ("treebank", "treebank.conllu"), "pairs": ("texts", "paragraphs.txt")}


def save_score(score: PatternScore, folder: str | Path) -> str:
    """Write ``pattern.csv`` and ``.json`` (accuracy and mass of the best head), ``pattern_heads`` (of every head)."""
    rows = [vars(row) for row in score.rows]
    saved = save_rows(folder, "pattern", rows, score.about)
    return f"{saved}\n{save_rows(folder, 'pattern_heads', score.head_rows(), score.about)}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``bertlook pattern``."""
    parser.description = (
        "Which heads look where a pattern says? For every head the share of cases in which it looks most at a key that the pattern "
        "allows, and the attention such keys get. The best head is chosen on one half of the texts and scored on the other, both ways, "
        "beside the best fixed rule, chance and the randomly initialised twin. Writes pattern.csv, pattern_heads.csv and a .json of each."
    )
    parser.epilog = (
        "A pattern is made of conditions of query and key, put together with & | ~, for example: "
        "query.pos('DET') & key.governor(); key.next(','); ~query.word('the', 'a') & key.offset(-1). "
        f"Conditions: {', '.join(sorted(CONDITIONS))}; docs/patterns.md says what they ask."
    )
    add = parser.add_argument
    add("pattern", metavar="PATTERN", help="in quotes; see below")
    add(
        "--model",
        default="specimen",
        help="specimen, specimen-random, a hub name or a folder (default: specimen)",
    )
    corpus = parser.add_mutually_exclusive_group()
    corpus.add_argument(
        "--treebank", metavar="FILE", nargs="+",
        help="CoNLL-U, .gz too (default: the shipped treebank; for a pattern about two segments the shipped pairs)",
    )  # fmt: skip
    corpus.add_argument("--texts", metavar="FILE", nargs="+", help="plain texts, one a line")
    corpus.add_argument("--pairs", metavar="FILE", nargs="+", help="pairs of texts, two lines a pair")
    add("--out", metavar="DIR", required=True, help="folder for the result")
    add(
        "--answers",
        choices=ANSWERS,
        help="among what a head answers: words besides the query, or anything (default: words, unless the pattern asks for more)",
    )
    add(
        "--query",
        choices=QUERY_RULES,
        default="mean",
        help="row of a word of several pieces (default: mean)",
    )
    add("--cache", metavar="DIR", help="keep the maps there, for the next pattern on the same texts")
    add("--limit", type=int, metavar="N", help="use only the first N texts")
    add("--no-twin", action="store_true", help="leave out the randomly initialised twin")
    add("--batch-size", type=int, default=32, metavar="N")
    add("--device", default="auto", help="auto, cpu, cuda, mps (default: auto)")
    add("--quiet", action="store_true", help="no progress bar")


def run(args: argparse.Namespace) -> int:
    """``bertlook pattern``: returns the exit code."""
    from tqdm import tqdm

    from .encoder import load_encoder, random_twin

    pattern = parse_pattern(args.pattern)
    if args.limit is not None and args.limit < 2:
        raise ValueError(
            f"--limit needs at least two texts, one to choose on and one to score on; got {args.limit}."
        )
    folder = writable_folder(args.out)
    cache = None if args.cache is None else writable_folder(args.cache)
    kind, paths = _corpus(args, pattern)
    corpus = list(islice((item for path in paths for item in _READERS[kind](path)), args.limit))
    check_corpus(pattern, _preview(corpus))  # before a minute is spent on maps
    encoder = load_encoder(args.model, device=args.device)

    def maps_of(model):
        def bar(stream: Iterable) -> Iterable:
            return tqdm(
                stream, desc=model.name, total=len(corpus), unit="text", disable=args.quiet, file=sys.stderr
            )

        return word_maps(
            model, corpus, query=args.query, batch_size=args.batch_size, cache=cache, progress=bar
        )

    maps = maps_of(encoder)
    try:
        score = score_pattern(
            pattern, maps, None if args.no_twin else maps_of(random_twin(encoder)), answers=args.answers
        )
    except CannotDecide as reason:
        raise ValueError(f"cannot be decided: {reason}.") from None
    score.about["files"] = [path.name for path in paths]
    print(score.table())
    for measure in ("accuracy", "mass"):
        print(score.sentence(measure))
    for reason, n in maps.skipped.items():
        print(f"{n} of {len(corpus)} texts: {reason} ({encoder.max_tokens} wordpieces).")
    print(save_score(score, folder))
    return 0


def _corpus(args, pattern: Pattern) -> tuple[str, list[Path]]:
    from ._paths import data_path

    for kind in _READERS:
        if given := getattr(args, kind):
            return kind, [Path(path) for path in given]
    kind = "pairs" if PAIRS in pattern.needs else "treebank"
    return kind, [data_path(*_SHIPPED[kind])]


def _preview(corpus: Sequence) -> list[Reading]:
    """The texts as far as they can be known without a model."""
    readings = []
    for item in corpus:
        if isinstance(item, TreebankSentence):
            readings.append(Reading.of(item))
            continue
        parts = item if isinstance(item, tuple) else (item,)
        found = [(word, segment) for segment, part in enumerate(parts) for word in part.split()]
        words, segments = zip(*found)
        readings.append(Reading(words, (False,) * len(words), segments, tuple((word,) for word in words)))
    return readings
