"""The theme of the slides: what belongs to it, that it stays on slides, and that its colours can be read in every look."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bertlook_teach.render.drawing import palette

SLIDES = Path(__file__).resolve().parent.parent / "slides"
THEME = sorted((SLIDES / "theme").glob("*.css"))
LOOKS = ("", "dark", "projector")


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def rules(text: str):
    """(selector, {property: value}) of each rule; the theme nests none."""
    for selector, body in re.findall(r"([^{}]+)\{([^{}]*)\}", without_comments(text)):
        pairs = (line.split(":", 1) for line in body.split(";") if ":" in line)
        yield " ".join(selector.split()), {name.strip(): value.strip() for name, value in pairs}


def colours(look: str, *, sheet: bool = False) -> dict[str, str]:
    """The theme's colours in one look; ``sheet``: inside what a cell drew."""
    found = {"--slide-paper": "#ffffff"}
    mine = f"body.rise-enabled.bertlook-{look}"
    for path in [SLIDES / "theme" / "bertlook.css", SLIDES / "theme" / "looks.css"]:
        for selector, values in rules(path.read_text(encoding="utf-8")):
            if selector in ("body.rise-enabled", mine) or (
                sheet and selector.startswith(f"{mine} .reveal :is(.jp-Output")
            ):
                found |= {name: value for name, value in values.items() if name.startswith("--slide")}
                if sheet and values.get("background", "").startswith("#"):
                    found["--slide-paper"] = values["background"]
    return found


def test_rise_css_imports_every_part_of_the_theme_once():
    text = (SLIDES / "rise.css").read_text(encoding="utf-8")
    imported = re.findall(r'^@import url\("(theme/[a-z]+\.css)"\);$', text, re.MULTILINE)
    assert sorted(imported) == [path.relative_to(SLIDES).as_posix() for path in THEME]
    assert imported[0] == "theme/bertlook.css" and imported[-1] == "theme/looks.css"
    assert not without_comments(
        re.sub(r"@import.*", "", text)
    ).strip()  # an @import after a rule is not obeyed


@pytest.mark.parametrize("path", THEME, ids=lambda path: path.stem)
def test_every_rule_is_for_slides_alone(path):
    found = list(rules(path.read_text(encoding="utf-8")))
    assert found
    for selector, _ in found:
        parts = re.split(r",(?![^(]*\))", selector)
        assert all(part.strip().startswith("body.rise-enabled") for part in parts), selector


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("sheet", [False, True])
def test_text_can_be_read_in_every_look(look, sheet):
    found = colours(look, sheet=sheet)
    for ground in ("--slide-paper", "--slide-tint"):
        for text in ("--slide-ink", "--slide-quiet", "--slide-accent"):
            assert palette.contrast(found[text], found[ground]) >= 4.5, (look, text, ground)


def test_code_can_be_read_on_its_tint():
    own = dict(
        pair
        for _, values in rules((SLIDES / "theme" / "code.css").read_text("utf-8"))
        for pair in values.items()
    )
    inks = [ink for name, ink in own.items() if name.startswith("--jp-mirror-editor")]
    assert len(inks) == 4
    for ink in (*inks, "#008000", "#ba2121", "#0055aa", "#770088"):  # the others are JupyterLab's
        assert palette.contrast(ink, colours("")["--slide-tint"]) >= 4.5
    assert palette.contrast("#999977", "#ffffff") < 4.5  # why there are any


def test_the_looks_differ():
    papers = {look: palette.relative_luminance(colours(look)["--slide-paper"]) for look in LOOKS}
    assert papers["dark"] < 0.02 and papers[""] == papers["projector"] > 0.9
    assert (
        palette.contrast(colours("projector")["--slide-quiet"], "#ffffff")
        > palette.contrast(colours("")["--slide-quiet"], "#ffffff") + 3
    )


def test_no_type_of_the_theme_is_smaller_than_24_pixels():
    sizes = []
    for path in THEME:
        for _, values in rules(path.read_text(encoding="utf-8")):
            for name, value in values.items():
                if "font" in name:
                    sizes += [float(size) for size in re.findall(r"(?<![\w.])(\d+(?:\.\d+)?)px", value)]
    assert sizes and min(sizes) >= 24


def test_both_rises_know_the_same_looks():
    root = SLIDES.parent / "bertlook_teach"
    for script in (
        root / "classroom" / "labextension" / "static" / "remoteEntry.js",
        root / "classroom" / "nbextension" / "main.js",
    ):
        listed = re.search(r"const LOOKS = \[(.*?)\]", script.read_text(encoding="utf-8"))[1]
        assert tuple(name.strip().strip('"') for name in listed.split(",")) == LOOKS


def test_the_palette_of_the_slides_is_that_of_the_views():
    text = (SLIDES / "theme" / "bertlook.css").read_text(encoding="utf-8").lower()
    for name, colour in palette.OKABE_ITO.items():
        assert f"--okabe-{name.replace('vermillion', 'vermilion')}: {colour.lower()};" in text
    assert f"--slide-accent: {palette.LINE.lower()};" in text
