"""What the slides of lesson 14 show: what fine-tuning on negation changes in the heads, beside a control task and a random twin."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from bertlook_teach import extract_attention, head_label, parse_head_label, stats
from bertlook_teach.model import Attention
from bertlook_teach.views import Picture

from ..analyses import negation
from ..analyses.anatomy import read_film
from ..claims.lessons import lesson14
from ..corpora import load_negation
from ..published import measured, published_mean_f1
from ..render import (
    Estimate,
    TextTable,
    answer_picture,
    depth_panels_figure,
    figure_picture,
    heat_figure,
    joined,
    layer_curves,
)
from .common import LessonDeck, letter
from .parts.lesson14_longer import (
    best_after_ten_rounds,
    layers_after_ten_rounds,
    least_p,
    longer_gaps,
    ten_rounds,
    twin_too,
    twins_best,
)
from .pictures.lesson14 import note_gap
from .pictures.limits import tuning_limits

THREE_ROUNDS = "three rounds of tuning, first seed"
FINDINGS = {  # the answers of the question on slide 15, as the slide after it says them
    "A": "it rises after negation only",
    "B": "it rises after both, after negation more in every seed",
    "C": "it rises after both, and which rises more depends on the seed",
    "D": "it rises after neither",
}


class Deck(LessonDeck):
    """The slides of lesson 14: both models, each before and after it was tuned."""

    lesson = "14"

    limits = staticmethod(tuning_limits)

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
    def last_layer(self) -> dict[str, Estimate]:
        """How much the last layer changes after either task, and that of the twin, in nats."""
        tops = {f"after {task}": values[-1].mean() for task, values in self.change.items()}
        tops["random twin"] = self.control.moved["negation"].js.mean(axis=0)[-1].mean()
        return {name: Estimate(top, form=".3f") for name, top in tops.items()}

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
            layer_curves(curves, ylabel="divergence, nats", size=(9.6, 3.5), font_size=18),
            f"Divergence: Jensen-Shannon, mean over the heads of a layer; {THREE_ROUNDS}, {self.n_texts} sentences. Last third of the layers minus first third, nats: negation "
            f"{late['negation']}, control {late['control']}.",
        )

    def change_answer(self) -> str:
        """The letter of the answer, and what the control does there."""
        layers = self.change["negation"].mean(axis=1)
        times, falls = layers[-1] / layers[0], (np.diff(layers) < 0).sum()
        steps = f"it falls in {falls} of {len(layers) - 1} steps, but " if falls else ""
        negation, control, _ = self.last_layer.values()
        return (
            f"**{'Not from layer to layer' if falls else 'Yes'}:** after negation {steps}layer {len(layers)} changes {times:.1f} times "
            f"as much as layer 1 (**{letter(times, (1, 2, 5))}**). "
            f"The control moves layer {len(layers)} **{'more' if control.value > negation.value else 'less'}**: {control} against {negation}."
        )

    def moved_picture(self) -> Picture:
        """How much more each head has changed after negation than after the control."""
        difference = self.change["negation"] - self.change["control"]
        least, most = (
            head_label(*np.unravel_index(at, difference.shape))
            for at in (difference.argmin(), difference.argmax())
        )
        unsure = int(self.unsure.sum())
        tiny = bool((~self.unsure & (np.abs(difference) < 0.005)).any())  # printed as 0.00
        return figure_picture(
            heat_figure({"negation minus control": difference}, numbers=True, framed=self.unsure),
            f"Blue: more for negation, most {most} ({difference.max():+.3f} nats); brown: more for the control, most {least} "
            f"(−{abs(difference.min()):.3f}). Framed: the 95 % interval contains 0 ({unsure} of {self.n_heads} heads). {'The cells are rounded: some differences are surely not 0, but below 0.005 nats. ' * tiny}"
            f"{THREE_ROUNDS.capitalize()}, {self.n_texts} sentences.",
        )

    @property
    def unsure(self) -> np.ndarray:
        """For which heads the interval over sentences of negation minus control contains 0: (layer, head)."""
        tuned, control = (self.ours.moved[task].js for task in negation.TASKS)
        ends = np.array([stats.paired_interval(*pair) for pair in zip(_by_head(control), _by_head(tuned))])
        return ((ends[:, 0] <= 0) & (ends[:, 1] >= 0)).reshape(tuned.shape[1:])

    @property
    def beyond_the_twin(self) -> dict[str, int]:
        """Of each task, how many heads change more than any head of the twin that was tuned on negation."""
        most = self.control.moved["negation"].js.mean(axis=0).max()
        return {task: int((values > most).sum()) for task, values in self.change.items()}

    @property
    def beyond_the_control(self) -> str:
        """Which layers negation moves more than the control does, and which less, on the mean of their heads."""
        more = (self.change["negation"] - self.change["control"]).mean(axis=1) > 0
        sides = {"more": more, "less": ~more}
        said = (
            f"{'layer' if where.sum() == 1 else 'layers'} {_spans(np.flatnonzero(where) + 1)} {side}"
            for side, where in sides.items()
            if where.any()
        )
        return " and ".join(said)

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
        after = replace(self.ours.shown, model=f"{self.Subject}, tuned on negation")
        before = replace(extract_attention(self.encoder, words=words).to_words(), model="before")
        return {"before": before, "after": after}

    def matches_table(self) -> TextTable:
        """Whether a head is still the head that it was: after either task, and against the random twin."""
        matched = self.ours.matched
        sides = {
            "after negation": (self.ours.moved["negation"], matched["negation"]),
            "after the control": (self.ours.moved["control"], matched["control"]),
            "against the random twin": lesson14.against(self.encoder, self.twin),
        }
        rows = [
            _match_row(name, compared, m.kept, f"{m.kept} [{m.low:g}, {m.high:g}]")
            for name, (compared, m) in sides.items()
        ]
        kept = self.control.matched["negation"].kept
        rows.append(_match_row("twin, itself tuned", self.control.moved["negation"], kept, f"{kept}"))
        return TextTable(
            [f"heads of {self.name}", "cosine", "floor", "nats", f"heads kept, of {self.n_heads}"],
            rows,
            f"{'Yes' if matched['negation'].kept == self.n_heads else 'Not all'}: after negation {matched['negation'].kept} of {self.n_heads} are still themselves. Floor: cosine with the other heads of the layer. {THREE_ROUNDS.capitalize()}, {self.n_texts} sentences. Kept: "
            "matched with themselves; a random pairing keeps 1.",
        )

    def sep_picture(self) -> Picture:
        """The share of attention to [SEP] in each layer, before tuning and after either task."""
        rows = {task: found.layers() for task, found in self.ours.moved.items()}
        curves = {f"{self.name}, before": [row["sep_before"] for row in rows["negation"]]}
        for task, layers in rows.items():
            name = f"tuned on {'the control' if task == 'control' else task}"
            curves[name] = [row["sep_after"] for row in layers]
        top, control = rows["negation"][-1], rows["control"][-1]
        change, theirs = (
            Estimate(one["sep_change"], one["sep_change_low"], one["sep_change_high"])
            for one in (top, control)
        )
        return figure_picture(
            layer_curves(curves, ylabel="share to [SEP]", size=(9.6, 3.9), font_size=18),
            f"{'Yes' if change.low > 0 or change.high < 0 else 'Not surely'}. Share of a row in the last layer: {change} more after negation, "
            f"{theirs} more after the control. Mean over heads; {THREE_ROUNDS}, {self.n_texts} sentences.",
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
        best, idle = (negation.best_head(half["train"], half["test"]) for half in (self.ours.before, twin))
        scored = {name: score.interval() for name, score in self.rules.items()} | {
            f"{self.name}, best head ({best.label})": (best.f1, best.low, best.high),
            f"{best.label}, a wrong word as cue (control)": habit.interval(best.layer, best.head),
            f"{self.name}, mean of heads": before.mean_interval(),
            f"random twin, best head ({idle.label})": (idle.f1, idle.low, idle.high),
            "random twin, mean of heads": twin["test"].mean_interval(),
        }
        rule, even = max(score.f1 for score in self.rules.values()), 100 * twin["test"].mean_interval()[0]
        return TextTable(
            ["who finds the cue", "F1, per cent [95 %]"],
            [
                [name, Estimate(*(100 * number for number in interval), ".0f")]
                for name, interval in scored.items()
            ],
            f"{'No' if rule > best.f1 else 'Yes'}: the best rule has an F1 of {100 * rule:.0f}, the best head {100 * best.f1:.0f}. {self.n_texts} sentences; best heads and distance chosen on the {len(self.train)} sentences tuned on that have a negation. The twin's mean is {even:.0f} "
            "because its weights are nearly even, so the word of most pieces gets most.",
        )

    def cues_models(self) -> list[str]:
        """Whose each row of `cues_table` is."""
        return ["baseline"] * len(self.rules) + [self.mark] * 3 + ["random twin"] * 2

    def seeds_question(self) -> str:
        """Do heads find the cue more often after tuning?"""
        return (
            f"Looking from the scope to the cue: F1, mean over all {self.n_heads} heads, before and after three "
            "rounds of tuning. Three seeds for each task. What do we find?"
        )

    @cached_property
    def contrast(self) -> negation.Contrast:
        """Tuned on negation against tuned on the control, seed by seed."""
        after = self.ours.after
        return negation.contrast(self.ours.before["test"], after["negation"], after["control"])

    def seeds_picture(self) -> Picture:
        """The mean F1 of all heads before and after either task, in a short and a long training and as published; the twin's in words."""
        found, twin, longer = self.contrast, self.control, measured("negation")
        twins = [twin.before["test"].f1, *(twin.after[task][0].f1 for task in negation.TASKS)]
        low, high = (f"{100 * end(one.mean() for one in twins):.0f}" for end in (min, max))
        short, long, published = panels = ({}, {}, {})
        for task, condition in zip(negation.TASKS, ("neg", "control")):
            name, after = f"tuned on {task}", 100 * np.array(getattr(found, task))
            short[name] = [(100 * found.before, end) for end in (after.mean(), after.min(), after.max())]
            before = longer.value("specimen", "mean").value
            long[name] = [(before, end) for end in ten_rounds(task)]
            published[name] = [[100 * published_mean_f1(one) for one in ("pretrained", condition)]] * 3
        titles = f"three rounds, {self.ours.n_seeds} seeds", "ten rounds, 5 seeds", "BERT-base, published"
        drawn = {
            title: {name: tuple(map(np.array, curve)) for name, curve in panel.items()}
            for title, panel in zip(titles, panels)
        }
        figure = depth_panels_figure(
            drawn, ylabel="mean F1, per cent", xlabel="", ticks=("before", "after"), size=(9.3, 3.0)
        )
        ahead, theirs, _ = longer_gaps()
        note_gap(figure.axes[1], f"gap {ahead:+.1f}\ntwin's {theirs:+.1f}")
        return figure_picture(
            figure,
            f"Left and middle: {self.n_texts} sentences not tuned on, mean and range over seeds; ten rounds: {longer.whose}. Random twin, three "
            f"rounds: {low if low == high else f'{low} to {high}'}. Right: Zhao and Bethard 2020, ten runs, stories, another control.",
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
            f"**{said}: after three rounds, {FINDINGS[said]}.** Negation minus control {100 * found.difference:+.1f} points, p = {found.p:.2f}; "
            f"with {self.ours.n_seeds} seeds p cannot be below {found.least_p:.2f}."
        )

    # ---- one head -----------------------------------------------------------------------------------------

    @property
    def best_f1(self) -> dict[str, list[Estimate]]:
        """The F1 of the best head in per cent, with its interval over sentences: before, and after either task for each seed."""
        runs = {"before": [self.ours.before["test"]], **self.ours.after}
        return {
            name: [Estimate(*(100 * end for end in run.interval(*self.best)), ".0f") for run in scores]
            for name, scores in runs.items()
        }

    def best_head_table(self) -> TextTable:
        """The best head after either task, seed by seed."""
        f1 = self.best_f1
        pairs = zip(f1["negation"], f1["control"], strict=True)
        return TextTable(
            ["three rounds", "tuned on negation", "tuned on the control"],
            [[f"seed {number}", *pair] for number, pair in enumerate(pairs)],
            f"Head {head_label(*self.best)} of {self.subject} has the highest mean F1 over {self.ours.n_seeds} seeds after negation, on the sentences tuned on. "
            f"Drawn: F1 on {self.n_texts} others, 95 % intervals over sentences. Dashed: before tuning, {f1['before'][0]}."
            f"{self._best_after_ten_rounds()}",
        )

    def before_line(self) -> tuple[str, float]:
        """The level of the best head before tuning, and its name."""
        return "before tuning", self.best_f1["before"][0].value

    def best_head_sentence(self) -> str:
        """Whether the best head beats the control in every seed."""
        f1 = self.best_f1
        wins = sum(ours.value > control.value for ours, control in zip(f1["negation"], f1["control"]))
        seeds = len(f1["control"])
        return f"**{'Yes' if wins == seeds else 'No'}: head {head_label(*self.best)} beats the control in {wins} of {seeds} seeds.**"

    def answer(self) -> Picture:
        """The lesson's answer."""
        found = self.contrast
        more, twin, _ = longer_gaps()
        moved = self.beyond_the_twin
        points = partial(Estimate, form="+.1f", after=" points")
        head, lowest, highest = best_after_ten_rounds()
        listed = 100 * self.rules["the nearest word on a list of cues"].f1
        return answer_picture(
            {
                f"{'Nearly all' if min(moved.values()) > 0.9 * self.n_heads else 'Not all'} heads, but by a low bar.": {
                    f"after {task}": Estimate(n, form=".0f", after=f" of {self.n_heads} heads")
                    for task, n in moved.items()
                },
                f"Negation over control: {'too few seeds' if min(found.p, least_p().value) >= 0.05 else 'surely'}"
                f"{'; the twin shows it, too' if twin_too() else ''}.": {
                    f"3 rounds, {self.ours.n_seeds} seeds": points(100 * found.difference),
                    "10 rounds, 5 seeds": points(more),
                    "random twin, 10 rounds": points(twin),
                },
                f"Head {head} {'may learn' if lowest > highest else 'does not learn'} to find cues.": {
                    f"{head}, lowest seed": Estimate(lowest, form=".0f", after=" %"),
                    "control, best of all": Estimate(highest, form=".0f", after=" %"),
                    "random twin, best of all": Estimate(twins_best(), form=".0f", after=" %"),
                },
            },
            f"Row 1: more than any head of the tuned twin, which hardly moves. Against the control, negation moves {self.beyond_the_control}; "
            f"after ten rounds {layers_after_ten_rounds(named=not self.tuned_longer)}. Which heads change because of negation is open. "
            f"Row 3: F1, ten rounds; {self._before_ten_rounds(head)}a list of cues: {listed:.0f} %.",
        )

    def _before_ten_rounds(self, head: str) -> str:
        """The F1 of a head before tuning, if the deck's model is the one that was tuned for ten rounds."""
        if not self.tuned_longer:
            return ""
        return f"{head} before: {100 * float(self.ours.before['test'].f1[parse_head_label(head)]):.0f} %; "

    def _best_after_ten_rounds(self) -> str:
        """Which head is best there, if it is another one."""
        head = best_after_ten_rounds()[0]
        other = self.tuned_longer and head != head_label(*self.best)
        return f" After ten rounds the best is {head} (slide 19)." if other else ""

    @property
    def tuned_longer(self) -> bool:
        """Whether the deck's model is the one that was tuned for ten rounds."""
        return self.encoder.fingerprint == measured("negation").weights


