"""Lesson 14: what fine-tuning changes. Kovaleva et al. (2019), Table 1 and Figure 5; Zhao and Bethard (2020).

Fine-tuned models do not ship with the course, so the evidence makes them: the model learns negation scopes from half of the shipped
sentences, and a control task on the same sentences, three times each; the other half is what the claims are tried on. The random
twin goes the same way, once. What was tuned is kept for this process, and a lesson that tunes takes it from there.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..attention import check_reading
from ..checkpoints import match_heads
from ..claims import CannotDecide, Claim, Values
from ..negation import f1_of, kendall
from ..negation_data import load_negation
from ..published import published_number
from ..published_ablation import KOVALEVA_TASKS
from ..published_finetuning import (
    published_cosines,
    published_gains,
    published_head_f1,
    published_mean_f1,
)

KOVALEVA, ZHAO, COURSE = "Kovaleva et al. 2019", "Zhao & Bethard 2020", "This course"
MOST_PARAMETERS = 20_000_000  # on a CPU: six rounds of training a larger model are no matter of a minute
FEWEST = 20  # sentences of either half that the model can read whole
CONDITIONS = ("before", "negation", "control")


# --- evidence ------------------------------------------------------------------------------------------


def taggers(encoder) -> dict[str, list]:
    """The models tuned on "negation" and on "control": three seeds each; one for a random twin.

    Raises
    ------
    CannotDecide
        If the model is too large to be tuned here, or its family has no head for words.
    """
    from ..scope_tuning import SEEDS, TASKS, tuned

    parameters = sum(p.numel() for p in encoder.model.parameters())
    if parameters > MOST_PARAMETERS and encoder.device.type == "cpu":
        raise CannotDecide(
            f"{encoder.name} has {parameters / 1e6:.0f} million parameters, too many to tune six times on a CPU; tune it elsewhere "
            "and use bertlook compare"
        )
    obstacles = [bool(check_reading(encoder, s.words).obstacle) for s in load_negation("train")]
    if any(obstacles):
        raise CannotDecide(f"{sum(obstacles)} sentences to tune on cannot be read whole by {encoder.name}")
    seeds = SEEDS if encoder.seed is None else SEEDS[:1]
    try:
        return {task: [tuned(encoder, task, seed=seed) for seed in seeds] for task in TASKS}
    except ValueError as error:
        raise CannotDecide(str(error)) from None


def sentences(encoder, resources, *, negated: bool) -> list:
    """The half that reports, as far as the model can read it and the limit goes."""
    found = [s for s in load_negation("test") if not check_reading(encoder, s.words).obstacle]
    if negated:
        found = [s for s in found if any(n.scope for n in s.negations)]
    if len(found) < FEWEST:
        raise CannotDecide(f"{encoder.name} can read only {len(found)} of the sentences whole")
    return found[: resources.limit]


def cues(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each sentence with a negation: hits and words pointing at the cue of every head, before, tuned on negation, tuned on control
    (a first axis for the seed), and the same with another word as the cue; words in a scope; words told to be in or out."""
    from ..negation import random_cue, score_heads
    from ..scope_tuning import IN, scope_labels

    tuned = taggers(encoder)
    chosen = sentences(encoder, resources, negated=True)
    scored = {"before": [score_heads(encoder, chosen)], "another": [random_cue(encoder, chosen)]}
    scored |= {task: [score_heads(t.encoder, chosen) for t in own] for task, own in tuned.items()}
    gold = scope_labels(chosen)
    told = [tagger.predict([s.words for s in chosen]) for tagger in tuned["negation"]]
    for i in range(len(chosen)):
        row = {"scope": scored["before"][0].scope[i], "another_scope": scored["another"][0].scope[i]}
        for name, runs in scored.items():
            row[f"{name}_hits"] = np.stack([run.hits[i] for run in runs])
            row[f"{name}_pointing"] = np.stack([run.pointing[i] for run in runs])
        row["told_hits"] = np.array([sum(a == b == IN for a, b in zip(t[i], gold[i])) for t in told])
        row["told_in"] = np.array([t[i].count(IN) for t in told])
        row["words"] = len(gold[i])
        yield row


