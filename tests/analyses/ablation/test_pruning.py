"""Heads removed for good: the answers of the masked model, and fewer parameters."""

import pytest
import torch
from made import refusals
from tiny import FAMILIES, HEAD_SIZE, WIDTH, save_tiny_model

from bertlook_course.analyses.ablation import ablated, all_heads, parameter_count, prune
from bertlook_teach import load_encoder

TOLERANCE = 1e-5
PRUNABLE = tuple(family for family in FAMILIES if family != "albert")
SETS = ("1-1", "1-2", "2-*", "1-1 2-* 3-2", "1-* 2-* 3-1")  # of 3 layers x 2 heads: also layers without any


@pytest.fixture(scope="module")
def bert(encoders):
    return encoders["bert"]


def make_batch(tokens=7):
    ids = torch.randint(5, 30, (3, tokens), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(ids)
    mask[1, tokens - tokens // 3 :] = 0
    return {"input_ids": ids, "attention_mask": mask}


def hidden(encoder, batch):
    with torch.no_grad():
        return encoder.model(**batch).last_hidden_state


# ---- the key test ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("heads", SETS)
@pytest.mark.parametrize("family", PRUNABLE)
def test_a_pruned_model_answers_as_the_masked_one(encoders, family, heads):
    encoder = encoders[family]
    pruned = prune(encoder, heads)
    for tokens in (7, 1):
        batch = make_batch(tokens)
        with ablated(encoder, heads):
            masked = hidden(encoder, batch)
        assert (hidden(pruned, batch) - masked).abs().max() < TOLERANCE
    assert (hidden(encoder, make_batch()) - hidden(pruned, make_batch())).abs().max() > 1e-3


def test_pruning_one_head_is_not_pruning_the_other(bert):
    one, other = (hidden(prune(bert, head), make_batch()) for head in ("2-1", "2-2"))
    assert (one - other).abs().max() > 1e-2


def test_the_encoder_given_stays_as_it_is(encoders):
    for family in PRUNABLE:
        encoder = encoders[family]
        before = {name: tensor.clone() for name, tensor in encoder.model.state_dict().items()}
        fingerprint, output = encoder.fingerprint, hidden(encoder, make_batch())
        pruned = prune(encoder, "1-1 3-*")
        with torch.no_grad():
            for parameter in pruned.model.parameters():
                parameter.zero_()
        after = encoder.model.state_dict()
        assert (
            all(torch.equal(before[name], after[name]) for name in before) and before.keys() == after.keys()
        )
        assert torch.equal(hidden(encoder, make_batch()), output) and encoder.fingerprint == fingerprint


def test_no_head_left_anywhere(bert):
    pruned = prune(bert, all_heads(bert), allow_all=True)
    with ablated(bert, all_heads(bert), allow_all=True):
        masked = hidden(bert, make_batch())
    assert (hidden(pruned, make_batch()) - masked).abs().max() < TOLERANCE


def test_one_layer_and_one_head(tmp_path):
    encoder = load_encoder(save_tiny_model(tmp_path / "least", num_hidden_layers=1, num_attention_heads=1))
    pruned = prune(encoder, "1-1", allow_all=True)
    with ablated(encoder, "1-1", allow_all=True):
        masked = hidden(encoder, make_batch())
    assert (hidden(pruned, make_batch()) - masked).abs().max() < TOLERANCE


def test_in_two_steps_as_in_one_and_heads_keep_their_names(bert):
    at_once, step = prune(bert, "1-1 2-1 2-2"), prune(prune(bert, "1-1 2-1"), "2-2")
    assert step.off == at_once.off == ((0, 0), (1, 0), (1, 1)) and step.kept == [[1], [], [0, 1]]
    assert torch.equal(hidden(step, make_batch()), hidden(at_once, make_batch()))
    assert step.original == at_once.original == bert.name and step.name == f"{bert.name} pruned"


def test_the_maps_that_are_left_are_those_of_the_heads_kept(bert):
    batch = make_batch()
    maps, _ = prune(bert, "1-1 3-*").attend(**batch)
    whole, _ = bert.attend(**batch)
    assert [m.shape[1] for m in maps] == [1, 2, 0]
    assert torch.allclose(maps[0][:, 0], whole[0][:, 1], atol=1e-6)


# ---- size -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", PRUNABLE)
def test_parameters_go_with_their_heads(encoders, family):
    encoder, pruned = encoders[family], prune(encoders[family], "1-1 2-* 3-2")
    a_head = 3 * (WIDTH * HEAD_SIZE + HEAD_SIZE) + HEAD_SIZE * WIDTH  # Q, K, V with biases; W_O without
    assert parameter_count(encoder) - parameter_count(pruned) == 4 * a_head
    assert parameter_count(encoder, without=4) == parameter_count(pruned)


def test_numpy_and_torch_count_the_same_parameters():
    light, heavy = load_encoder("specimen"), load_encoder("specimen")
    assert heavy.model is not None
    assert parameter_count(light) == parameter_count(heavy) and light.engine is not None


# ---- what is refused ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pruned(bert):
    return prune(bert, "1-1 2-1")


def switched_off(encoder, heads):
    with ablated(encoder, heads):
        pass


test_what_cannot_be_pruned_is_refused = refusals(
    (lambda bert: prune(bert, all_heads(bert)), "all 6 heads .* allow_all=True"),
    (lambda pruned: prune(pruned, "1-1 3-1"), "head 1-1 .* is pruned already; .* Gone are: 1-1 2-1"),
    (lambda pruned: prune(pruned, "1-2 2-2 3-*"), "all 6 heads .* would be gone"),
    (lambda bert: prune(bert, "1-1 1-1"), "named twice"),
    (lambda bert: prune(bert, "8-10"), "no head 8-10: .*count from 1"),
    (lambda bert: prune(bert, []), "nothing to prune"),
    (lambda encoders: prune(encoders["albert"], "1-1"), r"\(albert\) share one block.* Mask it instead"),
    (lambda pruned: switched_off(pruned, "1-2"), "has lost 2 heads for good"),
)


def test_no_head_of_shared_blocks_is_counted_off(encoders):
    with pytest.raises(ValueError, match="share one block"):
        parameter_count(encoders["albert"], without=1)
