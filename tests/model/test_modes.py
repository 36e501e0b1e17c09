"""A model left in training mode is read as if it were not: dropout would change every number, and say nothing."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny import save_tiny_model

from bertlook_course.analyses.probing import hidden_states
from bertlook_teach.measures import attention_gradients, value_zeroing
from bertlook_teach.model import extract_attention, load_encoder, read

TEXT = "the cat sat on the mat"


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """With much dropout, so that one that is left on cannot be missed."""
    changes = {"hidden_dropout_prob": 0.5, "attention_probs_dropout_prob": 0.5}
    return load_encoder(save_tiny_model(tmp_path_factory.mktemp("dropout"), "bert", **changes), device="cpu")


MEASURES = {
    "extract_attention": lambda encoder: extract_attention(encoder, TEXT).weights,
    "vectors": lambda encoder: extract_attention(encoder, TEXT, vectors=True).queries,
    "hidden_states": lambda encoder: next(iter(hidden_states(encoder, [TEXT.split()]))),
    "value_zeroing": lambda encoder: value_zeroing(read(encoder, TEXT)),
}


def test_gradients_do_not_need_the_mode_either():
    encoder = load_encoder("specimen", device="cpu")
    expected = attention_gradients(read(encoder, TEXT)).signed
    encoder.model.train()
    np.testing.assert_array_equal(attention_gradients(read(encoder, TEXT)).signed, expected)


@pytest.mark.parametrize("measure", MEASURES)
def test_training_mode_changes_nothing_and_is_put_back(encoder, measure):
    expected = MEASURES[measure](encoder)
    encoder.model.train()
    encoder.model.embeddings.eval()
    modes = {name: module.training for name, module in encoder.model.named_modules()}
    try:
        np.testing.assert_array_equal(MEASURES[measure](encoder), expected)
        assert {name: module.training for name, module in encoder.model.named_modules()} == modes
    finally:
        encoder.model.eval()


def test_dropout_alone_is_seen(encoder):
    """The control: without the guard the same model gives other numbers."""
    ids = torch.tensor([encoder.tokenizer(TEXT)["input_ids"]])
    one = encoder.model(ids).last_hidden_state
    encoder.model.train()
    try:
        assert float((encoder.model(ids).last_hidden_state - one).abs().max().detach()) > 0.1
    finally:
        encoder.model.eval()
