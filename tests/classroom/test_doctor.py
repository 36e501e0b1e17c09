"""The doctor: what is ready for class, what is not, and what to do about it."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import start
from bertlook_course.storage import chromium as browsers
from bertlook_course.syllabus import decks as decks_module
from bertlook_press.classroom import doctor, doctor_screen
from bertlook_teach.disk import install_command

ROOT = Path(__file__).resolve().parents[2]


def lines_of(*checks):
    lines = []
    return doctor.examine([doctor.Check(*check) for check in checks], lines.append), lines


def failing():
    raise doctor.Failed("what was found", "What to do.")


def breaking():
    raise RuntimeError("broken")


def fails(check, found, advice=""):
    """A check that fails says what was found and what to do."""
    with pytest.raises(doctor.Failed, match=found) as failure:
        check()
    assert advice in failure.value.args[1]


def test_the_doctor_says_what_was_found_and_what_to_do():
    ready, lines = lines_of(("good", lambda: "fine"), ("bad", failing))
    assert not ready
    assert lines == ["ok    good  fine", "FAIL  bad   what was found", "            -> What to do."]


def test_what_is_not_needed_is_a_note():
    ready, lines = lines_of(("bad", failing, False))
    assert ready
    assert lines[0].startswith("note  bad")


def test_a_check_that_breaks_is_a_failure():
    ready, lines = lines_of(("odd", breaking, False))
    assert not ready
    assert lines[0] == "FAIL  odd  RuntimeError: broken"


def test_the_doctor_finds_this_installation_well():
    command = [sys.executable, "-m", "bertlook_bench", "doctor"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rows sum to 1" in done.stdout
    assert done.stdout.endswith("Ready for class.\n")
    assert len(re.findall(r"^(?:ok|note) ", done.stdout, re.MULTILINE)) == len(doctor.CHECKS)


def test_the_doctor_says_when_the_specimen_does_not_load(monkeypatch):
    import bertlook_teach.model

    def broken(name):
        raise OSError("no config.json in data/model")

    monkeypatch.setattr(bertlook_teach.model, "load_encoder", broken, raising=False)
    fails(doctor.specimen, "no config.json", "git checkout data/model")


def test_the_doctor_says_when_attention_rows_do_not_sum_to_one(monkeypatch):
    import numpy as np

    import bertlook_teach.model

    class Half:
        weights = np.full((2, 3, 5, 5), 0.1)
        n_layers, n_heads = 2, 3

    monkeypatch.setattr(bertlook_teach.model, "load_encoder", lambda name: Half, raising=False)
    monkeypatch.setattr(bertlook_teach.model, "extract_attention", lambda encoder, text: Half, raising=False)
    fails(doctor.specimen, r"rows sum to 0\.5000")


@pytest.mark.parametrize(
    "fault, said", [(ImportError("no torch"), "no torch"), (None, "differs from NumPy's by 0.1")]
)
def test_the_doctor_says_when_torch_does_not_do_its_part(fault, said, monkeypatch):
    import numpy as np

    import bertlook_teach.model

    class Half:
        def __init__(self, device):
            if fault and device == "cpu":
                raise fault
            self.weights = np.full((1, 1, 2, 2), 0.5 if device == "cpu" else 0.6)

    monkeypatch.setattr(bertlook_teach.model, "load_encoder", lambda name, device: device, raising=False)
    monkeypatch.setattr(
        bertlook_teach.model, "extract_attention", lambda encoder, text: Half(encoder), raising=False
    )
    fails(doctor.torch, said, install_command("torch"))


def test_the_doctor_is_content_without_torch_and_says_what_needs_it(monkeypatch):
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    said = doctor.torch()
    assert "no lecture needs it" in said and said.endswith(install_command("torch"))


def test_the_doctor_says_when_the_specimen_is_another(monkeypatch, tmp_path):
    import bertlook_teach.model
    from bertlook_teach import disk

    class Other:
        fingerprint = "0123456789abcdef"

    monkeypatch.setattr(bertlook_teach.model, "load_encoder", lambda name: Other, raising=False)
    said = r"0123456789abcdef, the card says (?!0123)[0-9a-f]{16}: another"
    fails(doctor.fingerprint, said, "git checkout data/model")
    card = tmp_path / "MODEL_CARD.md"
    monkeypatch.setattr(disk, "data_path", lambda *parts: card)
    card.write_text("Fingerprint: `0123456789abcdef`.")
    assert doctor.fingerprint() == "0123456789abcdef, as on the card"
    card.write_text("A card without.")
    fails(doctor.fingerprint, "the card names none")


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("1", "opened 0 channels"),
        (
            "import ipywidgets\nipywidgets.IntSlider()",
            r"opened \d channels to the browser, none with a script",
        ),
        ("import no_such_module", "a view cannot be made: No module named 'no_such_module'"),
    ],
)
def test_the_doctor_says_when_no_view_reaches_the_browser(code, found):
    fails(lambda: doctor.widgets(code=code), found, "pip install")


def test_the_doctor_says_when_there_is_no_kernel_or_no_answer(monkeypatch):
    from jupyter_client import manager

    fails(lambda: doctor._ask_kernel("import time; time.sleep(99)", 3), "no answer within 3 s")
    real = manager.start_new_kernel
    monkeypatch.setattr(
        manager, "start_new_kernel", lambda **options: real(**{**options, "kernel_name": "gone"})
    )
    fails(doctor.kernel, "gone", "ipykernel")


def test_the_doctor_says_when_the_kernel_is_of_another_python(monkeypatch):
    answer = ({"status": "error", "evalue": "No module named 'bertlook_teach'"}, [])
    monkeypatch.setattr(doctor, "_ask_kernel", lambda code, seconds: answer)
    fails(doctor.kernel, "cannot import bertlook_teach", "another Python")


def test_the_doctor_measures_the_screens(monkeypatch, tmp_path):
    monkeypatch.setattr(doctor_screen, "_SCREENS", tmp_path)
    assert doctor.screen().startswith("size unknown; slides need 1024x768")
    for name, modes in (("card0-A", "1920x1080\n800x600\n"), ("card0-B", ""), ("card1-C", "1280x720\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "modes").write_text(modes)
    assert doctor.screen().startswith("1920x1080, 1280x720; full screen")
    (tmp_path / "card1-C" / "modes").write_text("800x600\n")
    fails(doctor.screen, "1920x1080, 800x600", "1024x768")


def test_the_doctor_says_when_nothing_can_be_shown(monkeypatch, tmp_path):
    """No deck, no browser, no typeface, no port, too old a Python."""
    import webbrowser

    from matplotlib import font_manager

    monkeypatch.setattr(decks_module, "find_root", lambda: tmp_path)
    fails(doctor.decks, "none in")
    monkeypatch.setattr(browsers, "find_chromium", lambda: None)

    def none():
        raise webbrowser.Error("none")

    monkeypatch.setattr(webbrowser, "get", none)
    fails(doctor.browser, "none found")
    monkeypatch.setattr(font_manager, "findfont", lambda *given: str(tmp_path / "gone.ttf"))
    fails(doctor.fonts, "matplotlib found none")

    def refused(address):
        raise OSError("not permitted")

    monkeypatch.setattr(doctor.socket, "create_server", refused)
    fails(doctor.port, "not permitted")
    monkeypatch.setattr(doctor, "OLDEST", (9, 0))
    fails(doctor.python, "^.'Python 3")


def test_the_doctor_compares_versions(tmp_path):
    constraints = tmp_path / "constraints.txt"
    constraints.write_text(
        "# pins\nnumpy==1.0 ; python_version >= '3'\ntorch==99.0\nanywidget==0.0 ; python_version < '3'\n"
    )
    fails(
        lambda: doctor.packages(constraints), r"numpy [\d.]+ instead of 1\.0; torch [\d.]+ instead of 99\.0"
    )


def test_the_doctor_names_a_missing_package(tmp_path, monkeypatch):
    constraints = tmp_path / "constraints.txt"
    constraints.write_text("conllu==6.0.0\nnever-needed==1.0\n")
    real = doctor.metadata.version

    def version(name):
        if name in ("conllu", "never-needed"):
            raise doctor.metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(doctor.metadata, "version", version)
    fails(lambda: doctor.packages(constraints), "'missing: conllu'", "start.py")


def test_the_doctor_misses_nothing_that_start_py_leaves_out_on_purpose(monkeypatch):
    """In an installation of the extra that start.py asks for, and of nothing else, no package is missing; without one of it, that one is."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    chosen = re.search(r"\[(.*?)\]", start.EXTRAS[start.LECTURE])[1].split(",")
    assert re.findall(r"\w+", doctor.FOR_A_LECTURE.partition("(")[2])[:-1] == chosen
    names = {name: {doctor._plain(re.match(r"[\w.-]+", line)[0]) for line in extras[name]} for name in extras}
    for_a_lecture = set().union(*(names[name] for name in chosen))
    others = set().union(*names.values()) - for_a_lecture
    assert {"dask", "torch"} <= others

    def without(gone):
        def version(name):
            if doctor._plain(name) in gone:
                raise doctor.metadata.PackageNotFoundError(name)
            return pins[name]

        return version

    pins = dict(doctor.read_pins((ROOT / "constraints.txt").read_text(encoding="utf-8")))
    monkeypatch.setattr(doctor.metadata, "version", without(others))
    assert "has the pinned versions" in doctor.packages()
    monkeypatch.setattr(doctor.metadata, "version", without(others | {"nbclient"}))
    fails(doctor.packages, "^.'missing: nbclient'", "start.py")


