"""``bertlook profile``: measure every head over a corpus."""

from __future__ import annotations

import json
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from bertlook_course.analyses.anatomy import measure_chunk, precision_error, precision_sentence
from bertlook_course.storage import attributes, checksum, claim_folder
from bertlook_teach import __version__
from bertlook_teach.disk import data_path, load_arrays, parse_json, replacing
from bertlook_teach.measures import FILES, Profile
from bertlook_teach.model import PRECISIONS, Recording
from bertlook_teach.stats import CONFIDENCE, REPLICATES

from . import chunks, common
from .models import Model

COMPARED = 64  # texts on which half precision is compared with single

KEEP_EVERY = 60.0  # seconds until the sum of the chunks so far takes their place on disk


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``bertlook profile``."""
    common.describe(
        parser,
        "Measure every head of a model on a corpus (default: the shipped pairs): relative position, special tokens, entropy. "
        "Writes profile.csv (one row per head; each measure with its 95 % interval), profile.json and the sums needed to merge.",
        "profile --model bert-base-uncased --texts my.txt --out result",
        "Of a recording (--model recorded:NAME) the corpus is what was recorded, unless --texts or --pairs choose among it.",
        "A corpus is a file, .gz too, several files, a folder of files, or - for standard input. "
        "A run that was stopped, by Ctrl-C or by force, is gone on with when it is started again with the same --out.",
    )
    common.add_model(parser, common.MODELS_TOO_RECORDED)
    common.add_texts(parser.add_mutually_exclusive_group(), nargs="+")
    common.add_out(parser)
    parser.add_argument(
        "--segments",
        choices=("standard", "zeros"),
        default="standard",
        help="zeros: one segment id for everything, as the code of Clark et al. (2019) does",
    )
    common.add_on_error(parser)
    common.add_truncate(parser, default=True)
    common.add_device(parser, batch_size=8)
    parser.add_argument(
        "--precision",
        choices=PRECISIONS,
        default="float32",
        help="of matrix products, by torch: half is faster on a GPU; what it changes is measured on the first texts and said (default: float32)",
    )
    chunks.add_scale(parser)


def run(args: Namespace) -> int:
    """``bertlook profile``: returns the exit code; Ctrl-C keeps what was measured and returns 130."""
    with ExitStack() as stack:
        return _run(args, stack)


def _run(args: Namespace, stack: ExitStack) -> int:
    folder = claim_folder(args.out)
    paths, read, total = _files(args, stack)
    encoder = common.load_model(args.model, args.device)
    about, name, corpus, total = _corpus(encoder, paths, read, total)
    if isinstance(encoder, Recording):
        about["recorded"] = encoder.note
        if not paths:
            _say_what_was_recorded(encoder)
    options = {"segments": args.segments, "truncate": args.truncate}
    about |= {"on_error": args.on_error, **options}
    same = {"command": "profile", **about, "model": encoder.name, "fingerprint": encoder.fingerprint}
    same["precision"] = options["precision"] = args.precision
    if args.precision != "float32":
        about["precision"] = _said_precision(args, encoder, paths, read)
    work = stack.enter_context(chunks.Run(args, folder, same))
    result, done = _folded(work.kept)
    result.about |= about | {
        "model": encoder.name,
        "fingerprint": encoder.fingerprint,
        **attributes(encoder, "n_layers n_heads"),
        "corpus": name,
        "first": 0,
        "interval": f"{CONFIDENCE:.0%} Poisson bootstrap over inputs, {REPLICATES} replicates",
        "version": __version__,
    }
    skipped = result.about.setdefault("skipped", [])
    model = Model.of(args, encoder)
    options |= {"total": total, "begin": done, "skip": args.on_error == "skip", "batch_size": args.batch_size}
    interrupted = _measured(result, done, work, work.results(measure_chunk, model, corpus, **options))
    if interrupted and not result.n:
        print("interrupted before the first text was measured; nothing written.", file=sys.stderr)
        return 130
    if not result.n:
        why = (
            f"; the first of {len(skipped)} that were left out is {skipped[0].rstrip('.')}" if skipped else ""
        )
        raise ValueError(f"the corpus is empty: there was nothing to measure{why}.")
    result.about["complete"] = not interrupted
    result.save(folder)
    if not interrupted:
        work.finished()
    common.say_skipped(skipped, "texts")
    read_to = f"{result.n} of {total} texts" if interrupted else f"{result.n} texts"
    cut = f", {result.n_truncated} cut to {encoder.max_tokens} wordpieces" if result.n_truncated else ""
    called = encoder.badge if isinstance(encoder, Recording) else encoder.name
    print(
        f"{'interrupted: ' if interrupted else ''}{called}: {read_to}, {result.n_tokens} wordpieces{cut} -> {folder / FILES['table']}"
    )
    return 130 if interrupted else 0


def _files(args: Namespace, stack: ExitStack) -> tuple[list[Path], Callable | None, int]:
    """The files of the corpus, what reads one, and how many texts they hold; no files where a recording is its own corpus."""
    from bertlook_course.corpora import iter_pairs, iter_texts

    if args.model.startswith(common.RECORDED) and not (args.texts or args.pairs):
        return [], None, 0
    paths = common.files_of(args.texts or args.pairs or [data_path("texts", "paragraphs.txt")], stack)
    read = partial(iter_texts if args.texts else iter_pairs, on_error=args.on_error)
    return paths, read, sum(1 for path in paths for _ in read(path))  # says early what is wrong with a file


def _corpus(encoder, paths: list[Path], read: Callable | None, total: int) -> tuple[dict, str, Iterable, int]:
    """What tells the corpus from others, what it is called, its texts, and how many."""
    if not paths:
        return {"corpus_sha256": encoder.fingerprint}, encoder.badge, encoder.texts, len(encoder)
    texts = (item for path in paths for item in read(path))
    return {"corpus_sha256": checksum(paths)}, ", ".join(path.name for path in paths), texts, total


def _say_what_was_recorded(recording: Recording) -> None:
    pairs = sum(isinstance(text, tuple) for text in recording.texts)
    print(
        f"{recording.badge}: {len(recording) - pairs} single texts and {pairs} pairs. Examples are not a sample of texts: an interval speaks of inputs "
        "like these. No random twin stands beside them.",
        file=sys.stderr,
    )


def _said_precision(args: Namespace, encoder, paths: list[Path], read: Callable) -> dict:
    """By how much products in half precision change the measures of the first texts; it is said."""
    if isinstance(encoder, Recording):
        raise ValueError(  # noqa: TRY004 - the options do not go together
            "--precision is of a model that computes; a recording holds its maps as they are."
        )
    few = [item for path in paths[:1] for item in islice(read(path), COMPARED)]
    options = {"segments": args.segments, "truncate": args.truncate, "batch_size": args.batch_size}
    error = precision_error(encoder, few, args.precision, **options)
    print(precision_sentence(error), file=sys.stderr)
    return error


def _measured(result: Profile, done: int, work: chunks.Run, measured: Iterable[dict]) -> bool:
    """Take what is measured into the result, and its sum to disk now and then; whether Ctrl-C stopped it."""
    skipped, last = result.about["skipped"], time.monotonic()
    try:
        for chunk in measured:
            if chunk["n_tokens"]:
                result.add_many(chunk["values"], chunk["n_tokens"], chunk["truncated"])
            skipped += [f"text {done * chunks.CHUNK + place + 1}: {why}" for place, why in chunk["skipped"]]
            done += 1
            if result.n and time.monotonic() - last >= KEEP_EVERY:
                _fold(result, work, done)
                last = time.monotonic()
    except KeyboardInterrupt:
        return True
    return False


def _folded(kept: Path) -> tuple[Profile, int]:
    """The sum of the first chunks that an earlier run has kept, and how many they are."""
    for path in sorted(kept.glob("sum-*.npz"), reverse=True):
        with suppress(OSError, ValueError, LookupError, TypeError):
            file = load_arrays(path)
            rest = parse_json(str(file["rest"]))
            sums = {name: file[f"sum_{name}"] for name in rest.pop("measures")}
            return Profile(sums=sums, counts=file["counts"], **rest), int(path.stem.partition("-")[2])
    return Profile(), 0


def _fold(result: Profile, work: chunks.Run, done: int) -> None:
    """Write the sum of the chunks so far, then take the chunks away: a kill in between leaves both, and the sum counts.

    Not `Profile.save`: its intervals would take memory in the middle of a run, beside that of the next batch.
    """
    older = list(work.kept.glob("sum-*.npz"))
    rest = {name: getattr(result, name) for name in ("about", "n_tokens", "n_truncated", "measures")}
    with replacing(work.kept / f"sum-{done:07}.npz", "wb") as file:
        sums = {f"sum_{name}": value for name, value in result.sums.items()}
        np.savez(file, rest=json.dumps(rest), counts=result.counts, **sums)
    for path in older:
        path.unlink()
    work.forget("", before=done)
