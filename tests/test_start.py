"""start.py: what it says when something is missing, what it installs, and that the second start installs nothing.

No test here installs anything: pip is played by a small script that logs its arguments and fails as told.
"""

import ast
import builtins
import errno
import os
import platform
import socket
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

import start

ROOT = Path(__file__).resolve().parent.parent
GIB = 1024**3


# --- which Python -----------------------------------------------------------------------------------------------------


def test_a_python_of_2016_understands_the_file():
    ast.parse((ROOT / "start.py").read_text(encoding="utf-8"), feature_version=(3, 6))


@pytest.mark.parametrize("version", [(3, 6, 15), (3, 8, 18), (3, 10, 19), (3, 15, 0), (4, 0, 0)])
def test_a_python_too_old_or_too_new_is_refused(version, monkeypatch):
    monkeypatch.setattr(start, "better_python", lambda: "advice")
    with pytest.raises(
        start.Trouble, match=rf"Python 3\.11 to 3\.14 is needed, this is {version[0]}\.{version[1]}\."
    ) as trouble:
        start.check_python(version)
    assert str(trouble.value).endswith("\nadvice")
    assert ("there may be no PyTorch" in str(trouble.value)) == (version > (3, 14))


@pytest.mark.parametrize("version", [(3, 11, 0), (3, 11, 7), (3, 12, 1), (3, 13, 9), (3, 14, 0)])
def test_a_python_between_is_welcome(version):
    start.check_python(version)


def test_a_32_bit_python_is_refused():
    with pytest.raises(start.Trouble, match="64-bit Python is needed"):
        start.check_python((3, 11, 0), maxsize=2**31 - 1)


def test_another_python_that_fits_is_named(monkeypatch):
    found = {"python3.12": "well", "python3.11": "well"}
    monkeypatch.setattr(start, "answer_of", lambda command: found.get(command[0]))
    monkeypatch.setattr(start.os, "name", "posix")
    assert start.better_python() == "There is one on this computer; start with:  python3.12 start.py"
    found["python3.14"] = "well"
    assert start.better_python().endswith("python3.14 start.py")
    found.clear()
    assert start.better_python().startswith("Install Python 3.14, for example from https://www.python.org")


def test_without_the_venv_module_the_package_is_named(monkeypatch):
    real = builtins.__import__

    def without_ensurepip(name, *rest):
        if name == "ensurepip":
            raise ModuleNotFoundError("No module named 'ensurepip'", name="ensurepip")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_ensurepip)
    version = "{}.{}".format(*sys.version_info[:2])
    with pytest.raises(
        start.Trouble, match=rf"(?s)no module 'ensurepip'.*sudo apt install python{version}-venv"
    ):
        start.check_venv_module()


# --- the disk ---------------------------------------------------------------------------------------------------------


