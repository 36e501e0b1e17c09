"""Write bertlook_teach/render/heads/vendor/d3.min.js anew: the parts of d3 that BertViz's scripts use.

npm install --no-save d3@5.16.0 esbuild@0.28.2
python tools/vendor_d3.py node_modules
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENDOR = ROOT / "bertlook_teach" / "render" / "heads" / "vendor"
VERSION = "5.16.0"

# All that BertViz's scripts use of d3: a tenth of the library.
D3_ENTRY = """\
export { hsl } from "d3-color";
export { scaleOrdinal } from "d3-scale";
export { schemeCategory10 } from "d3-scale-chromatic";
export { select, selectAll } from "d3-selection";
export { line } from "d3-shape";
export { version } from "d3/dist/package.js";
"""


def d3_script(modules: Path) -> str:
    """What is used of d3, in one script."""
    said = re.search(r'"version": "([^"]+)"', (modules / "d3" / "package.json").read_text("utf-8")).group(1)
    if said != VERSION:
        raise ValueError(f"d3 must be {VERSION}; {modules} holds {said}.")
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
    head = f"/*! d3 {VERSION}, the parts BertViz uses. Copyright 2010-2020 Mike Bostock, BSD-3-Clause (LICENSE-d3.txt) */\n"
    return head + d3


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("modules", type=Path, help="npm's node_modules")
    args = parser.parse_args(arguments)
    try:
        script = d3_script(args.modules)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    VENDOR.mkdir(exist_ok=True)
    (VENDOR / "d3.min.js").write_text(script, encoding="utf-8", newline="\n")
    (VENDOR / "LICENSE-d3.txt").write_text(
        (args.modules / "d3" / "LICENSE").read_text("utf-8"), encoding="utf-8", newline="\n"
    )
    print(f"{len(script) // 1000} kB in {VENDOR.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
