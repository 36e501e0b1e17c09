"""Make everything that stands on the specimen's weights again, in the order in which one thing needs another.

    python tools/remake.py --model MODEL --run RUN --data FOLDER     new weights: all of it
    python tools/remake.py --data FOLDER                             go on after a stop; steps that are done are passed over
    python tools/remake.py --from decks                              this step and all after it, once more
    python tools/remake.py --only film card                          these steps, whatever was done before
    python tools/remake.py --list                                    the steps, what each needs, and how long it took last time

MODEL is a folder that tools/pretrain.py wrote (without it the weights stay as they are), RUN the folder of its training (for the
film), FOLDER holds the treebanks and other texts that are not part of the repository, anywhere below it, by the names that
docs/results.md uses. A step whose files are not there is left out, and named at the end.

What was done is kept in the folder --work (default: remake), with each step's output; it holds for the weights it was made with
and is forgotten when they change. Sentences that speak of heads by name are not written by this tool: the tests that hold prose to
numbers say at the end which are to be read again.
"""

import argparse
import doctest
import hashlib
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODEL = Path("data/model")
CARD, RESULTS, README = MODEL / "MODEL_CARD.md", Path("docs/results.md"), Path("README.md")
BERTLOOK = ("-m", "bertlook_teach.commands")
UD = ("en_ewt-ud-dev.conllu", "en_ewt-ud-test.conllu", "en_gum-ud-dev.conllu", "en_gum-ud-test.conllu")
MODEL_FILES = (
    "config.json",
    "model.safetensors",
    "recipe.toml",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
)


class RemakeError(Exception):
    """A step cannot be done; the message says which, and what to do."""


class LeftOut(Exception):
    """What a step needs was not given; the message names it."""


@dataclass(frozen=True)
class Place:
    """Where a run of this tool finds and puts things.

    Attributes
    ----------
    root : Path
        The repository.
    work : Path
        Its own notes, reports and logs.
    data, run, model : Path or None
        As on the command line.
    """

    root: Path
    work: Path
    data: Path | None = None
    run: Path | None = None
    model: Path | None = None

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

    ``commands`` gives lists of arguments for Python, from the place; the first is a script or ``-m``.
    """

    name: str
    what: str
    needs: tuple[str, ...] = ()
    commands: Callable[[Place], Sequence[Sequence[str]]] | None = None
    do: Callable[[Place], None] | None = None
    scripts: tuple[str, ...] = field(default=())  # files the commands run, for the test that they exist


# --- the steps that are functions ----------------------------------------------------------------------------------


def put_weights(place):
    """The new model's files into data/model; the card and the film are of other steps."""
    if place.model is None:
        return
    if missing := [name for name in MODEL_FILES if not (place.model / name).is_file()]:
        raise RemakeError(
            f"{place.model} has no {', '.join(missing)}; name a folder that tools/pretrain.py --out wrote"
        )
    for name in MODEL_FILES:
        if (place.model / name).resolve() != (place.root / MODEL / name).resolve():
            shutil.copyfile(place.model / name, place.root / MODEL / name)


def tables_of(text):
    """(first line, last line + 1) of every Markdown table."""
    lines, found, at = text.split("\n"), [], 0
    while at < len(lines):
        end = at
        while end < len(lines) and lines[end].startswith("|"):
            end += 1
        if end - at >= 3:
            found.append((at, end))
        at = max(end, at + 1)
    return found


def put_table(text, new, *, after=None):
    """``text`` with its one table that has the header of ``new``, or the first below the heading ``after``, replaced by ``new``."""
    lines, header = text.split("\n"), new.split("\n")[0]
    start = 0
    if after is not None:
        if lines.count(after) != 1:
            raise RemakeError(f"the heading {after!r} is there {lines.count(after)} times, not once")
        start = lines.index(after)
    kept = [t for t in tables_of(text) if t[0] > start and (after or lines[t[0]] == header)]
    if not kept or (after is None and len(kept) > 1):
        raise RemakeError(f"{len(kept)} tables fit {after or header!r}; one was expected")
    first, last = kept[0]
    if after is not None and any(line.startswith("#") for line in lines[start + 1 : first]):
        raise RemakeError(f"there is no table below {after!r}")
    return "\n".join([*lines[:first], *new.rstrip("\n").split("\n"), *lines[last:]])


