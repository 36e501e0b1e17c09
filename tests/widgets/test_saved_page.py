"""Saved pages: what is in the file, how large it is, what cannot be saved, and where it can be written."""

from __future__ import annotations

import base64
import json
import re
import zlib

import numpy as np
import pytest
from any_view import BAD_NAME, VIEWS, attention, bench, lines, maps

from bertlook_course.widgets import HeadPictures, NeuronView
from bertlook_press.pages import page_source, playground_link, precision_note, save_page
from bertlook_teach.disk import write_file
from bertlook_teach.model import load_encoder
from bertlook_teach.views import HeadExplorer, HeadView, SideBySide

SENTENCE = ("[CLS]", "the", "cat", "sat", "[SEP]")


def saved_state(page: str) -> dict:
    return json.loads(re.search(r'type="application/json">(.*?)</script>', page, re.DOTALL)[1])


def test_the_file_is_written_and_is_the_same_bytes_twice(tmp_path):
    first, second = (save_page(lines(SENTENCE, 2, 3), tmp_path / "new" / f"{i}.html") for i in "ab")
    assert first.read_bytes() == second.read_bytes()
    assert first.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_the_page_asks_nobody():
    page = page_source(lines(SENTENCE, 2, 3))
    assert "default-src 'none'" in page
    addresses = set(re.findall(r"https?://[^\s\"'<>)]+", page))
    assert addresses <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|eval|import)\s*\(", page)


def test_every_head_is_in_the_page_within_half_a_step():
    view = HeadView(attention(SENTENCE, 2, 3), bits=8)
    state = saved_state(page_source(view))["views"][0]["state"]
    data = base64.b64decode(state["data"]["base64"])
    steps = np.frombuffer(zlib.decompress(data) if state["packing"] == "deflate" else data, "u1")
    assert np.abs(steps.reshape(2, 3, 5, 5) / 255 - maps(5, 2, 3)).max() <= 0.5 / 255 + 1e-7


@pytest.mark.parametrize(("bits", "said"), [(8, "off by at most 0.002"), (16, "off by at most 0.000008")])
def test_how_exact_the_numbers_are_is_said_and_true(bits, said):
    view = HeadView(attention(SENTENCE, 2, 3), bits=bits)
    assert said in precision_note([view]) and said in page_source(view)
    off = max(
        np.abs(view._steps[place] / view._top - maps(5, 2, 3)[place]).max() for place in np.ndindex(2, 3)
    )
    assert off <= 0.5 / (2**bits - 1) + 1e-7


def test_144_heads_of_128_tokens_fit_three_megabytes():
    tokens = ("[CLS]", *(f"word{i}" for i in range(126)), "[SEP]")
    # Rows without any structure pack worst of all.
    noise = np.random.default_rng(0).dirichlet(np.ones(128), size=(12, 12, 128)).astype(np.float32)
    view = HeadView(attention(tokens, 12, 12, noise))
    assert view.bits == 8 and len(page_source(view).encode()) < 3_000_000


@pytest.mark.parametrize(
    "make", [bench, lambda *shape: HeadPictures(np.ones((2, 3)), lambda layer, head: NO_PICTURE)]
)
def test_what_python_answers_is_refused_with_what_to_do_instead(make):
    with pytest.raises(TypeError, match="cannot hold a .*xport the notebook.*bertlook export"):
        page_source(make(SENTENCE, 2, 3))


def test_of_a_box_that_no_page_can_hold_the_parts_that_it_can_are_named():
    models = [load_encoder("specimen"), load_encoder("specimen-random")]
    both = SideBySide(models, "The cat sat.")
    with pytest.raises(
        TypeError, match=r"hold a SideBySide\. .* Give its \.explorers\[0\] or \.explorers\[1\], or export"
    ):
        page_source(both)
    assert "The cat sat.</h1>" in page_source(both.explorers[1])


def test_a_neuron_view_of_one_layer_is_refused(monkeypatch):
    from bertlook_course.widgets import neuron_view

    monkeypatch.setattr(neuron_view, "_ALL_LAYERS_UP_TO", 0)
    view = VIEWS["neurons"](SENTENCE, 2, 3)
    assert isinstance(view, NeuronView)
    with pytest.raises(ValueError, match="holds layer 1 of 2 alone.*Take a shorter text"):
        page_source(view)


def test_only_html_is_written(tmp_path):
    with pytest.raises(ValueError, match=r"a saved page is an \.html file; got 'a.pdf'"):
        save_page(lines(SENTENCE, 2, 3), tmp_path / "a.pdf")


def test_a_place_that_cannot_be_written_is_named_with_another(tmp_path):
    taken = tmp_path / "file"
    taken.write_text("x")
    with pytest.raises(OSError, match=r"cannot write .*page.html \(.*choose a folder of your own"):
        save_page(lines(SENTENCE, 2, 3), taken / "page.html")
    with pytest.raises(OSError, match="cannot write"):
        write_file(tmp_path, "a folder, not a file")


def test_page_and_link_are_of_the_text_in_view_not_of_one_that_was_refused():
    explorer = HeadExplorer(load_encoder("specimen"), "The cat sat.")
    for refused in ("dogs " * 200, ""):
        explorer.text_box.text.value = refused
        assert explorer.text_box.message.value and explorer.text_box.shown == ("The cat sat.", None)
        assert "The cat sat.</h1>" in page_source(explorer) and "text=The+cat+sat.&" in playground_link(
            explorer
        )
    explorer.read("It slept.")
    assert "text=It+slept.&" in playground_link(explorer)


def test_the_heading_is_the_text_and_is_escaped():
    assert f"<title>{BAD_NAME}" not in page_source(lines(SENTENCE, 2, 3), title=BAD_NAME)
    assert '<h1 dir="auto">Attention of 2 x 3 heads</h1>' in page_source(lines(SENTENCE, 2, 3))


class _NoPicture:
    svg, sentence = "<svg/>", ""

    def inline(self):
        return ""


NO_PICTURE = _NoPicture()
