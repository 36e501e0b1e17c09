"""Refutations by what the papers themselves printed, drew or released: no model is run. Percentages as published."""

from __future__ import annotations

import numpy as np

from bertlook_teach.measures import THRESHOLDS
from bertlook_teach.stats import monte_carlo_p

from ...metrics import rank_correlation
from ...published import (
    DEPTHS,
    published_gradients,
    published_heads,
    published_layers,
    published_map,
    published_number,
    published_probing,
    published_table_1,
    published_table_2,
    read_published,
)
from .refutation import Refutation

SATURATED = ((3, 1), (3, 10), (8, 4), (8, 8), (8, 7), (6, 8), (6, 2), (9, 6), (9, 1), (10, 5))


# --- where heads look ----------------------------------------------------------------------------------------
def early_heads_attend_to_cls(share=None) -> Refutation:
    """Lesson 03."""
    share = published_layers("cls") if share is None else np.asarray(share)
    sentence = f"In BERT-base layer 1 gives [CLS] {share[0]:.3f}; layers 2 to 4 give {share[1]:.3f}, {share[2]:.3f} and {share[3]:.3f}."
    return Refutation(sentence, float(share[0]), bool(share[0] < share[1:4].min() / 2))


def most_attention_is_special_everywhere(share=None) -> Refutation:
    """Lesson 03. [CLS], [SEP], full stop and comma together."""
    share = (
        sum(published_layers(kind) for kind in ("cls", "sep", "punct"))
        if share is None
        else np.asarray(share)
    )
    below = [int(layer) + 1 for layer in np.flatnonzero(share <= 0.5)]
    sentence = f"[CLS], [SEP] and . or , together get more than half in {len(share) - len(below)} of {len(share)} layers; not in {below}."
    return Refutation(sentence, float(share.min()), bool(below))


def sep_always_prefers_sep(own=None, other=None) -> Refutation:
    """Lesson 03."""
    own = published_layers("sep_to_sep") if own is None else np.asarray(own)
    other = published_layers("other_to_sep") if other is None else np.asarray(other)
    worst = int((own - other).argmin())
    sentence = f"In layer {worst + 1} [SEP] gives [SEP] {own[worst]:.3f}, and the other tokens give it {other[worst]:.3f}."
    return Refutation(sentence, float(own[worst] - other[worst]), bool(own[worst] < other[worst]))


def layers_6_to_10_rest_on_sep(share=None) -> Refutation:
    """Lesson 03."""
    share = published_layers("sep") if share is None else np.asarray(share)
    named = range(6, 11)
    below = [layer for layer in named if share[layer - 1] <= 0.5]
    lowest = min(named, key=lambda layer: share[layer - 1])
    sentence = f"Of layers 6 to 10 {len(below)} stay at or below one half; the lowest is layer {lowest} with {share[lowest - 1]:.3f}."
    return Refutation(sentence, float(share[lowest - 1]), bool(below))


def sep_to_sep_over_90(own=None) -> Refutation:
    """Lesson 03. Layers 5 to 9, where the head means are highest."""
    own = published_layers("sep_to_sep") if own is None else np.asarray(own)
    above = [layer for layer in range(5, 10) if own[layer - 1] > 0.9]
    sentence = f"Of layers 5 to 9 the mean over heads exceeds .9 in {above}; the lowest of them has {own[4:9].min():.3f}."
    return Refutation(sentence, float(own[4:9].min()), len(above) < 5)


def punctuation_takes_the_last_two_layers(share=None) -> Refutation:
    """Lesson 03."""
    share = published_layers("punct") if share is None else np.asarray(share)
    sentence = f"Full stops and commas get {share[-2]:.4f} in the last layer but one and {share[-1]:.4f} in the last."
    return Refutation(sentence, float(share[-2:].min()), bool(share[-2:].min() <= 0.5))


