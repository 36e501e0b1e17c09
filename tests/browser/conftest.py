"""A real browser and a real Jupyter server, for tests of what a class will see.

``open_deck("slides/01_what.ipynb")`` opens the deck as a slideshow, and waits until its cells have run. One server over the project's
folder serves all tests of a process; decks that tests write lie in a folder below it, which ``trial_folder`` gives.
Screenshots go to the folder named by the variable BERTLOOK_SCREENSHOTS, if it is set.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote, urlsplit
from urllib.request import Request, urlopen

import pytest
from nbformat.v4 import new_notebook

from bertlook_course.storage import find_chromium
from bertlook_press.classroom import sign

from .looking import SIZES

ROOT = Path(__file__).resolve().parent.parent.parent

# What the classic notebook says although nothing is wrong: its MathJax asks for a font at about:blank to see what happens, and jQuery tries
# by an attribute what a browser knows, which the policy forbids. JupyterLab's slideshow says nothing.
NOISE = re.compile(
    r"Access to font at 'about:blank'"
    r"|Loading the font 'about:blank' violates"
    r"|Executing inline event handler violates"
)

# Where a notebook can be opened, by the beginning of its address.
HOSTS = ("rise", "lab/tree", "notebooks", "nbclassic/notebooks")

# Milliseconds. An event that does not come by then does not come, however busy the machine: only a test that fails waits so long.
HANGS_AFTER = 60_000

# Two servers that look for a free port at the same moment may find the same one: each test process looks in a range of its own.
FIRST_PORT = 8888 + 300 * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
SERVE = f"import sys; from pathlib import Path; from bertlook_press.classroom import server; server.DEFAULT_PORT = {FIRST_PORT}; "
SERVE += "sys.exit(server.serve(Path(sys.argv[1]), '/lab', browser=False))"


ARRIVED = """(id, usable) => {
  const slide = document.querySelector('section section.present');
  const visible = (node) => getComputedStyle(node).visibility === 'visible';
  return slide?.id === id && visible(slide) && (!usable || [...slide.querySelectorAll('.jp-OutputArea-output, .output_subarea')]
    .every((output) => visible(output) || output.closest('.fragment:not(.visible)')));
}"""


class Server:
    """A Jupyter server over one folder, as ``bertlook present`` starts it."""

    def __init__(self, folder: Path):
        self.folder = folder
        command = [sys.executable, "-c", SERVE, str(folder)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        lines = []
        for line in self.process.stdout:
            lines.append(line)
            address = re.search(r"http://127.0.0.1:(\d+)/\S*?token=(\w+)", line)
            if address:
                self.port, self.token = address.groups()
                break
        else:
            raise RuntimeError(f"the server did not start: {''.join(lines)}")

    def address(self, page: str) -> str:
        """The full address of a page such as "rise/deck.ipynb", token included."""
        return f"http://127.0.0.1:{self.port}/{page}{'&' if '?' in page else '?'}token={self.token}"

    def end_kernels(self) -> None:
        """End every kernel that runs."""
        for kernel in json.load(urlopen(self.address("api/kernels"), timeout=HANGS_AFTER / 1000)):
            urlopen(
                Request(self.address(f"api/kernels/{kernel['id']}"), method="DELETE"),
                timeout=HANGS_AFTER / 1000,
            ).close()

    def stop(self) -> None:
        """End the server and its kernels."""
        self.process.terminate()
        try:
            self.process.wait(timeout=HANGS_AFTER / 1000)
        except subprocess.TimeoutExpired:
            # it waits for a kernel that was still starting; kernels end with their server
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


STILL = """async () => {
  const places = () => JSON.stringify([...document.querySelectorAll("body *")].map((one) => {
    const box = one.getBoundingClientRect();
    return [box.x, box.y, box.width, box.height];
  }));
  const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  for (let turn = 0, before = ""; turn < 200; turn++) {
    await drawn();
    const now = places();
    if (now === before) return;
    before = now;
  }
}"""


def still(page):
    """Wait until the page has been drawn and nothing in it moves: a busy machine takes longer than any fixed pause."""
    page.evaluate(STILL)


class Deck:
    """An opened page, with everything it said and everything it asked for."""

    TURN = "slide => { document.activeElement.blur(); location.hash = `#/slide-${slide}`; }"

    def __init__(self, page, address: str):
        self.page = page
        self.errors: list[str] = []  # errors in the console, less the known noise
        self.foreign: list[str] = []  # requests to anywhere but the server
        page.on("console", self._console)
        page.on("pageerror", lambda error: self._error(str(error)))
        page.on("request", self._request)
        page.goto(address)

    def _error(self, text: str) -> None:
        if not NOISE.search(text):
            self.errors.append(text)

    def _console(self, message) -> None:
        if message.type == "error" and message.location.get("url") != "about:blank":
            self._error(message.text)

    def _request(self, request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https", "ws", "wss") and parts.hostname != "127.0.0.1":
            self.foreign.append(request.url)

    def wait_until_ready(self, seconds: float = 300) -> None:
        """Wait until the deck's cells have run; fail with the status line and the errors if one did not."""
        done = "body.bertlook-ready, body.bertlook-failed"
        self.page.wait_for_selector(done, state="attached", timeout=1000 * seconds)
        if self.page.locator("body.bertlook-failed").count():
            status = self.page.locator("#bertlook-status").all_inner_texts()
            pytest.fail(f"the deck did not come to life: {status} {self.errors}", pytrace=False)

    @property
    def slide(self) -> str:
        """Where the deck stands, "h-v" counted from 0."""
        return self.page.evaluate("document.querySelector('section section.present').id").removeprefix(
            "slide-"
        )

    def ask(self, question: str):
        """What an expression gives in the page."""
        return self.page.evaluate(question)

    def wait(self, condition: str, page=None, seconds: float = HANGS_AFTER / 1000) -> None:
        """Wait for a condition by asking again: a page may forbid Playwright's own way, which evaluates in the page."""
        page = page or self.page
        end = time.monotonic() + seconds
        while not page.evaluate(condition):
            if time.monotonic() > end:
                pytest.fail(f"it never came true: {condition}")
            page.wait_for_timeout(20)

    def _turn(self, slide: str) -> None:
        self.page.evaluate(self.TURN, slide)

    def go(self, slide: str, usable: bool = True) -> None:
        """Show a slide, "h-v" counted from 0, with nothing in focus. Its outputs take the focus a moment later: then it is usable."""
        self._turn(slide)
        self.page.wait_for_timeout(50)
        if (
            self.slide != slide
        ):  # a deck that has only just opened writes its own address, and may write over ours
            self._turn(slide)
        self.wait(f"({ARRIVED})('slide-{slide}', {str(usable).lower()})")

    def show_everything(self, by_key: bool = True) -> None:
        """Bring in the fragments of the slide, by key one after another: a slide is fullest with its last one."""
        fragments = "[...document.querySelectorAll('section section.present .fragment')]"
        if not by_key:
            self.page.evaluate(f"{fragments}.forEach(one => one.classList.add('visible'))")
            return
        shown = f"{fragments}.filter(one => one.classList.contains('visible')).length"
        for step in range(self.ask(f"{fragments}.length")):
            if self.ask(shown) <= step:
                self.page.keyboard.press("Space")
                self.wait(f"{shown} > {step}")

    def press(self, *keys: str) -> None:
        """Press keys one after another, with the pause a human makes."""
        for key in keys:
            self.page.keyboard.press(key)
            self.page.wait_for_timeout(300)

    def screenshot(self, name: str) -> None:
        """Keep a picture if BERTLOOK_SCREENSHOTS names a folder."""
        folder = os.environ.get("BERTLOOK_SCREENSHOTS")
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=Path(folder) / f"{name}.png")


