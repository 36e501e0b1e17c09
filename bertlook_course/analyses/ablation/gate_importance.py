"""How much the loss depends on a head, without switching it off: I_h of Michel et al. (2019), and what else goes by that name.

Put a gate xi_h = 1 on the head's context vectors. The derivative of the loss with respect to the gate,
dL/dxi_h = sum over tokens of ctx_i . dL/dctx_i, says how the loss would begin to change if the head were turned down. One
backward pass gives it for all heads. Three quantities made from it circulate under the name I_h:

``"paper"``
    The mean over examples of |dL(x)/dxi_h|, as the paper defines it.
``"released"``
    The authors' code takes the absolute value of each *token's* share ctx_i . g_i, and sums those.
``"script"``
    A script that came with the transformers library (run_bertology.py) takes the absolute value after summing a whole batch, and never
    sets its gradients to zero: after each batch it adds the absolute value of the sum over all examples *so far*. Examples which
    disagree cancel, and the result depends on the batch size and on the order of the examples. Reproduced as it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from bertlook_teach.disk import Table
from bertlook_teach.model import head_label, head_rows, import_torch

from ...metrics import rank_correlation
from .heads_off import at_contexts, positive_control
from .scorers import as_scorer, batch_outputs, checked_batches, on_device

VERSIONS = ("paper", "released", "script")


@dataclass(frozen=True, eq=False)
class HeadImportance(Table):
    """I_h of every head.

    Attributes
    ----------
    values : ndarray of shape (layer, head)
        Normalised: the squares of a layer's heads sum to 1 (for "script" then stretched to run from 0 to 1).
    raw : ndarray of shape (layer, head)
        Before normalisation, in nats.
    signed : ndarray of shape (layer, head)
        The mean over examples of dL/dxi_h with its sign: positive where turning the head *down* would lower the loss.
    version : {"paper", "released", "script"}
    n : int
        Number of examples.
    """

    values: np.ndarray
    raw: np.ndarray
    signed: np.ndarray
    version: str
    n: int

    def ranking(self) -> list[tuple[int, int]]:
        """Heads as (layer, head) from 0, least important first; of equals the earlier one first."""
        order = np.argsort(self.values, axis=None, kind="stable")
        return [tuple(int(i) for i in np.unravel_index(place, self.values.shape)) for place in order]

    def rows(self) -> list[dict]:
        """One dict a head, layer by layer."""
        columns = {"importance": self.values, "raw": self.raw, "signed": self.signed}
        return head_rows(columns, version=self.version, n=self.n)

    def __repr__(self) -> str:
        ranked = self.ranking()
        return (
            f"HeadImportance({self.version}: {len(ranked)} heads, least {head_label(*ranked[0])}, most {head_label(*ranked[-1])}, "
            f"n = {self.n})"
        )


def head_importance(scorer, batches: Iterable, version: str = "paper", *, heads_off=()) -> HeadImportance:
    """How much the loss depends on each head.

    Parameters
    ----------
    scorer : Scorer or classifier
    batches : iterable of (input_ids, attention_mask, segment_ids, labels)
        Their size and order matter for ``"script"`` only.
    version : {"paper", "released", "script"}
        Which of the three quantities (see the module). The paper's is the one to use.
    heads_off : iterable
        Heads already switched off (masked): their own importance is then 0, and that of the others is measured without them.

    Returns
    -------
    HeadImportance

    Raises
    ------
    ValueError
        If the version is unknown, or there is no batch.

    References
    ----------
    Michel et al. (2019), section 4.1.
    """
    _check_version(version)
    return importance_versions(scorer, batches, heads_off=heads_off)[version]


def importance_versions(
    scorer, batches: Iterable, *, heads_off=(), progress: Callable = iter
) -> dict[str, HeadImportance]:
    """All three quantities from one backward pass a batch: version -> HeadImportance."""
    paper, released, script, signed, n = 0.0, 0.0, 0.0, 0.0, 0
    for shares in _token_shares(scorer, batches, heads_off, progress):
        by_example = shares.sum(axis=2)  # example, layer, head
        paper = paper + np.abs(by_example).sum(axis=0)
        released = released + np.abs(shares).sum(axis=(0, 2))
        signed = signed + by_example.sum(axis=0)
        script = script + np.abs(signed)  # the running total, as nothing sets it back
        n += len(shares)
    raw = {"paper": paper / n, "released": released / n, "script": script / n}
    return {
        version: HeadImportance(_normalised(values, version), values, signed / n, version, n)
        for version, values in raw.items()
    }


def gate_gradients(scorer, batches: Iterable) -> np.ndarray:
    """dL(x)/dxi_h of every example by itself, with its sign: shape (example, layer, head), in nats."""
    return np.concatenate([shares.sum(axis=2) for shares in _token_shares(scorer, batches)])


def disagreement(versions: dict[str, HeadImportance]) -> dict[tuple[str, str], float]:
    """Spearman's correlation of each two versions over all heads, as each would rank them for pruning.

    1: the same order. Raises ValueError where a version gives every head the same value.
    """
    names = list(versions)
    return {
        (one, other): rank_correlation(versions[one].values, versions[other].values)
        for i, one in enumerate(names)
        for other in names[i + 1 :]
    }


def _check_version(version: str) -> None:
    if version not in VERSIONS:
        raise ValueError(
            f"version is one of {', '.join(VERSIONS)} (three quantities that go by the name I_h); got {version!r}."
        )


def _normalised(raw: np.ndarray, version: str) -> np.ndarray:
    """Each layer divided by its L2 norm, as paper and code do; a layer of zeros stays."""
    norms = np.sqrt((raw**2).sum(axis=1, keepdims=True))
    values = np.divide(raw, norms, out=np.zeros_like(raw), where=norms > 0)
    if version == "script" and np.ptp(values) > 0:
        values = (values - values.min()) / np.ptp(values)
    return values


def _token_shares(scorer, batches, heads_off=(), progress=iter):
    """ctx_i . g_i of each batch: arrays of shape (example, layer, token, head).

    A gate for every example and token, (batch, token, head, 1), all 1: its gradient under the *sum* of the losses is each
    example's own, as no example sees another. Summed over tokens it is the gradient of a gate of shape (batch, 1, head, 1).
    """
    torch = import_torch()

    from .heads_off import hooked, read_heads

    scorer = as_scorer(scorer)
    encoder = scorer.encoder
    off = read_heads(heads_off, encoder)
    with encoder.evaluating():
        positive_control(encoder)
        for batch in progress(list(checked_batches(batches))):
            gates = []

            def gate(layer, context, values, mask, gates=gates):
                xi = torch.ones(
                    (*context.shape[:2], encoder.n_heads, 1),
                    dtype=context.dtype,
                    device=context.device,
                    requires_grad=True,
                )
                gates.append(xi)
                return (context.unflatten(-1, (encoder.n_heads, -1)) * xi).flatten(2)

            # Gates before masks: a head that is off has gradient 0 and not that of a head that is on.
            with (
                torch.inference_mode(False),
                torch.enable_grad(),
                at_contexts(encoder, gate),
                hooked(encoder, off, "zero"),
            ):
                batch = [part.clone() for part in on_device(batch, encoder)]  # no tensors of inference_mode
                total = scorer.losses(batch_outputs(scorer, batch), batch).sum()
                gradients = torch.autograd.grad(total, gates)
            stacked = torch.stack([g.squeeze(-1) for g in gradients], dim=1)
            yield stacked.double().cpu().numpy()
