"""Make the exercise notebooks from the solution notebooks, and run them.

    python tools/build_exercises.py                    every notebooks/solutions/NN_topic.ipynb
    python tools/build_exercises.py 01 03              these lessons only
    python tools/build_exercises.py --check            write nothing, exit 1 if an exercise is not what would be made
    python tools/build_exercises.py --mark             first add missing nbgrader metadata to the solutions
    python tools/build_exercises.py --nbgrader DIR     instead make a course for nbgrader, one point a check

The solutions are the source; an exercise is never edited. In a solution notebook
``### BEGIN SOLUTION`` ... ``### END SOLUTION`` encloses what the student is to write, in a cell of code. It becomes
``name = ...`` for every name the block assigns that is used elsewhere, ``return ...`` where the block returns a value,
and otherwise ``...``. Never an exception: an unfilled notebook runs to its end and each check says "not answered yet".

These are nbgrader's own markers with its cell metadata (schema 3), so an instructor can give the same solution
notebook to nbgrader.
"""

from __future__ import annotations

import argparse
import ast
import copy
import re
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from run_notebooks import ROOT, NotebookError, differences, execute, normalise, read, save

SOLUTIONS, EXERCISES = "notebooks/solutions", "notebooks/exercises"
# nbgrader wants exactly these words on a line of their own.
BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
# What must be the same in a saved exercise and in one made from its solution: all but the outputs.
PARTS = ("cell_type", "id", "source", "metadata")


class ExerciseError(Exception):
    """A solution notebook that cannot be turned into an exercise; the message names notebook, cell and remedy."""


@dataclass(frozen=True)
class Block:
    """One marked region: ``first`` and ``last`` are the lines of its markers, counted from 1."""

    first: int
    last: int
    indent: str

    def __contains__(self, line):
        return self.first <= line <= self.last


def make_exercise(solution, *, name="notebook"):
    """The exercise made from a solution notebook, not yet executed; the solution is left alone.

    Parameters
    ----------
    solution : NotebookNode
    name : str
        How to call the notebook in messages and in the exercise's metadata.

    Returns
    -------
    NotebookNode
        Without outputs.

    Raises
    ------
    ExerciseError
        If markers are not paired, a block holds what the student's copy cannot do without (an import, a whole
        function), the code cannot be parsed, or nbgrader metadata are missing or not valid.
    """
    exercise = copy.deepcopy(solution)
    places = [f"{name}, cell {number}" for number in range(1, len(exercise.cells) + 1)]
    parsed = [_parse(cell, where) for cell, where in zip(exercise.cells, places)]
    used = set().union(*(_names_read(tree, blocks) for tree, blocks in parsed))
    for cell, where, (tree, blocks) in zip(exercise.cells, places, parsed):
        cell.source = _without_blocks(cell.source, tree, blocks, used, where)
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    problems = nbgrader_problems(solution)
    if problems:
        raise ExerciseError("\n".join(f"{name}, {problem}" for problem in problems))
    exercise.metadata["bertlook"] = {
        **exercise.metadata.get("bertlook", {}),
        "generated_from": f"{SOLUTIONS}/{name}",
    }
    return normalise(exercise)


def mark(solution):
    """Add nbgrader metadata to the cells of a solution notebook that need them and have none.

    The grade id is the name of the assigned variable or the function, made unique.

    Parameters
    ----------
    solution : NotebookNode
        Left alone.

    Returns
    -------
    NotebookNode
    """
    solution = copy.deepcopy(solution)
    taken = {cell.metadata.get("nbgrader", {}).get("grade_id") for cell in solution.cells}
    for cell in solution.cells:
        if BEGIN not in cell.source or "nbgrader" in cell.metadata:
            continue
        found = re.search(r"^\s*(?:def\s+)?([A-Za-z_]\w*)\s*(?:=|\()", cell.source, re.MULTILINE)
        stem = f"answer_{found.group(1) if found else 'solution'}"
        grade_id, copies = stem, 1
        while grade_id in taken:
            copies += 1
            grade_id = f"{stem}_{copies}"
        taken.add(grade_id)
        cell.metadata["nbgrader"] = _nbgrader(grade_id)
    return solution


