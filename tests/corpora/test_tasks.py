"""Tasks: what is refused, what is read, what ships, and what is reached without any model."""

import re
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import scipy.optimize
from made import write_lines

from bertlook_course.analyses.finetuning import baselines, fit_bag_of_words, majority, score, task_scores
from bertlook_course.corpora import SHIPPED, Example, Task, load_task, read_examples, read_glue
from bertlook_course.metrics import metric_value
from bertlook_teach.stats import ratio_interval, resampled_interval

ROOT = Path(__file__).resolve().parents[2]
# A full stop after a title ends no sentence; the rule of tests/corpora/test_texts.py.
SENTENCE_END = re.compile(r'(?<!\bMr\.)(?<!\bMrs\.)(?<=[.?!"]) +(?=["A-Z])')


def examples(*cases, pair=False):
    return tuple(Example(text, "b" if pair else None, label) for text, label in cases)


TRAIN = examples(("a cat", "yes"), ("a dog", "no"), ("the cat", "yes"), ("the dog", "no"))
DEV, TEST = examples(("one cat", "yes")), examples(("one dog", "no"), ("my cat", "yes"))


def toy(**changes):
    return Task(
        **{"name": "toy", "labels": ("no", "yes"), "train": TRAIN, "dev": DEV, "test": TEST, **changes}
    )


# --- a task that exists is sound -----------------------------------------------------------------------


