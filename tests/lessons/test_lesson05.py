"""The claims of lesson 05: statistics on paper, evidence on a tiny model, the published numbers, the twin."""

import numpy as np
import pytest
from made import attention
from tiny import HEADS, LAYERS

from bertlook_course.claims import OPEN, Resources, collect_evidence, decide_lesson, ledger
from bertlook_course.claims.lessons import lesson05 as collectors

# --- evidence --------------------------------------------------------------------------------------------


def made(weights, tokens, segments, **about):
    return attention(tokens, weights=weights[None, None], segment_ids=segments, **about)


PAIR = ("[CLS]", "a", "b", "[SEP]", "c", "d", "e", "[SEP]")
JOINED = ("[CLS]", "a", "b", "c", "d", "e", "[SEP]")


def test_a_head_that_knows_segments_loses_them_when_the_words_are_one_text():
    same = np.equal.outer((0, 0, 0, 0, 1, 1, 1, 1), (0, 0, 0, 0, 1, 1, 1, 1)).astype(float)
    pair = made(same / same.sum(axis=1, keepdims=True), PAIR, (0,) * 4 + (1,) * 4)
    joined = made(np.full((7, 7), 1 / 7), JOINED, (0,) * 7)
    found = collectors.segment_quantities(pair, joined)
    chance = (2 / 5) ** 2 + (3 / 5) ** 2
    assert found["kept, two segments"] == pytest.approx(1 - chance) and found[
        "kept, one segment"
    ] == pytest.approx(0)
    assert found["kept and spread"] == pytest.approx(1 - chance)


def test_a_head_that_merely_looks_back_is_at_home_both_times_and_no_block():
    def back(n):
        weights = np.eye(n, k=-1) * 0.999 + 0.001 / n
        weights[0] = 1 / n
        return weights

    found = collectors.segment_quantities(
        made(back(8), PAIR, (0,) * 4 + (1,) * 4), made(back(7), JOINED, (0,) * 7)
    )
    assert (
        found["kept and spread"] == 0 and abs(found["kept, two segments"] - found["kept, one segment"]) < 0.35
    )


def test_a_truncated_pair_or_one_segment_gives_no_comparison():
    flat = made(np.full((8, 8), 1 / 8), PAIR, (0,) * 4 + (1,) * 4, truncated=True)
    assert collectors.segment_quantities(flat, flat) == {}
    single = made(np.full((7, 7), 1 / 7), JOINED, (0,) * 7)
    assert collectors.segment_quantities(single, single) == {}


def test_words_that_get_nothing_leave_no_nan():
    weights = np.zeros((1, 1, 4, 4))
    weights[..., 0] = 1
    assert collectors.between_words(weights, [1, 2]) == pytest.approx(np.full((1, 1, 2, 2), 0.5))


PAIRS = [("the cat sat .", "it was tired , on a mat ."), ("a dog chased it", "the cat was on the mat"), ("it was a dog", "the dog sat")]  # fmt: skip


def test_a_pair_gives_each_map_one_class(tiny):
    found = collect_evidence("05-maps", tiny, Resources(pairs=PAIRS))
    assert found.n == 3 and found.values["pair"].shape == (3, 5, LAYERS, HEADS)
    assert found.values["pair"].sum(axis=1) == pytest.approx(np.ones((3, LAYERS, HEADS)))
    assert set(found.values) == {
        "pair",
        "kept, looser",
        "kept, stricter",
        "kept, two segments",
        "kept, one segment",
        "kept and spread",
    }


def test_every_claim_gets_a_verdict_with_a_reason_and_no_made_up_number(tiny):
    verdicts = decide_lesson("05", tiny, resources=Resources(pairs=PAIRS * 2))
    assert len(verdicts) == len(ledger("05")) >= 3
    for verdict in verdicts:
        assert verdict.why and np.isnan(verdict.value) <= (verdict.verdict == OPEN)
