"""`bertlook ablate`: every head with interval, n and corrected p, on a task, a file or masked words."""

import csv
import json

import made
import pytest
import torch
from tiny import HEADS, LAYERS, save_tiny_model

from bertlook_teach import load_encoder


def run(capsys, *arguments):
    return made.run(capsys, "ablate", *arguments, "--quiet")


def table(folder, name="ablate"):
    with open(folder / f"{name}.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


WORDS = [
    "a cat sat",
    "the dog ran on a mat",
    "it was tired",
    "un cat",
    "the mat",
    "a dog chased a cat",
    "sat on it",
    "cat dog",
]


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    path = tmp_path_factory.mktemp("texts") / "texts.txt"
    path.write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def masked_lm(tmp_path_factory):
    from transformers import BertConfig, BertForMaskedLM

    folder = save_tiny_model(tmp_path_factory.mktemp("model") / "bert")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        BertForMaskedLM(BertConfig.from_pretrained(folder)).save_pretrained(folder)
    return folder


def save_classifier(folder, labels):
    """A classifier with random weights, as if trained, and a file of examples for it."""
    from bertlook_teach.analyses.finetuning import Classifier
    from bertlook_teach.analyses.finetuning.classifier import _with_new_head
    from bertlook_teach.analyses.finetuning.new_head import as_encoder
    from bertlook_teach.corpora import Example, Task

    def example(text, i):
        return Example(text, None, labels[i % 2] if labels else float(i))

    examples = [example(text, i) for i, text in enumerate(WORDS)]
    task = Task(
        "t", labels, examples[:3], examples[3:5], examples[5:], metric="accuracy" if labels else "pearson"
    )
    encoder = load_encoder(save_tiny_model(folder / "encoder"))
    model = _with_new_head(encoder, task.labels, 0, None).eval()
    metric = "accuracy" if labels else "pearson"
    Classifier(as_encoder(model, encoder, "t"), model, task.labels, "t", metric).save(folder / "classifier")
    for name, part in (("train", examples[:4]), ("test", examples[4:])):
        lines = [json.dumps({"s1": e.text, "label": e.label}) for e in part]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    return save_classifier(tmp_path_factory.mktemp("classes"), ("no", "yes"))


@pytest.mark.parametrize("how", ["zero", "uniform"])
def test_masked_words(masked_lm, texts, tmp_path, capsys, how):
    code, printed = run(
        capsys, "--model", masked_lm, "--masked-lm", texts, "--ablation", how, "--out", tmp_path
    )
    assert code == 0 and printed.err == ""
    rows = table(tmp_path)
    assert [row["head"] for row in rows] == [f"{i + 1}-{j + 1}" for i in range(LAYERS) for j in range(HEADS)]
    for row in rows:
        assert (
            float(row["loss_low"]) <= float(row["loss_change"]) <= float(row["loss_high"]) and row["n"] == "8"
        )
        assert float(row["p"]) <= float(row["p_corrected"]) <= 1
    about = json.loads((tmp_path / "ablate.json").read_text(encoding="utf-8"))["about"]
    assert (
        about["ablation"] == how
        and about["p of"] == "loss"
        and len(about["layers off, change of loss"]) == LAYERS
    )
    assert "after Holm's correction" in printed.out and "corrected" in printed.out


def on_files(classes, *, train):
    data = {"--test": "test", "--train": train}
    return [
        "--model",
        classes / "classifier",
        *(x for key, name in data.items() for x in (key, classes / f"{name}.jsonl")),
    ]


def test_a_classifier_on_a_file_with_a_curve(classes, tmp_path, capsys):
    arguments = on_files(classes, train="train")
    code, printed = run(capsys, *arguments, "--curve", "--rerank", "--out", tmp_path)
    assert code == 0 and printed.err == ""
    assert len(table(tmp_path)) == LAYERS * HEADS and "score, points" in printed.out
    curve = table(tmp_path, "ablate_curve")
    assert {row["order"] for row in curve} == {"worst first", "best first", "random"}
    assert {row["share_off"] for row in curve} >= {
        "0.0",
        "1.0",
    } and "ranked on other examples than scored" in printed.out
    about = json.loads((tmp_path / "ablate.json").read_text(encoding="utf-8"))["about"]
    assert about["measure"] == "accuracy" and about["importance measured on"] == "training examples"


def test_a_regression_is_not_printed_in_per_cent(tmp_path, capsys):
    folder = save_classifier(tmp_path, ())
    code, printed = run(
        capsys, "--model", folder / "classifier", "--test", folder / "test.jsonl", "--out", tmp_path / "out"
    )
    assert code == 0 and "minus squared error" in printed.out and "points" not in printed.out


def test_what_cannot_be_done_says_why(classes, masked_lm, texts, tmp_path, capsys):
    test = ("--test", classes / "test.jsonl", "--out", tmp_path)
    for arguments, message in (
        ((*test,), "is an encoder and answers no task"),
        (("--model", masked_lm, *test), "without a classification head"),
        (("--model", classes / "classifier", *test, "--curve"), "give --train FILE too"),
        (("--model", classes / "classifier", *test, "--rerank"), "give --curve too"),
        (("--model", classes / "classifier", *test, "--limit", 2), "at least four examples"),
        (("--masked-lm", texts, "--train", texts, "--out", tmp_path), "--train goes with --test"),
        (("--model", classes / "encoder", "--masked-lm", texts, "--out", tmp_path), "no masked-LM head"),
        (
            ("--model", classes / "classifier", "--task", "no such task", "--out", tmp_path),
            "there is no task",
        ),
    ):
        code, printed = run(capsys, *arguments)
        assert code == 1 and message in printed.err, printed.err


def test_train_and_test_may_not_overlap(classes, tmp_path, capsys):
    arguments = on_files(classes, train="test")
    code, printed = run(capsys, *arguments, "--curve", "--out", tmp_path)
    assert code == 1 and "among the examples to rank on and among those to score on" in printed.err
