"""Loading: every family works, and whatever would be silently wrong is refused."""

import json
import os
import socket
from contextlib import contextmanager

import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny import (
    FAMILIES,
    HEAD_SIZE,
    HEADS,
    LAYERS,
    MAX_TOKENS,
    change_config,
    save_tiny_model,
    wordpiece_tokenizer,
)
from transformers import AutoModel, GPT2Config, GPT2Model, SqueezeBertConfig, ViTConfig, ViTModel

from bertlook_course.analyses.probing import hidden_states
from bertlook_teach import extract_attention, load_encoder
from bertlook_teach.model import folders, random_twin
from bertlook_teach.model.folders import checked
from bertlook_teach.model.tensors import sketch_bert


@pytest.fixture
def folder(tmp_path):
    return save_tiny_model(tmp_path / "tiny")


@contextmanager
def weights_of(folder):
    """The weights of a folder, to be changed and saved again."""
    weights = load_file(folder / "model.safetensors")
    yield weights
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_loads_and_gives_its_attention(family, tmp_path):
    encoder = load_encoder(save_tiny_model(tmp_path / family, family))
    assert (encoder.n_layers, encoder.n_heads, encoder.head_size) == (LAYERS, HEADS, HEAD_SIZE)
    assert encoder.max_tokens == MAX_TOKENS
    assert encoder.has_segments == (family in ("bert", "electra", "albert"))
    attention = extract_attention(encoder, "the cat sat", vectors=True)
    assert attention.weights.shape[:2] == (LAYERS, HEADS)
    assert attention.weights.sum(-1) == pytest.approx(1, abs=1e-5)


def test_the_specimen_loads_without_network_or_name():
    encoder = load_encoder()
    assert encoder.name == "specimen" and encoder.n_layers >= 6 and encoder.n_heads >= 6
    assert not encoder.model.training and encoder.model.dtype == torch.float32


def test_the_twin_of_any_model_is_its_name_and_random(folder):
    twin = load_encoder(f"{folder}-random")
    assert twin.name == f"{folder}-random"
    assert twin.fingerprint == random_twin(load_encoder(folder)).fingerprint
    with pytest.raises(FileNotFoundError, match="no model folder .*mine"):
        load_encoder("./mine-random")


def test_half_precision_weights_are_computed_in_single(folder):
    with weights_of(folder) as weights:
        weights |= {name: tensor.half() for name, tensor in weights.items()}
    change_config(folder, dtype="float16")
    assert load_encoder(folder).model.dtype == torch.float32


def test_fingerprints_follow_the_weights_and_not_the_name(folder, tmp_path):
    same = load_encoder(save_tiny_model(tmp_path / "again"))
    other = load_encoder(save_tiny_model(tmp_path / "other", seed=8))
    assert load_encoder(folder).fingerprint == same.fingerprint != other.fingerprint
    assert len(same.fingerprint) == 16


# --- the random twin ---------------------------------------------------------------------------------


def test_the_random_twin_has_the_shape_but_not_the_weights_and_is_the_same_each_time():
    specimen, twin = load_encoder("specimen"), load_encoder("specimen-random")
    assert (twin.n_layers, twin.n_heads, twin.max_tokens) == (
        specimen.n_layers,
        specimen.n_heads,
        specimen.max_tokens,
    )
    assert twin.fingerprint == load_encoder("specimen-random").fingerprint != specimen.fingerprint
    assert twin.name == "specimen-random"


def test_a_twin_is_drawn_when_it_first_reads_and_not_for_its_name():
    """What is kept of it, evidence, is found by the fingerprint: a kernel need not hold weights that nobody reads."""
    twin = load_encoder("specimen-random")
    assert twin.fingerprint and "weights" not in vars(twin.engine)
    weights, sketch = twin.engine.weights, sketch_bert(vars(twin.engine.config), twin.seed)
    assert {name: array.shape for name, array in sketch.items()} == {n: a.shape for n, a in weights.items()}
    (drawn,) = (name for name, array in sketch.items() if array.any())
    assert (sketch[drawn] == weights[drawn]).all() and weights[drawn].std() > 0.01


