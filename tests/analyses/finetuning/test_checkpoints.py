"""Two checkpoints of one shape: cosines and divergences by hand, heads that changed places, what cannot be compared."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import tiny
import torch

from bertlook_course.analyses.finetuning import compare_checkpoints, match_heads
from bertlook_teach.measures import js_between, js_distances, surface_measures
from bertlook_teach.model import attention_blocks, extract_attention, load_encoder

TEXTS = [
    "The cat sat on the mat.",
    "A dog chased it.",
    "It was tired, the dog.",
    "The cat was unreally tired!",
]


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    return load_encoder(tiny.save_tiny_model(tmp_path_factory.mktemp("before")), device="cpu")


def changed(encoder, change, name="after"):
    """A copy whose blocks went through ``change(layer, block)``."""
    after = replace(encoder, name=name, model=copy.deepcopy(encoder.model), folder=None)
    with torch.no_grad():
        for layer, block in enumerate(attention_blocks(after)):
            change(layer, block.module)
    return after


def noise(scale):
    """More noise the higher the layer."""
    generator = torch.Generator().manual_seed(1)

    def change(layer, block):
        for name, weights in block.named_parameters():
            if "query.weight" in name:
                weights += scale * layer * torch.randn(weights.shape, generator=generator)

    return change


def swap_heads(layer, block):
    """In the last layer heads 1 and 2 change places: rows of queries, keys and values, columns of the output."""
    if layer < tiny.LAYERS - 1:
        return
    order = torch.arange(tiny.WIDTH).reshape(tiny.HEADS, tiny.HEAD_SIZE).flip(0).flatten()
    for name, parameter in block.named_parameters():
        if any(part in name for part in ("query", "key", "value")):
            parameter.copy_(parameter[order])
        elif "attention.output.dense.weight" in name:
            parameter.copy_(parameter[:, order])


@pytest.fixture(scope="module")
def after(before):
    return changed(before, noise(0.5))


@pytest.fixture(scope="module")
def compared(before, after):
    return compare_checkpoints(before, after, TEXTS)


# --- divergence between two models ---------------------------------------------------------------------------


def test_divergences_are_those_within_one_model_that_holds_both(before, after):
    one, other = (extract_attention(e, TEXTS[0]).weights for e in (before, after))
    together = js_distances(np.concatenate([one, other]).astype(float))
    n = one.shape[0] * one.shape[1]
    assert js_between(one, other) == pytest.approx(together[:n, n:], abs=1e-9)
    same = js_between(one, other, all_pairs=False)
    assert same.shape == one.shape[:2]
    assert same == pytest.approx(np.diagonal(js_between(one, other)).reshape(same.shape))
    assert js_between(one, one, all_pairs=False) == pytest.approx(0, abs=1e-12)


def test_rows_are_queries():
    """One row of four is another: a quarter of ln 2 a token. Turned round the columns differ, which is less."""
    one = np.tile([1.0, 0, 0, 0], (4, 1))[None, None]
    other = one.copy()
    other[0, 0, 2] = [0, 1, 0, 0]
    assert js_between(one, other, smoothing=0)[0, 0] == pytest.approx(np.log(2) / 4)
    with pytest.raises(ValueError, match="rows must sum to 1"):
        js_between(np.swapaxes(one, -1, -2), other)


def test_maps_of_different_inputs_or_shapes_are_refused():
    with pytest.raises(ValueError, match="same tokens"):
        js_between(np.full((1, 1, 2, 2), 0.5), np.full((1, 1, 4, 4), 0.25))
    with pytest.raises(ValueError, match="one shape"):
        js_between(np.full((1, 2, 2, 2), 0.5), np.full((2, 1, 2, 2), 0.5), all_pairs=False)
    with pytest.raises(ValueError, match="share"):
        js_between(np.full((1, 1, 2, 2), 0.5), np.full((1, 1, 2, 2), 0.5), smoothing=1)


# --- cosine ----------------------------------------------------------------------------------------------------


def test_cosine_and_floor_by_hand(before, after, compared):
    maps = [extract_attention(e, TEXTS[1]).weights.astype(float) for e in (before, after)]

    def cosine(a, b):
        return (a * b).sum() / np.sqrt((a**2).sum() * (b**2).sum())

    for layer, head in np.ndindex(tiny.LAYERS, tiny.HEADS):
        assert compared.cosine[1, layer, head] == pytest.approx(
            cosine(maps[0][layer, head], maps[1][layer, head])
        )
        other = maps[0][layer, 1 - head]  # two heads a layer: the floor is the one other
        assert compared.floor[1, layer, head] == pytest.approx(cosine(other, maps[1][layer, head]))


def test_padding_has_no_part_in_it(before, after, compared):
    alone = compare_checkpoints(before, after, TEXTS[1:2], batch_size=1)
    assert compared.cosine[1] == pytest.approx(alone.cosine[0], abs=1e-5)
    assert compared.js[1] == pytest.approx(alone.js[0], abs=1e-5)


def test_a_model_and_itself_are_the_same(before):
    same = compare_checkpoints(before, before, TEXTS)
    assert same.cosine == pytest.approx(1) and same.js == pytest.approx(0, abs=1e-9)
    assert same.matching().kept == 6 and same.matching().moved == []
    assert all(row["sep_change"] == row["sep_change_low"] == 0 for row in same.layers())


def test_layers_that_changed_more_show_more(compared):
    by_layer = compared.js.mean(axis=(0, 2))
    assert by_layer[0] == pytest.approx(0, abs=1e-9) and by_layer[0] < by_layer[1]
    difference, low, high = compared.late_minus_early()
    assert difference == pytest.approx(by_layer[2] - by_layer[0]) and 0 < low <= difference <= high


def test_what_cannot_be_below_0_is_not_and_a_difference_may_be(compared):
    values = np.full(compared.n_texts, 0.01)
    values[0] = 0.9  # few texts, of which one says most
    assert compared.interval(values)[0] < 0 == compared.interval(values, (0, 1))[0]


def test_curves_are_those_of_the_surface_measures(before, after, compared):
    measure = surface_measures()["sep"]
    means = [
        np.mean([measure(extract_attention(e, t)) for t in TEXTS], axis=0).mean(axis=1)
        for e in (before, after)
    ]
    rows = compared.layers()
    assert [row["sep_before"] for row in rows] == pytest.approx(means[0], abs=1e-6)
    assert [row["sep_after"] for row in rows] == pytest.approx(means[1], abs=1e-6)
    assert [row["sep_change"] for row in rows] == pytest.approx(means[1] - means[0], abs=1e-6)
    assert all(row["sep_change_low"] <= row["sep_change"] <= row["sep_change_high"] for row in rows)


def test_rows_of_heads_have_names_and_intervals(compared):
    rows = compared.heads()
    assert [row["head"] for row in rows] == ["1-1", "1-2", "2-1", "2-2", "3-1", "3-2"]
    assert all(row["cosine_low"] <= row["cosine"] <= row["cosine_high"] and row["n"] == 4 for row in rows)
    assert rows[5]["js"] == pytest.approx(compared.js[:, 2, 1].mean())
    assert "1 text" not in repr(compared) and "4 texts" in repr(compared)


# --- matching --------------------------------------------------------------------------------------------------


def test_assignment_is_the_best_of_all_orders():
    from itertools import permutations

    costs = np.random.default_rng(2).random((5, 5))
    best = min(permutations(range(5)), key=lambda order: costs[np.arange(5), order].sum())
    assert match_heads(costs).tolist() == list(best)
    assert match_heads(costs.T)[match_heads(costs)].tolist() == list(
        range(5)
    )  # turned round it is the inverse
    with pytest.raises(ValueError, match="square"):
        match_heads(costs[:4])


def test_heads_that_changed_places_are_found(before):
    swapped = changed(before, swap_heads)
    found = compare_checkpoints(before, swapped, TEXTS)
    assert found.matching().moved == [("3-1", "3-2"), ("3-2", "3-1")]
    assert found.matching().kept == 4 and found.matching().same_layer == 6
    assert found.cross.mean(axis=0)[[4, 5], [5, 4]] == pytest.approx(0, abs=1e-6)
    assert [row["partner"] for row in found.heads()][-2:] == ["3-2", "3-1"]


def test_without_all_pairs_there_is_no_matching(before, after, compared):
    quick = compare_checkpoints(before, after, TEXTS, matching=False, measures=())
    assert quick.js == pytest.approx(compared.js) and "partner" not in quick.heads()[0]
    with pytest.raises(ValueError, match="matching=True"):
        quick.matching()


# --- what cannot be compared -------------------------------------------------------------------------------------


def test_other_shapes_and_vocabularies_are_refused(before, tmp_path):
    wider = load_encoder(
        tiny.save_tiny_model(tmp_path / "wide", hidden_size=20, num_attention_heads=4), device="cpu"
    )
    with pytest.raises(ValueError, match="one shape.*3 layers of 2 heads.*3 layers of 4 heads"):
        compare_checkpoints(before, wider, TEXTS)
    tokenizer = copy.deepcopy(before.tokenizer)
    tokenizer.add_tokens(["zebra"])
    with pytest.raises(ValueError, match="different vocabularies.*'zebra'"):
        compare_checkpoints(before, replace(before, tokenizer=tokenizer), TEXTS)


def test_pruned_models_are_refused(before):
    from bertlook_course.analyses.ablation import prune

    with pytest.raises(ValueError, match="has lost 1 heads"):
        compare_checkpoints(before, prune(before, [(0, 1)]), TEXTS)


def test_texts_that_tell_nothing_are_refused(before, after):
    with pytest.raises(ValueError, match=r"text 1 \('cat'\) has one word"):
        compare_checkpoints(before, after, ["The cat.", "cat"])
    with pytest.raises(ValueError, match="at least one text; got none"):
        compare_checkpoints(before, after, [])
    with pytest.raises(TypeError, match="not one text"):
        compare_checkpoints(before, after, "The cat.")
    with pytest.raises(ValueError, match="unknown measure 'colour'"):
        compare_checkpoints(before, after, TEXTS, measures=("colour",))
    with pytest.raises(ValueError, match="at least two"):
        compare_checkpoints(before, after, TEXTS[:1]).heads()


def test_one_vocabulary_read_in_two_ways_is_refused(before):
    from tokenizers import normalizers

    tokenizer = copy.deepcopy(before.tokenizer)
    tokenizer.backend_tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    with pytest.raises(ValueError, match="text 0 is read as .* the cat.* and as"):
        compare_checkpoints(before, replace(before, tokenizer=tokenizer), TEXTS)


def test_checkpoints_can_be_named_by_their_folders(before, tmp_path):
    tiny.save_tiny_model(tmp_path / "other", seed=8)
    found = compare_checkpoints(before, str(tmp_path / "other"), TEXTS)
    assert found.after.endswith("other") and found.cosine.mean() < 0.99
