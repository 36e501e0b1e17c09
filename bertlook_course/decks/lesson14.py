"""What the slides of lesson 14 show: what fine-tuning on negation changes in the heads, beside a control task and a random twin."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from bertlook_teach import extract_attention, head_label
from bertlook_teach.model import Attention
from bertlook_teach.views import Picture

from ..analyses import negation
from ..analyses.anatomy import read_film
from ..claims.lessons import lesson14
from ..corpora import load_negation
from ..published import measured, published_cosines, published_gains, published_mean_f1
from ..render import (
    Estimate,
    TextTable,
    answer_picture,
    depth_panels_figure,
    figure_picture,
    heat_figure,
    layer_curves,
    tagged_words,
)
from .common import LessonDeck, letter

FINDINGS = {  # the answers of the question on slide 15, as the slide after it says them
    "A": "it rises after negation only",
    "B": "it rises after both, after negation more in every seed",
    "C": "it rises after both, and which rises more depends on the seed",
    "D": "it rises after neither",
}


class Deck(LessonDeck):
    """The slides of lesson 14: both models, each before and after it was tuned."""

    lesson = "14"

    def __init__(self, encoder, twin):
        super().__init__(encoder, twin)
        self.ours, self.control = lesson14.measured(encoder), lesson14.measured(twin)
        self.train, self.test = (negation.negated(load_negation(half)) for half in ("train", "test"))
        self.n_texts, self.n_heads = len(self.test), encoder.n_layers * encoder.n_heads

    # ---- how much the maps change -------------------------------------------------------------------------

    @property
    def change(self) -> dict[str, np.ndarray]:
        """Of each task, the divergence of each head's maps before and after tuning, in nats: (layer, head)."""
        return {task: found.js.mean(axis=0) for task, found in self.ours.moved.items()}

    @property
    def last_to_first(self) -> dict[str, float]:
        """Of each task, how many times as much the last layer changes as the first."""
        layers = {task: values.mean(axis=1) for task, values in self.change.items()}
        return {task: values[-1] / values[0] for task, values in layers.items()}

    def change_picture(self) -> Picture:
        """How much the maps of each layer change after either task, and those of the twin."""
        curves = {
            "tuned on negation": self.change["negation"],
            "tuned on the control": self.change["control"],
            "random twin, on negation": self.control.moved["negation"].js.mean(axis=0),
        }
        late = {
            task: Estimate(*found.late_minus_early(), form=".3f") for task, found in self.ours.moved.items()
        }
        return figure_picture(
            layer_curves(curves, ylabel="divergence, nats", size=(9.6, 4.2), font_size=18),
            f"Mean over the heads of a layer, {self.n_texts} sentences. Last third minus first, nats: negation "
            f"{late['negation']}, control {late['control']}.",
        )

    def change_answer(self) -> str:
        """The letters of both answers, and the numbers."""
        said = {task: f"**{letter(times, (1, 2, 5))}**" for task, times in self.last_to_first.items()}
        times, falls = self.last_to_first, self._falls()
        return (
            f"Layer {self.encoder.n_layers} changes {times['negation']:.1f} times as much as layer 1 after negation "
            f"({said['negation']}), {times['control']:.1f} times after the control ({said['control']})."
            f"{f' The change does not always rise: it falls {falls}.' if falls else ''}"
        )

    def _falls(self) -> str:
        """In which layers, after which task, the change is less than in the layer below, in words; nothing if it always rises."""
        said = []
        for task, values in self.change.items():
            layers = np.flatnonzero(np.diff(values.mean(axis=1)) < 0) + 2  # counted from 1
            if layers.size:
                name = "the control" if task == "control" else task
                *first, last = map(str, layers)
                where = f"layers {', '.join(first)} and {last}" if first else f"layer {last}"
                said.append(f"in {where} after {name}")
        return ", ".join(said)

    def moved_picture(self) -> Picture:
        """How much more each head has changed after negation than after the control."""
        difference = self.change["negation"] - self.change["control"]
        least, most = (
            head_label(*np.unravel_index(at, difference.shape))
            for at in (difference.argmin(), difference.argmax())
        )
        return figure_picture(
            heat_figure({"negation minus control": difference}, numbers=True),
            f"Divergence between the maps before and after, nats, first seed. Blue: moved more for negation; brown: for the control. "
            f"Most for negation: {most} ({difference.max():+.3f}); most for the control: {least} ({difference.min():+.3f}).".replace(
                "-0", "−0"
            ),
        )

    # ---- which heads --------------------------------------------------------------------------------------

    @cached_property
    def best(self) -> tuple[int, int]:
        """The head that finds the cue best after tuning on negation, chosen on the sentences tuned on: (layer, head)."""
        layer, head = lesson14.largest(np.mean([scores.f1 for scores in self.ours.chosen_on], axis=0))
        return int(layer), int(head)

    @cached_property
    def shown(self) -> dict[str, Attention]:
        """The attention in the example, of words, before and after tuning."""
        words = list(lesson14.example().words)
        tuned = replace(self.ours.shown, model=f"{self.name}, tuned on negation, seed 0")
        return {"before": extract_attention(self.encoder, words=words).to_words(), "after": tuned}

    def matches_table(self) -> TextTable:
        """Whether a head is still the head that it was: after either task, and against the random twin."""
        matched = self.ours.matched
        sides = {
            "after negation": (self.ours.moved["negation"], matched["negation"]),
            "after the control": (self.ours.moved["control"], matched["control"]),
            "random twin": lesson14.against(self.encoder, self.twin),
        }
        rows = [
            _match_row(name, compared, m.kept, f"{m.kept} [{m.low:g}, {m.high:g}]")
            for name, (compared, m) in sides.items()
        ]
        kept = self.control.matched["negation"].kept
        rows.append(_match_row("twin, itself tuned", self.control.moved["negation"], kept, f"{kept}"))
        return TextTable(
            [f"{self.name} against", "cosine", "floor", "nats", f"heads kept, of {self.n_heads}"],
            rows,
            f"Floor: cosine with the other heads of the layer. {self.n_texts} sentences. Kept: how many of {self.n_heads} heads match "
            "themselves; a random pairing keeps 1.",
        )

    def sep_picture(self) -> Picture:
        """The share of attention to [SEP] in each layer, before tuning and after either task."""
        rows = {task: found.layers() for task, found in self.ours.moved.items()}
        curves = {f"{self.name}, before": [row["sep_before"] for row in rows["negation"]]}
        for task, layers in rows.items():
            name = f"tuned on {'the control' if task == 'control' else task}"
            curves[name] = [row["sep_after"] for row in layers]
        top, control = rows["negation"][-1], rows["control"][-1]
        change = Estimate(top["sep_change"], top["sep_change_low"], top["sep_change_high"])
        return figure_picture(
            layer_curves(curves, ylabel="share to [SEP]", size=(9.6, 3.9), font_size=18),
            f"{'Yes' if change.low > 0 or change.high < 0 else 'Not surely'}. Last layer: {change} more after negation, "
            f"{control['sep_change']:.2f} after the control. Mean over heads, {self.n_texts} sentences.",
        )

    # ---- who finds the cue --------------------------------------------------------------------------------

    @cached_property
    def rules(self) -> dict[str, object]:
        """The scores of rules that read no head; the distance is chosen on the other half of the sentences."""
        offset = max(
            negation.OFFSETS,
            key=lambda o: float(negation.score_rule(negation.offset_rule(o), self.train).f1),
        )
        rules = {
            f"the word at {offset:+d}": negation.offset_rule(offset),
            "the word of most pieces": negation.most_pieces(self.encoder),
            "the nearest word on a list of cues": negation.listed_cue,
        }
        scores = {name: negation.score_rule(rule, self.test) for name, rule in rules.items()}
        return {"a random word": negation.random_word(self.test), **scores}

    def cues_table(self) -> TextTable:
        """Rules and heads of both models before tuning: who finds the cue?"""
        before, habit, twin = self.ours.before["test"], self.ours.habit, self.control.before
        best = negation.best_head(self.ours.before["train"], before)
        twin_best = negation.best_head(twin["train"], twin["test"])
        ours, twins = before.mean_interval(), twin["test"].mean_interval()
        scored = {name: score.interval() for name, score in self.rules.items()} | {
            f"{self.name}, best head ({best.label})": (best.f1, best.low, best.high),
            "... another word as the cue": habit.interval(best.layer, best.head),
            f"{self.name}, mean of heads": ours,
            "random twin, mean of heads": twins,
        }
        rule = max(score.f1 for score in self.rules.values())
        return TextTable(
            ["who finds the cue", "F1, per cent [95 %]"],
            [
                [name, Estimate(*(100 * number for number in interval), ".0f")]
                for name, interval in scored.items()
            ],
            f"{'No' if rule > best.f1 else 'Yes'}: the best rule finds {100 * rule:.0f}, the best head {100 * best.f1:.0f}. {self.n_texts} sentences; best head and offset chosen on {len(self.train)} others. Means over "
            f"{self.n_heads} heads: {self.name} {100 * ours[0]:.0f}, twin {100 * twins[0]:.0f}; the twin's best head "
            f"{100 * twin_best.f1:.0f}.",
        )

    def cues_models(self) -> list[str]:
        """Whose each row of `cues_table` is."""
        return ["baseline"] * len(self.rules) + [self.mark] * 3 + ["random twin"]

    def seeds_question(self) -> str:
        """Do heads find the cue more often after tuning?"""
        return (
            f"Looking from the scope to the cue: F1, mean over all {self.n_heads} heads, before and after tuning. "
            "Three seeds for each task. What do we find?"
        )

    @cached_property
    def contrast(self) -> negation.Contrast:
        """Tuned on negation against tuned on the control, seed by seed."""
        after = self.ours.after
        return negation.contrast(self.ours.before["test"], after["negation"], after["control"])

    def seeds_picture(self) -> Picture:
        """The mean F1 of all heads before and after either task: each seed, and what was published; the twin's in words."""
        found, twin, before = self.contrast, self.control, published_mean_f1("pretrained")
        twins = [twin.before["test"].f1, *(twin.after[task][0].f1 for task in negation.TASKS)]
        low, high = (f"{100 * end(one.mean() for one in twins):.0f}" for end in (min, max))
        panels = {}
        for task, condition in zip(negation.TASKS, ("neg", "control")):
            lines = {f"seed {seed}": (found.before, after) for seed, after in enumerate(getattr(found, task))}
            lines["BERT-base"] = before, published_mean_f1(condition)
            panels[f"tuned on {task}"] = {name: 100 * np.array(ends) for name, ends in lines.items()}
        return figure_picture(
            depth_panels_figure(
                panels, ylabel="mean F1, per cent", xlabel="", ticks=("before", "after"), size=(9.8, 3.2)
            ),
            f"{self.n_texts} sentences not tuned on. BERT-base: published. Not drawn, the random twin: "
            f"{low if low == high else f'{low} to {high}'} throughout.",
        )

    def seeds_answer(self) -> str:
        """The letter of the answer, what it says, and how sure three seeds can make it."""
        found = self.contrast
        up = {task: np.mean(getattr(found, task)) - found.before > 0.005 for task in negation.TASKS}
        if not any(up.values()):
            said = "D"
        elif not up["control"]:
            said = "A"
        else:
            said = "B" if (np.subtract(found.negation, found.control) > 0).all() else "C"
        return (
            f"**{said}: {FINDINGS[said]}.** Negation minus control {100 * found.difference:+.1f} points, p = {found.p:.2f}; "
            f"with {self.ours.n_seeds} seeds p cannot be below {found.least_p:.2f}."
        )

    # ---- one head -----------------------------------------------------------------------------------------

    @property
    def best_f1(self) -> dict[str, list[float]]:
        """The F1 of the best head: before, and after either task for each seed."""
        runs = {"before": [self.ours.before["test"]], **self.ours.after}
        return {name: [run.f1[self.best] for run in scores] for name, scores in runs.items()}

    def f1_maps(self) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """The F1 of each head after either task, and the same before, for a map of their difference."""
        after = {
            f"F1, {task}": np.mean([run.f1 for run in self.ours.after[task]], axis=0)
            for task in negation.TASKS
        }
        return after, dict.fromkeys(after, self.ours.before["test"].f1)

    def best_head_sentence(self) -> str:
        """The best head before and after, seed by seed."""
        f1 = self.best_f1
        _, low, high = self.ours.before["test"].interval(*self.best)
        seeds = {task: ", ".join(f"{value:.2f}" for value in f1[task]) for task in negation.TASKS}
        wins = sum(ours > control for ours, control in zip(f1["negation"], f1["control"], strict=True))
        return (
            f"**Head {head_label(*self.best)} beats the control in {wins} of {len(f1['control'])} seeds:** negation {seeds['negation']}; "
            f"control {seeds['control']}; before {Estimate(f1['before'][0], low, high)}. The map: mean of the seeds."
        )

    def answer(self) -> Picture:
        """The lesson's answer."""
        times, found, f1 = self.last_to_first, self.contrast, self.best_f1
        more, twin, whose = _longer_training()
        learnt = min(f1["negation"]) > max(*f1["control"], f1["before"][0])
        points = partial(Estimate, form="+.1f", after=" points")
        head = head_label(*self.best)
        return answer_picture(
            {
                "The last layers move most."
                if min(times.values()) > 1
                else "Do the last layers move most?": {
                    f"after {task}": Estimate(times[task], form=".1f", after=" times layer 1")
                    for task in ("negation", "control")
                },
                "The task, on average? Too few seeds to tell."
                if found.p >= 0.05
                else "The task matters on average.": {
                    f"{self.ours.n_seeds} seeds": points(100 * found.difference),
                    "5 seeds, ten rounds": points(more),
                    "random twin, the same": points(twin),
                },
                "One head may learn it." if learnt else "No head that we can name learns it.": {
                    f"{head} before": Estimate(f1["before"][0]),
                    f"{head} after negation": Estimate(np.mean(f1["negation"])),
                    f"{head} after control": Estimate(np.mean(f1["control"])),
                    "baseline: a list of cues": Estimate(
                        float(self.rules["the nearest word on a list of cues"].f1)
                    ),
                },
            },
            f"Second row: F1 after negation minus after control; p = {found.p:.2f} with {self.ours.n_seeds} seeds, {_least_p()} with five; ten rounds: {whose}. {head}: best after tuning, on the sentences tuned on.",
        )