def bag_of_words_stays_at_home(entropy: float | None = None, tokens: float = 122.1) -> Refutation:
    """Lesson 02. Head 1-1 of BERT-base, which was told that both texts are segment A; mean length of the released texts."""
    entropy = float(published_heads("entropy_clark")[0, 0]) if entropy is None else entropy
    half = float(np.log(tokens / 2))
    sentence = f"With one segment id for both texts its entropy is {entropy:.2f} nats; half of a text holds at most {half:.2f}."
    return Refutation(sentence, entropy - half, entropy > half)


def next_word_heads_in_1_2_2_3_6(drawn=None) -> Refutation:
    """Lesson 03."""
    labels = published_map().labels
    drawn = sorted(np.argwhere(labels == "next")[:, 0] + 1) if drawn is None else sorted(drawn)
    rows = read_published("clark_relative_position")
    said = [int(row.layer) for row in rows if "next token (layers stated" in row.quantity]
    sentence = (
        f"The text names layers {said}; the figure labels heads in layers {[int(layer) for layer in drawn]}."
    )
    return Refutation(sentence, float(len(drawn)), [int(layer) for layer in drawn] != said)


def the_is_always_next_to_its_noun(right: float | None = None) -> Refutation:
    """Lessons 06 and 13."""
    right = published_table_1()["det"].baseline if right is None else right
    return Refutation(
        f"The next word is the governor of {right:.1f} % of the determiners.", right, right < 90
    )


# --- is it important? ------------------------------------------------------------------------------------------
def sep_weight_is_importance(share=None, gradient=None) -> Refutation:
    """Lesson 04. Over the layers of BERT-base."""
    share = published_layers("sep") if share is None else np.asarray(share)
    gradient = published_gradients("sep") if gradient is None else np.asarray(gradient)
    rho = rank_correlation(share, gradient)
    sentence = f"Over {len(share)} layers attention to [SEP] and the loss's gradient on it correlate by rho = {rho:.2f}."
    return Refutation(sentence, rho, rho < 0)


def every_special_token_is_a_no_op(share=None, gradient=None, shuffles: int = 500) -> Refutation:
    """Lesson 13. What is said of [SEP], tried on full stops and commas."""
    share = published_layers("punct") if share is None else np.asarray(share)
    gradient = published_gradients("punct") if gradient is None else np.asarray(gradient)
    rho, generator = rank_correlation(share, gradient), np.random.default_rng(0)
    null = [rank_correlation(generator.permutation(share), gradient) for _ in range(shuffles)]
    p = 2 * monte_carlo_p(np.negative(null), -rho)
    sentence = f"For . and , rho = {rho:.2f} over {len(share)} layers, p = {p:.2f}; for [CLS] no gradient was published."
    return Refutation(sentence, p, p > 0.05)


def _on_distilbert(kind: str) -> float:
    quantity = f"Spearman with input gradients, DistilBERT SST-2: {kind}"
    rows = read_published("abnar_rollout_flow")
    return float(np.mean([float(row.value) for row in rows if row.quantity == quantity]))


def rollout_is_proven_for_bert(raw: float | None = None, rollout: float | None = None) -> Refutation:
    """Lesson 04."""
    raw = _on_distilbert("raw attention") if raw is None else raw
    rollout = _on_distilbert("rollout") if rollout is None else rollout
    sentence = f"On DistilBERT raw attention agrees with input gradients by {raw:.2f}, rollout by {rollout:.2f}: both hardly at all."
    return Refutation(sentence, rollout, rollout < 0.3)


# --- syntax and coreference --------------------------------------------------------------------------------------
def no_syntactic_heads(gain: dict | None = None) -> Refutation:
    """Lesson 06."""
    rows = published_table_1().values()
    gain = {r.relation: r.accuracy - r.baseline for r in rows if not r.erratum} if gain is None else gain
    far = [relation for relation, points in gain.items() if points > 20]
    best = max(gain, key=gain.get)
    sentence = f"{len(far)} relations have a head more than 20 points above the best offset; {best} by {gain[best]:.1f}. All together: {gain['all']:.1f}."
    return Refutation(sentence, gain[best], bool(far))


