"""Where the shipped data lie: in a checkout beside the package, in an installed wheel inside it."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def course_folder() -> Path:
    """The folder that holds ``slides`` and ``notebooks``: the checkout around the package, else the current folder."""
    checkout = _PACKAGE.parent
    return checkout if (checkout / "slides").is_dir() else Path.cwd()


def shipped_course() -> Path:
    """The folder that holds ``slides`` and ``notebooks`` as installed: around the package, in a wheel inside it. Not for writing.

    Raises
    ------
    FileNotFoundError
        If the package was installed without them.
    """
    for folder in (_PACKAGE.parent, _PACKAGE):
        if (folder / "slides").is_dir():
            return folder
    raise FileNotFoundError(
        f"the decks of bertlook_teach are missing: looked beside {_PACKAGE} and inside it. "
        "Install a complete wheel, or a clone of the repository (pip install -e .)."
    )


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
