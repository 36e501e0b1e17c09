"""What is measured on recorded attention of BERT-base: how the source is read, and that what ships are numbers that fit one another."""

import csv
import json

import numpy as np
import pytest

from bertlook_teach import load_recording
from bertlook_teach.claims import (
    FAILS,
    HOLDS,
    OPEN,
    ledger,
    recorded_about,
    recorded_sentence,
    recorded_verdicts,
)
from bertlook_teach.disk import data_path
from bertlook_teach.measures import map_classes, measure_patterns
from tools.bert_base_tables import PAGE, measured, page_with, text
from tools.measure_bert_base import (
    NAME,
    STEP,
    correlations,
    pearson,
    plain,
    recorded,
    sentences_of,
    special_tokens,
    tree_of,
    word_ids_of,
)

TOKENS = ["[CLS]", "un", "##real", "cat", ".", "[SEP]"]


# --- reading the source ---------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    """A source folder of four sentences; the words of the last do not fit its wordpieces."""
    generator = np.random.default_rng(0)
    listed, arrays = [], {}
    for number in range(4):
        weights = generator.dirichlet(np.ones(6), (12, 12, 6))
        words = ["unreal", "cat", "."] if number < 3 else ["unreal", "ca", "t."]
        arcs = [(0, 1, "amod"), (1, None, "root"), (2, 1, "punct")]
        dependencies = [dict(zip(("child", "parent", "relation"), arc)) for arc in arcs]
        tokens = [*TOKENS[:3], f"cat{number}" if number else "cat", *TOKENS[4:]]
        words = [tokens[3] if word == "cat" else word for word in words]
        about = {"id": f"f{number}", "tokens": tokens, "words": words, "dependencies": dependencies}
        listed.append(about)
        arrays[f"f{number}"] = np.rint(weights * STEP).astype(np.uint16)
    np.savez(tmp_path / "sst2_recorded.npz", **arrays)
    (tmp_path / "sst2_recorded.json").write_text(json.dumps(listed), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "words, expected",
    [
        (["Unreal", "cat", "."], [None, 0, 0, 1, 2, None]),
        (["unreal", "ca", "t."], None),
        (["unreal", "cat"], None),
        (["unreal", "cat", ".", "!"], None),
        (["unreals", "cat", "."], None),
    ],
)
def test_words_are_found_in_wordpieces_or_not_at_all(words, expected):
    assert word_ids_of(TOKENS, words) == expected


def test_the_source_is_read_as_attention_and_trees(folder):
    attentions, trees = sentences_of(folder)
    assert len(attentions) == 4 and len(trees) == 3
    with np.load(folder / "sst2_recorded.npz") as arrays:
        assert np.abs(attentions[1].weights - arrays["f1"] / STEP).max() < 1e-3
    assert attentions[0].weights.sum(-1) == pytest.approx(1, abs=1e-5)
    assert trees[0].governors == (1, -1, 1) and trees[0].relations == ("amod", "root", "punct")
    assert attentions[3].words == ("unreal", "cat3", ".") and attentions[3].word_ids == (
        None,
        0,
        0,
        1,
        2,
        None,
    )
    assert tree_of(
        {"words": ["a"], "dependencies": [{"parent": None, "relation": "root"}], "id": "x"}
    ).upos == ("_",)


def test_it_is_never_called_the_published_model(folder):
    attentions, _ = sentences_of(folder)
    recording = recorded(attentions, folder, "four")
    assert recording.name == NAME == "BERT-base fine-tuned on SST-2 (recorded)"
    assert {attention.model for attention in recording.values()} == {NAME}
    assert recorded_about()["model"] == NAME
    assert "Not the published model" in recorded_sentence()


def test_equal_rows_and_columns_of_two_tokens_are_seen(folder):
    attentions, _ = sentences_of(folder)
    for attention in attentions:
        attention.weights[4, :, -1] = attention.weights[4, :, 0]
        attention.weights[7, ..., -1] = attention.weights[7, ..., 0]
    rows = {row["layer"]: row for row in special_tokens(attentions) if row["model"] == NAME}
    assert rows[5]["rows_apart"] == 0 < rows[6]["rows_apart"]
    assert rows[8]["columns_correlate"] == pytest.approx(1) and rows[7]["columns_correlate"] < 0.5


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
    again = [row for row in plain(correlations(shipped, shipped)) if row["model"] == shipped.name]
    found = {row["measure"]: (float(row["pearson"]), float(row["spearman"])) for row in rows}
    assert found == {
        row["measure"]: pytest.approx((row["pearson"], row["spearman"]), abs=2e-4) for row in again
    }
    ends = [
        row[f"{kind}_{end}"] for row in rows for kind in ("pearson", "spearman") for end in ("low", "high")
    ]
    assert set(ends) == {""}  # twelve chosen inputs have no interval
    assert all(row["pearson_low"] for row in measured("correlations") if row["model"] != shipped.name)
    assert found["cls"][0] > 0.9 and found["sep"][0] > 0.7 and found["entropy_clark"][0] > 0.8


def test_pearson_is_pearson():
    assert pearson([1, 2, 3], [2, 4, 6]) == pytest.approx(1) and pearson(
        [1, 2, 3], [3, 2, 1]
    ) == pytest.approx(-1)


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
    monkeypatch.setattr("bertlook_teach.claims.recorded.data_path", lambda *parts: tmp_path / parts[-1])
    with pytest.raises(ValueError, match="the table has 'perhaps' for 'x'"):
        recorded_verdicts()


def test_the_page_of_results_says_what_the_tables_say():
    page = PAGE.read_text(encoding="utf-8")
    assert page_with(page, text()) == page, "run tools/bert_base_tables.py"


def test_the_tables_are_csv_with_a_header():
    for path in data_path("bert_base", "measured").glob("*.csv"):
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        assert len(rows) > 1 and len({len(row) for row in rows}) == 1, path.name


def test_the_readme_names_every_file():
    folder = data_path("bert_base", "measured")
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in folder.iterdir() if f"`{path.name}`" not in readme] == ["README.md"]
