"""One walk through a deck, in the real slideshow or in an exported file, that sees everything the tests ask about.

Opening a deck is dear, so it is opened once and walked through once: at the size of a laptop slide by slide with keys and
pictures, then at the other two sizes for room and type. look.js does the looking; what it complains of is kept by kind, and
one test for each kind reads its list.
"""

from __future__ import annotations

import base64
import io
import json
import os
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

LOOK = Path(__file__).with_name("look.js").read_text(encoding="utf-8")
SIZES = {"laptop": (1280, 720), "projector": (1024, 768), "hd": (1920, 1080)}
THUMB = (480, 270)

# Views are laid out anew when the frame changes, on a busy machine after a while; words and colours do not change by waiting.
PASSING = ("outside", "cut", "small")

# The largest empty rectangle of a slide, as a share of it, in squares of this many pixels.
UNUSED = 1 / 3
SQUARE = 16


@dataclass
class Walk:
    """What was seen: complaints by kind, each "slide N, size: what"."""

    slides: int = 0
    stops: int = 0  # controls that were tried by key
    wrong: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    unused: list[tuple[str, float]] = field(
        default_factory=list
    )  # heading of each slide, its largest empty part
    sheet: Path | None = None

    def add(self, where: str, found: dict[str, list[str]]) -> None:
        for kind, what in found.items():
            self.wrong[kind] += [f"{where}: {one}" for one in what]

    def complaints(self, *kinds: str) -> list[str]:
        """All of some kinds."""
        return [what for kind in kinds for what in self.wrong[kind]]

    def empty(self, meant=()) -> list[str]:
        """Slides, the emptiest first, with an empty part of more than a third that is not meant."""
        worst = sorted(((share, heading) for heading, share in self.unused), reverse=True)
        return [
            f"{share:.2f} {heading}" for share, heading in worst if share > UNUSED and heading not in meant
        ]

    def list(self, *kinds: str) -> str:
        """The same for a message, a line each."""
        return "\n" + "\n".join(self.complaints(*kinds))


def look(deck, *, everything: bool = True, patience: float = 4) -> dict[str, list[str]]:
    """What is wrong on the slide that is shown, once its views have been laid out, for which there are some seconds."""
    end = time.monotonic() + patience
    while True:
        found = deck.ask(f"bertlookTests.look({str(everything).lower()})")
        if not any(found[kind] for kind in PASSING) or time.monotonic() > end:
            return found
        deck.page.wait_for_timeout(120)


def try_keys(deck) -> tuple[int, list[str]]:
    """Go through the controls of the slide that is shown by Tab, and use each by key: how many, and what is wrong."""
    places = {None: deck.page.main_frame}  # and the frames of the slide, which have controls of their own
    prepared = deck.ask("bertlookTests.prepare()")
    wrong = [f"no key reaches {name}" for name in prepared["mouseOnly"]]
    missing = {(None, i): name for i, name in enumerate(prepared["stops"])}
    if not missing:
        return 0, wrong
    for frame in deck.page.frames[1:]:
        if frame.frame_element().evaluate(
            "node => node.checkVisibility() && !!node.closest('section.present section.present')"
        ):
            frame.evaluate(LOOK)
            inside = frame.evaluate("bertlookTests.prepare()")
            wrong += [f"no key reaches {name} in a frame" for name in inside["mouseOnly"]]
            missing |= {(frame, i): f"{name} in a frame" for i, name in enumerate(inside["stops"])}
            places[frame] = frame
    count = len(missing)
    before = deck.slide
    deck.ask("bertlookTests.enter()")
    for _ in range(2 * count + 12):
        deck.page.keyboard.press("Tab")
        place, at = _arrived(deck, places)
        if at.get("hidden"):
            wrong.append(f"Tab goes to what is not shown: {at['hidden']}")
            break
        if at["i"] < 0:
            if at["left"]:
                break
            continue
        missing.pop(at.get("through"), None)  # the frame itself is no stop where something in it is
        if missing.pop((place, at["i"]), None) is None:
            continue
        if not at["marked"]:
            wrong.append(f"the focus does not show on {at['name']}")
        for key in at["keys"]:
            deck.page.keyboard.press(key)
        if at["keys"] and not places[place].evaluate("bertlookTests.answered()"):
            wrong.append(f"{', '.join(at['keys'])} do nothing on {at['name']}")
    deck.ask("bertlookTests.leave()")
    wrong += [f"Tab does not come to {name}" for name in missing.values()]
    if deck.slide != before:
        wrong.append(f"a key for a control turned the slide from {before} to {deck.slide}")
        deck.go(before)
    return count, wrong


