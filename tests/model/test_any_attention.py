"""Attention of any model: what other libraries hand over, and what is refused with a reason."""

from types import SimpleNamespace

import made
import numpy as np
import pytest

from bertlook_teach import (
    Attention,
    HeadExplorer,
    HeadView,
    extract_attention,
    load_encoder,
    load_recording,
    profile_heads,
)
from bertlook_teach.measures import (
    attention_entropy,
    attention_rollout,
    attention_share,
    behaviour_labels,
    cls_entropy,
    js_distances,
    offset_attention,
    special_token_attention,
    uniform_baseline,
)

TOKENS = ["[CLS]", "un", "##real", "cat", "[SEP]"]


def maps(*shape, seed=0):
    return made.random_maps(*shape, seed=seed).astype(np.float32)


def causal(layers=2, heads=3, n=4):
    weights = np.tril(maps(layers, heads, n, n))
    return weights / weights.sum(-1, keepdims=True)


class Tensor(SimpleNamespace):
    """What a torch tensor on another device asks for."""

    def __init__(self, array):
        super().__init__(array=array, shape=array.shape)

    def detach(self):
        return self

    cpu = float = detach

    def numpy(self):
        return self.array


ALL = maps(2, 3, 5, 5)


@pytest.mark.parametrize(
    "weights",
    [
        tuple(Tensor(layer[None]) for layer in ALL),
        {f"blocks.{i}.attn.hook_pattern": ALL[i] for i in (1, 0)} | {"blocks.0.hook_mlp": 0},
        {"logits": None, "attentions": tuple(layer[None] for layer in ALL)},
        ALL,
        ALL[:, None],
        ALL[None],
        ALL.tolist(),
    ],
    ids=["transformers", "TransformerLens", "outputs", "array", "batch axis", "batch axis first", "lists"],
)
def test_what_other_libraries_hand_over_is_the_same_attention(weights):
    attention = Attention.from_arrays(weights, TOKENS)
    assert attention.weights.dtype == np.float32 and np.array_equal(attention.weights, ALL)
    assert attention.special == (True, False, False, False, True) and not attention.causal
    assert attention.words == ("unreal", "cat") and attention.to_words().tokens[1] == "unreal"


@pytest.mark.parametrize("weights", [ALL[1, 2], ALL[1], ALL[1].tolist()])
def test_one_map_and_one_layer_are_enough(weights):
    attention = Attention.from_arrays(weights, TOKENS)
    assert attention.weights.shape == (1, *((1, 5, 5) if np.ndim(weights) == 2 else (3, 5, 5)))
    assert Attention.from_arrays(attention) is attention


def test_a_second_sentence_begins_where_bertviz_says():
    assert Attention.from_arrays(ALL, TOKENS, sentence_b_start=3).segment_ids == (0, 0, 0, 1, 1)


def test_it_is_saved_and_loaded_whole(tmp_path):
    attention = Attention.from_arrays(maps(1, 2, 2, 3), ["a", "b"], ["x", "y", "</s>"])
    attention.save(tmp_path / "a.npz")
    loaded = Attention.load(tmp_path / "a.npz")
    assert loaded.key_tokens == ("x", "y", "</s>") and loaded.key_special == (False, False, True)