def test_a_task_knows_what_it_is():
    task = toy()
    assert not task.is_regression and not task.is_pair and len(task) == 7
    assert repr(task) == "Task('toy': no / yes, texts, 4 + 1 + 2)"
    numbers = Task(
        "n", (), examples(("a", 0.5)), examples(("b", 1.0)), examples(("c", 2.0)), metric="pearson"
    )
    assert numbers.is_regression


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"test": ()}, "the split test is empty"),
        ({"train": examples(("a", "yes"), ("b", "yes"))}, "every training example is 'yes'. A task needs two classes"),
        ({"labels": ("no", "yes", "so")}, "no training example is 'so'"),
        ({"labels": ("no", "yes", "yes")}, "a class is listed twice"),
        ({"dev": examples(("x", None))}, "example 0 of dev has no label"),
        ({"dev": examples(("x", "-1"))}, "-1 is how data sets mark a hidden one"),
        ({"dev": examples(("x", "maybe"))}, "has the label 'maybe', where one of no, yes is expected"),
        ({"dev": examples(("x", 3.5))}, "A number to predict is a regression"),
        ({"dev": examples(("x", "no"), pair=True)}, "example 0 of dev is a pair, unlike the first one"),
        ({"dev": examples((" ", "no"))}, "a text is empty"),
        ({"test": examples(("THE  cat", "yes"), ("new", "no"))}, "train and test share 1 examples, for instance 'THE  cat'"),
        ({"metric": "spearman"}, "spearman does not fit classes"),
        ({"metric": "f1"}, "one of accuracy, matthews, spearman, pearson; got 'f1'"),
        ({"labels": ()}, "accuracy does not fit a regression"),
    ],
)  # fmt: skip
def test_an_unsound_task_is_refused(changes, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        toy(**changes)


def test_classes_where_numbers_are_expected_are_refused():
    with pytest.raises(ValueError, match="has the label 'yes', where a number is expected"):
        toy(labels=(), metric="spearman")


def test_a_group_in_two_splits_is_refused():
    grouped = tuple(replace(example, group="g") for example in (TRAIN[0], TEST[0]))
    with pytest.raises(ValueError, match="train and test share 1 examples of the same groups"):
        toy(train=(*TRAIN[1:], grouped[0]), test=(grouped[1],))


# --- reading -------------------------------------------------------------------------------------------


TSV = {
    "sst": (("sentence\tlabel", "a fine film \t1"), Example("a fine film", None, "1")),
    "cola": (("gj04\t0\t*\tHim ran.", "gj04\t1\t\tHe ran."), Example("Him ran.", None, "0")),
    "mrpc": (("Quality\t#1 ID\t#2 ID\t#1 String\t#2 String", "1\t7\t8\tIt\'s \"so\tSo it is"), Example('It\'s "so', "So it is", "1")),
    "rte": (("index\tsentence1\tsentence2\tlabel", "0\tA.\tB.\tnot_entailment"), Example("A.", "B.", "not_entailment")),
    "qnli": (("index\tquestion\tsentence\tlabel", "0\tWho?\tHe.\tentailment"), Example("Who?", "He.", "entailment")),
    "qqp": (("id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate", "0\t1\t2\tWho?\tHow?\t0"), Example("Who?", "How?", "0")),
    "sts": (("index\tgenre\tsentence1\tsentence2\tscore", "0\tnews\tA.\tB.\t5.000", "1\tnews\tC.\tD.\t3"), Example("A.", "B.", 5.0)),
}  # fmt: skip


@pytest.mark.parametrize("name", TSV)
@pytest.mark.parametrize("ending", [".tsv", ".tsv.gz"])
def test_every_form_of_tsv_in_glue_is_read(name, ending, tmp_path):
    lines, first = TSV[name]
    found = read_examples(write_lines(tmp_path / f"train{ending}", *lines))
    assert found[0] == first and type(found[0].label) is type(first.label)
    if name == "sts":
        assert found[1].label == 3.0


def test_json_lines_are_read(tmp_path):
    rows = [
        {"idx": 0, "s1": "A.", "s2": "B.", "label": 1},
        {"s1": "C.", "s2": "D.", "label": 0, "group": "g", "kind": "k"},
    ]
    found = read_examples(write_lines(tmp_path / "x.jsonl.gz", *rows))
    assert found == [Example("A.", "B.", "1"), Example("C.", "D.", "0", "g", "k")]
    fractions = [{"s1": "A.", "label": 4.75}, {"s1": "B.", "label": 5}]
    assert [e.label for e in read_examples(write_lines(tmp_path / "y.jsonl", *fractions))] == [
        4.75,
        5.0,
    ]


LABELLED, NUMBER = '{"s1": "a", "label": 1}', '{"s1": "a", "label": 1.5}'


@pytest.mark.parametrize(
    ("name", "lines", "message"),
    [
        ("x.tsv", ["sentence\tlabel", "good\t1", "bad 0"], "line 3: 1 columns, where the first line has 2"),
        ("x.tsv", ["sentence\tlabel", "good\t"], "line 2 has no label"),
        (
            "x.tsv",
            ["sentence1\tsentence2\tgold_label", "a\tb\tneutral", "a\tb\t-"],
            "line 3 has no label (- is how data sets mark a hidden one)",
        ),
        ("x.tsv", ["sentence\tlabel", "good\tyes", "bad\tNA"], "line 3 has no label (NA is how"),
        ("x.tsv", ["sentence\tlabel", "good\thidden"], "line 2 has no label (hidden is how"),
        ("x.jsonl", ['{"s1": "a", "label": "?"}'], "give it a name in letters"),
        (
            "x.jsonl",
            ['{"s1": "a", "label": -1.0}', '{"s1": "b", "label": -1.0}'],
            "line 1 has no label (-1.0 is",
        ),
        ("x.tsv", ["index\tsentence", "0\tgood"], "GLUE's test files have no labels"),
        ("x.tsv", ["words\tlabel", "good\t1"], "expected a header with a text"),
        ("x.tsv", ["sentence\tlabel"], "holds no example"),
        ("x.tsv", [], "holds no example"),
        ("x.jsonl", [LABELLED, '{"s1": "a"}'], "line 2 has no label"),
        ("x.jsonl", ['{"s1": "a", "label": -1}'], "-1 is how data sets mark a hidden one"),
        ("x.jsonl", ['{"text": "a", "label": 1}'], "line 1: expected an object with s1 and label"),
        ("x.jsonl", ["{"], "line 1: expected an object with s1 and label"),
        ("x.jsonl", ['{"s1": "", "label": 1}'], "line 1: a text is empty"),
        ("x.csv", ["a,b"], "ends in .jsonl or .tsv"),
        ("x.jsonl", ['{"s1": "a", "label": true}'], "line 1: a label is a text or a number; got True"),
        ("x.jsonl", [LABELLED, '{"s1": "b", "label": [1]}'], "line 2: a label is a text or a number"),
        ("x.jsonl", [NUMBER, '{"s1": "b", "label": "x"}'], "line 2: the label is 'x', where a number"),
        ("x.jsonl", [NUMBER, '{"s1": "b", "label": NaN}'], "line 2: the label is nan, where a number"),
        (
            "x.tsv",
            ["sentence\tlabel", "a\t0.5", "", "b\t1_0.5"],
            "line 4: the label is '1_0.5', where a number",
        ),
        ("x.tsv", ["sentence\tlabel", "a\t0.5", "b\t٣"], "line 3: the label is '٣', where a number"),
        ("x.jsonl", [LABELLED, '{"s1": "a", "s2": "b", "label": 0}'], "line 2: the example is a pair"),
        ("x.tsv", ["sentence\tlabel\tsentence", "a\t1\tb"], "line 1: 2 columns are called sentence"),
    ],
)
def test_a_broken_file_is_named_with_its_line(name, lines, message, tmp_path):
    with pytest.raises(ValueError, match=re.escape(message)):
        read_examples(write_lines(tmp_path / name, *lines))


@pytest.mark.parametrize(
    ("given", "read"),
    [(("+", "-", "+"), ["+", "-", "+"]), (("0.5", "-1", "1"), [0.5, -1.0, 1.0]), (("none", "favor"), ["none", "favor"])],
)  # fmt: skip
def test_a_sign_that_is_a_class_or_a_number_among_the_others_is_no_mark(tmp_path, given, read):
    path = write_lines(
        tmp_path / "x.tsv", "sentence\tlabel", *(f"t{i}\t{label}" for i, label in enumerate(given))
    )
    assert [example.label for example in read_examples(path)] == read


@pytest.fixture
def glue(tmp_path):
    def lines(names):
        return [{"s1": name, "label": i % 2} for i, name in enumerate(names)]

    letters = "abcdefghijklmnopqrst"
    return (
        write_lines(tmp_path / "cola-train.jsonl", *lines(letters)),
        write_lines(tmp_path / "cola-dev.jsonl", *lines(["u", "v", "a"])),
        write_lines(tmp_path / "cola-test.jsonl", *lines(["w", "x"])),
    )


def test_without_a_test_file_dev_is_reported_on_and_a_tenth_of_train_chosen_on(glue):
    task = read_glue(*glue[:2], overlap="drop")
    assert (task.name, task.metric, task.labels) == ("cola", "matthews", ("0", "1"))
    assert (len(task.train), len(task.dev)) in (
        (17, 2),
        (18, 1),
    )  # one of the twenty is dropped, wherever it fell
    assert {e.text for e in task.test} == {"u", "v", "a"}
    assert (
        "dev is 2 examples of cola-train.jsonl" in task.description
        and "1 examples dropped" in task.description
    )
    assert read_glue(*glue[:2], overlap="drop") == task


def test_an_overlap_is_refused_unless_it_is_to_be_dropped(glue):
    with pytest.raises(ValueError, match="train and dev share 1 examples, for instance 'a'"):
        read_glue(*glue)
    assert len(read_glue(*glue, overlap="drop").train) == 19
    with pytest.raises(ValueError, match="overlap must be one of refuse, drop"):
        read_glue(*glue, overlap="keep")


def test_a_limit_draws_the_same_examples_every_time(glue):
    task = read_glue(*glue, overlap="drop", limit=8)
    assert len(task.train) == 8 and "trained on 8 examples" in task.description
    assert read_glue(*glue, overlap="drop", limit=8).train == task.train
    with pytest.raises(ValueError, match="1 or more; got 0"):
        read_glue(*glue, overlap="drop", limit=0)


def test_files_that_disagree_on_classes_or_numbers_are_refused(glue, tmp_path):
    dev = write_lines(tmp_path / "numbers.jsonl", '{"s1": "z", "label": 2.5}')
    with pytest.raises(ValueError, match="train classes, dev numbers"):
        read_glue(glue[0], dev)


def test_an_unknown_task_says_which_there_are(tmp_path):
    with pytest.raises(FileNotFoundError, match="Use same-topic, agreement, sentiment, a folder"):
        load_task("nothing")
    (tmp_path / "task.json").write_text("[]")
    with pytest.raises(ValueError, match="expected an object with name, labels, metric, description"):
        load_task(tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": None}, "labels is a list of the names of classes"),
        ({"labels": "np"}, "labels is a list of the names of classes"),
        ({"labels": [1, 2]}, "labels is a list of the names of classes"),
        ({"labels": {"no": 1, "yes": 2}}, "labels is a list of the names of classes"),
        ({"name": None}, "name is a text; got None"),
        ({"name": " "}, "name is a text; got ' '"),
        ({"metric": ["accuracy"]}, "metric is a text"),
        ({"description": 5}, "description is a text; got 5"),
    ],
)
def test_a_task_described_by_other_values_is_refused(changes, message, tmp_path):
    about = {"name": "toy", "labels": ["no", "yes"], "metric": "accuracy", "description": ""}
    write_lines(tmp_path / "task.json", {**about, **changes})
    with pytest.raises(ValueError, match=re.escape(message)):
        load_task(tmp_path)


