"""The training loop that classifiers and taggers share: AdamW, a rate that rises and falls, examples in an order drawn anew each epoch."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bertlook_teach.disk import write_file
from bertlook_teach.model import import_torch

if TYPE_CHECKING:
    from bertlook_teach.model import Encoder

WARM_UP = 0.1  # share of all steps over which the learning rate rises

WEIGHT_DECAY = 0.01

MAX_NORM = 1.0

NO_LABEL = -100  # what torch's cross-entropy leaves out


def learning_rate_for(encoder: Encoder) -> float:
    """5e-5, usual for BERT-base's width of 768, times (768 / width) to the power 1.5: a rule of thumb, tried on the specimen."""
    return 5e-5 * (768 / encoder.model.config.hidden_size) ** 1.5


def checked_rate(encoder: Encoder, rate: float | None) -> float:
    """The rate given, or by default `learning_rate_for`."""
    rate = learning_rate_for(encoder) if rate is None else rate
    if not 0 < rate < 1:
        raise ValueError(f"learning_rate is a number between 0 and 1, for instance 2e-5; got {rate}.")
    return rate


@dataclass(frozen=True)
class Checkpoint:
    """One file (safetensors) that keeps a training after each epoch.

    Attributes
    ----------
    path : Path
    same : dict
        What decides the training: a file of another one, or one that cannot be read, counts as none.
    """

    path: Path
    same: Mapping

    def read(self) -> tuple[dict[str, Any], dict]:
        """Tensors and plain values, both empty where there is nothing to go on from."""
        import_torch()
        from safetensors import SafetensorError, safe_open

        unreadable = (OSError, ValueError, KeyError, TypeError, SafetensorError)
        with suppress(*unreadable), safe_open(self.path, "pt") as file:
            record = json.loads(file.metadata()["record"])
            if record.pop("same") == json.loads(json.dumps(self.same)):
                return {name: file.get_tensor(name) for name in file.keys()}, record  # noqa: SIM118 - no dict
        return {}, {}

    def write(self, tensors: Mapping[str, Any], record: Mapping) -> None:
        """Keep them in place of what was kept before."""
        from safetensors.torch import save

        whole = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        write_file(self.path, save(whole, {"record": json.dumps({**record, "same": self.same})}))

    def remove(self) -> None:
        """The training is done."""
        self.path.unlink(missing_ok=True)


def train(
    model,
    loss_of: Callable[[list[int]], tuple[Any, int] | None],
    n: int,
    *,
    device,
    epochs: int,
    batch_size: int,
    rate: float,
    seed: int,
    name: str,
    progress: bool,
    begun: tuple[Mapping[str, Any], Mapping] = ({}, {}),
    keep: Callable[[dict[str, Any], dict], None] | None = None,
) -> Iterator[tuple[float, Any]]:
    """Train a model, and give the mean loss and the progress bar after each epoch; close it to stop earlier.

    Parameters
    ----------
    model : torch module
    loss_of : function(example numbers) -> (loss, weight) or None
        Mean loss of a batch and what it weighs in the epoch's mean; None if nothing can be learnt from it.
    n : int
        Examples.
    begun : (tensors, record)
        What ``keep`` was given after an epoch: it goes on from there, and ends as if it had not been stopped.
    keep : function(tensors, record), optional
        Gets all that it takes to go on, after each epoch that the caller does not stop at.

    Raises
    ------
    ValueError
        If the loss becomes infinite.
    """
    torch = import_torch()
    from tqdm import tqdm

    total = -(-n // batch_size) * epochs
    step = Stepper(model, rate, total)
    order = torch.Generator().manual_seed(seed)
    tensors, record = begun
    done = record.get("epochs", 0)
    bar = tqdm(total=total, initial=done * -(-n // batch_size), desc=name, unit="step", disable=not progress)
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []), bar:
        torch.manual_seed(seed)
        if done:
            model.load_state_dict(_under("model/", tensors))
            step.restore(tensors, record)
            order.set_state(tensors["order"])
            torch.set_rng_state(tensors["random"])
            if "random of the device" in tensors:
                torch.cuda.set_rng_state(tensors["random of the device"], device)
        for epoch in range(done, epochs):
            model.train()
            losses, weights = [], []
            for rows in torch.randperm(n, generator=order).split(batch_size):
                found = loss_of(rows.tolist())
                if found is None:
                    continue
                loss, weight = found
                step(loss)
                losses.append(float(loss.detach()))
                weights.append(weight)
                bar.update()
            mean = float(np.average(losses, weights=weights))
            if not np.isfinite(mean):
                raise ValueError(
                    f"the loss became {mean} in epoch {epoch + 1}; a learning rate below {rate:g} may help."
                )
            yield mean, bar
            if keep is not None:
                own, numbers = step.state()
                own |= {f"model/{key}": tensor for key, tensor in model.state_dict().items()}
                own |= {"order": order.get_state(), "random": torch.get_rng_state()}
                if device.type == "cuda":
                    own["random of the device"] = torch.cuda.get_rng_state(device)
                keep(own, {**numbers, "epochs": epoch + 1})


class Stepper:
    """What takes a loss and makes one step: AdamW, the rate rising over the first tenth of ``total`` steps, then falling to zero."""

    def __init__(self, model, rate: float, total: int):
        torch = import_torch()

        warm = max(1, round(WARM_UP * total))
        self._model = model
        self._optimizer = torch.optim.AdamW(_groups(model), lr=rate)
        self._schedule = torch.optim.lr_scheduler.LambdaLR(
            self._optimizer,
            lambda step: min((step + 1) / warm, max(0.0, (total - step) / max(1, total - warm))),
        )

    def __call__(self, loss) -> None:
        torch = import_torch()

        self._optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._model.parameters(), MAX_NORM)
        self._optimizer.step()
        self._schedule.step()

    def state(self) -> tuple[dict[str, Any], dict]:
        """Moments of the optimizer as tensors, where it stands as plain values."""
        found = self._optimizer.state_dict()
        moments = {
            f"adam/{number}/{key}": value
            for number, kept in found["state"].items()
            for key, value in kept.items()
        }
        return moments, {"groups": found["param_groups"], "schedule": self._schedule.state_dict()}

    def restore(self, tensors: Mapping[str, Any], record: Mapping) -> None:
        """Stand where `state` was taken."""
        moments: dict[int, dict[str, Any]] = {}
        for key, value in _under("adam/", tensors).items():
            number, _, name = key.partition("/")
            moments.setdefault(int(number), {})[name] = value
        self._optimizer.load_state_dict({"state": moments, "param_groups": record["groups"]})
        self._schedule.load_state_dict(record["schedule"])


def _under(prefix: str, tensors: Mapping[str, Any]) -> dict[str, Any]:
    return {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}


def _groups(model) -> list[dict]:
    """Weight matrices decay; biases and normalisations do not."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": WEIGHT_DECAY},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