@pytest.fixture
def prefix(tmp_path, monkeypatch):
    """An environment with the four extensions that slides need."""
    for name in ("bertlook-rise", "jupyterlab-rise", "@jupyter-widgets/jupyterlab-manager", "anywidget"):
        (tmp_path / "share" / "jupyter" / "labextensions" / name).mkdir(parents=True)
    source = ROOT / "bertlook_press" / "classroom" / "labextension"
    installed = tmp_path / "share" / "jupyter" / "labextensions" / "bertlook-rise"
    shutil.copytree(source, installed, dirs_exist_ok=True)
    shutil.copy(source.parent / "export" / "page" / "fill.js", installed / "static")
    monkeypatch.setattr(doctor.sys, "prefix", str(tmp_path))
    return tmp_path


def test_the_doctor_is_content_with_the_four_extensions(prefix):
    assert "installed and enabled" in doctor.lab_extension()


@pytest.mark.parametrize("script", ["remoteEntry.js", "fill.js"])
def test_the_doctor_sees_an_old_copy_of_the_extension(prefix, script):
    path = prefix / "share" / "jupyter" / "labextensions" / "bertlook-rise" / "static" / script
    path.write_text("old")
    fails(doctor.lab_extension, "another version")


@pytest.mark.parametrize("name", ["bertlook-rise", "anywidget"])
def test_the_doctor_misses_an_extension(prefix, name):
    shutil.rmtree(prefix / "share" / "jupyter" / "labextensions" / name)
    fails(doctor.lab_extension, f"{name} is not in")


