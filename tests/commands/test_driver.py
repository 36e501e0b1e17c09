"""The driver of the research commands: options from a signature, data, refusals, runs that go on, workers, what is printed and saved."""

from __future__ import annotations

import json
import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Literal

import pytest
import tiny
from made import conllu, read_rows, run, write_lines

from bertlook_bench import chunks, common, line
from bertlook_bench.driver import Command, Data, Given
from bertlook_bench.driver.options import options_of
from bertlook_course.storage import IN_PLACE, Report, about, at_least, release_folders
from bertlook_teach.measures import Profile

COMMANDS = {name: command for name in line.COMMANDS if isinstance(command := line._module(name), Command)}
TEXTS = "The cat sat on the mat.\nA dog chased it.\nIt was tired, the dog.\nThe mat.\nA cat.\nIt sat.\n"
NEGATIONS = [
    ("the cat was no dog .", [3], [0, 1, 2, 4]),
    ("it sat on no mat", [3], [0, 1, 2, 4]),
    ("no dog sat on a mat", [0], [1, 2, 3, 4, 5]),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with models and with a small file for every command."""
    folder = tmp_path_factory.mktemp("files")
    for name, seed in (("bert", 7), ("after", 8)):
        tiny.save_tiny_model(folder / name, seed=seed)
    tiny.save_tiny_model(folder / "wide", hidden_size=20, num_attention_heads=4)

    (folder / "texts.txt").write_text(TEXTS, encoding="utf-8")
    (folder / "one.txt").write_text("The cat.\n", encoding="utf-8")
    (folder / "word.txt").write_text("The cat.\ncat\n", encoding="utf-8")
    (folder / "trees.conllu").write_text(
        conllu("the cat sat", (2, 3, 0), "det nsubj root") * 12, encoding="utf-8"
    )
    (folder / "empty.jsonl").touch()
    (folder / "wrong.jsonl").write_text('{"text": "x", "pronoun": 3}\n', encoding="utf-8")
    for name, words in (("train", "abcdefgh"), ("dev", "ijkl"), ("test", "mnop")):
        examples = [{"s1": f"the cat {word}", "label": "yn"[i % 2]} for i, word in enumerate(words)]
        write_lines(folder / f"{name}.jsonl", *examples)
    negations = [
        {"id": f"{split}{i}", "words": text.split(), "negations": [{"cue": cue, "scope": scope}], "split": split}
        for split in ("train", "test")
        for i, (text, cue, scope) in enumerate(NEGATIONS)
    ]  # fmt: skip
    write_lines(folder / "negations.jsonl", *negations)
    half = {"id": "1", "words": ["no", "cat"], "negations": [], "split": "train"}
    write_lines(folder / "half.jsonl", half)
    return folder


def words_of(command: str, files: Path) -> list[str]:
    """The command line of a small run of a command."""
    shipped = {
        "profile": f"--texts {files}/texts.txt",
        "syntax": "--limit 30 --min-cases 8 --permutations 5",
        "pattern": "key.next(',') --limit 30",
        "coref": "--limit 16",
        "probe": "--limit 12 --no-words",
        "layers": "--task pos --limit 12 --max-cases 40 --l2 1",
        "keywords": "--limit 8 --random-orders 2",
        "negation": f"--model {files}/bert --data {files}/negations.jsonl --seeds 1 --epochs 1",
        "compare": f"{files}/bert {files}/after --texts {files}/texts.txt",
        "finetune": f"--model {files}/bert --train {files}/train.jsonl --dev {files}/dev.jsonl --seeds 1 --epochs 1",
        "ablate": f"--masked-lm {files}/texts.txt --limit 6",
    }
    return [command, *shipped[command].split()]


def saved(folder: Path) -> dict[str, str]:
    """The tables that a run has saved."""
    return {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.[cj]s*")}


# --- every command ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_prints_and_saves_its_tables(name, files, tmp_path, capsys):
    code, printed = run(capsys, *words_of(name, files), "--out", tmp_path / "out", "--quiet")
    assert code in (0, 1) and (code == 0 or "NOT FINISHED" in printed.out)
    assert not printed.err or name == "compare"
    tables = sorted((tmp_path / "out").glob("*.csv"))
    assert {path.stem for path in tables} == set(COMMANDS[name].files.split())
    assert all(str(path) in printed.out for path in tables)
    for path in tables:
        content = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        if name == "profile":  # what it is about alone
            content = {"rows": Profile.load(path.parent).rows(), "about": content}
        assert len(content["rows"]) == len(read_rows(path)) > 0 and content["about"]["version"]
    assert not (tmp_path / "out" / "unfinished").exists()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_parameter_of_a_report_is_an_option_that_is_explained(name, capsys):
    options = options_of(COMMANDS[name].report)
    assert options or name == "coref"
    parser = ArgumentParser()
    COMMANDS[name].add_arguments(parser)
    known = {action.dest: action for action in parser._actions}
    for option in options:
        assert option.help and known[option.name].help and known[option.name].default == option.default


@pytest.mark.parametrize("name", [name for name, command in COMMANDS.items() if command.scale])
def test_a_run_that_was_stopped_goes_on_and_ends_with_the_same_tables(
    name, files, tmp_path, capsys, monkeypatch
):
    words, whole, broken = words_of(name, files), tmp_path / "whole", tmp_path / "broken"
    constant, size = SIZES[name]
    monkeypatch.setattr(f"{COMMANDS[name].report.__module__}.{constant}", size)
    more = ["--quiet", *(["--batch-size", 2] if name == "ablate" else [])]
    assert run(capsys, *words, *more, "--out", whole)[0] == 0
    measure, done = chunks.measured, []

    def stopping(*given):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(measure(*given))
        return done[-1]

    with monkeypatch.context() as patch:
        patch.setattr(chunks, "measured", stopping)
        assert run(capsys, *words, *more, "--out", broken)[0] == 130
    assert (name == "profile") == bool(list(broken.glob("*.csv")))  # that of the texts until then
    code, printed = run(capsys, *words, *more, "--out", broken)
    assert code == 0 and "2 of " in printed.err and "chunks are done by an earlier run" in printed.err
    assert saved(broken) == saved(whole) and not (broken / "unfinished").exists()


SIZES = {  # the constant that says how many inputs a chunk has, and a value that makes three chunks or more
    "profile": ("TEXTS", 2),
    "syntax": ("SENTENCES", 4),
    "pattern": ("TEXTS", 4),
    "coref": ("DOCUMENTS", 4),
    "ablate": ("BATCHES", 1),
}


@pytest.mark.skipif(os.name == "nt", reason="as the other tests with workers")
def test_workers_give_the_same_tables(files, tmp_path, capsys):
    pytest.importorskip("distributed")
    words = words_of("syntax", files)
    assert run(capsys, *words, "--quiet", "--out", tmp_path / "here")[0] == 0
    assert run(capsys, *words, "--quiet", "--workers", 1, "--out", tmp_path / "there")[0] == 0
    assert saved(tmp_path / "here") == saved(tmp_path / "there")


# --- refusals ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("syntax --limit 1", "--limit must be at least two sentences, one to choose on and one to score on; got 1."),
        ("syntax --data FILES/trees.conllu --min-cases 99", "no relation has 99 cases in 12 sentences; lower --min-cases"),
        ("syntax --data nowhere.conllu", "there is no file"),
        ("syntax --twin specimen", "--twin goes with --model recorded:NAME"),
        ("pattern key.next() --limit 1", "--limit must be at least two texts"),
        ("pattern key.fly()", "no condition 'fly'"),
        ("pattern import", "this is not an expression"),
        ("pattern key.governor() --texts FILES/texts.txt", "can only be asked of a treebank"),
        ("pattern key.segment_other() --texts FILES/texts.txt", "asks for two segments"),
        ("pattern key.word('zebra') --texts FILES/texts.txt", "cannot be decided: the pattern matches no pair"),
        ("pattern key.next() --data FILES/texts.txt", "CoNLL-U"),
        ("coref --limit 0", "--limit must be at least 1; got 0"),
        ("coref --data FILES/empty.jsonl", "holds no two mentions"),
        ("coref --data FILES/wrong.jsonl", "line 1: expected GAP"),
        ("coref --data FILES", "holds no two mentions"),  # of its files the treebank is read
        ("probe --limit 3", "--limit must be at least eight sentences, four for each half; got 3"),
        ("layers --task pos --test x", "--test needs --data"),
        ("layers --task pos --max-cases 1", "--max-cases must be at least 2; got 1."),
        ("layers --task entity --data FILES/trees.conllu", "hold nothing to ask"),
        ("keywords --limit 3", "--limit must be at least 4; got 3"),
        ("keywords --remove-tuned", "--remove-tuned needs --tune"),
        ("keywords --batch-size 0", "--batch-size must be at least 1; got 0"),
        ("negation --data FILES/half.jsonl", "both halves are needed"),
        ("negation --seeds 0", "--seeds must be at least 1; got 0"),
        ("finetune --task x --train y", "give either --task NAME, or --train FILE"),
        ("finetune", "give either --task NAME, or --train FILE"),
        ("finetune --task nothing", "there is no task 'nothing'"),
        ("finetune --task agreement --seeds 0", "--seeds must be at least 1"),
        ("finetune --train y", "--train needs --dev FILE"),
        ("finetune --task x --limit 3", "--limit goes with --train"),
        ("compare FILES/bert FILES/wide --texts FILES/texts.txt", "one shape"),
        ("compare FILES/bert FILES/after --texts FILES/word.txt", "text 1 ('cat') has one word"),
        ("compare FILES/bert FILES/after --texts FILES/one.txt", "at least two texts; got 1"),
        ("compare FILES/bert FILES/after --limit 1", "--limit must be at least two texts"),
        ("compare FILES/bert nowhere/at/all", "there is no model folder"),
        ("ablate --test FILES/test.jsonl", "is an encoder and answers no task"),
        ("ablate --model FILES/bert --test FILES/test.jsonl", "without a classification head"),
        ("ablate --model FILES/bert --masked-lm FILES/texts.txt", "no masked-LM head"),
        ("ablate --masked-lm FILES/texts.txt --train FILES/texts.txt", "--train goes with --test"),
        ("ablate --masked-lm FILES/texts.txt --rerank", "give --curve too"),
        ("ablate --masked-lm FILES/texts.txt --curve", "6 texts (one on each line); at least 8 are needed"),
        ("ablate --model FILES/bert --task nothing", "there is no task"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused_and_nothing_is_written(words, message, files, tmp_path, capsys):
    words = words.replace("FILES", str(files)).split()
    model = (
        []
        if "--model" in words or words[0] in ("compare", "ablate", "syntax")
        else ["--model", files / "bert"]
    )
    code, printed = run(capsys, *words, *model, "--out", tmp_path / "out", "--quiet")
    assert code == 1 and message in printed.err and printed.out == "", printed
    assert not list(tmp_path.glob("out/*.*"))


# --- a command of our own ---------------------------------------------------------------------------------------------
def double(model, items, *, times):
    return [item * times for item in items]


@at_least(times=1)
def multiply(
    encoder,
    numbers,
    *,
    twin=None,
    times: int = 2,
    kind: Literal["even", "odd"] = "even",
    weight: float | None = None,
    where: Path | None = None,
    signed: bool = False,
    named: bool = True,
    work=IN_PLACE,
):
    """Multiply.

    Parameters
    ----------
    encoder : encoder
    numbers : list of int
    times : int
        How often.
    kind, weight, where
        Of 100 % of them, in short ...
    signed : bool
        With a sign.
    named : bool
        The name.
    work : Work
    """
    done = [n for chunk in work.chunks(double, encoder, numbers, size=2, times=times) for n in chunk]
    value = work.kept("sum", lambda path: sum(done), times=times)
    rows = [{"n": n} for n in done]
    text = f"{len(done)} numbers, {'twin' if twin is not None else 'no twin'}, {value}"
    return Report(text, {"numbers": rows}, about(encoder, {"times": times}), finished=not signed)


class Numbers(Data):
    def read(self, args, stack):
        return Given(([1, 2, 3],), {"from": "here"}, lambda: {"numbers": 3}, lines=["said below"])


TOY = Command("toy", multiply, Numbers(), "numbers", "toy", notes="A note.\n\nAnother.", scale=True)


def toy(*words, out):
    parser = ArgumentParser(prog="bertlook toy")
    TOY.add_arguments(parser)
    args = parser.parse_args([*map(str, words), "--out", str(out), "--quiet"])
    try:
        return TOY.run(args)
    finally:
        release_folders()


def test_options_come_from_the_signature(capsys):
    parser = ArgumentParser(prog="bertlook toy")
    TOY.add_arguments(parser)
    args = parser.parse_args(["--out", "x"])
    given = {"times": 2, "kind": "even", "weight": None, "where": None, "signed": False, "named": True}
    assert given.items() <= vars(args).items()
    args = parser.parse_args(
        "--out x --times 3 --kind odd --weight 1.5 --where a/b --signed --no-named --no-twin".split()
    )
    given = {"times": 3, "kind": "odd", "weight": 1.5, "where": Path("a/b"), "signed": True, "named": False}
    assert given.items() <= vars(args).items() and args.no_twin
    said = " ".join(parser.format_help().split())
    for words in (
        "--times N how often (default: 2)",
        "of 100 % of them, in short ... (default: even)",
        "Multiply. Writes numbers.csv and numbers.json.",
        "--no-named leave out the name",
        "A note. Another. Example: bertlook toy",
    ):
        assert words in said, said


def test_it_reads_computes_prints_and_saves(tmp_path, capsys):
    assert toy("--times", 3, out=tmp_path) == 0
    printed = capsys.readouterr().out.splitlines()
    assert (
        printed[:2] == ["3 numbers, twin, 18", "said below"] and str(tmp_path / "numbers.csv") in printed[2]
    )
    assert [row["n"] for row in read_rows(tmp_path / "numbers.csv")] == ["3", "6", "9"]
    told = json.loads((tmp_path / "numbers.json").read_text(encoding="utf-8"))["about"]
    assert told["model"] == "specimen" and told["times"] == 3 and told["from"] == "here"
    toy("--no-twin", out=tmp_path)
    assert "no twin" in capsys.readouterr().out


def test_a_fit_that_has_not_finished_is_exit_code_1(tmp_path, capsys):
    assert toy("--signed", out=tmp_path) == 1 and (tmp_path / "numbers.csv").exists()


def test_bounds_are_refused_on_the_command_line_and_in_a_notebook(tmp_path, specimen):
    with pytest.raises(ValueError, match=r"^--times must be at least 1; got 0\.$"):
        toy("--times", 0, out=tmp_path)
    with pytest.raises(ValueError, match=r"^times must be at least 1; got 0\.$"):
        multiply(specimen, [1], times=0)
    assert repr(multiply(specimen, [1, 2, 3])) == "3 numbers, no twin, 12"


def test_what_decides_the_numbers_is_kept_with_them(tmp_path, capsys, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(Report, "save", lambda *given: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            toy(out=tmp_path)
    [path] = (tmp_path / "unfinished").glob("*/run.json")
    same = json.loads(path.read_text(encoding="utf-8"))
    assert same["command"] == "toy" and same["numbers"] == 3 and same["times"] == 2
    assert len(same["fingerprints"]) == 2
    capsys.readouterr()
    assert toy("--times", 3, out=tmp_path) == 0  # other numbers: begun afresh, and said
    assert "times: 2 there, 3 now" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("names", "kept"),
    [
        (("a.txt", "README.md", "LICENSE.txt", "figure.png"), {"a.txt"}),
        (
            ("en-train.conllu", "en-dev.conllu.gz", "stats.xml", "README"),
            {"en-train.conllu", "en-dev.conllu.gz"},
        ),
    ],
)
def test_what_lies_beside_a_corpus_is_left_out_and_said(tmp_path, names, kept, capsys):
    for name in names:
        (tmp_path / name).write_text("x\n", encoding="utf-8")
    assert {path.name for path in common._files_inside(tmp_path)} == kept
    said = capsys.readouterr().err
    assert all(name in said for name in set(names) - kept) and not any(name in said for name in kept)
