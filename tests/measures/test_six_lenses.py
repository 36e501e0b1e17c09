"""Gradients, norms, value zeroing, rollout and flow: against the paper's formula, a second way, and what must not happen."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from made import random_maps
from tiny import FAMILIES, HEAD_SIZE, HEADS, LAYERS, save_tiny_model
from transformers import AutoConfig, AutoModelForMaskedLM

from bertlook_course.analyses.anatomy import (
    LENSES,
    attention_against_importance,
    category_means,
    category_sums,
    lenses,
    weight_norm_correlation,
)
from bertlook_course.metrics import partial_rank_correlation, rank_correlation
from bertlook_teach import extract_attention, load_encoder, read
from bertlook_teach.measures import (
    attention_flow,
    attention_gradients,
    attention_rollout,
    each_masked,
    gradient_importance,
    mixing_matrices,
    summed_norms,
    value_norms,
    value_zeroing,
    weighted_norms,
)
from bertlook_teach.model import (
    attention_blocks,
    choose_masked,
    masked_lm_head,
    output_projection,
    random_twin,
)

TEXT, PAIR = "a cat, sat.", "it was."


@pytest.fixture(scope="module", params=FAMILIES)
def encoder(request, tmp_path_factory):
    """A tiny model of each family with a masked-LM head, random biases, in double precision."""
    return _tiny(tmp_path_factory.mktemp(request.param), request.param)


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return _tiny(tmp_path_factory.mktemp("one"), "bert")


def _tiny(folder, family):
    save_tiny_model(folder, family)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        model = AutoModelForMaskedLM.from_config(AutoConfig.from_pretrained(folder))
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):  # zero at the start; then no test could tell which bias is counted
                torch.nn.init.normal_(parameter, std=0.3)
    model.save_pretrained(folder)
    encoder = load_encoder(folder)
    encoder.model.double()
    return encoder


def _ids(encoder, text=TEXT, pair=PAIR):
    return encoder.tokenizer(text, pair)["input_ids"]


# ---- the masked-LM loss ------------------------------------------------------------------------------------


def test_the_loss_is_that_of_the_library_s_own_model(encoder):
    masked = [2, 4]
    ours = attention_gradients(read(encoder, TEXT, PAIR), masked=masked)
    library = AutoModelForMaskedLM.from_pretrained(encoder.folder).double()
    encoded = encoder.tokenizer(TEXT, PAIR, return_tensors="pt", return_token_type_ids=encoder.has_segments)
    labels = torch.full_like(encoded["input_ids"], -100)
    labels[0, masked] = encoded["input_ids"][0, masked]
    encoded["input_ids"][0, masked] = encoder.tokenizer.mask_token_id
    with torch.no_grad():
        assert ours.loss == pytest.approx(float(library(**encoded, labels=labels).loss), abs=1e-9)
    assert [ours.attention.tokens[i] for i in masked] == [encoder.tokenizer.mask_token] * 2


def test_the_head_follows_the_word_embeddings_of_the_encoder_it_serves(bert):
    head = masked_lm_head(bert)
    hidden = torch.eye(HEADS * HEAD_SIZE, dtype=torch.float64)
    before = head(hidden).detach()
    embeddings = bert.model.get_input_embeddings().weight
    with torch.no_grad():
        embeddings *= 2
    after = head(hidden).detach()
    with torch.no_grad():
        embeddings /= 2
    assert not torch.allclose(before, after)


def test_fifteen_per_cent_are_masked_most_by_the_mask_and_never_a_special_token(bert):
    ids = [2] + [7] * 1000 + [3]
    special = [True] + [False] * 1000 + [True]
    masking = choose_masked(bert, ids, special, seed=1)
    replaced = np.array(masking.replaced_by)
    mask, kept = (replaced == bert.tokenizer.mask_token_id).mean(), (replaced == 7).mean()
    assert len(masking.positions) == len(set(masking.positions)) == 150
    assert min(masking.positions) >= 1 and max(masking.positions) <= 1000
    assert mask == pytest.approx(0.8, abs=0.1) and kept == pytest.approx(0.1, abs=0.08) and mask + kept < 1
    assert masking == choose_masked(bert, ids, special, seed=1) != choose_masked(bert, ids, special, seed=2)


def test_at_least_one_piece_is_masked(bert):
    assert len(attention_gradients(read(bert, "cat")).masked) == 1


def test_a_random_twin_guesses_blindly(specimen):
    loss = attention_gradients(read(random_twin(specimen), "The cat sat on the mat.")).loss
    assert loss == pytest.approx(np.log(len(specimen.tokenizer)), abs=1.5)


def test_a_model_without_the_head_says_so(tmp_path):
    encoder = load_encoder(save_tiny_model(tmp_path, "bert"))
    with pytest.raises(ValueError, match=r"has no masked-LM head: the folder lacks cls\.predictions"):
        gradient_importance(read(encoder, TEXT))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"masked": []}, "no position to mask was given"),
        ({"masked": [99]}, r"position 99 lies outside the input: its \d+ tokens count from 0"),
        ({"masked": [0]}, "position 0 holds a special token, which is never masked"),
        ({"masked": "all"}, "masked is a list of positions, 'each', or None"),
        ({"share": 0}, "share is the part of the pieces to mask, above 0 and at most 1; got 0"),
    ],
)
def test_a_masking_that_cannot_be_is_refused(bert, options, message):
    with pytest.raises(ValueError, match=message):
        gradient_importance(read(bert, TEXT), **options)
    with pytest.raises(ValueError, match="segments must be one of standard, zeros; got 'both'"):
        read(bert, TEXT, segments="both")
    assert gradient_importance(read(bert, TEXT, segments="zeros"), masked=[1], share=1).shape[0] == LAYERS


def test_what_is_masked_may_be_a_bool_for_each_token(bert):
    reading = read(bert, TEXT)
    mask = np.arange(reading.n_tokens) == 2
    found = [gradient_importance(reading, masked=masked) for masked in (mask, mask.tolist(), [2], [1])]
    assert (found[0] == found[2]).all() and (found[1] == found[2]).all() and (found[2] != found[3]).any()
    with pytest.raises(ValueError, match="no position to mask was given"):
        gradient_importance(reading, masked=~np.ones(reading.n_tokens, dtype=bool))
    with pytest.raises(ValueError, match="position 0 holds a special token"):
        gradient_importance(reading, masked=np.ones(reading.n_tokens, dtype=bool))


# ---- gradients ----------------------------------------------------------------------------------------------


def _loss(encoder, masked, change=lambda layer, weights: weights, keep=None):
    """The loss with every attention map passed through ``change``: a second way, through the weights themselves."""
    from transformers.models.bert import modeling_bert

    calls = itertools.count()
    original = modeling_bert.eager_attention_forward

    def attend(module, query, key, value, mask, scaling=None, dropout=0.0, **_):
        scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
        weights = torch.softmax(query @ key.transpose(2, 3) * scaling, dim=-1)
        weights = change(next(calls), weights)
        if keep is not None:
            keep.append(weights)
        return (weights @ value).transpose(1, 2).contiguous(), weights

    ids = torch.tensor([_ids(encoder)])
    truth = ids[0, masked].clone()
    ids[0, masked] = encoder.tokenizer.mask_token_id
    segments = encoder.tokenizer(TEXT, PAIR, return_token_type_ids=True)["token_type_ids"]
    modeling_bert.eager_attention_forward = attend
    try:
        hidden = encoder.model(input_ids=ids, token_type_ids=torch.tensor([segments])).last_hidden_state
    finally:
        modeling_bert.eager_attention_forward = original
    return torch.nn.functional.cross_entropy(masked_lm_head(encoder)(hidden[0, masked]), truth)


def test_gradients_equal_automatic_differentiation_through_the_weights(bert):
    masked, maps = [2, 4], []
    loss = _loss(bert, masked, keep=maps)
    expected = torch.stack(torch.autograd.grad(loss, maps))[:, 0].numpy()
    ours = attention_gradients(read(bert, TEXT, PAIR), masked=masked)
    assert ours.loss == pytest.approx(float(loss.detach()), abs=1e-10)
    assert np.abs(ours.signed - expected).max() < 1e-10
    assert np.abs(expected).max() > 1e-3


def test_gradients_equal_a_finite_difference_and_point_from_query_to_key(bert):
    masked, step = [2], 1e-5
    ours = attention_gradients(read(bert, TEXT, PAIR), masked=masked)
    for layer, head, query, key in [(0, 1, 3, 5), (1, 0, 7, 2), (LAYERS - 1, 1, 2, 0)]:

        def push(by, layer=layer, head=head, query=query, key=key):
            def change(index, weights):
                pushed = weights.clone()
                if index == layer:
                    pushed[0, head, query, key] += by
                return pushed

            with torch.no_grad():
                return float(_loss(bert, masked, change))

        slope = (push(step) - push(-step)) / (2 * step)
        assert ours.signed[layer, head, query, key] == pytest.approx(slope, abs=1e-7)
    # In the last layer only the masked position is read, so only its row can matter.
    last = ours.importance[-1].sum(axis=(0, 2))
    assert last[2] > 0 and np.delete(last, 2).max() < 1e-12


def test_every_family_gives_the_gradient_of_a_gate_on_each_head(encoder):
    """sum alpha dL/dalpha = dL/dxi, with the gate xi put on by hooks and differentiated by the library."""
    masked = [2, 4]
    ours = attention_gradients(read(encoder, TEXT, PAIR), masked=masked)
    gates = torch.ones(LAYERS, HEADS, dtype=torch.float64, requires_grad=True)
    calls, hooks = itertools.count(), []

    def gate(module, given):
        xi = gates[next(calls)].repeat_interleave(HEAD_SIZE)
        return (given[0] * xi,)

    for output in {block.output: None for block in attention_blocks(encoder)}:
        hooks.append(output.register_forward_pre_hook(gate))
    encoded = encoder.tokenizer(TEXT, PAIR, return_tensors="pt", return_token_type_ids=encoder.has_segments)
    truth = encoded["input_ids"][0, masked].clone()
    encoded["input_ids"][0, masked] = encoder.tokenizer.mask_token_id
    try:
        hidden = encoder.model(**encoded).last_hidden_state
    finally:
        for hook in hooks:
            hook.remove()
    loss = torch.nn.functional.cross_entropy(masked_lm_head(encoder)(hidden[0, masked]), truth)
    [expected] = torch.autograd.grad(loss, [gates])
    assert ours.contribution.sum(axis=(-2, -1)) == pytest.approx(expected.numpy(), abs=1e-9)


def test_importance_is_bounded_by_the_norm_and_equals_an_inner_product(encoder):
    ours = attention_gradients(read(encoder, TEXT, PAIR), masked=[2, 4])
    assert (ours.importance <= ours.bound * (1 + 1e-9) + 1e-15).all()
    assert ours.importance.max() > 0
    vectors = ours.attention.values @ output_projection(encoder)  # f_h(x_j)
    assert np.linalg.norm(vectors, axis=-1) == pytest.approx(ours.value_norms, abs=1e-9)


def test_each_masked_is_the_mean_of_one_mask_at_a_time(bert):
    special = extract_attention(bert, TEXT).special
    one_by_one = [gradient_importance(read(bert, TEXT), masked=[i]) for i, s in enumerate(special) if not s]
    assert gradient_importance(read(bert, TEXT), masked="each") == pytest.approx(
        np.mean(one_by_one, axis=0), abs=1e-12
    )
    assert [g.masked for g in each_masked(read(bert, "a cat"))] == [(1,), (2,)]


def test_a_model_with_frozen_weights_gives_the_same_gradients(bert):
    expected = gradient_importance(read(bert, TEXT), masked=[2])
    bert.model.requires_grad_(False)
    try:
        with torch.no_grad():
            assert gradient_importance(read(bert, TEXT), masked=[2]) == pytest.approx(expected, abs=1e-12)
    finally:
        bert.model.requires_grad_(True)


def test_heads_that_do_not_write_weights_times_values_are_refused(bert):
    output = attention_blocks(bert)[1].output
    hook = output.register_forward_pre_hook(lambda m, given: (given[0] + 1,))
    try:
        with pytest.raises(ValueError, match="in layer 2 of .* the heads do not write weights times values"):
            attention_gradients(read(bert, TEXT), masked=[2])
    finally:
        hook.remove()


# ---- norms ---------------------------------------------------------------------------------------------------


def test_norms_equal_brute_force_in_every_family(encoder):
    attention = extract_attention(encoder, TEXT, PAIR, vectors=True)
    projection = output_projection(encoder)
    values, weights = attention.values.astype(float), attention.weights.astype(float)
    f = np.einsum("lhjd,lhdw->lhjw", values, projection)
    every = np.einsum("lhij,lhjw->lhijw", weights, f)  # what the package never builds
    norms = value_norms(values, projection)
    assert np.abs(norms - np.linalg.norm(f, axis=-1)).max() < 1e-9
    assert np.abs(weighted_norms(weights, norms) - np.linalg.norm(every, axis=-1)).max() < 1e-9
    assert (
        np.abs(summed_norms(weights, values, projection) - np.linalg.norm(every.sum(axis=1), axis=-1)).max()
        < 1e-9
    )
    assert (
        np.abs(value_norms(attention, projection) - norms).max() < 1e-5
    )  # from the Attention, in single precision


def test_what_the_heads_write_is_their_f_plus_the_output_bias(encoder):
    """The definition of f, from the model's own output: sum over heads and keys of alpha f, and one bias."""
    attention = extract_attention(encoder, TEXT, PAIR, vectors=True)
    written, hooks = [], []
    for output in {block.output: None for block in attention_blocks(encoder)}:
        hooks.append(output.register_forward_hook(lambda m, i, out: written.append(out[0].detach().numpy())))
    biases = [block.output.bias.detach().numpy() for block in attention_blocks(encoder)]
    written.clear()
    extract_attention(encoder, TEXT, PAIR)
    for hook in hooks:
        hook.remove()
    f = attention.values @ output_projection(encoder)
    ours = (attention.weights @ f).sum(axis=1)
    for layer in range(LAYERS):
        assert np.abs(ours[layer] + biases[layer] - written[layer]).max() < 1e-4


