"""What holds the house together: which module may import which, what importing costs, what is never done.

Each rule is a function over a folder of sources, tried on the package and on a small package that breaks it.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tools.architecture_picture import NAME, ROOT, import_graph, imports, module_name, parsed, room, sources

PACKAGE = ROOT / NAME

# The staircase, from the ground up: a room imports only rooms that stand before it. A folder or module that is not named here
# is an error. The topics of analyses/ are rooms of their own; which of them needs which stands in ANALYSES.
STAIRCASE = (
    "disk",
    "model",
    "published",
    "course",
    "stats",
    "corpora",
    "measures",
    "analyses",
    "claims",
    "render",
    "checks",
    "widgets",
    "classroom",
    "commands",
)
ANALYSES = ("syntax", "coreference", "probing", "finetuning", "ablation", "negation", "keywords", "patterns")
APART = ({"widgets", "checks"}, {"render", "checks"})  # neither needs the other
MOST_FILES = 20  # in one folder

SCREEN = {"ipywidgets", "anywidget", "IPython"}
HEAVY = SCREEN | {
    "torch",
    "transformers",
    "tokenizers",
    "huggingface_hub",
    "matplotlib",
    "scipy",
    "sklearn",
    "threadpoolctl",
    "pandas",
}
MODEL_ROOMS = (
    "model",
    "measures",
    "analyses",
    "stats",
)  # the only ones that may name torch or transformers, and none when it is imported
LAUNCHERS = {"classroom", "commands"}  # may use what the "lab" extra brings
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
    "anywidget", "array-api-compat", "conllu", "huggingface-hub", "ipywidgets", "matplotlib", "numpy",
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
    "test": {"dask", "nbclient", "nbformat", "nbval", "playwright", "pytest", "pytest-xdist", "ruff"},
}  # fmt: skip

UNSAFE_MODULES = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
# A namespace is a name, not an address: nothing is fetched from it.
HARMLESS_URLS = ("http://www.w3.org/", "https://www.w3.org/", "http://www.sitemaps.org/")


# ---- reading sources ------------------------------------------------------------------------------------------


def step(module) -> int:
    """How high on the staircase a module stands; the package itself stands on top, since it hands on everybody's names."""
    top = module.split(".")[0]
    if not top:
        return len(STAIRCASE)
    return STAIRCASE.index(top) if top in STAIRCASE else -1


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


def unlisted_rooms(package) -> list[str]:
    """Folders and modules that the staircase does not name, and folders that hold too much to be a room."""
    found, files = [], {}
    for relative, _ in sources(package, ".py"):
        files.setdefault(relative.parent, []).append(relative)
        if relative.parts == ("__init__.py",):
            continue
        if relative.parts[0] not in STAIRCASE:
            found.append(
                f"{relative}: there is no room {relative.parts[0]}; the staircase stands in {Path(__file__).name}"
            )
        if relative.parts[0] == "analyses" and len(relative.parts) > 2 and relative.parts[1] not in ANALYSES:
            found.append(f"{relative}: there is no analysis {relative.parts[1]}")
    for folder, inside in files.items():
        if len(inside) > MOST_FILES:
            found.append(f"{folder}: {len(inside)} files, at most {MOST_FILES}")
    return found


def wrong_way_imports(package) -> list[str]:
    """Imports that go up the staircase, between rooms that are to stand apart, or past a room's door into one of its files."""
    found = []
    for relative, text in sources(package, ".py"):
        module = module_name(relative)
        if not module:
            continue  # the package hands on names of every room, when they are asked for
        for line, name, _ in imports(relative, text):
            if not name.startswith(f"{NAME}."):
                continue
            target = name.removeprefix(f"{NAME}.")
            if target.split(".")[0] not in STAIRCASE:
                continue  # the version, and what the package hands on
            where = f"{relative}:{line}: {module}"
            if step(target) > step(module):
                found.append(f"{where} imports {target}, which stands above it")
            if {module.split(".")[0], target.split(".")[0]} in APART:
                found.append(f"{where} imports {target}; neither should need the other")
            if room(target) != room(module):
                file = package.joinpath(*target.split(".")[:-1])
                if file.with_suffix(".py").is_file() and target.split(".")[-1].startswith("_"):
                    found.append(f"{where} imports {target}, which is private to {room(target)}")
                elif file.with_suffix(".py").is_file() and not is_door(target):
                    found.append(
                        f"{where} imports from the file {'.'.join(target.split('.')[:-1])}; import from the room"
                    )
    return found


