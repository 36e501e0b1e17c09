"""The README cannot lie, nor the page of commands: examples are run, files exist, commands are real and written as they are typed."""

import doctest
import json
import re
import shlex
from pathlib import Path
from urllib.parse import unquote

import pytest
from traitlets import MetaHasTraits

import start
from bertlook_bench.line import COMMANDS, build_parser
from bertlook_course import widgets
from bertlook_course.storage import evidence_folder, shipped_evidence
from bertlook_teach import views

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
GALLERY = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
INSTRUMENT = (ROOT / "docs" / "instrument.md").read_text(encoding="utf-8")
# Parts or sisters of views that are there, what shows pictures of one's own, and what waits for a file.
WITHOUT_PICTURE = {
    "MaskedWordView",
    "BenchView", "BeliefExplorer", "HeadPictures", "PaperPage", "PictureMenu", "RecordedExplorer", "RecordingFile",
}  # fmt: skip
EXAMPLES = "\n".join(re.findall(r"```python\n(.*?)```", INSTRUMENT, re.DOTALL))


def run_examples(text: str) -> doctest.TestResults:
    test = doctest.DocTestParser().get_doctest(text, {}, "README.md", "README.md", 0)
    return doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test)


def test_the_examples_print_what_the_page_of_commands_says():
    results = run_examples(EXAMPLES)
    assert results.attempted >= 5 and results.failed == 0


def test_the_lines_of_the_gallery_make_their_views(monkeypatch):
    monkeypatch.setattr(shipped_evidence, "evidence_folder", evidence_folder)  # as for whoever types them
    results = run_examples("\n".join(re.findall(r"```python\n(.*?)```", GALLERY, re.DOTALL)))
    assert results.attempted >= 40 and results.failed == 0


def test_the_gallery_has_every_view_each_with_its_lines_and_every_picture_is_of_some_lines():
    whole = {name for name in dir(widgets) if issubclass(type(getattr(widgets, name)), MetaHasTraits)}
    assert whole <= set(re.findall(r"\b[A-Z]\w+", GALLERY))
    assert all(f"widgets.{name}(" in GALLERY for name in whole - WITHOUT_PICTURE)
    assert all(f"views.{name}(" in GALLERY for name in dir(views) if re.fullmatch(r"Head\w+", name))
    pictures = re.findall(r"!\[[^\]]+\]\(images/gallery/(\w+)\.png\)\n\n```python\n>>> ", GALLERY)
    assert pictures and set(pictures) == {path.stem for path in (ROOT / "docs/images/gallery").iterdir()}


def test_an_example_with_a_wrong_number_would_fail(capsys):
    assert run_examples(">>> 1 + 1\n3\n").failed == 1


PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "data").rglob("*.md")),
    *sorted(ROOT.glob("bertlook_*/**/*.md")),
]
NOTEBOOKS = [*sorted((ROOT / "slides").glob("*.ipynb")), *sorted((ROOT / "notebooks").glob("*/*.ipynb"))]


def text_of(path: Path) -> str:
    """A page without its code, or the text cells of a notebook."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return re.sub(r"(?s)```.*?```|`[^`\n]*`", "", text)


def headings(page: Path) -> set[str]:
    """The anchors of a page, as GitHub makes them from its headings."""
    found = re.findall(r"(?m)^#{1,6} (.+)$", page.read_text(encoding="utf-8"))
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)|[`*]", r"\1", title).strip().lower() for title in found)
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in plain}


def lost_links(path: Path) -> list[str]:
    """Relative links to a file that is not there, or to a heading that its page has not."""
    lost = []
    text = text_of(path)
    for target in re.findall(r"\]\(<?([^)\s>]+)>?\)", text) + re.findall(r'src="([^"]+)"', text):
        if re.match(r"[a-z]+:", target):
            continue
        place, _, anchor = target.partition("#")
        aim = (path.parent / unquote(place)).resolve() if place else path
        if not aim.exists() or (anchor and aim.suffix == ".md" and anchor not in headings(aim)):
            lost.append(target)
    return lost


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_relative_link_and_picture_leads_somewhere(path):
    assert not lost_links(path)


def test_every_link_of_a_notebook_to_a_heading_finds_it():
    assert not {path.name: lost for path in NOTEBOOKS if (lost := lost_links(path))}


def test_a_lost_link_would_be_found(tmp_path):
    (tmp_path / "b.md").write_text("# One *two*\n\n## [Three](x), four?\n")
    page = tmp_path / "a.md"
    page.write_text(
        "[a](b.md) [b](b.md#one-two) [c](b.md#three-four) [d](gone.md) [e](b.md#five) ![](p.png) `[x](y)`"
    )
    assert lost_links(page) == ["gone.md", "b.md#five", "p.png"]


def test_every_picture_has_a_text():
    pictures = re.findall(r"!\[(.*?)\]\(", README, re.DOTALL) + re.findall(r'<img[^>]*alt="(.*?)"', README)
    assert pictures and all(len(text) > 20 for text in pictures)
    assert README.count("<img") == len(re.findall(r'<img[^>]*alt="', README))


def commands(text: str, start: str) -> list[list[str]]:
    """The words of every command of a text that begins with ``start``, alone in a line or between backticks."""
    found = re.findall(rf"(?:`|^){re.escape(start)}((?: [^`\n]*)?)(?:`|$)", text, re.MULTILINE)
    return [shlex.split(words) for words in found]


def parsed(words: list[str]) -> bool:
    """Whether start.py or `bertlook` takes these words."""
    if words[:1] == ["test"]:
        return True  # what follows is pytest's
    try:
        start.parse(words) if not words or words[0].startswith("-") else build_parser(words[0]).parse_args(
            words
        )
    except SystemExit as stop:
        return stop.code == 0  # --help
    return True


def test_the_readme_is_one_page_with_one_command_first_and_the_tests_lower_down():
    assert README.count("\n") <= 60
    blocks = re.findall(r"```\n(.*?)```", README, re.DOTALL)
    assert blocks == ["python3 start.py\n", "python3 start.py test\n"]
    assert README.index(blocks[0]) < README.index("## ") < README.index(blocks[1])


def test_every_command_of_the_readme_is_written_as_it_is_typed_in_a_clone():
    assert not re.search(r"`bertlook |^bertlook ", README, re.MULTILINE)
    found = commands(README, "python3 start.py")
    assert {words[0] for words in found if words} >= {
        "present",
        "export",
        "worksheet",
        "doctor",
        "lab",
        "test",
    }


@pytest.mark.parametrize(
    "page", ["README.md", "docs/instrument.md", "docs/slides.md", "docs/teaching.md", "docs/hosts.md"]
)
def test_every_command_of_a_page_is_one_that_is_there(page, capsys):
    text = (ROOT / page).read_text(encoding="utf-8")
    found = (
        commands(text, "python3 start.py") + commands(text, "bertlook") + commands(text, ".venv/bin/bertlook")
    )
    assert len(found) >= 2
    assert [words for words in found if not parsed(words)] == []


def test_a_command_that_is_not_there_would_be_found(capsys):
    assert commands("`bertlook dance 3`, `my bertlook`\nbertlook lab\n", "bertlook") == [
        ["dance", "3"],
        ["lab"],
    ]
    assert (
        not parsed(["dance"])
        and not parsed(["present", "03", "--rout", "7"])
        and parsed(["present", "03", "--help"])
    )


def test_the_page_of_commands_has_every_command():
    assert {words[0] for words in commands(INSTRUMENT, "bertlook") if words} == set(COMMANDS)
