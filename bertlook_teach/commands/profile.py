"""``bertlook profile``: measure every head over a corpus."""

from __future__ import annotations

import hashlib
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from ..disk import writable_folder
from ..measures import FILES, Profile, profile_heads
from . import common


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``bertlook profile``."""
    common.describe(
        parser,
        "Measure every head of a model on a corpus (default: the shipped pairs): relative position, special tokens, entropy. "
        "Writes profile.csv (one row per head; each measure with its 95 % interval), profile.json and the sums needed to merge.",
        "profile --model bert-base-uncased --texts my.txt --out result",
        "Of a recording (--model recorded:NAME) the corpus is what was recorded, unless --texts or --pairs choose among it.",
    )
    common.add_model(parser, common.MODELS_TOO_RECORDED)
    common.add_texts(parser.add_mutually_exclusive_group())
    common.add_out(parser)
    parser.add_argument(
        "--segments",
        choices=("standard", "zeros"),
        default="standard",
        help="zeros: one segment id for everything, as the code of Clark et al. (2019) does",
    )
    common.add_truncate(parser, default=True)
    common.add_device(parser, batch_size=8)


def run(args: Namespace) -> int:
    """``bertlook profile``: returns the exit code; Ctrl-C keeps what was measured and returns 130."""
    from ..corpora import iter_pairs, iter_texts
    from ..disk import data_path
    from ..model import Recording

    folder = writable_folder(args.out)
    about, own = {}, args.model.startswith(common.RECORDED) and not (args.texts or args.pairs)
    if not own:
        path = Path(args.texts or args.pairs or data_path("texts", "paragraphs.txt"))
        read = iter_texts if args.texts else iter_pairs
        name, corpus = path.name, read(path)
        total = sum(1 for _ in read(path))  # says early what is wrong with the file, and how long the bar is
    encoder = common.load_model(args.model, args.device)
    if own:  # what it was recorded on
        name, corpus, total = encoder.badge, encoder.texts, len(encoder)
        about["corpus_sha256"] = encoder.fingerprint
    else:
        with open(path, "rb") as file:
            checksum = hashlib.sha256()
            for block in iter(lambda: file.read(1 << 20), b""):
                checksum.update(block)
        about["corpus_sha256"] = checksum.hexdigest()
    called = encoder.name
    if isinstance(encoder, Recording):
        about["recorded"], called = encoder.note, encoder.badge
    result = Profile(about=about)
    interrupted = False
    try:
        profile_heads(
            encoder,
            corpus,
            segments=args.segments,
            batch_size=args.batch_size,
            truncate=args.truncate,
            name=name,
            into=result,
            progress=common.bar(args, total=total),
        )
    except KeyboardInterrupt:
        interrupted = True
        if not result.n:
            print("interrupted before the first text was measured; nothing written.", file=sys.stderr)
            return 130
    result.about["complete"] = not interrupted
    result.save(folder)
    done = f"{result.n} of {total} texts" if interrupted else f"{result.n} texts"
    cut = f", {result.n_truncated} cut to {encoder.max_tokens} wordpieces" if result.n_truncated else ""
    print(
        f"{'interrupted: ' if interrupted else ''}{called}: {done}, {result.n_tokens} wordpieces{cut} -> {folder / FILES['table']}"
    )
    return 130 if interrupted else 0
