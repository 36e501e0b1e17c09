"""The ``bertlook`` command. Each subcommand lives in a file of its own, imported only when asked for."""

from __future__ import annotations

import argparse
import os
import re
import sys
from importlib import import_module
from types import ModuleType

from .. import __version__

# name: (file, summary). A file has add_arguments(parser) and run(args) -> exit code.
COMMANDS = {
    "present": ("present", "open a deck as a live slideshow"),
    "lab": ("present", "open JupyterLab with the notebooks"),
    "export": ("export", "write a deck as one file that is live without a kernel"),
    "profile": ("profile", "measure every head of a model over a corpus"),
    "syntax": ("syntax", "which heads know syntax: score every head on a treebank"),
    "pattern": ("pattern", "which heads follow a pattern of your own, beside baselines"),
    "coref": ("coref", "which heads find antecedents, beside plain rules"),
    "probe": ("probe", "what all heads know together: probes and controls"),
    "layers": ("layers", "what each layer knows: a probe for every depth"),
    "ablate": ("ablate", "which heads matter: switch each off and score what is left"),
    "finetune": ("finetune", "teach a model a task, beside its baselines"),
    "keywords": ("keywords", "do heads find key words: beside rules and a random twin"),
    "compare": ("compare", "what changed in every head between two checkpoints"),
    "negation": ("negation", "do heads find the cue of a negation, before and after tuning"),
    "record": ("recordings.record", "keep a model's attention in a file"),
    "show": ("recordings.show", "a recorded input as a page that is live without Python"),
    "claims": ("claims", "try the published claims on a model"),
    "misconceptions": ("misconceptions", "what is often said and not so, each refuted by a run"),
    "doctor": ("doctor", "check that everything is ready for class"),
}


def _module(name: str) -> ModuleType:
    return import_module(f".{COMMANDS[name][0]}", __package__)


def build_parser(chosen: str | None = None) -> argparse.ArgumentParser:
    """The whole command line; only the chosen subcommand's file is imported to ask for its arguments."""
    parser = argparse.ArgumentParser(
        prog="bertlook", description="See, measure and test what BERT's attention heads look at."
    )
    parser.add_argument("--version", action="version", version=f"bertlook_teach {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (_, summary) in COMMANDS.items():
        subparser = subparsers.add_parser(name, help=summary)
        if name == chosen:
            _module(name).add_arguments(subparser)
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code: 0 well, 1 not (with the reason on stderr), 2 a wrong command line."""
    argv = sys.argv[1:] if argv is None else argv
    chosen = next((word for word in argv if not word.startswith("-")), None)
    args = build_parser(chosen).parse_args(argv)
    try:
        return _module(args.command).run(args)
    except (ValueError, OSError) as error:
        if os.environ.get("BERTLOOK_TRACEBACK"):
            raise
        print(f"bertlook {args.command}: {_as_typed(str(error), args)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _as_typed(message: str, args: argparse.Namespace) -> str:
    """A message of a function in the words of the command line: its option, and lines counted from 1."""
    if hasattr(args, "truncate"):
        message = message.replace("truncate=True", "--truncate")
    return re.sub(
        r"\bitem (\d+) of the corpus", lambda found: f"text {int(found[1]) + 1} of the corpus", message
    )
