"""The training loop that classifiers and taggers share: AdamW, a rate that rises and falls, examples in an order drawn anew each epoch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...model import import_torch

if TYPE_CHECKING:
    from ...model import Encoder

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
) -> Iterator[tuple[float, Any]]:
    """Train a model, and give the mean loss and the progress bar after each epoch; close it to stop earlier.

    Parameters
    ----------
    model : torch module
    loss_of : function(example numbers) -> (loss, weight) or None
        Mean loss of a batch and what it weighs in the epoch's mean; None if nothing can be learnt from it.
    n : int
        Examples.

    Raises
    ------
    ValueError
        If the loss becomes infinite.
    """
    torch = import_torch()
    from tqdm import tqdm

    total = -(-n // batch_size) * epochs
    step = stepper(model, rate, total)
    order = torch.Generator().manual_seed(seed)
    bar = tqdm(total=total, desc=name, unit="step", disable=not progress)
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []), bar:
        torch.manual_seed(seed)
        for epoch in range(epochs):
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


def stepper(model, rate: float, total: int) -> Callable[[Any], None]:
    """What takes a loss and makes one step: AdamW, the rate rising over the first tenth of ``total`` steps, then falling to zero."""
    torch = import_torch()

    optimizer = torch.optim.AdamW(_groups(model), lr=rate)
    warm = max(1, round(WARM_UP * total))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, max(0.0, (total - step) / max(1, total - warm)))
    )

    def step(loss) -> None:
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
        optimizer.step()
        schedule.step()

    return step


def _groups(model) -> list[dict]:
    """Weight matrices decay; biases and normalisations do not."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": WEIGHT_DECAY},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
