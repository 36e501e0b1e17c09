"""The exercises on BERT-base, recorded: right answers that a student computes, and each wrong one of the records."""

import numpy as np
import pytest
from checks.test_checks import faults

from bertlook_course.checks import lesson01, lesson02, lesson06, lesson09
from bertlook_teach import load_recording
from bertlook_teach.measures import group_test, head_distances

ANIMAL = "the animal didn't cross the street because it was too tired."
VIG = ("the cat sat on the mat", "the cat lay on the rug")


@pytest.fixture(scope="module")
def recording():
    return load_recording("bert-base-uncased")


@pytest.fixture(scope="module")
def animal(recording):
    return recording[ANIMAL]


@pytest.fixture(scope="module")
def vig(recording):
    return recording[VIG]


@pytest.fixture
def run(request, recording, animal, vig):
    return {"recording": recording, "animal": animal, "vig": vig}[request.param]


@pytest.mark.parametrize(
    "check, run",
    [
        (lesson01.check_recorded_head, "animal"),
        (lesson02.check_next_head, "vig"),
        (lesson06.check_det_accuracy, "recording"),
        (lesson09.check_two_pairs, "vig"),
    ],
    indirect=["run"],
)
def test_on_the_recording_each_wrong_answer_gets_its_own_reason(check, run):
    assert faults(check.__wrapped__, (run,)) == []


# --- lesson 1 ------------------------------------------------------------------------------------------------


def most(weights, tokens, query):
    return tokens[weights[query].argmax()]


def test_the_token_looked_at_most_is_the_largest_of_a_row():
    assert lesson01.check_most_looked_at(most)


def test_head_8_11_looks_from_each_determiner_to_its_noun(animal):
    weights = animal.weights[7, 10]
    named = [most(weights, animal.tokens, query) for query in (1, 7)]
    feedback = lesson01.check_recorded_head(named, weights[2, -1], animal)
    assert named == ["animal", "street"]
    assert feedback
    assert f"{weights[2, -1]:.2f} to [SEP] (BERT-base, recorded)" in feedback.message


# --- lesson 2 ------------------------------------------------------------------------------------------------


def inside(attention):
    return np.array([position for position, special in enumerate(attention.special) if not special])


def test_the_next_word_head_of_the_recording_is_3_1(vig):
    at = inside(vig)
    shares = vig.weights[:, :, at, at + 1].mean(axis=-1)
    feedback = lesson02.check_next_head(shares, "3-1", vig)
    assert feedback
    assert f"Head 3-1: {shares[2, 0]:.3f} (BERT-base, recorded)" in feedback.message
    assert lesson02.check_next_head(shares, ["3-1"], vig)


# --- lesson 6 ------------------------------------------------------------------------------------------------


def largest(weights, word):
    row = weights[word].copy()
    row[word] = -1
    return row.argmax()


def judge(recording):
    """A student's function."""

    def det_accuracy(layer, head):
        right = []
        for text, word, noun in lesson06.DETERMINERS:
            weights = recording[text].to_words().weights[layer, head][1:-1, 1:-1]
            right.append(largest(weights, word) == noun)
        return np.mean(right)

    return det_accuracy


def test_the_gold_list_is_of_determiners_and_nouns_that_were_recorded(recording):
    for text, word, noun in lesson06.DETERMINERS:
        words = recording[text].words
        assert words[word] in ("the", "an")
        assert words[noun] in ("arrow", "cat", "mat", "author", "animal", "street", "way")
    single = [text for text in recording.texts if isinstance(text, str)]
    there = sum(word in ("a", "an", "the") for text in single for word in recording[text].words)
    assert there == len(lesson06.DETERMINERS)


def test_the_judge_of_determiners_is_right(recording):
    assert lesson06.check_det_accuracy(judge(recording), recording)


def test_the_tried_heads_are_right_in_all_some_and_no_cases(recording):
    found = {judge(recording)(*place) for place in lesson06._TRIED_HEADS}
    assert {0.0, 1.0} < found


def test_the_fixed_distance_is_never_wrong_on_the_small_list(recording):
    """What the choice calls right: neither can be preferred here."""
    assert all(word + 1 == noun for _, word, noun in lesson06.DETERMINERS)
    assert judge(recording)(7, 10) == 1
    assert lesson06.check_small_list(lesson06.SMALL_OPTIONS[1])


# --- lesson 9 ------------------------------------------------------------------------------------------------


def distance(a, b):
    def entropy(row):
        positive = row[row > 0]
        return -(positive * np.log(positive)).sum()

    return np.mean([entropy((p + q) / 2) - (entropy(p) + entropy(q)) / 2 for p, q in zip(a, b)])


@pytest.fixture(scope="module")
def maps(vig):
    return vig.weights.astype(float)


@pytest.fixture(scope="module")
def two(maps):
    return distance(maps[7, 9], maps[7, 10]), distance(maps[5, 1], maps[6, 3])


def test_the_two_distances_are_right_and_the_nearer_pair_is_of_different_layers(vig, two):
    feedback = lesson09.check_two_pairs(*two, vig)
    assert feedback
    assert f"8-10 and 8-11: {two[0]:.3f}, 6-2 and 7-4: {two[1]:.3f}" in feedback.message
    assert "from different layers is closer" in feedback.message
    assert "BERT-base, recorded" in feedback.message


def test_the_distances_of_the_package_are_accepted(vig):
    found = head_distances([vig]).per_token
    assert lesson09.check_two_pairs(found[7 * 12 + 9, 7 * 12 + 10], found[5 * 12 + 1, 6 * 12 + 3], vig)


def test_all_pairs_say_what_the_choice_calls_right(vig):
    found = head_distances([vig])
    assert group_test(found.per_token, found.layers, permutations=0).difference > 0
    apart = found.per_token + np.diag(np.full(len(found.layers), np.inf))
    own = found.layers[apart.argmin(axis=1)] == found.layers
    assert 0 < own.mean() < 1
    assert lesson09.check_pairs(lesson09.PAIR_OPTIONS[1])
