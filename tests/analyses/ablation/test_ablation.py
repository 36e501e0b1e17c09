"""Heads switched off: closed forms, every family, the naive loop as a second way, and what must be refused."""

import numpy as np
import pytest
import torch
from made import refusals, tiny_masked_lm
from tiny import FAMILIES, HEAD_SIZE, HEADS, LAYERS, save_tiny_model

from bertlook_course.analyses.ablation import (
    VERSIONS,
    WAYS,
    HeadEffects,
    HeadImportance,
    MaskedLM,
    ablated,
    all_heads,
    at_contexts,
    best_gain_by_chance,
    best_gain_p,
    disagreement,
    gate_gradients,
    head_importance,
    heads_that_matter,
    importance_versions,
    keep_one_effects,
    layer_effects,
    layer_heads,
    layers_of,
    positive_control,
    pruning_curve,
    read_heads,
    score_batches,
    single_head_effects,
    trace,
    uniform_context,
)
from bertlook_course.analyses.ablation import heads_off as module
from bertlook_teach import load_encoder
from bertlook_teach.model import attention_blocks
from bertlook_teach.stats import mcnemar, paired_p, percentile_interval

TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def bert(encoders):
    return encoders["bert"]


@pytest.fixture(scope="module")
def bert_with_head(tmp_path_factory):
    return tiny_masked_lm(tmp_path_factory.mktemp("mlm") / "bert")


class Classifier:
    """Three classes at [CLS], with random weights."""

    def __init__(self, encoder, n_classes=3):
        self.encoder = encoder
        width = encoder.model.config.hidden_size
        self.weights = 0.5 * torch.randn(width, n_classes, generator=torch.Generator().manual_seed(0))

    def readout(self, hidden):
        return hidden[:, 0] @ self.weights


def make_batch(size=3, tokens=7, seed=0, padded=True):
    """Random pieces; the second row ends in two padded positions."""
    draw = torch.Generator().manual_seed(seed)
    ids = torch.randint(5, 30, (size, tokens), generator=draw)
    mask = torch.ones_like(ids)
    if padded and size > 1:
        mask[1, -2:] = 0
    return ids, mask, torch.zeros_like(ids), torch.randint(0, 3, (size,), generator=draw)


def hidden(encoder, batch):
    with torch.no_grad():
        return encoder.model(input_ids=batch[0], attention_mask=batch[1]).last_hidden_state


def by_hand(encoder, batch, off, how):
    """A transcription of BERT in double precision with the attention *weights* of some heads replaced: 0, or 1/L."""
    model = encoder.model.double()
    x, real = model.embeddings(batch[0]).detach(), batch[1].bool()
    for number, layer in enumerate(model.encoder.layer):
        own, parts = layer.attention.self, []
        for head in range(HEADS):
            rows = slice(head * HEAD_SIZE, (head + 1) * HEAD_SIZE)
            q, k, v = (x @ m.weight[rows].T + m.bias[rows] for m in (own.query, own.key, own.value))
            scores = (q @ k.transpose(1, 2) / HEAD_SIZE**0.5).masked_fill(~real[:, None, :], -torch.inf)
            weights = scores.softmax(-1)
            if (number, head) in off:
                weights = torch.zeros_like(weights)
                if how == "uniform":
                    weights = (real / real.sum(1, keepdim=True))[:, None, :].expand_as(weights).double()
            parts.append(weights @ v)
        after = layer.attention.output
        middle = after.LayerNorm(torch.cat(parts, -1) @ after.dense.weight.T + after.dense.bias + x)
        x = layer.output(layer.intermediate(middle), middle)
    encoder.model.float()
    return x.detach()


# ---- naming heads ---------------------------------------------------------------------------------------------


def test_names_count_from_one_and_pairs_from_zero(bert):
    assert read_heads("1-2 3-1", bert) == ((0, 1), (2, 0))
    assert (
        read_heads("3-1, 1-2", bert)
        == read_heads([(2, 0), (0, 1)], bert)
        == read_heads(["1-2", (2, 0)], bert)
    )
    assert read_heads((2, 0), bert) == ((2, 0),)
    assert read_heads("2-*", bert) == tuple(layer_heads(bert, 1)) == ((1, 0), (1, 1))
    assert read_heads("", bert) == read_heads([], bert) == ()
    assert read_heads([np.array([2, 1])], bert) == ((2, 1),)


