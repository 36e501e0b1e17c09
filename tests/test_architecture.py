"""What holds the house together: which package and room may import which, what importing costs, what is never done.

Each rule is a function over a folder of sources, tried on the packages and on a small house that breaks it. Their order stands in
tools/architecture_picture.py.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import tomllib
from pathlib import Path

import pytest
from made import printed_by

from tools.architecture_picture import (
    BELOW,
    HOUSE,
    ROOT,
    import_graph,
    imports,
    module_name,
    parsed,
    room,
    sources,
)

MOST_FILES = 20  # in one folder
HELPER_AT_MOST = (12_000, 60)  # lines and files of Python

SCREEN = {"ipywidgets", "anywidget", "IPython"}
HEAVY = SCREEN | set(
    "torch transformers tokenizers huggingface_hub matplotlib scipy sklearn threadpoolctl pandas".split()
)
# Where widget libraries may be imported: the views themselves, not how they are drawn.
SCREEN_ROOMS = ("bertlook_teach.views", "bertlook_course.widgets", "bertlook_press.pages")
# The only rooms that may name torch or transformers, and none when it is imported.
MODEL_ROOMS = (
    "bertlook_teach.model",
    "bertlook_teach.measures",
    "bertlook_course.analyses",
    "bertlook_course.metrics",
)
LAUNCHERS = ("bertlook_press", "bertlook_bench")  # may use what the "lab" extra brings
# Imported, and part of a dependency's own interface, or the dependency under its other name.
COMES_WITH = {
    "bertviz": "lab: its view says where it is missing",
    "dask": "scale, with distributed",
    "distributed": "scale: the commands say where it is missing",
    "IPython": "ipywidgets",
    "pandas": "lab: to_frame says where it is missing",
    "tornado": "jupyter-server, whose extension answers requests with it",
    "traitlets": "ipywidgets",
    "sklearn": "scikit-learn",
}

DEPENDENCIES = {
    "anywidget", "array-api-compat", "conllu", "huggingface-hub", "ipywidgets", "lazy-loader", "matplotlib", "numpy",
    "scipy", "threadpoolctl", "tokenizers", "tqdm",
}  # fmt: skip
EXTRAS = {
    "torch": {"safetensors", "scikit-learn", "torch", "transformers"},
    "classic": {"nbclassic", "notebook", "rise"},
    "slides": {
        "ipykernel", "ipywidgets", "jupyter-client", "jupyter-server", "jupyterlab", "jupyterlab-rise", "nbclient", "nbconvert", "nbformat",
        "packaging", "psutil",
    },
    "lab": {"bertlook_teach", "bertviz", "pandas", "python-dateutil"},  # with the extras classic, slides and torch
    "docs": {"pdoc"},
    "scale": {"dask"},
    "test": {"dask", "jedi", "nbclient", "nbformat", "nbval", "playwright", "pytest", "pytest-xdist", "ruff"},
}  # fmt: skip

UNSAFE_MODULES = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
# A namespace is a name, not an address: nothing is fetched from it.
HARMLESS_URLS = ("http://www.w3.org/", "https://www.w3.org/", "http://www.sitemaps.org/")


# ---- reading sources ------------------------------------------------------------------------------------------


def url_texts(path, text):
    """The parts of a source that could be fetched from: string literals of Python, all but comments elsewhere."""
    if path.suffix == ".py":
        tree = parsed(text)
        docs = {
            node.body[0].value
            for node in ast.walk(tree)
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docs:
                yield node.lineno, node.value
        return
    # Keep the line count. `//` begins a comment unless a colon or a quotation mark stands before it: an address.
    text = re.sub(r"(?s)/\*.*?\*/", lambda comment: "\n" * comment.group().count("\n"), text)
    for number, line in enumerate(text.splitlines(), start=1):
        yield number, re.sub(r"(?<![:\"'`])//.*$", "", line) if path.suffix == ".js" else line


# ---- rules ----------------------------------------------------------------------------------------------------


def unlisted_rooms(root) -> list[str]:
    """Folders and modules that `HOUSE` does not name, and folders that hold too much to be a room."""
    found, files = [], {}
    for relative, _ in sources(root, ".py"):
        files.setdefault(relative.parent, []).append(relative)
        module, package = module_name(relative), relative.parts[0]
        door = module in (package, f"{package}.analyses")
        if HOUSE[package] and room(module) == package and not door:
            found.append(
                f"{relative}: there is no such room; the rooms stand in tools/architecture_picture.py"
            )
    for folder, inside in files.items():
        if len(inside) > MOST_FILES:
            found.append(f"{folder}: {len(inside)} files, at most {MOST_FILES}")
    return found


def wrong_way_imports(root) -> list[str]:
    """Imports of a package or a room that stands above, and those past a room's door into one of its files."""
    found = []
    for relative, text in sources(root, ".py"):
        module, package = module_name(relative), relative.parts[0]
        here, rooms = room(module), [f"{package}.{name}" for name in HOUSE[package]]
        for line, target, _ in imports(relative, text):
            there, other = room(target), target.split(".")[0]
            if other not in HOUSE or there == here or target.endswith(".__version__"):
                continue
            where = f"{relative}:{line}: {module} imports {target}"
            if other != package and other not in BELOW[package]:
                found.append(f"{where}; {package} stands without {other}")
            if other == package and rooms.index(there) > rooms.index(here):
                found.append(f"{where}, which stands above it")
            inside = target.removeprefix(there).count(".")
            if target.rpartition(".")[2].startswith("_"):
                found.append(f"{where}, which is private")
            elif inside > 1 and not re.search(r"\.lesson\d\d(\.\w+)?$", target):
                # loaded by name, one a lesson
                found.append(f"{where} past the door; import from {there}")
    return found


