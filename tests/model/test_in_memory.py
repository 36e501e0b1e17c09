"""A model that is in memory is read as it stands, and left as it is."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from test_families import SMALL
from tiny import byte_level_tokenizer, save_tiny_model, wordpiece_tokenizer
from transformers import (
    AutoModel,
    BartConfig,
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    BertModel,
    DPRConfig,
    DPRQuestionEncoder,
    GPT2Config,
    GPT2LMHeadModel,
    GPT2Model,
    RobertaConfig,
    RobertaModel,
    T5Config,
    T5Model,
    ViTConfig,
    ViTModel,
    pipeline,
)

from bertlook_course.analyses.ablation import head_importance
from bertlook_teach import HeadExplorer, HeadMap, HeadView, extract_attention, load_encoder
from bertlook_teach.measures import attention_gradients, profile_heads, value_zeroing
from bertlook_teach.model import iter_attention, random_twin, read

TEXT = "the cat sat"
TOKENIZER = wordpiece_tokenizer()
CONFIG = {"vocab_size": len(TOKENIZER), **SMALL}


def bert(kind=BertModel, **changes):
    return kind(BertConfig(**{**CONFIG, "hidden_dropout_prob": 0.5, **changes}))


def weights_by_transformers(model, tokenizer, folder):
    """What the library itself gives for the model, saved and read again as its pages say."""
    model.save_pretrained(folder)
    again = AutoModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
    with torch.no_grad():
        maps = again(**tokenizer(TEXT, return_tensors="pt"), output_attentions=True).attentions
    return torch.cat(maps).numpy()


class SentenceTransformer(torch.nn.Sequential):
    """Shaped as the library of that name has it: modules in a row, the first around a model, and its tokenizer."""

    def __init__(self, model, tokenizer):
        first = torch.nn.Module()
        first.auto_model = model
        super().__init__(first, torch.nn.Identity())
        self.tokenizer = tokenizer


class Own(torch.nn.Module):
    """A class of one's own with a model, or several, in it."""

    def __init__(self, **models):
        super().__init__()
        for name, model in models.items():
            setattr(self, name, model)


HELD = {
    "model": lambda model: (model, TOKENIZER),
    "in training": lambda model: (model.train(), TOKENIZER),
    "with a head": lambda model: (model, TOKENIZER),
    "half": lambda model: (model.half(), TOKENIZER),
    "bfloat16": lambda model: (model.bfloat16(), TOKENIZER),
    "pipeline": lambda model: (pipeline("feature-extraction", model=model, tokenizer=TOKENIZER),),
    "SentenceTransformer": lambda model: (SentenceTransformer(model, TOKENIZER),),
    "class of one's own": lambda model: (Own(bert=model, out=torch.nn.Linear(2, 2)), TOKENIZER),
    "data parallel": lambda model: (torch.nn.DataParallel(model), TOKENIZER),
}


@pytest.mark.parametrize("how", HELD)
def test_a_model_in_memory_gives_what_the_saved_one_gives_and_is_left_as_it_is(how, tmp_path):
    model = bert(BertForSequenceClassification if how == "with a head" else BertModel)
    given = HELD[how](model)
    before = (model.training, model.config._attn_implementation, model.dtype, model.config.return_dict)
    assert before[1] == "sdpa", "else the test says less than it could"
    encoder = load_encoder(*given)
    attention = extract_attention(encoder, TEXT)
    assert attention.model == f"{type(model).__name__} in memory" and attention.words == ("the", "cat", "sat")
    expected = weights_by_transformers(model, TOKENIZER, tmp_path)
    assert attention.weights == pytest.approx(expected, abs=1e-5)
    assert before == (
        model.training,
        model.config._attn_implementation,
        model.dtype,
        model.config.return_dict,
    )


def test_what_was_read_stays_what_it_was_while_the_model_learns():
    model = bert()
    before = load_encoder(model, TOKENIZER)
    maps, fingerprint = extract_attention(before, TEXT).weights, before.fingerprint
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1)
    TOKENIZER.model_max_length, longest = 3, TOKENIZER.model_max_length
    after = load_encoder(model, wordpiece_tokenizer())
    TOKENIZER.model_max_length = longest
    assert (extract_attention(before, TEXT).weights == maps).all() and before.fingerprint == fingerprint
    assert np.abs(extract_attention(after, TEXT).weights - maps).max() > 1e-3
    assert after.fingerprint != fingerprint


