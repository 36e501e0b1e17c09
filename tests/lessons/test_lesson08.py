"""Lesson 08: its claims on numbers made by hand, its evidence against the judge of the probes, its tables and figure."""

import re
from functools import partial

import numpy as np
import pytest
from made import renamed

from bertlook_course import probing as probes
from bertlook_course.analyses.probing import (
    NEGATIVES,
    AttachmentScore,
    distance_rule,
    evaluate,
    fit_pair_probe,
    fit_structural_probe,
    how_it_ended,
    pair_accuracy,
    right_branching,
    sample_pairs,
)
from bertlook_course.analyses.probing import fit_attention_probe as fit_any_attention_probe
from bertlook_course.claims import Evidence, Resources, decide, ledger
from bertlook_course.claims.lessons import lesson08 as collectors
from bertlook_course.claims.lessons.lesson08 import attention_evidence, pair_evidence, word_evidence
from bertlook_course.corpora import halves_by_document, load_treebank
from bertlook_course.decks import lesson08 as deck_of_08
from bertlook_course.decks.pictures import lesson08 as pictures_of_08
from bertlook_course.metrics import CannotDecide
from bertlook_course.published import read_published
from bertlook_course.render import (
    figure_picture,
    learning_figure,
    pair_grids,
    published_probes,
    score_cell,
)
from bertlook_course.storage import cache
from bertlook_teach.disk import data_path
from bertlook_teach.model import load_encoder, random_twin
from bertlook_teach.views import difference_colour, magnitude_colour

by_key = {claim.key.removeprefix("08-"): claim for claim in ledger("08")}


@pytest.fixture(autouse=True)
def quick_fits(monkeypatch):
    """One penalty instead of four to choose from, and a small network."""
    monkeypatch.setattr(collectors, "L2_CHOICES", (1e-4,))
    monkeypatch.setattr(collectors, "WORD_L2_CHOICES", (0.1,))
    monkeypatch.setattr(collectors, "DISTANCE_OPTIONS", {"hidden": 8, "epochs": 1})


fit_attention_probe = partial(fit_any_attention_probe, l2=1e-4)


@pytest.fixture(scope="module")
def halves(specimen):
    return tuple(probes.read_features(specimen, half) for half in halves_by_document(load_treebank()[:60]))


def scored(rows):
    """The inputs that report, as the engine sees them: those with odd index."""
    rows = list(rows)
    assert all(row == {} for row in rows[::2]), "a sentence that was fitted on gives nothing"
    return rows[1::2]


def ratio(rows, right, total):
    return sum(row[right] for row in rows if right in row) / sum(row[total] for row in rows if total in row)


# --- published -----------------------------------------------------------------------------------------


def test_table_3_is_as_printed():
    printed = {
        r.quantity: float(r.value) for r in read_published("clark_table3_probes") if r.exactness == "printed"
    }
    assert printed == {
        "structural probe": 80, "right-branching": 26, "distances + GloVe": 58, "random-init attention + GloVe": 30,
        "attention only": 61, "attention + GloVe": 77,
    }  # fmt: skip
    table = published_probes()
    assert [row[1] for row in table.rows] == [26, 30, 58, 61, 77]
    assert "Right-branching: always the next word." in table.caption


def test_what_the_lesson_shows_is_what_the_judges_say(specimen, halves, monkeypatch):
    monkeypatch.setattr(collectors, "N_SENTENCES", 60)
    monkeypatch.setattr(collectors, "SIZES", (10,))
    monkeypatch.setattr(collectors, "fit_structural_probe", partial(fit_structural_probe, epochs=1))
    twin = random_twin(specimen)
    found = collectors.measured(specimen, twin)
    train, test = halves
    assert (found.n_train, found.n_test) == (len(train), len(test))
    # The same fit anew: where two arcs are nearly as good, the last digit of a sum may choose, for a word or two.
    anew = evaluate(fit_attention_probe(train).predict, test)
    assert found.scores["attention only"].uas == pytest.approx(anew.uas, abs=0.005)
    assert found.curves["attention only"][len(train)].uas == pytest.approx(anew.uas, abs=0.005)
    assert found.scores["right-branching"] == evaluate(right_branching, test)
    assert found.with_punctuation["right-branching"] == evaluate(right_branching, test, punctuation=True)
    assert set(found.pairs) == set(NEGATIVES) and len(found.links) == 3
    pairs = sample_pairs(test, negatives="uniform", seed=1)
    assert found.pairs["uniform"][0] == pair_accuracy(distance_rule(sample_pairs(train)), pairs)
    assert found.scores["distances and words"].uas == pytest.approx(
        np.mean([score.uas for score in found.seeds.values()])
    )
    lead = found.scores["attention only"].uas - found.scores["distances and words"].uas
    assert found.leads["attention only"].difference == pytest.approx(lead)
    for model, name in ((specimen, "attention only"), (twin, "twin's attention only")):
        rows = scored(found.evidence(specimen)["attention-probes"](model, None))
        assert ratio(rows, "attention right", "words") == pytest.approx(found.scores[name].uas)


