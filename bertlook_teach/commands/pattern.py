"""``bertlook pattern``: a line of the pattern language, scored for every head on any treebank or text."""

from __future__ import annotations

import hashlib
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from ..analyses.patterns import (
    ANSWERS,
    CONDITIONS,
    PAIRS,
    Pattern,
    PatternCounts,
    PatternScore,
    PatternText,
    answers_of,
    check_corpus,
    check_pairs,
    count_part,
    parse_pattern,
    score_counts,
    score_pattern,
    word_maps,
)
from ..corpora import (
    TreebankSentence,
    document_keys,
    iter_conllu,
    iter_pairs,
    iter_texts,
    numbers_of_keys,
)
from ..disk import OnDisk, claim_folder, save_rows, writable_folder
from ..model import QUERY_RULES, check_reading
from ..stats import CannotDecide
from . import chunks, common

TEXTS = 256  # in a chunk; of their maps a batch is held at a time

_TABLES = (
    "right",
    "mass",
    "right_rules",
    "mass_rules",
)  # of a text as many numbers as there are heads, or rules

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
    common.add_on_error(parser)
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
    broken: list = []
    with ExitStack() as stack:
        if recorded and not any(getattr(args, kind) for kind in _READERS):  # what it was recorded on
            kind, paths = tuple if PAIRS in pattern.needs else str, []
            whole = partial(filter, lambda text: isinstance(text, kind), encoder.texts)
        else:
            kind, paths = _corpus(args, pattern)
            paths = common.files_of(paths, stack)
            whole = partial(_items, kind, paths, args.on_error)

        def corpus(broken: list) -> Iterator:
            """The texts from the beginning: a corpus is read again for each question and never held."""
            return islice(whole() if not paths else whole(broken), args.limit)

        n = check_corpus(pattern, map(_preview, corpus(broken)))  # before a minute is spent on maps
        common.say_skipped(broken, "broken texts")
        answers = answers_of(pattern) if args.candidates is None else args.candidates
        encoder = encoder or common.load_model(args.model, args.device)
        models = common.with_twin(args, encoder)
        same = {
            "command": "pattern",
            "pattern": repr(pattern),
            "answers": answers,
            "fingerprints": [model.fingerprint for model in models],
            "corpus_sha256": chunks.digest_of(corpus([])),
            "query": args.query,
        }
        try:
            if cache is not None:
                texts, options = list(corpus([])), {"query": args.query, "batch_size": args.batch_size}
                maps = [word_maps(model, texts, cache=cache, **options) for model in models]
                score, skipped = score_pattern(pattern, *maps, answers=answers), maps[0].skipped
            else:
                work = stack.enter_context(chunks.Run(args, folder, same))
                options = {"answers": answers, "query": args.query, "batch_size": args.batch_size}
                parts = [
                    _counts(work, model, corpus, n, pattern=args.pattern, **options)
                    for model in chunks.Model.each(args, models)
                ]
                if len({part.read for part in parts}) > 1:
                    raise ValueError(
                        "the twin must have read the same texts; record both on the same corpus."
                    )
                score = parts[0].score(pattern, *parts[1:], answers=answers)
                skipped = parts[0].skipped
        except CannotDecide as reason:
            raise ValueError(f"cannot be decided: {reason}.") from None
        score.about["files"] = [path.name for path in paths] or encoder.badge
        score.about["broken"] = list(map(str, broken))
        print(score.table())
        for measure in ("accuracy", "mass"):
            print(score.sentence(measure))
        common.say_left_out(skipped, n, "texts", encoder)
        print(save_score(score, folder))
        if cache is None:
            work.finished()
    return 0


@dataclass(frozen=True, eq=False)
class _Counted:
    """What one model makes of the corpus: of a text eight bytes of its document and a few numbers in memory, the others on disk."""

    counts: PatternCounts
    pairs: np.ndarray
    read: str  # digest of the words that were read
    skipped: Counter
    about: dict

    def score(self, pattern: Pattern, twin: _Counted | None = None, *, answers: str) -> PatternScore:
        check_pairs(self.pairs)
        return score_counts(
            pattern,
            self.counts,
            twin and twin.counts,
            answers=answers,
            about=self.about,
            skipped=self.skipped,
            twin=twin.about["model"] if twin else "",
        )


