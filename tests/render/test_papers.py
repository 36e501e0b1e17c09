"""Figures and pictures as files: their size, their sentence, the same bytes twice, and what is said where it cannot be."""

from __future__ import annotations

import io
import re
import struct
from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest
from any_view import HOSTILE, VIEWS

from bertlook_course.render import (
    best_of_figure,
    caption_of,
    chance_figure,
    depth_figure,
    figure_picture,
    gain_figure,
    interval_curves,
    layer_curves,
    ranked_effects_figure,
    save_figure,
    significance_figure,
)
from bertlook_course.render.drawing import papers
from bertlook_course.storage import find_chromium
from bertlook_teach.views import HeadExplorer, Picture, render_attention_lines

WEIGHTS = np.array([[0.5, 0.5, 0.0], [0.1, 0.2, 0.7], [1.0, 0.0, 0.0]])
TOKENS = ("[CLS]", "<cat>", "[SEP]")
CURVES = {"specimen": [0.1, 0.4, 0.2]}


def picture() -> Picture:
    return render_attention_lines(WEIGHTS, TOKENS)


def curves():
    return layer_curves(CURVES, ylabel="to [SEP] (share)", title="Where")


def size_of(path) -> tuple[float, float]:
    """Width and height in millimetres, as the file itself says."""
    data = path.read_bytes()
    if path.suffix == ".svg":
        opening = re.search(r"<svg[^>]*>", data.decode())[0]
        found = [re.search(rf'\s{side}="([\d.]+)(mm|pt)"', opening) for side in ("width", "height")]
        return tuple(float(one[1]) * {"mm": 1, "pt": 25.4 / 72}[one[2]] for one in found)
    if path.suffix == ".pdf":
        box = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+)", data)
        return tuple(float(side) * 25.4 / 72 for side in box.groups())
    pixels = struct.unpack(">II", data[16:24])
    at = data.index(b"pHYs") + 4
    a_metre = struct.unpack(">II", data[at : at + 8])
    return tuple(1000 * n / m for n, m in zip(pixels, a_metre))


NEEDS_BROWSER = pytest.mark.skipif(find_chromium() is None, reason="no Chromium or Chrome found")
KINDS = [
    *((curves, ending) for ending in (".svg", ".pdf", ".png")),
    (picture, ".svg"),
    *(pytest.param(picture, ending, marks=NEEDS_BROWSER) for ending in (".pdf", ".png")),
]


@pytest.mark.parametrize(("make", "ending"), KINDS)
def test_a_file_is_as_wide_as_asked_and_the_same_bytes_twice(tmp_path, make, ending):
    first = save_figure(make(), tmp_path / f"first{ending}", width="85mm")
    second = save_figure(make(), tmp_path / f"second{ending}", width="8.5cm")
    assert first.read_bytes() == second.read_bytes()
    wide, high = size_of(first)
    assert wide == pytest.approx(85, abs=0.3)  # a pixel of the page
    own = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', picture().svg) if make is picture else None
    ratio = float(own[2]) / float(own[1]) if own else 4.5 / 8
    assert high == pytest.approx(85 * ratio, abs=0.5)


@NEEDS_BROWSER
def test_the_whole_picture_is_in_the_photograph(tmp_path):
    """A window's size counts its frame, so a naive photograph ends above the picture's lower edge."""
    from matplotlib import image

    two = Picture(['<rect width="300" height="150" fill="#E69F00"/>'], 300, 150, "", "Orange.")
    drawn = image.imread(save_figure(two, tmp_path / "a.png", width="60mm", dpi=96))
    assert drawn.shape[:2] == (113, 227)
    assert np.abs(drawn[..., :3] - np.array([0xE6, 0x9F, 0]) / 255).max(axis=-1)[:-1, :-1].max() < 0.01


@pytest.mark.parametrize("make", [curves, picture])
def test_the_sentence_lies_beside_and_comes_from_the_data(tmp_path, make):
    path = save_figure(make(), tmp_path / "new" / "figure.svg")
    said = path.with_suffix(".txt").read_text(encoding="utf-8")
    assert said == caption_of(make()) + "\n"
    assert ("0.400" if make is curves else "100 % of") in said
    save_figure(make(), path, caption="my own")
    assert path.with_suffix(".txt").read_text(encoding="utf-8") == "my own\n"


