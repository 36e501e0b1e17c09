"""What stands around a model and says nothing about it: settings of torch, settings saved with it, a limit that is none."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny import change_config, save_tiny_model, wordpiece_tokenizer
from transformers import (
    AutoModelForMaskedLM,
    BigBirdConfig,
    BigBirdModel,
    XLNetConfig,
    XLNetModel,
)

from bertlook_course.analyses.ablation import MaskedLM, head_importance, layer_effects, score_batches
from bertlook_course.analyses.probing import hidden_states
from bertlook_teach import extract_attention, load_encoder
from bertlook_teach.measures import attention_gradients, value_zeroing
from bertlook_teach.model import random_twin, read

TEXT = "the cat sat"


@contextlib.contextmanager
def default_dtype(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


AROUND = {
    "float64 by default": lambda: default_dtype(torch.float64),
    "bfloat16 by default": lambda: default_dtype(torch.bfloat16),
    "inference_mode": torch.inference_mode,
    "no_grad": torch.no_grad,
}


def numbers(folder) -> list[np.ndarray]:
    """What everything that is taken of a model gives; loaded here, whatever stands around."""
    encoder = load_encoder(folder, device="cpu")
    reading, scorer = read(encoder, TEXT), MaskedLM(encoder)
    batches = scorer.encode([TEXT])
    return [
        extract_attention(encoder, TEXT, vectors=True).weights,
        value_zeroing(reading),
        attention_gradients(reading).signed,
        score_batches(scorer, batches, heads="1-1")[0],
        layer_effects(scorer, batches, how="uniform").losses,
        np.asarray(head_importance(scorer, batches).raw),
        next(iter(hidden_states(encoder, [TEXT.split()]))),
        extract_attention(random_twin(encoder), TEXT).weights,
    ]


@pytest.fixture(params=["bert", "roberta"])
def folder(request, tmp_path):
    folder = save_tiny_model(tmp_path / "tiny", request.param)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        AutoModelForMaskedLM.from_pretrained(folder).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("name", AROUND)
def test_settings_of_torch_change_no_number(folder, name):
    expected = numbers(folder)
    with AROUND[name]():
        before = torch.get_default_dtype(), torch.is_inference_mode_enabled()
        found = numbers(folder)
        assert before == (torch.get_default_dtype(), torch.is_inference_mode_enabled())
    for one, other in zip(found, expected, strict=True):
        assert one == pytest.approx(other, abs=1e-5)


def test_answers_saved_without_names_change_no_number(folder):
    expected = numbers(folder)
    change_config(folder, return_dict=False)
    for one, other in zip(numbers(folder), expected, strict=True):
        assert one == pytest.approx(other, abs=1e-6)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.float8_e4m3fn])
@pytest.mark.parametrize("file", ["model.safetensors", "model-00001-of-00001.safetensors"])
def test_weights_without_what_scales_them_are_refused(folder, dtype, file):
    weights = load_file(folder / "model.safetensors")
    name = next(name for name in weights if name.endswith("query.weight"))
    (folder / "model.safetensors").unlink()
    save_file(weights | {name: weights[name].to(dtype)}, folder / file, metadata={"format": "pt"})
    with pytest.raises(ValueError, match=r"8.bit.* Use the model in float16 or float32"):
        load_encoder(folder)


def test_a_quantized_model_is_refused_as_such(folder):
    change_config(folder, quantization_config={"quant_method": "gptq", "bits": 4})
    with pytest.raises(ValueError, match="weights in 8 bits or fewer.* Use the model in float16 or float32"):
        load_encoder(folder)


def _saved(model, folder, tokenizer):
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return load_encoder(folder)


def test_big_bird_reads_what_it_reads_in_full_and_no_more(tmp_path):
    tokenizer = wordpiece_tokenizer()
    tokenizer.model_max_length = 1000
    small = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    config = BigBirdConfig(
        vocab_size=len(tokenizer),
        **small,
        max_position_embeddings=96,
        block_size=4,
        num_random_blocks=1,
        initializer_range=0.5,
    )
    assert config.attention_type == "block_sparse", "as it is saved"
    model = BigBirdModel(config)
    encoder = _saved(model, tmp_path, tokenizer)
    assert encoder.max_tokens == (5 + 2) * 4
    full = extract_attention(encoder, "a " * 90, truncate=True)
    model.set_attn_implementation("eager")
    model.eval()
    ids = tokenizer("a " * 26, return_tensors="pt")
    model(**ids)  # the first short text makes it look at all tokens; the attention comes with the next
    with torch.no_grad():
        expected = torch.cat(model(**ids, output_attentions=True).attentions).numpy()
    assert full.weights == pytest.approx(expected, abs=1e-5)
    with pytest.raises(ValueError, match="reads at most 28"):
        extract_attention(encoder, "a " * 90)
    assert load_encoder(model, tokenizer).max_tokens == 28


def test_a_model_without_a_limit_has_that_of_its_tokenizer_or_none(tmp_path):
    tokenizer = wordpiece_tokenizer()
    tokenizer.model_max_length = int(1e30)
    config = XLNetConfig(
        vocab_size=len(tokenizer), n_layer=2, n_head=2, d_model=12, d_inner=16, pad_token_id=0
    )
    encoder = _saved(XLNetModel(config), tmp_path, tokenizer)
    assert "any number of tokens" in repr(encoder)
    assert extract_attention(encoder, "cat " * 80).n_tokens == 82
    change_config(tmp_path, "tokenizer_config.json", model_max_length=40)
    assert load_encoder(tmp_path).max_tokens == 40
