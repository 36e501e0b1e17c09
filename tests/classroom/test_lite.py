"""The exercises in a JupyterLite: what is taken out of a folder of Pyodide, what is refused and with which words."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile

import pytest

from bertlook_teach.classroom import ExportError, build_site
from bertlook_teach.commands import line
from bertlook_teach.course import LESSONS, find_root
from bertlook_teach.disk import data_path

pytest.importorskip("jupyterlite_pyodide_kernel", reason='pip install "bertlook_teach[lite]"')

from bertlook_teach.classroom.site import lite, pages

COMPILED = "numpy-2.4.6-cp314-cp314-pyemscripten_2026_0_wasm32.whl"


def wheel(name: str, number: str = "1.0", requires=()) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        packed.writestr(f"{name}/__init__.py", "")
        lines = "".join(f"Requires-Dist: {one}\n" for one in requires)
        packed.writestr(
            f"{name}-{number}.dist-info/METADATA",
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {number}\n{lines}",
        )
    return buffer.getvalue()


def entry(name: str, file_name: str, content: bytes, depends=()) -> dict:
    sha256 = hashlib.sha256(content).hexdigest()
    return {
        "name": name,
        "version": "1",
        "file_name": file_name,
        "sha256": sha256,
        "depends": [*depends],
        "imports": [name],
    }


@pytest.fixture
def folder(tmp_path):
    """What looks like Pyodide with numpy, and with the two packages of its own that its kernel begins with."""
    folder = tmp_path / "pyodide"
    folder.mkdir()
    for name in lite.CORE[:-1]:
        (folder / name).write_bytes(name.encode())
    contents = {
        "numpy": (COMPILED, b"compiled"),
        "micropip": ("micropip-1-py3-none-any.whl", wheel("micropip")),
    }
    contents["wcwidth"] = ("wcwidth-1-py3-none-any.whl", wheel("wcwidth"))
    packages = {name: entry(name, *given) for name, given in contents.items()}
    packages["scipy"] = entry("scipy", "scipy-1-cp314-wasm32.whl", b"not there", ["numpy", "libopenblas"])
    packages["libopenblas"] = entry("libopenblas", "libopenblas.zip", b"nor this")
    for file_name, content in contents.values():
        (folder / file_name).write_bytes(content)
    lock = {"info": {"python": "3.14.2", "abi_version": "2026_0"}, "packages": packages}
    (folder / lite.CORE[-1]).write_text(json.dumps(lock), encoding="utf-8")
    return folder


def test_the_lock_names_what_lies_beside_it_and_an_import_finds_all_it_needs(folder):
    found = lite.lite_files(folder, ["numpy", "ipywidgets", "anywidget"])
    lock = json.loads(found.files[lite.CORE[-1]])["packages"]
    for name, one in lock.items():
        assert hashlib.sha256(found.files[one["file_name"]]).hexdigest() == one["sha256"], name
        assert {lite.canonical(other) for other in one["depends"]} <= set(lock), name
    assert found.files[COMPILED] == b"compiled"
    assert (
        lock["bertlook-teach"]["imports"] == ["bertlook_teach"]
        and "numpy" in lock["bertlook-teach"]["depends"]
    )
    assert {"ipython", "traitlets", "psygnal", "comm"} <= set(lock) and not {
        "pexpect",
        "widgetsnbextension",
    } & set(lock)


def test_the_wheels_are_plain_python_and_hold_the_specimen(folder):
    found = lite.lite_files(folder, ["numpy", "anywidget"])
    for name, content in found.files.items():
        if not name.endswith("-none-any.whl"):
            continue
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            assert not [one for one in packed.namelist() if one.endswith(lite._COMPILED)], name
            assert [one for one in packed.namelist() if one.endswith(".dist-info/METADATA")], name
    (own,) = [name for name in found.files if name.startswith("bertlook_teach-")]
    with zipfile.ZipFile(io.BytesIO(found.files[own])) as packed:
        weights = packed.read("bertlook_teach/data/model/model.safetensors")
        assert weights == data_path("model", "model.safetensors").read_bytes()
        assert "bertlook_teach/docs/bibliography.bib" in packed.namelist()
        assert not [one for one in packed.namelist() if "/slides/" in one or "__pycache__" in one]


def test_the_same_folder_gives_the_same_bytes(folder):
    assert lite.lite_files(folder, ["numpy"]).files == lite.lite_files(folder, ["numpy"]).files


def test_what_is_missing_is_named_in_one_go_with_what_brings_it(folder):
    with pytest.raises(ExportError, match="the full distribution of Pyodide") as refused:
        lite.lite_files(folder, ["numpy", "scipy", "torch"])
    said = str(refused.value)
    assert "scipy-1-cp314-wasm32.whl" in said and "libopenblas.zip" in said and "numpy-" not in said


def test_a_pure_wheel_that_somebody_put_there_is_taken(folder):
    (folder / "scipy-9.9-py3-none-any.whl").write_bytes(
        wheel("scipy", "9.9", ["numpy", "conllu; sys_platform == 'win32'"])
    )
    lock = lite.lite_files(folder, ["scipy"]).lock["packages"]
    assert (
        lock["scipy"]["version"] == "9.9" and lock["scipy"]["depends"] == ["numpy"] and "conllu" not in lock
    )


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (
            lambda folder: (folder / COMPILED).write_bytes(b"another"),
            "is not the file that pyodide-lock.json names",
        ),
        (lambda folder: (folder / "pyodide.asm.wasm").unlink(), "lacks pyodide.asm.wasm"),
        (lambda folder: (folder / lite.CORE[-1]).write_text("{"), "is damaged"),
        (lambda folder: (folder / lite.CORE[-1]).write_text("[" * 100_000), "is damaged"),
        (lambda folder: (folder / lite.CORE[-1]).write_text('{"info": [], "packages": 3}'), "is damaged"),
        (lambda folder: (folder / lite.CORE[-1]).write_bytes(b"\xff\xfe\x00"), "is damaged"),
        (
            lambda folder: (folder / lite.CORE[-1]).write_text(
                '{"info": {"python": "3.12.1"}, "packages": {}}'
            ),
            "holds Python 3.12.1",
        ),
        (
            lambda folder: (folder / "conllu-1-py3-none-any.whl").write_bytes(b"PK"),
            "is not a wheel that can be read",
        ),
    ],
)
def test_a_folder_that_is_not_pyodides_is_refused(folder, spoil, said):
    spoil(folder)
    with pytest.raises(ExportError, match=said):
        lite.lite_files(folder, ["numpy", "conllu"])


def test_a_folder_that_is_none_and_one_that_is_too_high_say_what_is_wanted(folder, tmp_path):
    with pytest.raises(ExportError, match=r"is not a folder. --lite wants the folder of Pyodide 3"):
        lite.lite_files(tmp_path / "nowhere")
    with pytest.raises(ExportError, match="one level deeper"):
        lite.lite_files(folder.parent)


def test_the_command_refuses_before_anything_is_made(tmp_path, capsys):
    out = tmp_path / "public"
    assert line.main(["site", "--out", str(out), "--only", "read", "--lite", str(tmp_path / "nowhere")]) != 0
    assert "is not a folder" in capsys.readouterr().err and not (out / "read").exists()
    assert line.main(["site", "--out", str(out), "--only", "lite"]) != 0
    assert "--lite FOLDER" in capsys.readouterr().err


def test_a_whole_jupyterlite_is_built_and_the_exercises_lead_to_it(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(lite, "WANTED", ("numpy", "anywidget"))
    monkeypatch.setattr(lite.lite_files, "__defaults__", (("numpy", "anywidget"),))
    root, out = find_root(), tmp_path / "public"
    options = {"parts": ("exercises",), "run": False, "lite": folder, "say": lambda line: None}
    built = build_site(root, out, **options)
    assert (out / lite.LAB).is_file() and not built.left_out
    settings = json.loads((out / "lite" / "jupyter-lite.json").read_text(encoding="utf-8"))[
        "jupyter-config-data"
    ]
    kernel = settings["litePluginSettings"]["@jupyterlite/pyodide-kernel-extension:kernel"]
    assert kernel["pyodideUrl"] == "./static/pyodide/pyodide.mjs" and kernel["disablePyPIFallback"]
    names = {one["name"] for one in settings["federated_extensions"]}
    assert names == set(lite.EXTENSIONS)
    stems = [one.stem for one in LESSONS if one.number in lite.RUN_IN_PAGE]
    listed = json.loads((out / "lite" / "api" / "contents" / "all.json").read_text(encoding="utf-8"))[
        "content"
    ]
    assert sorted(one["name"] for one in listed) == sorted(f"{stem}.ipynb" for stem in stems)
    page = (out / "exercises" / "index.html").read_text(encoding="utf-8")
    for stem in stems:
        assert f'href="../lite/lab/index.html?path={stem}.ipynb"' in page
        notebook = json.loads((out / "lite" / "files" / f"{stem}.ipynb").read_text(encoding="utf-8"))
        assert notebook["metadata"]["kernelspec"]["name"] == "python"  # that of the page
        source = json.loads((root / "notebooks" / "exercises" / f"{stem}.ipynb").read_text(encoding="utf-8"))
        assert notebook["cells"] == source["cells"]
    assert page.count("Run here</a>") == len(stems)
    again = build_site(root, out, **options)
    assert "lite/lab/index.html" in again.kept and "lite/lab/index.html" not in again.made


def test_without_jupyterlite_the_site_is_made_and_says_what_it_lacks(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(lite, "find_spec", lambda name: None)
    built = build_site(
        find_root(), tmp_path / "public", parts=("exercises",), run=False, lite=folder, say=lambda line: None
    )
    assert any("bertlook_teach[lite]" in reason for reason in built.left_out)
    assert "Run here" not in pages.exercises_page({}, frozenset(["exercises/index.html"]))