def test_a_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    def refuse(**options):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(start.tempfile, "TemporaryFile", refuse)
    with pytest.raises(
        start.Trouble, match=r"Cannot write into .*: Read-only file system\.\nCopy the project"
    ):
        start.check_folder(str(tmp_path))


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the administrator may write anywhere")
def test_a_real_folder_that_cannot_be_written_is_named(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(start.Trouble, match="Cannot write into .*: Permission denied"):
        start.check_folder(str(tmp_path))


def with_free_space(monkeypatch, free):
    usage = type("usage", (), {"free": free})
    monkeypatch.setattr(start.shutil, "disk_usage", lambda folder: usage)


def test_a_disk_too_full_to_begin_is_said_with_numbers(tmp_path, monkeypatch):
    with_free_space(monkeypatch, GIB / 2)
    with pytest.raises(
        start.Trouble, match=r"The disk is full: 0\.5 GiB are free .*, 0\.9 GiB are needed for lectures"
    ):
        start.check_folder(str(tmp_path))
    with_free_space(monkeypatch, GIB)
    start.check_folder(str(tmp_path))
    with pytest.raises(start.Trouble, match=r"1\.0 GiB are free .*\n3 GiB with PyTorch"):
        start.check_folder(str(tmp_path), start.TORCH)


def test_a_folder_too_deep_for_windows_is_said_before_anything_is_installed():
    deep = "C:\\Users\\ada\\OneDrive - University of Somewhere\\Documents\\bertlook"
    with pytest.raises(
        start.Trouble, match=r"too long: 6\d characters, Windows leaves room for 58:[^?]*C:\\bertlook"
    ):
        start.check_length(deep)
    start.check_length("C:\\Users\\ada\\Documents\\bertlook")


# --- what pip's log tells ---------------------------------------------------------------------------------------------

OFFLINE = (
    "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(': Failed to establish a new "
    "connection: [Errno -3] Temporary failure in name resolution')': /simple/torch/\n"
    "ERROR: Could not find a version that satisfies the requirement torch==2.13.0 (from versions: none)\n"
    "ERROR: No matching distribution found for torch==2.13.0"
)


@pytest.mark.parametrize(
    "log",
    [
        OFFLINE,
        "urllib3.exceptions.ReadTimeoutError: HTTPSConnectionPool(host='files'): Read timed out.",
        "Cannot connect to proxy: ProxyError('Unable to connect to proxy')",
        "[SSL: CERTIFICATE_VERIFY_FAILED] ... SSLError(",
        "[Errno 11001] getaddrinfo failed",
    ],
    ids=["no name resolution", "timeout", "proxy", "certificate", "windows"],
)
def test_no_network_is_recognised(log):
    with pytest.raises(start.NoNetwork, match="no connection to the package index"):
        start.explain(log)


FULL = "The disk is full"


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", FULL),
        ("OSError: [Errno 122] Disk quota exceeded", FULL),
        ("[WinError 112] There is not enough space on the disk", FULL),
        (OFFLINE + "\nOSError: [Errno 28] No space left on device", FULL),
        (
            "ERROR: No matching distribution found for torch==2.13.0",
            f"There is no PyTorch 2.13.0 for this computer ({platform.system()}",
        ),
        ("PermissionError: [WinError 5] Access is denied: 'torch.dll'", "no other program"),
        ("ERROR: something new", start.LOG),
    ],
    ids=["full", "quota", "windows", "full after a failed index", "no torch", "in use", "anything else"],
)
def test_what_went_wrong_is_recognised(log, said):
    assert said in start.explain(log)


def test_a_full_disk_is_recognised_even_if_the_log_could_not_be_written(monkeypatch):
    with_free_space(monkeypatch, 0)
    assert start.explain("").startswith("The disk is full")


# --- torch ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def pip_calls(monkeypatch):
    """The arguments of each call of pip; nothing is installed."""
    calls = []
    monkeypatch.setattr(start, "pip", lambda *arguments: calls.append(arguments))
    monkeypatch.setattr(start, "say", lambda line: None)
    return calls


@pytest.mark.parametrize(
    ("system", "gpu", "cpu_build"),
    [("linux", False, True), ("linux", True, False), ("darwin", False, False), ("win32", False, False)],
)
def test_the_cpu_build_is_asked_for_only_on_linux_without_a_gpu(
    system, gpu, cpu_build, pip_calls, monkeypatch
):
    monkeypatch.setattr(start.sys, "platform", system)
    monkeypatch.setattr(start, "has_nvidia_gpu", lambda: gpu)
    start.install_torch()
    ((*options, wanted),) = pip_calls
    assert wanted == "torch==2.13.0"
    assert (start.CPU_INDEX in options) == cpu_build
    assert "--index-url" not in options  # that would put the user's own index out of use


def test_where_the_cpu_index_cannot_be_reached_the_default_one_is_tried(pip_calls, monkeypatch):
    def unreachable(*arguments):
        pip_calls.append(arguments)
        if start.CPU_INDEX in arguments:
            raise start.NoNetwork

    monkeypatch.setattr(start, "pip", unreachable)
    monkeypatch.setattr(start.sys, "platform", "linux")
    monkeypatch.setattr(start, "has_nvidia_gpu", lambda: False)
    start.install_torch()
    assert [start.CPU_INDEX in call for call in pip_calls] == [True, False]


