"""Lesson 10: its claims on numbers made by hand, its evidence against the probes, its tables, its picture, its view, its command."""

import json
import re
from dataclasses import replace
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
import traitlets
from made import read_rows, refusals, run

from bertlook_course.analyses.probing import draw_cases, expected_layer, hidden_states, typed_beliefs
from bertlook_course.analyses.probing import layer_probes as layers
from bertlook_course.claims import Evidence, Resources, decide, ledger
from bertlook_course.claims.lessons import lesson10 as collectors
from bertlook_course.corpora import TASKS
from bertlook_course.decks import lesson10 as deck_of_10
from bertlook_course.decks.pictures import lesson10 as pictures
from bertlook_course.metrics import CannotDecide, micro_f1
from bertlook_course.published import MeasuredTable, published_probing
from bertlook_course.render import (
    checked_case,
    depth_figure,
    depth_panels_figure,
    describe_beliefs,
    describe_curves,
    fits_said,
    published_layers_table,
    render_beliefs,
    where_table,
)
from bertlook_course.widgets import BeliefExplorer, LayerBeliefs

# --- evidence ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small(specimen):
    """Few sentences and cases: what the evidence must add up to, not what it says."""
    from bertlook_course.corpora import load_treebank

    tasks = collectors.read_tasks(specimen, load_treebank()[:70])
    tasks = {task: tuple(draw_cases(half, 150) for half in halves) for task, halves in tasks.items()}
    return tasks, {task: layers.layer_scores(*halves, l2=0.1) for task, halves in tasks.items()}


def test_the_evidence_adds_up_to_the_scores_of_the_probes(small):
    tasks, scores = small
    rows = list(collectors.curve_evidence(scores))
    assert all(row == {} for row in rows[::2]) and set(rows[1]) <= set(TASKS)
    found = Evidence.of("layers", rows)
    for task, s in scores.items():
        assert (found.inputs[task] % 2 == 1).all() and len(found.inputs[task]) == len(s.documents)
        assert micro_f1(*found.values[task].mean(axis=0).T) == pytest.approx(s.f1[s.best])
        assert set(s.documents) == set(tasks[task][1].documents)
        assert not set(s.documents) & set(tasks[task][0].documents)


def test_a_verdict_has_an_interval_over_documents(small, specimen):
    _, scores = small
    claims = [claim for claim in ledger("10") if claim.key == "10-pos-rises"]
    collect = {"layers": lambda encoder, resources: collectors.curve_evidence(scores)}
    [found] = decide(claims, specimen, twin=specimen, evidence=collect)
    assert found.low <= found.value <= found.high and found.n == len(scores["pos"].documents)


def test_what_the_lesson_shows_comes_from_the_same_probes(specimen, monkeypatch):
    from bertlook_course.corpora import load_treebank

    monkeypatch.setattr(collectors, "MOST_CASES", 120)
    monkeypatch.setattr(collectors, "STOPS", (2,))
    monkeypatch.setattr(collectors, "MIXED", ("pos",))
    sentences = load_treebank()[:70]
    fits = collectors.fitted(specimen, sentences)
    monkeypatch.setattr(collectors, "fitted", lambda encoder, sentences: fits)  # as kept
    shown = collectors.shown(specimen, sentences)
    assert set(fits.scores) == set(TASKS) and len(fits.mixes) == collectors.N_FITS
    assert shown.words.f1 == pytest.approx(fits.scores["pos"].f1) and not fits.scores["pos"].probes
    assert len(shown.runs) == 3 and not np.allclose(shown.runs[0].f1, shown.runs[1].f1)
    assert {len(both) for both in shown.rivals.values()} == {2}
    assert shown.chosen.chosen_on == collectors.CHOSEN and shown.fixed.chosen_on == "fixed beforehand"
    assert set(fits.mixes[0]) == {"pos"} == set(fits.penalties)
    assert set(shown.stopped.f1) == {2, 0} and "on purpose" in shown.stopped.why
    assert not np.allclose(shown.stopped.f1[2], shown.stopped.f1[0])
    assert all(len(case["words"]) <= collectors.LONGEST for case in shown.cases) and shown.cases
    typed = typed_beliefs(shown.words, specimen, "The old man can fish.")
    assert len(typed["targets"]) == 6


def test_mixes_come_from_different_documents(small):
    tasks, _ = small
    fits = collectors.fit_mixes(tasks, {"pos": {"l2": 0.1, "even": 0.1}}, 2)
    assert fits[0]["pos"].converged and fits[0]["pos"].weights.sum() == pytest.approx(1)
    assert not np.allclose(fits[0]["pos"].weights, fits[1]["pos"].weights, atol=1e-6)


