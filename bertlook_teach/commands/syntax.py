"""``bertlook syntax``: the relation table of any model on any treebank, printed and saved."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..analyses.syntax import SCHEMES, Answers, RelationRow, RelationTable, collect_answers, score_relations
from ..disk import align, claim_folder, save_rows, with_interval
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
    """Write ``syntax.csv`` (one row a relation, fractions) and ``syntax.json``, and say where they are.

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
    sentences, read = common.read_treebank(args)
    encoder = common.load_model(args.model, args.device)
    if isinstance(encoder, Recording) and all(check_reading(encoder, s.words).obstacle for s in sentences):
        raise ValueError(
            f"none of the {len(sentences)} sentences of the treebank is among the {len(encoder)} inputs recorded of {encoder.name}. "
            f"{common.RECORD_WORDS}"
        )
    query = args.query or ("first" if args.as_published else "mean")
    models = common.with_twin(args, encoder)
    same = {
        "command": "syntax",
        "fingerprints": [model.fingerprint for model in models],
        "corpus_sha256": chunks.digest_of(sentences),
        "query": query,
    }
    with chunks.Run(args, folder, same) as work:
        answers, *twin = (
            _answers(work, model, sentences, query=query, batch_size=args.batch_size)
            for model in chunks.Model.each(args, models)
        )
    table = score_relations(
        answers,
        scheme=args.scheme,
        subtypes=args.subtypes,
        twin=twin[0] if twin else None,
        min_cases=args.min_cases,
        as_published=args.as_published,
        permutations=args.permutations,
    )
    table.about.update(read)
    if not table.rows:
        raise ValueError(
            f"no relation has {args.min_cases} cases in {len(sentences)} sentences; lower --min-cases."
        )
    print(format_table(table))
    common.say_left_out(answers.skipped, len(sentences), "sentences left out", encoder)
    if NOT_RECORDED in answers.skipped:
        print(common.RECORD_WORDS)
    print(save_table(table, folder))
    work.finished()
    return 0


def _answers(work: chunks.Run, model: chunks.Model, sentences: Sequence, **options) -> Answers:
    """As `collect_answers` gives them for all sentences, from chunks."""
    encoder = model.load()
    order = chunks.by_length([sentence.words for sentence in sentences])
    found: list[np.ndarray | None] = [None] * len(sentences)
    skipped, removed, words = Counter(), 0.0, 0
    done = work.results(
        answer_chunk,
        model,
        (sentences[i] for i in order),
        total=len(sentences),
        label=encoder.name,
        size=SENTENCES,
        **options,
    )
    for number, chunk in enumerate(done):
        skipped.update(chunk["skipped"])
        if not chunk["places"]:
            continue
        numbers = [order[number * SENTENCES + place] for place in chunk["places"]]
        ends = np.cumsum([len(sentences[i]) for i in numbers])
        for i, distances in zip(numbers, np.split(chunk["distances"], ends[:-1])):
            found[i] = distances
        removed += chunk["removed"]
        words += len(chunk["distances"])
    read = [sentence for sentence, distances in zip(sentences, found) if distances is not None]
    if not read:
        return collect_answers(encoder, sentences, **options)  # which says why
    about = {
        "model": encoder.name,
        **common.columns(encoder, "fingerprint n_layers n_heads"),
        "query": options["query"],
    }
    return Answers(np.concatenate([d for d in found if d is not None]), read, skipped, removed / words, about)


def answer_chunk(encoder, items: Sequence, **options) -> dict:
    """What every head answers for every word of some sentences, which of them were read, and why the others were not."""
    obstacles = [check_reading(encoder, sentence.words).obstacle for sentence in items]
    places = [place for place, obstacle in enumerate(obstacles) if not obstacle]
    chunk = {"skipped": dict(Counter(filter(None, obstacles))), "places": places}
    if not places:
        return chunk
    found = collect_answers(encoder, [items[place] for place in places], **options)
    return chunk | {"distances": found.distances, "removed": found.removed * len(found.distances)}
