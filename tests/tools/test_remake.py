"""The tool that makes everything again: its list is whole and in order, it goes on after a stop, and it writes only numbers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import remake
from remake import LeftOut, Notes, Place, RemakeError, Step

STEPS = {step.name: step for step in remake.STEPS}


@pytest.fixture
def place(tmp_path):
    """A small repository: weights, a page; a data folder with a file of each name asked for."""
    (tmp_path / "data" / "model").mkdir(parents=True)
    (tmp_path / "data" / "model" / "model.safetensors").write_bytes(b"one")
    return Place(tmp_path, tmp_path / "work")


class Anything(Place):
    """A place where every file is found."""

    def find(self, name):
        return Path("/data") / name


def every_command():
    place = Anything(ROOT, Path("/kept"), Path("/data"), Path("/run"), Path("/model"))
    for step in remake.STEPS:
        if step.commands is not None and step.name != "results":
            for command in step.commands(place):
                yield pytest.param(step, command, id=f"{step.name}-{len(command)}-{command[-1][-20:]}")


# --- the list ------------------------------------------------------------------------------------------------------


def test_every_step_comes_after_those_it_needs():
    assert remake.in_order(remake.STEPS)
    assert len(STEPS) == len(remake.STEPS), "no name twice"
    with pytest.raises(RemakeError, match="card needs measure"):
        remake.in_order([STEPS["weights"], STEPS["card"]])
    for step in remake.STEPS:
        assert (step.commands is None) != (step.do is None), f"{step.name} does one thing"


@pytest.mark.parametrize("script", sorted({s for step in remake.STEPS for s in step.scripts}))
def test_every_script_is_there(script):
    assert (ROOT / script).is_file()


@pytest.mark.parametrize(("step", "command"), list(every_command()))
def test_every_command_exists_and_takes_these_options(step, command, tmp_path):
    if command[0].startswith("tools/"):
        assert command[0] in step.scripts
        text = (ROOT / command[0]).read_text(encoding="utf-8") if (ROOT / command[0]).is_file() else ""
        for option in (part for part in command if part.startswith("--")):
            assert f'"{option}"' in text, f"{command[0]} has no {option}"
    elif command[:2] == list(remake.BERTLOOK):
        options = [part for part in command if part.startswith("--")]
        shown = subprocess.run(
            [sys.executable, *command[:3], "--help"], capture_output=True, text=True, cwd=ROOT, check=False
        )
        assert shown.returncode == 0, shown.stderr
        assert all(re.search(rf"{option}\b", shown.stdout) for option in options)
    else:
        assert command[0] in ("-m", "-c")
    for part in command:
        if part.endswith(".ipynb") or part.startswith("tests/"):
            assert (ROOT / part).is_file()


def test_every_notebook_is_run():
    place = Anything(ROOT, Path("/kept"))
    run = {part for name in ("solutions", "decks") for c in STEPS[name].commands(place) for part in c}
    wanted = [
        *ROOT.glob("slides/[0-9]*.ipynb"),
        *ROOT.glob("notebooks/solutions/*.ipynb"),
    ]
    assert wanted and {str(p.relative_to(ROOT)) for p in wanted} <= run


def test_files_that_are_not_there_are_named(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.conllu.gz").write_bytes(b"")
    place = Place(ROOT, tmp_path, tmp_path)
    assert place.find("a.conllu") == tmp_path / "deep" / "a.conllu.gz"
    with pytest.raises(LeftOut, match="b.conllu"):
        place.find("b.conllu")
    with pytest.raises(LeftOut, match="--data"):
        Place(ROOT, tmp_path).find("a.conllu")


def test_every_test_of_the_last_step_is_there():
    command = STEPS["tests"].commands(Place(ROOT, Path("/kept")))[0]
    assert {Path(part).name for part in command[3:]} == set(remake.TESTS)


# --- going on ------------------------------------------------------------------------------------------------------


def made(place, fails=()):
    """Three steps that write their names to a list, and that list."""
    order = []

    def doing(name):
        def do(_):
            if name in fails:
                raise RemakeError("no")
            order.append(name)

        return do

    steps = [Step(n, n, needs, do=doing(n)) for n, needs in (("a", ()), ("b", ("a",)), ("c", ("b",)))]
    return steps, order


def test_a_stopped_run_goes_on_where_it_stopped(place):
    steps, order = made(place, fails=("b",))
    with pytest.raises(RemakeError, match="b: no"):
        remake.remake(place, steps, "abc", Notes(place), say=lambda _: None)
    assert order == ["a"]
    steps, order = made(place)
    remake.remake(place, steps, "abc", Notes(place), say=lambda _: None)
    assert order == ["b", "c"], "a is done"
    kept = json.loads((place.work / "remake.json").read_text(encoding="utf-8"))
    assert kept["done"] == ["a", "b", "c"] and set(kept["seconds"]) == {"a", "b", "c"}


def test_other_weights_make_everything_undone(place):
    steps, _ = made(place)
    remake.remake(place, steps, "abc", Notes(place), say=lambda _: None)
    (place.root / "data" / "model" / "model.safetensors").write_bytes(b"two")
    assert Notes(place).done == []
    notes = Notes(place)
    notes.done = ["a", "b", "c"]
    notes.forget("bc")
    assert Notes(place).done == ["a"]


def test_what_cannot_be_made_is_left_out_and_not_called_done(place):
    def missing(_):
        raise LeftOut("a treebank")

    steps = [Step("a", "a", do=missing), Step("b", "b", do=lambda _: None)]
    assert remake.remake(place, steps, "ab", Notes(place), say=lambda _: None) == {"a": "a treebank"}
    assert Notes(place).done == ["b"]


def test_a_command_that_fails_stops_and_names_its_log(place):
    steps = [Step("a", "a", commands=lambda _: [["-c", "import sys; print('hello'); sys.exit(3)"]])]
    with pytest.raises(RemakeError, match=r"exit 3 .*a\.log"):
        remake.remake(place, steps, "a", Notes(place), say=lambda _: None)
    assert "hello" in (place.work / "logs" / "a.log").read_text(encoding="utf-8")
    out = place.work / "said.txt"
    remake.run_command(["-c", "print('there')", ">", str(out)], place, place.work / "logs" / "a.log")
    assert out.read_text(encoding="utf-8") == "there\n"


# --- what it writes --------------------------------------------------------------------------------------------------


def test_the_weights_come_whole_or_not_at_all(place, tmp_path):
    new = tmp_path / "new"
    new.mkdir()
    with_model = Place(place.root, place.work, model=new)
    with pytest.raises(RemakeError, match="has no config.json"):
        remake.put_weights(with_model)
    for name in remake.MODEL_FILES:
        (new / name).write_text(name, encoding="utf-8")
    remake.put_weights(with_model)
    assert (place.root / "data" / "model" / "vocab.txt").read_text(encoding="utf-8") == "vocab.txt"


def test_the_card_takes_its_tables_from_the_report_and_keeps_its_sentences(place):
    card = (ROOT / remake.CARD).read_text(encoding="utf-8")
    (place.root / remake.CARD).write_text(card, encoding="utf-8")
    place.work.mkdir()
    tables = remake.tables_of(card)
    blocks = ["\n".join(card.split("\n")[a:b]) for a, b in tables]
    reported = [b for b in blocks if b.startswith(("| measure", "| relation", "| held-out"))]
    assert len(reported) == 4
    changed = [re.sub(r"\d\.\d", "7.7", block) for block in reported]
    (place.work / "card.md").write_text("\n\n".join(changed) + "\n", encoding="utf-8")
    (place.work / "fingerprint.txt").write_text("0123456789abcdef", encoding="utf-8")
    remake.update_card(place)
    now = (place.root / remake.CARD).read_text(encoding="utf-8")
    want = re.sub(r"(Fingerprint[^`]*`)\w+`", r"\g<1>0123456789abcdef`", card)
    for old, new in zip(reported, changed, strict=True):
        want = want.replace(old, new)
    assert now == want and now != card
    (place.work / "card.md").write_text("\n\n".join(changed[:2]) + "\n", encoding="utf-8")
    with pytest.raises(RemakeError, match="2 tables like"):
        remake.update_card(place)


def test_every_heading_has_its_table():
    text = (ROOT / remake.RESULTS).read_text(encoding="utf-8")
    folders = {c[c.index("--out") + 1].rsplit("/", 1)[1] for step in ("syntax", "coreference", "probe")
               for c in STEPS[step].commands(Anything(ROOT, Path("/kept")))}  # fmt: skip
    for heading, (folder, _) in remake.RESULT_TABLES.items():
        assert folder in folders
        new = remake.put_table(text, "| a | b |\n|---|---|\n| 1 | 2 |", after=heading)
        assert new.count("| a | b |") == 1 and new != text
        assert new.index("| a | b |") > new.index(heading)
    with pytest.raises(RemakeError, match="0 times"):
        remake.put_table(text, "| a |\n|---|\n| 1 |", after="### nowhere")
    with pytest.raises(RemakeError, match="no table below"):
        remake.put_table("# a\n\n## b\n\n| x |\n|---|\n| 1 |\n", "| x |\n|---|\n| 2 |", after="# a")


def test_the_examples_print_what_they_print(place):
    page = "Text.\n\n```python\n>>> x = 2\n>>> x + 1\n4\n>>> for i in range(2):\n...     print(i * x)\n0\n9\n\n```\n\nMore: 4.\n"
    (place.root / "README.md").write_text(page, encoding="utf-8")
    remake.update_examples(place)
    now = (place.root / "README.md").read_text(encoding="utf-8")
    assert now == page.replace("\n4\n", "\n3\n").replace("\n9\n", "\n2\n")
    (place.root / "README.md").write_text("```python\n>>> 1 / 0\n1\n```\n", encoding="utf-8")
    with pytest.raises(RemakeError, match="ZeroDivisionError"):
        remake.update_examples(place)


def test_the_random_twin_stands_beside_the_model_in_the_table_of_keywords():
    import results_tables

    names = ("auc", "auc_low", "auc_high", "f1", "f1_low", "f1_high", "loss")
    rows = [
        {"run": run, "score": score, "as": f"{score}{head}"} | dict(zip(names, values, strict=True))
        for run, score, head, values in (
            ("no model", "tf-idf", "", [0.7, 0.6, 0.8, 0.4, 0.3, 0.5, 0.25]),
            ("model", "best head", ": 1-5", [0.8, 0.7, 0.9, 0.5, 0.4, 0.6, 0.2]),
            ("random twin", "best head", ": 3-2", [0.6, 0.5, 0.7, 0.3, 0.2, 0.4, 0.3]),
        )
    ]
    assert results_tables.keywords_table({"rows": rows}).splitlines()[2:] == [
        "| tf-idf | 70.0 [60.0, 80.0] | 40.0 [30.0, 50.0] | 0.250 | - | - | - |",
        "| best head: 1-5 | 80.0 [70.0, 90.0] | 50.0 [40.0, 60.0] | 0.200 | 60.0 [50.0, 70.0] | 30.0 [20.0, 40.0] | 0.300 |",
    ]
