"""How large a saved page is, how soon it is seen, and how long another head takes: python benchmarks/saved_page.py

For pages of `bertlook_press.pages.save_page`, opened from a file in a real browser with nothing else running: megabytes,
milliseconds from opening to the first paint and to the drawn head, and from a pressed key to finished pixels; the last also as
time of the page's own thread, which other programs on a busy machine do not lengthen.
The limits: 3 MB, 1 s and 50 ms (95th percentile) at 12 x 12 heads and 128 tokens; 30 MB at 512 tokens.
The attention is drawn at random (Dirichlet, .3), which packs worse than a model's.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from browser import test_widgets_browser as page_tools  # for its random attention

from bertlook_course.storage import find_chromium
from bertlook_press.pages import save_page
from bertlook_teach.views import HeadView

SIZES = ((12, 12, 16), (12, 12, 128), (24, 16, 128), (12, 12, 512))

# Notes when the caption says something: then the head has been drawn. Two frames later its pixels are on the screen.
WATCH = """
const seen = new MutationObserver(() => {
  if (!document.querySelector('.bl-caption')?.textContent) return;
  seen.disconnect();
  requestAnimationFrame(() => requestAnimationFrame(() => { window.drawn = performance.now(); }));
});
seen.observe(document, { childList: true, subtree: true, characterData: true });
"""

PRESS = """async (count) => {
  const view = document.querySelector('.bl-scroller'), canvas = document.querySelector('.bl-stage canvas'), times = [];
  for (let i = 0; i < count; i++) {
    const before = document.querySelector('.bl-caption').textContent;
    const key = ['Right', 'Right', 'Down', 'Left', 'Left', 'Up'].map((way) => 'Arrow' + way)[i % 6];
    const start = performance.now();
    view.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
    await Promise.resolve(); // the view draws in the same turn
    document.body.offsetHeight;
    canvas.getContext('2d').getImageData(0, 0, 1, 1); // until the pixels are there
    times.push(performance.now() - start);
    if (document.querySelector('.bl-caption').textContent === before) throw new Error(`nothing changed on ${key}`);
    await new Promise((done) => requestAnimationFrame(done));
  }
  return times.sort((a, b) => a - b);
}"""


def measure(browser, path: Path, opens: int, presses: int) -> tuple[float, float, list[float], list[float]]:
    """Medians of first paint and drawn head over several fresh pages, and the sorted times of a key in the last, by the clock and by the thread."""
    paints, drawn = [], []
    for _ in range(opens):
        page = browser.new_page(
            viewport={"width": 1280, "height": 720}, bypass_csp=True
        )  # for wait_for_function
        page.add_init_script(WATCH)
        page.goto(path.as_uri())
        page.wait_for_function("window.drawn", timeout=60_000)
        paints.append(
            page.evaluate(
                "performance.getEntriesByType('paint').find(e => e.name === 'first-contentful-paint').startTime"
            )
        )
        drawn.append(page.evaluate("window.drawn"))
        last = len(drawn) == opens
        times = page.evaluate(PRESS, presses) if last else []
        thread = thread_times(page, presses) if last else []
        page.close()
    return statistics.median(paints), statistics.median(drawn), times, thread


def thread_times(page, presses: int) -> list[float]:
    """Milliseconds of processor time that the page's thread spends on each key, sorted; what asks for it included."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent() -> float:
        found = session.send("Performance.getMetrics")["metrics"]
        return next(one["value"] for one in found if one["name"] == "TaskDuration") * 1000

    times = []
    for _ in range(presses // 6):
        for number in range(6):
            before = spent()
            page.evaluate(PRESS.replace("[i % 6]", f"[{number}]"), 1)
            times.append(spent() - before)
    return sorted(times)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--opens", type=int, default=5, help="how often each page is opened (default 5)")
    parser.add_argument("--presses", type=int, default=100, help="keys pressed in each page (default 100)")
    parser.add_argument("--tokens", type=int, help="only texts of this length")
    options = parser.parse_args()
    chromium = find_chromium()
    if chromium is None:
        print("no Chromium or Chrome found: install one, or name it in BERTLOOK_CHROMIUM", file=sys.stderr)
        return 1
    from playwright.sync_api import sync_playwright

    print(
        "layers x heads x tokens  style  bits  file MB  first paint ms  head drawn ms  key ms p50 / p95  thread ms p50 / p95"
    )
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for layers, heads, n in SIZES:
            if options.tokens not in (None, n):
                continue
            tokens = ["[CLS]", *(f"word{i}" for i in range(n - 2)), "[SEP]"]
            attention = page_tools.attention(tokens, layers, heads)
            for style in ("lines", "grid"):
                view = HeadView(attention, style=style)
                path = save_page(view, Path(folder) / f"{layers}-{heads}-{n}-{style}.html")
                paint, drawn, times, thread = measure(browser, path, options.opens, options.presses)
                (p50, p95), (t50, t95) = (
                    [found[int(share * len(found))] for share in (0.5, 0.95)] for found in (times, thread)
                )
                size = path.stat().st_size / 1e6
                print(
                    f"{layers:>6} x {heads:>2} x {n:>3}          {style:<5} {view.bits:>4} {size:>8.2f} {paint:>15.0f} "
                    f"{drawn:>14.0f} {p50:>10.1f} / {p95:<7.1f} {t50:>10.1f} / {t95:.1f}",
                    flush=True,
                )
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
