"""Do heads look from a scope to its cue? Counts by hand, rules before the same judge, halves, and the contrast over seeds."""

from __future__ import annotations

import made
import numpy as np
import pytest
import tiny
from scipy.stats import wilcoxon

from bertlook_course.analyses.negation import (
    CueScores,
    best_head,
    contrast,
    count_hits,
    head_choices,
    listed_cue,
    most_pieces,
    offset_rule,
    part_of_speech_task,
    random_cue,
    random_cue_hits,
    random_word,
    scope_labels,
    score_heads,
    score_rule,
    tag_score,
    task_labels,
    tune,
    tuned,
)
from bertlook_course.corpora import Negation, NegationSentence, load_negation
from bertlook_teach.model import extract_attention, load_encoder

# The tiny tokenizer knows these words; "not" is cut into letters.
SENTENCES = [
    NegationSentence("1", ("the", "cat", "was", "not", "tired", "."), (Negation((3,), (0, 1, 2, 4)),)),
    NegationSentence("2", ("it", "sat", "on", "no", "mat"), (Negation((3,), (0, 1, 2, 4)),)),
    NegationSentence("3", ("a", "dog", "sat", "."), ()),
    NegationSentence("4", ("no", "dog", "sat", "on", "a", "mat"), (Negation((0,), (1, 2, 3, 4, 5)),)),
]
TWO = NegationSentence(
    "5",
    ("neither", "cat", "nor", "dog", "sat", "and", "it", "was", "not", "it"),
    (Negation((0, 2), (1, 3, 4)), Negation((8,), (6, 7, 9))),
)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return load_encoder(tiny.save_tiny_model(tmp_path_factory.mktemp("tiny")), device="cpu")


def attention(weights, word_ids, words):
    tokens = ["[X]" if w is None else words[w] for w in word_ids]
    special = tuple(w is None for w in word_ids)
    about = {"word_ids": tuple(word_ids), "words": tuple(words), "text": " ".join(words), "special": special}
    return made.attention(tokens, weights=weights, **about)


# --- where a word points -----------------------------------------------------------------------------------


def test_itself_and_the_special_tokens_are_left_out():
    rows = np.zeros((1, 1, 5, 5))
    rows[0, 0] = [
        [1, 0, 0, 0, 0],
        [0.5, 0.3, 0.15, 0.05, 0],  # [CLS] and itself get most: word 0 points at word 1
        [0, 0.1, 0.5, 0.2, 0.2],  # word 1 points at word 2
        [0.2, 0.25, 0.15, 0.4, 0],  # word 2 points at word 0
        [0, 0, 0, 0, 1],
    ]
    looks = attention(rows, (None, 0, 1, 2, None), ("a", "b", "c"))
    assert head_choices(looks)[0, 0].tolist() == [1, 2, 0]
    turned = attention(np.swapaxes(rows, -1, -2), (None, 0, 1, 2, None), ("a", "b", "c"))
    assert head_choices(turned)[0, 0].tolist() != [1, 2, 0]  # queries and keys may not change places


def test_pieces_of_a_word_looked_at_are_added_up_and_pieces_that_look_averaged():
    rows = np.zeros((1, 1, 4, 4))
    rows[0, 0] = [
        [0, 0.4, 0.3, 0.3],  # word 0: .4 for word 1, .3 + .3 for word 2
        [0.5, 0, 0.3, 0.2],
        [0.9, 0.1, 0, 0],  # one piece of word 2 looks at word 0 ...
        [0.0, 1.0, 0, 0],  # ... the other at word 1: together .45 against .55
    ]
    looks = attention(rows, (0, 1, 2, 2), ("a", "b", "c"))
    assert head_choices(looks)[0, 0].tolist() == [2, 0, 1]


def test_a_word_alone_has_nothing_to_look_at():
    alone = attention(np.full((1, 1, 3, 3), 1 / 3), (None, 0, None), ("no",))
    with pytest.raises(ValueError, match="'no' has 1 word.*nothing to look at"):
        head_choices(alone)
    one = NegationSentence("1", ("no", "no"), (Negation((0,), (1,)),))
    assert random_word([one]).f1 == 1.0  # two words: each can only point at the other


# --- counts ------------------------------------------------------------------------------------------------


def test_hits_are_counted_by_hand():
    choices = np.array(
        [3, 3, 0, 0, 3, 3]
    )  # words 0, 1, 4 hit; 5, a mark outside the scope, points at the cue too
    hits = count_hits(choices, SENTENCES[0].negations)
    assert (int(hits.hits), int(hits.pointing), hits.scope) == (3, 4, 4)
    scores = CueScores(np.array([3.0]), np.array([4.0]), np.array([4.0]), 1)
    assert float(scores.precision) == 0.75 and float(scores.recall) == 0.75 and float(scores.f1) == 0.75


