"""Exercises made from solutions: what becomes of a solution, and that an unfilled exercise runs to its end."""

import copy
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import build_exercises
from build_exercises import ExerciseError, build, make_exercise, mark, nbgrader_problems
from run_notebooks import read, run

from bertlook_course.checks import lesson03

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"


def exercise_sources(*sources):
    """Sources of the exercise cells made from these solution cells."""
    nb = mark(new_notebook(cells=[new_code_cell(source) for source in sources]))
    return [cell.source for cell in make_exercise(nb).cells]


def solved(code):
    return f"{BEGIN}\n{code}\n{END}"


def in_function(body, after="", head="def f(x):\n"):
    indented = "\n".join("    " + line for line in solved(body).splitlines())
    return head + indented + after


# ---- what a solution becomes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "solution, later, stub",
    [
        ("a = 1", "", "a = ..."),
        ("helper = 2\nanswer = helper", "", "answer = ..."),
        ("helper = 2\nanswer = helper", "print(answer)", "answer = ..."),
        ("first = 1\nsecond = 2", "print(first + second)", "first = ...\nsecond = ..."),
        ("first = 1\nlast = 2", "print(first)", "first = ..."),
        ("a, (b, c) = 1, (2, 3)", "print(c, a)", "a = ...\nc = ..."),
        ("a: int = 1", "", "a = ..."),
        ("a = 1\na = a + 1", "print(a)", "a = ..."),
        ("total = 0\nfor i in range(3):\n    total += i", "print(total, [i for i in []])", "total = ..."),
        ("if 1 < 2:\n    a = 1\nelse:\n    a = 2", "print(a)", "a = ..."),
        ("with open('x') as file:\n    text = file", "print(text)", "text = ..."),
        ("pair[0] = 3", "print(pair)", "..."),
        ("f = lambda x: x\nresult = f(1)", "print(f)", "f = ..."),
        ("sorted([2, 1])", "", "..."),
        ("def helper(x):\n    y = x\n    return y\nanswer = helper(1)", "print(answer)", "answer = ..."),
        ("", "", "..."),
    ],
)
def test_a_solution_becomes_the_names_it_assigns_for_others(solution, later, stub):
    made = exercise_sources(solved(solution), later)
    assert made == [stub, later]


def test_a_name_used_only_in_other_solutions_is_not_needed():
    made = exercise_sources(
        solved("helper = 1\nanswer = 2"), solved("other = helper"), "print(answer, other)"
    )
    assert made[:2] == ["answer = ...", "other = ..."]


def test_lines_around_a_solution_stay():
    source = f"import numpy as np\n{solved('a = np.pi')}\nprint(a)  # shown"
    assert exercise_sources(source) == ["import numpy as np\na = ...\nprint(a)  # shown"]


def test_two_solutions_in_one_cell_are_both_replaced():
    assert exercise_sources(f"{solved('a = 1')}\n# and\n{solved('b = 2')}") == ["a = ...\n# and\nb = ..."]


@pytest.mark.parametrize(
    "solution, after, stub",
    [
        ("return x + 1", "", "    return ..."),
        ("y = x + 1\nreturn y", "", "    return ..."),
        ("if x:\n    return 1\nreturn 2", "", "    return ..."),
        ("y = x + 1", "\n    return y", "    y = ...\n    return y"),
        ("def g():\n    return 1\ny = g()", "\n    return y", "    y = ...\n    return y"),
        ("x.append(1)", "", "    ..."),
        ("return", "", "    ..."),
    ],
)
def test_the_body_of_a_function_becomes_an_ellipsis_in_its_place(solution, after, stub):
    docstring = 'def f(x):\n    """Say what."""\n'
    assert exercise_sources(in_function(solution, after, docstring), "f(1)") == [docstring + stub, "f(1)"]


def test_a_solution_in_a_branch_of_a_function_keeps_its_indentation():
    source = f"def f(x):\n    if x:\n        {BEGIN}\n        return 1\n        {END}\n    return 0"
    assert exercise_sources(source) == ["def f(x):\n    if x:\n        return ...\n    return 0"]


def test_a_solution_after_a_function_is_not_in_it():
    assert exercise_sources(f"def f(x):\n    return x\n{solved('a = f(1)')}", "print(a)")[0].endswith(
        "\na = ..."
    )


def test_every_stub_is_python_and_runs():
    source = "\n".join([in_function("return x"), solved("a, b = 1, 2"), "value = f(1)"])
    namespace = {}
    exec(compile(exercise_sources(source, "print(a, b)")[0], "cell", "exec"), namespace)  # noqa: S102 - our own text
    assert namespace["a"] is namespace["b"] is namespace["value"] is ...


def test_lines_for_ipython_are_no_obstacle():
    assert exercise_sources(f"%matplotlib inline\n{solved('a = 1')}") == ["%matplotlib inline\na = ..."]


