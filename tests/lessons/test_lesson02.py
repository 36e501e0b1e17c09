"""Lesson 2's ledger and deck: what its claims compute, on numbers made by hand and on the specimen."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest
from tiny import save_tiny_model

from bertlook_course.analyses.anatomy import iter_switch, segment_switch
from bertlook_course.claims import Resources, decide, ledger
from bertlook_course.claims.lessons import lesson02
from bertlook_course.metrics import CannotDecide
from bertlook_teach.model import load_encoder

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


def shown_text() -> str:
    """What the audience can see of the saved deck: text cells that are no notes, and outputs."""
    nb = nbformat.read(DECK, as_version=4)
    parts = []
    for cell in nb.cells:
        kind = cell.metadata.get("slideshow", {}).get("slide_type", "-")
        if cell.cell_type == "markdown" and kind != "notes":
            parts.append(cell.source)
        for output in cell.get("outputs", []):
            parts += [str(value) for value in output.get("data", {}).values()]
    pictures = re.findall(r"image/svg\+xml;base64,([\w+/=]+)", "\n".join(parts))
    return "\n".join(parts + [base64.b64decode(one).decode() for one in pictures])


def test_the_deck_shows_what_the_lesson_promises():
    code = "\n".join(
        cell.source for cell in nbformat.read(DECK, as_version=4).cells if cell.cell_type == "code"
    )
    for view in (
        "RecordedExplorer(",
        "NeuronView(",
        "bertviz_head_view(",
        "bertviz_model_view(",
        "bertviz_neuron_view(",
        "pattern_measures()",
    ):
        assert view in code, view
    shown = shown_text()
    for sentence in (
        "put in at random",
        "null model",
        "20 random rotations",
        "all zeros",
        "cannot say",
        "twin",
    ):
        assert sentence in shown, sentence


def test_the_slide_of_the_ledger_shows_claims_of_this_lesson_and_counts_them_all():
    code = [cell.source for cell in nbformat.read(DECK, as_version=4).cells if cell.cell_type == "code"]
    (line,) = [line for line in "\n".join(code).splitlines() if line.startswith("shown = ")]
    named = re.findall(r'"([a-z-]+)"', line)
    assert 1 <= len(named) == len(set(named)) <= 4 and {f"02-{name}" for name in named} <= set(CLAIMS)
    assert any("count_verdicts(verdicts)" in cell for cell in code)
