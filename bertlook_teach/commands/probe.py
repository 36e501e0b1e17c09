"""``bertlook probe``: trees read from all heads together, beside every control, on any treebank."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path

from ..analyses.probing import (
    L2_CHOICES,
    NEGATIVES,
    NOT_CONVERGED,
    SEEDS,
    WORD_L2_CHOICES,
    choose_l2,
    control_task,
    distance_rule,
    evaluate,
    evaluate_lead,
    fit_attention_probe,
    fit_distance_probe,
    fit_pair_probe,
    fit_word_probe,
    how_it_ended,
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
        "right-branching, distances and words (three seeds), the random twin and a made-up grammar beside them. Penalties and numbers of epochs "
        "are chosen on a quarter of the documents that are fitted on. Writes probe.csv and probe.json.",
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
    rows = [{"probe": name, "fit": "", **step()} for name, step in common.bar(args, "probes", "probe")(steps)]
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
    lines = (
        [r["probe"], r["measure"], with_interval(r["value"], r["low"], r["high"]), r["n"], r["fit"]]
        for r in rows
    )
    print(align([["probe", "measure", "value [95 %]", "n", "fit"], *lines]))
    if unfinished := [r["probe"] for r in rows if NOT_CONVERGED in r["fit"]]:
        print(
            f"Not converged, so their numbers may still change: {'; '.join(unfinished)}. More sentences help, or in Python a larger "
            "max_iterations or a stronger penalty (l2)."
        )
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

    def scored(probes: Callable[[], list], test, **options):
        def work() -> dict:
            fitted = probes()
            return uas([probe.predict for probe in fitted], test, **options) | {"fit": _ended(fitted)}

        return work

    def ahead(probes: Callable[[], list], others: Callable[[], list]):
        def work() -> dict:
            lead = evaluate_lead(*([probe.predict for probe in part()] for part in (probes, others)), test)
            ends = common.columns(lead, "low high")
            return {"measure": "UAS, difference", "value": lead.difference, **ends, "n": lead.n_words}

        return work

    def tuned(fit, train, choices):
        """``fit`` with the penalty that is best on documents left out of ``train``: sentences -> the probe, made when first asked for."""
        l2 = cache(lambda: choose_l2(fit, train, choices))
        return lambda sentences, **options: cache(lambda: [fit(sentences, l2=l2(), **options)])

    only = tuned(fit_attention_probe, train, L2_CHOICES)
    twin_only = tuned(fit_attention_probe, twin_train, L2_CHOICES)
    heads, made_up, made_up_test = only(train), control_task(train), control_task(test)
    yield "right-branching", lambda: uas(right_branching, test)
    yield "attention only", scored(heads, test)
    yield "attention only, punctuation too", scored(heads, test, punctuation=True)
    yield "attention only, random twin", scored(twin_only(twin_train), twin_test)
    yield "attention only, made-up grammar", scored(only(made_up), made_up_test)
    if vectors is not None:
        (random_train, random_test), fit_words = mixed, partial(fit_word_probe, vectors=vectors)
        words = tuned(fit_words, train, WORD_L2_CHOICES)
        random = tuned(fit_words, random_train, WORD_L2_CHOICES)(random_train)
        both, shifted = words(train), words(train, shifted=True)
        rival = cache(lambda: [fit_distance_probe(train, vectors, seed=seed) for seed in SEEDS])
        yield "distances and words", scored(rival, test)
        yield "attention and words", scored(both, test)
        yield "attention only minus distances and words", ahead(heads, rival)
        yield "attention and words minus distances and words", ahead(both, rival)
        yield "attention and words, ROOT shifted as released", scored(shifted, test)
        yield "attention and words, random attention", scored(random, random_test)
        yield "attention and words, made-up grammar", scored(words(made_up), made_up_test)
    for negatives in NEGATIVES:
        yield f"pairs, {negatives}: distance rule", _pairs(train, test, negatives, distance_rule)
        yield f"pairs, {negatives}: all heads", _pairs(train, test, negatives, fit_pair_probe)
        yield (
            f"pairs, {negatives}: all heads, random twin",
            _pairs(twin_train, twin_test, negatives, fit_pair_probe),
        )


def _ended(fitted: list) -> str:
    return "; ".join(how_it_ended(probe) for probe in fitted)


def _pairs(train, test, negatives, fit) -> Callable[[], dict]:
    def work() -> dict:
        predict = fit(sample_pairs(train, negatives=negatives))
        score = pair_accuracy(predict, sample_pairs(test, negatives=negatives, seed=1))
        found = {"measure": "accuracy", "value": score.accuracy, **common.columns(score, "low high")}
        return found | {"n": score.n_pairs, "fit": _ended([predict]) if hasattr(predict, "converged") else ""}

    return work