def test_ids_tags_and_nbgrader_metadata_stay_and_outputs_go():
    nb = mark(new_notebook(cells=[new_code_cell(solved("a = 1"), execution_count=7)]))
    nb.cells[0].metadata["tags"] = ["keep"]
    nb.cells[0].outputs = [nbformat.v4.new_output("stream", text="1")]
    before = copy.deepcopy(nb)
    cell = make_exercise(nb, name="01_x.ipynb").cells[0]
    assert (cell.id, cell.metadata.tags, cell.outputs, cell.execution_count) == (
        nb.cells[0].id,
        ["keep"],
        [],
        None,
    )
    assert cell.metadata.nbgrader.grade_id == "answer_a"
    assert nb == before
    assert (
        make_exercise(nb, name="01_x.ipynb").metadata.bertlook.generated_from
        == "notebooks/solutions/01_x.ipynb"
    )


# ---- what cannot be made --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source, message",
    [
        (f"{BEGIN}\na = 1", "line 1: the region is never ended"),
        (f"a = 1\n{END}", "line 2: the end of a region that was not begun"),
        (f"{BEGIN}\n{BEGIN}\na = 1\n{END}", "line 2: a region begins inside the one of line 1"),
        (f"a = 1  {BEGIN}\n{END}", "line 1: '### BEGIN SOLUTION' must stand alone on its line"),
        (f"# BEGIN SOLUTION\na = 1\n{END}", "line 1: '### BEGIN SOLUTION' must stand alone on its line"),
        (solved("import numpy as np"), "line 1: imports belong outside the solution"),
        (solved("def f(x):\n    return x") + "\nf(1)", "line 1: 'f' is used elsewhere"),
        (solved("a = = 1"), r"line 2: not valid Python"),
    ],
)
def test_a_solution_that_cannot_be_taken_out_is_named_with_its_cell(source, message):
    nb = mark(new_notebook(cells=[new_markdown_cell("# T"), new_code_cell(source)]))
    with pytest.raises(ExerciseError, match=rf"x\.ipynb, cell 2, {message}"):
        make_exercise(nb, name="x.ipynb")


def marked(**changes):
    nb = mark(new_notebook(cells=[new_code_cell(solved("a = 1")), new_code_cell(solved("1 + 1"))]))
    for key, value in changes.items():
        if value is None:
            del nb.cells[0].metadata.nbgrader[key]
        else:
            nb.cells[0].metadata.nbgrader[key] = value
    return nb


def test_marked_cells_are_what_nbgrader_wants():
    assert nbgrader_problems(marked()) == []
    assert nbgrader_problems(new_notebook(cells=[new_code_cell("1"), new_markdown_cell("text")])) == []


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"schema_version": 2}, "'schema_version': 3"),
        ({"grade_id": None}, "'grade_id': 'a name of its own'"),
        ({"solution": False}, "cell 1: nbgrader metadata should be"),
        ({"grade": True}, "'grade': False"),
        ({"grade_id": "answer_solution"}, "cell 2: grade_id 'answer_solution' is already used by cell 1"),
    ],
)
def test_metadata_that_nbgrader_would_refuse_are_named(changes, message):
    assert message in "\n".join(nbgrader_problems(marked(**changes)))
    with pytest.raises(ExerciseError, match="cell"):
        make_exercise(marked(**changes))


def test_a_solution_in_a_text_is_refused():
    nb = new_notebook(cells=[new_markdown_cell(solved("Because."))])
    with pytest.raises(ExerciseError, match="x.ipynb, cell 1: a solution stands in a cell of code"):
        make_exercise(nb, name="x.ipynb")


def test_a_cell_without_metadata_is_named_with_the_remedy():
    with pytest.raises(
        ExerciseError, match="x.ipynb, cell 1: a solution cell without nbgrader metadata; run with --mark"
    ):
        make_exercise(new_notebook(cells=[new_code_cell(solved("a = 1"))]), name="x.ipynb")


def test_marking_twice_changes_nothing_and_ids_stay_apart():
    once = mark(new_notebook(cells=[new_code_cell(solved("a = 1")), new_code_cell(solved("a = 2"))]))
    assert [cell.metadata.nbgrader.grade_id for cell in once.cells] == ["answer_a", "answer_a_2"]
    assert mark(once) == once


# ---- the whole way, with a kernel -----------------------------------------------------------------------------

