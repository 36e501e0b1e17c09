"""The film of a training run: reading its tables, what is said and drawn of a checkpoint, and what is refused."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import traitlets

from bertlook_course.analyses.anatomy import Film, half_way, read_film
from bertlook_course.corpora import load_pairs, load_treebank
from bertlook_course.render import describe_film, film_table, render_film
from bertlook_course.widgets import TrainingFilm

ROOT = Path(__file__).resolve().parents[2]
HEADER = "tokens,layer,head,next,det dependent-to-governor\n"
# One layer of two heads at first, then two layers.
ROWS = [
    "100,0,0,.1,.2",
    "100,0,1,.2,.3",
    "5000,0,0,.4,.5",
    "5000,0,1,.3,.1",
    "5000,1,0,.6,.7",
    "5000,1,1,.9,.0",
]


@pytest.fixture(scope="module")
def film():
    return read_film()


@pytest.fixture
def write(tmp_path):
    def write(text, name="film.csv"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return write


def test_every_number_of_the_file_is_where_it_belongs(film):
    with open(ROOT / "data" / "model" / "film.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert set(film.values) == set(rows[0]) - {"tokens", "layer", "head"}
    for row in rows:
        place = film.tokens.index(int(row["tokens"])), int(row["layer"]), int(row["head"])
        assert all(film.values[name][place] == float(row[name]) for name in film.values)
    assert sum(np.isfinite(film.values["next"]).ravel()) == len(rows)
    assert set(film.baselines) == set(film.values)


def test_layers_that_come_later_are_missing_before(write):
    film = read_film(write(HEADER + "\n".join(ROWS)))
    assert film.layers == (1, 2) and film.shape == (2, 2) and film.baselines == {}
    assert np.isnan(film.values["next"][0, 1]).all()
    assert film.values["next"][1].tolist() == [[0.4, 0.3], [0.6, 0.9]]
    said = describe_film(film, "next", 0, (1, 0))
    assert said == (
        "After 100 tokens, to the next token (share): head 1-2 has most, 0.200. Head 2-1 is not there yet; it ends at 0.600. "
        "It hardly changes."
    )
    assert film_table(film, "next", (1, 0)).rows[0] == ["100", "-", "0.200 (1-2)"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "needs the columns tokens, layer, head"),
        ("tokens,layer,head\n", "no measures"),
        (HEADER, "0 checkpoint"),
        (HEADER + "\n".join(ROWS[:2]), "1 checkpoint; a film needs at least two"),
        (HEADER + "\n".join([*ROWS, ROWS[0]]), "line 8: layer 0, head 0 at 100 tokens appears twice"),
        (HEADER + "\n".join(ROWS[:5]), "layer 1, head 1 is missing at 5000 tokens"),
        (HEADER + "\n".join(ROWS).replace("100,", "9000,"), "1 layers at 9000 tokens, but 2 before"),
        (HEADER + "\n".join(ROWS).replace(".4,", "1.4,"), r"line 4: next must be a number from 0 to 1, or empty; got '1.4'"),
        (HEADER + "\n".join(ROWS).replace(".4,", "nan,"), "got 'nan'"),
        (HEADER + "\n".join(ROWS).replace(".4,", ","), "next is empty for layer 0, head 0 at 5000 tokens"),
        (HEADER + "\n".join(ROWS).replace("100,0,0", "100,-1,0"), "line 2: layer must be a whole number"),
        (HEADER + ROWS[0] + ",7\n", "line 2 does not have as many cells as the header"),
    ],
)  # fmt: skip
def test_a_broken_table_is_refused_with_its_line(write, text, message):
    with pytest.raises(ValueError, match=message):
        read_film(write(text))


def test_files_that_are_none(write, tmp_path):
    with pytest.raises(FileNotFoundError, match="no file film.csv in .*specimen_report.py makes it"):
        read_film(tmp_path / "film.csv")
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="not CSV in UTF-8"):
        read_film(tmp_path / "bytes.csv")
    path = write(HEADER + "\n".join(ROWS))
    twice = write("measure,baseline,value,n\nnext,even,.1,3\nnext,even,.1,3\n", "base.csv")
    with pytest.raises(ValueError, match="base.csv, line 3: 'next' needs one value, once"):
        read_film(path, twice)


def test_a_measure_that_is_empty_throughout_is_named(write):
    rows = [row.rpartition(",")[0] + "," for row in ROWS]
    film = read_film(write(HEADER + "\n".join(rows)))
    assert film.skipped == ("det dependent-to-governor",) and list(film.values) == ["next"]


def test_half_way_starts_where_the_head_does():
    assert half_way([np.nan, 0.8, 0.5, 0.1]) == 3
    assert half_way([np.nan, np.nan, 0.5]) is None


def test_the_view_holds_every_number_and_says_what_is_in_view(film):
    view = TrainingFilm(film, measure="obj dependent-to-governor", layer=0, head=1)
    packed = np.frombuffer(view.data, "<f4").reshape(len(film.tokens), len(film.values), *film.shape)
    for at, values in enumerate(film.values.values()):
        assert np.allclose(packed[:, at], values, equal_nan=True, atol=1e-7)
    assert view.point == len(film.tokens) - 1
    assert view.value == pytest.approx(film.values["obj dependent-to-governor"][-1, 0, 1])
    baseline = film.baselines["obj dependent-to-governor"]
    assert view.sentence.endswith(f"Best fixed offset, {baseline.name[-2:]}: {baseline.value:.3f}.")
    assert repr(view).endswith(f"head 1-2 after {view.reached[-1]} tokens)")
    for name, value in (("point", len(film.tokens)), ("layer", 6), ("measure", "luck")):
        with pytest.raises(traitlets.TraitError, match=f"{name} counts from|no measure 'luck'"):
            setattr(view, name, value)
    with pytest.raises(TypeError, match="comes from bertlook_course.analyses.anatomy.read_film"):
        TrainingFilm({"next": 1})


def test_the_present_point_is_marked_on_the_chosen_curve():
    values = np.zeros((3, 2, 2))
    values[:, 1, 0] = [0.0, 0.5, 1.0]
    film = Film((10, 100, 1000), {"next": values})
    places = []
    for point in range(3):
        svg = render_film(film, "next", point, head=(1, 0)).svg
        assert svg == render_film(film, "next", point, head=(1, 0)).svg
        (circle,) = [n for n in ElementTree.fromstring(svg).iter() if n.tag.endswith("circle")]
        places.append((float(circle.get("cx")), float(circle.get("cy"))))
    (x0, y0), (x1, y1), (x2, y2) = places
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.2)  # even steps of the logarithm
    assert y0 > y1 > y2 and y0 - y1 == pytest.approx(y1 - y2, abs=0.2)
    swapped = render_film(film, "next", 2, head=(0, 1)).svg
    assert float(swapped.split('cy="')[1].split('"')[0]) == y0


def test_baselines_are_those_of_the_very_inputs(tmp_path, specimen):
    sys.path.insert(0, str(ROOT / "training"))
    import specimen_report as report

    sentences = load_treebank()[:60]
    report.film_baselines(specimen, load_pairs()[:3], sentences, tmp_path / "base.csv")
    with open(tmp_path / "base.csv", newline="", encoding="utf-8") as file:
        found = {row["measure"]: row for row in csv.DictReader(file)}
    lengths = [
        len(specimen.tokenizer(*pair)["input_ids"])
        for pair in report.short_pairs(specimen.tokenizer, load_pairs()[:3])
    ]
    assert float(found["cls"]["value"]) == pytest.approx(np.mean([1 / n for n in lengths]), abs=1e-4)
    assert float(found["entropy"]["value"]) == 1
    offsets = [
        governor - at
        for sentence in sentences
        if len(specimen.tokenizer(sentence.text)["input_ids"]) <= report.FILM_LENGTH
        for at, (governor, relation) in enumerate(zip(sentence.governors, sentence.relations))
        if relation == "det" and governor >= 0
    ]
    best = max(range(-4, 5), key=offsets.count)
    row = found["det dependent-to-governor"]
    assert row["baseline"] == f"best fixed offset, {best:+d}" and int(row["n"]) == len(offsets)
    assert float(row["value"]) == pytest.approx(offsets.count(best) / len(offsets), abs=1e-4)
    assert found["det governor-to-dependent"]["baseline"] == f"best fixed offset, {-best:+d}"
