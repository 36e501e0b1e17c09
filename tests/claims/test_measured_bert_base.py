"""What was measured on recorded attention of BERT-base: numbers that fit one another, and no sentence of anybody."""

import csv
import re

import numpy as np
import pytest

from bertlook_course.claims import (
    FAILS,
    HOLDS,
    OPEN,
    ledger,
    recorded_about,
    recorded_sentence,
    recorded_verdicts,
)
from bertlook_course.metrics import rank_correlation
from bertlook_course.published import (
    SHUFFLES,
    published_gum_arcs,
    published_heads,
    published_masking,
    published_sst2_entropy,
)
from bertlook_teach import load_recording
from bertlook_teach.disk import data_path
from bertlook_teach.measures import map_classes, measure_patterns, surface_measures
from tools.recorded_verdicts import MARKS, PAGE, measured, page_with, verdicts

# --- what ships -----------------------------------------------------------------------------------------------


def test_what_ships_are_numbers_and_no_sentence():
    """The sentences are other people's: no cell is longer than a head's label but in the columns that we word ourselves."""
    ours = {"model", "what", "why_not", "why", "says", "null", "head", "twin_head", "optimistic_head", "key"}
    ours |= {"behaviour", "measure", "relation", "pattern", "class", "verdict", "offset"}
    tables = sorted(data_path("bert_base", "measured").glob("*.csv"))
    assert len(tables) == 10
    for path in tables:
        for row in measured(path.stem):
            for column, cell in row.items():
                assert column in ours or cell == "" or np.isfinite(float(cell)), (path.name, column, cell)
    texts = {cell for path in tables for row in measured(path.stem) for cell in row.values()}
    assert not any(len(cell.split()) > 40 for cell in texts)


def test_it_is_never_called_the_published_model():
    assert recorded_about()["model"] == "BERT-base fine-tuned on SST-2 (recorded)"
    assert "Not the published model" in recorded_sentence()


def test_the_numbers_are_of_two_hundred_sentences():
    about = recorded_about()
    assert about["sentences"] == 200 and about["sentences with a tree"] == 198 and about["wordpieces"] > 5000
    assert {row["n"] for row in measured("surface_heads")} == {"200"}
    assert {row["n"] for row in measured("map_classes")} == {"200"}


def test_every_value_lies_in_its_interval():
    for name, ends in (
        ("surface_layers", ("value", "low", "high")),
        ("map_classes", ("share", "low", "high")),
        ("relations", ("accuracy", "low", "high")),
        ("special_tokens", ("share", "share_low", "share_high")),
    ):
        for row in measured(name):
            value, low, high = (float(row[end]) for end in ends)
            assert low - 1e-9 <= value <= high + 1e-9, (name, row)


def test_shares_of_classes_add_up_and_distances_are_a_triangle():
    assert sum(float(row["share"]) for row in measured("map_classes")) == pytest.approx(1, abs=1e-3)
    rows = measured("distances")
    assert len(rows) == 144
    for i, row in enumerate(rows):
        cells = [cell for name, cell in row.items() if name != "head"]
        assert [bool(cell) for cell in cells] == [j > i for j in range(144)]
        assert all(0 <= float(cell) <= np.log(2) for cell in cells if cell)


def test_the_neighbour_heads_kept_their_published_roles():
    heads = {row["head"]: row for row in measured("surface_heads")}
    assert float(heads["3-1"]["next"]) > 0.8 and float(heads["4-6"]["previous"]) > 0.7
    relations = {row["relation"]: row for row in measured("relations")}
    assert relations["det"]["head"] == "8-11 d>g" and float(relations["det"]["gain_low"]) > 0


def test_the_correlations_of_the_shipped_recording_are_made_again():
    """The only rows whose source is here."""
    shipped = load_recording("bert-base-uncased")
    rows = [row for row in measured("correlations") if row["model"] == shipped.name]
    assert {row["n"] for row in rows if row["measure"] != "punct"} == {"12"}
    found = {row["measure"]: (float(row["pearson"]), float(row["spearman"])) for row in rows}
    for name, kept in found.items():
        values = np.mean([surface_measures()[name](one).ravel() for one in shipped.values()], axis=0)
        published = published_heads(name).ravel()
        again = np.corrcoef(values, published)[0, 1], rank_correlation(values, published)
        assert kept == pytest.approx(again, abs=2e-4), name
    ends = [
        row[f"{kind}_{end}"] for row in rows for kind in ("pearson", "spearman") for end in ("low", "high")
    ]
    assert set(ends) == {""}  # twelve chosen inputs have no interval
    assert all(row["pearson_low"] for row in measured("correlations") if row["model"] != shipped.name)
    assert found["cls"][0] > 0.9 and found["sep"][0] > 0.7 and found["entropy_clark"][0] > 0.8


def test_the_recorded_input_has_classes_and_patterns_as_any_attention():
    attention = load_recording("bert-base-uncased")["the cat sat on the mat"]
    assert map_classes(attention).shape == (12, 12)
    assert measure_patterns(attention)["next"].excess[2, 0] > 0.5


