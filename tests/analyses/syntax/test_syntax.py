"""Heads and offsets as predictors, one judge for both, and a table that chooses fairly.

Sizes differ on every axis (3 layers, 2 heads, 5 words), so that a swapped axis cannot hide.
"""

import json
import os
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest
from made import as_conllu, attention, framed, random_answers, random_maps, read_rows, refusals, run
from made import counted_from_one as sentence
from tiny import save_tiny_model

from bertlook_course.analyses.syntax import (
    NO_ANSWER,
    collect_answers,
    evaluate,
    flat_row,
    head_predictor,
    in_scheme,
    judge,
    offset_predictor,
    predicted_governors,
    report_of,
    score_relations,
    shuffled_distances,
)
from bertlook_course.analyses.syntax.answers import _NOWHERE, _ROOT
from bertlook_course.analyses.syntax.gold import OffsetAnswers, gold_cases, offset_answers
from bertlook_course.analyses.syntax.relations import _effective
from bertlook_course.corpora import read_conllu
from bertlook_teach.disk import data_path
from bertlook_teach.model import TOO_LONG, random_twin

CAT = sentence("the cat sat on it", [2, 3, 0, 5, 3], "det nsubj root case obl")


def looking(weights):
    """Attention between the words of CAT, or as many as the weights have, none of them special."""
    tokens = tuple(f"w{i}" for i in range(np.shape(weights)[-1]))
    return attention(tokens, weights=weights, level="word")


@pytest.fixture(scope="module")
def treebank():
    return read_conllu(data_path("treebank", "treebank.conllu"))


# --- what a head answers -------------------------------------------------------------------------------


def test_a_head_that_looks_at_the_governor_is_right_in_one_direction_only():
    weights = np.full((1, 1, 5, 5), 0.05)
    for dependent, governor in enumerate(CAT.governors):
        if governor >= 0:
            weights[0, 0, dependent, governor] = 0.9
    by_row, by_column = judge(predicted_governors(looking(weights)), CAT)[:, 0, 0]
    assert by_row.tolist() == [True, True, False, True, True]
    assert by_column.sum() < 4
    turned = np.swapaxes(weights, -1, -2)  # now the governor looks at its dependents
    by_row, by_column = judge(predicted_governors(looking(turned)), CAT)[:, 0, 0]
    assert by_column.tolist() == [True, True, False, True, True]
    assert by_row.sum() < 4


def test_every_answer_equals_a_loop_over_the_definition():
    weights = random_maps(3, 2, 5, 5)
    answers = predicted_governors(looking(weights))
    assert answers.shape == (2, 3, 2, 5) and answers.dtype == np.int16
    for layer, head, word in np.ndindex(3, 2, 5):
        others = [j for j in range(5) if j != word]
        row = max(others, key=lambda j: weights[layer, head, word, j])
        column = max(others, key=lambda j: weights[layer, head, j, word])
        assert answers[:, layer, head, word].tolist() == [row, column]


def test_special_tokens_and_the_word_itself_are_no_answer():
    weights = np.zeros((1, 1, 4, 4))
    weights[0, 0, 1] = [0.5, 0.4, 0.04, 0.06]  # [CLS], itself, the other word, [SEP]
    weights[0, 0, 2] = [0.4, 0.1, 0.5, 0.0]
    weights[0, 0, [0, 3]] = 0.25
    a = framed("ab", weights)
    assert predicted_governors(a)[0, 0, 0].tolist() == [1, 0]
    before = a.weights.copy()
    predicted_governors(a)
    assert (a.weights == before).all()  # the input is not changed


def test_of_equal_weights_the_first_word_wins_and_one_word_has_no_answer():
    assert predicted_governors(looking(np.full((1, 1, 4, 4), 0.25)))[:, 0, 0].tolist() == [[1, 0, 0, 0]] * 2
    assert (predicted_governors(looking(np.ones((3, 2, 1, 1)))) == NO_ANSWER).all()
    itself = predicted_governors(looking(np.eye(4)[None, None]))  # all other weights were rounded to 0
    assert itself[:, 0, 0].tolist() == [[1, 0, 0, 0]] * 2


# --- offsets -------------------------------------------------------------------------------------------


