"""No picture of one model under the name of another: in every deck, what a cell shows carries the badge of what it was made from.

The sources of a cell's output are followed through the deck's code: what comes from `load_recording` is recorded, what comes from
`load_encoder` or `live_models` is computed. The check is tried on small decks that break it.
"""

from __future__ import annotations

import ast
import base64
import re
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

ROOT = Path(__file__).resolve().parents[2]
DECKS = sorted((ROOT / "slides").glob("[0-9][0-9]_*.ipynb"))

BADGE = "BERT-base, recorded"
RECORDED, COMPUTED = "recorded", "computed"
TITLE = "a title's picture"  # of what was recorded or of what was published; tests/render/test_titles.py holds it to its words
LOADERS = {
    "load_recording": RECORDED,
    "load_encoder": COMPUTED,
    "live_models": COMPUTED,
    "pretrained": COMPUTED,
    "random_twin": COMPUTED,
    "title_picture": TITLE,
}


class Sources:
    """From which models each name of a deck comes, statement after statement."""

    def __init__(self):
        self.of: dict[str, set[str]] = {}

    def read(self, node) -> set[str]:
        """The sources of all that an expression, or the body of a function, names."""
        found = set()
        for one in ast.walk(node):
            if isinstance(one, ast.Call):
                name = getattr(one.func, "id", getattr(one.func, "attr", ""))
                found |= {LOADERS[name]} if name in LOADERS else set()
            if isinstance(one, ast.Name):
                found |= self.of.get(one.id, set())
        return found

    def take(self, node) -> None:
        """Follow one statement."""
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            own = {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}
            own |= {
                one.id
                for one in ast.walk(node)
                if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
            }
            outside = {
                name: self.of.pop(name) for name in own & set(self.of)
            }  # a function's own names hide those of the deck
            found = self.read(node)
            self.of.update(outside)
            self.of[node.name] = found
        elif isinstance(node, ast.Assign):
            self._assign(node.targets, node.value)
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign)) and node.value is not None:
            self._store(node.target, self.read(node.value) | self.read(node.target))
        elif isinstance(node, (ast.For, ast.With, ast.If, ast.Try, ast.While)):
            if isinstance(node, ast.For):
                self._store(node.target, self.read(node.iter))
            for one in [*node.body, *getattr(node, "orelse", ())]:
                self.take(one)

    def _assign(self, targets, value) -> None:
        for target in targets:
            pairs = [(target, value)]
            if (
                isinstance(target, ast.Tuple)
                and isinstance(value, ast.Tuple)
                and len(target.elts) == len(value.elts)
            ):
                pairs = list(zip(target.elts, value.elts))  # a, b = x, y
            for one, what in pairs:
                self._store(one, self.read(what))

    def _store(self, target, found: set[str]) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            for one in target.elts:
                self._store(one, found)
        elif isinstance(target, ast.Name):
            self.of[target.id] = set(found)
        else:  # x[i] = and x.y = add to x
            while not isinstance(target, ast.Name):
                target = target.value
            self.of[target.id] = self.of.get(target.id, set()) | found


def shown(cell) -> tuple[str, bool]:
    """All that a cell's outputs say, the words in their pictures among it, and whether there is a picture."""
    texts, drawn = [], False
    for output in cell.get("outputs", []):
        for kind, text in output.get("data", {}).items():
            if kind.startswith("text/"):
                texts.append("".join(text))
    for address in re.findall(r"data:image/svg\+xml;base64,([\w+/=]+)", "\n".join(texts)):
        texts.append(base64.b64decode(address).decode("utf-8"))
        drawn = True
    return "\n".join(texts), drawn or "<svg" in "\n".join(texts)


def wrong_badges(nb) -> list[str]:
    """Sentences about cells whose pictures carry no badge, or another model's."""
    sources, wrong = Sources(), []
    for number, cell in enumerate(nb.cells, 1):
        if cell.cell_type != "code":
            continue
        body = ast.parse(re.sub(r"(?m)^(\s*)[%!].*$", r"\1pass", cell.source)).body
        for node in body:
            sources.take(node)
        if not body or not isinstance(body[-1], ast.Expr):
            continue
        found = sources.read(body[-1])
        said, drawn = shown(cell)
        if RECORDED in found and drawn and BADGE not in said and "recorded" not in said.partition("shows")[0]:
            wrong.append(f"cell {number} draws what was recorded, without the badge {BADGE!r}")
        if not {RECORDED, TITLE} & found and BADGE in said:
            wrong.append(f"cell {number} says {BADGE!r} and is made from nothing recorded")
        if found == {RECORDED} and 'data-badge="specimen"' in said:
            wrong.append(f"cell {number} calls the specimen what was recorded")
    return wrong