def update_card(place):
    """The card's tables and its fingerprint from the report; its sentences stay."""
    path = place.root / CARD
    text = path.read_text(encoding="utf-8")
    made = (place.work / "card.md").read_text(encoding="utf-8").strip()
    blocks = [block for block in re.split(r"\n\s*\n", made) if block.startswith("|")]
    by_header = {}
    for block in blocks:
        by_header.setdefault(block.split("\n")[0], []).append(block)
    for header, new in by_header.items():
        places = [t for t in tables_of(text) if _same_columns(text.split("\n")[t[0]], header)]
        if len(places) != len(new):
            raise RemakeError(f"{CARD} has {len(places)} tables like {header!r}, the report {len(new)}")
        for (first, last), block in reversed(list(zip(places, new, strict=True))):
            lines = text.split("\n")
            text = "\n".join([*lines[:first], *block.split("\n"), *lines[last:]])
    found = (place.work / "fingerprint.txt").read_text(encoding="utf-8").strip()
    text, n = re.subn(r"(Fingerprint[^`]*`)[0-9a-f]{16}`", rf"\g<1>{found}`", text)
    if n != 1:
        raise RemakeError(f"{CARD} names its fingerprint {n} times, not once")
    path.write_text(text, encoding="utf-8")


def _same_columns(line, header):
    return line.replace(" ", "") == header.replace(" ", "")


# Which saved table stands below which heading of docs/results.md.
RESULT_TABLES = {
    "### Specimen on EWT dev, UD, subtypes merged": ("ewt-ud", "syntax"),
    "### Specimen on GUM dev, UD, subtypes merged": ("gum-ud", "syntax"),
    "### Specimen on EWT dev, Stanford scheme (converted)": ("ewt-stanford", "syntax"),
    "### LitBank, 100 novels, candidates: earlier mentions": ("litbank", "coref"),
    "### LitBank, candidates: all words": ("litbank-open", "coref"),
    "### GUM dev, candidates: earlier mentions": ("gum", "coref"),
    "## Probes: what all heads know together": ("ewt-probe", "probe"),
}


def update_results(place):
    """The tables of docs/results.md that are one saved table each; all that was measured is printed to results.md of the work folder."""
    sys.path.insert(0, str(place.root / "tools"))
    import results_tables

    path = place.root / RESULTS
    text = path.read_text(encoding="utf-8")
    for heading, (folder, stem) in RESULT_TABLES.items():
        saved = place.work / "results" / folder / f"{stem}.json"
        if not saved.is_file():
            print(f"{heading}: no {saved}; the old table stays")
            continue
        result = json.loads(saved.read_text(encoding="utf-8"))
        make = {"syntax": results_tables.syntax_table, "coref": results_tables.coref_table}.get(stem)
        new = make(result) if make else results_tables.value_table(result, stem)
        text = put_table(text, new.split("\n\n")[0], after=heading)
    path.write_text(text, encoding="utf-8")


def update_examples(place):
    """What README's examples print, from a run of them; an example that raises stays as it is and stops the step."""
    path = place.root / README
    text = path.read_text(encoding="utf-8")
    names = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        new = block
        for example in doctest.DocTestParser().get_examples(block):
            got = _printed(example, names)
            if got != example.want:
                old = _as_written(example) + example.want
                if new.count(old) != 1:
                    raise RemakeError(f"{README}: the example {example.source.strip()!r} is not there once")
                new = new.replace(old, _as_written(example) + got)
        text = text.replace(block, new)
    path.write_text(text, encoding="utf-8")


def _as_written(example):
    first, *rest = example.source.rstrip("\n").split("\n")
    return "\n".join([f">>> {first}", *(f"... {line}" for line in rest)]) + "\n"


