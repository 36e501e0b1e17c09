"""Options made from the signature and the docstring of a report."""

from __future__ import annotations

import inspect
import re
from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Literal, get_args, get_origin

from .. import common

METAVARS = {int: "N", float: "X", Path: "FILE", str: "NAME"}


@dataclass(frozen=True)
class Option:
    """One keyword-only parameter of a report."""

    name: str
    kind: object  # its annotation
    default: object
    help: str

    def add(self, parser: ArgumentParser, metavar: str | None) -> None:
        """Add it to a parser: a switch for a bool, choices for a Literal, else a value."""
        option, text = f"--{self.name.replace('_', '-')}", self.help
        if self.kind is bool:
            if self.name == "truncate":
                common.add_truncate(parser, default=self.default)
            elif self.default:
                parser.add_argument(
                    f"--no-{option[2:]}",
                    action="store_false",
                    dest=self.name,
                    help=f"leave out {text}",
                )
            else:
                parser.add_argument(option, action="store_true", help=text)
            return
        if self.default is not None and "(default" not in text:
            text += f" (default: {self.default})"
        union = [kind for kind in get_args(self.kind) if kind is not NoneType]
        kind = self.kind if get_origin(self.kind) is Literal or not union else union[0]
        if get_origin(kind) is Literal:
            parser.add_argument(option, choices=get_args(kind), default=self.default, help=text)
        else:
            shown = metavar or METAVARS[kind]
            parser.add_argument(option, type=kind, default=self.default, metavar=shown, help=text)


def options_of(report: Callable) -> list[Option]:
    """The options of a report, in the order of its signature."""
    helps = parameter_helps(report)
    return [
        Option(p.name, p.annotation, p.default, helps[p.name])
        for p in inspect.signature(report, eval_str=True).parameters.values()
        if p.kind is p.KEYWORD_ONLY and p.name not in ("twin", "work", "batch_size")
    ]


def summary_of(report: Callable) -> str:
    """What a docstring says above its *Parameters*, in one paragraph."""
    return " ".join(inspect.getdoc(report).partition("\n\nParameters\n")[0].split())


def parameter_helps(report: Callable) -> dict[str, str]:
    """What the *Parameters* section of a docstring says of each, as a phrase without capital and full stop."""
    section = re.search(
        r"^Parameters\n-+\n(.*?)(\n\n\w+\n-+\n|\Z)", inspect.getdoc(report), re.DOTALL | re.MULTILINE
    )
    found = {}
    for names, text in re.findall(r"^(\w+(?:, \w+)*)[^\n]*\n((?:    [^\n]*\n?)*)", section[1], re.MULTILINE):
        words = " ".join(text.split()).replace("%", "%%")
        words = re.sub(r"(?<!\.)\.$", "", words)
        phrase = words if words[1:2].isupper() else words[:1].lower() + words[1:]
        found |= dict.fromkeys(names.split(", "), phrase)
    return found
