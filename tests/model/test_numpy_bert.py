"""BERT in NumPy: the numbers of torch, without torch; and torch as soon as somebody asks for the model."""

import json
import re
import sys

import numpy as np
import pytest
import torch
from made import printed_by
from safetensors.torch import load_file, save_file
from tiny import change_config, save_tiny_model
from transformers import AutoTokenizer, BertConfig, BertForPreTraining, BertTokenizer

from bertlook_course import ablation, load_pairs, load_texts, probing
from bertlook_course.analyses.ablation.bench import masked_lm_scores
from bertlook_course.analyses.anatomy import embedding_parts, head_matrices, position_keys, query_key_matrices
from bertlook_course.analyses.probing import hidden_states
from bertlook_teach import extract_attention, iter_attention, load_encoder
from bertlook_teach.disk import data_path, install_command
from bertlook_teach.model import (
    attention_blocks,
    masked_lm_head,
    masked_lm_scorer,
    output_projection,
    random_twin,
    read,
    tensors,
)
from bertlook_teach.model.devices import wants_gpu
from bertlook_teach.model.numpy_bert import open_bert
from bertlook_teach.model.wordpiece_tokenizer import WordPieceTokenizer, wordpiece_tokenizer

ARRAYS = ("weights", "queries", "keys", "values")
TEXTS = load_texts()[:10]
PAIRS = load_pairs()[:9]