# ---- switching off --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("off", [[(0, 1)], [(1, 0)], [(0, 0), (2, 1)], [(1, 0), (1, 1)]])
def test_it_is_the_same_as_replacing_the_weights_by_hand(bert, how, off):
    batch = make_batch()
    wanted = by_hand(bert, batch, off, how)
    with ablated(bert, off, how):
        got = hidden(bert, batch)
    real = batch[1].bool()
    assert (got[real] - wanted[real]).abs().max() < TOLERANCE
    assert (hidden(bert, batch)[real] - wanted[real]).abs().max() > 0.05  # and it matters


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_every_layer_and_nothing_is_left_behind(encoders, family, how):
    encoder, batch = encoders[family], make_batch()
    before, seen = hidden(encoder, batch), []
    for layer in range(LAYERS):
        with ablated(encoder, layer_heads(encoder, layer), how):
            seen.append(hidden(encoder, batch))
        assert (seen[-1] - before).abs().max() > 1e-3, layer
    # ALBERT's layers share one block: were its calls not counted, these would all be equal.
    assert min(float((a - b).abs().max()) for i, a in enumerate(seen) for b in seen[:i]) > 1e-3
    assert torch.equal(hidden(encoder, batch), before)


@pytest.mark.parametrize("family", FAMILIES)
def test_only_the_layers_from_the_ablated_one_change(encoders, family):
    encoder, batch = encoders[family], make_batch()
    with torch.no_grad():
        before = encoder.model(
            input_ids=batch[0], attention_mask=batch[1], output_hidden_states=True
        ).hidden_states
        with ablated(encoder, "2-1"):
            after = encoder.model(
                input_ids=batch[0], attention_mask=batch[1], output_hidden_states=True
            ).hidden_states
    changed = [bool((a - b).abs().max() > 1e-4) for a, b in zip(before, after)]
    assert changed == [False, False, True, True]  # embeddings, then what layers 1, 2 and 3 give


def test_padding_changes_nothing_for_real_tokens(bert):
    long = make_batch(2, 7)
    short = tuple(part[1:2, :5] for part in long[:3])
    for how in WAYS:
        with ablated(bert, "1-1 2-2", how):
            assert (hidden(bert, long)[1, :5] - hidden(bert, short)[0]).abs().max() < TOLERANCE


def test_a_single_token_looks_uniformly_at_itself(bert):
    batch = make_batch(1, 1)
    with ablated(bert, "1-1 2-2", "uniform"):
        assert (hidden(bert, batch) - hidden(bert, batch)).abs().max() == 0
        got = hidden(bert, batch)
    assert (got - hidden(bert, batch)).abs().max() < 1e-6


def test_uniform_context_is_the_mean_of_the_real_values():
    values = torch.tensor([[[1.0, 2.0], [3.0, 6.0], [100.0, 100.0]]])
    assert uniform_context(values, torch.tensor([[1, 1, 0]])).tolist() == [[[2.0, 4.0]]]
    assert uniform_context(values[:, :2], None).tolist() == [[[2.0, 4.0]]]


def test_gradients_pass_through(bert):
    with ablated(bert, "1-1"):
        loss = bert.model(input_ids=make_batch()[0]).last_hidden_state.sum()
    weight = attention_blocks(bert)[0].output.weight
    (gradient,) = torch.autograd.grad(loss, weight)
    assert gradient[:, :HEAD_SIZE].abs().max() == 0 < gradient[:, HEAD_SIZE:].abs().max()


def test_hooks_leave_even_after_an_error(bert):
    before = hidden(bert, make_batch())
    with pytest.raises(KeyError), ablated(bert, "1-1"):
        raise KeyError
    assert torch.equal(hidden(bert, make_batch()), before)


def test_the_positive_control_refuses_heads_that_give_nothing(tmp_path):
    encoder = load_encoder(save_tiny_model(tmp_path / "dead"))
    with torch.no_grad():
        for block in attention_blocks(encoder):
            block.output.weight.zero_()
    for how in WAYS:
        with (
            pytest.raises(RuntimeError, match="positive control failed: with all heads"),
            ablated(encoder, "1-1", how),
        ):
            pass