def test_nothing_is_decided_on_a_fit_that_has_not_finished(small, specimen, monkeypatch):
    tasks, scores = small
    collectors.finished(scores.values())
    halfway = layers.layer_scores(*tasks["pos"], l2=0.1, max_iterations=1)
    with pytest.raises(CannotDecide, match="1 fits of probes stopped before they had finished"):
        collectors.finished([*scores.values(), halfway])
    made = collectors.Fits(scores | {"pos": halfway}, scores["dep"], {}, [])
    monkeypatch.setattr(collectors, "fitted", lambda encoder, sentences: made)
    with pytest.raises(CannotDecide, match="raise MAX_ITERATIONS"):
        list(collectors.layer_probes(specimen, Resources(limit=40)))


def test_too_few_documents_cannot_be_decided(specimen):
    with pytest.raises(CannotDecide, match="4 documents to fit on and 4 to score; a half has 2"):
        list(collectors.layer_probes(specimen, Resources(limit=14)))


# --- pictures ------------------------------------------------------------------------------------------


def test_each_layer_has_its_share_of_the_samples_in_which_it_is_best(small):
    score = small[1]["pos"]
    chosen = replace(
        score,
        best=np.array([2]),
        validation_counts=np.array([[[9, 1, 1]] * 6, [[2, 8, 8]] * 6, [[9, 1, 1]] * 6]),
    )
    assert (
        chosen.shares_of_choice().tolist() == [1, 0, 0] and chosen.share_of_choice() == 0
    )  # of equals the first
    assert np.isnan(replace(chosen, validation_counts=np.zeros((3, 0, 3), int)).share_of_choice())


@pytest.mark.parametrize(
    ("depths", "order"),
    [
        ((1.0, 1.0, 2.0), "POS = Dependencies < Coreference"),
        ((2.0, 1.0, 3.0), "Dependencies < POS < Coreference"),
        ((1.0, 1.0, 1.0), "POS = Dependencies = Coreference"),
        ((np.nan, 1.0, 2.0), "a task without a gain"),
    ],
)
def test_tasks_stand_in_the_order_of_their_depths(depths, order):
    assert pictures._order(depths) == order


