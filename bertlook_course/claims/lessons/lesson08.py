"""Lesson 08: what its deck shows and its claims are decided on: the probes, and what they get right.

Every second document of the treebank is fitted on, the others are scored. A statistic is a function of means over
inputs, so the collectors fit first and then give, for each sentence that is scored, how many words (or pairs) were
right and how many there are. What is to be chosen before a fit, a penalty or a number of epochs, is chosen on a quarter of the documents
that are fitted on. Between two of these stands an empty dict for a sentence that was fitted on: so the scored ones are
the inputs with odd index, which report, and nothing has to be chosen on others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ...analyses import probing
from ...analyses.probing import (
    NEGATIVES,
    SEEDS,
    AttachmentLead,
    AttachmentScore,
    AttentionProbe,
    PairScore,
    UndirectedScore,
    chain_edges,
    choose_l2,
    control_task,
    distance_rule,
    evaluate,
    evaluate_edges,
    evaluate_lead,
    fit_attention_probe,
    fit_distance_probe,
    fit_pair_probe,
    fit_structural_probe,
    fit_word_probe,
    how_it_ended,
    input_vectors,
    learning_curve,
    pair_accuracy,
    read_features,
    read_hidden_states,
    right_branching,
    sample_pairs,
)
from ...corpora import document_numbers, halves_by_document
from ...metrics import CannotDecide
from ...published import published_number
from ...storage import cached
from ..evidence import Evidence, Resources, evidence
from ..verdicts import FEWEST_REPORTING

L2_CHOICES, WORD_L2_CHOICES = probing.L2_CHOICES, probing.WORD_L2_CHOICES

DISTANCE_OPTIONS: dict = {}  # of the rival without attention: as strong as the package makes it

FEWEST = 8  # sentences in each half

N_SENTENCES = 240  # of the treebank in the lesson; the rest would double the time

SIZES = (5, 10, 30, 90)  # sentences of a learning curve, before all


@evidence("attention-probes", version=2, unit="documents")
def attention_probes(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """Attention-only probe, right-branching, the made-up grammar."""
    yield from attention_evidence(*read_halves(encoder, resources))


@evidence("word-probes", version=2, unit="documents")
def word_probes(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """Probes that know the words: with attention, with the released bug, with random attention, with distances."""
    from bertlook_teach.model import RANDOM_SEED, random_twin

    train, test = read_halves(encoder, resources)
    twin = random_twin(encoder, keep_embeddings=True)
    if twin.fingerprint == encoder.fingerprint:  # it is this very twin: another draw is its control
        twin = random_twin(encoder, seed=RANDOM_SEED + 1, keep_embeddings=True)
    yield from word_evidence(train, test, *read_halves(twin, resources), input_vectors(encoder))


@evidence("pair-probes", version=1, unit="documents")
def pair_probes(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """The pairwise probe and the distance rule, with both kinds of negatives."""
    yield from pair_evidence(*read_halves(encoder, resources))


EVIDENCE = {"attention-probes": attention_probes, "word-probes": word_probes, "pair-probes": pair_probes}


def read_halves(encoder, resources) -> tuple[list, list]:
    """Features of the sentences to fit on and to score.

    Raises
    ------
    CannotDecide
        If a half has fewer than eight sentences that the model can read whole.
    """
    halves = tuple(read_features(encoder, half) for half in halves_by_document(resources.treebank))
    if min(map(len, halves)) < FEWEST:
        raise CannotDecide(
            f"the probes need {FEWEST} sentences to fit on and {FEWEST} to score; there are {len(halves[0])} and {len(halves[1])}"
        )
    return halves


def attention_evidence(train, test) -> Iterator[dict[str, np.ndarray]]:
    """The same from features that were read before."""
    fit = attention_fit(train)
    probe, made_up = fit(train), fit(control_task(train))
    task = dict(zip(map(id, test), control_task(test)))
    predictors = {"attention": probe.predict, "right-branching": right_branching}
    rows = word_counts(predictors, test)
    for row, sentence in zip(rows, test, strict=True):
        made = task[id(sentence)]
        row["made-up right"] = np.float64((made_up.predict(made) == made.governors)[made.counted].sum())
    yield from _in_place(rows, test)


def word_evidence(
    train, test, twin_train, twin_test, vectors, fitted=None
) -> Iterator[dict[str, np.ndarray]]:
    """The same from features that were read before; ``fitted`` may hold what `fit_word_probes` gives."""
    fitted = fit_word_probes(train, twin_train, vectors) if fitted is None else fitted
    twins = dict(zip(map(id, test), twin_test))
    predictors = {name: predicts(probe) for name, probe in fitted.items() if name != "random"}
    predictors["right-branching"] = right_branching
    predictors["random"] = lambda sentence: fitted["random"].predict(twins[id(sentence)])
    yield from _in_place(word_counts(predictors, test), test)


def attention_fit(train) -> Callable:
    """The attention-only probe with the penalty that serves documents left out of ``train`` best: a function of sentences."""
    return partial(fit_attention_probe, l2=choose_l2(fit_attention_probe, train, L2_CHOICES))


def word_fit(train, vectors) -> Callable:
    """The same of the probe with words."""
    fit = partial(fit_word_probe, vectors=vectors)
    return partial(fit, l2=choose_l2(fit, train, WORD_L2_CHOICES))


def fit_word_probes(train, twin_train, vectors) -> dict:
    """Attention only, attention and words, the released shift, random attention and words; distances and words, one probe a seed."""
    words = word_fit(train, vectors)
    return {
        "attention": attention_fit(train)(train),
        "words": words(train),
        "shifted": words(train, shifted=True),
        "random": word_fit(twin_train, vectors)(twin_train),
        "distances": [fit_distance_probe(train, vectors, seed=seed, **DISTANCE_OPTIONS) for seed in SEEDS],
    }


def predicts(probe) -> Callable | list[Callable]:
    """What `evaluate` and `word_counts` take: of a probe fitted with several seeds a list."""
    return [one.predict for one in probe] if isinstance(probe, list) else probe.predict


def pair_evidence(train, test) -> Iterator[dict[str, np.ndarray]]:
    """The same from features that were read before."""
    counts: list[dict] = [{} for _ in test]
    for negatives in NEGATIVES:
        try:
            fit_on, score = (
                sample_pairs(part, negatives=negatives, seed=seed) for seed, part in enumerate((train, test))
            )
        except ValueError as reason:
            raise CannotDecide(str(reason)) from None
        for name, fit in (("probe", fit_pair_probe), ("rule", distance_rule)):
            right = np.asarray(fit(fit_on)(score)) == score.linked
            for number in np.unique(score.sentence):
                here = score.sentence == number
                counts[number][f"{negatives} {name}"] = np.float64(right[here].sum())
                counts[number][f"{negatives} pairs"] = np.float64(here.sum())
    yield from _in_place(counts, test)


def word_counts(
    predictors: Mapping[str, Callable | list[Callable]], test: Sequence
) -> list[dict[str, np.ndarray]]:
    """For each sentence the words that count, and how many of them each predictor gets right (of several seeds, on average)."""

    def right(predict, s) -> float:
        several = [predict] if callable(predict) else predict
        return np.mean([(np.asarray(one(s)) == s.governors)[s.counted].sum() for one in several])

    return [
        {"words": np.float64(s.counted.sum())}
        | {f"{name} right": right(predict, s) for name, predict in predictors.items()}
        for s in test
    ]


def _in_place(rows: Sequence[dict], test: Sequence) -> Iterator[dict]:
    """What was scored at odd places, nothing at even ones; summed over documents, where enough of them report."""
    units = document_numbers(test, FEWEST_REPORTING)
    for unit in range(units.max() + 1):
        total: dict = {}
        for number in np.flatnonzero(units == unit):
            for name, count in rows[number].items():
                total[name] = total.get(name, 0.0) + count
        yield {}
        yield total


# --- what the lesson shows -----------------------------------------------------------------------------
def table_3(name: str) -> float:
    """A number of Table 3 of Clark et al. (2019), in per cent."""
    return published_number("clark_table3_probes", name)


@dataclass(frozen=True, eq=False)
class Measured:
    """All that the lesson fits on the first sentences of the treebank, for a model and its random twin.

    Attributes
    ----------
    n_train, n_test : int
        Sentences.
    probe : AttentionProbe
        The model's.
    scores : dict of str -> AttachmentScore
        Right-branching, the five probes of `fit_word_probes`, and the controls: the twin's attention, made-up grammars.
    seeds : dict of int -> AttachmentScore
        Distances and words, seed by seed; ``scores`` has their mean.
    leads : dict of str -> AttachmentLead
        Of "attention only" and of "attention and words" over distances and words.
    fits : dict of str -> str
        How each fit ended: "converged", a number of epochs chosen on validation documents, or what it did not reach.
    with_punctuation : dict of str -> AttachmentScore
    curves : dict of str -> dict of int -> AttachmentScore
        After fitting on so many sentences.
    pairs : dict of negatives -> list of three PairScore
        The distance rule, all heads, the twin's heads.
    links : dict of str -> UndirectedScore
        Each word with the next, and structural probes of two layers.
    rows : dict of evidence -> (Evidence, Evidence)
        What the claims are decided on, of the model and of the twin.
    """

    n_train: int
    n_test: int
    probe: AttentionProbe
    scores: dict[str, AttachmentScore]
    seeds: dict[int, AttachmentScore]
    leads: dict[str, AttachmentLead]
    fits: dict[str, str]
    with_punctuation: dict[str, AttachmentScore]
    curves: dict[str, dict[int, AttachmentScore]]
    pairs: dict[str, list[PairScore]]
    links: dict[str, UndirectedScore]
    rows: dict[str, tuple[Evidence, Evidence]]

    def evidence(self, encoder) -> dict[str, Callable]:
        """For `bertlook_course.claims.decide`: the model's rows for ``encoder``, the twin's for any other."""
        return {
            name: lambda asked, resources, both=both: both[asked is not encoder].rows()
            for name, both in self.rows.items()
        }


def measured(encoder, twin) -> Measured:
    """What the lesson shows, for a model and its random twin; shipped for the specimen.

    Raises
    ------
    CannotDecide
        If a half has fewer than eight sentences that the model can read whole.
    """
    return cached("probes", (encoder, twin), lambda: _measure(encoder, twin), version=2)


def _pairs(train, test, twin_train, twin_test) -> tuple[dict, dict]:
    """For each way to draw pairs: accuracy of distances, heads, and the twin's heads; and the fits behind them."""
    pairs, of_pairs = {}, {}
    for negatives in NEGATIVES:
        fit_on, score_on, twin_on, twin_score = (
            sample_pairs(part, negatives=negatives, seed=seed)
            for part, seed in ((train, 0), (test, 1), (twin_train, 0), (twin_test, 1))
        )
        of_pairs[f"pairs, {negatives}"] = heads = fit_pair_probe(fit_on)
        of_pairs[f"pairs, {negatives}, twin"] = twin_heads = fit_pair_probe(twin_on)
        pairs[negatives] = [
            pair_accuracy(distance_rule(fit_on), score_on),
            pair_accuracy(heads, score_on),
            pair_accuracy(twin_heads, twin_score),
        ]
    return pairs, of_pairs