@pytest.mark.parametrize(
    ("weights", "tokens", "said"),
    [
        (None, TOKENS, "fused attention"),
        ((), TOKENS, "no layer.*eager"),
        ((None, None), TOKENS, "layer 0 of 2 is None.*eager"),
        ((maps(2, 3, 5, 5),), TOKENS, "of 2 texts at once.*layer\\[:1\\]"),
        (maps(2, 2, 3, 5, 5), TOKENS, "of 2 texts at once"),
        ({"0": ALL[0], "1": ALL[1]}, TOKENS, "holds 0, 1.*give the layers in a list"),
        ([Attention.from_arrays(ALL, TOKENS)] * 2, TOKENS, "2 attentions were given"),
        (
            {f"blocks.{i}.attn.hook_pattern": ALL[i % 2] for i in (0, 3)},
            TOKENS,
            r"holds blocks\.0\.\S+, blocks\.3\.attn.hook_pattern, and blocks\.0\.\S+ and so on were expected.*cache\['blocks.0",
        ),
        (
            {f"encoder.{i}.attn.hook_pattern": ALL[i] for i in (0, 1)},
            TOKENS,
            r"holds encoder\.0.*Give one, cache\['encoder\.0",
        ),
        (((ALL[0],),), TOKENS, "generate"),
        ((maps(1, 3, 5, 5), maps(1, 3, 4, 4)), TOKENS, "different shapes"),
        (ALL, TOKENS[:4], "5 queries and there are 4 tokens"),
        (maps(2, 3, 5, 6), TOKENS, "key_tokens"),
        (ALL * 20 - 10, TOKENS, "before the softmax"),
        (ALL * 1.1, TOKENS, "model.eval"),
        (np.where(np.arange(5) == 3, np.nan, ALL), TOKENS, "finite; layer 0, head 0, query 0 .*nan"),
        (ALL * (np.arange(5) < 4)[:, None], TOKENS, "query 4 .*padding"),
        (ALL[0, 0, 0], TOKENS, "shape"),
        ([[0.5, 0.5], [1.0]], ["a", "b"], "rows of one length"),
        ({"cross_attentions": ALL}, TOKENS, "outputs.cross_attentions"),
        ({"last_hidden_state": ALL}, TOKENS, "output_attentions=True"),
        (ALL, None, "tokens is missing"),
        (ALL, "unreal", "sequence of strings"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_what_to_do(weights, tokens, said):
    with pytest.raises((ValueError, TypeError), match=said):
        Attention.from_arrays(weights, tokens)


def test_a_decoder_is_known_by_its_maps_and_compared_with_what_it_can_see():
    decoder = Attention.from_arrays(causal(), ["The", "Ġun", "real", "Ġcat"])
    assert decoder.causal and decoder.words == ("The", "unreal", "cat")
    assert offset_attention(decoder, 1) == pytest.approx(0)
    even = np.mean([np.log(i) for i in range(1, 5)])
    assert uniform_baseline(attention_entropy)(decoder) == pytest.approx(np.full((2, 3), even))
    with pytest.raises(ValueError, match="another number of keys"):
        attention_entropy(decoder, normalized=True)
    assert not Attention.from_arrays(causal(), list("abcd"), causal=False).causal


def test_cross_attention_is_measured_where_that_has_a_meaning():
    weights = maps(2, 3, 2, 4)
    cross = Attention.from_arrays(weights, ["a", "[CLS]"], ["x", "</s>", "y", "z"])
    assert attention_share(cross, np.array([True, False, False, False])) == pytest.approx(
        weights[..., 0].mean(-1)
    )
    assert special_token_attention(cross, "sep") == pytest.approx(weights[..., 1].mean(-1))  # of the keys
    assert special_token_attention(cross, "cls") == pytest.approx(0)
    assert attention_entropy(cross) == pytest.approx(-(weights * np.log(weights)).sum(-1).mean(-1), abs=1e-5)
    assert uniform_baseline(attention_entropy)(cross) == pytest.approx(np.log(4))
    for measure in (offset_attention, cls_entropy, lambda a: a.to_words()):
        with pytest.raises(ValueError, match="two texts|different texts"):
            measure(cross)


def test_patches_of_an_image_have_names_and_no_offsets():
    image = Attention.from_arrays(maps(1, 2, 7, 7), grid=(2, 3))
    assert image.tokens == ("[CLS]", "1,1", "1,2", "1,3", "2,1", "2,2", "2,3") and image.special[0]
    assert offset_attention(image, 0).shape == attention_entropy(image).shape == (1, 2)
    with pytest.raises(ValueError, match="rows and columns"):
        offset_attention(image, -1)
    with pytest.raises(ValueError, match="6 patches"):
        Attention.from_arrays(maps(1, 2, 9, 9), grid=(2, 3))


def test_an_attention_is_the_array_of_its_weights():
    given = Attention.from_arrays(ALL, TOKENS)
    assert np.asarray(given).shape == given.weights.shape and len(given) == len(given.weights)
    assert (
        (given[0, 1] == given["1-2"]).all()
        and (given[0, 1] == given.weights[0, 1]).all()
        and len(list(given)) == len(given)
    )


def test_an_attention_takes_no_other_segments():
    with pytest.raises(ValueError, match="has its tokens and segments already"):
        Attention.from_arrays(Attention.from_arrays(ALL, TOKENS), sentence_b_start=3)


@pytest.mark.parametrize("side", ["right", "left"])
def test_the_padding_of_a_batch_is_cut_off(side):
    n, pads = len(TOKENS), 3
    at = slice(0, n) if side == "right" else slice(pads, None)
    padded = np.zeros((*ALL.shape[:2], n + pads, n + pads), np.float32)
    padded[..., at, at] = ALL
    padded[..., 0 if side == "left" else n, :] = 1 / (
        n + pads
    )  # what a padding token looks at is of no interest
    names = [*TOKENS, *["[PAD]"] * pads] if side == "right" else [*["[PAD]"] * pads, *TOKENS]
    start = 3 if side == "right" else 3 + pads
    found = Attention.from_arrays(padded, names, sentence_b_start=start)
    plain = Attention.from_arrays(ALL, TOKENS, sentence_b_start=3)
    assert found.tokens == plain.tokens and (found.weights == plain.weights).all()
    assert (found.segment_ids, found.special, found.word_ids) == (
        plain.segment_ids,
        plain.special,
        plain.word_ids,
    )


def test_a_padding_token_that_is_looked_at_stays():
    assert Attention.from_arrays(ALL, [*TOKENS[:-1], "[PAD]"]).n_tokens == len(TOKENS)


def test_bfloat16_is_a_distribution_to_its_digits():
    torch = pytest.importorskip("torch")
    scores = 2 * torch.randn(6, 8, 64, 64, generator=torch.Generator().manual_seed(0))
    exact, coarse = scores.softmax(-1), scores.bfloat16().softmax(-1)
    assert (coarse.float().sum(-1) - 1).abs().max() > 2e-3  # what was refused
    found = Attention.from_arrays(coarse, ["a"] * 64)
    assert (
        np.abs(found.weights.sum(-1) - 1).max() < 1e-6 and np.abs(found.weights - exact.numpy()).max() < 0.02
    )
    with pytest.raises(ValueError, match="sums to"):
        Attention.from_arrays(coarse * 0.9, ["a"] * 64)


# --- what stands around a text, and what is a piece of it -------------------------------------------------------


def test_a_masked_or_unknown_word_is_a_piece_of_the_text():
    tokens = ["[CLS]", "the", "[MASK]", "sat", "[UNK]", "[SEP]"]
    seen = Attention.from_arrays(np.full((1, 1, 6, 6), 1 / 6), tokens)
    assert seen.special == (True, False, False, False, False, True)
    assert seen.words == ("the", "[MASK]", "sat", "[UNK]")


def test_the_ends_of_a_text_are_special_by_any_of_their_names():
    seen = Attention.from_arrays(np.full((2, 2, 4, 4), 0.25), ["<BOS>", "a", "cat", "<EOS>"])
    assert seen.special == (True, False, False, True)
    assert special_token_attention(seen, "sep") == pytest.approx(np.full((2, 2), 0.25))


@pytest.mark.parametrize("end", ["Ċ", "ĉ", "<0x0A>", "\n", "ĊĊ"])
def test_words_do_not_reach_over_the_end_of_a_line(end):
    seen = Attention.from_arrays(np.full((1, 1, 3, 3), 1 / 3), ["Ġcats", end, "dogs"])
    assert seen.words == ("cats", "dogs") and seen.word_ids == (0, 0, 1)


@pytest.mark.parametrize("left", [True, False])
def test_a_text_padded_with_the_token_that_ends_it_loses_its_padding(left):
    text, pads = np.tril(np.ones((3, 3))), np.eye(2)
    whole = np.zeros((5, 5))
    (at, of) = (slice(2, 5), slice(0, 2)) if left else (slice(0, 3), slice(3, 5))
    whole[at, at], whole[of, of] = text / text.sum(axis=1, keepdims=True), pads
    tokens = ["<|endoftext|>"] * 5
    tokens[at] = ["The", "Ġcat", "Ġsat"]
    seen = Attention.from_arrays(whole[None, None], tokens)
    assert seen.tokens == ("The", "Ġcat", "Ġsat") and seen.causal
    assert uniform_baseline(attention_entropy)(seen)[0, 0] == pytest.approx(
        np.log([1, 2, 3]).mean(), abs=1e-6
    )


def test_a_token_that_only_looks_like_padding_stays():
    seen = Attention.from_arrays(np.eye(3)[None, None], ["<s>", "cat", "</s>"])
    assert seen.tokens == ("<s>", "cat", "</s>")


# --- measures of what a model hands over ------------------------------------------------------------------------


@pytest.mark.parametrize("measure", [attention_entropy, js_distances, attention_rollout])
@pytest.mark.parametrize("kind", ["tuple", "bfloat16", "nested lists"])
def test_measures_take_what_a_model_hands_over(measure, kind):
    torch = pytest.importorskip("torch")
    maps = np.random.default_rng(0).dirichlet(np.ones(6), size=(2, 3, 6)).astype(np.float32)
    expected = np.asarray(measure(maps))
    given = {
        "tuple": lambda: tuple(torch.tensor(layer[None]) for layer in maps),
        "bfloat16": lambda: torch.tensor(maps).bfloat16(),
        "nested lists": maps.tolist,
    }[kind]()
    assert np.asarray(measure(given)) == pytest.approx(expected, abs=2e-2 if kind == "bfloat16" else 1e-6)


def test_distances_of_half_precision_are_summed_in_single():
    torch = pytest.importorskip("torch")
    near = np.random.default_rng(1).dirichlet(np.ones(384), size=(1, 384))
    maps = np.concatenate([near, 0.9 * near + 0.1 / 384]).astype(np.float16)
    theirs = js_distances(torch.tensor(maps))
    assert float(theirs[0, 1]) == pytest.approx(js_distances(maps.astype(np.float64))[0, 1], rel=0.02)


def test_whole_numbers_of_numpy_are_kept_in_a_file(tmp_path):
    weights = np.full((1, 1, 4, 4), 0.25)
    seen = Attention.from_arrays(weights, grid=(np.int64(2), np.int64(2)), sentence_b_start=np.int64(2))
    seen.save(tmp_path / "seen.npz")
    assert Attention.load(tmp_path / "seen.npz").grid == (2, 2)
    with pytest.raises(ValueError, match=r"sentence_b_start is a position from 0 to 4; got 1\.5"):
        Attention.from_arrays(weights, list("abcd"), sentence_b_start=1.5)


def test_a_space_marks_the_beginning_of_a_word_as_transformer_lens_writes_it():
    tokens = ["<|endoftext|>", "The", " light", "house", " keep", "er"]
    assert Attention.from_arrays(np.full((6, 6), 1 / 6), tokens).words == ("The", "lighthouse", "keeper")


@pytest.mark.parametrize("call", [extract_attention, HeadExplorer])
def test_a_text_before_the_model_is_told_so(call):
    with pytest.raises(TypeError, match="the model comes first and then the text; 'The cat sat.' is a text"):
        call("The cat sat.", load_encoder("specimen"))


def test_a_recording_is_no_attention_and_a_profile_is_labelled(specimen):
    with pytest.raises(TypeError, match="Recording is a model"):
        HeadView(load_recording("bert-base-uncased"))
    profile = profile_heads(specimen, ["The cat sat.", "It was tired."])
    assert behaviour_labels(profile).shape == (specimen.n_layers, specimen.n_heads)
