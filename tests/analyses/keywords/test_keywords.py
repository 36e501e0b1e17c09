"""Attention as text weights: scores of words, rules, regressions and mixes, removal, the tagger, and the command."""

import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from made import framed, random_maps, read_rows, refusals, run
from tiny import HEADS, LAYERS, save_tiny_model

from bertlook_course.analyses.ablation import (
    mean_parts,
    random_removal,
    removal_curve,
    remove_one,
    worst_first,
)
from bertlook_course.analyses.keywords import (
    ALL_HEADS,
    BEST_HEAD,
    MIX,
    ONE_WORD,
    RULES,
    STOP_WORDS,
    auc_by_text,
    compare,
    document_frequencies,
    head_table,
    mean_with_interval,
    models,
    rake,
    read_keywords,
    relative_attention,
    relative_by_text,
    rule_scores,
    slides_score,
    texts_of,
    tf_idf,
    token_scores,
    unnormalised_entropy,
    without_heads,
)
from bertlook_course.corpora import KeyphraseDocument
from bertlook_course.metrics import auc
from bertlook_teach.model import extract_attention


def maps(layers=3, heads=2, words=("salt", "marsh", "is", "wet")):
    n = len(words) + 2
    return framed(words, random_maps(layers, heads, n, n))


# --- scores of words -------------------------------------------------------------------------------------


def test_a_word_that_everybody_looks_at_has_it_all():
    weights = np.zeros((1, 1, 5, 5), np.float32)
    weights[..., 2] = 1  # everybody, the word itself too, looks at the second word
    own = maps(1, 1, ("a", "b", "c"))
    scores = token_scores(replace(own, weights=weights))
    assert scores[0, 0].tolist() == [0, 1, 0]


def test_the_other_way_round_nobody_is_looked_at():
    """Swapped, the second word looks at everybody with full weight: the others receive it, and it receives nothing."""
    weights = np.zeros((1, 1, 5, 5), np.float32)
    weights[..., 2] = 1
    swapped = replace(maps(1, 1, ("a", "b", "c")), weights=weights.swapaxes(-1, -2))
    assert token_scores(swapped)[0, 0].tolist() == [0.5, 0, 0.5]


@pytest.mark.parametrize("column", ["mean", "max"])
def test_scores_are_what_a_loop_gives(column):
    found = maps()
    scores = token_scores(found, column)
    assert scores.shape == (3, 2, 4)
    reduce = max if column == "max" else lambda values: sum(values) / len(values)
    for layer, head, word in np.ndindex(scores.shape):
        rows = [i for i in range(4) if i != word]
        received = [float(found.weights[layer, head, 1 + i, 1 + word]) for i in rows]
        assert scores[layer, head, word] == pytest.approx(reduce(received), abs=1e-6)


def test_a_split_word_has_the_sum_of_its_pieces():
    whole = maps(words=("salt", "mar", "##sh", "wet"))
    split = replace(whole, word_ids=(None, 0, 1, 1, 2, None), words=("salt", "marsh", "wet"))
    scores = token_scores(split)[0, 0]
    w = whole.weights[0, 0]
    assert scores[1] == pytest.approx((w[1, 2] + w[1, 3] + w[4, 2] + w[4, 3]) / 2)
    assert scores[0] == pytest.approx(((w[2, 1] + w[3, 1]) / 2 + w[4, 1]) / 2)


# --- relative attention, AUC, the slides' score ----------------------------------------------------------


def test_relative_attention_on_paper():
    assert relative_attention([[4, 1, 2, 0]], [True, True, False, False]).tolist() == [1.5]


def test_the_slides_score_is_low_for_zero_and_for_one():
    low = unnormalised_entropy([[0.001] * 5, [0.999] * 5, [1 / np.e] * 5])
    assert low[2] == pytest.approx(5 / np.e) and low[0] < 0.1 and low[1] < 0.1
    assert unnormalised_entropy([0.0, 1.0]) == 0


# --- many texts ------------------------------------------------------------------------------------------