def test_the_positive_control_sees_hooks_that_do_not_act(tmp_path, monkeypatch):
    encoder = load_encoder(save_tiny_model(tmp_path / "deaf"))
    monkeypatch.setattr(module._Zeroing, "apply", lambda *_: None)
    with pytest.raises(RuntimeError, match="no ablation can be trusted here"), ablated(encoder, "1-1"):
        pass


def test_the_positive_control_runs_once(tmp_path):
    encoder, calls = load_encoder(save_tiny_model(tmp_path / "once")), []
    hook = encoder.model.register_forward_hook(lambda *_: calls.append(1))
    positive_control(encoder), positive_control(encoder)
    hook.remove()
    assert len([c for c in calls if c]) <= 3  # two of the control, at most one to find the blocks


# ---- all heads, one at a time ---------------------------------------------------------------------------------

KINDS = (single_head_effects, keep_one_effects, layer_effects)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("family", FAMILIES)
def test_reusing_the_layers_below_gives_the_numbers_of_the_naive_loop(encoders, family, how):
    classifier = Classifier(encoders[family])
    batches = [make_batch(3, 7, 1), make_batch(2, 4, 2)]
    for effects in KINDS:
        keep = {} if effects is layer_effects else {"logits": True}
        fast, naive = (effects(classifier, batches, how=how, fast=fast, **keep) for fast in (True, False))
        assert np.abs(fast.losses - naive.losses).max() < TOLERANCE
        assert (fast.scores == naive.scores).all() and fast.n == 5
        assert np.ptp(fast.loss_change) > 1e-3  # heads differ, or the test could not fail
        if keep:
            assert np.abs(fast.logits - naive.logits).max() < TOLERANCE
            assert fast.logits.shape == (LAYERS, HEADS, 5, 3)


@pytest.mark.parametrize("how", WAYS)
def test_masked_pieces_too(bert_with_head, how):
    scorer = MaskedLM(bert_with_head)
    batches = scorer.encode(["a cat sat on the mat.", ("the dog ran", "it was tired"), "a"], batch_size=2)
    fast, naive = (single_head_effects(scorer, batches, how=how, fast=fast) for fast in (True, False))
    assert np.abs(fast.losses - naive.losses).max() < TOLERANCE and fast.losses.shape == (LAYERS, HEADS, 3)
    assert np.ptp(fast.loss_change) > 1e-3


def test_the_masked_lm_loss_is_that_of_transformers(bert_with_head):
    from transformers import BertForMaskedLM

    scorer = MaskedLM(bert_with_head)
    batches = scorer.encode(["a cat sat on the mat.", "the dog"], batch_size=1)
    model = BertForMaskedLM.from_pretrained(bert_with_head.folder).eval()
    losses, scores = score_batches(scorer, batches)
    for (ids, mask, segments, labels), loss in zip(batches, losses):
        with torch.no_grad():
            wanted = model(input_ids=ids, attention_mask=mask, token_type_ids=segments, labels=labels).loss
        assert float(wanted) == pytest.approx(loss, abs=1e-5)
    together = score_batches(scorer, scorer.encode(["a cat sat on the mat.", "the dog"], batch_size=2))
    np.testing.assert_allclose(together[0], losses, atol=1e-5)
    assert ((scores >= 0) & (scores <= 1)).all()


def test_keeping_one_head_of_two_is_removing_the_other(bert):
    batches = [make_batch()]
    removed, kept = (
        f(Classifier(bert), batches, logits=True) for f in (single_head_effects, keep_one_effects)
    )
    np.testing.assert_allclose(removed.logits, kept.logits[:, ::-1], atol=TOLERANCE)


def test_one_layer_one_head_one_token(tmp_path):
    encoder = load_encoder(save_tiny_model(tmp_path / "least", num_hidden_layers=1, num_attention_heads=1))
    batch = [make_batch(1, 1)]
    for how in WAYS:
        fast = single_head_effects(Classifier(encoder), batch, how=how, logits=True)
        naive = single_head_effects(Classifier(encoder), batch, how=how, fast=False, logits=True)
        assert fast.losses.shape == (1, 1, 1)
        np.testing.assert_allclose(fast.logits, naive.logits, atol=TOLERANCE)
        kept = keep_one_effects(Classifier(encoder), batch, how=how)
        np.testing.assert_allclose(kept.losses[0, 0], kept.base_losses, atol=TOLERANCE)  # nothing was off
        layer = layer_effects(Classifier(encoder), batch, how=how)
        np.testing.assert_allclose(layer.losses[0], fast.losses[0, 0], atol=TOLERANCE)