def test_norms_on_paper():
    values = np.array(
        [[[[3.0, 4.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 2.0]]]]
    )  # layer 1, head 2, token 2, dim 2
    projection = np.array([[[[1.0, 0, 0], [0, 1, 0]], [[0, 0, 2.0], [0, 0, 2]]]])
    weights = np.array([[[[1.0, 0.0], [0.25, 0.75]], [[0.5, 0.5], [0.0, 1.0]]]])
    norms = value_norms(values, projection)
    assert norms.tolist() == [[[5.0, 0.0], [2.0, 4.0]]]
    assert weighted_norms(weights, norms).tolist() == [[[[5.0, 0.0], [1.25, 0.0]], [[1.0, 2.0], [0.0, 4.0]]]]
    # Row 1, key 0: head 0 adds (.75, 1, 0), head 1 nothing; row 0, key 0: (3, 4, 0) and (0, 0, 1).
    assert summed_norms(weights, values, projection) == pytest.approx(
        np.array([[[26**0.5, 2.0], [1.25, 4.0]]])
    )


def test_heads_that_cancel_add_nothing_together():
    values = np.array([[[[1.0]], [[-1.0]]]])
    ones = np.ones((1, 2, 1, 1))
    assert summed_norms(ones, values, ones).item() == 0.0
    assert weighted_norms(ones, value_norms(values, ones)).sum() == 2.0


