"""The ``bertlook`` command. Each subcommand lives in a file of its own, imported only when asked for."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
from importlib import import_module
from types import ModuleType

from .. import __version__
from ..disk import release_folders

# heading: {name: (file, summary)}. A file has add_arguments(parser) and run(args) -> exit code.
GROUPS = {
    "teach": {
        "present": ("present", "open a deck as a live slideshow"),
        "lab": ("present", "open JupyterLab with the notebooks"),
        "doctor": ("doctor", "check that everything is ready for class"),
    },
    "measure": {
        "profile": ("profile", "measure every head of a model over a corpus"),
        "syntax": ("syntax", "which heads know syntax: score every head on a treebank"),
        "pattern": ("pattern", "which heads follow a pattern of your own, beside baselines"),
        "coref": ("coref", "which heads find antecedents, beside plain rules"),
        "probe": ("probe", "what all heads know together: probes and controls"),
        "layers": ("layers", "what each layer knows: a probe for every layer"),
        "ablate": ("ablate", "which heads matter: switch each off and score what is left"),
        "finetune": ("finetune", "teach a model a task, beside its baselines"),
        "keywords": ("keywords", "do heads find key words: beside rules and a random twin"),
        "compare": ("compare", "what changed in every head between two checkpoints"),
        "negation": ("negation", "do heads find the cue of a negation, before and after tuning"),
        "claims": ("claims", "try the published claims on a model"),
        "misconceptions": ("misconceptions", "what is often said and not so, each refuted by a run"),
    },
    "keep and hand out": {
        "course": ("handouts.course", "copy the notebooks into a folder of your own"),
        "export": ("handouts.export", "write a deck as one file that is live without a kernel"),
        "site": ("handouts.site", "the whole course as one folder for any web server"),
        "worksheet": ("handouts.worksheet", "one printable page without code for a lesson"),
        "collect": ("handouts.collect", "what a class handed in, on one page and in a CSV"),
        "record": ("recordings.record", "keep a model's attention in a file"),
        "show": ("recordings.show", "a recorded input as a page that is live without Python"),
    },
}
COMMANDS = {name: entry for commands in GROUPS.values() for name, entry in commands.items()}


def _module(name: str) -> ModuleType:
    return import_module(f".{COMMANDS[name][0]}", __package__)


class _Command(argparse.ArgumentParser):
    """Reads ``type=int`` as `whole_number`."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.register("type", int, whole_number)


class _Parser(argparse.ArgumentParser):
    """Suggests a command where one is misspelt."""

    def error(self, message: str):
        wrong = re.search(r"argument COMMAND: invalid choice: '(.*?)'", message)
        if wrong:
            near = difflib.get_close_matches(wrong[1], COMMANDS, n=1, cutoff=0.6)
            meant = f" Did you mean {near[0]}?" if near else ""
            message = f"there is no command {wrong[1]!r}.{meant} `bertlook --help` lists them."
        super().error(message)


def _overview() -> str:
    """All commands under their headings, as the help shows them."""
    width = max(map(len, COMMANDS))
    parts = []
    for heading, commands in GROUPS.items():
        lines = (f"  {name:{width}}  {summary}" for name, (_, summary) in commands.items())
        parts.append("\n".join([f"{heading}:", *lines]))
    return "\n\n".join([*parts, "`bertlook COMMAND --help` says more, with an example."])


def build_parser(chosen: str | None = None) -> argparse.ArgumentParser:
    """The whole command line; only the chosen subcommand's file is imported to ask for its arguments."""
    parser = _Parser(
        prog="bertlook",
        usage="bertlook COMMAND ...",
        description="See, measure and test what BERT's attention heads look at.",
        epilog=_overview(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"bertlook_teach {__version__}")
    subparsers = parser.add_subparsers(
        dest="command",
        prog="bertlook",
        metavar="COMMAND",
        required=True,
        help=argparse.SUPPRESS,
        parser_class=_Command,
    )
    for name in COMMANDS:
        subparser = subparsers.add_parser(name)
        if name == chosen:
            _module(name).add_arguments(subparser)
    return parser


def whole_number(text: str) -> int:
    """A whole number of the command line, in the digits of ASCII: ``int`` also takes those of other scripts, and 1_0 for ten."""
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise argparse.ArgumentTypeError(f"a whole number was expected, in the digits 0 to 9; got {text!r}")
    return int(text)


def print_anywhere() -> None:
    """Let a console that lacks a character show a question mark for it; a Windows terminal lacks the roots and quotes of our tables.

    A stream that is closed (``2>&-``, a service without a terminal) swallows what is said: its number would go to the next file that is opened.
    """
    for name in ("stdout", "stderr"):
        if (stream := getattr(sys, name)) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - until the process ends
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code: 0 well, 1 not (with the reason on stderr), 2 a wrong command line."""
    argv = sys.argv[1:] if argv is None else argv
    print_anywhere()
    if not argv:
        build_parser().print_help()
        return 0
    try:
        os.getcwd()
    except FileNotFoundError:
        print(
            "bertlook: the current folder was deleted; change into another and start again.", file=sys.stderr
        )
        return 1
    chosen = next((word for word in argv if not word.startswith("-")), None)
    parser = build_parser(chosen)
    if "" in argv:  # as a path it would be the current folder, read or written to without a word
        parser.error('an argument is empty (""); is a variable of the shell not set?')
    args = parser.parse_args(argv)
    try:
        return _module(args.command).run(args)
    except (ValueError, OSError, RuntimeError, ImportError) as error:
        if os.environ.get("BERTLOOK_TRACEBACK"):
            raise
        said = _as_typed(str(error), args)
        if isinstance(error, ImportError) and error.name in ("transformers", "sklearn", "safetensors"):
            said += '. This needs it: pip install "bertlook_teach[torch]"'
        print(f"bertlook {args.command}: {said}", file=sys.stderr)
        return 1
    except MemoryError as error:
        said = f"there is not enough memory ({error or 'of this process'}); take fewer or shorter texts, or a smaller model"
        print(f"bertlook {args.command}: {said}.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        release_folders()


def _as_typed(message: str, args: argparse.Namespace) -> str:
    """A message of a function in the words of the command line: its option, and lines counted from 1."""
    if hasattr(args, "truncate"):
        message = message.replace("truncate=True", "--truncate")
    message = re.sub(r"\S*bertlook-\w+[\\/]stdin(\.gz)?", "what was piped in", message)
    return re.sub(
        r"\bitem (\d+) of the corpus", lambda found: f"text {int(found[1]) + 1} of the corpus", message
    )