def is_door(target) -> bool:
    """Files from which other rooms may import: those loaded by name, one a lesson or a command."""
    return bool(re.match(r"(claims\.lessons|checks)\.lesson\d\d|commands\.", target))


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


def hidden_names(package) -> list[str]:
    """Names that a room hands on and a file or folder of the room has too: which of both came out would depend on the order."""
    found = []
    for relative, text in sources(package, ".py"):
        if relative.name != "__init__.py":
            continue
        inside = {path.stem for path in (package / relative).parent.iterdir()}
        for node in parsed(text).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_HOMES":
                names = [name for names in ast.literal_eval(node.value).values() for name in names.split()]
                found += [f"{relative}: {name} is also a file" for name in names if name in inside]
                found += [
                    f"{relative}: {name} comes from two files" for name in set(names) if names.count(name) > 1
                ]
    return found


def misplaced_libraries(package) -> list[str]:
    """Widget libraries outside widgets/, model libraries outside the model's modules, or loaded too early."""
    found = []
    for relative, text in sources(package, ".py"):
        module = module_name(relative)
        top = module.split(".")[0]
        for line, name, on_import in imports(relative, text):
            library = name.split(".")[0]
            if library in SCREEN - {"IPython"} and top != "widgets":
                found.append(f"{relative}:{line}: only widgets/ imports {library}")
            if library == "IPython" and top != "widgets" and on_import:
                found.append(f"{relative}:{line}: IPython is loaded on import; import it in the function")
            if library in ("torch", "transformers") and top not in MODEL_ROOMS:
                found.append(f"{relative}:{line}: {module} imports {library}; take arrays in")
            if library in HEAVY - SCREEN and on_import:
                found.append(f"{relative}:{line}: {library} is loaded on import; import it in the function")
    return found


def undeclared_libraries(package, declared, lab) -> list[str]:
    """Third-party libraries that pyproject.toml does not name."""
    known = (
        {name.replace("-", "_") for name in declared}
        | set(COMES_WITH)
        | {NAME}
        | set(sys.stdlib_module_names)
    )
    found = []
    for relative, text in sources(package, ".py"):
        allowed = known | (
            {name.replace("-", "_") for name in lab}
            if module_name(relative).split(".")[0] in LAUNCHERS
            else set()
        )
        for line, name, _ in imports(relative, text):
            if name.split(".")[0] not in allowed:
                found.append(f"{relative}:{line}: {name.split('.')[0]} is not a dependency")
    return found


def unsafe_code(package) -> list[str]:
    """Ways to run what was only meant to be read: pickle, eval, code from a hub, a shell."""
    found = []
    for relative, text in sources(package, ".py"):
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
    for relative, text in sources(package, ".js"):
        for line, code in url_texts(relative, text):
            for pattern in (r"\beval\s*\(", r"\bnew\s+Function\b", r"\bdocument\.write\b"):
                if re.search(pattern, code):
                    found.append(f"{relative}:{line}: {code.strip()[:60]}")
    return found


def foreign_addresses(package) -> list[str]:
    """Addresses that a page or a program could fetch from; documentation and comments may name what they like."""
    found = []
    for relative, text in sources(package, ".py", ".js", ".css", ".html", ".json"):
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
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# ---- the package ----------------------------------------------------------------------------------------------


def test_every_folder_is_a_room_of_the_staircase():
    assert unlisted_rooms(PACKAGE) == []


def test_imports_go_one_way():
    assert wrong_way_imports(PACKAGE) == []


def test_there_is_no_circle_of_modules():
    assert circles(import_graph(PACKAGE)) == []


