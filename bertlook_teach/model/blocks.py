"""Where the parts of an attention block are, whatever the family of the encoder calls them.

What a head *does* with the tokens it looks at happens behind its weights: the value vectors, the output projection,
the rest of the block. Here they are found by name and checked, so that no measure has to know a family.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from .folders import as_read, import_torch

if TYPE_CHECKING:
    from .encoder import Encoder

# Inside a block: the projection of the joined head outputs, as BERT, RoBERTa and ELECTRA, DistilBERT, and ALBERT name it.
_OUTPUT = (".attention.output.dense", ".attention.out_lin", ".attention.dense")

_VALUE = ("value", "v_lin")

TOKENS_AT_ONCE = 1024  # rows of a batch times tokens: gradients then add 0.6 GB to a BERT-base (measured)

_BLOCKS: WeakKeyDictionary[Any, list] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Block:
    """One layer: the whole block, its value projection and its attention output projection (torch modules)."""

    module: Any
    value: Any
    output: Any


def attention_blocks(encoder: Encoder) -> list[Block]:
    """The block that each layer runs, first layer first; ALBERT's layers all run the same one.

    Raises
    ------
    ValueError
        If the parts are not found under the names that BERT, RoBERTa, ELECTRA, ALBERT and DistilBERT use.
    """
    if encoder not in _BLOCKS:
        _BLOCKS[encoder] = _find_blocks(encoder)
    return list(_BLOCKS[encoder])


def _find_blocks(encoder: Encoder) -> list[Block]:
    torch = import_torch()

    found: dict[str, Block] = {}
    for path, module in encoder.model.named_modules():
        ending = next((ending for ending in _OUTPUT if path.endswith(ending)), None)
        if ending is None:
            continue
        block = encoder.model.get_submodule(path.removesuffix(ending))
        values = [m for name, m in block.named_modules() if name.rpartition(".")[2] in _VALUE]
        if len(values) == 1 and getattr(module, "in_features", 0) == getattr(values[0], "out_features", None):
            found[path] = Block(block, values[0], module)

    # Shared blocks run more than once, so the order is that of a run and not that of the names.
    order: list[Block] = []
    hooks = [
        (block.module, "forward", lambda module, inputs, output, block=block: order.append(block))
        for block in found.values()
    ]
    probe = torch.tensor([encoder.tokenizer("a b c")["input_ids"]])
    with encoder.hooked(hooks):
        encoder.attend(probe, torch.ones_like(probe), torch.zeros_like(probe))
    if len(order) != encoder.n_layers:
        raise ValueError(
            f"cannot find the attention blocks of {encoder.name} ({encoder.model.config.model_type}): expected one for each of "
            f"{encoder.n_layers} layers, found {len(order)}. BERT, RoBERTa, ELECTRA, ALBERT and DistilBERT work."
        )
    return order


def output_projection(encoder: Encoder) -> np.ndarray:
    """Each head's slice of the attention output projection: W_O of shape (layer, head, dim, width).

    ``values[layer, head] @ output_projection(encoder)[layer, head]`` is what the head would add to a token that gave it
    all its attention, f_h(x). The output bias is left out: it belongs to no head and to no token.
    """
    if encoder.engine is not None:
        names = [f"encoder.layer.{layer}.attention.output.dense.weight" for layer in range(encoder.n_layers)]
        matrices = [encoder.engine.weights[name] for name in names]
    else:
        matrices = [block.output.weight.detach().cpu().numpy() for block in attention_blocks(encoder)]
    # A model keeps each as (to, from).
    return np.stack([matrix.T.reshape(encoder.n_heads, encoder.head_size, -1) for matrix in matrices])


def with_pretraining_head(
    encoder: Encoder, auto_class: str, missing_head: type[ValueError], none: str, advice: str
):
    """The model that an encoder comes from, with a head it was pre-trained with.

    Read from the encoder's folder, or what it was taken from in memory; for a random twin drawn with the twin's seed.

    Parameters
    ----------
    encoder : Encoder
    auto_class : str
        Of transformers: ``"AutoModelForMaskedLM"``.
    missing_head : ValueError class
        Raised if the family or the folder has no such head, or where the encoder comes from is not known.
    none, advice : str
        What the error says is missing, and what to do.
    """
    part = "cls.predictions" if auto_class == "AutoModelForMaskedLM" else "cls.seq_relationship"
    engine = encoder.engine
    if (
        engine is not None
        and encoder.seed is None
        and not any(name.startswith(part) for name in engine.heads)
    ):
        raise missing_head(f"{none}: the folder lacks {part}. {advice}")
    torch = import_torch()
    import transformers

    from .folders import quiet_loading

    auto = getattr(transformers, auto_class)
    try:
        with quiet_loading():
            if encoder.folder is not None:
                model, report = auto.from_pretrained(
                    encoder.folder,
                    dtype=torch.float32,
                    local_files_only=True,
                    use_safetensors=True,
                    trust_remote_code=False,
                    output_loading_info=True,
                )
                missing = sorted(report["missing_keys"])
            elif encoder.seed is not None or encoder.whole is not None:
                with torch.random.fork_rng(devices=[]):
                    torch.manual_seed(encoder.seed or 0)
                    model, missing = auto.from_config(copy.deepcopy(encoder.model.config)), []
                if encoder.whole is not None:
                    left = model.load_state_dict(encoder.whole.state_dict(), strict=False).missing_keys
                    missing = [name for name in left if not name.startswith(f"{model.base_model_prefix}.")]
            else:
                raise missing_head(f"{none} that could be found: it was not made by load_encoder. {advice}")
    except ValueError as error:
        if auto_class in str(error):  # the family has no such model class
            raise missing_head(
                f"{none} ({encoder.model.config.model_type} models come without). {advice}"
            ) from error
        raise
    if missing:
        raise missing_head(f"{none}: the model lacks {', '.join(missing[:3])}. {advice}")
    return as_read(model)
