"""``bertlook pattern``: a line of the pattern language, scored for every head on any treebank or text."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from ..analyses.patterns import (
    ANSWERS,
    CONDITIONS,
    PAIRS,
    Pattern,
    PatternScore,
    PatternText,
    WordMaps,
    check_corpus,
    parse_pattern,
    score_pattern,
    word_maps,
)
from ..corpora import TreebankSentence, iter_conllu, iter_pairs, iter_texts
from ..disk import claim_folder, save_rows, writable_folder
from ..model import QUERY_RULES, check_reading
from ..stats import CannotDecide
from . import chunks, common

TEXTS = 64  # in a chunk: their maps are large

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
    chunks.add_scale(parser)


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
        with ExitStack() as stack:
            paths = common.files_of(paths, stack)
            corpus = common.first((item for path in paths for item in _READERS[kind](path)), args.limit)
    check_corpus(pattern, _preview(corpus))  # before a minute is spent on maps
    encoder = encoder or common.load_model(args.model, args.device)

    models = common.with_twin(args, encoder)
    same = {
        "command": "pattern",
        "fingerprints": [model.fingerprint for model in models],
        "corpus_sha256": chunks.digest_of(corpus),
        "query": args.query,
    }
    with chunks.Run(args, folder, same) as work:
        maps, *twin = (
            _maps(work, model, corpus, cache, query=args.query, batch_size=args.batch_size)
            for model in chunks.Model.each(args, models)
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
    work.finished()
    return 0


def _maps(work: chunks.Run, model: chunks.Model, corpus: Sequence, cache, **options) -> WordMaps:
    """As `word_maps` gives them for the whole corpus, from chunks; a cache keeps the whole itself."""
    encoder = model.load()
    if cache is not None:
        return word_maps(encoder, corpus, cache=cache, **options)
    order = chunks.by_length([item.words if isinstance(item, TreebankSentence) else item for item in corpus])
    found: list[tuple] = []  # of a text: its number, and what `WordMaps` holds of it
    skipped, about = Counter(), {}
    done = work.results(
        map_chunk,
        model,
        (corpus[i] for i in order),
        total=len(corpus),
        label=encoder.name,
        size=TEXTS,
        **options,
    )
    for number, chunk in enumerate(done):
        skipped.update(chunk["skipped"])
        about = chunk.get("about", about)
        numbers = (order[number * TEXTS + place] for place in chunk["places"])
        found += zip(numbers, chunk["readings"], chunk["weights"], chunk["answers"])
    if not found:
        return word_maps(encoder, corpus, **options)  # which says why
    _, readings, weights, answers = map(list, zip(*sorted(found, key=lambda entry: entry[0])))
    return WordMaps(readings, weights, answers, skipped, about)


def map_chunk(encoder, items: Sequence, **options) -> dict:
    """The maps between words of some texts, and why the others were left out or were cut."""
    trees = isinstance(items[0], TreebankSentence)
    obstacles = [check_reading(encoder, item.words).obstacle if trees else "" for item in items]
    skipped = Counter(filter(None, obstacles))
    places = [place for place, obstacle in enumerate(obstacles) if not obstacle]
    if not places:
        return {"skipped": dict(skipped), "places": [], "readings": [], "weights": [], "answers": []}
    maps = word_maps(encoder, [items[place] for place in places], **options)
    fields = common.columns(maps, "readings weights answers about")
    return {"skipped": dict(skipped + maps.skipped), "places": places, **fields}


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