# --- installing, with a pip that is a script --------------------------------------------------------------------------

FAKE_PYTHON = """\
#!{python}
import os, pathlib, sys
here = pathlib.Path(__file__).resolve().parent.parent
words = sys.argv[1:]
with open(here.parent / "calls.txt", "a") as file:
    print(*words, file=file)
if words[-1].startswith("import jupyterlab"):  # is everything there?
    sys.exit(0 if (here / "well").exists() else 1)
if "-c" in words and words[0] != "-m":
    print({version!r})
if words[:4] == ["-m", "pip", "config", "list"] and (here.parent / "settings.txt").exists():
    print((here.parent / "settings.txt").read_text())
if words[:4] == ["-m", "uv", "pip", "install"]:
    with open(here.parent / "uv.txt", "a") as file:
        for name in sorted(os.environ):
            if name[:3] in ("UV_", "SSL", "ALL"):
                print(name, os.environ[name], sep="=", file=file)
    if (here.parent / "no-uv.txt").exists():
        sys.exit(2)
    cache = here / "uv-cache"
    cache.mkdir()
    (here / "well").touch()
if words[:3] == ["-m", "pip", "install"]:
    failure = here.parent / ("no-such-uv.txt" if words[-1] == "uv" else "fail.txt")
    if words[-1] == "uv" and not failure.exists():
        failure = here.parent / "fail.txt"
    log = pathlib.Path(words[words.index("--log") + 1])
    log.write_text(failure.read_text() if failure.exists() else "well")
    if failure.exists():
        sys.exit(1)
    (here / "well").touch()
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A copy of what start.py needs, in which making .venv gives a Python that only pretends. Its folder is named as folders are."""
    if os.name == "nt":
        pytest.skip("the pretended Python is a script")
    tmp_path = tmp_path / "Übung #1, 100 % (Kopie)"
    for name in start.INSTALLED_FROM:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((ROOT / name).read_bytes())
    venv = tmp_path / ".venv"
    python = venv / "bin" / "python"
    version = "{}.{}".format(*sys.version_info[:2])
    for name, value in {
        "ROOT": str(tmp_path),
        "VENV": str(venv),
        "VENV_PYTHON": str(python),
        "STAMP": str(venv / "bertlook-installed.txt"),
        "LOG": str(venv / "bertlook-install.log"),
        "UV_CACHE": str(venv / "uv-cache"),
        "CONSTRAINTS": str(tmp_path / "constraints.txt"),
    }.items():
        monkeypatch.setattr(start, name, value)

    def succeeds(command, **options):
        if command[1:3] == ["-m", "venv"]:
            python.parent.mkdir(parents=True, exist_ok=True)
            python.write_text(FAKE_PYTHON.format(python=sys.executable, version=version))
            python.chmod(0o755)
            (venv / "well").unlink(missing_ok=True)
            with open(tmp_path / "calls.txt", "a") as file:
                print("made", file=file)
            return True
        return subprocess.run(command, check=False, **options).returncode == 0

    monkeypatch.setattr(start, "succeeds", succeeds)
    monkeypatch.setattr(start, "has_nvidia_gpu", lambda: False)
    return tmp_path


def calls(project, word="pip install"):
    """The calls of the pretended Python that hold a word, since last asked; forgets them."""
    path = project / "calls.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return [line for line in lines if word in line]


