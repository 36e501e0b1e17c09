"""`bertlook site`: what is made, what is kept, what is refused."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from bertlook_bench import line
from bertlook_course.syllabus import find_root
from bertlook_press.classroom import SITE_PARTS, build_site
from bertlook_press.classroom.site import frame, pages
from bertlook_press.classroom.site.build import MANIFEST

ROOT = find_root()


@pytest.fixture
def root(tmp_path):
    """A small course: a deck, an exercise with its solution, two texts."""
    folder = tmp_path / "course"
    for name in ("slides", "docs/images", "notebooks/exercises", "notebooks/solutions"):
        (folder / name).mkdir(parents=True)
    shutil.copy(ROOT / "slides" / "03_where_heads_look.ipynb", folder / "slides")
    for kind in ("exercises", "solutions"):
        shutil.copy(ROOT / "notebooks" / kind / "03_where_heads_look.ipynb", folder / "notebooks" / kind)
    (folder / "docs" / "glossary.md").write_text(
        "# Words\n\nA *head*. [Results](results.md#two), [gone](gone.md).\n", encoding="utf-8"
    )
    (folder / "docs" / "results.md").write_text(
        "# Results\n\n## Two\n\n<script>alert(1)</script>\n\n| a |\n|---|\n| 1 |\n", encoding="utf-8"
    )
    return folder


def build(root, out, **options):
    options = {"parts": ("read", "exercises"), "run": False, "say": lambda line: None} | options
    return build_site(root, out, **options)


def test_texts_lead_to_each_other_and_hold_no_script(root, tmp_path):
    out = tmp_path / "public"
    build(root, out)
    words, results = [
        (out / "read" / f"{name}.html").read_text(encoding="utf-8") for name in ("glossary", "results")
    ]
    assert 'href="results.html#two"' in words and 'id="two"' in results
    assert "gone.md" in words and 'href="gone' not in words
    assert "<script>alert" not in results
    assert '<div class="table" role="group"' in results
    assert '<meta name="description" content="A head. Results, gone.">' in words


def test_the_pictures_of_a_text_come_along_also_from_a_folder_of_their_own(root, tmp_path):
    (root / "docs" / "images" / "gallery").mkdir()
    for place in ("map.png", "gallery/map.png"):
        (root / "docs" / "images" / place).write_bytes(place.encode())
    (root / "docs" / "gallery.md").write_text(
        "# Views\n\n![a](images/map.png) ![b](images/gallery/map.png)\n", "utf-8"
    )
    build(root, tmp_path / "public")
    page = (tmp_path / "public" / "read" / "gallery.html").read_text("utf-8")
    shown = re.findall(r'<img[^>]* src="([^"]+)"', page)
    assert shown == ["images/map.png", "images/gallery/map.png"]
    for place in shown:
        assert (tmp_path / "public" / "read" / place).read_bytes().decode() == place.removeprefix("images/")


def test_a_second_call_makes_what_has_changed_alone(root, tmp_path):
    out = tmp_path / "public"
    first = build(root, out)
    assert "read/glossary.html" in first.made and not first.kept
    again = build(root, out)
    front = ["404.html", "index.html", "lessons/03_where_heads_look.html", "search-words.js", "search.html"]
    assert sorted(again.made) == front
    (root / "docs" / "glossary.md").write_text("# Other words\n", encoding="utf-8")
    third = build(root, out)
    assert "read/glossary.html" in third.made and "read/results.html" in third.kept
    (out / "read" / "results.html").unlink()
    assert "read/results.html" in build(root, out).made
    (out / MANIFEST).write_text("[1", encoding="utf-8")
    assert "read/results.html" in build(root, out).made


def test_a_build_that_is_stopped_goes_on(root, tmp_path):
    out = tmp_path / "public"

    def stopped(units):
        for i, unit in enumerate(units):
            if i == 2:
                raise KeyboardInterrupt
            yield unit

    with pytest.raises(KeyboardInterrupt):
        build(root, out, progress=stopped)
    assert build(root, out).kept == ["fonts.css", "site.css", "read/glossary.html"]


def test_solutions_come_when_asked_for_and_go_again(root, tmp_path):
    out = tmp_path / "public"
    build(root, out)
    assert not (out / "solutions").exists()
    build(root, out, solutions=True)
    page = (out / "solutions" / "03_where_heads_look.html").read_text(encoding="utf-8")
    assert 'class="outputs"' in page
    build(root, out)
    assert not (out / "solutions" / "03_where_heads_look.html").exists()
    assert "solutions/" not in (out / "index.html").read_text(encoding="utf-8")


def test_a_part_alone_leaves_the_others(root, tmp_path):
    out = tmp_path / "public"
    build(root, out)
    build(root, out, parts=["exercises"])
    assert (out / "read" / "glossary.html").is_file()
    assert 'href="read/index.html"' in (out / "index.html").read_text(encoding="utf-8")


def test_somebody_elses_folder_is_left_alone(root, tmp_path):
    out = tmp_path / "public"
    out.mkdir()
    (out / "index.html").write_text("mine", encoding="utf-8")
    with pytest.raises(ValueError, match="--force"):
        build(root, out)
    assert (out / "index.html").read_text(encoding="utf-8") == "mine"
    build(root, out, force=True)
    assert "mine" not in (out / "index.html").read_text(encoding="utf-8")


def test_an_address_gives_a_site_map(root, tmp_path):
    out = tmp_path / "public"
    build(root, out, url="https://example.org/course/")
    listed = (out / "sitemap.xml").read_text(encoding="utf-8")
    assert "<loc>https://example.org/course/</loc>" in listed and "course/read/glossary.html" in listed
    assert 'href="https://example.org/course/index.html"' in (out / "404.html").read_text(encoding="utf-8")
    build(root, out)
    assert not (out / "sitemap.xml").exists()


def test_a_lesson_has_a_page_of_its_own_and_the_words_of_every_page_are_searched(root, tmp_path):
    out = tmp_path / "public"
    build(root, out)
    lesson = (out / "lessons" / "03_where_heads_look.html").read_text("utf-8")
    assert 'href="../exercises/03_where_heads_look.html"' in lesson and "../decks/" not in lesson
    assert 'href="lessons/03_where_heads_look.html"' in (out / "index.html").read_text("utf-8")
    words = (out / "search-words.js").read_text("utf-8")
    found = json.loads(words.removeprefix("globalThis.bertlookWords = ").removesuffix(";\n"))
    parts = {place: sections for place, _, sections in found}
    assert parts["read/results.html"][-1] == [
        "#two",
        "Two",
        "<script>alert(1)</script> a 1",
    ]  # words, never markup
    assert set(parts) == {"read/results.html", "read/glossary.html", "read/index.html"} | {
        f"exercises/{name}.html" for name in ("index", "03_where_heads_look")
    }


@pytest.mark.parametrize(
    "options, message",
    [
        ({"parts": ["slides"]}, "parts of a site are"),
        ({"url": "example.org"}, "begins with https"),
        ({"url": "https://a/?b"}, "no question mark"),
    ],
)
def test_what_is_meant_is_asked_for(root, tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        build(root, tmp_path / "public", **options)
    assert not (tmp_path / "public").exists()


def test_a_package_without_texts_says_so(root, tmp_path):
    shutil.rmtree(root / "docs")
    site = build(root, tmp_path / "public")
    assert any("docs/ comes with the repository" in reason for reason in site.left_out)


def test_links_of_a_deck_lead_to_pages_of_the_site():
    page = '<title>x</title><a title="in the course: notebooks/exercises/a.ipynb">E</a><a title="in the course: README.md">R</a>'
    done = pages.deck_on_site(
        page, "03_where_heads_look", "decks/03.html", {"notebooks/exercises/a.ipynb": "exercises/a.html"}
    )
    assert '<a href="../exercises/a.html">E</a><a title="in the course: README.md">R</a>' in done
    assert '<meta name="description" content="Over many texts' in done


def test_an_address_of_a_text_cannot_leave_its_attribute():
    body = frame.led('<a href="x&quot;onclick=&quot;y.md">z</a>', "docs/a.md", "read/a.html", {})
    assert 'onclick="' not in body


def test_the_command(root, tmp_path, monkeypatch, capsys):
    from bertlook_press.commands import site as command

    monkeypatch.setattr(command, "find_root", lambda: root)
    assert line.main(["site", "--out", str(tmp_path / "public"), "--only", "exercises", "--quiet"]) == 0
    assert "index.html: " in capsys.readouterr().out
    manifest = json.loads((tmp_path / "public" / MANIFEST).read_text(encoding="utf-8"))
    assert {unit["part"] for unit in manifest.values()} <= {"front", *SITE_PARTS}
