"""Where a model runs and its arrays lie: which device, whose turn it is, NumPy's weights as a torch model, functions for arrays of both."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from .folders import import_torch, quiet_loading
from .numpy_bert import NumpyBert

if TYPE_CHECKING:
    import torch


_KNOWS_ALL = (
    np.lib.NumpyVersion(np.__version__) >= "2.1.0"
)  # from here on its own functions have the standard's names and arguments

# The projections inside an attention block, as BERT, RoBERTa, ELECTRA, ALBERT and DistilBERT name them.
_PROJECTIONS = {"queries": ("query", "q_lin"), "keys": ("key", "k_lin"), "values": ("value", "v_lin")}


def choose_device(device: str) -> torch.device:
    torch = import_torch()
    if device == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"device {device!r} cannot be used here ({reason}). Use device='auto' or 'cpu'."
        ) from None
    return chosen


MAKING = RLock()  # while something is made that every thread then shares
_TURNS: WeakKeyDictionary = WeakKeyDictionary()  # torch module -> its lock
LONGEST_WAIT = 120  # seconds; a thread that waits for one that waits for it would wait for ever


@contextmanager
def turn_of(model, name: str) -> Iterator[None]:
    """Have a torch model to oneself: hooks and modes lie on the model, and every thread that runs it would meet them.

    Raises
    ------
    RuntimeError
        If another thread keeps it for more than `LONGEST_WAIT` seconds.
    """
    with MAKING:
        turn = _TURNS.setdefault(model, RLock())
    if not turn.acquire(timeout=LONGEST_WAIT):
        raise RuntimeError(
            f"another thread has kept {name} for {LONGEST_WAIT} seconds: it runs it, or has heads switched off. Give each thread an "
            "encoder of its own, and start no threads inside 'with ablated(...)'."
        )
    try:
        yield
    finally:
        turn.release()


PRECISIONS = ("float32", "bfloat16", "float16")


def products_in(precision: str, device: torch.device):
    """A context in which torch multiplies matrices in this precision; weights stay float32.

    Raises
    ------
    ValueError
        If the precision is none of `PRECISIONS`, or the device cannot compute in it.
    """
    torch = import_torch()
    if precision not in PRECISIONS:
        raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}; got {precision!r}.")
    if precision == "float32":
        return nullcontext()
    try:
        return torch.autocast(device.type, dtype=getattr(torch, precision))
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"{device} does not compute in {precision} ({reason}); take float32.") from None


# A GPU repays the start of torch from about this size of a model on; whether there is one is seen here without torch.
_LARGE = 100_000_000  # bytes of weights
_GPUS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg", r"C:\Windows\System32\nvcuda.dll")


def wants_gpu(folder: Path) -> bool:
    large = sum(path.stat().st_size for path in folder.glob("*.safetensors")) > _LARGE
    return large and (sys.platform == "darwin" or any(map(os.path.exists, _GPUS)))


def torch_model(bert: NumpyBert, device: torch.device):
    """The same weights as a model of transformers, as `_load_folder` would have read it."""
    torch = import_torch()
    from transformers import BertConfig, BertModel

    with quiet_loading(), torch.random.fork_rng(devices=[]):  # no draw may be used up
        model = BertModel.from_pretrained(
            None,
            config=BertConfig.from_dict(vars(bert.config)),
            state_dict={name: torch.tensor(array).float() for name, array in bert.weights.items()},
            dtype=torch.float32,
            attn_implementation="eager",
        )
        return model.eval().to(device)


def array_namespace(*arrays):
    """One set of functions for these arrays, that of the Python array API: NumPy itself for NumPy's, where it is new enough.

    array_api_compat gives a copy of NumPy with all that `from numpy import *` brings, f2py and unittest too: 2 MB in every kernel.
    """
    if _KNOWS_ALL and all(isinstance(array, np.ndarray | np.generic) for array in arrays):
        return np
    from array_api_compat import array_namespace as compatible

    return compatible(*arrays)


def stacked(layers: Sequence):
    """The maps of all layers as one float32 tensor where they lie, (layer, head, query, key); the rows of halves are normalised."""
    weights = import_torch().stack(list(layers)).float()
    if layers[0].dtype != weights.dtype:
        weights /= weights.sum(dim=-1, keepdim=True)
    return weights


@contextmanager
def captured_vectors(encoder) -> Iterator[dict[str, list]]:
    """The query, key and value vectors of the passes made meanwhile: name -> one tensor a layer, (batch, head, token, dim)."""
    torch = import_torch()
    captured: dict[str, list] = {name: [] for name in _PROJECTIONS}

    def keep(name, _module, _inputs, output):
        if isinstance(output, torch.Tensor):  # of quantised layers it is the vectors and their scale
            batch, n, _width = output.shape
            captured[name].append(output.view(batch, n, encoder.n_heads, -1).transpose(1, 2))

    hooks = [
        (module, "forward", partial(keep, name))
        for path, module in encoder.model.named_modules()
        for name, endings in _PROJECTIONS.items()
        if path.rpartition(".")[2] in endings
    ]
    with encoder.hooked(hooks):
        yield captured
    # ALBERT shares one block among all layers, so count what arrived and not the modules.
    counts = {name: len(layers) for name, layers in captured.items()}
    if set(counts.values()) != {encoder.n_layers}:
        raise ValueError(
            f"cannot take queries, keys and values from {encoder.name} ({encoder.model.config.model_type}): expected one of each "
            f"for {encoder.n_layers} layers, found {counts}. BERT, RoBERTa, ELECTRA, ALBERT and DistilBERT work."
        )
