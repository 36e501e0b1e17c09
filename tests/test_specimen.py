"""The shipped model: its folder, its card against a recomputation, and the tool that measured it."""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from bertlook_course.analyses.syntax import collect_answers, score_relations
from bertlook_course.corpora import load_pairs, load_treebank
from bertlook_teach.model import load_encoder

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "training"))
import card_words
import specimen_report as report

MODEL = ROOT / "data" / "model"
CARD = (MODEL / "MODEL_CARD.md").read_text(encoding="utf-8")


# --- the folder --------------------------------------------------------------------------------------------------


def test_the_folder_is_small_and_holds_no_pickle():
    files = list(MODEL.rglob("*"))
    assert sum(f.stat().st_size for f in files if f.is_file()) <= 24 * 2**20
    assert {f.suffix for f in files} <= {".json", ".txt", ".toml", ".csv", ".md", ".safetensors"}


def test_it_loads_in_transformers_with_every_weight_in_place():
    from transformers import BertForPreTraining, BertTokenizer

    model, loading = BertForPreTraining.from_pretrained(MODEL, output_loading_info=True)
    assert not loading["missing_keys"]
    assert not loading["unexpected_keys"]
    tokenizer = BertTokenizer.from_pretrained(MODEL)
    assert len(tokenizer) == model.config.vocab_size
    pair = tokenizer("It rained.", "We stayed.")
    assert pair.tokens()[0] == "[CLS]"
    assert [t for t, s in zip(pair.tokens(), pair["token_type_ids"], strict=True) if s][-1] == "[SEP]"


def test_the_config_says_nothing_that_bert_does_not_need():
    config = json.loads((MODEL / "config.json").read_text(encoding="utf-8"))
    assert config["architectures"] == ["BertForPreTraining"]
    assert config["num_hidden_layers"] >= 6
    assert config["num_attention_heads"] >= 6
    assert not {k for k in config if k.startswith("_") or "path" in k or k == "transformers_version"}


def test_it_completes_a_sentence_as_the_card_says():
    import torch
    from transformers import BertForPreTraining, BertTokenizer

    sentence, word = re.search(r'It completes "([^"]+)" with \*(\w+)\*', CARD).groups()
    model, tokenizer = (
        BertForPreTraining.from_pretrained(MODEL, dtype=torch.float32),
        BertTokenizer.from_pretrained(MODEL),
    )
    inputs = tokenizer(sentence, return_tensors="pt")
    place = inputs["input_ids"][0].tolist().index(tokenizer.mask_token_id)
    with torch.no_grad():
        best = model.eval()(**inputs).prediction_logits[0, place].argmax()
    assert tokenizer.decode(best).strip() == word


# --- the card ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def maps():
    return report.surface_table(load_encoder("specimen", device="cpu"), load_pairs())


def card_row(name):
    return re.search(rf"^\| {re.escape(name)} \| ([^|]*) \|", CARD, re.MULTILINE).group(1)


@pytest.mark.parametrize("measure", ["next", "previous"])
def test_the_card_names_the_positional_heads_that_are_there(maps, measure):
    found = {f"{i + 1}-{j + 1}": maps[measure][i, j] for i, j in np.argwhere(maps[measure] > 0.5)}
    printed = dict(re.findall(r"(\d+-\d+) \(([\d.]+)\)", card_row(f"heads with > .5 on the {measure} token")))
    assert set(printed) == set(found)
    assert {k: float(v) for k, v in printed.items()} == pytest.approx(found, abs=0.011)


def test_the_card_gives_the_layers_share_of_marked_tokens(maps):
    per_layer = {m: maps[m].mean(1) for m in ("cls", "sep", "punct")}
    rows = {"- [CLS] by layer": "cls", "- [SEP] by layer": "sep", "- . and , by layer": "punct"}
    for name, measure in rows.items():
        assert [float(x) for x in card_row(name).split()] == pytest.approx(per_layer[measure], abs=0.011)
    marked = sum(per_layer.values())
    assert card_row("layers in which these take more than half") == f"{(marked > 0.5).sum()} of {len(marked)}"


def test_the_card_counts_the_broad_heads(maps):
    assert int(card_row("broad heads (normalised entropy > .8)")) == (maps["entropy"] > 0.8).sum()


def test_the_words_of_the_card_are_what_its_tables_say():
    assert card_words.with_words(CARD) == CARD


def test_other_tables_are_other_words():
    card = CARD
    for old, new in (
        (r"(\| heads with > \.5 on the next token) \|[^|]*\|", r"\1 | 2: 3-1 (0.912), 5-6 (0.507) |"),
        (r"(\| heads with > \.5 on the previous token) \|[^|]*\|", r"\1 | 0 |"),
        (r"(\| \[CLS\] \+ \[SEP\] \+ \. and , by layer) \|[^|]*\|", r"\1 | 0.10 0.60 0.50 0.20 0.20 0.51 |"),
        (r"\|(?: \*\*| )`det`\**( \| \d+) \|.*\|", r"| **`det`**\1 | 4-2 d>g | 0.800 | +1 | 0.598 | 0.702 |"),
    ):
        card, n = re.subn(old, new, card)
        assert n >= 1, old
    said = card_words.words(card)
    assert "to the next token: 3-1 (.91) and 5-6 (.51)." in said and "previous token: no head." in said
    assert "in layers 2 and 6; " in said
    assert "`det` by 4-2 d>g: .80 against .60 (+1)" in said and re.search("random twin on .*`det`", said)
    with pytest.raises(ValueError, match="no row"):
        card_words.words(card.replace("masked-LM perplexity", "other"))
    with pytest.raises(ValueError, match="once each"):
        card_words.with_words(card.replace(card_words.END, ""))