def test_small_chunks_change_nothing(bert, monkeypatch):
    batches = [make_batch(4, 6)]
    whole = single_head_effects(Classifier(bert), batches)
    monkeypatch.setattr("bertlook_course.analyses.ablation.single_heads._TOKENS_AT_ONCE", {"cpu": 1})
    np.testing.assert_allclose(
        single_head_effects(Classifier(bert), batches).losses, whole.losses, atol=TOLERANCE
    )


def test_layers_wired_differently_are_refused_and_not_trusted(tmp_path):
    encoder, batch = load_encoder(save_tiny_model(tmp_path / "odd")), make_batch()
    layer = encoder.model.encoder.layer[1]
    layer.register_forward_hook(lambda module, given, output: output + 1)  # something the parts do not show
    with pytest.raises(
        RuntimeError, match=r"layer 2 of .* recomputed from its parts, is off by .*fast=False"
    ):
        single_head_effects(Classifier(encoder), [batch])
    assert single_head_effects(Classifier(encoder), [batch], fast=False).n == 3


@pytest.mark.parametrize("family", FAMILIES)
def test_some_rows_of_a_layer_are_rows_of_the_whole(encoders, family):
    encoder, batch = encoders[family], make_batch()
    with torch.no_grad():
        traced = trace(encoder, batch)
        layer = layers_of(encoder, batch, traced)[1]
        mask, rows = batch[1].bool()[:, None, None, :], torch.tensor([[0, 3], [2, 1], [6, 6]])
        whole, part = layer.run(traced.inputs[1], mask), layer.run_rows(traced.inputs[1], mask, rows)
    for example in range(3):
        assert (part[example] - whole[example, rows[example]]).abs().max() < TOLERANCE


def test_evaluation_mode_without_dropout_and_the_mode_is_put_back(bert):
    bert.model.train()
    try:
        one, other = (single_head_effects(Classifier(bert), [make_batch()]).losses for _ in range(2))
        assert (one == other).all() and bert.model.training
    finally:
        bert.model.eval()


def test_a_regression_is_scored_by_its_squared_error(bert):
    ids, mask, segments, _ = make_batch(2)
    effects = single_head_effects(
        Classifier(bert, 1), [(ids, mask, segments, torch.tensor([0.5, 2.0]))], logits=True
    )
    np.testing.assert_allclose(effects.losses, (effects.logits[..., 0] - [0.5, 2.0]) ** 2, rtol=1e-5)
    np.testing.assert_allclose(effects.scores, -effects.losses)


# ---- importance -----------------------------------------------------------------------------------------------


def explicit_gates(classifier, batch, xi):
    """Loss of each example with gates xi (batch, layer, head) of one number each, by hooks of its own."""
    blocks = attention_blocks(classifier.encoder)
    order = iter(range(len(blocks)))

    def gate(block, given):
        own = xi[:, next(order)].repeat_interleave(HEAD_SIZE, dim=1)[:, None, :]
        return (given[0] * own,)

    hooks = [module.register_forward_pre_hook(gate) for module in {block.output for block in blocks}]
    try:
        output = classifier.encoder.model(input_ids=batch[0], attention_mask=batch[1]).last_hidden_state
    finally:
        for hook in hooks:
            hook.remove()
    return torch.nn.functional.cross_entropy(classifier.readout(output), batch[3], reduction="none")


@pytest.mark.parametrize("family", FAMILIES)
def test_one_backward_pass_gives_what_a_gate_for_each_example_gives(encoders, family):
    classifier, batch = Classifier(encoders[family]), make_batch(4)
    got = gate_gradients(classifier, [batch])
    assert got.shape == (4, LAYERS, HEADS)
    for example in range(4):
        one = tuple(part[example : example + 1] for part in batch)
        xi = torch.ones(1, LAYERS, HEADS, requires_grad=True)
        (gradient,) = torch.autograd.grad(explicit_gates(classifier, one, xi).sum(), xi)
        np.testing.assert_allclose(got[example], gradient[0].numpy(), atol=2e-6)


