"""``bertlook syntax``: the relation table of any model on any treebank, printed and saved."""

from __future__ import annotations

import hashlib
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from ..analyses.syntax import (
    SCHEMES,
    Gold,
    RelationRow,
    RelationTable,
    collect_answers,
    gold_cases,
    in_scheme,
    poss_rule,
    score_cases,
)
from ..corpora import TreebankSentence, document_keys, iter_conllu, numbers_of_keys
from ..disk import OnDisk, align, claim_folder, data_path, save_rows, with_interval
from ..model import NOT_RECORDED, QUERY_RULES, Recording, check_reading
from . import chunks, common

SENTENCES = 256  # in a chunk


def flat_row(row: RelationRow) -> dict[str, object]:
    """One row as plain values: fractions, heads with printed labels."""
    return {
        **common.columns(
            row, "relation n n_sentences head accuracy low high offset baseline gain gain_low gain_high"
        ),
        **common.columns(row, "twin twin_low twin_high in_sample"),
        "in_sample_head": str(row.in_sample_choice),
        **common.columns(row, "in_sample_baseline in_sample_offset twin_in_sample p p_corrected"),
    }


def format_table(table: RelationTable, *, digits: int = 1) -> str:
    """The table in plain characters, accuracies in per cent."""

    def percent(value) -> str:
        return "" if value is None else f"{100 * value:.{digits}f}"

    header = [
        "relation",
        "n",
        "head",
        "acc [95 %]",
        "offset",
        "acc",
        "gain [95 %]",
        "twin",
        "in-sample",
        "p corr.",
    ]
    lines = [
        [
            row.relation,
            row.n,
            row.head,
            with_interval(row.accuracy, row.low, row.high, digits=digits),
            row.offset,
            percent(row.baseline),
            with_interval(row.gain, row.gain_low, row.gain_high, digits=digits, sign="+"),
            percent(row.twin),
            percent(row.in_sample),
            "" if row.p_corrected is None else f"{row.p_corrected:.3f}",
        ]
        for row in table.rows
    ]
    about = table.about
    scheme = about["scheme"] + (f", subtypes {about['subtypes']}" if about["subtypes"] else "")
    text = [
        f"{about['model']}, scheme {scheme}, {about['n_sentences']} sentences; {about['protocol']}.",
        align([header, *lines]),
        "d>g: the dependent looks at its governor; g>d: the governor looks at its dependent. Accuracies in per cent.",
        "p corrected: do some head's answers go with more than the relation's typical distance? A random twin's often do too: the twin is the control.",
    ]
    if table.too_rare:
        rare = ", ".join(f"{name} {n}" for name, n in sorted(table.too_rare.items()))
        text.append(f"Too rare for a row (under {about['min_cases']} cases): {rare}.")
    return "\n".join(text)


def save_table(table: RelationTable, folder: str | Path) -> str:
    """Write ``syntax.csv`` (one row for each relation, fractions) and ``syntax.json``, and say where they are.

    Raises
    ------
    ValueError
        If the table has no row.
    """
    if not table.rows:
        raise ValueError("the table has no relation frequent enough for a row; lower min_cases.")
    about = {**table.about, "too_rare": table.too_rare}
    return save_rows(folder, "syntax", [flat_row(row) for row in table.rows], about)