def _printed(example, names):
    said = []

    class Runner(doctest.DocTestRunner):
        def report_success(self, out, test, example, got):
            said.append(got)

        def report_failure(self, out, test, example, got):
            said.append(got)

        def report_unexpected_exception(self, out, test, example, exc_info):
            raise RemakeError(f"{README}: {example.source.strip()!r} raised {exc_info[1]!r}")

    test = doctest.DocTest([example], names, str(README), str(README), 0, "")
    Runner(verbose=False).run(test, clear_globs=False, out=lambda _: None)
    names.update(test.globs)
    return said[0]


# --- the list ------------------------------------------------------------------------------------------------------


def _measure(place):
    files = [str(place.find(name)) for name in UD]
    script = ["tools/specimen_report.py", "specimen", "--data", *files]
    code = "import sys; from bertlook_teach import load_encoder; open(sys.argv[1], 'w').write(load_encoder('specimen').fingerprint)"
    return [
        [*script, "--card", "--out", str(place.work / "report.json"), ">", str(place.work / "card.md")],
        ["-c", code, str(place.work / "fingerprint.txt")],
    ]


def _film(place):
    if place.run is None:
        raise LeftOut("the folder of the training (--run)")
    files = [str(place.find(name)) for name in (UD[0], UD[2])]
    script = ["tools/specimen_report.py", "specimen", "--data", *files, "--limit", "1000"]
    return [
        [*script, "--film", str(place.run), "--out", str(MODEL / "film.csv")],
        [*script, "--film-baselines", "--out", str(MODEL / "film_baselines.csv")],
    ]


def _bertlook(*runs):
    """Commands of the kind ``bertlook COMMAND ... --out results/FOLDER``: (folder, command, {option: file name}, further arguments)."""

    def commands(place):
        return [
            [
                *BERTLOOK, command, "--model", "specimen",
                *(part for option, name in files.items() for part in (option, str(place.find(name)))),
                *more, "--out", str(place.work / "results" / folder),
            ]
            for folder, command, files, more in runs
        ]  # fmt: skip

    return commands


def _tables(place):
    folders = sorted(str(p) for p in (place.work / "results").glob("*") if p.is_dir())
    if not folders:
        raise LeftOut("results (their steps were left out)")
    return [["tools/results_tables.py", *folders, ">", str(place.work / "results.md")]]


EWT, GUM = {"--data": UD[0]}, {"--data": UD[2]}
STEPS = (
    Step("weights", "the new weights into data/model", do=put_weights),
    Step("measure", "what the heads do, on unseen treebanks", ("weights",), _measure,
         scripts=("tools/specimen_report.py",)),
    Step("card", "the card's tables and fingerprint", ("measure",), do=update_card),
    Step("film", "film.csv and its baselines", ("weights",), _film, scripts=("tools/specimen_report.py",)),
    Step("evidence", "what decks and ledger fit or train for", ("weights",),
         lambda place: [["tools/make_evidence.py"]], scripts=("tools/make_evidence.py",)),
    Step("syntax", "results: heads and relations", ("weights",), _bertlook(
        ("ewt-ud", "syntax", EWT, ()), ("ewt-stanford", "syntax", EWT, ("--scheme", "stanford")), ("gum-ud", "syntax", GUM, ()))),
    Step("coreference", "results: heads and antecedents", ("weights",), _bertlook(
        ("litbank", "coref", {"--data": "litbank.jsonl"}, ()),
        ("litbank-open", "coref", {"--data": "litbank.jsonl"}, ("--candidates", "open")),
        ("gum", "coref", {"--data": "gum-dev.jsonl"}, ()),
        ("gap", "coref", {"--data": "gap-development.jsonl"}, ()),
        ("winogender", "coref", {"--data": "winogender.jsonl"}, ()),
        ("winobias", "coref", {"--data": "winobias.jsonl"}, ()))),
    Step("probe", "results: all heads together", ("weights",), _bertlook(("ewt-probe", "probe", EWT, ()))),
    Step("results", "every table of the results, as saved", ("syntax", "coreference", "probe"), _tables,
         scripts=("tools/results_tables.py",)),
    Step("results-page", "docs/results.md: the tables that are one saved table each", ("results",), do=update_results),
    Step("solutions", "the solution notebooks, run", ("evidence", "film"),
         lambda place: [["tools/run_notebooks.py", *_notebooks(place, "notebooks/solutions")]], scripts=("tools/run_notebooks.py",)),
    Step("exercises", "the exercises, made from them and run", ("solutions",),
         lambda place: [["tools/build_exercises.py"]], scripts=("tools/build_exercises.py",)),
    Step("decks", "the decks, run", ("evidence", "film", "card"),
         lambda place: [["tools/run_notebooks.py", *_notebooks(place, "slides")]], scripts=("tools/run_notebooks.py",)),
    Step("pictures", "the pictures of the README", ("decks",),
         lambda place: [["tools/make_pictures.py"]], scripts=("tools/make_pictures.py",)),
    Step("readme", "what README's examples print", ("weights",), do=update_examples),
    Step("tests", "the tests that hold card, film, README and prose to the numbers", ("card", "film", "readme", "decks"),
         lambda place: [["-m", "pytest", "-q", *_tests(place)]]),
)  # fmt: skip
TESTS = (
    "test_specimen.py",
    "test_film.py",
    "test_readme.py",
    "test_misconceptions.py",
)


