"""Lesson 06: its claims on numbers made by hand, its evidence against the table, its tables and figure."""

from dataclasses import replace

import numpy as np
import pytest
from made import random_answers, refusals, tree

from bertlook_course.analyses.syntax import (
    OFFSETS,
    Choice,
    best_of_many,
    in_scheme,
    score_relations,
)
from bertlook_course.claims import (
    Resources,
    collect_evidence,
    decide,
    find_statistic,
    ledger,
    statistics,
    verdicts,
)
from bertlook_course.claims.lessons import lesson06
from bertlook_course.claims.lessons.lesson06 import relation_evidence
from bertlook_course.claims.statistics import relation_accuracies, relation_accuracy
from bertlook_course.corpora import load_treebank
from bertlook_course.decks import lesson06 as deck_of_06
from bertlook_course.decks.pictures import lesson06 as pictures
from bertlook_course.metrics import CannotDecide
from bertlook_course.published import published_table_1
from bertlook_course.render import (
    best_of_figure,
    choices_cell,
    figure_picture,
    flattery_table,
    gain_figure,
    published_relations,
    relation_bars_figure,
    relation_gains,
)
from bertlook_course.render import signed_gain as signed
from bertlook_course.render.drawing import marks
from bertlook_teach.model import load_encoder, load_recording
from bertlook_teach.views.drawing import palette

CLAIMS = ledger("06")


@pytest.fixture(scope="module")
def treebank():
    return load_treebank()[:80]


def answers_of(sentences, planted=(), layers=4, heads=3, seed=0):
    return random_answers(sentences, layers, heads, seed, planted)


def gold(s):
    """The Stanford governors of a UD sentence; roots name the first word."""
    return [max(g, 0) for g in in_scheme([s], "stanford")[0].governors]


# --- published -----------------------------------------------------------------------------------------


def test_table_1_has_its_fifteen_rows_and_the_slip_in_one():
    table = published_table_1()
    assert len(table) == 15 and next(iter(table)) == "all"
    assert (table["dobj"].accuracy, table["dobj"].baseline, table["dobj"].offset) == (86.8, 40.0, -2)
    assert table["pobj"].direction == "g>d" and [r for r in table if table[r].governor_looks] == ["pobj"]
    auxpass = table["auxpass"]
    assert (auxpass.accuracy, auxpass.baseline) == (82.5, 40.5)
    assert (auxpass.code_accuracy, auxpass.code_baseline) == (94.1, 82.5) and auxpass.erratum
    others = [r for r in table.values() if r.relation not in ("auxpass", "all")]
    assert all(
        (r.accuracy, r.baseline) == (r.code_accuracy, r.code_baseline) and not r.erratum for r in others
    )


# --- the ledger ----------------------------------------------------------------------------------------


def test_a_total_counts_an_input_as_often_as_it_was_drawn():
    from bertlook_course.claims.evidence import Evidence, _Sample

    rows = [{"cases": float(n)} if n % 3 else {} for n in range(8)]  # 1, 2, 4, 5, 7 have it
    sample = _Sample(Evidence.of("made up", rows))
    assert sample.row(0).total("cases") == 2 + 4 and sample.row(1).total("cases") == 1 + 5 + 7
    drawn = sample.weights[2]
    assert sample.row(2).total("cases") == pytest.approx(sum(n * drawn[n] for n in (1, 2, 4, 5, 7)))


def test_no_claim_that_a_head_finds_a_relation_stands_beside_there_are_no_such_heads():
    specimen = load_encoder("specimen")
    found = {v.claim.key.removeprefix("06-"): v.verdict for v in decide(CLAIMS, specimen)}
    finds = [name for name in ("dobj", "pobj") if found[name] == "holds"]
    assert finds and found["no-syntactic-heads"] != "holds"


