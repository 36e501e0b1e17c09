"""The model that pretrain.py trains: its starting weights, its losses, its optimizer, and the folder it ends in."""

import json
import math
import re
import shutil
from pathlib import Path

import numpy as np
import pretrain_data as data
from pretrain_data import PretrainError

# --- model -------------------------------------------------------------------------------------------------------


def build_model(recipe, phase, *, vocab_size, seed):
    """A fresh BertForPreTraining with the recipe's starting weights.

    Three departures from the usual start (normal, sd .02, which suits width 768) let a narrow model leave the
    unigram plateau early: larger query and key weights, larger value and output weights, sinusoidal positions.
    """
    import torch
    from transformers import BertConfig, BertForPreTraining

    shape, init = recipe["model"], recipe["init"]
    torch.manual_seed(seed)
    model = BertForPreTraining(
        BertConfig(
            vocab_size=vocab_size,
            hidden_size=shape["width"],
            num_hidden_layers=phase["layers"],
            num_attention_heads=shape["heads"],
            intermediate_size=shape["feed_forward"],
            max_position_embeddings=shape["positions"],
            hidden_dropout_prob=phase["dropout"],
            attention_probs_dropout_prob=phase["attention_dropout"],
            attn_implementation="eager",  # torch's fused attention has no fast backward pass in bfloat16 on a processor
        )
    )
    with torch.no_grad():
        for layer in model.bert.encoder.layer:
            attention = layer.attention
            for projection in (attention.self.query, attention.self.key):
                projection.weight.normal_(0, init["query_key_sd"])
            for projection in (attention.self.value, attention.output.dense):
                projection.weight.normal_(0, init["value_output_sd"])
        position = torch.arange(float(shape["positions"]))[:, None]
        rate = torch.exp(
            torch.arange(0, shape["width"], 2) * (-math.log(init["position_period"]) / shape["width"])
        )
        table = torch.zeros(shape["positions"], shape["width"])
        table[:, 0::2], table[:, 1::2] = torch.sin(position * rate), torch.cos(position * rate)
        model.bert.embeddings.position_embeddings.weight.copy_(init["position_scale"] * table)
    return model


def stack_layers(weights, names, n_layers):
    """Weights for a deeper model: layer i starts as a copy of layer i mod ``n_layers`` (Gong et al., 2019)."""

    def source(name):
        return re.sub(r"\.layer\.(\d+)\.", lambda m: f".layer.{int(m[1]) % n_layers}.", name)

    return {name: weights[source(name)].clone() for name in names}


def make_optimizer(model, recipe):
    """AdamW, with weight decay on matrices only; returns it and the names of its parameters in its order."""
    import torch

    settings = recipe["optimizer"]
    matrices = [(name, p) for name, p in model.named_parameters() if p.ndim >= 2]
    others = [(name, p) for name, p in model.named_parameters() if p.ndim < 2]
    optimizer = torch.optim.AdamW(
        [
            {"params": [p for _, p in matrices], "weight_decay": settings["weight_decay"]},
            {"params": [p for _, p in others], "weight_decay": 0.0},
        ],
        lr=0.0,
        betas=(settings["beta1"], settings["beta2"]),
        eps=settings["epsilon"],
        fused=True,
    )
    return optimizer, [name for name, _ in matrices + others]


def forward(model, batch, masked, targets, device, precision):
    """Logits of the masked positions and of the next-sentence question, with their right answers.

    The model's own layers do all of it; only the masked positions are asked for a word, which `BertForPreTraining` asks of all.
    """
    import torch

    ids, segments, is_random = batch
    given = (ids != data.PAD, masked, segments, targets, is_random)
    seen, masked, segments, targets, is_random = (
        torch.from_numpy(np.ascontiguousarray(array)).to(device) for array in given
    )
    chosen = targets != data.NOT_A_TARGET
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bfloat16"):
        output = model.bert(masked, attention_mask=seen.long(), token_type_ids=segments)
        words = model.cls.predictions(output.last_hidden_state[chosen])
        order = model.cls.seq_relationship(output.pooler_output)
    return words.float(), targets[chosen], order.float(), is_random