TEXTS = [
    ("the cat sat on the mat .", ["cat"]),
    ("a dog chased the cat , unreally .", ["dog", "the cat"]),
    ("it was a mat , the mat was unreal .", ["mat"]),
    ("the dog sat . it was tired .", ["dog"]),
    ("a cat , a dog and a mat .", ["cat", "mat"]),
    ("tired dog on a mat !", ["tired dog"]),
    ("the unreal cat was on it .", ["unreal cat"]),
    ("the dog was it ?", ["dog"]),
]
DOCUMENTS = [
    KeyphraseDocument(f"t{i}", text, tuple(phrases), split=("train", "test")[i % 2])
    for i, (text, phrases) in enumerate(TEXTS)
]


@pytest.fixture(scope="module")
def data(tiny):
    return read_keywords(tiny, DOCUMENTS)


@pytest.fixture(scope="module")
def found(data):
    return compare(*data.halves())


def test_what_is_read_agrees_with_one_text_at_a_time(tiny, data):
    assert data.n_texts == len(DOCUMENTS) and (data.n_layers, data.n_heads) == (LAYERS, HEADS)
    for number in (1, 4):
        document, part = DOCUMENTS[number], data.text(number)
        assert data.words[part] == document.words and tuple(data.is_key[part]) == document.is_key()
        alone = extract_attention(tiny, words=list(document.words))
        for column in ("mean", "max"):
            scores = np.moveaxis(token_scores(alone, column), -1, 0)
            assert data.scores[column][part] == pytest.approx(scores, abs=1e-5)
        pieces = Counter(word for word in alone.word_ids if word is not None)
        assert data.n_pieces[part].tolist() == [pieces[i] for i in range(len(document.words))]
        within = auc(token_scores(alone), document.is_key())
        assert auc_by_text(data, data.scores["mean"])[number] == pytest.approx(within, abs=0.05)
        assert relative_by_text(data)[number] == pytest.approx(
            relative_attention(token_scores(alone), document.is_key()), abs=1e-5
        )


def test_some_texts_are_taken_and_counted_anew(data):
    some = data.take([5, 2])
    assert [d.id for d in some.documents] == ["t5", "t2"] and set(some.text_ids) == {0, 1}
    assert some.words[some.text(1)] == DOCUMENTS[2].words
    assert (some.scores["max"][some.text(1)] == data.scores["max"][data.text(2)]).all()
    train, test = data.halves()
    assert {d.split for d in train.documents} == {"train"} and {d.split for d in test.documents} == {"test"}


def test_features_are_one_for_an_average_word(data):
    features = data.features("max")
    assert features.shape == (len(data.words), LAYERS * HEADS)
    for number in range(data.n_texts):
        assert features[data.text(number)].mean(axis=0) == pytest.approx(np.ones(LAYERS * HEADS))


def test_a_head_that_looks_everywhere_alike_finds_split_words_until_they_are_divided(tiny, data):
    """What a random twin does: its AUC is that of the number of pieces, and .5 a piece."""
    even = np.ones_like(data.scores["mean"]) * data.n_pieces[:, None, None] / 8  # exact in binary
    flat = replace(data, scores={"mean": even, "max": even})
    by_pieces = auc_by_text(flat, data.n_pieces)
    assert auc_by_text(flat, even)[:, 0, 0] == pytest.approx(by_pieces) and by_pieces.mean() > 0.5
    assert auc_by_text(flat, flat.per_piece().scores["mean"]) == pytest.approx(0.5)


UNDECIDED = [
    KeyphraseDocument("absent", "the cat sat .", ("dog",)),
    KeyphraseDocument("one", "cat", ("cat",)),
    KeyphraseDocument("all", "cat dog", ("cat dog",)),
    KeyphraseDocument("cut", "the " * 40 + "cat", ("cat",)),
]


def test_texts_on_which_nothing_can_be_decided_are_left_out_and_named(tiny):
    found = read_keywords(tiny, [*DOCUMENTS[:2], *UNDECIDED])
    assert found.n_texts == 2
    reasons = dict(found.skipped)
    assert reasons["one"] == ONE_WORD and "every word" in reasons["all"]
    assert "no key phrase stands in what the model reads" in reasons["absent"] == reasons["cut"]


def test_a_long_text_is_read_from_its_beginning_in_whole_words(tiny):
    text = "dog " + "the cat sat unreally on it . " * 10 + "sea wall"
    found = read_keywords(tiny, [KeyphraseDocument("1", text, ("dog", "sea wall"))])
    assert found.n_cut == 1 and found.n_missing == 1
    assert (
        found.words == tuple(text.split())[: len(found.words)] and found.n_pieces.sum() <= tiny.max_tokens - 2
    )