def test_the_first_start_installs_and_the_second_does_not(project, capsys):
    start.ensure_installed()
    bertviz, uv, rest = calls(project)
    assert bertviz.startswith("-m pip install") and bertviz.endswith("--no-deps bertviz")
    assert uv.startswith("-m pip install") and uv.endswith("--only-binary :all: uv")
    assert rest.startswith(f"-m uv pip install --python {start.VENV_PYTHON} ") and rest.endswith(
        "-e .[classic,slides]"
    )
    assert all("-c " + str(project / "constraints.txt") in call for call in (bertviz, uv, rest))
    said = capsys.readouterr().out
    assert all(step in said for step in ("[1/3]", "[2/3]", "[3/3]", "Installed."))
    assert not Path(start.LOG).exists() and not Path(start.UV_CACHE).exists()  # they are large

    start.ensure_installed()
    assert calls(project) == []
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("level", "extras"), [(start.TORCH, ".[lab]"), (start.TEST, ".[lab,test]")])
def test_more_is_added_when_asked_for_and_stays(project, level, extras):
    start.ensure_installed()
    calls(project)
    start.ensure_installed(level)
    made = calls(project, "")
    torch, _, rest = [line for line in made if "pip install" in line]
    assert "made" not in made and start.level_of(start.read_stamp()) == level
    assert torch.startswith("-m pip install") and "torch==2.13.0" in torch and "--no-deps" in torch
    assert rest.endswith(f"-e {extras}")
    start.ensure_installed(level)
    start.ensure_installed()
    assert calls(project) == []
    with open(project / "pyproject.toml", "a") as file:
        file.write("\n")
    start.ensure_installed()
    assert calls(project)[-1].endswith(f"-e {extras}")


@pytest.mark.parametrize(
    ("words", "level", "command"),
    [
        ([], "", ["-m", "bertlook_bench", "present"]),
        (["--torch"], "torch", ["-m", "bertlook_bench", "present"]),
        (["--torch", "--lab"], "torch", ["-m", "bertlook_bench", "lab"]),
        (["--torch", "present", "04"], "torch", ["-P", "-m", "bertlook_bench", "present", "04"]),
        (["present", "04"], "", ["-P", "-m", "bertlook_bench", "present", "04"]),
        (["--torch", "test", "--lf"], "test", ["-m", "pytest", "--lf"]),
    ],
)
def test_how_much_is_installed_for_which_command(monkeypatch, words, level, command):
    asked = []
    monkeypatch.setattr(start, "ensure_installed", asked.append)
    monkeypatch.setattr(start, "become", lambda *words: asked.append(list(words)))
    monkeypatch.chdir(ROOT)
    start.main(words)
    assert asked == [level, command]


def test_a_first_test_without_network_leaves_the_lecture(project):
    start.ensure_installed()
    before = start.read_stamp()
    (project / "fail.txt").write_text(OFFLINE)
    with pytest.raises(start.NoNetwork):
        start.ensure_installed(start.TEST)
    assert start.read_stamp() == before
    calls(project)
    start.ensure_installed()
    assert calls(project) == []


@pytest.mark.parametrize("name", start.INSTALLED_FROM)
def test_a_changed_file_is_installed_anew_in_the_same_venv(project, name):
    start.ensure_installed()
    calls(project)
    with open(project / name, "a") as file:
        file.write("\n")
    start.ensure_installed()
    made = calls(project, "")
    assert len([call for call in made if "pip install" in call]) == 3
    assert "made" not in made


