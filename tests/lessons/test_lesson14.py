"""Lesson 14 beside its measures: the claims' statistics by hand, what was published, its evidence, and who is turned away."""

from __future__ import annotations

import numpy as np
import pytest
import tiny

from bertlook_teach.analyses.finetuning import compare_checkpoints
from bertlook_teach.analyses.negation import f1_of, scope_tuning, score_heads
from bertlook_teach.claims import Evidence, Resources
from bertlook_teach.claims.collectors import lesson14 as collectors
from bertlook_teach.claims.lessons import lesson14 as lesson
from bertlook_teach.corpora import Negation, NegationSentence
from bertlook_teach.disk import Memory
from bertlook_teach.model import load_encoder, random_twin
from bertlook_teach.published import published_cosines, published_gains, published_head_f1, published_mean_f1
from bertlook_teach.stats import CannotDecide

CLAIMS = {claim.key: claim for claim in lesson.CLAIMS}


def cues(**changes):
    """Two layers of two heads, two seeds; ten words in scopes."""
    base = {
        "scope": 10.0,
        "another_scope": 8.0,
        "before_hits": np.array([[[1, 2], [4, 0]]]),
        "before_pointing": np.array([[[2, 4], [10, 0]]]),
        "negation_hits": np.array([[[1, 2], [8, 0]], [[1, 2], [6, 0]]]),
        "negation_pointing": np.array([[[2, 4], [10, 0]], [[2, 4], [10, 0]]]),
        "control_hits": np.array([[[1, 2], [5, 0]], [[1, 2], [3, 0]]]),
        "control_pointing": np.array([[[2, 4], [10, 0]], [[2, 4], [10, 0]]]),
        "another_hits": np.array([[[1, 1], [1, 1]]]),
        "another_pointing": np.array([[[2, 2], [2, 2]]]),
        "told_hits": np.array([9.0, 7.0]),
        "told_in": np.array([10.0, 10.0]),
        "words": 20.0,
    }
    return {key: np.asarray(value, dtype=float) for key, value in (base | changes).items()}


def value(key, values, choice=None):
    return CLAIMS[f"14-{key}"].statistic(values, values if choice is None else choice)


# --- scores of heads -------------------------------------------------------------------------------------------


def test_f1_is_the_mean_over_seeds():
    assert lesson.f1(cues(), "before") == pytest.approx(np.array([[2 / 12, 4 / 14], [8 / 20, 0]]))
    assert lesson.f1(cues(), "negation")[1, 0] == pytest.approx((16 / 20 + 12 / 20) / 2)


def test_differences_of_mean_f1():
    assert value("negation-helps", cues()) == pytest.approx((0.7 - 0.4) / 4)
    assert value("negation-over-control", cues()) == pytest.approx((0.7 - 0.4) / 4)
    assert value("control-changes-nothing", cues()) == pytest.approx(0)
    worse = cues(control_hits=np.zeros((2, 2, 2)))
    assert value("control-changes-nothing", worse) == pytest.approx(-lesson.f1(cues(), "before").mean())


def test_the_best_head_is_chosen_elsewhere():
    elsewhere = cues(negation_hits=np.array([[[0, 4], [0, 0]]] * 2), before_hits=np.array([[[0, 4], [0, 0]]]))
    assert lesson.best_of("negation", elsewhere) == (0, 1)
    assert value("best-head-gains", cues()) == pytest.approx(0.3)
    assert value("best-head-gains", cues(), elsewhere) == pytest.approx(0)
    assert value("best-head-over-control", cues()) == pytest.approx(0.7 - 0.4)
    assert value("heads-find-cues", cues()) == pytest.approx(8 / 20 - 2 / 10)
    assert value("heads-find-cues", cues(), elsewhere) == pytest.approx(4 / 14 - 2 / 10)


def test_precision_and_recall_by_hand():
    precision = (1 / 2 + 2 / 4 + 4 / 10 + 0) / 4  # a head that points at no cue has precision 0
    assert value("precision", cues()) == pytest.approx(precision - 7 / 10 / 4)


def test_orders_of_heads():
    assert value("halves-agree", cues()) == pytest.approx(1)
    turned = cues(before_hits=np.array([[[4, 2], [1, 5]]]), before_pointing=np.array([[[4, 4], [10, 5]]]))
    assert value("halves-agree", cues(), turned) < 0
    assert value("agreement-rises", cues()) == pytest.approx(0)
    with pytest.raises(CannotDecide, match="same score"):
        value("halves-agree", cues(before_hits=np.zeros((1, 2, 2))))
    assert value("rich-get-richer", cues()) > 0  # the best head before is the only one that gains
    assert value("rich-get-richer", cues(), turned) < value("rich-get-richer", cues())


