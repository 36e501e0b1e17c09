"""A model that is in memory already: fine-tuned in this notebook, part of a pipeline, of a SentenceTransformer or of a class of one's own."""

from __future__ import annotations

import copy

from .folders import (
    as_read,
    first_line,
    import_torch,
    longest_input,
    refuse_decoders,
    refuse_relative_positions,
)


def is_in_memory(given) -> bool:
    """Whether something is a torch module, or holds one as its ``model``, as pipelines do; an `Encoder` holds one too, and is none."""
    if hasattr(type(given), "attend"):
        return False
    return any(
        callable(getattr(one, "named_modules", None)) for one in (given, getattr(given, "model", None))
    )


def taken(given, tokenizer=None, device=None) -> tuple:
    """A copy of the encoder in it, the copied model that this is a part of (with its heads), and a copy of its tokenizer.

    What is trained or changed later, in the one or in the other, is its own; what is read from a copy stays what it was.

    Parameters
    ----------
    given
        As `is_in_memory` has it.
    tokenizer
        By default the one that ``given`` has.
    device : torch.device, optional
        By default that of the model.

    Raises
    ------
    ValueError
        If there is no model of transformers in it or more than one, it is a decoder, its weights are not floating-point numbers
        in memory, or it cannot be copied.
    TypeError
        If there is no tokenizer, or one that cannot say where its pieces come from.
    """
    if isinstance(given, type):
        raise TypeError(
            f"{given.__name__} is a class; give a model, such as {given.__name__}.from_pretrained(name)."
        )
    original = _only_model(given)
    name, config = type(original).__name__, original.config.to_dict()
    if not any(path.rpartition(".")[2] == "decoder" for path, _ in original.named_modules()):
        config["is_encoder_decoder"] = False  # the encoder of such a model, alone
    tokenizer = getattr(given, "tokenizer", None) if tokenizer is None else tokenizer
    tokenizer = _own_tokenizer(tokenizer, original)
    refuse_decoders(f"{name} in memory", config | {"architectures": [name]})
    refuse_relative_positions(f"{name} in memory", config)
    for path, tensor in original.named_parameters():
        if tensor.is_meta or not tensor.is_floating_point():
            held = "is not in memory" if tensor.is_meta else f"holds {tensor.dtype}"
            raise ValueError(
                f"{name} cannot be read: {path} {held}, where floating-point numbers were expected. Load it without quantization "
                "and without offloading."
            )
    try:
        whole = copy.deepcopy(original)
        # As from a folder, halves are computed in single precision.
        whole = whole.float().to(next(original.parameters()).device if device is None else device)
    except Exception as error:  # hooks of other libraries, tensors with a history: a dozen kinds
        raise ValueError(
            f"{name} cannot be copied as it lies in memory: {first_line(error)}. Save it by model.save_pretrained(folder) and "
            "tokenizer.save_pretrained(folder), and take load_encoder(folder)."
        ) from error
    base = whole
    while base.base_model is not base:  # DPR's encoder holds a BERT in which another one is the base
        base = base.base_model
    return as_read(base), whole, tokenizer


def _only_model(given):
    """The model of transformers that is not a part of another one."""
    torch = import_torch()
    from transformers import PreTrainedModel

    module = given if isinstance(given, torch.nn.Module) else given.model
    found: dict[str, PreTrainedModel] = {}
    for path, part in module.named_modules():
        if isinstance(part, PreTrainedModel) and not any(path.startswith(o and f"{o}.") for o in found):
            found[path] = part
    if len(found) != 1:
        held = " and ".join(f".{path}" for path in found) if found else "none"
        raise ValueError(
            f"{type(given).__name__} should hold one model of transformers, and what was found in it is {held}. Give the one that is meant, such "
            "as load_encoder(module.encoder, tokenizer)."
        )
    [(path, model)] = found.items()
    for name, tensor in module.named_parameters():
        holder, _, last = name.rpartition(".")
        embeds = isinstance(module.get_submodule(holder), torch.nn.Embedding) or last not in (
            "weight",
            "bias",
        )
        wide = tensor.ndim > 1 and tensor.shape[-1] == getattr(model.config, "hidden_size", None)
        if embeds and wide and not name.startswith(path and f"{path}."):
            raise ValueError(
                f"{type(given).__name__} holds vectors of its own, .{name}, which may stand before the words as soft prompts do, and only the "
                f"{type(model).__name__} in it would be read. If that is meant, give it alone: load_encoder(module.{path}, tokenizer)."
            )
    return model


def _own_tokenizer(tokenizer, model):
    origin = getattr(model, "name_or_path", "") or "its name or folder"
    if tokenizer is None:
        raise TypeError(
            f"a model in memory comes without its tokenizer: give load_encoder(model, tokenizer), in a view tokenizer=, such as "
            f"AutoTokenizer.from_pretrained({origin!r})."
        )
    if not hasattr(tokenizer, "is_fast") or not hasattr(tokenizer, "convert_ids_to_tokens"):
        raise TypeError(
            f"the tokenizer of a model in memory is one of transformers, from AutoTokenizer.from_pretrained({origin!r}) or "
            f"PreTrainedTokenizerFast(tokenizer_object=...); got {type(tokenizer).__name__}."
        )
    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.model_max_length = longest_input("the tokenizer", tokenizer.model_max_length)
    return tokenizer
