"""Heads removed for good: a smaller and faster model with the same answers as the masked one (Michel et al. 2019, section 5).

Switching a head off saves nothing: its queries, keys and values are computed and then multiplied by 0. Here the rows of W_Q, W_K and W_V
and the columns of W_O that belong to it are cut out. Layers may end up with different numbers of heads, or with none: then only
the output bias is left of the layer's attention, which is exactly what masking all its heads leaves.

A pruned folder is *not* a transformers folder: no class of transformers can hold layers of different size. So that nobody
loads it there by accident and gets random weights, its ``config.json`` names a model type that transformers does not know, and its
weights do not lie under the name that transformers looks for. Both make it fail with an error.
"""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...disk import writable_folder, write_file, write_json
from ...model import attention_blocks, head_label, import_torch
from .heads_off import read_heads

if TYPE_CHECKING:
    from ...model import Encoder, PrunedEncoder
    from ..finetuning import Classifier

RECORD, WEIGHTS = "bertlook_pruned.json", "pruned.safetensors"

FORMAT = 1

_NAMES = ("query", "key", "value"), ("q_lin", "k_lin", "v_lin")


def prune(encoder: Encoder, heads, *, allow_all: bool = False) -> PrunedEncoder:
    """A copy of the encoder without some heads; the encoder itself stays as it is.

    Parameters
    ----------
    encoder : Encoder
        BERT, RoBERTa, ELECTRA, DistilBERT and the like; also one that was pruned before, whose heads keep their first names.
    heads : str or iterable
        As :func:`~bertlook_teach.analyses.ablation.read_heads` takes them.
    allow_all : bool
        Allow that no head is left in the whole model.

    Returns
    -------
    PrunedEncoder

    Raises
    ------
    ValueError
        If no head or all heads are named, a head does not exist, was pruned before or is named twice, or the layers share one block
        (ALBERT: to prune a head of one layer would prune it in all).
    """
    pairs = read_heads(heads, encoder)
    if not pairs:
        raise ValueError("no head was named, so there is nothing to prune.")
    before = tuple(getattr(encoder, "off", ()))
    if twice := sorted(set(pairs) & set(before)):
        raise ValueError(
            f"head {', '.join(head_label(*pair) for pair in twice)} of {encoder.name} is pruned already; heads keep the names they had "
            f"before pruning. Gone are: {_named(before)}."
        )
    off = tuple(sorted({*pairs, *before}))
    if len(off) == encoder.n_layers * encoder.n_heads and not allow_all:
        raise ValueError(
            f"all {len(off)} heads of {encoder.name} would be gone, and no token could see another. Leave at least one, or say "
            "allow_all=True if that is the experiment."
        )
    if not before:
        blocks = [block.module for block in attention_blocks(encoder)]
        if len(set(blocks)) < len(blocks):
            raise ValueError(
                f"the layers of {encoder.name} ({encoder.model.config.model_type}) share one block, so a head cannot be removed from one layer "
                "alone. Mask it instead: ablated(encoder, heads)."
            )
    model = copy.deepcopy(encoder.model)
    pruned = _wrapped(encoder, model, off, getattr(encoder, "original", "") or encoder.name)
    old = encoder.kept if before else [list(range(encoder.n_heads))] * encoder.n_layers
    _cut(_attention_modules(model), old, pruned.kept, encoder.head_size, weights=True)
    return pruned


def prune_classifier(classifier: Classifier, heads, *, allow_all: bool = False) -> Classifier:
    """A classifier without some heads, its encoder a :class:`PrunedEncoder`; the classifier itself stays as it is.

    Raises as :func:`prune`. ``Classifier.save`` would write a folder that nothing can read; use :func:`save_pruned` for the encoder.
    """
    encoder = prune(classifier.encoder, heads, allow_all=allow_all)
    model = copy.copy(classifier.model)  # shallow: the trained head is shared, the encoder replaced
    model._modules = dict(classifier.model._modules)
    setattr(model, classifier.model.base_model_prefix, encoder.model)
    return replace(classifier, encoder=encoder, model=model)


def _wrapped(encoder: Encoder, model, off, original: str) -> PrunedEncoder:
    from ...model import PrunedEncoder

    return PrunedEncoder(
        f"{original} pruned", model, encoder.tokenizer, encoder.device, off=off, original=original
    )


def _named(off) -> str:
    return " ".join(head_label(*pair) for pair in off) or "none"