def _nbgrader(grade_id, *, test=False) -> dict:
    """nbgrader's metadata, in its schema 3: of a cell with a solution, or of a locked test of one point."""
    meta = {
        "grade": test,
        "grade_id": grade_id,
        "locked": test,
        "schema_version": 3,
        "solution": not test,
        "task": False,
    }
    return {**meta, "points": 1} if test else meta


def with_points(solution, *, name="notebook"):
    """A solution in which nbgrader gives a point for each check; the solution itself is left alone.

    A cell that is only ``check.check_x(x)`` becomes a locked test cell: it shows the feedback, and fails unless it is right.

    Parameters
    ----------
    solution : NotebookNode
    name : str
        How to call the notebook in messages.

    Returns
    -------
    NotebookNode
        Without outputs.

    Raises
    ------
    ExerciseError
        If no cell is such a check: there would be nothing to give points for.
    """
    graded = copy.deepcopy(solution)
    taken = {cell.metadata["nbgrader"]["grade_id"] for cell in graded.cells if "nbgrader" in cell.metadata}
    found = 0
    for cell in graded.cells:
        if cell.cell_type != "code":
            continue
        cell.outputs, cell.execution_count = [], None
        check = re.fullmatch(r"check\.(check_\w+)\(.*\)", cell.source.strip(), re.DOTALL)
        if check is None or check.group(1) in taken:
            continue
        found += 1
        taken.add(check.group(1))
        cell.source = f"feedback = {cell.source.strip()}\ndisplay(feedback)\nassert feedback"  # a value would be partial credit
        cell.metadata["nbgrader"] = _nbgrader(check.group(1), test=True)
    if not found:
        raise ExerciseError(
            f"{name}: no cell is a check alone, check.check_x(x), so nothing would give a point"
        )
    return graded


NBGRADER_CONFIG = """\
c = get_config()
c.CourseDirectory.course_id = "bertlook"
c.ClearSolutions.code_stub = {"python": "..."}
c.ExecutePreprocessor.timeout = 600
"""


def make_course(solutions, folder) -> list[Path]:
    """A folder that nbgrader takes for a course: ``source/lessonNN/NN_topic.ipynb`` and its settings.

    Raises
    ------
    ExerciseError
        If a file is there already.
    """
    written = {Path(folder) / "nbgrader_config.py": NBGRADER_CONFIG}
    for path in solutions:
        target = Path(folder) / "source" / f"lesson{path.name[:2]}" / path.name
        written[target] = with_points(read(path), name=path.name)
    there = [path for path in written if path.exists()]
    if there:
        raise ExerciseError(f"{there[0]} exists; name a new folder, so that nothing of yours is overwritten")
    for path, content in written.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.write_text(content, encoding="utf-8")
        else:
            save(content, path)
    return list(written)


def nbgrader_problems(solution) -> list[str]:
    """What nbgrader would refuse about the cell metadata of a solution notebook.

    Parameters
    ----------
    solution : NotebookNode

    Returns
    -------
    list of str
        Each begins with the number of the cell, counted from 1.
    """
    problems, seen = [], {}
    for number, cell in enumerate(solution.cells, start=1):
        solved, meta = BEGIN in cell.source, cell.metadata.get("nbgrader")
        if meta is None:
            if solved:
                problems.append(
                    f"cell {number}: a solution cell without nbgrader metadata; run with --mark to add them"
                )
            continue
        grade_id = meta.get("grade_id")
        wanted = _nbgrader(grade_id or "a name of its own", test=not solved)
        if meta != wanted:
            problems.append(f"cell {number}: nbgrader metadata should be {wanted}, not {dict(meta)}")
        if grade_id in seen:
            problems.append(f"cell {number}: grade_id {grade_id!r} is already used by cell {seen[grade_id]}")
        seen.setdefault(grade_id, number)
    return problems