# Scope "package", not "session": while Playwright runs, an event loop runs, and the notebooks tested later start their own.
@pytest.fixture(scope="package")
def chromium():
    """Playwright's driver and how to start a headless Chromium with it; the test is skipped where there is none."""
    executable = find_chromium()
    if executable is None:
        pytest.skip("no Chromium or Chrome found: install one, or name it in the variable BERTLOOK_CHROMIUM")
    from playwright.sync_api import sync_playwright

    arguments = ["--no-sandbox", "--disable-background-networking", "--disable-component-update"]
    with sync_playwright() as playwright:
        yield playwright.chromium, {"executable_path": executable, "args": arguments}


@pytest.fixture(scope="package")
def browser(chromium):
    """A browser that remembers nothing."""
    driver, options = chromium
    browser = driver.launch(**options)
    yield browser
    browser.close()


@pytest.fixture(scope="package")
def profile(chromium, tmp_path_factory):
    """A browser with a profile of its own, in which it keeps JupyterLab's code compiled: a third of the time a page takes to open."""
    driver, options = chromium
    profile = driver.launch_persistent_context(tmp_path_factory.mktemp("profile"), **options)
    profile.set_default_timeout(HANGS_AFTER)
    yield profile
    profile.close()


@pytest.fixture(scope="package")
def sheets(browser):
    """Pages without Jupyter, used again and again: a new one takes a quarter of a second."""
    online = []

    def sheet(number: int):
        if number == len(online):
            page = browser.new_context().new_page()
            page.set_default_timeout(HANGS_AFTER)
            page.on("pageerror", lambda error: page.errors.append(str(error)))
            page.on("console", lambda said: page.said.get(said.type, []).append(said.text))
            page.on("request", lambda request: page.requests.append(request.url))
            online.append(page)
        return online[number]

    return sheet