def test_a_task_that_is_no_name_or_no_text_says_so(tmp_path):
    with pytest.raises(TypeError, match="a task is a name or a folder; got NoneType"):
        load_task(None)
    (tmp_path / "task.json").write_bytes(b'{"name": "\xff"}')
    with pytest.raises(ValueError, match="Save it as UTF-8"):
        load_task(tmp_path)


# --- scores --------------------------------------------------------------------------------------------


def test_matthews_by_hand():
    predicted, gold = list("yyyynnnnnn"), list("yyynynnnnn")
    tp, tn, fp, fn = 3, 5, 1, 1
    expected = (tp * tn - fp * fn) / np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    assert metric_value("matthews", predicted, gold) == pytest.approx(expected)
    assert metric_value("matthews", list("abc"), list("abc")) == pytest.approx(1)
    assert metric_value("matthews", list("yy"), list("yn")) == 0  # constant


def test_correlations_against_scipy():
    from scipy.stats import pearsonr, spearmanr

    x, y = np.random.default_rng(0).normal(size=(2, 50))
    x[:10] = 1  # ties
    assert metric_value("pearson", x, y) == pytest.approx(pearsonr(x, y).statistic)
    assert metric_value("spearman", x, y) == pytest.approx(spearmanr(x, y).statistic)


