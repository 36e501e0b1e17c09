"""The paper beside the claim: what stands there with and without its PDF, and that nothing of it is ever saved or fetched."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest

from bertlook_course.syllabus import bibliography, find_paper, papers_folder, short_reference, source
from bertlook_course.widgets import PaperPage, read_paper
from bertlook_course.widgets.panels import paper_page
from bertlook_press.pages import record

ROOT = Path(__file__).resolve().parents[2]
PDF = b"%PDF-1.4\n1 0 obj <</Type /Catalog>> endobj\n"


@pytest.fixture
def papers(tmp_path, monkeypatch):
    """A folder of papers, empty at first."""
    monkeypatch.setenv(bibliography.PAPERS, str(tmp_path))
    return tmp_path


def asked(view, question: str) -> list[tuple[dict, list]]:
    """What the view answers to a question of the page."""
    answers = []
    view.send = lambda content, buffers=(): answers.append((content, list(buffers)))
    view._answer(view, {"ask": question}, [])
    return answers


def test_the_folder_lies_beside_the_slides_unless_another_is_named(monkeypatch, tmp_path):
    monkeypatch.delenv(bibliography.PAPERS, raising=False)
    assert papers_folder() == ROOT / "papers"
    monkeypatch.setenv(bibliography.PAPERS, str(tmp_path))
    assert papers_folder() == tmp_path


def test_the_folder_is_not_part_of_the_repository():
    assert "/papers/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_a_paper_is_found_by_its_key(papers):
    assert find_paper("clark2019") is None
    (papers / "clark2019.pdf").write_bytes(PDF)
    assert find_paper("clark2019") == papers / "clark2019.pdf"
    assert find_paper("michel2019") is None


@pytest.mark.parametrize("key", ["clark2091", "../clark2019", "", "a/b"])
def test_only_keys_of_the_bibliography_are_looked_for(papers, key):
    for wrong in (find_paper, source, PaperPage):
        with pytest.raises(KeyError, match=r"no key .*did you mean \w+"):
            wrong(key)
    with pytest.raises(KeyError, match="did you mean clark2019"):
        source("clark2091")


@pytest.mark.parametrize("page", [0, -1, 2.0, "2", True, None])
def test_a_page_is_counted_from_one(page):
    with pytest.raises(ValueError, match="whole number from 1"):
        PaperPage("clark2019", page=page)


def test_authors_are_named_as_in_a_sentence():
    assert short_reference("michel2019") == "Michel et al. (2019)"
    assert short_reference("abnar2020") == "Abnar and Zuidema (2020)"
    assert short_reference("cohen1960") == "Cohen (1960)"
    assert short_reference("gong2019") == "Gong et al. (2019)"


def test_it_says_whether_the_paper_is_there_each_time_it_is_asked(papers):
    view = PaperPage("clark2019", "section 3.1")
    assert asked(view, "there") == [({"there": False}, [])]
    (papers / "clark2019.pdf").write_bytes(PDF)
    assert asked(view, "there") == [({"there": True}, [])]
    assert asked(view, "pdf") == [({"pdf": True}, [PDF])]


def test_what_is_saved_is_the_same_with_and_without_the_paper(papers):
    def saved():
        view = PaperPage("clark2019", "section 3.1", page=3)
        bundle = {k: v for k, v in view._repr_mimebundle_().items() if "widget" not in k}
        own = [name for name in view.keys if not name.startswith("_") and name != "layout"]
        return bundle, view.get_state(own)

    without = saved()
    (papers / "clark2019.pdf").write_bytes(PDF)
    assert saved() == without
    assert "PDF-1.4" not in str(without)
    assert without[0]["text/plain"] == "PaperPage(clark2019, section 3.1)"
    assert ">Clark et al. (2019), section 3.1</p>" in without[0]["text/html"]
    assert without[1]["file"] == "papers/clark2019.pdf" and without[1]["page"] == 3


def test_nothing_is_asked_of_the_network(papers, monkeypatch):
    def refused(*args, **kwargs):
        raise AssertionError("a connection was made")

    monkeypatch.setattr(socket, "create_connection", refused)
    monkeypatch.setattr(socket.socket, "connect", refused)
    assert asked(PaperPage("clark2019"), "pdf")[0][0]["trouble"].endswith("Nothing is downloaded.")


def test_what_cannot_be_shown_is_said(papers, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"clark2019\.pdf is not there.*BERTLOOK_PAPERS"):
        read_paper("clark2019")
    (papers / "clark2019.pdf").write_bytes(b"<!DOCTYPE html><p>Sign in")
    view = PaperPage("clark2019")
    [(content, buffers)] = asked(view, "pdf")
    assert content == {
        "trouble": "clark2019.pdf is not a PDF. A page saved from a browser is not the paper itself."
    }
    assert not buffers
    monkeypatch.setattr(paper_page, "LARGEST", 10)
    with pytest.raises(ValueError, match="larger than"):
        read_paper("clark2019")


def test_a_source_with_markup_is_escaped(monkeypatch):
    bad = {"author": "<b>, A and B, C and D, E", "year": "2<i>", "title": '"><script>'}
    monkeypatch.setattr(bibliography, "_shipped", lambda: {"bad": bad})
    html = PaperPage("bad", "<u>")._repr_mimebundle_()["text/html"]
    assert "<script" not in html and "<b>" not in html and "<u>" not in html and "<i>" not in html


def test_an_exported_deck_says_where_the_paper_is_shown():
    view = PaperPage("clark2019")
    assert "where the deck runs in Jupyter" in record([view.model_id])["silent"][view.model_id]


def test_the_decks_cite_keys_and_places_and_no_pages():
    """Printings of a paper differ in their pages, and no page was checked."""
    import json

    found = {}
    for path in sorted((ROOT / "slides").glob("[0-9][0-9]_*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        for arguments in re.findall(r"PaperPage\((.*?)\)\s*$", code, re.MULTILINE):
            key, place = re.fullmatch(r'"([\w-]+)", "([^"]+)"', arguments).groups()
            assert source(key) and place
            found.setdefault(path.name[:2], []).append(key)
    assert {"03", "06", "11"} <= set(found)
