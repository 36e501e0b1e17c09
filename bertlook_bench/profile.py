"""``bertlook profile``: measure every head over a corpus."""

from __future__ import annotations

import json
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from bertlook_course.storage import attributes, checksum, claim_folder
from bertlook_teach import __version__
from bertlook_teach.disk import load_arrays, parse_json, replacing
from bertlook_teach.measures import FILES, Profile, surface_measures
from bertlook_teach.model import PRECISIONS, array_namespace
from bertlook_teach.stats import CONFIDENCE, REPLICATES

from . import chunks, common

FULL = 128  # wordpieces of an input up to which a batch is full; of longer ones fewer share it, so that 512 need no more memory

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
    from bertlook_course.corpora import iter_pairs, iter_texts
    from bertlook_teach.disk import data_path
    from bertlook_teach.model import Recording

    folder = claim_folder(args.out)
    about, own = {}, args.model.startswith(common.RECORDED) and not (args.texts or args.pairs)
    if not own:
        paths = common.files_of(args.texts or args.pairs or [data_path("texts", "paragraphs.txt")], stack)
        read = partial(iter_texts if args.texts else iter_pairs, on_error=args.on_error)
        name, corpus = ", ".join(path.name for path in paths), (item for path in paths for item in read(path))
        total = sum(1 for path in paths for _ in read(path))  # says early what is wrong with a file
    encoder = common.load_model(args.model, args.device)
    if own:  # what it was recorded on
        name, corpus, total = encoder.badge, encoder.texts, len(encoder)
        about["corpus_sha256"] = encoder.fingerprint
    else:
        about["corpus_sha256"] = checksum(paths)
    called = encoder.name
    if isinstance(encoder, Recording):
        about["recorded"], called = encoder.note, encoder.badge
        if own:
            pairs = sum(isinstance(text, tuple) for text in encoder.texts)
            print(
                f"{encoder.badge}: {len(encoder) - pairs} single texts and {pairs} pairs. Examples are not a sample of texts: an interval speaks of inputs "
                "like these. No random twin stands beside them.",
                file=sys.stderr,
            )
    options = {"segments": args.segments, "truncate": args.truncate}
    about |= {"on_error": args.on_error, **options}
    same = {"command": "profile", **about, "model": encoder.name, "fingerprint": encoder.fingerprint}
    same["precision"] = args.precision
    if args.precision != "float32":
        if isinstance(encoder, Recording):
            raise ValueError(
                "--precision is of a model that computes; a recording holds its maps as they are."
            )
        few = [item for path in paths[:1] for item in islice(read(path), COMPARED)]
        error = precision_error(encoder, few, args.precision, batch_size=args.batch_size, **options)
        print(said_of(error), file=sys.stderr)
        about["precision"] = error
    options["precision"] = args.precision
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
    interrupted, last = False, time.monotonic()
    try:
        for chunk in work.results(
            measure_chunk,
            chunks.Model.of(args, encoder),
            corpus,
            total=total,
            begin=done,
            skip=args.on_error == "skip",
            batch_size=args.batch_size,
            **options,
        ):
            if chunk["n_tokens"]:
                result.add_many(chunk["values"], chunk["n_tokens"], chunk["truncated"])
            skipped += [f"text {done * chunks.CHUNK + place + 1}: {why}" for place, why in chunk["skipped"]]
            done += 1
            if result.n and time.monotonic() - last >= KEEP_EVERY:
                _fold(result, work, done)
                last = time.monotonic()
    except KeyboardInterrupt:
        interrupted = True
        if not result.n:
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
    print(
        f"{'interrupted: ' if interrupted else ''}{called}: {read_to}, {result.n_tokens} wordpieces{cut} -> {folder / FILES['table']}"
    )
    return 130 if interrupted else 0


def measure_chunk(
    encoder, items: Sequence, *, skip: bool, batch_size: int, precision: str = "float32", **options
) -> dict:
    """Every measure of every head for each input, in their order; inputs that cannot be read are named, if they are to be skipped.

    Where torch computes, maps are measured on its device, and one number for each head, measure and input comes back.

    Raises
    ------
    ValueError
        At the first input that cannot be read, with its number in the chunk.
    """
    from bertlook_teach.model import Recording, iter_attention, read

    reading = encoder.recall if isinstance(encoder, Recording) else partial(read, encoder)
    skipped, usable, lengths, truncated = [], [], [], []
    for place, item in enumerate(items):
        try:
            found = reading(item, **options)
        except ValueError as error:
            if not skip:
                raise ValueError(f"item {place} of the corpus: {error}") from None
            skipped.append((place, str(error).splitlines()[0]))
        else:
            usable.append(item)
            lengths.append(found.n_tokens)
            truncated.append(found.truncated)
    if precision != "float32":
        encoder.model  # noqa: B018 - asked for, it computes from here on
    on_device = getattr(encoder, "engine", encoder) is None
    values: list = [None] * len(usable)
    measures = surface_measures()
    for batch in batches(lengths, batch_size):
        given = {"batch_size": len(batch), "precision": precision if on_device else None, **options}
        for i, attention in zip(batch, iter_attention(encoder, [usable[i] for i in batch], **given)):
            values[i] = [function(attention) for function in measures.values()]
            if on_device:
                values[i] = array_namespace(*values[i]).stack(values[i])
    if on_device and values:
        values = array_namespace(*values).stack(values).cpu().numpy()
    return {
        "values": {name: np.stack(column) for name, column in zip(measures, zip(*values))},
        "n_tokens": lengths,
        "truncated": truncated,
        "skipped": skipped,
    }


def batches(lengths: Sequence[int], batch_size: int) -> Iterator[list[int]]:
    """Numbers of inputs, like lengths together: little padding, and at most so many places of maps as ``batch_size`` inputs of `FULL` wordpieces have.

    >>> list(batches([512, 100, 512, 100, 100], 2))
    [[1, 3], [4], [0], [2]]
    """
    batch: list[int] = []
    for i in np.argsort(lengths, kind="stable").tolist():
        if batch and len(batch) >= min(batch_size, batch_size * FULL**2 // lengths[i] ** 2):
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def precision_error(encoder, items: Sequence, precision: str, **options) -> dict:
    """By how much products in half precision change each measure: the largest change of a number of one input and head, and of a head's mean."""
    half, single = (
        measure_chunk(encoder, items, skip=True, precision=kind, **options)["values"]
        for kind in (precision, "float32")
    )
    changed = {name: np.asarray(half[name], float) - single[name] for name in half}
    return {
        "products": precision,
        "inputs": max(map(len, changed.values()), default=0),
        "largest_change": {name: float(abs(change).max()) for name, change in changed.items()},
        "largest_change_of_a_mean": {
            name: float(abs(change.mean(axis=0)).max()) for name, change in changed.items()
        },
    }


def said_of(error: Mapping) -> str:
    """The measure that half precision changes most, in words."""
    parts = []
    for what, of in (
        ("largest_change", "of one text"),
        ("largest_change_of_a_mean", "in the mean of a head"),
    ):
        worst = max(error[what], key=error[what].get, default=None)
        if worst:
            parts.append(f"{error[what][worst]:.2g} {of} ({worst})")
    texts = f"{error['inputs']} texts" if error["inputs"] != 1 else "text"
    return (
        f"products in {error['products']} change the measures of the first {texts} by at most {', '.join(parts) or 'nothing'}; "
        f"{FILES['about']} has all of them."
    )


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
