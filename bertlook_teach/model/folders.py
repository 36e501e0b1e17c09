"""The folder of a model: what is missing, damaged or unsafe in it, what to do about it, and what transformers loads from it."""

from __future__ import annotations

import contextlib
import errno
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from ..disk import count_in, data_path, install_command, read_json
from .tokenizing import words_of_text

SHIPPED = {"specimen": "model", "minilm": "minilm"}  # the models in this repository: name -> folder in data
SHIPPED_MODELS = tuple(name + twin for name in SHIPPED for twin in ("", "-random"))

HUB_SECONDS = 5  # to connect, and as many to answer

_HUB_FILES = ("*.json", "*.txt", "*.safetensors", "*.model")

# Families that had a choice of position embeddings until transformers 5 took it away.
_ABSOLUTE = (
    "bert",
    "roberta",
    "electra",
    "xlm-roberta",
    "camembert",
    "ernie",
    "albert",
    "layoutlm",
    "megatron-bert",
    "roberta-prelayernorm",
)

MOST_LAYERS = 1000  # far above any encoder's

MOST_BYTES = 100_000_000  # of a file of settings or words; the largest tokenizers have some 40 MB

MOST_WORDS = 5_000_000  # lines, or values of JSON, of such a file; the largest vocabularies have a million words, each with up to four

# What a model is built by, as the families call it: the least that makes sense.
_SIZES = (
    dict.fromkeys(
        ("hidden_size", "dim", "num_attention_heads", "n_heads", "num_hidden_layers", "n_layers"), 1
    )
    | dict.fromkeys(("intermediate_size", "hidden_dim", "vocab_size"), 1)
    | dict.fromkeys(("max_position_embeddings", "type_vocab_size"), 0)
)


def read_config(folder: Path) -> dict:
    if not folder.is_dir():
        raise FileNotFoundError(
            f"there is no model folder {folder}. A folder is made by model.save_pretrained(...) and tokenizer.save_pretrained(...); "
            "the models that ship with the course are called 'specimen' and 'minilm'."
        )
    _refuse_odd_files(folder)
    try:
        config = read_json(folder / "config.json", MOST_BYTES)
    except FileNotFoundError:
        why = "so it is not a model folder. model.save_pretrained(folder) writes one."
        if (folder / "adapter_config.json").is_file():
            why = "but an adapter of PEFT. Save the model with it: model.merge_and_unload().save_pretrained(folder)."
        elif (folder / "modules.json").is_file():
            why = "but modules of a SentenceTransformer. Its model lies in a folder inside, such as 0_Transformer."
        raise FileNotFoundError(f"the folder {folder} holds no config.json, {why}") from None
    except (ValueError, OSError) as error:
        raise ValueError(f"{folder / 'config.json'} cannot be read as JSON: {error}.") from error
    if not isinstance(config, dict):
        raise ValueError(  # noqa: TRY004 - the file is wrong, not the call
            f"{folder / 'config.json'} holds {type(config).__name__}, where an object with the model's settings was expected."
        )
    _refuse_odd_settings(folder / "config.json", config)
    _refuse_endless_words(folder, config.get("vocab_size") or 100_000)
    return config


def _refuse_odd_files(folder: Path) -> None:
    """Before one is opened: a pipe would wait for ever, and a gigabyte of JSON takes ten of memory."""
    for file in sorted(folder.iterdir()):
        if file.suffix not in (".json", ".txt", ".model", ".jinja", ".safetensors") or not file.exists():
            continue
        if not file.is_file():
            kind = "a folder" if file.is_dir() else "a pipe or a device"
            raise ValueError(f"{file} is {kind}, where a file of the model was expected.")
        if file.suffix != ".safetensors" and file.stat().st_size > MOST_BYTES:
            raise ValueError(
                f"{file} has {file.stat().st_size / 1e6:,.0f} MB; of a file of settings or words at most {MOST_BYTES / 1e6:.0f} are read. "
                "Does it belong to the model?"
            )


def _refuse_endless_words(folder: Path, n_words: int) -> None:
    """Before a tokenizer is made of it: 30 MB of words that no model has take half a gigabyte, and minutes."""
    most = min(200_000 + 20 * n_words, MOST_WORDS)
    for file in sorted(folder.iterdir()):
        if file.suffix in (".json", ".txt") and file.is_file():
            with open(file, "rb") as opened:
                found = count_in(opened, *((b"{", b"[", b",") if file.suffix == ".json" else (b"\n",)))
            if found > most:
                raise ValueError(
                    f"{file} holds {found:,} {'values' if file.suffix == '.json' else 'lines'}; of a model with {n_words:,} words at most "
                    f"{most:,} are read. Does it belong to the model?"
                )


