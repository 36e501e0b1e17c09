"""Run, one after another, the commands that make again what stands on the specimen's weights.

    python training/remake.py --data FOLDER [--run RUN] [--peers PYTHON]     all of them
    python training/remake.py --list                                         name them
    python training/remake.py --only decks pictures                          these, whatever was done before
    python training/remake.py --model minilm --data FOLDER                   what docs/results_minilm.md tabulates

First copy the new weights into data/model. FOLDER holds the treebanks and other texts that are not part of the repository, anywhere below
it, by the names that docs/results.md uses. RUN is the folder of the training, for its film. PYTHON has the packages that
tools/make_peer_fixtures.py names. A command whose files are not there is left out. One that fails is named at the end and does not stop
the others. The same command goes on with what is not done; what was done counts only for the weights it was done with. Logs and results
lie in the folder --work (default: remake).

Sentences are not written here. The last command runs the tests, and they say which sentences to read again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WEIGHTS = {
    name: Path("data", folder, "model.safetensors")
    for name, folder in (("specimen", "model"), ("minilm", "minilm"))
}
EWT, EWT_TEST, GUM = "en_ewt-ud-dev.conllu", "en_ewt-ud-test.conllu", "en_gum-ud-dev.conllu"
UD = (EWT, EWT_TEST, GUM, "en_gum-ud-test.conllu")
PATTERNS = (
    "query.pos('DET') & key.governor()",
    "query.relation('obj') & key.governor()",
    "query.pos('ADJ') & key.governor()",
    "query.pos('PRON') & key.before() & key.pos('NOUN', 'PROPN')",
    "key.next(',')",
    "query.pos('VERB') & key.next('.')",
)
KEYWORDS = {"inspec": ("inspec", 400), "semeval": ("semeval2017", 400), "news": ("500n-kpcrowd", 300)}
GLUE = {"mrpc": "test", "rte": "dev", "cola": "dev", "sts-b": "dev", "sst2": "test"}  # task -> what is scored
OURS = ("sentiment", "same-topic", "agreement")
TUNED = [f"{task}-{seed}" for task in ("negation", "control", "parts-of-speech") for seed in range(5)]
TESTS = (
    "test_specimen.py",
    "test_readme.py",
    "widgets",
    "claims",
    "checks",
    "lessons",
    "peers",
    "published/test_measured.py",
)
TESTS += ("disk/test_shipped_evidence.py", "classroom/test_doctor.py", "model", "measures", "analyses", "commands")  # fmt: skip


class Missing(Exception):
    """A file or folder that a command needs was not given; the message names it."""


@dataclass(frozen=True)
class Place:
    """Folders of the command line, and where what they hold is found."""

    work: Path
    data: Path | None = None
    run: Path | None = None
    peers: Path | None = None
    model: str = "specimen"

    def find(self, *names: str) -> list[str]:
        """Files of the data folder by name, packed or not.

        Raises
        ------
        Missing
            If one is not there.
        """
        found = []
        for name in names:
            paths = (
                []
                if self.data is None
                else sorted(self.data.rglob(name)) + sorted(self.data.rglob(f"{name}.gz"))
            )
            if not paths:
                raise Missing(f"{name} in {self.data or 'the folder --data'}")
            found.append(str(paths[0]))
        return found

    def result(self, name: str) -> str:
        """The folder for what one command measures."""
        return str(self.work / "results" / name)


def results(place: Place) -> Iterator[tuple[str, str, tuple, Sequence[str]]]:
    """What docs/results.md tabulates: folder of the result, command of `bertlook`, options with files of --data, other options."""
    for name, treebank, more in (
        ("ewt-ud", EWT, ()),
        ("ewt-stanford", EWT, ("--scheme", "stanford")),
        ("gum-ud", GUM, ()),
    ):
        yield name, "syntax", ("--data", treebank), more
    for name in ("litbank", "gum-dev", "gap-development", "winogender", "winobias"):
        yield name.partition("-")[0], "coref", ("--data", f"{name}.jsonl"), ()
    yield "litbank-open", "coref", ("--data", "litbank.jsonl"), ("--candidates", "open")
    yield "ewt-probe", "probe", ("--data", EWT), ()
    for task in ("pos", "dep", "entity", "coref"):
        more = f"--task {task} --limit 600 --max-cases 3000 --seeds 2".split()
        yield (
            f"layers-{task}",
            "layers",
            ("--data", f"{task}-train.jsonl", "--test", f"{task}-test.jsonl"),
            more,
        )
    yield "keywords-course", "keywords", (), ("--tune", "--remove-tuned")
    for name, (file, limit) in KEYWORDS.items():
        yield f"keywords-{name}", "keywords", ("--data", f"{file}.jsonl"), ("--limit", str(limit), "--tune")
    for number, pattern in enumerate(PATTERNS, 1):
        yield (
            f"pattern-{number}",
            "pattern",
            ("--data", EWT_TEST),
            ("--cache", str(place.work / "maps"), pattern),
        )
    for task, scored in GLUE.items():
        files = [
            part
            for name in dict.fromkeys(("train", "dev", scored))
            for part in (f"--{name}", f"{task}-{name}.jsonl")
        ]
        limit = ("--limit", "4000") if task in ("cola", "sts-b", "sst2") else ()
        yield (
            f"task-{task}",
            "finetune",
            tuple(files),
            (*["--seeds", "1", "--epochs", "4", "--overlap", "drop", "--truncate"], *limit),
        )
    for task in OURS:
        yield f"task-{task}", "finetune", (), ("--task", task, "--seeds", "3", "--epochs", "5")
    yield "negation", "negation", (), ("--seeds", "5", "--epochs", "10", "--parts-of-speech", "--save-models")


# Of these the model is tuned; the specimen's take a day.
_TUNED = ("finetune", "negation")


def bertlook(place: Place, folder: str, command: str, files, more, model: str = "") -> list[str] | Missing:
    """A command of the bench on files of --data, with its result in a folder, or what is missing for it."""
    try:
        found = [part if part.startswith("--") else place.find(part)[0] for part in files]
    except Missing as missing:
        return missing
    model = model or place.model
    named = [model] if command == "compare" else ["--model", model]
    return ["-m", "bertlook_bench", command, *named, *found, *more, "--out", place.result(folder)]


def of_minilm(place: Place) -> Iterator[tuple[str, list[str] | Missing]]:
    """What docs/results_minilm.md tabulates: the specimen's commands without those that tune a model, documents in runs of its length."""
    for folder, command, files, more in results(place):
        if command not in _TUNED:
            length = ("--max-tokens", "128") if "litbank" in folder or folder == "gum" else ()
            yield folder, bertlook(place, folder, command, files, (*more, *length))
    for model, folder in (("minilm", "claims"), ("specimen", "claims-specimen")):
        yield folder, bertlook(place, folder, "claims", (), (), model)
    yield "results-page", ["training/minilm_results.py", str(place.work / "results")]
    yield "quoted", ["tools/quoted_results.py"]