def build(solution_path, exercise_path, *, check=False) -> list[str]:
    """Make one exercise notebook, run it, save it; with ``check`` only compare.

    Parameters
    ----------
    solution_path, exercise_path : path
    check : bool

    Returns
    -------
    list of str
        How the exercise on disk differs from what the solution gives.

    Raises
    ------
    ExerciseError
        If it cannot be made, or does not run to its end unfilled.
    """
    solution_path, exercise_path = Path(solution_path), Path(exercise_path)
    made = make_exercise(read(solution_path), name=solution_path.name)
    if exercise_path.exists():
        found = differences(normalise(read(exercise_path)), made, PARTS)
    else:
        found = ["it does not exist yet"]
    if not check:
        exercise_path.parent.mkdir(parents=True, exist_ok=True)  # the kernel runs there
        try:
            done = execute(made, folder=exercise_path.parent, name=exercise_path.name)
        except NotebookError as error:
            raise ExerciseError(
                f"{error}\nAn unfilled exercise must run to its end: only a check may use an unfilled answer."
            ) from None
        save(done, exercise_path)
    return found


def find_blocks(source) -> list[Block]:
    """The marked regions of a cell, in order.

    Parameters
    ----------
    source : str

    Returns
    -------
    list of Block

    Raises
    ------
    ExerciseError
        If a region is not closed, not opened, or inside another.
    """
    blocks, first = [], None
    for number, line in enumerate(source.splitlines(), start=1):
        marker = next((marker for marker in (BEGIN, END) if marker.lstrip("# ") in line), None)
        if marker is None:
            continue
        if line.strip() != marker:
            raise ExerciseError(f"line {number}: '{marker}' must stand alone on its line")
        if marker == BEGIN and first:
            raise ExerciseError(f"line {number}: a region begins inside the one of line {first}")
        if marker == END and not first:
            raise ExerciseError(f"line {number}: the end of a region that was not begun")
        if marker == BEGIN:
            first, indent = number, line[: len(line) - len(line.lstrip())]
        else:
            blocks.append(Block(first, number, indent))
            first = None
    if first:
        raise ExerciseError(f"line {first}: the region is never ended")
    return blocks


def _parse(cell, where):
    """Syntax tree (None for text) and marked regions of a cell."""
    try:
        blocks = find_blocks(cell.source)
    except ExerciseError as error:
        raise ExerciseError(f"{where}, {error}") from None
    if cell.cell_type != "code":
        if blocks:
            raise ExerciseError(f"{where}: a solution stands in a cell of code, and this one is text")
        return None, []
    # A line for IPython (%matplotlib, !command) is no Python; it reads no names that matter here.
    plain = re.sub(r"(?m)^(\s*)[%!].*$", r"\1pass", cell.source)
    try:
        return ast.parse(plain), blocks
    except SyntaxError as error:
        raise ExerciseError(f"{where}, line {error.lineno}: not valid Python ({error.msg})") from None


def _names_read(tree, blocks) -> set[str]:
    """Names whose value is used in a cell outside its marked regions."""
    if tree is None:
        return set()
    return {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Load)
        and not any(node.lineno in block for block in blocks)
    }


def _without_blocks(source, tree, blocks, used, where) -> str:
    """The source with solutions replaced."""
    lines = source.splitlines()
    for block in reversed(blocks):
        stub = _stub(tree, block, used, f"{where}, line {block.first}")
        lines[block.first - 1 : block.last] = [block.indent + line for line in stub]
    return "\n".join(lines).strip("\n")


def _stub(tree, block, used, where) -> list[str]:
    """The lines that stand in the exercise where the solution was, without their indentation."""
    statements = list(_outermost(tree, block))
    for node in statements:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            raise ExerciseError(f"{where}: imports belong outside the solution, the student needs them too")
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name in used:
            raise ExerciseError(
                f"{where}: {node.name!r} is used elsewhere, so the student must see how it is called; "
                "leave its first line and docstring outside the solution and put only the body inside"
            )
    function = _function_around(tree, block)
    if function is not None:
        if any(isinstance(n, ast.Return) and n.value is not None for s in statements for n in _same_scope(s)):
            return ["return ..."]
        used = _names_read(ast.Module(body=function.body, type_ignores=[]), [block])
    assigned = list(dict.fromkeys(name for node in statements for name in _assigned(node)))
    wanted = [name for name in assigned if name in used]
    if not wanted and function is None:
        wanted = assigned[-1:]
    return [f"{name} = ..." for name in wanted] or ["..."]


