"""What each layer knows: the numbers on paper, the probe against torch, roles, controls, and what is refused."""

import gzip
import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from made import refusals, tree
from tiny import FAMILIES, LAYERS, WIDTH

from bertlook_course.analyses.probing import (
    SpanVectors,
    centre_of_gravity,
    delta_bits,
    expected_layer,
    four_fifths,
    hidden_states,
    layer_baselines,
    mixing_bits,
    read_states,
    scalar_mix,
    sentence_beliefs,
    span_vectors,
)
from bertlook_course.analyses.probing import layer_fits as fits
from bertlook_course.analyses.probing import layer_probes as layers
from bertlook_course.corpora import (
    EdgeSentence,
    EdgeTarget,
    coreference_documents,
    halves_by_document,
    load_treebank,
    read_edges,
    treebank_edges,
)
from bertlook_course.corpora import spans as edge_tasks
from bertlook_course.published import DEPTHS, PROBING_TASKS, published_probing
from bertlook_teach.model import random_twin

# --- "where", on paper ---------------------------------------------------------------------------------


def test_centre_of_gravity_on_paper():
    assert centre_of_gravity([1, 0, 0]) == 0 and centre_of_gravity([0, 0, 1]) == 2
    assert centre_of_gravity([0.25, 0.25, 0.5]) == 1.25
    assert centre_of_gravity(np.full(13, 1 / 13)) == pytest.approx(6)  # flat looks like the middle ...
    assert mixing_bits(np.full(13, 1 / 13)) == pytest.approx(0)  # ... and K(s) says so


def test_mixing_bits_on_paper_are_bits_and_not_nats():
    assert mixing_bits([0, 1, 0, 0]) == 2  # one layer of four
    assert mixing_bits([0.5, 0.5, 0, 0]) == pytest.approx(1)
    p = np.array([0.7, 0.2, 0.1])
    assert mixing_bits(p) == pytest.approx((p * np.log(p * 3)).sum() / np.log(2))


def test_expected_layer_on_paper():
    assert expected_layer([0.5, 0.9]) == pytest.approx(1)  # one layer: where else
    assert expected_layer([0.5, 0.6, 0.7, 0.8]) == pytest.approx(2)  # equal gains: (1 + 2 + 3) / 3
    assert expected_layer([0.1, 0.1, 0.1, 0.7]) == pytest.approx(3)
    curves = np.array([[0.5, 0.6, 0.7, 0.8], [0.5, 0.9, 0.9, 0.9]])
    assert expected_layer(curves) == pytest.approx([2, 1])


def test_losses_are_kept_so_the_expected_layer_may_leave_the_model():
    # gains +.4, -.2: (.4 * 1 - .2 * 2) / .2 = 0
    assert expected_layer([0.4, 0.8, 0.6]) == pytest.approx(0)
    assert expected_layer([0.4, 0.2, 0.5]) == pytest.approx((-0.2 + 0.6) / 0.1)  # 4, in a model of 2 layers


def test_delta_bits_clip_losses():
    assert delta_bits([0.5, 0.6, 0.6, 0.6, 0.6]) == 2  # one of four layers gives all
    assert delta_bits([0.5, 0.6, 0.7, 0.8]) == pytest.approx(0)
    assert delta_bits([0.5, 0.7, 0.6, 0.6, 0.8]) == pytest.approx(1)  # +.2, a loss, 0, +.2: two of four


def test_the_scalar_mix_on_paper_and_in_torch():
    import torch

    hidden = np.arange(12.0).reshape(3, 2, 2)
    assert scalar_mix(hidden, [0, 0, 0]) == pytest.approx(hidden.mean(axis=0))
    scores = np.array([0.3, -1.0, 2.0])
    weights = torch.softmax(torch.tensor(scores), 0)
    other = (weights[:, None, None] * torch.tensor(hidden)).sum(0)
    assert scalar_mix(hidden, scores) == pytest.approx(other.numpy())


# --- published, a second way -----------------------------------------------------------------------------


@pytest.mark.parametrize("task", PROBING_TASKS)
def test_the_released_curves_give_base_values_to_the_printed_digits(task):
    row = published_probing("BERT-base")[task]
    assert round(expected_layer(row.f1), 2) == row.expected
    assert delta_bits(row.f1) == pytest.approx(row.delta_bits, abs=0.011)


@pytest.mark.parametrize("task", PROBING_TASKS)
def test_the_released_data_give_the_printed_values_of_large(task):
    row = published_probing("BERT-large")[task]
    assert expected_layer(row.f1) == pytest.approx(row.expected, abs=0.015)
    weights = row.weights / row.weights.sum()  # released with four digits
    assert centre_of_gravity(weights) == pytest.approx(row.centre, abs=0.015)
    assert mixing_bits(weights) == pytest.approx(row.mixing_bits, abs=0.006)
    assert delta_bits(row.f1) == pytest.approx(row.delta_bits, abs=0.015)


