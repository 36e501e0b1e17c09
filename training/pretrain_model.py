"""The model that pretrain.py trains: its starting weights, its losses, its optimizers, and the folder it ends in."""

import functools
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


def make_optimizers(model, recipe):
    """AdamW for everything, or Muon for the matrices inside the layers and AdamW for the rest.

    Muon (Jordan et al., 2024) steps along the orthogonalised momentum of a matrix; its step is scaled to the size
    of AdamW's, times ``muon_scale``. Weight decay is on matrices only. Returns {name: (optimizer, parameter names)}.
    """
    import torch

    o = recipe["optimizer"]
    inner = (
        {n for n, p in model.named_parameters() if p.ndim == 2 and ".layer." in n}
        if o["muon_scale"]
        else set()
    )
    groups = {"inner": [], "matrices": [], "others": []}
    for name, parameter in model.named_parameters():
        where = "inner" if name in inner else "matrices" if parameter.ndim >= 2 else "others"
        groups[where].append((name, parameter))

    def group(where, decay):
        return {"params": [p for _, p in groups[where]], "weight_decay": decay}

    optimizers = {}
    adamw = torch.optim.AdamW(
        [group("matrices", o["weight_decay"]), group("others", 0.0)],
        lr=0.0,
        betas=(o["beta1"], o["beta2"]),
        eps=o["epsilon"],
        fused=True,
    )
    optimizers["adamw"] = adamw, [n for n, _ in groups["matrices"] + groups["others"]]
    if inner:
        if not hasattr(torch.optim, "Muon"):
            raise PretrainError(
                f"muon_scale needs torch 2.9 or newer (this is {torch.__version__}); set it to 0"
            )
        muon = torch.optim.Muon([group("inner", o["weight_decay"])], lr=0.0, adjust_lr_fn="match_rms_adamw")
        optimizers["muon"] = muon, [n for n, _ in groups["inner"]]
    return optimizers


def _attention(model, layer, x, allowed):
    """One layer's attention output before its dense layer, (batch, token, width); ``allowed`` (batch, 1, 1, token) is bool."""
    import torch

    s = layer.attention.self
    batch, length, width = x.shape
    query, key, value = (
        part(x).view(batch, length, -1, s.attention_head_size).transpose(1, 2)
        for part in (s.query, s.key, s.value)
    )
    dropout = model.config.attention_probs_dropout_prob if model.training else 0.0
    if x.device.type == "cpu" and query.dtype == torch.bfloat16:
        # torch's fused attention has no fast backward pass in bfloat16 on a processor: it takes a third of the step
        scores = query @ key.transpose(-1, -2) / math.sqrt(s.attention_head_size)
        weights = scores.masked_fill(~allowed, torch.finfo(scores.dtype).min).softmax(-1)
        out = torch.nn.functional.dropout(weights, dropout) @ value
    else:
        out = torch.nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask=allowed, dropout_p=dropout
        )
    return out.transpose(1, 2).reshape(batch, length, width)


def forward(model, batch, masked, targets, device, precision):
    """Logits of the masked positions and of the next-sentence question, with their right answers.

    The same numbers as ``BertForPreTraining`` gives (a test compares them), with less work: the last layer is computed only
    from its attention on, and after that only at [CLS] and at the masked positions, as nothing else is asked of it.
    """
    import torch

    ids, segments, is_random = batch
    length = ids.shape[1]
    allowed = torch.from_numpy(ids != data.PAD)[:, None, None, :].to(device)
    chosen = np.flatnonzero(targets.ravel() != data.NOT_A_TARGET)
    # A matrix product of a new shape is compiled first, which takes a tenth of a step: so the number of rows is a multiple of 64,
    # and those that are too many ([CLS] once more) have no target.
    chosen = np.concatenate([chosen, np.zeros(-len(chosen) % 64, chosen.dtype)])
    wanted = torch.from_numpy(np.concatenate([np.arange(len(ids)) * length, chosen])).to(device)
    gold = torch.from_numpy(targets.ravel()[chosen]).to(device)
    masked, segments, is_random = (
        torch.from_numpy(np.ascontiguousarray(x)).to(device) for x in (masked, segments, is_random)
    )
    bert, words = model.bert, model.cls.predictions
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bfloat16"):
        x = bert.embeddings(input_ids=masked, token_type_ids=segments)
        for layer in bert.encoder.layer:
            seen = _attention(model, layer, x, allowed)
            if layer is bert.encoder.layer[-1]:
                seen, x = seen.flatten(0, 1)[wanted], x.flatten(0, 1)[wanted]
            x = layer.attention.output(seen, x)
            x = layer.output(layer.intermediate(x), x)
        order = model.cls.seq_relationship(torch.tanh(bert.pooler.dense(x[: len(ids)])))
        logits = words(x[len(ids) :])
    return logits, gold, order.float(), is_random


