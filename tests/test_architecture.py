"""What holds the house together: which module may import which, what importing costs, what is never done.

Each rule is a function over a folder of sources, tried on the package and on a small package that breaks it.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # comes with pytest on 3.10

ROOT = Path(__file__).resolve().parent.parent
NAME = "bertlook_teach"
PACKAGE = ROOT / NAME

# Imports go one way, from a higher floor to the same or a lower one. A module not named here is a measure.
FLOORS = {
    "_paths": 0,
    "labels": 0,
    "words": 0,
    "render": 2,
    "widgets": 3,
    "checks": 3,
    "ablate_command": 4,
    "claims_command": 4,
    "coref_command": 4,
    "finetune_command": 4,
    "keywords_command": 4,
    "layers_command": 4,
    "misconceptions_command": 4,
    "pattern_command": 4,
    "probe_command": 4,
    "syntax_command": 4,
    "cli": 4,
    "doctor": 4,
    "export": 4,
    "launch": 4,
}
MEASURES = 1
APART = ({"widgets", "checks"},)  # same floor, but neither needs the other

SCREEN = {"ipywidgets", "anywidget", "IPython"}
HEAVY = SCREEN | {
    "torch",
    "transformers",
    "tokenizers",
    "huggingface_hub",
    "matplotlib",
    "scipy",
    "threadpoolctl",
    "pandas",
    "sklearn",
}
# The only ones that may name torch or transformers ...
MODEL_MODULES = {
    "encoder",
    "finetune",
    "ablation",
    "scorers",
    "layerwise",
    "single_heads",
    "head_importance",
    "pruning",
    "attention",
    "gradients",
    "internals",
    "layers",
    "masked_lm",
    "next_sentence",
    "zeroing",
    "sandbox",
    "cuts",
    "probes",
    "structural",
    "tagging",
}
LOADS_TORCH = {"encoder"}  # ... and the only one that does so when imported
LAUNCHERS = {"launch", "doctor", "export"}  # may use what the "lab" extra brings
COMES_WITH = {"traitlets": "ipywidgets"}  # imported, and part of a dependency's own interface

DEPENDENCIES = {
    "anywidget", "array-api-compat", "conllu", "huggingface-hub", "ipywidgets", "matplotlib", "numpy", "safetensors",
    "scipy", "threadpoolctl",
    "tokenizers", "torch", "tqdm", "transformers",
}  # fmt: skip
EXTRAS = {
    "lab": {
        "ipykernel", "jupyter-client", "jupyterlab", "jupyterlab-rise", "nbclassic", "nbclient", "nbconvert", "nbformat",
        "notebook", "packaging", "psutil", "rise",
    },
    "test": {"nbclient", "nbformat", "nbval", "playwright", "pytest", "pytest-xdist", "ruff"},
}  # fmt: skip

UNSAFE_MODULES = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
# A namespace is a name, not an address: nothing is fetched from it.
HARMLESS_URLS = ("http://www.w3.org/", "https://www.w3.org/")


# ---- reading sources ------------------------------------------------------------------------------------------


def sources(package, *endings):
    """(path relative to the package, text) of its source files."""
    for path in sorted(package.rglob("*")):
        if path.suffix in endings and "__pycache__" not in path.parts:
            yield path.relative_to(package), path.read_text(encoding="utf-8")


def module_name(relative) -> str:
    """``render/figures.py`` -> ``render.figures``; the package itself is the empty name."""
    return ".".join(part for part in relative.with_suffix("").parts if part != "__init__")


def imports(relative, text):
    """(line, full dotted name, whether it runs on import) of each import; relative ones are resolved."""
    tree = ast.parse(text)
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


def is_type_checking(node) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def floor(module) -> int:
    """Floor of a module of the package, given without the package's name."""
    return FLOORS.get(module.split(".")[0], MEASURES) if module else max(FLOORS.values())


def url_texts(path, text):
    """The parts of a source that could be fetched from: string literals of Python, all but comments elsewhere."""
    if path.suffix == ".py":
        tree = ast.parse(text)
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