def test_base_and_large_are_kept_apart():
    base, large = map(published_probing, ("BERT-base", "BERT-large"))
    assert {r.model for r in base.values()} == {"BERT-base"} and {len(r.f1) for r in base.values()} == {13}
    assert {r.model for r in large.values()} == {"BERT-large"} and {len(r.f1) for r in large.values()} == {25}
    assert all(r.weights is None for r in base.values())  # only later reruns were released
    assert (base["POS"].expected, large["POS"].expected) == (1.76, 3.39)
    assert base["Coreference"].centre == 7.96  # not the rerun's 7.77
    assert np.isnan(base["Relations"].centre)  # 6.60 comes only from a rerun
    assert DEPTHS == {"BERT-base": 12, "BERT-large": 24}


# --- questions -----------------------------------------------------------------------------------------


def sentence(words, governors, relations, upos, entity="", name="d1-1"):
    entities = entity.split() or ["-"] * len(governors)
    misc = tuple({"Entity": e} if e != "-" else {} for e in entities)
    return tree(words, governors, relations, upos, misc=misc, text=words, sent_id=name, doc_id="d1")


DOG = sentence(
    "the dog saw it", (1, 2, -1, 2), "det nsubj root obj", "DET NOUN VERB PRON", "(e1-animal-2 e1) - (e2-object-1)"
)  # fmt: skip
CAT = sentence("it sat", (1, -1), "nsubj root", "PRON VERB", "(e1-animal-1) -", "d1-2")
BARE = sentence("it sat", (1, -1), "nsubj root", "PRON VERB")


def test_each_task_asks_what_the_treebank_says():
    assert treebank_edges([DOG], "pos")[0].targets[1] == EdgeTarget((1, 2), None, "NOUN")
    assert treebank_edges([DOG], "dep")[0].targets == (
        EdgeTarget((0, 1), (1, 2), "det"), EdgeTarget((1, 2), (2, 3), "nsubj"), EdgeTarget((3, 4), (2, 3), "obj"),
    )  # fmt: skip
    assert sorted(treebank_edges([DOG], "entity")[0].targets) == [
        EdgeTarget((0, 2), None, "animal"), EdgeTarget((3, 4), None, "object"),
    ]  # fmt: skip
    [window] = treebank_edges([DOG, CAT], "coref")
    assert window.words == (*DOG.words, *CAT.words)
    assert EdgeTarget((0, 2), (4, 5), "same") in window.targets
    assert {t.label for t in window.targets} == {"same", "different"}
    assert sum(t.label == "different" for t in window.targets) <= 2


def test_the_treebank_of_the_course_answers_all_four_tasks():
    treebank = load_treebank()[:60]
    for task in edge_tasks.TASKS:
        found = treebank_edges(treebank, task)
        assert found and all(0 <= t.span1[0] < t.span1[1] <= len(s.words) for s in found for t in s.targets)
    pairs = treebank_edges(treebank, "coref")
    labels = [t.label for s in pairs for t in s.targets]
    assert labels.count("different") <= 2 * labels.count("same")
    assert not any(
        t.span1[0] < t.span2[1] and t.span2[0] < t.span1[1]
        for s in pairs
        for t in s.targets
        if t.label == "different"
    )
    assert treebank_edges(treebank, "coref") == pairs  # the same lot every time
    assert coreference_documents(treebank)[0].doc_id == pairs[0].doc_id


def write(path, *items):
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wt", encoding="utf-8") as file:
        file.write("\n".join(item if isinstance(item, str) else json.dumps(item) for item in items))
    return path


PAIR = {
    "id": "book-a-1",
    "tokens": ["she", "met", "Ann"],
    "targets": [{"span1": [0, 1], "span2": [2, 3], "label": 0}],
}
SINGLE = {"id": "n-1", "tokens": ["a", "b"], "targets": [{"span1": [0, 2], "label": "person"}, {"span1": [1, 2], "label": "1"}]}  # fmt: skip


def test_json_lines_are_read(tmp_path):
    [found] = read_edges(write(tmp_path / "coref.jsonl.gz", PAIR))
    assert found == EdgeSentence(
        ("she", "met", "Ann"), (EdgeTarget((0, 1), (2, 3), "different"),), "book-a", "book-a-1"
    )
    found = read_edges(write(tmp_path / "e.jsonl", SINGLE, "", {**SINGLE, "targets": []}, SINGLE))
    assert len(found) == 2 and [t.label for t in found[0].targets] == ["person", "1"]
    assert len(read_edges(tmp_path / "e.jsonl", limit=1)) == 1