def test_it_is_the_slope_of_the_loss(bert):
    classifier, batch = Classifier(bert), make_batch(3)
    got, step = gate_gradients(classifier, [batch]), 1e-2
    for layer, head in all_heads(bert):
        losses = []
        for value in (1 + step, 1 - step):
            xi = torch.ones(3, LAYERS, HEADS)
            xi[:, layer, head] = value
            losses.append(explicit_gates(classifier, batch, xi).detach().numpy())
        np.testing.assert_allclose(got[:, layer, head], (losses[0] - losses[1]) / (2 * step), atol=1e-3)


def test_the_three_versions_are_what_they_say(bert):
    classifier, batches = Classifier(bert), [make_batch(3, 7, 1), make_batch(4, 5, 2)]
    each = [gate_gradients(classifier, [batch]) for batch in batches]
    versions = importance_versions(classifier, batches)
    np.testing.assert_allclose(versions["paper"].raw, np.abs(np.concatenate(each)).mean(axis=0))
    np.testing.assert_allclose(
        versions["script"].raw, np.abs(np.cumsum([e.sum(axis=0) for e in each], axis=0)).sum(axis=0) / 7
    )
    np.testing.assert_allclose(versions["paper"].signed, np.concatenate(each).mean(axis=0))
    # sum over examples of |.| <= sum over tokens of |.|
    assert (versions["paper"].raw <= versions["released"].raw + 1e-12).all()
    assert (versions["paper"].raw[:-1] < versions["released"].raw[:-1]).all()
    np.testing.assert_allclose(
        versions["paper"].raw[-1], versions["released"].raw[-1]
    )  # at the top only [CLS] has a gradient
    np.testing.assert_allclose((versions["paper"].values ** 2).sum(axis=1), 1)
    np.testing.assert_allclose((versions["released"].values ** 2).sum(axis=1), 1)
    assert versions["script"].values.min() == 0 and versions["script"].values.max() == 1
    assert all(versions[v].n == 7 for v in VERSIONS)


def test_the_released_version_sums_tokens_by_themselves(bert):
    classifier, batch = Classifier(bert), make_batch(2)
    kept = []

    def keep(layer, context, values, mask):
        context = context.detach().clone().requires_grad_() if not layer else context
        context.retain_grad()
        kept.append(context)
        return context

    with at_contexts(bert, keep):
        output = bert.model(input_ids=batch[0], attention_mask=batch[1]).last_hidden_state
    torch.nn.functional.cross_entropy(classifier.readout(output), batch[3], reduction="sum").backward()
    wanted = np.stack(
        [
            (c * c.grad).unflatten(-1, (HEADS, HEAD_SIZE)).sum(-1).abs().sum((0, 1)).detach().numpy() / 2
            for c in kept
        ]
    )
    bert.model.zero_grad()
    np.testing.assert_allclose(
        importance_versions(classifier, [batch])["released"].raw, wanted, rtol=1e-4, atol=1e-7
    )


def test_only_the_script_depends_on_the_batch_size_and_on_the_order(bert):
    classifier, whole = Classifier(bert), make_batch(6, 7, 4)
    parts = [tuple(part[i : i + 1] for part in whole) for i in range(6)]
    together, apart = importance_versions(classifier, [whole]), importance_versions(classifier, parts)
    for version in ("paper", "released"):
        np.testing.assert_allclose(together[version].raw, apart[version].raw, rtol=1e-3, atol=1e-6)
    turned = importance_versions(classifier, parts[::-1])
    for version in ("paper", "released"):
        np.testing.assert_allclose(turned[version].raw, apart[version].raw, rtol=1e-3, atol=1e-6)
    assert np.abs(together["script"].raw - apart["script"].raw).max() > 1e-3
    assert np.abs(turned["script"].raw - apart["script"].raw).max() > 1e-3


def test_the_script_is_what_its_own_loop_gives(bert):
    """The loop of run_bertology.py: one mask with a gradient that is never set to zero, its absolute value added up after each batch."""
    classifier, batches = Classifier(bert), [make_batch(3, 7, 1), make_batch(4, 5, 2), make_batch(2, 6, 3)]
    mask, total = torch.ones(LAYERS, HEADS, requires_grad=True), 0.0
    for batch in batches:
        losses = explicit_gates(classifier, batch, mask.expand(len(batch[0]), LAYERS, HEADS))
        losses.sum().backward()
        total = total + mask.grad.abs().numpy().copy()
    np.testing.assert_allclose(
        importance_versions(classifier, batches)["script"].raw, total / 9, rtol=1e-3, atol=1e-6
    )