def test_orders_are_counted_over_the_samples_and_the_classical_one_is_always_there():
    never = SimpleNamespace(so_far=SimpleNamespace(sure=False))
    depths = tuple(
        np.array(values) for values in ([1.0, 2.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [2.0, 3.0, 2.0, 2.0])
    )
    deck = SimpleNamespace(sampled_depths=depths, twin_scores={"pos": never}, subject="the model")
    drawn = pictures.orders_picture(deck)
    assert [list(row) for row in drawn.numbers[0].rows] == [
        ["POS = Dependencies < Coreference", "0.750"],
        ["Dependencies < POS < Coreference", "0.250"],
        ["POS < Dependencies < Coreference", "0.000"],
    ]
    assert "4 samples of the scored documents" in drawn.sentence and "twin is sure" in drawn.sentence


def test_published_pictures_carry_the_printed_numbers():
    assert pictures.orders_printed_picture().numbers == (published_layers_table("BERT-large"),)
    drawn = pictures.gains_printed_picture()
    assert "first POS (1.76)" in drawn.sentence and "last SPR (4.29)" in drawn.sentence
    shares = [
        float(one) for one in re.findall(r"<title>POS, layer \d+: (\S+) %", drawn.svg.replace("−", "-"))
    ]
    assert sum(shares) == pytest.approx(100, abs=3) and len(shares) == 12


# --- tables and figures --------------------------------------------------------------------------------


def test_a_table_of_where_names_no_depth_that_is_not_sure_and_refuses_two_models(small):
    _, scores = small
    table = where_table({"POS": scores["pos"]})
    assert table.header[5] == "expected layer" and "Layers 0 to 6" in table.caption
    level = replace(scores["pos"], counts=scores["pos"].counts[:1].repeat(len(scores["pos"].counts), axis=0))
    row = where_table({"POS": level}).rows[0]
    assert row[4] == "+0.0 [+0.0, +0.0]" and row[5] == "not sure"
    assert "nan" not in repr(where_table(scores))


def test_a_table_of_fits_that_have_not_finished_says_so(small):
    tasks, scores = small
    halfway = layers.layer_scores(*tasks["pos"], l2=0.1, max_iterations=1)
    table = where_table({"POS": halfway})
    assert table.caption.startswith("POS: NOT FINISHED") and "raise max_iterations" in table.caption
    assert fits_said({"POS": halfway, "dep": scores["dep"]}).startswith("POS: NOT FINISHED")
    assert fits_said(scores) == "" and "NOT FINISHED" not in where_table(scores).caption


def test_published_tables_hold_one_model_each():
    base, large = published_layers_table("BERT-base"), published_layers_table("BERT-large")
    assert base.caption.startswith("BERT-base, layers 0 to 12") and large.caption.startswith(
        "BERT-large, layers 0 to 24"
    )
    assert "BERT-large" not in repr(base) and "BERT-base" not in repr(large)
    assert list(map(str, base.rows[0])) == [
        "POS",
        "88 → 96",
        "1.76",
        "1.72",
        "-",
        "-",
    ]  # its centre was not found
    assert list(map(str, large.rows[0])) == ["POS", "89 → 97", "3.39", "1.60", "11.68", "0.19"]
    assert len(published_layers_table("BERT-large", ["POS", "SPR"]).rows) == 2


def test_curves_of_two_models_do_not_share_an_axis():
    base = published_probing("BERT-base")["POS"].f1
    figure = depth_figure({"POS": base, "banded": (base, base - 1, base + 1)}, baseline=("flat", 90))
    named = depth_panels_figure({"one task": {"seed 0": [11, 18]}}, ticks=("before", "after"))
    assert [label.get_text() for label in named.axes[0].get_xticklabels()] == ["before", "after"]
    lines = figure.axes[0].lines
    assert lines[0].get_xdata().tolist() == list(range(13)) and lines[0].get_ydata() == pytest.approx(base)
    panel = {"specimen": (base, base - 1, base + 1), "twin": (base - 30, base - 32, base - 28)}
    panels = depth_panels_figure({"POS": panel, "Entities": panel}).axes
    assert [axes.get_title() for axes in panels] == ["POS", "Entities"]
    assert panels[1].lines[1].get_ydata() == pytest.approx(base - 30)
    assert panels[0].get_ylim() == panels[1].get_ylim() and len(panels[0].collections) == 2
    assert describe_curves({"POS": base}) == "From the embeddings to all 12 layers: POS 88.4 to 96.5 %."


# --- one question --------------------------------------------------------------------------------------

WORDS = ["the", "old", "man", "can", "fish", "<b>"]
BELIEFS = [[0.1, 0.2, 0.7, 0.9], [0.8, 0.6, 0.2, 0.05]]


def case(task="pos", **changes):
    target = {"span1": [4, 5], "span2": None, "gold": "VERB", "labels": ["VERB", "NOUN"], "beliefs": BELIEFS}
    other = {**target, "span1": [1, 3], "gold": "NOUN"}
    pair = {
        **target,
        "span2": [2, 3],
        "gold": "nsubj",
        "labels": ["nsubj"],
        "beliefs": [[0.25, 0.5, 0.5, 0.75]],
    }
    return {"task": task, "words": WORDS, "targets": [{**target, **changes}, other, pair]}


def test_beliefs_are_said_in_words():
    assert describe_beliefs(case(), 0) == (
        "“fish” (treebank: VERB): NOUN leads from the embeddings (80 %) to layer 1 and VERB from layer 2 on (90 % with layer 3)."
    )
    assert describe_beliefs(case(beliefs=[[0.1, 0.1, 0.1, 0.9], [0.8, 0.8, 0.8, 0.1]]), 0).endswith(
        "NOUN leads from the embeddings (80 %) to layer 2 and VERB with layer 3 (90 %)."
    )
    assert describe_beliefs(case(beliefs=[[0.9, 0.9, 0.9, 0.95], [0.1] * 4]), 0).endswith(
        "VERB leads at every depth, 90 % with the embeddings, 95 % with layer 3."
    )
    assert describe_beliefs(case(), 2) == (
        "“fish” and “man” (treebank: nsubj): belief in “nsubj” goes from 25 % with the embeddings to 75 % with layer 3."
    )
    assert describe_beliefs(case(gold=""), 0).startswith("“fish”: NOUN leads")


def test_the_picture_shows_every_number_and_escapes_every_word():
    svg = render_beliefs(case(), 0).svg
    ElementTree.fromstring(svg)
    assert "<b>" not in svg and "&lt;b&gt;" in svg
    shown = re.findall(r">(\d+)</text></g>", svg)
    assert shown == ["10", "20", "70", "90", "80", "60", "20", "5"]
    assert "VERB ✓" in svg and describe_beliefs(case(), 0).replace("“", "") in svg.replace("“", "")


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"beliefs": [[0.1, 0.2]]}, r"question 0: beliefs must have shape \(label, layer\), a row for each of the 2 labels"),
        ({"beliefs": [[0.1], [1.2]]}, "question 0: beliefs are probabilities"),
        ({"span1": [4, 7]}, r"question 0: span \[4, 7\] is not \[start, end\) within the 6 words"),
        ({"beliefs": [[0.1], [0.2]]}, r"the same layers; got \[1, 4\]"),
    ],
)  # fmt: skip
def test_a_broken_case_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        checked_case(case(**changes))


