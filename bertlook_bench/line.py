"""The ``bertlook`` command. Each subcommand lives in a file of its own, imported only when asked for."""

from __future__ import annotations

import argparse
import difflib
import errno
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, TextIO

from bertlook_course.storage import release_folders, visible
from bertlook_teach import __version__
from bertlook_teach.disk import install_command

if TYPE_CHECKING:
    from .driver import Command

# Commands of another package, named here and imported by name alone, when they are asked for.
PRESS = "bertlook_press.commands"

# heading: {name: (file, summary)}. A file has a record COMMAND for the driver, or add_arguments(parser) and run(args) -> exit code.
GROUPS = {
    "teach": {
        "present": (f"{PRESS}.present", "open a deck as a live slideshow"),
        "lab": (f"{PRESS}.present", "open JupyterLab with the notebooks"),
        "doctor": (f"{PRESS}.doctor", "check that everything is ready for class"),
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
        "keywords": ("keywords", "whether heads find key words, beside rules and a random twin"),
        "compare": ("compare", "what changed in every head between two checkpoints"),
        "negation": ("negation", "whether heads find the cue of a negation, before and after tuning"),
        "claims": ("claims", "try the published claims on a model"),
        "misconceptions": ("misconceptions", "common misconceptions about attention, each refuted by a run"),
    },
    "keep and hand out": {
        "course": (f"{PRESS}.course", "copy the notebooks into a folder of your own"),
        "export": (f"{PRESS}.export", "write a deck as one file that is live without a kernel"),
        "site": (f"{PRESS}.site", "write the whole course as one folder for any web server"),
        "worksheet": (f"{PRESS}.worksheet", "write one printable page for a lesson, without code"),
        "collect": (f"{PRESS}.collect", "gather what a class handed in, on one page and in a CSV"),
        "record": ("record", "keep a model's attention in a file"),
        "show": (f"{PRESS}.show", "write a recorded input as a page that is live without Python"),
        "view": (f"{PRESS}.view", "write what heads look at in a sentence as a live page"),
        "completion": (
            "bertlook_bench.driver.completion",
            "print a script that lets bash complete commands and options",
        ),
    },
}
# Bytes of addresses that a process needs, and more for each thread: measured with NumPy 2.4 and SciPy 1.17, which hang with 16 threads and 1 GB.
_LEAST_MEMORY, _FOR_A_THREAD = 600_000_000, 70_000_000

_LONGEST = 4000  # characters of a message

COMMANDS = {name: entry for commands in GROUPS.values() for name, entry in commands.items()}


def _module(name: str) -> ModuleType | Command:
    """What adds the options of a command and runs it: its record, or its file."""
    file = COMMANDS[name][0]
    module = import_module(file if "." in file else f".{file}", __package__)
    return getattr(module, "COMMAND", module)


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
    return "\n\n".join([*parts, "`bertlook COMMAND --help` explains a command and gives an example."])


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


