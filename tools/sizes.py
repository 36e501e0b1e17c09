"""Print how large the repository is: lines and files by part, names that a notebook reader meets, and what is longest.

    python tools/sizes.py

A package is every folder ``bertlook_*`` of the root. Lines are counted as they stand in the files, blank ones and comments included.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HELPER = "bertlook_teach"
WIDEST = 110  # columns of a line of code
LEFT_BEHIND = {"__pycache__", ".ipynb_checkpoints"}


def files(*folders: str, endings: tuple[str, ...] = (".py",)) -> list[Path]:
    """The files of some folders of the root, by ending, however deep they lie; not what Python and Jupyter leave behind."""
    found = (path for folder in folders for path in sorted((ROOT / folder).rglob("*")))
    return [path for path in found if path.suffix in endings and not LEFT_BEHIND & {*path.parts}]


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def lines(paths: list[Path]) -> int:
    return sum(len(text(path).splitlines()) for path in paths)


def functions(path: Path) -> Iterator[tuple[int, str]]:
    """Of each function of a file: its lines without its docstring, and where it stands."""
    for node in ast.walk(ast.parse(text(path))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = node.end_lineno - node.lineno + 1
            if ast.get_docstring(node) is not None:
                length -= node.body[0].end_lineno - node.body[0].lineno + 1
            yield length, f"{path.relative_to(ROOT)}: {node.name}"


def notebooks() -> Iterator[list[list[str]]]:
    """Of each deck, solution and exercise the lines of its code cells, without those that only Jupyter reads."""
    for path in files("slides", "notebooks", endings=(".ipynb",)):
        cells = [cell for cell in json.loads(text(path))["cells"] if cell["cell_type"] == "code"]
        sources = ["".join(cell["source"]).splitlines() for cell in cells]
        yield [[line for line in source if not line.lstrip().startswith(("%", "!"))] for source in sources]


def names_met(cells: list[list[str]], packages: list[str]) -> set[str]:
    """What a notebook takes from the packages: names it imports, and attributes of the modules it imports, as ``module.name``."""
    imported, used = {}, set()  # the name in the notebook -> the name in the package
    for cell in cells:
        try:
            nodes = list(ast.walk(ast.parse("\n".join(cell))))
        except SyntaxError:  # a cell whose only statement was for Jupyter
            continue
        for node in nodes:
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in packages:
                imported |= {alias.asname or alias.name: alias.name for alias in node.names}
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                used.add((node.value.id, node.attr))
    modules = {name for name, _ in used if imported.get(name, "").islower()}
    through = {(imported[module], name) for module, name in used if module in modules}
    return {name for here, name in imported.items() if here not in modules} | {
        f"{module}.{name}" for module, name in through
    }


def of_one_lesson(name: str) -> bool:
    """Whether a name is of a file that serves one lesson alone: the checks of its exercises, its deck's pictures."""
    return name.startswith(("lesson", "guest."))


def rows() -> list[tuple[str, str, str]]:
    """What is counted, how large it is, and where the largest stands."""
    packages = [path.name for path in sorted(ROOT.glob("bertlook_*")) if path.is_dir()]
    helper, python = files(HELPER), files(*packages)
    longest_file = max(python, key=lambda path: len(text(path).splitlines()))
    longest_function, where = max(found for path in python for found in functions(path))
    cells = list(notebooks())
    names = set().union(*(names_met(each, packages) for each in cells))
    own = {name for name in names if of_one_lesson(name)}
    wide = sum(len(line) > WIDEST for each in cells for cell in each for line in cell)
    return [
        (f"helper ({HELPER}), lines of Python", f"{lines(helper):,}", ""),
        (f"helper ({HELPER}), files of Python", f"{len(helper):,}", ""),
        ("all packages, lines of Python", f"{lines(python):,}", " ".join(packages)),
        ("JavaScript and CSS, lines", f"{lines(files(*packages, endings=('.js', '.css'))):,}", ""),
        ("tests, lines of Python", f"{lines(files('tests')):,}", ""),
        ("tools, benchmarks and training, lines", f"{lines(files('tools', 'benchmarks', 'training')):,}", ""),
        ("names that a notebook reader meets, of all lessons", f"{len(names - own):,}", ""),
        ("... of one lesson alone (checks, its deck)", f"{len(own):,}", ""),
        ("longest file, lines", f"{lines([longest_file]):,}", str(longest_file.relative_to(ROOT))),
        ("longest function without its docstring, lines", f"{longest_function:,}", where),
        (f"code lines of notebooks over {WIDEST} columns", f"{wide:,}", ""),
    ]


if __name__ == "__main__":
    for what, size, where in rows():
        print(f"{what:<49} {size:>7}  {where}".rstrip())
