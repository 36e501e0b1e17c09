"""The trial of the built wheel: what is tried, what Colab's cell becomes, and what counts as well. The trial itself needs a package index."""

from __future__ import annotations

import nbformat
import pytest

from tools import try_wheel


@pytest.mark.parametrize(("kind", "decks", "others"), [("slides", 16, 0), ("lab", 16, 0), ("colab", 0, 28)])
def test_every_notebook_is_tried(kind, decks, others):
    found = try_wheel.notebooks(kind)
    assert [sum(path.parent.name == "slides" for path in found), len(found)] == [decks, decks + others]
    assert {path.stem[:2] for path in try_wheel.notebooks(kind, ["03"])} == {"03"}


@pytest.mark.parametrize(
    "path", try_wheel.notebooks("colab"), ids=lambda path: f"{path.parent.name}-{path.stem[:2]}"
)
def test_the_installation_cell_is_found_in_every_notebook_of_colab(path):
    cells = [cell.source for cell in nbformat.read(path, 4).cells if "colab" in cell.metadata.get("tags", [])]
    assert len(cells) == 1
    assert cells[0].count(try_wheel.install_address()) == cells[0].count("pip install") == 1


def test_a_deck_that_needs_torch_must_say_which_extra_brings_it():
    advice = 'ModuleNotFoundError: torch is not installed: pip install "bertlook_teach[torch]"'
    assert try_wheel.judge("slides", "04_is_sep_a_no_op", advice)[0]
    assert not try_wheel.judge("slides", "04_is_sep_a_no_op", "No module named 'torch'")[0]
    assert not try_wheel.judge("slides", "04_is_sep_a_no_op", "")[0]  # it ran: the list is too long
    assert try_wheel.judge("slides", "03_where_heads_look", "")[0]
    assert not try_wheel.judge("lab", "04_is_sep_a_no_op", advice)[0]
