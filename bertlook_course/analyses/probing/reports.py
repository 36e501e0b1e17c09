"""Trees read from all heads together, beside every control."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import cache, partial
from pathlib import Path

from bertlook_teach.model import check_reading, random_twin

from ...corpora import TreebankSentence, halves_by_document
from ...storage import IN_PLACE, Report, Work, about, attributes, interval, tabulate
from .attachment import control_task, evaluate, evaluate_lead, right_branching
from .attention_probes import (
    L2_CHOICES,
    SEEDS,
    WORD_L2_CHOICES,
    choose_l2,
    fit_attention_probe,
    fit_distance_probe,
    fit_word_probe,
)
from .pairwise import NEGATIVES, distance_rule, fit_pair_probe, pair_accuracy, sample_pairs
from .probe_inputs import NOT_CONVERGED, how_it_ended, input_vectors, read_features, read_word_vectors


def report(
    encoder,
    sentences: Collection[TreebankSentence],
    *,
    twin=None,
    vectors: Path | None = None,
    words: bool = True,
    batch_size: int = 32,
    work: Work = IN_PLACE,
) -> Report:
    """How much of a dependency tree can be read from the attention of all heads together?

    Fits the probes of Clark et al. (2019), section 5, and the pairwise probe of Coenen et al. (2019) on
    every second document and scores them on the others, with right-branching, distances and words (three
    seeds), the random twin and a made-up grammar beside them. Penalties and numbers of epochs are chosen on
    a quarter of the documents that are fitted on.

    Parameters
    ----------
    encoder, twin : encoder
    sentences : list of TreebankSentence
    vectors : path, optional
        Word vectors in GloVe's text format (default: the model's own input embeddings).
    words : bool
        The probes with words, which take longest.
    batch_size, work
        As of every report; see `bertlook_course.storage.Report`.

    Returns
    -------
    Report
        With one table, ``probe``: a row for each probe.

    Raises
    ------
    ValueError
        If the vectors cannot be read, or the sentences cannot be halved.
    """
    readable = [s for s in sentences if not check_reading(encoder, s.words).obstacle]
    halves = halves_by_document(readable)
    known = None
    if words:
        known = read_word_vectors(vectors) if vectors else input_vectors(encoder)

    def features(model) -> tuple[list, list] | None:
        read = partial(read_features, model, batch_size=batch_size, progress=work.bar(model.name, "sentence"))
        return read(halves[0]), read(halves[1])

    own = features(encoder)
    of_twin = None if twin is None else features(twin)
    mixed = features(random_twin(encoder, keep_embeddings=True)) if words and twin is not None else None
    steps = list(_steps(own, of_twin, mixed, known))
    rows = [{"probe": name, "fit": "", **step()} for name, step in work.bar("probes", "probe")(steps)]
    said = {
        "n_train": len(own[0]),
        "n_test": len(own[1]),
        "n_skipped": len(sentences) - len(readable),
        "word vectors": (Path(vectors).name if vectors else "input embeddings") if words else None,
        "protocol": "fitted on every second document, scored on the others; 95 % bootstrap over documents, or over sentences where fewer than 20 are scored",
    }
    text = [
        f"{encoder.name}, {said['n_train']} sentences to fit, {said['n_test']} to score; {said['protocol']}.",
        tabulate(
            rows,
            {
                "probe": "probe",
                "measure": "measure",
                "value [95 %]": interval(value="value"),
                "n": "n",
                "fit": "fit",
            },
        ),
    ]
    if unfinished := [row["probe"] for row in rows if NOT_CONVERGED in row["fit"]]:
        text.append(
            f"Not converged, so their numbers may still change: {'; '.join(unfinished)}. More sentences help, or in Python a larger "
            "max_iterations or a stronger penalty (l2)."
        )
    if said["n_skipped"]:
        text.append(
            f"{said['n_skipped']} sentences left out: the model cannot read them whole ({encoder.max_tokens} wordpieces at most)."
        )
    return Report("\n".join(text), {"probe": rows}, about(encoder, said))


def _steps(own, twin, mixed, vectors) -> Iterable[tuple[str, Callable[[], dict]]]:
    """Each row's name, and the work that gives it. ``mixed``: a random twin that keeps the trained input embeddings."""
    train, test = own

    def uas(predict, sentences, **options) -> dict:
        score = evaluate(predict, sentences, **options)
        return {"measure": "UAS", "value": score.uas, **attributes(score, "low high"), "n": score.n_words}

    def scored(probes: Callable[[], list], test, **options):
        def work() -> dict:
            fitted = probes()
            return uas([probe.predict for probe in fitted], test, **options) | {"fit": _ended(fitted)}

        return work

    def ahead(probes: Callable[[], list], others: Callable[[], list]):
        def work() -> dict:
            lead = evaluate_lead(*([probe.predict for probe in part()] for part in (probes, others)), test)
            ends = attributes(lead, "low high")
            return {"measure": "UAS, difference", "value": lead.difference, **ends, "n": lead.n_words}

        return work

    def tuned(fit, train, choices):
        """``fit`` with the penalty that is best on documents left out of ``train``: sentences -> the probe, made when first asked for."""
        l2 = cache(lambda: choose_l2(fit, train, choices))
        return lambda sentences, **options: cache(lambda: [fit(sentences, l2=l2(), **options)])

    only = tuned(fit_attention_probe, train, L2_CHOICES)
    heads, made_up, made_up_test = only(train), control_task(train), control_task(test)
    yield "right-branching", lambda: uas(right_branching, test)
    yield "attention only", scored(heads, test)
    yield "attention only, punctuation too", scored(heads, test, punctuation=True)
    if twin is not None:
        twin_train, twin_test = twin
        twin_only = tuned(fit_attention_probe, twin_train, L2_CHOICES)
        yield "attention only, random twin", scored(twin_only(twin_train), twin_test)
    yield "attention only, made-up grammar", scored(only(made_up), made_up_test)
    if vectors is not None:
        fit_words = partial(fit_word_probe, vectors=vectors)
        words = tuned(fit_words, train, WORD_L2_CHOICES)
        both, shifted = words(train), words(train, shifted=True)
        rival = cache(lambda: [fit_distance_probe(train, vectors, seed=seed) for seed in SEEDS])
        yield "distances and words", scored(rival, test)
        yield "attention and words", scored(both, test)
        yield "attention only minus distances and words", ahead(heads, rival)
        yield "attention and words minus distances and words", ahead(both, rival)
        yield "attention and words, ROOT shifted as released", scored(shifted, test)
        if mixed is not None:
            random_train, random_test = mixed
            random = tuned(fit_words, random_train, WORD_L2_CHOICES)(random_train)
            yield "attention and words, random attention", scored(random, random_test)
        yield "attention and words, made-up grammar", scored(words(made_up), made_up_test)
    for negatives in NEGATIVES:
        yield f"pairs, {negatives}: distance rule", _pairs(train, test, negatives, distance_rule)
        yield f"pairs, {negatives}: all heads", _pairs(train, test, negatives, fit_pair_probe)
        if twin is not None:
            name = f"pairs, {negatives}: all heads, random twin"
            yield name, _pairs(twin_train, twin_test, negatives, fit_pair_probe)


def _ended(fitted: list) -> str:
    return "; ".join(how_it_ended(probe) for probe in fitted)


def _pairs(train, test, negatives, fit) -> Callable[[], dict]:
    def work() -> dict:
        predict = fit(sample_pairs(train, negatives=negatives))
        score = pair_accuracy(predict, sample_pairs(test, negatives=negatives, seed=1))
        found = {"measure": "accuracy", "value": score.accuracy, **attributes(score, "low high")}
        return found | {"n": score.n_pairs, "fit": _ended([predict]) if hasattr(predict, "converged") else ""}

    return work
