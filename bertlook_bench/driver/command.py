"""The record of a command, and what is done with it."""

from __future__ import annotations

import inspect
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field

from bertlook_course.storage import Report, claim_folder

from .. import chunks, common
from .data import Data
from .options import options_of, summary_of
from .work import Bench


@dataclass(frozen=True)
class Command:
    """A research command.

    Attributes
    ----------
    name : str
        As it is typed.
    report : function
        ``report(encoder, *data, twin=None, ..., work=IN_PLACE) -> Report``. Its keyword-only parameters are the options of the command:
        names, types and defaults from the signature, help from the *Parameters* of its docstring; what stands above these is what
        ``--help`` says of the command. ``twin`` asks for the random twin, with ``--no-twin``.
    data : Data
        What comes after the encoder.
    files : str
        Names of the tables that the report saves, blanks between them.
    example : str
        A line that can be typed, without ``bertlook``.
    notes : str
        More for ``--help``, below the options; paragraphs with an empty line between.
    recorded : bool
        Whether ``--model recorded:NAME`` is taken.
    scale : bool
        Whether it works in chunks, so that ``--workers`` and ``--scheduler`` are taken.
    resumes : bool
        Whether it keeps what is done where it does not work in chunks, so that ``--force`` is taken.
    twin : str
        What ``--no-twin`` leaves out.
    metavar : dict of option -> what stands for its value in ``--help``
    """

    name: str
    report: Callable[..., Report]
    data: Data
    files: str
    example: str
    notes: str = ""
    recorded: bool = False
    scale: bool = False
    resumes: bool = False
    twin: str = "the random twin"
    metavar: Mapping[str, str] = field(default_factory=dict)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The options: model, data and folder, then those of the report, then how it is computed."""
        names = self.files.split()
        beside = "a .json of each" if names[1:] else f"{names[0]}.json"
        what = f"{summary_of(self.report)} Writes {', '.join(f'{name}.csv' for name in names)} and {beside}."
        common.describe(parser, what, self.example, *filter(None, self.notes.split("\n\n")))
        self.data.add_model(parser, self.recorded)
        self.data.add(parser)
        common.add_out(parser)
        options, asked = options_of(self.report), inspect.signature(self.report).parameters
        for option in options:
            option.add(parser, self.metavar.get(option.name))
        if "twin" in asked:
            common.add_no_twin(parser, self.twin)
            if self.recorded:
                common.add_recorded_twin(parser)
        common.add_device(parser, batch_size=asked["batch_size"].default if "batch_size" in asked else None)
        if self.scale:
            chunks.add_scale(parser)
        elif self.resumes:
            common.add_force(parser)

    def run(self, args: Namespace) -> int:
        """Read, compute, print, save; 1 where a fit has not finished, 130 where Ctrl-C left a first part of the result."""
        bounds = {**self.data.least, **getattr(self.report, "least", {})}
        common.at_least(args, **bounds)
        self.data.check(args)
        folder = claim_folder(args.out)
        asked = inspect.signature(self.report).parameters
        options = {option.name: getattr(args, option.name) for option in options_of(self.report)}
        options |= {"batch_size": args.batch_size} if "batch_size" in asked else {}
        with ExitStack() as stack:
            given = self.data.read(args, stack)
            model = given.model or self.data.load(args, self.recorded)
            models = common.with_twin(args, model) if "twin" in asked else [model]
            if "twin" in asked:
                options["twin"] = models[1] if models[1:] else None
            work = stack.enter_context(Bench(args, folder, self.name, models, given.same, kind=given.kind))
            report = self.report(model, *given.items, work=work, **options)
            report.about.update(given.about)
            for note in report.notes:
                print(note, file=sys.stderr)
            print(report.text, *given.lines, sep="\n")
            print(report.save(folder))
            if report.interrupted:
                return 130
            work.finished()
        return 0 if report.finished else 1