RECORDS = """import numpy as np
from bertlook_course.checks import ArrayCheck, FunctionCheck
check_weights = ArrayCheck([[0.5, 0.5]], learnt="Equal scores share the weight.")
check_softmax = FunctionCheck(lambda scores: np.full(2, 0.5), cases=[np.zeros(2)], learnt="Rows sum to 1.")"""
DEMO = [
    new_markdown_cell("# Lesson 1: a demonstration"),
    new_code_cell(RECORDS),
    new_code_cell(
        f"def softmax(scores):\n    {BEGIN}\n    e = np.exp(scores)\n    return e / e.sum()\n    {END}"
    ),
    new_code_cell("check_softmax(softmax)"),
    new_code_cell(solved("weights = np.full((1, 2), 1 / 2)")),
    new_code_cell("check_weights(weights)"),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project with one solution notebook, marked, run and built once; tests that change it work on a copy."""
    root = tmp_path_factory.mktemp("project")
    path = root / "notebooks/solutions/01_demo.ipynb"
    path.parent.mkdir(parents=True)
    nbformat.write(new_notebook(cells=copy.deepcopy(DEMO)), path)
    assert build_exercises.main(["--root", str(root), "--mark"]) == 0
    run(path)
    return root


def shown(path):
    """The text of the last output of each code cell that has one."""
    return [cell.outputs[-1].data["text/plain"] for cell in read(path).cells if cell.get("outputs")]


def test_an_unfilled_exercise_runs_and_each_check_says_not_answered_yet(project):
    said = shown(project / "notebooks/exercises/01_demo.ipynb")
    assert len(said) == 2 and all(text.startswith("Not answered yet.") for text in said)


def test_the_solution_is_told_what_was_learnt(project):
    assert shown(project / "notebooks/solutions/01_demo.ipynb") == [
        "Right. Rows sum to 1.",
        "Right. Equal scores share the weight.",
    ]


def test_check_agrees_with_what_was_built_and_writes_nothing(project, capsys):
    path = project / "notebooks/exercises/01_demo.ipynb"
    before = path.read_bytes()
    assert build_exercises.main(["--root", str(project), "--check"]) == 0
    assert "as it should be" in capsys.readouterr().out
    assert path.read_bytes() == before


def copied(project, tmp_path, edit=str):
    """The project elsewhere, with the text of the exercise edited."""
    for folder in ("solutions", "exercises"):
        target = tmp_path / "notebooks" / folder
        target.mkdir(parents=True)
        content = (project / "notebooks" / folder / "01_demo.ipynb").read_text(encoding="utf-8")
        content = edit(content) if folder == "exercises" else content
        (target / "01_demo.ipynb").write_text(content, encoding="utf-8")
    return tmp_path


def test_check_finds_an_edited_exercise(project, tmp_path, capsys):
    root = copied(project, tmp_path, lambda content: content.replace("weights = ...", "weights = 1"))
    assert build_exercises.main(["--root", str(root), "--check"]) == 1
    assert "cell 5 differs in source: weights = ..." in capsys.readouterr().out


def test_check_finds_a_missing_exercise_and_one_without_a_solution(project, tmp_path, capsys):
    root = copied(project, tmp_path)
    exercises = root / "notebooks/exercises"
    (exercises / "01_demo.ipynb").rename(exercises / "02_other.ipynb")
    assert build_exercises.main(["--root", str(root), "--check"]) == 1
    said = capsys.readouterr()
    assert "it does not exist yet" in said.out and "has no solution of the same name" in said.err


def test_an_unfilled_answer_used_outside_a_check_is_reported_and_nothing_is_saved(tmp_path):
    nb = mark(new_notebook(cells=[new_code_cell(solved("a = 1")), new_code_cell("a + 1")]))
    nbformat.write(nb, tmp_path / "01_x.ipynb")
    (tmp_path / "out").mkdir()
    with pytest.raises(ExerciseError, match=r"cell 2 raised[^$]*only a check may use an unfilled answer"):
        build(tmp_path / "01_x.ipynb", tmp_path / "out" / "01_x.ipynb")
    assert list((tmp_path / "out").iterdir()) == []


def test_one_lesson_can_be_chosen_and_an_unknown_one_is_named(project, capsys):
    assert build_exercises.main(["--root", str(project), "--check", "01"]) == 0
    assert build_exercises.main(["--root", str(project), "--check", "07"]) == 1
    assert "07: no such lesson" in capsys.readouterr().err


# --- a course for nbgrader --------------------------------------------------------------------------------------------


def test_each_check_of_the_course_is_worth_one_point(tmp_path, capsys):
    assert build_exercises.main(["03", "--nbgrader", str(tmp_path)]) == 0
    made = nbformat.read(tmp_path / "source" / "lesson03" / "03_where_heads_look.ipynb", as_version=4)
    graded = [cell for cell in made.cells if cell.metadata.get("nbgrader", {}).get("grade")]
    ids = [cell.metadata.nbgrader.grade_id for cell in graded]
    assert sorted(ids) == sorted(f"check_{name}" for name in lesson03.sheet().answers)
    assert all(cell.metadata.nbgrader.locked and cell.metadata.nbgrader.points == 1 for cell in graded)
    assert graded[0].source.splitlines() == [
        "feedback = check.check_offset_share(offset_share)",
        "display(feedback)",
        "assert feedback",
    ]
    assert build_exercises.nbgrader_problems(made) == []
    assert not any(cell.get("outputs") for cell in made.cells)
    assert build_exercises.main(["03", "--nbgrader", str(tmp_path)]) == 1
    assert "exists; name a new folder" in capsys.readouterr().err


def test_a_notebook_without_checks_gives_no_points():
    with pytest.raises(build_exercises.ExerciseError, match="nothing would give a point"):
        build_exercises.with_points(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 + 1")]))