def test_a_score_has_its_metric_n_and_interval():
    result = score(["yes", "yes"], TEST)
    assert (result.metric, result.value, result.n) == ("accuracy", 0.5, 2)
    assert 0 <= result.low <= 0.5 <= result.high <= 1
    assert repr(result).startswith("accuracy 0.500 [")
    with pytest.raises(ValueError, match="got 1 for 2 examples"):
        score(["yes"], TEST)


def test_the_interval_draws_groups():
    """Of each pair one is always right: drawn as pairs, there is nothing to vary."""
    pairs = [Example(f"{i} {word}", None, word, group=str(i)) for i in range(30) for word in ("yes", "no")]
    assert (score(["yes"] * 60, pairs).low, score(["yes"] * 60, pairs).high) == (0.5, 0.5)
    alone = [replace(example, group="") for example in pairs]
    assert score(["yes"] * 60, alone).low < 0.45


def test_two_ways_to_an_interval_agree():
    right = np.random.default_rng(1).random(300) < 0.7
    one = ratio_interval(np.stack([right, np.ones(300)], axis=1))
    other = resampled_interval(lambda chosen: right[chosen].mean(), np.arange(300))
    assert one == pytest.approx(other, abs=0.015)


def test_majority_and_bag_of_words_on_a_toy():
    task = toy(train=(*TRAIN, *examples(("cat cat", "yes"))))
    assert majority(task)(TEST) == ["yes", "yes"]
    assert fit_bag_of_words(task, l2=1e-3).predict(TEST) == ["no", "yes"]
    both = baselines(task)
    assert (both["majority"].value, both["bag of words"].value) == (0.5, 1.0)


