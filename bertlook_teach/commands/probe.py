"""``bertlook probe``: trees read from all heads together, beside every control, on any treebank."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from ..analyses.probing import (
    NEGATIVES,
    control_task,
    distance_rule,
    evaluate,
    fit_attention_probe,
    fit_distance_probe,
    fit_pair_probe,
    fit_word_probe,
    input_vectors,
    pair_accuracy,
    read_features,
    read_word_vectors,
    right_branching,
    sample_pairs,
)
from ..corpora import halves_by_document
from ..disk import align, claim_folder, save_rows, with_interval
from ..model import check_reading
from . import common


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``bertlook probe``."""
    common.describe(
        parser,
        "How much of a dependency tree can be read from the attention of all heads together? Fits the probes of Clark et al. (2019), "
        "section 5, and the pairwise probe of Coenen et al. (2019) on every second document and scores them on the others, with "
        "right-branching, distances and words, the random twin and a made-up grammar beside them. Writes probe.csv and probe.json.",
        "probe --model bert-base-uncased --data my.conllu --out result",
    )
    common.add_model(parser)
    common.add_treebank(parser)
    common.add_out(parser)
    vectors = "word vectors in GloVe's text format (default: the model's own input embeddings)"
    parser.add_argument("--vectors", metavar="FILE", help=vectors)
    parser.add_argument(
        "--no-words", action="store_true", help="leave out the probes with words, which take longest"
    )
    common.add_device(parser, batch_size=32)


def run(args: Namespace) -> int:
    """``bertlook probe``: returns the exit code."""
    from ..model import load_encoder, random_twin

    common.at_least(args, limit=(8, "eight sentences, four for each half"))
    folder = claim_folder(args.out)
    sentences, files = common.read_treebank(args)
    encoder = load_encoder(args.model, device=args.device)
    vectors = None
    if not args.no_words:
        vectors = read_word_vectors(args.vectors) if args.vectors else input_vectors(encoder)

    readable = [s for s in sentences if not check_reading(encoder, s.words).obstacle]
    halves = halves_by_document(readable)

    def features(model) -> tuple[list, list]:
        progress = common.bar(args, model.name, "sentence")
        read = partial(read_features, model, batch_size=args.batch_size, progress=progress)
        return read(halves[0]), read(halves[1])

    own, twin = features(encoder), features(random_twin(encoder))
    mixed = None if vectors is None else features(random_twin(encoder, keep_embeddings=True))
    steps = list(_steps(own, twin, mixed, vectors))
    rows = [{"probe": name, **step()} for name, step in common.bar(args, "probes", "probe")(steps)]
    words = Path(args.vectors).name if args.vectors else "input embeddings"
    about = common.about(
        encoder,
        {
            "treebank": files["treebank"],
            "n_train": len(own[0]),
            "n_test": len(own[1]),
            "n_skipped": len(sentences) - len(readable),
            "broken": files["broken"],
            "word vectors": None if vectors is None else words,
            "protocol": "fitted on every second document, scored on the others; 95 % bootstrap over documents, or over sentences where fewer than 20 are scored",
        },
    )
    print(
        f"{encoder.name}, {about['n_train']} sentences to fit, {about['n_test']} to score; {about['protocol']}."
    )
    lines = ([r["probe"], r["measure"], with_interval(r["value"], r["low"], r["high"]), r["n"]] for r in rows)
    print(align([["probe", "measure", "value [95 %]", "n"], *lines]))
    if about["n_skipped"]:
        print(
            f"{about['n_skipped']} sentences left out: the model cannot read them whole ({encoder.max_tokens} wordpieces at most)."
        )
    print(save_rows(folder, "probe", rows, about))
    return 0


def _steps(own, twin, mixed, vectors) -> Iterable[tuple[str, Callable[[], dict]]]:
    """Each row's name, and the work that gives it. ``mixed``: a random twin that keeps the trained input embeddings."""
    (train, test), (twin_train, twin_test) = own, twin

    def uas(predict, sentences, **options) -> dict:
        score = evaluate(predict, sentences, **options)
        return {"measure": "UAS", "value": score.uas, **common.columns(score, "low high"), "n": score.n_words}

    def fitted(fit, train, test, **options):
        return lambda: uas(fit(train).predict, test, **options)

    yield "right-branching", lambda: uas(right_branching, test)
    yield "attention only", fitted(fit_attention_probe, train, test)
    yield (
        "attention only, punctuation too",
        fitted(fit_attention_probe, train, test, punctuation=True),
    )
    yield "attention only, random twin", fitted(fit_attention_probe, twin_train, twin_test)
    yield (
        "attention only, made-up grammar",
        fitted(fit_attention_probe, control_task(train), control_task(test)),
    )
    if vectors is not None:
        words = partial(fit_word_probe, vectors=vectors)
        yield "distances and words", fitted(partial(fit_distance_probe, vectors=vectors), train, test)
        yield "attention and words", fitted(words, train, test)
        yield (
            "attention and words, ROOT shifted as released",
            fitted(partial(words, shifted=True), train, test),
        )
        yield "attention and words, random attention", fitted(words, *mixed)
        yield "attention and words, made-up grammar", fitted(words, control_task(train), control_task(test))
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
        found = {"measure": "accuracy", "value": score.accuracy, **common.columns(score, "low high")}
        return found | {"n": score.n_pairs}

    return work