def test_tagging_is_held_against_calling_every_word_in():
    told = ((2 * 9 / 20) + (2 * 7 / 20)) / 2
    assert value("pretraining-pays", cues()) == pytest.approx(told - 2 * 10 / 30)


# --- maps --------------------------------------------------------------------------------------------------------


def maps(**changes):
    base = {
        "js_negation": np.array([[[0.1, 0.1], [0.2, 0.2], [0.4, 0.6]]]),
        "js_control": np.array([[[0.1, 0.1], [0.1, 0.1], [0.1, 0.1]]]),
        "cosine_negation": np.array([[[0.9, 0.98], [0.5, 0.5], [0.1, 0.2]]]),
        "floor_negation": np.full((1, 3, 2), 0.7),
        "cross_negation": 1 - np.eye(6),
        "cls_to_sep": np.array([0.3, 0.5]),
        "cls_to_punct": np.array([0.1, 0.1]),
    }
    return {key: np.asarray(value, dtype=float) for key, value in (base | changes).items()}


def test_changes_of_maps_by_hand():
    assert value("last-layers-change", maps()) == pytest.approx(0.5 - 0.1)
    assert value("last-layers-control", maps()) == pytest.approx(0)
    assert value("first-layer-stays", maps()) == pytest.approx(0.94)
    assert value("cosine-has-a-floor", maps()) == pytest.approx(0.7)
    assert value("negation-moves-more", maps()) == pytest.approx(1.6 / 0.6 - 1)
    assert value("cls-to-sep", maps()) == pytest.approx(0.3)
    assert value("heads-keep-names", maps()) == 1
    two_changed_places = np.eye(6)[[1, 0, 2, 3, 4, 5]]
    assert value("heads-keep-names", maps(cross_negation=1 - two_changed_places)) == pytest.approx(4 / 6)


def test_models_without_layers_or_other_heads_are_not_asked():
    with pytest.raises(CannotDecide, match="one layer"):
        value("last-layers-change", maps(js_negation=np.ones((1, 1, 2))))
    with pytest.raises(CannotDecide, match="one head"):
        value("cosine-has-a-floor", maps(floor_negation=np.zeros((1, 3, 1))))
    with pytest.raises(CannotDecide, match="control changed nothing"):
        value("negation-moves-more", maps(js_control=np.zeros((1, 3, 2))))


# --- what was published ------------------------------------------------------------------------------------------


def test_published_means_are_those_of_the_published_heads():
    for condition in ("pretrained", "neg", "control"):
        assert published_head_f1(condition).mean() == pytest.approx(published_mean_f1(condition), abs=2e-4)
    best = np.unravel_index(published_head_f1("pretrained").argmax(), (12, 12))
    assert (best[0] + 1, best[1] + 1) == (8, 4)
    assert CLAIMS["14-best-head-over-control"].original_text() == "0.677 against 0.531"
    assert CLAIMS["14-best-head-over-control"].published_text() == "+0.15"
    assert CLAIMS["14-agreement-rises"].published_text() == "+0.107"
    assert CLAIMS["14-control-changes-nothing"].published_text() == "0.000"
    assert CLAIMS["14-large-no-better"].statistic is None


def test_published_cosines_fall_towards_the_top():
    layers = published_cosines("MRPC").mean(axis=1)
    assert np.isfinite(published_cosines("QQP")).all()
    assert layers[0] > 0.94 and layers[10] < 0.5
    with pytest.raises(KeyError, match="WNLI"):
        published_cosines("WNLI")
    with pytest.raises(KeyError, match="pretrained, neg, control"):
        published_head_f1("tuned")


def test_published_gains_have_no_f1_rows():
    gains = {gain.task: gain for gain in published_gains()}
    assert len(gains) == 7 and all("(F1)" not in task for task in gains)
    assert gains["SST-2 (accuracy)"].random_tuned < gains["SST-2 (accuracy)"].tuned


# --- evidence ------------------------------------------------------------------------------------------------------


def sentence(number, words, cue, scope):
    return NegationSentence(str(number), tuple(words.split()), (Negation((cue,), scope),))