def test_heads_that_are_off_have_no_importance_and_the_others_are_measured_without_them(bert):
    classifier, batches = Classifier(bert), [make_batch(4)]
    got = head_importance(classifier, batches, heads_off=[(1, 0)])
    assert got.raw[1, 0] == 0 and got.values[1, 1] == pytest.approx(1)
    with ablated(bert, [(1, 0)]):
        xi = torch.ones(4, LAYERS, HEADS, requires_grad=True)
        (gradient,) = torch.autograd.grad(explicit_gates(classifier, batches[0], xi).sum(), xi)
    np.testing.assert_allclose(got.raw[2], gradient[:, 2].abs().mean(0).numpy(), atol=2e-6)


def test_a_small_head_changes_the_loss_as_its_slope_predicts(tmp_path):
    encoder = load_encoder(save_tiny_model(tmp_path / "small"))
    with torch.no_grad():
        for block in attention_blocks(encoder):
            block.output.weight.mul_(0.01)  # so small that a straight line is the truth
    classifier, batches = Classifier(encoder), [make_batch(4)]
    predicted = -gate_gradients(classifier, batches).mean(axis=0)
    true = single_head_effects(classifier, batches).loss_change
    assert np.abs(true).max() > 1e-4
    np.testing.assert_allclose(predicted, true, atol=0.1 * np.abs(true).max())


def test_ranking_and_disagreement():
    def importance(values):
        values = np.array(values)
        return HeadImportance(values, values, values, "paper", 1)

    assert importance([[0.5, 0.1], [0.3, 0.1]]).ranking() == [(0, 1), (1, 1), (1, 0), (0, 0)]
    one, other = importance([[1, 2], [3, 4]]), importance([[4, 3], [2, 1]])
    assert disagreement({"a": one, "b": other, "c": one}) == pytest.approx(
        {("a", "b"): -1, ("a", "c"): 1, ("b", "c"): -1}
    )


# ---- curves ---------------------------------------------------------------------------------------------------


def test_a_curve_goes_from_all_heads_to_none_in_the_order_of_importance(bert):
    classifier, train, test = Classifier(bert), [make_batch(6, 7, 1)], [make_batch(8, 7, 2)]
    curve = pruning_curve(classifier, train, test, steps=6)
    assert [len(off) for off in curve.off] == list(range(7)) and curve.shares[-1] == 1
    assert list(curve.off[-1]) == head_importance(classifier, train).ranking()
    for step in (0, 2, 6):
        losses, scores = score_batches(classifier, test, heads=curve.off[step])
        assert curve.losses[step] == pytest.approx(losses.mean()) and curve.scores[step] == pytest.approx(
            scores.mean()
        )
    assert (curve.low <= curve.scores).all() and (curve.scores <= curve.high).all()
    best = pruning_curve(classifier, train, test, order="best first", steps=6)
    assert best.off[-1] == curve.off[-1][::-1]
    assert curve.removed(1) and curve.rows()[1]["heads_off"] == 1


def test_ranking_again_removes_at_each_step_the_least_important_of_those_left(bert):
    classifier, train, test = Classifier(bert), [make_batch(6, 7, 1)], [make_batch(4, 7, 2)]
    curve = pruning_curve(classifier, train, test, rerank=True, steps=3)
    for before, after in zip(curve.off[1:-1], curve.off[2:]):
        assert set(before) < set(after)
        ranked = head_importance(classifier, train, heads_off=before).ranking()
        left = [pair for pair in ranked if pair not in before]
        assert set(after) - set(before) == set(left[:2])
    assert curve.ranked == "again at each step"


def test_random_orders_give_a_band(bert):
    classifier, batches = Classifier(bert), [make_batch(8)]

    def drawn(seed):
        return pruning_curve(classifier, (), batches, order="random", n_orders=3, steps=3, seed=seed)

    band, other = drawn(1), drawn(2)
    assert (band.low <= band.scores).all() and (band.scores <= band.high).all() and band.n_orders == 3
    assert band.off == drawn(1).off != other.off
    # By hand: order number i is drawn with seed + i.
    heads = all_heads(bert)
    orders = [[heads[i] for i in np.random.default_rng(seed).permutation(len(heads))] for seed in (1, 2, 3)]
    each = [score_batches(classifier, batches, heads=order[:2]) for order in orders]
    assert band.scores[1] == pytest.approx(np.mean([scores.mean() for _, scores in each]))
    assert band.losses[1] == pytest.approx(np.mean([losses.mean() for losses, _ in each]))
    assert len(band.losses) == 4 and band.rows()[0].keys() >= {"loss", "ranked"}


