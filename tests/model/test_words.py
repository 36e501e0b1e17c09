import numpy as np
import pytest
from made import random_maps

from bertlook_teach.model import merge_weights, word_groups

GROUPS = [[0], [1, 2, 3], [4], [5, 6]]  # a word of three pieces, one of two


def merged_by_loops(weights, groups, query):
    """The rule spelled out, one cell at a time."""
    out = np.zeros((*weights.shape[:-2], len(groups), len(groups)))
    for row, lookers in enumerate(groups):
        for column, looked_at in enumerate(groups):
            received = weights[..., looked_at].sum(-1)  # add up over the pieces looked at
            of_each_piece = received[..., lookers]
            if query == "mean":
                out[..., row, column] = of_each_piece.mean(-1)
            elif query == "first":
                out[..., row, column] = of_each_piece[..., 0]
            else:
                out[..., row, column] = of_each_piece.max(-1)
        if query == "max":
            out[..., row, :] /= out[..., row, :].sum(-1, keepdims=True)  # as the released code does
    return out


@pytest.mark.parametrize("query", ["mean", "first", "max"])
def test_merging_equals_the_rule_spelled_out_by_loops(query):
    weights = random_maps(3, 2, 7, 7)
    assert merge_weights(weights, GROUPS, query) == pytest.approx(
        merged_by_loops(weights, GROUPS, query), abs=1e-12
    )


@pytest.mark.parametrize("query", ["mean", "first", "max"])
def test_rows_between_words_still_sum_to_one(query):
    assert merge_weights(random_maps(3, 2, 7, 7), GROUPS, query).sum(-1) == pytest.approx(np.ones((3, 2, 4)))


def test_what_a_split_word_receives_is_added_up_and_what_it_gives_is_averaged():
    pieces = np.array([[0.5, 0.5, 0.0], [0.2, 0.0, 0.8], [0.25, 0.75, 0.0]])  # pieces 0 and 1 are one word
    assert merge_weights(pieces, [[0, 1], [2]]) == pytest.approx(np.array([[0.6, 0.4], [1.0, 0.0]]))


def test_swapping_query_and_key_gives_another_result():
    weights = random_maps(7, 7)
    swapped = merge_weights(weights.T, GROUPS).T
    assert not np.allclose(merge_weights(weights, GROUPS), swapped)


def test_words_of_one_piece_change_nothing():
    weights = random_maps(2, 5, 5)
    assert merge_weights(weights, [[i] for i in range(5)]) == pytest.approx(weights)


def test_the_array_given_is_not_changed():
    weights = random_maps(4, 4)
    before = weights.copy()
    merge_weights(weights, [[0, 1], [2, 3]])
    assert (weights == before).all()


def test_a_torch_tensor_gives_the_same_numbers_as_an_array():
    torch = pytest.importorskip("torch")
    weights = random_maps(3, 2, 7, 7)
    for query in ("mean", "first", "max"):
        merged = merge_weights(torch.from_numpy(weights), GROUPS, query)
        assert isinstance(merged, torch.Tensor)
        assert merged.numpy() == pytest.approx(merge_weights(weights, GROUPS, query))


def test_groups_follow_the_word_ids_and_special_tokens_stand_alone():
    assert word_groups([None, 0, 0, 0, 1, None, None, 2, None]) == [[0], [1, 2, 3], [4], [5], [6], [7], [8]]
    assert word_groups([]) == []
