"""The misconception bank: every entry is refuted by a run, can come out not refuted, and belongs to a lesson and a source."""

import inspect
import re
import time
from pathlib import Path

import numpy as np
import pytest
from made import refusals

from bertlook_bench import line as cli
from bertlook_course.analyses.anatomy import Basis
from bertlook_course.claims import Misconception, Refutation, all_refutations, read_misconceptions, refute
from bertlook_course.claims import find_misconceptions as misconceptions
from bertlook_course.claims.misconceptions import on_models
from bertlook_course.render import format_misconceptions
from tools.bibliography import read_bibliography

ROOT = Path(__file__).resolve().parents[2]
KEYS = [entry.key for entry in misconceptions()]
LESSONS = [f"{number:02}" for number in range(1, 15)]


@pytest.fixture(scope="module", autouse=True)
def models_are_loaded():
    """Loading a model is not part of a refutation's time."""
    for name in ("specimen", "specimen-random"):
        on_models._shipped(name)


# --- the bank ------------------------------------------------------------------------------------------------


def test_every_entry_has_its_refutation_and_the_other_way_round():
    assert sorted(KEYS) == sorted(all_refutations())
    assert len(KEYS) >= 25


@pytest.mark.parametrize("key", KEYS)
def test_every_misconception_is_refuted_within_two_seconds(key):
    refute(key)  # what it reads is read once
    start = time.process_time()
    result = refute(key)
    assert time.process_time() - start < 2
    assert isinstance(result, Refutation)
    assert result.refuted, result
    assert np.isfinite(result.value)
    assert re.search(r"\d|refuses", result.sentence) and result.sentence.endswith(".")


@pytest.mark.parametrize("lesson", LESSONS)
def test_every_lesson_has_at_least_one(lesson):
    assert misconceptions(lesson) and misconceptions(int(lesson)) == misconceptions(lesson)


def test_the_docstring_of_a_refutation_names_the_lessons_of_its_entry():
    functions = all_refutations()
    for entry in misconceptions():
        named = re.match(r"Lessons? ([\d, and]+)\.", functions[entry.key].__doc__)
        assert named, entry.key
        assert set(re.findall(r"\d\d", named[1])) <= set(entry.lessons), entry.key


def test_what_is_true_is_said_in_two_to_four_sentences_without_the_specimens_numbers():
    for entry in misconceptions():
        sentences = re.findall(r"[.?!](?=\s|$)", entry.true)
        assert 2 <= len(sentences) <= 4, entry.key
        assert "specimen" not in entry.true.lower()


def test_every_source_is_in_the_bibliography():
    known = set(read_bibliography((ROOT / "docs" / "bibliography.bib").read_text(encoding="utf-8")))
    assert {key for entry in misconceptions() for key, _ in entry.sources} <= known


# --- it can come out otherwise ------------------------------------------------------------------------------------

LOOKS_BACK = np.eye(6, k=-1) + np.diag([1.0, 0, 0, 0, 0, 0])
SAME = np.eye(5)[[3, 2, 2, 0, 2]]
IDENTITY = Basis(np.eye(8), np.eye(8))


