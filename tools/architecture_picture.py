"""Draw docs/images/architecture.svg, the rooms of the package on their staircase, from the imports that are really there.

    python tools/architecture_picture.py            draw it anew
    python tools/architecture_picture.py --check    write nothing, exit 1 if it is not what would be drawn

The order of the rooms stands in tests/test_architecture.py, which reads imports with the functions below.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Sequence
from functools import cache
from html import escape
from pathlib import Path
from textwrap import wrap

ROOT = Path(__file__).resolve().parent.parent
NAME = "bertlook_teach"
PACKAGE = ROOT / NAME
PICTURE = ROOT / "docs" / "images" / "architecture.svg"

SAYS = {
    "disk": "files, tables, kept results",
    "published": "numbers that papers printed",
    "course": "lessons, decks, sources",
    "stats": "intervals, fair choices, tests",
    "corpora": "texts, treebanks, tasks",
    "analyses": "questions asked of many sentences",
    "claims": "what papers claim, put to the test",
    "checks": "feedback for exercises",
    "commands": "what bertlook runs",
}
WALK = {  # from text to slide: the numbered calls, in the rooms that answer them
    "model": ['load_encoder("specimen")', "extract_attention(encoder, text)"],
    "measures": ["offset_attention(attention, +1)"],
    "render": ["format_strongest_heads(to_next)"],
    "widgets": ["HeadMap(to_next)"],
    "classroom": ["slides_of(deck)"],
}

# Sizes in pixels; letters of 24 are read from the last row.
WIDTH, TOP, LEFT = 1280, 150, 24
PITCH, ROW, BOX_WIDTH, BOX_HEIGHT, LETTER = 64, 58, 150, 42, 24
MOST_LETTERS = 84  # in one line
INK, LINE, QUIET, WARM, PALE = "#1b1f24", "#0072B2", "#8b949e", "#E69F00", "#e3eff7"


# ---- reading imports ------------------------------------------------------------------------------------------


parsed = cache(ast.parse)  # each rule asks again, and no one changes a tree


def sources(package, *endings):
    """(path relative to the package, text) of its source files."""
    for path in sorted(package.rglob("*")):
        if path.suffix in endings and "__pycache__" not in path.parts:
            yield path.relative_to(package), path.read_text(encoding="utf-8")


def module_name(relative) -> str:
    """``render/figures.py`` -> ``render.figures``; the package itself is the empty name."""
    return ".".join(part for part in relative.with_suffix("").parts if part != "__init__")


@cache  # each rule asks again
def imports(relative, text):
    """(line, full dotted name, whether it runs on import) of each import; relative ones are resolved."""
    return tuple(_imports(relative, parsed(text)))


def _imports(relative, tree):
    late = {
        child
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or is_type_checking(node)
        for child in ast.walk(node)
    }
    here = [NAME, *relative.parts[:-1]]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, node not in late
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(here[: len(here) + 1 - node.level]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            for alias in node.names:  # `from . import surface` imports a module, `from .x import f` a name
                yield node.lineno, f"{module}.{alias.name}", node not in late
        elif isinstance(node, ast.Call) and called(node) == "import_module" and node.args:
            named = beginning(node.args[0])
            if named.startswith("."):  # by name, from a package: this one, as far as one can see
                yield node.lineno, ".".join([*here, named[1:]]), node not in late
            elif named:
                yield node.lineno, named, node not in late


def called(node: ast.Call) -> str:
    """The last name of what is called: ``import_module`` of ``importlib.import_module(...)``."""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def beginning(node) -> str:
    """What a string that is made at run time begins with: ``".lessons.lesson"`` of ``f".lessons.lesson{number}"``."""
    if isinstance(node, ast.JoinedStr) and node.values:
        node = node.values[0]
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def is_type_checking(node) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def room(module) -> str:
    """The room of a module, given without the package's name: ``analyses.syntax`` for ``analyses.syntax.gold``."""
    parts = module.split(".")
    return ".".join(parts[:2] if parts[0] == "analyses" else parts[:1])