def unnamed_beside(nb) -> list[str]:
    """Sentences about pictures of a computed model that stand on a slide with a recorded one and do not say whose they are."""
    sources, slide, slides = Sources(), 0, {}
    for number, cell in enumerate(nb.cells, 1):
        kind = cell.metadata.get("slideshow", {}).get("slide_type", "-")
        slide += kind in ("slide", "subslide")
        if cell.cell_type != "code":
            continue
        body = ast.parse(re.sub(r"(?m)^(\s*)[%!].*$", r"\1pass", cell.source)).body
        for node in body:
            sources.take(node)
        if kind in ("skip", "notes") or not body or not isinstance(body[-1], ast.Expr):
            continue
        found, (said, _) = sources.read(body[-1]), shown(cell)
        for svg in re.findall(r"<svg\b.*?</svg>", said, re.DOTALL):
            slides.setdefault(slide, []).append((number, found, svg))
    wrong = []
    for slide, pictures in slides.items():
        if not any(BADGE in svg for _, _, svg in pictures):
            continue
        wrong += [
            f"slide {slide}, cell {number}: a picture of a computed model beside a recorded one, without a badge"
            for number, found, svg in pictures
            if found == {COMPUTED} and 'data-badge="' not in svg and "specimen" not in svg
        ]
    return wrong


@pytest.mark.parametrize("path", DECKS, ids=lambda path: path.stem)
def test_what_stands_beside_a_recorded_picture_says_whose_it_is(path):
    assert unnamed_beside(nbformat.read(str(path), as_version=4)) == []


def test_a_picture_without_a_name_beside_a_recorded_one_is_found():
    bare = '<svg xmlns="http://www.w3.org/2000/svg"><text>Head 1-1</text></svg>'
    for svg, complaints in ((bare, 1), (picture("specimen"), 0)):
        nb = deck((LOADED, ""), ("HeadView(text)", picture(BADGE)), ("HeadView(read(small))", svg))
        assert len(unnamed_beside(nb)) == complaints
        nb.cells[2].metadata["slideshow"] = {"slide_type": "slide"}  # on a slide of its own it may stand
        assert unnamed_beside(nb) == []


@pytest.mark.parametrize("path", DECKS, ids=lambda path: path.stem)
def test_every_picture_carries_the_badge_of_its_source(path):
    assert wrong_badges(nbformat.read(str(path), as_version=4)) == []


def test_the_decks_show_recorded_pictures_at_all():
    with_pictures = [path.stem[:2] for path in DECKS if BADGE in path.read_text(encoding="utf-8")]
    assert {"00", "01", "06", "07"} <= set(with_pictures)


# --- the check finds what it is for -----------------------------------------------------------------------------------


def deck(*cells):
    return new_notebook(
        cells=[
            new_code_cell(source, outputs=[new_output("display_data", {"text/html": html})] if html else [])
            for source, html in cells
        ]
    )


def picture(words: str) -> str:
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" data-badge="{words}"><text>{words}</text></svg>'
    return f'<img src="data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}" alt="x">'


LOADED = 'small, large = load_encoder("specimen"), load_recording("bert-base-uncased")\ntext = large["a"]'


@pytest.mark.parametrize(
    ("source", "words", "complaint"),
    [
        ("HeadView(text)", BADGE, None),
        ("HeadView(read(small))", "specimen", None),
        ("RecordedExplorer(small, recording=large)", BADGE, None),
        ("HeadView(text)", "Head 1-1", "without the badge"),
        ("HeadView(text)", "specimen", "calls the specimen"),
        ("HeadView(read(small))", BADGE, "made from nothing recorded"),
        ("for one in [text]:\n    kept = one\nHeadView(kept)", "Head 1-1", "without the badge"),
        ("def draw():\n    return HeadView(text)\ndraw()", "Head 1-1", "without the badge"),
        ("def draw():\n    text = read(small)\n    return HeadView(text)\ndraw()", "Head 1-1", None),
        ("many = {}\nmany['a'] = text\nmany", "Head 1-1", "without the badge"),
        ("many, name = {}, str\nmany[name(1)] = text\nHeadView(name)", "Head 1-1", None),
    ],
)
def test_a_picture_under_another_name_is_found(source, words, complaint):
    found = wrong_badges(deck((LOADED, ""), (source, picture(words))))
    assert any(complaint in one for one in found) if complaint else found == []