def _rows(own, twins, vectors, fitted, twin, resources) -> dict[str, tuple]:
    """What the claims rest on, of the model and of its twin."""
    from bertlook_teach.model import RANDOM_SEED, random_twin

    # The twin's own random control, for the claims.
    other = random_twin(twin, seed=RANDOM_SEED + 1, keep_embeddings=True)
    return {
        "attention-probes": (attention_evidence(*own[:2]), attention_evidence(*twins)),
        "pair-probes": (pair_evidence(*own[:2]), pair_evidence(*twins)),
        "word-probes": (
            word_evidence(*own, vectors, fitted),
            word_evidence(*twins, *read_halves(other, resources), input_vectors(twin)),
        ),
    }


def _curves(fit_only: Callable, fit_words: Callable, train, test) -> tuple[dict, dict]:
    """How both probes grow with the sentences they are fitted on; and all these fits."""
    sizes = [n for n in SIZES if n < len(train)] + [len(train)]
    fits: dict = {}

    def kept(name: str, fit: Callable) -> Callable:
        return lambda part: fits.setdefault(f"{name}, {len(part)} sentences", fit(part))

    curves = {
        "attention only": learning_curve(kept("attention only", fit_only), train, test, sizes),
        "attention and words": learning_curve(kept("attention and words", fit_words), train, test, sizes[1:]),
    }
    return curves, fits