@pytest.mark.parametrize(
    "item, message",
    [
        ("{", "line 1: expected an object with id, tokens and targets"),
        ({"tokens": ["a"]}, "expected an object with id, tokens and targets; KeyError: 'targets'"),
        ({**SINGLE, "targets": [{"span1": [1, 3], "label": "x"}]}, r"span \[1, 3\] is not \[start, end\) within 0 to 2"),
        ({**SINGLE, "targets": [{"span1": [1, 1], "label": "x"}]}, "is not"),
        ({**SINGLE, "targets": [{"span1": [0, 1]}]}, "a target needs span1 and label"),
        ({**SINGLE, "targets": [{"span1": [0, 1], "label": None}]}, "a target needs span1 and label"),
        ({**SINGLE, "targets": [{"span1": [0, 1], "label": 3}]}, "1 and 0 for the same thing and not; got 3"),
        ({**SINGLE, "targets": []}, "asks nothing"),
    ],
)  # fmt: skip
def test_broken_lines_say_where_and_why(tmp_path, item, message):
    with pytest.raises(ValueError, match=message):
        read_edges(write(tmp_path / "x.jsonl", item))


# --- vectors -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_hidden_states_hold_the_embeddings_and_every_layer(family, encoders):
    encoder = encoders[family]
    texts = [["the", "cat", "sat"], ["a", "dog"]]
    together = list(hidden_states(encoder, texts))
    assert [states.shape for states in together] == [(LAYERS + 1, 3, WIDTH), (LAYERS + 1, 2, WIDTH)]
    for text, states in zip(texts, together):  # padding leaves no trace
        [alone] = hidden_states(encoder, [text])
        assert states == pytest.approx(alone, abs=1e-5)


def test_a_word_is_the_mean_of_its_pieces_and_layer_0_the_embedding_output(tiny):
    import torch

    ids = tiny.tokenizer("unreally sat", return_tensors="pt")["input_ids"]
    with torch.no_grad():
        out = tiny.model(input_ids=ids, output_hidden_states=True).hidden_states
    [states] = hidden_states(tiny, [["unreally", "sat"]])
    n = ids.shape[1] - 3  # without [CLS], "sat" and [SEP]
    assert n > 1
    for layer in range(LAYERS + 1):
        assert states[layer, 0] == pytest.approx(out[layer][0, 1 : 1 + n].mean(0).numpy(), abs=1e-5)
    embedded = tiny.model.embeddings(input_ids=ids)[0].detach().numpy()
    assert states[0, 1] == pytest.approx(embedded[1 + n], abs=1e-5)


LONG = EdgeSentence(("cat",) * 40, (EdgeTarget((0, 1), None, "A"),), "d2", "long")
SHORT = EdgeSentence(
    ("the", "cat", "sat"), (EdgeTarget((0, 2), None, "B"), EdgeTarget((2, 3), None, "A")), "d1", "s"
)


def test_a_span_is_the_mean_of_its_words_and_what_cannot_be_read_is_counted(tiny):
    states = read_states(tiny, [LONG.words, SHORT.words, SHORT.words])
    assert list(states) == [SHORT.words]
    data = span_vectors(states, [LONG, SHORT], "entity")
    assert data.n_skipped == 1 and data.places == ((1, 0), (1, 1)) and data.forms == ("the cat", "sat")
    assert data.vectors[:, 0] == pytest.approx(states[SHORT.words][:, :2].mean(axis=1))


# --- the probe -----------------------------------------------------------------------------------------


def made(task="pos", n=160, depth=3, dim=4, informative=2, seed=0, doc="a", noise=0.3):
    """Cases whose label is written into one layer, the others noise."""
    rng = np.random.default_rng(seed)
    spans = edge_tasks.TASKS[task][0]
    vectors = rng.normal(size=(depth + 1, n, spans * dim)).astype(np.float32)
    gold = rng.integers(0, 2, n)
    vectors[informative, :, 0] = (2 * gold - 1) * 2 + noise * rng.normal(size=n)
    names = ("A", "B") if task != "coref" else ("different", "same")
    return SpanVectors(
        task, vectors, spans, tuple(names[g] for g in gold), tuple(f"w{i % 40}" for i in range(n)),
        tuple(f"{doc}{i // 10}" for i in range(n)), tuple((i, 0) for i in range(n)), edge_tasks.TASKS[task][1],
    )  # fmt: skip


@pytest.mark.parametrize("task, hidden", [("pos", 0), ("dep", 0), ("coref", 0), ("pos", 5), ("dep", 5)])
def test_the_gradient_is_torchs(task, hidden):
    """A second way: the same loss written in torch, differentiated by torch."""
    import torch

    data = made(task, n=30)
    _, gold = fits._classes(data)
    problem = fits._Problem(data.vectors.astype(float), gold, data.n_spans, hidden, 1)
    theta = problem.start + 0.3 * np.random.default_rng(2).normal(size=len(problem.start))
    value, gradient = problem.objective(theta, 0.05, 0.2)
    t = torch.tensor(theta, requires_grad=True)
    sizes = [problem.n_scores, *(int(np.prod(shape)) for shape in problem.shapes.values())]
    scores, *parts = torch.split(t, sizes)
    maps = {name: p.reshape(shape) for (name, shape), p in zip(problem.shapes.items(), parts)}
    shares = torch.softmax(scores, 0)
    mixed = torch.tensordot(shares, torch.tensor(data.vectors.astype(float)), dims=1)
    if data.n_spans == 2:
        first, second = mixed.chunk(2, dim=-1)
        mixed = torch.cat([first, second, first * second], dim=-1)
    inner = torch.tanh(mixed @ maps["in"] + maps["in_bias"]) if hidden else mixed
    loss = torch.nn.functional.cross_entropy(inner @ maps["out"] + maps["bias"], torch.tensor(gold))
    loss = loss + 0.05 / 2 * sum((m**2).sum() for name, m in maps.items() if "bias" not in name)
    loss = loss + 0.2 * (shares**2).sum()
    loss.backward()
    assert value == pytest.approx(loss.item(), rel=1e-9)
    assert gradient == pytest.approx(t.grad.numpy(), abs=1e-9)
    single, rough = problem.objective(theta, 0.05, 0.2, np.float32)
    assert single == pytest.approx(value, rel=1e-5) and rough == pytest.approx(gradient, abs=1e-5)


