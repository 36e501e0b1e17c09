"""Lesson 14 beside its measures: the claims' statistics by hand, what was published, its evidence, and who is turned away."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tiny

from bertlook_course.analyses.finetuning import compare_checkpoints
from bertlook_course.analyses.negation import f1_of, scope_tuning, score_heads
from bertlook_course.claims import Evidence, Resources, ledger
from bertlook_course.claims.lessons import lesson14 as collectors
from bertlook_course.corpora import Negation, NegationSentence
from bertlook_course.decks import lesson14
from bertlook_course.decks.parts.lesson14_longer import layers_after_ten_rounds
from bertlook_course.metrics import CannotDecide
from bertlook_course.published import published_cosines, published_gains, published_head_f1, published_mean_f1
from bertlook_course.storage import Memory
from bertlook_teach.model import load_encoder, random_twin

# --- what was published ------------------------------------------------------------------------------------------


def test_published_means_are_those_of_the_published_heads():
    for condition in ("pretrained", "neg", "control"):
        assert published_head_f1(condition).mean() == pytest.approx(published_mean_f1(condition), abs=2e-4)
    best = np.unravel_index(published_head_f1("pretrained").argmax(), (12, 12))
    assert (best[0] + 1, best[1] + 1) == (8, 4)


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
    means = {name: values.mean(axis=0) for name, values in found.values.items()}
    for claim in ledger("14"):
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


def test_a_head_is_unsure_where_the_interval_over_sentences_holds_0():
    moved = np.zeros((8, 1, 3))  # (sentence, layer, head): surely more, surely less, now more and now less
    moved[:, 0, 0], moved[:, 0, 1], moved[:, 0, 2] = 0.2, -0.2, [0.1, -0.1] * 4
    tuned = {
        "negation": SimpleNamespace(js=0.5 + moved),
        "control": SimpleNamespace(js=np.full_like(moved, 0.5)),
    }
    deck = SimpleNamespace(ours=SimpleNamespace(moved=tuned))
    assert lesson14.Deck.unsure.fget(deck).tolist() == [[False, False, True]]


def test_after_ten_rounds_negation_moves_every_layer_more():
    """The slides and the notes say so in words; the numbers stand in docs/results.md."""
    page = (Path(__file__).parents[2] / "docs/results.md").read_text(encoding="utf-8")
    table = page.partition("### What else changed")[2]
    rows = {
        cells[1].strip(): np.array(cells[2].split(), float)
        for cells in (line.split("|") for line in table.split("\n"))
        if len(cells) > 2 and cells[1].strip() in ("negation", "control")
    }
    assert (rows["negation"] > rows["control"]).all() and "every layer more" in layers_after_ten_rounds()


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


def test_the_table_of_words_does_not_count(encoder, monkeypatch):
    """A batch trains a few of its rows: it makes a model larger, and its training hardly slower."""
    monkeypatch.setattr("bertlook_course.analyses.negation.tuned", lambda *_, seed, **__: seed)
    whole = sum(weights.numel() for weights in encoder.model.parameters())
    table = encoder.model.get_input_embeddings().weight.numel()
    monkeypatch.setattr(collectors, "MOST_PARAMETERS", whole - table)
    assert set(collectors.taggers(encoder)) == {"negation", "control"}
    monkeypatch.setattr(collectors, "MOST_PARAMETERS", whole - table - 1)
    with pytest.raises(CannotDecide, match="without its word table"):
        collectors.taggers(encoder)


def test_sentences_that_are_too_long_for_the_model_are_counted(tmp_path):
    short = load_encoder(tiny.save_tiny_model(tmp_path), device="cpu")  # reads 32 pieces; letters are pieces
    with pytest.raises(CannotDecide, match="sentences to tune on cannot be read whole"):
        collectors.taggers(short)
    with pytest.raises(CannotDecide, match="can read only"):
        collectors.sentences(short, Resources(), negated=True)
