"""Draw docs/images/architecture.svg, the four packages and their rooms, from the imports that are really there.

    python tools/architecture_picture.py            draw it anew
    python tools/architecture_picture.py --check    write nothing, exit 1 if it is not what would be drawn

`HOUSE` below is the one place for the packages and the order of their rooms. tests/test_architecture.py holds the sources to it, and
reads imports with the functions of this file.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from functools import cache
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "images" / "architecture.svg"

# The packages, and in each its rooms from the ground up: a room imports rooms that stand before it. Topics of analyses/ are rooms of
# their own. The bench is one room.
TOPICS = [
    "syntax",
    "coreference",
    "probing",
    "finetuning",
    "ablation",
    "negation",
    "keywords",
    "patterns",
    "anatomy",
]
HOUSE = {
    "bertlook_teach": ["disk", "model", "stats", "measures", "views"],
    "bertlook_course": [
        "storage", "options", "published", "syllabus", "metrics", "corpora", *(f"analyses.{topic}" for topic in TOPICS), "claims", "render",
        "checks", "widgets", "decks",
    ],
    "bertlook_press": ["bertviz", "pages", "classroom", "commands"],
    "bertlook_bench": [],
}  # fmt: skip
BELOW = {  # the packages that a package may import
    "bertlook_teach": [],
    "bertlook_course": ["bertlook_teach"],
    "bertlook_press": ["bertlook_teach", "bertlook_course"],
    "bertlook_bench": ["bertlook_teach", "bertlook_course"],
}
SAYS = {
    "bertlook_teach": "the helper: what is typed",
    "bertlook_course": "what the lessons ask, and of what",
    "bertlook_press": "what is handed out",
    "bertlook_bench": "one file a command",
}
WALK = {  # from text to slide: the numbered calls, in the rooms that answer them
    "model": ['load_encoder("specimen")', "extract_attention(encoder, text)"],
    "measures": ["offset_attention(attention, +1)"],
    "render": ["format_strongest_heads(to_next)"],
    "views": ["HeadMap(to_next)"],
    "classroom": ["slides_of(deck)"],
}

# Sizes in pixels; letters of 24 are read from the last row.
WIDTH, LETTER, BOX, GAP = 1280, 24, 50, 14
INK, LINE, QUIET, PALE = "#1b1f24", "#0072B2", "#565d66", "#e3eff7"


# ---- reading imports ------------------------------------------------------------------------------------------


parsed = cache(ast.parse)  # each rule asks again, and no one changes a tree


def sources(root: Path, *endings: str):
    """(path relative to the root, text) of the packages' source files."""
    for package in HOUSE:
        for path in sorted((root / package).rglob("*")):
            if path.suffix in endings and "__pycache__" not in path.parts:
                yield path.relative_to(root), path.read_text(encoding="utf-8")


def module_name(relative: Path) -> str:
    """``bertlook_teach/views/links.py`` -> ``bertlook_teach.views.links``"""
    return ".".join(part for part in relative.with_suffix("").parts if part != "__init__")


@cache  # each rule asks again
def imports(relative: Path, text: str) -> tuple[tuple[int, str, bool], ...]:
    """(line, full dotted name, whether it runs on import) of each import; relative ones are resolved."""
    return tuple(_imports(relative, parsed(text)))


def _imports(relative, tree):
    late = {
        child
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or is_type_checking(node)
        for child in ast.walk(node)
    }
    here = relative.parts[:-1]
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


def room(module: str) -> str:
    """The room of a module, with its package: ``bertlook_course.analyses.syntax`` for a file of it; the bench is one room."""
    package, *parts = module.split(".")
    rooms = HOUSE.get(package, ())
    inside = next((name for n in (2, 1) if (name := ".".join(parts[:n])) in rooms), "")
    return f"{package}.{inside}" if inside else package


def import_graph(root: Path) -> dict[str, set[str]]:
    """Module -> modules of the house that it imports, at once or late; a name that a door hands on counts as the file it comes from."""
    found = dict(sources(root, ".py", ".pyi"))
    modules = {module_name(path) for path in found if path.suffix == ".py"}
    homes = {
        f"{door}.{name.rpartition('.')[2]}": name
        for path, text in found.items()
        if path.suffix == ".pyi"
        for door in [module_name(path)]
        for _, name, _ in imports(path, text)
    }
    numbered: dict[str, set[str]] = {}
    for module in modules:
        if re.search(r"\D\d\d$", module):
            numbered.setdefault(module[:-2], set()).add(module)
    graph = {module: set() for module in modules}
    for path, text in found.items():
        if path.suffix != ".py":
            continue
        module = module_name(path)
        for _, target, _ in imports(path, text):
            while target in homes and homes[target] != target:
                target = homes[target]
            begun = numbered.get(target, set())  # by name, one a lesson
            while target and target not in modules and not begun:
                target = target.rpartition(".")[0]
            graph[module] |= (begun or {target}) - {"", module}
    return graph


# ---- drawing --------------------------------------------------------------------------------------------------