# ---- statistics -----------------------------------------------------------------------------------------------


def effects_of(base, without):
    base, without = np.asarray(base, float), np.asarray(without, float)
    return HeadEffects(-without, without, -base, base, "zero", "remove one head", "accuracy")


def test_a_head_that_matters_is_found_and_noise_is_not():
    random = np.random.default_rng(1)
    base = (random.random(400) < 0.5).astype(float)  # so that noise costs as much as it gains
    without = np.repeat(base[None, None], 12, axis=0).reshape(3, 4, 400).copy()
    flips = random.random(without.shape) < 0.04
    without[flips] = 1 - without[flips]
    without[1, 2] = np.where(random.random(400) < 0.4, 0, base)
    answer = heads_that_matter(effects_of(base, without))
    assert answer.in_every_run == ((1, 2),) and answer.significant.tolist() == [1]
    assert (answer.found >= 1).all() and np.median(answer.confirmed) == 1
    assert answer.change[0, 1, 2] < -0.15 and answer.expected_by_chance == pytest.approx(0.6)
    assert "in every run: 2-3" in repr(answer)
    again = heads_that_matter([effects_of(base, without), effects_of(base, without[::-1])])
    assert again.in_every_run == ((1, 2),) and again.p.shape == (2, 3, 4)
    swapped = heads_that_matter([effects_of(base, without), effects_of(base, without[:, ::-1])])
    assert swapped.in_every_run == ()  # another head in each run
    assert heads_that_matter(effects_of(base, without), by="loss").in_every_run == ((1, 2),)


def test_a_unit_stays_in_one_half():
    base = np.tile([1.0, 0.0], 20)
    without = 1 - base[None, None]
    answer = heads_that_matter(effects_of(base, without), units=np.repeat(np.arange(20), 2))
    assert (answer.change == 0).all() and (answer.found == 0).all()  # each unit's two changes cancel


def test_the_best_of_several_gains_by_chance():
    one = best_gain_by_chance(277, 1, changed=0.1, runs=20_000)
    # One try: mean 0, variance n changed in answers.
    assert abs(one.mean()) < 0.05 and one.std() == pytest.approx(100 * np.sqrt(277 * 0.1) / 277, rel=0.03)
    twelve, all_of_them = (best_gain_by_chance(277, tries, changed=0.1) for tries in (12, 144))
    assert one.mean() < twelve.mean() < all_of_them.mean()
    assert percentile_interval(twelve)[0] < 3.2 < percentile_interval(twelve)[1]
    assert (best_gain_by_chance(277, 144, changed=0, runs=5) == 0).all()


def test_the_chance_of_the_best_gain_keeps_how_heads_depend_on_one_another():
    random = np.random.default_rng(2)
    base = (random.random(200) < 0.6).astype(float)
    noise = np.where(random.random((3, 4, 200)) < 0.1, 1 - base, base)
    gain, p = best_gain_p(effects_of(base, noise))
    assert gain == pytest.approx(100 * (noise - base).mean(-1).max()) and p > 0.05
    real = noise.copy()
    real[0, 0] = np.where(random.random(200) < 0.3, 1, base)
    assert best_gain_p(effects_of(base, real))[1] < 0.01
    # Twelve copies of one head are one try, not twelve.
    copies = np.repeat(noise[:1, :1], 12, axis=1)
    single = best_gain_p(effects_of(base, noise[:1, :1]))[1]
    assert best_gain_p(effects_of(base, copies))[1] == single


# ---- what is refused ------------------------------------------------------------------------------------------


def switched_off(encoder, heads, how="zero", **options):
    with ablated(encoder, heads, how, **options):
        pass


def test_all_heads_may_go_if_that_is_meant(bert):
    switched_off(bert, all_heads(bert), allow_all=True)


BATCH, OTHER = make_batch(4, 7, 1), make_batch(4, 7, 2)
SAME = [BATCH]
THREE = effects_of([1, 0, 1], np.ones((1, 1, 3)))

