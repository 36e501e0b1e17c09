"""reveal.js, taken out of the installed jupyterlab-rise: the exported slideshow runs the very code of the live one.

jupyterlab-rise ships reveal.js bundled; the source maps beside its bundles hold the files as they were. What is taken is
compared with checksums, so that another version is noticed here and not in class.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from bertlook_teach.disk import install_command

from .errors import ExportError

VERSION = "4.4.0"

# SHA-256 of the three files of reveal.js 4.4.0 (MIT) in jupyterlab-rise 0.43.1, as given by `_original`.
CHECKSUMS = {
    "dist/reveal.esm.js": "36bc206516f91f119399ff96ca8d560f0e8fdd2229c3ade585da98c246b02c80",
    "dist/reveal.css": "c6aebdae68b9ed49c3be9adb60136d1eca0507d412ead2b2d89d7eb6366fe1df",
    "dist/theme/white.css": "bf59df9ecd8563ac1da668571397dd454048f493e0feddcc565df7eedc40fad4",
}

# The typeface of the white theme, Source Sans Pro (SIL Open Font License): with another one, controls that stand in one line
# in class stand in two. Weight, file, SHA-256.
FONTS = (
    (400, "d4eaa48ba450f4dd2d02.woff", "d4eaa48ba450f4dd2d024ab5b0e895c73c81475718e5453fd1890254c16b7a57"),
    (600, "b0abd2736335424f9fd3.woff", "b0abd2736335424f9fd3eb27974a36d03783b3db141e0801dca7d3a635218b46"),
)

_OTHER = (
    "Install the versions of constraints.txt (python3 start.py does), or look at an export with the new one and write its "
    "checksums anew."
)


def reveal_file(name: str) -> str:
    """One file of reveal.js, as its authors wrote it.

    Parameters
    ----------
    name : str
        A path inside reveal.js: "dist/reveal.esm.js", "dist/theme/white.css".

    Raises
    ------
    ExportError
        If jupyterlab-rise is not installed, or holds another reveal.js.
    """
    found = _originals().get(name)
    if found is None:
        known = sorted(n[11:-4] for n in _originals() if n.startswith("dist/theme/") and "/" not in n[11:])
        raise ExportError(
            f"jupyterlab-rise does not carry reveal.js's {name}; its themes are {', '.join(known)}."
        )
    expected = CHECKSUMS.get(name)
    if expected and hashlib.sha256(found.encode("utf-8")).hexdigest() != expected:
        raise ExportError(
            f"the installed jupyterlab-rise holds another {name} than reveal.js {VERSION}'s. {_OTHER}"
        )
    return found


def _folder() -> Path:
    spec = find_spec("jupyterlab_rise")
    folder = Path(spec.origin).parent / "static" if spec and spec.origin else None
    if folder is None or not folder.is_dir():
        raise ExportError(
            "jupyterlab-rise, which brings the slideshow, is not installed. Start with `python3 start.py`, or install it: "
            f"{install_command('slides')}"
        )
    return folder


@cache
def _originals() -> dict[str, str]:
    """Every file of reveal.js that the source maps of jupyterlab-rise hold, by its path."""
    folder = _folder()
    files: dict[str, str] = {}
    for path in sorted(folder.glob("*.js.map")):
        text = path.read_text(encoding="utf-8")
        if "node_modules/reveal.js/" not in text:
            continue
        content = json.loads(text)
        for source, original in zip(content["sources"], content.get("sourcesContent", [])):
            name = source.partition("node_modules/reveal.js/")[2]
            if name and "?" not in name:
                files[name] = _original(original)
    if not files:
        raise ExportError(f"{folder} holds no reveal.js. Is this jupyterlab-rise 0.43?")
    return files


def _original(text: str) -> str:
    """A style sheet comes wrapped into a module that holds the sheet itself once more, as it was."""
    if not text.startswith("// Imports\nimport ___CSS_LOADER"):
        return text
    wrapped = re.search(r'"sourcesContent":\[("(?:[^"\\]|\\.)*")', text)
    return json.loads(wrapped.group(1)) if wrapped else ""


def script(name: str, variable: str) -> str:
    """A module of reveal.js as a plain script that sets one variable."""
    text = re.sub(r"\n//# sourceMappingURL=\S*\s*$", "", reveal_file(name).rstrip())
    text, count = re.subn(r"export default (\S+?);?\s*$", r"return \1;", text)
    if count == 0:
        text, count = re.subn(r"export\s*default\s*", "return ", text)
    if count != 1:
        raise ExportError(f"reveal.js's {name} does not end as expected: {text[-80:]!r}.")
    return f"const {variable} = (() => {{\n{text}\n}})();"


def style(name: str) -> str:
    """A style sheet of reveal.js without what it would fetch (fonts)."""
    return re.sub(r"@import\s+url\([^)]*\);?", "", reveal_file(name))


@cache
def typeface() -> str:
    """The white theme's typeface as a style sheet that carries it."""
    rules = []
    for weight, name, expected in FONTS:
        path = _folder() / name
        content = path.read_bytes() if path.is_file() else b""
        if hashlib.sha256(content).hexdigest() != expected:
            raise ExportError(f"the installed jupyterlab-rise does not hold the typeface {name}. {_OTHER}")
        data = base64.b64encode(content).decode("ascii")
        rules.append(
            f'@font-face {{ font-family: "Source Sans Pro"; font-weight: {weight}; '
            f'src: url(data:font/woff;base64,{data}) format("woff"); }}'
        )
    return "\n".join(rules)
