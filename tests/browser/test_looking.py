"""The walk through a deck must see what is wrong: a page on which everything is, and one on which nothing is."""

from __future__ import annotations

import base64

import pytest

from .conftest import Deck
from .looking import contact_sheet, look, try_keys, walk

PAGE = """<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>trial</title>
<style>
  body {{ margin: 0; font: 24px/1.3 sans-serif; color: #1a1a1a; background: #fff }}
  .reveal, .slides {{ height: 100vh }} section section {{ max-height: 93vh; overflow: hidden auto }}
  section section:not(.present) {{ {hidden} }} .fragment {{ visibility: visible }}
  :focus-visible {{ outline: 3px solid #0072b2 }}
</style>
<body><div class="reveal"><div class="slides"><section class="present">
<section id="slide-0-0" class="present"><div class="jp-OutputArea"><div class="jp-OutputArea-output">{slide}</div></div></section>
<section id="slide-0-1"><div class="jp-OutputArea"><div class="jp-OutputArea-output"><button>elsewhere</button></div></div></section>
</section></div></div>
<script>
  addEventListener("hashchange", () => {{
    for (const one of document.querySelectorAll("section section")) one.classList.toggle("present", `#/${{one.id}}` === location.hash);
  }});
</script>"""


def drawing(body: str) -> str:
    """An image of an SVG, 400 pixels wide."""
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 60" width="400" height="60">{body}</svg>'
    return f'<img alt="a drawing" width="400" height="60" src="data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}">'


@pytest.fixture(scope="module")
def show(browser, tmp_path_factory):
    """``show(slide)`` opens a deck of one slide and of one that is not shown."""
    path = tmp_path_factory.mktemp("trial") / "trial.html"
    page = browser.new_page(viewport={"width": 1280, "height": 720})

    def show(slide: str, hidden: str = "display: none") -> Deck:
        path.write_text(PAGE.format(slide=slide, hidden=hidden), encoding="utf-8")
        deck = Deck(page, path.as_uri())
        deck.page.evaluate(LOOK)
        return deck

    from .looking import LOOK

    yield show
    page.close()


