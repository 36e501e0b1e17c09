"""What editors see at the doors of the packages: the names in the stubs, their definitions, and nothing else."""

import ast
import re
from importlib import import_module
from pathlib import Path

import jedi
import pytest

ROOT = Path(__file__).resolve().parent.parent
STUBS = sorted(path for path in ROOT.glob("bertlook_*/**/__init__.pyi"))

NAMES = [
    "bertlook_teach.load_encoder",
    "bertlook_teach.extract_attention",
    "bertlook_teach.Attention",
    "bertlook_teach.HeadMap",
    "bertlook_teach.HeadExplorer",
    "bertlook_course.by_hand",
    "bertlook_teach.measures.offset_attention",
    "bertlook_teach.measures.attention_rollout",
    "bertlook_teach.measures.Profile",
    "bertlook_teach.model.word_groups",
    "bertlook_course.metrics.fair_choice",
    "bertlook_teach.stats.draws",
    "bertlook_teach.disk.load_arrays",
    "bertlook_teach.views.render_head_map",
    "bertlook_course.decide",
    "bertlook_course.TextTable",
    "bertlook_course.syntax",
    "bertlook_course.metrics.rank_correlation",
    "bertlook_course.analyses.probing.LayerScores",
    "bertlook_course.corpora.load_treebank",
    "bertlook_course.render.title_picture",
    "bertlook_course.storage.cached",
    "bertlook_press.classroom.export_deck",
    "bertlook_press.pages.save_page",
]


def seen(code: str) -> list[jedi.api.classes.Name]:
    """Where an editor goes from the end of a line of code."""
    project = jedi.Project(ROOT, added_sys_path=[str(ROOT)])
    return jedi.Script(code, project=project).goto(
        column=len(code), follow_imports=True, follow_builtin_imports=True
    )


@pytest.mark.parametrize("name", NAMES)
def test_go_to_definition_ends_at_the_definition(name):
    door, _, last = name.rpartition(".")
    found = seen(f"from {door} import {last}")
    thing = getattr(import_module(door), last)
    home = Path(import_module(getattr(thing, "__module__", None) or thing.__name__).__file__)
    assert [one.module_path for one in found] == [home]
    text = found[0].module_path.read_text(encoding="utf-8").splitlines()
    assert found[0].type == "module" or re.search(rf"\b{last}\b", text[found[0].line - 1])


@pytest.mark.parametrize(
    "name", ["bertlook_teach.measures.ofset_attention", "bertlook_teach.offset_attention"]
)
def test_an_editor_does_not_know_what_is_misspelt_or_elsewhere(name):
    door, _, last = name.rpartition(".")
    assert not [one for one in seen(f"from {door} import {last}") if one.name == last]
    assert not hasattr(import_module(door), last)


def test_an_editor_completes_the_names_of_a_door():
    project = jedi.Project(ROOT, added_sys_path=[str(ROOT)])
    code = "from bertlook_teach import measures\nmeasures.offset_"
    names = {one.name for one in jedi.Script(code, project=project).complete()}
    assert {"offset_attention", "offset_r_squared"} <= names


@pytest.mark.parametrize("stub", STUBS, ids=lambda path: path.parent.relative_to(ROOT).as_posix())
def test_every_name_of_a_stub_is_there(stub):
    """Python reads the same stub, when a name is first asked for; a wrong line in it would wait until then."""
    door = import_module(".".join(stub.parent.relative_to(ROOT).parts))
    names = [
        alias.asname
        for node in ast.parse(stub.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    assert sorted(names) == sorted(door.__all__) == sorted(dir(door))
    assert [name for name in names if not hasattr(door, name)] == []


def test_typed_packages_say_so():
    assert {path.parent.name for path in ROOT.glob("bertlook_*/py.typed")} == {
        path.name for path in ROOT.glob("bertlook_*")
    }