def test_a_head_that_writes_nothing_has_norm_zero_and_not_nan():
    random = np.random.default_rng(0)
    # Two columns that cancel: v M v is 0 on paper, and a little below it in floating point.
    projection = np.repeat(random.normal(size=(1, 1, 3, 1)), 4, axis=-1)
    null = np.array([projection[0, 0, 1, 0], -projection[0, 0, 0, 0], 0.0]) * 1e3
    norms = value_norms(null[None, None, None], projection)
    assert np.isfinite(norms).all() and norms.item() < 1e-3
    zero = np.zeros_like(projection)
    weights = np.ones((1, 1, 1, 1))
    assert value_norms(null[None, None, None], zero).item() == 0
    assert summed_norms(weights, null[None, None, None], zero).item() == 0


def test_norms_run_on_torch_tensors_and_batches_alike():
    random = np.random.default_rng(1)
    values, projection = random.normal(size=(7, 3, 2, 5, 4)), random.normal(size=(3, 2, 4, 11))
    weights = random.dirichlet(np.ones(5), size=(7, 3, 2, 5))
    tensors = [torch.tensor(a) for a in (weights, values, projection)]
    norms = value_norms(values, projection)
    assert norms.shape == (7, 3, 2, 5)
    assert value_norms(*tensors[1:]).numpy() == pytest.approx(norms)
    together = summed_norms(weights, values, projection)
    assert together.shape == (7, 3, 5, 5)
    assert summed_norms(*tensors).numpy() == pytest.approx(together)
    assert together[4] == pytest.approx(summed_norms(weights[4], values[4], projection))


