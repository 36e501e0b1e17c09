"""Fine-tuning on tiny encoders: it learns, it repeats itself, it reads [CLS] only, and plain transformers opens its folder."""

import csv
import json
import random
import re
from dataclasses import replace

import numpy as np
import pytest
import tiny
import torch
from made import run

from bertlook_course.analyses.finetuning import (
    fine_tune,
    learning_rate_for,
    load_classifier,
    score,
    task_training,
)
from bertlook_course.corpora import Example, Task
from bertlook_course.storage import cache as store
from bertlook_teach import extract_attention, load_encoder
from bertlook_teach.model import NoMaskedLMHead, masked_lm_head

WORDS = ("the", "a", "dog", "sat", "on", "chased", "it", "was", "tired")


def toy(kind="classes", sizes=(64, 24, 40)):
    """Is there a cat? A pair: in the second text. A number: how many cats."""
    draw = random.Random(0)
    examples, seen = [], set()
    while len(examples) < sum(sizes):
        words = [draw.choice(["cat", "mat", *WORDS]) for _ in range(4)]
        text = " ".join(words)
        if text in seen:
            continue
        seen.add(text)
        label = float(words.count("cat")) if kind == "numbers" else "yes" if "cat" in words else "no"
        if kind != "numbers" and sum(e.label == label for e in examples) >= sum(sizes) / 2:
            continue
        examples.append(Example("it was it", text, label) if kind == "pairs" else Example(text, None, label))
    draw.shuffle(examples)
    a, b = sizes[0], sizes[0] + sizes[1]
    labels, metric = ((), "spearman") if kind == "numbers" else (("no", "yes"), "accuracy")
    return Task("toy", labels, examples[:a], examples[a:b], examples[b:], metric)


TASKS = {kind: toy(kind) for kind in ("classes", "pairs", "numbers")}


@pytest.fixture(scope="module")
def encoders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return {f: load_encoder(tiny.save_tiny_model(folder / f, f), device="cpu") for f in tiny.FAMILIES}


@pytest.fixture(scope="module")
def tuned(encoders):
    return fine_tune(encoders["bert"], TASKS["classes"], epochs=2, progress=False)


def quick(encoder, task, **options):
    return fine_tune(encoder, task, **{"epochs": 1, "progress": False, "truncate": True, **options})


# --- it learns -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gentle(tmp_path_factory):
    """The other tiny models start with weights so wide that they hardly learn."""
    folder = tmp_path_factory.mktemp("gentle")
    return load_encoder(tiny.save_tiny_model(folder, initializer_range=0.1), device="cpu")


def test_a_word_that_decides_is_learnt(gentle):
    task = toy(sizes=(128, 24, 40))
    classifier = fine_tune(gentle, task, epochs=30, learning_rate=0.01, patience=30, progress=False)
    assert score(classifier, task.test).value > 0.9
    assert classifier.history[0]["train_loss"] > classifier.history[-1]["train_loss"]


def test_numbers_are_learnt(gentle):
    task = toy("numbers", sizes=(128, 24, 40))
    classifier = fine_tune(gentle, task, epochs=30, learning_rate=0.01, patience=30, progress=False)
    result = score(classifier, task.test)
    assert result.metric == "spearman" and result.value > 0.6
    assert classifier.logits(task.test).shape == (40, 1)


def test_the_weights_kept_are_those_of_the_best_epoch(encoders):
    classifier = fine_tune(
        encoders["bert"], TASKS["classes"], epochs=12, learning_rate=0.02, patience=12, progress=False
    )
    kept = [row for row in classifier.history if row["kept"]]
    assert len(classifier.history) == 12 and len(kept) == 1
    assert kept[0]["dev_score"] == max(row["dev_score"] for row in classifier.history)
    assert kept[0]["dev_score"] == pytest.approx(score(classifier, TASKS["classes"].dev).value)


