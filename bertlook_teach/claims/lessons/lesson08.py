"""Lesson 08: what all heads know together. Clark et al. (2019), section 5 and Table 3; Coenen et al. (2019), the pairwise probe."""

from __future__ import annotations

from collections.abc import Callable

from ...published import published_number
from ..claim import Claims
from ..collectors.lesson08 import (  # noqa: F401 - decks ask their lesson
    N_SENTENCES,
    attention_probes,
    measured,
    pair_probes,
    read_halves,
    word_probes,
)

CLARK, COENEN, COPIES = "Clark et al. 2019", "Coenen et al. 2019", "Popular accounts of Coenen et al. 2019"

WORTH_A_SENTENCE = 0.02  # a probe is better than another from two points on

CLEARLY = 0.1

CLOSE = 0.05  # a rule is close to a probe within five points


# --- statistics ----------------------------------------------------------------------------------------
def uas(values, name: str) -> float:
    """Right words by words; both are means over the same sentences."""
    return float(values[f"{name} right"] / values["words"])


def gain(name: str, over: str):
    """UAS of one predictor minus that of another."""
    return lambda values, choice=None: uas(values, name) - uas(values, over)


def accuracy(values, negatives: str, name: str) -> float:
    """Pairs answered rightly by pairs."""
    return float(values[f"{negatives} {name}"] / values[f"{negatives} pairs"])


# --- the claims ----------------------------------------------------------------------------------------
def table_3(name: str) -> float:
    """A number of Table 3, in per cent."""
    return published_number("clark_table3_probes", name)


def _against(name: str, other: str) -> dict:
    """One number of Table 3 minus another, as a share, and both in per cent: fields of a claim."""
    return {
        "published": lambda: f"{(table_3(name) - table_3(other)) / 100:+.2f}",
        "original": lambda: f"{table_3(name):.0f} against {table_3(other):.0f} %",
        "exactness": "D",
    }


def _coenen(quantity: str) -> Callable[[], str]:
    return lambda: f"{published_number('coenen_attention_probe', quantity) / 100:.3f}"


EVIDENCE = {"attention-probes": attention_probes, "word-probes": word_probes, "pair-probes": pair_probes}


claim = Claims("08", EVIDENCE, source=CLARK)


