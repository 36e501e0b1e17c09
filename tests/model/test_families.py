"""Every family of encoders in the table of docs/models.md, made small and random: what it says works, works; the rest is refused clearly."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny import wordpiece_tokenizer
from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM
from transformers.utils import logging

from bertlook_course.analyses.ablation import MaskedLM, score_batches, single_head_effects
from bertlook_teach.measures import attention_gradients, value_norms, value_zeroing
from bertlook_teach.model import extract_attention, load_encoder, output_projection, read

PAGE = Path(__file__).resolve().parents[2] / "docs" / "models.md"
TEXT = "the cat sat on the mat"
WIDTH = 12
SMALL = {"hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
SMALL |= {"max_position_embeddings": 64, "initializer_range": 0.5}
SMALL |= {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}

# What a family calls otherwise, or needs beside the usual.
OWN = {
    "distilbert": {"dim": WIDTH, "n_layers": 2, "n_heads": 2, "hidden_dim": 16},
    "electra": {"embedding_size": WIDTH},
    "albert": {"embedding_size": 6},
    "rembert": {"input_embedding_size": WIDTH, "output_embedding_size": WIDTH},
    "xmod": {"languages": ["en_XX"], "default_language": "en_XX"},
    "roformer": {"embedding_size": WIDTH},
    "modernbert": {"global_attn_every_n_layers": 1},
    "mobilebert": {"embedding_size": WIDTH, "intra_bottleneck_size": WIDTH, "true_hidden_size": WIDTH},
    "convbert": {"embedding_size": WIDTH, "head_ratio": 2},
    "luke": {"entity_vocab_size": 5, "entity_emb_size": 4},
    "squeezebert": {"embedding_size": WIDTH}
    | {f"{part}_groups": 1 for part in ("q", "k", "v", "post_attention", "intermediate", "output")},
    "longformer": {"attention_window": 4},
    "nystromformer": {"segment_means_seq_len": 8, "num_landmarks": 4},
    "gpt2": {"n_embd": WIDTH, "n_layer": 2, "n_head": 2, "n_positions": 64},
    "t5": {"d_model": WIDTH, "d_kv": 6, "num_layers": 2, "num_heads": 2, "d_ff": 16},
}


def norms(encoder):
    return value_norms(extract_attention(encoder, TEXT, vectors=True).values, output_projection(encoder))


def one_head_off(encoder):
    scorer = MaskedLM(encoder)
    return score_batches(scorer, scorer.encode([TEXT]), heads="1-1")[0]


def fast(encoder):
    scorer = MaskedLM(encoder)
    return single_head_effects(scorer, scorer.encode([TEXT])).losses


# The columns of the table, in its order.
MEASURES = {
    "maps": lambda encoder: extract_attention(encoder, TEXT).weights,
    "neuron view": lambda encoder: extract_attention(encoder, TEXT, vectors=True).queries,
    "norms": norms,
    "value zeroing": lambda encoder: value_zeroing(read(encoder, TEXT)),
    "gradients": lambda encoder: attention_gradients(read(encoder, TEXT)).signed,
    "head off": one_head_off,
    "each head off, fast": fast,
}


def table() -> dict[str, list[str]]:
    """The rows of docs/models.md: model type -> cells."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| `")]
    return {row[0].strip("`"): row[1:] for row in rows}


@pytest.fixture(scope="module")
def make(tmp_path_factory):
    """The folder of a small random model of a family, with its masked-LM head if the family has one."""

    def make(family: str):
        folder, tokenizer = tmp_path_factory.mktemp(family), wordpiece_tokenizer()
        tokenizer.model_max_length = 1000  # so that the model's positions are the limit
        config = AutoConfig.for_model(
            family, **{"vocab_size": len(tokenizer), **SMALL, **OWN.get(family, {})}
        )
        logging.set_verbosity_error()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(1)
            try:
                model = AutoModelForMaskedLM.from_config(config)
            except ValueError:  # no such head
                model = AutoModel.from_config(config)
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return folder

    return make


def test_the_table_has_a_column_for_each_measure():
    assert "| model type | " + " | ".join(MEASURES) + " |" in PAGE.read_text(encoding="utf-8")
    assert len(table()) >= 25


@pytest.mark.parametrize("family", table())
def test_what_the_table_says_is_so(family, make):
    cells = table()[family]
    if cells[0] == "refused":
        with pytest.raises(ValueError) as refusal:
            load_encoder(make(family), device="cpu")
        assert len(str(refusal.value)) > 60  # what came, and what to take instead
        return
    encoder = load_encoder(make(family), device="cpu")
    found = []
    for measure in MEASURES.values():
        try:
            assert np.isfinite(measure(encoder)).all()
            found.append("yes")
        except (ValueError, RuntimeError) as refusal:
            assert re.search(r"works?\b|BERT|masked-LM head|rotary positions|dropout", str(refusal)), refusal
            found.append("no")
    assert found == cells


@pytest.mark.parametrize("family", [name for name, cells in table().items() if cells[0] != "refused"])
def test_the_longest_input_is_read_to_its_last_position(family, make):
    encoder = load_encoder(make(family), device="cpu")
    longest = extract_attention(encoder, "a " * 200, truncate=True)
    assert longest.n_tokens == encoder.max_tokens and np.isfinite(longest.weights).all()
    assert encoder.max_tokens > SMALL["max_position_embeddings"] - 3