def test_training_stops_when_dev_no_longer_improves(encoders):
    """A rate too small to change any answer, with the loss of dev as the tie-break."""
    classifier = fine_tune(
        encoders["bert"], TASKS["classes"], epochs=40, learning_rate=0.05, patience=1, progress=False
    )
    best = next(row["epoch"] for row in classifier.history if row["kept"])
    assert len(classifier.history) in (best, best + 1) and len(classifier.history) < 40


# --- it changes nothing else, and repeats itself -------------------------------------------------------


def test_the_encoder_given_stays_as_it_was(encoders, tuned):
    fresh = load_encoder(encoders["bert"].folder, device="cpu")
    for one, other in zip(fresh.model.parameters(), encoders["bert"].model.parameters(), strict=True):
        assert torch.equal(one, other)
    assert tuned.encoder.fingerprint != encoders["bert"].fingerprint == tuned.about["fingerprint"]


def test_the_same_seed_gives_the_same_classifier_and_leaves_torch_alone(encoders):
    def logits(seed):
        return quick(encoders["bert"], TASKS["classes"], seed=seed, dropout=0.2).logits(TASKS["classes"].test)

    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first = logits(0)
    assert torch.equal(torch.rand(3), expected)
    np.testing.assert_array_equal(first, logits(0))
    assert np.abs(first - logits(1)).max() > 1e-3


def test_dropout_acts_in_training_only(encoders):
    with_dropout = quick(encoders["bert"], TASKS["classes"], dropout=0.5)
    without = quick(encoders["bert"], TASKS["classes"], dropout=0.0)
    test = TASKS["classes"].test
    assert np.abs(with_dropout.logits(test) - without.logits(test)).max() > 1e-4
    np.testing.assert_array_equal(with_dropout.logits(test), with_dropout.logits(test))


def test_narrower_models_take_larger_steps(encoders):
    assert learning_rate_for(encoders["bert"]) > 5e-5


# --- what a classifier is ------------------------------------------------------------------------------


@pytest.mark.parametrize("family", tiny.FAMILIES)
@pytest.mark.parametrize("kind", TASKS)
def test_the_readout_of_the_last_vectors_is_the_answer_and_sees_cls_only(family, kind, encoders):
    classifier = quick(encoders[family], TASKS[kind])
    test = TASKS[kind].test
    encoder, parts, parts_elsewhere = classifier.encoder, [], []
    for batch in classifier.encode(test, batch_size=7):
        inputs = {"input_ids": batch.input_ids, "attention_mask": batch.attention_mask}
        if encoder.has_segments:
            inputs["token_type_ids"] = batch.segment_ids
        with torch.no_grad():
            hidden = encoder.model(**inputs).last_hidden_state
            parts.append(classifier.readout(hidden))
            hidden[:, 1:] = 7.0
            parts_elsewhere.append(classifier.readout(hidden))
    np.testing.assert_allclose(torch.cat(parts).numpy(), classifier.logits(test), atol=1e-5)
    np.testing.assert_array_equal(torch.cat(parts).numpy(), torch.cat(parts_elsewhere).numpy())
    assert classifier.logits(test).std(axis=0).min() > 0


def test_gradients_pass_through_the_readout(tuned):
    hidden = torch.randn(2, 5, tiny.WIDTH, requires_grad=True)
    tuned.readout(hidden).sum().backward()
    assert hidden.grad[:, 0].abs().min() > 0 and hidden.grad[:, 1:].abs().max() == 0


def test_the_encoder_inside_is_an_ordinary_one(tuned):
    attention = extract_attention(tuned.encoder, "the cat sat")
    assert attention.weights.shape == (tiny.LAYERS, tiny.HEADS, 5, 5)
    assert tuned.encoder.model is tuned.model.base_model
    with pytest.raises(NoMaskedLMHead):  # it has moved on: the old head does not fit it
        masked_lm_head(tuned.encoder)


