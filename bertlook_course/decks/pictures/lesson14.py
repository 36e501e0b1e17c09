"""Pictures of lesson 14 that no model is asked for: what was published, and the two tasks on a sentence."""

from __future__ import annotations

from bertlook_teach.views import INK, Picture

from ...analyses import negation
from ...claims.lessons import lesson14
from ...corpora import load_negation
from ...published import published_cosines, published_gains
from ...render import TextTable, figure_picture, joined, layer_curves, tagged_words


def gains_table() -> TextTable:
    """What pretraining and tuning gain on each task, as published."""
    gains = published_gains()
    ahead = {gain.task: gain.tuned - max(gain.pretrained, gain.random_tuned) for gain in gains}
    least, most = min(ahead, key=ahead.get), max(ahead, key=ahead.get)
    return TextTable(
        ["task", "pretrained only", "random, tuned", "pretrained, tuned"],
        [[gain.task, gain.pretrained, gain.random_tuned, gain.tuned] for gain in gains],
        "BERT-base: Kovaleva et al. 2019, Table 1. Pretrained and tuned leads the better of the others by "
        f"{ahead[least]:.1f} points ({least.partition(' ')[0]}) to {ahead[most]:.1f} ({most.partition(' ')[0]}). On MRPC and RTE a random network learns no more than to "
        "give the commoner answer.",
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
    chosen, scored = (negation.negated(load_negation(half)) for half in ("train", "test"))
    said = (
        f"Both: {len(sentences)} sentences to tune on ({len(chosen)} have a negation) and {len(scored)} others to score (all have one); the same "
        "number of labels, steps and seeds. "
        "In the control a word has one label wherever it stands."
    )
    return tagged_words(sentences[place].words, labels, said)


def cosines_picture() -> Picture:
    """The cosine of BERT-base's maps before and after tuning, layer by layer, as published."""
    cosines = {task: published_cosines(task).mean(axis=1) for task in ("MRPC", "RTE", "MNLI", "QQP")}
    first, last = ([curve[layer] for curve in cosines.values()] for layer in (0, -1))
    again = joined([task for task, curve in cosines.items() if curve[-1] - curve[-2] > 0.02])
    return figure_picture(
        layer_curves(cosines, ylabel="cosine", size=(9.6, 4.0), font_size=18),
        f"Less alike in the upper layers, though {again} rise again in the last. BERT-base, mean over the heads of a layer: {min(first):.2f} to {max(first):.2f} in layer 1, {min(last):.2f} to "
        f"{max(last):.2f} in layer {len(cosines['MRPC'])} (Kovaleva et al. 2019, read off Figure 5: four of its seven tasks).",
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


def note_gap(axes, said: str) -> None:
    """Write a few words into the empty upper left corner of a panel."""
    axes.text(0.04, 0.95, said, transform=axes.transAxes, va="top", fontsize=18, color=INK)