test_what_is_refused = refusals(
    (lambda bert: read_heads("8-10", bert), "no head 8-10: .* has 3 layers of 2 heads, .*count from 1, so they run from 1-1 to 3-2"),
    (lambda bert: read_heads("3-3", bert), "run from 1-1 to 3-2"),
    (lambda bert: read_heads("9-*", bert), "no head 9-\\*"),
    (lambda bert: read_heads([(3, 0)], bert), r"no head \(3, 0\): .*pairs count from 0, so they run from \(0, 0\) to \(2, 1\)"),
    (lambda bert: read_heads([(0, 2)], bert), "pairs count from 0"),
    (lambda bert: read_heads([(0, -1)], bert), "pairs count from 0"),
    (lambda bert: read_heads("1-2 1-2", bert), "head 1-2 .* is named twice"),
    (lambda bert: read_heads(["1-2", (0, 1)], bert), "named twice"),
    (lambda bert: read_heads("1-* 1-2", bert), "named twice"),
    (lambda bert: read_heads("1-0", bert), "counted from 1"),
    (lambda bert: read_heads("1.2", bert), "a head is named layer-head"),
    (lambda bert: read_heads([(0.0, 1.0)], bert), "a pair .* of whole numbers"),
    (lambda bert: read_heads([1, 2], bert), "a pair .* of whole numbers"),
    (lambda bert: read_heads(7, bert), "printed names such as"),
    (lambda bert: layer_heads(bert, 3), "no layer 3 .* count from 0 to 2 here"),
    (lambda bert: switched_off(bert, all_heads(bert)), "all 6 heads .* allow_all=True"),
    (lambda bert: switched_off(bert, "1-1", "mask"), "'zero' .* or 'uniform'"),
    (lambda: uniform_context(torch.ones(1, 3, 2), torch.ones(1, 1, 3, 3)), "which are real, in shape"),
    (lambda bert: single_head_effects(Classifier(bert), []), "no batch to score"),
    (lambda bert: single_head_effects(Classifier(bert), [BATCH[:3]]), "a batch is .input_ids, attention_mask, segment_ids, labels."),
    (lambda bert: single_head_effects(Classifier(bert), [(*BATCH[:3], None)]), "have no labels"),
    (
        lambda bert: single_head_effects(Classifier(bert), [(*BATCH[:3], torch.tensor([0, -100, 1, 1]))]),
        "1 of 4 examples of a batch have no label",
    ),
    (lambda bert: single_head_effects(bert, [BATCH]), "MaskedLM", TypeError),
    (lambda bert: single_head_effects(Classifier(bert, 1), [BATCH]), "a regression"),
    (lambda bert: MaskedLM(bert, head=lambda hidden: hidden).encode([]), "no text was given"),
    (lambda bert: head_importance(Classifier(bert), [BATCH], "best"), "one of paper, released, script"),
    (lambda bert: pruning_curve(Classifier(bert), SAME, SAME), "are the same examples"),
    (
        lambda bert: pruning_curve(Classifier(bert), [make_batch(4, 7, 1)], [BATCH]),
        "4 inputs are among the examples to rank on and among those to score on",
    ),
    (lambda bert: pruning_curve(Classifier(bert), [BATCH], [OTHER], order="worst"), "order is one of"),
    (lambda bert: pruning_curve(Classifier(bert), [BATCH], [OTHER], steps=0), "one step or more"),
    (lambda bert: pruning_curve(Classifier(bert), (), [OTHER], order="random", n_orders=1), "two random orders"),
    (lambda bert: pruning_curve(Classifier(bert), [BATCH], [OTHER], units=[0, 1]), "4 examples, 2 units"),
    (lambda: heads_that_matter(THREE), "four examples"),
    (lambda: heads_that_matter(THREE, by="accuracy"), "'score' or 'loss'"),
    (lambda: heads_that_matter([THREE, effects_of([1, 0], np.ones((1, 1, 2)))]), "the same examples"),
    (lambda: heads_that_matter(THREE, units=[1, 2]), "one unit an example"),
    (lambda: best_gain_by_chance(0, 12), "1 or more"),
    (lambda: best_gain_by_chance(277, 12, changed=10), "from 0 to 1"),
    (lambda: mcnemar([0.5], [1]), "right and wrong answers"),
    (lambda: mcnemar([1, 0], [1]), "same examples before and after"),
    (lambda: paired_p([1.0], [2.0]), "two examples or more"),
)  # fmt: skip