def test_evidence_adds_up_to_the_table(treebank):
    """A second way: means over sentences, divided, are the accuracies of `score_relations`."""
    answers = answers_of(treebank)
    rows = list(relation_evidence(answers))
    table = score_relations(answers, scheme="stanford", min_cases=5, permutations=0)
    for name in ("all", "det", "prep", "poss", "pobj"):
        having = [row for row in rows if f"{name} cases" in row]
        means = {
            key: np.mean([row[key] for row in having], axis=0)
            for key in having[0]
            if key.startswith(f"{name} ")
        }
        assert relation_accuracies(means, name).max() == pytest.approx(table[name].in_sample)
        assert relation_accuracies(means, name, "offsets").max() == pytest.approx(
            table[name].in_sample_baseline
        )
        assert relation_accuracy(means, means, name) == pytest.approx(table[name].in_sample)
        assert sum(row[f"{name} cases"] for row in having) == table[name].n
    assert rows[0]["all offsets"].shape == (len(OFFSETS),)


def test_a_head_that_knows_everything_upholds_the_claims_and_an_offset_does_not(treebank, monkeypatch):
    class Stub:
        name, fingerprint = "stub", "stub"

    knows = answers_of(treebank, {(0, 2, 1): gold})
    next_word = {(d, 0, 0): lambda s: np.minimum(np.arange(len(s)) + 1, len(s) - 1) for d in (0, 1)}
    guesses = answers_of(treebank, next_word, seed=1)
    collected = {
        "relations": lambda encoder, resources: relation_evidence(
            knows if encoder.name == "stub" else guesses
        )
    }
    twin = type("Twin", (), {"name": "twin", "fingerprint": "twin"})()
    found = {
        v.claim.key.removeprefix("06-"): v for v in decide(CLAIMS, Stub(), twin=twin, evidence=collected)
    }
    assert {found[name].verdict for name in ("pobj", "dobj")} == {"holds"}
    assert found["no-syntactic-heads"].why == "fewer than five relations of Table 1 occur 50 times"
    monkeypatch.setattr(statistics, "LEAST_CASES", 5)
    monkeypatch.setattr(verdicts, "FEWEST_REPORTING", 5)
    monkeypatch.setattr(verdicts, "FEWEST_CHOOSING", 5)
    det = replace(CLAIMS[0], key="06-det", statistic=find_statistic("relation_gain", ["det"]))
    found = {
        v.claim.key.removeprefix("06-"): v
        for v in decide([*CLAIMS, det], Stub(), twin=twin, evidence=collected)
    }
    assert found["no-syntactic-heads"].verdict == "does not hold"
    assert found["no-general-head"].verdict == "does not hold"
    assert found["det"].value == pytest.approx(1 - accuracy_of_next_word(treebank, "det"), abs=0.1)


def accuracy_of_next_word(treebank, relation):
    trees = in_scheme(treebank[1::2], "stanford")
    marks = [
        g == i + 1 for t in trees for i, (g, r) in enumerate(zip(t.governors, t.relations)) if r == relation
    ]
    return np.mean(marks)


def test_the_evidence_is_collected_from_a_model():
    evidence = collect_evidence("relations", load_encoder("specimen-random"), Resources(limit=6))
    assert evidence.n == 6 and evidence.values["all right"].shape == (6, 2, 6, 6)
    assert lesson06.EVIDENCE["relations"] is lesson06.relations


# --- the best of many ----------------------------------------------------------------------------------


def test_the_best_of_many_is_known_on_paper():
    in_sample, fair = best_of_many(1, 40, 0.3, repeats=20_000)
    assert in_sample == pytest.approx(0.3, abs=0.003) and fair == pytest.approx(0.3, abs=0.003)
    in_sample, fair = best_of_many(7, 1, 0.2, repeats=20_000)
    assert in_sample == pytest.approx(1 - 0.8**7, abs=0.01) and fair == pytest.approx(0.2, abs=0.01)
    assert best_of_many(5, 10, 1.0) == (1, 1)


# --- pictures ------------------------------------------------------------------------------------------