@pytest.mark.parametrize(
    "key, inputs",
    [
        ("columns-sum-to-one", {"weights": np.full((3, 3), 1 / 3)}),
        ("attention-is-a-sigmoid", {"scores": [[0.0, 0.0], [0.0, 0.0]]}),
        ("dividing-changes-nothing", {"size": 1}),
        ("a-head-is-linear", {"query": np.zeros((2, 2))}),
        ("averaging-pieces-both-ways", {"groups": ((0,), (1,), (2,))}),
        ("popular-is-same-word", {"weights": SAME}),
        ("a-neuron-is-a-thing", {"bases": [IDENTITY]}),
        ("plus-one-looks-back", {"weights": LOOKS_BACK}),
        ("entropy-needs-no-length", {"long": 8}),
        ("entropy-of-the-mean-row", {"weights": np.full((4, 4), 0.25)}),
        ("any-average-will-do", {"lengths": (50, 50)}),
        ("sep-to-sep-over-90", {"own": np.full(12, 0.95)}),
        ("punctuation-takes-the-last-two-layers", {"share": np.full(12, 0.6)}),
        ("bag-of-words-stays-at-home", {"entropy": 3.0}),
        ("ten-per-cent-is-much", {"tokens": ["[CLS]", *["a"] * 97, ".", "[SEP]"]}),
        ("large-weight-large-contribution", {"values": np.eye(3)[:, :2] + 1}),
        ("value-norm-is-enough", {"output": np.eye(2)}),
        ("norms-add-up", {"vectors": ((1.0, 0.0), (2.0, 0.0))}),
        ("average-first-then-size", {"gradients": (0.8, 0.7)}),
        ("rollout-finds-what-matters", {"norms": (1, 1, 1)}),
        ("diagonal-means-itself", {"weights": LOOKS_BACK}),
        ("accuracy-is-agreement", {"confusion": [[45, 5], [5, 45]]}),
        ("early-heads-attend-to-cls", {"share": np.linspace(0.5, 0, 12)}),
        ("most-attention-is-special-everywhere", {"share": np.full(12, 0.6)}),
        ("sep-always-prefers-sep", {"own": np.full(12, 0.9)}),
        ("layers-6-to-10-rest-on-sep", {"share": np.full(12, 0.6)}),
        ("next-word-heads-in-1-2-2-3-6", {"drawn": [6, 3, 2, 2, 1]}),
        ("sep-weight-is-importance", {"gradient": np.arange(12), "share": np.arange(12)}),
        ("every-special-token-is-a-no-op", {"gradient": -np.arange(12), "share": np.arange(12)}),
        ("no-syntactic-heads", {"gain": {"all": 8.0, "det": 3.0}}),
        ("high-score-knows-grammar", {"baseline": 40.0}),
        ("head-5-4-beats-the-rules", {"score": 75}),
        ("fewer-heads-run-faster", {"gain": 50.0}),
        ("lowest-entropy-finds-keywords", {"heads": ((1, 1), (1, 2))}),
        ("rows-and-columns-ask-the-same", {"weights": [[0.0, 0.6, 0.4], [0.6, 0.1, 0.3], [0.4, 0.3, 0.3]]}),
        ("finding-needs-much-weight", {"row": (0.1, 0.8, 0.1)}),
        ("negation-is-the-letters-no", {"words": ("no", "one", "saw", "it")[::2]}),
        ("half-right-is-half-knowledge", {"answers": ((0, 1), (1, 0))}),
        ("best-of-many-is-a-discovery", {"heads": 1}),
        ("removing-helped-so-the-head-hurts", {"heads": 1, "examples": 100_000}),
        ("effects-of-heads-add-up", {"second": 0.0}),
        ("pairs-are-parsing", {"sentences": [[3, 4, 4, -1, 3]] * 20}),
        ("undirected-is-as-good", {"sentences": [[1, 2, -1]]}),
        ("large-probe-weight-is-importance", {"second": [0.7, 0.1, 0.2]}),
        ("a-probe-reads-what-is-there", {"types": 100_000}),
        ("the-divergence-is-a-distance", {"between": (1.0, 0.0)}),
        ("big-distance-sum-is-far", {"texts": 1}),
        ("left-of-the-map-means-something", {"turn": 360}),
        ("a-map-shows-distances", {"distances": np.abs(np.subtract.outer([0.0, 1, 3], [0.0, 1, 3]))}),
        ("flat-is-the-middle", {"weights": np.eye(13)[6]}),
        ("one-answer-to-where", {"centre": 3.0}),
        ("probe-l-reads-layer-l", {"shares": (0.0, 0.0, 9.0)}),
        ("only-learning-has-an-expected-layer", {"f1": (0.5, 0.9)}),
        ("cosine-near-one-is-unchanged", {"padding": 0}),
        ("one-word-one-token", {"text": "the"}),
        (
            "cls-is-the-meaning",
            {
                "other_meaning": "Ships came home late, and nobody sang.",
                "same_meaning": "The dog chased the cat.",
            },
        ),
        ("attention-is-the-explanation", {"values": ((1.0, 0.0), (0.0, 1.0), (0.0, 0.0))}),
        ("padding-needs-no-mask", {"padding": 0}),
    ],
)
def test_on_other_data_it_is_not_refuted(key, inputs):
    assert not refute(key, **inputs).refuted