def test_offset_plus_one_is_right_branching():
    scores = evaluate(offset_predictor(+1), [CAT])
    assert scores["all"] == (3, 4)  # the, cat and on; "it" has nothing to its right
    assert scores["det"] == (1, 1) and scores["obl"] == (0, 1)
    assert evaluate(offset_predictor(-1), [CAT])["all"] == (0, 4)
    assert evaluate(offset_predictor(-2), [CAT])["obl"] == (1, 1)


def kept_inside(offset, first=0):
    """A rule of its own: the word at an offset, or the last one, or the first (-1: the root, as in the released code)."""
    return lambda s: np.clip(np.arange(len(s)) + offset, first, len(s) - 1)


def test_an_offset_has_no_answer_outside_the_sentence():
    assert offset_predictor(-3)(CAT)[0] == offset_predictor(+3)(CAT)[4] == NO_ANSWER
    assert offset_predictor(+2)(CAT)[0] == 2


def test_the_released_codes_baseline_can_name_the_root():
    names = sentence("go now", [0, 1], "root advmod")
    scores = evaluate(kept_inside(-1, first=-1), [names], count_root=True)
    assert scores["all"] == (2, 2)
    assert evaluate(offset_predictor(-1), [names], count_root=True)["all"] == (1, 2)
    # the root is counted over all relations, and has no row of its own
    for count_root, n in (
        (True, 2),
        (False, 1),
    ):
        counted = {
            name: score.n
            for name, score in evaluate(offset_predictor(-1), [names], count_root=count_root).items()
        }
        assert counted == {"all": n, "all but punct": n, "advmod": 1}
        cases = gold_cases([names]).cases(count_root)
        assert {name: len(words) for name, words in cases.items()} == counted


def test_relation_counts_sum_to_the_words_without_roots(treebank):
    scores = evaluate(offset_predictor(+1), treebank[:80])
    words = sum(len(s) for s in treebank[:80])
    arcs = words - 80
    assert scores["all"].n == arcs
    assert sum(score.n for name, score in scores.items() if not name.startswith("all")) == arcs
    assert scores["all but punct"].n == arcs - scores["punct"].n


ORDER = (-4, -3, -2, -1, 1, 2, 3, 4)
EWT = os.environ.get("BERTLOOK_EWT_DEV")


@pytest.mark.skipif(not EWT, reason="set BERTLOOK_EWT_DEV to the path of en_ewt-ud-dev.conllu")
def test_offsets_on_ewt_dev_to_the_digit():
    """Subtypes merged, the root left out, punctuation counted, no answer outside the sentence."""
    sentences = in_scheme(read_conllu(EWT))
    assert len(sentences) == 2001
    expected = {"all": 31.6, "det": 58.9, "nsubj": 33.9, "obj": 35.8, "amod": 74.7, "case": 37.7, "aux": 54.3, "advmod": 45.8, "mark": 52.3}  # fmt: skip
    best = {}
    for offset in ORDER:
        for name, score in evaluate(offset_predictor(offset), sentences).items():
            best[name] = max(best.get(name, (0, 0)), (score.accuracy, offset))
    assert {name: round(100 * best[name][0], 1) for name in expected} == expected
    assert {name: best[name][1] for name in expected} == {**dict.fromkeys(expected, 1), "obj": -2}


def test_offsets_of_the_table_equal_offset_predictors_one_by_one(treebank):
    sentences = treebank[:60]
    table = score_relations(random_answers(sentences, seed=1), min_cases=5, permutations=0)
    by_hand = {o: evaluate(offset_predictor(o), in_scheme(sentences)) for o in table.about["offsets"]}
    for row in table.rows:
        top = max(by_hand, key=lambda o: (by_hand[o].get(row.relation).accuracy, -ORDER.index(o)))
        assert row.in_sample_offset == top
        assert row.in_sample_baseline == pytest.approx(by_hand[top][row.relation].accuracy)
        assert row.n == by_hand[top][row.relation].n


def test_an_offset_that_points_outside_answers_nothing_or_as_published():
    """Two sentences in one row; outside is what lies before the first and after the last word, by one place already."""
    trees, no = [sentence("a b c", [2, 0, 2], "x root x"), sentence("a", [0], "root")], _NOWHERE
    assert offset_answers(trees, (-1, 2)).T.tolist() == [[no, -1, -1, no], [2, no, no, no]]
    published = OffsetAnswers(gold_cases(trees).room, (-1, 2), "published").rows(slice(None))
    assert published.T.tolist() == [
        [_ROOT, -1, -1, _ROOT],
        [2, 1, 0, 0],
    ]  # the root on the left, the last word on the right