def draw(graph: dict[str, set[str]]) -> str:
    """The packages as SVG, the helper at the ground, a box a room, and an arrow where a package imports another.

    Parameters
    ----------
    graph : dict of module -> modules that it imports

    Returns
    -------
    str
    """
    arrows = sorted(
        {
            (module.split(".")[0], target.split(".")[0])
            for module, targets in graph.items()
            for target in targets
        }
    )
    arrows = [(above, below) for above, below in arrows if above != below]
    middle = WIDTH // 2
    places = {  # left, top, width, height
        "bertlook_press": (60, 120, 800, 178),
        "bertlook_bench": (900, 120, 320, 178),
        "bertlook_course": (60, 350, WIDTH - 120, 306),
        "bertlook_teach": (60, 708, WIDTH - 120, 178),
    }
    n_rooms = sum(len(_boxes(package)) for package in HOUSE)
    title = f"Four packages with {n_rooms} rooms, and {len(arrows)} arrows between packages, all of them downwards"
    parts = [
        _text(60, 44, "Text in, slide out", weight="bold", size=32),
        _text(60, 76, "Follow the numbers. An arrow: a package imports another one."),
        _text(60, 106, "A room imports rooms that stand before it in its package, and rooms below."),
    ]
    for above, below in arrows:
        x, top, width, height = places[above]
        end = places[below][1]
        if end - (top + height) < 100:  # neighbours
            at = x + width // 2 if above != "bertlook_course" else middle
        else:  # past the course, at its side
            at = 30 if above == "bertlook_press" else WIDTH - 30
            side = x if at == 30 else x + width
            parts.append(_line(side, top + height // 2, at, top + height // 2))
            top = top - height // 2
            inner = 60 if at == 30 else WIDTH - 60
            y = end + places[below][3] // 2
            parts += [_line(at, top + height, at, y), _line(at, y, inner, y), _head(inner, y, at == 30)]
            continue
        parts += [_line(at, top + height, at, end - 10), _head(at, end)]
    for package, (x, y, width, height) in places.items():
        parts.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="8" fill="#fff" stroke="{INK}" stroke-width="2"/>'
        )
        parts.append(_text(x + 20, y + 40, package, weight="bold", family="monospace"))
        parts.append(
            _text(x + 20, y + 76, SAYS[package], fill=QUIET)
            if package in ("bertlook_bench", "bertlook_press")
            else _text(x + 20 + 15 * len(package) + 20, y + 40, SAYS[package], fill=QUIET)
        )
        left, down = x + 20, y + (98 if package == "bertlook_press" else 66)
        for name in _boxes(package):
            wide = 28 + 14 * len(name)
            if left + wide > x + width - 20:
                left, down = x + 20, down + BOX + 32
            calls = WALK.get(name, ())
            parts.append(
                f'<rect x="{left}" y="{down}" width="{wide}" height="{BOX}" rx="6" fill="{PALE if calls else "#fff"}" '
                f'stroke="{LINE if calls else QUIET}" stroke-width="{3 if calls else 1.5}"/>'
            )
            weight = "bold" if calls else "normal"
            parts.append(_text(left + wide // 2, down + 33, name, anchor="middle", weight=weight))
            for i, call in enumerate(calls):
                number = [c for some in WALK.values() for c in some].index(call) + 1
                cx = left + 18 + 34 * i
                parts.append(f'<circle cx="{cx}" cy="{down + BOX + 4}" r="15" fill="{INK}"/>')
                parts.append(
                    _text(cx, down + BOX + 12, str(number), anchor="middle", weight="bold", fill="#fff")
                )
            left += wide + GAP
        if package == "bertlook_course":
            parts.append(_text(x + 20, y + 250, f"analyses: {', '.join(TOPICS[:5])},"))
            parts.append(_text(x + 20, y + 282, f"{', '.join(TOPICS[5:])}"))
    height = 910
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" '
        f'aria-label="{escape(title)}">\n<title>{escape(title)}</title>\n<rect width="{WIDTH}" height="{height}" fill="#fff"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _boxes(package: str) -> list[str]:
    """The rooms of a package as they are drawn: one box for all analyses."""
    return list(dict.fromkeys(name.split(".")[0] for name in HOUSE[package]))


def _head(x, y, rightwards: bool | None = None) -> str:
    """The head of an arrow: downwards, to the right or to the left."""
    turn = {None: "l-7 -12 h14 z", True: "l-12 -7 v14 z", False: "l12 -7 v14 z"}[rightwards]
    return f'<path d="M{x} {y} {turn}" fill="{INK}"/>'


def _line(x1, y1, x2, y2) -> str:
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{INK}" stroke-width="3"/>'


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
        description="Draw docs/images/architecture.svg from the imports of the packages."
    )
    parser.add_argument("--check", action="store_true", help="write nothing, only compare")
    args = parser.parse_args(argv)
    picture = draw(import_graph(ROOT))
    if PICTURE.exists() and PICTURE.read_text(encoding="utf-8") == picture:
        return 0
    if args.check:
        print(f"{PICTURE.name} does not show today's imports. Run: python tools/architecture_picture.py")
        return 1
    PICTURE.write_text(picture, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
