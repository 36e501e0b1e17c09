"""What it costs that nothing is taken from some tokens: the essay's claim about [SEP], by the masked-LM loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bertlook_teach.model import attention_blocks, import_torch, masked_lm_head

if TYPE_CHECKING:
    from bertlook_teach.model import Reading


def losses_without(reading: Reading, masking, cuts, layers) -> np.ndarray:
    """Masked-LM loss in nats with the value vectors of some tokens set to 0 in some layers: shape (cut,).

    Parameters
    ----------
    reading : Reading
        One text, not masked yet.
    masking : Masking
    cuts : sequence of tuples of int
        Positions whose values are taken away; the empty tuple leaves all as it is.
    layers : sequence of int
        Counted from 0.
    """
    torch = import_torch()

    encoder = reading.encoder
    head, blocks = masked_lm_head(encoder), attention_blocks(encoder)
    inputs = reading.inputs([masking.applied(reading.ids)] * len(cuts))
    keep = torch.ones((len(cuts), reading.n_tokens, 1), dtype=torch.float32, device=encoder.device)
    for i, positions in enumerate(cuts):
        keep[i, list(positions)] = 0
    chosen, runs = {int(layer) for layer in layers}, [0]

    def zero(module, inputs, output):
        layer, runs[0] = runs[0], runs[0] + 1  # shared blocks run once a layer, so the runs are counted
        return output * keep if layer in chosen else None

    hooks = [(value, "forward", zero) for value in {block.value: None for block in blocks}]
    with torch.inference_mode(), encoder.hooked(hooks):
        hidden = encoder.model(**inputs).last_hidden_state
        positions = list(masking.positions)
        scores = head(hidden[:, positions])
        truth = torch.tensor([reading.ids[i] for i in positions], device=encoder.device)
        losses = [torch.nn.functional.cross_entropy(scores[i], truth) for i in range(len(cuts))]
    if runs[0] != encoder.n_layers:
        raise ValueError(
            f"{encoder.name} made {runs[0]} value projections in {encoder.n_layers} layers, so they cannot be told apart."
        )
    return torch.stack(losses).cpu().double().numpy()
