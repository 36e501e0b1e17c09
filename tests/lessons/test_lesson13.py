"""Lesson 13 beside its statistics: its part of the ledger, the tables of outcomes, the cut curves, and what its deck relies on."""

import base64
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from bertlook_course.checks import lesson13 as check
from bertlook_course.claims import Measurement, evidence_table, ledger, settle
from bertlook_course.claims.essay import register as h
from bertlook_course.claims.essay.phases import split_p
from bertlook_course.claims.essay.statistics import clause_excess
from bertlook_course.claims.lessons import lesson13
from bertlook_course.decks.pictures.lesson13 import (
    outcome_picture,
    register_picture,
    sealed_picture,
    sorted_picture,
    trial_picture,
    why_short,
)
from bertlook_course.decks.pictures.lesson13_essay import (
    clauses_picture,
    distinct_orders,
    holm_figure,
    in_phases,
    orders_picture,
    story_picture,
)
from bertlook_course.render import (
    compared_table,
    outcome_table,
    phases_figure,
    register_table,
    why_lines,
)
from bertlook_teach.views.drawing.svg import text_width

CLAIMS = {claim.key.removeprefix("13-"): claim for claim in ledger("13")}
BY_NUMBER = dict(enumerate(h.REGISTER, 1))


# --- the ledger ------------------------------------------------------------------------------------------


def test_all_eleven_and_a_guess_are_in_the_ledger():
    assert len(CLAIMS) == 12 and list(CLAIMS)[11:] == ["own-determiners"]
    for claim, registered in zip(CLAIMS.values(), h.REGISTER):
        assert claim.key == registered.key
        assert (claim.statistic, claim.threshold, claim.evidence) == (
            registered.statistic,
            registered.threshold,
            registered.evidence,
        )
        assert claim.refuted_if == registered.refuted_if and claim.sentence == registered.sentence
    known = evidence_table()
    assert all(claim.evidence in known for claim in CLAIMS.values())


def test_published_values_are_computed_and_only_where_there_are_any():
    printed = {key: claim.published_text() for key, claim in CLAIMS.items()}
    assert {key for key, text in printed.items() if text} == {BY_NUMBER[n].key[3:] for n in (2, 7, 8, 9, 10)}
    assert printed["cls-hunter"] == "+0.76" and printed["looks-where-it-matters-less"] == "+0.87"
    assert all(bool(claim.exactness) == bool(printed[key]) for key, claim in CLAIMS.items())


def test_our_own_guess_is_a_pattern():
    assert 'query.pos("DET") & key.governor()' in CLAIMS["own-determiners"].operational


def test_a_class_takes_part_of_the_texts():
    resources = lesson13.class_resources()
    assert (len(resources.pairs), len(resources.treebank)) == (lesson13.N_PAIRS, lesson13.N_SENTENCES)
    assert resources.digest == lesson13.class_resources().digest  # so evidence is collected once


# --- tables ----------------------------------------------------------------------------------------------


def tried(**numbers):
    return Measurement(**({"value": 0.3, "low": 0.2, "high": 0.4, "n": 20, "p": 0.001} | numbers))


def outcomes(with_twin=True):
    ours = [
        tried(),
        tried(value=-0.3, low=-0.4, high=-0.2, p=1.0, against=0.001),
        Measurement(reason="no probe"),
    ]
    twins = [Measurement(value=0.0, low=-0.01, high=0.01, n=20)] * 3
    claims = [BY_NUMBER[number] for number in (2, 6, 11)]
    return settle(claims, ours, twins, twin_model="twin") if with_twin else settle(claims, ours)