def import_graph(package) -> dict[str, set[str]]:
    """Module -> modules that it imports, at once or late; a name that a room hands on counts as the file it comes from."""
    modules = {module_name(relative) for relative, _ in sources(package, ".py")}
    homes = {}
    for relative, text in sources(package, ".py"):
        if relative.name != "__init__.py":
            continue
        for node in parsed(text).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_HOMES":
                for file, names in ast.literal_eval(node.value).items():
                    own = module_name(relative)
                    homes |= {
                        f"{own}.{name}".lstrip("."): f"{own}.{file}".lstrip(".") for name in names.split()
                    }
    numbered: dict[str, set[str]] = {}
    for module in modules:
        if re.search(r"\D\d\d$", module):
            numbered.setdefault(module[:-2], set()).add(module)
    graph = {module: set() for module in modules}
    for relative, text in sources(package, ".py"):
        module = module_name(relative)
        for _, name, _ in imports(relative, text):
            target = name.removeprefix(f"{NAME}.")
            while target in homes:
                target = (
                    homes[target] if homes[target] in modules else f"{homes[target]}.{target.split('.')[-1]}"
                )
            begun = numbered.get(target, set())  # by name, one a lesson
            while target and target not in modules and not begun:
                target = target.rpartition(".")[0]
            graph[module] |= (begun or {target}) - {"", module}
    return graph


def rooms_of(graph, level=room) -> dict[str, set[str]]:
    """Room -> rooms that it imports, the package itself left out; ``level`` gives the room of a module."""
    found: dict[str, set[str]] = {}
    for module, targets in graph.items():
        if module:
            own = found.setdefault(level(module), set())
            own |= {level(target) for target in targets if target and level(target) != level(module)}
    return found


def staircase() -> tuple[str, ...]:
    """The rooms from the ground up, as they stand in tests/test_architecture.py."""
    tests = ast.parse((ROOT / "tests" / "test_architecture.py").read_text(encoding="utf-8"))
    for node in tests.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "STAIRCASE":
            return ast.literal_eval(node.value)
    raise ValueError("tests/test_architecture.py has no STAIRCASE: the order in which the rooms stand.")


# ---- drawing --------------------------------------------------------------------------------------------------