OVER = '<div role="img" aria-label="x" style="position: relative"><canvas width="400" height="40" style="position: absolute"></canvas><span style="position: relative">over</span></div>'
SEEN = {  # kind of complaint: what must be found, and the same as it should be
    "small": [
        ('<p style="font-size: 20px">little</p>', "20.0 px: little", "<p>large</p>"),
        (
            drawing('<text x="5" y="40" font-size="16">tick</text>'),
            "picture, 16.0 px: tick",
            drawing('<text x="5" y="40" font-size="24">tick</text>'),
        ),
        (
            '<svg viewBox="0 0 800 60" width="400" role="img" aria-label="x"><text y="40" font-size="30">half</text></svg>',
            "15.0 px: half",
            '<svg viewBox="0 0 400 60" width="400" role="img" aria-label="x"><text y="40" font-size="30">half</text></svg>',
        ),
        (  # as wide as its slide, and too low for that: the picture is drawn smaller than its frame
            drawing('<text x="5" y="40" font-size="30">low</text>').replace('height="60"', 'height="30"', 1),
            "picture, 15.0 px: low",
            drawing('<text x="5" y="40" font-size="30">low</text>'),
        ),
    ],
    "faint": [
        (
            '<p style="color: #999">grey</p>',
            "contrast 2.8, #999999 on #ffffff: grey",
            '<p style="color: #666">grey</p>',
        ),
        ('<p style="opacity: 0.4">pale</p>', ": pale", '<p style="opacity: 0.9">pale</p>'),
        (
            '<p style="background: #0072b2"><b>dark</b></p>',
            "on #0072b2: dark",
            '<p style="background: #0072b2"><b style="color: #fff">dark</b></p>',
        ),
        (
            '<p style="background: linear-gradient(#fff, #555)">slope</p>',
            "on #555555: slope",
            '<p style="background: linear-gradient(#fff, #ddd)">slope</p>',
        ),
        (
            '<p style="color: color-mix(in srgb, #000 40%, transparent)">mixed</p>',
            ": mixed",
            '<p style="color: color-mix(in srgb, #000 80%, transparent)">mixed</p>',
        ),
        ('<input style="color: #aaa" value="typed">', ": typed", '<input style="color: #111" value="typed">'),
        (
            '<svg width="300" height="60" role="img" aria-label="x"><rect width="300" height="60" fill="#00294a"/><text y="40">cell</text></svg>',
            "on #00294a: cell",
            '<svg width="300" height="60" role="img" aria-label="x"><rect width="300" height="60" fill="#00294a"/><text y="40" fill="#fff">cell</text></svg>',
        ),
        (
            drawing('<text x="5" y="40" font-size="24" fill="#d55e00">vermilion</text>'),
            "picture, contrast 3.9, #d55e00 on #ffffff: vermilion",
            drawing('<text x="5" y="40" font-size="24" fill="#a34700">vermilion</text>'),
        ),
        (
            OVER
            + "<script>const pen = document.querySelector('canvas').getContext('2d'); pen.fillStyle = '#222'; pen.fillRect(0, 0, 400, 40)</script>",
            "on #222222: over",
            OVER,
        ),
    ],
    "mute": [
        (
            '<svg width="99" height="9"></svg>',
            "the svg",
            '<svg width="99" height="9" role="img" aria-label="bars"></svg>',
        ),
        ("<svg width=99 height=9></svg>", "the svg", "<svg width=99 height=9><title>bars</title></svg>"),
        (
            '<img width="99" height="9">',
            "the img",
            '<figure><img width="99" height="9"><figcaption>bars</figcaption></figure>',
        ),
        (
            '<img width="99" height="9" alt="&lt;Figure size 640x480 with 1 Axes&gt;">',
            "the img",
            '<img width="99" height="9" alt="Bars of four heads">',
        ),
        (
            "<canvas></canvas>",
            "the canvas",
            '<div role="application" aria-label="map"><canvas></canvas></div>',
        ),
        ("<iframe></iframe>", "the iframe", '<iframe title="head view"></iframe>'),
        (
            '<p><svg width="9" height="9" aria-hidden="true"></svg></p>',
            "the svg",
            '<p><svg width="9" height="9" aria-hidden="true"></svg> next</p>',
        ),
    ],
    "cut": [
        (
            '<div style="overflow: auto"><table><td style="min-width: 2000px">wide</td><td>end</td></table></div>',
            "px cut in div",
            '<div style="overflow: auto"><table><td>narrow</td></table></div>',
        ),
        (
            '<div style="overflow: hidden; white-space: nowrap">' + "<span>word </span>" * 60 + "</div>",
            "px cut in div",
            '<div style="overflow: hidden; position: relative">word<table class="bl-unseen" style="position: absolute; width: 3000px; clip-path: inset(50%)"><td>heard</table></div>',
        ),
    ],
    "outside": [
        ('<div style="height: 900px">tall</div>', "height", '<div style="height: 400px">tall</div>'),
        (
            '<pre class="cm-scroller" style="overflow: auto">' + "x" * 400 + "</pre>",
            "line cut: xxx",
            "<pre>short</pre>",
        ),
    ],
}


@pytest.mark.parametrize(
    ("kind", "wrong", "said", "right"), [(kind, *case) for kind, cases in SEEN.items() for case in cases]
)
def test_what_is_wrong_is_found_and_what_is_right_is_not(show, kind, wrong, said, right):
    assert any(said in what for what in look(show(wrong), patience=0)[kind])
    assert look(show(right), patience=0)[kind] == []