def test_a_cue_of_two_words_is_hit_at_either_and_its_own_words_do_not_count():
    choices = np.array([2, 0, 0, 2, 1, 8, 8, 8, 0, 0])
    hits = count_hits(choices, TWO.negations)
    # first negation: 1 -> 0 and 3 -> 2 hit; 0 -> 2 and 2 -> 0 are the cue's own; 8 -> 0, 9 -> 0 point at it from outside
    # second: 6, 7 -> 8 hit, 5 -> 8 from outside
    assert (int(hits.hits), int(hits.pointing), hits.scope) == (2 + 2, 4 + 3, 3 + 3)


def test_counts_by_a_loop_over_words_agree(encoder):
    scores = score_heads(encoder, SENTENCES)
    assert scores.n == 3 and scores.n_negations == 3
    for layer in range(encoder.n_layers):
        for head in range(encoder.n_heads):
            hits = pointing = scope = 0
            for sentence in (s for s in SENTENCES if s.negations):
                words = extract_attention(encoder, words=list(sentence.words)).to_words()
                table = words.weights[layer, head]
                [negation] = sentence.negations
                for i in range(len(sentence)):
                    others = {j: table[i + 1, j + 1] for j in range(len(sentence)) if j != i}
                    at_cue = max(others, key=others.get) in negation.cue
                    hits += at_cue and i in negation.scope
                    pointing += at_cue and i not in negation.cue
                    scope += i in negation.scope
            f1 = 2 * hits / (pointing + scope)
            assert scores.f1[layer, head] == pytest.approx(f1)
            assert scores.recall[layer, head] == pytest.approx(hits / scope)


def test_no_hit_is_zero_and_not_nothing():
    scores = score_rule(lambda s: np.full(len(s), -1), SENTENCES)
    assert float(scores.f1) == float(scores.precision) == float(scores.recall) == 0


# --- rules ---------------------------------------------------------------------------------------------------


def test_offsets_have_a_direction():
    before, after = (score_rule(offset_rule(o), SENTENCES) for o in (-1, 1))
    assert float(before.hits.sum()) == 3  # tired -> not, mat -> no, dog -> no: the word after the cue
    assert float(after.hits.sum()) == 2  # was -> not, on -> no: the word before it
    assert offset_rule(2)(SENTENCES[1]).tolist() == [2, 3, 4, -1, -1]


def test_listed_cues_are_found_by_their_spelling():
    assert float(score_rule(listed_cue, SENTENCES).recall) == 1
    assert listed_cue(SENTENCES[2]).tolist() == [-1] * 4


def test_uniform_attention_points_at_the_word_of_most_pieces(encoder):
    uniform = NegationSentence("1", ("cat", "unreally", "dog"), (Negation((1,), (0, 2)),))
    pieces = encoder.tokenizer([list(uniform.words)], is_split_into_words=True).word_ids(0)
    n = len(pieces)
    looks = attention(np.full((1, 1, n, n), 1 / n), pieces, uniform.words)
    assert most_pieces(encoder)(uniform).tolist() == head_choices(looks)[0, 0].tolist() == [1, 0, 1]


def test_a_random_word_is_what_many_draws_give():
    exact = random_word([*SENTENCES, TWO])
    generator = np.random.default_rng(0)

    def drawn(sentence):
        n = len(sentence)
        return (np.arange(n) + generator.integers(1, n, n)) % n

    many = [score_rule(drawn, [*SENTENCES, TWO]) for _ in range(600)]
    assert np.mean([s.hits.sum() for s in many]) == pytest.approx(exact.hits.sum(), abs=0.2)
    assert np.mean([s.pointing.sum() for s in many]) == pytest.approx(exact.pointing.sum(), abs=0.2)


def test_another_word_as_the_cue_is_the_mean_over_all_others(encoder):
    choices = np.array([[1, 0, 1, 1, 1, 1], [3, 3, 3, 2, 3, 3]])
    found = random_cue_hits(choices, SENTENCES[0].negations)
    # head 0: words 0, 2, 4 of the scope point at word 1, word 1 at word 0: 4 hits spread over 5 words that are no cue
    assert found.hits == pytest.approx(
        [4 / 5, 0]
    )  # head 1: words only agree on the cue; 3 -> 2 is the cue's own word
    assert found.pointing == pytest.approx([6 / 5, 1 / 5])
    assert found.scope == pytest.approx((3 * 4 + 4) / 5)
    assert random_cue(encoder, SENTENCES).f1.shape == (3, 2)


def test_sentences_without_a_negation_are_refused_if_there_is_nothing_else(encoder):
    for score in (score_rule, lambda rule, s: score_heads(encoder, s)):
        with pytest.raises(TypeError, match=r"read_negation\(path\).*got str: 'He did not come"):
            score(listed_cue, ["He did not come."])
        with pytest.raises(ValueError, match="none of 1 sentences has a negation with a scope"):
            score(listed_cue, [SENTENCES[2]])


# --- halves --------------------------------------------------------------------------------------------------


def scores(f1_like, n=6, seed=0):
    """Made-up counts whose F1 follows the numbers given, shape (layer, head)."""
    f1_like = np.asarray(f1_like, dtype=float)
    hits = np.tile(f1_like * 10, (n, 1, 1)) * (1 + 0.01 * np.random.default_rng(seed).random((n, 1, 1)))
    return CueScores(hits, np.full_like(hits, 10), np.full(n, 10.0), n, "made up")


