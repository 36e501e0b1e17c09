"""Every result with rows gives them to pandas: which columns, how many rows, and the numbers of the result itself."""

import csv
import importlib
import io
import pkgutil
import re
import sys
from itertools import chain
from types import SimpleNamespace

import numpy as np
import pandas
import pytest

from bertlook_course import (
    ablation,
    analyses,
    anatomy,
    coreference,
    finetuning,
    keywords,
    negation,
    patterns,
    probing,
    syntax,
)
from bertlook_course.storage import save_rows, visible
from bertlook_teach import measures
from bertlook_teach.disk import Table, csv_text, to_frame

RNG = np.random.default_rng(0)
HEADS = (2, 3)  # layers, heads
PLACE = ["layer", "head", "label"]


def profile():
    made = measures.Profile()
    for _ in range(4):
        made.add({"sep": RNG.random(HEADS)}, 5)
    return made


def relations():
    choice = syntax.Choice(0, 1, 0)
    row = syntax.RelationRow(
        relation="obj", n=40, n_sentences=30, choices=(choice, choice), offsets=(1, -2), accuracy=0.5, low=0.4, high=0.6, baseline=0.3,
        gain=0.2, gain_low=0.1, gain_high=0.3, in_sample=0.6, in_sample_choice=choice, in_sample_baseline=0.4, in_sample_offset=-1, p=0.01,
    )  # fmt: skip
    return syntax.RelationTable([row], {})


def pattern():
    rows = tuple(
        patterns.ScoreRow(
            measure=name, n=9, n_texts=4, heads=("1-2", "2-1"), value=0.5, low=0.4, high=0.6, rules=("+1",), rule=0.3,
            chance=0.1, gain=0.2, gain_low=0.1, gain_high=0.3, in_sample=0.7, in_sample_head="2-3",
        )
        for name in ("accuracy", "mass")
    )  # fmt: skip
    return patterns.PatternScore("same", rows, RNG.random(HEADS), RNG.random(HEADS), None, {})


def curve(cls, **more):
    off = [(), ((0, 0),), ((0, 0), (1, 2))]
    arrays = {"scores": RNG.random(3), "low": RNG.random(3), "high": RNG.random(3)}
    return cls(off=off, **arrays, order="worst first", n=7, **more)


def effects(*shape):
    arrays = {"losses": RNG.random((*shape, 9)), "scores": RNG.random((*shape, 9))}
    return dict(
        base_losses=RNG.random(9), base_scores=RNG.random(9), how="zero", measure="accuracy", **arrays
    )


CURVE = ("pos", ("a", "b"), RNG.integers(1, 9, (3, 6, 3)), tuple("abcdef"), 9, 4)
ENDED = (np.ones(3, bool), np.zeros(3), np.full(3, 50))  # converged, gradient, iterations


def layers():
    return probing.LayerScores(
        *CURVE,
        np.array([0, 1, 1]),
        RNG.integers(1, 9, (3, 4, 3)),
        np.full(3, 0.1),
        RNG.random((3, 4, 2)),
        *ENDED,
    )


def mixes():
    return probing.MixScores(*CURVE, np.full(3, 1 / 3), 0.1, 1.0, "by nobody", RNG.random(3), *ENDED)


def comparison():
    made = keywords.Comparison(None, None, {"a": (), "b": ()}, {"mean": (0, 1), "max": (0, 1)}, None, None)
    names = "auc auc_low auc_high f1 f1_low f1_high loss prior".split()
    number = dict(zip(names, (0.7, 0.6, 0.8, 0.5, 0.4, 0.6, 0.3, 0.4)))
    object.__setattr__(
        made, "score", lambda name: keywords.WordScore(name=name, **number, n_words=30, n_texts=4)
    )
    return made


def antecedents():
    right = {name: RNG.random((20, *HEADS)) < 0.5 for name in ("mentions", "open")}
    documents = np.arange(20) % 4
    return coreference.Antecedents(
        right, {"nearest": RNG.random(20) < 0.5}, ("proper",) * 20, documents, 4, 0
    )


def checkpoints():
    parts = (RNG.random((5, *HEADS)) for _ in range(3))
    curves = {"sep": RNG.random((5, 2, *HEADS))}
    return finetuning.CheckpointComparison("a", "b", HEADS, (4,) * 5, *parts, None, curves)


def distances():
    total = RNG.random((6, 6))
    return measures.HeadDistances(total, 10, 2, HEADS)


def cues(*shape):
    hits = RNG.integers(0, 3, (8, *shape)).astype(float)
    return negation.CueScores(hits, hits + 1, np.full(8, 4.0), 8, "it")


def matter():
    parts = (RNG.random((2, *HEADS)) for _ in range(3))
    return ablation.HeadsThatMatter(
        **dict(zip(("p", "corrected", "change"), parts)),
        found=np.zeros((2, 1)),
        confirmed=np.zeros((2, 1)),
        in_every_run=(),
        by="score",
        level=0.05,
        n=9,
    )