def _tests(place):
    return [
        str(p.relative_to(place.root)) for name in TESTS for p in sorted((place.root / "tests").rglob(name))
    ]


def _notebooks(place, folder):
    return [str(p.relative_to(place.root)) for p in sorted((place.root / folder).glob("*.ipynb"))]


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
    arguments = list(arguments)
    out = arguments.pop() if arguments[-2:-1] == [">"] else None
    if out is not None:
        arguments.pop()
    with open(log, "a", encoding="utf-8") as said:
        print("$ python", *arguments, file=said, flush=True)
        target = open(out, "w", encoding="utf-8") if out else said  # noqa: SIM115
        try:
            ended = subprocess.run(
                [sys.executable, *arguments], cwd=place.root, stdout=target, stderr=said, check=False
            )
        finally:
            if out:
                target.close()
    if ended.returncode:
        raise RemakeError(f"exit {ended.returncode} from python {' '.join(arguments[:4])} ...; see {log}")


def remake(place, steps, chosen, notes, say=print):
    """Do the chosen steps that are not done; returns {step: why it was left out}."""
    left_out = {}
    for step in in_order(steps):
        if step.name not in chosen or step.name in notes.done:
            continue
        log = place.work / "logs" / f"{step.name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("", encoding="utf-8")
        say(f"{time.strftime('%H:%M:%S')} {step.name}: {step.what}")
        started = time.monotonic()
        try:
            if step.do is not None:
                step.do(place)
            for arguments in step.commands(place) if step.commands else ():
                run_command(arguments, place, log)
        except LeftOut as missing:
            left_out[step.name] = str(missing)
            say(f"  left out: needs {missing}")
            continue
        except RemakeError as error:
            raise RemakeError(f"{step.name}: {error}\nThe same command goes on from here.") from None
        notes.add(step.name, time.monotonic() - started)
        say(f"  done in {notes.seconds[step.name]:.0f} s")
    return left_out


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [step.name for step in STEPS]
    add = parser.add_argument
    add("--model", type=Path, help="folder with the new weights")
    add("--run", type=Path, help="folder of their training, with its film")
    add("--data", type=Path, help="folder with treebanks and texts that are not in the repository")
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
    place = Place(ROOT, *(p and p.resolve() for p in (o.work, o.data, o.run, o.model)))
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
    try:
        if o.model and "weights" in chosen:
            put_weights(place)
            notes = Notes(place)  # other weights: nothing is done yet
        if o.begin or o.only:
            notes.forget(chosen)
        left_out = remake(place, STEPS, chosen, notes)
    except RemakeError as error:
        sys.exit(f"remake: {error}")
    for name, why in left_out.items():
        print(f"left out: {name}, which needs {why}")


if __name__ == "__main__":
    main()