claim(
    key="attention-only",
    sentence="All heads together beat right-branching",
    section="5, Table 3",
    **_against("attention only", "right-branching"),
    operational="UAS of the attention-only probe minus that of right-branching, punctuation left out",
    refuted_if="the next word is as good, within two points",
    evidence="attention-probes",
    threshold=WORTH_A_SENTENCE,
    statistic=gain("attention", "right-branching"),
)
claim(
    key="substantial",
    sentence="Attention alone finds most governors",
    section="5, text",
    published=lambda: f"{table_3('attention only') / 100:.2f}",
    exactness="P",
    operational="UAS of the attention-only probe",
    refuted_if="it finds at most half",
    evidence="attention-probes",
    threshold=0.5,
    statistic=lambda values, choice=None: uas(values, "attention"),
)
claim(
    key="selective",
    sentence="It finds syntax better than a made-up grammar",
    source="Hewitt and Liang 2019",
    section="control tasks",
    operational="UAS of the attention-only probe minus its UAS on a made-up grammar",
    refuted_if="it learns a made-up grammar as well, within ten points",
    evidence="attention-probes",
    threshold=CLEARLY,
    statistic=gain("attention", "made-up"),
)
claim(
    key="words-help",
    sentence="With the words it finds more",
    section="5, Table 3",
    **_against("attention + GloVe", "attention only"),
    operational="UAS of attention and words minus that of attention only (words here: the model's input embeddings)",
    refuted_if="the words add at most two points",
    evidence="word-probes",
    threshold=WORTH_A_SENTENCE,
    statistic=gain("words", "attention"),
)
claim(
    key="words-alone",
    sentence="... and more than words and distances",
    section="5, Table 3",
    **_against("attention + GloVe", "distances + GloVe"),
    operational="UAS of attention and words minus that of distances and words, without attention",
    refuted_if="distances do as well, within two points",
    evidence="word-probes",
    threshold=WORTH_A_SENTENCE,
    statistic=gain("words", "distances"),
)
claim(
    key="attention-alone-distances",
    sentence="Attention alone beats words and distances",
    section="5, Table 3",
    **_against("attention only", "distances + GloVe"),
    operational="UAS of attention only minus that of distances and words",
    refuted_if="distances and words do as well, within two points",
    evidence="word-probes",
    threshold=WORTH_A_SENTENCE,
    statistic=gain("attention", "distances"),
)
claim(
    key="random-low",
    sentence="Random attention is far below trained attention",
    section="5, Table 3",
    **_against("attention + GloVe", "random-init attention + GloVe"),
    operational="UAS of attention and words minus the same with random layers over trained embeddings",
    refuted_if="random attention comes within ten points",
    evidence="word-probes",
    threshold=CLEARLY,
    statistic=gain("words", "random"),
)
claim(
    key="random-above-baseline",
    sentence="Random attention with words beats right-branching",
    section="5, Table 3",
    **_against("random-init attention + GloVe", "right-branching"),
    operational="UAS of random attention and words minus that of right-branching (about random layers, so a twin is not a control)",
    refuted_if="the next word is better by two points",
    evidence="word-probes",
    threshold=-WORTH_A_SENTENCE,
    control=False,
    statistic=gain("random", "right-branching"),
)
claim(
    key="shift",
    sentence="The released ROOT bug costs points",
    source="Users of the released code",
    section="issue tracker, reproduction on UD",
    published="about +0.03",
    exactness="S",
    operational="UAS of attention and words minus the same with every candidate's word vector one place off, as released (about the code, so a twin is not a control)",
    refuted_if="it costs at most two points",
    evidence="word-probes",
    threshold=WORTH_A_SENTENCE,
    erratum="the printed 77 and the rerun's 78.0 were made with the shift",
    control=False,
    statistic=gain("words", "shifted"),
)
claim(
    key="structural",
    sentence="Attention comes close to the structural probe",
    section="5, Table 3",
    original=lambda: f"{table_3('attention + GloVe'):.0f} against {table_3('structural probe'):.0f} %",
    exactness="P",
    operational="undirected links read from one layer's vectors, directed arcs from all attention: the two scores are not comparable",
    refuted_if="no number of ours could: the two count different things",
    evidence="word-probes",
    erratum="80 is UUAS, without direction; some accounts print it as UAS",
    statistic=None,
)
claim(
    key="pairs",
    sentence="A linear probe finds linked pairs of words",
    source=COENEN,
    section="attention probe",
    published=_coenen("relation present or absent: accuracy"),
    exactness="N",
    operational="accuracy on balanced pairs, chance .5",
    refuted_if="it is right in at most three of four",
    evidence="pair-probes",
    threshold=0.75,
    statistic=lambda values, choice=None: accuracy(values, "uniform", "probe"),
)


@claim(
    key="distance-rule",
    sentence="Distance alone comes close to that probe",
    source=COENEN,
    section="attention probe (baseline not printed)",
    operational="uniform negatives: accuracy of the signed-distance rule minus that of the probe (the rule needs no model)",
    refuted_if="the probe is better by over five points",
    evidence="pair-probes",
    threshold=-CLOSE,
    control=False,
)
def _rule_lags(values, choice=None) -> float:
    return accuracy(values, "uniform", "rule") - accuracy(values, "uniform", "probe")


@claim(
    key="matched-drop",
    sentence="With negatives as near, the probe falls",
    source=COENEN,
    section="attention probe (negatives not described)",
    operational="accuracy with uniform minus accuracy with distance-matched negatives (a twin may fall too)",
    refuted_if="it stays within five points",
    evidence="pair-probes",
    threshold=CLOSE,
    control=False,
)
def _fall(values, choice=None) -> float:
    return accuracy(values, "uniform", "probe") - accuracy(values, "distance-matched", "probe")


claim(
    key="matched-above-chance",
    sentence="... and still knows more than distance",
    source=COENEN,
    section="attention probe (negatives not described)",
    operational="accuracy with distance-matched negatives, where the distance rule is at chance",
    refuted_if="it is right in at most 55 % of the pairs",
    evidence="pair-probes",
    threshold=0.5 + CLOSE,
    statistic=lambda values, choice=None: accuracy(values, "distance-matched", "probe"),
)
claim(
    key="pairs-are-parsing",
    sentence="Edges are predicted with 85.8 % accuracy",
    source=COPIES,
    section="as retold",
    published=_coenen("relation present or absent: accuracy"),
    exactness="N",
    operational="UAS of the attention-only probe, which has to find one governor among all words",
    refuted_if="it finds at most 80 % of the governors",
    evidence="attention-probes",
    threshold=0.8,
    erratum="balanced pairs, chance 50: no parsing score",
    statistic=lambda values, choice=None: uas(values, "attention"),
)


CLAIMS = tuple(claim)