def test_batches_keep_the_order_and_pad(tuned):
    examples = [Example("the cat", None, "yes"), Example("it", None, "no"), Example("a dog sat", None, None)]
    [batch] = tuned.encode(examples)
    assert batch.labels.tolist() == [1, 0, -100]
    assert batch.attention_mask.sum(dim=1).tolist() == [4, 3, 5] and batch.input_ids.shape == (3, 5)
    assert len(tuned.predict(examples)) == 3
    one = np.concatenate([tuned.logits([example]) for example in examples])
    np.testing.assert_allclose(one, tuned.logits(examples), atol=1e-5)


def test_segments_tell_the_two_texts_apart(encoders):
    classifier = quick(encoders["bert"], TASKS["pairs"])
    [batch] = classifier.encode([Example("the cat", "it", "yes")])
    assert batch.segment_ids.tolist() == [[0, 0, 0, 0, 1, 1]]


# --- saved and loaded ----------------------------------------------------------------------------------


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_plain_transformers_opens_the_folder(family, encoders, tmp_path):
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    classifier = quick(encoders[family], TASKS["classes"], folder=tmp_path)
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    assert model.config.id2label == {0: "no", 1: "yes"}
    example = TASKS["classes"].test[0]
    with torch.no_grad():
        logits = model(**tokenizer(example.text, return_tensors="pt")).logits
    np.testing.assert_allclose(logits.numpy(), classifier.logits([example]), atol=1e-5)
    assert not list(tmp_path.glob("*.bin"))


@pytest.mark.parametrize("kind", TASKS)
def test_what_is_saved_is_what_is_loaded(kind, encoders, tmp_path):
    classifier = quick(encoders["bert"], TASKS[kind])
    again = load_classifier(classifier.save(tmp_path), device="cpu")
    np.testing.assert_allclose(again.logits(TASKS[kind].test), classifier.logits(TASKS[kind].test), atol=1e-6)
    for field in ("labels", "task_name", "metric", "is_pair", "truncate", "history", "about"):
        assert getattr(again, field) == getattr(classifier, field)
    assert load_encoder(tmp_path, device="cpu").fingerprint == again.encoder.fingerprint


# --- bad input -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("written", ["", "[1, 2]", "{" * 5, '{"a": ' * 50_000])
def test_a_damaged_record_of_a_classifier_is_named(written, encoders, tmp_path):
    quick(encoders["bert"], TASKS["classes"]).save(tmp_path)
    (tmp_path / "bertlook.json").write_text(written)
    with pytest.raises(ValueError, match=r"bertlook\.json (cannot be read as JSON|holds list)"):
        load_classifier(tmp_path, device="cpu")


def test_an_encoder_without_a_classification_head_is_refused(encoders):
    with pytest.raises(ValueError, match="holds an encoder without a classification head"):
        load_classifier(encoders["bert"].folder, device="cpu")
    with pytest.raises(FileNotFoundError, match="there is no model folder"):
        load_classifier("nowhere")


def test_inputs_that_are_too_long_are_counted(encoders):
    long = Example("cat " * 40, None, "yes")
    task = TASKS["classes"]
    task = Task("long", task.labels, (*task.train, long), task.dev, task.test)
    with pytest.raises(
        ValueError, match=r"1 of 65 inputs are longer than the 32 wordpieces .* \(the longest has 42\)"
    ):
        quick(encoders["bert"], task, truncate=False)
    classifier = quick(encoders["bert"], task)
    assert classifier.about["n_cut"] == 1
    [batch] = classifier.encode([long])
    assert batch.input_ids.shape == (1, 32)


@pytest.mark.parametrize(
    ("example", "message"),
    [
        (Example("the cat", None, "maybe"), "has the label 'maybe'; this classifier knows no, yes"),
        (Example("the cat", "it", "yes"), "toy is read from single texts"),
    ],
)
def test_examples_of_another_task_are_refused(tuned, example, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        tuned.logits([example])
    with pytest.raises(ValueError, match="no example was given"):
        tuned.logits([])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "are 1 or more; got 0"),
        ({"learning_rate": 2.0}, "between 0 and 1"),
        ({"learning_rate": -1e-3}, "between 0 and 1"),
    ],
)
def test_a_setting_out_of_range_is_refused(encoders, options, message):
    with pytest.raises(ValueError, match=message):
        quick(encoders["bert"], TASKS["classes"], **options)