def test_the_outcome_table_says_value_twin_p_and_verdict():
    rows = outcome_table(outcomes()).rows
    assert rows[0] == ["2 [CLS] is a hunter", ".30 [.20, .40]", ".00", ".003", "✓ supported"]
    assert rows[1] == ["6 deep heads respect clauses", "-.30 [-.40, -.20]", ".00", ".003", "✗ refuted"]
    assert rows[2] == ["11 phases learn in order", "-", ".00", "-", "? undecided"]
    alone = outcome_table(outcomes(with_twin=False))
    assert list(alone.header) == ["claim", "value [95 %]", "p", "verdict"] and "n = 20" in alone.caption


def test_reasons_and_register_are_readable():
    assert why_lines(outcomes()).splitlines()[2] == "- 11 phases learn in order: no probe"
    assert [row[0] for row in register_table(h.REGISTER).rows] == [str(n) for n in range(1, 12)]
    assert register_table(h.REGISTER).rows[2][2] == "> 0.5"


def test_two_courts_judge_the_same_claims():
    ours = outcomes()
    assert compared_table(ours, ours[:]).rows[1][1:] == ["✗ refuted", "✗ refuted"]
    with pytest.raises(ValueError, match="the same claims in the same order"):
        compared_table(ours, ours[::-1])


def test_markup_in_a_name_is_escaped():
    bad = replace(BY_NUMBER[6], title="<b>clauses</b>")
    found = settle([bad], [Measurement(reason="no")])
    said = {bad.key: "a <b>clauses</b>"}
    for page in (
        outcome_table(found)._repr_html_(),
        outcome_picture(found).svg,
        trial_picture(found, found, "<b>clauses</b>").svg,
        register_picture([bad], said).svg,
    ):
        assert "<b>clauses" not in page and "clauses" in page


# --- pictures --------------------------------------------------------------------------------------------


def test_outcomes_have_a_bar_where_there_is_an_interval_and_always_a_sign():
    picture = outcome_picture(outcomes())
    assert picture.svg.count('stroke-width="6"') == 2 and picture.svg.count('r="15"') == 3
    assert ">p .003<" in picture.svg and ">no p<" in picture.svg
    assert picture.svg.count("random twin: ") == 2 and "grey square" in picture.beneath
    assert "grey square" not in outcome_picture(outcomes(with_twin=False)).beneath
    assert picture.numbers[0].rows == outcome_table(outcomes()).rows


@pytest.mark.parametrize(
    "found, said",
    [
        (tried(), "supported"),
        (Measurement(reason="no"), "not measured"),
        (tried(low=-0.2, p=0.4), "on the line"),
        (tried(p=0.04), "p = .440"),
        (Measurement(value=0.3, low=0.2, high=0.4, n=2, reason="no sample"), "n = 2, no p"),
    ],
)
def test_an_open_verdict_says_what_keeps_it_open(found, said):
    lost = [Measurement(reason="no")] * 10
    claims = [BY_NUMBER[2], *(BY_NUMBER[n] for n in BY_NUMBER if n != 2)]
    assert why_short(settle(claims, [found, *lost])[0]) == said


def test_both_models_verdicts_stand_in_one_row():
    ours = settle(h.REGISTER, [tried()] * 11)
    picture = trial_picture(ours, h.try_published(), "specimen")
    assert picture.svg.count('r="13"') == 22 and picture.svg.count(">not published<") == 5
    assert picture.svg.count(">supported*<") == 4 and "in 8, 12 layer means" in picture.beneath
    assert "just crosses the line, but p decides" in picture.beneath and " others: " not in picture.svg
    few = trial_picture(
        [*ours[:10], *settle([h.REGISTER[10]], [tried(low=-0.2, p=0.4)])], h.try_published(), "specimen"
    )
    assert few.svg.count('r="13"') == 22 and ">1 other: 11<" in few.svg
    assert "in claim 3, the unit was changed after the lock; in 5, [MASK] was not tested" in picture.beneath
    of_specimen = [replace(one, model="specimen") for one in ours]
    assert "With a reservation: slide 14" in sorted_picture({"specimen": of_specimen}, "Sorted.").caption
    told = outcome_picture(of_specimen).caption
    assert "after the lock (by sentences an earlier specimen left it undecided); in 5, [MASK] was" in told
    assert "after the lock; in 5, [MASK]" in outcome_picture(ours).caption
    assert [row[0] for row in picture.numbers[0].rows] == [claim.name for claim in h.REGISTER]


