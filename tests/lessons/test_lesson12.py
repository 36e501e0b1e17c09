"""Lesson 12 beside its keywords: the claims' statistics, their evidence, what was published, and the figure."""

from dataclasses import replace

import numpy as np
import pytest
from made import measured_with, renamed

from bertlook_course.analyses.keywords import (
    ALL_HEADS,
    BEST_HEAD,
    BOTH,
    MIX,
    RULES,
    auc_by_text,
    read_keywords,
)
from bertlook_course.claims import Evidence, Resources
from bertlook_course.claims.lessons import lesson12 as collectors
from bertlook_course.claims.lessons import lesson12 as lesson
from bertlook_course.decks import common
from bertlook_course.decks import lesson12 as deck_of_12
from bertlook_course.metrics import CannotDecide
from bertlook_course.published import published_heads
from bertlook_course.render import heads_figure
from bertlook_course.storage import pack, unpack
from bertlook_teach import random_twin

HIGH = np.array([[0.5, 0.9], [0.4, 0.5], [0.3, 0.5]])
RISING = np.arange(6.0).reshape(3, 2)


# --- what was published ----------------------------------------------------------------------------------


def test_the_slides_list_stands_beside_clarks_own_figures():
    """The two columns of the table are Clark's Figures 2 and 4, which we have by another way."""
    listed = lesson.published_scores()
    assert len(listed) == 10 and list(listed)[:2] == [(3, 1), (3, 10)]
    entropy, sep = published_heads("entropy_clark"), published_heads("sep")
    for (layer, head), row in listed.items():
        assert row["entropy"] == pytest.approx(entropy[layer - 1, head - 1], abs=0.002)
        assert row["sep"] == pytest.approx(sep[layer - 1, head - 1], abs=0.002)
    scores = [row["score"] for row in listed.values()]
    assert scores == sorted(scores)


# --- evidence --------------------------------------------------------------------------------------------

FEW = Resources(limit=16)


@pytest.fixture(scope="module")
def found(specimen):
    return collectors.measured(specimen, FEW)


@pytest.fixture(scope="module")
def evidence(specimen, found):
    return Evidence.of("key scores", collectors.key_scores(specimen, FEW))


def test_texts_of_one_half_choose_and_those_of_the_other_report(specimen, found, evidence):
    assert evidence.n == 16 and {d.split for d in found.test.documents} == {"test"}
    for name, values in evidence.values.items():
        everywhere = name in found.heads[1]
        assert len(values) == (16 if everywhere else 8)
        assert everywhere or (evidence.inputs[name] % 2 == 1).all()
    read = read_keywords(specimen, found.test.documents)
    assert evidence.values["mean"][1::2] == pytest.approx(auc_by_text(read, read.scores["mean"]))
    assert {*RULES, BEST_HEAD, MIX, ALL_HEADS, BOTH} <= set(evidence.values)


def test_the_evidence_adds_up_to_the_scores_of_the_comparison(found, evidence):
    for name in (BEST_HEAD, "tf-idf"):
        score = found.comparison.score(name)
        assert evidence.values[name].mean() == pytest.approx(score.auc)
    assert found.removal["worst first"][:, 0] == pytest.approx(evidence.values[ALL_HEADS])
    assert found.removal["at random"][:, -1] == pytest.approx(0.5)


def test_what_is_measured_is_measured_once(specimen, found):
    assert collectors.measured(specimen, FEW) is found


def test_what_goes_to_the_disk_without_its_texts_comes_back_with_them(found):
    back = collectors._with_texts(unpack(pack(collectors._without_texts(found))))
    assert back.data.documents == found.data.documents and back.data.words == found.data.words
    assert back.test.words == found.test.words and (back.test.is_key == found.test.is_key).all()
    for name in found.comparison.answers:
        assert back.comparison.score(name) == found.comparison.score(name)
    np.testing.assert_array_equal(back.mean("mean"), found.mean("mean"))
    assert len(pack(collectors._without_texts(found))) < 0.8 * len(pack(found))


def test_too_few_texts_cannot_be_decided(specimen):
    with pytest.raises(CannotDecide, match="6 texts to fit on and 6 to score are needed; a half has 2"):
        list(collectors.key_scores(specimen, Resources(limit=4)))


def test_a_side_that_is_longer_stands_opposite_nothing():
    rows = list(collectors.interleaved({"a": [1, 2, 3]}, {"b": [4], "c": [5]}))
    assert rows == [{"a": 1}, {"b": 4, "c": 5}, {"a": 2}, {}, {"a": 3}, {}]


# --- the deck speaks of the model it reads with ------------------------------------------------------------


@pytest.fixture
def deck(specimen, found, monkeypatch):
    """A model that is no specimen, by its name, with the specimen beside it; all read the same few texts."""
    monkeypatch.setattr(deck_of_12.lesson12, "measured", lambda encoder, resources: found)
    twin = random_twin(specimen)
    return deck_of_12.Deck(renamed(twin, "folder/other"), twin, beside=specimen)


def said(deck):
    shown = (
        deck.heads_sentence(),
        deck.twin_answer(),
        deck.pieces_table(),
        deck.rivals_question(),
        deck.rivals_picture(),
    )
    more = (
        deck.rivals_answer(),
        deck.rake_picture(),
        deck.other_texts(),
        deck.mixes_table(),
        deck.mixes_sentence(),
    )
    last = (
        deck.thirds_answer(),
        deck.thirds_table(),
        deck.removal_picture(),
        deck.fits_table(),
        deck.answer().sentence,
    )
    return "\n".join(map(str, (*shown, *more, *last)))


