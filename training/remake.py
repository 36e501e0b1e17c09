"""Make everything that stands on the specimen's weights again, in the order in which one thing needs another.

    python training/remake.py --model MODEL --run RUN --data FOLDER     new weights: all of it
    python training/remake.py --data FOLDER                             go on after a stop; steps that are done are passed over
    python training/remake.py --from decks                              this step and all after it, once more
    python training/remake.py --only film card                          these steps, whatever was done before
    python training/remake.py --quick ...                               without what is measured on texts that do not ship (docs/results.md)
    python training/remake.py --list                                    the steps, what each needs, and how long it took last time

MODEL is a folder that training/pretrain.py wrote (without it the weights stay as they are), RUN the folder of its training (for the
film), FOLDER holds the treebanks and other texts that are not part of the repository, anywhere below it, by the names that
docs/results.md uses, PYTHON (`--peers`) an interpreter that has the peers of tools/make_peer_fixtures.py. A step whose files are not there is
left out; one that fails stops only what stands on it (of notebooks nothing: those that ran are saved). Both are named at the end.

What was done is kept in the folder --work (default: remake), with each step's output; it holds for the weights it was made with
and is forgotten when they change. Sentences are not written by this tool: the last step, the tests, says which are to be read again.
"""

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tools"))

import remake_results
from remake_pages import (
    MODEL,
    LeftOut,
    RemakeError,
    put_fingerprint,
    update_card,
    update_examples,
    update_results,
)
from remake_results import UD

MODEL_FILES = (
    "config.json",
    "model.safetensors",
    "recipe.toml",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
)


@dataclass(frozen=True)
class Place:
    """Where a run of this tool finds and puts things.

    Attributes
    ----------
    root : Path
        The repository.
    work : Path
        Its own notes, reports and logs.
    data, run, model, peers : Path or None
        As on the command line.
    """

    root: Path
    work: Path
    data: Path | None = None
    run: Path | None = None
    model: Path | None = None
    peers: Path | None = None

    def find(self, name):
        """A file of the data folder by name, packed or not; LeftOut if it is not there."""
        if self.data is None:
            raise LeftOut(f"{name} (--data)")
        for wanted in (name, f"{name}.gz"):
            if found := sorted(self.data.rglob(wanted)):
                return found[0]
        raise LeftOut(f"{name} in {self.data}")


@dataclass(frozen=True)
class Step:
    """One step: its name, the steps it stands on, and either commands or a function of the place.

    ``commands`` gives lists of arguments for Python, from the place; the first is a script or ``-m``. All of them are tried. Of a step
    ``in_parts`` a failure leaves the other parts made, so what stands on it goes on. ``slow``: left out by ``--quick``.
    """

    name: str
    what: str
    needs: tuple[str, ...] = ()
    commands: Callable[[Place], Sequence[Sequence[str]]] | None = None
    do: Callable[[Place], None] | None = None
    in_parts: bool = False
    slow: bool = False
    scripts: tuple[str, ...] = field(default=())  # files the commands run, for the test that they exist


# --- the steps that are functions ----------------------------------------------------------------------------------


def put_weights(place):
    """The new model's files into data/model; the card and the film are of other steps."""
    if place.model is None:
        return
    there = [name for name in MODEL_FILES if (place.model / name).is_file()]
    if missing := [
        name for name in MODEL_FILES if name not in [*there, "recipe.toml"]
    ]:  # a film point has no recipe
        raise RemakeError(
            f"{place.model} has no {', '.join(missing)}; name a folder that training/pretrain.py --out wrote"
        )
    weights = MODEL / "model.safetensors"
    if (place.model / weights.name).read_bytes() != (place.root / weights).read_bytes():
        for old in (place.work / "card.md", place.work / "report.json", place.work / "results.md"):
            old.unlink(missing_ok=True)
        shutil.rmtree(place.work / "results", ignore_errors=True)  # of the last weights
    for name in there:
        if (place.model / name).resolve() != (place.root / MODEL / name).resolve():
            shutil.copyfile(place.model / name, place.root / MODEL / name)


