"""Lesson 2's ledger and deck: what its claims compute, on numbers made by hand and on the specimen."""

from __future__ import annotations

import base64
import re
from functools import partial
from pathlib import Path

import nbformat
import numpy as np
import pytest
from tiny import save_tiny_model

from bertlook_teach.claims import Resources, decide, ledger
from bertlook_teach.claims.lessons import lesson02
from bertlook_teach.measures import iter_switch, segment_switch
from bertlook_teach.model import load_encoder
from bertlook_teach.published import published_heads
from bertlook_teach.stats import CannotDecide

CLAIMS = {claim.key: claim for claim in lesson02.CLAIMS}
DECK = Path(__file__).resolve().parents[2] / "slides" / "02_six_patterns.ipynb"


def heads(**special):
    """An array (layer, head) = (2, 3) of zeros but for the named places: ``heads(h01=.9)`` is layer 0, head 1."""
    values = np.zeros((2, 3))
    for name, value in special.items():
        values[int(name[1]), int(name[2])] = value
    return values


# --- statistics by hand --------------------------------------------------------------------------------


def test_shares_are_of_the_head_chosen_on_other_inputs():
    choice = {"next": heads(h12=0.9)}
    assert CLAIMS["02-next-word"].statistic({"next": heads(h12=0.6, h00=0.99)}, choice) == pytest.approx(0.6)
    values = {"next": heads(), "sep to cls": heads(h12=0.7, h00=0.1)}
    assert CLAIMS["02-sep-breaks-next"].statistic(values, choice) == pytest.approx(0.7)
    bag = {"bag_of_words, excess": heads(h01=0.3)}
    assert CLAIMS["02-bag-even"].statistic({"evenness": heads(h01=0.8)}, bag) == pytest.approx(0.8)
    assert CLAIMS["02-bag-own-text"].statistic({"own text": heads(h01=0.95)}, bag) == pytest.approx(0.95)


def test_excess_claims_use_the_excess():
    for key, quantity in (("same-word", "same_word"), ("same-word-across", "same_word_across"), ("within-word", "within_word")):  # fmt: skip
        values = {quantity: heads(h00=0.9), f"{quantity}, excess": heads(h00=0.05)}
        claim = CLAIMS[f"02-{key}"]
        assert claim.statistic(values, values) == pytest.approx(0.05) and claim.threshold == 0.1


def segments_statistic(key, standard, zeros, chance=0.5):
    values = {
        "standard": heads(h10=standard),
        "zeros": heads(h10=zeros),
        "chance": chance,
        "bag": heads(h10=1),
    }
    return CLAIMS[key].statistic(values, values)


def test_the_limit_is_gone_only_if_it_was_there():
    statistic = partial(segments_statistic, "02-segments-limit-gone")
    assert statistic(0.95, 0.52) == pytest.approx(0.08)  # there was one, and it is gone
    assert statistic(0.95, 0.75) == pytest.approx(-0.15)  # a quarter is left
    assert statistic(0.95, 0.30) == pytest.approx(-0.10)  # it turned round: also a preference
    assert statistic(0.55, 0.52) == pytest.approx(-0.20)  # there was none to lose


def test_the_part_that_is_lost():
    statistic = partial(segments_statistic, "02-segments-most-lost")
    assert statistic(0.9, 0.5) == pytest.approx(1) and statistic(0.9, 0.8) == pytest.approx(0.25)
    with pytest.raises(CannotDecide, match="no limit to lose"):
        statistic(0.55, 0.5)


def test_wider_than_a_text():
    values = {"entropy_zeros": heads(h00=4.5), "log_own": 4.1, "bag": heads(h00=1)}
    assert CLAIMS["02-segments-wide"].statistic(values, values) == pytest.approx(0.4)


def test_dimensions_are_means_over_pairs():
    values = {
        "sep dimensions": heads(h00=2.0), "sep pairs": heads(h00=10), "sep dimensions, rotated": heads(h00=3.0),
        "next dimensions": heads(h12=6.0), "next pairs": heads(h12=10), "delimiter": heads(h00=1), "next": heads(h12=1),
    }  # fmt: skip
    for key, expected in (
        ("sep-few-neurons", -0.2),
        ("next-many-neurons", 0.6),
        ("sep-fewer-than-next", 0.4),
        ("neurons-special", 0.1),
    ):
        assert CLAIMS[f"02-{key}"].statistic(values, values) == pytest.approx(expected), key
    with pytest.raises(CannotDecide, match="never looks at a sep"):
        CLAIMS["02-sep-few-neurons"].statistic({**values, "sep pairs": heads()}, values)


# --- the claims as a list ------------------------------------------------------------------------------


def test_there_are_enough_claims_and_all_say_what_would_refute_them():
    assert len(CLAIMS) == len(lesson02.CLAIMS) >= 8
    assert ledger("02") == lesson02.CLAIMS
    assert {claim.evidence for claim in lesson02.CLAIMS} <= set(lesson02.EVIDENCE)
    for claim in lesson02.CLAIMS:
        assert len(claim.sentence.split()) <= 12, claim.key


def test_published_values_come_from_the_tables_and_none_from_memory():
    assert CLAIMS["02-next-word"].published_text() == "3-1 (0.98)"
    assert CLAIMS["02-delimiter"].published_text() == f"8-4 ({published_heads('sep')[7, 3]:.2f})"
    assert (
        CLAIMS["02-segments-wide"].original_text()
        == f"1-1 ({published_heads('entropy_clark')[0, 0]:.2f} nats)"
    )
    # heads of Vig's patterns 2 to 5 are known from memory only, and stay out
    shown = " ".join(
        f"{claim.published_text()} {claim.original_text()} {claim.erratum} {claim.operational}"
        for claim in lesson02.CLAIMS
    )
    assert not re.search(r"\b(1-3|3-7|11-11|3-2)\b", shown)


# --- evidence ------------------------------------------------------------------------------------------


def test_evidence_on_the_specimen_is_finite_and_decides_or_says_why(specimen):
    resources = Resources(limit=4)
    verdicts = decide(lesson02.CLAIMS, specimen, resources=resources)
    assert [verdict.claim for verdict in verdicts] == list(lesson02.CLAIMS)
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


def test_a_model_without_segments_cannot_decide_the_switch(tmp_path):
    encoder = load_encoder(save_tiny_model(tmp_path / "roberta", "roberta"))
    pairs = [("the cat sat", "a dog sat"), ("a cat", "the dog")] * 3
    with pytest.raises(CannotDecide, match="never told which text"):
        list(lesson02.segment_ids(encoder, Resources(pairs=pairs)))
    verdicts = decide(
        [CLAIMS["02-segments-limit-gone"], CLAIMS["02-bag-own-text"]],
        encoder,
        resources=Resources(pairs=pairs),
    )
    assert verdicts[0].verdict == "cannot be decided here" and "never told" in verdicts[0].why
    assert not np.isnan(verdicts[1].value)


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
        "HeadExplorer(",
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
    assert any("count_verdicts(list(verdicts.values()))" in cell for cell in code)