def test_every_fit_that_ships_is_finished_or_stopped_on_other_data(specimen):
    """A slide that rests on a fit cut short fails here; shipped numbers only, nothing is fitted."""
    with cache.shipping(data_path("evidence"), make=False):
        found = collectors.measured(specimen, load_encoder("specimen-random"))
    unfinished = {
        name: how
        for name, how in found.fits.items()
        if how != "converged" and not how.endswith("chosen on validation documents")
    }
    assert not unfinished
    assert {f"distances, seed {seed}" for seed in probes.SEEDS} <= set(found.fits) and len(found.seeds) == 3
    assert {"attention", "words", "shifted", "random", "pairs, uniform", "twin's attention only"} <= set(
        found.fits
    )
    assert sum(name.endswith(" sentences") for name in found.fits) == sum(map(len, found.curves.values()))


@pytest.fixture
def deck(specimen, monkeypatch):
    """A model that is no specimen, by its name, with the specimen beside it; both have the probes that ship."""
    with cache.shipping(data_path("evidence"), make=False):
        found = collectors.measured(specimen, twin := load_encoder("specimen-random"))
    monkeypatch.setattr(deck_of_08.lesson08, "measured", lambda encoder, its_twin: found)
    return deck_of_08.Deck(renamed(twin, "folder/other"), twin, beside=specimen)


def said_by(deck):
    shown = (
        deck.weights_sentence(),
        deck.rivals_answer(),
        deck.probes_picture(),
        deck.fits_sentence(),
        deck.controls_table(),
    )
    more = (
        deck.selectivity_sentence(),
        deck.shifted_sentence(),
        deck.few_answer(),
        deck.pairs_picture(),
        pictures_of_08.limits(deck),
    )
    return "\n".join(map(str, (*shown, *more, deck.links_table(), deck.answer().sentence)))


def test_the_deck_names_its_own_model_and_the_one_beside_it(deck):
    text = said_by(deck)
    assert (
        "other: **72** for words." in text
        and "with 72 further weights each" in text
        and "each of other's 36 heads" in text
    )
    said = deck.probes_picture().sentence
    assert said.startswith("Almost: only the two lowest change places. ")
    own, beside = re.search(r": in other ([^;]+); in the specimen ([^;]+)\.$", said).groups()
    assert own == beside and own.startswith("the two cannot be told apart (+")  # the same probes here
    assert "EWT" not in text
    assert (
        " with the specimen's. Against the stronger of the two, other's attention alone is "
        in deck.fits_sentence()
    )
    assert list(deck.controls_table().header)[1:3] == ["other", "random twin"]


def test_without_a_model_beside_it_the_deck_never_speaks_of_the_specimen(deck, monkeypatch):
    monkeypatch.setattr(deck, "beside", None)
    text = said_by(deck)
    assert "specimen" not in text and "EWT" not in text


def test_of_the_specimen_the_deck_quotes_the_larger_treebank(deck, specimen):
    of_specimen = deck_of_08.Deck(specimen, deck.twin, beside=specimen)
    assert of_specimen.beside is None and "… on EWT" in of_specimen.probes_picture().svg
    said = of_specimen.probes_picture().sentence
    assert said.startswith("No: the order is another in ")
    assert re.search(
        r"on EWT the difference is −[^;]* points \([\d,]+ words, (the|an earlier) specimen, docs/results.md\)\.$",
        said,
    )
    assert " On EWT: " in of_specimen.answer().caption


def test_a_fit_that_is_cut_short_is_named(halves):
    probe = fit_any_attention_probe(halves[0], max_iterations=2)
    assert (
        collectors.fits_of({"attention": probe})
        == {"attention": probes.NOT_CONVERGED}
        == {"attention": how_it_ended(probe)}
    )


def test_the_evidence_adds_up_to_the_judges_score(halves):
    """A second way: right words by words, over the scored sentences, is the UAS of `evaluate`."""
    train, test = halves
    rows = scored(attention_evidence(train, test))
    assert len(rows) == len(test)
    probe = fit_attention_probe(train)
    assert ratio(rows, "attention right", "words") == pytest.approx(evaluate(probe.predict, test).uas)
    assert ratio(rows, "right-branching right", "words") == pytest.approx(evaluate(right_branching, test).uas)
    task = [probes.control_task(half) for half in halves]
    made_up = evaluate(fit_attention_probe(task[0]).predict, task[1])
    assert ratio(rows, "made-up right", "words") == pytest.approx(made_up.uas)


def test_the_evidence_of_pairs_adds_up_too(halves):
    train, test = halves
    rows = scored(pair_evidence(train, test))
    for negatives in NEGATIVES:
        fit_on, score_on = (
            sample_pairs(train, negatives=negatives),
            sample_pairs(test, negatives=negatives, seed=1),
        )
        for name, fit in (("probe", fit_pair_probe), ("rule", distance_rule)):
            expected = pair_accuracy(fit(fit_on), score_on)
            assert ratio(rows, f"{negatives} {name}", f"{negatives} pairs") == pytest.approx(
                expected.accuracy
            )
            assert sum(row.get(f"{negatives} pairs", 0) for row in rows) == expected.n_pairs