def test_a_tiny_random_model_with_wide_weights_is_not_even(tiny):
    assert not refute("random-means-wild", twin=tiny).refuted


def test_a_model_whose_head_of_that_name_has_the_habit_does_not_refute_names():
    from bertlook_teach import load_recording

    recorded = load_recording("bert-base-uncased")
    assert refute("names-carry-over").refuted
    assert not on_models.names_carry_over(encoder=recorded).refuted  # a model has its own heads


def test_the_hooks_act_where_head_mask_does_not(tiny):
    assert refute("head-mask-switches-heads-off", encoder=tiny).refuted


def test_a_head_mask_that_acts_would_be_noticed(tiny, monkeypatch):
    """The refutation must not depend on the library staying deaf."""
    states = on_models._states

    def listening(encoder, head_mask=None):
        return states(encoder) * (1.0 if head_mask is None else 0.5)

    monkeypatch.setattr(on_models, "_states", listening)
    assert not refute("head-mask-switches-heads-off", encoder=tiny).refuted


GOOD = """
[a-b]
lessons = ["01"]
says = "s"
true = "t"
sources = [["clark2019", "2"]]
"""


@pytest.mark.parametrize(
    "text, message",
    [
        (GOOD, None),
        ("[a-b", "not valid TOML"),
        ("a = 1", "must have lessons"),
        (GOOD + 'more = "x"', "misconception 'a-b' must have"),
        (GOOD + GOOD, "not valid TOML: Cannot declare"),
        (GOOD.replace("[a-b]", '["A b"]'), "small letters"),
        (GOOD.replace('["01"]', '["1"]'), "two digits"),
        (GOOD.replace('[["clark2019", "2"]]', "[]"), "at least one source"),
    ],
)
def test_a_bank_that_is_not_well_formed_is_refused(text, message):
    if message is None:
        assert read_misconceptions(text)[0].sources == (("clark2019", "2"),)
    else:
        with pytest.raises(ValueError, match=message):
            read_misconceptions(text)


# --- shown ---------------------------------------------------------------------------------------------------------

ENTRY = Misconception("a-b", ("01",), "rows <b>sum</b>", "No. They do not.", (("clark2019", "2"),))
NOT = Refutation("It was 0.5.", 0.5, False)


def test_the_text_has_source_lesson_and_what_was_not_refuted():
    text = format_misconceptions([ENTRY], [NOT])
    assert "0 of 1 refuted" in text
    assert "a-b (lesson 01): not refuted" in text and "[clark2019, 2]" in text


def test_the_command_lists_and_runs_those_of_a_lesson(capsys):
    assert cli.main(["misconceptions", "--lesson", "9"]) == 0
    printed = capsys.readouterr().out
    entries = misconceptions("09")
    assert all(entry.key in printed for entry in entries)
    assert f"{len(entries)} of {len(entries)} refuted" in printed
    assert cli.main(["misconceptions", "--list"]) == 0
    assert capsys.readouterr().out.count("\n") == len(misconceptions())


def test_the_command_says_when_one_is_not_refuted(capsys, monkeypatch):
    monkeypatch.setattr(Misconception, "refute", lambda self: NOT)
    assert cli.main(["misconceptions", "--lesson", "09"]) == 1
    assert "not refuted here: the-divergence" in capsys.readouterr().err


def test_the_command_refuses_a_lesson_that_does_not_exist(capsys):
    assert cli.main(["misconceptions", "--lesson", "99"]) == 1
    assert "no misconception belongs to lesson '99'" in capsys.readouterr().err


def test_a_refutation_is_short_enough_to_read_in_class():
    """At most fifteen lines, without its helpers and without its docstring."""

    def lines(function) -> int:
        docstring = (function.__doc__ or "").splitlines()
        return len(inspect.getsource(function).splitlines()) - len(docstring)

    assert not {key: n for key, one in all_refutations().items() if (n := lines(one)) > 14}


test_what_is_refused = refusals(
    (lambda: refute("column-sums-to-one"), "columns-sum-to-one", KeyError),
    (lambda: misconceptions(77), r"lesson 77; there are some for 01, 02"),
    (lambda: format_misconceptions([], []), "one result an entry"),
    (lambda: format_misconceptions([ENTRY], []), "one result an entry"),
)