def _attention_modules(model) -> list[tuple[Any, Any, tuple[str, str, str]]]:
    """Of each layer: the module with the three projections, their names, and the output projection."""
    found = []
    for module in model.modules():
        for names in _NAMES:
            if all(hasattr(module, name) for name in names):
                found.append((module, names))
    outputs = [
        m for path, m in model.named_modules() if path.endswith((".attention.output.dense", ".out_lin"))
    ]
    if len(found) != len(outputs):
        raise ValueError(
            f"{model.config.model_type}: {len(found)} sets of queries, keys and values for {len(outputs)} output projections; BERT, RoBERTa, "
            "ELECTRA and DistilBERT can be pruned."
        )
    return [(module, output, names) for (module, names), output in zip(found, outputs)]


def _cut(parts, old, new, size: int, *, weights: bool) -> None:
    """Leave only the rows and columns of the heads in ``new``; without ``weights`` the shapes alone are made."""
    torch = import_torch()

    for (module, output, names), had, keep in zip(parts, old, new):
        if had == keep:
            continue
        places = [had.index(head) for head in keep]
        rows = (torch.tensor(places, dtype=torch.long)[:, None] * size + torch.arange(size)).flatten()
        for name in names:
            linear = getattr(module, name)
            _set(
                linear,
                linear.weight.detach()[rows.to(linear.weight.device)],
                linear.bias.detach()[rows.to(linear.weight.device)],
            )
        _set(output, output.weight.detach()[:, rows.to(output.weight.device)], output.bias.detach())
        for attribute in ("num_attention_heads", "n_heads"):
            if hasattr(module, attribute):
                setattr(module, attribute, len(keep))
        if hasattr(module, "all_head_size"):
            module.all_head_size = len(keep) * size
        if not keep:
            _without_heads(module)


def _set(linear, weight, bias) -> None:
    torch = import_torch()

    linear.weight, linear.bias = torch.nn.Parameter(weight.clone()), torch.nn.Parameter(bias.clone())
    linear.out_features, linear.in_features = weight.shape


def _without_heads(module) -> None:
    """A self-attention without heads: it gives nothing, and the output projection adds its bias to that."""

    def forward(self, hidden_states, *args, **options):
        batch, tokens, _ = hidden_states.shape
        nothing = hidden_states.new_zeros(batch, tokens, 0)
        output = self.out_lin(nothing) if hasattr(self, "out_lin") else nothing
        return output, hidden_states.new_zeros(batch, 0, tokens, tokens)

    base = type(module)
    # A class of its own and not a changed method, so that copies of the model keep it.
    module.__class__ = type(f"{base.__name__}WithoutHeads", (base,), {"forward": forward})


# --- files ---------------------------------------------------------------------------------------------
def save_pruned(encoder: PrunedEncoder, folder: str | Path) -> Path:
    """Write the pruned model: weights (safetensors), which heads are gone (JSON), configuration, tokenizer.

    :func:`load_pruned` reads it; transformers refuses it.

    Raises
    ------
    TypeError
        If nothing was pruned.
    OSError
        If the folder cannot be written to.
    """
    from ...model import PRUNED_TYPE, PrunedEncoder, quiet_loading

    if not isinstance(encoder, PrunedEncoder):
        raise TypeError(
            f"{getattr(encoder, 'name', encoder)!r} is not pruned; prune(encoder, heads) first, or save it with model.save_pretrained."
        )
    from safetensors.torch import save

    folder = writable_folder(folder)
    state = {
        name: tensor.detach().cpu().contiguous().clone()
        for name, tensor in encoder.model.state_dict().items()
    }
    # Also in the weights' own file: heads 1-1 and 1-2 have the same shape, so a changed record would not show.
    note = {"format": "pt", "pruned heads": _named(encoder.off)}
    write_file(folder / WEIGHTS, save(state, metadata=note))
    with quiet_loading():
        encoder.tokenizer.save_pretrained(folder)
    config = encoder.model.config.to_dict()
    record = {
        "format": FORMAT,
        "original": encoder.original,
        "pruned heads": [head_label(*pair) for pair in encoder.off],
        "heads left in each layer": [len(heads) for heads in encoder.kept],
        "fingerprint": encoder.fingerprint,
        "config": config,
    }
    write_json(folder / RECORD, record)
    write_json(
        folder / "config.json",
        {
            "model_type": PRUNED_TYPE,
            "note": f"A {config['model_type']} model with heads removed, which transformers cannot hold; open it with "
            "bertlook_teach.analyses.ablation.load_pruned.",
        },
    )
    return folder