def scikit(probe, train, test):
    """A second way: scikit-learn's logistic regression on the same vectors, as bool answers (case, label)."""
    from sklearn.linear_model import LogisticRegression

    layer = int(probe.weights.argmax())

    def features(data):
        x = (data.vectors[layer] - probe.mean) / probe.spread
        if data.n_spans == 1:
            return x
        first, second = np.split(x, 2, axis=1)
        return np.concatenate([x, first * second], axis=1)

    # Two classes: scikit-learn has one map for both, and so half of the penalty.
    halved = 2 if len(set(train.labels)) == 2 else 1
    c = halved / (len(train) * probe.l2)
    model = LogisticRegression(C=c, tol=1e-8, max_iter=20_000).fit(features(train), train.labels)
    return np.array(model.predict(features(test))[:, None] == np.array(probe.labels))


@pytest.fixture(scope="module")
def course(specimen):
    """A few sentences of the course's treebank, as vectors of the specimen."""
    treebank = load_treebank()[:60]
    found = {}
    for task in ("pos", "dep", "coref"):
        questions = treebank_edges(treebank, task)
        states = read_states(specimen, (s.words for s in questions))
        halves = halves_by_document(questions)
        found[task] = tuple(span_vectors(states, half, task) for half in halves)
    return found


@pytest.mark.parametrize("task", ["pos", "dep", "coref"])
def test_every_layer_scores_as_scikit_learns_logistic_regression_does(course, task):
    train, test = course[task]
    scores = layers.layer_scores(train, test, l2=0.03)
    assert scores.converged.all() and scores.n_layers == 6
    for f1, probe in zip(scores.f1, scores.probes):
        other = layers.count_answers(scikit(probe, train, test), probe.labels, test)
        assert f1 == pytest.approx(other.f1, abs=0.01)


def fit_one(data, layer, *, l2, **options):
    """A probe that reads one layer alone."""
    [probe] = fits.fit_path(data, layer, [l2], **options)
    return probe


@pytest.mark.parametrize("task", ["pos", "dep", "coref"])
@pytest.mark.parametrize("l2", [0.1, 0.01])
def test_a_fit_ends_at_the_optimum(course, task, l2):
    """Whatever the stopping rule says: a fit ten times as strict finds nothing better that matters."""
    train, _ = course[task]
    probe = fit_one(train, 1, l2=l2)
    assert probe.converged and probe.gradient <= fits.TOLERANCE and probe.iterations < 200
    [*_, strict] = strictly(train, 1, l2)
    assert 0 <= probe.loss - strict.loss < 2e-3 * strict.loss


def strictly(train, layer, l2):
    tolerance = fits.TOLERANCE
    try:
        fits.TOLERANCE = tolerance / 10
        return list(fits.fit_path(train, layer, [l2]))
    finally:
        fits.TOLERANCE = tolerance


@pytest.mark.parametrize("even", [0.0, 0.1])
@pytest.mark.parametrize("task", ["pos", "coref"])
def test_a_probe_is_never_worse_than_the_one_it_contains(course, task, even):
    """In penalised training loss. This failed while the fits stopped after 40 steps, and nobody looked."""
    probes = layers.fit_mixes(course[task][0], l2=0.1, even=even)
    losses = [probe.loss for probe in probes]
    assert all(probe.converged for probe in probes)
    assert (np.diff(losses) <= 0).all(), losses
    assert [len(probe.weights) for probe in probes] == list(range(1, 8))


def test_where_single_precision_stalls_the_fit_goes_on_in_double(monkeypatch):
    data, problem = made(seed=1), fits._Problem
    plain, used = problem.objective, []

    def noisy(self, theta, l2, even=0.0, precision=float):
        used.append(precision)
        loss, gradient = plain(self, theta, l2, even, precision)
        noise = np.random.default_rng(len(used)).normal(size=gradient.shape)
        return loss, gradient + 0.05 * noise * (precision == np.float32)

    monkeypatch.setattr(problem, "objective", noisy)
    probe = fit_one(data, 2, l2=0.01)
    assert probe.converged and {np.float32, float} <= set(used)


