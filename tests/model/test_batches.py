"""Inputs of like length share a batch: little padding, the same results in the same order, and no reading far ahead."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

from bertlook_course.analyses.ablation import MaskedLM
from bertlook_course.analyses.probing import hidden_states
from bertlook_course.corpora import load_treebank
from bertlook_teach.model import even_parts, evenly, extract_attention, iter_attention, load_encoder
from bertlook_teach.model.batches import AHEAD, PADDING, SHORT


def padding(masks) -> float:
    """Share of all places of some batches that is padding."""
    return 1 - sum(int(np.sum(np.asarray(mask))) for mask in masks) / sum(
        np.asarray(mask).size for mask in masks
    )


@pytest.fixture
def sentences():
    return [list(sentence.words) for sentence in load_treebank()][:60]


@pytest.fixture
def encoder():
    """A specimen of this test's own: the shared one is run by torch once another test asked for its model."""
    return load_encoder("specimen")


@pytest.fixture
def masks(encoder, monkeypatch):
    """The masks of all batches that the encoder is given."""
    seen = []
    attend, run = encoder.attend, encoder.engine.run

    def kept(call):
        def wrapped(ids, mask, *rest, **options):
            seen.append(np.array(mask))
            return call(ids, mask, *rest, **options)

        return wrapped

    monkeypatch.setattr(
        type(encoder), "attend", lambda self, *rest, **options: kept(attend)(*rest, **options)
    )
    monkeypatch.setattr(
        type(encoder.engine), "run", lambda self, *rest, **options: kept(run)(*rest, **options)
    )
    return seen


@pytest.mark.parametrize("seed", range(20))
def test_no_batch_is_larger_or_has_more_padding_than_is_said(seed):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 130, rng.integers(1, 60)).tolist()
    size = int(rng.integers(1, 20))
    parts = even_parts(lengths, size)
    assert sorted(i for part in parts for i in part) == list(range(len(lengths)))
    for part in parts:
        own = [lengths[i] for i in part]
        assert len(part) <= size and sum(own) >= (1 - PADDING) * max(own) * len(own) - 1e-9
    assert even_parts([7] * 9, 4) == [[0, 1, 2, 3], [4, 5, 6, 7], [8]]


def test_results_come_in_the_order_of_the_items_and_each_once():
    lengths = np.random.default_rng(1).integers(1, 100, 200).tolist()
    batches = []

    def run(part):
        batches.append(part)
        return [f"result {item}" for item in part]

    found = list(evenly(range(200), run, length=lengths.__getitem__, size=8))
    assert found == [f"result {i}" for i in range(200)]
    assert sorted(i for part in batches for i in part) == list(range(200))


@pytest.mark.parametrize(("tokens", "most"), [(10, AHEAD * 8), (SHORT, AHEAD * 8), (512, 8)])
def test_it_reads_a_little_ahead_and_of_long_inputs_a_batch(tokens, most):
    numbers = count()
    stream = evenly(numbers, lambda part: part, length=lambda _: tokens, size=8)
    assert next(stream) == 0 and next(numbers) == most
    assert list(evenly([], lambda part: part, length=len, size=8)) == []


def test_a_result_too_few_is_an_error_not_a_shift():
    with pytest.raises(ValueError, match="zip"):
        list(evenly([1, 2, 3], lambda part: part[1:], length=lambda _: 5, size=8))


def test_maps_of_a_corpus_have_little_padding_and_are_those_of_each_alone(encoder, sentences, masks):
    together = list(iter_attention(encoder, sentences))
    assert padding(masks) <= PADDING
    for words, found in list(zip(sentences, together, strict=True))[::7]:
        alone = extract_attention(encoder, words=words)
        assert found.tokens == alone.tokens and np.allclose(found.weights, alone.weights, atol=2e-6)


def test_hidden_states_too(encoder, sentences, masks):
    together = list(hidden_states(encoder, sentences))
    assert padding(masks) <= PADDING
    for words, found in list(zip(sentences, together, strict=True))[::7]:
        [alone] = hidden_states(encoder, [words])
        assert found.shape == alone.shape and np.allclose(found, alone, atol=2e-5)


def test_masked_texts_by_length_are_the_same_texts_with_the_same_masks(specimen, sentences):
    texts = [" ".join(words) for words in sentences]
    scorer = MaskedLM(specimen)

    def rows(batches):
        return sorted(
            tuple(map(tuple, (ids[keep.bool()].tolist(), labels[keep.bool()].tolist())))
            for ids, mask, _, labels in batches
            for ids, keep, labels in zip(ids, mask, labels)
        )

    plain, by_length = (
        scorer.encode(texts, truncate=True),
        scorer.encode(texts, truncate=True, by_length=True),
    )
    assert rows(plain) == rows(by_length)
    assert (
        padding([mask for _, mask, _, _ in by_length]) <= PADDING < padding([mask for _, mask, _, _ in plain])
    )