def test_the_predictor_of_an_offset_answers_as_the_table_does():
    """One sentence at a time; the word after the last is outside by one place already."""
    tree = sentence("a b c", [2, 0, 2], "x root x")
    for offset in range(-4, 5):
        for edge, predictor in (
            ("none", offset_predictor(offset)),
            ("published", kept_inside(offset, first=-1)),
        ):
            distances = OffsetAnswers(gold_cases([tree]).room, (offset,), edge).rows(slice(None))[:, 0]
            places = {_NOWHERE: NO_ANSWER, _ROOT: -1}
            told = [places.get(distance, word + distance) for word, distance in enumerate(distances.tolist())]
            assert predictor(tree).tolist() == told, (offset, edge)
    assert offset_predictor(1)(tree).tolist() == [1, 2, NO_ANSWER]


# --- the judge -----------------------------------------------------------------------------------------


OWNER = sentence("the dog 's long tail", [2, 5, 2, 5, 0], "det poss possessive amod root")


def test_the_possessive_mark_answers_for_the_owner():
    answers = [1, 0, 4, 4, 0]  # "dog" names "the"; "'s" names "tail", the owner's governor
    assert not judge(answers, OWNER)[1] and judge(answers, OWNER, poss_rule="possessive")[1]
    answers = [1, 4, 1, 4, 0]  # now only "dog" itself is right: one answer a case
    assert not judge(answers, OWNER, poss_rule="possessive")[1]
    assert judge(answers, OWNER, poss_rule="possessive").tolist() == [True, False, True, True, False]


def test_the_possessive_rule_is_the_same_for_offsets_and_does_not_touch_pronouns():
    assert evaluate(offset_predictor(+3), [OWNER])["poss"] == (1, 1)
    assert evaluate(offset_predictor(+2), [OWNER], poss_rule="possessive")["poss"] == (1, 1)
    pronoun = sentence("his tail", [2, 0], "poss root")
    assert evaluate(offset_predictor(+1), [pronoun], poss_rule="possessive")["poss"] == (1, 1)
    last = sentence("tail his", [0, 1], "root poss")  # nothing follows: must not run past the end
    assert evaluate(offset_predictor(-1), [last], poss_rule="published")["poss"] == (1, 1)


def test_the_released_rule_knows_two_spellings_only():
    bare = sentence("boys ' hats", [3, 1, 0], "poss possessive root")
    answers = [1, 2, 0]
    assert judge(answers, bare, poss_rule="possessive")[0]
    assert not judge(answers, bare, poss_rule="published")[0]


# --- answers of a model --------------------------------------------------------------------------------


SENTENCES = [
    CAT,
    sentence("it sat", [2, 0], "nsubj root"),
    sentence("a dog chased the unrealcatly cat", [2, 3, 0, 6, 6, 3], "det nsubj root det amod obj"),
    sentence("it", [0], "root"),
    sentence("the dog was tired", [2, 4, 4, 0], "det nsubj cop root"),
]


@pytest.mark.parametrize("query", ["mean", "first", "max"])
def test_answers_in_batches_equal_one_predictor_at_a_time(tiny, query):
    answers = collect_answers(tiny, SENTENCES, query=query, batch_size=2)
    assert answers.distances.shape == (18, 2, 3, 2)
    for number, one in enumerate(SENTENCES):
        for direction, layer, head in np.ndindex(2, 3, 2):
            alone = head_predictor(tiny, layer, head, direction, query=query)(one)
            assert answers.of(number)[direction, layer, head].tolist() == alone.tolist()


def test_a_table_row_equals_the_judge_on_that_head(tiny):
    table = score_relations(collect_answers(tiny, SENTENCES), min_cases=2, permutations=0)
    row = table["nsubj"]
    choice = row.in_sample_choice
    scores = evaluate(head_predictor(tiny, choice.layer, choice.head, choice.direction), SENTENCES)
    assert row.in_sample == pytest.approx(scores["nsubj"].accuracy) and row.n == scores["nsubj"].n == 4


LONG = sentence("cat " * 40, [0] + [1] * 39, "root " + "dep " * 39)