def test_the_doctor_sees_a_disabled_extension(prefix):
    path = prefix / "etc" / "jupyter" / "labconfig" / "page_config.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"disabledExtensions": {"jupyterlab-rise": true}}')
    said = "Enable it: jupyter labextension enable jupyterlab-rise"
    fails(doctor.lab_extension, "jupyterlab-rise is disabled", said)


def test_the_doctor_counts_memory_and_disk(monkeypatch, tmp_path):
    import psutil

    little = type("memory", (), {"available": doctor.GIB})
    monkeypatch.setattr(psutil, "virtual_memory", lambda: little)
    fails(doctor.memory, r"1\.0 GiB free")
    monkeypatch.setattr(
        doctor.shutil, "disk_usage", lambda folder: type("usage", (), {"free": doctor.GIB // 10})
    )
    fails(lambda: doctor.disk(tmp_path), r"0\.10 GiB free")


def test_the_doctor_notes_who_was_asked(monkeypatch):
    monkeypatch.setattr(doctor, "_asked", [])
    doctor.note_network_use("socket.getaddrinfo", ("localhost", 80))
    doctor.note_network_use("socket.connect", (None, ("127.0.0.1", 80)))
    doctor.note_network_use("socket.connect", (None, "/run/a-unix-socket"))
    assert "no other computer was asked" in doctor.offline()
    doctor.note_network_use("socket.getaddrinfo", ("huggingface.co", 443))
    fails(doctor.offline, "'asked for huggingface.co'")
