"""The theme of the slides: what belongs to it, that it stays on slides, and that its colours can be read in every look."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from bertlook_course.syllabus import LESSONS, PARTS
from bertlook_teach.views.drawing import palette

SLIDES = Path(__file__).resolve().parent.parent / "slides"
THEME = sorted((SLIDES / "theme").glob("*.css"))
LOOKS = ("", "dark", "projector")
PART_NAMES = ("head", "looking", "knowing", "mattering")  # of course.PARTS, as the decks' metadata has them
HOSTS = Path(__file__).resolve().parent.parent / "bertlook_press" / "classroom"


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
                found |= {
                    name: value for name, value in values.items() if name.startswith(("--slide", "--part"))
                }
                if sheet and values.get("background", "").startswith("#"):
                    found["--slide-paper"] = values["background"]
    return found


def test_rise_css_imports_every_part_of_the_theme_once():
    text = (SLIDES / "rise.css").read_text(encoding="utf-8")
    imported = re.findall(r'^@import url\("(theme/[a-z]+\.css)"\);$', text, re.MULTILINE)
    assert sorted(imported) == [path.relative_to(SLIDES).as_posix() for path in THEME]
    assert imported[0] == "theme/bertlook.css" and imported[-1] == "theme/looks.css"
    # an @import after a rule is not obeyed
    assert not without_comments(re.sub(r"@import.*", "", text)).strip()


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
    assert papers["dark"] < 0.02 and 0.9 < papers[""] < papers["projector"]
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


def test_the_script_of_every_host_knows_the_same_looks():
    script = (HOSTS / "export" / "page" / "fill.js").read_text(encoding="utf-8")
    listed = re.search(r"const LOOKS = \[(.*?)\]", script)[1]
    assert tuple(name.strip().strip('"') for name in listed.split(",")) == LOOKS


def test_the_palette_of_the_slides_is_that_of_the_views():
    text = (SLIDES / "theme" / "bertlook.css").read_text(encoding="utf-8").lower()
    for name, colour in palette.OKABE_ITO.items():
        assert f"--okabe-{name.replace('vermillion', 'vermilion')}: {colour.lower()};" in text
    assert f"--slide-accent: {palette.LINE.lower()};" in text


# --- the colours of the parts ---------------------------------------------------------------------------


@pytest.mark.parametrize("look", LOOKS)
def test_every_part_has_a_colour_that_can_be_read_in_every_look(look):
    found = colours(look)
    for part in PART_NAMES:
        for ground in ("--slide-paper", "--slide-tint"):
            assert palette.contrast(found[f"--part-{part}"], found[ground]) >= 4.5, (look, part, ground)


# Machado, Oliveira and Fernandes (2009), full severity, on linear light.
SEEN_BY = {
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}


def oklab(colour: str, seen_by) -> np.ndarray:
    """A colour where equal distances look equally far apart (Ottosson 2020), as somebody with this colour vision sees it."""
    light = np.array(palette.rgb(colour)) / 255
    light = np.where(light <= 0.04045, light / 12.92, ((light + 0.055) / 1.055) ** 2.4)
    light = np.clip(np.array(seen_by) @ light, 0, 1)
    cones = np.array([[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]]) @ light
    return np.array(
        [[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]]
    ) @ np.cbrt(cones)


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("eyes", [np.eye(3), *SEEN_BY.values()], ids=["all three cones", *SEEN_BY])
def test_the_parts_are_told_apart_with_any_colour_vision(look, eyes):
    seen = [oklab(colours(look)[f"--part-{part}"], eyes) for part in PART_NAMES]
    apart = min(np.linalg.norm(a - b) for a, b in combinations(seen, 2))
    assert apart > 0.04, apart  # twice what is just noticed side by side


def test_every_deck_wears_the_colour_of_its_part():
    for one in LESSONS:
        rise = json.loads((SLIDES / f"{one.stem}.ipynb").read_text(encoding="utf-8"))["metadata"]["rise"]
        assert (rise["part"], rise["lesson"]) == (PART_NAMES[one.part], int(one.number)), one.stem
    assert all(name in part.lower() for name, part in zip(PART_NAMES, PARTS))