def next_word_head() -> tuple[int, int]:
    """The head of the training film that looks most at the next word in the end: (layer, head)."""
    layer, head = map(int, lesson14.largest(read_film().values["next"][-1]))
    return layer, head


def gains_table() -> TextTable:
    """What pretraining and tuning gain on each task, as published."""
    gains = published_gains()
    ahead = {gain.task: gain.tuned - max(gain.pretrained, gain.random_tuned) for gain in gains}
    least, most = min(ahead, key=ahead.get), max(ahead, key=ahead.get)
    return TextTable(
        ["task", "pretrained only", "random, tuned", "pretrained, tuned"],
        [[gain.task, gain.pretrained, gain.random_tuned, gain.tuned] for gain in gains],
        "BERT-base: Kovaleva et al. 2019, Table 1. Pretrained and tuned leads the better of the others by "
        f"{ahead[least]:.1f} points ({least.partition(' ')[0]}) to {ahead[most]:.1f} ({most.partition(' ')[0]}).",
    )


def tasks_picture() -> Picture:
    """The labels of a short sentence in both tasks."""
    sentences = load_negation("train")
    places = [
        i
        for i, sentence in enumerate(sentences)
        if len(sentence.negations) == 1 and 3 <= len(sentence.negations[0].scope) < len(sentence) - 2
    ]
    place = min(places, key=lambda i: len(sentences[i]))
    labels = {task: negation.task_labels(task, sentences)[place] for task in negation.TASKS}
    labels["control"] = ["AB"[tag == "out"] for tag in labels["control"]]
    said = "Same sentences, number of labels, steps and seeds. In the control a word has one label wherever it stands."
    return tagged_words(sentences[place].words, labels, said)


