"""Which decks were walked through as they stand now.

A walk looks at every slide at three sizes and tries every control by key, which takes a minute or two. What it sees depends on the deck and
on what draws it, so a deck that is unchanged since a walk found nothing wrong need not be walked again: ``walks/NN.sha256`` holds the digest of
what was walked. ``python3 start.py test --all`` walks through all decks and writes these files.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).with_name("walks")
DRAWN_BY = (
    "slides/rise.css",
    "slides/theme/**/*",
    "bertlook_*/**/*.js",
    "bertlook_*/**/*.css",
    "bertlook_*/**/captions.py",
    "tests/browser/look.js",
)
ALL = bool(os.environ.get("BERTLOOK_ALL"))


def digest(deck: str) -> str:
    """Of a deck, with what it shows, and of all scripts and styles; the path is relative to the repository."""
    files = {path for pattern in DRAWN_BY for path in ROOT.glob(pattern) if path.is_file()}
    found = hashlib.sha256()
    for path in [ROOT / deck, *sorted(files)]:
        content = path.read_bytes().replace(b"\r\n", b"\n")
        found.update(f"{path.relative_to(ROOT).as_posix()} {len(content)}\n".encode() + content)
    return found.hexdigest()


def record_of(deck: str) -> Path:
    return FOLDER / f"{Path(deck).name[:2]}.sha256"


def is_known(deck: str) -> bool:
    """Whether the deck was walked through as it stands."""
    record = record_of(deck)
    return record.exists() and record.read_text(encoding="utf-8").strip() == digest(deck)


def keep(deck: str) -> None:
    FOLDER.mkdir(exist_ok=True)
    record_of(deck).write_text(digest(deck) + "\n", encoding="utf-8")