def test_an_interrupted_installation_is_taken_up_again(project, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(start, "uv", interrupt)
        with pytest.raises(KeyboardInterrupt):
            start.ensure_installed()
    assert start.read_stamp() == ""
    calls(project)
    start.ensure_installed()
    made = calls(project, "")
    assert len([call for call in made if "pip install" in call]) == 3
    assert "made" not in made  # what was downloaded is kept


def test_an_installation_interrupted_in_an_update_is_taken_up_again(project, monkeypatch):
    start.ensure_installed()
    (project / "constraints.txt").write_text((project / "constraints.txt").read_text() + "\n")
    with monkeypatch.context() as context:
        context.setattr(start, "install_packages", lambda level: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            start.ensure_installed()
    (project / "constraints.txt").write_text(
        (project / "constraints.txt").read_text()[:-1]
    )  # as it was before
    calls(project)
    start.ensure_installed()
    assert len(calls(project)) == 3


def test_what_an_interruption_left_broken_is_made_again(project, monkeypatch):
    start.ensure_installed()
    os.remove(start.STAMP)
    calls(project)
    answers = iter([False, True])
    monkeypatch.setattr(start, "works", lambda level, show=False: next(answers))
    start.ensure_installed()
    made = [
        call if call == "made" else call.split()[1]
        for call in calls(project, "")
        if call == "made" or "install" in call
    ]
    assert made == "pip pip uv made pip pip".split()  # the second time without uv, lest it was its doing


def test_what_stays_broken_is_said(project, monkeypatch):
    monkeypatch.setattr(start, "works", lambda level, show=False: False)
    with pytest.raises(start.Trouble, match="The installation is not complete"):
        start.ensure_installed()
    assert start.read_stamp() == ""


@pytest.mark.parametrize("damage", ["no python", "python does not run", "another version"])
def test_a_broken_venv_is_made_again(project, damage, capsys):
    start.ensure_installed()
    calls(project)
    python = Path(start.VENV_PYTHON)
    if damage == "no python":
        python.unlink()
    elif damage == "python does not run":
        python.write_text("#!/nowhere/python\n")
    else:
        python.write_text(python.read_text().replace("{}.{}".format(*sys.version_info[:2]), "3.9"))
    capsys.readouterr()
    start.ensure_installed()
    assert "made" in calls(project, "")
    assert "again (it" in capsys.readouterr().out


def test_without_network_the_first_start_says_so(project, capsys):
    (project / "fail.txt").write_text(OFFLINE)
    with pytest.raises(start.NoNetwork, match="The first start needs the network"):
        start.ensure_installed()
    assert start.read_stamp() == ""


def test_without_network_an_update_waits_and_class_begins(project, capsys):
    start.ensure_installed()
    before = start.read_stamp()
    (project / "pyproject.toml").write_text((project / "pyproject.toml").read_text() + "\n")
    (project / "fail.txt").write_text(OFFLINE)
    start.ensure_installed()
    assert "No network: starting with what was installed before" in capsys.readouterr().out
    assert start.read_stamp() == before  # so the next start tries again


def test_a_disk_that_fills_up_is_said(project):
    (project / "fail.txt").write_text("OSError: [Errno 28] No space left on device")
    with pytest.raises(start.Trouble, match="The disk is full"):
        start.ensure_installed()


def test_what_uv_cannot_do_pip_does(project, capsys):
    (project / "no-uv.txt").touch()
    start.ensure_installed()
    assert [call.split()[1] for call in calls(project)] == ["pip", "pip", "uv", "pip"]
    assert "uv, the faster installer, did not work here; pip does the rest" in capsys.readouterr().out
    assert start.read_stamp()


def test_where_there_is_no_uv_pip_does_all(project, capsys):
    (project / "no-such-uv.txt").write_text("ERROR: No matching distribution found for uv==0.13.9")
    start.ensure_installed()
    *_, rest = made = calls(project)
    assert [call.split()[1] for call in made] == ["pip", "pip", "pip"]
    assert rest.endswith("-e .[classic,slides]")
    assert "pip does the rest" in capsys.readouterr().out
    assert start.read_stamp()


def test_without_network_pip_is_not_asked_after_uv(project):
    (project / "no-such-uv.txt").write_text(OFFLINE)
    with pytest.raises(start.NoNetwork):
        start.ensure_installed()
    assert [call.split()[-1] for call in calls(project)][-1] == "uv"


SETTINGS = r"""
:env:.index-url='https://me:secret@one.example/simple'
:env:.timeout='180'
global.index-url='https://two.example/simple'
global.extra-index-url='file:///a/simple\nfile:///b/simple'
global.find-links='/wheels /more'
global.cert='/etc/certificates.pem'
install.trusted-host='three.example'
install.quiet=1
install.odd=not quoted
"""


def test_uv_asks_where_pip_would_and_shows_no_password(project, monkeypatch):
    for name in list(os.environ):
        if name[:3] in ("UV_", "SSL", "ALL"):
            monkeypatch.delenv(name)
    (project / "settings.txt").write_text(SETTINGS)
    start.ensure_installed()
    told = dict(line.split("=", 1) for line in (project / "uv.txt").read_text().splitlines())
    assert told == {
        "SSL_CERT_FILE": "/etc/certificates.pem",
        "UV_CACHE_DIR": start.UV_CACHE,
        "UV_DEFAULT_INDEX": "https://me:secret@one.example/simple",
        "UV_EXTRA_INDEX_URL": "file:///a/simple file:///b/simple",
        "UV_FIND_LINKS": "/wheels,/more",
        "UV_HTTP_TIMEOUT": "180",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_INSECURE_HOST": "three.example",
        "UV_SYSTEM_CERTS": "true",
    }
    assert "secret" not in "\n".join(calls(project, ""))


def test_what_is_set_for_uv_itself_counts_more(monkeypatch):
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://mine.example/simple")
    environment = start.uv_environment({"index-url": "https://pips.example/simple"})
    assert environment["UV_DEFAULT_INDEX"] == "https://mine.example/simple"


def wheel(folder, name, version, needs=""):
    """A wheel with nothing in it but its name."""
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as file:
        file.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}")
        file.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        file.writestr(f"{info}/RECORD", "")


def test_uv_leaves_the_build_of_torch_that_pip_has_chosen(tmp_path):
    """With the real uv: "2.13.0+cpu" is 2.13.0 to it, and what the index offers under that name is gigabytes larger."""
    pytest.importorskip("uv", reason="start.py installs uv")
    wheel(tmp_path, "torch", "2.13.0")
    wheel(tmp_path, "torch", "2.13.0+cpu")
    wheel(tmp_path, "uses_torch", "1", "Requires-Dist: torch>=2.4\n")
    venv.create(tmp_path / "venv")
    python = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    environment = {**os.environ, "UV_CACHE_DIR": str(tmp_path / "cache")}
    for wanted in ("torch==2.13.0+cpu", "uses_torch"):
        command = [sys.executable, "-m", "uv", "pip", "install", "--python", str(python), "--no-index"]
        command += ["--offline", "--find-links", tmp_path, "-c", ROOT / "constraints.txt", wanted]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert [path.name for path in (tmp_path / "venv").rglob("torch-*.dist-info")] == [
        "torch-2.13.0+cpu.dist-info"
    ]


def test_a_pip_without_index_means_a_uv_without(project):
    (project / "settings.txt").write_text("global.no-index='true'")
    start.ensure_installed()
    assert "--no-index" in calls(project)[-1]


# --- the command line -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("", "-m bertlook_bench present"),
        (
            "--deck 03 --port 9000 --no-browser",
            "-m bertlook_bench present 03 --port 9000 --no-browser",
        ),
        ("--classic", "-m bertlook_bench present --classic"),
        ("--lab", "-m bertlook_bench lab"),
        ("--lab --deck 3", "-m bertlook_bench lab 3"),
        ("test", f"-m pytest -n {start.PROCESSES} --dist loadscope --no-loadscope-reorder"),
        ("test --exact", f"-m pytest -n {start.PROCESSES} --dist loadscope --no-loadscope-reorder --exact"),
        ("test --all", f"-m pytest -n {start.PROCESSES} --dist loadscope --no-loadscope-reorder --all"),
        ("test -q -x", f"-m pytest -n {start.PROCESSES} --dist loadscope --no-loadscope-reorder -q -x"),
        ("test --lf", "-m pytest --lf"),
        ("test measures -x", f"-m pytest {ROOT / 'tests' / 'measures'} -x"),
        ("test --exact slides/03.ipynb", "-m pytest --exact slides/03.ipynb"),
        ("test -x -k words --durations=3", "-m pytest -x -k words --durations=3"),
        ("present 06 --route 20", "-P -m bertlook_bench present 06 --route 20"),
        ("export test --help", "-P -m bertlook_bench export test --help"),
        ("doctor", "-P -m bertlook_bench doctor"),
    ],
)
def test_what_is_started(line, command, monkeypatch, tmp_path):
    """A command of bertlook stays in the folder where it was typed, since it names the user's files; all else runs in the project."""
    started = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(start, "ensure_installed", lambda testing: None)
    monkeypatch.setattr(start, "become", lambda *arguments: started.append((" ".join(arguments), Path.cwd())))
    start.main(line.split())
    assert started == [(command, tmp_path.resolve() if command.startswith("-P") else ROOT)]