def test_the_bag_of_words_is_at_its_optimum():
    """An independent check of the gradient: no small step makes the penalised loss smaller."""
    task = load_task("sentiment")
    small = replace(task, train=task.train[:120])
    model = fit_bag_of_words(small, l2=1e-2)
    found = model.regression.coef_[0]
    x = model.words.transform(map(task_scores._bag, small.train))
    sign = np.array(
        [1.0 if example.label == model.regression.classes_[1] else -1.0 for example in small.train]
    )

    def loss(weights):  # two classes with w/2 and -w/2, each penalised by 1e-2
        return np.logaddexp(0, -sign * (x @ weights)).mean() + 2 * 0.5e-2 * ((weights / 2) ** 2).sum()

    rng, best = np.random.default_rng(0), loss(found)
    assert all(loss(found + 0.01 * rng.normal(size=found.shape)) > best for _ in range(20))
    assert np.abs(scipy.optimize.approx_fprime(found, loss, 1e-6)).max() < 1e-5
    assert "" in model.words.vocabulary_  # the bias


def test_a_bag_of_words_for_numbers_and_pairs():
    def case(n, i):
        return Example("cat " * n + f"w{i}", "dog", float(n > 0))

    train = [case(i % 2, i) for i in range(20)]
    task = Task(
        "n", (), train, [case(1, 98), case(0, 97)], [case(1, 99), case(0, 96), case(1, 95)], metric="pearson"
    )
    assert baselines(task)["bag of words"].value > 0.99
    assert baselines(task)["majority"].value == 0


# --- what ships ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shipped():
    return {name: load_task(name) for name in SHIPPED}


@pytest.mark.parametrize("name", SHIPPED)
def test_a_task_is_large_balanced_and_without_repetition(name, shipped):
    task = shipped[name]
    assert task.name == name
    everything = [*task.train, *task.dev, *task.test]
    assert len({(e.text.lower(), e.text_pair) for e in everything}) == len(everything) >= 1000
    assert len(task.test) >= 300 and len(task.dev) >= 150 and len(task.train) >= 700
    for split in (task.train, task.dev, task.test):
        counts = Counter(e.label for e in split)
        assert len(counts) == 2 and max(counts.values()) == min(counts.values())


@pytest.mark.parametrize("name", SHIPPED)
def test_the_specimen_reads_every_example_whole(name, shipped):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(ROOT / "data" / "model", local_files_only=True)
    task = shipped[name]
    for split in (task.train, task.dev, task.test):
        texts = [[e.text for e in split]] + ([[e.text_pair for e in split]] if task.is_pair else [])
        encoded = tokenizer(*texts)["input_ids"]
        assert max(map(len, encoded)) <= 128
        assert not any(tokenizer.unk_token_id in ids for ids in encoded)


