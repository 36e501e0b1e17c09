"""Probes of all heads together: a tree that attention spells out, the optimum, words, distances, the controls."""

from dataclasses import replace

import numpy as np
import pytest
from made import attention, framed, refusals

from bertlook_course.analyses.probing import (
    NOT_CONVERGED,
    ProbeSentence,
    attention_features,
    choose_l2,
    control_task,
    evaluate,
    evaluate_lead,
    fit_attention_probe,
    fit_distance_probe,
    fit_word_probe,
    how_it_ended,
    learning_curve,
    leave_documents_out,
    pair_accuracy,
    probe_inputs,
    right_branching,
    sample_pairs,
)
from bertlook_course.analyses.probing import attention_probes as probes
from bertlook_teach.model import check_reading

FORMS = "abcdefgh"


def sentence_of(maps, governors, words=None) -> ProbeSentence:
    n = len(governors)
    return ProbeSentence(
        *attention_features(framed("abcdefghij"[:n], maps)),
        np.asarray(governors),
        np.ones(n, bool),
        words or ("w",) * n,
    )


def random_sentences(count=12, layers=2, heads=2, seed=0):
    """Random maps, random governors (ROOT is the last candidate), random words; the last word is punctuation."""
    rng = np.random.default_rng(seed)
    sentences = []
    for _ in range(count):
        n = int(rng.integers(3, 7))
        maps = rng.random((layers, heads, n + 2, n + 2), np.float32) ** 3
        maps /= maps.sum(-1, keepdims=True)
        sentence = sentence_of(maps, rng.integers(0, n + 1, n), tuple(rng.choice(list(FORMS), n)))
        sentences.append(replace(sentence, counted=np.arange(n) < n - 1))
    return sentences


def spelt_out(layers=2, heads=3, true_head=(1, 2), transpose=False, seed=0):
    """Sentences in which one head looks from each word to its governor, and from the root word to [CLS]."""
    rng = np.random.default_rng(seed)
    sentences = []
    for _ in range(20):
        n = int(rng.integers(3, 8))
        governors = np.array([rng.integers(0, i) if i else n for i in range(n)])
        maps = np.full((layers, heads, n + 2, n + 2), 1 / (n + 2), np.float32)
        sharp = np.full((n + 2, n + 2), 0.1 / (n + 1), np.float32)
        for word, governor in enumerate(governors):
            sharp[word + 1, 0 if governor == n else governor + 1] = 0.9
        maps[true_head] = sharp.T if transpose else sharp
        sentences.append(sentence_of(maps, governors))
    return sentences


def one_hot(words):
    return np.stack([np.arange(len(FORMS)) == FORMS.index(word) for word in words]).astype(np.float32)


# --- attention only ------------------------------------------------------------------------------------


def test_a_tree_that_one_head_spells_out_is_found_whole():
    sentences = spelt_out()
    probe = fit_attention_probe(sentences[::2])
    score = evaluate(probe.predict, sentences[1::2])
    assert probe.converged and score.uas == score.high == 1 and score.low == pytest.approx(0.025**0.1)
    assert score.n_sentences == 10 and score.n_words == sum(len(s) for s in sentences[1::2])
    n_heads = 6
    assert int(np.abs(probe.between).argmax()) == n_heads + 5  # from dependent to candidate, head 2-3
    assert int(np.abs(probe.root).argmax()) == n_heads + 5  # from the root word to [CLS]


def test_a_probe_fitted_on_one_direction_fails_on_the_other():
    probe = fit_attention_probe(spelt_out())
    assert evaluate(probe.predict, spelt_out(transpose=True)).uas < 0.7


def test_features_put_each_weight_where_it_belongs():
    maps = np.random.default_rng(1).random((2, 2, 5, 5)).astype(np.float32)
    between, root = attention_features(framed("abc", maps))
    assert between.shape == (3, 3, 8) and root.shape == (3, 16)
    for word in range(3):
        for candidate in range(3):
            forth = maps[:, :, candidate + 1, word + 1].ravel()
            back = maps[:, :, word + 1, candidate + 1].ravel()
            assert between[word, candidate] == pytest.approx(np.concatenate([forth, back]))
        parts = [
            maps[:, :, 0, word + 1],
            maps[:, :, word + 1, 0],
            maps[:, :, 4, word + 1],
            maps[:, :, word + 1, 4],
        ]
        assert root[word] == pytest.approx(np.concatenate([part.ravel() for part in parts]))