def test_an_interval_contains_its_mean():
    mean, low, high = mean_with_interval(np.random.default_rng(0).random(30))
    assert low < mean < high
    assert mean_with_interval([0.5] * 4) == (0.5, 0.5, 0.5)


def test_the_spread_of_equal_maxima_is_zero(data):
    flat = {column: np.full_like(values, 0.25) for column, values in data.scores.items()}
    score, spread = slides_score(replace(data, scores=flat))
    assert spread == pytest.approx(0) and score == pytest.approx(-0.25 * np.log(0.25))


# --- rules -----------------------------------------------------------------------------------------------


def test_tf_idf_on_paper():
    frequencies = document_frequencies([["Tide", "mill"], ["tide", "."], ["the", "mill"]])
    assert frequencies == (Counter(tide=2, mill=2, the=1, **{".": 1}), 3)
    found = tf_idf(["the", "tide", "tide", "wheel", "."], frequencies)
    assert found == pytest.approx([np.log(4 / 2), 2 * np.log(4 / 3), 2 * np.log(4 / 3), np.log(4), 0])


def test_rake_on_paper():
    """ "salt marsh" twice, "marsh" once: deg(marsh) = 2 + 2 + 1, three times; salt 4 / 2."""
    words = ["The", "salt", "marsh", ",", "a", "salt", "marsh", "and", "the", "marsh", "."]
    marsh, salt = 5 / 3, 2
    phrase = pytest.approx(marsh + salt)
    scores = rake(words)
    assert scores[1] == scores[2] == scores[5] == scores[6] == phrase
    assert scores[9] == pytest.approx(marsh) and scores[[0, 3, 4, 7, 8, 10]].tolist() == [0] * 6
    assert rake(["the", "of"]).tolist() == [0, 0] and rake([]).shape == (0,)
    assert all(word == word.lower() for word in STOP_WORDS)


def test_every_rule_scores_every_word(data):
    scores = rule_scores(data)
    assert tuple(sorted(scores)) == tuple(sorted(RULES))
    assert all(values.shape == (len(data.words),) for values in scores.values())
    first = data.text(0)
    assert scores["position"][first].argmax() == 0 and (scores["pieces"] == data.n_pieces).all()
    assert scores["length"][first].tolist() == [len(word) for word in texts_of(data)[0]]


# --- models ----------------------------------------------------------------------------------------------


def words_with_signal(n=600, features=5, seed=0):
    rng = np.random.default_rng(seed)
    is_key = rng.random(n) < 0.15
    x = rng.gamma(2, 1, (n, features))
    x[:, 1] += 1.5 * is_key
    x[:, 3] *= np.where(is_key, 0.5, 1)
    return x, is_key


def test_the_regressions_loss_is_least_where_it_says():
    """The gradient of the penalised, weighted loss, taken by differences, is 0 at the fit."""
    x, y = words_with_signal()
    model = models.fit_logistic(x, y, l2=0.05)
    scaled, sign = (x - model.mean) / model.spread, np.where(y, 1, -1)
    weigh = np.where(y, 0.5 / y.mean(), 0.5 / (1 - y.mean()))  # both kinds weigh the same, mean 1
    bias = model.bias - np.log(y.mean() / (1 - y.mean()))

    def loss(p):
        return (weigh * np.log1p(np.exp(-sign * (scaled @ p[:-1] + p[-1])))).mean() + 0.025 * p[:-1] @ p[:-1]

    at = np.append(model.weights, bias)
    for i in range(len(at)):
        step = np.eye(len(at))[i] * 1e-3
        assert loss(at) < loss(at + step) and loss(at) < loss(at - step)


def test_one_feature_alone_is_the_regression_of_one_feature():
    x, y = words_with_signal()
    alone = models.single_log_odds(models.fit_singles(x, y), x)
    for i in range(x.shape[1]):
        fit = models.fit_logistic(x[:, [i]], y, l2=1e-4)
        assert alone[:, i] == pytest.approx(fit.log_odds(x[:, [i]]), abs=2e-3)


def test_the_share_is_put_back():
    """A feature that says nothing: the answer is the prior, and costs the prior's entropy."""
    y = np.arange(200) % 10 == 0
    model = models.fit_logistic(np.ones((200, 1)), y)
    loss = models.cross_entropies(model.log_odds(np.ones((200, 1))), y).mean()
    assert loss == pytest.approx(models.prior_entropy(y), abs=1e-5)


