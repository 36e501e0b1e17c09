"""A deck's routes stand in the tags of its slides."""

import json
from pathlib import Path

import pytest

from bertlook_course.syllabus import deck_routes, on_route, route_copy


def cell(kind, *tags):
    return {
        "cell_type": "markdown",
        "source": kind,
        "metadata": {"slideshow": {"slide_type": kind}, "tags": list(tags)},
    }


def deck():
    return {
        "cells": [
            cell("skip", "setup"),
            cell("slide", "route-20", "route-50"),
            cell("notes"),
            cell("slide", "route-50"),
            cell("-"),
            cell("fragment"),
            cell("skip", "setup"),
            cell("slide"),
            cell("slide", "route-20"),
            cell("-"),
        ]
    }


def kinds(notebook):
    return [one["metadata"]["slideshow"]["slide_type"] for one in notebook["cells"]]


def test_slides_are_counted_from_one_and_the_longest_route_has_them_all():
    assert deck_routes(deck()) == {20: [1, 4], 50: [1, 2], 90: [1, 2, 3, 4]}
    assert deck_routes({"cells": []}) == {}


def test_what_is_not_on_the_route_is_skipped_with_all_that_belongs_to_it():
    given = deck()
    assert kinds(on_route(given, 20)) == ["skip", "slide", "notes", *["skip"] * 5, "slide", "-"]
    assert kinds(on_route(given, 90)) == kinds(given) == kinds(deck())


def test_slides_take_their_numbers_in_the_whole_deck_along():
    given = {**deck(), "metadata": {"rise": {"lesson": 3}}}
    assert on_route(given, 20)["metadata"]["rise"] == {"lesson": 3, "numbers": [1, 4], "slides": 4}
    assert given["metadata"] == {"rise": {"lesson": 3}}


@pytest.mark.parametrize(
    ("minutes", "notebook", "has"), [(30, deck(), "20 and 50 and 90"), (20, {"cells": [cell("slide")]}, "90")]
)
def test_a_route_that_is_not_there_is_answered_with_those_that_are(minutes, notebook, has):
    with pytest.raises(ValueError, match=rf"no route of {minutes} minutes; it has {has}\."):
        on_route(notebook, minutes)


def test_the_copy_lies_beside_the_deck_and_is_taken_away(tmp_path):
    (tmp_path / "slides").mkdir()
    (tmp_path / "slides" / "03_a.ipynb").write_text(json.dumps(deck()), encoding="utf-8")
    with pytest.raises(KeyboardInterrupt), route_copy(tmp_path, Path("slides", "03_a.ipynb"), 20) as copy:
        assert copy == Path("slides", "route20_03_a.ipynb")
        assert kinds(json.loads((tmp_path / copy).read_text(encoding="utf-8"))).count("slide") == 2
        raise KeyboardInterrupt
    assert [path.name for path in (tmp_path / "slides").iterdir()] == ["03_a.ipynb"]
