"""One pronoun, two candidates: three formats, heads in both directions, and the rules of place."""

import json

import numpy as np
import pytest
from made import Looker, refusals, stand_in

from bertlook_course.analyses.coreference import PRONOUN_BASELINES, ask_heads, pronoun_table
from bertlook_course.corpora import PronounCase, read_pronoun_cases

GAP = {"id": "g-1", "text": "Ann met Mary when she fell.", "pronoun": [18, 21], "a": [8, 12], "b": [0, 3],
       "a_coref": False, "b_coref": True, "gender": "F"}  # fmt: skip
WINOGENDER = {"id": "cook.guest.1.female", "text": "The cook told the guest that she was late.", "pronoun": [29, 32],
              "occupation": [4, 8], "participant": [18, 23], "answer": "participant", "gender": "female"}  # fmt: skip
WINOBIAS = [
    {"id": "pro-1-dev-1", "type": 1, "stereotype": "pro", "text": "The cook thanked the clerk because he had helped.",
     "mention": [0, 8], "pronoun": [35, 37]},
    {"id": "anti-1-dev-1", "type": 1, "stereotype": "anti", "text": "The cook thanked the clerk because she left.",
     "mention": [17, 26], "pronoun": [35, 38]},
]  # fmt: skip


def write(tmp_path, *items):
    path = tmp_path / "cases.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
    return path


def test_gap_is_read_with_the_first_candidate_first(tmp_path):
    [case], left_out = read_pronoun_cases(write(tmp_path, GAP))
    assert case.words == ("Ann", "met", "Mary", "when", "she", "fell", ".")
    assert (case.pronoun, case.candidates, case.answer) == (4, ((0, 1), (2, 3)), 0)
    assert left_out == 0 and case.group == "F"


def test_a_pronoun_that_is_neither_is_left_out_and_counted(tmp_path):
    cases, left_out = read_pronoun_cases(write(tmp_path, GAP, {**GAP, "b_coref": False}))
    assert len(cases) == left_out == 1


def test_winogender_and_winobias_are_read(tmp_path):
    [case], _ = read_pronoun_cases(write(tmp_path, WINOGENDER))
    assert (case.candidates, case.answer, case.pair) == (((1, 2), (4, 5)), 1, "cook.guest")
    cases, left_out = read_pronoun_cases(write(tmp_path, *WINOBIAS))
    assert [(c.candidates, c.answer) for c in cases] == [(((1, 2), (4, 5)), 0), (((1, 2), (4, 5)), 1)]
    assert cases[0].pair == cases[1].pair and left_out == 0
    assert [c.group for c in cases] == ["type 1 pro", "type 1 anti"]


def test_the_rules_know_places_only():
    case = PronounCase("x", tuple("abcdefgh"), 5, ((0, 2), (6, 8)), 1, "x")
    assert PRONOUN_BASELINES["nearer"](case) == 1
    assert PRONOUN_BASELINES["nearer"](PronounCase("x", case.words, 3, case.candidates, 0, "x")) == 0
    assert (PRONOUN_BASELINES["first"](case), PRONOUN_BASELINES["second"](case)) == (0, 1)


def looking(monkeypatch, cases, query, key):
    """One head that puts .9 of word ``query`` on word ``key``, the rest uniform."""

    def weights_of(number, n):
        maps = np.full((1, 1, n, n), 1 / n, np.float32)
        maps[0, 0, query + 1] = 0.1 / (n - 1)
        maps[0, 0, query + 1, key + 1] = 0.9
        return maps

    stand_in(monkeypatch, weights_of)
    return ask_heads(Looker(), cases)


def test_the_direction_matters(tmp_path, monkeypatch):
    cases, _ = read_pronoun_cases(write(tmp_path, GAP))
    right, read = looking(monkeypatch, cases, query=4, key=0)  # "she" looks at "Ann"
    assert right.shape == (1, 2, 1, 1) and read == cases
    assert right[0, :, 0, 0].tolist() == [True, True]  # a tie the other way goes to the first candidate
    right, _ = looking(monkeypatch, cases, query=4, key=2)  # "she" looks at "Mary"
    assert right[0, :, 0, 0].tolist() == [False, True]
    right, _ = looking(monkeypatch, cases, query=2, key=4)  # "Mary" looks at "she"
    assert right[0, :, 0, 0].tolist() == [True, False]


def test_the_best_head_is_chosen_on_other_pairs_than_it_is_scored_on():
    rng = np.random.default_rng(0)
    words = tuple("abcdef")
    cases = [
        PronounCase(str(i), words, 5, ((0, 1), (3, 4)), int(rng.integers(2)), f"p{i // 2}", "mf"[i % 2])
        for i in range(200)
    ]
    right = rng.random((200, 2, 2, 3)) < 0.5
    right[:, 1, 0, 2] = rng.random(200) < 0.9
    rows = {(row.predictor, row.group): row for row in pronoun_table(right, cases)}
    best = rows["best head", "all"]
    assert best.heads == ("1-3, candidate looks at pronoun",) * 2
    assert best.accuracy == pytest.approx(right[:, 1, 0, 2].mean())
    assert best.low < best.accuracy < best.high and best.n == 200
    assert rows["first", "all"].accuracy == pytest.approx(np.mean([c.answer == 0 for c in cases]))
    assert rows["nearer", "m"].n == rows["nearer", "f"].n == 100
    noise = rng.random((200, 2, 2, 3)) < 0.5
    fair = next(row for row in pronoun_table(noise, cases) if row.predictor == "best head")
    assert fair.accuracy < noise.mean(axis=0).max()


@pytest.mark.parametrize(
    "item, message",
    [
        ({"text": "Ann fell."}, "line 1: expected GAP, Winogender or WinoBias fields; missing"),
        ({**GAP, "a": [7, 8]}, "the span 7 to 8 names no word"),
        ({**GAP, "b_coref": False}, "no pronoun with two candidates"),
    ],
)
def test_a_line_that_is_none_of_these_is_named(tmp_path, item, message):
    with pytest.raises(ValueError, match=message):
        read_pronoun_cases(write(tmp_path, item))
    path = tmp_path / "broken.jsonl"
    path.write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match="line 1: not JSON"):
        read_pronoun_cases(path)


TOO_SMALL = type("Small", (Looker,), {"max_tokens": 3})()
GAP_CASE = PronounCase("g-1", tuple("abcde"), 4, ((0, 1), (2, 3)), 0, "g-1")

test_too_few_pairs_and_unreadable_texts_are_refused = refusals(
    (
        lambda: pronoun_table(np.ones((1, 2, 1, 1), bool), [GAP_CASE]),
        "halves need 10 pairs or more; got 1",
    ),
    (lambda: ask_heads(TOO_SMALL, [GAP_CASE]), "can read none of the texts whole"),
)


def test_halves_are_not_the_two_answers_of_a_file_that_takes_turns():
    """Head 1-1 is right wherever the first candidate is: with halves by turns it would win one and lose the other."""
    words = tuple("abcdef")
    cases = [PronounCase(str(i), words, 5, ((0, 1), (3, 4)), i % 2, str(i)) for i in range(400)]
    right = np.zeros((400, 2, 1, 1), bool)
    right[::2] = True
    best = next(row for row in pronoun_table(right, cases) if row.predictor == "best head")
    assert best.accuracy == 0.5
    right = np.stack([right[..., 0], ~right[..., 0]], axis=-1)  # and head 1-2 wherever the second is
    best = next(row for row in pronoun_table(right, cases) if row.predictor == "best head")
    assert 0.4 < best.accuracy < 0.6