def test_sentences_that_do_not_fit_are_counted_by_reason(tiny):
    gone = sentence("cat \u0300", [0, 1], "root dep")  # an accent alone: the tokenizer strips it
    answers = collect_answers(tiny, [*SENTENCES, LONG, gone])
    assert answers.skipped == Counter({TOO_LONG: 1, "a word leaves no wordpiece": 1})
    assert len(answers.sentences) == 5


def test_a_word_of_ten_pieces_and_an_unknown_word_are_read(tiny):
    words = sentence("abcdefghij 漢 cat", [3, 3, 0], "amod amod root")
    assert collect_answers(tiny, [words]).distances.shape == (3, 2, 3, 2)
    unknown = sentence("漢 字", [2, 0], "amod root")
    assert collect_answers(tiny, [words, unknown]).skipped.total() == 1


def test_only_the_answers_are_kept(tiny):
    answers = collect_answers(tiny, SENTENCES)
    assert answers.distances.nbytes == 18 * 2 * 3 * 2 * 2  # words, directions, layers, heads, two bytes
    assert 0 < answers.removed.min() and answers.removed.max() < 1


# --- the table -----------------------------------------------------------------------------------------


def test_a_head_that_knows_one_relation_is_found_with_its_direction(treebank):
    sentences = treebank[:120]

    def knows_obj(s):
        return [g if r == "obj" else 0 for g, r in zip(s.governors, s.relations)]

    answers = random_answers(sentences, heads=4, layers=3, planted={(1, 2, 3): knows_obj})
    row = score_relations(answers, permutations=50)["obj"]
    assert row.accuracy == 1 and row.head == "3-4 g>d" and row.choices[0] == row.choices[1]
    assert row.gain == pytest.approx(1 - row.baseline) and row.gain_low > 0
    assert row.p_corrected == pytest.approx(1 / 51)


def test_the_fair_number_equals_a_second_implementation(treebank):
    sentences = in_scheme(treebank[:90])
    answers = random_answers(treebank[:90], seed=3)
    table = score_relations(answers, min_cases=8, permutations=0)
    documents = [list(dict.fromkeys(s.doc_id for s in sentences)).index(s.doc_id) for s in sentences]
    marks = defaultdict(list)  # relation -> [(half, right of each head)]
    for number, s in enumerate(sentences):
        right = judge(answers.of(number), s).reshape(12, len(s))
        for word, relation in enumerate(s.relations):
            if s.governors[word] >= 0:
                marks[relation].append((documents[number] % 2, right[:, word]))
    for row in table.rows:
        if row.relation.startswith("all"):
            continue
        total = 0
        for side in (0, 1):
            chooses = sum(r.astype(int) for half, r in marks[row.relation] if half == side)
            best = list(chooses).index(max(chooses))
            total += sum(bool(r[best]) for half, r in marks[row.relation] if half != side)
        assert row.accuracy == pytest.approx(total / len(marks[row.relation]))
        assert row.n == len(marks[row.relation])


def test_no_document_chooses_and_reports(treebank):
    """Each document has a head of its own that knows it all. By sentences every document's head would be seen in both halves."""
    sentences = treebank[:200]
    documents = [list(dict.fromkeys(s.doc_id for s in sentences)).index(s.doc_id) for s in sentences]

    def knows(side):
        of = {id(s): d for s, d in zip(sentences, documents)}
        return lambda s: [g if of[id(s)] % 2 == side else 0 for g in s.governors]

    answers = random_answers(sentences, planted={(0, 0, 0): knows(0), (0, 1, 1): knows(1)})
    row = score_relations(answers, permutations=0)["all"]
    assert [(c.layer, c.head) for c in row.choices] == [(0, 0), (1, 1)]
    assert row.accuracy < 0.1 and row.in_sample > 0.4
    assert "documents" in score_relations(answers, permutations=0).about["interval"]


def test_few_documents_are_drawn_by_sentences_and_the_table_says_so(treebank):
    table = score_relations(random_answers(treebank[:60]), permutations=0)  # ten documents
    assert table.about["interval"].startswith("95% Poisson bootstrap over sentences")