def next_word_head() -> tuple[int, int]:
    """The head of the training film that looks most at the next word in the end: (layer, head)."""
    layer, head = map(int, lesson14.largest(read_film().values["next"][-1]))
    return layer, head


def longer_training() -> str:
    """What more rounds and more seeds say: docs/results.md."""
    more, twin, _ = longer_gaps()
    (_, low, _), (_, _, most) = map(ten_rounds, negation.TASKS)
    wins = "negation wins in every seed" if low > most else "it depends on the seed"
    return (
        f"**After ten rounds {wins}:** on average by {more:.1f} points, p = {least_p()} (the least for five seeds). "
        f"{'The random twin does so, too, without pretraining' if twin_too() else 'Random twin'}: {twin:+.1f}, p = "
        f"{least_p('control, random twin')}."
    )


def _by_head(values: np.ndarray) -> np.ndarray:
    """What each head has in each sentence: from (sentence, layer, head) to (head, sentence)."""
    return values.reshape(len(values), -1).T


def _spans(numbers) -> str:
    """Numbers in words, neighbours as a span: ``"1 to 3"``, ``"1, 3 and 4"``.

    >>> _spans([1, 2, 3]), _spans([1, 3])
    ('1 to 3', '1 and 3')
    """
    numbers = [int(number) for number in numbers]
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]} to {numbers[-1]}"
    return joined([*map(str, numbers)])


def _match_row(name: str, compared, kept: int, of_all: str) -> list[object]:
    """A row of `Deck.matches_table`."""
    cosine, floor = Estimate(compared.cosine.mean()), Estimate(compared.floor.mean())
    return [f"{name}: {kept} kept", cosine, floor, f"{compared.js.mean():.3f}", of_all]