def plain_optimum(sentences, l2, scores_of, size, rate=1.0, steps=500):
    """The same problem written word by word and solved by gradient descent through autograd, in double precision."""
    torch = pytest.importorskip("torch")
    weights = torch.zeros(size, dtype=torch.float64, requires_grad=True)
    n_words = sum(len(s) for s in sentences)
    for _ in range(steps):
        total = torch.zeros((), dtype=torch.float64)
        for s in sentences:
            for word, governor in enumerate(s.governors):
                total = total - torch.log_softmax(scores_of(torch, s, word, weights), 0)[int(governor)]
        value = total / n_words + l2 / 2 * (weights**2).sum()
        weights.grad = None
        value.backward()
        with torch.no_grad():
            weights -= rate * weights.grad
    return weights.detach().numpy(), float(value.detach())


def test_the_optimum_is_the_one_plain_gradient_descent_finds():
    sentences = random_sentences(8)

    def scores_of(torch, s, word, w):
        inside = torch.from_numpy(s.between[word].astype(float)) @ w[:8]
        root = torch.from_numpy(s.root[word].astype(float)) @ w[8:]
        return torch.cat([inside, root[None]])

    weights, value = plain_optimum(sentences, 0.05, scores_of, 24, steps=300)
    probe = fit_attention_probe(sentences, l2=0.05)
    assert probe.loss == pytest.approx(value, abs=1e-5)
    assert np.concatenate([probe.between, probe.root]) == pytest.approx(weights, abs=3e-3)


def test_a_probe_says_whether_it_has_converged_and_the_gradient_proves_it():
    sentences = random_sentences(8)
    done, cut_off = (fit_attention_probe(sentences, l2=1e-3, max_iterations=n) for n in (1000, 3))
    assert done.converged and how_it_ended(done) == "converged"
    assert not cut_off.converged and how_it_ended(cut_off) == NOT_CONVERGED
    assert cut_off.loss > done.loss
    words = [fit_word_probe(sentences, one_hot, l2=0.01, max_iterations=n) for n in (1000, 2)]
    assert [probe.converged for probe in words] == [True, False]
    free = fit_attention_probe(sentences, l2=0, max_iterations=3)
    assert not free.converged


# --- chosen on documents left out ------------------------------------------------------------------------


def test_what_is_left_out_to_choose_on_is_every_fourth_document():
    sentences = [replace(s, doc_id=f"d{i // 3}") for i, s in enumerate(random_sentences(24))]
    fitted_on, left_out = leave_documents_out(sentences)
    assert {s.doc_id for s in left_out} == {"d3", "d7"} and len(fitted_on) == 18
    assert not {s.doc_id for s in fitted_on} & {s.doc_id for s in left_out}
    few = [replace(s, doc_id="one") for s in sentences[:5]]
    assert leave_documents_out(few) == (few[:3] + few[4:], few[3:4])


def test_the_penalty_is_the_best_one_on_sentences_left_out_and_of_equal_ones_the_first():
    sentences, seen = random_sentences(8), []

    class Told:
        def __init__(self, right):
            self.predict = lambda s: s.governors if right else s.governors + 1

    def fit(part, l2):
        seen.append((len(part), l2))
        return Told(l2 < 1)

    assert choose_l2(fit, sentences, (10, 1, 0.1, 0.01)) == 0.1
    assert seen == [(6, 10), (6, 1), (6, 0.1), (6, 0.01)]


def test_the_network_is_trained_as_long_as_was_best_on_documents_left_out(monkeypatch):
    monkeypatch.setattr(probes, "PATIENCE", 3)
    monkeypatch.setattr(probes, "MOST_EPOCHS", 12)
    sentences = random_sentences(24)
    probe = fit_distance_probe(sentences, one_hot, hidden=8)
    assert probe.chosen and probe.epochs == int(np.argmax(probe.by_epoch)) + 1
    assert len(probe.by_epoch) in (probe.epochs + probes.PATIENCE, probes.MOST_EPOCHS)
    given = fit_distance_probe(sentences, one_hot, hidden=8, epochs=probe.epochs)
    assert (given.parameters["out"] == probe.parameters["out"]).all()  # refitted on all sentences
    assert how_it_ended(probe) == f"{probe.epochs} epochs, chosen on validation documents"
    assert how_it_ended(given) == f"{probe.epochs} epochs, as asked" and not given.chosen
    part, left_out = leave_documents_out(sentences)
    tried = fit_distance_probe(part, one_hot, hidden=8, epochs=probe.epochs)
    assert evaluate(tried.predict, left_out).uas == pytest.approx(max(probe.by_epoch))


