"""How the driver lets a report do its work: with bars, kept, here or on workers."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from bertlook_course.storage import Work

from .. import chunks, common
from ..models import Model


class Bench(Work):
    """Work with bars, kept in the folder of the result, and measured here or by Dask.

    What decides the numbers is the command, the models, the data, and the options that a job gets.
    """

    def __init__(
        self, args: Namespace, folder: Path, command: str, models: Sequence, same: Callable, *, kind: str
    ):
        super().__init__(folder)
        self.shows = not args.quiet
        self._args, self._command, self._same, self._kind = args, command, same, kind
        self._loaded, self._named = models, []
        self._run, self._stack = None, ExitStack()

    def __enter__(self):
        return self

    def __exit__(self, *error) -> None:
        self._stack.__exit__(*error)

    def bar(self, what: str | None = None, unit: str = "text", total: int | None = None) -> Callable:
        return common.bar(self._args, what, unit, total)

    def say(self, text: str) -> None:
        if self.shows:
            print(text, file=sys.stderr)

    def chunks(self, job, model, items, *, size, total=None, label=None, **options) -> Iterator:
        run, named = self._run_of(model, options)
        label = getattr(model, "name", "") if label is None else label
        return run.results(job, named, items, total=total, label=label, size=size, **options)

    def add_up(self, job, model, items, sums, add, *, size, total=None, **options) -> tuple[object, bool]:
        run, named = self._run_of(model, options)
        return run.added(job, named, items, sums, add, total=total, size=size, **options)

    def _run_of(self, model, options: Mapping) -> tuple[chunks.Run, Model]:
        """The run, begun if it has not, and the model as its workers know it."""
        run = self._begin({name: value for name, value in options.items() if name != "batch_size"})
        return run, next(named for loaded, named in zip(self._loaded, self._named) if loaded is model)

    def kept(self, name, make, *, result=None, **options):
        run = self._begin(options)
        done = run.value(name)
        if done is None or (result and not result.exists()):
            done = run.keep(name, make(run.kept / f"{name}.safetensors"))
        return done

    def _begin(self, options: Mapping) -> chunks.Run:
        if self._run is not None and options != self._options:
            raise ValueError(
                f"all work of a report must be given the same options, by which it is kept; got {options} after {self._options}."
            )
        if self._run is None:
            self._options = dict(options)
            self._named = Model.each(self._args, self._loaded, kind=self._kind)
            fingerprints = [model.fingerprint for model in self._named]
            same = {"command": self._command, "fingerprints": fingerprints, **self._same(), **options}
            self._run = self._stack.enter_context(chunks.Run(self._args, self.out, same))
            self.folder = self._run.kept
        return self._run

    def finished(self) -> None:
        """The result is written."""
        if self._run is not None:
            self._run.finished()
