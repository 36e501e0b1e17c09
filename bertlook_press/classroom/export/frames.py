"""What the frames of a page have in common, kept once: three of BertViz's views hold its libraries three times."""

from __future__ import annotations

import re
from collections import Counter
from html import unescape
from itertools import groupby

LONG = 1000  # characters: shorter pieces are not worth a number

_FRAME = re.compile(r'(<iframe\b[^>]*?) srcdoc="([^"]*)"')

_PIECES = re.compile(r"(?<=\n)|(?<=\]{4},)")  # lines; the maps of all heads stand before other data on one


def shared_frames(markup: str) -> tuple[str, dict[str, list]]:
    """Take out the texts of frames that have long pieces in common.

    Parameters
    ----------
    markup : str

    Returns
    -------
    markup : str
        Such a frame has its number, ``data-frame``, in place of its text.
    texts : dict
        ``pieces``: list of str, each once; ``frames``: of each frame the numbers of its pieces, in order. `page/start.js` joins them.
    """
    split = [_PIECES.split(unescape(text)) for _, text in _FRAME.findall(markup)]
    times = Counter(piece for pieces in split for piece in set(pieces) if len(piece) > LONG)
    pieces: dict[str, int] = {}
    frames: list[list[int]] = []
    waiting = iter(split)

    def numbered(frame: re.Match) -> str:
        runs = groupby(next(waiting), key=lambda piece: piece if times[piece] > 1 else None)
        runs = [(shared, "".join(run)) for shared, run in runs]
        if not any(shared for shared, _ in runs):
            return frame[0]
        frames.append([pieces.setdefault(text, len(pieces)) for _, text in runs])
        return f'{frame[1]} data-frame="{len(frames) - 1}"'

    return _FRAME.sub(numbered, markup), {"pieces": list(pieces), "frames": frames}