def test_a_text_of_ones_own_is_not_replaced(tmp_path):
    (tmp_path / "novel.txt").write_text("It was a dark night.")
    with pytest.raises(FileExistsError, match="would replace novel.txt"):
        save_figure(curves(), tmp_path / "novel.svg")
    assert (tmp_path / "novel.txt").read_text() == "It was a dark night."
    assert not (tmp_path / "novel.svg").exists()
    for _ in range(2):  # but a figure may be saved again
        save_figure(curves(), tmp_path / "curves.svg")


def test_the_caption_of_a_figure_follows_its_numbers():
    assert (
        caption_of(curves())
        == "Where, to [SEP] (share): specimen is highest in layer 2 (0.400) and lowest in layer 1 (0.100)."
    )
    turned = layer_curves({"specimen": [0.4, 0.1, 0.2]}, ylabel="to [SEP] (share)")
    assert "highest in layer 1 (0.400) and lowest in layer 2" in caption_of(turned)


def test_a_figure_without_curves_needs_a_caption(tmp_path):
    from matplotlib.figure import Figure

    with pytest.raises(ValueError, match="holds no curve.*caption="):
        save_figure(Figure(), tmp_path / "empty.svg")
    assert not (tmp_path / "empty.svg").exists()
    assert save_figure(Figure(), tmp_path / "empty.svg", caption="nothing at all").exists()


def test_a_figure_keeps_its_own_size_and_its_type(tmp_path):
    figure = curves()
    before = tuple(figure.get_size_inches())
    file = save_figure(figure, tmp_path / "a.svg", width="60mm")
    assert tuple(figure.get_size_inches()) == before
    assert "font: 13px" in file.read_text() or "13px" in file.read_text()
    assert size_of(save_figure(figure, tmp_path / "b.svg"))[0] == pytest.approx(8 * 25.4, abs=0.1)


@pytest.mark.parametrize("name", [name for name in VIEWS if name != "bench"])
def test_every_view_is_saved_as_it_stands(tmp_path, name):
    view = VIEWS[name](HOSTILE, 2, 3)
    path = save_figure(view, tmp_path / "view.svg", width="120mm")
    assert path.with_suffix(".txt").read_text(encoding="utf-8") == view.picture().beneath + "\n"
    assert size_of(path)[0] == pytest.approx(120)
    assert "max-width" not in path.read_text(encoding="utf-8").partition(">")[0]


def test_of_an_explorer_the_head_in_view_is_saved(tmp_path):
    explorer = HeadExplorer(np.stack([[WEIGHTS, WEIGHTS[::-1]]]), TOKENS, head=1)
    file = save_figure(explorer, tmp_path / "a.svg")
    assert file.read_bytes() == save_figure(explorer.head_view, tmp_path / "b.svg").read_bytes()
    assert "1-2" in caption_of(explorer) and "1-2" in file.with_suffix(".txt").read_text()
    box = SimpleNamespace(one=explorer.head_map, other=explorer.head_view)
    with pytest.raises(TypeError, match=r"got SimpleNamespace\. Of this one give \.one or \.other\."):
        save_figure(box, tmp_path / "c.svg")
    with pytest.raises(TypeError, match=r"got ndarray\.$"):
        save_figure(WEIGHTS, tmp_path / "c.svg")