# --- the list ------------------------------------------------------------------------------------------------------


def _measure(place):
    files = [str(place.find(name)) for name in UD]
    script = ["training/specimen_report.py", "specimen", "--data", *files]
    return [[*script, "--card", "--out", str(place.work / "report.json"), ">", str(place.work / "card.md")]]


def _film(place):
    if place.run is None:
        raise LeftOut("the folder of the training (--run)")
    files = [str(place.find(name)) for name in (UD[0], UD[2])]
    script = ["training/specimen_report.py", "specimen", "--data", *files, "--limit", "1000"]
    return [
        [*script, "--film", str(place.run), "--out", str(MODEL / "film.csv")],
        [*script, "--film-baselines", "--out", str(MODEL / "film_baselines.csv")],
    ]


def _peers(place):
    if place.peers is None:
        raise LeftOut("an interpreter with the peers (--peers)")
    return [["tools/make_peer_fixtures.py", "formulas", "transformers", "transformer_lens", "bertviz"]]


def _notebooks(*folders):
    def commands(place):
        found = [
            str(p.relative_to(place.root)) for f in folders for p in sorted((place.root / f).glob("*.ipynb"))
        ]
        return [["tools/run_notebooks.py", "--exact", *found]]  # a last digit of other weights is not kept

    return commands


EWT, GUM = {"--data": UD[0]}, {"--data": UD[2]}
RUNNER = ("tools/run_notebooks.py",)
STEPS = (
    Step("weights", "the new weights into data/model", do=put_weights),
    Step("fingerprint", "their fingerprint into card and results", ("weights",), do=put_fingerprint),
    Step("evidence", "what decks and ledger fit or train for", ("weights",),
         lambda place: [["tools/make_evidence.py"]], in_parts=True, scripts=("tools/make_evidence.py",)),
    Step("film", "film.csv and its baselines", ("weights",), _film, in_parts=True, scripts=("training/specimen_report.py",)),
    Step("measure", "what the heads do, on unseen treebanks", ("weights",), _measure,
         scripts=("training/specimen_report.py",)),
    Step("card", "the card's tables", ("measure",), do=update_card),
    Step("peers", "what other people's code gives for these weights", ("weights",), _peers, scripts=("tools/make_peer_fixtures.py",)),
    Step("syntax", "results: heads and relations", ("weights",), remake_results.runs_of(
        ("ewt-ud", "syntax", EWT, ()), ("ewt-stanford", "syntax", EWT, ("--scheme", "stanford")), ("gum-ud", "syntax", GUM, ())),
         in_parts=True, slow=True),
    Step("coreference", "results: heads and antecedents", ("weights",), remake_results.runs_of(
        ("litbank", "coref", {"--data": "litbank.jsonl"}, ()),
        ("litbank-open", "coref", {"--data": "litbank.jsonl"}, ("--candidates", "open")),
        ("gum", "coref", {"--data": "gum-dev.jsonl"}, ()),
        ("gap", "coref", {"--data": "gap-development.jsonl"}, ()),
        ("winogender", "coref", {"--data": "winogender.jsonl"}, ()),
        ("winobias", "coref", {"--data": "winobias.jsonl"}, ())), in_parts=True, slow=True),
    Step("probe", "results: all heads together", ("weights",), remake_results.runs_of(("ewt-probe", "probe", EWT, ())), in_parts=True, slow=True),
    Step("layers", "results: what each layer knows", ("weights",), remake_results.layers, in_parts=True, slow=True),
    Step("keywords", "results: heads and key words", ("weights",), remake_results.keywords, in_parts=True, slow=True),
    Step("patterns", "results: patterns of one line", ("weights",), remake_results.patterns, in_parts=True, slow=True),
    Step("tasks", "results: tasks, fine-tuned", ("weights",), remake_results.tasks, in_parts=True, slow=True),
    Step("heads-off", "results: heads off in what was fine-tuned", ("tasks",), remake_results.heads_off, in_parts=True, slow=True),
    Step("negation", "results: tuned on negation, and on two controls", ("weights",), remake_results.negation, in_parts=True, slow=True),
    Step("results", "every table of the results, as saved",
         ("syntax", "coreference", "probe", "layers", "keywords", "patterns", "heads-off", "negation"), remake_results.tables,
         in_parts=True, scripts=("training/results_tables.py",)),
    Step("results-page", "docs/results.md: the tables that are saved tables, and their weights", ("results", "fingerprint"),
         do=update_results, in_parts=True),
    Step("quoted", "what slides quote of docs/results.md", ("results-page",),
         lambda place: [["tools/quoted_results.py"]], scripts=("tools/quoted_results.py",)),
    Step("solutions", "the solution notebooks, run", ("evidence", "film"), _notebooks("notebooks/solutions"), in_parts=True, scripts=RUNNER),
    Step("exercises", "the exercises, made from them and run", ("solutions",),
         lambda place: [["tools/build_exercises.py"]], in_parts=True, scripts=("tools/build_exercises.py",)),
    Step("decks", "the decks, run", ("evidence", "film", "quoted"), _notebooks("slides"), in_parts=True, scripts=RUNNER),
    Step("pages", "what the examples of README and architecture print", ("weights",), do=update_examples),
    Step("pictures", "the pictures of README and gallery", ("decks", "pages"),
         lambda place: [["tools/make_pictures.py"]], scripts=("tools/make_pictures.py",)),
    Step("tests", "the tests that stand on the weights", ("fingerprint",),
         lambda place: [["-m", "pytest", "-q", "--no-header", *TESTS]], in_parts=True),
)  # fmt: skip
TESTS = (
    "tests/test_specimen.py",
    "tests/test_readme.py",
    "tests/widgets",
    "tests/claims",
    "tests/checks",
    "tests/lessons",
    "tests/peers",
    "tests/published/test_measured.py",
    "tests/disk/test_shipped_evidence.py",
    "tests/classroom/test_doctor.py",
    "tests/model",
    "tests/measures",
    "tests/analyses",
    "tests/commands",
    "tests/tools/test_architecture_picture.py",
    "bertlook_teach",
    "slides",
    "notebooks",
)