def test_a_claims_picture_says_line_and_refutation():
    [claim] = [BY_NUMBER[6]]
    picture = register_picture([claim], {claim.key: "a share " * 40})
    assert (
        ">&gt; .01<" in picture.svg
        and ">refuted<" in picture.svg
        and "6 deep heads respect clauses" in picture.svg
    )
    assert "refuted if the excess is a hundredth" in picture.sentence
    assert picture.numbers[0].rows == register_table([claim]).rows
    short = register_picture([claim]).svg
    assert ">6 Deep heads respect finer segments" in short and "a share" not in short


def test_a_sealed_sheet_bears_the_beginning_of_its_digest_and_the_changed_line_is_framed():
    sheets = [(["one", "two"], "0123456789abcdef99"), (["one", "three"], "f" * 64)]
    picture = sealed_picture(sheets, "Two sheets.", changed="three")
    assert "0123456789abcdef …" in picture.svg and "abcdef99" not in picture.svg
    assert picture.svg.count('stroke-width="4"') == 1 and picture.beneath == "Two sheets."


def test_sorted_claims_stand_under_their_verdict_and_undecided_ones_by_their_number():
    picture = sorted_picture({"specimen": outcomes(), "other": outcomes()[:1]}, "Sorted.")
    assert picture.svg.count(">2 [CLS] is a hunter<") == 2 and picture.svg.count(">none<") == 1
    assert ">11<" in picture.svg and "6 deep heads respect clauses: refuted" in picture.sentence


def test_an_end_that_rounds_onto_the_line_gets_a_third_digit():
    [close] = settle([BY_NUMBER[8]], [tried(low=-0.0023)])
    assert outcome_table([close]).rows[0][1] == ".30 [-.002, .40]"
    large = replace(close, value=10.5, low=-0.004, high=20)
    assert outcome_table([large]).rows[0][1] == "10.50 [-.004, 20.00]", "a zero inside a number stays"


@pytest.mark.parametrize("sizes, cuts", [([2, 3, 1], (2, 5)), ([2, 2], (2,))])
def test_framed_orders_are_those_that_cuts_explain_perfectly(sizes, cuts):
    orders = distinct_orders(sizes)
    share = sum(map(in_phases, orders)) / len(orders)
    steps = np.repeat(np.arange(len(sizes)) ** 2.0, sizes)[:, None]
    assert split_p(steps, cuts)[1] == pytest.approx(share)
    assert orders_picture(sizes).svg.count('stroke-width="4"') == sum(map(in_phases, orders))


def test_moved_boundaries_take_nothing_from_a_head_that_goes_by_distance():
    heads = {"is near": np.eye(5) + 1, "keeps": np.kron([[1, 0], [0, 1]], np.ones((3, 3)))[1:, 1:]}
    picture = clauses_picture(heads, [2, 3])
    gains = [float(row[-1]) for row in picture.numbers[0].rows]
    expected = [float(clause_excess(weights, [2, 3])) for weights in heads.values()]
    assert gains == pytest.approx(expected, abs=0.005) and gains[0] == 0 < gains[1]


def test_chance_among_many_tests_grows_and_holm_takes_it_back():
    figure = holm_figure([0.004, 0.03], [0.044, 0.3], 11)
    bars, slopes = figure.axes
    assert bars.patches[-1].get_height() == pytest.approx(100 * (1 - 0.95**11))
    assert [line.get_linestyle() for line in slopes.lines[:2]] == ["-", "--"]


