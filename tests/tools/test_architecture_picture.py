"""The picture of the rooms shows the imports that are there, and the walk below it can be walked."""

import doctest
import re

import pytest

from tools import architecture_picture
from tools.architecture_picture import HOUSE, PICTURE, ROOT, SAYS, WALK, draw, import_graph

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
GRAPH = {
    "bertlook_teach.model": set(),
    "bertlook_course.claims": {"bertlook_teach.model"},
    "bertlook_press.pages": set(),
}
ROOMS = [name.split(".")[0] for rooms in HOUSE.values() for name in rooms]


def test_the_picture_is_what_the_tool_draws(capsys):
    assert architecture_picture.main(["--check"]) == 0, capsys.readouterr().out


def test_a_picture_of_other_imports_is_found(tmp_path, monkeypatch, capsys):
    old = tmp_path / "architecture.svg"
    old.write_text(draw(GRAPH), encoding="utf-8")
    monkeypatch.setattr(architecture_picture, "PICTURE", old)
    assert architecture_picture.main(["--check"]) == 1
    assert "does not show today's imports" in capsys.readouterr().out
    assert old.read_text(encoding="utf-8") == draw(GRAPH)
    assert architecture_picture.main([]) == 0
    assert architecture_picture.main(["--check"]) == 0


@pytest.mark.parametrize(
    "importing, n",
    [
        (("bertlook_course.claims", "bertlook_teach.disk"), 1),
        (("bertlook_press.pages", "bertlook_course.render"), 2),
    ],
)
def test_there_is_one_arrow_for_two_packages(importing, n):
    module, target = importing
    assert f", and {n} arrows" in draw(GRAPH | {module: GRAPH[module] | {target}})


def test_every_package_and_room_is_drawn():
    picture = PICTURE.read_text(encoding="utf-8")
    for name in (*HOUSE, *SAYS.values(), *ROOMS):
        assert f">{name}</text>" in picture
    assert set(WALK) < set(ROOMS)


def test_letters_can_be_read_from_the_last_row_and_stay_on_the_picture():
    elements = text_elements(draw(import_graph(ROOT)))
    assert len(elements) > len(set(ROOMS))
    for x, size, anchor, words in elements:
        assert size >= 24
        wide = 0.6 * size * len(words)  # in a wide typeface
        assert anchor == "middle" or x + wide <= architecture_picture.WIDTH, words


def text_elements(picture):
    pattern = r'<text x="(\d+)" .*? font-size="(\d+)" .*? text-anchor="(\w+)" [^>]*>([^<]*)<'
    return [(int(x), int(size), anchor, words) for x, size, anchor, words in re.findall(pattern, picture)]


def test_the_walk_gives_what_the_page_says():
    examples = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
    results = doctest.DocTestRunner().run(
        doctest.DocTestParser().get_doctest(examples, {}, "architecture.md", None, 0)
    )
    assert results.attempted >= 10 and results.failed == 0
    for call in (call for calls in WALK.values() for call in calls):
        assert f"{call.partition('(')[0]}(" in examples


def test_it_is_one_page_with_one_picture_that_is_told_in_words_too():
    assert len(PAGE.splitlines()) <= 60 and len(PAGE.split()) <= 600
    [told] = (" ".join(words.split()) for words in re.findall(r"!\[([^\]]*)\]", PAGE))
    places = [told.find(re.search(rf"\b{name}\b", told)[0]) for name in HOUSE]
    assert places == sorted(places)  # from the ground up
    assert [name for name in ROOMS if not re.search(rf"\b{name}\b", told)] == []
    for room, calls in WALK.items():
        assert all(f"{call.partition('(')[0]}" in told for call in calls) and f" in {room}" in told


def contributor_problems(page: str) -> list[str]:
    """What the contributor's page gets wrong: rooms left out or in another order, and files that are not there."""
    found = []
    rooms = tuple(re.findall(r"(?m)^\| `(\w+)` \|", page))
    if rooms != tuple(dict.fromkeys(ROOMS)):
        found.append(f"the rooms are {', '.join(rooms)}")
    paths = re.findall(r"`((?:bertlook_\w+|tests|tools|training|data|docs|slides|notebooks)/[\w/.]+)", page)
    for path in paths:  # NAME, TOPIC and NN stand for what there is
        named = (
            path.replace("commands/NAME", "commands/present")
            .replace("NAME", "syntax")
            .replace("TOPIC", "syntax")
        )
        if not list(ROOT.glob(re.sub("NN(_topic.ipynb)?", "06", named) + "*")):
            found.append(f"there is no {path}")
    return found if paths else [*found, "no test is named"]


def test_the_contributors_page_knows_the_rooms_and_their_tests():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert contributor_problems(page) == []
    assert contributor_problems(page.replace("| `stats` |", "| `odds` |"))
    assert contributor_problems(page.replace("tests/claims/test_ledger.py", "tests/claims/test_book.py"))
    assert contributor_problems(page.replace("views/head_map.py", "views/heads_map.py"))