def test_a_fit_that_stops_early_says_so_and_what_to_do():
    train, test = made(seed=1, noise=2.5), made(seed=2, doc="b", noise=2.5)
    probe = fit_one(train, 2, l2=0.001, max_iterations=1)
    assert not probe.converged and probe.iterations == 1 and probe.gradient > fits.TOLERANCE
    for scores in (
        layers.layer_scores(train, test, l2=0.001, max_iterations=1),
        layers.cumulative_probes(train, test, l2=0.001, even=0.0, max_iterations=1),
    ):
        assert not scores.converged.all()
        [said] = [line for line in scores.warnings() if "NOT FINISHED" in line]
        assert "stopped after 1 iterations" in said and said.endswith(
            "raise max_iterations (--max-iterations)."
        )
    finished = layers.layer_scores(train, test)
    assert finished.converged.all() and not [line for line in finished.warnings() if "NOT" in line]


@pytest.mark.parametrize("hidden", [0, 8])
def test_the_probe_finds_the_layer_in_which_the_label_is_written(hidden):
    train, test = made(seed=1), made(seed=2, doc="b")
    probe = fits.fit_mix_probe(train, hidden=hidden, l2=0.01)
    assert probe.weights.argmax() == 2 and centre_of_gravity(probe.weights) == pytest.approx(2, abs=0.6)
    scores = layers.layer_scores(train, test, hidden=hidden)
    assert scores.f1[1] < 0.75 and scores.f1[2] > 0.95 and scores.best.tolist()[2:] == [2, 2]
    assert scores.l2.shape == (4,) and set(scores.l2) <= set(fits.PENALTIES)
    mixes = layers.cumulative_probes(train, test, hidden=hidden, l2=0.01, even=0.0)
    for curve in (scores.so_far, mixes):
        assert curve.sure and curve.expected_layer == pytest.approx(2, abs=0.15)
        low, high = curve.interval()
        assert low <= curve.expected_layer <= high
        assert curve.counts.shape == (4, 16, 3) and curve.n_test == 160
    assert scores.so_far.delta_bits > 1  # of log2(3)


def test_the_best_layer_is_chosen_on_training_documents_and_not_on_those_that_are_scored():
    """The label is written into layer 1 of the training documents, into layer 2 of the scored ones."""
    train, test = made(seed=1, informative=1), made(seed=2, doc="b", informative=2)
    scores = layers.layer_scores(train, test)
    assert scores.best.tolist() == [0, 1, 1, 1] and scores.validation[1] > 0.95
    assert scores.so_far.f1[-1] == scores.f1[1] < 0.75
    # ... and not by training loss: noise of many dimensions is learnt by heart, and is no knowledge.
    wide = np.random.default_rng(5).normal(size=(4, 160, 300)).astype(np.float32)
    wide[1:, :, 1:] = 0
    wide[1, :, 0] = train.vectors[1, :, 0]
    learnt = replace(train, vectors=wide)
    probes = [fit_one(learnt, layer, l2=0.01) for layer in (0, 1)]
    assert probes[0].loss < probes[1].loss
    assert layers.layer_scores(learnt, replace(test, vectors=wide)).best[-1] == 1


def test_how_sure_the_choice_of_the_best_layer_is():
    """On the training documents layer 1 is a little ahead of layer 3, or far."""

    def counted(*right):
        return np.stack([np.array(right), 50 - np.array(right), 50 - np.array(right)], axis=-1)

    def scores(validation):
        best = layers.best_so_far(layers._f1(validation))
        curve = ("pos", ("A", "B"), validation, tuple("abcdef"), 50, 300)
        ended = (np.ones(4, bool), np.zeros(4), np.ones(4, int))
        return layers.LayerScores(*curve, best, validation, np.zeros(4), np.zeros((4, 0, 2)), *ended)

    noise, level = np.array([5, -5, 4, -4, 5, -5]), np.full(6, 20)
    close = scores(counted(level, level + 20 + (noise == 5), level, level + 20 + noise))
    clear = scores(counted(level, level + 20, level, level + 5))
    assert close.best[-1] == clear.best[-1] == 1
    assert clear.share_of_choice() == 1 and 0.4 < close.share_of_choice() < 0.8
    assert np.isnan(scores(counted(level, level + 1, level, level)[:, :0]).share_of_choice())


def test_no_depth_is_named_for_a_gain_that_is_not_sure():
    train, test = made(seed=1), made(seed=2, doc="b")
    nothing = [
        replace(d, vectors=d.vectors[[0, 1, 3, 0]]) for d in (train, test)
    ]  # without the layer that knows
    scores, mixes = layers.layer_scores(*nothing), layers.cumulative_probes(*nothing, l2=0.1, even=0.1)
    for curve in (scores.so_far, mixes):
        assert not curve.sure and np.isnan(curve.expected_layer) and np.isnan(curve.delta_bits)
    assert np.isnan(mixes.centre_of_gravity)
    sure = layers.cumulative_probes(train, test, l2=0.01, even=0.0)
    assert sure.sure and sure.gain_interval()[0] > 0 and np.isfinite(sure.centre_of_gravity)