def test_a_head_that_guesses_words_is_used_as_from_a_folder(tmp_path):
    model = bert(BertForMaskedLM)
    model.save_pretrained(tmp_path)
    TOKENIZER.save_pretrained(tmp_path)
    here, there = load_encoder(model, TOKENIZER), load_encoder(tmp_path, device="cpu")
    one, other = (attention_gradients(read(encoder, TEXT)) for encoder in (here, there))
    assert one.signed == pytest.approx(other.signed, abs=1e-5) and one.loss == pytest.approx(
        other.loss, abs=1e-4
    )
    twin = random_twin(here)
    assert twin.name == "BertForMaskedLM in memory-random" and twin.n_layers == here.n_layers
    with pytest.raises(ValueError, match="has no masked-LM head: the model lacks cls.predictions"):
        attention_gradients(read(load_encoder(bert(), TOKENIZER), TEXT))


def test_other_families_are_read_from_memory_too(tmp_path):
    tokenizer = byte_level_tokenizer()
    model = RobertaModel(RobertaConfig(**{**CONFIG, "vocab_size": len(tokenizer), "pad_token_id": 1}))
    encoder = load_encoder(model, tokenizer, device="cpu")
    assert encoder.max_tokens == SMALL["max_position_embeddings"] - 2
    expected = weights_by_transformers(model, tokenizer, tmp_path)
    assert extract_attention(encoder, TEXT).weights == pytest.approx(expected, abs=1e-5)


def test_views_take_a_model_in_memory(tmp_path):
    model, other = bert(), bert()
    explorer = HeadExplorer(model, TEXT, tokenizer=TOKENIZER, minus=other)
    assert "BertModel in memory minus BertModel in memory" in repr(explorer)
    explorer = HeadExplorer(pipeline("feature-extraction", model=model, tokenizer=TOKENIZER), TEXT)
    explorer.read("the dog")
    assert explorer.attention.words == ("the", "dog")
    expected = extract_attention(load_encoder(model, TOKENIZER), "the dog").weights
    assert (explorer.attention.weights == expected).all()


def test_an_encoder_is_loaded_already():
    encoder = load_encoder("specimen")
    assert load_encoder(encoder) is encoder and "model" not in vars(encoder), "nor is torch asked for"


def _more_words():
    tokenizer = wordpiece_tokenizer()
    tokenizer.add_tokens([f"new{i}" for i in range(9)])
    return tokenizer


def _limit(longest):
    tokenizer = wordpiece_tokenizer()
    tokenizer.model_max_length = longest
    return tokenizer


def _quantized():
    model = bert()
    weight = model.encoder.layer[0].output.dense
    weight.weight = torch.nn.Parameter(weight.weight.to(torch.int8), requires_grad=False)
    return model


def _uncopied():
    model = bert()
    model.kept = (model.embeddings.word_embeddings.weight * 2).sum()
    return model


def _other(kind, config, **settings):
    return kind(config(vocab_size=len(TOKENIZER), **settings))


