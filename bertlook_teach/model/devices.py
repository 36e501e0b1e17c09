"""Where a model runs: which device, whether a GPU repays the start of torch, and NumPy's weights as a torch model."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from .folders import import_torch, quiet_loading
from .numpy_bert import NumpyBert

if TYPE_CHECKING:
    import torch


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

    # It may be asked for anywhere: under inference_mode its weights could never be trained, and no draw may be used up.
    with quiet_loading(), torch.inference_mode(False), torch.random.fork_rng(devices=[]):
        model = BertModel.from_pretrained(
            None,
            config=BertConfig.from_dict(vars(bert.config)),
            state_dict={name: torch.tensor(array).float() for name, array in bert.weights.items()},
            dtype=torch.float32,
            attn_implementation="eager",
        )
        return model.eval().to(device)
