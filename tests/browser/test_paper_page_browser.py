"""A PDF in the folder of papers is shown beside the slide at its page, and goes away again; without it the file is named."""

from __future__ import annotations

import pytest

from bertlook_teach.bibliography import PAPERS

from .conftest import write_deck

PDF = b"""%PDF-1.4
1 0 obj <</Type /Catalog /Pages 2 0 R>> endobj
2 0 obj <</Type /Pages /Kids [3 0 R 4 0 R] /Count 2>> endobj
3 0 obj <</Type /Page /Parent 2 0 R /MediaBox [0 0 200 300]>> endobj
4 0 obj <</Type /Page /Parent 2 0 R /MediaBox [0 0 200 300]>> endobj
trailer <</Root 1 0 R>>
%%EOF
"""
CODE = "from bertlook_teach.widgets.paper_page import PaperPage\nview = PaperPage({key!r}, 'section 3.1', page=2)"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with two decks; the paper of one of them is at hand."""
    folder = tmp_path_factory.mktemp("decks")
    (folder / "papers").mkdir()
    (folder / "papers" / "clark2019.pdf").write_bytes(PDF)
    for name, key in (("there", "clark2019"), ("missing", "michel2019")):
        write_deck(folder / f"{name}.ipynb", CODE.format(key=key), name, "view")
    with pytest.MonkeyPatch.context() as patch:  # for the server and its kernels
        patch.setenv(PAPERS, str(folder / "papers"))
        yield folder


def test_a_paper_is_shown_at_its_page_beside_the_slide(folder, open_deck):
    deck = open_deck(folder / "there.ipynb")
    deck.go("1-0")
    line = deck.page.locator(".bertlook-paper:has(button)")
    assert "Clark et al. (2019), section 3.1" in line.inner_text()
    assert not deck.page.locator(".bertlook-paper-panel").count()
    line.locator("button").press("Enter")
    panel = deck.page.locator(".bertlook-paper-panel")
    frame = panel.locator("iframe")
    frame.wait_for()
    address = frame.get_attribute("src")
    assert address.startswith("blob:http://127.0.0.1") and "#page=2" in address
    sent = deck.page.evaluate(
        "async (address) => [...new Uint8Array(await (await fetch(address)).arrayBuffer())]",
        address.partition("#")[0],
    )
    assert bytes(sent) == PDF
    box = panel.bounding_box()
    assert 0.4 * 1280 < box["x"] and box["height"] < 700  # the claim stays in view, and the foot
    deck.screenshot("paper-page")
    panel.locator("input").fill("1")
    panel.locator("input").press("Enter")
    assert "#page=1" in panel.locator("iframe").get_attribute("src")
    assert deck.slide == "1-0"
    panel.locator("button").press("Escape")
    assert not panel.count()
    assert deck.page.evaluate("document.activeElement.textContent") == "show the paper"
    line.locator("button").click()
    assert "#page=1" in deck.page.locator(".bertlook-paper-panel iframe").get_attribute("src")  # remembered
    deck.go("0-0")
    assert not panel.count()
    assert not deck.foreign and not deck.errors


def test_without_the_paper_its_file_is_named(folder, open_deck):
    deck = open_deck(folder / "missing.ipynb")
    deck.go("1-0")
    line = deck.page.locator(".bertlook-paper code")
    assert line.inner_text() == "papers/michel2019.pdf"
    assert not deck.page.locator(".bertlook-paper button").count()
    deck.screenshot("paper-missing")
    assert not deck.foreign and not deck.errors
