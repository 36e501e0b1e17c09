"""One head by hand: each step by a closed form and a slow loop, the whole against the model."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
from tiny import HEAD_SIZE, HEADS, WIDTH, save_tiny_model

from bertlook_course.analyses.anatomy import (
    attention_scores,
    embedding_parts,
    head_matrices,
    layer_norm,
    softmax,
    weighted_values,
)
from bertlook_teach import extract_attention, load_encoder

TEXT = "the unreal cat chased a dog."


@pytest.fixture
def rng():
    return np.random.default_rng(3)


# --- scores ---------------------------------------------------------------------------------------------


def test_a_score_is_the_dot_product_of_its_query_and_key(rng):
    queries, keys = rng.normal(size=(2, 3, 5)), rng.normal(size=(2, 4, 5))  # three queries, four keys
    scores = attention_scores(queries, keys)
    assert scores.shape == (2, 3, 4)
    for batch, i, j in np.ndindex(2, 3, 4):
        assert scores[batch, i, j] == pytest.approx(sum(queries[batch, i] * keys[batch, j]))


def test_rows_of_scores_belong_to_queries():
    queries, keys = np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 0.0]])
    assert attention_scores(queries, keys).tolist() == [[0, 1], [0, 0]]  # token 0 looks at token 1, not back


# --- softmax --------------------------------------------------------------------------------------------


def test_softmax_makes_each_row_sum_to_one_and_agrees_with_scipy(rng):
    scores = 10 * rng.normal(size=(2, 3, 4))
    weights = softmax(scores)
    assert weights.sum(axis=-1) == pytest.approx(np.ones((2, 3)))
    assert weights == pytest.approx(scipy.special.softmax(scores, axis=-1))


def test_softmax_turns_differences_into_ratios():
    assert softmax([0.0, np.log(4)]).tolist() == pytest.approx([0.2, 0.8])
    assert softmax([[7.0, 7.0, 7.0]]).tolist() == [pytest.approx([1 / 3] * 3)]


def test_softmax_goes_over_keys_and_not_over_queries():
    weights = softmax([[0.0, 100.0], [0.0, 100.0]])
    assert weights.sum(axis=0).tolist() == pytest.approx([0, 2])


def test_softmax_survives_large_scores_and_a_single_key():
    assert softmax([1e4, 0.0]).tolist() == [1, 0]
    assert softmax([[-1e9], [3.0]]).tolist() == [[1], [1]]


def test_softmax_leaves_its_input_alone():
    scores = np.array([[1.0, 2.0]])
    softmax(scores)
    assert scores.tolist() == [[1, 2]]


# --- weighted values ------------------------------------------------------------------------------------


def test_weighted_values_average_by_row(rng):
    weights, values = softmax(rng.normal(size=(2, 3, 4))), rng.normal(size=(2, 4, 5))
    mixed = weighted_values(weights, values)
    assert mixed.shape == (2, 3, 5)
    for batch, i in np.ndindex(2, 3):
        expected = sum(weights[batch, i, j] * values[batch, j] for j in range(4))
        assert mixed[batch, i] == pytest.approx(expected)


def test_a_token_takes_home_what_it_looks_at():
    weights = np.array(
        [[0.0, 1.0], [0.0, 1.0]]
    )  # both look at token 1, so nobody takes home the value of token 0
    assert weighted_values(weights, np.array([[5.0], [7.0]])).tolist() == [[7], [7]]


# --- layer normalisation --------------------------------------------------------------------------------


def test_layer_norm_gives_mean_zero_and_variance_one_then_gain_and_bias(rng):
    vectors = rng.normal(size=(3, 7)) * 5 + 2
    plain = layer_norm(vectors, np.ones(7), np.zeros(7))
    assert plain.mean(axis=1) == pytest.approx(np.zeros(3))
    assert plain.var(axis=1) == pytest.approx(np.ones(3))
    assert layer_norm(vectors, np.full(7, 3.0), np.full(7, 0.5)) == pytest.approx(3 * plain + 0.5)


def test_layer_norm_of_a_constant_vector_is_the_bias():
    assert layer_norm(np.full(4, 9.0), np.ones(4), np.arange(4.0)).tolist() == [0, 1, 2, 3]


# --- numbers out of a model -----------------------------------------------------------------------------


def walked(encoder, layer, head, stream):
    """Weights and values of one head, by the steps of the lesson."""
    one = head_matrices(encoder, layer, head)
    queries, keys = stream @ one.query + one.query_bias, stream @ one.key + one.key_bias
    values = stream @ one.value + one.value_bias
    return softmax(attention_scores(queries, keys) / np.sqrt(queries.shape[1])), values, one


@pytest.mark.parametrize("family", ["bert", "roberta", "electra"])
def test_the_walk_gives_the_attention_of_the_model(tmp_path, family):
    changes = {"embedding_size": WIDTH} if family == "electra" else {}
    encoder = load_encoder(save_tiny_model(tmp_path, family, **changes), device="cpu")
    attention = extract_attention(encoder, TEXT, vectors=True)
    parts = embedding_parts(encoder, TEXT)
    assert parts.tokens == attention.tokens
    for head in range(HEADS):
        weights, values, _ = walked(encoder, 0, head, parts.stream)
        assert weights == pytest.approx(attention.weights[0, head], abs=1e-5)
        assert values == pytest.approx(attention.values[0, head], abs=1e-4)


def test_the_walk_gives_the_attention_of_the_specimen(specimen):
    text = ("The cat saw a bird.", "It flew away.")
    attention, stream = extract_attention(specimen, *text), embedding_parts(specimen, *text).stream
    for head in range(specimen.n_heads):
        assert walked(specimen, 0, head, stream)[0] == pytest.approx(attention.weights[0, head], abs=1e-5)


def test_joined_heads_are_what_the_layer_hands_on(specimen):
    """Through all layers: what our heads add up to is the output of the model's own attention block.

    On the specimen, whose biases are trained; in a fresh model they are zero, and one that is forgotten would not show.
    """
    inputs, outputs = [], []
    hooks = []
    for block in specimen.model.encoder.layer:
        hooks.append(block.register_forward_pre_hook(lambda _m, a: inputs.append(a[0][0].numpy())))
        hooks.append(
            block.attention.output.register_forward_hook(lambda _m, _a, o: outputs.append(o[0].numpy()))
        )
    extract_attention(specimen, "The cat saw a bird.")
    for hook in hooks:
        hook.remove()
    assert len(inputs) == len(outputs) == specimen.n_layers
    for layer, (stream, expected) in enumerate(zip(inputs, outputs)):
        updates = []
        for head in range(specimen.n_heads):
            weights, values, one = walked(specimen, layer, head, stream)
            updates.append(weighted_values(weights, values) @ one.output)
        end = specimen.model.encoder.layer[layer].attention.output
        bias, gain, shift = (
            part.detach().numpy() for part in (end.dense.bias, end.LayerNorm.weight, end.LayerNorm.bias)
        )
        joined = layer_norm(stream + sum(updates) + bias, gain, shift)
        assert joined == pytest.approx(expected, abs=1e-4)


def test_matrices_have_the_shape_of_one_head(tiny):
    one = head_matrices(tiny, 2, 1)
    assert one.query.shape == one.key.shape == one.value.shape == (WIDTH, HEAD_SIZE)
    assert one.query_bias.shape == one.key_bias.shape == one.value_bias.shape == (HEAD_SIZE,)
    assert one.output.shape == (HEAD_SIZE, WIDTH)
    assert repr(one) == "HeadMatrices(head 3-2, from width 10 to 5 and back)"


def test_the_parts_of_the_embeddings_are_those_of_the_model(tiny):
    parts = embedding_parts(tiny, "the cat", "a dog")
    block = tiny.model.embeddings
    ids = tiny.tokenizer("the cat", "a dog")["input_ids"]
    assert parts.token == pytest.approx(block.word_embeddings.weight.detach().numpy()[ids])
    assert parts.position == pytest.approx(block.position_embeddings.weight.detach().numpy()[: len(ids)])
    segments = block.token_type_embeddings.weight.detach().numpy()
    assert parts.segment == pytest.approx(segments[[0, 0, 0, 0, 1, 1, 1]])
    assert layer_norm(parts.total, parts.gain, parts.bias) == pytest.approx(parts.stream, abs=1e-5)
    assert repr(parts) == "EmbeddingParts(7 tokens, width 10: [CLS] the cat [SEP] a dog [SEP])"


def test_exchanging_two_words_exchanges_their_token_parts_only(tiny):
    one, other = embedding_parts(tiny, "the cat sat"), embedding_parts(tiny, "the sat cat")
    assert one.token[[0, 1, 3, 2, 4]] == pytest.approx(other.token)
    assert one.position == pytest.approx(other.position)
    assert not np.allclose(one.token, other.token)


def test_no_hook_stays_behind(tiny):
    def hooks():  # the library keeps some of its own
        return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in tiny.model.modules())

    before = hooks()
    embedding_parts(tiny, "the cat")
    with pytest.raises(ValueError):
        embedding_parts(tiny, "")
    assert hooks() == before


@pytest.mark.parametrize("family", ["distilbert", "albert"])
def test_other_models_are_refused_with_what_to_use(tmp_path, family):
    encoder = load_encoder(save_tiny_model(tmp_path, family), device="cpu")
    with pytest.raises(ValueError, match=f"{family}.*BERT, RoBERTa and ELECTRA can"):
        head_matrices(encoder, 0, 0)
    with pytest.raises(ValueError, match="BERT, RoBERTa and ELECTRA can"):
        embedding_parts(encoder, "the cat")


def test_an_input_that_is_projected_after_its_norm_is_refused_and_its_heads_are_not(tmp_path):
    encoder = load_encoder(save_tiny_model(tmp_path, "electra"), device="cpu")
    with pytest.raises(ValueError, match="electra.* has no unprojected embedding.*embeddings are as wide"):
        embedding_parts(encoder, "the cat")
    assert head_matrices(encoder, 0, 0).query.shape[1] == encoder.head_size
