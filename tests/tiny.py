"""Tiny models with random weights, made from a config of a few lines: no download, loads in a moment.

Sizes differ from one another (3 layers, 2 heads, 5 dimensions a head), so that a swapped axis cannot hide.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import (
    AlbertConfig,
    AutoModel,
    BertConfig,
    DistilBertConfig,
    ElectraConfig,
    PreTrainedTokenizerFast,
    RobertaConfig,
)

LAYERS, HEADS, HEAD_SIZE, MAX_TOKENS = 3, 2, 5, 32
WIDTH = HEADS * HEAD_SIZE
FAMILIES = ("bert", "roberta", "distilbert", "electra", "albert")
_WORDS = "the a cat dog sat on mat chased it was tired un ##real ##ly . , ' ? ! - [ ]"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def wordpiece_tokenizer() -> PreTrainedTokenizerFast:
    """A BERT tokenizer that knows a dozen words and every letter."""
    pieces = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *_WORDS.split(),
        *_LETTERS,
        *(f"##{c}" for c in _LETTERS),
    ]
    vocabulary = {piece: i for i, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
    )
    names = {
        "unk_token": "[UNK]",
        "pad_token": "[PAD]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=MAX_TOKENS, **names)


def byte_level_tokenizer() -> PreTrainedTokenizerFast:
    """A RoBERTa tokenizer without merges: every byte is a piece, a space before a word is the piece "Ġ"."""
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.BPE(vocabulary, [], unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    names = {
        "unk_token": "<unk>",
        "pad_token": "<pad>",
        "cls_token": "<s>",
        "sep_token": "</s>",
        "mask_token": "<mask>",
    }
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, **names
    )  # no limit of its own: the model's positions decide


def save_tiny_model(folder: Path, family: str = "bert", seed: int = 7, **changes) -> Path:
    """Write a tiny model of a family as a transformers folder; ``changes`` go into its config."""
    tokenizer = byte_level_tokenizer() if family == "roberta" else wordpiece_tokenizer()
    shape = {
        "vocab_size": len(tokenizer),
        "hidden_size": WIDTH,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "intermediate_size": 16,
        "max_position_embeddings": MAX_TOKENS,
        "initializer_range": 0.5,  # wide enough for attention to be far from uniform
    }
    if family == "bert":
        config = BertConfig(**{**shape, **changes})
    elif family == "roberta":
        shape.update(max_position_embeddings=MAX_TOKENS + 2, pad_token_id=1, type_vocab_size=1)
        config = RobertaConfig(**{**shape, **changes})
    elif family == "electra":
        config = ElectraConfig(**{**shape, "embedding_size": 6, **changes})
    elif family == "albert":
        config = AlbertConfig(**{**shape, "embedding_size": 6, **changes})
    elif family == "distilbert":
        config = DistilBertConfig(
            vocab_size=len(tokenizer), dim=WIDTH, n_layers=LAYERS, n_heads=HEADS, hidden_dim=16,
            max_position_embeddings=MAX_TOKENS, initializer_range=0.5, **changes,
        )  # fmt: skip
    else:
        raise ValueError(family)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = AutoModel.from_config(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def change_config(folder: Path, file: str = "config.json", /, **changes) -> None:
    """Edit the config.json of a saved model, or another of its JSON files."""
    path = folder / file
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