def cosines_picture() -> Picture:
    """The cosine of BERT-base's maps before and after tuning, layer by layer, as published."""
    cosines = {task: published_cosines(task).mean(axis=1) for task in ("MRPC", "RTE", "MNLI", "QQP")}
    first, last = ([curve[layer] for curve in cosines.values()] for layer in (0, -1))
    return figure_picture(
        layer_curves(cosines, ylabel="cosine", size=(9.6, 4.0), font_size=18),
        f"{'Less and less alike' if max(last) < min(first) else 'Not less alike'} upwards. BERT-base, mean over the heads of a layer: {min(first):.2f} to {max(first):.2f} in layer 1, {min(last):.2f} to "
        f"{max(last):.2f} in layer {len(cosines['MRPC'])} (Kovaleva et al. 2019, read off Figure 5).",
    )


def scope_picture() -> Picture:
    """The words of the example, and whether each is the cue, in its scope or outside."""
    example = lesson14.example()
    [one] = example.negations
    parts = [
        "cue" if i in one.cue else "scope" if i in one.scope else "out" for i in range(len(example.words))
    ]
    said = "A head finds the scope if the blue words look at the orange one, and no other word does."
    return tagged_words(example.words, {"part": parts}, said)


def longer_training() -> str:
    """What more rounds and more seeds say: docs/results.md."""
    more, twin, whose = _longer_training()
    ranges = measured("negation")
    scope, made_up = (
        ranges.cell(f"tuned on {task}", "mean").partition("from ")[2] for task in ("negation", "the control")
    )
    return (
        f"With **ten** rounds and **five** seeds ({whose}): **{more:+.1f}** points, p = {_least_p()} (the least five seeds allow); "
        f"the untrained twin {twin:+.1f}. F1 by seed: {scope} after negation, {made_up} after the control."
    )


def _longer_training() -> tuple[float, float, str]:
    """Negation minus control after ten rounds and five seeds, the same for the twin, and whose numbers these are."""
    longer = measured("negation: differences")
    return (
        longer.value("control", "difference").value,
        longer.value("control, random twin", "difference").value,
        longer.whose,
    )


def _least_p() -> str:
    """The p over seeds of that difference."""
    return measured("negation: differences").cell("control", "p over")[:3]


def _match_row(name: str, compared, kept: int, of_all: str) -> list[object]:
    """A row of `Deck.matches_table`."""
    cosine, floor = Estimate(compared.cosine.mean()), Estimate(compared.floor.mean())
    return [f"{name}: {kept} kept", cosine, floor, f"{compared.js.mean():.3f}", of_all]