def test_the_card_gives_the_relations_on_the_projects_own_treebank():
    encoder = load_encoder("specimen", device="cpu")
    rows = {r["relation"]: r for r in report.relation_table(collect_answers(encoder, load_treebank()))}
    table = (
        CARD.partition("The same on the project's own treebank")[2].partition("\n\n")[2].partition("\n\n")[0]
    )
    printed = re.findall(
        r"^\|(?: \*\*| )`([^`]+)`(\**) \| (\d+) \| ([^|]+) \| ([\d.]+) \| ([^|]+) \| ([\d.]+) \|",
        table,
        re.MULTILINE,
    )
    assert {name for name, *_ in printed} == set(rows)
    for name, bold, cases, heads, accuracy, offset, offset_accuracy in printed:
        row = rows[name]
        assert (int(cases), offset) == (row["cases"], row["offset"]), name
        assert sorted(heads.strip().split(" / ")) == sorted(row["heads"].split(" / ")), name
        assert float(accuracy) == pytest.approx(row["accuracy"], abs=0.011), name
        assert float(offset_accuracy) == pytest.approx(row["offset_accuracy"], abs=0.0006), name
        assert bool(bold) == (row["accuracy"] - row["offset_accuracy"] >= 0.1), name


# --- the film ------------------------------------------------------------------------------------------------------


def read_film():
    with open(MODEL / "film.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_film_has_twelve_points_or_more_at_even_steps_of_the_logarithm():
    rows = read_film()
    points = sorted({int(row["tokens"]) for row in rows})
    assert len(points) >= 12
    ratios = np.diff(np.log(points))
    assert ratios.max() < np.log(2), "no gap longer than a doubling"
    assert points[0] < points[-1] / 100, "it starts where hardly anything is learnt"
    for point in points:
        heads = [(int(r["layer"]), int(r["head"])) for r in rows if int(r["tokens"]) == point]
        assert heads == list(np.ndindex(max(heads)[0] + 1, max(heads)[1] + 1)), point


def test_the_film_ends_with_the_weights_in_the_folder():
    rows = read_film()
    encoder = load_encoder("specimen", device="cpu")
    short = report.short_pairs(encoder.tokenizer, load_pairs())
    assert len(short) == len(load_pairs())
    assert max(len(encoder.tokenizer(*pair)["input_ids"]) for pair in short) == report.FILM_LENGTH
    maps = report.surface_table(encoder, short)
    last = max(int(row["tokens"]) for row in rows)
    for row in rows:
        if int(row["tokens"]) == last:
            here = int(row["layer"]), int(row["head"])
            assert [float(row[m]) for m in report.FILM_MEASURES] == pytest.approx(
                [maps[m][here] for m in report.FILM_MEASURES], abs=0.002
            ), here


def test_the_film_holds_shares():
    for row in read_film():
        assert all(
            0 <= float(value) <= 1 for name, value in row.items() if name not in ("tokens", "layer", "head")
        )


def test_the_card_says_what_a_reader_must_know():
    for wanted in (
        "CC BY-SA",
        "not BERT-base",
        "does not do",
        "training/pretrain.py",
        "unigram",
        "next-sentence",
    ):
        assert wanted in CARD


# --- the tool that measured it ---------------------------------------------------------------------------------------


def test_relations_are_scored_as_in_the_lesson_on_syntax():
    answers = collect_answers(load_encoder("specimen", device="cpu"), load_treebank()[:30])
    table = score_relations(answers, subtypes="keep", min_cases=20, permutations=0)
    rows = report.relation_table(answers, min_cases=20)
    assert [row["relation"] for row in rows] == [row.relation for row in table.rows[2:]]
    assert any("/" in row["offset"] for row in rows)  # the halves chose two: both are printed
    for row in rows:
        scored = table[row["relation"]]
        assert row["offset"] == scored.offset
        assert (row["cases"], row["accuracy"], row["offset_accuracy"]) == (
            scored.n,
            scored.accuracy,
            scored.baseline,
        )
    found = report.relation_accuracies(answers, ("det", "nmod:poss", "never"))
    assert set(found) == {"det", "nmod:poss"} and found["det"].max() == table["det"].in_sample


def test_the_film_can_be_measured_in_instalments(tmp_path):
    import shutil

    run = tmp_path / "run"
    for tokens in ("000000050000", "000000067500"):
        shutil.copytree(MODEL, run / "film" / tokens)
    out = tmp_path / "film.csv"
    pairs = load_pairs()[:2]
    shutil.move(run / "film" / "000000067500", tmp_path / "later")
    report.film(run, pairs, [], out)
    first = out.read_text(encoding="utf-8")
    shutil.move(tmp_path / "later", run / "film" / "000000067500")
    report.film(run, pairs, [], out)
    both = out.read_text(encoding="utf-8")
    assert both.startswith(first)
    lines = both.splitlines()
    config = json.loads((MODEL / "config.json").read_text(encoding="utf-8"))
    assert len(lines) == 1 + 2 * config["num_hidden_layers"] * config["num_attention_heads"]
    assert lines[0] == "tokens,layer,head,next,previous,cls,sep,punct,entropy"
    assert lines[1].split(",", 1)[1] == lines[1 + len(lines) // 2].split(",", 1)[1], "same weights, same row"
