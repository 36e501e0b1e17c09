import json
import random
import unicodedata
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fuzzing import broken_bytes, broken_value
from tiny import FAMILIES, HEAD_SIZE, HEADS, LAYERS, MAX_TOKENS, save_tiny_model

from bertlook_teach import Attention, extract_attention, iter_attention, load_encoder
from bertlook_teach.model import NO_PIECE, SENTENCE, TOO_LONG, UNKNOWN, check_reading, read


@pytest.fixture(scope="module")
def tiny(encoders):
    return encoders["bert"]


# --- the weights are the model's own -----------------------------------------------------------------


def test_the_weights_are_what_the_model_itself_returns(tiny):
    attention = extract_attention(tiny, "the cat sat", "it was tired")
    ids = tiny.tokenizer("the cat sat", "it was tired", return_tensors="pt")["input_ids"]
    second = torch.tensor([[0, 0, 0, 0, 0, 1, 1, 1, 1]])  # after the first [SEP]
    with torch.no_grad():
        maps = tiny.model(ids, token_type_ids=second, output_attentions=True).attentions
    assert attention.weights.shape == (LAYERS, HEADS, 9, 9)
    assert attention.weights.dtype == np.float32
    for layer in range(LAYERS):
        assert attention.weights[layer] == pytest.approx(maps[layer][0].numpy(), abs=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_softmax_of_queries_times_keys_gives_the_weights(encoders, family):
    attention = extract_attention(encoders[family], "the cat chased it", vectors=True)
    assert attention.queries.shape == attention.keys.shape == (LAYERS, HEADS, attention.n_tokens, HEAD_SIZE)
    for layer in range(LAYERS):
        for head in range(HEADS):
            scores = attention.queries[layer, head] @ attention.keys[layer, head].T / np.sqrt(HEAD_SIZE)
            rows = torch.softmax(torch.from_numpy(scores), dim=-1).numpy()
            assert attention.weights[layer, head] == pytest.approx(rows, abs=1e-5)


def test_values_are_the_models_too(tiny):
    attention = extract_attention(tiny, "the cat", vectors=True)
    inputs = tiny.tokenizer("the cat", return_tensors="pt")
    with torch.no_grad():
        embedded = tiny.model.embeddings(inputs["input_ids"])
        expected = tiny.model.encoder.layer[0].attention.self.value(embedded)[0]
    for head in range(HEADS):
        columns = slice(head * HEAD_SIZE, (head + 1) * HEAD_SIZE)
        assert attention.values[0, head] == pytest.approx(expected[:, columns].numpy(), abs=1e-6)


def test_swapped_queries_and_keys_are_noticed(tiny, monkeypatch):
    from bertlook_teach.model import devices

    swapped = {"queries": ("key",), "keys": ("query",), "values": ("value",)}
    monkeypatch.setattr(devices, "_PROJECTIONS", swapped)
    with pytest.raises(ValueError, match=r"softmax\(QK\^T / sqrt\(d\)\) does not give the attention"):
        extract_attention(tiny, "the cat sat on a mat", vectors=True)


def test_hooks_are_gone_afterwards(tiny):
    extract_attention(tiny, "the cat")  # transformers adds hooks of its own the first time
    before = [len(module._forward_hooks) for module in tiny.model.modules()]
    extract_attention(tiny, "the cat", vectors=True)
    assert [len(module._forward_hooks) for module in tiny.model.modules()] == before
    assert extract_attention(tiny, "the cat").queries is None


# --- tokens, words, segments ---------------------------------------------------------------------------


def test_tokens_words_and_segments_of_a_pair(tiny):
    attention = extract_attention(tiny, "The cat sat.", "Unreal!")
    assert attention.tokens == ("[CLS]", "the", "cat", "sat", ".", "[SEP]", "un", "##real", "!", "[SEP]")
    assert attention.word_ids == (None, 0, 1, 2, 3, None, 4, 4, 5, None)
    assert attention.words == ("The", "cat", "sat", ".", "Unreal", "!")
    assert attention.segment_ids == (0, 0, 0, 0, 0, 0, 1, 1, 1, 1)
    assert attention.special == (True, False, False, False, False, True, False, False, False, True)


def test_roberta_gives_each_text_one_of_its_two_separators(encoders):
    attention = extract_attention(encoders["roberta"], "a b", "c")
    assert attention.tokens == ("<s>", "a", "Ġ", "b", "</s>", "</s>", "c", "</s>")
    assert attention.segment_ids == (0, 0, 0, 0, 0, 1, 1, 1)
    assert attention.words == ("a", "b", "c")


def test_segments_zeros_changes_what_the_model_is_told_and_nothing_else(tiny):
    standard = extract_attention(tiny, "the cat", "it sat")
    zeros = extract_attention(tiny, "the cat", "it sat", segments="zeros")
    inputs = tiny.tokenizer("the cat", "it sat", return_tensors="pt")
    with torch.no_grad():
        maps = tiny.model(inputs["input_ids"], output_attentions=True).attentions  # no segment ids: all zero
    assert zeros.weights[0] == pytest.approx(maps[0][0].numpy(), abs=1e-6)
    assert not np.allclose(standard.weights, zeros.weights)
    assert zeros.segment_ids == standard.segment_ids
    assert (zeros.segments, standard.segments) == ("zeros", "standard")


def test_one_text_is_the_same_under_both_rules(tiny):
    standard, zeros = (extract_attention(tiny, "the cat", segments=s) for s in ("standard", "zeros"))
    assert (standard.weights == zeros.weights).all()


def test_a_model_without_segments_says_so(encoders):
    assert extract_attention(encoders["distilbert"], "the cat", "it sat").segments == "none"


def test_a_split_text_keeps_the_indices_of_its_words(tiny):
    attention = extract_attention(tiny, words=["the", "cat's", "unreally", "mat"])
    assert attention.tokens == ("[CLS]", "the", "cat", "'", "s", "un", "##real", "##ly", "mat", "[SEP]")
    assert attention.word_ids == (None, 0, 1, 1, 1, 2, 2, 2, 3, None)
    assert attention.words == ("the", "cat's", "unreally", "mat")


def test_byte_level_words_get_the_space_that_belongs_to_them(encoders):
    attention = extract_attention(encoders["roberta"], words=["a", "b"])
    assert attention.tokens == ("<s>", "Ġ", "a", "Ġ", "b", "</s>")
    assert attention.to_words().tokens == ("<s>", "a", "b", "</s>")


def test_to_words_adds_up_keys_and_averages_queries(tiny):
    attention = extract_attention(tiny, "the unreally cat")
    words = attention.to_words()
    assert words.tokens == ("[CLS]", "the", "unreally", "cat", "[SEP]")
    assert words.level == "word" and words.word_ids == (None, 0, 1, 2, None)
    assert words.special == (True, False, False, False, True)
    assert words.weights.sum(-1) == pytest.approx(1, abs=1e-5)
    pieces = attention.weights[2, 1]
    assert words.weights[2, 1, 1, 2] == pytest.approx(pieces[1, 2:5].sum())
    assert words.weights[2, 1, 2, 3] == pytest.approx(pieces[2:5, 5].mean())
    assert words.to_words() is words


# --- batches ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_a_batch_gives_what_one_by_one_gives(encoders, family):
    encoder = encoders[family]
    corpus = ["the cat", ("a dog", "it was . it sat"), ["the", "cat's"], "a", "the dog chased a cat"]
    one_by_one = [next(iter_attention(encoder, [item], batch_size=1)) for item in corpus]
    for batch_size in (2, 5, 64):
        batched = list(iter_attention(encoder, corpus, batch_size=batch_size, vectors=True))
        assert [a.tokens for a in batched] == [a.tokens for a in one_by_one]
        for ours, alone in zip(batched, one_by_one):
            assert ours.weights == pytest.approx(alone.weights, abs=1e-5)


def test_five_hundred_and_twelve_tokens_and_no_more(tmp_path):
    folder = Path(save_tiny_model(tmp_path, num_hidden_layers=1, max_position_embeddings=512))
    settings = folder / "tokenizer_config.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"model_max_length": 512}))
    encoder = load_encoder(folder)
    text = "the cat sat " * 170
    attention = extract_attention(encoder, text)
    assert attention.n_tokens == 512 and attention.weights.sum(-1) == pytest.approx(1, abs=1e-5)
    inputs = encoder.tokenizer(text, return_tensors="pt")
    with torch.no_grad():
        theirs = encoder.model(**inputs, output_attentions=True).attentions[0][0].numpy()
    assert attention.weights[0] == pytest.approx(theirs, abs=1e-6)
    with pytest.raises(ValueError, match="513"):
        extract_attention(encoder, text + "a")


def test_padding_is_masked_and_cropped(tiny):
    short, _ = iter_attention(tiny, ["a", "the dog chased a cat"], batch_size=2)
    assert short.n_tokens == 3
    assert short.weights.sum(-1) == pytest.approx(1, abs=1e-6)  # nothing leaked to the padding


def test_a_corpus_may_be_endless(tiny):
    def endless():
        while True:
            yield "the cat"

    stream = iter_attention(tiny, endless(), batch_size=3)
    assert [next(stream).n_tokens for _ in range(7)] == [4] * 7


# --- bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
def test_no_text_is_refused(tiny, text):
    with pytest.raises(ValueError, match="the text is empty; the model needs at least one word"):
        extract_attention(tiny, text)


@pytest.mark.parametrize("pair, side", [(("", "the cat"), "first"), (("the cat", " "), "second")])
def test_a_pair_with_one_side_empty_names_the_side(tiny, pair, side):
    with pytest.raises(ValueError, match=f"the {side} text of the pair is empty"):
        extract_attention(tiny, *pair)


def test_a_text_that_is_too_long_says_how_long_and_offers_to_cut(tiny):
    text = "the " * 40
    with pytest.raises(
        ValueError,
        match="42 wordpieces long.* at most 32, special tokens included.*truncate=True of extract_attention",
    ):
        extract_attention(tiny, text)
    cut = extract_attention(tiny, text, truncate=True)
    assert (cut.n_tokens, cut.truncated, cut.tokens[-1]) == (MAX_TOKENS, True, "[SEP]")
    assert not extract_attention(tiny, "the cat", truncate=True).truncated


def test_the_longer_text_of_a_pair_is_cut_first(tiny):
    cut = extract_attention(tiny, "the " * 50, "the cat", truncate=True)
    assert cut.tokens[-3:] == ("the", "cat", "[SEP]") and cut.n_tokens == MAX_TOKENS


@pytest.mark.parametrize("text", ["🙂", "שלום עולם", "你好"])
def test_a_text_of_which_the_tokenizer_knows_nothing_is_refused(tiny, text):
    with pytest.raises(ValueError, match=r"knows nothing in .*every piece becomes \[UNK\]"):
        extract_attention(tiny, text)


def test_one_unknown_word_among_known_ones_is_fine(tiny):
    assert extract_attention(tiny, "the cat 🙂").tokens == ("[CLS]", "the", "cat", "[UNK]", "[SEP]")


def test_what_the_tokenizer_cleans_away_is_refused(tiny):
    with pytest.raises(ValueError, match="nothing is left of"):
        extract_attention(tiny, "\u200b\u200d")
    with pytest.raises(ValueError, match=r"word 1, '\\u200b', leaves no wordpiece"):
        extract_attention(tiny, words=["the", "\u200b", "cat"])
    with pytest.raises(ValueError, match=r"word 1, '\\u200b', leaves no wordpiece"):
        extract_attention(tiny, words=["the", "\u200b", *["cat"] * 1000], truncate=True)
    with pytest.raises(TypeError, match="words are a list of words; got the text 'cat'"):
        extract_attention(tiny, words="cat")


def test_markup_is_just_text(tiny):
    words = extract_attention(tiny, "the <b>cat</b>").words
    assert words == tuple("the < b > cat < / b >".split())


@pytest.mark.parametrize("item", ["a \ud83d cat", ("a cat", "a \ud83d"), ["a", "\ud83d"]])
def test_half_of_a_character_is_named_with_its_place(encoders, item):
    """No tokenizer takes it; JSON and texts that were cut can hold one."""
    with pytest.raises(ValueError, match=r"item 0 of the corpus: character \d of .* is half of a character"):
        list(iter_attention(encoders["bert"], [item]))


def test_a_word_with_half_of_a_character_is_an_obstacle_and_no_error(encoders):
    assert check_reading(encoders["bert"], ["a", "\ud83d"]).obstacle == "a word holds half of a character"


@pytest.mark.parametrize("name", ["specimen", Path("models") / "mine"])
def test_a_name_in_the_place_of_a_model_is_refused_with_what_to_do(name):
    for call in (extract_attention, read):
        with pytest.raises(TypeError, match=f"only a name: give load_encoder.*{name}"):
            call(name, "a cat sat.")
    with pytest.raises(TypeError, match="only a name"):
        next(iter_attention(name, ["a cat sat."]))


@pytest.mark.parametrize("bad", [None, 3, b"bytes"])
def test_what_is_no_text_is_a_type_error(tiny, bad):
    with pytest.raises((TypeError, ValueError), match="text"):
        extract_attention(tiny, bad)


def test_errors_in_a_corpus_name_the_item(tiny):
    with pytest.raises(ValueError, match="item 2 of the corpus: the text is empty"):
        list(iter_attention(tiny, ["the", "cat", ""], batch_size=2))
    with pytest.raises(TypeError, match="sequence of texts; got str. Of one text"):
        next(iter_attention(tiny, "the cat"))
    with pytest.raises(TypeError, match="of a file.*read_texts"):
        next(iter_attention(tiny, Path("texts.txt")))
    with pytest.raises(ValueError, match="batch_size must be at least 1; got 0"):
        next(iter_attention(tiny, ["the"], batch_size=0))


# --- the object ----------------------------------------------------------------------------------------------


def test_a_head_outside_the_model_is_refused_with_the_valid_range(tiny):
    attention = extract_attention(tiny, "the cat")
    assert (attention.head(2, 1) == attention.weights[2, 1]).all()
    with pytest.raises(
        IndexError, match=r"no head \[7, 9\]: layers go from 0 to 2, heads from 0 to 1.*'8-10' counts from 1"
    ):
        attention.head(7, 9)
    with pytest.raises(IndexError):
        attention.head(-1, 0)


def test_saved_and_loaded_is_the_same(tiny, tmp_path):
    attention = extract_attention(tiny, "the cat", "it sat", vectors=True)
    attention.save(tmp_path / "a.npz")
    again = Attention.load(tmp_path / "a.npz")
    for field in Attention.__dataclass_fields__:
        ours, theirs = getattr(attention, field), getattr(again, field)
        assert (ours == theirs).all() if isinstance(ours, np.ndarray) else ours == theirs, field


def test_the_repr_is_short_and_the_same_each_time(tiny):
    attention = extract_attention(tiny, "the cat sat")
    assert repr(attention) == "Attention(3 layers x 2 heads, 5 wordpieces: [CLS] the cat sat [SEP])"


def test_a_notebook_shows_its_size_and_its_tokens_as_text():
    tokens = ("<script>", ": x", *(f"t{i}" for i in range(98)))
    shown = Attention.from_arrays(np.eye(100)[None, None], tokens, model="mine")._repr_html_()
    assert (
        shown.startswith("<p>Attention, 1 layers x 1 heads, 100 wordpieces<br><code")
        and "t57 ...</code>" in shown
    )
    assert "&lt;script&gt; : x t0" in shown and "<script" not in shown and len(shown) < 1_500


def test_what_cannot_be_read_whole_is_told_before_it_is_tried(tiny):
    fine = check_reading(tiny, ["the", "cat"])
    assert fine == (4, "")
    assert check_reading(tiny, ["cat"] * tiny.max_tokens).obstacle == TOO_LONG
    assert check_reading(tiny, ["cat", "\u200b"]).obstacle == NO_PIECE
    assert check_reading(tiny, ["猫", "狗"]).obstacle == UNKNOWN
    for words in (["cat"] * tiny.max_tokens, ["猫", "狗"]):
        with pytest.raises(ValueError):
            extract_attention(tiny, words=words)


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_word_keeps_its_accents_however_they_are_written(specimen, form):
    text = unicodedata.normalize(form, "the été ends café")
    assert extract_attention(specimen, text).words == tuple(text.split())


def test_a_damaged_file_of_attention_is_one_error_that_says_what_is_wrong(tiny, tmp_path):
    """Every byte that was changed is noticed, or changes nothing: never another kind of error out of NumPy or zipfile."""
    path, kept = tmp_path / "a.npz", tmp_path / "kept.npz"
    extract_attention(tiny, "the cat", "it sat", vectors=True).save(kept)
    content, draw, refused = kept.read_bytes(), random.Random(0), 0
    for _ in range(300):
        path.write_bytes(broken_bytes(draw, content))
        try:
            assert Attention.load(path).weights.ndim == 4
        except ValueError as error:
            refused += 1
            assert str(path) in str(error) and not isinstance(error, UnicodeError | json.JSONDecodeError)
    assert refused > 200


def test_attention_that_says_what_cannot_be_is_refused(tiny, tmp_path):
    path = tmp_path / "a.npz"
    extract_attention(tiny, "the cat", "it sat", vectors=True).save(path)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    about, draw, refused = json.loads(str(arrays["about"])), random.Random(0), 0
    for _ in range(300):
        np.savez(path, **arrays | {"about": np.array(json.dumps(broken_value(draw, about)))})
        try:
            read = Attention.load(path)
        except ValueError as error:
            refused += 1
            assert str(path) in str(error)
        else:
            repr(read), read.to_words()
    assert refused > 150
    for odd in (
        {"weights": np.zeros(3)},
        {"weights": np.array("x")},
        {"keys": np.eye(2)},
        {"more": np.eye(2)},
    ):
        np.savez(path, **arrays | odd)
        with pytest.raises(ValueError, match="was not written by Attention.save, or is damaged: it"):
            Attention.load(path)
    np.savez(path, x=np.zeros(2))
    with pytest.raises(ValueError, match="was not written by Attention.save: it holds x"):
        Attention.load(path)
    with pytest.raises(FileNotFoundError):
        Attention.load(tmp_path / "nowhere.npz")


def test_sentences_are_not_taken_for_words(tiny):
    with pytest.raises(
        ValueError, match="'The cat sat.' is not a word. For several texts use iter_attention"
    ):
        extract_attention(tiny, ["The cat sat.", "A dog ran."])
    with pytest.raises(ValueError, match="item 1 of the corpus: a list is taken for the words"):
        list(iter_attention(tiny, [["cat", "1 000 000"], ["The cat sat."]]))
    with pytest.raises(ValueError, match="'the cat' is not a word"):
        extract_attention(tiny, ["the cat", "the dog"])
    assert check_reading(tiny, ["The cat sat."]).obstacle == SENTENCE
    assert (
        check_reading(tiny, ["cat", "the cat sat"]).obstacle == ""
    )  # a word of three parts, as in Vietnamese


@pytest.mark.parametrize(
    "table",
    [{"text": ["the cat"], "label": [1]}, SimpleNamespace(columns=["text", "label"])],
    ids=["dict", "frame"],
)
def test_the_names_of_columns_are_not_taken_for_texts(tiny, table):
    with pytest.raises(
        TypeError, match=r"with the columns 'text', 'label'. Give one column, such as corpus\[\"text\"\]"
    ):
        next(iter_attention(tiny, table))