def circles(graph) -> list[list[str]]:
    """Groups of nodes each of which is reached from each other one."""

    def reached(start):
        seen, waiting = set(), [start]
        while waiting:
            for node in graph.get(waiting.pop(), ()):
                if node not in seen:
                    seen.add(node)
                    waiting.append(node)
        return seen

    far = {node: reached(node) for node in graph}
    groups = {
        tuple(sorted(n for n in far[node] if node in far.get(n, ()))) for node in graph if node in far[node]
    }
    return [list(group) for group in sorted(groups)]


def hidden_names(root) -> list[str]:
    """Names that a door hands on twice, or that a file of the room has too: which of both came out would depend on the order."""
    found = []
    for relative, text in sources(root, ".pyi"):
        inside = {path.stem for path in (root / relative).parent.iterdir()}
        handed = [name.rpartition(".") for _, name, _ in imports(relative, text)]
        names = [name for _, _, name in handed]
        found += [
            f"{relative}: {name} is also a file"
            for home, _, name in handed
            if name in inside and home != module_name(relative)
        ]
        found += [f"{relative}: {name} comes twice" for name in sorted(set(names)) if names.count(name) > 1]
    return found


def shows(module: str) -> bool:
    """Whether a module may import widgets: the views themselves, not how they are drawn."""
    return room(module) in SCREEN_ROOMS and ".drawing" not in module


def misplaced_libraries(root) -> list[str]:
    """Widget libraries outside the views, model libraries outside the model's rooms, or loaded too early."""
    found = []
    for relative, text in sources(root, ".py"):
        module = module_name(relative)
        for line, name, on_import in imports(relative, text):
            library = name.split(".")[0]
            if library in SCREEN - {"IPython"} and not shows(module):
                found.append(f"{relative}:{line}: only views import {library}")
            if library == "IPython" and not shows(module) and on_import:
                found.append(f"{relative}:{line}: IPython is loaded on import; import it in the function")
            if library in ("torch", "transformers") and not module.startswith(MODEL_ROOMS):
                found.append(f"{relative}:{line}: {module} imports {library}; take arrays in")
            if library in HEAVY - SCREEN and on_import:
                found.append(f"{relative}:{line}: {library} is loaded on import; import it in the function")
    return found


def undeclared_libraries(root, declared, lab) -> list[str]:
    """Third-party libraries that pyproject.toml does not name."""
    known = {name.replace("-", "_") for name in declared} | {*COMES_WITH, *HOUSE, *sys.stdlib_module_names}
    launched = known | {name.replace("-", "_") for name in lab}
    return [
        f"{relative}:{line}: {name.split('.')[0]} is not a dependency"
        for relative, text in sources(root, ".py")
        for line, name, _ in imports(relative, text)
        if name.split(".")[0] not in (launched if relative.parts[0] in LAUNCHERS else known)
    ]