def test_norms_say_what_is_missing(bert):
    with pytest.raises(ValueError, match="holds no value vectors; extract it with"):
        value_norms(extract_attention(bert, TEXT), output_projection(bert))


# ---- value zeroing ---------------------------------------------------------------------------------------------


def test_value_zeroing_equals_the_whole_model_run_with_a_hook(encoder):
    """A second way: run everything, zero one value vector of one layer, compare the hidden states after it."""
    encoded = encoder.tokenizer(TEXT, return_tensors="pt", return_token_type_ids=encoder.has_segments)
    layer, key, head = 1, 3, 1
    blocks = attention_blocks(encoder)
    turn = layer if blocks[0].value is blocks[1].value else 0  # a shared block is run once a layer

    def after(part):
        calls = itertools.count()

        def zero(module, given, output):
            if next(calls) == turn:
                output = output.clone()
                output[0, key, part] = 0
            return output

        hook = blocks[layer].value.register_forward_hook(zero)
        try:
            with torch.no_grad():
                return encoder.model(**encoded, output_hidden_states=True).hidden_states[layer + 1][0]
        finally:
            hook.remove()

    def distance(a, b):
        return (1 - torch.nn.functional.cosine_similarity(a, b, dim=-1)).numpy()

    before = after(slice(0, 0))
    whole = value_zeroing(read(encoder, TEXT), normalized=False)
    assert whole[layer, :, key] == pytest.approx(distance(after(slice(None)), before), abs=1e-9)
    by_head = value_zeroing(read(encoder, TEXT), normalized=False, by_head=True)
    part = slice(head * HEAD_SIZE, (head + 1) * HEAD_SIZE)
    assert by_head[layer, head, :, key] == pytest.approx(distance(after(part), before), abs=1e-9)
    assert whole[layer, :, key].max() > 1e-6
    rows = value_zeroing(read(encoder, TEXT))
    assert rows == pytest.approx(whole / whole.sum(axis=-1, keepdims=True))
    chosen = value_zeroing(read(encoder, TEXT), normalized=False, keys=[key, 0])
    assert chosen == pytest.approx(whole[:, :, [key, 0]], abs=1e-12)


