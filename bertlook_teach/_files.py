"""Write a file, and say what to do where that is not possible."""

from __future__ import annotations

from pathlib import Path


def write_file(path, content: str | bytes) -> Path:
    """Write text (UTF-8, line ends as given) or bytes; missing folders are made.

    Raises
    ------
    OSError
        If the folder cannot be made or written to, with what to do.
    """
    path = Path(path)
    data = content.encode("utf-8") if isinstance(content, str) else content
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise type(error)(
            error.errno,
            f"{path} cannot be written ({error.strerror or error}). Give a path in a folder of your own, for example in {Path.home()}",
        ) from None
    return path
