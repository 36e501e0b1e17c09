"""Teaching an encoder to label words: what is learnt, what is left alone, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import tiny
import torch

from bertlook_course.analyses.finetuning import Tagger, fine_tune_tagger, word_type_labels
from bertlook_teach.model import load_encoder

SENTENCES = [
    ["the", "cat", "sat", "on", "the", "mat"],
    ["a", "dog", "chased", "a", "cat"],
    ["it", "was", "tired"],
    ["the", "unreally", "cat", "sat"],  # a word of three pieces
]
LABELS = [["animal" if word in ("cat", "dog") else "other" for word in words] for words in SENTENCES]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return load_encoder(tiny.save_tiny_model(tmp_path_factory.mktemp("tiny")), device="cpu")


@pytest.fixture(scope="module")
def tagger(encoder):
    return fine_tune_tagger(
        encoder, SENTENCES, LABELS, epochs=60, batch_size=2, learning_rate=0.03, dropout=0.0
    )


def test_a_rule_on_words_is_learnt_and_told_for_each_word(tagger):
    assert tagger.predict(SENTENCES) == LABELS
    assert tagger.losses[-1] < tagger.losses[0] / 2


def test_probabilities_have_a_row_a_word_and_sum_to_one(tagger):
    tables = tagger.probabilities(SENTENCES, batch_size=3)
    assert [table.shape for table in tables] == [(len(words), 2) for words in SENTENCES]
    assert all(np.allclose(table.sum(axis=1), 1, atol=1e-5) for table in tables)


def test_padding_and_batches_do_not_change_an_answer(tagger):
    alone = [tagger.probabilities([words])[0] for words in SENTENCES]
    together = tagger.probabilities(SENTENCES)
    assert all(np.allclose(a, b, atol=1e-5) for a, b in zip(alone, together))


def test_the_answer_is_read_off_the_first_piece(tagger, encoder):
    """By hand: pieces, forward pass, softmax, the first piece of word 1."""
    encoded = encoder.tokenizer([SENTENCES[3]], is_split_into_words=True, return_tensors="pt")
    place = encoded.word_ids(0).index(1)
    with torch.inference_mode():
        logits = tagger.model(input_ids=encoded["input_ids"], attention_mask=encoded["attention_mask"]).logits
    assert tagger.probabilities([SENTENCES[3]])[0][1] == pytest.approx(
        logits[0, place].softmax(-1).numpy(), abs=1e-5
    )


def test_the_encoder_that_was_given_stays_and_the_seed_decides(encoder):
    before = encoder.fingerprint
    first, again, other = (
        fine_tune_tagger(encoder, SENTENCES, LABELS, epochs=1, seed=seed) for seed in (1, 1, 2)
    )
    assert type(encoder)(encoder.name, encoder.model, encoder.tokenizer, encoder.device).fingerprint == before
    assert first.encoder.fingerprint == again.encoder.fingerprint
    assert len({before, first.encoder.fingerprint, other.encoder.fingerprint}) == 3


def test_a_word_without_a_label_is_not_learnt_from(encoder):
    hidden = [
        [None if word == "dog" else label for word, label in zip(*pair)] for pair in zip(SENTENCES, LABELS)
    ]
    contrary = [
        ["other" if word == "dog" else label for word, label in zip(*pair)] for pair in zip(SENTENCES, LABELS)
    ]
    taught = [
        fine_tune_tagger(encoder, SENTENCES, labels, epochs=1, batch_size=9).encoder.fingerprint
        for labels in (hidden, LABELS, contrary)
    ]
    assert len(set(taught)) == 3


def test_a_saved_tagger_is_an_encoder_for_everybody(tagger, tmp_path):
    again = load_encoder(tagger.save(tmp_path / "tuned"), device="cpu")
    ids = torch.tensor([[2, 6, 7, 8, 3]])
    maps, _ = again.attend(ids, torch.ones_like(ids))
    wanted, _ = tagger.encoder.attend(ids, torch.ones_like(ids))
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(maps, wanted))


def test_words_that_are_cut_off_get_no_answer(encoder):
    long = [["cat"] * 40]
    with pytest.raises(ValueError, match="42 wordpieces long.*truncate=True"):
        fine_tune_tagger(encoder, long, [["x", "y"] * 20])
    tagger = fine_tune_tagger(encoder, long, [["x", "y"] * 20], epochs=1, truncate=True)
    assert isinstance(tagger, Tagger)
    assert [label is None for label in tagger.predict(long)[0]] == [i >= 30 for i in range(40)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": LABELS[:2]}, "4 documents and 2 lists of labels"),
        ({"labels": [LABELS[0][:3], *LABELS[1:]]}, "document 0 has 6 words and 3 labels"),
        ({"labels": [["x"] * len(words) for words in SENTENCES]}, "at least two labels.*got x"),
        ({"epochs": 0}, "1 or more"),
        ({"learning_rate": 2}, "between 0 and 1"),
        ({"documents": [[], *SENTENCES[1:]], "labels": [[], *LABELS[1:]]}, "document 0 has no words"),
    ],
)
def test_what_cannot_be_learnt_is_refused(encoder, change, message):
    given = {"documents": SENTENCES, "labels": LABELS, "epochs": 1, **change}
    with pytest.raises(ValueError, match=message):
        fine_tune_tagger(encoder, given.pop("documents"), given.pop("labels"), **given)


def test_a_text_in_place_of_words_is_refused(tagger):
    with pytest.raises(TypeError, match="lists of words"):
        tagger.predict(["the cat sat"])


def test_made_up_labels_belong_to_the_word_wherever_it_stands():
    words = [f"w{i}" for i in range(2000)]
    first, second = word_type_labels([words, [word.upper() for word in reversed(words)]], share=0.3)
    assert first == second[::-1]
    assert first.count("B") / 2000 == pytest.approx(0.3, abs=0.04)
    assert word_type_labels([words], seed=1) != word_type_labels([words], seed=2)
    with pytest.raises(ValueError, match="share"):
        word_type_labels([words], share=1)