# --- the view ------------------------------------------------------------------------------------------


def test_the_view_holds_a_choice_and_its_picture():
    short = {**case(), "targets": case()["targets"][:1]}
    view = LayerBeliefs([case(), short], target=2)
    assert repr(view) == "LayerBeliefs(pos, 2 sentences, 3 layers; sentence 0, question 2 of 3)"
    assert view.sentence_text == describe_beliefs(case(), 2)
    bundle = view._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle and "“fish” and “man”" in bundle["text/html"]
    view.sentence = 1  # has one question: the choice goes back to the first
    assert view.target == 0
    view.choose(0, 1)
    assert (view.sentence, view.target) == (0, 1)
    for name, value in (("target", 3), ("target", -1), ("sentence", 2)):
        with pytest.raises(traitlets.TraitError, match=f"{name} counts from 0 to"):
            setattr(view, name, value)


def test_a_typed_text_is_read_and_what_cannot_be_read_is_said(small, specimen):
    _, scores = small
    explorer = BeliefExplorer(lambda text: typed_beliefs(scores["pos"], specimen, text), "We fish.")
    assert explorer.beliefs.cases[0]["words"] == ["We", "fish", "."]
    explorer.beliefs.target = 2
    explorer.text_box.text.value = "It's late"
    assert explorer.beliefs.cases[0]["words"] == ["It's", "late"] and explorer.beliefs.target == 0
    assert explorer.text_box.message.value == ""
    explorer.text_box.text.value = "  "
    assert "no word to ask about" in explorer.text_box.message.value
    assert explorer.beliefs.cases[0]["words"] == ["It's", "late"]


def test_typed_beliefs_are_those_of_the_probes(small, specimen):
    _, scores = small
    typed = typed_beliefs(scores["pos"], specimen, "We fish.", top=99)
    [states] = hidden_states(specimen, [("We", "fish", ".")])
    for layer, probe in enumerate(scores["pos"].probes):
        believed = dict(zip(probe.labels, probe.beliefs(states)[1]))
        target = typed["targets"][1]
        for label, row in zip(target["labels"], target["beliefs"]):
            assert row[layer] == pytest.approx(believed[label], abs=6e-4)


# --- the command ---------------------------------------------------------------------------------------


def test_the_command_prints_and_saves_every_layer_with_its_controls(tmp_path, capsys):
    options = ("--limit", 60, "--l2", 0.1, "--seeds", 1, "--mix", "--quiet")
    code, printed = run(capsys, "layers", "--task", "pos", "--out", tmp_path, *options)
    assert code == 0 and printed.err == ""
    rows = read_rows(tmp_path / "layers.csv")
    names = {row["run"] for row in rows}
    assert names == {
        "model", "seed 1", "random twin", "made-up labels", "mixes, model", "mixes, random twin",
        "commonest label", "list of words",
    }  # fmt: skip
    curve = [row for row in rows if row["run"] == "model"]
    assert [row["layer"] for row in curve] == [str(layer) for layer in range(7)]
    assert {row["converged"] for row in rows if row["layer"]} == {"True"}
    mix = [float(row["mix"]) for row in rows if row["run"] == "mixes, model"]
    assert sum(mix) == pytest.approx(1, abs=1e-4)
    assert all(float(row["low"]) <= float(row["f1"]) <= float(row["high"]) for row in rows)
    about = json.loads((tmp_path / "layers.json").read_text(encoding="utf-8"))["about"]
    assert set(about["summary"]) == {"model", "seed 1", "random twin", "made-up labels"}
    assert about["converged"] is True and set(about["mixes"]) == {"model", "random twin"}
    best = curve[int(curve[-1]["best so far"])]
    summary = about["summary"]["model"]
    assert summary["gain"] == pytest.approx(float(best["f1"]) - float(curve[0]["f1"]), abs=2e-4)
    so_far = [float(row["f1 so far"]) for row in curve]
    if summary["low"] > 0:
        assert summary["expected layer"] == pytest.approx(expected_layer(so_far), abs=0.05)
    else:
        assert summary["expected layer"] is None
    assert "layer alone" in printed.out and "adds to the embeddings [95 %]" in printed.out
    assert "mix of all layers" in printed.out and "chosen on training documents" in printed.out