def high_score_knows_grammar(accuracy: float | None = None, baseline: float | None = None) -> Refutation:
    """Lesson 06."""
    row = published_table_1()["nn"]
    accuracy = row.accuracy if accuracy is None else accuracy
    baseline = row.baseline if baseline is None else baseline
    sentence = f"The best head for nn finds {accuracy:.1f} %, and always naming the same offset finds {baseline:.1f} %."
    return Refutation(sentence, accuracy - baseline, accuracy - baseline < 2)


def noun_modifiers_94(accuracy: dict | None = None) -> Refutation:
    """Lesson 06."""
    rows = published_table_1()
    names = ("det", "amod", "nn", "poss")
    accuracy = {name: rows[name].accuracy for name in names} if accuracy is None else accuracy
    told = ", ".join(f"{name} {value:.1f}" for name, value in accuracy.items())
    lowest = min(accuracy.values())
    return Refutation(f"What modifies a noun, each with its own best head: {told}.", lowest, lowest < 90)


def passive_auxiliary_gains_42(printed: float | None = None, released: float | None = None) -> Refutation:
    """Lesson 06."""
    row = published_table_1()["auxpass"]
    printed = row.accuracy - row.baseline if printed is None else printed
    released = row.code_accuracy - row.code_baseline if released is None else released
    sentence = (
        f"auxpass: a gain of {printed:.1f} points as printed, of {released:.1f} in the authors' own output."
    )
    return Refutation(sentence, printed - released, printed - released > 5)


def head_5_4_beats_the_rules(score: float | None = None) -> Refutation:
    """Lesson 07."""
    rows = published_table_2()
    score = rows["best head"].all if score is None else score
    rules = {name: rows[name].all for name in ("nearest", "head match", "four sieves")}
    told = ", ".join(f"{name} {value:.0f}" for name, value in rules.items())
    return Refutation(
        f"The head finds {score:.0f} %; {told}.", score - max(rules.values()), score < max(rules.values())
    )


# --- layers, pruning, keywords --------------------------------------------------------------------------------------
def one_answer_to_where(expected: float | None = None, centre: float | None = None) -> Refutation:
    """Lesson 10."""
    row = published_probing("BERT-large")["POS"]
    expected = row.expected if expected is None else expected
    centre = row.centre if centre is None else centre
    sentence = f"Word classes in BERT-large: expected layer {expected:.2f}, centre of gravity {centre:.2f}."
    return Refutation(sentence, centre - expected, abs(centre - expected) > 3)


def base_and_large_share_numbers(task: str = "Coreference") -> Refutation:
    """Lesson 10."""
    base, large = (published_probing(model)[task].expected for model in DEPTHS)
    sentence = f"{task}: expected layer {base:.2f} of {DEPTHS['BERT-base']} in BERT-base, {large:.2f} of {DEPTHS['BERT-large']} in BERT-large."
    return Refutation(sentence, large - base, abs(large - base) > 1)


def fewer_heads_run_faster(gain: float | None = None) -> Refutation:
    """Lesson 11. Half of the heads really removed."""
    gain = published_number("michel_pruning_and_speed", "gain, batch 1") if gain is None else gain
    large = published_number("michel_pruning_and_speed", "gain, batch 16")
    sentence = (
        f"Half of the heads removed: {gain:.1f} % faster with one example at a time, {large:.1f} % with 16."
    )
    return Refutation(sentence, gain, gain < 5)


def lowest_entropy_finds_keywords(heads=SATURATED) -> Refutation:
    """Lesson 12. The ten heads with the lowest "entropy" of one keyword study, as printed names."""
    sep, labels = published_heads("sep"), published_map().labels
    saturated = [
        sep[layer - 1, head - 1] > THRESHOLDS["sep"][1] or labels[layer - 1, head - 1] == "next"
        for layer, head in heads
    ]
    sentence = f"{sum(saturated)} of the {len(heads)} heads look at [SEP] or at the next token, whatever stands there."
    return Refutation(sentence, float(np.mean(saturated)), bool(np.mean(saturated) > 0.7))