def test_a_layer_that_takes_nothing_has_rows_of_zeros_and_no_nan(tmp_path):
    encoder = _tiny(tmp_path, "bert")
    with torch.no_grad():
        attention_blocks(encoder)[1].output.weight.zero_()
    maps = value_zeroing(read(encoder, TEXT))
    assert (maps[1] == 0).all()
    assert maps[0].sum(axis=-1) == pytest.approx(np.ones(maps.shape[1]))


def test_value_zeroing_of_keys_that_do_not_exist_is_refused(bert):
    with pytest.raises(ValueError, match="key 99 lies outside the input: its 7 tokens count from 0 to 6"):
        value_zeroing(read(bert, TEXT), normalized=False, keys=[99])
    with pytest.raises(ValueError, match="rows can be normalised over all keys only"):
        value_zeroing(read(bert, "the cat"), keys=[1])


# ---- rollout and flow -------------------------------------------------------------------------------------------


def test_rollout_of_uniform_attention_and_of_a_chain_on_paper():
    n = 4
    uniform = np.full((2, 1, n, n), 1 / n)
    own = 0.5 + 0.5 / n
    assert attention_rollout(uniform)[0, 0, 0] == pytest.approx(own)
    assert attention_rollout(uniform)[1, 0, 0] == pytest.approx(0.25 + 0.75 / n)
    back = np.eye(3, k=-1)
    back[0, 0] = 1  # token 2 looks at 1, and 1 at 0: after two layers a quarter of token 2 comes from token 0
    rolled = attention_rollout(np.stack([back, back]))
    assert rolled[1].tolist() == [[1, 0, 0], [0.75, 0.25, 0], [0.25, 0.5, 0.25]]


