"""The report on heads that matter: every head with interval, n and corrected p, on a task or on masked words."""

import pytest
from made import refusals, tiny_encoder, tiny_masked_lm
from tiny import HEADS, LAYERS

from bertlook_course.analyses.ablation import MaskedLM, report

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
def masked_lm(tmp_path_factory):
    return MaskedLM(tiny_masked_lm(tmp_path_factory.mktemp("model") / "bert"))


def save_classifier(folder, labels):
    """A classifier with random weights, as if trained, and a file of examples for it."""
    from bertlook_course.analyses.finetuning import Classifier
    from bertlook_course.analyses.finetuning.classifier import with_classification_head
    from bertlook_course.analyses.finetuning.new_head import as_encoder
    from bertlook_course.corpora import Example, Task

    def example(text, i):
        return Example(text, None, labels[i % 2] if labels else float(i))

    examples = [example(text, i) for i, text in enumerate(WORDS)]
    task = Task(
        "t", labels, examples[:3], examples[3:5], examples[5:], metric="accuracy" if labels else "pearson"
    )
    encoder = tiny_encoder(folder / "encoder")
    model = with_classification_head(encoder, task.labels, 0, None).eval()
    metric = "accuracy" if labels else "pearson"
    classifier = Classifier(as_encoder(model, encoder, "t"), model, task.labels, "t", metric)
    return classifier, examples[4:], examples[:4]


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    return save_classifier(tmp_path_factory.mktemp("classes"), ("no", "yes"))


@pytest.mark.parametrize("how", ["zero", "uniform"])
def test_masked_words(masked_lm, how):
    found = report(masked_lm, WORDS, ablation=how)
    assert [row["head"] for row in found.rows] == [
        f"{i + 1}-{j + 1}" for i in range(LAYERS) for j in range(HEADS)
    ]
    for row in found.rows:
        assert row["loss_low"] <= row["loss_change"] <= row["loss_high"] and row["n"] == 8
        assert row["p"] <= row["p_corrected"] <= 1
    assert found.about["ablation"] == how and found.about["p of"] == "loss"
    assert len(found.about["layers off, change of loss"]) == LAYERS
    assert "after Holm's correction" in str(found) and "corrected" in str(found)


def test_a_classifier_with_a_curve(classes):
    found = report(*classes, curve=True, rerank=True)
    assert len(found.rows) == LAYERS * HEADS and "score, points" in str(found)
    curve = found.tables["ablate_curve"]
    assert {row["order"] for row in curve} == {"worst first", "best first", "random"}
    assert {row["share_off"] for row in curve} >= {0.0, 1.0}
    assert "ranked on other examples than scored" in str(found)
    assert found.about["measure"] == "accuracy"
    assert found.about["importance measured on"] == "training examples"


def test_a_regression_is_not_printed_in_per_cent(tmp_path):
    model, test, _ = save_classifier(tmp_path, ())
    said = str(report(model, test))
    assert "minus squared error" in said and "points" not in said


test_what_cannot_be_done_says_why = refusals(
    (lambda classes: report(*classes[:2], curve=True), "give examples to rank on too"),
    (lambda classes: report(*classes[:2], rerank=True), "give curve=True too"),
    (lambda classes: report(classes[0], classes[1][:3]), "at least four are needed"),
    (
        lambda classes: report(classes[0], classes[1], classes[1], curve=True),
        "among the examples to rank on and among those to score on",
    ),
)