def test_the_mix_of_the_probe_is_the_scalar_mix():
    data = made(seed=1)
    probe = fits.fit_mix_probe(data, l2=0.1, max_iterations=5)
    mixed = scalar_mix(data.vectors, np.log(probe.weights))
    z = (mixed - probe.mean) / probe.spread @ probe.parameters["out"] + probe.parameters["bias"]
    shares = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    assert probe.beliefs(data.vectors) == pytest.approx(shares, abs=1e-5)
    assert probe.beliefs(data.vectors).sum(axis=1) == pytest.approx(1)


def test_p_l_sees_no_layer_above_l_and_a_layer_alone_no_other():
    data = made(seed=1)
    other = replace(data, vectors=data.vectors.copy())
    other.vectors[2:] = 7.0
    probe = fits.fit_mix_probe(data, 1, l2=0.1)
    assert probe.weights.shape == (2,)
    assert (probe.beliefs(data.vectors) == probe.beliefs(other.vectors)).all()
    other.vectors[0] = -7.0
    alone = [fit_one(d, 1, l2=0.1) for d in (data, other)]
    assert alone[0].loss == alone[1].loss and alone[0].weights.tolist() == [0, 1]
    assert (alone[0].beliefs(data.vectors) == alone[0].beliefs(other.vectors)).all()


def test_a_penalty_on_the_shares_makes_them_even():
    data = made(seed=1)
    free, held = (fits.fit_mix_probe(data, l2=0.01, even=even) for even in (0.0, 100.0))
    assert mixing_bits(free.weights) > 0.5 and mixing_bits(held.weights) < 0.05


def test_changing_over_the_spans_changes_a_dependency_score():
    train, test = (
        made("dep", seed=1),
        made("dep", seed=2, doc="b"),
    )  # the label is written into the first span
    probe = fit_one(train, 2, l2=0.03)

    def score(data):
        return layers.count_answers(probe.answers(data.vectors), probe.labels, data).f1

    assert score(test) > 0.95 and score(test.swapped()) < 0.75
    assert score(test.swapped().swapped()) == score(test)


def test_likeness_of_two_spans_can_be_read():
    """Coreference needs more than either span: the product of the two is among what a linear probe sees."""

    def pairs(seed, doc):
        data = made("coref", seed=seed, doc=doc, n=400)
        same = np.array([label == "same" for label in data.labels])
        vectors = np.random.default_rng(seed + 9).normal(size=(4, 400, 24)).astype(np.float32)
        vectors[:, same, 12:] = vectors[:, same, :12]
        return replace(data, vectors=vectors)

    train, test = pairs(1, "a"), pairs(2, "b")
    assert layers.layer_scores(train, test, l2=0.01).f1[0] > 0.85


def test_the_same_run_twice_is_the_same_and_another_seed_is_not():
    train, test = made(seed=1, noise=2.5), made(seed=2, doc="b", noise=2.5)
    first, again = (layers.layer_scores(train, test, l2=0.01) for _ in range(2))
    assert (first.beliefs == again.beliefs).all()
    drawn = layers.layer_scores(train, test, l2=0.01, seed=3)
    assert drawn.n_train < first.n_train and (drawn.beliefs != first.beliefs).any()
    kept = set(four_fifths(train, 3).documents)
    assert len(kept) == round(0.8 * len(set(train.documents)))


def test_penalties_are_chosen_among_training_documents():
    train, test = made(seed=1), made(seed=2, doc="b")
    # A penalty under which nothing is learnt loses.
    assert layers.choose_mix_penalties(train, (0.01, 1e6), (0.0,)) == (0.01, 0.0)
    mixes = layers.cumulative_probes(train, test)
    assert mixes.l2 in fits.PENALTIES and mixes.even in fits.EVEN and mixes.chosen_on.startswith("chosen on")
    assert layers.cumulative_probes(train, test, l2=0.1, even=0.0).chosen_on == "fixed beforehand"
    one_document = replace(train, documents=("a",) * len(train))
    assert layers.choose_mix_penalties(one_document, (0.1, 0.01, 0.3), (0.0, 0.1, 1.0)) == (0.1, 0.1)
    assert (layers.layer_scores(one_document, test).l2 == sorted(fits.PENALTIES)[1]).all()


def test_one_layer_is_enough_for_a_curve():
    train, test = made(depth=1, informative=1, seed=1), made(depth=1, informative=1, seed=2, doc="b")
    scores = layers.layer_scores(train, test, l2=0.01).so_far
    assert scores.f1.shape == (2,) and scores.expected_layer == pytest.approx(1) and scores.delta_bits == 0


