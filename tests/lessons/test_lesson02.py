"""Lesson 2's ledger and deck: what its claims compute, on numbers made by hand and on the specimen."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import numpy as np
import pytest
from made import renamed, words_of
from tiny import save_tiny_model

from bertlook_course.analyses.anatomy import iter_switch, segment_switch
from bertlook_course.claims import Resources, decide, ledger
from bertlook_course.claims.lessons import lesson02
from bertlook_course.decks import lesson02 as slides
from bertlook_course.metrics import CannotDecide
from bertlook_teach.model import extract_attention, load_encoder

CLAIMS = {claim.key: claim for claim in ledger("02")}
DECK = Path(__file__).resolve().parents[2] / "slides" / "02_six_patterns.ipynb"


# --- evidence ------------------------------------------------------------------------------------------


def test_evidence_on_the_specimen_is_finite_and_decides_or_says_why(specimen):
    resources = Resources(limit=4)
    verdicts = decide(ledger("02"), specimen, resources=resources)
    assert [verdict.claim for verdict in verdicts] == list(CLAIMS.values())
    for verdict in verdicts:
        assert verdict.why
        if verdict.claim.statistic is not None and not np.isnan(verdict.value):
            assert verdict.low <= verdict.value + 1e-9 and verdict.value <= verdict.high + 1e-9
    rows = list(lesson02.patterns(specimen, resources))
    assert len(rows) == 4
    heads_shape = (specimen.n_layers, specimen.n_heads)
    for row in rows:
        assert all(np.shape(value) == heads_shape and np.isfinite(value).all() for value in row.values())


def test_a_text_without_a_repeated_word_leaves_the_quantity_out(tmp_path):
    encoder = load_encoder(save_tiny_model(tmp_path / "bert"))
    pairs = [("the cat sat", "a dog chased it"), ("the cat sat", "the cat was tired")]
    first, second = lesson02.patterns(encoder, Resources(pairs=pairs))
    assert "same_word" not in first and "same_word_across" not in first
    assert "same_word" in second and "same_word_across" in second
    assert "bag_of_words" in first and "next dimensions" in first


def test_both_readings_of_the_ledger_are_those_of_the_switch(specimen):
    resources = Resources(limit=4)
    rows = list(lesson02.segment_ids(specimen, resources))
    switch = segment_switch(specimen, resources.pairs)
    for name in ("standard", "zeros", "bag", "chance"):
        assert np.array([row[name] for row in rows]) == pytest.approx(getattr(switch, name), abs=1e-5)
    for row, own in zip(iter_switch(specimen, resources.pairs), rows):
        assert set(row) == set(own)


def test_a_model_without_segments_has_no_switch(tmp_path):
    encoder = load_encoder(save_tiny_model(tmp_path / "roberta", "roberta"))
    pairs = [("the cat sat", "a dog sat"), ("a cat", "the dog")] * 3
    with pytest.raises(CannotDecide, match="never told which text"):
        list(lesson02.segment_ids(encoder, Resources(pairs=pairs)))


# --- the deck ------------------------------------------------------------------------------------------


VIEWS = ("RecordedExplorer(", "NeuronView(", "head_view(", "model_view(", "neuron_view(")


def test_the_deck_has_its_views_and_its_slide_of_the_ledger_counts_all_claims_of_the_lesson():
    code = [cell.source for cell in nbformat.read(DECK, as_version=4).cells if cell.cell_type == "code"]
    assert all(view in "\n".join(code) for view in VIEWS)
    (line,) = [line for line in "\n".join(code).splitlines() if line.startswith("shown = ")]
    named = re.findall(r'"([a-z-]+)"', line)
    assert 1 <= len(named) == len(set(named)) <= 4 and {f"02-{name}" for name in named} <= set(CLAIMS)
    assert any("count_verdicts(verdicts)" in cell for cell in code)


@pytest.fixture(scope="module")
def deck(specimen):
    twin = load_encoder("specimen-random")
    return slides.Deck(renamed(specimen), twin, beside=renamed(twin, "models/other"))


def test_the_deck_speaks_of_the_model_it_is_given(deck):
    text = extract_attention(deck.encoder, "We like the store.", "The store has strawberries.", vectors=True)
    shown = (
        deck.best_table(),
        deck.best_picture(),
        deck.sep_table(text),
        deck.switch_picture(),
        deck.position_table(),
    )
    said = words_of(*shown, deck.answer().sentence)
    assert "specimen" not in said and said.count("somebody") >= 5 and said.count("other") >= 3


def test_a_model_beside_it_has_heads_of_its_own_and_none_if_it_is_the_same(deck):
    table = deck.best_table()
    assert table.header[-1] == "other, excess [95 %]"
    own = [deck.twins[key].value.mean for key in deck.best]  # the same model, so the same numbers
    assert [float(row[-1].partition(" ")[0]) for row in table.rows] == pytest.approx(own, abs=6e-4)
    alone = slides.Deck(deck.encoder, deck.twin, beside=renamed(deck.encoder, "models/other"))
    assert alone.beside is None and alone.best_table().header == table.header[:-1]
    assert "models/other" not in alone.answer().sentence
