"""BertViz's drawing scripts, read from the installed package and adapted when they are needed.

BertViz fetches require.js, jQuery and d3 from a CDN while the page is open, so offline it draws nothing. Here each of its
scripts becomes a plain function that is given its data, jQuery and d3. Every change is one line of CHANGES, and must fit
exactly as often as it says: a BertViz that reads otherwise is refused. The package itself is not imported to read them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from bertlook_teach.disk import install_command

VERSION = "1.4.1"

_D3 = Path(__file__).parent / "vendor" / "d3.min.js"

_JQUERY = "static/components/jquery/dist/jquery.min.js"


class Changed(ValueError):
    """A script does not read as this tool expects."""


def constant(name: str, old: int, new: int) -> tuple[str, str, int]:
    """A size in pixels, changed: BertViz's smallest type grows with its boxes."""
    return rf"const {name} = {old};", f"const {name} = {new};", 1


# (pattern, replacement, how often it must be found)
LOADER = [
    (r"(?s)\nrequire\.config\(\{.*?\}\);\n", "\n", 1),
    (r"requirejs\(\['jquery', 'd3'\],\s*function ?\(\$, d3\) \{", "(function ($, d3, params) {", 1),
    (r"\}\);\s*\Z", "})(window.jQuery, window.d3, window.bertvizParams);\n", 1),
]
CHANGES = {
    "head_view": [
        *LOADER,
        (r"\n +const params = PYTHON_PARAMS;[^\n]*", "", 1),
        (r"\n +console\.log\(\"d3 version\", d3\.version\)", "", 1),
        constant("TEXT_SIZE", 15, 18),
        constant("BOXWIDTH", 110, 132),
    ],
    "model_view": [
        *LOADER,
        (r"\n +const params = PYTHON_PARAMS;[^\n]*", "", 1),
        (r"\n +console\.log\(\"x\", x, y\)", "", 1),
        # The picture fits the height it is given; its details have type that can be read from the last row.
        (r"= 7 \* \(12 / config\.totalHeads\);", "= params['thumbnail_box_height'];", 1),
        constant("DIV_WIDTH", 970, 900),
        constant("DETAIL_WIDTH", 300, 470),
        constant("DETAIL_ATTENTION_WIDTH", 140, 170),
        constant("DETAIL_BOX_WIDTH", 80, 150),
        constant("DETAIL_BOX_HEIGHT", 18, 30),
        constant("DETAIL_HEADING_HEIGHT", 25, 38),
        constant("HEADING_TEXT_SIZE", 15, 24),
        constant("TEXT_SIZE", 13, 24),
    ],
    "neuron_view": [
        *LOADER,
        (r"\n +const params = window\.bertviz_params\n", "\n", 1),
        # A page may carry only some layers, and may open with one token's computation in view.
        (
            r"layerSelect\.append\(\$\(\"<option />\"\)\.val\(i\)\.text\(i\)\);",
            "layerSelect.append($(\"<option />\").val(i).text(params['include_layers'][i]));",
            1,
        ),
        (
            r"(config\.initialTextLength = attentionFilter\.right_text\.length;\n +)config\.expanded = false;",
            r"\1config.index = params['query'];\n            config.expanded = params['query'] !== null;",
            1,
        ),
        (
            r"\n        render\(\);\n\n(    \}\)\()",
            r"\n        render();\n        if (config.expanded) { showExpanded(); }\n\n\1",
            1,
        ),
        # Room for type that can be read from the last row: narrower vectors, a shorter heading.
        constant("HEADING_TEXT_SIZE", 16, 24),
        constant("TEXT_SIZE", 15, 24),
        constant("MATRIX_WIDTH", 200, 140),
        constant("PADDING_WIDTH", 25, 14),
        constant("BOXHEIGHT", 26, 28),
        constant("HEIGHT_PADDING", 100, 48),
        (r"posQueries \+ 68\)", "posQueries + 25)", 1),
        (r"posKeys \+ 73\)", "posKeys + 40)", 1),
        (r"posProduct \+ 28\)", "posProduct + 40)", 1),
        (r"posProduct \+ 55\)", "posProduct)", 1),
        (r"posDotProduct - 6\)", "posDotProduct - 24)", 1),
        (r" k \(elementwise\)'", " k'", 1),
        (r"20 \+ \"px\"\)", '24 + "px")', 1),
    ],
}


def changed(text: str, changes: Sequence[tuple[str, str, int]], name: str) -> str:
    """The text with every change made, each exactly as often as it must be.

    Raises
    ------
    Changed
        If a pattern is found more or less often.
    """
    for pattern, replacement, expected in changes:
        text, found = re.subn(pattern, replacement, text)
        if found != expected:
            raise Changed(
                f"{name}: expected {expected} of {pattern!r}, found {found}. "
                f"This BertViz is not {VERSION}: install bertviz=={VERSION}."
            )
    if re.search(r"https?://(?!www\.w3\.org/)", re.sub(r"(?s)/\*.*?\*/", "", text)):
        raise Changed(f"{name} still names an address to fetch from.")
    return text


NOTICE = f"""\
/*
 * From BertViz {VERSION} ({{file}}), by Jesse Vig, licensed under the Apache License 2.0.
 * Changed: it asks no CDN for jQuery and d3 but is given them with its data; some sizes; it writes nothing to the
 * console. bertlook_press/bertviz/scripts.py lists every change.
 */
"""


def _installed(package: str, file: str, remedy: str) -> str:
    """A file of an installed package, which is not imported for it."""
    found = find_spec(package)
    path = Path(found.submodule_search_locations[0]) / file if found else None
    if path is None or not path.is_file():
        raise ModuleNotFoundError(
            f"BertViz's views need the package {package}, which is not installed: {remedy}"
        )
    return path.read_text(encoding="utf-8")


def _original(view: str) -> str:
    return _installed("bertviz", f"{view}.js", f"pip install bertviz=={VERSION}")


@cache
def bertviz_script(view: str) -> str:
    """The script of "head_view", "model_view" or "neuron_view" for a frame of ours."""
    return NOTICE.format(file=f"bertviz/{view}.js") + changed(_original(view), CHANGES[view], view)


@cache
def jquery_script() -> str:
    """jQuery, as the classic notebook brings it."""
    return _installed("nbclassic", _JQUERY, install_command("classic"))


def d3_script() -> str:
    """The parts of d3 that BertViz's scripts use."""
    return _D3.read_text(encoding="utf-8")