def test_the_last_digits_of_a_twins_weights_name_nothing(folder, monkeypatch):
    """A processor decides them; another draw, another seed and another shape still show."""
    encoder, draw = load_encoder(folder, device="cpu"), torch.Tensor.normal_
    before = random_twin(encoder).fingerprint

    def drawn(change):
        monkeypatch.setattr(torch.Tensor, "normal_", lambda *args, **named: change(draw(*args, **named)))
        twin = random_twin(encoder)
        monkeypatch.undo()
        return twin

    last_digits = drawn(lambda weights: weights.mul_(1 + 2e-7))
    assert last_digits.fingerprint == before
    assert not torch.equal(
        *(t.model.get_input_embeddings().weight for t in (last_digits, random_twin(encoder)))
    )
    assert drawn(lambda weights: weights.mul_(1.1)).fingerprint != before


@pytest.mark.parametrize("family", FAMILIES)
def test_a_twin_may_keep_the_input_embeddings_and_nothing_else(family, tmp_path):
    encoder = load_encoder(save_tiny_model(tmp_path / family, family))
    plain, kept = random_twin(encoder), random_twin(encoder, keep_embeddings=True)
    assert kept.name == f"{plain.name}-embeddings-kept"
    assert len({encoder.fingerprint, plain.fingerprint, kept.fingerprint}) == 3
    trained, drawn, mixed = (e.model.state_dict() for e in (encoder, plain, kept))
    for name, tensor in mixed.items():
        assert torch.equal(tensor, (trained if name.startswith("embeddings.") else drawn)[name]), name
    assert not torch.equal(
        trained["embeddings.word_embeddings.weight"], drawn["embeddings.word_embeddings.weight"]
    )
    kept.model.embeddings.word_embeddings.weight.data.zero_()
    assert encoder.model.embeddings.word_embeddings.weight.abs().sum() > 0, "a copy, not the model's own"


def test_embeddings_that_are_not_found_cannot_be_kept(folder):
    encoder = load_encoder(folder)
    encoder.model.__class__ = type("Renamed", (type(encoder.model),), {"__getattr__": _without_embeddings})
    with pytest.raises(
        ValueError, match=r"embeddings of .* \(bert\) are not found .* call random_twin without"
    ):
        random_twin(encoder, keep_embeddings=True)