def test_same_topic_shares_no_sentence_between_splits(shipped):
    task = shipped["same-topic"]
    texts = {
        split: {t for e in getattr(task, split) for t in (e.text, e.text_pair)}
        for split in ("train", "dev", "test")
    }
    for text in texts["test"] | texts["dev"]:
        for sentence in SENTENCE_END.split(text):
            assert not any(sentence in other for other in texts["train"]), sentence


def test_same_topic_cannot_be_told_from_one_side(shipped):
    """Each first text, and each second, is as often right as wrong."""
    for split in ("train", "dev", "test"):
        for side in ("text", "text_pair"):
            count = defaultdict(Counter)
            for example in getattr(shipped["same-topic"], split):
                count[getattr(example, side)][example.label] += 1
            assert all(c["same text"] == c["different texts"] for c in count.values())


def bag(example):
    return tuple(sorted(re.findall(r"\w+", example.text.lower())))


@pytest.mark.parametrize(("name", "part"), [("agreement", "other number"), ("sentiment", "contrast")])
def test_the_same_words_have_both_answers(name, part, shipped):
    task = shipped[name]
    for split in (task.train, task.dev, task.test):
        answers = defaultdict(Counter)
        for example in split:
            if example.kind.startswith(part):
                answers[bag(example)][example.label] += 1
        assert answers and all(len(c) == 2 and len(set(c.values())) == 1 for c in answers.values())


def test_no_word_speaks_for_an_answer_in_agreement(shipped):
    for split in (shipped["agreement"].train, shipped["agreement"].test):
        count = Counter()
        for example in split:
            for word in bag(example):
                count[word] += 1 if example.label == "acceptable" else -1
        assert set(count.values()) == {0}


def test_nouns_and_full_verbs_of_agreement_are_unseen(shipped):
    """They are what differs in number among the four sentences of a frame, but for the little verbs."""
    little = set("is are was were has have does do".split())
    seen, inflected = {}, {}
    for split in ("train", "dev", "test"):
        frames = defaultdict(list)
        for example in getattr(shipped["agreement"], split):
            frames[example.group].append(set(bag(example)))
        seen[split] = set().union(*(words for frame in frames.values() for words in frame))
        differing = (set.union(*frame) - set.intersection(*frame) for frame in frames.values())
        inflected[split] = set().union(*differing) - little
        assert len(inflected[split]) > 20
    for one, other in permutations(inflected, 2):
        assert not inflected[one] & seen[other]


def test_half_of_agreement_has_an_attractor(shipped):
    kinds = Counter(e.kind.split(":")[0] for e in shipped["agreement"].test)
    assert kinds["other number"] * 2 == len(shipped["agreement"].test)


# --- the README ----------------------------------------------------------------------------------------


def test_the_readme_gives_the_baselines_as_they_are(shipped):
    text = (ROOT / "data" / "tasks" / "README.md").read_text(encoding="utf-8")
    for name, task in shipped.items():
        results = baselines(task)
        cells = [f"{r.value:.3f} [{r.low:.3f}, {r.high:.3f}]" for r in results.values()]
        sizes = [str(len(split)) for split in (task.train, task.dev, task.test)]
        assert f"| `{name}` | {' | '.join(sizes + cells)} |" in text


def test_quotes_that_pandas_puts_around_a_text_are_no_part_of_it(tmp_path):
    pandas = pytest.importorskip("pandas")
    texts = ['He said "hi" to me.', "plain", '"Yes."', '"No," he said, "never."', 'it is 5" long']
    path = tmp_path / "task.tsv"
    pandas.DataFrame({"sentence": texts, "label": ["a", "b", "a", "b", "a"]}).to_csv(
        path, sep="\t", index=False
    )
    assert [example.text for example in read_examples(path)] == texts
    raw = tmp_path / "glue.tsv"  # GLUE writes quotes as they are
    raw.write_text("sentence\tlabel\n" + "".join(f"{text}\ta\n" for text in texts), encoding="utf-8")
    assert [example.text for example in read_examples(raw)] == texts
