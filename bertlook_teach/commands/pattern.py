"""``bertlook pattern``: a line of the pattern language, scored for every head on any treebank or text."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from ..analyses.patterns import (
    ANSWERS,
    CONDITIONS,
    PAIRS,
    Pattern,
    PatternScore,
    PatternText,
    check_corpus,
    parse_pattern,
    score_pattern,
    word_maps,
)
from ..corpora import TreebankSentence, iter_conllu, iter_pairs, iter_texts
from ..disk import claim_folder, save_rows, writable_folder
from ..model import QUERY_RULES
from ..stats import CannotDecide
from . import common

_READERS = {"data": iter_conllu, "texts": iter_texts, "pairs": iter_pairs}

_SHIPPED = {"data": ("treebank", "treebank.conllu"), "pairs": ("texts", "paragraphs.txt")}


def save_score(score: PatternScore, folder: str | Path) -> str:
    """Write ``pattern.csv`` and ``.json`` (accuracy and mass of the best head), ``pattern_heads`` (of every head)."""
    rows = [vars(row) for row in score.rows]
    saved = save_rows(folder, "pattern", rows, score.about)
    return f"{saved}\n{save_rows(folder, 'pattern_heads', score.head_rows(), score.about)}"


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``bertlook pattern``."""
    common.describe(
        parser,
        "Which heads look where a pattern says? For every head the share of cases in which it looks most at a key that the pattern "
        "allows, and the attention such keys get. The best head is chosen on one half of the documents and scored on the other, both ways, "
        "beside the best fixed rule, chance and the randomly initialised twin. Writes pattern.csv, pattern_heads.csv and a .json of each.",
        "pattern \"query.pos('DET') & key.governor()\" --out result",
        "A pattern is made of conditions of query and key, put together with & | ~, for example: "
        "query.pos('DET') & key.governor(); key.next(','); ~query.word('the', 'a') & key.offset(-1). "
        f"Conditions: {', '.join(sorted(CONDITIONS))}; docs/patterns.md says what they ask.",
    )
    add = parser.add_argument
    add("pattern", metavar="PATTERN", help="in quotes; see below")
    common.add_model(parser, common.MODELS_TOO_RECORDED)
    corpus = parser.add_mutually_exclusive_group()
    default = "(default: the shipped treebank; for a pattern about two segments the shipped pairs)"
    common.add_data(corpus, f"a treebank in CoNLL-U, .gz too {default}", nargs="+")
    common.add_texts(corpus, nargs="+")
    common.add_limit(parser, "texts")
    common.add_out(parser)
    add(
        "--candidates",
        choices=ANSWERS,
        help="among what a head chooses: words besides the query, or anything (default: words, unless the pattern asks for more)",
    )
    query = "row of a word of several pieces (default: mean)"
    add("--query", choices=QUERY_RULES, default="mean", help=query)
    add("--cache", metavar="DIR", help="keep the maps there, for the next pattern on the same texts")
    common.add_no_twin(parser)
    common.add_recorded_twin(parser)
    common.add_device(parser, batch_size=32)


def run(args: Namespace) -> int:
    """``bertlook pattern``: returns the exit code."""
    pattern = parse_pattern(args.pattern)
    common.at_least(args, limit=(2, "two texts, one to choose on and one to score on"))
    folder = claim_folder(args.out)
    cache = None if args.cache is None else writable_folder(args.cache)
    recorded = args.model.startswith(common.RECORDED)
    encoder = common.load_model(args.model, args.device) if recorded else None
    if recorded and not any(getattr(args, kind) for kind in _READERS):  # what it was recorded on
        kind, paths = tuple if PAIRS in pattern.needs else str, []
        corpus = common.first((text for text in encoder.texts if isinstance(text, kind)), args.limit)
    else:
        kind, paths = _corpus(args, pattern)
        corpus = common.first((item for path in paths for item in _READERS[kind](path)), args.limit)
    check_corpus(pattern, _preview(corpus))  # before a minute is spent on maps
    encoder = encoder or common.load_model(args.model, args.device)

    maps, *twin = (
        word_maps(
            model,
            corpus,
            query=args.query,
            batch_size=args.batch_size,
            cache=cache,
            progress=common.bar(args, model.name, total=len(corpus)),
        )
        for model in common.with_twin(args, encoder)
    )
    try:
        score = score_pattern(pattern, maps, twin[0] if twin else None, answers=args.candidates)
    except CannotDecide as reason:
        raise ValueError(f"cannot be decided: {reason}.") from None
    score.about["files"] = [path.name for path in paths] or encoder.badge
    print(score.table())
    for measure in ("accuracy", "mass"):
        print(score.sentence(measure))
    common.say_left_out(maps.skipped, len(corpus), "texts", encoder)
    print(save_score(score, folder))
    return 0


def _corpus(args, pattern: Pattern) -> tuple[str, list[Path]]:
    from ..disk import data_path

    for kind in _READERS:
        if given := getattr(args, kind):
            return kind, [Path(path) for path in given]
    kind = "pairs" if PAIRS in pattern.needs else "data"
    return kind, [data_path(*_SHIPPED[kind])]


def _preview(corpus: Sequence) -> list[PatternText]:
    """The texts as far as they can be known without a model."""
    readings = []
    for item in corpus:
        if isinstance(item, TreebankSentence):
            readings.append(PatternText.of(item))
            continue
        parts = item if isinstance(item, tuple) else (item,)
        found = [(word, segment) for segment, part in enumerate(parts) for word in part.split()]
        words, segments = zip(*found)
        readings.append(PatternText(words, (False,) * len(words), segments, tuple((word,) for word in words)))
    return readings