def changes(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each sentence: cosine, floor and divergence of every head before and after each task (a first axis for the seed), the share
    of [SEP] before and after, where [CLS] looks in the last layer, and for the first seed the divergence of all pairs of heads."""
    from ..attention import iter_attention
    from ..checkpoints import compare_checkpoints
    from ..surface import attention_share, token_masks

    tuned = taggers(encoder)
    texts = [list(s.words) for s in sentences(encoder, resources, negated=False)]
    compared = {
        task: [
            compare_checkpoints(encoder, t.encoder, texts, matching=not number, measures=("sep",))
            for number, t in enumerate(own)
        ]
        for task, own in tuned.items()
    }
    first = tuned["negation"][0].encoder
    for i, after in enumerate(iter_attention(first, texts)):
        row = {}
        for task, runs in compared.items():
            for name in ("cosine", "floor", "js"):
                row[f"{name}_{task}"] = np.stack([getattr(run, name)[i] for run in runs])
            row[f"cross_{task}"] = runs[0].cross[i]
            row["sep_before"] = runs[0].curves["sep"][i, 0]
            row[f"sep_{task}"] = np.stack([run.curves["sep"][i, 1] for run in runs])
        masks = token_masks(after)
        if masks["sep"].any() and masks["punct"].any():
            row["cls_to_sep"] = attention_share(after, masks["sep"], masks["cls"])[-1]
            row["cls_to_punct"] = attention_share(after, masks["punct"], masks["cls"])[-1]
        yield row


EVIDENCE = {"cues before and after": cues, "maps before and after": changes}


# --- statistics ----------------------------------------------------------------------------------------


def f1(values: Values, condition: str) -> np.ndarray:
    """F1 of every head, mean over seeds: shape (layer, head)."""
    scope = values["another_scope" if condition == "another" else "scope"]
    return f1_of(values[f"{condition}_hits"], values[f"{condition}_pointing"], scope).mean(axis=0)


def mean_f1_minus(one: str, other: str):
    return lambda values, choice=None: float(f1(values, one).mean() - f1(values, other).mean())


def control_moves(values: Values, choice: Values | None = None) -> float:
    """Minus the distance of the control's mean F1 from that before."""
    return -abs(mean_f1_minus("control", "before")(values))


def precision_over_recall(values: Values, choice: Values | None = None) -> float:
    hits, pointing = values["before_hits"][0], values["before_pointing"][0]
    precision = np.divide(hits, pointing, out=np.zeros_like(hits), where=pointing > 0)
    return float(precision.mean() - (hits / values["scope"]).mean())


def largest(values) -> tuple[int, int]:
    """Layer and head of the largest number; of equals the first."""
    return np.unravel_index(int(np.argmax(values)), np.shape(values))


def best_of(condition: str, choice: Values) -> tuple[int, int]:
    return largest(f1(choice, condition))


def best_over_another(values: Values, choice: Values) -> float:
    """F1 of the head chosen on other sentences, minus its F1 with another word as the cue."""
    best = best_of("before", choice)
    return float(f1(values, "before")[best] - f1(values, "another")[best])


def best_gains(one: str, other: str):
    """F1 of the best head after negation, chosen on other sentences; in one condition minus the other."""

    def statistic(values: Values, choice: Values) -> float:
        best = best_of("negation", choice)
        return float(f1(values, one)[best] - f1(values, other)[best])

    return statistic


def halves_agree(condition: str):
    """Kendall's tau over heads between the sentences that report and those that choose."""
    return lambda values, choice: _tau(f1(values, condition), f1(choice, condition))


def agreement_rises(values: Values, choice: Values) -> float:
    return halves_agree("negation")(values, choice) - halves_agree("control")(values, choice)


def rich_get_richer(values: Values, choice: Values) -> float:
    """Kendall's tau of F1 before (on other sentences, or noise would be on both sides) and the gain."""
    return _tau(f1(choice, "before"), f1(values, "negation") - f1(values, "before"))


def _tau(one, other) -> float:
    try:
        return kendall(one, other)
    except ValueError as reason:
        raise CannotDecide(str(reason)) from None


def tags_over_all_in(values: Values, choice: Values | None = None) -> float:
    """F1 of the words told to be in a scope, minus that of calling every word so."""
    told = f1_of(values["told_hits"], values["told_in"], values["scope"]).mean()
    return float(told - f1_of(values["scope"], values["words"], values["scope"]))


def late_minus_early(quantity: str):
    """Mean over the last third of the layers minus mean over the first third."""

    def statistic(values: Values, choice: Values | None = None) -> float:
        layers = values[quantity].mean(axis=(0, 2))
        if len(layers) < 2:
            raise CannotDecide("a model of one layer has no early and late layers")
        third = max(1, len(layers) // 3)
        return float(layers[-third:].mean() - layers[:third].mean())

    return statistic


def first_layer(values: Values, choice: Values | None = None) -> float:
    return float(values["cosine_negation"][:, 0].mean())


def floor(values: Values, choice: Values | None = None) -> float:
    if values["floor_negation"].shape[-1] < 2:
        raise CannotDecide("a layer of one head has no other heads")
    return float(values["floor_negation"].mean())


def negation_moves_more(values: Values, choice: Values | None = None) -> float:
    """Divergence after negation over that after the control, minus 1."""
    control = values["js_control"].mean()
    if control <= 0:
        raise CannotDecide("the control changed nothing")
    return float(values["js_negation"].mean() / control - 1)


def keeps_names(values: Values, choice: Values | None = None) -> float:
    partners = match_heads(values["cross_negation"])
    return float((partners == np.arange(len(partners))).mean())


def cls_prefers_sep(values: Values, choice: Values | None = None) -> float:
    return float((values["cls_to_sep"] - values["cls_to_punct"]).mean())


# --- what was published --------------------------------------------------------------------------------


def _cosine_layers(pick: str) -> str:
    layers = np.array([published_cosines(task).mean(axis=1) for task in KOVALEVA_TASKS])
    if pick == "first":
        return f"{layers[:, 0].min():.2f} to {layers[:, 0].max():.2f}"
    late, early = layers[:, -4:].mean(), layers[:, :4].mean()
    return f"{early:.2f} early, {late:.2f} late"


def _f1_pair(one: str, other: str, *, best: bool = False) -> str:
    if best:
        heads = {name: published_head_f1(name) for name in (one, other)}
        at = np.unravel_index(heads["pretrained" if "pretrained" in heads else one].argmax(), (12, 12))
        return f"{heads[one][at]:.3f} against {heads[other][at]:.3f}"
    return f"{published_mean_f1(one):.3f} against {published_mean_f1(other):.3f}"


def _taus(*conditions: str) -> str:
    name = "Kendall tau of head F1 between the two corpora, {}"
    return " against ".join(
        f"{published_number('zhao_bethard_negation', name.format(c)):.3f}" for c in conditions
    )


def _precision_recall() -> str:
    both = [published_mean_f1("pretrained", measure=m) for m in ("precision", "recall")]
    return f"{both[0]:.2f} against {both[1]:.2f}"


def _rich() -> str:
    return f"{published_number('zhao_bethard_negation', 'Kendall tau pretrained F1 vs gain (rich get richer)'):.3f}"


def _large() -> str:
    numbers = [
        published_number("zhao_bethard_negation", f"bert-large story, {c}: mean F1 over heads")
        for c in ("neg", "control")
    ]
    return "{:.3f} against {:.3f}".format(*(n / 100 for n in numbers))


def _gain() -> str:
    better = [row for row in published_gains() if row.tuned > row.random_tuned]
    return f"{len(better)} of {len(published_gains())} tasks"


CLAIMS = (
    Claim(
        "14-pretraining-pays", "14",
        "Tuning a pretrained model beats tuning a random one",
        KOVALEVA, "Table 1", _gain, "P",
        "F1 of words told to be in a scope, minus calling every word so",
        "no better than calling every word in", "cues before and after", tags_over_all_in, 0.02,
    ),
    Claim(
        "14-last-layers-change", "14",
        "The last layers change most",
        KOVALEVA, "Figure 5", lambda: _cosine_layers("thirds"), "A",
        "divergence before/after, last third of the layers minus first, nats",
        "no more change at the end than at the beginning", "maps before and after", late_minus_early("js_negation"), 0.002,
    ),
    Claim(
        "14-last-layers-control", "14",
        "They do so whatever is learnt",
        COURSE, "", "", "",
        "the same for the control task",
        "no more change at the end than at the beginning", "maps before and after", late_minus_early("js_control"), 0.002,
    ),
    Claim(
        "14-first-layer-stays", "14",
        "The first layer hardly changes",
        KOVALEVA, "Figure 5", lambda: _cosine_layers("first"), "A",
        "cosine before/after, mean of layer 1",
        "a cosine of .9 or less", "maps before and after", first_layer, 0.9, control=False,
    ),
    Claim(
        "14-cosine-has-a-floor", "14",
        "A high cosine need not mean the same head",
        COURSE, "", "", "",
        "cosine of a head after with the other heads of its layer before",
        "other heads below .5", "maps before and after", floor, 0.5, control=False,
    ),
    Claim(
        "14-heads-keep-names", "14",
        "Tuned heads are still nearest to themselves",
        COURSE, "", "", "",
        "share of heads that the best pairing before/after gives to themselves",
        "four fifths or fewer", "maps before and after", keeps_names, 0.8, control=False,
    ),
    Claim(
        "14-negation-moves-more", "14",
        "Negation changes maps more than the control does",
        COURSE, "", "", "",
        "divergence after negation over that after the control, minus 1",
        "no more than the control", "maps before and after", negation_moves_more, 0.05,
    ),
    Claim(
        "14-cls-to-sep", "14",
        "After tuning [CLS] of the last layer looks at [SEP] most",
        KOVALEVA, "attention to [CLS] and [SEP]", "", "",
        "share of [CLS]'s attention to [SEP] minus . and ,, last layer",
        "no more than to punctuation", "maps before and after", cls_prefers_sep, 0.05,
        erratum="not on STS-B, RTE and QNLI",
    ),
    Claim(
        "14-heads-find-cues", "14",
        "A head finds the cue before any tuning",
        ZHAO, "released scores", lambda: f"{published_head_f1('pretrained').max():.3f} (best of 144)", "D",
        "F1 of the head chosen on other sentences, minus the same with another word as the cue",
        "no more than for another word", "cues before and after", best_over_another, 0.05,
    ),
    Claim(
        "14-precision", "14",
        "Precision is far above recall",
        ZHAO, "released scores", _precision_recall, "D",
        "precision minus recall, mean over heads, before tuning",
        "a difference of .1 or less", "cues before and after", precision_over_recall, 0.1,
    ),
    Claim(
        "14-negation-helps", "14",
        "Tuned on negation, heads find cues better than before",
        ZHAO, "released scores", lambda: _f1_pair("neg", "pretrained"), "D",
        "mean F1 over heads after negation minus before",
        "no better than before", "cues before and after", mean_f1_minus("negation", "before"), 0.005,
    ),
    Claim(
        "14-negation-over-control", "14",
        "... and better than tuned on a control",
        ZHAO, "released scores", lambda: _f1_pair("neg", "control"), "D",
        "mean F1 over heads after negation minus after the control",
        "no better than the control", "cues before and after", mean_f1_minus("negation", "control"), 0.005,
    ),
    Claim(
        "14-control-changes-nothing", "14",
        "The control leaves the score where it was",
        ZHAO, "released scores", lambda: _f1_pair("control", "pretrained"), "D",
        "minus the distance of the mean F1 after the control from that before",
        "a change of .01 or more", "cues before and after", control_moves, -0.01, control=False,
    ),
    Claim(
        "14-best-head-gains", "14",
        "The best head gains from negation",
        ZHAO, "released scores", lambda: _f1_pair("neg", "pretrained", best=True), "D",
        "F1 after negation minus before, head chosen after negation on other sentences",
        "no gain", "cues before and after", best_gains("negation", "before"), 0.02,
    ),
    Claim(
        "14-best-head-over-control", "14",
        "... and not from the control",
        ZHAO, "released scores", lambda: _f1_pair("neg", "control", best=True), "D",
        "F1 after negation minus after the control, the same head",
        "no more than the control", "cues before and after", best_gains("negation", "control"), 0.02,
    ),
    Claim(
        "14-halves-agree", "14",
        "Two corpora rank the heads alike",
        ZHAO, "notebook output", lambda: _taus("pretrained"), "O",
        "Kendall's tau over heads between two halves of the sentences",
        "a tau of .2 or less", "cues before and after", halves_agree("before"), 0.2, control=False,
    ),
    Claim(
        "14-agreement-rises", "14",
        "Tuning on negation makes them agree more",
        ZHAO, "notebook output", lambda: _taus("neg", "control"), "O",
        "tau after negation minus tau after the control",
        "no more than after the control", "cues before and after", agreement_rises, 0.02,
    ),
    Claim(
        "14-rich-get-richer", "14",
        "Heads that were good gain most",
        ZHAO, "notebook output", _rich, "O",
        "Kendall's tau of F1 before (on other sentences) and the gain",
        "a tau of .1 or less", "cues before and after", rich_get_richer, 0.1,
        erratum="significant in 5 of 10 runs",
    ),
    Claim(
        "14-large-no-better", "14",
        "Large models gain as much from the control",
        ZHAO, "notebook output", _large, "O",
        "needs models of 24 layers, tuned ten times each",
        "negation above the control", "cues before and after", None,
    ),
)  # fmt: skip