def test_no_two_rooms_import_each_other():
    rooms = {}
    for module, targets in import_graph(PACKAGE).items():
        if module:
            rooms.setdefault(room(module), set()).update(
                room(t) for t in targets if t and room(t) != room(module)
            )
    assert circles(rooms) == []


def test_a_room_hands_on_one_thing_under_one_name():
    assert hidden_names(PACKAGE) == []


def test_each_library_has_its_place():
    assert misplaced_libraries(PACKAGE) == []


def test_torch_is_imported_in_one_place_which_says_how_to_install_it():
    found = [
        f"{relative}: {around}"
        for relative, text in sources(PACKAGE, ".py")
        for around in re.findall(r"(?m)^(?!if TYPE_CHECKING).*\n\n? +import torch$", text)
    ]
    assert found == ["model/folders.py:     try:\n        import torch"]


def test_every_library_is_declared():
    runtime, extras = declared_dependencies()
    assert undeclared_libraries(PACKAGE, runtime | extras["torch"], extras["slides"] | extras["lab"]) == []


def test_nothing_can_run_what_was_only_to_be_read():
    assert unsafe_code(PACKAGE) == []


def test_no_source_names_an_address_to_fetch_from():
    assert foreign_addresses(PACKAGE) == []


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


def light_modules() -> list[str]:
    """Every module but the widgets'."""
    names = [module_name(relative) for relative, _ in sources(PACKAGE, ".py")]
    return [
        f"{NAME}.{name}".rstrip(".")
        for name in names
        if name.split(".")[0] != "widgets" and not name.endswith("__main__")
    ]


def test_importing_anything_but_widgets_loads_no_heavy_library():
    loaded = in_fresh_process(
        f"import importlib, json, sys\nheavy, found = set({sorted(HEAVY)!r}), []\n"
        f"for name in {light_modules()!r}:\n"
        "    importlib.import_module(name)\n"
        "    found += [[name, library] for library in sorted(heavy & set(sys.modules))]\n"
        "    heavy -= set(sys.modules)\n"
        "print(json.dumps(found))"
    )
    assert loaded == []


def test_light_modules_include_every_measure_and_renderer():
    """The test above would pass on an empty list."""
    modules = {f"{NAME}.model.words", f"{NAME}.measures.surface", f"{NAME}.model.attention", f"{NAME}.render"}
    assert {NAME, *modules} <= set(light_modules())


def test_importing_the_package_loads_next_to_nothing():
    """Counted in modules, not in seconds: a clock depends on the machine."""
    new = in_fresh_process(
        f"import json, sys\nbefore = set(sys.modules)\nimport {NAME}\nprint(json.dumps(sorted(set(sys.modules) - before)))"
    )
    assert "numpy" not in new
    assert [name for name in new if name.startswith(NAME)] == [NAME]
    assert len(new) < 30


# ---- a small package that breaks each rule --------------------------------------------------------------------


@pytest.fixture
def house(tmp_path):
    """Write a package from {file: text} and give its folder."""

    def build(files):
        for name, text in files.items():
            path = tmp_path / NAME / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path / NAME

    return build


@pytest.mark.parametrize(
    "file, text, message",
    [
        (
            "model/words.py",
            "from ..measures import x",
            "model.words imports measures.x, which stands above it",
        ),
        ("model/words.py", "from .. import measures", "model.words imports measures, which stands above it"),
        ("measures/surface.py", "", "measures.surface imports render.x"),
        ("measures/surface.py", "import bertlook_course.render.figures", "imports render.figures"),
        (
            "measures/surface.py",
            "def f():\n    from ..widgets import x",
            "surface.py:2: measures.surface imports widgets.x",
        ),
        ("render/figures.py", "from ..widgets import x", "render.figures imports widgets.x"),
        ("render/figures.py", "from ..commands.line import x", "render.figures imports commands.line.x"),
        ("widgets/map.py", "from ..checks import x", "neither should need the other"),
        ("measures/surface.py", "from ..model import x", None),
        ("measures/surface.py", "from .. import __version__", None),
        (
            "render/figures.py",
            "from ..measures import x\nfrom .palette import y\nfrom ..model import z",
            None,
        ),
        ("widgets/map.py", "from ..render import x\nfrom .links import y", None),
        ("checks/lesson01.py", "from . import NumberCheck\nfrom ..measures import x", None),
        ("__init__.py", "from .widgets import x", None),
    ],
)
def test_an_import_in_the_wrong_direction_is_found(house, file, text, message):
    expect(wrong_way_imports(house({file: text})), message)