# --- running them --------------------------------------------------------------------------------------------------


class Notes:
    """What was done with these weights: step -> seconds. Kept in a file, so that a stopped run goes on."""

    def __init__(self, place):
        self.path, self.weights = (
            place.work / "remake.json",
            place.root / MODEL / "model.safetensors",
        )
        kept = json.loads(self.path.read_text(encoding="utf-8")) if self.path.is_file() else {}
        self.seconds = kept.get("seconds", {})  # of the last time, for --list
        self.done = kept.get("done", []) if kept.get("weights") == self._now() else []

    def _now(self):
        return hashlib.sha256(self.weights.read_bytes()).hexdigest()

    def add(self, name, seconds):
        self.done = [*(n for n in self.done if n != name), name]
        self.seconds[name] = round(seconds, 1)
        self.write()

    def forget(self, names):
        self.done = [n for n in self.done if n not in names]
        self.write()

    def write(self):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        kept = {"weights": self._now(), "done": self.done, "seconds": self.seconds}
        self.path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def in_order(steps):
    """The steps as given; RemakeError if one stands before a step it needs, or needs one that is not there."""
    seen = set()
    for step in steps:
        if missing := [n for n in step.needs if n not in seen]:
            raise RemakeError(f"step {step.name} needs {', '.join(missing)}, which does not come before it")
        seen.add(step.name)
    return steps


def run_command(arguments, place, log):
    """Run Python with arguments in the repository; the output goes to the log, or where ``> FILE`` says."""
    python = place.peers if place.peers and arguments[0] == "tools/make_peer_fixtures.py" else sys.executable
    arguments = list(arguments)
    out = arguments.pop() if arguments[-2:-1] == [">"] else None
    if out is not None:
        arguments.pop()
    with open(log, "a", encoding="utf-8") as said:
        print("$ python", *arguments, file=said, flush=True)
        target = open(out, "w", encoding="utf-8") if out else said  # noqa: SIM115
        try:
            ended = subprocess.run(
                [str(python), *arguments], cwd=place.root, stdout=target, stderr=said, check=False
            )
        finally:
            if out:
                target.close()
    if ended.returncode:
        raise RemakeError(f"exit {ended.returncode} from python {' '.join(arguments[:4])} ...; see {log}")