@pytest.fixture
def blank(sheets):
    """``blank(width=1280, height=720, offline=False)`` gives an empty page; what it asks for is in ``requests``, what it says in ``errors`` and ``warnings``."""
    given = []

    def blank(width: int = 1280, height: int = 720, offline: bool = False):
        page = sheets(len(given))
        given.append(page)
        page.errors, page.warnings, page.requests = [], [], []
        page.said = {"error": page.errors, "warning": page.warnings}
        page.context.set_offline(offline)
        page.set_viewport_size({"width": width, "height": height})
        return page

    yield blank
    for page in given:
        page.mouse.move(0, 0)
        page.goto("about:blank")


@pytest.fixture(scope="package")
def server():
    """The server over the project's folder."""
    server = Server(ROOT)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def trial_folder():
    """A new folder that the server reaches, for decks that a test writes."""
    build = ROOT / "build"
    build.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="trial-", dir=build) as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def open_page(profile, server):
    """``open_page(route, notebook, query="", size="laptop", trusted=True)`` opens a notebook in one of `HOSTS`, and does not wait."""
    opened = []

    def open_page(
        route: str, notebook: str | Path, query: str = "", size: str = "laptop", trusted: bool = True
    ) -> Deck:
        if trusted:
            sign(ROOT / notebook)
        if route == "lab/tree":
            query = "?reset"  # or JupyterLab would also open what another page had open
        path = quote((ROOT / notebook).resolve().relative_to(ROOT).as_posix())
        width, height = SIZES[size]
        tab = profile.new_page()
        tab.set_viewport_size({"width": width, "height": height})
        opened.append(tab)
        return Deck(tab, server.address(f"{route}/{path}{query}"))

    yield open_page
    for tab in opened:
        tab.close()
    server.end_kernels()


@pytest.fixture(scope="module")
def open_deck(open_page):
    """``open_deck(path, size="laptop", classic=False, query="")`` opens a deck as a slideshow and waits until it is live."""

    def open_deck(path: str | Path, size: str = "laptop", classic: bool = False, query: str = "") -> Deck:
        deck = open_page("nbclassic/notebooks" if classic else "rise", path, query, size)
        deck.wait_until_ready()
        return deck

    return open_deck


def until_equal(page, *questions) -> list:
    """The answers to two questions, as soon as they agree, or after twenty seconds."""
    for _ in range(400):
        answers = [ask() for ask in questions]
        if answers[0] == answers[1]:
            break
        page.wait_for_timeout(50)
    return answers


def use_encoder(explorer) -> None:
    """Where an explorer stands on a recorded model, switch to the one that can read any sentence."""
    first = explorer.locator(".bl-model input").first
    if first.count():
        first.check()


def make_deck(cells, **rise):
    """A deck of pairs of a cell and its kind ("slide", "skip"), with settings of its own in the metadata ``rise``."""
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    plain = {"theme": "white", "transition": "none", "start_slideshow_at": "beginning", "auto_select": "none"}
    deck = new_notebook(metadata={"kernelspec": kernel, "rise": plain | rise})
    for number, (cell, kind) in enumerate(cells):
        cell.id, cell.metadata["slideshow"] = f"cell-{number}", {"slide_type": kind}
        deck.cells.append(cell)
    return deck