def unsafe_code(root) -> list[str]:
    """Ways to run what was only meant to be read: pickle, eval, code from a hub, a shell."""
    found = []
    for relative, text in sources(root, ".py"):
        for line, name, _ in imports(relative, text):
            if name.split(".")[0] in UNSAFE_MODULES:
                found.append(f"{relative}:{line}: imports {name.split('.')[0]}")
        for node in ast.walk(parsed(text)):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            given = {keyword.arg: keyword.value for keyword in node.keywords}

            def is_on(key, given=given):
                return key in given and not (
                    isinstance(given[key], ast.Constant) and given[key].value is False
                )

            if called in ("eval", "exec", "__import__", "os.system", "os.popen", "torch.load", "yaml.load"):
                found.append(f"{relative}:{node.lineno}: calls {called}")
            for key in ("trust_remote_code", "allow_pickle", "shell"):
                if is_on(key):
                    found.append(f"{relative}:{node.lineno}: passes {key}")
    for relative, text in sources(root, ".js"):
        for line, code in url_texts(relative, text):
            for pattern in (r"\beval\s*\(", r"\bnew\s+Function\b", r"\bdocument\.write\b"):
                if re.search(pattern, code):
                    found.append(f"{relative}:{line}: {code.strip()[:60]}")
    return found


def foreign_addresses(root) -> list[str]:
    """Addresses that a page or a program could fetch from; documentation and comments may name what they like."""
    found = []
    for relative, text in sources(root, ".py", ".js", ".css", ".html", ".json"):
        for line, code in url_texts(relative, text):
            for address in re.findall(r"(?:https?:)?//[\w-]+(?:\.[\w-]+)+[^\s\"'`)<>]*", code):
                if not address.startswith(HARMLESS_URLS):
                    found.append(f"{relative}:{line}: {address}")
    return found


def declared_dependencies():
    """({runtime names}, {extra: {names}}) of pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    def names(requirements):
        return {
            re.split(r"[\s<>=!~;\[@]", requirement, maxsplit=1)[0].lower() for requirement in requirements
        }

    return names(project["dependencies"]), {k: names(v) for k, v in project["optional-dependencies"].items()}


def in_fresh_process(code) -> list:
    """What a few lines print as JSON in a new Python that has loaded nothing of ours."""
    return json.loads(printed_by(code, cwd=ROOT))


# ---- the packages ---------------------------------------------------------------------------------------------


def test_every_folder_is_a_room():
    assert unlisted_rooms(ROOT) == []


def test_the_helper_can_be_read_in_a_day():
    texts = [text for path, text in sources(ROOT, ".py") if path.parts[0] == "bertlook_teach"]
    lines, files = HELPER_AT_MOST
    found = sum(text.count("\n") for text in texts)
    assert found <= lines and len(texts) <= files, (
        f"bertlook_teach has {found} lines of Python in {len(texts)} files, at most {lines} in {files}: move what one lesson alone needs "
        "into bertlook_course"
    )


def test_imports_go_one_way():
    assert wrong_way_imports(ROOT) == []


def test_there_is_no_circle_of_modules():
    assert circles(import_graph(ROOT)) == []


def test_a_room_hands_on_one_thing_under_one_name():
    assert hidden_names(ROOT) == []


def test_each_library_has_its_place():
    assert misplaced_libraries(ROOT) == []


def test_torch_is_imported_in_one_place_which_says_how_to_install_it():
    found = [
        f"{relative}: {around}"
        for relative, text in sources(ROOT, ".py")
        for around in re.findall(r"(?m)^(?!if TYPE_CHECKING).*\n\n? +import torch$", text)
    ]
    assert found == ["bertlook_teach/model/folders.py:     try:\n        import torch"]


def test_every_library_is_declared():
    runtime, extras = declared_dependencies()
    assert undeclared_libraries(ROOT, runtime | extras["torch"], extras["slides"] | extras["lab"]) == []


def test_nothing_can_run_what_was_only_to_be_read():
    assert unsafe_code(ROOT) == []


def test_no_source_names_an_address_to_fetch_from():
    assert foreign_addresses(ROOT) == []


def test_a_new_dependency_is_a_decision():
    """To add one: say why in docs/decisions.md, pin it in constraints.txt, then name it here."""
    assert declared_dependencies() == (DEPENDENCIES, EXTRAS)


def test_every_dependency_is_pinned_to_a_version_known_to_work():
    pinned = set(
        re.findall(r"(?m)^([\w.-]+)==", (ROOT / "constraints.txt").read_text(encoding="utf-8").lower())
    )
    runtime, extras = declared_dependencies()
    wanted = runtime.union(*extras.values()) - {"bertlook_teach"}
    assert {name.replace("_", "-") for name in wanted} <= {name.replace("_", "-") for name in pinned}


LIGHT = [
    module
    for path, _ in sources(ROOT, ".py")
    for module in [module_name(path)]
    if not shows(module) and not module.endswith("__main__")
]


def test_importing_anything_but_views_loads_no_heavy_library():
    assert {
        "bertlook_teach.measures.surface",
        "bertlook_teach.views.drawing.attention",
        "bertlook_bench.line",
    } <= set(LIGHT)
    loaded = in_fresh_process(
        f"import importlib, json, sys\nheavy, found = set({sorted(HEAVY)!r}), []\n"
        f"for name in {LIGHT!r}:\n"
        "    importlib.import_module(name)\n"
        "    found += [[name, library] for library in sorted(heavy & set(sys.modules))]\n"
        "    heavy -= set(sys.modules)\n"
        "print(json.dumps(found))"
    )
    assert loaded == []


def test_the_helper_needs_numpy_and_what_draws_its_views():
    """All of it is imported, in a new process: no torch, no server, nothing of the packages above."""
    names = [module_name(path) for path, _ in sources(ROOT, ".py") if path.parts[0] == "bertlook_teach"]
    loaded = in_fresh_process(
        f"import importlib, json, sys\nfor name in {names!r}:\n    importlib.import_module(name)\n"
        "print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    )
    assert {"numpy", "anywidget", "bertlook_teach"} <= set(loaded)
    servers = {"jupyter_server", "jupyterlab", "notebook", "nbformat", "nbconvert"}
    assert not {*HEAVY - SCREEN, *servers, *HOUSE} & set(loaded) - {"bertlook_teach"}


@pytest.mark.parametrize("package", HOUSE)
def test_importing_a_package_loads_next_to_nothing(package):
    """Counted in modules, not in seconds: a clock depends on the machine."""
    new = in_fresh_process(
        f"import json, sys\nimport lazy_loader\nbefore = set(sys.modules)\nimport {package}\nprint(json.dumps(sorted(set(sys.modules) - before)))"
    )
    assert [name for name in new if name.startswith("bertlook_")] == [package]
    assert len(new) < 10  # ast, to read the stub


# ---- a small house that breaks each rule ----------------------------------------------------------------------


def house(root, files) -> Path:
    """Write sources from {file: text} and give the folder of the packages."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