# --- with words ----------------------------------------------------------------------------------------


def test_with_words_the_optimum_is_that_of_the_formula_written_out():
    sentences, dim, width = random_sentences(4), len(FORMS), 8

    def scores_of(torch, s, word, w):
        a, b = w[: dim * width].reshape(dim, width), w[dim * width : 2 * dim * width].reshape(dim, width)
        bias = w[2 * dim * width : (2 * dim + 1) * width]
        r = w[(2 * dim + 1) * width :].reshape(dim + 1, 2 * width)
        e = torch.from_numpy(one_hot(s.words).astype(float))
        scores = []
        for i in range(len(s)):
            head_weights = e[i] @ a + e[word] @ b + bias
            scores.append(head_weights @ torch.from_numpy(s.between[word, i].astype(float)))
        scores.append((e[word] @ r[:-1] + r[-1]) @ torch.from_numpy(s.root[word].astype(float)))
        return torch.stack(scores)

    size = (2 * dim + 1) * width + (dim + 1) * 2 * width
    _, value = plain_optimum(sentences, 0.1, scores_of, size, steps=250)
    probe = fit_word_probe(sentences, one_hot, l2=0.1, max_iterations=300)
    assert probe.loss == pytest.approx(value, abs=1e-4)


def test_words_help_where_the_word_decides_which_head_to_read():
    """Head 1-1 points back for "a" and on for "b", head 1-2 the other way round: attention alone cannot know."""
    rng = np.random.default_rng(0)
    sentences = []
    for _ in range(40):
        n = 5
        words = rng.choice(["a", "b"], n)
        maps = np.full((1, 2, n + 2, n + 2), 0.02, np.float32)
        governors = []
        for i, word in enumerate(words):
            back, on = (i - 1) % n, (i + 1) % n
            maps[0, 0, i + 1, back + 1] = maps[0, 1, i + 1, on + 1] = 0.9
            governors.append(back if word == "a" else on)
        sentences.append(sentence_of(maps, governors, tuple(words)))
    train, test = sentences[::2], sentences[1::2]
    alone = evaluate(fit_attention_probe(train).predict, test).uas
    probe = fit_word_probe(train, one_hot)
    assert evaluate(probe.predict, test).uas == 1 > alone + 0.2
    swapped = replace(probe, candidate=probe.dependent, dependent=probe.candidate)
    assert evaluate(swapped.predict, test).uas < 0.9, (
        "the dependent's word and the candidate's are not the same"
    )


def test_the_released_code_gives_each_candidate_the_next_words_vector():
    words = one_hot("abc")
    assert (probes._candidate_vectors(words, True)[:2] == words[1:]).all()
    assert (probes._candidate_vectors(words, True)[2] == 0).all()
    assert probes._candidate_vectors(words, False) is words


def test_distances_are_the_eight_of_the_paper():
    features = probes.distance_features(4)
    assert features.shape == (4, 5, 8)
    assert features[1, 3].tolist() == [0, 0.5, 0, 0, 0, 0, 1, 0]  # two places after
    assert features[2, 1].tolist() == [0.25, 0, 0, 1, 0, 0, 0, 0]  # the previous word
    assert features[2, 2].tolist() == [0, 0, 1, 0, 0, 0, 0, 0]
    assert features[0, 4].tolist() == [0, 0, 0, 0, 0, 0, 0, 1]


def test_distances_and_words_learn_a_rule_of_both_and_twice_the_same():
    rng = np.random.default_rng(0)
    sentences = []
    for _ in range(60):
        words = rng.choice(["a", "b"], 5)
        governors = [max(i - 1, 0) if word == "a" else min(i + 1, 4) for i, word in enumerate(words)]
        sentences.append(sentence_of(np.full((1, 1, 7, 7), 1 / 7, np.float32), governors, tuple(words)))
    probe, again = (
        fit_distance_probe(sentences[::2], one_hot, hidden=32, epochs=40, learning_rate=0.02)
        for _ in range(2)
    )
    assert evaluate(probe.predict, sentences[1::2]).uas > 0.95
    assert (probe.parameters["out"] == again.parameters["out"]).all()


