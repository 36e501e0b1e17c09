"""Checkpoints of pretrain.py: the run folder's own, and the packed one, a single small file to go on from on another machine.

    python tools/pretrain_checkpoint.py RUN --out FILE

packs the newest checkpoint of a run folder (also while the run goes on): weights in 24 bits, AdamW's moments in 8, the counters,
the recipe, the vocabulary and the logs; 5 bytes a weight instead of 12. `pretrain.py ... --continue-from FILE` goes on from it.
"""

import argparse
import json
import os
import sys
from pathlib import Path

import numpy as np
from pretrain_data import PretrainError

_SMALL = 4096  # tensors with fewer numbers stay as they are
_LOGS = ("log.csv", "heldout.csv", "film.csv", "measures.csv")


# --- the run folder's own ----------------------------------------------------------------------------------------


def _parameters(optimizer):
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def save_checkpoint(path, model, optimizers, state):
    """One safetensors file: weights, optimizer state, and the counters as JSON. Written whole or not at all."""
    from safetensors.torch import save_file

    tensors = {f"model/{n}": p for n, p in model.named_parameters()}
    for kind, (optimizer, names) in optimizers.items():
        for name, parameter in zip(names, _parameters(optimizer), strict=True):
            for key, value in optimizer.state.get(parameter, {}).items():
                tensors[f"{kind}/{key}/{name}"] = value
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


def restore(tensors, model, optimizers=None):
    """Put a checkpoint's weights, and its optimizer state if asked for, in place."""
    import torch

    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(tensors[f"model/{name}"])
    for kind, (optimizer, names) in (optimizers or {}).items():
        for name, parameter in zip(names, _parameters(optimizer), strict=True):
            kept = {
                key.split("/")[1]: value.clone().to(parameter.device)
                for key, value in tensors.items()
                if key.startswith(f"{kind}/") and key.endswith(f"/{name}")
            }
            if kept:
                optimizer.state[parameter] = kept


# --- packed --------------------------------------------------------------------------------------------------------


def pack(tensors, state, extra):
    """Arrays and text of a packed checkpoint.

    A weight keeps the upper 24 bits of its 32 (rounded to nearest: an error of at most 2**-16 of itself). A moment has 8 bits and a
    scale a row: linear for the mean, logarithmic for the mean square (code 0 is exactly zero), which spans many powers of ten.

    Parameters
    ----------
    tensors, state : as `load_checkpoint` gives them
    extra : dict
        Kept beside the counters, as JSON.
    """
    arrays = {}
    for name, tensor in tensors.items():
        values = tensor.detach().cpu().numpy()
        if values.size < _SMALL or values.dtype != np.float32:
            arrays[f"whole:{name}"] = values
        elif name.startswith("model/"):
            bits = (np.ascontiguousarray(values).view(np.uint32).astype(np.uint64) + 0x80) >> 8
            arrays[f"upper:{name}"] = (bits >> 8).astype(np.uint16)
            arrays[f"lower:{name}"] = (bits & 0xFF).astype(np.uint8)
        elif "/exp_avg_sq/" in name:
            arrays |= {f"{kind}:{name}": array for kind, array in _log_codes(values).items()}
        else:
            scale = np.abs(values).max(-1, keepdims=True) / 127
            codes = np.rint(values / np.where(scale > 0, scale, 1))
            arrays[f"codes:{name}"], arrays[f"scale:{name}"] = codes.astype(np.int8), scale
    return arrays, {"packed": json.dumps({"state": state, **extra})}


def _log_codes(values):
    positive = values > 0
    logs = np.log(np.where(positive, values, 1))
    low = np.where(positive, logs, np.inf).min(-1, keepdims=True)
    high = np.where(positive, logs, -np.inf).max(-1, keepdims=True)
    empty = ~positive.any(-1, keepdims=True)
    low, high = np.where(empty, 0, low), np.where(empty, 0, high)
    step = (high - low) / 254
    codes = 1 + np.rint((logs - low) / np.where(step > 0, step, 1))
    return {
        "logcodes": np.where(positive, codes, 0).astype(np.uint8),
        "low": low.astype(np.float32),
        "step": step.astype(np.float32),
    }


def unpack(arrays):
    """The tensors of a packed checkpoint, as `load_checkpoint` gives them."""
    import torch

    tensors = {}
    for key, array in arrays.items():
        kind, _, name = key.partition(":")
        if kind == "whole":
            values = array
        elif kind == "upper":
            bits = (array.astype(np.uint32) << 16) | (arrays[f"lower:{name}"].astype(np.uint32) << 8)
            values = bits.view(np.float32)
        elif kind == "codes":
            values = array * arrays[f"scale:{name}"]
        elif kind == "logcodes":
            logs = arrays[f"low:{name}"] + (array.astype(np.float32) - 1) * arrays[f"step:{name}"]
            values = np.where(array > 0, np.exp(logs), 0)
        else:  # the other half of a tensor
            continue
        tensors[name] = torch.from_numpy(np.array(values, array.dtype if kind == "whole" else np.float32))
    return tensors


def write_packed(run, out):
    """Pack the newest checkpoint of the folder ``run`` into the file ``out``; returns the counters.

    Raises
    ------
    PretrainError
        If the folder has no checkpoint.
    """
    from safetensors.numpy import save_file

    path = run / "checkpoint.safetensors"
    if not path.is_file():
        raise PretrainError(f"no checkpoint.safetensors in {run}; name the --run folder of a training")
    tensors, state = load_checkpoint(path)
    extra = {
        "vocabulary": (run / "tokenizer" / "vocab.txt").read_text(encoding="utf-8"),
        "corpus": json.loads((run / "corpus" / "corpus.json").read_text(encoding="utf-8")),
        "logs": {name: (run / name).read_text(encoding="utf-8") for name in _LOGS if (run / name).exists()},
    }
    arrays, metadata = pack(tensors, state, extra)
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = out.with_name(out.name + ".tmp")
    save_file(arrays, temporary, metadata=metadata)
    temporary.chmod(0o644)
    os.replace(temporary, out)
    return state


def read_packed(path):
    """Tensors, and a dict with ``state``, ``vocabulary``, ``corpus`` and ``logs``, of a packed checkpoint."""
    from safetensors import safe_open

    try:
        with safe_open(path, "np") as file:
            names = file.keys()
            arrays = {name: file.get_tensor(name) for name in names}
            about = json.loads((file.metadata() or {})["packed"])
    except KeyError:
        raise PretrainError(
            f"{path} is no packed checkpoint; tools/pretrain_checkpoint.py makes one"
        ) from None
    except Exception as error:  # safetensors raises its own untyped errors
        raise PretrainError(f"the packed checkpoint {path} cannot be read ({error})") from error
    return unpack(arrays), about


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, help="run folder of tools/pretrain.py")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="where the packed checkpoint goes"
    )
    options = parser.parse_args(arguments)
    try:
        state = write_packed(options.run, options.out)
    except PretrainError as error:
        sys.exit(f"pretrain_checkpoint: {error}")
    print(
        f"{options.out}: step {state['step']}, {state['tokens']:,} tokens, {options.out.stat().st_size / 1e6:.1f} MB"
    )


if __name__ == "__main__":
    main()