# --- the command ---------------------------------------------------------------------------------------
def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``bertlook syntax``."""
    common.describe(
        parser,
        "For each syntactic relation of a treebank: the best head against the best fixed offset, both chosen on one half of "
        "the sentences and scored on the other, with 95 % intervals, the random twin and the number the paper's procedure "
        "would give. Writes syntax.csv and syntax.json. Any language; the Stanford scheme is for English.",
        "syntax --model bert-base-uncased --data my.conllu --out result",
    )
    common.add_model(parser, common.MODELS_TOO_RECORDED)
    common.add_treebank(parser)
    common.add_out(parser)
    add = parser.add_argument
    stanford = "stanford: converted as docs/stanford.md says (default: ud)"
    add("--scheme", choices=SCHEMES, default="ud", help=stanford)
    subtypes = "UD: score nmod:poss as nmod, or by itself (default: merge)"
    add("--subtypes", choices=("merge", "keep"), default="merge", help=subtypes)
    query = "row of a word of several pieces (default: mean; first with --as-published)"
    add("--query", choices=QUERY_RULES, help=query)
    add(
        "--as-published",
        action="store_true",
        help="the released code's conventions: chosen on the scored sentences, offsets -3 to +2, rows of first pieces",
    )
    rare = "no row for relations with fewer than N cases (default: 20)"
    add("--min-cases", type=int, default=20, metavar="N", help=rare)
    permutations = "for the p-values; 0 leaves them out (default: 200)"
    add("--permutations", type=int, default=200, metavar="N", help=permutations)
    common.add_no_twin(parser)
    common.add_recorded_twin(parser)
    common.add_device(parser, batch_size=32)
    chunks.add_scale(parser)


def run(args: Namespace) -> int:
    """``bertlook syntax``: returns the exit code."""
    common.at_least(args, limit=(2, "two sentences, one to choose on and one to score on"))
    folder = claim_folder(args.out)
    with ExitStack() as stack:
        paths = common.files_of(args.data or [data_path("treebank", "treebank.conllu")], stack)

        def corpus(broken: list) -> Iterator[TreebankSentence]:
            """The sentences from the beginning: a treebank is read again for each model and never held."""
            every = (s for path in paths for s in iter_conllu(path, on_error=args.on_error, skipped=broken))
            return islice(every, args.limit)

        broken: list = []
        n, digest = _counted(corpus(broken))
        common.say_skipped(broken)
        encoder = common.load_model(args.model, args.device)
        if isinstance(encoder, Recording) and all(
            check_reading(encoder, s.words).obstacle for s in corpus([])
        ):
            raise ValueError(
                f"none of the {n} sentences of the treebank is among the {len(encoder)} inputs recorded of {encoder.name}. "
                f"{common.RECORD_WORDS}"
            )
        models = common.with_twin(args, encoder)
        scheme = common.columns(args, "scheme subtypes as_published")
        query = args.query or ("first" if args.as_published else "mean")
        same = {
            "command": "syntax",
            "fingerprints": [model.fingerprint for model in models],
            "corpus_sha256": digest,
            "query": query,
            **scheme,
        }
        work = stack.enter_context(chunks.Run(args, folder, same))
        parts = [
            _answers(work, model, corpus, n, query=query, batch_size=args.batch_size, **scheme)
            for model in chunks.Model.each(args, models)
        ]
    answered = parts[0]
    if len({part.read for part in parts}) > 1:
        raise ValueError("the twin must have answered the same sentences; record both on the same treebank.")
    table = score_cases(
        answered.gold,
        answered.documents,
        answered.distances,
        twin=parts[1].distances if parts[1:] else None,
        about={**answered.about, "twin": parts[1].about["model"] if parts[1:] else ""},
        **scheme,
        min_cases=args.min_cases,
        permutations=args.permutations,
    )
    table.about.update(treebank=[path.name for path in paths], broken=list(map(str, broken)))
    if not table.rows:
        raise ValueError(f"no relation has {args.min_cases} cases in {n} sentences; lower --min-cases.")
    print(format_table(table))
    common.say_left_out(answered.skipped, n, "sentences left out", encoder)
    if NOT_RECORDED in answered.skipped:
        print(common.RECORD_WORDS)
    print(save_table(table, folder))
    work.finished()
    return 0


def _counted(sentences: Iterator[TreebankSentence]) -> tuple[int, str]:
    """How many there are, and their digest."""
    n = 0

    def counting() -> Iterator[TreebankSentence]:
        nonlocal n
        for sentence in sentences:
            n += 1
            yield sentence

    digest = chunks.digest_of(counting())
    return n, digest


@dataclass(frozen=True, eq=False)
class _Answered:
    """What one model makes of a treebank: 16 bytes of a word in memory, the answers of the heads on disk."""

    gold: Gold
    documents: np.ndarray  # int (sentence,)
    distances: OnDisk  # rows as those of `Answers`
    read: str  # digest of the words that were read
    skipped: Counter
    about: dict


def _answers(work: chunks.Run, model: chunks.Model, corpus: Callable, n: int, **options) -> _Answered:
    """What every head answers for every word, from chunks.

    Raises
    ------
    ValueError
        If the model reads fewer than two sentences.
    """
    encoder = model.load()
    golds, documents, distances = [], [], OnDisk(work.kept)
    read, skipped = hashlib.sha256(), Counter()
    done = work.results(
        answer_chunk, model, corpus([]), total=n, label=encoder.name, size=SENTENCES, **options
    )
    for chunk in done:
        skipped.update(chunk["skipped"])
        if "gold" in chunk:
            golds.append(chunk["gold"])
            documents.append(chunk["documents"])
            distances.add(chunk["distances"])
            read.update(chunk["read"].encode())
    reasons = ", ".join(f"{count} {why}" for why, count in skipped.items())
    if not golds:
        raise ValueError(
            f"no sentence of the treebank can be read by {encoder.name}: {reasons or 'there was none'}."
        )
    numbers = numbers_of_keys(np.concatenate(documents))
    if len(numbers) < 2:
        raise ValueError(
            f"choosing on one half and scoring on the other needs two sentences; {encoder.name} reads {len(numbers)} of {n}"
            f"{f' ({reasons})' if reasons else ''}."
        )
    about = {
        "model": encoder.name,
        **common.columns(encoder, "fingerprint n_layers n_heads"),
        "query": options["query"],
        "skipped": dict(skipped),
    }
    return _Answered(Gold.joined(golds), numbers, distances, read.hexdigest(), skipped, about)


def answer_chunk(
    encoder, items: Sequence, *, scheme: str, subtypes: str, as_published: bool, **options
) -> dict:
    """What every head answers for every word of some sentences, what the treebank says of them, and why the others were not read."""
    obstacles = [check_reading(encoder, sentence.words).obstacle for sentence in items]
    usable = [sentence for sentence, obstacle in zip(items, obstacles) if not obstacle]
    chunk = {"skipped": dict(Counter(filter(None, obstacles)))}
    if not usable:
        return chunk
    trees = in_scheme(usable, scheme, subtypes=subtypes)
    return chunk | {
        "gold": gold_cases(trees, poss_rule(scheme, as_published)),
        "documents": document_keys(sentence.doc_id for sentence in usable),
        "distances": collect_answers(encoder, usable, **options).distances,
        "read": chunks.digest_of(sentence.words for sentence in usable),
    }
