"""The package beside other people's code: what that code gave is in the .npz files (`tools/make_peer_fixtures.py`), its versions in about.json.

Of released notebooks and scripts that are no packages (of Clark, Kobayashi, Abnar) formulas.npz holds a second computation, written from the papers: it is not
their code's output.
"""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
import torch

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
    attention_entropy,
    attention_flow,
    attention_rollout,
    cls_entropy,
    js_distances,
    offset_attention,
    other_to_sep,
    sep_to_sep,
    special_token_attention,
    summed_norms,
    value_norms,
    weighted_norms,
)
from bertlook_teach.model import masked_lm_head, output_projection
from bertlook_teach.stats import holm, mcnemar, paired_p

HERE = Path(__file__).parent
ABOUT = json.loads((HERE / "about.json").read_text(encoding="utf-8"))
PAIR = ("The cat sat on the unreal mat.", "It slept.")
SHORT = "She did not buy the book."


def peer(name: str):
    return np.load(HERE / f"{name}.npz", allow_pickle=False)


def close(ours, theirs, *, within: float):
    assert np.shape(ours) == np.shape(theirs)
    assert np.abs(np.asarray(ours, dtype=float) - theirs).max() < within


# --- statistics ------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def numbers():
    return peer("statistics")


def test_divergences_are_scipys(numbers):
    close(js_distances(numbers["js maps"], smoothing=0), numbers["js"], within=1e-9)


def test_clusters_are_scipys(numbers):
    joins = average_linkage(numbers["distances"])
    close(joins, numbers["linkage"], within=1e-12)
    assert leaf_order(joins) == numbers["leaves"].tolist()
    ours, theirs = cut(joins, 4), numbers["cut into 4"]
    assert len(set(zip(ours.tolist(), theirs.tolist()))) == 4  # the same clusters, whatever they are called


def test_a_map_turned_onto_another_is_scipys(numbers):
    names = [str(i) for i in range(12)]
    assert procrustes(numbers["points"], numbers["other points"], names, names)[1] == pytest.approx(
        float(numbers["disparity"])
    )


def test_a_map_in_the_plane_fits_as_well_as_that_of_scikit_learn(numbers):
    """The best of a hundred starts of theirs; ours may be better, and by more than a half per cent no worse."""
    points = metric_mds(numbers["distances"], starts=40).points
    drawn = np.linalg.norm(points[:, None] - points[None], axis=-1)
    raw = ((drawn - numbers["distances"]) ** 2).sum() / 2
    assert raw <= 1.005 * numbers["raw stress"]


def test_agreement_and_metrics_are_those_of_scikit_learn(numbers):
    found = agree(numbers["gold"].tolist(), numbers["answers"].tolist(), "abc")
    assert found.kappa == pytest.approx(float(numbers["kappa"])) and found.macro_f1 == pytest.approx(
        float(numbers["macro f1"])
    )
    matthews = metric_value("matthews", numbers["binary answers"], numbers["binary gold"])
    assert matthews == pytest.approx(float(numbers["matthews"]))
    assert auc(numbers["scores"], numbers["gold"] == "a") == pytest.approx(float(numbers["auc"]))


def test_correlations_are_those_of_scipy_and_statsmodels(numbers):
    x, y, z = (numbers[name] for name in "xyz")
    assert rank_correlation(x, y) == pytest.approx(float(numbers["rho"]))
    assert partial_rank_correlation(x, y, z) == pytest.approx(float(numbers["partial rho"]))


def test_paired_tests_are_those_of_scipy_and_statsmodels(numbers):
    assert paired_p(numbers["x"], numbers["y"]) == pytest.approx(float(numbers["paired t"]))
    assert mcnemar(numbers["before"], numbers["after"]) == pytest.approx(float(numbers["mcnemar"]))
    close(holm(numbers["p"]), numbers["holm"], within=1e-12)


def test_attention_flow_is_the_maximum_flow_of_networkx():
    found = peer("flows")
    close(attention_flow(found["maps"]), found["flow"], within=1e-8)  # SciPy's solver takes whole numbers
    assert (
        np.abs(attention_rollout(found["maps"])[-1] - found["flow"][-1]).max() > 0.01
    )  # so that flow is no rollout


# --- the specimen ----------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def specimen():
    weights = hashlib.sha256(Path("data/model/model.safetensors").read_bytes()).hexdigest()[:16]
    assert {about.get("specimen", weights) for about in ABOUT.values()} == {weights}, (
        "the specimen is another than that which the peers read: run tools/make_peer_fixtures.py"
    )
    return load_encoder("specimen")


def guesses(encoder):
    tokens = encoder.tokenizer(*PAIR, return_tensors="pt")
    with torch.no_grad():
        return masked_lm_head(encoder)(encoder.model(**tokens).last_hidden_state)[0].numpy()


def test_maps_and_guesses_are_those_of_transformers(specimen):
    found, attention = peer("transformers"), extract_attention(specimen, *PAIR)
    assert list(attention.tokens) == found["tokens"].tolist()
    close(attention.weights, found["maps"], within=2e-05)
    close(guesses(specimen)[:, ::64], found["logits"], within=0.002)
    assert np.abs(attention.weights.swapaxes(-1, -2) - found["maps"]).max() > 0.5  # the comparison can fail


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


# --- what no package gives: computed a second time ----------------------------------------------------------------
def test_rollout_is_the_sum_over_all_ways_down():
    found = peer("formulas")
    close(attention_rollout(found["short maps"]), found["rollout"], within=1e-12)


def test_norms_are_those_of_whole_vectors(specimen):
    """As Kobayashi et al. define them: the head's part of W_O times its values, every vector built."""
    found, attention = peer("formulas"), extract_attention(specimen, *PAIR, vectors=True)
    projection = output_projection(specimen)
    norms = value_norms(attention, projection)
    close(norms, found["norms"], within=2e-4)
    close(weighted_norms(attention, norms), found["weighted norms"], within=2e-4)
    close(summed_norms(attention, None, projection), found["summed norms"], within=2e-4)
    assert found["summed norms"].max() > 1  # so that .0002 is small


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("share self", lambda a: offset_attention(a, 0)),
        ("share next", lambda a: offset_attention(a, 1)),
        ("share previous", lambda a: offset_attention(a, -1)),
        ("share cls", lambda a: special_token_attention(a, "cls")),
        ("share sep", lambda a: special_token_attention(a, "sep")),
        ("share punct", lambda a: special_token_attention(a, "punct")),
        ("share sep to sep", sep_to_sep),
        ("share others to sep", other_to_sep),
        ("entropy", lambda a: attention_entropy(a, smoothing=1e-4)),
        ("entropy from cls", lambda a: cls_entropy(a, smoothing=1e-4)),
        ("divergence", lambda a: js_distances(a, per_token=False)),
    ],
)
def test_clarks_measures_are_sums_over_tokens(specimen, name, measure):
    close(measure(extract_attention(specimen, *PAIR)), peer("formulas")[name], within=2e-4)


# --- the fixtures ----------------------------------------------------------------------------------------------
def test_each_fixture_says_who_made_it_and_how_and_all_are_small():
    files = sorted(HERE.glob("*.npz"))
    assert [file.stem for file in files] == sorted(ABOUT) and sum(
        file.stat().st_size for file in files
    ) < 400_000
    for name, about in ABOUT.items():
        assert about["command"] == f"python tools/make_peer_fixtures.py {name}"
        assert set(about) - {"command", "python", "specimen"}, "no version of the peer"