def report(place: Place, treebanks: Sequence[str], *more: str) -> list[str] | Missing:
    """What is measured of the specimen on treebanks, or what is missing for it."""
    try:
        return ["training/specimen_report.py", "specimen", "--data", *place.find(*treebanks), *more]
    except Missing as missing:
        return missing


def of_film(place: Place) -> Iterator[tuple[str, list[str] | Missing]]:
    """The film of the training, and what its measures are worth without a head."""
    begin = ((EWT, GUM), "--limit", "1000")
    film = Missing("the folder of the training (--run)")
    if place.run is not None:
        film = report(place, *begin, "--film", str(place.run), "--out", "data/model/film.csv")
    yield "film", film
    baselines = ("--film-baselines", "--out", "data/model/film_baselines.csv")
    yield "film-baselines", report(place, *begin, *baselines)


def notebooks(folder: str) -> list[str]:
    """All notebooks of a folder run again; a last digit of other weights is not kept."""
    found = sorted(str(path.relative_to(ROOT)) for path in (ROOT / folder).glob("*.ipynb"))
    return ["tools/run_notebooks.py", "--exact", *found]


def commands(place: Place) -> Iterator[tuple[str, list[str] | Missing]]:
    """Every command in its order, with a name: arguments for Python, or what is missing for it."""
    if place.model == "minilm":
        yield from of_minilm(place)
        return
    yield "fingerprint", ["training/put_tables.py", "fingerprint"]
    yield "evidence", ["tools/make_evidence.py"]
    yield from of_film(place)
    yield "report", report(place, UD, "--out", str(place.work / "report.json"))
    yield "card", ["training/put_tables.py", "card", str(place.work / "report.json")]
    peers = ["tools/make_peer_fixtures.py"]
    yield "peers", peers if place.peers else Missing("an interpreter with the peers (--peers)")
    for folder, command, files, more in results(place):
        yield folder, bertlook(place, folder, command, files, more)
    tuned = place.result("task-mrpc") + "/seed-0"
    yield "heads-mrpc", bertlook(place, "heads-mrpc", "ablate", ("--test", "mrpc-test.jsonl"), (), tuned)
    for seed in range(3):
        folder, tuned = f"heads-agreement-{seed}", f"{place.result('task-agreement')}/seed-{seed}"
        yield folder, bertlook(place, folder, "ablate", (), ("--task", "agreement", "--curve"), tuned)
    for name in TUNED:
        after = f"{place.result('negation')}/{name}"
        yield f"compare-{name}", bertlook(place, f"compare-{name}", "compare", (), (after,))
    yield "results-page", ["training/put_tables.py", "results", str(place.work / "results")]
    yield "quoted", ["tools/quoted_results.py"]
    yield "solutions", notebooks("notebooks/solutions")
    yield "exercises", ["tools/build_exercises.py"]
    yield "decks", notebooks("slides")
    yield "pictures", ["tools/make_pictures.py"]
    rooms = ("bertlook_teach", "bertlook_course", "bertlook_press", "bertlook_bench", "slides", "notebooks")
    yield "tests", ["-m", "pytest", "-q", "--no-header", *(f"tests/{name}" for name in TESTS), *rooms]