def test_the_deck_names_its_own_model_and_the_one_beside_it(deck):
    text = said(deck)
    assert "best of other's 36 heads" in text and "The answer for other: " in text
    assert (
        "other was not measured on other texts. On 201 abstracts (Inspec) the specimen's best head is" in text
    )
    assert "tf-idf. (other 0." in deck.answer().sentence
    assert [row[0] for row in deck.rivals_picture().numbers[0].rows][-3:] == [
        "other's best head",
        "other's twin's best head",
        "the specimen's best head",
    ]


def test_without_a_model_beside_it_the_deck_never_speaks_of_the_specimen(deck, monkeypatch):
    monkeypatch.setattr(deck, "beside", None)
    text = said(deck)
    assert "specimen" not in text and deck.other_texts() == "other was not measured on other texts."


def test_below_each_column_stand_its_mean_and_its_largest_weight(deck):
    weights = np.array([[0, 0.4, 0.2], [0.1, 0, 0.3], [0.5, 0.2, 0]])
    table = deck.columns_table(["a", "b", "c"], weights, weights.sum(axis=0) / 2, weights.max(axis=0))
    assert table.rows == ["a", "b", "c", "mean", "largest"]
    np.testing.assert_allclose(table.values[3:], [[0.3, 0.3, 0.25], [0.5, 0.4, 0.3]])


def rake_said(deck):
    return [row[0] for row in deck.rake_picture().numbers[0].rows]


def test_a_lead_over_rake_is_the_difference_of_two_scores_and_a_tie_where_its_interval_holds_0(
    deck, monkeypatch
):
    head, rake = (deck.compared.score(name) for name in (BEST_HEAD, "RAKE"))
    leads = deck.against_rake
    assert leads["AUC"].value == pytest.approx(head.auc - rake.auc)
    assert leads["F1"].value == pytest.approx(head.f1 - rake.f1)
    for lead in leads.values():
        assert lead.low < lead.value < lead.high
        said = "a tie" if lead.low <= 0 <= lead.high else "ahead"
        assert said in str(rake_said(deck))
    other_way = dict(deck.compared.answers) | {BEST_HEAD: deck.compared.answers["RAKE"]}
    monkeypatch.setattr(deck, "compared", replace(deck.compared, answers=other_way))
    del vars(deck)["against_rake"]
    assert all((lead.value, lead.low, lead.high) == (0, 0, 0) for lead in deck.against_rake.values())
    assert rake_said(deck) == ["AUC: a tie", "F1: a tie"]
    knows = {BEST_HEAD: (np.where(deck.test.is_key, 1.0, -1.0), 0.0)}
    monkeypatch.setattr(deck, "compared", replace(deck.compared, answers=other_way | knows))
    del vars(deck)["against_rake"]
    assert rake_said(deck) == ["AUC: the head is ahead", "F1: the head is ahead"]


def test_two_scores_of_the_page_are_a_tie_where_their_intervals_overlap(deck, monkeypatch):
    over, under, near = "70.9 [67.2, 73.9]", "50.0 [48.0, 52.0]", "60.9 [57.2, 63.9]"
    said_of = {
        (near, near): "(the intervals overlap in both)",
        (under, under): "(RAKE is ahead)",
        (over, under): "(the head is ahead)",
        (over, near): "(the intervals overlap)",
    }
    for (auc, f1), said in said_of.items():
        rake = "RAKE|59.9 [57.9, 62.0]|59.9 [57.9, 62.0]"
        row = f"best head, column mean: 3-9|{auc}|{f1}"
        table = measured_with("other", "score|AUC [95 %]|F1 [95 %]", rake, row)
        monkeypatch.setattr(common, "measured_of", lambda encoder, name, table=table: table)
        assert deck.other_texts().startswith("On 201 abstracts (Inspec) other's best head is 3-9: AUC")
        assert deck.other_texts().count(said) == 2 and "0.599 [0.579, 0.620]" in deck.other_texts()


def test_the_answer_compares_the_heads_with_the_lowest_score_with_the_others(deck, monkeypatch):
    monkeypatch.setattr(deck_of_12.Deck, "thirds", (0.74, 0.60))
    said = "is {}. (other, lowest third 0.74, other, others 0.60{}"
    assert said.format("no sure guide", ", specimen, lowest third ") in deck.answer().sentence
    monkeypatch.setattr(deck, "other", None)
    assert said.format("a guide", ")") in deck.answer().sentence
    monkeypatch.setattr(deck_of_12.Deck, "thirds", (0.56, 0.60))
    assert "is no sure guide." in deck.answer().sentence


# --- the figure ------------------------------------------------------------------------------------------


def test_every_head_is_a_point_and_marked_ones_have_another_shape():
    figure = heads_figure(
        {"x": (RISING, HIGH), "y": (HIGH, RISING)}, ylabel="score", marked=[(1, 0), (2, 1)], chance={"y": 0.5}
    )
    plain, marked = figure.axes[0].lines
    assert len(plain.get_xdata()) == 4 and marked.get_xdata().tolist() == [2, 5]
    assert plain.get_marker() != marked.get_marker()
    assert [text.get_text() for text in figure.axes[0].texts] == ["2-1", "3-2"]
    assert len(figure.axes[1].lines) == 3  # with the line of chance
    with pytest.raises(ValueError, match=r"panel 'x' needs two arrays of one shape"):
        heads_figure({"x": (RISING, RISING[:2])}, ylabel="")
