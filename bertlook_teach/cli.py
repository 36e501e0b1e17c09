"""The ``bertlook`` command. Each subcommand lives in the module that does its work, imported only when asked for."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from typing import NamedTuple

from bertlook_teach import __version__


class Command(NamedTuple):
    """Where a subcommand lives: a module of this package, and two of its functions."""

    module: str
    add_arguments: str  # f(parser) -> None
    run: str  # f(args) -> exit code
    summary: str


COMMANDS = {
    "present": Command("launch", "add_present_arguments", "present", "open a deck as a live slideshow"),
    "lab": Command("launch", "add_lab_arguments", "lab", "open JupyterLab with the notebooks"),
    "export": Command(
        "export", "add_arguments", "run", "write a deck as one file that is live without a kernel"
    ),
    "profile": Command("profile", "add_arguments", "run", "measure every head of a model over a corpus"),
    "syntax": Command(
        "syntax_command", "add_arguments", "run", "which heads know syntax: score every head on a treebank"
    ),
    "pattern": Command(
        "pattern_command",
        "add_arguments",
        "run",
        "which heads follow a pattern of your own, beside baselines",
    ),
    "coref": Command(
        "coref_command", "add_arguments", "run", "which heads find antecedents, beside plain rules"
    ),
    "probe": Command(
        "probe_command", "add_arguments", "run", "what all heads know together: probes and controls"
    ),
    "layers": Command(
        "layers_command", "add_arguments", "run", "what each layer knows: a probe for every depth"
    ),
    "ablate": Command(
        "ablate_command", "add_arguments", "run", "which heads matter: switch each off and score what is left"
    ),
    "finetune": Command(
        "finetune_command", "add_arguments", "run", "teach a model a task, beside its baselines"
    ),
    "keywords": Command(
        "keywords_command", "add_arguments", "run", "do heads find key words: beside rules and a random twin"
    ),
    "compare": Command(
        "compare_command", "add_arguments", "run", "what changed in every head between two checkpoints"
    ),
    "negation": Command(
        "negation_command",
        "add_arguments",
        "run",
        "do heads find the cue of a negation, before and after tuning",
    ),
    "claims": Command("claims_command", "add_arguments", "run", "try the published claims on a model"),
    "misconceptions": Command(
        "misconceptions_command",
        "add_arguments",
        "run",
        "what is often said and not so, each refuted by a run",
    ),
    "doctor": Command("doctor", "add_arguments", "run", "check that everything is ready for class"),
}


def _module(command: Command):
    name = f"bertlook_teach.{command.module}"
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name == name:
            raise SystemExit(f"bertlook: this version has no {command.module!r} command yet") from None
        raise


def build_parser(chosen: str | None = None) -> argparse.ArgumentParser:
    """The whole command line; only the chosen subcommand's module is imported to ask for its arguments."""
    parser = argparse.ArgumentParser(
        prog="bertlook", description="See, measure and test what BERT's attention heads look at."
    )
    parser.add_argument("--version", action="version", version=f"bertlook_teach {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        subparser = subparsers.add_parser(
            name, help=command.summary, description=f"{command.summary}.".capitalize()
        )
        if name == chosen:
            getattr(_module(command), command.add_arguments)(subparser)
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code: 0 well, 1 not (with the reason on stderr), 2 a wrong command line."""
    argv = sys.argv[1:] if argv is None else argv
    chosen = next((word for word in argv if not word.startswith("-")), None)
    args = build_parser(chosen).parse_args(argv)
    command = COMMANDS[args.command]
    try:
        return getattr(_module(command), command.run)(args)
    except (ValueError, OSError) as error:
        if os.environ.get("BERTLOOK_TRACEBACK"):
            raise
        print(f"bertlook {args.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