def test_a_relation_that_stands_in_one_half_alone_gets_no_row(treebank):
    rare = [
        replace(s, relations=("rare", *s.relations[1:])) if s.doc_id == treebank[0].doc_id else s
        for s in treebank[:90]
    ]
    many = [replace(s, relations=("rare",) * len(s)) if s.doc_id == treebank[0].doc_id else s for s in rare]
    assert "rare" in score_relations(random_answers(many), permutations=0).too_rare


def test_as_published_an_owner_that_answers_with_the_last_word_keeps_its_answer():
    """Released: `if r == "poss" and p < len(words)`, where p counts from 1."""
    owner = sentence("dog 's tail", (3, 1, 0), "poss possessive root")
    last, elsewhere = [2, 1, 0], [1, 2, 0]  # what "dog", "'s" and "tail" answer
    assert judge(last, owner, poss_rule="published").tolist() == [True, False, False]
    assert judge(last, owner, poss_rule="possessive").tolist() == [False, False, False]
    assert judge(elsewhere, owner, poss_rule="published")[0] and not judge(elsewhere, owner)[0]
    trees = [owner] * 8
    planted = {
        (d, 0, h): lambda s, a=a: np.array(a)
        for (d, h), a in zip(np.ndindex(2, 2), (last, [1, 1, 0], elsewhere, [0, 0, 0]))
    }
    gold = gold_cases(trees, "published")
    answers = random_answers(trees, layers=1, planted=planted)
    cases = gold.cases(True)["poss"]
    right = _effective(answers.distances, gold, cases, True) == gold.distances[cases][:, None]
    assert right.mean(axis=0).tolist() == [
        1,
        0,
        1,
        0,
    ]  # by the owner; by its mark wrong; by its mark right; wrong


def test_as_published_of_equal_heads_the_last_by_layer_head_and_direction_wins(treebank):
    """Released: ``sorted(all_scores, reverse=True)`` of (score, layer, head, direction), where "head<-dep" comes after "dep->head"."""
    for equal, last in (
        ([(1, 0, 0), (0, 1, 0)], (0, 1, 0)),
        ([(1, 1, 0), (0, 1, 1)], (0, 1, 1)),
        ([(0, 2, 1), (1, 2, 1)], (1, 2, 1)),
    ):
        planted = {place: lambda s: np.asarray(s.governors) for place in equal}
        table = score_relations(
            random_answers(treebank[:40], planted=planted), as_published=True, permutations=0
        )
        choice = table["nsubj"].choices[0]
        assert (choice.direction, choice.layer, choice.head) == last


def test_choosing_and_scoring_on_the_same_data_flatters_heads_that_know_nothing(treebank):
    """Random answers: the fair number is about chance, the in-sample one above it, for every relation."""
    table = score_relations(
        random_answers(treebank[:200], layers=12, heads=12), min_cases=50, permutations=100
    )
    rows = [row for row in table.rows if not row.relation.startswith("all")]
    assert len(rows) > 8
    assert all(row.in_sample >= row.accuracy for row in rows)
    assert np.mean([row.in_sample - row.accuracy for row in rows]) > 0.03
    # uncorrected, the best of 288 looks significant; corrected for the choice it does not
    assert np.mean([row.p < 0.05 for row in rows]) > 0.5
    assert np.mean([row.p_corrected < 0.05 for row in rows]) < 0.15


def test_a_shuffled_distance_still_points_into_its_sentence():
    """And no distance is lost: the same numbers in another order; roots stay where they are."""
    generator = np.random.default_rng(0)
    room = generator.integers(0, 9, (200, 2)) + [0, 1]
    distances = np.array([generator.integers(-before, after + 1) for before, after in room])
    distances[7] = root = np.iinfo(np.int16).min + 1
    shuffles = [d.copy() for d in shuffled_distances(distances, room, 20, generator)]
    for shuffled in shuffles:
        assert sorted(shuffled) == sorted(distances) and shuffled[7] == root
        inside = np.arange(200) != 7
        assert (shuffled >= -room[:, 0])[inside].all() and (shuffled <= room[:, 1])[inside].all()
    assert all((shuffled != distances).mean() > 0.5 for shuffled in shuffles)


def test_shuffling_walks_evenly_through_what_fits():
    """Three words, room for 0..2, 0..2 and 0..1 to the right: of the orders of 0, 1, 2 four fit."""
    room = np.array([[0, 2], [0, 2], [0, 1]])
    counts = Counter(
        tuple(map(int, d))
        for d in shuffled_distances(np.array([2, 1, 0]), room, 4000, np.random.default_rng(1))
    )
    assert set(counts) == {(2, 1, 0), (1, 2, 0), (2, 0, 1), (0, 2, 1)}
    assert max(counts.values()) / min(counts.values()) < 1.25