def test_the_evidence_of_words_asks_the_random_probe_about_random_attention(halves, specimen):
    train, test = halves
    kept = random_twin(specimen, keep_embeddings=True)
    twin_train, twin_test = (
        probes.read_features(kept, half) for half in halves_by_document(load_treebank()[:60])
    )
    vectors = probes.input_vectors(specimen)
    fitted = collectors.fit_word_probes(train, twin_train, vectors)
    assert fitted["shifted"].shifted and not fitted["words"].shifted and not fitted["random"].shifted
    rows = scored(word_evidence(train, test, twin_train, twin_test, vectors, fitted))
    assert ratio(rows, "random right", "words") == pytest.approx(
        evaluate(fitted["random"].predict, twin_test).uas
    )
    for name in ("attention", "words", "shifted", "distances"):
        expected = evaluate(collectors.predicts(fitted[name]), test)
        assert ratio(rows, f"{name} right", "words") == pytest.approx(expected.uas)
    assert len(fitted["distances"]) == len(probes.SEEDS)
    assert Evidence.of("word-probes", rows).n == len(test)


def test_only_sentences_that_were_not_fitted_on_report(halves):
    """The engine lets inputs with odd index report; those are the scored ones, whatever the halves' sizes."""
    train, test = halves
    found = Evidence.of("attention-probes", attention_evidence(train, test))
    assert (found.inputs["words"] % 2 == 1).all() and len(found.inputs["words"]) == len(test)
    assert found.values["words"] == pytest.approx([s.counted.sum() for s in test])


def test_a_verdict_has_an_interval(halves, specimen):
    def collect(encoder, resources):
        return attention_evidence(*halves)

    [found] = decide(
        [by_key["attention-only"]], specimen, twin=specimen, evidence={"attention-probes": collect}
    )
    assert found.low < found.value < found.high and found.n == len(halves[1])


def test_too_few_sentences_cannot_be_decided(specimen):
    with pytest.raises(CannotDecide, match="8 sentences to fit on and 8 to score; there are"):
        list(collectors.attention_probes(specimen, Resources(limit=4)))


# --- tables and figure ---------------------------------------------------------------------------------


def score(uas, n=100):
    return AttachmentScore(uas, uas - 0.02, uas + 0.02, n, 10)


def test_a_sum_says_each_weight_and_attention_and_who_wins():
    to, back = np.array([[0.7, 0.1], [0.2, 0.8]]), np.full((2, 2), 0.5)
    same = pictures_of_08.sum_picture(to, back, np.array([1.0, 3.0]), np.array([0.0, -1.0])).svg
    assert "candidate 1: 2.1 wins" in same and "3 · 0.8" in same and "−1 · 0.5" in same
    by_words = pictures_of_08.sum_picture(to, back, np.array([[3, 1], [0, 1]]), np.zeros((2, 2))).svg
    assert "candidate 0: 2.2 wins" in by_words and "3 · 0.7" in by_words and "0 · 0.2" in by_words


def test_a_score_stands_with_its_interval():
    assert str(score_cell(score(0.5))) == "50.0 [48.0, 52.0]"


def test_a_learning_curve_is_drawn_and_said():
    curves = {"attention only": {5: score(0.3), 120: score(0.48)}}
    figure = learning_figure(curves, baseline=("right-branching", 0.34), enough=("attention only", 0.9))
    lines = figure.axes[0].lines
    assert lines[0].get_xdata().tolist() == [5, 120] and lines[0].get_ydata() == pytest.approx([30, 48])
    assert [line.get_ydata()[0] for line in lines[1:3]] == pytest.approx([43.2, 34])
    drawn = figure_picture(figure, "A curve.").svg
    assert "right-branching" in drawn and "90 % of attention only: 43.2" in drawn and ">48.0<" in drawn
    with pytest.raises(ValueError, match="at least one curve"):
        learning_figure({})


def test_two_pairs_of_words_stand_beside_their_difference_on_one_scale():
    left, right = ("a → b: linked", [[0.5, 0.0]]), ("b → a: not", [[0.25, 0.1]])
    picture = pair_grids(left, right, "Two heads.", beneath=("1 word on", "2 words on"))
    assert picture.sentence == "Two heads. The largest difference: head 1-1, 0.50 and 0.25."
    fills = re.findall(r'<rect[^>]*fill="(#\w+)"', picture.svg)[1:]  # the first is the paper
    assert fills == [
        *(magnitude_colour(share) for share in (1, 0)),
        *(difference_colour(share) for share in (0.5, -0.2)),
        *(magnitude_colour(share) for share in (0.5, 0.2)),
    ]
    assert [row[1] for row in picture.numbers[0].rows] == ["0.500", "0.250"] and "2 words on" in picture.svg
    for wrong in ([[-0.1, 0]], [[0.1]], [[np.nan, 0]]):
        with pytest.raises(ValueError, match="pairs need weights of 0 or more"):
            pair_grids(left, ("x", wrong))
