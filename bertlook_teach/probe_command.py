"""``bertlook probe``: trees read from all heads together, beside every control, on any treebank."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from pathlib import Path

from . import __version__, probes
from .attention import check_reading
from .corpora import ON_ERROR, SkippedSentence, iter_conllu
from .pairwise import NEGATIVES, distance_rule, fit_pair_probe, pair_accuracy, sample_pairs
from .profile import writable_folder
from .report import align, save_rows, with_interval

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``bertlook probe``."""
    parser.description = (
        "How much of a dependency tree can be read from the attention of all heads together? Fits the probes of Clark et al. (2019), "
        "section 5, and the pairwise probe of Coenen et al. (2019) on every second document and scores them on the others, with "
        "right-branching, distances and words, the random twin and a made-up grammar beside them. Writes probe.csv and probe.json."
    )
    add = parser.add_argument
    add(
        "--model",
        default="specimen",
        help="specimen, specimen-random, a hub name or a folder (default: specimen)",
    )
    add("--treebank", metavar="FILE", nargs="+", help="CoNLL-U, .gz too (default: the shipped treebank)")
    add("--out", metavar="DIR", required=True, help="folder for the result")
    add("--vectors", metavar="FILE", help="word vectors in GloVe's text format (default: the model's own input embeddings)")  # fmt: skip
    add("--no-words", action="store_true", help="leave out the probes with words, which take longest")
    add("--on-error", choices=ON_ERROR, default="stop", help="a broken sentence: stop, or skip and count it (default: stop)")  # fmt: skip
    add("--limit", type=int, metavar="N", help="use only the first N sentences")
    add("--batch-size", type=int, default=32, metavar="N")
    add("--device", default="auto", help="auto, cpu, cuda, mps (default: auto)")
    add("--quiet", action="store_true", help="no progress bar")


def run(args: argparse.Namespace) -> int:
    """``bertlook probe``: returns the exit code."""
    from tqdm import tqdm

    from ._paths import data_path
    from .encoder import load_encoder, random_twin

    if args.limit is not None and args.limit < 8:
        raise ValueError(f"--limit needs at least eight sentences, four for each half; got {args.limit}.")
    folder = writable_folder(args.out)
    paths = [Path(p) for p in args.treebank or [data_path("treebank", "treebank.conllu")]]
    broken: list[SkippedSentence] = []
    sentences = list(
        islice((s for p in paths for s in iter_conllu(p, on_error=args.on_error, skipped=broken)), args.limit)
    )
    for skipped in broken[:10]:
        print(f"left out: {skipped}", file=sys.stderr)
    encoder = load_encoder(args.model, device=args.device)
    vectors = None
    if not args.no_words:
        vectors = probes.read_word_vectors(args.vectors) if args.vectors else probes.input_vectors(encoder)

    readable = [s for s in sentences if not check_reading(encoder, s.words).obstacle]
    halves = probes.halves_by_document(readable)

    def features(model) -> tuple[list, list]:
        bar = partial(tqdm, desc=model.name, unit="sentence", disable=args.quiet, file=sys.stderr)
        read = partial(probes.read_features, model, batch_size=args.batch_size, progress=bar)
        return read(halves[0]), read(halves[1])

    own, twin = features(encoder), features(random_twin(encoder))
    mixed = None if vectors is None else features(random_twin(encoder, keep_embeddings=True))
    steps = list(_steps(own, twin, mixed, vectors))
    rows = []
    for name, step in tqdm(steps, desc="probes", unit="probe", disable=args.quiet, file=sys.stderr):
        rows.append({"probe": name, **step()})
    about = {
        "model": encoder.name,
        "fingerprint": encoder.fingerprint,
        "treebank": [p.name for p in paths],
        "n_train": len(own[0]),
        "n_test": len(own[1]),
        "n_unread": len(sentences) - len(readable),
        "broken": [str(skipped) for skipped in broken],
        "word vectors": None
        if vectors is None
        else Path(args.vectors).name
        if args.vectors
        else "input embeddings",
        "protocol": "fitted on every second document, scored on the others; 95 % bootstrap over sentences",
        "version": __version__,
    }
    print(
        f"{encoder.name}, {about['n_train']} sentences to fit, {about['n_test']} to score; {about['protocol']}."
    )
    print(_format(rows))
    if about["n_unread"]:
        print(
            f"{about['n_unread']} sentences left out: the model cannot read them whole ({encoder.max_tokens} wordpieces at most)."
        )
    print(save_rows(folder, "probe", rows, about))
    return 0


def _steps(own, twin, mixed, vectors) -> Iterable[tuple[str, Callable[[], dict]]]:
    """Each row's name, and the work that gives it. ``mixed``: a random twin that keeps the trained input embeddings."""
    (train, test), (twin_train, twin_test) = own, twin

    def uas(predict, sentences, **options) -> dict:
        score = probes.evaluate(predict, sentences, **options)
        return {
            "measure": "UAS",
            "value": score.uas,
            "low": score.low,
            "high": score.high,
            "n": score.n_words,
        }

    def fitted(fit, train, test, **options):
        return lambda: uas(fit(train).predict, test, **options)

    yield "right-branching", lambda: uas(probes.right_branching, test)
    yield "attention only", fitted(probes.fit_attention_probe, train, test)
    yield (
        "attention only, punctuation too",
        fitted(probes.fit_attention_probe, train, test, punctuation=True),
    )
    yield "attention only, random twin", fitted(probes.fit_attention_probe, twin_train, twin_test)
    yield (
        "attention only, made-up grammar",
        fitted(probes.fit_attention_probe, probes.control_task(train), probes.control_task(test)),
    )
    if vectors is not None:
        words = partial(probes.fit_word_probe, vectors=vectors)
        yield "distances and words", fitted(partial(probes.fit_distance_probe, vectors=vectors), train, test)
        yield "attention and words", fitted(words, train, test)
        yield "attention and words, ROOT shifted as released", fitted(partial(words, shifted=True), train, test)  # fmt: skip
        yield "attention and words, random attention", fitted(words, *mixed)
        yield "attention and words, made-up grammar", fitted(words, probes.control_task(train), probes.control_task(test))  # fmt: skip
    for negatives in NEGATIVES:
        yield f"pairs, {negatives}: distance rule", _pairs(train, test, negatives, distance_rule)
        yield f"pairs, {negatives}: all heads", _pairs(train, test, negatives, fit_pair_probe)
        yield (
            f"pairs, {negatives}: all heads, random twin",
            _pairs(twin_train, twin_test, negatives, fit_pair_probe),
        )


def _pairs(train, test, negatives, fit) -> Callable[[], dict]:
    def work() -> dict:
        predict = fit(sample_pairs(train, negatives=negatives))
        score = pair_accuracy(predict, sample_pairs(test, negatives=negatives, seed=1))
        return {"measure": "accuracy", "value": score.accuracy, "low": score.low, "high": score.high, "n": score.n_pairs}  # fmt: skip

    return work


def _format(rows: list[dict]) -> str:
    lines = [["probe", "measure", "value [95 %]", "n"]]
    lines += [
        [row["probe"], row["measure"], with_interval(row["value"], row["low"], row["high"]), str(row["n"])]
        for row in rows
    ]
    return align(lines)