def test_a_head_that_only_knows_the_distance_is_not_significant(treebank):
    sentences = treebank[:120]
    answers = random_answers(
        sentences,
        layers=1,
        heads=1,
        planted={(d, 0, 0): kept_inside(+1) for d in (0, 1)},
    )
    row = score_relations(answers, permutations=60)["det"]
    assert row.p_corrected == 1 and abs(row.gain) < 1e-9


def test_the_interval_contains_the_value_and_narrows_with_more_sentences(treebank):
    few, many = (score_relations(random_answers(treebank[:n]), permutations=0)["all"] for n in (40, 400))
    for row in (few, many):
        assert row.low < row.accuracy < row.high and row.gain_low < row.gain < row.gain_high
    assert many.high - many.low < 0.6 * (few.high - few.low)


def test_the_published_protocol_chooses_on_the_scored_sentences(treebank):
    answers = random_answers(treebank[:100])
    table = score_relations(answers, scheme="stanford", as_published=True, permutations=0)
    assert table.about["offsets"] == [-3, -2, -1, 0, 1, 2]
    for row in table.rows:
        assert row.accuracy == row.in_sample and len(row.choices) == 1
    words = sum(len(s) for s in treebank[:100])
    assert table["all"].n == words  # the root counts, as wrong for heads
    assert score_relations(answers, permutations=0)["all"].n == words - 100
    baseline = evaluate(kept_inside(1, first=-1), in_scheme(treebank[:100], "stanford"), count_root=True, poss_rule="published")  # fmt: skip
    assert table["all"].in_sample_baseline == pytest.approx(baseline["all"].accuracy)
    assert table["poss"].baseline >= baseline["poss"].accuracy


def test_the_twin_gets_the_same_chance(tiny):
    answers, twin = (collect_answers(e, SENTENCES * 6) for e in (tiny, random_twin(tiny)))
    row = score_relations(answers, twin=twin, min_cases=5, permutations=0)["det"]
    alone = score_relations(twin, min_cases=5, permutations=0)["det"]
    assert (row.twin, row.twin_low, row.twin_high) == (alone.accuracy, alone.low, alone.high)


def test_the_same_seed_gives_the_same_table(treebank):
    answers = random_answers(treebank[:60])
    assert score_relations(answers).rows == score_relations(answers).rows


def test_rare_and_missing_relations_are_named(treebank):
    table = score_relations(random_answers(treebank[:60]), min_cases=20, permutations=0)
    assert all(row.n >= 20 for row in table.rows)
    assert table.too_rare and all(n < 20 for n in table.too_rare.values())
    rare = next(iter(table.too_rare))
    with pytest.raises(KeyError, match="too few"):
        table[rare]
    with pytest.raises(KeyError, match="it never occurs"):
        table["foo"]
    one_half = [CAT, sentence("it sat", [2, 0], "nsubj root")] * 3  # det only in even sentences
    for sentences in (one_half, one_half[::-1]):  # ... or in odd ones
        assert "det" in score_relations(random_answers(sentences), min_cases=1, permutations=0).too_rare


def test_schemes_and_subtypes():
    owner = sentence("his cat sat", [2, 3, 0], "nmod:poss nsubj root")
    assert in_scheme([owner])[0].relations == ("nmod", "nsubj", "root")
    assert in_scheme([owner], subtypes="keep")[0].relations[0] == "nmod:poss"
    assert in_scheme([owner], "stanford")[0].relations[0] == "poss"
    assert owner.relations[0] == "nmod:poss"  # a sentence that is shared is not changed


# --- files and the command -----------------------------------------------------------------------------