def load_pruned(folder: str | Path, *, device: str = "auto") -> PrunedEncoder:
    """A model written by :func:`save_pruned`, in evaluation mode.

    Raises
    ------
    FileNotFoundError
        If the folder or one of its files is missing.
    ValueError
        If the files do not belong together: other heads are listed than were cut, or the weights changed.
    """
    torch = import_torch()
    from safetensors import safe_open
    from safetensors.torch import load_file
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    from ...model import Encoder, choose_device, quiet_loading

    folder, chosen = Path(folder), choose_device(device)
    for name in (RECORD, WEIGHTS):
        if not (folder / name).is_file():
            raise FileNotFoundError(
                f"{folder} is not a folder of a pruned model: it holds no {name}. save_pruned(encoder, folder) writes one; an ordinary model is "
                "opened with load_encoder."
            )
    record = _read_record(folder / RECORD)
    config = dict(record["config"])
    try:
        settings = AutoConfig.for_model(config.pop("model_type"), **config)
        with torch.random.fork_rng(devices=[]), quiet_loading():
            model = AutoModel.from_config(settings, attn_implementation="eager").float().eval()
            tokenizer = AutoTokenizer.from_pretrained(
                folder, local_files_only=True, trust_remote_code=False, config=settings
            )
        state = load_file(folder / WEIGHTS)
        with safe_open(folder / WEIGHTS, framework="pt") as file:
            cut = (file.metadata() or {}).get("pruned heads", "")
    except Exception as error:  # several libraries, a dozen kinds
        raise ValueError(
            f"the pruned model in {folder} cannot be read: {error}. Is a file damaged?"
        ) from error
    whole = Encoder(record["original"], model, tokenizer, torch.device("cpu"))
    off = read_heads(record["pruned heads"], whole)
    if not any("pooler" in name for name in state) and getattr(model, "pooler", None) is not None:
        model.pooler = None
    pruned = _wrapped(whole, model, off, record["original"])
    _cut(
        _attention_modules(model),
        [list(range(whole.n_heads))] * whole.n_layers,
        pruned.kept,
        whole.head_size,
        weights=False,
    )
    wrong = _mismatch(model.state_dict(), state)
    if not wrong and cut != _named(off):
        wrong = f"{WEIGHTS} says that {cut or 'nothing'} was"
    if wrong:
        raise ValueError(
            f"the files in {folder} do not belong together: {RECORD} lists {_named(off)} as pruned, and then {wrong}. Copy the folder as a "
            "whole."
        )
    model.load_state_dict(state)
    if pruned.fingerprint != record["fingerprint"]:
        raise ValueError(
            f"the weights or the vocabulary in {folder} are not those that were saved (fingerprint {pruned.fingerprint}, expected "
            f"{record['fingerprint']}). Copy the folder as a whole."
        )
    return replace(pruned, model=model.to(chosen), device=chosen, folder=folder)


def _read_record(path: Path) -> dict:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        known = record["format"]
        for key in ("original", "pruned heads", "fingerprint", "config"):
            record[key]
    except (json.JSONDecodeError, KeyError, TypeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read: {error!r}. save_pruned writes it.") from None
    if known != FORMAT:
        raise ValueError(f"{path} has format {known}; this version reads format {FORMAT}.")
    return record


def _mismatch(wanted: dict, given: dict) -> str:
    if lacking := sorted(set(wanted) ^ set(given)):
        return f"{lacking[0]} is missing or too much"
    for name, tensor in wanted.items():
        if tensor.shape != given[name].shape:
            return f"{name} should have shape {tuple(tensor.shape)}, but has {tuple(given[name].shape)}"
    return ""


# --- size ----------------------------------------------------------------------------------------------
def parameter_count(encoder: Encoder) -> int:
    """Number of weights, biases and embeddings of the encoder."""
    return sum(parameter.numel() for parameter in encoder.model.parameters())


def parameters_per_head(encoder: Encoder) -> int:
    """How many parameters go with one head: rows of W_Q, W_K, W_V with biases, and columns of W_O.

    4 * width * dim + 3 * dim; 196,800 for BERT-base.
    """
    return encoder.head_size * (4 * encoder.model.config.hidden_size + 3)


def folder_size(folder: str | Path) -> int:
    """Bytes of the weights (``*.safetensors``) in a model folder."""
    sizes = [path.stat().st_size for path in Path(folder).glob("*.safetensors")]
    if not sizes:
        raise FileNotFoundError(f"{folder} holds no *.safetensors file.")
    return sum(sizes)