def close(found, expected, **_):
    """To 3e-5 of the largest number: on a processor without AVX-512 torch is up to 1.5e-5 away, and itself about as far from the same sum in double precision."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.dtype == np.float32 and found.shape == expected.shape
    assert np.abs(found - expected).max() <= 3e-5 * max(1, np.abs(expected).max())


def save_bert(folder, *, seed=3, **changes):
    """A random BERT of another shape than the specimen, with its pre-training heads, and a cased tokenizer."""
    vocabulary = "[PAD] [UNK] [CLS] [SEP] [MASK] The cat sat mat on . , A É e".split()
    vocabulary += map(chr, range(97, 123))
    shape = {"hidden_size": 24, "num_hidden_layers": 4, "num_attention_heads": 3, "intermediate_size": 41}
    config = BertConfig(
        vocab_size=len(set(vocabulary)), max_position_embeddings=151, initializer_range=0.4, layer_norm_eps=1e-5, **shape, **changes
    )  # fmt: skip
    torch.manual_seed(seed)
    BertForPreTraining(config).save_pretrained(folder)
    words = {piece: i for i, piece in enumerate(dict.fromkeys(vocabulary))}
    BertTokenizer(words, do_lower_case=False, model_max_length=150).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module", params=["specimen", "another"])
def both(request, tmp_path_factory):
    """The same model run by NumPy and by torch."""
    name = "specimen" if request.param == "specimen" else save_bert(tmp_path_factory.mktemp("bert"))
    light, heavy = load_encoder(name), load_encoder(name, device="cpu")
    assert light.engine is not None and heavy.engine is None
    yield light, heavy
    assert light.engine is not None, "somebody asked for the torch model, and nothing was compared"


def test_attention_and_vectors_are_those_of_torch(both):
    for item in [*TEXTS, *PAIRS, TEXTS[0].split()]:
        light, heavy = (next(iter_attention(e, [item], truncate=True, vectors=True)) for e in both)
        assert (
            light.tokens == heavy.tokens and light.word_ids == heavy.word_ids and light.words == heavy.words
        )
        for name in ARRAYS:
            close(getattr(light, name), getattr(heavy, name))


def test_a_padded_batch_gives_each_text_what_it_has_alone(both):
    items = [TEXTS[0], PAIRS[0], "the cat", TEXTS[1]]
    light, heavy = (list(iter_attention(e, items, truncate=True, vectors=True, batch_size=4)) for e in both)
    assert len({one.n_tokens for one in light}) > 2
    for item, one, other in zip(items, light, heavy):
        alone = next(iter_attention(both[0], [item], truncate=True, vectors=True))
        for name in ARRAYS:
            close(getattr(one, name), getattr(other, name))
            close(getattr(one, name), getattr(alone, name))


def test_the_longest_input_and_the_rule_for_segments(both):
    long = "the cat sat on the mat . " * 40
    for segments in ("standard", "zeros"):
        light, heavy = (
            extract_attention(e, long, "the cat " * 90, truncate=True, segments=segments) for e in both
        )
        assert light.n_tokens == both[0].max_tokens >= 128 and light.truncated
        close(light.weights, heavy.weights)
    assert light.segment_ids == heavy.segment_ids


def test_hidden_states(both):
    texts = [["cat", "sat", "a"], ["mat"], ["on", "The", "mat", ".", "a", "cat"]]
    for light, heavy in zip(*(hidden_states(e, texts) for e in both)):
        close(light, heavy)


def test_the_heads_of_pre_training(both):
    light, heavy = both
    judge = ablation.next_sentence_head(heavy)
    guess = masked_lm_head(heavy)
    for a, b in PAIRS[:4]:
        reading = read(light, a[:40], b[:40])
        ids, segments = np.array([reading.ids]), np.array([reading.segment_ids])
        last = light.engine.run(ids, None, segments).states[-1]
        with torch.inference_mode():
            theirs = heavy.model(**heavy.inputs(ids, np.ones_like(ids), segments)).last_hidden_state
            close(light.engine.masked_lm(last), guess(theirs))
            close(light.engine.next_sentence(last[:, 0]), judge(theirs[:, 0]))
        close(masked_lm_scores(light, reading.ids, 2), masked_lm_scores(heavy, reading.ids, 2))
    ours, theirs = (ablation.guess_masked(e, "The cat sat on the mat .") for e in both)
    assert ours[0] == theirs[0] and [word for word, _ in ours[1]] == [word for word, _ in theirs[1]]
    assert [share for _, share in ours[1]] == pytest.approx([share for _, share in theirs[1]], abs=1e-6)


@pytest.mark.parametrize("seed", [0, 7])
def test_a_twins_heads_are_those_that_transformers_draws(seed):
    light, heavy = (random_twin(load_encoder("specimen"), seed) for _ in range(2))
    vectors = np.random.default_rng(0).normal(size=(3, light.config.hidden_size)).astype(np.float32)
    assert heavy.model is not None and heavy.engine is None
    for ours, theirs in (
        (masked_lm_scorer(light), masked_lm_scorer(heavy)),
        (ablation.next_sentence_head(light), ablation.next_sentence_head(heavy)),
    ):
        close(ours(vectors), theirs(vectors))
    assert light.engine is not None and sorted(light.engine.heads) and not heavy.numpy_bert


def test_one_head_by_hand(both):
    light, heavy = both
    for one, other in zip(*(vars(embedding_parts(e, "The cat sat.", "A mat.")).items() for e in both)):
        assert one[0] == other[0]
        if one[0] != "tokens":
            close(one[1], other[1])
    for name, matrix in vars(head_matrices(light, 2, 1)).items():
        np.testing.assert_array_equal(matrix, getattr(head_matrices(heavy, 2, 1), name))
    np.testing.assert_array_equal(output_projection(light), output_projection(heavy))
    for one, other in zip(*(query_key_matrices(e, 1, 2) for e in both)):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(*(position_keys(e, 1, 2, 9) for e in both))
    np.testing.assert_array_equal(*(probing.input_vectors(e)(["cat", "mats"]) for e in both))


def test_what_identifies_the_model_is_the_same(both):
    light, heavy = both
    for name in "fingerprint n_layers n_heads head_size max_tokens has_segments name folder".split():
        assert getattr(light, name) == getattr(heavy, name)
    assert repr(light) == repr(heavy)


# --- tokens -------------------------------------------------------------------------------------------
ODD = (
    "cafe\u0301 na\u00efve e\u0301\u0302\u0303",  # accents of their own
    "\u732b\u304c\u5ea7\u3063\u305f\u3002 \uff21\uff22",  # Chinese signs, kana, full width
    "a \U0001f600\U0001f469\u200d\U0001f52c cat \ufe0f",
    "a\x00b\x07c\ufffdd\u200be\u202ef\u2028g\th\ni",
    "it's [MASK] and [mask] and [SEP][CLS] [PAD]x[UNK]",
    "\u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd \u03a3\u03b1\u03c2 \u0130stanbul \u00df \ufb01",
    "don't.stop--now!? 20\u00b0C $5 \u20ac5 a/b\\c",
    "w" * 101 + " " + "w" * 100,
    "antidisestablishmentarianism xyzzyx ##ing",
    "<b>&amp;</b> \u00a0x\u3000y",
    "word " * 200,
)  # fmt: skip


def change_json(path, **changes):
    known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    path.write_text(json.dumps(known | changes), encoding="utf-8")


def save_as_sentence_transformers_does(folder):
    """With truncation, padding and settings of old that change no token, and positions among the weights, as integers."""
    save_bert(folder)
    tensors = load_file(folder / "model.safetensors")
    positions = torch.arange(151)[None]
    save_file(tensors | {"embeddings.position_ids": positions}, folder / "model.safetensors")
    change_json(folder / "tokenizer_config.json", do_basic_tokenize=True, never_split=None)
    cut = {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}
    pad = {"strategy": {"Fixed": 8}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0}
    pad |= {"pad_type_id": 0, "pad_token": "[PAD]"}
    change_json(folder / "tokenizer.json", truncation=cut, padding=pad)
    return folder


def test_a_folder_as_sentence_transformers_saves_it_needs_no_torch(tmp_path):
    plain = load_encoder(save_bert(tmp_path / "plain"))
    saved = load_encoder(save_as_sentence_transformers_does(tmp_path / "saved"))
    assert saved.engine is not None and saved.fingerprint == plain.fingerprint


@pytest.mark.parametrize("kind", ["specimen", "cased", "saved by sentence-transformers"])
def test_tokens_are_those_of_transformers(kind, tmp_path):
    make = {"cased": save_bert, "saved by sentence-transformers": save_as_sentence_transformers_does}
    folder = data_path("model") if kind == "specimen" else make[kind](tmp_path)
    ours, theirs = wordpiece_tokenizer(folder), AutoTokenizer.from_pretrained(folder)
    assert isinstance(ours, WordPieceTokenizer)
    random = np.random.default_rng(1)
    drawn = ["".join(map(chr, random.integers(1, 0x3000, 60))) for _ in range(100)]
    for text in (*ODD, *drawn):
        words = [word for word in text.split(" ") if word]
        cut = {"truncation": "longest_first", "max_length": 32}
        for given, options in (
            ((text,), {}),
            ((text, ODD[0]), {}),
            ((text, ODD[0]), {"add_special_tokens": False}),
            ((ODD[-1], text), cut),
            ((text,), cut),
            ((words,), {"is_split_into_words": True}),
            ((words,), {"is_split_into_words": True, **cut}),
            ((words,), {"is_split_into_words": True, "add_special_tokens": False}),
        ):
            one, other = ours(*given, **options, verbose=False), theirs(*given, **options, verbose=False)
            assert dict(one) == dict(other)
            assert one.word_ids() == other.word_ids() and one.sequence_ids() == other.sequence_ids()
            assert one.tokens() == other.tokens() == ours.convert_ids_to_tokens(one["input_ids"])
            spans = [[e.token_to_chars(i) for i, s in enumerate(one.sequence_ids()) if s is not None] for e in (one, other)]  # fmt: skip
            assert spans[0] == [tuple(span) for span in spans[1]]
        assert ours.tokenize(text) == theirs.tokenize(text)
    for name in "model_max_length is_fast mask_token pad_token_id unk_token_id all_special_ids".split():
        assert getattr(ours, name) == getattr(theirs, name)
    assert len(ours) == len(theirs) and ours.get_vocab() == theirs.get_vocab()


def test_what_the_light_tokenizer_does_not_know_transformers_answers(tmp_path):
    tokenizer = wordpiece_tokenizer(data_path("model"))
    batch = tokenizer(["the cat", "the"], padding=True, return_tensors="pt")
    assert batch["input_ids"].shape == (2, 4)
    assert tokenizer.decode([2, 337, 3]) == "[CLS] the [SEP]"
    tokenizer.save_pretrained(tmp_path)
    assert (tmp_path / "tokenizer.json").is_file()


@pytest.mark.parametrize(
    "file, changes",
    [
        ("tokenizer_config.json", {"do_lower_case": True}),
        ("tokenizer_config.json", {"strip_accents": False}),
        ("tokenizer_config.json", {"mask_token": "<mask>"}),
        ("tokenizer_config.json", {"tokenizer_class": "ElectraTokenizer"}),
        ("tokenizer_config.json", {"truncation_side": "left"}),
        ("tokenizer_config.json", {"do_basic_tokenize": False}),
        ("tokenizer_config.json", {"never_split": ["the cat"]}),
        ("tokenizer.json", {"pre_tokenizer": {"type": "Whitespace"}}),
        ("tokenizer.json", {"normalizer": None}),
        ("special_tokens_map.json", {"mask_token": "<mask>"}),
        ("added_tokens.json", {}),
        ("tokenizer.json", None),
    ],
)
def test_a_tokenizer_out_of_the_usual_is_left_to_transformers(file, changes, tmp_path):
    path = save_bert(tmp_path) / file
    assert wordpiece_tokenizer(tmp_path) is not None
    if changes is None:
        path.unlink()
    else:
        change_json(path, **changes)
    assert wordpiece_tokenizer(tmp_path) is None


# --- when torch takes over ----------------------------------------------------------------------------
def test_reading_with_a_measure_and_a_view_loads_neither_torch_nor_transformers():
    code = (
        "import sys\n"
        "from bertlook_teach import HeadExplorer, HeadView, extract_attention, load_encoder, measures\n"
        "from bertlook_course.analyses.ablation import guess_masked\n"
        "encoder, twin = load_encoder('specimen'), load_encoder('specimen-random')\n"
        "for model in (encoder, twin):\n"
        "    attention = extract_attention(model, 'The cat sat.', 'It purred.', vectors=True)\n"
        "    measures.attention_entropy(attention), HeadView(attention), HeadExplorer(model, 'The cat sat.')\n"
        "    model.fingerprint, repr(model)\n"
        "guess_masked(encoder, 'The cat sat [MASK] the mat.')\n"
        "print(sorted({'torch', 'transformers'} & set(sys.modules)))"
    )
    assert printed_by(code) == "[]"


def test_once_the_model_was_asked_for_nothing_passes_it_by():
    encoder = load_encoder("specimen")
    before, identity = extract_attention(encoder, "The cat sat.").weights, encoder.fingerprint
    encoder.model.encoder.layer[0].attention.self.query.weight.data[:32] = 0  # the first head
    encoder.model.encoder.layer[0].attention.self.query.bias.data[:32] = 0
    assert encoder.engine is None
    after = extract_attention(encoder, "The cat sat.").weights
    np.testing.assert_allclose(after[0, 0], 1 / after.shape[-1], rtol=1e-5)
    assert np.abs(after[1:] - before[1:]).max() > 1e-3
    assert encoder.fingerprint == identity, "it says what was loaded"
    states = next(iter(hidden_states(encoder, [["the", "cat"]])))
    assert np.abs(states - next(iter(hidden_states(load_encoder("specimen"), [["the", "cat"]])))).max() > 1e-3
    assert not head_matrices(encoder, 0, 0).query.any()


def test_weights_are_not_changed_through_what_is_taken_out_of_them():
    for encoder in (load_encoder("specimen"), load_encoder("specimen-random")):
        with pytest.raises(ValueError, match="read-only"):
            head_matrices(encoder, 0, 0).query[0, 0] = 1


def test_hooks_and_heads_switched_off_act_on_what_is_read():
    encoder, text = load_encoder("specimen"), "The cat sat on the mat."
    before = extract_attention(encoder, text).weights
    assert len(attention_blocks(encoder)) == encoder.n_layers and encoder.engine is None
    with ablation.ablated(encoder, [(0, 0), (0, 1)]):
        assert np.abs(extract_attention(encoder, text).weights[1] - before[1]).max() > 1e-3
    close(extract_attention(encoder, text).weights, before)


def test_a_model_first_asked_for_without_gradients_can_be_trained_and_uses_up_no_draw():
    encoder = load_encoder("specimen")
    torch.manual_seed(4)
    expected = torch.rand(2)
    torch.manual_seed(4)
    with torch.inference_mode():
        encoder.model.eval()
    assert torch.equal(torch.rand(2), expected)
    encoder.model(torch.tensor([[2, 337, 3]])).last_hidden_state.sum().backward()
    assert encoder.model.embeddings.LayerNorm.weight.grad is not None


def test_the_torch_model_is_the_one_that_transformers_reads_from_the_folder():
    light, heavy = load_encoder("specimen"), load_encoder("specimen", device="cpu")
    ours, theirs = light.model, heavy.model
    assert type(ours) is type(theirs) and ours.dtype == theirs.dtype and not ours.training
    assert ours.config._attn_implementation == "eager"
    settings = [{**model.config.to_dict(), "_name_or_path": ""} for model in (ours, theirs)]
    assert settings[0] == settings[1]
    for (name, one), (other_name, other) in zip(ours.state_dict().items(), theirs.state_dict().items()):
        assert name == other_name and torch.equal(one, other)
    vars(light).pop("fingerprint", None)
    assert light.fingerprint == heavy.fingerprint


@pytest.mark.parametrize("seed, keep", [(0, False), (5, True), (2**32 - 1, False)])
@pytest.mark.parametrize("padding", [0, None])
def test_a_twin_is_drawn_as_torch_draws_it(seed, keep, padding, tmp_path):
    save_bert(
        tmp_path, pad_token_id=padding
    )  # 41 * 24 and 24 * 2 numbers: blocks of 16 are left over, and are not
    light, heavy = (load_encoder(tmp_path, device=device) for device in ("auto", "cpu"))
    ours, theirs = (random_twin(e, seed, keep_embeddings=keep) for e in (light, heavy))
    assert ours.engine is not None and theirs.engine is None
    assert (ours.name, ours.fingerprint, ours.seed) == (theirs.name, theirs.fingerprint, seed)
    for name, tensor in theirs.model.state_dict().items():
        np.testing.assert_allclose(ours.engine.weights[name], tensor.numpy(), atol=1e-6)
    other = random_twin(light, seed=9, keep_embeddings=keep)
    assert other.fingerprint != ours.fingerprint


def test_a_twin_drawn_by_another_rule_has_another_fingerprint(monkeypatch):
    """Its last digits name nothing: another processor has others."""
    encoder, draw = load_encoder("specimen"), tensors._gaussian
    before = random_twin(encoder).fingerprint
    for factor, same in ((1 + 2e-7, True), (1.1, False)):
        monkeypatch.setattr(tensors, "_gaussian", lambda *given, f=factor: draw(*given) * np.float32(f))
        assert (random_twin(encoder).fingerprint == before) == same


def test_where_torch_draws_otherwise_torch_draws(tmp_path):
    encoder = load_encoder("specimen")
    assert random_twin(encoder, seed=2**40).seed == 2**40
    assert encoder.engine is None


# --- what is not taken --------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "changes",
    [
        {"hidden_act": "gelu_new"},
        {"hidden_act": "relu"},
        {"model_type": "electra"},
        {"position_embedding_type": "relative_key"},
        {"is_decoder": True},
        {"quantization_config": {"quant_method": "x"}},
        {"num_hidden_layers": 3},
        {"vocab_size": 99},
        {"layer_norm_eps": None},
        {"num_attention_heads": 5},
    ],
)
def test_another_model_is_not_taken(changes, tmp_path):
    folder = save_bert(tmp_path)
    config = json.loads((folder / "config.json").read_text())
    assert open_bert(folder, config) is not None
    assert open_bert(folder, config | changes) is None


def spoil(folder, how):
    path = folder / "model.safetensors"
    weights = load_file(path)
    name = next(key for key in weights if key.endswith("layer.1.attention.self.key.weight"))
    if how == "nan":
        weights[name][0, 0] = float("nan")
    elif how == "missing":
        del weights[name]
    elif how == "stray":
        weights["bert.encoder.layer.9.more"] = torch.zeros(2)
    elif how == "shape":
        weights[name] = weights[name][:3].contiguous()
    elif how == "bfloat16":
        weights = {key: tensor.bfloat16() for key, tensor in weights.items()}
    save_file(weights, path, metadata={"format": "pt"})
    if how == "cut":
        path.write_bytes(path.read_bytes()[:-8])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "sharded":
        (folder / "model.safetensors.index.json").write_text("{}")


@pytest.mark.parametrize("how", ["nan", "missing", "stray", "shape", "bfloat16", "cut", "empty", "sharded"])
def test_weights_out_of_the_usual_are_not_taken(how, tmp_path):
    folder = save_bert(tmp_path)
    config = json.loads((folder / "config.json").read_text())
    spoil(folder, how)
    assert open_bert(folder, config) is None


def test_what_is_not_taken_runs_by_torch_or_is_refused_as_before(tmp_path):
    other = load_encoder(save_tiny_model(tmp_path / "gelu_new", hidden_act="gelu_new"))
    assert other.engine is None and other.model.config.hidden_act == "gelu_new"
    folder = save_tiny_model(tmp_path / "bert")
    assert load_encoder(folder).engine is not None
    change_config(folder, position_embedding_type="relative_key")
    with pytest.raises(ValueError, match="relative positions"):
        load_encoder(folder)
    pickled = save_tiny_model(tmp_path / "pickled")
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    with pytest.raises(FileNotFoundError, match="pickle"):
        load_encoder(pickled)


def test_old_names_of_the_norms_are_read(tmp_path):
    """As the folder of bert-base-uncased on the hub has them."""
    folder = save_bert(tmp_path)
    expected = extract_attention(load_encoder(folder), "The cat sat.").weights
    weights = load_file(folder / "model.safetensors")
    renamed = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): tensor
        for name, tensor in weights.items()
    }
    save_file(renamed, folder / "model.safetensors", metadata={"format": "pt"})
    encoder = load_encoder(folder)
    assert encoder.engine is not None and encoder.engine.has_head("masked_lm")
    np.testing.assert_array_equal(extract_attention(encoder, "The cat sat.").weights, expected)


def test_a_folder_that_goes_away_stays_loaded(tmp_path):
    encoder = load_encoder(save_bert(tmp_path / "bert"))
    expected = extract_attention(encoder, "The cat sat.").weights
    (tmp_path / "bert" / "model.safetensors").write_bytes(b"overwritten")
    np.testing.assert_array_equal(extract_attention(encoder, "The cat sat.").weights, expected)
    assert encoder.model is not None
    close(extract_attention(encoder, "The cat sat.").weights, expected)


def test_a_large_model_waits_for_a_gpu_that_is_there(tmp_path, monkeypatch):
    from bertlook_teach.model import devices

    (tmp_path / "model.safetensors").write_bytes(b"12345678")
    monkeypatch.setattr(devices, "_GPUS", (str(tmp_path),))
    assert not wants_gpu(tmp_path)
    monkeypatch.setattr(devices, "_LARGE", 7)
    assert wants_gpu(tmp_path)


def test_without_torch_the_error_names_the_extra(monkeypatch):
    encoder = load_encoder("specimen")
    monkeypatch.setitem(sys.modules, "torch", None)
    assert extract_attention(encoder, "The cat sat.").n_tokens == 6
    with pytest.raises(ModuleNotFoundError, match=re.escape(install_command("torch"))):
        encoder.model  # noqa: B018
    with pytest.raises(ModuleNotFoundError, match="torch is not installed"):
        load_encoder("specimen", device="cpu")