def losses(words, gold, order, is_random):
    """Masked-LM and next-sentence cross-entropy, in nats; a batch without a masked token counts 0."""
    from torch.nn.functional import cross_entropy

    if not (gold != data.NOT_A_TARGET).any():
        masked_lm = words.float().sum() * 0
    elif words.device.type == "cpu":
        masked_lm = _row_cross_entropy()(words, gold)
    else:
        masked_lm = cross_entropy(words.float(), gold, ignore_index=data.NOT_A_TARGET)
    return masked_lm, cross_entropy(order, is_random)


@functools.cache
def _row_cross_entropy():
    """torch's cross-entropy for a processor: some rows at a time, so that they stay in its cache, and the gradient with them.

    torch's own makes five arrays of all logits in single precision, 40 MB each for a batch, and a quarter of a step goes into memory.
    """
    import torch

    class RowCrossEntropy(torch.autograd.Function):
        rows = 16

        @staticmethod
        def forward(ctx, logits, gold):
            total, gradient = 0.0, torch.empty_like(logits)
            counts = gold != data.NOT_A_TARGET
            n = int(counts.sum())
            for start in range(0, len(logits), RowCrossEntropy.rows):
                part = slice(start, start + RowCrossEntropy.rows)
                scores, right = logits[part].float(), gold[part, None].clamp(min=0)
                scores -= scores.amax(1, keepdim=True)
                of_right = scores.gather(1, right)
                shares = scores.exp_()
                sums = shares.sum(1, keepdim=True)
                total += float((sums.log() - of_right)[counts[part]].sum())
                shares /= sums
                shares.scatter_add_(1, right, shares.new_full((1, 1), -1.0).expand(len(right), 1))
                gradient[part] = shares.mul_(counts[part, None] / n)
            ctx.save_for_backward(gradient)
            return torch.tensor(total / n)

        @staticmethod
        def backward(ctx, upstream):
            (gradient,) = ctx.saved_tensors
            return gradient if upstream == 1 else gradient * upstream, None

    return RowCrossEntropy.apply


def heldout_scores(model, corpus, phase, *, seed, vocab_size, device, precision, documents=100):
    """Masked-LM loss and accuracy and next-sentence accuracy on documents never trained on (same cut every time)."""
    import torch

    rng = np.random.default_rng([seed, 4])
    instances = []
    for document in corpus.heldout[:documents]:
        instances += data.document_instances(corpus, document, corpus.heldout, phase["length"], rng)
    if not instances:
        return None
    instances = sorted(instances, key=lambda i: len(i[0]))[:: max(1, len(instances) // 512)]
    was_training = model.training
    model.eval()
    loss = hits = n = nsp_hits = 0
    with torch.no_grad():
        for i in range(0, len(instances), phase["batch"]):
            batch = data.pad_batch(instances[i : i + phase["batch"]])
            masked, targets = data.mask_tokens(batch[0], vocab_size=vocab_size, rng=rng)
            words, gold, order, is_random = forward(model, batch, masked, targets, device, precision)
            n_targets = int((gold != data.NOT_A_TARGET).sum())
            loss += losses(words, gold, order, is_random)[0].item() * n_targets
            hits, n = hits + int((words.argmax(-1) == gold).sum()), n + n_targets
            nsp_hits += int((order.argmax(-1) == is_random).sum())
    model.train(was_training)
    return {"mlm_loss": loss / n, "mlm_accuracy": hits / n, "nsp_accuracy": nsp_hits / len(instances)}


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


def keep_memory():
    """Ask the C library to keep what is freed. A step frees and takes the same large arrays; new pages cost a quarter of it.

    On Linux with glibc; elsewhere nothing happens.
    """
    import ctypes

    mmap_max, trim_threshold, top_pad = -4, -1, -2  # malloc.h
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(mmap_max, 0)
    mallopt(trim_threshold, 2**31 - 1)
    mallopt(top_pad, 2**29)


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