def test_a_model_with_heads_pruned_is_refused_with_that_reason(folder):
    encoder = load_encoder(folder)
    attend = encoder.model.encoder.layer[0].attention.self
    for name in ("query", "key", "value"):
        layer = getattr(attend, name)
        setattr(attend, name, torch.nn.Linear(layer.in_features, layer.out_features // 2))
    attend.num_attention_heads //= 2
    attend.all_head_size //= 2
    dense = encoder.model.encoder.layer[0].attention.output
    dense.dense = torch.nn.Linear(dense.dense.in_features // 2, dense.dense.out_features)
    with pytest.raises(ValueError, match="or some were pruned"):
        load_encoder(encoder.model, encoder.tokenizer)


@pytest.mark.parametrize("seed", [None, 1.5, "1"])
def test_the_seed_of_a_twin_is_a_whole_number(seed):
    with pytest.raises(TypeError, match="a seed is a whole number from 0 on; got"):
        random_twin(load_encoder("specimen"), seed=seed)


def _without_embeddings(module, name):
    if name == "embeddings":
        raise AttributeError(name)
    return torch.nn.Module.__getattr__(module, name)


def test_making_a_twin_leaves_the_global_random_state_alone(folder):
    encoder = load_encoder(folder)
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    twins = [random_twin(encoder, seed) for seed in (0, 1)]
    assert torch.equal(torch.rand(4), expected)
    assert twins[0].fingerprint != twins[1].fingerprint


# --- traps that libraries pass over in silence ----------------------------------------------------------


def test_fused_attention_is_refused_where_transformers_answers_with_an_empty_tuple(folder):
    encoder = load_encoder(folder)
    encoder.model.set_attn_implementation("sdpa")
    with pytest.raises(RuntimeError, match="gave 0 attention maps for 3 layers.*'eager'"):
        extract_attention(encoder, "the cat sat")


def test_weights_that_do_not_fill_the_model_are_refused(folder):
    with weights_of(folder) as weights:
        del weights["encoder.layer.1.attention.self.query.weight"]
    with pytest.raises(
        ValueError, match=r"1 tensors are missing.*encoder\.layer\.1\.attention\.self\.query\.weight"
    ):
        load_encoder(folder)


def test_nan_weights_are_refused_by_name(folder):
    with weights_of(folder) as weights:
        weights["encoder.layer.2.attention.self.key.bias"][1] = float("nan")
    with pytest.raises(ValueError, match=r"encoder\.layer\.2\.attention\.self\.key\.bias holds NaN"):
        load_encoder(folder)


def test_a_tokenizer_of_another_size_is_refused(folder):
    """What transformers 5 makes of ``BertTokenizer(vocab_file=...)``: five entries, and [UNK] for everything."""
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer["model"]["vocab"] = {t: i for t, i in tokenizer["model"]["vocab"].items() if i < 5}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    with pytest.raises(ValueError, match="knows 5 wordpieces, but the model has embeddings for"):
        load_encoder(folder)


def test_a_decoder_is_refused_before_its_weights_are_read(folder):
    change_config(folder, architectures=["GPT2LMHeadModel"], model_type="gpt2")
    (folder / "model.safetensors").write_bytes(b"never read")
    with pytest.raises(ValueError, match="is a decoder, which looks only backwards.*needs an encoder"):
        load_encoder(folder)


def test_an_encoder_decoder_is_refused(folder):
    change_config(folder, is_encoder_decoder=True, architectures=["T5ForConditionalGeneration"])
    with pytest.raises(ValueError, match="is an encoder-decoder"):
        load_encoder(folder)


def test_a_decoder_whose_config_does_not_say_so_is_caught_by_what_it_does(folder):
    encoder = load_encoder(folder)
    config = GPT2Config(
        vocab_size=len(encoder.tokenizer), n_positions=MAX_TOKENS, n_embd=10, n_layer=3, n_head=2
    )
    decoder = GPT2Model._from_config(config, attn_implementation="eager").eval()
    with pytest.raises(ValueError, match="looks only backwards: it is a decoder"):
        checked(type(encoder)("sneaky", decoder, encoder.tokenizer, torch.device("cpu")))


def test_vectors_of_a_model_with_other_projections_are_refused_not_guessed(folder):
    encoder = load_encoder(folder)
    for layer in encoder.model.encoder.layer:
        layer.attention.self.value = torch.nn.Sequential(layer.attention.self.value)
        layer.attention.self.register_module("renamed", layer.attention.self.value[0])
    first = encoder.model.encoder.layer[0].attention.self
    del first.key
    first.key = lambda hidden: hidden
    with pytest.raises(ValueError, match=r"cannot take queries, keys and values.*'keys': 2"):
        extract_attention(encoder, "the cat", vectors=True)


# --- names and folders ------------------------------------------------------------------------------------


def test_a_missing_folder_says_how_folders_are_made(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no model folder .*nowhere.*save_pretrained.*'specimen'"):
        load_encoder(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="no model folder"):
        load_encoder("./nowhere")


@pytest.mark.parametrize(
    "file, message",
    [
        ("config.json", r"holds no config\.json"),
        ("model.safetensors", r"holds no \*\.safetensors file.*Copy model\.safetensors"),
        ("tokenizer.json", r"holds no tokenizer"),
    ],
)
def test_a_missing_file_is_named(folder, file, message):
    (folder / file).unlink()
    with pytest.raises(FileNotFoundError, match=message):
        load_encoder(folder)


def test_pickled_weights_are_not_opened(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(FileNotFoundError, match="pickle format, which can run code"):
        load_encoder(folder)


def test_no_code_that_a_config_names_is_run(folder):
    change_config(folder, auto_map={"AutoConfig": "evil.EvilConfig", "AutoModel": "evil.EvilModel"})
    (folder / "evil.py").write_text(f"open({str(folder / 'ran')!r}, 'w')\n")
    load_encoder(folder)
    assert not (folder / "ran").exists()


@pytest.mark.parametrize(
    "key, message",
    [
        ("num_hidden_layers", "at most 1000 layers"),
        ("vocab_size", "cannot be loaded"),
        ("max_position_embeddings", "cannot be loaded"),
        ("intermediate_size", "cannot be loaded"),
    ],
)
def test_an_absurd_size_is_refused_before_memory_is_taken(folder, key, message):
    change_config(folder, **{key: 2 * 10**9})
    with pytest.raises(ValueError, match=message):
        load_encoder(folder)


@pytest.mark.parametrize(
    "file, message",
    [
        ("config.json", "cannot be read as JSON"),
        ("model.safetensors", "cannot be loaded.*damaged or cut short"),
        ("tokenizer.json", "the tokenizer in .* cannot be loaded"),
    ],
)
def test_a_damaged_file_is_an_error_about_that_folder(folder, file, message):
    content = (folder / file).read_bytes()
    (folder / file).write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match=message):
        load_encoder(folder)


@pytest.mark.parametrize("value", ["192", float("nan"), -1, 1e30, 0, [1], True, 192.5])
@pytest.mark.parametrize("key", ["hidden_size", "num_attention_heads", "num_hidden_layers", "vocab_size"])
def test_a_size_that_is_none_is_named(folder, key, value):
    change_config(folder, **{key: value})
    with pytest.raises(ValueError, match=f"says {key} = .*a whole number from 1 on was expected"):
        load_encoder(folder)


@pytest.mark.parametrize(
    "key, value, message",
    [
        ("layer_norm_eps", float("nan"), "a small number such as 1e-12"),
        ("layer_norm_eps", 1e30, "a small number such as 1e-12"),
        ("layer_norm_eps", "tiny", "a small number such as 1e-12"),
        ("architectures", 7, "a list of names was expected"),
        ("architectures", [None], "a list of names was expected"),
        ("hidden_act", ["gelu"], "hidden_act.*expected"),  # transformers' own words, with their second line
    ],
)
def test_a_setting_that_makes_no_sense_is_named(folder, key, value, message):
    change_config(folder, **{key: value})
    with pytest.raises(ValueError, match=message):
        load_encoder(folder)


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json", "tokenizer.json"])
def test_settings_that_are_nested_without_end_are_no_traceback(folder, file):
    (folder / file).write_text('{"a": ' * 100_000 + "1" + "}" * 100_000)
    with pytest.raises(ValueError, match="cannot be (read as JSON|loaded)"):
        load_encoder(folder)


@pytest.mark.parametrize("device", ["auto", "cpu"])
@pytest.mark.parametrize("longest", ["many", [512], 0, -1, 0.5, True, {"content": "[CLS]"}])
def test_a_longest_input_that_is_no_number_is_named(folder, longest, device):
    change_config(folder, "tokenizer_config.json", model_max_length=longest)
    with pytest.raises(ValueError, match="model_max_length = .*a whole number from 1 on was expected"):
        load_encoder(folder, device=device)


@pytest.mark.parametrize("device", ["auto", "cpu"])
def test_no_longest_input_is_none(folder, device):
    change_config(folder, "tokenizer_config.json", model_max_length=None)
    encoder = load_encoder(folder, device=device)
    assert encoder.max_tokens == encoder.config.max_position_embeddings


@pytest.mark.parametrize("file", ["vocab.txt", "added_tokens.json"])
def test_words_that_no_model_has_are_refused_before_they_are_read(folder, file):
    n = 900_000
    content = "a\n" * n if file.endswith("txt") else json.dumps({f"w{i}": i for i in range(n)})
    (folder / file).write_text(content)
    with pytest.raises(
        ValueError, match=rf"{file} holds .* (lines|values); of a model with .* words at most"
    ):
        load_encoder(folder)


@pytest.mark.parametrize("file", ["config.json", "vocab.txt", "tokenizer.json", "model.safetensors"])
def test_a_pipe_or_a_folder_in_place_of_a_file_is_refused_and_not_waited_for(folder, file):
    if not hasattr(os, "mkfifo"):
        pytest.skip("no pipes with names here")
    (folder / file).unlink(missing_ok=True)
    os.mkfifo(folder / file)
    with pytest.raises(
        ValueError, match=rf"{file} is a pipe or a device, where a file of the model was expected"
    ):
        load_encoder(folder)
    (folder / file).unlink()
    (folder / file).mkdir()
    with pytest.raises(ValueError, match=rf"{file} is a folder, where a file of the model was expected"):
        load_encoder(folder)


@pytest.mark.parametrize("file", ["config.json", "vocab.txt", "tokenizer.json"])
def test_a_gigabyte_of_settings_is_refused_before_it_is_read(folder, file):
    with open(folder / file, "wb") as sparse:
        sparse.truncate(10**9)  # takes no room on the disk
    with pytest.raises(ValueError, match=rf"{file} has 1,000 MB; .* at most 100 are read"):
        load_encoder(folder)


def test_weights_whose_header_is_said_to_be_endless_are_refused(folder):
    with open(folder / "model.safetensors", "r+b") as file:
        file.write((2**62).to_bytes(8, "little"))
    with pytest.raises(ValueError, match="cannot be loaded"):
        load_encoder(folder)


@pytest.mark.parametrize(
    "name, message", [("", "no model name"), ("bert base", "neither a folder nor a name")]
)
def test_what_is_no_name_is_refused(name, message):
    with pytest.raises(ValueError, match=message):
        load_encoder(name)


def test_a_file_is_not_a_folder(folder, monkeypatch):
    monkeypatch.chdir(folder)
    with pytest.raises(ValueError, match="is a file; a model is a folder"):
        load_encoder("config.json")


def test_a_hub_name_without_network_is_an_error_that_says_what_to_do(monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(
        ConnectionError, match="not in the local cache, and HF_HUB_OFFLINE forbids.*'specimen' needs neither"
    ):
        load_encoder("no-such-owner/no-such-model")
    with pytest.raises(ConnectionError, match=r"comes with the course: load_recording\('bert-base-cased'\)"):
        load_encoder("google-bert/bert-base-cased")
    with pytest.raises(ConnectionError, match="needs neither.$"):
        load_encoder("no-such-owner/bert-base-cased")  # another model of that name


def test_a_hub_name_when_the_network_fails_is_an_error_that_says_what_to_do(monkeypatch):
    import huggingface_hub
    from huggingface_hub import constants

    def no_network(name, local_files_only=False, **options):
        raise OSError(-2, "Name or service not known")

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", no_network)
    monkeypatch.setattr(folders, "_reach_hub", lambda: None)
    with pytest.raises(ConnectionError, match="could not be fetched from the hub.*resumes where it stopped"):
        load_encoder("no-such-owner/no-such-model")
    with pytest.raises(ConnectionError, match=r"load_recording\('bert-base-uncased'\)\.$"):
        load_encoder("bert-base-uncased")


def test_a_model_of_pictures_is_refused(folder):
    config = ViTConfig(
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        image_size=8,
        patch_size=4,
    )
    ViTModel(config).save_pretrained(folder)
    with pytest.raises(ValueError, match="has no vocabulary, so it does not read text"):
        load_encoder(folder)


def test_a_hub_that_takes_what_is_sent_and_never_answers_is_given_up(monkeypatch):
    import huggingface_hub
    from huggingface_hub import constants

    def cached_only(name, local_files_only=False, **options):
        assert local_files_only, "it would be tried for minutes"
        raise FileNotFoundError

    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setattr(huggingface_hub, "snapshot_download", cached_only)
        monkeypatch.setattr(folders, "HUB_SECONDS", 0.2)
        with pytest.raises(
            ConnectionError, match="could not be fetched from the hub: .*ime.*Check the network"
        ):
            load_encoder("no-such-owner/no-such-model")
    assert 2 * folders.HUB_SECONDS <= 10


def test_a_hub_model_in_the_cache_needs_no_network(folder, monkeypatch):
    import huggingface_hub

    asked = []

    def cached(name, local_files_only=False, **options):
        asked.append((name, local_files_only))
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", cached)
    assert load_encoder("someone/tiny").name == "someone/tiny"
    assert asked == [("someone/tiny", True)]


def test_a_device_that_is_not_there_is_refused(folder):
    with pytest.raises(ValueError, match="device 'nonsense' cannot be used here.*'auto' or 'cpu'"):
        load_encoder(folder, device="nonsense")


def test_loading_leaves_the_librarys_settings_as_they_were(folder):
    from transformers.utils import logging

    logging.set_verbosity_info()
    try:
        load_encoder(folder)
        assert logging.get_verbosity() == logging.INFO and logging.is_progress_bar_enabled()
    finally:
        logging.set_verbosity_warning()


# --- weights that would be read as another model's ------------------------------------------------------


@pytest.mark.parametrize("kind", ["relative_key", "relative_key_query"])
def test_relative_positions_are_refused(folder, kind):
    """transformers 5 reads such a BERT without them; its maps are then off by as much as 1."""
    change_config(folder, position_embedding_type=kind)
    with pytest.raises(ValueError, match=f"relative positions.*{kind}"):
        load_encoder(folder)


@pytest.mark.parametrize("prefix", ["", "bert."])
def test_weights_inside_the_encoder_that_nothing_reads_are_refused(folder, prefix):
    weights = {prefix + key: value for key, value in load_file(folder / "model.safetensors").items()}
    stray = f"{prefix}encoder.layer.0.attention.self.distance_embedding.weight"
    save_file(weights | {stray: torch.ones(3, 5)}, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ValueError, match="no place for.*distance_embedding"):
        load_encoder(folder)


def test_the_heads_of_pretraining_may_stay_out(folder):
    weights = {"bert." + key: value for key, value in load_file(folder / "model.safetensors").items()}
    others = {
        "cls.seq_relationship.weight": torch.ones(2, 10),
        "bert.embeddings.position_ids": torch.arange(32)[None],
    }
    save_file(weights | others, folder / "model.safetensors", metadata={"format": "pt"})
    assert load_encoder(folder).n_layers == LAYERS


def test_scores_handed_out_as_attention_are_refused(tmp_path):
    """SqueezeBERT of transformers gives what stands before the softmax."""
    groups = ("q", "k", "v", "post_attention", "intermediate", "output")
    shape = {"hidden_size": 12, "embedding_size": 12, "num_hidden_layers": 2, "num_attention_heads": 2}
    shape |= {f"{group}_groups": 1 for group in groups}
    squeeze = SqueezeBertConfig(vocab_size=len(wordpiece_tokenizer()), intermediate_size=16, **shape)
    AutoModel.from_config(squeeze).save_pretrained(tmp_path)
    wordpiece_tokenizer().save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="not weights: a row sums to"):
        load_encoder(tmp_path)


def test_a_tokenizer_that_pads_on_the_left_moves_no_word(folder):
    encoder, texts = load_encoder(folder), [["the", "cat", "sat", "on", "the", "mat"], ["a", "dog"]]
    alone = [next(iter(hidden_states(encoder, [words]))) for words in texts]
    encoder.tokenizer.padding_side = "left"
    for one, together in zip(alone, hidden_states(encoder, texts)):
        assert together == pytest.approx(one, abs=1e-5)


def test_a_model_that_is_read_twice_has_one_vocabulary_in_memory():
    one, twin = load_encoder("specimen"), load_encoder("specimen-random")
    assert one.tokenizer.backend_tokenizer is twin.tokenizer.backend_tokenizer
    assert one.tokenizer("We saw it.")["input_ids"] == twin.tokenizer("We saw it.")["input_ids"]