def _measure(encoder, twin) -> Measured:
    from bertlook_teach.model import random_twin

    resources = Resources(limit=N_SENTENCES)
    with_words = random_twin(encoder, keep_embeddings=True)  # trained embeddings under random layers
    (train, test), (twin_train, twin_test) = read_halves(encoder, resources), read_halves(twin, resources)
    kept_train, kept_test = read_halves(with_words, resources)
    vectors = input_vectors(encoder)
    fitted = fit_word_probes(train, kept_train, vectors)
    only, words, rival = (predicts(fitted[name]) for name in ("attention", "words", "distances"))
    task = control_task(test)
    fit_only = partial(fit_attention_probe, l2=fitted["attention"].l2)
    fit_words = partial(fit_word_probe, vectors=vectors, l2=fitted["words"].l2)
    controls = {
        "twin's attention only": attention_fit(twin_train)(twin_train),
        "attention only, made up": fit_only(control_task(train)),
        "attention and words, made up": fit_words(control_task(train)),
    }
    asked = {"twin's attention only": twin_test}
    scores = {
        "right-branching": evaluate(right_branching, test),
        "distances and words": evaluate(rival, test),
        "random attention and words": evaluate(fitted["random"].predict, kept_test),
        "attention only": evaluate(only, test),
        "attention and words": evaluate(words, test),
        "shifted": evaluate(fitted["shifted"].predict, test),
    } | {name: evaluate(probe.predict, asked.get(name, task)) for name, probe in controls.items()}
    predictors = {"right-branching": right_branching, "attention only": only, "attention and words": words}
    curves, of_curves = _curves(fit_only, fit_words, train, test)
    pairs, of_pairs = _pairs(train, test, twin_train, twin_test)
    links, links_fits = _links(encoder, resources)
    own, twins = (train, test, kept_train, kept_test), (twin_train, twin_test)
    rows = _rows(own, twins, vectors, fitted, twin, resources)
    return Measured(
        n_train=len(train),
        n_test=len(test),
        probe=fitted["attention"],
        scores=scores,
        seeds={seed: evaluate(predict, test) for seed, predict in zip(SEEDS, rival)},
        leads={
            name: evaluate_lead(predict, rival, test)
            for name, predict in (("attention only", only), ("attention and words", words))
        },
        fits=fits_of(fitted | controls | of_curves | of_pairs) | links_fits,
        with_punctuation={
            name: evaluate(predict, test, punctuation=True) for name, predict in predictors.items()
        },
        curves=curves,
        pairs=pairs,
        links=links,
        rows={name: tuple(Evidence.of(name, part) for part in both) for name, both in rows.items()},
    )


def fits_of(fitted: Mapping) -> dict[str, str]:
    """How each fit ended, in words; of a probe with several seeds each of them."""
    found = {}
    for name, probe in fitted.items():
        if isinstance(probe, list):
            found |= {f"{name}, seed {seed}": how_it_ended(one) for seed, one in zip(SEEDS, probe)}
        else:
            found[name] = how_it_ended(probe)
    return found


def _links(encoder, resources) -> tuple[dict[str, UndirectedScore], dict[str, str]]:
    found, fits = {}, {}
    halves = halves_by_document(resources.treebank)
    for depth in (0, encoder.n_layers // 2):
        train, test = (read_hidden_states(encoder, half, depth) for half in halves)
        if not found:
            found["each word with the next"] = evaluate_edges(chain_edges, test)
        probe, name = fit_structural_probe(train), f"structural probe, layer {depth + 1}"
        found[name], fits[name] = evaluate_edges(probe.edges, test), how_it_ended(probe)
    return found, fits
