"""``bertlook syntax``: the relation table of any model on any treebank, printed and saved."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from .corpora import ON_ERROR, SkippedSentence, iter_conllu
from .profile import writable_folder
from .report import align, save_rows
from .syntax import SCHEMES, RelationRow, RelationTable, collect_answers, score_relations
from .words import QUERY_RULES

__all__ = ["add_arguments", "flat_row", "format_table", "run", "save_table"]


def flat_row(row: RelationRow) -> dict[str, object]:
    """One row as plain values: fractions, heads with printed labels."""
    return {
        "relation": row.relation,
        "n": row.n,
        "n_sentences": row.n_sentences,
        "head": row.head,
        "accuracy": row.accuracy,
        "low": row.low,
        "high": row.high,
        "offset": row.offset,
        "baseline": row.baseline,
        "gain": row.gain,
        "gain_low": row.gain_low,
        "gain_high": row.gain_high,
        "twin": row.twin,
        "twin_low": row.twin_low,
        "twin_high": row.twin_high,
        "optimistic": row.optimistic,
        "optimistic_head": str(row.optimistic_choice),
        "optimistic_baseline": row.optimistic_baseline,
        "optimistic_offset": row.optimistic_offset,
        "twin_optimistic": row.twin_optimistic,
        "p": row.p,
        "p_corrected": row.p_corrected,
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
        "optimistic",
        "p corr.",
    ]
    lines = [header]
    for row in table.rows:
        lines.append(
            [
                row.relation,
                str(row.n),
                row.head,
                f"{percent(row.accuracy)} [{percent(row.low)}, {percent(row.high)}]",
                row.offset,
                percent(row.baseline),
                f"{100 * row.gain:+.{digits}f} [{100 * row.gain_low:+.{digits}f}, {100 * row.gain_high:+.{digits}f}]",
                percent(row.twin),
                percent(row.optimistic),
                "" if row.p_corrected is None else f"{row.p_corrected:.3f}",
            ]
        )
    text = align(lines).split("\n")
    about = table.about
    scheme = about["scheme"] + (f", subtypes {about['subtypes']}" if about["subtypes"] else "")
    text.insert(
        0, f"{about['model']}, scheme {scheme}, {about['n_sentences']} sentences; {about['protocol']}."
    )
    text.append(
        "d>g: the dependent looks at its governor; g>d: the governor looks at its dependent. Accuracies in per cent."
    )
    if table.left_out:
        rare = ", ".join(f"{name} {n}" for name, n in sorted(table.left_out.items()))
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
    about = {**table.about, "left_out": table.left_out}
    return save_rows(folder, "syntax", [flat_row(row) for row in table.rows], about)


# --- the command ---------------------------------------------------------------------------------------


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``bertlook syntax``."""
    parser.description = (
        "For each syntactic relation of a treebank: the best head against the best fixed offset, both chosen on one half of "
        "the sentences and scored on the other, with 95 % intervals, the random twin and the number the paper's procedure "
        "would give. Writes syntax.csv and syntax.json. Any language; the Stanford scheme is for English."
    )
    add = parser.add_argument
    add(
        "--model",
        default="specimen",
        help="specimen, specimen-random, a hub name or a folder (default: specimen)",
    )
    add(
        "--treebank", metavar="FILE", nargs="+",
        help="CoNLL-U in Universal Dependencies, .gz too (default: the shipped treebank)",
    )  # fmt: skip
    add("--out", metavar="DIR", required=True, help="folder for the result")
    add(
        "--scheme",
        choices=SCHEMES,
        default="ud",
        help="stanford: converted as described in docs/stanford.md (default: ud)",
    )
    add(
        "--subtypes",
        choices=("merge", "keep"),
        default="merge",
        help="UD: score nmod:poss as nmod, or by itself (default: merge)",
    )
    add(
        "--query",
        choices=QUERY_RULES,
        help="row of a word of several pieces (default: mean; first with --as-published)",
    )
    add(
        "--as-published", action="store_true",
        help="the released code's conventions: chosen on the scored sentences, offsets -3 to +2, rows of first pieces",
    )  # fmt: skip
    add(
        "--on-error",
        choices=ON_ERROR,
        default="stop",
        help="a broken sentence: stop with file and line, or skip and count it (default: stop)",
    )
    add("--limit", type=int, metavar="N", help="use only the first N sentences")
    add(
        "--min-cases",
        type=int,
        default=20,
        metavar="N",
        help="no row for relations with fewer cases (default: 20)",
    )
    add(
        "--permutations",
        type=int,
        default=200,
        metavar="N",
        help="for the p values; 0 leaves them out (default: 200)",
    )
    add("--no-twin", action="store_true", help="leave out the randomly initialised twin")
    add("--batch-size", type=int, default=32, metavar="N")
    add("--device", default="auto", help="auto, cpu, cuda, mps (default: auto)")
    add("--quiet", action="store_true", help="no progress bar")


def run(args: argparse.Namespace) -> int:
    """``bertlook syntax``: returns the exit code."""
    from tqdm import tqdm

    from ._paths import data_path
    from .encoder import load_encoder, random_twin

    if args.limit is not None and args.limit < 2:
        raise ValueError(
            f"--limit needs at least two sentences, one to choose on and one to score on; got {args.limit}."
        )
    folder = writable_folder(args.out)
    paths = [Path(p) for p in args.treebank or [data_path("treebank", "treebank.conllu")]]
    broken: list[SkippedSentence] = []
    sentences = list(
        islice((s for p in paths for s in iter_conllu(p, on_error=args.on_error, skipped=broken)), args.limit)
    )
    for skipped in broken[:10]:
        print(f"left out: {skipped}", file=sys.stderr)
    if broken:
        print(f"{len(broken)} broken sentences left out in all.", file=sys.stderr)
    encoder = load_encoder(args.model, device=args.device)
    query = args.query or ("first" if args.as_published else "mean")

    def answers_of(model):
        def bar(stream: Iterable) -> Iterable:
            return tqdm(
                stream,
                desc=model.name,
                total=len(sentences),
                unit="sentence",
                disable=args.quiet,
                file=sys.stderr,
            )

        return collect_answers(model, sentences, query=query, batch_size=args.batch_size, progress=bar)

    answers = answers_of(encoder)
    twin = None if args.no_twin else answers_of(random_twin(encoder))
    table = score_relations(
        answers,
        scheme=args.scheme,
        subtypes=args.subtypes,
        twin=twin,
        min_cases=args.min_cases,
        as_published=args.as_published,
        permutations=args.permutations,
    )
    table.about["treebank"] = [p.name for p in paths]
    table.about["broken"] = [str(skipped) for skipped in broken]
    if not table.rows:
        raise ValueError(
            f"no relation has {args.min_cases} cases in {len(sentences)} sentences; lower --min-cases."
        )
    print(format_table(table))
    for reason, n in answers.skipped.items():
        print(f"{n} of {len(sentences)} sentences left out: {reason} ({encoder.max_tokens} wordpieces).")
    print(save_table(table, folder))
    return 0
