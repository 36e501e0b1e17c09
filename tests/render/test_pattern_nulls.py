"""A pattern's null model is drawn as the measure computes it."""

from __future__ import annotations

import numpy as np
import pytest

from bertlook_course.decks.pictures.lesson02 import _null, pattern_nulls
from bertlook_teach.measures import PATTERNS, looks_alike, measure_patterns, within_word_pairs
from bertlook_teach.model import extract_attention, load_encoder

PAIR = ("I went to the store.", "At the store, I bought fresh strawberries.")


@pytest.fixture(scope="module")
def attention():
    return extract_attention(load_encoder("specimen"), *PAIR)


def test_there_is_a_map_and_its_null_model_for_every_pattern(attention):
    picture = pattern_nulls(attention)
    shown = measure_patterns(attention)
    assert picture.svg.count("<image") == 2 * len(shown) == 14
    assert [row[0] for row in picture.numbers[0].rows] == [pattern.title for pattern in PATTERNS.values()]
    assert "next word 1-6" in picture.sentence and "specimen" not in picture.sentence


def test_a_null_map_gives_the_null_model_s_value(attention):
    next_word = attention.weights[0, 5]
    null = _null("next", next_word, attention)
    assert null == pytest.approx(np.asarray(looks_alike(attention))[0, 5])
    assert null.sum(axis=1) == pytest.approx(np.ones(len(null)), abs=1e-5)
    n = attention.n_tokens
    assert _null("delimiter", next_word, attention) == pytest.approx(np.full((n, n), 1 / n))
    near, pairs = _null("within_word", next_word, attention), np.asarray(within_word_pairs(attention))
    by_measure = PATTERNS["within_word"].score(attention).null[0, 5]
    assert np.ptp(np.diagonal(near, 1)) == 0
    assert near[pairs].sum() / pairs.any(axis=1).sum() == pytest.approx(by_measure, abs=1e-6)


def test_one_text_has_no_pattern_across_two(attention):
    alone = extract_attention(load_encoder("specimen"), PAIR[0])
    assert pattern_nulls(alone).svg.count("<image") == 2 * len(measure_patterns(alone)) < 14