def test_what_is_odd_about_the_cases_is_said():
    train, test = made(seed=1), made(seed=2, doc="b")
    labels = ("once", *train.labels[1:])
    scores = layers.layer_scores(
        replace(train, labels=labels), replace(test, labels=("new", "once", *test.labels[2:]))
    )
    said = " ".join(scores.warnings())
    assert "once occur once among the cases to fit on" in said
    assert "new occur among the scored cases only and count as missed." in said
    assert "once: no layer ever gives this answer" in said
    assert layers.layer_scores(train, test).warnings() == []
    level = [replace(d, vectors=d.vectors * (np.arange(4) != 3)[:, None, None]) for d in (train, test)]
    scores = layers.layer_scores(*level)
    assert "3 (layers) have the same vector in every case" in scores.warnings()[0]
    commonest = layer_baselines.majority_baseline(*level)
    assert scores.converged.all() and scores.f1[3] == pytest.approx(commonest.f1)


# --- counting ------------------------------------------------------------------------------------------


def test_coreference_counts_the_positive_label_only():
    data = made("coref", n=10)
    none, every = np.zeros((10, 1), bool), np.ones((10, 1), bool)
    positives = data.labels.count("same")
    assert layers.count_answers(none, ["same"], data).values.sum(axis=0).tolist() == [0, 0, positives]
    assert layers.count_answers(every, ["same"], data).values.sum(axis=0).tolist() == [
        positives,
        10 - positives,
        0,
    ]
    assert fit_one(made("coref"), 0, l2=0.1).labels == ("same",)


def test_a_label_that_training_never_had_is_missed_and_not_forgotten():
    data = made(n=10)
    a = data.labels.count("A")
    found = layers.count_answers(np.ones((10, 1), bool), ["A"], data).values.sum(axis=0)
    assert found.tolist() == [a, 10 - a, 10 - a]


def test_the_interval_of_f1_is_over_documents():
    data = made(n=40)
    right = np.stack([np.array(data.labels) == "A", np.array(data.labels) == "B"], axis=1)
    assert layers.count_answers(right, ["A", "B"], data).interval() == pytest.approx(
        (0.025**0.25, 1)
    )  # four documents
    half = right & (np.arange(40) < 20)[:, None]  # two documents right, two unanswered
    counts = layers.count_answers(half, ["A", "B"], data)
    assert counts.f1 == pytest.approx(2 / 3) and counts.values.shape == (4, 3)
    low, high = counts.interval()
    assert low < 0.5 and high > 0.8


# --- rivals and controls -------------------------------------------------------------------------------


def test_the_list_of_words_and_the_commonest_label():
    train, test = made(seed=1), made(seed=2, doc="b")
    train = replace(train, labels=("A", "A", "B", "B") * 40)  # by the form: w0 A, w1 A, w2 B ...
    test = replace(test, labels=("A", "A", "B", "B") * 40)
    assert (
        layer_baselines.form_baseline(train, test).f1 == 1
        and layer_baselines.majority_baseline(train, test).f1 == 0.5
    )
    unseen = replace(test, forms=("never",) * len(test))
    assert layer_baselines.form_baseline(train, unseen).f1 == 0.5  # falls back to the commonest label
    pairs = replace(made("coref", seed=2), forms=("she | She".lower(),) * 80 + ("a | b",) * 80)
    found = layer_baselines.form_baseline(pairs, pairs).values.sum(axis=0)
    assert found[0] + found[1] == 80  # "same" where the words are the same


def test_made_up_labels_follow_the_form_alone_and_a_probe_finds_none_in_new_forms():
    train, test = made(seed=1), made(seed=2, doc="b")
    test = replace(test, forms=tuple(f"v{i}" for i in range(len(test))))  # no form is in both halves
    fit_on, score_on = layer_baselines.control_labels(train, test)
    by_form = {}
    for form, label in zip(fit_on.forms, fit_on.labels):
        assert by_form.setdefault(form, label) == label
    assert set(fit_on.labels) == {"A", "B"} and fit_on.labels != train.labels
    assert layer_baselines.control_labels(train, test)[0].labels == fit_on.labels
    real = layers.layer_scores(train, test, l2=0.01).so_far.f1[-1]
    nonsense = layers.layer_scores(fit_on, score_on, l2=0.01).so_far.f1[-1]
    assert real - nonsense > 0.3  # selectivity


def test_a_random_twin_has_states_of_the_same_shape(tiny):
    texts = [["the", "cat", "sat"]]
    [own], [twin] = (list(hidden_states(e, texts)) for e in (tiny, random_twin(tiny)))
    assert own.shape == twin.shape and not np.allclose(own, twin)


# --- one case ------------------------------------------------------------------------------------------