def _refuse_odd_settings(path: Path, config: dict) -> None:
    for key, least in _SIZES.items():  # each is built before the weights are seen to lack it
        size = config.get(key)
        if size is not None and (type(size) is not int or size < least):
            raise ValueError(
                f"{path} says {key} = {size!r:.60}, and a whole number from {least} on was expected. Is the file damaged?"
            )
        if key in ("num_hidden_layers", "n_layers") and size is not None and size > MOST_LAYERS:
            raise ValueError(
                f"{path} says {key} = {size}; a model may have at most {MOST_LAYERS} layers here. Is the file damaged?"
            )
    # with another number every map would be NaN, or even
    for key in (
        "layer_norm_eps",
        "layer_norm_epsilon",
    ):
        small = config.get(key)
        if small is not None and (type(small) not in (int, float) or not 0 < small < 1):
            raise ValueError(
                f"{path} says {key} = {small!r:.60}, and a small number such as 1e-12 was expected. Is the file damaged?"
            )
    names = config.get("architectures")
    if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise ValueError(
            f"{path} says architectures = {names!r:.60}, and a list of names was expected. Is the file damaged?"
        )


def longest_input(whose: Path | str, said) -> int:
    """The most wordpieces that a tokenizer says it takes, if that is a number of them."""
    if type(said) not in (int, float) or not said >= 1 or said != said // 1:
        raise ValueError(
            f"{whose} says model_max_length = {said!r:.60}, and a whole number from 1 on was expected: how many tokens the model reads"
        )
    return int(said)


def refuse_decoders(name: str, config: dict) -> None:
    """Refuse before gigabytes are loaded; `load_encoder` catches by behaviour what is not told apart here."""
    architectures = " ".join(map(str, config.get("architectures") or ()))
    if config.get("is_encoder_decoder"):
        kind = "an encoder-decoder"
    elif config.get("is_decoder") or re.search(r"CausalLM|LMHeadModel", architectures):
        kind = "a decoder, which looks only backwards"
    else:
        return
    raise ValueError(
        f"{name} is {kind} ({architectures or config.get('model_type')}); bertlook needs an encoder, whose tokens look in both "
        "directions: BERT, RoBERTa, DistilBERT, ELECTRA, ALBERT and the like."
    )


def refuse_relative_positions(name: str, config: dict) -> None:
    """transformers 5 reads BERT with relative positions as if it had none, without a word: maps are off by as much as 1."""
    kind = config.get("position_embedding_type", "absolute")
    if config.get("model_type") in _ABSOLUTE and kind not in (None, "absolute"):
        raise ValueError(
            f"{name} has relative positions (position_embedding_type {kind!r}), which transformers dropped in version 5: it would read the "
            "weights without them, as another model. Use a model with absolute positions."
        )


def require_safe_weights(folder: Path) -> None:
    if not any(folder.glob("*.safetensors")):
        pickled = any(folder.glob("*.bin")) or any(folder.glob("*.pt"))
        hint = (
            "It has weights in pickle format, which can run code when opened and is not read here; convert them with "
            "model.save_pretrained(folder) in an environment you trust."
            if pickled
            else "Copy model.safetensors into it, or save the model there with model.save_pretrained(folder)."
        )
        raise FileNotFoundError(f"the model folder {folder} holds no *.safetensors file. {hint}")


def require_tokenizer_files(folder: Path) -> None:
    wanted = (
        "tokenizer.json",
        "vocab.txt",
        "vocab.json",
        "spiece.model",
        "sentencepiece.bpe.model",
        "tokenizer.model",
    )
    if not any((folder / file).is_file() for file in wanted):
        raise FileNotFoundError(
            f"the model folder {folder} holds no tokenizer (tokenizer.json or vocab.txt). tokenizer.save_pretrained(folder) writes it."
        )


def hub_folder(name: str) -> Path:
    """The local copy of a hub model: from the cache if it is there, else downloaded, with a progress bar."""
    from huggingface_hub import constants, snapshot_download
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    with contextlib.suppress(Exception):  # not in the cache, or only in part: then it must be fetched
        folder = Path(snapshot_download(name, allow_patterns=_HUB_FILES, local_files_only=True))
        if (folder / "config.json").is_file() and any(folder.glob("*.safetensors")):
            return folder
    if constants.HF_HUB_OFFLINE:
        raise ConnectionError(
            f"{name} is not in the local cache, and HF_HUB_OFFLINE forbids the network. Unset it and run once with a network, or "
            f"give a folder; 'specimen' needs neither.{_recorded_hint(name)}"
        )
    try:
        _reach_hub()
        return Path(snapshot_download(name, allow_patterns=_HUB_FILES, etag_timeout=10))
    except (RepositoryNotFoundError, GatedRepoError) as error:
        raise ValueError(
            f"the hub has no open model {name!r} (and there is no such folder here). Check the spelling."
        ) from error
    except Exception as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EACCES, errno.EROFS):
            raise  # the disk, not the network; the message says so
        raise ConnectionError(
            f"{name} is neither a folder here nor in the local cache, and it could not be fetched from the hub: {first_line(error)}. "
            "Check the network and run again (a download resumes where it stopped), or use 'specimen', which needs none."
            f"{_recorded_hint(name)}"
        ) from error