def draw(graph: dict[str, set[str]], rooms: Sequence[str]) -> str:
    """The staircase as SVG: a box a room, the ground at the bottom left, and an arrow an import.

    An arrow leaves its room to the left, turns at a dot and ends at the room that is imported; lines that cross
    without a dot have nothing to do with each other.

    Parameters
    ----------
    graph : dict of module -> modules that it imports
    rooms : sequence of str
        From the ground up.

    Returns
    -------
    str
    """
    arrows = rooms_of(graph, lambda module: module.split(".")[0])
    bottom = TOP + ROW * len(rooms)
    left = {name: LEFT + PITCH * i for i, name in enumerate(rooms)}
    middle = {name: bottom - ROW * i - ROW // 2 for i, name in enumerate(rooms)}
    n_arrows = sum(len(targets) for targets in arrows.values())
    title = f"The {len(rooms)} rooms of {NAME} and their {n_arrows} imports, all downwards"
    parts = [
        _text(LEFT, 44, "Text in, slide out", weight="bold", size=32),
        _text(
            LEFT,
            84,
            f"Follow the numbers. A dot: the room of this row imports the room below ({n_arrows} imports, all",
        ),
        _text(
            LEFT,
            116,
            "of them downwards). Lines that cross without a dot have nothing to do with each other.",
        ),
    ]
    parts += _stair(left, middle, rooms)
    for name in rooms:
        parts += _arrows(name, sorted(arrows.get(name, ()), key=rooms.index), left, middle)
    number = 0
    for name in rooms:
        on_the_way = name in WALK
        x, y = left[name], middle[name]
        parts.append(
            f'<rect x="{x}" y="{y - BOX_HEIGHT // 2}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6" '
            f'fill="{PALE if on_the_way else "#fff"}" stroke="{LINE if on_the_way else INK}" stroke-width="{3 if on_the_way else 1.5}"/>'
        )
        weight = "bold" if on_the_way else "normal"
        parts.append(_text(x + BOX_WIDTH // 2, y + 8, name, anchor="middle", weight=weight))
        beside = x + BOX_WIDTH + 14
        if not on_the_way:
            parts.append(_text(beside, y + 8, SAYS.get(name, "")))
        for call in WALK.get(name, ()):
            number += 1
            parts.append(f'<circle cx="{beside + 15}" cy="{y}" r="15" fill="{INK}"/>')
            parts.append(_text(beside + 15, y + 8, str(number), anchor="middle", weight="bold", fill="#fff"))
            parts.append(_text(beside + 38, y + 8, call, family="monospace", size=LETTER))
            beside += 38 + int(14.6 * len(call)) + 20
    topics = rooms_of(
        {module: targets for module, targets in graph.items() if module.startswith("analyses.")}
    )
    between = [
        f"{name.split('.')[1]} imports {' and '.join(sorted(t.split('.')[1] for t in targets if '.' in t))}"
        for name, targets in sorted(topics.items())
        if any("." in target for target in targets)
    ]
    lines = wrap(f"Among the analyses: {'; '.join(between)}.", MOST_LETTERS)
    parts += [_text(LEFT, bottom + 84 + 32 * i, line) for i, line in enumerate(lines)]
    height = bottom + 84 + 32 * len(lines)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" '
        f'aria-label="{escape(title)}">\n<title>{escape(title)}</title>\n<rect width="{WIDTH}" height="{height}" fill="#fff"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _stair(left, middle, rooms) -> list[str]:
    """The way of a text, behind the boxes: from the ground to the top."""
    first, last = rooms[0], rooms[-1]
    half = BOX_WIDTH // 2
    x0, y0 = left[first] + half - PITCH // 2, middle[first] + ROW // 2 + 14
    x1, y1 = left[last] + half + PITCH // 2, middle[last] - ROW // 2 - 4
    return [
        f'<line x1="{x0}" y1="{y0}" x2="{x1}" y2="{y1}" stroke="{WARM}" stroke-width="12"/>',
        f'<path d="M{x1 + 16} {y1 - 14} l-28 4 l18 20 z" fill="{WARM}"/>',
        _text(x0 + 22, y0 + 20, "text", weight="bold"),
        _text(x1 + 28, y1 + 2, "slide", weight="bold"),
    ]


def _arrows(name, targets, left, middle) -> list[str]:
    """The imports of one room: one line to the left, a dot above each target, and a line down to it."""
    if not targets:
        return []
    parts = [_line(left[targets[0]] + 22, middle[name], left[name], middle[name])]
    for target in targets:
        x, end = left[target] + 22, middle[target] - BOX_HEIGHT // 2
        parts += [
            _line(x, middle[name], x, end - 8),
            f'<path d="M{x} {end} l-5 -10 h10 z" fill="{QUIET}"/>',
            f'<circle cx="{x}" cy="{middle[name]}" r="6" fill="{INK}"/>',
        ]
    return parts


def _line(x1, y1, x2, y2) -> str:
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{QUIET}" stroke-width="1.5"/>'


def _text(
    x,
    y,
    words,
    *,
    anchor="start",
    weight="normal",
    size=LETTER,
    fill=INK,
    family="Arial, Helvetica, sans-serif",
) -> str:
    return (
        f'<text x="{x}" y="{y}" font-family="{family}" font-size="{size}" font-weight="{weight}" '
        f'text-anchor="{anchor}" fill="{fill}">{escape(words, quote=False)}</text>'
    )


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Draw docs/images/architecture.svg from the imports of the package."
    )
    parser.add_argument("--check", action="store_true", help="write nothing, only compare")
    args = parser.parse_args(argv)
    picture = draw(import_graph(PACKAGE), staircase())
    if PICTURE.exists() and PICTURE.read_text(encoding="utf-8") == picture:
        return 0
    if args.check:
        print(f"{PICTURE.name} does not show today's imports. Run: python tools/architecture_picture.py")
        return 1
    PICTURE.write_text(picture, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
