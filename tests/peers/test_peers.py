"""The package beside other people's code: that of transformers, SciPy, scikit-learn and networkx is asked here; what others gave for the specimen is in the .npz files
(`tools/make_peer_fixtures.py`), with their versions in about.json.
"""

import hashlib
import json
from pathlib import Path

import networkx
import numpy as np
import pytest
import torch
from scipy import spatial, stats
from scipy.cluster import hierarchy
from scipy.spatial import distance
from sklearn import metrics
from sklearn.manifold import MDS
from transformers import AutoModelForMaskedLM, AutoTokenizer

from bertlook_course.analyses.ablation import ablated
from bertlook_course.metrics import (
    agree,
    auc,
    average_linkage,
    cut,
    leaf_order,
    metric_mds,
    metric_value,
    partial_rank_correlation,
    procrustes,
    rank_correlation,
)
from bertlook_teach import extract_attention, load_encoder
from bertlook_teach.measures import (
    attention_flow,
    attention_rollout,
    js_distances,
)
from bertlook_teach.model import masked_lm_head
from bertlook_teach.stats import mcnemar, paired_p

HERE = Path(__file__).parent
ABOUT = json.loads((HERE / "about.json").read_text(encoding="utf-8"))
PAIR = ("The cat sat on the unreal mat.", "It slept.")
SHORT = "She did not buy the book."


def peer(name: str):
    return np.load(HERE / f"{name}.npz", allow_pickle=False)


def close(ours, theirs, *, within: float):
    assert np.shape(ours) == np.shape(theirs)
    assert np.abs(np.asarray(ours, dtype=float) - theirs).max() < within


# --- statistics: SciPy, scikit-learn and networkx, asked here ---------------------------------------------------
def drawn(seed=0):
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def points():
    return drawn().normal(size=(12, 3))


@pytest.fixture(scope="module")
def distances(points):
    return distance.squareform(distance.pdist(points))


def test_divergences_are_scipys():
    maps = drawn().dirichlet(np.full(7, 0.4), (2, 3, 7))  # layer, head, query, key
    heads = maps.reshape(6, 7, 7)
    theirs = [
        [sum(distance.jensenshannon(p, q) ** 2 for p, q in zip(a, b)) / 7 for b in heads] for a in heads
    ]
    close(js_distances(maps, smoothing=0), theirs, within=1e-9)


def test_clusters_are_scipys(points, distances):
    joins = average_linkage(distances)
    theirs = hierarchy.linkage(distance.pdist(points), "average")
    close(joins, theirs, within=1e-12)
    assert leaf_order(joins) == hierarchy.leaves_list(theirs).tolist()
    ours, cut_by_them = cut(joins, 4), hierarchy.cut_tree(theirs, 4)[:, 0]
    assert (
        len(set(zip(ours.tolist(), cut_by_them.tolist()))) == 4
    )  # the same clusters, whatever they are called


def test_a_map_turned_onto_another_is_scipys(points):
    names, other = [str(i) for i in range(12)], drawn(1).normal(size=(12, 3))
    theirs = spatial.procrustes(points, other)[2]
    assert procrustes(points, other, names, names)[1] == pytest.approx(theirs)


def test_a_map_in_the_plane_fits_as_well_as_that_of_scikit_learn(distances):
    """The best of a hundred starts of theirs; ours may be better, and by more than a half per cent no worse."""
    scaled = MDS(
        2,
        n_init=100,
        init="random",
        max_iter=1000,
        eps=1e-12,
        metric="precomputed",
        metric_mds=True,
        normalized_stress=False,
        random_state=0,
    )
    ours, theirs = (
        ((distance.squareform(distance.pdist(plane)) - distances) ** 2).sum()
        for plane in (metric_mds(distances, starts=40).points, scaled.fit(distances).embedding_)
    )
    assert ours <= 1.005 * theirs


def test_agreement_and_metrics_are_those_of_scikit_learn():
    rng = drawn()
    gold, answers = (rng.choice(list("abc"), 60, p=p) for p in ((0.6, 0.3, 0.1), (0.5, 0.3, 0.2)))
    answers = np.where(rng.random(60) < 0.5, gold, answers)
    found = agree(gold.tolist(), answers.tolist(), "abc")
    assert found.kappa == pytest.approx(metrics.cohen_kappa_score(gold, answers))
    assert found.macro_f1 == pytest.approx(metrics.f1_score(gold, answers, average="macro"))
    matthews = metric_value("matthews", answers == "a", gold == "a")
    assert matthews == pytest.approx(metrics.matthews_corrcoef(gold == "a", answers == "a"))
    scores = rng.integers(0, 9, 60).astype(float)  # with ties
    assert auc(scores, gold == "a") == pytest.approx(metrics.roc_auc_score(gold == "a", scores))