def test_word_vectors_are_read_from_a_text_file(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("the 1 2\ncat 3 4.5\n", encoding="utf-8")
    vectors = probe_inputs.read_word_vectors(path)
    assert vectors(["The", "dog", "cat"]).tolist() == [[1, 2], [0, 0], [3, 4.5]]
    path.write_text("2 2\nthe 1 2\ncat 3 4.5\n", encoding="utf-8")
    assert probe_inputs.read_word_vectors(path)(["the"]).tolist() == [[1, 2]]


# --- controls and the judge ----------------------------------------------------------------------------


def test_right_branching_is_the_next_word_and_root_for_the_last():
    sentence = random_sentences(1)[0]
    n = len(sentence)
    chain = replace(sentence, governors=np.arange(1, n + 1))
    assert evaluate(right_branching, [chain, chain]).uas == 1


def test_the_control_task_gives_a_word_form_one_rule_everywhere():
    sentences = control_task(random_sentences(30))
    rules = {}
    for sentence in sentences:
        for i, (word, governor) in enumerate(zip(sentence.words, sentence.governors)):
            possible = {
                rule
                for rule, place in (("self", i), ("first", 0), ("last", len(sentence) - 1))
                if place == governor
            }
            rules[word] = rules.get(word, possible) & possible
    assert all(rules.values()) and len(set(map(frozenset, rules.values()))) > 1
    again = control_task(random_sentences(30))
    assert all((a.governors == b.governors).all() for a, b in zip(sentences, again))


def test_punctuation_is_left_out_unless_asked_for():
    sentences = random_sentences()
    total = sum(len(s) for s in sentences)
    assert evaluate(right_branching, sentences, punctuation=True).n_words == total
    assert evaluate(right_branching, sentences).n_words == total - len(sentences)


def test_the_interval_is_that_of_an_ordinary_bootstrap():
    sentences = random_sentences(60)
    score = evaluate(right_branching, sentences, punctuation=True)
    right = np.array([(right_branching(s) == s.governors).sum() for s in sentences])
    sizes = np.array([len(s) for s in sentences])
    rng = np.random.default_rng(5)
    draws = rng.integers(0, 60, (4000, 60))
    values = right[draws].sum(1) / sizes[draws].sum(1)
    assert score.uas == pytest.approx(right.sum() / sizes.sum())
    assert (score.low, score.high) == pytest.approx(np.quantile(values, (0.025, 0.975)), abs=0.015)


def test_of_several_seeds_the_mean_is_scored():
    sentences = random_sentences(20)

    def next_word(s):
        return np.arange(1, len(s) + 1)

    def itself(s):
        return np.arange(len(s))

    one, other = (evaluate(predict, sentences).uas for predict in (next_word, itself))
    both = evaluate([next_word, itself], sentences)
    assert both.uas == pytest.approx((one + other) / 2) and one != other
    lead = evaluate_lead(next_word, [next_word, itself], sentences)
    assert lead.difference == pytest.approx(one - both.uas) and lead.low <= lead.difference <= lead.high


def test_the_interval_of_a_lead_is_paired():
    """Two probes that differ in the last word of a sentence: the lead is far surer than either score."""
    sentences = random_sentences(60)

    def nearly(s):
        return np.where(np.arange(len(s)) == 4, 0, right_branching(s))

    lead, score = evaluate_lead(nearly, right_branching, sentences), evaluate(nearly, sentences)
    assert lead.high - lead.low < 0.6 * (score.high - score.low)
    same = evaluate_lead(nearly, nearly, sentences)
    assert (same.difference, same.low, same.high) == (0, 0, 0)


def test_a_learning_curve_scores_the_same_sentences_each_time():
    sentences = spelt_out()
    train, test = sentences[::2], sentences[1::2]
    curve = learning_curve(fit_attention_probe, train, test, (1, 4, 10))
    assert list(curve) == [1, 4, 10]
    assert {(s.n_sentences, s.n_words) for s in curve.values()} == {(10, sum(len(s) for s in test))}
    assert curve[10] == evaluate(fit_attention_probe(train).predict, test)
    assert curve[1].uas <= curve[10].uas == 1


def test_smaller_sets_of_a_learning_curve_are_part_of_the_larger():
    seen = []

    class Nothing:
        predict = staticmethod(right_branching)

    def fit(sentences):
        seen.append([id(s) for s in sentences])
        return Nothing

    sentences = random_sentences(12)
    learning_curve(fit, sentences[:8], sentences[8:], (2, 5, 8))
    assert [len(ids) for ids in seen] == [2, 5, 8]
    assert seen[2][:2] == seen[0] and seen[2][:5] == seen[1]
    assert seen[2] != [id(s) for s in sentences[:8]], "the order is drawn at random, not that of the treebank"


def test_a_byte_level_tokenizer_reads_words_too(encoders):
    """Its pieces carry the space before a word; the first word has it as well, or the vectors were those of other pieces."""
    encoder = encoders["roberta"]
    vectors = probe_inputs.input_vectors(encoder)(["cat", "cat"])
    table = encoder.model.get_input_embeddings().weight.detach().numpy()
    pieces = encoder.tokenizer.convert_tokens_to_ids(["Ġ", "c", "a", "t"])
    expected = (table / table.std())[pieces].mean(axis=0)
    assert vectors[0] == pytest.approx(expected, abs=1e-6)
    assert vectors[1] == pytest.approx(expected, abs=1e-6)
    assert check_reading(encoder, ["cat", "cat"]).obstacle == ""


def test_a_sentence_of_one_word_can_be_its_own_governor_or_root():
    maps = np.full((1, 1, 3, 3), 1 / 3, np.float32)
    sentences = [sentence_of(maps, [1])] * 2
    assert evaluate(fit_attention_probe(sentences).predict, sentences).uas == 1


def test_intervals_draw_documents_where_twenty_are_named_and_sentences_where_fewer_are():
    sentences = random_sentences(80)
    # Four sentences of a document are right or wrong together, so that documents vary more than sentences drawn alone would.
    right = {id(s): i // 4 % 2 for i, s in enumerate(sentences)}

    def predict(s):
        return s.governors if right[id(s)] else (s.governors + 1) % (len(s) + 1)

    def in_documents(of):
        named = [replace(s, doc_id=f"{i // of}") for i, s in enumerate(sentences)]
        right.update({id(new): right[id(old)] for new, old in zip(named, sentences)})
        return named

    def width(score):
        return score.high - score.low

    alone = evaluate(predict, sentences)
    assert width(evaluate(predict, in_documents(4))) > 1.6 * width(alone)  # of 20 documents, 4 sentences each
    assert evaluate(predict, in_documents(5)) == alone  # of 16 documents
    named = in_documents(4)
    pairs, by_sentence = sample_pairs(named), sample_pairs(sentences)
    together = np.array([right[id(named[i])] for i in pairs.sentence], bool)

    def guess(asked):
        return np.where(together, asked.linked, ~asked.linked)

    assert width(pair_accuracy(guess, pairs)) > 1.6 * width(pair_accuracy(guess, by_sentence))


# --- what is refused -----------------------------------------------------------------------------------

FEW = random_sentences(12)
ONE, NO_WORDS = FEW[:1], attention(("[CLS]",), weights=np.ones((1, 1, 1, 1)))


def vectors_of(folder, text):
    (folder / "vectors.txt").write_text(text, encoding="utf-8")
    return probe_inputs.read_word_vectors(folder / "vectors.txt")


test_what_cannot_be_probed_is_refused = refusals(
    (lambda: fit_attention_probe([]), "at least one sentence, all with the same heads; got 0"),
    (lambda: fit_attention_probe(ONE + random_sentences(1, heads=3)), r"all with the same heads; got 2 with \[4, 6\]"),
    (lambda: fit_word_probe(ONE, one_hot, l2=-1), "l2 is a penalty of 0 or more; got -1"),
    (lambda: evaluate(right_branching, ONE), "two sentences with words; got 1"),
    (lambda: evaluate_lead(right_branching, right_branching, ONE), "needs two sentences"),
    (lambda: attention_features(NO_WORDS), "got 0 words and 1 special tokens"),
    (lambda: leave_documents_out(FEW[:3]), "four are needed; got 3 sentences"),
    (lambda tmp_path: vectors_of(tmp_path, "the 1 2\ncat 3\n"), "line 2: 1 numbers where 2"),
    (lambda tmp_path: vectors_of(tmp_path, "the one two\n"), "line 1: expected a word and numbers"),
    (lambda tmp_path: vectors_of(tmp_path, ""), "no word vector"),
    *(
        (lambda sizes=sizes: learning_curve(fit_attention_probe, FEW[:8], FEW[8:], sizes), "sizes from 1 to the 8 sentences to fit on; got")
        for sizes in ((0, 3), (9,), ())
    ),
)  # fmt: skip