UP = "bertlook_teach/measures/surface.py"


def undeclared(root) -> list[str]:
    return undeclared_libraries(root, DEPENDENCIES, EXTRAS["slides"])


BROKEN = [
    (wrong_way_imports, "bertlook_teach/model/words.py", "from ..measures import x", "bertlook_teach.measures.x, which stands above it"),
    (wrong_way_imports, UP, "def f():\n    from bertlook_course.render import x", "surface.py:2: bertlook_teach.measures.surface imports"),
    (wrong_way_imports, "bertlook_press/pages/a.py", "from bertlook_bench.line import main", "bertlook_press stands without bertlook_bench"),
    (wrong_way_imports, "bertlook_bench/a.py", "import_module('bertlook_press.pages')", "bertlook_bench stands without bertlook_press"),
    (wrong_way_imports, "bertlook_course/analyses/syntax/a.py", "from ..probing import x", "probing.x, which stands above it"),
    (wrong_way_imports, UP, "from ..model.words import word_groups", "past the door; import from bertlook_teach.model"),
    (wrong_way_imports, "bertlook_course/render/a.py", "from bertlook_teach.views.drawing.svg import frame", "past the door"),
    (wrong_way_imports, UP, "from ..model import _pieces", "which is private"),
    (wrong_way_imports, UP, "from .. import __version__\nfrom ..model import x\nfrom .norms import y", None),
    (wrong_way_imports, "bertlook_press/classroom/a.py", "from bertlook_course.checks import lesson01\nfrom bertlook_teach import views", None),
    (misplaced_libraries, UP, "def f():\n    from anywidget import x", "only views import anywidget"),
    (misplaced_libraries, "bertlook_teach/views/drawing/a.py", "import ipywidgets", "only views import ipywidgets"),
    (misplaced_libraries, "bertlook_course/checks/a.py", "from IPython.display import HTML", "IPython is loaded on import"),
    (misplaced_libraries, "bertlook_course/render/a.py", "def f():\n    import torch", "a imports torch"),
    (misplaced_libraries, "bertlook_teach/model/a.py", "import torch", "torch is loaded on import"),
    (misplaced_libraries, "bertlook_course/render/a.py", "try:\n    import scipy\nexcept ImportError:\n    pass", "scipy is loaded on import"),
    (misplaced_libraries, "bertlook_teach/views/a.py", "import ipywidgets, anywidget, IPython", None),
    (misplaced_libraries, "bertlook_teach/model/a.py", "def f():\n    import torch", None),
    (undeclared, UP, "import polars.series", "surface.py:1: polars is not a dependency"),
    (undeclared, UP, "def f():\n    from jupyterlab import x", "jupyterlab is not a dependency"),
    (undeclared, "bertlook_press/a.py", "def f():\n    from jupyterlab import x", None),
    (undeclared, UP, "import math, numpy, array_api_compat\nfrom . import words", None),
    (foreign_addresses, "bertlook_teach/a.js", "/* two\nlines */ x = '//cdn.example.org/x.js'", "a.js:2: //cdn.example.org/x.js"),
    (foreign_addresses, "bertlook_teach/a.js", "load('http://cdn.example.org')  // why", "http://cdn.example.org"),
    (foreign_addresses, "bertlook_teach/a.js", "// see https://example.org\nn = 'http://www.w3.org/2000/svg'", None),
    (foreign_addresses, "bertlook_teach/a.css", "@import url(//fonts.example.org/css);", "//fonts.example.org/css"),
    (foreign_addresses, "bertlook_teach/a.py", "x = f'<script src=\"https://cdn.example.org/{v}\">'", "https://cdn.example.org/"),
    (foreign_addresses, "bertlook_teach/a.py", '"""See https://example.org."""\n# https://example.org\nx = f"http://{host}:1"', None),
]  # fmt: skip