INTERVALS = {"specimen": ([0.1, 0.4, 0.2], [0.0, 0.3, 0.1], [0.2, 0.5, 0.3])}
AX_FIGURES = {
    "layer_curves": lambda ax: layer_curves(CURVES | {"other": [0.2, 0.1, 0.3]}, ylabel="share", ax=ax),
    "interval_curves": lambda ax: interval_curves(INTERVALS, baseline=("even", 0.1), ylabel="share", ax=ax),
    "depth_figure": lambda ax: depth_figure(CURVES, ylabel="F1", ax=ax),
    "ranked_effects_figure": lambda ax: ranked_effects_figure(WEIGHTS, np.stack([WEIGHTS - 1, WEIGHTS + 1], -1), WEIGHTS > 0.4, ylabel="loss", ax=ax),
    "significance_figure": lambda ax: significance_figure({"a": (WEIGHTS, WEIGHTS / 2 + 0.01)}, levels={"5 %": 0.05}, xlabel="change", ax=ax),
    "chance_figure": lambda ax: chance_figure({"a": [1.0, 2.0, 3.0]}, 2.5, xlabel="gain", ax=ax),
    "gain_figure": lambda ax: gain_figure({"a": {"obj": (1.0, 0.0, 2.0)}}, ["obj"], ax=ax),
    "best_of_figure": lambda ax: best_of_figure({"20 cases": [0.5, 0.6]}, [1, 10], level=0.5, ylabel="share", ax=ax),
}  # fmt: skip


@pytest.mark.parametrize("name", AX_FIGURES)
def test_a_figure_is_drawn_into_the_axes_of_somebody_s_own(name):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3, 2))
    left, right = figure.subplots(1, 2)
    left.plot([1, 2], [3, 4], label="mine")
    figure.legend(loc="upper right")
    size, type_size = tuple(figure.get_size_inches()), right.xaxis.label.get_size()
    assert AX_FIGURES[name](right) is figure
    assert right.lines or right.patches
    assert len(left.lines) == 1 and len(figure.legends) == 1 and tuple(figure.get_size_inches()) == size
    assert right.xaxis.label.get_size() == type_size
    figure.savefig(io.BytesIO(), format="svg")
    with pytest.raises(TypeError, match=r"got ndarray\. Of several give one: ax=axes\[0\]"):
        AX_FIGURES[name](figure.subplots(1, 2))
    alone = AX_FIGURES[name](None)
    assert alone is not figure and alone.axes[0].get_xlabel() == right.get_xlabel()


def test_bands_are_those_of_the_curves_drawn_and_not_of_what_stood_there():
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    ax.plot([1, 2, 3], [9, 9, 9], color="red")
    interval_curves(INTERVALS, ylabel="share", ax=ax)
    [band] = ax.collections
    assert band.get_facecolor()[0][:3] == pytest.approx(matplotlib.colors.to_rgb(ax.lines[1].get_color()))


def test_a_drawn_figure_inside_a_picture_loses_the_rules_for_a_page(tmp_path):
    path = save_figure(figure_picture(curves(), "It says."), tmp_path / "a.svg", width="3.3in")
    opening = path.read_text(encoding="utf-8").partition(">")[0]
    assert "vw" not in opening and "stroke-linejoin:round" in opening
    assert size_of(path)[0] == pytest.approx(3.3 * 25.4, abs=0.01)


def test_without_a_browser_it_is_said_what_to_install_and_what_works(tmp_path, monkeypatch):
    monkeypatch.setattr(papers, "find_chromium", lambda: None)
    with pytest.raises(RuntimeError, match=r"PDF of a picture a Chromium.*BERTLOOK_CHROMIUM.*\.svg"):
        save_figure(picture(), tmp_path / "a.pdf")
    assert save_figure(picture(), tmp_path / "a.svg").exists()
    assert save_figure(curves(), tmp_path / "b.pdf").exists()  # matplotlib makes its own


def test_a_browser_that_makes_nothing_is_said(tmp_path, monkeypatch):
    broken = tmp_path / "browser"
    broken.write_text("#!/bin/sh\necho no display >&2\n")
    broken.chmod(0o755)
    monkeypatch.setattr(papers, "find_chromium", lambda: broken)
    with pytest.raises(RuntimeError, match=r"made no PNG \(no display\)\. Save as \.svg"):
        save_figure(picture(), tmp_path / "a.png")


def test_axes_and_pyplot_are_saved_with_the_figure_they_stand_on(tmp_path):
    from matplotlib import pyplot

    figure = pyplot.figure()
    axes = figure.add_subplot()
    axes.plot([1, 2], [3, 4], label="mine")
    files = [
        save_figure(one, tmp_path / f"{i}.svg", caption="Mine.")
        for i, one in enumerate((figure, axes, pyplot))
    ]
    pyplot.close(figure)
    assert len({file.read_bytes() for file in files}) == 1