def remake(place, steps, chosen, notes, say=print):
    """Do the chosen steps that are not done; returns {step: why it was left out} and {step: how it failed}."""
    left_out, failed, blocked = {}, {}, set()
    for step in in_order(steps):
        if step.name not in chosen or step.name in notes.done:
            continue
        if missing := [name for name in step.needs if name in blocked]:
            left_out[step.name] = f"{' and '.join(missing)}, which failed"
            blocked.add(step.name)
            continue
        log = place.work / "logs" / f"{step.name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("", encoding="utf-8")
        say(f"{time.strftime('%H:%M:%S')} {step.name}: {step.what}")
        started, problems = time.monotonic(), []
        try:
            if step.do is not None:
                step.do(place)
            for arguments in step.commands(place) if step.commands else ():
                try:
                    run_command(arguments, place, log)
                except RemakeError as error:
                    problems.append(str(error))
        except LeftOut as missing:
            left_out[step.name] = str(missing)
            say(f"  left out: needs {missing}")
            continue
        except RemakeError as error:
            problems.append(str(error))
        took = time.monotonic() - started
        if problems:
            failed[step.name] = "; ".join(problems)
            if not step.in_parts:
                blocked.add(step.name)
            say(
                f"  failed after {took:.0f} s: {failed[step.name]}"
                + "".join(f"\n    {line}" for line in what_failed(log))
            )
            continue
        notes.add(step.name, took)
        say(f"  done in {took:.0f} s")
    return left_out, failed


def what_failed(log):
    """The lines of a log that name what went wrong: a notebook's cell, a test, an error."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return [line for line in lines if line.startswith(("FAILED", "ERROR")) or ".ipynb: cell" in line][:60]


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [step.name for step in STEPS]
    add = parser.add_argument
    add("--model", type=Path, help="folder with the new weights")
    add("--run", type=Path, help="folder of their training, with its film")
    add("--data", type=Path, help="folder with treebanks and texts that are not in the repository")
    add("--peers", type=Path, help="a Python with the packages of tools/make_peer_fixtures.py")
    add("--quick", action="store_true", help="without the steps that measure docs/results.md anew")
    add(
        "--work",
        type=Path,
        default=ROOT / "remake",
        help="where notes, reports and logs go (default: remake)",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--from", dest="begin", choices=names, metavar="STEP", help="this step and all after it, once more"
    )
    which.add_argument("--only", nargs="+", choices=names, metavar="STEP", help="these steps")
    which.add_argument("--list", action="store_true", help="the steps, and do nothing")
    o = parser.parse_args(arguments)
    place = Place(
        ROOT, *(p and p.resolve() for p in (o.work, o.data, o.run, o.model)), o.peers and o.peers.absolute()
    )
    notes = Notes(place)
    if o.list:
        for step in STEPS:
            took = notes.seconds.get(step.name)
            print(
                f"{'done ' if step.name in notes.done else '     '}{step.name:14}{step.what}"
                + (f"; after {', '.join(step.needs)}" if step.needs else "")
                + (f"; {took:.0f} s last time" if took is not None else "")
            )
        return
    chosen = o.only or names[names.index(o.begin) if o.begin else 0 :]
    if o.quick:
        chosen = [step.name for step in STEPS if step.name in chosen and not step.slow]
    try:
        if o.model and "weights" in chosen:
            put_weights(place)
            notes = Notes(place)  # other weights: nothing is done yet
        if o.begin or o.only:
            notes.forget(chosen)
        left_out, failed = remake(place, STEPS, chosen, notes)
    except RemakeError as error:
        sys.exit(f"remake: {error}")
    for name, why in left_out.items():
        print(f"left out: {name}, which needs {why}")
    for name, why in failed.items():
        print(f"failed: {name}: {why}")
    if failed:
        sys.exit("The same command goes on with what failed.")


if __name__ == "__main__":
    main()