VIEW = "<div tabindex=0 role=application aria-label=map style='cursor: pointer'>1</div><script>document.querySelector('[role=application]').addEventListener('keydown', (event) => { if (event.key === 'ArrowRight') event.target.textContent += '!' })</script>"
KEYS = {
    "a click alone": "<span style='cursor: pointer' onclick='1'>mouse</span>",
    "no key reaches div": "<div role=button>no tab stop</div>",
    "the focus does not show on button": "<button style='outline: none'>bare</button>",
    "the focus does not show on input": "<input aria-label=pale style='outline: 2px solid #fdfdfd'>",
    "ArrowRight, ArrowLeft do nothing on div": "<div role=slider tabindex=0 aria-label=dead>5</div>",
    "Enter do nothing on div": "<div role=grid tabindex=0 aria-label=dead>5</div>",
    "Space do nothing on button": "<button onkeydown='event.preventDefault()'>deaf</button>",
    "ArrowDown, ArrowUp do nothing on select": "<select onkeydown='event.preventDefault()'><option>1<option>2</select>",
    "x do nothing on input": "<input aria-label=line onkeydown='if (event.key === `x`) event.preventDefault()'>",
    "Tab does not come to button": "<input aria-label=trap onkeydown='if (event.key === `Tab`) event.preventDefault()'><button>behind</button>",
    "a key for a control turned the slide": "<input type=range aria-label=size onkeydown='if (event.key === `ArrowRight`) location.hash = `#/slide-0-1`'>",
}


@pytest.mark.parametrize("said", KEYS)
def test_a_control_that_no_key_works_is_found(show, said):
    _, wrong = try_keys(show(KEYS[said]))
    assert any(said in what for what in wrong), wrong


def test_tab_into_what_is_not_shown_is_found(show):
    assert any(
        "not shown: button" in what for what in try_keys(show("<button>here</button>", "opacity: 0"))[1]
    )


def test_controls_that_keys_work_are_none_to_complain_of_and_nothing_happens_to_them(show):
    deck = show(
        "<button onclick='this.textContent += `clicked`'>go</button><input type=range aria-label=size value=50>"
        "<select><option>1<option>2</select><input type=checkbox aria-label=on><input aria-label=line value=a>"
        + VIEW
    )
    stops, wrong = try_keys(deck)
    assert (stops, wrong) == (6, [])
    values = "[...document.querySelectorAll('.present .present :is(button, input, select)')].map(one => one.checked + one.value + one.textContent)"
    assert deck.ask(values) == ["undefinedgo", "false50", "undefined112", "falseon", "falsea"]


def test_controls_in_a_frame_are_tried_too(show):
    frame = '<iframe title="frame" sandbox="allow-scripts" srcdoc="<style>button{{outline:none!important}}</style><button>inside</button><select><option>1<option>2</select>"></iframe>'
    deck = show(frame.replace("{{", "{").replace("}}", "}"))
    deck.page.frames[1].wait_for_selector("select")
    stops, wrong = try_keys(deck)
    assert stops == 3 and len(wrong) == 1 and "the focus does not show on button" in wrong[0], wrong


def test_a_walk_keeps_a_sheet_of_all_slides_and_every_picture_where_a_folder_is_named(
    show, tmp_path, monkeypatch
):
    monkeypatch.setenv("BERTLOOK_SCREENSHOTS", str(tmp_path / "kept"))
    seen = walk(show("<button>go</button><p style='color: #bbb'>faint</p>"), "trial", patience=0)
    assert seen.slides == 2 and seen.stops == 2
    assert seen.sheet == tmp_path / "kept" / "trial.jpg" and seen.sheet.is_file()
    assert sorted(path.name for path in seen.sheet.parent.glob("*.png")) == [
        f"trial-{number:02d}-{size}.png" for number in (1, 2) for size in ("hd", "laptop", "projector")
    ]
    assert [what.split(":")[0] for what in seen.complaints("faint")] == ["slide 1, laptop"]
    monkeypatch.delenv("BERTLOOK_SCREENSHOTS")
    assert walk(show("<p>a</p>"), "other", patience=0).sheet is None
    assert contact_sheet([], tmp_path / "empty.jpg").is_file()