def test_the_picture_of_the_story_says_that_it_is_a_schematic_and_stays_inside():
    picture = story_picture()
    assert "schematic" in picture.sentence and "nothing here is measured" in picture.sentence
    wide = float(re.search(r'viewBox="0 0 ([\d.]+)', picture.svg)[1])
    for x, anchor, words in re.findall(
        r'<text x="([\d.]+)"[^>]*text-anchor="(\w+)"[^>]*>([^<]+)<', picture.svg
    ):
        half = text_width(words, 30) / 2
        middle = float(x) + (half if anchor == "start" else 0)
        assert 0 <= middle - half and middle + half <= wide, words
    said = re.findall(r">([^<>]+)</text>", picture.svg)
    assert [word for word in said if word.isdigit()] == [str(layer) for layer in range(1, 13)]
    ends = {
        (a, b) for a, b in re.findall(r'<path d="M([\d.]+) [^"]* ([\d.]+) [\d.]+" fill="none"', picture.svg)
    }
    assert len(ends) == picture.svg.count("<circle") == 12  # 1, 5, 3 and 3 lines, each with its dot


def test_cuts_are_drawn_between_layers():
    figure = phases_figure(np.full((12, 4), 0.25), (4, 10))
    cuts = [line.get_xdata()[0] for line in figure.axes[0].lines if len(set(line.get_xdata())) == 1]
    assert cuts == [4.5, 10.5]
    with pytest.raises(ValueError, match=r"shape \(layer, 4\)"):
        phases_figure(np.zeros((12, 3)), (4, 10))


# --- what the deck and the exercises rely on ------------------------------------------------------------------


@pytest.fixture(scope="module")
def deck(root):
    return json.loads((root / "slides" / "13_an_essay_on_trial.ipynb").read_text(encoding="utf-8"))["cells"]


def place(deck, what):
    return next(i for i, cell in enumerate(deck) if what in "".join(cell["source"]))


def test_the_digest_is_shown_before_anything_is_computed(deck):
    digest, computed = place(deck, "lesson13.two_digests()"), place(deck, "deck.outcomes_on_slides()")
    assert digest < computed and place(deck, "locked = claims.commit(") < computed
    [svg] = re.findall(r"base64,([^\"]+)", "".join(deck[digest]["outputs"][0]["data"]["text/html"]))
    assert f"{h.register_digest()[:16]} …" in base64.b64decode(svg).decode()


def test_a_bet_is_locked_before_it_is_scored(deck):
    assert (
        place(deck, "locked_bet = claims.commit(")
        < place(deck, "deck.pattern_row(mine)")
        < place(deck, "reveal(locked_bet")
    )


def test_verdicts_in_prose_come_out_of_cells(deck):
    prose = "".join("".join(cell["source"]) for cell in deck if cell["cell_type"] == "markdown")
    assert not re.findall(r"\d\.\d{2,}", re.sub(r"`.+?`", "", prose))


def test_a_pattern_that_cannot_be_read_or_asked_is_named():
    assert check.check_pattern("query.word(',') & key.offset(-1)").status == "right"
    assert "cannot be read" in check.check_pattern("query.word(").message
    assert "plain text" in check.check_pattern("query.pos('PUNCT') & key.governor()").message
    assert "type `int`" in check.check_pattern(3).message


def test_in_the_exercise_on_many_tests_each_mistake_gives_a_set_of_its_own(root):
    p = np.array([0.03, 0.003, 1.0, 1.0, 0.0048, 0.2, 0.045, 0.0095, 1.0, 0.6, 1.0])
    notebook = root / "notebooks" / "solutions" / "13_an_essay_on_trial.ipynb"
    assert f"p = {p.tolist()}" in notebook.read_text(encoding="utf-8")
    assert check.check_survivors({2, 5}, p)
    said = {
        "without a correction": {1, 2, 5, 7, 8},
        "could not be tested count too": {2, 5, 8},
        "Bonferroni": {2},
        "numbered from 1": {1, 4},
    }
    for reason, chosen in said.items():
        assert reason in check.check_survivors(chosen, p).message