def test_rollout_equals_a_sum_over_all_paths():
    maps = random_maps(3, 2, 4, 4)
    mixing = 0.5 * maps.mean(axis=1) + 0.5 * np.eye(4)
    paths = np.zeros((4, 4))
    for a, b, c, d in itertools.product(range(4), repeat=4):
        paths[a, d] += mixing[2, a, b] * mixing[1, b, c] * mixing[0, c, d]
    rolled = attention_rollout(maps)
    assert rolled[2] == pytest.approx(paths)
    assert rolled.sum(axis=-1) == pytest.approx(np.ones((3, 4)))


def test_rollout_by_head_averages_to_the_whole():
    maps = random_maps(3, 2, 4, 4)
    assert attention_rollout(maps, by_head=True).mean(axis=1) == pytest.approx(attention_rollout(maps))
    assert attention_rollout(maps, by_head=True).shape == maps.shape


def test_one_hot_rows_and_a_residual_of_none_or_all():
    shift = np.roll(np.eye(3), 1, axis=1)[None, None]  # each looks at the next, in a ring
    maps = np.concatenate([shift, shift])
    assert attention_rollout(maps, residual=0)[1].tolist() == np.roll(np.eye(3), 2, axis=1).tolist()
    assert attention_rollout(maps, residual=1)[1].tolist() == np.eye(3).tolist()


def test_norms_roll_out_too_and_a_row_of_zeros_is_the_token_itself():
    norms = 7 * random_maps(3, 2, 4, 4)[:, 0]
    assert attention_rollout(norms) == pytest.approx(attention_rollout(random_maps(3, 2, 4, 4)[:, 0]))
    norms[1, 2] = 0
    assert mixing_matrices(norms)[1, 2].tolist() == [0, 0, 1, 0]


def test_flow_equals_rollout_in_the_first_layer():
    maps = random_maps(3, 2, 5, 5, seed=4)
    ours = attention_flow(maps)
    assert ours[0] == pytest.approx(attention_rollout(maps)[0], abs=1e-8)
    assert ours.sum(axis=-1) == pytest.approx(np.ones((3, 5)))


