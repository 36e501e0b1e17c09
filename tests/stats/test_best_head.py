"""The fair choice: what chooses does not report, both ways each case reports once, and ties go to the first."""

import re
from pathlib import Path

import numpy as np
import pytest

import bertlook_teach
from bertlook_course.metrics import LEAST_CASES, Packed, best_index, choose_head, fair_choice


def by_hand(values, half, choosing):
    """As it would be written with loops."""
    found, chosen = np.zeros(len(values), values.dtype), {}
    for side in (0, 1):
        picks = [i for i in range(len(values)) if half[i] == side and choosing[i]]
        picks = picks if len(picks) >= LEAST_CASES else [i for i in range(len(values)) if half[i] == side]
        sums = {head: sum(values[i][head] for i in picks) for head in np.ndindex(values.shape[1:])}
        chosen[side] = max(sums, key=sums.get)  # of equals the first
        for i in range(len(values)):
            if half[i] != side:
                found[i] = values[i][chosen[side]]
    return found, (chosen[0], chosen[1])


@pytest.mark.parametrize("seed", range(5))
def test_both_ways_is_what_loops_give(seed):
    rng = np.random.default_rng(seed)
    values, half = rng.integers(0, 2, (20, 2, 3)), rng.permutation(20) % 2
    for choosing in (np.ones(20, bool), rng.random(20) < 0.5, half == 0):
        choice = fair_choice(values, half, both_ways=True, choosing=choosing)
        found, chosen = by_hand(values, half, choosing)
        assert choice.chosen == chosen and choice.reported.tolist() == found.tolist()


def test_answers_packed_in_parts_are_chosen_among_as_in_one_array():
    rng, packed = np.random.default_rng(1), Packed()
    values, choosing = rng.random((31, 3, 5)) < 0.5, rng.random(31) < 0.7
    for part in np.split(values, [4, 5, 20]):
        packed.add(part)
    one, other = (fair_choice(v, both_ways=True, choosing=choosing) for v in (values, packed))
    assert len(packed) == 31 and one.chosen == other.chosen and (one.reported == other.reported).all()
    assert sum(part.nbytes for part in packed._parts) == 31 * 2  # 15 answers in two bytes


def test_one_way_is_the_first_half_of_both_ways():
    values = np.random.default_rng(0).random((11, 4, 2))
    one, both = fair_choice(values), fair_choice(values, both_ways=True)
    assert one.chosen == both.chosen[:1]
    assert one.reported.tolist() == both.reported[1::2].tolist()
    assert choose_head(values).mean == pytest.approx(one.reported.mean())


def test_the_choice_does_not_see_what_is_reported():
    values = np.random.default_rng(1).random((10, 3, 3))
    other = values.copy()
    other[1::2] = np.random.default_rng(2).random((5, 3, 3))
    assert fair_choice(values).chosen == fair_choice(other).chosen


def test_heads_that_know_nothing_are_at_chance_when_chosen_fairly():
    guesses = np.random.default_rng(3).random((200, 12, 12)) < 0.25
    assert guesses.mean(axis=0).max() > 0.3
    assert fair_choice(guesses, both_ways=True).reported.mean() == pytest.approx(0.25, abs=0.08)


def test_of_equals_the_first_or_the_last():
    assert best_index([[1, 3], [3, 2]]) == (0, 1) and best_index([[1, 3], [3, 2]], last=True) == (1, 0)


def test_both_halves_need_a_case():
    for half in ([0, 0, 0], [1, 1, 1]):
        with pytest.raises(ValueError, match="in both halves"):
            fair_choice(np.ones((3, 2)), half)


def test_too_few_cases_choose_nothing():
    values = np.eye(2)[np.arange(9) % 2]
    with pytest.raises(ValueError, match="5 or more in each; got 5 and 4"):
        fair_choice(values)
    with pytest.raises(ValueError, match="5 or more in each; got 4 and 5"):
        fair_choice(values, 1 - np.arange(9) % 2)
    assert len(fair_choice(values, least=1).reported) == 4
    choosing = np.arange(20) < 4  # two in each half: all cases choose
    values = np.where(choosing[:, None], [9, 0], [0, 5])
    assert fair_choice(values, choosing=choosing).chosen == ((1,),)
    assert fair_choice(values, choosing=choosing, least=2).chosen == ((0,),)


def test_no_other_place_chooses(tmp_path):
    def choices(*rooms):
        texts = [p.read_text(encoding="utf-8") for room in rooms for p in Path(room).rglob("*.py")]
        return [hit for text in texts for hit in re.findall(r"unravel_index\(.*argmax", text)]

    package = Path(bertlook_teach.__file__).parent
    assert not choices(package / "corpora", package / "measures", package / "analyses")
    (tmp_path / "own.py").write_text(
        "np.unravel_index(values[::2].mean(0).argmax(), shape)", encoding="utf-8"
    )
    assert choices(tmp_path)