def test_tables_say_what_the_rows_say(treebank):
    answers = answers_of(treebank, {(1, 2, 1): gold})
    table = score_relations(
        answers, scheme="stanford", twin=answers_of(treebank, seed=2), min_cases=20, permutations=20
    )
    shown = relation_gains(table, ("det", "prt"), published_table_1())
    det = dict(zip(shown.header, shown.rows[0]))
    assert det["head"] == "3-2↓" and det["acc."] == "100" and det["BERT-base"] == "+42.6"
    assert shown.rows[1][2] == "too rare" and "Stanford scheme" in shown.caption
    flattered = flattery_table(table, ("det",))
    assert (
        list(map(str, flattered.rows[0][2:4])) == ["100.0", "100.0"]
        and flattered.rows[0][-1] == f"{1 / 21:.3f}"
    )
    assert choices_cell([Choice(1, 2, 0), Choice(1, 2, 0)]) == "2-3"
    assert choices_cell([Choice(1, 2, 0), Choice(0, 0, 1)]) == "2-3, 1-1↓"
    assert signed(-0.004, 1) == "0.0" and signed(-2.6) == "−3"


def test_the_printed_table_marks_its_slip():
    table = published_relations(list(published_table_1().values()))
    marked = [row for row in table.rows if "*" in row[0]]
    assert [row[0] for row in marked] == ["auxpass*"] and "94.1 against 82.5" in table.caption


def flattered(curves):
    return best_of_figure(curves, (1, 72), level=0.1, ylabel="accuracy")


def test_the_figure_of_flattery_draws_one_curve_a_number_of_cases():
    curves = {"25 cases": [0.1, 0.2], "100 cases": [0.1, 0.15]}
    figure = flattered(curves)
    lines = figure.axes[0].lines
    assert lines[0].get_ydata().tolist() == [0.1, 0.2] and len(lines) == 3
    assert lines[0].get_linestyle() != lines[1].get_linestyle()
    assert figure.axes[0].get_ylim()[1] > 0.2 * 1.04  # the highest mark is not cut
    assert figure_picture(figure, "It grows.").svg == figure_picture(flattered(curves), "It grows.").svg


def test_the_bars_of_two_models_stand_apart_and_a_missing_offset_stays_missing():
    theirs = {"det": (90, 88, 92, None), "obj": (70, 60, 80, None)}
    ours = {"obj": (50, 40, 60, 30), "det": (60, 55, 66, 65)}
    figure = relation_bars_figure({"published": theirs, "specimen": ours})
    left, right = figure.axes
    assert [bar.get_width() for bar in left.patches] == [
        90,
        70,
    ]  # no grey bar where nobody measured an offset
    assert [bar.get_width() for bar in right.patches] == [65, 30, 60, 50]  # in the order of the first panel
    assert [line.get_xdata().tolist() for line in right.lines] == [[55, 66], [40, 60]]
    assert left.get_ylim() == right.get_ylim() == (1.5, -0.5) and left.get_xlim() == (0, 100)
    tables = figure_picture(figure, "Two models.").numbers
    assert [row[0] for row in tables[0].rows] == [row[0] for row in tables[1].rows] == ["det", "obj"]
    assert [list(table.header) for table in tables] == [
        ["place", "best head (thin)"],
        ["place", "best offset (wide)", "best head (thin)"],
    ]


def test_a_gain_is_a_hollow_dot_with_its_interval_and_what_was_printed_is_filled():
    figure = gain_figure(
        {
            "specimen, here": {"dobj": (18, 11, 25), "mwe": (2, 1, 3)},
            "BERT-base, printed": {"dobj": 46.8, "prt": 7.7},
        },
        ["dobj", "prt", "mwe"],
    )
    (axes,) = figure.axes
    drawn = {line.get_label(): line for line in axes.lines if not line.get_label().startswith("_child")}
    here, printed = drawn["specimen, here"], drawn["BERT-base, printed"]
    assert list(here.get_xdata()) == [18, 2] and list(here.get_ydata()) == [0, 2]
    assert list(printed.get_xdata()) == [46.8, 7.7] and list(printed.get_ydata()) == [0, 1]
    assert here.get_markerfacecolor() == palette.PAPER
    assert printed.get_markerfacecolor() == printed.get_color() == marks.MODELS["BERT-base"].colour
    assert [list(line.get_xdata()) for line in axes.lines if line.get_label() == "_interval"] == [
        [11, 25],
        [1, 3],
    ]
    assert axes.get_ylim() == (2.5, -0.5)  # the first at the top
    (table,) = figure_picture(figure, "Gains.").numbers
    assert table.header == ["place", "specimen, here", "BERT-base, printed"]
    assert table.rows[0] == ["dobj", "18.00", "46.80"]
    assert [row[0] for row in table.rows] == ["dobj", "prt", "mwe"] and table.rows[1][1] == table.rows[2][
        2
    ] == "–"