def test_flow_equals_the_smallest_cut():
    """Max-flow min-cut, every cut tried: nothing but the definition."""
    maps = random_maps(2, 2, 3, 3, seed=2)
    mixing = mixing_matrices(maps)
    expected = np.empty((3, 3))
    for i, j in itertools.product(range(3), repeat=2):
        cuts = []
        # 3 middle, 2 top, 2 bottom nodes are free to choose
        for inside in itertools.product([False, True], repeat=7):
            middle = np.array(inside[:3])
            top = np.insert(inside[3:5], i, True)
            bottom = np.insert(inside[5:], j, False)
            cuts.append(mixing[1][np.ix_(top, ~middle)].sum() + mixing[0][np.ix_(middle, ~bottom)].sum())
        expected[i, j] = min(cuts)
    assert attention_flow(maps)[1] == pytest.approx(expected / expected.sum(axis=1, keepdims=True))


def test_flow_of_one_token_is_one():
    assert attention_flow(np.ones((2, 1, 1, 1))).tolist() == [[[1.0]], [[1.0]]]


# ---- by kind of token ----------------------------------------------------------------------------------------------


TOKENS = ("[CLS]", "a", ",", "b", "[SEP]")


def test_sums_and_means_by_kind_on_paper():
    maps = np.arange(25.0).reshape(1, 1, 5, 5)  # column j holds j, j + 5, ... ; its mean is j + 10
    sums = [value.item() for value in category_sums(maps, TOKENS).values()]
    assert sums == [10, 14, 12, 24]  # [CLS], [SEP], punctuation, other
    means = category_means(maps, TOKENS, unmasked=[True, False, True, True, True])
    assert {kind: value.item() for kind, value in means.items()} == {
        "cls": 10, "sep": 14, "punct": 12, "other": 13, "all": 12.25,
    }  # fmt: skip


def test_sums_of_weights_are_clark_s_shares(specimen):
    from bertlook_teach.measures import special_token_attention

    attention = extract_attention(specimen, "The cat, the dog.", "They slept.")
    for kind, share in category_sums(attention, attention).items():
        assert share == pytest.approx(special_token_attention(attention, kind), abs=1e-6)


def test_a_kind_that_is_not_there_is_left_out():
    one, two = np.full((1, 1, 3, 3), 1.0), np.full((1, 1, 3, 3), 3.0)
    with_comma, without = (
        category_sums(one, ["[CLS]", ",", "[SEP]"]),
        category_sums(two, ["[CLS]", "a", "[SEP]"]),
    )
    assert "punct" not in without and "other" not in with_comma
    unmasked = category_means(one, ["[CLS]", ",", "[SEP]"], unmasked=[True, False, True])
    assert unmasked.keys() == {"cls", "sep", "all"}


# ---- attention against importance --------------------------------------------------------------------------------------


def test_rank_correlations_equal_scipy_s_ties_included():
    stats = pytest.importorskip("scipy.stats")
    random = np.random.default_rng(0)
    x, y, z = random.integers(0, 9, size=(3, 60)).astype(float)
    y, z = y + x, z + x
    assert rank_correlation(x, y) == pytest.approx(stats.spearmanr(x, y).statistic)
    ranks = [stats.rankdata(a) for a in (x, y, z)]
    design = np.column_stack([np.ones(60), ranks[2]])
    rest = [r - design @ np.linalg.lstsq(design, r, rcond=None)[0] for r in ranks[:2]]
    assert partial_rank_correlation(x, y, z) == pytest.approx(np.corrcoef(*rest)[0, 1])


def test_a_common_cause_vanishes_when_it_is_held_fixed():
    random = np.random.default_rng(1)
    cause = random.normal(size=4000)
    x, y = cause + random.normal(size=4000), -cause + random.normal(size=4000)
    assert rank_correlation(x, y) < -0.4
    assert abs(partial_rank_correlation(x, y, cause)) < 0.08


