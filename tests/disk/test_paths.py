"""The command that installs a missing part names what pip can find: a checkout's folder, the wheel or the repository it came from."""

import json
import os
import re
from pathlib import Path

import pytest

from bertlook_teach.disk import install_command, paths

ROOT = Path(__file__).resolve().parents[2]
NAMED = re.compile(r"pip install (?!-e \.\)|--no-deps -e \.|pandas|pdoc|bertviz)[^`\n]*")


def installed_as(monkeypatch, folder, noted):
    """Pretend that pip has installed the package into ``folder``, and noted this of where it came from."""
    monkeypatch.setattr(paths, "_PACKAGE", folder / "bertlook_teach")
    distribution = type("distribution", (), {"read_text": lambda self, name: noted})
    monkeypatch.setattr(paths.metadata, "distribution", lambda name: distribution())


def test_in_a_checkout_pip_takes_its_folder_with_the_pinned_versions(monkeypatch, tmp_path):
    monkeypatch.setattr(paths.sys, "prefix", "/usr")
    assert install_command("torch") == 'pip install -c constraints.txt -e ".[torch]"'
    monkeypatch.setattr(paths, "_PACKAGE", tmp_path / "bertlook_teach")
    (tmp_path / "constraints.txt").touch()
    (tmp_path / ".venv").mkdir()
    monkeypatch.setattr(paths.sys, "prefix", str(tmp_path / ".venv"))  # somebody's own
    assert install_command("torch") == 'pip install -c constraints.txt -e ".[torch]"'
    (tmp_path / ".venv" / "bertlook-installed.txt").touch()  # made by start.py, which knows the rest
    assert install_command("torch") == f"{'py' if os.name == 'nt' else 'python3'} start.py --torch"


@pytest.mark.parametrize(
    ("noted", "place"),
    [
        ({"url": "file:///home/ada/bertlook_teach-0.1.0-py3-none-any.whl", "archive_info": {}},
         " @ file:///home/ada/bertlook_teach-0.1.0-py3-none-any.whl"),
        ({"url": "https://github.com/ada/course", "vcs_info": {"vcs": "git", "requested_revision": "main", "commit_id": "12ab"}},
         " @ git+https://github.com/ada/course@main"),
        ({"url": "https://github.com/ada/course", "vcs_info": {"vcs": "git", "commit_id": "12ab"}},
         " @ git+https://github.com/ada/course@12ab"),
        (None, ""),  # it came from an index, so it is there under its name
    ],
    ids=["wheel", "repository", "repository at a commit", "index"],
)  # fmt: skip
def test_elsewhere_it_takes_what_it_was_given(noted, place, monkeypatch, tmp_path):
    installed_as(monkeypatch, tmp_path, noted and json.dumps(noted))
    assert install_command("torch") == f'pip install "bertlook_teach[torch]{place}"'


def test_without_a_note_of_pip_the_name_is_left(monkeypatch, tmp_path):
    installed_as(monkeypatch, tmp_path, None)

    def missing(name):
        raise paths.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(paths.metadata, "distribution", missing)
    assert install_command("lab") == 'pip install "bertlook_teach[lab]"'


def test_no_page_and_no_message_names_the_package_on_an_index_where_it_is_not():
    """Pages give a wheel's file or a checkout's folder, programs ask `install_command`, notebooks `tools/links.py`."""
    pages = [
        ROOT / "README.md",
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("notebooks/*/*.ipynb"),
        *ROOT.glob("slides/*.ipynb"),
    ]
    pages += [path for path in ROOT.glob("bertlook_*/**/*.py") if path != Path(paths.__file__)]
    found = {
        f"{path.relative_to(ROOT)}: {line}"
        for path in pages
        if path.name != "decisions.md"
        for line in NAMED.findall(path.read_text(encoding="utf-8"))
        if re.search(r"\bbertlook", line)
        and not re.search(r"bertlook_teach-[\d.]+-py3-none-any\.whl|@ git\+https://", line)
    }
    assert found == set()
    assert NAMED.search('pip install "bertlook_teach[torch]"') and not NAMED.search("(pip install -e .)")