def test_a_mix_finds_the_one_head_and_its_sign():
    rng = np.random.default_rng(1)
    y = rng.random(800) < 0.2
    for gain in (2.5, 0.2):  # key words get more of head 2, or less
        x = rng.gamma(2, 0.5, (800, 4))
        x[:, 2] *= np.where(y, gain, 1)
        mix = models.fit_mix(x, y)
        assert mix.shares.sum() == pytest.approx(1) and mix.shares.argmax() == 2 and mix.shares[2] > 0.5
        assert np.sign(mix.gamma) == np.sign(gain - 1)
        assert mix.log_odds(x) == pytest.approx(mix.gamma * mix.mix(x) + mix.bias)


def test_what_is_taken_away_no_longer_matters():
    x, y = words_with_signal()
    other = x.copy()
    other[:, [1, 3]] = 99
    for model in (models.fit_logistic(x, y), models.fit_mix(x, y)):
        assert model.log_odds(x, without=[1, 3]) == pytest.approx(model.log_odds(other, without=[1, 3]))
        assert not np.allclose(model.log_odds(x, without=[1, 3]), model.log_odds(x))
        assert np.ptp(model.log_odds(x, without=range(5))) == pytest.approx(0, abs=1e-9)


def test_folds_keep_texts_whole_and_every_word_is_answered_once(data):
    fold = models.folds_by_text(8, 4)
    assert sorted(Counter(fold).values()) == [2, 2, 2, 2]
    seen = []

    def fit(x, y):
        def answer(z):
            seen.append({tuple(row) for row in z})
            return z[:, 0] - len(x)

        return answer

    marked = np.column_stack([np.arange(len(data.words)), data.text_ids]).astype(float)
    found = models.cross_validated(data, marked, fit, folds=4)
    assert sum(map(len, seen)) == len(data.words) and found.shape == (len(data.words),)
    for part in seen:  # a text stands in one fold only
        assert not {t for _, t in part} & {t for other in seen if other is not part for _, t in other}


def test_the_cut_off_with_the_best_f1_is_found_among_all():
    rng = np.random.default_rng(2)
    scores, y = rng.integers(0, 12, 60).astype(float), rng.random(60) < 0.4

    def f1(cutoff):
        called = scores > cutoff
        return 2 * (called & y).sum() / max(1, called.sum() + y.sum())

    assert f1(models.best_cutoff(scores, y)) == pytest.approx(max(f1(c) for c in np.arange(-1, 12, 0.25)))


def test_the_judge_on_paper(data):
    perfect = np.where(data.is_key, 30.0, -30.0)
    score = models.judge("perfect", data, perfect, 0.0, data.share_key)
    assert (score.auc, score.f1, score.loss) == pytest.approx((1, 1, 0), abs=1e-9)
    assert score.prior == pytest.approx(models.prior_entropy(data.is_key))
    assert (score.n_words, score.n_texts) == (len(data.words), data.n_texts)
    silent = models.judge("silent", data, perfect * 0 - 1, 0.0, data.share_key)
    assert silent.f1 == 0 and silent.auc == 0.5
    parts = models.f1_parts(np.ones(len(data.words), bool), data)
    assert parts[:, 0].sum() == 2 * data.is_key.sum()
    assert parts[:, 1].sum() == len(data.words) + data.is_key.sum()


# --- the comparison --------------------------------------------------------------------------------------


def test_heads_are_chosen_on_train_and_scored_on_test(data, found):
    train, test = data.halves()
    means = auc_by_text(train, train.scores["mean"]).mean(axis=0)
    assert found.best["mean"] == np.unravel_index(means.argmax(), means.shape)
    assert {*RULES, BEST_HEAD, MIX, ALL_HEADS} <= set(found.answers)
    for score in found.scores():
        assert score.auc_low <= score.auc <= score.auc_high and score.n_texts == test.n_texts
    fit = models.fit_singles(train.features(), train.is_key)
    flat = found.best["mean"][0] * HEADS + found.best["mean"][1]
    alone = models.single_log_odds(fit, test.features())[:, flat]
    assert found.answers[BEST_HEAD][0] == pytest.approx(alone, abs=1e-6)