# --- the ledger -----------------------------------------------------------------------------------------------


def test_verdicts_on_the_recording_are_of_claims_of_today():
    claims = {claim.key: claim for claim in ledger()}
    found = recorded_verdicts()
    assert len(found) >= 10 and set(found) <= set(claims)
    assert all(np.isfinite([one.value, one.low, one.high]).all() and one.n > 1 for one in found.values())
    for key, verdict in found.items():
        assert verdict.threshold == pytest.approx(claims[key].threshold, abs=5e-5), key
    assert {HOLDS, FAILS, OPEN} == {verdict.verdict for verdict in found.values()}


def test_a_verdict_follows_from_its_interval():
    for verdict in recorded_verdicts().values():
        if verdict.verdict == HOLDS:
            assert verdict.low >= verdict.threshold
        elif verdict.verdict == FAILS:
            assert verdict.high <= verdict.threshold
        else:
            assert verdict.why


def test_an_unknown_verdict_is_refused(tmp_path, monkeypatch):
    (tmp_path / "verdicts.csv").write_text(
        "key,value,low,high,twin,twin_low,twin_high,n,verdict,why,line\nx,1,1,1,0,0,0,2,perhaps,,0.5\n"
    )
    monkeypatch.setattr("bertlook_course.claims.recorded.data_path", lambda *parts: tmp_path / parts[-1])
    with pytest.raises(ValueError, match="the table has 'perhaps' for 'x'"):
        recorded_verdicts()


def test_the_page_of_results_says_what_the_verdicts_say():
    page = PAGE.read_text(encoding="utf-8")
    assert page_with(page, verdicts()) == page, "run tools/recorded_verdicts.py"


def triples():
    """Every number with every interval of its row, shape (row, 3): as it is, and per cent."""
    found = []
    for table in (
        "correlations",
        "surface_layers",
        "special_tokens",
        "relations",
        "families",
        "map_classes",
        "patterns",
    ):
        for row in measured(table):
            numbers = {
                name: float(cell) for name, cell in row.items() if re.fullmatch(r"-?[\d.]+(e-\d+)?", cell)
            }
            ends = [name.removesuffix("low") for name in numbers if name.endswith("low")]
            found += [
                (x, numbers[f"{end}low"], numbers[f"{end}high"]) for x in numbers.values() for end in ends
            ]
    return np.concatenate([np.array(found), 100 * np.array(found)])


def rows_below(heading):
    lines = (
        PAGE.read_text(encoding="utf-8")
        .split(f"\n{heading}")[1]
        .split("\n## ")[0]
        .split("\n### ")[0]
        .split("\n")
    )
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")][
        2:
    ]


def test_every_number_with_an_interval_on_the_page_is_a_measured_one():
    kept = triples()
    page = PAGE.read_text(encoding="utf-8")
    shown = page[page.index("## BERT-base: recorded attention") : page.index(MARKS[0])]
    intervals = re.findall(r"([+-]?\d+\.(\d+)) \[([+-]?[\d.]+), ([+-]?[\d.]+)\]", shown)
    assert len(intervals) > 200
    for value, decimals, low, high in intervals:
        wanted = np.array([float(value), float(low), float(high)])
        apart = np.abs(kept - wanted).max(axis=1).min()
        assert apart <= 0.5 * 10.0 ** -len(decimals) + 1e-9, f"{value} [{low}, {high}] is in no table"


def test_the_tables_of_what_others_released_say_what_they_released():
    for relation, head, right, n, _ in rows_below("### Arcs found by each head on GUM"):
        found = published_gum_arcs(relation)
        layer, number = (int(part) - 1 for part in head.split("-"))
        assert found.correct[layer, number] == found.correct.max() == int(right.replace(",", ""))
        assert n == ("not known" if found.n is None else f"{found.n:,}")
    for task, metric, n, base, worst, best, _, _ in rows_below("### Heads masked one at a time"):
        found = published_masking(task)
        assert (metric, n, base) == (found.metric, f"{found.n:,}", f"{100 * found.base:.1f}")
        for cell, change in (
            (worst, (found.one_off - found.base).min()),
            (best, (found.one_off - found.base).max()),
        ):
            assert cell.endswith(f"({100 * change:+.2f})")
    for layer, *cells in rows_below("### Entropy by layer on 2,000 sentences"):
        for cell, name in zip(cells, SHUFFLES, strict=True):
            found, at = published_sst2_entropy(name), int(layer) - 1
            assert cell == f"{found.mean[at]:.3f} ± {found.deviation[at]:.3f}"


def test_the_tables_are_csv_with_a_header():
    for path in data_path("bert_base", "measured").glob("*.csv"):
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        assert len(rows) > 1 and len({len(row) for row in rows}) == 1, path.name


def test_the_readme_names_every_file():
    folder = data_path("bert_base", "measured")
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in folder.iterdir() if f"`{path.name}`" not in readme] == ["README.md"]