def remake(place: Place, chosen: Sequence[str] = (), say=print) -> dict[str, str]:
    """Run what is not done, or the commands chosen by name; returns those that failed or were left out, with the reason."""
    notes, undone = place.work / "done.json", {}
    weights = hashlib.sha256((ROOT / WEIGHTS[place.model]).read_bytes()).hexdigest()
    kept = json.loads(notes.read_text(encoding="utf-8")) if notes.is_file() else {}
    if kept and kept["weights"] != weights:
        shutil.rmtree(place.work)  # reports and results of other weights would find their way into the pages
    done = kept["done"] if kept.get("weights") == weights else []
    for name, arguments in commands(place):
        if name not in chosen if chosen else name in done:
            continue
        if isinstance(arguments, Missing):
            undone[name] = f"left out: needs {arguments}"
            continue
        say(f"{time.strftime('%H:%M:%S')} {name}")
        log = place.work / "logs" / f"{name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        python = str(place.peers) if name == "peers" else sys.executable
        with open(log, "w", encoding="utf-8") as file:
            ended = subprocess.run([python, *arguments], cwd=ROOT, stdout=file, stderr=file, check=False)
        if ended.returncode:
            undone[name] = f"failed with exit code {ended.returncode}; see {log}"
            continue
        done = [*(other for other in done if other != name), name]
        notes.write_text(json.dumps({"weights": weights, "done": done}, indent=1) + "\n", encoding="utf-8")
    return undone


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, help="folder with treebanks and texts that are not in the repository"
    )
    parser.add_argument("--run", type=Path, help="folder of the training, with its film")
    parser.add_argument(
        "--peers", type=Path, help="a Python with the packages of tools/make_peer_fixtures.py"
    )
    parser.add_argument(
        "--model", choices=("specimen", "minilm"), default="specimen", help="(default: specimen)"
    )
    parser.add_argument(
        "--work", type=Path, help="for notes, logs and results (default: remake, or remake/minilm)"
    )
    parser.add_argument(
        "--only", nargs="+", default=(), metavar="NAME", help="run these, whatever was done before"
    )
    parser.add_argument("--list", action="store_true", help="name all commands, and run none")
    options = parser.parse_args(arguments)
    options.work = options.work or ROOT / "remake" / ("minilm" if options.model == "minilm" else "")
    folders = (path and path.resolve() for path in (options.work, options.data, options.run))
    place = Place(*folders, options.peers and options.peers.absolute(), options.model)
    names = [name for name, _ in commands(place)]
    if unknown := sorted(set(options.only) - set(names)):
        parser.error(f"there is no {', '.join(unknown)}; --list names what there is")
    if options.list:
        print("\n".join(names))
        return 0
    undone = remake(place, options.only)
    for name, why in undone.items():
        print(f"{name}: {why}")
    return int(any(why.startswith("failed") for why in undone.values()))


if __name__ == "__main__":
    raise SystemExit(main())