REFUSED = [
    (lambda: load_encoder(bert()), r"without its tokenizer: give load_encoder\(model, tokenizer\)", TypeError),
    (lambda: load_encoder(Own(bert=bert())), "without its tokenizer", TypeError),
    (lambda: load_encoder(bert(), "bert-base-uncased"), r"one of transformers, .*; got str", TypeError),
    (lambda: load_encoder(bert(), TOKENIZER.backend_tokenizer), r"tokenizer_object=.*; got Tokenizer", TypeError),
    (lambda: load_encoder(bert(), _more_words()), r"knows 87 wordpieces, .* for 78: .*resize_token_embeddings"),
    (lambda: load_encoder(bert(vocab_size=900), TOKENIZER), "do not belong together"),
    (lambda: load_encoder(bert(), _limit(None)), "the tokenizer says model_max_length = None"),
    (lambda: load_encoder(bert(), _limit(0)), "model_max_length = 0, and a whole number"),
    (lambda: load_encoder(Own(a=bert(), b=bert()), TOKENIZER), r"one model of transformers, and what was found in it is \.a and \.b"),
    (lambda: load_encoder(torch.nn.Linear(2, 2), TOKENIZER), "and what was found in it is none"),
    (lambda: load_encoder(bert().to("meta"), TOKENIZER), "is not in memory.*without offloading"),
    (lambda: load_encoder(_quantized(), TOKENIZER), "holds torch.int8, .* without quantization"),
    (lambda: load_encoder(_uncopied(), TOKENIZER), r"cannot be copied as it lies in memory.*save_pretrained\(folder\)"),
    (lambda: load_encoder(_other(GPT2LMHeadModel, GPT2Config, n_embd=4, n_layer=1, n_head=2), TOKENIZER), "is a decoder"),
    (lambda: load_encoder(_other(GPT2Model, GPT2Config, n_embd=4, n_layer=1, n_head=2), TOKENIZER), "looks only backwards"),
    (lambda: load_encoder(_other(T5Model, T5Config, d_model=4, d_kv=2, num_layers=1, num_heads=2, d_ff=4), TOKENIZER), "an encoder-decoder"),
    (lambda: load_encoder(ViTModel(ViTConfig(hidden_size=4, num_hidden_layers=1, num_attention_heads=2, intermediate_size=4, image_size=8, patch_size=4)), TOKENIZER), "has no vocabulary"),
    (lambda: load_encoder(Own(bert=bert(), prompt=torch.nn.Embedding(3, CONFIG["hidden_size"])), TOKENIZER), r"\.prompt\.weight, which may stand before the words.*load_encoder\(module\.bert, tokenizer"),
    (lambda: random_twin(load_encoder("specimen"), seed=1.5), "a seed is a whole number from 0 on; got float", TypeError),
    (lambda: head_importance(bert(), []), r"load_classifier\(folder\) or MaskedLM.*save_pretrained\(folder\)", TypeError),
    (lambda: load_encoder("specimen", TOKENIZER), "got str and a tokenizer, which names and folders bring", TypeError),
    (lambda: load_encoder(3), "takes a name, a folder, or a model in memory .*; got int", TypeError),
    (lambda: extract_attention(bert(), TEXT), r"BertModel, is read through an encoder: .*load_encoder\(model, tokenizer\)", TypeError),
    (lambda: next(iter_attention(pipeline("feature-extraction", model=bert(), tokenizer=TOKENIZER), [TEXT])), r"load_encoder\(pipeline\)", TypeError),
    (lambda: extract_attention(None, TEXT), "an encoder from load_encoder.* expected; got NoneType", TypeError),
    (lambda: profile_heads(bert(), [TEXT]), "is read through an encoder", TypeError),
    (lambda: HeadExplorer(bert(), TEXT), "in a view tokenizer=", TypeError),
    (lambda: HeadView(bert(), TEXT), r"attention was expected, and BertModel is a model: .*HeadExplorer", TypeError),
    (lambda: HeadView(load_encoder("specimen"), TEXT), "attention was expected, and Encoder is a model", TypeError),
    (lambda: random_twin(bert()), r"random_twin\(load_encoder\(model, tokenizer\)\); got BertModel", TypeError),
    (lambda: HeadExplorer(load_encoder("specimen"), ("The cat sat.", "It slept.")), "one text, and text_pair for a second", TypeError),
    (lambda: HeadMap(bert()), "numbers were expected; got BertModel. Of a model, take attention", TypeError),
]  # fmt: skip


@pytest.mark.parametrize(("call", "words", "error"), [(*row[:2], *(row[2:] or (ValueError,))) for row in REFUSED], ids=[row[1] for row in REFUSED])  # fmt: skip
def test_what_cannot_be_read_from_memory_is_refused_with_the_remedy(call, words, error):
    with pytest.raises(error, match=words):
        call()