# --- what is refused -----------------------------------------------------------------------------------

KATO = tree("kato tie", (-1, 0), "root xyz")

test_what_is_refused = refusals(
    (lambda: list(relation_evidence(answers_of([KATO] * 3))), "none of the English relations", CannotDecide),
    (lambda: best_of_many(0, 10, 0.1), "at least one head, one case"),
    (lambda: flattered({"x": [1, 2, 3]}), "one value for each of the 2 numbers of heads; got 3"),
    (
        lambda: relation_bars_figure({"a": {"det": (1, 0, 2, None)}, "b": {"obj": (1, 0, 2, None)}}),
        "panel 'b' needs the relations det; got obj",
    ),
    (
        lambda: relation_bars_figure({"a": {"det": (1, 2, 3, None)}}),
        "'det' in panel 'a' needs low <= accuracy <= high; got 2, 1, 3",
    ),
    (lambda: gain_figure({"a": {"obj": 1.0}}, ["det"]), "needs at least one gain"),
    (
        lambda: gain_figure({"a": {"det": (1, 2, 3)}}, ["det"]),
        "'det' needs low <= gain <= high; a has 2, 1, 3",
    ),
)


def test_the_map_beside_a_recorded_head_measures_its_own_line():
    bert_base = load_recording("bert-base-uncased")
    shown = deck_of_06.figure_5(bert_base)
    for (text, layer, head, query, measure), words in zip(
        shown["choices"].values(), deck_of_06._FIGURE_5.values()
    ):
        attention = bert_base[text]
        tokens = list(attention.tokens)
        assert tokens[query] == words[0] and measure == " → ".join(words)
        values = shown["measures"][measure](attention)
        assert values[layer, head] == attention.weights[layer, head, query, tokens.index(words[1])]
    dog = shown["sentences"][2]
    assert not shown["measures"]["street → cross"](bert_base[dog]).any()


def test_the_toy_map_is_read_by_the_function_of_the_slide():
    def named(weights, word):
        return max((w, k) for k, w in enumerate(weights[word]) if k != word)[1]

    weights = np.array([[0.1, 0.7, 0.2], [0.3, 0.1, 0.6], [0.2, 0.5, 0.3]])
    both = pictures.map_picture(weights, named, ["rows", "columns"])
    assert both.sentence.startswith("By rows 2 of 2 right, by columns 1 of 2 right.")
    assert " ".join(both.body).count("✓") == 3 and " ".join(both.body).count("✗") == 1


def test_distances_are_drawn_and_counted_alike(treebank):
    [first, *_] = trees = in_scheme(treebank, "stanford")
    shown = ["all", *{r for r, g in zip(first.relations, first.governors) if g >= 0}]
    drawn = pictures.distances_picture(trees, " ".join(first.words), {"next word": +1}, shown)
    right = sum(g == i + 1 for i, g in enumerate(first.governors))
    assert " ".join(drawn.body).count("✓") == right


def test_the_framed_reading_of_the_twin_is_right_as_often_as_the_table_says(treebank):
    answers, twin = answers_of(treebank), answers_of(treebank, seed=2)
    table = score_relations(answers, scheme="stanford", twin=twin, min_cases=10, permutations=0)
    row = min(table.rows, key=lambda one: (one.n, one.relation))
    deck = type("Deck", (), {"rarest": row, "twin_answers": twin, "said_rarest": lambda self: ""})()
    drawn = " ".join(pictures.luck_picture(deck).body)
    assert drawn.count(f'fill="{palette.MUTED}"') >= round(row.twin_in_sample * row.n)
