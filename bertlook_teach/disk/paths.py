"""Where the shipped data lie: in a checkout beside the package, in an installed wheel inside it."""

from __future__ import annotations

import json
import os
import sys
from importlib import metadata
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def install_command(extra: str) -> str:
    """The command that adds an optional part, such as ``"torch"``, to this installation.

    The package is on no index, so the command names what pip can find: in a checkout its folder, elsewhere the wheel or the
    repository that pip was given when it installed the package, as it noted then (``direct_url.json``, PEP 610).
    """
    made_by_start = (
        Path(sys.prefix) == _PACKAGE.parent / ".venv"
        and (Path(sys.prefix) / "bertlook-installed.txt").is_file()
    )
    if extra == "torch" and made_by_start:
        return f"{'py' if os.name == 'nt' else 'python3'} start.py --torch"
    if (_PACKAGE.parent / "constraints.txt").is_file():
        return f'pip install -c constraints.txt -e ".[{extra}]"'
    try:
        noted = json.loads(metadata.distribution("bertlook_teach").read_text("direct_url.json") or "{}")
    except metadata.PackageNotFoundError:  # the folders alone were copied
        noted = {}
    place = noted.get("url", "")
    if repository := noted.get("vcs_info"):
        ref = repository.get("requested_revision") or repository["commit_id"]
        place = f"{repository['vcs']}+{place}@{ref}"
    return f'pip install "bertlook_teach[{extra}]' + (f' @ {place}"' if place else '"')


def data_path(*parts: str) -> Path:
    """Path inside the shipped ``data`` folder, for example ``data_path("texts", "paragraphs.txt")``.

    Raises
    ------
    FileNotFoundError
        If the package was installed without its data folder.
    """
    for folder in (_PACKAGE.parent / "data", _PACKAGE / "data"):
        if (folder / "model").is_dir():
            return folder.joinpath(*parts)
    raise FileNotFoundError(
        f"the data folder of bertlook_teach is missing: looked beside {_PACKAGE} and inside it. "
        "Install from a clone of the repository (pip install -e .) or from a complete wheel."
    )