def test_attention_against_importance_leaves_out_what_cannot_be_computed():
    random = np.random.default_rng(2)
    norm = random.uniform(size=(6, 5))
    found = attention_against_importance(1 - norm, norm + 1e-3 * random.normal(size=norm.shape), norm)
    assert found["over layers"] < -0.9 and found["over heads"] < -0.9
    assert "over layers given norm" not in found  # share is the norm turned round: nothing is left of it
    assert attention_against_importance(norm[:1], norm[:1], norm[:1]).keys() == {"over heads"}


def test_weight_and_norm_by_kind(bert):
    attention = extract_attention(bert, "a cat, a dog", vectors=True)
    n = attention.n_tokens
    norms = np.broadcast_to(1 - attention.weights.mean(axis=2), attention.weights.shape[:2] + (n,))
    found = weight_norm_correlation(attention, norms)
    assert found.keys() == {"cls", "sep", "punct", "other"}
    assert found["other"] < 0
    assert weight_norm_correlation(attention, np.ones_like(norms)) == {}


# ---- the lenses ----------------------------------------------------------------------------------------------------------


def test_lenses_give_one_map_per_head_and_each_says_what_it_is(encoder):
    maps = lenses(read(encoder, TEXT, PAIR))
    n = len(_ids(encoder))
    assert (
        list(maps) == list(LENSES) == ["weight", "norm", "gradient", "rollout", "value_zeroing", "ablation"]
    )
    for name, values in maps.items():
        assert values.shape == (LAYERS, HEADS, n, n), name
        assert np.isfinite(values).all() and (values >= 0).all(), name
        assert LENSES[name].title and LENSES[name].sentence.endswith(".") and LENSES[name].unit
    for name in ("weight", "rollout", "value_zeroing"):
        assert maps[name].sum(axis=-1) == pytest.approx(np.ones((LAYERS, HEADS, n)), abs=1e-5)


def test_one_lens_needs_only_what_it_looks_through(tmp_path):
    encoder = load_encoder(save_tiny_model(tmp_path, "bert"))  # no masked-LM head
    assert lenses(read(encoder, TEXT), only=["weight", "value_zeroing"]).keys() == {"weight", "value_zeroing"}
    with pytest.raises(ValueError, match="there is no lens 'xray'; there are: weight, norm"):
        lenses(read(encoder, TEXT), only=["xray"])


def test_one_piece_of_text_is_enough_for_every_lens(bert):
    assert all(np.isfinite(values).all() for values in lenses(read(bert, "cat")).values())
    pair = lenses(read(bert, "cat", "cat"))  # the same in both segments
    assert all(np.isfinite(values).all() for values in pair.values())


def test_all_lenses_together_tokenise_a_text_once_and_run_the_model_on_it_once(bert, monkeypatch):
    tokenised, runs = [], []
    call = type(bert.tokenizer).__call__
    monkeypatch.setattr(
        type(bert.tokenizer), "__call__", lambda self, *a, **k: tokenised.append(a) or call(self, *a, **k)
    )
    hook = bert.model.register_forward_hook(
        lambda module, args, options, output: runs.append(options["input_ids"]), with_kwargs=True
    )
    attention_blocks(bert)  # finding the blocks takes a run of its own, once for an encoder
    masked_lm_head(bert)
    tokenised.clear(), runs.clear()
    try:
        reading = read(bert, TEXT, PAIR)
        found = lenses(reading)
        again = [value_zeroing(reading, by_head=True), reading.attention().weights]
    finally:
        hook.remove()
    assert len(tokenised) == 1
    expected = torch.tensor([_ids(bert)])
    whole = [ids for ids in runs if torch.equal(ids, expected)]
    assert len(whole) == 1 and len(runs) > 1  # the others have [MASK] in them
    assert (again[0] == found["value_zeroing"]).all() and (again[1] == found["weight"]).all()
    alone = {name: lenses(read(bert, TEXT, PAIR), only=[name])[name] for name in LENSES}
    for name, values in found.items():
        assert values == pytest.approx(alone[name], abs=1e-12), name