INTERRUPTED = """
import importlib.util, os, signal, sys
assert importlib.util.find_spec("own") is None, "a file of the folder was taken for a module"
assert sys.argv[1:] == ["doctor", "--quick"]
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets what it runs in the background ignore it
try:
    os.kill(os.getpid(), signal.SIGINT)
    signal.pause()
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signal of this kind")
@pytest.mark.parametrize(("script", "code"), [("raise SystemExit(7)", 7), (INTERRUPTED, 130)])
def test_a_command_passed_on_gives_its_exit_code_and_gets_control_c(script, code, tmp_path):
    """Through the real start.py, with a bertlook_bench that only ends in one of these ways."""
    package = tmp_path / "packages" / "bertlook_bench"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(script)
    (tmp_path / "own.py").touch()
    lines = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); import start; "
        "start.VENV_PYTHON, start.ensure_installed = sys.executable, lambda testing: None; "
        "sys.exit(start.main(['doctor', '--quick']))"
    )
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    done = subprocess.run(
        [sys.executable, "-c", lines],
        check=False,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == code, done.stderr


def test_the_help_says_that_other_words_are_passed_on(capsys):
    with pytest.raises(SystemExit):
        start.main(["--help"])
    said = capsys.readouterr().out
    assert "Any other word is a command of bertlook" in said and "start.py present 06 --route 20" in said


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (start.Trouble("what is wrong, and what to do"), 1, "\nwhat is wrong, and what to do\n"),
        (KeyboardInterrupt(), 130, "continues where it stopped"),
        (OSError(errno.ENOSPC, "No space left on device"), 1, FULL),
    ],
    ids=["trouble", "interrupted", "full disk"],
)
def test_what_ends_a_start_is_said_on_stderr_without_a_traceback(error, code, said, monkeypatch, capsys):
    def stop(testing):
        raise error

    monkeypatch.setattr(start, "ensure_installed", stop)
    assert start.main([]) == code
    printed = capsys.readouterr().err
    assert said in printed and "Traceback" not in printed


def test_an_option_that_does_not_exist_installs_nothing(monkeypatch, capsys):
    monkeypatch.setattr(start, "ensure_installed", lambda testing: pytest.fail("installed"))
    with pytest.raises(SystemExit):
        start.main(["--prot", "9000"])


def test_the_python_of_the_venv_is_where_windows_puts_it():
    """start.py imports only modules of the standard library, which cannot be imported as if on Windows; so read its line."""
    (line,) = [
        line for line in (ROOT / "start.py").read_text().splitlines() if line.startswith("VENV_PYTHON =")
    ]
    for system, ending in {"nt": ["Scripts", "python.exe"], "posix": ["bin", "python"]}.items():
        stand_in = type("os", (), {"name": system, "path": os.path})
        path = eval(line.split("=", 1)[1], {"os": stand_in, "VENV": ".venv"})
        assert path == os.path.join(".venv", *ending)


def test_a_port_in_use_is_said_with_the_flag_that_helps():
    """Through the real command, as a teacher meets it; the package is installed here already."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        command = [sys.executable, "-m", "bertlook_bench", "present", "--no-browser", "--port", str(port)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert f"port {port} is in use. Choose another with --port N" in done.stderr


def test_what_was_installed_stays_when_an_update_is_interrupted_or_torch_cannot_be_had(project, monkeypatch):
    start.ensure_installed(start.TORCH)
    with open(project / "pyproject.toml", "a") as file:
        file.write("\n")

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(start, "uv", interrupt)
        with pytest.raises(KeyboardInterrupt):
            start.ensure_installed()
    start.ensure_installed()
    assert start.level_of(start.read_stamp()) == start.TORCH and calls(project)[-1].endswith("-e .[lab]")

    def none_for_this_computer():
        raise start.Trouble("There is no PyTorch for this computer")

    monkeypatch.setattr(start, "install_torch", none_for_this_computer)
    before = start.read_stamp()
    with pytest.raises(start.Trouble, match="no PyTorch"):
        start.ensure_installed(start.TEST)
    assert start.read_stamp() == before