def test_a_command_whose_fits_have_not_finished_says_so_and_does_not_end_well(tmp_path, capsys):
    options = ("--limit", 40, "--l2", 0.01, "--seeds", 0, "--no-twin", "--max-iterations", 1, "--quiet")
    code, printed = run(capsys, "layers", "--task", "pos", "--out", tmp_path, *options)
    assert code == 1
    [said] = [line for line in printed.out.splitlines() if "NOT FINISHED" in line]
    assert (
        "model: NOT FINISHED: the probes of layers 0, 1, 2, 3, 4, 5, 6" in said and "--max-iterations" in said
    )
    about = json.loads((tmp_path / "layers.json").read_text(encoding="utf-8"))["about"]
    assert about["converged"] is False and said in about["warnings"]


def test_the_command_reads_questions_from_json_lines(tmp_path, capsys):
    lines = [
        json.dumps({"id": f"d{i}-1", "tokens": ["we", "saw", "it"], "targets": [{"span1": [k, k + 1], "label": "AB"[(i + k) % 2]} for k in range(3)]})
        for i in range(8)
    ]  # fmt: skip
    path = tmp_path / "pos.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    options = ("--seeds", 0, "--no-twin", "--quiet", "--max-cases", 6)
    code, _ = run(capsys, "layers", "--task", "pos", "--data", path, "--out", tmp_path / "out", *options)
    about = json.loads((tmp_path / "out" / "layers.json").read_text(encoding="utf-8"))["about"]
    assert code == 0 and about["n_train"] == 6 and about["n_test"] == 12
    for task, more, said in (
        ("pos", ("--test", path), "are in both halves"),
        ("dep", (), "asks about 2 span(s)"),
    ):
        code, printed = run(
            capsys, "layers", "--task", task, "--data", path, *more, "--out", tmp_path / "out", *options
        )
        assert code == 1 and said in printed.err


# --- what is refused -----------------------------------------------------------------------------------

BASE, LARGE = (published_probing(model)["POS"].f1 for model in ("BERT-base", "BERT-large"))
PANEL = {"specimen": (BASE, BASE, BASE), "twin": (BASE, BASE, BASE)}


def two_depths(scores):
    return where_table({"a": scores["pos"], "b": replace(scores["pos"], counts=scores["pos"].counts[:3])})


test_what_is_refused = refusals(
    (lambda small: two_depths(small[1]), "all of one model: layer 6 of 12 is not a layer 6 of 24"),
    (lambda: published_layers_table("both"), "never mixed"),
    (lambda: depth_figure({"base": BASE, "large": LARGE}), "all of one model"),
    (lambda: depth_figure({}), "at least one"),
    (lambda: depth_panels_figure({}), "the same curves in each"),
    (
        lambda: depth_panels_figure({"POS": PANEL, "Entities": {"specimen": PANEL["specimen"]}}),
        "the same curves in each",
    ),
    (lambda: depth_panels_figure({"POS": {"base": (BASE,) * 3, "large": (LARGE,) * 3}}), "all of one depth"),
    (lambda: checked_case({**case(), "targets": []}), "at least one question; got 6 words, 0 questions"),
    (lambda: LayerBeliefs([]), "at least one case"),
    (lambda: LayerBeliefs([case(), case("dep")]), "one task and one model"),
    (lambda small, specimen: typed_beliefs(small[1]["dep"], specimen, "We fish."), "asks about pairs"),
)


@pytest.mark.parametrize(
    "cell, said",
    [
        ("1.02 [0.94, 1.07]", "**1.02 [0.94, 1.07]**"),
        ("1.00 [1.00, 1.00]", "**1.00** (in every sample)"),
        ("not sure", "**not sure**"),
    ],
)
def test_an_interval_without_width_is_said_in_words(cell, said):
    table = MeasuredTable("", True, "the specimen", ("run", "expected layer"), {"model": (cell,)})
    assert deck_of_10._layer_in(table) == said