@pytest.mark.parametrize(
    "text, message",
    [
        ("from ..model.words import word_groups", "imports from the file model.words; import from the room"),
        ("from ..model.words import _pieces", "which is private to model"),
        ("from ..model import word_groups", None),
        ("from .norms import x", None),
    ],
)
def test_an_import_past_the_door_is_found(house, text, message):
    files = {"model/words.py": "", "measures/norms.py": "", "measures/surface.py": text}
    expect(wrong_way_imports(house(files)), message)


@pytest.mark.parametrize(
    "file, message",
    [
        ("odds/ends.py", "there is no room odds"),
        ("surface.py", "there is no room surface.py"),
        ("analyses/odds/ends.py", "there is no analysis odds"),
        ("measures/surface.py", None),
        ("__init__.py", None),
    ],
)
def test_an_unlisted_room_is_found(house, file, message):
    expect(unlisted_rooms(house({file: ""})), message)


def test_a_crowded_room_is_found(house):
    expect(
        unlisted_rooms(house({f"measures/m{n}.py": "" for n in range(MOST_FILES + 1)})),
        "21 files, at most 20",
    )


@pytest.mark.parametrize(
    "files, circle",
    [
        (
            {"measures/a.py": "from .b import x", "measures/b.py": "from .a import y"},
            ["measures.a", "measures.b"],
        ),
        (
            {"measures/a.py": "def f():\n    from .b import x", "measures/b.py": "from .a import y"},
            ["measures.a", "measures.b"],
        ),
        (  # through the door of a room
            {
                "measures/__init__.py": "_HOMES = {'a': 'x'}",
                "measures/a.py": "from ..claims import y",
                "claims/__init__.py": "_HOMES = {'b': 'y'}",
                "claims/b.py": "from ..measures import x",
            },
            ["claims.b", "measures.a"],
        ),
        (  # by name, at run time
            {
                "claims/evidence.py": "def f(n):\n    return import_module(f'.lessons.lesson{n}', __package__)",
                "claims/lessons/lesson01.py": "from ..evidence import x",
                "claims/lessons/lesson02.py": "",
            },
            ["claims.evidence", "claims.lessons.lesson01"],
        ),
        ({"measures/a.py": "from .b import x", "measures/b.py": ""}, None),
    ],
)
def test_a_circle_is_found(house, files, circle):
    assert circles(import_graph(house(files))) == ([circle] if circle else [])


@pytest.mark.parametrize(
    "files, message",
    [
        ({"measures/__init__.py": "_HOMES = {'a': 'a'}", "measures/a.py": ""}, "a is also a file"),
        ({"measures/__init__.py": "_HOMES = {'a': 'x', 'b': 'x'}"}, "x comes from two files"),
        ({"measures/__init__.py": "_HOMES = {'a': 'x'}", "measures/a.py": ""}, None),
    ],
)
def test_a_name_for_two_things_is_found(house, files, message):
    expect(hidden_names(house(files)), message)


