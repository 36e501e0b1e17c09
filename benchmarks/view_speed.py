"""How large a view is in the page, and how long another head takes to appear: python benchmarks/view_speed.py

Prints, for models and texts of several sizes, the bytes sent (binary, over the socket) and saved (base64, in a page),
and the time from a changed trait to finished script and to finished pixels, in a real browser without Jupyter.
The limits: 3 MB and 100 ms at 12 x 12 heads and 128 tokens; 50 ms for a recorded 12 x 12 heads and 21 tokens.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import numpy as np
from browser import test_widgets_browser as page_tools  # the page and its stand-in for a model

from bertlook_teach.disk import find_chromium
from bertlook_teach.model import load_recording, write_recording
from bertlook_teach.widgets import HeadMap, HeadView, RecordedView, TrainingFilm, WeightedText

SIZES = ((6, 6, 16), (12, 12, 16), (12, 12, 64), (12, 12, 128), (24, 16, 128), (12, 12, 512))


def percentile(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--redraws", type=int, default=60, help="redraws per row (default 60)")
    options = parser.parse_args()
    chromium = find_chromium()
    if chromium is None:
        print("no Chromium or Chrome found: only the sizes are printed", file=sys.stderr)
    print(
        "layers x heads x tokens  style   bits   sent MB   saved MB   script ms p50 / p95   pixels ms p50 / p95"
    )
    if chromium is None:
        for size in SIZES:
            report(*size, "lines", None, options.redraws)
        return 0
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
        for size in SIZES:
            for style in ("lines", "grid"):
                report(*size, style, browser, options.redraws)
        print("\nview                                    another head or point, script ms p50 / p95")
        for name, view, change in other_views():
            page = browser.new_page(viewport={"width": 1280, "height": 720})
            page.set_content(page_tools.page_of(24, view=view))
            page.wait_for_function("window.ready && document.querySelector('[tabindex=\"0\"]')")
            times = page.evaluate(CHANGE % change, options.redraws)
            print(f"{name:<40} {percentile(times, 0.5):.1f} / {percentile(times, 0.95):.1f}", flush=True)
            page.close()
        browser.close()
    return 0


CHANGE = """async (count) => {
  const spent = [];
  for (let i = 0; i < count; i++) {
    const start = performance.now();
    %s;
    await null;
    document.body.offsetHeight;
    spent.push(performance.now() - start);
  }
  return spent.sort((a, b) => a - b);
}"""


def other_views():
    """Views that draw with elements: name, view, and the script that asks for another picture."""
    random = np.random.default_rng(0)
    words, scores = [f"word{i % 37}" for i in range(500)], random.dirichlet(np.full(500, 0.1), size=(12, 12))
    yield "weighted text, 500 words, 12 x 12", WeightedText(words, scores), "models.view.set('head', i % 12)"
    after, before = random.random((2, 12, 16))
    yield "head map less another, 12 x 16", HeadMap(after, minus=before), "models.view.set('head', i % 12)"
    yield (
        "film of training",
        TrainingFilm(),
        "models.view.set('point', i % 20); models.view.set('head', i % 6)",
    )
    bert_base = load_recording("bert-base-uncased")
    longest = max(bert_base, key=lambda text: bert_base[text].n_tokens)
    tokens = ["[CLS]", *(f"word{i}" for i in range(19)), "[SEP]"]  # 21: the limit is said for as many
    with tempfile.TemporaryDirectory() as folder:
        made_up = write_recording(Path(folder, "a.bertlook"), [page_tools.attention(tokens, 12, 12)])
    for recording, text in ((bert_base, longest), (made_up, made_up.texts[0])):
        yield (
            f"recorded, {recording[text].n_tokens} tokens, 12 x 12",
            RecordedView(recording, sentence=text),
            "models.view.set('head', i % 12); models.view.set('layer', i % 5)",
        )


def report(layers: int, heads: int, n: int, style: str, browser, redraws: int) -> None:
    tokens = ["[CLS]", *(f"word{i}" for i in range(n - 2)), "[SEP]"]
    view = HeadView(page_tools.attention(tokens, layers, heads), style=style)
    sent = len(view.data)
    saved = sent * 4 / 3 + len(view._esm) + len(view._css) + len(str(view.texts))
    line = f"{layers:>6} x {heads:>2} x {n:>3}          {style:<6} {view.bits:>4} {sent / 1e6:>9.3f} {saved / 1e6:>10.3f}"
    if browser is not None:
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.set_content(page_tools.page_of(24, view=view))
        page.wait_for_function("window.ready && document.querySelector('.bl-query')")
        times = page.evaluate(page_tools.REDRAW, redraws)
        page.close()
        for kind in ("scripts", "pixels"):
            line += f"   {percentile(times[kind], 0.5):>11.1f} / {percentile(times[kind], 0.95):.1f}"
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
