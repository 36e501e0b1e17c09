"""Every deck of the course in the real slideshow: nothing overflows, everything can be read, the views answer."""

from __future__ import annotations

import pytest

from .conftest import ROOT, SIZES

DECKS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "slides").glob("[0-9][0-9]_*.ipynb"))
SMALLEST = 23.5  # pixels; 24 less what a browser rounds away

# What lies outside the slide, and the smallest type that is shown on it.
LOOK = """() => {
  const slide = document.querySelector('.reveal .slides section section.present');
  const frame = slide.getBoundingClientRect();
  const outside = [], small = [];
  if (slide.scrollHeight > slide.clientHeight + 1) outside.push(`height ${slide.scrollHeight} of ${slide.clientHeight}`);
  if (slide.scrollWidth > slide.clientWidth + 1) outside.push(`width ${slide.scrollWidth} of ${slide.clientWidth}`);
  if (frame.bottom > innerHeight + 1) outside.push(`bottom ${frame.bottom} of ${innerHeight}`);
  for (const box of slide.querySelectorAll('.cm-scroller, .jp-RenderedText pre')) {
    if (box.scrollWidth > box.clientWidth + 1) outside.push(`line cut: ${box.textContent.slice(0, 30)}`);
  }
  const walker = document.createTreeWalker(slide, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim(), owner = walker.currentNode.parentElement;
    if (!text || !owner.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const box = owner.getBoundingClientRect();
    if (box.width < 2 || box.height < 2) continue;  // for screen readers only
    const svg = owner.closest('svg');
    const scale = svg && svg.viewBox.baseVal.width ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
    const size = parseFloat(getComputedStyle(owner).fontSize) * scale;
    if (size < SMALLEST) small.push(`${size.toFixed(1)} px: ${text.slice(0, 30)}`);
  }
  return { outside, small };
}""".replace("SMALLEST", str(SMALLEST))


@pytest.fixture(scope="module", params=DECKS)
def deck(request, open_deck, serve):
    """A deck, alive; the tests share it. Its kernel ends with it, so that one deck at a time takes memory."""
    opened = open_deck(request.param)
    opened.name = request.param.rpartition("/")[2][:2]
    yield opened
    opened.page.context.close()
    serve().end_kernels()


def show_everything(deck) -> None:
    """Bring in the fragments of the slide, one after another: a slide is fullest with its last one."""
    shown = "document.querySelectorAll('section section.present .fragment.visible').length"
    for step in range(deck.page.locator("section section.present .fragment").count()):
        if deck.page.evaluate(shown) <= step:
            deck.page.keyboard.press("Space")
            deck.page.wait_for_function(f"{shown} > {step}")


def look_when_settled(page) -> dict:
    """What is wrong on the slide, once its views have been laid out anew: on a busy machine that takes a while."""
    for _ in range(30):
        page.wait_for_timeout(120)
        found = page.evaluate(LOOK)
        if not any(found.values()):
            break
    return found


def test_every_slide_fits_three_screens_and_can_be_read_from_the_last_row(deck):
    slides = deck.page.locator(".reveal .slides section section").evaluate_all(
        "all => all.map(one => one.id)"
    )
    wrong = []
    for number, slide in enumerate(slides, 1):
        deck.go(slide.removeprefix("slide-"))
        show_everything(deck)
        for size, (width, height) in SIZES.items():
            deck.page.set_viewport_size({"width": width, "height": height})
            found = look_when_settled(deck.page)
            wrong += [f"slide {number}, {size}: {what}" for kind in found.values() for what in kind]
            deck.screenshot(f"deck-{deck.name}-{number:02d}-{size}")
    assert len(slides) >= 15
    assert not wrong, "\n".join(wrong)


def test_an_overflowing_slide_and_small_type_would_be_found(deck):
    deck.go("0-0")
    deck.page.evaluate(
        "const slide = document.querySelector('section section.present');"
        "const long = document.createElement('p'); long.id = 'long'; long.textContent = 'small';"
        "long.style = 'height: 4000px; font-size: 12px'; slide.append(long)"
    )
    deck.page.evaluate(
        "const box = document.createElement('div'); box.id = 'code'; box.className = 'cm-scroller';"
        "box.style = 'overflow: auto; white-space: pre'; box.textContent = 'x'.repeat(400);"
        "document.querySelector('section section.present').append(box)"
    )
    found = deck.page.evaluate(LOOK)
    deck.page.evaluate("for (const id of ['long', 'code']) document.getElementById(id).remove()")
    assert any(line.startswith("height") for line in found["outside"])
    assert any(line.startswith("line cut: xxx") for line in found["outside"])
    assert any("12.0 px: small" in line for line in found["small"])


def test_choosing_a_head_and_typing_a_sentence_change_the_picture(deck):
    deck.page.set_viewport_size({"width": 1280, "height": 720})
    explorers = deck.page.locator(".bertlook-explorer:has(.bertlook-views)")
    slide = explorers.first.evaluate("node => node.closest('section').id").removeprefix("slide-")
    deck.go(slide)
    explorer = explorers.first
    caption = explorer.locator("[aria-live='polite']").last
    before = caption.inner_text()
    explorer.locator(".bertlook-views [tabindex='0']").first.focus()
    deck.press("ArrowDown", "ArrowRight")
    if caption.inner_text() == before:  # it was the last head of the last layer
        deck.press("ArrowUp", "ArrowLeft")
    chosen = caption.inner_text()
    assert chosen != before and deck.slide == slide
    explorer.locator("input[type='text']").first.fill("Rain fell on the old roof.")
    deck.press("Enter")
    deck.page.wait_for_function(
        "node => node.textContent.includes('roof')",
        arg=explorer.locator(".bertlook-views").first.element_handle(),
    )
    assert "roof" in explorer.inner_text()
    deck.screenshot(f"deck-{deck.name}-explorer")


def test_nothing_leaves_the_machine_and_nothing_goes_wrong(deck):
    assert not deck.foreign
    assert not deck.errors
