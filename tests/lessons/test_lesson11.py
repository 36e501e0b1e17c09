"""Lesson 11 beside its measures: the claims' statistics, what was published, tables and figures, the ablation lens."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from made import tiny_encoder, with_random_head
from tiny import save_tiny_model

from bertlook_course.analyses.ablation import (
    MaskedLM,
    best_to_remove,
    importance_versions,
    score_batches,
    single_head_effects,
)
from bertlook_course.claims import Resources, decide, ledger
from bertlook_course.claims.lessons import lesson11 as collectors
from bertlook_course.claims.lessons import lesson11 as lesson
from bertlook_course.decks.pictures import lesson11 as pictures
from bertlook_course.decks.pictures.lesson11_published import MRPC_ANSWERS
from bertlook_course.metrics import CannotDecide
from bertlook_course.published import published_masking
from bertlook_course.render import (
    chance_band_figure,
    chance_figure,
    heat_figure,
    prediction_figure,
    pruning_figure,
    ranked_effects_figure,
    significance_figure,
)
from bertlook_teach.measures import output_zeroing_work, value_zeroing, value_zeroing_to_output
from bertlook_teach.model import attention_blocks, extract_attention, load_encoder, read
from bertlook_teach.views.drawing import palette

TEXTS = ["The cat sat on the mat.", "A dog chased it.", "It was tired.", "The dog sat on a cat."]
PAIRS = [("The cat sat.", "It was tired."), ("A dog sat on it.", "The cat was on the mat.")]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return with_random_head(tiny_encoder(tmp_path_factory.mktemp("tiny") / "bert"))


@pytest.fixture(scope="module")
def inputs():
    return Resources(texts=TEXTS, pairs=PAIRS)


# ---- evidence -------------------------------------------------------------------------------------------------


def test_effects_are_those_of_single_heads_text_by_text(encoder, inputs):
    rows = list(lesson.effects(encoder, inputs))
    assert len(rows) == 4 and rows[0]["zero"].shape == rows[0]["uniform"].shape == (3, 2)
    scorer = MaskedLM(encoder)
    batches = scorer.encode(TEXTS)
    found = single_head_effects(scorer, batches, fast=False)
    assert np.stack([r["zero"] for r in rows]).mean(axis=0) == pytest.approx(found.loss_change, abs=1e-5)
    assert [r["loss"] for r in rows] == pytest.approx(found.base_losses, abs=1e-5)
    versions = importance_versions(scorer, batches)
    assert np.mean([r["paper"] for r in rows], axis=0) == pytest.approx(versions["paper"].raw, abs=1e-5)
    assert np.mean([r["signed"] for r in rows], axis=0) == pytest.approx(versions["paper"].signed, abs=1e-5)
    all_off = [(1, 0), (1, 1)]
    assert np.array([r["layer"][1] for r in rows]) == pytest.approx(
        score_batches(scorer, batches, heads=all_off)[0] - found.base_losses, abs=1e-5
    )


def test_pruning_is_ranked_on_the_pairs_and_scored_on_the_sentences(encoder, inputs):
    rows = list(lesson.pruning(encoder, inputs))
    assert len(rows) == len(TEXTS)
    scorer = MaskedLM(encoder)
    ranked = importance_versions(scorer, scorer.encode(PAIRS))["paper"].ranking()
    batches = scorer.encode(TEXTS)
    base = score_batches(scorer, batches)[0]
    for step, share in enumerate(lesson.SHARES):
        heads = ranked[: round(share * 6)]
        losses = score_batches(scorer, batches, heads=heads)[0]
        assert [r["worst"][step] for r in rows] == pytest.approx(losses - base, abs=1e-5)
    first = rows[0]
    assert first["worst"][0] == first["best"][0] == first["random"][0] == 0
    assert first["worst"][-1] == pytest.approx(first["best"][-1], abs=1e-5)
    assert first["orders"].shape == (collectors.DRAWS, len(lesson.SHARES))
    assert first["orders"].mean(axis=0) == pytest.approx(first["random"])


def test_a_model_that_cannot_guess_decides_nothing(tmp_path, inputs):
    silent = load_encoder(save_tiny_model(tmp_path / "bert", seed=9))
    with pytest.raises(CannotDecide, match="no masked-LM head"):
        next(iter(lesson.effects(silent, inputs)))
    with pytest.raises(CannotDecide, match="no pairs to rank"):
        collectors._ranking_pairs(Resources(texts=TEXTS, pairs=[]))


def test_every_claim_is_decided_on_a_tiny_model(encoder, inputs):
    verdicts = decide(ledger("11"), encoder, resources=inputs, twin=encoder)
    for verdict in verdicts:
        decided = verdict.claim.statistic is not None
        assert np.isfinite(verdict.value) == decided, verdict
        if verdict.claim.control:
            assert verdict.verdict != "holds"  # it is its own twin


def test_importance_is_divided_by_the_norm_of_its_layer():
    assert lesson.per_layer([[3, 4], [0, 0]]) == pytest.approx(np.array([[0.6, 0.8], [0, 0]]))


# ---- tables and figures ---------------------------------------------------------------------------------------


def test_figures_show_what_they_are_given():
    change = np.array([[0.1, 0.5], [-0.1, 0.0]])
    intervals = np.stack([change - 0.05, change + 0.05], axis=-1)
    axes = ranked_effects_figure(change, intervals, change > 0.3, ylabel="y").axes[0]
    marks = [line for line in axes.lines if line.get_marker() == "o"]
    assert [float(m.get_ydata()[0]) for m in marks] == [0.5, 0.1, 0.0, -0.1]
    assert [m.get_markerfacecolor() == "white" for m in marks] == [False, True, True, True]
    assert [t.get_text() for t in axes.texts] == ["1-2", "1-1", "2-2"]
    with pytest.raises(ValueError, match="intervals need shape"):
        ranked_effects_figure(change, change, change > 0, ylabel="y")

    axes = prediction_figure({"one": (change * 2, change)}).axes[0]
    assert axes.lines[1].get_xdata().tolist() == (2 * change).ravel().tolist()
    assert axes.lines[1].get_ydata().tolist() == change.ravel().tolist()
    assert axes.texts[0].get_text() == "1-2"  # farthest from the line
    with pytest.raises(ValueError, match="two arrays of one shape"):
        prediction_figure({"one": (change, change[0])})

    figure = pruning_figure(
        (0, 0.5, 1), {"m": {"worst": [0, 1, 2], "best": [0, 3, 4]}}, bands={"m": [[0, 1, 2], [0, 2, 3]]}
    )
    assert figure.axes[0].lines[1].get_ydata().tolist() == [0, 3, 4] and len(figure.axes[0].collections) == 1
    assert figure.axes[0].lines[0].get_xdata().tolist() == [0, 50, 100]
    figure = chance_figure({"a": [0.0, 1.0], "b": [2.0, 2.0]}, 1.5, xlabel="points")
    assert figure.axes[0].texts[0].get_text() == "reported +1.5"


def test_heads_beyond_what_chance_reaches_are_named_and_all_panels_share_a_scale():
    change = np.array([[0.1, -2.0], [0.0, 0.3]])
    figure = chance_band_figure(
        {"many": (change, {"5": 0.2, "10": 0.4}), "few": (change / 2, {"5": 3.0})}, ylabel="y"
    )
    many, few = figure.axes
    dots = [line for line in many.lines if line.get_marker() == "o"]
    assert dots[0].get_ydata().tolist() == [-2.0, 0.0, 0.1, 0.3]
    assert [t.get_text() for t in many.texts] == ["1-2"] and not few.texts  # 0.3 lies within the wider band
    assert many.get_ylim() == few.get_ylim() and many.get_ylim()[0] < -3 and many.get_ylim()[1] > 3
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["10", "5", "a head"]
    heights = [patch.get_extents().transformed(many.transData.inverted()).y1 for patch in many.patches]
    assert heights == pytest.approx([0.4, 0.2])  # the wide band beneath the narrow one
    with pytest.raises(ValueError, match=r"shape \(layer, head\); got shape \(2,\)"):
        chance_band_figure({"a": (change[0], {"5": 1.0})}, ylabel="y")
    with pytest.raises(ValueError, match="at least one band, each above 0; got {'5': 0.0}"):
        chance_band_figure({"a": (change, {"5": 0.0})}, ylabel="y")


# ---- the sixth lens -------------------------------------------------------------------------------------------

TEXT = "the cat sat on it"


def test_a_cut_is_the_whole_model_run_without_one_value_vector(encoder):
    ids = torch.tensor([encoder.tokenizer(TEXT)["input_ids"]])

    def run():
        with torch.no_grad():
            return (
                encoder.model(input_ids=ids, attention_mask=torch.ones_like(ids))
                .last_hidden_state[0]
                .double()
            )

    before, maps = run(), value_zeroing_to_output(read(encoder, TEXT))
    assert maps.shape == (3, 2, ids.shape[1], ids.shape[1])
    for layer, head, key in ((0, 1, 2), (1, 0, 0), (2, 1, 4)):

        def zero(module, given, output):
            output = output.clone()
            output[0, key, head * 5 : head * 5 + 5] = 0  # noqa: B023
            return output

        hook = attention_blocks(encoder)[layer].value.register_forward_hook(zero)
        after = run()
        hook.remove()
        turn = 1 - torch.nn.functional.cosine_similarity(after, before, dim=-1)
        assert maps[layer, head, :, key] == pytest.approx(turn.numpy(), abs=1e-5)


def test_in_the_last_layer_a_cut_is_value_zeroing_and_below_it_is_not(encoder):
    maps = value_zeroing_to_output(read(encoder, TEXT))
    zeroed = value_zeroing(read(encoder, TEXT), by_head=True, normalized=False)
    assert maps[-1] == pytest.approx(zeroed[-1], abs=1e-6)
    assert np.abs(maps[0] - zeroed[0]).max() > 1e-4
    assert np.abs(maps[-1] - zeroed[-1].swapaxes(-1, -2)).max() > 1e-4  # query and key are not exchanged
    attention = extract_attention(encoder, TEXT)
    assert maps.shape == attention.weights.shape and (maps >= 0).all()


def test_the_work_of_cutting_grows_with_the_square_of_the_text(encoder):
    assert output_zeroing_work(encoder, 20) == 4 * output_zeroing_work(encoder, 10)
    assert output_zeroing_work(encoder, 10) == 3 * 2 * 100 * 12 * 10**2 * 2


def test_heat_maps_have_a_cell_a_head_and_a_sign_beside_the_colour():
    changes = np.array([[2.0, -1.0, 0.1], [0.0, -2.0, 0.4]])
    axes = heat_figure({"MRPC": changes, "RTE": changes / 2}).axes
    assert [one.get_title(loc="left") for one in axes] == ["MRPC", "RTE"]
    assert len(axes[0].patches) == changes.size
    assert [text.get_text() for text in axes[0].texts] == ["+", "−", "−"]  # from a quarter of the largest on
    assert [text.get_text() for text in axes[1].texts] == ["+", "−", "−"]  # one scale for both
    assert axes[0].patches[0].get_facecolor() != axes[1].patches[0].get_facecolor()
    assert axes[0].texts[0].get_position() == (1, 1) and axes[0].yaxis_inverted()
    [written] = heat_figure({"": changes}, numbers=True).axes
    assert [text.get_text() for text in written.texts][:3] == ["+2.00", "−1.00", "+0.10"]
    [framed] = heat_figure({"": changes}, framed=changes < -1.5).axes
    frames = [patch for patch in framed.patches if not patch.get_fill()]
    assert [patch.get_xy() for patch in frames] == [(1.55, 1.55)]  # of head 2-2 alone
    for wrong in ({}, {"a": np.zeros(3)}, {"a": np.full((2, 2), np.nan)}):
        with pytest.raises(ValueError, match="shape \\(layer, head\\)"):
            heat_figure(wrong)


# --- the deck -------------------------------------------------------------------------------------------------


def effects_of(change):
    """Effects of which only the losses are read: a base of 2 nats, and what each head adds to each text."""
    change = np.asarray(change, dtype=float)
    base = np.full(change.shape[-1], 2.0)
    return SimpleNamespace(base_losses=base, losses=base + change.reshape(1, *change.shape))


def test_a_head_that_is_always_better_away_gains_the_same_on_both_halves():
    always = effects_of([[0, 0, 0, 0], [-0.25, -0.25, -0.25, -0.25]])
    assert best_to_remove(always) == pytest.approx([0.25, 0.25])


def test_what_chance_chose_loses_on_the_other_half_what_it_gained_on_its_own():
    """Each head's changes sum to nothing, so the two halves of the texts are each other's opposite."""
    noise = np.random.default_rng(3).normal(size=(5, 40))
    chose, other = best_to_remove(effects_of(noise - noise.mean(axis=1, keepdims=True)))
    assert chose > 0.05 and other == pytest.approx(-chose)


def test_the_published_f1_is_the_fraction_that_one_answer_is_counted_in():
    assert published_masking("MRPC").base == pytest.approx(532 / MRPC_ANSWERS, abs=5e-7)


def test_size_and_p_of_an_effect_are_its_place_and_nothing_at_all_has_none():
    series = {
        "specimen": ([[0.1, -0.01], [0.0, 0.001]], [[0.02, 0.5], [1.0, 0.9]]),
        "random twin": ([[1e-4]], [[1e-5]]),
    }
    axes = significance_figure(series, levels={".05": 0.05}, xlabel="nats").axes[0]
    ours, twins, _ = axes.lines
    assert list(zip(*ours.get_data())) == [(0.1, 0.02), (0.01, 0.5), (0.001, 0.9)]
    assert (ours.get_marker(), twins.get_marker()) == ("o", "s")
    low, high = axes.get_ylim()
    assert low > high and [text.get_text() for text in axes.texts] == [".05"]  # surer is higher


def test_a_tenth_of_the_answers_flip_and_their_sum_is_the_gain():
    drawn = pictures.flips_picture(n_items=277)
    marks = " ".join(drawn.body)
    blue, orange = (marks.count(palette.OKABE_ITO[name]) for name in ("blue", "vermillion"))
    assert blue + orange == 28 and f"{100 * (blue - orange) / 277:+.1f} points" in drawn.sentence


def test_the_head_that_is_drawn_sentence_by_sentence_is_not_missed_on_average():
    effects = effects_of([[3.0, 0.0, 0.0, 0.0], [0.5, -0.5, 0.0, 0.0], [0.1, -0.1, 0.0, 0.0]])
    deck = SimpleNamespace(effects=effects, subject="the model")
    drawn = pictures.sentences_picture(deck)
    assert "without head 1-2 of the model" in drawn.sentence and "Of the 2 heads" in drawn.sentence
    assert "+0.50 nats in one sentence" in " ".join(drawn.body)
