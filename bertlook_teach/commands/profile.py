"""``bertlook profile``: measure every head over a corpus."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path

from .. import __version__
from ..disk import DAMAGED_ARCHIVE, claim_folder
from ..measures import FILES, Profile, profile_heads
from . import common

UNFINISHED = "unfinished"  # in the folder of the result, while a run lasts

WHOLE = "writing"

KEEP_EVERY = 60.0  # seconds


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``bertlook profile``."""
    common.describe(
        parser,
        "Measure every head of a model on a corpus (default: the shipped pairs): relative position, special tokens, entropy. "
        "Writes profile.csv (one row per head; each measure with its 95 % interval), profile.json and the sums needed to merge.",
        "profile --model bert-base-uncased --texts my.txt --out result",
        "Of a recording (--model recorded:NAME) the corpus is what was recorded, unless --texts or --pairs choose among it.",
        "A run that was stopped, by Ctrl-C or by force, is gone on with when it is started again with the same --out.",
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
    common.add_on_error(parser)
    common.add_truncate(parser, default=True)
    common.add_device(parser, batch_size=8)


def run(args: Namespace) -> int:
    """``bertlook profile``: returns the exit code; Ctrl-C keeps what was measured and returns 130."""
    from ..corpora import iter_pairs, iter_texts
    from ..disk import data_path
    from ..model import Recording

    folder = claim_folder(args.out)
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
        if own:
            pairs = sum(isinstance(text, tuple) for text in encoder.texts)
            print(
                f"{encoder.badge}: {len(encoder) - pairs} single texts and {pairs} pairs. Examples are not a sample of texts: an interval speaks of inputs "
                "like these. No random twin stands beside them.",
                file=sys.stderr,
            )
    options = {"segments": args.segments, "truncate": args.truncate}
    about |= {"on_error": args.on_error, **options}
    result, start = _unfinished(folder, {**about, "fingerprint": encoder.fingerprint})
    if start:
        print(f"going on at text {start + 1} of {total}, where an earlier run was stopped.", file=sys.stderr)
    inputs = _Inputs(
        encoder, corpus, start, result.about.get("skipped", []), args.on_error == "skip", options
    )
    inputs.measured = result.n
    result.about.update(about)
    interrupted = False
    try:
        profile_heads(
            encoder,
            inputs,
            **options,
            batch_size=args.batch_size,
            name=name,
            into=result,
            progress=lambda stream: common.bar(args, total=total - start)(
                _kept(stream, result, inputs, folder)
            ),
        )
    except ValueError as error:
        raise inputs.numbered(error) from None
    except KeyboardInterrupt:
        interrupted = True
        if not result.n:
            print("interrupted before the first text was measured; nothing written.", file=sys.stderr)
            return 130
        _keep(result, inputs, folder)
    result.about.update(complete=not interrupted, skipped=inputs.skipped_before(result.n))
    result.about.pop("read", None)
    whole = result.save(
        folder / WHOLE
    )  # first beside the result of an earlier run, which a full disk must not destroy
    for file in FILES.values():
        os.replace(whole / file, folder / file)
    whole.rmdir()
    if not interrupted:
        shutil.rmtree(folder / UNFINISHED, ignore_errors=True)
    common.say_skipped(result.about["skipped"], "texts")
    done = f"{result.n} of {total} texts" if interrupted else f"{result.n} texts"
    cut = f", {result.n_truncated} cut to {encoder.max_tokens} wordpieces" if result.n_truncated else ""
    print(
        f"{'interrupted: ' if interrupted else ''}{called}: {done}, {result.n_tokens} wordpieces{cut} -> {folder / FILES['table']}"
    )
    return 130 if interrupted else 0


class _Inputs:
    """The texts of a corpus from ``start`` on; those that cannot be read are left out and named, where that is wanted."""

    def __init__(
        self, encoder, corpus: Iterable, start: int, skipped: list[str], skipping: bool, options: dict
    ):
        self._encoder, self._corpus, self._start = encoder, corpus, start
        self._before, self._skipping, self._options = list(skipped), skipping, options
        self._skipped: list[tuple[int, str]] = []
        self._numbers: list[
            int
        ] = []  # of the texts that were handed on; a batch is ahead of what is measured
        self.measured = 0  # by earlier runs

    def numbered(self, error: ValueError) -> ValueError:
        """An error that counts the texts as the file does, and not from where this run began."""
        said = re.sub(r"^item (\d+) of", lambda found: f"item {self._numbers[int(found[1])]} of", str(error))
        return ValueError(said)

    def __iter__(self) -> Iterator:
        for number, item in enumerate(islice(self._corpus, self._start, None), self._start):
            reason = self._obstacle(item) if self._skipping else ""
            if reason:
                self._skipped.append((number, f"text {number + 1}: {reason}"))
            else:
                self._numbers.append(number)
                yield item

    def read_before(self, measured: int) -> int:
        """How many texts of the corpus lie before the next one to measure."""
        new = measured - self.measured
        return self._numbers[new - 1] + 1 if new else self._start

    def skipped_before(self, measured: int) -> list[str]:
        """The texts left out, those behind the last measured one only when all were read."""
        done = measured - self.measured == len(self._numbers)
        end = self.read_before(measured)
        return self._before + [reason for number, reason in self._skipped if done or number < end]

    def _obstacle(self, item) -> str:
        from ..model import Recording, read

        reading = (
            self._encoder.recall if isinstance(self._encoder, Recording) else partial(read, self._encoder)
        )
        try:
            reading(item, **self._options)
        except ValueError as error:
            return str(error).splitlines()[0]
        return ""


def _unfinished(folder: Path, same: dict) -> tuple[Profile, int]:
    """What an earlier run of the same model on the same texts had measured when it was stopped, and how many texts it had read."""
    try:
        found = Profile.load(folder / UNFINISHED)
    except (
        OSError,
        ValueError,
        LookupError,
        TypeError,
        *DAMAGED_ARCHIVE,
    ):  # none, or damaged: from the start
        return Profile(), 0
    if any(found.about.get(key) != value for key, value in {**same, "version": __version__}.items()):
        return Profile(), 0
    return found, found.about["read"]


def _kept(stream: Iterable, result: Profile, inputs: _Inputs, folder: Path) -> Iterator:
    """The stream; once a minute what is measured is written, so that a killed run can be gone on with."""
    last = time.monotonic()
    for attention in stream:
        yield attention
        if time.monotonic() - last >= KEEP_EVERY:
            _keep(result, inputs, folder)
            last = time.monotonic()


def _keep(result: Profile, inputs: _Inputs, folder: Path) -> None:
    result.about.update(read=inputs.read_before(result.n), skipped=inputs.skipped_before(result.n))
    result.save(folder / UNFINISHED)