def test_the_best_head_is_chosen_on_one_half_and_reported_on_the_other():
    choose, report = scores([[0.1, 0.6], [0.2, 0.3]]), scores([[0.9, 0.2], [0.1, 0.1]])
    best = best_head(choose, report)
    assert best.label == "1-2" and best.chosen_on > 0.5
    assert best.f1 == pytest.approx(0.2, abs=0.01) and best.low <= best.f1 <= best.high


def test_an_interval_holds_what_it_should_and_needs_two_sentences():
    generator = np.random.default_rng(3)
    hits = generator.binomial(10, 0.4, size=(60, 1, 1)).astype(float)
    drawn = CueScores(hits, np.full_like(hits, 10), np.full(60, 10.0), 60)
    value, low, high = drawn.interval(0, 0)
    assert low < value < high and 0.02 < high - low < 0.15
    assert drawn.mean_interval() == pytest.approx(drawn.interval(0, 0))
    with pytest.raises(ValueError, match="at least two"):
        CueScores(hits[:1], hits[:1], np.ones(1), 1).interval(0, 0)


# --- tuned against control ---------------------------------------------------------------------------------


def test_the_contrast_counts_seeds_and_says_what_they_can_reach():
    before = scores([[0.1, 0.2]])
    negation = [scores([[0.3, 0.4]]), scores([[0.3, 0.5]]), scores([[0.2, 0.4]])]
    control = [scores([[0.1, 0.2]]), scores([[0.1, 0.3]]), scores([[0.1, 0.2]])]
    found = contrast(before, negation, control)
    assert found.difference == pytest.approx((0.2 + 0.2 + 0.15) / 3, abs=0.01)
    assert found.p == found.least_p == 0.25
    difference = (negation[0].f1 - control[0].f1).ravel()
    assert found.wilcoxon[0] == pytest.approx(wilcoxon(difference).pvalue)
    turned = contrast(before, control, negation)
    assert turned.difference == -found.difference and turned.p == found.p
    assert (
        contrast(before, negation, negation).p == 1 and contrast(before, negation, negation).wilcoxon[0] == 1
    )
    with pytest.raises(ValueError, match="got 3 and 2"):
        contrast(before, negation, control[:2])


def test_labels_of_the_two_tasks():
    assert scope_labels([SENTENCES[0]]) == [["in", "in", "in", "out", "in", "out"]]
    assert scope_labels([TWO])[0] == ["out", "in", "out", "in", "in", "out", "in", "in", "out", "in"]
    control = task_labels("control", load_negation())
    flat = [label for labels in control for label in labels]
    wanted = [label for labels in task_labels("negation", load_negation()) for label in labels]
    assert len(flat) == len(wanted) and abs(flat.count("in") - wanted.count("in")) < 0.15 * len(flat)
    by_word = {}
    for sentence, labels in zip(load_negation(), control):
        for word, label in zip(sentence.words, labels):
            by_word.setdefault(word.lower(), set()).add(label)
    assert all(len(labels) == 1 for labels in by_word.values())  # a word has one label, wherever it stands
    with pytest.raises(ValueError, match="negation, control"):
        task_labels("sentiment", SENTENCES)
    with pytest.raises(ValueError, match="none or all"):
        task_labels("control", [SENTENCES[2]])


def test_a_tag_score_by_hand():
    found = tag_score([["in", "in", "out"], ["out", "in"]], [["in", "out", "in"], ["out", "in"]])
    assert (
        found.f1 == pytest.approx(2 * 2 / (3 + 3)) and found.accuracy == pytest.approx(3 / 5) and found.n == 2
    )
    assert tag_score([["out"]], [["out"]]).f1 == 0


def test_tuning_leaves_the_encoder_and_differs_by_task(encoder):
    given = {"sentences": SENTENCES, "epochs": 1, "truncate": True}
    one, other = (tune(encoder, task, **given) for task in ("negation", "control"))
    assert len({encoder.fingerprint, one.encoder.fingerprint, other.encoder.fingerprint}) == 3
    assert "negation, seed 0" in one.encoder.name


def test_parts_of_speech_are_a_control_too():
    from bertlook_course.corpora import load_treebank

    words, labels = part_of_speech_task(load_treebank(), 5)
    assert len(words) == 5 and all(len(w) == len(x) for w, x in zip(words, labels))
    assert {"NOUN", "VERB"} <= {label for own in labels for label in own}


def test_on_the_specimen_a_scope_is_learnt_and_the_tuned_model_is_kept(specimen):
    """One epoch of the real thing: the same twice from memory, and better than before training on what it has seen."""
    tagger = tuned(specimen, "negation", epochs=1)
    assert tuned(specimen, "negation", epochs=1) is tagger
    assert tagger.losses[0] < np.log(2)
    assert next(tagger.model.parameters()).dtype.itemsize == 4