@pytest.mark.parametrize("rule, file, text, message", BROKEN)
def test_what_breaks_a_rule_is_found_and_what_keeps_it_is_not(tmp_path, rule, file, text, message):
    expect(rule(house(tmp_path, {file: text})), message)


def test_an_unlisted_room_and_a_crowded_one_are_found(tmp_path):
    files = {
        "bertlook_teach/odds/ends.py": "",
        "bertlook_course/analyses/odds/a.py": "",
        "bertlook_teach/a.py": "",
    }
    files |= {f"bertlook_teach/measures/m{n}.py": "" for n in range(MOST_FILES + 1)}
    found = unlisted_rooms(house(tmp_path, files))
    assert len(found) == 4 and "21 files, at most 20" in found[-1]


def test_a_circle_is_found_through_doors_and_by_name(tmp_path):
    room_ = "bertlook_course/claims"
    files = {
        f"{room_}/__init__.pyi": "from .b import x as x",
        f"{room_}/b.py": "def f(n):\n    return import_module(f'.lessons.lesson{n}', __package__)",
        f"{room_}/lessons/lesson01.py": "from .. import x",
        f"{room_}/lessons/lesson02.py": "",
    }
    assert circles(import_graph(house(tmp_path, files))) == [
        ["bertlook_course.claims.b", "bertlook_course.claims.lessons.lesson01"]
    ]


def test_a_name_for_two_things_is_found(tmp_path):
    stub = "from .a import a as a\nfrom .b import x as x\nfrom .c import x as x\nfrom . import d as d"
    files = {f"bertlook_teach/disk/{name}.py": "" for name in "ad"} | {
        "bertlook_teach/disk/__init__.pyi": stub
    }
    found = hidden_names(house(tmp_path, files))
    assert [one.partition(": ")[2] for one in found] == ["a is also a file", "x comes twice"]


@pytest.mark.parametrize(
    "file, text, message",
    [
        ("a.py", "import pickle", "a.py:1: imports pickle"),
        ("a.py", "eval('1')", "calls eval"),
        ("a.py", "np.load(path, allow_pickle=True)", "passes allow_pickle"),
        ("a.py", "f(x, trust_remote_code=option)", "passes trust_remote_code"),
        ("a.py", "model.eval()\nnp.load(path, allow_pickle=False)\nf(trust_remote_code=False)\n'eval(1)'", None),
        ("a.js", "\nx = new Function('1')", "a.js:2"),
        ("a.js", "// no eval( here\n/* nor\n eval(1) */\nretrieval(1)", None),
    ],
)  # fmt: skip
def test_unsafe_code_is_found(tmp_path, file, text, message):
    expect(unsafe_code(house(tmp_path, {f"bertlook_teach/{file}": text})), message)


def expect(found, message):
    assert found == [] if message is None else any(message in problem for problem in found), found
