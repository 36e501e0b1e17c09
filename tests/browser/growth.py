"""How many bytes of an exported deck are there for recorded models."""

from __future__ import annotations

import json
import re
from pathlib import Path

ALLOWED = 400_000  # of a deck that is sent by mail and opened in a moment
_DATA = re.compile(r'<script type="application/json" id="bertlook-widgets">(.*?)</script>', re.DOTALL)
_PICTURE = re.compile(
    r'<svg\b[^>]*data-badge="[^"]*, recorded".*?</svg>|<img\b[^>]*alt="[^"]*, recorded\b[^>]*>', re.DOTALL
)


def recorded_bytes(page: Path) -> dict[str, int]:
    """Bytes of the recorded views' state, of scripts that only they use, and of their pictures for a page that is not live.

    Together that is at most what the deck would be smaller without recordings: other pictures would stand in the place of some.
    """
    source = page.read_text(encoding="utf-8")
    data = json.loads(_DATA.search(source)[1])
    models = {name: json.dumps(model, ensure_ascii=False) for name, model in data["models"].items()}
    recorded = {name for name, model in models.items() if ", recorded" in model}
    users: dict[int, set[str]] = {}
    for name, model in data["models"].items():
        if model.get("module") is not None:
            users.setdefault(model["module"], set()).add(name)
    scripts = [number for number, names in users.items() if names <= recorded]
    return {
        "views": sum(len(models[name].encode()) for name in recorded),
        "scripts": sum(len(data["modules"][number].encode()) for number in scripts),
        "pictures": sum(len(found[0].encode()) for found in _PICTURE.finditer(source)),
    }


if __name__ == "__main__":
    import sys

    for name in sys.argv[1:]:
        found = recorded_bytes(Path(name))
        print(f"{name}: {sum(found.values()):,} of {Path(name).stat().st_size:,} bytes are recorded: {found}")
