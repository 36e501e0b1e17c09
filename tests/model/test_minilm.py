"""all-MiniLM-L6-v2 with 8 bits a weight: the shipped file, how it is made, and what is refused."""

import hashlib
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from bertlook_teach import extract_attention, load_encoder
from bertlook_teach.disk import data_path
from bertlook_teach.model.numpy_bert import SCALE

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "training"))
import quantise_minilm as tool

DIGEST = "9095de9cd583aab92c4cc0d1b4df9bff420f30fbf9639cd4e14b9f1146719c42"  # of the shipped weights
FLOAT32 = Path(__file__).with_name(
    "minilm_float32.npz"
)  # attention of the published weights, in half precision


@pytest.fixture(scope="module")
def minilm():
    return load_encoder("minilm")


def test_the_shipped_file_is_the_one_that_was_measured():
    folder = data_path("minilm")
    assert hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest() == DIGEST
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 26.5e6
    assert {"LICENSE", "NOTICE", "MODEL_CARD.md"} <= {path.name for path in folder.iterdir()}
    assert tool.DIGEST in (folder / "NOTICE").read_text(encoding="utf-8")


def test_its_attention_is_that_of_the_published_weights(minilm):
    with np.load(FLOAT32) as float32:
        assert len(float32.files) == 2
        for text in float32.files:
            found, expected = extract_attention(minilm, text).weights, float32[text].astype(np.float32)
            assert np.abs(found - expected).max() <= 0.03
            assert (found.argmax(-1) == expected.argmax(-1)).mean() > 0.98


def test_torch_gets_the_same_weights(minilm):
    text = "The keeper lit the lamp, and the ships came home."
    by_torch = load_encoder("minilm", device="cpu")
    assert minilm.engine is not None and by_torch.engine is None
    assert by_torch.fingerprint == minilm.fingerprint
    close = np.abs(extract_attention(by_torch, text).weights - extract_attention(minilm, text).weights)
    assert close.max() < 3e-5


def test_its_twin_looks_nowhere(minilm):
    twin = load_encoder("minilm-random")
    weights = extract_attention(twin, "The keeper lit the lamp, and the ships came home.").weights
    assert twin.name == "minilm-random" and weights.shape[:2] == (6, 12)
    assert weights.max() < 2 / weights.shape[-1]


def test_a_group_of_weights_is_rounded_by_half_a_step_at_most():
    weights = np.random.default_rng(1).normal(size=(5, 96)).astype(np.float32)
    weights[2, 32:64] = 0  # a group without a scale of its own
    saved = tool.quantised("encoder.layer.0.output.dense.weight", weights)
    integers, scale = (
        saved["encoder.layer.0.output.dense.weight"],
        saved["encoder.layer.0.output.dense.weight" + SCALE],
    )
    assert (integers.dtype, scale.dtype, scale.shape) == (np.int8, np.float16, (5, 3))
    again = integers.reshape(5, 3, 32) * scale[:, :, None].astype(np.float32)
    step = np.repeat(scale.astype(np.float32), 32, axis=1)
    assert (np.abs(again.reshape(5, 96) - weights) <= 0.51 * step + 1e-6).all()
    [(_, kept)] = tool.quantised("encoder.layer.0.attention.self.query.weight", weights).items()
    assert kept.dtype == np.float16


def test_another_copy_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"has no model.safetensors, config.json"):
        tool.read_copy(tmp_path)
    shutil.copytree(data_path("minilm"), tmp_path / "ours")  # right in all but its weights
    with pytest.raises(ValueError, match=f"published weights have {tool.DIGEST}"):
        tool.read_copy(tmp_path / "ours")


@pytest.fixture
def copy(tmp_path):
    return Path(shutil.copytree(data_path("minilm"), tmp_path / "copy"))


def change(folder, **tensors):
    """Tensors of the folder replaced; None takes one away."""
    weights = load_file(folder / "model.safetensors") | tensors
    save_file({name: w for name, w in weights.items() if w is not None}, folder / "model.safetensors")


MATRIX = "encoder.layer.0.output.dense.weight"


@pytest.mark.parametrize("device", ["auto", "cpu"])
def test_8_bit_weights_without_their_scales_are_refused(copy, device):
    change(copy, **{MATRIX + SCALE: None})
    with pytest.raises(ValueError, match=r"dense.weight.scale.*no such tensor.*float16 or float32"):
        load_encoder(copy, device=device)
    change(copy, **{MATRIX + SCALE: np.ones((384, 7), np.float16)})
    with pytest.raises(ValueError, match=r"found shape \(384, 7\) for \(384, 1536\)"):
        load_encoder(copy, device=device)


@pytest.mark.parametrize("device", ["auto", "cpu"])
def test_8_bit_weights_of_another_model_are_refused(copy, device):
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 5}))
    with pytest.raises(ValueError, match="in 8 bits or fewer. That works only for a plain BERT"):
        load_encoder(copy, device=device)


def test_a_file_that_is_cut_is_refused(copy):
    weights = copy / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    with pytest.raises(ValueError, match="damaged or cut short|in 8 bits"):
        load_encoder(copy)