def test_a_table_is_printed_and_saved(treebank, tmp_path):
    table = score_relations(random_answers(treebank[:60]), permutations=10)
    text = str(report_of(table))
    assert "made up, scheme ud, subtypes merge, 60 sentences" in text
    assert "No row for fewer than 20 cases, or too few in one half" in text
    assert "A random twin's often do too" in text and "knows" not in text  # p is no proof of syntax
    folder = tmp_path / "out"
    assert str(folder / "syntax.csv") in report_of(table).save(folder)
    rows = read_rows(folder / "syntax.csv")
    assert [row["relation"] for row in rows] == [row.relation for row in table.rows]
    assert float(rows[0]["accuracy"]) == pytest.approx(table.rows[0].accuracy, abs=1e-6)
    assert rows[0]["twin"] == ""
    saved = json.loads((folder / "syntax.json").read_text(encoding="utf-8"))
    assert saved["about"]["n_sentences"] == 60 and saved["about"]["too_rare"] == table.too_rare
    assert list(rows[0]) == list(flat_row(table.rows[0]))


def test_the_command_prints_a_table_and_counts_what_it_left_out(tmp_path, capsys):
    model = save_tiny_model(tmp_path / "model")
    path, good = tmp_path / "bank.conllu", as_conllu([*SENTENCES * 3, LONG])
    path.write_text(f"{good}1\ta\t_\t_\t_\t_\t5\tdet\t_\t_\n\n", encoding="utf-8")
    options = ("--model", model, "--data", path, "--min-cases", 3, "--permutations", 9, "--quiet")
    code, said = run(capsys, "syntax", *options, "--out", tmp_path / "stopped")
    wrong = f"line {len(good.splitlines()) + 1}: word 1 (a) has head 5; it must be 0 (root) to 1"
    assert code == 1 and wrong in said.err
    code, said = run(capsys, "syntax", *options, "--out", tmp_path / "out", "--on-error", "skip")
    assert code == 0 and "1 of 16 sentences left out: longer than the model reads (32 wordpieces)" in said.out
    assert "nsubj" in said.out and "1 broken sentences left out in all" in said.err
    assert (tmp_path / "out" / "syntax.csv").is_file() and (tmp_path / "out" / "syntax.json").is_file()
    more = ("--on-error", "skip", "--as-published", "--no-twin")
    assert run(capsys, "syntax", *options, "--out", tmp_path / "pub", *more)[0] == 0
    about = json.loads((tmp_path / "pub" / "syntax.json").read_text())["about"]
    assert about["query"] == "first" and about["twin"] == "" and "as published" in about["protocol"]


def test_another_language_needs_nothing_else(tmp_path, capsys):
    """No English in the UD scheme: letters the tokenizer knows one by one, relations of any name."""
    model = save_tiny_model(tmp_path / "model")
    one = sentence("kato sidas tie", [2, 0, 2], "nsubj:x root advmod")
    (tmp_path / "eo.conllu").write_text(as_conllu([one] * 8), encoding="utf-8")
    where = ("--model", model, "--data", tmp_path / "eo.conllu", "--out", tmp_path / "out")
    options = ("--min-cases", 4, "--permutations", 5, "--quiet", "--no-twin", "--subtypes", "keep")
    code, said = run(capsys, "syntax", *where, *options)
    assert code == 0 and "nsubj:x" in said.out


# --- what is refused -----------------------------------------------------------------------------------

test_what_is_refused = refusals(
    (lambda: judge([0, 1, 2, 3], CAT), r"one governor for each of the 5 words; got shape \(4,\)"),
    (lambda: judge([0] * 5, CAT, poss_rule="yes"), "poss_rule must be"),
    (lambda tiny: head_predictor(tiny, 8, 10), r"no head \[8, 10\]: layers go from 0 to 2, heads from 0 to 1", IndexError),
    (lambda tiny: head_predictor(tiny, 0, 0, "transpose"), "direction is 0"),
    (lambda tiny: collect_answers(tiny, [LONG]), "no sentence of the treebank can be read .*: 1 longer than the model reads"),
    (
        lambda tiny: score_relations(collect_answers(tiny, SENTENCES * 2), twin=collect_answers(tiny, SENTENCES)),
        "the twin must have answered the same sentences",
    ),
    (lambda: score_relations(random_answers([CAT])), "needs two sentences; got 1"),
    (lambda: in_scheme([CAT], "sd"), "scheme must be one of ud, stanford; got 'sd'"),
    (lambda: in_scheme([CAT], subtypes="drop"), "subtypes must be 'merge' or 'keep'"),
    (lambda: report_of(replace(score_relations(random_answers([CAT] * 8), permutations=0), rows=[])), "lower min_cases"),
)  # fmt: skip
