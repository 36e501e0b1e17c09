"""The shipped model: its folder, its card against a recomputation, and the tool that measured it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from bertlook_teach.attention import Attention
from bertlook_teach.corpora import TreebankSentence, load_pairs
from bertlook_teach.encoder import load_encoder

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
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


def test_the_card_says_what_a_reader_must_know():
    for wanted in (
        "CC BY-SA",
        "not BERT-base",
        "does not do",
        "tools/pretrain.py",
        "unigram",
        "next-sentence",
    ):
        assert wanted in CARD


# --- the tool that measured it ---------------------------------------------------------------------------------------


def attention_of(weights):
    """A word-level attention over [CLS], the words, [SEP]; ``weights`` is (query, key) among the words."""
    n = len(weights)
    full = np.full((1, 1, n + 2, n + 2), 1e-6)
    full[0, 0, 1:-1, 1:-1] = weights
    full[..., 0] += 0.5  # most of the attention goes to [CLS], and must not count
    full /= full.sum(-1, keepdims=True)
    tokens = ("[CLS]", *(f"w{i}" for i in range(n)), "[SEP]")
    return Attention(
        weights=full.astype(np.float32),
        tokens=tokens,
        word_ids=(None, *range(n), None),
        segment_ids=(0,) * (n + 2),
        special=(True, *[False] * n, True),
        words=tokens[1:-1],
        text=" ".join(tokens[1:-1]),
        level="word",
    )


def test_a_dependent_that_looks_at_its_governor_is_right_in_one_direction_only():
    # "the old cat sat": the -> cat, old -> cat, cat -> sat, sat is the root
    governors = (2, 2, 3, -1)
    looks_up = np.full((4, 4), 0.1)
    looks_up[[0, 1, 2], [2, 2, 3]] = 0.6
    right, _ = report.score_sentence(attention_of(looks_up), governors)
    assert right[0, 0, 0].tolist() == [True, True, True, False]
    down, _ = report.score_sentence(attention_of(looks_up.T), governors)
    assert down[1, 0, 0].tolist() == [True, True, True, False]
    assert not right[1, 0, 0, :2].any()
    assert not down[0, 0, 0, :2].any()


def test_a_word_is_never_its_own_governor():
    right, _ = report.score_sentence(attention_of(np.eye(3) * 0.9 + 0.01 + np.eye(3, k=1) * 0.05), (1, 2, -1))
    assert right[0, 0, 0].tolist() == [True, True, False]


def test_offsets_are_scored_like_heads_and_end_at_the_edge():
    _, offset_right = report.score_sentence(attention_of(np.full((4, 4), 0.25)), (1, 2, -1, 2))
    table = dict(zip(report.OFFSETS, offset_right.tolist(), strict=True))
    assert table[1] == [True, True, False, False]
    assert table[-1] == [False, False, False, True]
    assert table[2] == [False, False, False, False]


def test_the_best_head_is_chosen_on_one_half_and_scored_on_the_other():
    heads = np.zeros((2, 2, 1, 2), int)
    heads[0, 0, 0] = [90, 10]  # on the first half head 1-1 looks best,
    heads[1, 0, 0] = [20, 80]  # on the second head 1-2: each is scored where it was not chosen
    offsets = np.zeros((2, len(report.OFFSETS)), int)
    offsets[:, 4] = 40  # offset +1, both halves
    [row] = report.relation_table(({"obj": heads}, {"obj": offsets}, {"obj": np.array([100, 100])}, 0))
    assert row["accuracy"] == pytest.approx((20 + 10) / 200)
    assert row["offset"] == 1
    assert row["offset_accuracy"] == pytest.approx(0.4)
    assert row["heads"] == "1-1 d>g / 1-2 d>g"
    assert report.relation_table(({"obj": heads}, {"obj": offsets}, {"obj": np.array([49, 50])}, 0)) == []


def test_counts_agree_with_sentences_scored_one_at_a_time():
    encoder = load_encoder("specimen", device="cpu")
    words = ("The", "old", "unbelievable", "cat", "sat", ".")
    sentence = TreebankSentence(words, (3, 3, 3, 4, -1, 4), ("det", "amod", "amod", "nsubj", "root", "punct"),
                                *[("_",) * 6] * 3, ({},) * 6)  # fmt: skip
    short = TreebankSentence(("Yes",), (-1,), ("root",), ("_",), ("_",), ("_",), ({},))
    heads, _, cases, skipped = report.relation_counts(encoder, [sentence, short, sentence])
    from bertlook_teach.attention import extract_attention

    right, _ = report.score_sentence(
        extract_attention(encoder, words=list(words)).to_words(), sentence.governors
    )
    assert skipped == 1
    assert cases["amod"].tolist() == [2, 2], "one sentence in each half, two cases each"
    assert "root" not in cases
    assert (heads["amod"] == right[..., 1].astype(int) + right[..., 2]).all()


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