class _Console:
    """A stream of the terminal on which nothing a stranger wrote is obeyed: see `visible`. What else is asked of it, the stream itself answers.

    Progress bars move the cursor. So on stderr a return to the start of the line may stand at the ends of what is printed, and so may
    the move to the line above, alone.

    Raises
    ------
    SystemExit
        If nobody reads any more, as behind ``| head``: quietly, with the number that the shell gives to other commands then.
    """

    def __init__(self, stream: TextIO, *, bars: bool = False):
        self._stream, self._bars = stream, bars

    def write(self, text: str) -> int:
        start, middle, end = _MOVES.fullmatch(text).groups() if self._bars else ("", text, "")
        with self._read():
            self._stream.write(start + visible(middle, lines=True) + end)
        return len(text)

    def writelines(self, lines) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        with self._read():
            self._stream.flush()

    @contextmanager
    def _read(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if not (isinstance(error, BrokenPipeError) or (os.name == "nt" and error.errno == errno.EINVAL)):
                raise
            # what is still to be flushed at the end goes nowhere, and says nothing
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
            raise SystemExit(NOBODY_READS) from None

    def __getattr__(self, name: str):
        return getattr(self._stream, name)


_MOVES = re.compile(r"(\r*(?:\n*(?:\x1b\[A)*\Z)?)(.*?)(\r*)", re.DOTALL)

NOBODY_READS = 141  # what a shell says of a command that was ended by SIGPIPE


@contextmanager
def printing_anywhere() -> Iterator[None]:
    """Let the terminal show what is printed, and obey nothing of it; see `_Console`.

    A console that lacks a character shows a question mark for it; a Windows terminal lacks the roots and quotes of our tables. A stream
    that is closed (``2>&-``, a service without a terminal) is replaced by ``os.devnull``; otherwise the next file opened would get its number.
    """
    before = sys.stdout, sys.stderr
    for name in ("stdout", "stderr"):
        if (stream := getattr(sys, name)) is None:
            stream = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - until the process ends
            before = tuple(stream if one is None else one for one in before)
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
        setattr(sys, name, _Console(stream, bars=name == "stderr"))
    try:
        yield
    finally:
        try:
            sys.stdout.flush()
        finally:
            sys.stdout, sys.stderr = before


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code: 0 well, 1 not (with the reason on stderr), 2 a wrong command line."""
    with printing_anywhere():
        return _main(sys.argv[1:] if argv is None else argv)


def _main(argv: list[str]) -> int:
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
        _refuse_too_little_memory()
        return _module(args.command).run(args)
    except (ValueError, OSError, RuntimeError, ImportError) as error:
        if os.environ.get("BERTLOOK_TRACEBACK"):
            raise
        said = _as_typed(_shortened(str(error)), args)  # first: a pattern in it takes long over a page
        if isinstance(error, ImportError) and error.name in (
            "transformers",
            "sklearn",
            "safetensors",
        ):
            said += f". This command needs it: {install_command('torch')}"
        print(f"bertlook {args.command}: {said}", file=sys.stderr)
        return 1
    except MemoryError as error:
        said = f"there is not enough memory ({error or 'of this process'}); take fewer or shorter texts, or a smaller model"
        print(f"bertlook {args.command}: {said}.", file=sys.stderr)
        return 1
    except KeyboardInterrupt as stopped:
        if str(stopped):
            print(stopped, file=sys.stderr)
        return 130
    finally:
        release_folders()


def _refuse_too_little_memory() -> None:
    """OpenBLAS, on which NumPy and SciPy stand, tries for ever where a process may not have the memory that it wants for each thread.

    Raises
    ------
    OSError
        If a limit of the shell is below that.
    """
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    threads = os.environ.get("OPENBLAS_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS") or ""
    least = _LEAST_MEMORY + _FOR_A_THREAD * (int(threads) if threads.isdecimal() else os.cpu_count() or 1)
    for name, option in (("RLIMIT_AS", "-v"), ("RLIMIT_DATA", "-d")):
        if not hasattr(resource, name):
            continue
        limit, _ = resource.getrlimit(getattr(resource, name))
        if limit != resource.RLIM_INFINITY and limit < least:
            raise OSError(
                f"this shell lets a process have {limit / 1e6:,.0f} MB of memory (ulimit {option} {limit // 1024}), and {least / 1e6:,.0f} are "
                f"the least: with less, libraries wait for memory without end. Raise the limit, for example with ulimit {option} unlimited"
            )


def _shortened(message: str) -> str:
    """A message without the middle, where it quotes a page of a stranger's file."""
    return (
        message if len(message) <= _LONGEST else f"{message[: _LONGEST // 2]} ... {message[-_LONGEST // 2 :]}"
    )


def _as_typed(message: str, args: argparse.Namespace) -> str:
    """A message of a function in the words of the command line: its option, and lines counted from 1."""
    for name in vars(args):  # a parameter is an option here
        shown = rf"(?<![\w./\\-]){name}" + (
            "(=True)?(?![\\w=])" if "_" in name else "=True( of extract_attention)?"
        )
        message = re.sub(shown, f"--{name.replace('_', '-')}", message)
    message = re.sub(r"\S*bertlook-\w+[\\/]stdin(\.gz)?", "what was piped in", message)
    return re.sub(
        r"\bitem (\d+) of the corpus", lambda found: f"text {int(found[1]) + 1} of the corpus", message
    )
