"""Checkpoints of pretrain.py: weights, optimizer state and counters of a run, as one file of its folder."""

import json
import os

from pretrain_data import PretrainError


def _parameters(optimizer):
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def save_checkpoint(path, model, optimizer, names, state):
    """One safetensors file: weights, state of the optimizer (whose parameters have these names), and the counters as JSON.

    Written whole or not at all.
    """
    from safetensors.torch import save_file

    tensors = {f"model/{n}": p for n, p in model.named_parameters()}
    for name, parameter in zip(names, _parameters(optimizer), strict=True):
        for key, value in optimizer.state.get(parameter, {}).items():
            tensors[f"adamw/{key}/{name}"] = value
    tensors = {k: v.detach().to("cpu").clone().contiguous() for k, v in tensors.items()}
    temporary = path.with_suffix(".tmp")
    save_file(tensors, temporary, metadata={"state": json.dumps(state)})
    with open(temporary, "rb+") as handle:
        os.fsync(handle.fileno())
    os.replace(temporary, path)


def load_checkpoint(path):
    """Tensors and counters of a checkpoint."""
    from safetensors import safe_open

    try:
        with safe_open(path, "pt") as file:
            names = file.keys()
            return {name: file.get_tensor(name) for name in names}, json.loads(file.metadata()["state"])
    except Exception as error:  # safetensors raises its own untyped errors
        raise PretrainError(
            f"the checkpoint {path} cannot be read ({error}); remove it to start this run afresh"
        ) from error


def restore(tensors, model, optimizer=None, names=()):
    """Put a checkpoint's weights, and its optimizer state if asked for, in place."""
    import torch

    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(tensors[f"model/{name}"])
    for name, parameter in zip(names, _parameters(optimizer) if optimizer else (), strict=True):
        kept = {
            key.split("/")[1]: value.clone().to(parameter.device)
            for key, value in tensors.items()
            if key.startswith("adamw/") and key.endswith(f"/{name}")
        }
        if kept:
            optimizer.state[parameter] = kept
