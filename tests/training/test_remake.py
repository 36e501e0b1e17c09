"""The list of what is made again after a training: every command can be started, in order, and a stopped run goes on."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "training"))
import remake
from remake import Missing, Place

from bertlook_bench.line import build_parser


class Anything(Place):
    """A place where every file is found."""

    def find(self, *names):
        return [f"/data/{name}" for name in names]


ALL = dict(remake.commands(Anything(Path("/kept"), Path("/data"), Path("/run"), Path("/python"))))


MINILM = dict(remake.commands(Anything(Path("/kept"), Path("/data"), model="minilm")))


@pytest.mark.parametrize("name", [*ALL, *(f"minilm {name}" for name in MINILM)])
def test_every_command_exists_and_takes_these_options(name):
    model, _, short = name.rpartition(" ")
    script, *options = MINILM[short] if model else ALL[short]
    if script == "-m" and options[0] == "bertlook_bench":
        build_parser(options[1]).parse_args(options[1:])  # ends the test if an argument does not fit
    elif script != "-m":
        text = (ROOT / script).read_text(encoding="utf-8")
        for option in (part for part in options if part.startswith("--")):
            assert f'"{option}"' in text, f"{script} has no {option}"
    for part in options:
        if part.endswith(".ipynb") or part.startswith("tests/"):
            assert (ROOT / part).exists()


def test_minilm_reads_documents_in_runs_of_the_specimens_length_and_is_not_tuned():
    assert MINILM["litbank"][-4:-2] == ["--max-tokens", "128"] == MINILM["gum"][-4:-2]
    assert "--max-tokens" not in MINILM["gap"]
    assert not any("finetune" in options or "negation" in options for options in MINILM.values())
    measured = {name: options for name, options in MINILM.items() if options[0] == "-m"}
    assert [name for name, options in measured.items() if "minilm" not in options] == ["claims-specimen"]


def test_every_command_has_its_own_name_and_comes_after_what_it_stands_on():
    names = [name for name, _ in remake.commands(Place(Path("/kept")))]
    assert len(names) == len(set(names)) == len(ALL)
    for first, second in (
        ("report", "card"), ("task-mrpc", "heads-mrpc"), ("task-agreement", "heads-agreement-0"), ("negation", "compare-control-4"),
        ("compare-control-4", "results-page"), ("results-page", "quoted"), ("quoted", "decks"), ("solutions", "exercises"),
        ("evidence", "decks"), ("decks", "pictures"),
    ):  # fmt: skip
        assert names.index(first) < names.index(second)
    assert names[-1] == "tests"


def test_every_notebook_is_run():
    wanted = [*ROOT.glob("slides/[0-9]*.ipynb"), *ROOT.glob("notebooks/solutions/*.ipynb")]
    assert wanted and {str(path.relative_to(ROOT)) for path in wanted} <= {*ALL["solutions"], *ALL["decks"]}


def test_files_that_are_not_there_are_named(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.conllu.gz").write_bytes(b"")
    place = Place(tmp_path, tmp_path)
    assert place.find("a.conllu") == [str(tmp_path / "deep" / "a.conllu.gz")]
    with pytest.raises(Missing, match="b.conllu in"):
        place.find("a.conllu", "b.conllu")
    missing = dict(remake.commands(Place(tmp_path)))
    assert str(missing["ewt-ud"]) == "en_ewt-ud-dev.conllu in the folder --data"
    assert "--run" in str(missing["film"]) and "--peers" in str(missing["peers"])


# --- running them ----------------------------------------------------------------------------------------------------


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A small repository with weights, and three commands that write their names into a file; "b" fails while the file "bad" is there."""
    (tmp_path / "data" / "model").mkdir(parents=True)
    (tmp_path / "data" / "model" / "model.safetensors").write_bytes(b"one")
    monkeypatch.setattr(remake, "ROOT", tmp_path)
    line = "import sys, pathlib; print('hello'); sys.exit(3) if '{0}' == 'b' and pathlib.Path('bad').exists() else open('order', 'a').write('{0}')"
    commands = [(name, ["-c", line.format(name)]) for name in "abc"]
    commands.insert(1, ("x", Missing("a treebank")))
    monkeypatch.setattr(remake, "commands", lambda place: iter(commands))
    return Place(tmp_path / "work")


def order():
    return (remake.ROOT / "order").read_text(encoding="utf-8")


def run(place, *chosen):
    return remake.remake(place, chosen, say=lambda _: None)


def test_what_fails_is_named_with_its_log_and_is_what_the_next_run_does(place):
    (remake.ROOT / "bad").touch()
    undone = run(place)
    log = place.work / "logs" / "b.log"
    assert undone == {"x": "left out: needs a treebank", "b": f"failed with exit code 3; see {log}"}
    assert log.read_text(encoding="utf-8") == "hello\n" and order() == "ac"
    (remake.ROOT / "bad").unlink()
    assert set(run(place)) == {"x"} and order() == "acb"
    assert json.loads((place.work / "done.json").read_text(encoding="utf-8"))["done"] == ["a", "c", "b"]


def test_what_is_chosen_runs_again_and_nothing_else(place):
    run(place)
    assert run(place, "c") == {} and order() == "abcc"


def test_other_weights_make_everything_undone_and_drop_what_was_measured(place):
    run(place)
    (place.work / "results").mkdir()
    (remake.ROOT / remake.WEIGHTS["specimen"]).write_bytes(b"two")
    run(place)
    assert order() == "abcabc" and not (place.work / "results").exists()


def test_a_name_that_is_not_there_is_refused(place, capsys):
    assert remake.main(["--list"]) == 0 and capsys.readouterr().out.split() == ["a", "x", "b", "c"]
    with pytest.raises(SystemExit):
        remake.main(["--only", "d"])
    assert "there is no d; --list names what there is" in capsys.readouterr().err
