"""A model as a job names it: here in this process, on a worker loaded once, and the same weights on both."""

from __future__ import annotations

import hashlib
import os
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bertlook_course.storage import pack

from . import common

_loaded: dict[Model, object] = {}


@dataclass(frozen=True)
class Model:
    """What a worker needs to have a model: how it is named, and by what it is known to be the same.

    Attributes
    ----------
    name, device : str
        As ``--model`` and ``--device``.
    kind : {"encoder", "twin", "masked", "classifier"}
    fingerprint : str
    """

    name: str
    device: str
    kind: str
    fingerprint: str

    @classmethod
    def each(cls, args: Namespace, models: Sequence, *, kind: str = "encoder") -> list[Model]:
        """A model and its twin, as `common.with_twin` gives them."""
        return [cls.of(args, model, kind="twin" if i else kind) for i, model in enumerate(models)]

    @classmethod
    def of(cls, args: Namespace, loaded, *, kind: str = "encoder") -> Model:
        """The model of ``--model`` that is loaded here, or the twin of `common.with_twin`; it is not loaded again in this process."""
        name = args.model
        if kind == "twin" and getattr(args, "twin", None):
            name, kind = args.twin, "encoder"  # a recording
        model = cls(name, args.device, kind, _fingerprint(loaded, kind))
        _loaded[model] = loaded
        return model

    def load(self):
        """The model, loaded once in a process.

        Raises
        ------
        RuntimeError
            If it is not there, or another one of the same name is; with what to do.
        """
        if self not in _loaded:
            try:
                found = self._find()
            except (OSError, ValueError, ImportError, RuntimeError) as error:
                raise RuntimeError(
                    f"a worker ({_here()}) cannot load the model {self.name}: {error} Put it where the worker finds it under the same name: "
                    "a folder that all machines share, or a hub name that each has downloaded."
                ) from None
            known = _fingerprint(found, self.kind)
            if known != self.fingerprint:
                raise RuntimeError(
                    f"a worker ({_here()}) has another model under the name {self.name}: fingerprint {known} there, {self.fingerprint} here. "
                    "Bring both to the same files."
                )
            _loaded[self] = found
        return _loaded[self]

    def _find(self):
        from bertlook_teach.model import random_twin

        if self.kind == "classifier":
            from bertlook_course.analyses.finetuning import load_classifier

            return load_classifier(self.name, device=self.device)
        found = common.load_model(self.name, self.device)
        if self.kind == "masked":
            from bertlook_course.analyses.ablation import MaskedLM

            return MaskedLM(found)
        return random_twin(found) if self.kind == "twin" else found


def _fingerprint(loaded, kind: str) -> str:
    """That of the encoder; of a classifier with what reads it."""
    if kind != "classifier":
        return getattr(loaded, "encoder", loaded).fingerprint
    digest = hashlib.sha256(loaded.encoder.fingerprint.encode())
    for name, tensor in sorted(loaded.model.state_dict().items()):
        digest.update(name.encode() + tensor.detach().cpu().numpy().tobytes())
    return digest.hexdigest()[:16]


def _here() -> str:
    import socket

    return f"{socket.gethostname()}, process {os.getpid()}"


def measured(job: Callable, model: Model, items: Sequence, options: dict) -> bytes:
    """One chunk, measured where this runs: the packed result of ``job(model, items, **options)``."""
    return pack(job(model.load(), items, **options))