def _counts(
    work: chunks.Run, model: chunks.Model, corpus: Callable, n: int, *, pattern: str, **options
) -> _Counted:
    """The counts of the whole corpus, from chunks.

    Raises
    ------
    ValueError
        If the model can read no text.
    """
    encoder = model.load()
    tables = {name: OnDisk(work.kept) for name in _TABLES}
    cases, documents, rules, about = [], [], (), {}
    pairs, read, skipped = np.zeros(4, dtype=int), hashlib.sha256(), Counter()
    done = work.results(
        count_chunk,
        model,
        corpus([]),
        total=n,
        label=encoder.name,
        size=TEXTS,
        pattern=pattern,
        **options,
    )
    for chunk in done:
        skipped.update(chunk["skipped"])
        if not len(chunk["cases"]):
            continue
        about, rules = chunk["about"], tuple(chunk["rule_names"])
        pairs += chunk["pairs"]
        read.update(chunk["read"].encode())
        cases.append(chunk["cases"])
        documents.append(chunk["documents"])
        for name, table in tables.items():
            table.add(chunk[name])
    if not cases:
        reasons = ", ".join(f"{count} {why}" for why, count in skipped.items())
        raise ValueError(f"no text can be read by {encoder.name}: {reasons}.")
    numbers = numbers_of_keys(np.concatenate(documents))
    counts = PatternCounts(numbers, np.concatenate(cases), **tables, rule_names=rules)
    return _Counted(counts, pairs, read.hexdigest(), skipped, about)


def count_chunk(encoder, items: Sequence, *, pattern: str, answers: str, batch_size: int, **options) -> dict:
    """What the heads and the rules make of the cases of some texts, and why the others were left out or were cut; maps of a batch at a time."""
    asked, trees = parse_pattern(pattern), isinstance(items[0], TreebankSentence)
    obstacles = [check_reading(encoder, item.words).obstacle if trees else "" for item in items]
    skipped = Counter(filter(None, obstacles))
    usable = [item for item, obstacle in zip(items, obstacles) if not obstacle]
    if not usable:
        return {"skipped": dict(skipped), "cases": np.zeros(0)}
    order = chunks.by_length([item.words if trees else item for item in usable])
    names = ("cases", *_TABLES)
    parts, pairs, readings = [], np.zeros(4, dtype=int), {}
    for start in range(0, len(order), batch_size):
        batch = order[start : start + batch_size]
        maps = word_maps(encoder, [usable[i] for i in batch], batch_size=batch_size, **options)
        counts, found = count_part(asked, maps, answers)
        parts.append([getattr(counts, name) for name in names])
        readings.update(zip(batch, maps.readings))
        pairs += found
        skipped += maps.skipped
    back = np.argsort(order)
    return {
        **{name: np.concatenate(column)[back] for name, column in zip(names, zip(*parts))},
        "documents": document_keys([readings[i].doc_id for i in range(len(usable))]),
        "pairs": pairs,
        "read": chunks.digest_of(readings[i].words for i in range(len(usable))),
        "skipped": dict(skipped),
        "rule_names": counts.rule_names,
        "about": maps.about,
    }


def _corpus(args, pattern: Pattern) -> tuple[str, list[Path]]:
    from ..disk import data_path

    for kind in _READERS:
        if given := getattr(args, kind):
            return kind, [Path(path) for path in given]
    kind = "pairs" if PAIRS in pattern.needs else "data"
    return kind, [data_path(*_SHIPPED[kind])]


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
    try:
        return all(part.strip().encode() for part in ((item,) if isinstance(item, str) else item))
    except UnicodeEncodeError:  # a byte that is not a character
        return False


def _preview(item: TreebankSentence | str | tuple[str, str]) -> PatternText:
    """A text as far as it can be known without a model."""
    if isinstance(item, TreebankSentence):
        return PatternText.of(item)
    parts = item if isinstance(item, tuple) else (item,)
    found = [(word, segment) for segment, part in enumerate(parts) for word in part.split()]
    words, segments = zip(*found)
    return PatternText(words, (False,) * len(words), segments, tuple((word,) for word in words))