@pytest.mark.parametrize(
    "file, text, message",
    [
        ("render/figures.py", "import ipywidgets", "only widgets/ imports ipywidgets"),
        ("measures/surface.py", "def f():\n    from anywidget import x", "only widgets/ imports anywidget"),
        ("checks/__init__.py", "from IPython.display import HTML", "IPython is loaded on import"),
        ("checks/__init__.py", "def f():\n    from IPython.display import HTML", None),
        ("widgets/map.py", "import ipywidgets, anywidget, IPython", None),
        ("claims/claim.py", "import torch", "claims.claim imports torch"),
        ("render/map.py", "def f():\n    import torch", "render.map imports torch"),
        ("model/attention.py", "import torch", "torch is loaded on import"),
        ("model/attention.py", "if TYPE_CHECKING:\n    import torch", None),
        ("model/attention.py", "def f():\n    import torch", None),
        ("model/encoder.py", "import torch", "torch is loaded on import"),
        ("render/figures.py", "from matplotlib.figure import Figure", "matplotlib is loaded on import"),
        ("render/figures.py", "def f():\n    import matplotlib", None),
        ("surface.py", "try:\n    import scipy\nexcept ImportError:\n    pass", "scipy is loaded on import"),
    ],
)
def test_a_library_in_the_wrong_place_is_found(house, file, text, message):
    expect(misplaced_libraries(house({file: text})), message)


@pytest.mark.parametrize(
    "file, text, message",
    [
        ("surface.py", "import polars.series", "surface.py:1: polars is not a dependency"),
        ("surface.py", "def f():\n    from jupyterlab import x", "jupyterlab is not a dependency"),
        ("classroom/server.py", "def f():\n    from jupyterlab import x", None),
        ("surface.py", "import math, numpy, array_api_compat\nfrom . import words", None),
    ],
)
def test_an_undeclared_library_is_found(house, file, text, message):
    expect(undeclared_libraries(house({file: text}), DEPENDENCIES, EXTRAS["slides"]), message)


@pytest.mark.parametrize(
    "file, text, message",
    [
        ("a.py", "import pickle", "a.py:1: imports pickle"),
        ("a.py", "def f():\n    from joblib import load", "a.py:2: imports joblib"),
        ("a.py", "eval('1')", "calls eval"),
        ("a.py", "torch.load(path)", "calls torch.load"),
        ("a.py", "np.load(path, allow_pickle=True)", "passes allow_pickle"),
        ("a.py", "f(x, trust_remote_code=option)", "passes trust_remote_code"),
        ("a.py", "subprocess.run(x, shell=True)", "passes shell"),
        (
            "a.py",
            "model.eval()\nnp.load(path, allow_pickle=False)\nf(trust_remote_code=False)\n'eval(1)'",
            None,
        ),
        ("a.js", "x = eval('1')", "a.js:1: x = eval('1')"),
        ("a.js", "\nx = new Function('1')", "a.js:2"),
        ("a.js", "// no eval( here\n/* nor\n eval(1) */\nretrieval(1)", None),
    ],
)
def test_unsafe_code_is_found(house, file, text, message):
    expect(unsafe_code(house({file: text})), message)


@pytest.mark.parametrize(
    "file, text, message",
    [
        ("a.js", "import x from 'https://cdn.example.org/x.js'", "a.js:1: https://cdn.example.org/x.js"),
        ("a.js", "/* two\nlines */ x = '//cdn.example.org/x.js'", "a.js:2: //cdn.example.org/x.js"),
        ("a.js", "load('http://cdn.example.org')  // why", "http://cdn.example.org"),
        ("a.js", "// see https://example.org\nn = 'http://www.w3.org/2000/svg'", None),
        ("a.css", "@import url(https://fonts.example.org/css);", "a.css:1: https://fonts.example.org/css"),
        ("a.css", "@import url(//fonts.example.org/css);", "//fonts.example.org/css"),
        ("a.py", "x = 'https://cdn.example.org/d3.js'", "a.py:1: https://cdn.example.org/d3.js"),
        ("a.py", "x = f'<script src=\"https://cdn.example.org/{v}\">'", "https://cdn.example.org/"),
        ("a.py", '"""See https://example.org."""\n# https://example.org\nx = f"http://{host}:1"', None),
        ("a.py", "x = '<svg xmlns=\"http://www.w3.org/2000/svg\">'", None),
    ],
)
def test_an_address_is_found(house, file, text, message):
    expect(foreign_addresses(house({file: text})), message)


def expect(found, message):
    if message is None:
        assert found == []
    else:
        assert any(message in problem for problem in found), found