def losses(words, gold, order, is_random):
    """Masked-LM and next-sentence cross-entropy, in nats; a batch without a masked token counts 0."""
    from torch.nn.functional import cross_entropy

    masked_lm = cross_entropy(words, gold) if len(gold) else words.sum() * 0
    return masked_lm, cross_entropy(order, is_random)


# --- machine -----------------------------------------------------------------------------------------------------


def choose_device(name):
    """The torch device asked for; "auto" takes a GPU if there is one."""
    import torch

    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda" and not torch.cuda.is_available():
        raise PretrainError("--device cuda was asked for, but torch sees no GPU; use --device cpu")
    return torch.device(name)


def choose_precision(name, device):
    """ "float32" or "bfloat16"; "auto" takes bfloat16 where the hardware computes in it (there it is about twice as fast)."""
    import torch

    if name != "auto":
        return name
    if device.type == "cuda":
        return "bfloat16" if torch.cuda.is_bf16_supported() else "float32"
    try:  # Linux; elsewhere float32 is the safe answer
        flags = Path("/proc/cpuinfo").read_text()
    except OSError:
        return "float32"
    return "bfloat16" if re.search(r"\b(avx512_bf16|amx_bf16)\b", flags) else "float32"


# --- files ---------------------------------------------------------------------------------------------------------


def save_model(model, tokenizer_folder, out):
    """Write an ordinary transformers folder in half precision, with nothing in its config that is not needed."""
    import torch
    from safetensors.torch import save_file

    out.mkdir(parents=True, exist_ok=True)
    c = model.config
    config = {
        "architectures": ["BertForPreTraining"],
        "attention_probs_dropout_prob": c.attention_probs_dropout_prob,
        "dtype": "float16",
        "hidden_act": c.hidden_act,
        "hidden_dropout_prob": c.hidden_dropout_prob,
        "hidden_size": c.hidden_size,
        "initializer_range": c.initializer_range,
        "intermediate_size": c.intermediate_size,
        "layer_norm_eps": c.layer_norm_eps,
        "max_position_embeddings": c.max_position_embeddings,
        "model_type": "bert",
        "num_attention_heads": c.num_attention_heads,
        "num_hidden_layers": c.num_hidden_layers,
        "pad_token_id": data.PAD,
        "tie_word_embeddings": True,
        "type_vocab_size": c.type_vocab_size,
        "vocab_size": c.vocab_size,
    }
    (out / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    weights = {
        n: p.detach().to("cpu", torch.float16).clone().contiguous() for n, p in model.named_parameters()
    }
    if any(not torch.isfinite(w).all() for w in weights.values()):
        raise PretrainError(
            "a weight is infinite or not a number in half precision; the model was not written"
        )
    save_file(weights, out / "model.safetensors", metadata={"format": "pt"})
    (out / "model.safetensors").chmod(0o644)  # safetensors writes files that only their owner can read
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        if (tokenizer_folder / name).resolve() != (out / name).resolve():
            shutil.copyfile(tokenizer_folder / name, out / name)


def require_model(folder):
    """Refuse a folder that is no model folder, saying what it lacks."""
    for name in ("model.safetensors", "vocab.txt"):
        if not (folder / name).is_file():
            raise PretrainError(f"--init: {folder} has no {name}; name a folder that --out wrote")


def load_weights(folder):
    """A model folder's weights as a checkpoint has them, in single precision and without optimizer state."""
    from safetensors.torch import load_file

    require_model(folder)
    return {f"model/{name}": w.float() for name, w in load_file(folder / "model.safetensors").items()}


def save_tokenizer(tokenizer, folder, *, positions):
    """tokenizer.json, vocab.txt and tokenizer_config.json, as transformers expects them."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save_model(str(folder))
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "cls_token": "[CLS]",
        "do_lower_case": True,
        "mask_token": "[MASK]",
        "model_max_length": positions,
        "pad_token": "[PAD]",
        "sep_token": "[SEP]",
        "tokenizer_class": "BertTokenizer",
        "unk_token": "[UNK]",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