def wrong_way_imports(package) -> list[str]:
    """Imports that go up: widgets -> render -> measures -> words is the only direction."""
    found = []
    for relative, text in sources(package, ".py"):
        module = module_name(relative)
        if not module:
            continue  # the package hands out names from every floor, when they are asked for
        for line, name, _ in imports(relative, text):
            if not name.startswith(f"{NAME}."):
                continue
            target = name.removeprefix(f"{NAME}.")
            if target.startswith("__"):
                continue  # the version
            if floor(target) > floor(module):
                found.append(f"{relative}:{line}: {module} imports {target}, which stands above it")
            pair = {module.split(".")[0], target.split(".")[0]}
            if pair in APART:
                found.append(f"{relative}:{line}: {module} imports {target}; neither should need the other")
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
            if library in ("torch", "transformers") and module not in MODEL_MODULES:
                found.append(
                    f"{relative}:{line}: {module} imports {library}; take arrays in, or list it here"
                )
            if library in HEAVY - SCREEN and on_import and module not in LOADS_TORCH:
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
        for node in ast.walk(ast.parse(text)):
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


def test_imports_go_one_way():
    assert wrong_way_imports(PACKAGE) == []


def test_each_library_has_its_place():
    assert misplaced_libraries(PACKAGE) == []


def test_every_library_is_declared():
    runtime, extras = declared_dependencies()
    assert undeclared_libraries(PACKAGE, runtime, extras["lab"]) == []


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
    wanted = runtime.union(*extras.values())
    assert {name.replace("_", "-") for name in wanted} <= {name.replace("_", "-") for name in pinned}


def light_modules() -> list[str]:
    """Every module but the model's and the widgets'."""
    names = [module_name(relative) for relative, _ in sources(PACKAGE, ".py")]
    return [
        f"{NAME}.{name}".rstrip(".") for name in names if name.split(".")[0] not in LOADS_TORCH | {"widgets"}
    ]


def test_importing_anything_but_model_and_widgets_loads_no_heavy_library():
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
    assert {NAME, f"{NAME}.words", f"{NAME}.surface", f"{NAME}.attention", f"{NAME}.render"} <= set(
        light_modules()
    )


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
        ("words.py", "from .surface import x", "words imports surface.x, which stands above it"),
        ("words.py", "from . import surface", "words imports surface, which stands above it"),
        ("surface.py", "from bertlook_teach.render import x", "surface imports render.x"),
        ("surface.py", "import bertlook_teach.render.figures", "surface imports render.figures"),
        ("surface.py", "def f():\n    from .widgets import x", "surface.py:2: surface imports widgets.x"),
        ("render/figures.py", "from ..widgets import x", "render.figures imports widgets.x"),
        ("render/figures.py", "from ..cli import x", "render.figures imports cli.x"),
        ("widgets/map.py", "from ..checks import x", "neither should need the other"),
        ("surface.py", "from .words import x", None),
        ("surface.py", "from . import __version__", None),
        (
            "render/figures.py",
            "from ..surface import x\nfrom .palette import y\nfrom ..labels import z",
            None,
        ),
        ("widgets/map.py", "from ..render import x\nfrom .links import y", None),
        ("checks/lesson01.py", "from . import check_number\nfrom ..surface import x", None),
        ("__init__.py", "from .widgets import x", None),
    ],
)
def test_an_import_in_the_wrong_direction_is_found(house, file, text, message):
    expect(wrong_way_imports(house({file: text})), message)


@pytest.mark.parametrize(
    "file, text, message",
    [
        ("render/figures.py", "import ipywidgets", "only widgets/ imports ipywidgets"),
        ("surface.py", "def f():\n    from anywidget import x", "only widgets/ imports anywidget"),
        ("checks/__init__.py", "from IPython.display import HTML", "IPython is loaded on import"),
        ("checks/__init__.py", "def f():\n    from IPython.display import HTML", None),
        ("widgets/map.py", "import ipywidgets, anywidget, IPython", None),
        ("surface.py", "import torch", "surface imports torch"),
        ("surface.py", "def f():\n    import torch", "surface imports torch"),
        ("attention.py", "import torch", "torch is loaded on import"),
        ("attention.py", "if TYPE_CHECKING:\n    import torch", None),
        ("attention.py", "def f():\n    import torch", None),
        ("encoder.py", "import torch", None),
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
        ("surface.py", "import pandas.core", "surface.py:1: pandas is not a dependency"),
        ("surface.py", "def f():\n    from jupyterlab import x", "jupyterlab is not a dependency"),
        ("launch.py", "def f():\n    from jupyterlab import x", None),
        ("surface.py", "import math, numpy, array_api_compat\nfrom . import words", None),
    ],
)
def test_an_undeclared_library_is_found(house, file, text, message):
    expect(undeclared_libraries(house({file: text}), DEPENDENCIES, EXTRAS["lab"]), message)


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