def _reach_hub() -> None:
    """Ask whether the hub answers at all: its client tries again and again for minutes where a network swallows what is sent."""
    from huggingface_hub import constants
    from huggingface_hub.utils import get_session

    get_session().head(constants.ENDPOINT, timeout=HUB_SECONDS)


def _recorded_hint(name: str) -> str:
    """For a model that is not here, but whose attention on some inputs comes with the course."""
    owner, _, short = name.rpartition("/")
    if owner not in ("", "google-bert") or not data_path("bert_base", f"{short}.bertlook").is_file():
        return ""
    return f" What it did on some inputs comes with the course: load_recording({short!r})."


def first_line(error: BaseException) -> str:
    """What an error says, in one line; a line that ends in a colon says nothing without the next."""
    lines = [line.strip() for line in str(error).strip().splitlines()] or [type(error).__name__]
    return " ".join(lines[: 2 if lines[0].endswith(":") else 1]).rstrip(".")


@contextlib.contextmanager
def quiet_loading() -> Iterator[None]:
    """Silence load reports and progress bars (their order changes from run to run), and put the settings back.

    Those of torch as well: under ``inference_mode`` weights are made that no gradient can be taken of, and another default dtype
    draws other random numbers.
    """
    from transformers.utils import logging

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    torch = sys.modules.get("torch")  # not asked for by those who load a tokenizer
    dtype = torch and torch.get_default_dtype()
    try:
        with torch.inference_mode(False) if torch else contextlib.nullcontext():
            if torch:
                torch.set_default_dtype(torch.float32)
            yield
    finally:
        if torch:
            torch.set_default_dtype(dtype)
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def import_torch():
    """torch, where something needs it that NumPy does not do."""
    try:
        import torch
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "torch is not installed. It is not needed to read the attention of a BERT, but for this and for other models it is: "
            + install_command("torch"),
            name=error.name,
        ) from None
    return torch


# --- a model is tried once when it is loaded: what a library would pass over in silence is refused ---------------
def unread_weights(model, unexpected: Iterable[str]) -> list[str]:
    """Of the weights that were not loaded those inside the encoder; heads of pre-training, a pooler and counted positions may stay out."""
    prefix = f"{model.base_model_prefix}."
    parts = tuple(f"{name}." for name, _ in model.named_children() if name != "pooler")
    return sorted(
        key
        for key in unexpected
        if key.removeprefix(prefix).startswith(parts) and not key.endswith(("position_ids", "token_type_ids"))
    )


def checked(encoder):
    """Try an Encoder once, and hand it back: everything a library would pass over in silence is refused here."""
    torch = import_torch()

    name, tokenizer, config = encoder.name, encoder.tokenizer, encoder.model.config
    if not tokenizer.is_fast:
        raise ValueError(
            f"the tokenizer of {name} is a slow one and cannot say which wordpiece belongs to which word."
        )
    vocabulary, embeddings = len(tokenizer), getattr(config, "vocab_size", None)
    if embeddings is None:
        raise ValueError(
            f"{name} ({config.model_type}) has no vocabulary, so it does not read text. bertlook needs an encoder of text such as BERT."
        )
    if not embeddings / 2 <= vocabulary <= embeddings:
        raise ValueError(
            f"the tokenizer of {name} knows {vocabulary} wordpieces, but the model has embeddings for {embeddings}: they do not belong "
            "together, or the vocabulary file was not found and every word would become [UNK]. After tokenizer.add_tokens(...), call "
            "model.resize_token_embeddings(len(tokenizer)), train, and save both."
        )
    if vocabulary != embeddings:
        warnings.warn(
            f"the tokenizer of {name} knows {vocabulary} wordpieces, and the model has embeddings for {embeddings}. That is usual where embeddings "
            "are padded to a round number; otherwise the tokenizer is another model's, and every number is wrong.",
            stacklevel=4,
        )
    if len(words_of_text(tokenizer("a b c d"), ["a b c d"])[0]) < 2:
        raise ValueError(
            f"the tokenizer of {name} reads 'a b c d' as one word: it does not say where in a text its pieces stand."
        )
    for path, tensor in encoder.model.named_parameters():
        if not torch.isfinite(tensor).all():
            raise ValueError(f"the weights of {name} are damaged: {path} holds NaN or infinity.")
    for text in ("a b c d e f g", "a b c"):  # of two lengths: a window of fixed width fits one by accident
        maps, n = _try_reading(encoder, text)
        if maps[0].shape != (1, encoder.n_heads, n, n):
            raise ValueError(
                f"the attention of {name} has shape {tuple(maps[0].shape)} a layer where (1, {encoder.n_heads}, {n}, {n}) was expected: "
                "its heads do not look at every token, or some were pruned, and they cannot be shown as one map of query by key."
            )
    if not all(float((layer.sum(-1) - 1).abs().max()) <= 1e-3 for layer in maps):
        raise ValueError(
            f"what {name} hands out as attention are not weights: a row sums to {float(maps[0][0, 0, 0].sum()):.3g} and not to 1. They are "
            "scores before the softmax (SqueezeBERT does so), which no measure of attention can be taken from."
        )
    if all(float(layer.triu(1).abs().max()) == 0 for layer in maps):
        raise ValueError(
            f"{name} looks only backwards: it is a decoder. bertlook needs an encoder such as BERT."
        )
    return encoder