def test_answers_do_not_see_which_test_words_are_key(data, found):
    train, test = data.halves()
    lied = replace(test, is_key=np.roll(test.is_key, 3))
    again = compare(train, lied)
    for name, (log_odds, cutoff) in found.answers.items():
        assert again.answers[name][0] == pytest.approx(log_odds) and again.answers[name][1] == cutoff


def test_a_row_for_every_head(data):
    rows = head_table(*data.halves())
    assert [row["head"] for row in rows][:3] == ["1-1", "1-2", "2-1"] and len(rows) == LAYERS * HEADS
    test = data.halves()[1]
    assert rows[2]["auc"] == pytest.approx(auc_by_text(test, test.scores["mean"])[:, 1, 0].mean())
    assert rows[2]["relative"] == pytest.approx(relative_by_text(test)[:, 1, 0].mean())


# --- removal ---------------------------------------------------------------------------------------------

WORTH = {(0, 0): 0.4, (0, 1): 0.0, (1, 0): 0.1, (1, 1): -0.1}


def additive(off):
    """Two texts; each head is worth what it is worth, whatever else is off."""
    left = sum(worth for head, worth in WORTH.items() if head not in set(off))
    return mean_parts([0.5 + left, 0.3 + left])


def test_what_a_head_is_worth_is_what_is_lost_without_it():
    heads = list(WORTH)
    losses = remove_one(additive, heads)
    assert losses == pytest.approx(list(WORTH.values()))
    ranked = worst_first(losses, heads)
    assert ranked == [(1, 1), (0, 1), (1, 0), (0, 0)]
    curve = removal_curve(additive, ranked, steps=4)
    assert curve.scores == pytest.approx([0.8, 0.9, 0.9, 0.8, 0.4])
    assert curve.shares.tolist() == [0, 0.25, 0.5, 0.75, 1] and curve.rows()[1]["last_removed"] == "2-2"
    assert removal_curve(additive, ranked[::-1]).scores[-1] == pytest.approx(0.4)


def test_random_orders_are_a_band_between_the_two(data, found):
    heads = [(layer, head) for layer in range(LAYERS) for head in range(HEADS)]
    band = random_removal(additive, list(WORTH), n_orders=6, steps=4)
    assert (band.low <= band.scores + 1e-9).all() and (band.scores <= band.high + 1e-9).all()
    assert band.n_orders == 6
    score = without_heads(found.regression, data.halves()[1])
    curve = removal_curve(score, heads, steps=3)
    assert curve.scores[0] == pytest.approx(found.score(ALL_HEADS).auc)
    assert curve.scores[-1] == pytest.approx(0.5)  # nothing is left to say


# --- fine-tuning -----------------------------------------------------------------------------------------


def test_a_tagger_learns_the_texts_and_misses_its_heads(tiny, data):
    from bertlook_course.analyses.keywords import fine_tune_key_tagger

    before = tiny.fingerprint
    tagger = fine_tune_key_tagger(tiny, data, epochs=40, learning_rate=0.02, batch_size=4, dropout=0.0)
    assert tiny.fingerprint == before  # the encoder given stays as it is
    log_odds = tagger.log_odds(data)
    assert auc_by_text(data, log_odds).mean() > 0.9
    score = models.judge("tuned", data, log_odds, tagger.cutoff, data.share_key)
    whole = tagger.f1_without(data)(())
    assert whole.sum(axis=0)[0] / whole.sum(axis=0)[1] == pytest.approx(score.f1)
    heads = [(layer, head) for layer in range(LAYERS) for head in range(HEADS)]
    assert not np.allclose(
        tagger.log_odds(data, heads), log_odds
    )  # positive control: without all heads it says something else
    assert tagger.log_odds(data) == pytest.approx(log_odds)  # and the hooks are gone
    assert repr(tagger).endswith("8 texts)")