def test_a_saved_pooler_is_not_needed_and_drawn_the_same_each_time(tmp_path):
    folder = save_tiny_model(tmp_path, "roberta")
    model = AutoModel.from_pretrained(folder, add_pooling_layer=False)
    model.save_pretrained(folder)
    assert load_encoder(folder).fingerprint == load_encoder(folder).fingerprint


def test_the_encoder_of_an_encoder_decoder_is_read_alone():
    whole = AutoModel.from_config(
        BartConfig(vocab_size=len(TOKENIZER), d_model=16, encoder_layers=2, decoder_layers=1, encoder_attention_heads=2,
                   decoder_attention_heads=2, encoder_ffn_dim=24, decoder_ffn_dim=24, max_position_embeddings=32),
        attn_implementation="eager",
    ).eval()  # fmt: skip
    with torch.no_grad():
        maps = whole.encoder(
            TOKENIZER(TEXT, return_tensors="pt")["input_ids"], output_attentions=True
        ).attentions
    seen = extract_attention(load_encoder(whole.encoder, TOKENIZER), TEXT)
    assert np.abs(seen.weights - torch.cat(maps).numpy()).max() < 1e-6
    with pytest.raises(ValueError, match="is an encoder-decoder"):
        load_encoder(whole, TOKENIZER)


def test_a_model_that_holds_its_bert_two_levels_down_is_read(tmp_path):
    model = DPRQuestionEncoder(DPRConfig(**CONFIG)).eval()
    seen = extract_attention(load_encoder(model, TOKENIZER), TEXT)
    assert np.abs(seen.weights - weights_by_transformers(model, TOKENIZER, tmp_path)).max() < 1e-6


def test_a_class_is_no_model():
    with pytest.raises(
        TypeError, match=r"BertModel is a class; give a model, such as BertModel\.from_pretrained"
    ):
        load_encoder(BertModel, TOKENIZER)


def test_what_is_no_text_in_a_corpus_is_named_with_its_place():
    with pytest.raises(TypeError, match="item 1 of the corpus: .* got float: nan"):
        list(iter_attention(load_encoder(bert().eval(), TOKENIZER), ["the cat", float("nan")]))


def test_measures_of_a_profile_have_names():
    with pytest.raises(
        TypeError, match=r"measures have names: give a mapping such as \{'entropy': attention_entropy\}"
    ):
        profile_heads(load_encoder(bert().eval(), TOKENIZER), [TEXT], attention_gradients)


@pytest.mark.parametrize(
    ("file", "remedy"), [("adapter_config.json", "merge_and_unload"), ("modules.json", "0_Transformer")]
)
def test_a_folder_that_another_library_wrote_is_told_apart(tmp_path, file, remedy):
    (tmp_path / file).write_text("{}", encoding="utf-8")
    with pytest.raises(FileNotFoundError, match=f"holds no config.json, but .*{remedy}"):
        load_encoder(tmp_path)


def test_a_second_text_is_marked_only_where_the_tokenizer_marks_it():
    """RoBERTa's tokenizer marks none, though its configuration has two segments where nobody says otherwise."""
    tokenizer = byte_level_tokenizer()
    config = RobertaConfig(**{**CONFIG, "vocab_size": len(tokenizer), "pad_token_id": 1})
    model = RobertaModel(config).eval()
    assert config.type_vocab_size == 2
    model.set_attn_implementation("eager")
    with torch.no_grad():
        maps = model(**tokenizer(TEXT, TEXT, return_tensors="pt"), output_attentions=True).attentions
    encoder = load_encoder(model, tokenizer)
    found = extract_attention(encoder, TEXT, TEXT)
    np.testing.assert_allclose(found.weights, torch.cat(maps).numpy(), atol=1e-6)
    assert not encoder.has_segments and load_encoder(bert(), TOKENIZER).has_segments


@pytest.mark.parametrize("measure", [attention_gradients, value_zeroing])
def test_a_measure_that_runs_the_model_takes_a_reading(measure):
    with pytest.raises(TypeError, match=r"takes a reading, read\(encoder, text\); got Encoder"):
        measure(load_encoder("specimen"))