def _try_reading(encoder, text: str) -> tuple[list, int]:
    """The maps of a short text, and its length in tokens; whatever a family needs beside text is refused here."""
    ids = np.array([encoder.tokenizer(text)["input_ids"]])
    try:
        maps, _ = encoder.attend(ids, np.ones_like(ids), np.zeros_like(ids))
    except Exception as error:
        # each family has its own way to miss an input, and a dozen kinds of error for it
        raise ValueError(
            f"{encoder.name} ({encoder.model.config.model_type}) gives no attention for a plain text: {first_line(error)}. Layers that "
            "mix tokens without attention weights (FNet), or that need more than text, cannot be shown; BERT, RoBERTa, DistilBERT, "
            "ELECTRA, ALBERT and the like can."
        ) from error
    return maps, ids.shape[1]


def as_read(model):
    """A model as it is read here, whatever was saved with it: no dropout, attention that returns its weights, answers by their names."""
    model.config.return_dict = True
    model.set_attn_implementation("eager")
    # BigBird does so itself at the first short text
    if getattr(model, "attention_type", None) == "block_sparse":
        model.set_attention_type("original_full")
    return model.eval()


def read_model(folder: Path):
    """The model of a folder by transformers, float32 and with the attention that returns its weights; every weight is in its place."""
    torch = import_torch()
    from transformers import AutoConfig, AutoModel

    try:
        # Weights that a folder need not have, the pooler's, are drawn the same each time.
        with quiet_loading(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            settings = AutoConfig.from_pretrained(folder, local_files_only=True)
            # Half-precision checkpoints stay half without dtype; fused attention returns no weights.
            model, report = AutoModel.from_pretrained(
                folder,
                config=settings,
                dtype=torch.float32,
                attn_implementation="eager",
                local_files_only=True,
                use_safetensors=True,
                trust_remote_code=False,
                output_loading_info=True,
            )
    except Exception as error:  # safetensors and transformers raise a dozen kinds for a damaged folder
        raise ValueError(
            f"the model in {folder} cannot be loaded: {first_line(error)}. Is a file damaged or cut short, or were heads pruned?"
        ) from error
    missing = sorted(key for key in report["missing_keys"] if "pooler" not in key)
    mismatched = [str(key[0] if isinstance(key, tuple) else key) for key in report.get("mismatched_keys", ())]
    if missing or mismatched:
        lost = (missing + mismatched)[:3]
        raise ValueError(
            f"the weights in {folder} do not fill the model: {len(missing) + len(mismatched)} tensors are missing or of another "
            f"shape, first {', '.join(lost)}. They would silently be random; check that config.json and the weights belong together."
        )
    if stray := unread_weights(model, report["unexpected_keys"]):
        raise ValueError(
            f"the weights in {folder} hold {len(stray)} tensors that this encoder has no place for, first {', '.join(stray[:3])}. They would "
            "silently be left out, and another model would run than the one that was saved; check that config.json and the weights "
            "belong together, and that transformers still knows this kind of model."
        )
    return as_read(model)


def read_tokenizer(folder: Path):
    """The tokenizer of a folder, tried on a text, a pair and a split text."""
    from transformers import AutoTokenizer

    require_tokenizer_files(folder)
    try:
        with quiet_loading():
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
            tokenizer.model_max_length = longest_input(
                folder / "tokenizer_config.json", tokenizer.model_max_length
            )
            for given in (("a b",), ("a", "b"), (["a", "b"],)):  # an odd setting is often met only here
                tokenizer(*given, is_split_into_words=isinstance(given[0], list))
    except Exception as error:
        raise ValueError(f"the tokenizer in {folder} cannot be loaded: {first_line(error)}.") from error
    return tokenizer
