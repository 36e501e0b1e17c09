"""Lesson 04's ledger: its statistics on numbers made by hand, its collectors on texts, its published values on the tables."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from tiny import save_tiny_model

from bertlook_teach import extract_attention, load_encoder, read
from bertlook_teach.checks import lesson04 as checks
from bertlook_teach.claims import Resources
from bertlook_teach.claims.lessons import lesson04
from bertlook_teach.claims.lessons.lesson04 import CLAIMS, EVIDENCE
from bertlook_teach.measures import attention_gradients, value_norms
from bertlook_teach.model import output_projection
from bertlook_teach.published import published_gradients, published_layers, published_norms, published_number
from bertlook_teach.stats import CannotDecide

PAIRS = [
    ("The cat sat on the mat, and slept.", "It was tired."),
    ("A dog barks.", "Nobody hears the dog, or cares."),
]


def claim(key):
    return next(c for c in CLAIMS if c.key == f"04-{key}")


# ---- the claims as a list --------------------------------------------------------------------------------


def test_there_are_enough_claims_each_says_what_refutes_it_and_fits_a_slide():
    assert len(CLAIMS) >= 10
    assert len({c.key for c in CLAIMS}) == len(CLAIMS)
    for c in CLAIMS:
        assert c.lesson == "04" and c.refuted_if and len(c.sentence.split()) <= 12, c.key
        assert c.evidence in {*EVIDENCE, "surface"}, c.key


def test_published_values_come_out_of_the_tables():
    assert claim("gradient-falls").published_text() == "-0.87"  # Spearman over 12 layers
    assert claim("gradient-punct").published_text() == "-0.48"
    assert claim("cancel-sep").published_text() == "-0.69"
    assert claim("gradient-first-layer").published_text() == "1.10"
    assert claim("norm-share-small").published_text() == "0.07, layer 8"
    assert claim("mixing").published_text() == "+0.11"
    assert claim("mixing").original_text() == "96.41 and 85.28 %"
    assert claim("norm-share").published_text() == "+0.52"
    assert claim("norm-share").original_text() == "0.59 by weight, 0.07 by norm, layer 8"
    assert (claim("cancel-other").published_text(), claim("cancel-other").original_text()) == (
        "0.06",
        "-0.06",
    )
    assert claim("rollout-better").published_text() == "0.71 against 0.29"


def test_the_published_figures_hold_what_their_papers_say():
    ratio = published_gradients("sep") / published_gradients("all")
    assert (np.flatnonzero(ratio < 0.1) + 1).tolist() == [5, 6, 7, 8, 9, 10]
    # Kobayashi's weights are Clark's shares, read off another figure, with other segment ids.
    assert published_norms("sep", weights=True)[:10] == pytest.approx(published_layers("sep")[:10], abs=0.03)
    sums = sum(published_norms(kind, weights=True) for kind in ("cls", "sep", "punct", "other"))
    assert sums == pytest.approx(np.ones(12), abs=0.04)
    with pytest.raises(KeyError, match="there is: sep, punct, all"):
        published_gradients("cls")
    with pytest.raises(KeyError, match="has 0 rows for 'nothing'; one was expected"):
        published_number("kobayashi_tables", "nothing")


# ---- statistics ------------------------------------------------------------------------------------------


def test_the_layer_is_found_on_the_inputs_that_choose():
    choice = {"weight_sep": np.array([[0.1, 0.1], [0.6, 0.8], [0.2, 0.2]])}
    values = {
        "grad_sep": np.array([[4.0, 4.0], [1.0, 3.0], [4.0, 4.0]]),
        "grad_all": np.full((3, 2), 8.0),
        "norm_sep": np.array([[9.0, 9.0], [1.0, 2.0], [9.0, 9.0]]),
        "norm_other": np.full((3, 2), 6.0),
    }
    assert lesson04.gradient_ratio(values, choice) == -0.25
    assert lesson04.sep_norm_ratio(values, choice) == -0.25
    assert lesson04.first_layer_gradient_ratio(values, choice) == 0.5


def test_shares_by_weight_and_by_norm():
    one = np.ones((1, 2))
    values = {f"weight_{kind}": one * w for kind, w in zip(lesson04.KINDS, (0.1, 0.6, 0.1, 0.2))}
    values |= {f"added_{kind}": one * a for kind, a in zip(lesson04.KINDS, (1.0, 0.5, 1.0, 2.5))}
    assert lesson04.sep_share_shrinks(values, values) == pytest.approx(0.6 - 0.1)
    assert lesson04.sep_share_by_norm_is_small(values, values) == pytest.approx(-0.1)


def test_attention_and_gradient_turn_opposite_ways_through_the_norm():
    random = np.random.default_rng(0)
    norm = random.uniform(1, 2, size=(8, 12))
    values = {
        "weight_sep": 1 / norm + 0.02 * random.normal(size=norm.shape),
        "grad_sep": norm + 0.05 * random.normal(size=norm.shape),
        "norm_sep": norm,
    }
    assert lesson04.minus_correlation("sep", "over layers")(values, values) > 0.5
    assert lesson04.minus_correlation("sep", "over heads")(values, values) > 0.8
    assert lesson04.explained_by_norm(values, values) > 0.5
    assert lesson04.left_given_norm(values, values) > -0.35
    unrelated = {**values, "grad_sep": values["weight_sep"]}  # no negative correlation: nothing to explain
    unrelated["norm_sep"] = random.uniform(size=norm.shape)
    assert lesson04.explained_by_norm(unrelated, unrelated) == 0.0
    with pytest.raises(CannotDecide, match="too few layers or heads"):
        lesson04.minus_correlation("sep", "over layers")({k: v[:1] for k, v in values.items()}, values)


def test_coefficient_of_variation_from_two_means():
    norms = np.array([1.0, 3.0])  # mean 2, standard deviation 1
    values = {"norm": np.full((1, 1), norms.mean()), "norm_squared": np.full((1, 1), (norms**2).mean())}
    assert lesson04.coefficient_of_variation(values, values) == pytest.approx(0.5)
    silent = {"norm": np.zeros((1, 1)), "norm_squared": np.zeros((1, 1))}
    assert lesson04.coefficient_of_variation(silent, silent) == 0.0


def test_zeroing_compares_turns_and_then_turns_per_weight():
    values = {
        "weight_sep": np.array([[0.5]]),
        "angle_sep": np.array([0.2]),
        "angle_other": np.array([0.1]),
        "given_sep": np.array([0.4]),
        "given_other": np.array([0.05]),
    }
    assert lesson04.angle_ratio(values, values) == -2.0  # turns further ...
    assert lesson04.angle_per_weight_ratio(values, values) == pytest.approx(
        -0.25
    )  # ... but less than it was looked at


def test_rollout_is_compared_with_the_share_of_tokens_and_with_norms():
    values = {"rollout_sep": 0.3, "rollout_norms_sep": 0.12, "sep_tokens": 0.1}
    assert lesson04.rollout_against_uniform(values, values) == pytest.approx(3.0)
    assert lesson04.norms_roll_out_less(values, values) == pytest.approx(0.6)


def test_sep_looks_elsewhere():
    values = {"sep": np.array([[0.1], [0.7]]), "sep_to_sep": np.array([[0.2], [0.9]])}
    assert lesson04.sep_looks_elsewhere(values, values) == pytest.approx(0.1)


# ---- evidence ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVIDENCE)
def test_evidence_is_finite_and_of_one_shape_on_the_specimen(specimen, name):
    rows = list(EVIDENCE[name](specimen, Resources(pairs=PAIRS)))
    assert len(rows) == len(PAIRS)
    for quantity in rows[0]:
        assert np.isfinite([row[quantity] for row in rows]).all(), quantity
        assert np.shape(rows[0][quantity]) == np.shape(rows[1][quantity])


def test_every_claim_finds_its_quantities_in_its_evidence(specimen):
    from bertlook_teach.claims.lessons.lesson03 import EVIDENCE as surface

    resources = Resources(pairs=PAIRS)
    means = {}
    for name, collect in {**EVIDENCE, **surface}.items():
        rows = list(collect(specimen, resources))
        means[name] = {key: np.mean([row[key] for row in rows], axis=0) for key in rows[0]}
    for c in CLAIMS:
        if c.statistic is not None:
            assert np.isfinite(c.statistic(means[c.evidence], means[c.evidence])), c.key


def test_gradient_quantities_leave_out_what_was_masked_and_obey_the_bound(specimen):
    found = attention_gradients(read(specimen, *PAIRS[0]), masked=[1, 2])
    quantities = lesson04.gradient_quantities(found)
    shown = [i for i in range(found.attention.n_tokens) if i not in (1, 2)]
    assert quantities["grad_all"] == pytest.approx(found.importance[..., shown].mean(axis=(-2, -1)))
    assert 0 < quantities["over_bound"] <= 1 + 1e-4


def test_norm_quantities_equal_the_long_way(specimen):
    attention = extract_attention(specimen, *PAIRS[0], vectors=True)
    projection = output_projection(specimen)
    found = lesson04.norm_quantities(
        attention, projection, {token: 1 + i for i, token in enumerate(attention.tokens)}
    )
    f = attention.values @ projection
    n = attention.n_tokens
    own = np.stack([(attention.weights[:, :, i, i, None] * f[:, :, i]).sum(axis=1) for i in range(n)], axis=1)
    total = np.einsum("lhij,lhjw->liw", attention.weights, f)
    others = np.linalg.norm(total - own, axis=-1)
    assert found["mixed_by_norm"] == pytest.approx(
        (others / (others + np.linalg.norm(own, axis=-1))).mean(), abs=1e-4
    )
    assert found["norm"] == pytest.approx(value_norms(attention, projection).mean(axis=-1))
    assert found["sep_tokens"] == 2 / n


def test_a_text_without_commas_or_sep_leaves_things_out(specimen):
    attention = extract_attention(specimen, "cats sleep", vectors=True)
    found = lesson04.norm_quantities(attention, output_projection(specimen), Counter())
    assert "norm_punct" not in found and "weight_punct" not in found and "rho_rank_norm" not in found
    bare = replace(attention, tokens=tuple("x" if t == "[SEP]" else t for t in attention.tokens))
    found = lesson04.norm_quantities(bare, output_projection(specimen), Counter())
    assert "norm_sep" not in found and "rollout_sep" not in found


def test_a_model_without_the_masked_lm_head_cannot_decide_on_gradients(tmp_path):
    encoder = load_encoder(save_tiny_model(tmp_path, "bert"))
    with pytest.raises(CannotDecide, match="has no masked-LM head"):
        list(EVIDENCE["importance"](encoder, Resources(pairs=[("a cat", "a dog")])))


# ---- checks whose message is computed ------------------------------------------------------------------------


def test_the_message_on_the_mechanism_follows_the_numbers():
    random = np.random.default_rng(3)
    norm = random.uniform(size=(6, 8))
    noise = 0.2 * random.normal(size=(2, 6, 8))

    def message(share, gradient):
        sides = [side - side.mean(axis=1, keepdims=True) for side in (share, gradient, norm)]
        rho, given = checks.rank_correlation(*sides[:2]), checks.partial_rank_correlation(*sides)
        found = checks.check_mechanism(rho, given, share, gradient, norm)
        assert found
        return found.message

    assert "part of the relation goes" in message(noise[0] - norm, noise[1] + norm)
    assert "little to explain" in message(noise[0], noise[1] + abs(noise[0]))
    assert "does not account" in message(noise[0], -noise[0] + 0.1 * noise[1])