# --- the command ---------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path):
    paths = []
    for split in ("train", "dev", "test"):
        path = tmp_path / f"{split}.jsonl"
        rows = [{"s1": e.text, "label": e.label} for e in getattr(TASKS["classes"], split)]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        paths += [f"--{split}", path]
    return paths


def test_the_command_writes_a_table_with_its_baselines(encoders, files, tmp_path, capsys):
    out = tmp_path / "out"
    where = ["--model", encoders["bert"].folder, "--out", out, "--device", "cpu", "--quiet"]
    code, printed = run(capsys, "finetune", *where, *files, "--seeds", 2, "--epochs", 1)
    assert code == 0, printed.err
    with open(out / "finetune.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["answers"].endswith("random twin") for row in rows] == [False] * 4 + [True] * 2
    assert [row["answers"] for row in rows[:2]] == ["majority", "bag of words"]
    assert all(float(r["low"]) <= float(r["value"]) <= float(r["high"]) and r["n"] == "40" for r in rows)
    assert "over 2 seeds" in printed.out and "random twin: mean" in printed.out
    about = json.loads((out / "finetune.json").read_text(encoding="utf-8"))["about"]
    assert (about["n_train"], about["n_dev"], about["n_test"]) == (64, 24, 40)
    saved = load_classifier(out / "seed-1", device="cpu")
    row = next(row for row in rows if row["seed"] == "1")
    assert score(saved, TASKS["classes"].test).value == pytest.approx(float(row["value"]), abs=1e-6)


# --- kept, so that the same training is not done twice -----------------------------------------------------------


@pytest.mark.parametrize("kind", ["classes", "pairs", "numbers"])
def test_a_kept_classifier_comes_back_as_it_was(encoders, tmp_path, monkeypatch, kind):
    monkeypatch.setattr(store, "store_folder", lambda: tmp_path / "kept")
    task, encoder = TASKS[kind], encoders["bert"]
    made = quick(encoder, task, keep=True, dropout=0.2)
    with monkeypatch.context() as patch:
        patch.setattr(task_training, "_fine_tune", lambda *given, **settings: pytest.fail("trained again"))
        found = quick(encoder, task, keep=True, dropout=0.2, folder=tmp_path / "saved")
    assert found is not made and found.encoder.fingerprint == made.encoder.fingerprint != encoder.fingerprint
    np.testing.assert_array_equal(found.logits(task.test), made.logits(task.test))
    for name in ("labels", "task_name", "metric", "is_pair", "truncate", "history", "about"):
        assert getattr(found, name) == getattr(made, name), name
    assert found.encoder.name == made.encoder.name and not found.model.training
    saved = load_classifier(tmp_path / "saved", device="cpu")
    np.testing.assert_array_equal(saved.logits(task.test), made.logits(task.test))


@pytest.mark.parametrize(
    "other", [{"seed": 1}, {"epochs": 2}, {"learning_rate": 0.02}, {"batch_size": 8}, {"dropout": 0.3}, {"truncate": False}, "task", "encoder"]
)  # fmt: skip
def test_another_training_is_not_taken_for_a_kept_one(encoders, gentle, tuned, tmp_path, monkeypatch, other):
    monkeypatch.setattr(store, "store_folder", lambda: tmp_path)
    trained, task = [], TASKS["classes"]
    monkeypatch.setattr(
        task_training, "_fine_tune", lambda *given, **settings: trained.append(given) or tuned
    )
    quick(encoders["bert"], task, keep=True)
    another = replace(task, train=task.train[:-1]) if other == "task" else task
    model = gentle if other == "encoder" else encoders["bert"]
    quick(model, another, keep=True, **(other if isinstance(other, dict) else {}))
    assert len(trained) == 2


def test_nothing_is_kept_unasked(encoders, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "store_folder", lambda: tmp_path)
    quick(encoders["bert"], TASKS["classes"])
    assert list(tmp_path.iterdir()) == []
