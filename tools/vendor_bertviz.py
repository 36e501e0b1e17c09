"""Write bertlook_teach/render/heads/vendor/ anew: BertViz's three drawing scripts and the two libraries they need.

    pip download --no-deps bertviz==1.4.1
    npm install --no-save d3@5.16.0 jquery@3.7.1 esbuild@0.28.2
    python tools/vendor_bertviz.py bertviz-1.4.1-py3-none-any.whl node_modules

BertViz fetches require.js, jQuery and d3 from a CDN while the page is open, so offline it draws nothing. Here each of its
scripts becomes a plain function that is given its data, jQuery and d3. Every change is one line of CHANGES, and must fit
exactly as often as it says: a new BertViz that reads otherwise stops this tool, and nothing is written.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENDOR = ROOT / "bertlook_teach" / "render" / "heads" / "vendor"
VERSIONS = {"bertviz": "1.4.1", "d3": "5.16.0", "jquery": "3.7.1"}

# All that BertViz's scripts use of d3: a tenth of the library.
D3_ENTRY = """\
export { hsl } from "d3-color";
export { scaleOrdinal } from "d3-scale";
export { schemeCategory10 } from "d3-scale-chromatic";
export { select, selectAll } from "d3-selection";
export { line } from "d3-shape";
export { version } from "d3/dist/package.js";
"""


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
        (r" k \(elementwise\)'", " k'", 1),
        (r"20 \+ \"px\"\)", '24 + "px")', 1),
    ],
}

NOTICE = """\
/*
 * From BertViz {version} ({file}), by Jesse Vig, licensed under the Apache License 2.0 (LICENSE-bertviz.txt).
 * Changed: it asks no CDN for jQuery and d3 but is given them with its data; some sizes; it writes nothing to the
 * console. tools/vendor_bertviz.py lists every change.
 */
"""


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
                f"This BertViz is not {VERSIONS['bertviz']}: read its script and write CHANGES anew."
            )
    if re.search(r"https?://(?!www\.w3\.org/)", re.sub(r"(?s)/\*.*?\*/", "", text)):
        raise Changed(f"{name} still names an address to fetch from.")
    return text


def bertviz_scripts(wheel: Path) -> dict[str, str]:
    """The files made from BertViz's wheel, by name."""
    files = {}
    with zipfile.ZipFile(wheel) as archive:
        for view, changes in CHANGES.items():
            text = archive.read(f"bertviz/{view}.js").decode("utf-8")
            notice = NOTICE.format(version=VERSIONS["bertviz"], file=f"bertviz/{view}.js")
            files[f"bertviz_{view}.js"] = notice + changed(text, changes, view)
        [licence] = [name for name in archive.namelist() if name.endswith("/LICENSE")]
        files["LICENSE-bertviz.txt"] = archive.read(licence).decode("utf-8")
    return files


def library_scripts(modules: Path) -> dict[str, str]:
    """The files made from npm's folder, by name: jQuery as it is, of d3 what is used."""
    for package in ("d3", "jquery"):
        said = re.search(
            r'"version": "([^"]+)"', (modules / package / "package.json").read_text("utf-8")
        ).group(1)
        if said != VERSIONS[package]:
            raise Changed(f"{package} must be {VERSIONS[package]}; {modules} holds {said}.")
    with tempfile.TemporaryDirectory(dir=modules.parent) as folder:
        entry = Path(folder) / "entry.js"
        entry.write_text(D3_ENTRY, encoding="utf-8")
        command = [
            modules / ".bin" / "esbuild",
            entry,
            "--bundle",
            "--minify",
            "--format=iife",
            "--global-name=d3",
        ]
        d3 = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    head = f"/*! d3 {VERSIONS['d3']}, the parts BertViz uses. Copyright 2010-2020 Mike Bostock, BSD-3-Clause (LICENSE-d3.txt) */\n"
    jquery = modules / "jquery"
    return {
        "d3.min.js": head + d3,
        "jquery.slim.min.js": (jquery / "dist" / "jquery.slim.min.js").read_text("utf-8"),
        "LICENSE-d3.txt": (modules / "d3" / "LICENSE").read_text("utf-8"),
        "LICENSE-jquery.txt": (jquery / "LICENSE.txt").read_text("utf-8"),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wheel", type=Path)
    parser.add_argument("modules", type=Path, help="npm's node_modules")
    args = parser.parse_args(arguments)
    try:
        files = {**bertviz_scripts(args.wheel), **library_scripts(args.modules)}
    except Changed as error:
        print(error, file=sys.stderr)
        return 1
    VENDOR.mkdir(exist_ok=True)
    for name, text in files.items():
        (VENDOR / name).write_text(text, encoding="utf-8", newline="\n")
    print(f"{len(files)} files, {sum(map(len, files.values())) // 1000} kB in {VENDOR.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
