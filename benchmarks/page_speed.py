"""How long the specimen takes in the page: python benchmarks/page_speed.py

Prints, in Chromium without a worker, the milliseconds from a text to all maps of all layers, and from the file's bytes to a model.
The limits: 60 ms for 32 tokens and 400 ms for 128, 95th percentile.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from playwright.sync_api import sync_playwright

from bertlook_teach.disk import find_chromium
from bertlook_teach.model import load_encoder
from bertlook_teach.widgets import specimen_bytes, specimen_script, specimen_source

OPEN = """() => {
  const start = performance.now();
  window.model = bertlookSpecimen.open(Uint8Array.from(atob(bertlookSpecimenData), (one) => one.charCodeAt(0)).buffer);
  return performance.now() - start;
}"""
TIMES = """([words, runs]) => {
  const text = "word ".repeat(words), times = [];
  for (let i = 0; i < runs + 5; i++) {
    const start = performance.now();
    model.run(text);
    if (i >= 5) times.push(performance.now() - start); // the first ones are compiled
  }
  return times.sort((a, b) => a - b);
}"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=60, help="runs per length (default 60)")
    options = parser.parse_args()
    data = specimen_bytes(load_encoder("specimen"))
    print(
        f"weights and vocabulary: {len(data) / 1e6:.1f} MB, as a script {len(specimen_script(data)) / 1e6:.1f} MB"
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        page = browser.new_page()
        page.add_script_tag(content=specimen_source())
        page.add_script_tag(content=specimen_script(data))
        print(f"ready after {page.evaluate(OPEN):.0f} ms")
        for tokens in (8, 32, 128):
            times = page.evaluate(TIMES, [tokens - 2, options.runs])
            middle, late = times[len(times) // 2], times[int(0.95 * len(times))]
            print(
                f"{tokens:>4} tokens: fastest {times[0]:.0f}, middle {middle:.0f}, 95th percentile {late:.0f} ms"
            )
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