# What makes one, how many rows, some columns, and a number of the result itself with the column and row where it must stand.
CASES = {
    "Profile": (profile, 6, [*PLACE, "n", "sep", "sep_low", "sep_high"], lambda x: (x.mean("sep")[1, 2], "sep", 5)),
    "RelationTable": (relations, 1, ["relation", "n", "accuracy", "choices", "twin"], lambda x: (0.5, "accuracy", 0)),
    "PatternScore": (pattern, 2, ["measure", "heads", "value", "twin"], lambda x: (0.7, "in_sample", 1)),
    "RemovalCurve": (
        lambda: curve(ablation.RemovalCurve, losses=RNG.random(3), ranked="once", measure="accuracy"),
        3,
        ["order", "share_off", "score", "loss", "n"],
        lambda x: (x.scores[2], "score", 2),
    ),
    "HeadEffects": (
        lambda: ablation.HeadEffects(what="remove", **effects(*HEADS)),
        6,
        [*PLACE, "loss_change", "score_change", "n"],
        lambda x: (x.losses[1, 0].mean() - x.base_losses.mean(), "loss_change", 3),
    ),
    "LayerEffects": (
        lambda: ablation.LayerEffects(**effects(2)),
        2,
        ["layer", "loss_change", "score_change", "n"],
        lambda x: (x.score_change[1], "score_change", 1),
    ),
    "HeadImportance": (
        lambda: ablation.HeadImportance(*(RNG.random(HEADS) for _ in range(3)), "paper", 9),
        6,
        [*PLACE, "importance", "raw", "signed", "version", "n"],
        lambda x: (x.signed[0, 2], "signed", 2),
    ),
    "HeadsThatMatter": (matter, 12, ["run", *PLACE, "p", "p_corrected"], lambda x: (x.corrected[1, 1, 0], "p_corrected", 9)),
    "DepthCurve": (lambda: probing.DepthCurve(*CURVE), 3, ["task", "layer", "f1", "low", "high"], lambda x: (x.f1[2], "f1", 2)),
    "LayerScores": (layers, 3, ["layer", "f1", "best so far", "f1 so far", "l2", "converged"], lambda x: (x.f1[1], "f1 so far", 2)),
    "MixScores": (mixes, 3, ["task", "layer", "f1", "low", "high"], lambda x: (x.f1[1], "f1", 1)),
    "Comparison": (comparison, 2, ["name", "auc", "f1", "n_texts"], lambda x: (0.7, "auc", 1)),
    "Antecedents": (antecedents, 4, ["predictor", "kind", "accuracy", "heads"], lambda x: (x.rules["nearest"].mean(), "accuracy", 0)),
    "CheckpointComparison": (checkpoints, 6, ["head", "cosine", "js_low", "n"], lambda x: (x.js[:, 1, 1].mean(), "js", 4)),
    "HeadDistances": (distances, 15, ["head", "other", "distance", "n"], lambda x: (x.total[0, 2] / 10, "distance", 1)),
    "CueScores": (lambda: cues(*HEADS), 6, [*PLACE, "f1", "precision", "recall", "n"], lambda x: (x.f1[1, 2], "f1", 5)),
    "Film": (
        lambda: anatomy.Film((10, 20), {"next": RNG.random((2, *HEADS))}),
        12,
        ["tokens", *PLACE, "next"],
        lambda x: (x.values["next"][1, 0, 1], "next", 7),
    ),
    "Fractions": (
        lambda: anatomy.Fractions(*RNG.random((3, 5)), 4, 6),
        5,
        ["class", "share", "low", "high", "n"],
        lambda x: (x.high[3], "high", 3),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_frame_has_the_rows_columns_and_numbers_of_the_result(name):
    make, n_rows, columns, expected = CASES[name]
    made = make()
    frame = made.to_frame()
    assert type(made).__name__ == name and isinstance(frame, pandas.DataFrame)
    assert len(frame) == n_rows and set(columns) <= set(frame.columns), list(frame.columns)
    number, column, row = expected(made)
    assert frame[column][row] == pytest.approx(number)
    assert pandas.DataFrame(made).equals(frame) and len(list(made)) == n_rows
    assert all(pandas.api.types.is_numeric_dtype(frame[c]) for c in ("n", "low", "high", "f1") if c in frame)


@pytest.mark.parametrize("name", CASES)
def test_a_notebook_shows_its_first_rows_and_how_many_there_are(name, monkeypatch):
    make, n_rows, columns, _ = CASES[name]
    made = make()
    monkeypatch.setattr(
        type(made), "__repr__", lambda made: "made here"
    )  # some lack what their own would say
    shown = made._repr_html_()
    assert f"<p>{n_rows} rows, " in shown and shown.count("<tr>") == 1 + min(n_rows, 8)
    assert f"<th>{columns[0]}</th>" in shown and len(shown) < 8_000


def test_what_a_notebook_shows_of_a_table_is_text_alone():
    class Result(Table):
        rows = ({"<b>": "<script>alert(1)</script>", "long": "x" * 10_000, "n": None, "share": 1 / 3},)

        def __repr__(self):
            return "Result(<img src=x>)\n and more"

    shown = Result()._repr_html_()
    assert set(re.findall(r"<(\w+)", shown)) == {"p", "table", "tr", "th", "td"} and "0.3333" in shown
    assert "and more" not in shown and len(shown) < 1_000
    empty = type("Empty", (Result,), {"rows": ()})
    assert empty()._repr_html_() == "<p>Result(&lt;img src=x&gt;)</p>"


def test_without_pandas_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        to_frame([{"n": 1}])


def tables(*rooms) -> set[str]:
    """Names of the public classes that have rows."""
    for room in rooms:
        for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            importlib.import_module(module.name)
    waiting, found = [Table], set()
    while waiting:
        for cls in waiting.pop().__subclasses__():
            waiting.append(cls)
            if cls.__module__.startswith("bertlook_"):  # other tests have tables of their own
                found |= {cls.__name__} - {"_Changes"}
    return found


def test_every_table_of_the_package_is_tried_here():
    # A Report holds the rows it is given; those of each command are tried in tests/commands/test_driver.py.
    assert tables(measures, analyses) == {*CASES, "Report", "ProfileReport"}


def test_a_rule_is_one_row_and_a_comparison_goes_by_layer_too():
    rule = cues().to_frame()
    assert rule["rule"].tolist() == ["it"] and len(rule) == 1
    assert checkpoints().to_frame(by="layer")["layer"].tolist() == [1, 2]
    assert set(antecedents().to_frame(candidates="open")["predictor"]) == {"nearest", "best head, open"}


def test_cells_are_numbers_or_text():
    row = {"heads": ("1-2", "1-2", "3-1"), "n": np.int64(3), "none": None, "other": SimpleNamespace}
    frame = to_frame([row])
    assert frame["heads"][0] == "1-2 / 3-1" and frame["n"].dtype == int and frame["none"][0] is None
    with pytest.raises(ValueError, match="no row"):
        to_frame([])


# --- what a stranger wrote ------------------------------------------------------------------------------------------
DANGEROUS = (
    "=1+1",
    "+1-1|x",
    "-1+1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "＝1+1",
    "＋1+A1",
    "－1+A1",
    "＠x",
    "﹦1",
    " =1",
    "\xa0=1",
    '"=1"',
    ' "＝1',
    "\n=1",
)
HARMLESS = ("-0.4", "+1", "-1.5e-05", "-.5", "well-known", "a=b", "1-2", "", "'=1", "[CLS]", "a; b")  # fmt: skip


def cells(value):
    [_, row] = csv.reader(io.StringIO(csv_text([{"text": value, "n": 1}]), newline=""))
    return row[0]


@pytest.mark.parametrize("value", DANGEROUS)
def test_a_cell_that_a_spreadsheet_would_run_is_a_text(value):
    value = value.replace("\r", "\n")  # an end of a line is one, in whatever spelling, and its cell is quoted
    assert cells(value) == f"'{value}"
    for between in (";", "\t", "\n", ";;"):  # where a spreadsheet cuts at these too
        assert f"{between}'{value}" in cells(f"a{between}{value}")


@pytest.mark.parametrize("value", [*HARMLESS, -0.4, -3, None, float("-inf")])
def test_numbers_and_other_texts_stay_as_they_are(value):
    assert cells(value) == ("" if value is None else str(value))


def test_every_table_that_is_saved_is_written_so(tmp_path):
    save_rows(tmp_path, "t", [{"word": "=1", "names": ("-x", "y"), "mean": -0.4}], {})
    assert (tmp_path / "t.csv").read_text() == "word,names,mean\n'=1,'-x / y,-0.4\n"


def test_what_a_terminal_obeys_is_shown_and_the_rest_left_as_it_is():
    ranges = (range(32), range(127, 160), range(0x2028, 0x202F), range(0x2066, 0x206A))
    for code in (*chain(*ranges), 0x61C, 0x200E, 0x200F, 0xFEFF, 0xE0041):
        one, shown = chr(code), visible(f"a{chr(code)}b")
        assert one not in shown and shown.startswith("a\\") and shown.endswith("b")
        assert (visible(f"a{one}b", lines=True) == f"a{one}b") == (one in "\n\t")
    for one in (
        "naïve",
        "e\u0301",
        "שלום",
        "عربي",
        "नमस्ते",
        "👩\u200d🚀",
        "二",
        "\xa0",
        "√ “x” ⟨h⟩",
        "می\u200cخواهم",
    ):
        assert visible(one) == one