# --- the command -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("command")
    rows = [
        {"id": d.id, "text": d.text, "keyphrases": [*d.keyphrases, "sea wall"], "split": d.split}
        for d in DOCUMENTS
    ]
    rows += [{"id": "none", "text": "a cat", "keyphrases": [], "split": "train"}]
    (folder / "texts.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return save_tiny_model(folder / "model"), folder / "texts.jsonl"


def test_the_command_writes_every_score_head_and_curve_with_the_twin(files, tmp_path, capsys):
    model, texts = files
    options = ("--tune", "--remove-tuned", "--epochs", 1, "--random-orders", 2, "--quiet")
    code, printed = run(capsys, "keywords", "--model", model, "--data", texts, "--out", tmp_path, *options)
    assert code == 0 and printed.err == ""
    rows = read_rows(tmp_path / "keywords.csv")
    assert Counter(row["run"] for row in rows) == {"no model": 6, "model": 6, "random twin": 6}
    assert {row["score"] for row in rows} >= {*RULES, BEST_HEAD, MIX, ALL_HEADS, "fine-tuned tagger"}
    assert all(float(r["auc_low"]) <= float(r["auc"]) <= float(r["auc_high"]) for r in rows)
    assert all(float(r["prior"]) > 0 and r["n_texts"] == "4" for r in rows)
    assert len(read_rows(tmp_path / "heads.csv")) == 2 * 2 * LAYERS * HEADS
    curves = {(row["run"], row["score_of"], row["order"]) for row in read_rows(tmp_path / "removal.csv")}
    assert {order for *_, order in curves} == {"worst first", "best first", "random"}
    assert {what for _, what, _ in curves} == {"regression, AUC", "fine-tuned tagger, F1"}
    about = json.loads((tmp_path / "keywords.json").read_text(encoding="utf-8"))["about"]
    assert about["phrases not in what was read"] == 8 and about["texts without a phrase in the file"] == 1
    assert set(about["slides' score"]) == {"model", "random twin"}
    assert "1 texts were left out" in printed.out and "fine-tuned tagger" in printed.out


def test_importing_the_measures_loads_nothing_heavy():
    code = (
        "import sys, bertlook_course.analyses.keywords.comparison, bertlook_course.analyses.keywords.key_tagger; "
        "print([m for m in ('torch', 'transformers', 'scipy', 'IPython', 'ipywidgets') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout.strip() == "[]"


# --- what is refused -------------------------------------------------------------------------------------

X, Y = words_with_signal()
FITS = (models.fit_logistic, models.fit_mix, models.fit_singles)

test_what_is_refused = refusals(
    (lambda: token_scores(maps(words=("salt",))), "nothing can be decided on a text of 1 word"),
    (lambda: token_scores(maps(), "sum"), "column is 'mean' or 'max'; got 'sum'"),
    *(
        (lambda measure=measure, key=key: measure([1, 2, 3], [key] * 3), f"nothing can be decided: {what}.*Do the phrases occur")
        for measure in (auc, relative_attention)
        for key, what in ((False, "no word is key"), (True, "every word is key"))
    ),
    (lambda: auc([1, 2, 3], [True, False]), r"is_key has shape \(2,\), the scores end in \(3,\)"),
    (lambda: auc([1, np.nan], [True, False]), "not a number"),
    (lambda: unnormalised_entropy([0.5, 2]), "from 0 to 1; they go from 0.500 to 2.000"),
    (lambda data: data.take([5, 2]).text(2), "texts 0 to 1; got 2", IndexError),
    (lambda tiny: read_keywords(tiny, UNDECIDED), "nothing can be decided on these 4 texts: 2 times: no key phrase"),
    *((lambda fit=fit: fit(X, Y & False), "of 600 words 0 are key") for fit in FITS),
    (lambda: models.fit_logistic(X, Y, l2=-1), "penalty of 0 or more; got -1"),
    (lambda: models.fit_logistic(X, Y).log_odds(X[:, :2]), r"\(word, feature\) with 5 features; got \(600, 2\)"),
    (lambda: models.folds_by_text(3, 5), "5 folds of 3 texts"),
    (lambda found: found.score("nothing"), "there is no 'nothing' here; there is: position"),
    (lambda data: compare(data.halves()[0], data.halves()[0]), "4 texts are in both halves, for example 't0'"),
    (lambda: random_removal(additive, list(WORTH), n_orders=1), "two random orders"),
    (lambda: random_removal(additive, list(WORTH), steps=0), "one step or more"),
    (lambda: removal_curve(additive, [(0, 0), (0, 0)]), r"got 2 heads \(1 different\)"),
)  # fmt: skip


@pytest.mark.parametrize(
    "call",
    [lambda: rake("salt marsh"), lambda: document_frequencies(["salt marsh", "the sea"])],
)
def test_a_text_is_not_read_by_its_letters(call):
    with pytest.raises(TypeError, match="as its words, in a list; got one string, 'salt marsh'"):
        call()