def test_correlations_and_paired_tests_are_scipys():
    rng = drawn()
    x, y, z = (rng.integers(0, 15, 40).astype(float) for _ in range(3))
    y += x
    ranks = [stats.rankdata(values) for values in (x, y, z)]
    left = [values - np.poly1d(np.polyfit(ranks[2], values, 1))(ranks[2]) for values in ranks[:2]]
    assert rank_correlation(x, y) == pytest.approx(stats.spearmanr(x, y).statistic)
    assert partial_rank_correlation(x, y, z) == pytest.approx(stats.pearsonr(*left).statistic)
    assert paired_p(x, y) == pytest.approx(stats.ttest_rel(y, x).pvalue)
    before, after = rng.random(80) < 0.7, rng.random(80) < 0.5
    changed = int((before & ~after).sum()), int((~before & after).sum())
    assert mcnemar(before, after) == pytest.approx(stats.binomtest(min(changed), sum(changed)).pvalue)


def test_attention_flow_is_the_maximum_flow_of_networkx():
    """Through layers of tokens joined by half a map and half the residual connection."""
    maps = drawn(1).dirichlet(np.full(5, 0.5), (3, 5))
    maps[1, 2] = [0, 0, 1, 0, 0]
    graph = networkx.DiGraph()
    for layer, matrix in enumerate((maps + np.eye(5)) / 2):
        for (query, key), width in np.ndenumerate(matrix):
            graph.add_edge((layer + 1, query), (layer, key), capacity=float(width))
    flow = np.zeros((3, 5, 5))
    for layer, query, key in np.ndindex(flow.shape):
        flow[layer, query, key] = networkx.maximum_flow_value(graph, (layer + 1, query), (0, key))
    flow /= flow.sum(axis=-1, keepdims=True)
    close(attention_flow(maps), flow, within=1e-8)  # SciPy's solver takes whole numbers
    assert np.abs(attention_rollout(maps)[-1] - flow[-1]).max() > 0.01  # so that flow is no rollout


# --- the specimen ----------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def specimen():
    weights = hashlib.sha256(Path("data/model/model.safetensors").read_bytes()).hexdigest()[:16]
    assert {about["specimen"] for about in ABOUT.values()} == {weights}, (
        "the specimen is another than that which the peers read: run tools/make_peer_fixtures.py"
    )
    return load_encoder("specimen")


def guesses(encoder):
    tokens = encoder.tokenizer(*PAIR, return_tensors="pt")
    with torch.no_grad():
        return masked_lm_head(encoder)(encoder.model(**tokens).last_hidden_state)[0].numpy()


def test_maps_and_guesses_are_those_of_transformers(specimen):
    folder, attention = "data/model", extract_attention(specimen, *PAIR)
    tokens = AutoTokenizer.from_pretrained(folder)(*PAIR, return_tensors="pt")
    options = {"attn_implementation": "eager", "dtype": torch.float32}
    model = AutoModelForMaskedLM.from_pretrained(folder, **options).eval()
    with torch.no_grad():
        found = model(**tokens, output_attentions=True)
    maps = torch.cat(found.attentions).numpy()
    assert list(attention.tokens) == tokens.tokens()
    close(attention.weights, maps, within=2e-05)
    close(guesses(specimen), found.logits[0].numpy(), within=0.002)
    assert np.abs(attention.weights.swapaxes(-1, -2) - maps).max() > 0.5  # the comparison can fail


def test_maps_guesses_and_heads_switched_off_are_those_of_transformer_lens(specimen):
    found = peer("transformer_lens")
    close(extract_attention(specimen, *PAIR).weights, found["maps"], within=2e-05)
    whole = guesses(specimen)
    close(whole[:, ::64], found["logits"], within=0.002)
    changes = np.zeros(found["largest change of a guess"].shape)
    for layer, head in np.ndindex(changes.shape[:2]):
        with ablated(specimen, [(layer, head)]):
            changes[layer, head] = np.abs(guesses(specimen) - whole).max(axis=-1)
    close(changes, found["largest change of a guess"], within=0.005)
    assert changes.max() > 1


def test_queries_and_keys_are_those_of_bertviz(specimen):
    found, attention = peer("bertviz"), extract_attention(specimen, SHORT, vectors=True)
    close(attention.weights, found["maps"], within=5e-05)
    for name in ("queries", "keys"):
        close(getattr(attention, name), found[name], within=0.0005)


# --- the fixtures ----------------------------------------------------------------------------------------------
def test_each_fixture_says_who_made_it_and_how_and_all_are_small():
    files = sorted(HERE.glob("*.npz"))
    assert [file.stem for file in files] == sorted(ABOUT) and sum(
        file.stat().st_size for file in files
    ) < 400_000
    for name, about in ABOUT.items():
        assert about["command"] == f"python tools/make_peer_fixtures.py {name}"
        assert set(about) - {"command", "python", "specimen"}, "no version of the peer"