SENTENCES = [
    sentence(1, "the cat was no dog .", 3, (0, 1, 2, 4)),
    sentence(2, "it sat on no mat", 3, (0, 1, 2, 4)),
    sentence(3, "no dog sat on a mat", 0, (1, 2, 3, 4, 5)),
    NegationSentence("4", ("a", "dog", "sat", "."), ()),
]


@pytest.fixture
def encoder(tmp_path, monkeypatch):
    """A tiny model, and sentences that it can read in place of the shipped ones."""
    for module in (collectors, scope_tuning):
        monkeypatch.setattr(module, "load_negation", lambda split=None: SENTENCES)
    monkeypatch.setattr(collectors, "FEWEST", 2)
    monkeypatch.setattr(scope_tuning, "_kept", Memory(24))
    return load_encoder(tiny.save_tiny_model(tmp_path), device="cpu")


def test_evidence_holds_what_the_statistics_ask_for(encoder):
    resources = Resources()
    found = Evidence.of("cues", collectors.cues(encoder, resources))
    assert found.n == 3 and found.values["negation_hits"].shape == (3, 3, 3, 2)  # sentence, seed, layer, head
    by_hand = score_heads(encoder, SENTENCES)
    totals = {name: found.values[name].sum(axis=0) for name in found.values}
    assert f1_of(totals["before_hits"], totals["before_pointing"], totals["scope"])[0] == pytest.approx(
        by_hand.f1
    )
    moved = Evidence.of("maps", collectors.changes(encoder, resources))
    assert moved.n == 4 and moved.values["cosine_control"].shape == (4, 3, 3, 2)
    assert moved.values["cross_negation"].shape == (4, 6, 6)
    means = {
        name: values.mean(axis=0) for evidence in (found, moved) for name, values in evidence.values.items()
    }
    for claim in lesson.CLAIMS:
        if claim.statistic is not None:
            assert np.isfinite(claim.statistic(means, means)), claim.key


def test_what_the_lesson_shows_is_what_the_evidence_counts(encoder, monkeypatch):
    monkeypatch.setattr(collectors, "example", lambda: SENTENCES[1])
    found = collectors.measured(encoder)
    assert found.n_seeds == 3 and found.shown.level == "word" and found.shown.n_tokens == 7
    counted = Evidence.of("cues", collectors.cues(encoder, Resources()))
    scope = counted.values["scope"].sum(axis=0)
    for name, runs in (("before", [found.before["test"]]), ("another", [found.habit]), *found.after.items()):
        sums = (counted.values[f"{name}_{part}"].sum(axis=0) for part in ("hits", "pointing"))
        of = counted.values["another_scope"].sum(axis=0) if name == "another" else scope
        np.testing.assert_allclose([run.f1 for run in runs], f1_of(*sums, of))
    whole = [list(s.words) for s in SENTENCES[:3]]
    again = compare_checkpoints(encoder, collectors.taggers(encoder)["control"][0].encoder, whole)
    np.testing.assert_allclose(found.moved["control"].js, again.js)
    assert found.moved["control"].cross is None and found.matched["control"].kept == again.matching().kept
    other, matching = collectors.against(encoder, random_twin(encoder))
    assert other.n_texts == 3 and len(matching.partners) == 6


def test_the_example_fits_on_a_slide():
    found = collectors.example()
    assert 8 <= len(found) <= 11 and len(found.negations) == 1


def test_a_random_twin_is_tuned_once_and_the_limit_is_kept(encoder):
    twin = random_twin(encoder)
    found = Evidence.of("cues", collectors.cues(twin, Resources(limit=2)))
    assert found.n == 2 and found.values["negation_hits"].shape == (2, 1, 3, 2)
    assert len(scope_tuning._kept) == 2


def test_models_that_cannot_be_tuned_here_are_turned_away(encoder, monkeypatch):
    monkeypatch.setattr(collectors, "MOST_PARAMETERS", 100)
    with pytest.raises(CannotDecide, match="too many to tune six times on a CPU.*bertlook compare"):
        collectors.taggers(encoder)


def test_sentences_that_are_too_long_for_the_model_are_counted(tmp_path):
    short = load_encoder(tiny.save_tiny_model(tmp_path), device="cpu")  # reads 32 pieces; letters are pieces
    with pytest.raises(CannotDecide, match="sentences to tune on cannot be read whole"):
        collectors.taggers(short)
    with pytest.raises(CannotDecide, match="can read only"):
        collectors.sentences(short, Resources(), negated=True)
