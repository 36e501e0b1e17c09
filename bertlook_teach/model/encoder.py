"""Load any BERT-like encoder: the specimen, a model of the Hugging Face hub, or a local folder.

Loading is strict where the libraries are lenient: missing weights, a tokenizer that does not belong to the
model, attention that never arrives, all are refused here, with what to do about it.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..disk import data_path
from .devices import MAKING, captured_vectors, choose_device, products_in, torch_model, turn_of, wants_gpu
from .folders import (
    SHIPPED,
    as_read,
    checked,
    hub_folder,
    import_torch,
    quiet_loading,
    read_config,
    read_model,
    read_tokenizer,
    refuse_decoders,
    refuse_relative_positions,
    require_safe_weights,
)
from .head_names import model_title, whole_number
from .in_memory import is_in_memory, taken
from .numpy_bert import NumpyBert, as_array, draw_bert, has_8_bits, open_bert
from .tensors import few_digits, fingerprint_of, sketch_bert
from .tokenizing import space_before
from .wordpiece_tokenizer import wordpiece_tokenizer

if TYPE_CHECKING:
    import torch

RANDOM_SEED = 0

_HUB_NAME = re.compile(r"^[\w.-]+(/[\w.-]+)?$")


@dataclass(frozen=True, eq=False)
class Encoder:
    """A model that reads text in both directions, its tokenizer, and the device it runs on.

    Made by :func:`load_encoder`. ``n_layers``, ``n_heads`` and ``max_tokens`` describe its shape;
    ``fingerprint`` identifies its weights, whatever the model is called. ``folder`` is where they were read from;
    for a random twin, which was read from nowhere, ``seed`` is what its weights were drawn with. ``whole`` is a model that was
    taken from memory with the heads it had there.

    A BERT loaded with ``device="auto"`` is run by NumPy, and torch is not imported, until somebody asks for ``model`` (or
    ``device``): to hook it, to train it, to take gradients. From then on everything is computed by that
    torch model, so that nothing done to it can be passed by. Both give the same numbers to 1e-5.

    Threads may share one: each has the torch model to itself while it runs it or has hooks on it.
    """

    name: str
    model: Any
    tokenizer: Any
    device: torch.device | None
    folder: Path | None = None
    seed: int | None = None
    numpy_bert: NumpyBert | None = field(default=None, kw_only=True, repr=False)
    whole: Any = field(default=None, kw_only=True, repr=False)

    def __post_init__(self):
        if self.numpy_bert is not None and self.model is None:  # then both are made when they are asked for
            del vars(self)["model"], vars(self)["device"]

    def __getattr__(self, name: str):
        missing = AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        if name not in ("model", "device"):
            raise missing
        with MAKING:  # the second thread to ask gets what the first has made
            if name in vars(self):
                return vars(self)[name]
            if self.numpy_bert is None:
                raise missing
            if name == "device":
                vars(self)["device"] = choose_device("auto")
            else:
                vars(self)["model"] = torch_model(self.numpy_bert, self.device)
                vars(self)["numpy_bert"] = None  # not run again: its weights need not be kept twice
            return vars(self)[name]

    @property
    def engine(self) -> NumpyBert | None:
        """What computes in NumPy, or None where torch does: for every other family, and once ``model`` was asked for."""
        return None if "model" in vars(self) else self.numpy_bert

    @property
    def config(self) -> Any:
        """The settings of the model, by their names in config.json."""
        engine = self.engine
        return self.model.config if engine is None else engine.config

    @property
    def title(self) -> str:
        """How views, tables and slides call the model: `bertlook_teach.model.model_title` of its name."""
        return model_title(self.name)

    @property
    def n_layers(self) -> int:
        return self.config.num_hidden_layers

    @property
    def n_heads(self) -> int:
        """Of each layer; ConvBERT replaces some of the heads that its configuration counts by convolutions."""
        return max(self.config.num_attention_heads // getattr(self.config, "head_ratio", 1), 1)

    @property
    def head_size(self) -> int:
        return self.config.hidden_size // self.n_heads

    @property
    def max_tokens(self) -> int:
        """Longest input in wordpieces, special tokens included."""
        config, limits = self.config, [int(self.tokenizer.model_max_length)]
        positions = getattr(config, "max_position_embeddings", None) or 0
        if self.engine is None:
            # RoBERTa's kin count positions from the number of [PAD] on, which their table of positions then names.
            table = getattr(getattr(self.model, "embeddings", None), "position_embeddings", None)
            padding = getattr(table, "padding_idx", None)
            positions -= 0 if padding is None else padding + 1
        if getattr(config, "attention_type", None) == "block_sparse":  # longer texts BigBird reads by blocks
            limits.append((5 + 2 * config.num_random_blocks) * config.block_size)
        return min(limits + [positions] * (positions > 0))  # XLNet's -1: as many as one likes

    @cached_property
    def has_segments(self) -> bool:
        """Whether the model is told which of two texts a token belongs to, as its tokenizer marks it; RoBERTa's does not."""
        given = getattr(self.tokenizer, "model_input_names", ["token_type_ids"])
        return getattr(self.config, "type_vocab_size", 0) > 1 and (
            "token_type_ids" in given
            or any(self.tokenizer("a", "a", return_token_type_ids=True)["token_type_ids"])
        )

    @cached_property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that change when a weight, the shape or the vocabulary changes.

        A random twin has those of its seed in place of its weights, whose last digits a processor decides.
        """
        weights = self.model.state_dict() if self.engine is None else self.engine.weights
        return fingerprint_of(weights, self.tokenizer, lambda one: as_array(one).tobytes())

    @cached_property
    def word_space(self) -> str | None:
        """`space_before` of the tokenizer: what a word of a split text is given in front."""
        return space_before(self.tokenizer)

    @cached_property
    def writes_bytes(self) -> bool:
        """Whether the vocabulary has a sign for each byte and no letters, as that of RoBERTa; found by asking."""
        return "æĺ¯" in "".join(self.tokenizer.tokenize("是"))

    def attend(
        self,
        input_ids,
        attention_mask,
        segment_ids=None,
        *,
        vectors: bool = False,
        precision: str | None = None,
    ):
        """One forward pass without gradients.

        Parameters
        ----------
        input_ids, attention_mask, segment_ids : integer arrays or tensors of shape (batch, token)
        vectors : bool
            Also capture the query, key and value vectors.
        precision : str, optional
            Let torch compute, with products in this precision.

        Returns
        -------
        maps : list of one array or tensor a layer, (batch, head, query, key)
        vectors : dict, name -> list of one for each layer, (batch, head, token, dim); empty unless asked for

        Raises
        ------
        RuntimeError
            If the model does not give one map for each layer.
        """
        engine = self.engine
        if precision is None and engine is not None and isinstance(input_ids, np.ndarray):
            done = engine.run(input_ids, attention_mask, segment_ids)
            return done.maps, done.vectors if vectors else {}
        torch = import_torch()

        inputs = self.inputs(input_ids, attention_mask, segment_ids)
        capture = captured_vectors(self) if vectors else contextlib.nullcontext({})
        half = products_in(precision or "float32", self.device)
        with torch.inference_mode(), self.evaluating(), half, capture as captured:
            maps = self.model(**inputs, output_attentions=True).attentions or ()
        # Fused attention answers with an empty tuple and no error; nothing downstream may see that.
        if len(maps) != self.n_layers:
            raise RuntimeError(
                f"{self.name} gave {len(maps)} attention maps for {self.n_layers} layers. Either its attention is fused, which returns no "
                "weights (load_encoder() asks for the plain one, 'eager'), or it has layers of another kind, and cannot be shown."
            )
        return list(maps), captured

    def inputs(self, input_ids, attention_mask, segment_ids=None) -> dict[str, torch.Tensor]:
        """What ``model`` is called with: arrays or tensors of shape (batch, token) as tensors on its device."""
        torch = import_torch()

        given = {"input_ids": input_ids, "attention_mask": attention_mask}
        if self.has_segments and segment_ids is not None:
            given["token_type_ids"] = segment_ids
        return {name: torch.as_tensor(rows, device=self.device) for name, rows in given.items()}

    @contextlib.contextmanager
    def evaluating(self) -> Iterator[None]:
        """Without dropout, whatever mode the model was left in; the mode of each of its modules is put back.

        In training mode two readings of one text differ by as much as .3 in a weight, and nothing says so. Other threads wait
        meanwhile; see `turn_of`.
        """
        with turn_of(self.model, self.name):
            training = [module for module in self.model.modules() if module.training]
            self.model.eval()
            try:
                yield
            finally:
                for module in training:
                    module.training = True

    @contextlib.contextmanager
    def hooked(self, hooks: Iterable[tuple[Any, str, Callable]], **options) -> Iterator[None]:
        """Evaluate with hooks on the model, which nobody else runs meanwhile: (module, ``"forward"`` or ``"forward_pre"``, function)."""
        with self.evaluating(), contextlib.ExitStack() as placed:
            for module, kind, function in hooks:
                placed.callback(getattr(module, f"register_{kind}_hook")(function, **options).remove)
            yield

    def __repr__(self) -> str:
        device = self.device if self.engine is None else "cpu"
        most = f"at most {self.max_tokens}" if self.max_tokens < 1e9 else "any number of"
        shape = f"{self.n_layers} layers x {self.n_heads} heads"
        return f"Encoder({self.name!r}, {shape}, {most} tokens, {device})"


def load_encoder(
    name: str | os.PathLike | Any = "specimen", tokenizer=None, *, device: str = "auto"
) -> Encoder:
    """Load an encoder that gives its attention.

    Parameters
    ----------
    name : str or path
        ``"specimen"`` or ``"minilm"``, which come with the course: a small BERT made for it, and all-MiniLM-L6-v2 with 8 bits a
        weight; the name of a model on the Hugging Face hub, for example ``"bert-base-uncased"``; or a folder with a model in
        transformers' format. Any of these with ``-random`` at its end is the random twin: same shape, untrained weights, fixed seed.
        Or a model in memory: of transformers, a ``pipeline``, a ``SentenceTransformer``, or a torch module that holds one. It is
        copied as it stands and left as it is; what it learns later is not seen, so load it again.
    tokenizer
        Of a model in memory, where the model does not have it itself: transformers' own, from ``AutoTokenizer``.
    device : str
        ``"auto"`` runs a BERT by NumPy until torch is needed (see :class:`Encoder`), unless it is large and there is a GPU; where
        torch runs, it takes CUDA, else Apple's MPS, else the CPU; a model in memory is copied where it is. The name of a torch device
        loads torch at once.

    Returns
    -------
    Encoder
        In evaluation mode, float32, with the attention implementation that returns its weights.

    Raises
    ------
    FileNotFoundError
        If a folder or one of its files is missing.
    ValueError
        If the model cannot be used: it is a decoder, weights are missing or not numbers, the tokenizer
        belongs to another model.
    ConnectionError
        If a hub model is neither in the local cache nor to be had from the network.

    Notes
    -----
    The network is touched only for a hub name that is not in the local cache; with ``HF_HUB_OFFLINE=1``, never.
    """
    if isinstance(name, Encoder):
        return name
    if is_in_memory(name):
        model, whole, tokenizer = taken(name, tokenizer, None if device == "auto" else choose_device(device))
        where = next(model.parameters()).device
        return checked(Encoder(f"{type(whole).__name__} in memory", model, tokenizer, where, whole=whole))
    if tokenizer is not None or not isinstance(name, str | os.PathLike):
        raise TypeError(
            f"load_encoder takes a name, a folder, or a model in memory (of transformers, a pipeline, a SentenceTransformer) with its "
            f"tokenizer; got {type(name).__name__}{'' if tokenizer is None else ' and a tokenizer, which names and folders bring themselves'}."
        )
    name = os.fspath(name)
    if not name.strip():
        raise ValueError(
            "no model name given: use 'specimen', a hub name such as 'bert-base-uncased', or a folder."
        )
    if name.startswith("recorded:"):
        raise ValueError(
            f"{name!r} is recorded attention, and here a model is needed that can be run. load_recording(...) reads it; of the commands "
            "profile, syntax, pattern, compare and claims take it."
        )
    if device != "auto":
        choose_device(device)
    if name in SHIPPED:
        return _load_folder(data_path(SHIPPED[name]), name, device, mapped=True)
    if name.endswith("-random") and not Path(name).expanduser().exists():
        return random_twin(load_encoder(name.removesuffix("-random"), device=device))
    looks_like_path = (
        name.startswith((".", "~", "/", "\\"))
        or "\\" in name
        or name.count("/") > 1
        or Path(name).is_absolute()
    )
    folder = Path(name).expanduser()
    if folder.is_dir() or looks_like_path:
        return _load_folder(folder, name, device)
    if folder.exists():
        raise ValueError(f"{name} is a file; a model is a folder with config.json, weights and a tokenizer.")
    if not _HUB_NAME.match(name):
        raise ValueError(f"{name!r} is neither a folder nor a name of the form 'model' or 'owner/model'.")
    return _load_folder(hub_folder(name), name, device, mapped=True)


def random_twin(encoder: Encoder, seed: int = RANDOM_SEED, *, keep_embeddings: bool = False) -> Encoder:
    """A model of the same shape with random weights, the control that says what architecture alone explains.

    The weights come from the model's own initialisation rule and ``seed``; torch's global random state is left as it was.

    Parameters
    ----------
    encoder : Encoder
    seed : int
    keep_embeddings : bool
        Keep the trained input embeddings (words, positions, segments and their normalisation), with random layers above: the
        random baseline of the probes of Clark et al. (2019), section 5.

    Raises
    ------
    ValueError
        If embeddings are to be kept and the model has no block of that name.
    """
    if is_in_memory(encoder) or isinstance(encoder, str):
        raise TypeError(
            f"random_twin takes an encoder: random_twin(load_encoder(model, tokenizer)); got {type(encoder).__name__}."
        )
    seed = whole_number(seed, "a seed")
    kept = "-embeddings-kept" if keep_embeddings else ""
    name = f"{encoder.name}-random{'' if seed == RANDOM_SEED else f'-{seed}'}{kept}"
    bert = None if encoder.engine is None else draw_bert(vars(encoder.engine.config), seed)
    if bert is not None:
        if keep_embeddings:
            bert.weights |= {n: w for n, w in encoder.engine.weights.items() if n.startswith("embeddings.")}
        twin = Encoder(name, None, encoder.tokenizer, None, seed=seed, numpy_bert=bert)
        weights = sketch_bert(vars(bert.config), seed)
    else:
        model = _drawn_model(encoder, seed, keep_embeddings)
        twin, weights = Encoder(name, model, encoder.tokenizer, encoder.device, seed=seed), model.state_dict()
        checked(twin)
    # Processors draw weights that differ in their last digits; what is drawn, and by which seed, is the same on all.
    drawn = (seed, encoder.fingerprint if keep_embeddings else None, few_digits(weights))
    vars(twin)["fingerprint"] = fingerprint_of(
        weights, encoder.tokenizer, lambda weights: repr(drawn).encode()
    )
    return twin


def _drawn_model(encoder: Encoder, seed: int, keep_embeddings: bool):
    torch = import_torch()
    from transformers import AutoModel

    config = type(encoder.model.config).from_dict(encoder.model.config.to_dict())
    with torch.random.fork_rng(devices=[]), quiet_loading():
        torch.manual_seed(seed)
        model = as_read(AutoModel.from_config(config, attn_implementation="eager").float())
    if keep_embeddings:
        trained, drawn = (getattr(one, "embeddings", None) for one in (encoder.model, model))
        if not (isinstance(trained, torch.nn.Module) and isinstance(drawn, torch.nn.Module)):
            raise ValueError(
                f"the embeddings of {encoder.name} ({config.model_type}) are not found under the name that BERT, RoBERTa, ELECTRA, "
                "ALBERT and DistilBERT use, so they cannot be kept; call random_twin without keep_embeddings."
            )
        drawn.load_state_dict(trained.state_dict())
    return model.to(encoder.device)


def _load_folder(folder: Path, name: str, device: str, *, mapped: bool = False) -> Encoder:
    config = read_config(folder)
    refuse_decoders(name, config)
    refuse_relative_positions(name, config)
    require_safe_weights(folder)
    in_8_bits = bool(config.get("quantization_config")) or has_8_bits(folder)
    if in_8_bits or (device == "auto" and not wants_gpu(folder)):
        bert = open_bert(folder, config, mapped=mapped)
        tokenizer = None if bert is None else wordpiece_tokenizer(folder)
        if bert is not None and tokenizer is not None and len(tokenizer) == bert.config.vocab_size:
            encoder = Encoder(name, None, tokenizer, None, folder=Path(folder), numpy_bert=bert)
            if device != "auto":
                vars(encoder)["device"] = choose_device(device)
                encoder.model  # noqa: B018 - asking for it loads it
            return encoder
        if in_8_bits:
            raise ValueError(
                f"{folder} keeps weights in 8 bits or fewer. That works only for a plain BERT with BERT's own tokenizer, whole and undamaged. "
                "Use the model in float16 or float32."
            )
    torch_device = choose_device(device)
    model, tokenizer = read_model(folder), read_tokenizer(folder)
    return checked(Encoder(name, model.to(torch_device), tokenizer, torch_device, folder=Path(folder)))