def _arrived(deck, places) -> tuple[object, dict]:
    """Where a Tab has come to; into a frame and out of it the focus moves a moment later."""
    for _ in range(10):
        at = deck.ask("bertlookTests.arrived()")
        if at.get("frame"):
            for frame in places:
                if frame is not None and frame.evaluate("document.hasFocus()"):
                    inside = frame.evaluate("bertlookTests.arrived()")
                    if inside["i"] >= 0:
                        return frame, inside | {"through": (None, at["i"])}
        elif not at.get("nowhere") or len(places) == 1:
            break
        deck.page.wait_for_timeout(30)
    return None, at


def largest_empty(used) -> int:
    """Cells of the largest rectangle in which none is used.

    >>> largest_empty([[True, False, False], [False, False, False]])
    4
    """
    best, heights = 0, [0] * len(used[0])
    for row in used:
        heights = [0 if cell else height + 1 for cell, height in zip(row, heights)]
        open_ = []  # where a rectangle of a height begins; heights rise
        for x, height in enumerate([*heights, 0]):
            start = x
            while open_ and open_[-1][1] >= height:
                start, tall = open_.pop()
                best = max(best, tall * (x - start))
            open_.append((start, height))
    return best


def unused(camera, limit: float = UNUSED, patience: float = 4) -> float:
    """The largest empty part of what the page shows; views are drawn a moment later, for which there are some seconds."""
    import numpy as np
    from PIL import Image

    end = time.monotonic() + patience
    while True:
        taken = camera.send("Page.captureScreenshot", {"format": "png", "optimizeForSpeed": True})
        seen = np.asarray(Image.open(io.BytesIO(base64.b64decode(taken["data"]))).convert("RGB"))
        paper = seen[2, seen.shape[1] // 2]  # above the heading
        differs = np.maximum(seen, paper) - np.minimum(seen, paper) > 12  # bytes have no sign
        inked = differs[..., 0] | differs[..., 1] | differs[..., 2]  # five times as fast as any()
        high, wide = (length // SQUARE for length in inked.shape)
        squares = inked[: high * SQUARE, : wide * SQUARE].reshape(high, SQUARE, wide, SQUARE).any(axis=(1, 3))
        share = largest_empty(squares.tolist()) / squares.size
        if share <= limit or time.monotonic() > end:
            return share
        time.sleep(0.2)


def walk(deck, name: str, patience: float = 4) -> Walk:
    """Look at every slide of an open deck; pictures of them are kept under that name, if a folder for them is named."""
    seen = Walk()
    deck.page.evaluate(LOOK)
    camera = deck.page.context.new_cdp_session(deck.page)
    slides = deck.ask("[...document.querySelectorAll('.reveal .slides section section')].map(one => one.id)")
    slides = [slide.removeprefix("slide-") for slide in slides]
    seen.slides = len(slides)
    kept = os.environ.get("BERTLOOK_SCREENSHOTS")
    thumbs = []
    for size, (width, height) in SIZES.items():
        deck.page.set_viewport_size({"width": width, "height": height})
        if size != "laptop" and not kept:
            together = f"bertlookTests.round({json.dumps(slides)}, {deck.TURN}, {patience})"
            for number, found in enumerate(deck.ask(together), 1):
                seen.add(f"slide {number}, {size}", found)
            continue
        for number, slide in enumerate(slides, 1):
            first = size == "laptop"
            where = f"slide {number}, {size}"
            deck.go(slide, usable=first)
            deck.show_everything(by_key=first)
            found = look(deck, everything=first, patience=patience)
            seen.add(where, found)
            if first:
                seen.unused.append((deck.ask("bertlookTests.heading()"), unused(camera, patience=patience)))
                if kept:
                    thumbs.append(thumbnail(camera))
                stops, wrong = try_keys(deck)
                seen.stops += stops
                seen.add(where, {"keys": wrong})
            if kept:
                deck.screenshot(f"{name}-{number:02d}-{size}")
    deck.page.set_viewport_size({"width": SIZES["laptop"][0], "height": SIZES["laptop"][1]})
    if kept:
        seen.sheet = contact_sheet(thumbs, Path(kept) / f"{name}.jpg")
    return seen


def thumbnail(camera):
    """The page as it stands, small. Asked of Chromium itself: Playwright first waits for what a sheet of pictures can do without."""
    from PIL import Image

    taken = camera.send("Page.captureScreenshot", {"format": "jpeg", "quality": 70, "optimizeForSpeed": True})
    return Image.open(io.BytesIO(base64.b64decode(taken["data"]))).resize(THUMB)


def contact_sheet(pictures, path: Path, columns: int = 4) -> Path:
    """All slides of a deck on one sheet."""
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    rows = -(-len(pictures) // columns)
    gap = 6
    sheet = Image.new("RGB", (columns * (THUMB[0] + gap) + gap, rows * (THUMB[1] + gap) + gap), "#888888")
    for i, picture in enumerate(pictures):
        sheet.paste(picture, (gap + i % columns * (THUMB[0] + gap), gap + i // columns * (THUMB[1] + gap)))
    sheet.save(path, quality=80)
    return path