def test_the_beliefs_of_a_sentence_are_those_of_the_scores():
    train, test = made(seed=1), made(seed=2, doc="b", n=20)
    test = replace(test, places=tuple((i // 2, i % 2) for i in range(20)))
    sentences = [
        EdgeSentence(("x", "y"), (EdgeTarget((0, 1), None, test.labels[2 * i]), EdgeTarget((1, 2), None, test.labels[2 * i + 1])), "b")
        for i in range(10)
    ]  # fmt: skip
    scores = layers.layer_scores(train, test, l2=0.01)
    case = sentence_beliefs(scores, test, sentences, 3)
    assert case["words"] == ["x", "y"] and [t["gold"] for t in case["targets"]] == list(test.labels[6:8])
    target = case["targets"][1]
    for label, row in zip(target["labels"], target["beliefs"]):
        assert row == pytest.approx(scores.beliefs[:, 7, scores.labels.index(label)], abs=6e-4)
    assert len(sentence_beliefs(scores, test, sentences, 3, top=1)["targets"][0]["labels"]) == 1


# --- what is refused -----------------------------------------------------------------------------------

DATA, OTHER = made(seed=1), made(seed=2, doc="b")
ONE_LABEL = DATA.take([label == "A" for label in DATA.labels])
NOT_FINITE = replace(DATA, vectors=np.where(np.arange(4)[:, None, None] == 2, np.nan, DATA.vectors))
NEW_LABEL = replace(OTHER, labels=("C",) + tuple("AB" * 79) + ("A",))
ONE_LAYER_FIT, MIX_FIT = partial(fit_one, layer=0), fits.fit_mix_probe
TWENTY = replace(made(seed=2, doc="b", n=20), places=tuple((i // 2, i % 2) for i in range(20)))


def beliefs_of(data, number):
    scores = layers.layer_scores(DATA, TWENTY, l2=0.01)
    return sentence_beliefs(scores, data, [EdgeSentence(("x", "y"), (), "b")] * 10, number)


test_what_is_refused = refusals(
    (lambda: expected_layer([0.6, 0.7, 0.5]), r"no expected layer: the last probe scores 0\.500 and the first 0\.600"),
    (lambda: expected_layer([0.5]), "at least two probes"),
    (lambda: delta_bits([0.6, 0.5]), "no layer gains anything"),
    (lambda: centre_of_gravity([1.0, 2.0]), "Is the softmax missing"),
    (lambda: scalar_mix(np.ones((3, 2, 2)), [0, 0]), "one score for each of the 3 layers"),
    *((lambda name=name: published_probing(name), "never mixed") for name in ("BERT", "both", "bert-base")),
    (lambda: treebank_edges([DOG], "srl"), "one of pos, dep, entity, coref; got 'srl'"),
    (lambda: treebank_edges([BARE], "entity"), "need Entity= in the last column"),
    (
        lambda tmp_path: read_edges(write(tmp_path / "x.jsonl", PAIR, SINGLE)),
        "line 2: span2 stands in some targets and not in others",
    ),
    (lambda tiny: list(hidden_states(tiny, [LONG.words])), "whole: "),
    (lambda: span_vectors({}, [SHORT], "entity"), "no question of the task 'entity' is left of 1 sentences"),
    (lambda tiny: span_vectors(read_states(tiny, [SHORT.words]), [SHORT], "dep"), r"asks about 2 span\(s\); 's' has 1"),
    *((lambda fit=fit: fit(ONE_LABEL, l2=0.1), r"at least two labels; got \d+ cases of \['A'\]") for fit in (ONE_LAYER_FIT, MIX_FIT)),
    *((lambda fit=fit: fit(NOT_FINITE, l2=0.1), "vectors must be finite; those of layers 2 are not") for fit in (ONE_LAYER_FIT, MIX_FIT)),
    *((lambda fit=fit: fit(DATA, l2=-1), "l2 is above 0") for fit in (ONE_LAYER_FIT, MIX_FIT)),
    (lambda: MIX_FIT(DATA, 4, l2=0.1), "between 0, the embeddings, and 3; got 4"),
    (lambda: MIX_FIT(DATA, l2=0.01, below=MIX_FIT(DATA, l2=0.01)), r"below is P\(2\) with l2 0.01, even 0.0; got P\(3\)"),
    (lambda: MIX_FIT(DATA, l2=0.01, even=-1), "even is a penalty of 0 or more; got -1"),
    (lambda: DATA.swapped(), "only pairs"),
    (lambda: layers.count_answers(np.ones((1, 160), bool), ["A"], DATA), r"shape \(160, 1\), \(case, label\); got \(1, 160\)"),
    *(
        (lambda score=score, given=given: score(*given), words)
        for score in (layers.layer_scores, layers.cumulative_probes)
        for given, words in (
            ((DATA, OTHER.take([])), "both halves need cases; got 160 to fit on and 0 to score"),
            ((DATA, made(seed=3)), "16 documents are in both halves, for example 'a0'"),
            ((DATA, made(depth=2, doc="b")), "one task and one model"),
            ((DATA.take([0, 1]), NEW_LABEL), "2 cases to fit on are fewer than the 3 labels"),
            (
                (replace(DATA, vectors=np.ones_like(DATA.vectors)), OTHER),
                "the same vector in every layer: there is nothing to read",
            ),
        )
    ),
    (lambda: beliefs_of(TWENTY, 11), "no question about sentence 11"),
    (lambda: beliefs_of(DATA, 3), "of the same cases; got 20"),
)  # fmt: skip


def test_where_nothing_is_gained_there_is_no_where():
    assert np.isnan(expected_layer([[0.6, 0.5], [0.5, 0.6]])).tolist() == [True, False]
