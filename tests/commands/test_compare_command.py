"""``bertlook compare`` and ``bertlook negation`` on tiny models: what is written, what is said, what goes wrong."""

from __future__ import annotations

import csv
import json

import pytest
import tiny

from bertlook_teach.commands import line as cli

TEXTS = "The cat sat on the mat.\nA dog chased it.\nIt was tired, the dog.\n"


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for name, seed in (("before", 7), ("after", 8)):
        tiny.save_tiny_model(folder / name, seed=seed)
    tiny.save_tiny_model(folder / "wide", hidden_size=20, num_attention_heads=4)
    (folder / "texts.txt").write_text(TEXTS, encoding="utf-8")
    return folder


def run(*args):
    return cli.main([str(a) for a in args])


def table(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_two_checkpoints_are_compared_head_by_head_and_layer_by_layer(folders, tmp_path, capsys):
    code = run(
        "compare",
        folders / "before",
        folders / "after",
        "--texts",
        folders / "texts.txt",
        "--out",
        tmp_path,
        "--quiet",
    )
    said = capsys.readouterr().out
    assert code == 0 and "3 texts" in said and "random twin" in said and "keeps one head on average" in said
    heads, layers = table(tmp_path / "compare.csv"), table(tmp_path / "compare-layers.csv")
    assert [row["head"] for row in heads] == ["1-1", "1-2", "2-1", "2-2", "3-1", "3-2"] and len(layers) == 3
    assert float(heads[0]["cosine_low"]) <= float(heads[0]["cosine"]) <= float(heads[0]["cosine_high"])
    about = json.loads((tmp_path / "compare.json").read_text(encoding="utf-8"))["about"]
    assert about["n"] == 3 and about["against random twin"]["of"] == 6


def test_a_checkpoint_and_itself_have_nothing_between_them(folders, tmp_path, capsys):
    run(
        "compare",
        folders / "before",
        folders / "before",
        "--texts",
        folders / "texts.txt",
        "--no-twin",
        "--out",
        tmp_path,
        "--quiet",
    )
    assert "6 of 6 heads are paired with themselves [6, 6]" in capsys.readouterr().out
    assert all(
        float(row["js"]) == 0 and row["partner"] == row["head"] for row in table(tmp_path / "compare.csv")
    )


@pytest.mark.parametrize(
    ("after", "texts", "options", "message"),
    [
        ("wide", TEXTS, [], "one shape"),
        ("after", "The cat.\ncat\n", [], "text 1 ('cat') has one word"),
        ("after", "The cat.\n", [], "at least two texts; got 1"),
        ("after", TEXTS, ["--limit", "1"], "--limit must be at least two texts"),
        ("nowhere/at/all", TEXTS, [], "there is no model folder"),
    ],
)
def test_what_cannot_be_compared_is_said(folders, tmp_path, capsys, after, texts, options, message):
    (tmp_path / "own.txt").write_text(texts, encoding="utf-8")
    code = run(
        "compare",
        folders / "before",
        folders / after,
        "--texts",
        tmp_path / "own.txt",
        "--out",
        tmp_path / "out",
        "--quiet",
        *options,
    )
    assert (
        code == 1 and message in capsys.readouterr().err and not (tmp_path / "out" / "compare.csv").exists()
    )


SENTENCES = [
    ("the cat was no dog .", [3], [0, 1, 2, 4]),
    ("it sat on no mat", [3], [0, 1, 2, 4]),
    ("no dog sat on a mat", [0], [1, 2, 3, 4, 5]),
]


def test_negation_is_scored_before_and_after(folders, tmp_path, capsys):
    lines = [
        {
            "id": f"{split}{i}",
            "words": text.split(),
            "negations": [{"cue": cue, "scope": scope}],
            "split": split,
        }
        for split in ("train", "test")
        for i, (text, cue, scope) in enumerate(SENTENCES)
    ]
    own = tmp_path / "own.jsonl"
    own.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    options = (
        "--model",
        folders / "before",
        "--data",
        own,
        "--seeds",
        2,
        "--epochs",
        1,
        "--quiet",
        "--parts-of-speech",
        "--save-models",
    )
    assert run("negation", *options, "--out", tmp_path / "out") == 0
    said = capsys.readouterr().out
    assert "over 2 seeds, p = " in said and "at best 0.500" in said
    rows = table(tmp_path / "out" / "negation.csv")
    names = [row["answers"] for row in rows]
    assert names[0] == "a random word (expected)" and names[1].startswith("the word at ")
    assert names[2:4] == ["the word of most pieces", "the nearest listed cue"]
    assert sum("tuned on negation" in name for name in names) == 4 and rows[3]["best"] == ""
    assert len(table(tmp_path / "out" / "negation-heads.csv")) == 2 * 6
    assert {p.name for p in (tmp_path / "out").iterdir() if p.is_dir()} == {
        f"{task}-{seed}" for task in ("negation", "control", "parts-of-speech") for seed in (0, 1)
    }
    kept = tmp_path / "out" / "negation-0"
    assert (
        run(
            "compare",
            folders / "before",
            kept,
            "--texts",
            folders / "texts.txt",
            "--out",
            tmp_path / "c",
            "--quiet",
        )
        == 0
    )


def test_half_a_corpus_or_no_seed_is_refused(tmp_path, capsys):
    own = tmp_path / "own.jsonl"
    own.write_text(json.dumps({"id": "1", "words": ["no", "cat"], "negations": [], "split": "train"}))
    assert run("negation", "--data", own, "--out", tmp_path / "out") == 1
    assert "both halves are needed" in capsys.readouterr().err
    assert run("negation", "--seeds", 0, "--out", tmp_path / "out") == 1
    assert "--seeds must be at least 1" in capsys.readouterr().err