def _outermost(node, block):
    """The statements that lie in a block as a whole, without those nested in one of them."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt) and child.lineno in block and child.end_lineno in block:
            yield child
        else:
            yield from _outermost(child, block)


def _function_around(tree, block):
    """The innermost function whose body holds the whole block, None at the level of the cell."""
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and node.lineno < block.first
        # A function ends with its last statement: the marker below it is a comment and does not count.
        and (node.end_lineno >= block.last or any(True for _ in _outermost(node, block)))
    ]
    return max(around, key=lambda node: node.lineno, default=None)


def _same_scope(statement):
    """A statement and what is in it, without functions, classes and lambdas: their ``return`` is their own."""
    if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
        yield statement
        for child in ast.iter_child_nodes(statement):
            yield from _same_scope(child)


def _assigned(statement):
    """Names a statement assigns, in order; the running variable of a loop is not a result."""
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
        targets = [statement.target]
    elif isinstance(statement, (ast.If, ast.For, ast.While, ast.With, ast.Try)):
        for field in ("body", "orelse", "finalbody"):
            for child in getattr(statement, field, []):
                yield from _assigned(child)
        return
    else:
        return
    for target in targets:
        for node in ast.walk(target):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def main(arguments=None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("lessons", nargs="*", help="lesson numbers or solution files (default: all)")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 if an exercise would change"
    )
    parser.add_argument(
        "--mark", action="store_true", help="add missing nbgrader metadata to the solutions first"
    )
    parser.add_argument(
        "--nbgrader", type=Path, metavar="DIR", help="write a course for nbgrader there, and no exercises"
    )
    parser.add_argument("--root", type=Path, default=ROOT, help="the project's folder (default: this one)")
    options = parser.parse_args(arguments)
    solutions = sorted((options.root / SOLUTIONS).glob("*.ipynb"))
    failed = False
    if options.lessons:
        wanted = {Path(lesson).name for lesson in options.lessons}
        chosen = [path for path in solutions if path.name in wanted or path.name.split("_")[0] in wanted]
        for lesson in sorted(
            wanted - {path.name for path in chosen} - {p.name.split("_")[0] for p in chosen}
        ):
            print(f"{lesson}: no such lesson in {options.root / SOLUTIONS}", file=sys.stderr)
            failed = True
    else:
        chosen = solutions
        for path in sorted((options.root / EXERCISES).glob("*.ipynb")):
            if not (options.root / SOLUTIONS / path.name).exists():
                print(f"{path}: has no solution of the same name; delete it", file=sys.stderr)
                failed = True
        if not solutions:
            print(f"No notebooks in {options.root / SOLUTIONS}.")
    if options.nbgrader and not failed:
        try:
            for path in make_course(chosen, options.nbgrader):
                print(path)
        except ExerciseError as error:
            print(error, file=sys.stderr)
            failed = True
        return int(failed)
    for path in chosen:
        try:
            if options.mark and not options.check:
                saved = read(path)
                save(mark(saved), path)
            found = build(path, options.root / EXERCISES / path.name, check=options.check)
        except (ExerciseError, NotebookError) as error:
            print(error, file=sys.stderr)
            failed = True
            continue
        target = f"{EXERCISES}/{path.name}"
        if options.check and found:
            failed = True
            print(f"{target}: not what {SOLUTIONS}/{path.name} gives; run tools/build_exercises.py")
            print("\n".join(f"  {line}" for line in found))
        else:
            print(f"{target}: {'as it should be' if options.check or not found else 'made'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
