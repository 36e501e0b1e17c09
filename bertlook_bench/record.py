"""``bertlook record``: keep what a model looks at in a file, to be shown and measured where the model is not."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from . import common

_LARGE = 50_000_000  # weights; two bytes each before they are compressed


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``bertlook record``."""
    common.describe(
        parser,
        "Run a model on texts and write every head's attention into one .bertlook file: weights in 16 bits, tokens, and which model it "
        "was. Views, measures and `--model recorded:FILE` take the file in place of a model, for these texts.",
        "record --model bert-base-uncased --texts my.txt --out my.bertlook",
        "The file holds the texts, so record only what you may pass on. Two weights that differ slightly in the model may become equal in 16 bits. A choice or "
        "a p-value that depends on such a pair may differ from the model's own; this concerns about 2 answers of a head in 1,000.",
    )
    common.add_model(parser)
    given = parser.add_mutually_exclusive_group(required=True)
    common.add_texts(given)
    common.add_data(
        given, "a treebank in CoNLL-U, .gz too, with its own division into words, for syntax and pattern"
    )
    common.add_limit(parser, "texts or sentences")
    parser.add_argument("--out", metavar="FILE", required=True, help="the file to write, *.bertlook")
    parser.add_argument(
        "--random-twin",
        action="store_true",
        help="record the model's random twin instead, for the option --twin of syntax, pattern, compare and claims",
    )
    parser.add_argument(
        "--with-vectors",
        action="store_true",
        help="also record queries, keys and values, for the neuron view; the file is larger",
    )
    parser.add_argument(
        "--label",
        metavar="NAME",
        default="",
        help="the name of the model that readers see (default: its own)",
    )
    common.add_truncate(parser)
    common.add_device(parser, batch_size=8)


def run(args: Namespace) -> int:
    """``bertlook record``: returns the exit code."""
    from bertlook_course.storage import matching_of, write_recording
    from bertlook_teach.model import ENDING, input_key, iter_attention, load_encoder, random_twin

    common.at_least(args, limit=1)
    path = Path(args.out)
    if path.suffix != ENDING:
        raise ValueError(f"--out names the file to write, *{ENDING}; got {path.name!r}.")
    given = common.first(_inputs(args), args.limit)
    path.parent.mkdir(parents=True, exist_ok=True)
    encoder = load_encoder(args.model, device=args.device)
    twin_of = encoder.fingerprint if args.random_twin else ""
    name = (
        Path(args.model).name if Path(args.model).expanduser().is_dir() else encoder.name
    )  # a path is nobody else's
    if args.random_twin:
        encoder = random_twin(encoder)
        name += "-random"
    matching, kept = matching_of(encoder), {}
    readable = _readable(encoder, matching, given) if args.data else given
    for text in readable:
        kept.setdefault(input_key(text, matching), text)
    texts = list(kept.values())
    stream = iter_attention(
        encoder, texts, batch_size=args.batch_size, truncate=args.truncate, vectors=args.with_vectors
    )
    recording = write_recording(
        path,
        (replace(one, model=name) for one in common.bar(args, name, total=len(texts))(stream)),
        label=args.label,
        about=f"Recorded with bertlook on {Path(args.texts or args.pairs or args.data).name}.",
        matching=matching,
        model_fingerprint=encoder.fingerprint,
        twin_of=twin_of,
    )
    if len(readable) > len(texts):
        print(
            f"{len(readable) - len(texts)} texts came more than once, as the model reads them; each was recorded once.",
            file=sys.stderr,
        )
    if cut := sum(one.truncated for one in recording.values()):
        print(
            f"{cut} inputs were cut to the {encoder.max_tokens} wordpieces the model reads.", file=sys.stderr
        )
    size = path.stat().st_size
    if size > _LARGE:
        print(f"the file has {size:,} bytes; --limit makes it smaller.", file=sys.stderr)
    print(
        f"{name}: {len(recording)} inputs, {recording.n_layers} layers x {recording.n_heads} heads, {size:,} bytes -> {path}"
    )
    return 0


def _inputs(args: Namespace) -> Iterator:
    """Texts, pairs of texts, or the words of each sentence of a treebank."""
    from bertlook_course.corpora import iter_conllu, iter_pairs, iter_texts

    if args.data:
        return (list(sentence.words) for sentence in iter_conllu(args.data))
    return iter_texts(args.texts) if args.texts else iter_pairs(args.pairs)


def _readable(encoder, matching: str, sentences: Sequence[list[str]]) -> list[list[str]]:
    """Those that the model can read whole, as `bertlook syntax` asks of them; what is left out is said."""
    from bertlook_teach.model import check_reading, left_out_lines

    if matching == "exact":
        raise ValueError(
            f"the tokenizer of {encoder.name} sees where blanks are, and a recording keeps texts, not the cuts of a treebank: its words "
            "would not be found again. Record the sentences with --texts, for every command but syntax; or score the model itself, with "
            f"--model {encoder.name}."
        )
    problems = [check_reading(encoder, words).obstacle for words in sentences]
    skipped = Counter(problem for problem in problems if problem)
    for line in left_out_lines(skipped, len(sentences), "sentences left out", encoder):
        print(line)
    return [words for words, problem in zip(sentences, problems) if not problem]
