"""Relation tables for slides: what was printed, what a model gives, and how much choosing the best flatters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bertlook_teach.model import head_label
from bertlook_teach.views import INK, PAPER

from ..drawing.figures import draw_curves, draw_level, key_above, styled_figure
from ..drawing.marks import bar_look
from ..drawing.text_table import Estimate, TextTable

_RIVAL = "#b4bcc6"  # behind the bar of a head; dark enough for a weak lamp
SCHEME_NAMES = {"ud": "UD", "stanford": "Stanford"}


def published_relations(rows: Sequence) -> TextTable:
    """Rows of `bertlook_course.published.published_table_1` as printed, with their gain and errata."""
    notes = list(dict.fromkeys(row.erratum for row in rows if row.erratum))
    marks = dict(zip(notes, "*†‡"))
    body = [
        [
            row.relation + marks.get(row.erratum, ""),
            "-" if row.n is None else f"{row.n:,}",
            row.head + (" g>d" if row.governor_looks else ""),
            Estimate(row.accuracy, form=".1f"),
            Estimate(row.baseline, form=".1f", after=f" ({row.offset:+d})"),
            signed_gain(row.accuracy - row.baseline, 1),
        ]
        for row in rows
    ]
    caption = (
        "Per cent; BERT-base, Wall Street Journal, Stanford scheme, as printed. No intervals were published."
    )
    caption += "".join(f" {mark} {note[0].upper()}{note[1:]}." for note, mark in marks.items())
    return TextTable(["relation", "n", "head", "accuracy", "best offset", "gain"], body, caption)


def relation_gains(table, relations: Sequence[str], published: Mapping | None = None) -> TextTable:
    """Rows of a `RelationTable`: best head against best offset, the random twin, and BERT-base's printed gain beside them.

    Relations without a row say how many cases there are.
    """
    header = ["relation", "n", "head", "acc.", "offset", "gain [95 %]", "twin"]
    if published is not None:
        header.append("BERT-base")
    body = []
    for name in relations:
        if name in table:
            row = table[name]
            cells = [
                name,
                f"{row.n:,}",
                choices_cell(row.choices),
                f"{100 * row.accuracy:.0f}",
                f"{100 * row.baseline:.0f}",
                f"{signed_gain(100 * row.gain)} [{signed_gain(100 * row.gain_low)}, {signed_gain(100 * row.gain_high)}]",
                "-" if row.twin is None else f"{100 * row.twin:.0f}",
            ]
        else:
            cells = [name, str(table.too_rare.get(name, 0)), "too rare", "-", "-", "-", "-"]
        if published is not None:
            theirs = published.get(name)
            cells.append(
                "-" if theirs is None else signed_gain(theirs.code_accuracy - theirs.code_baseline, 1)
            )
        body.append(cells)
    about = table.about
    caption = (
        f"Accuracies (acc.) in per cent; {about['n_sentences']} sentences, {SCHEME_NAMES[about['scheme']]} scheme; {about['protocol']}. "
        "↓: the governor looks at the dependent."
        + (" BERT-base: its gain by the authors' code." if published is not None else "")
    )
    return TextTable(header, body, caption)


def choices_cell(choices: Sequence) -> str:
    """The heads chosen on the two halves, short: "2-3", or "2-3, 1-4↓" when they differ."""
    names = [f"{head_label(one.layer, one.head)}{'↓' if one.direction else ''}" for one in choices]
    return ", ".join(dict.fromkeys(names))


def flattery_table(table, relations: Sequence[str]) -> TextTable:
    """The same heads, chosen and scored on the same sentences and fairly; and what a random twin's best head seems to reach."""
    body = []
    for name in relations:
        row = table[name]
        body.append(
            [
                name,
                f"{row.n:,}",
                Estimate(100 * row.in_sample, form=".1f"),
                Estimate(100 * row.accuracy, form=".1f"),
                "-" if row.twin_in_sample is None else Estimate(100 * row.twin_in_sample, form=".1f"),
                "-" if row.twin is None else Estimate(100 * row.twin, form=".1f"),
                "-" if row.p_corrected is None else f"{row.p_corrected:.3f}",
            ]
        )
    caption = (
        "Per cent. “Same”: chosen and scored on the same sentences; “other”: chosen on one half, scored on the other. p: do some "
        f"head's answers go with more than the typical distance? Corrected for the choice, {table.about['permutations']} shuffles; a twin's often do too."
    )
    header = ["relation", "n", "same", "other", "twin, same", "twin, other", "p"]
    return TextTable(header, body, caption)


def best_of_figure(
    curves: Mapping[str, Sequence[float]], heads: Sequence[int], *, level: float, ylabel: str, ax=None
):
    """How the best of many equally good heads seems to grow: one curve a number of cases, over the number of heads.

    Parameters
    ----------
    curves : mapping of name to sequence of float
        One value per entry of ``heads``.
    heads : sequence of int
    level : float
        What every head truly reaches, a dotted line.
    ax : matplotlib.axes.Axes, optional
        Draw into these.

    Returns
    -------
    matplotlib.figure.Figure
    """
    for name, values in curves.items():
        if len(values) != len(heads):
            raise ValueError(
                f"curve {name!r} needs one value for each of the {len(heads)} numbers of heads; got {len(values)}."
            )
    with styled_figure((9.8, 4.0), ax=ax) as (figure, (axes,)):
        draw_curves(axes, heads, curves, markersize=9)
        draw_level(axes, level, "what each head truly reaches")
        axes.set_xscale("log")
        axes.set_xticks(list(heads), [str(h) for h in heads])
        axes.minorticks_off()
        axes.set_ylim(0, 1.06 * max(level, *(max(values) for values in curves.values())))  # no mark is cut
        axes.set_xlabel("number of heads to choose from")
        axes.set_ylabel(ylabel)
        key_above(figure, axes)
    return figure


def relation_bars_figure(panels, *, size=(9.8, 4.3), font_size: float = 18):
    """What a head reaches in each relation, a panel for each model; behind it, where it is known, what the best fixed distance reaches: a matplotlib figure.

    Parameters
    ----------
    panels : mapping of title to mapping of relation to (accuracy, low, high, offset)
        Per cent; ``low`` and ``high`` are the interval of the accuracy, ``offset`` what a fixed distance reaches, None where nobody
        measured it. All panels hold the same relations; they are drawn in the order of the first panel, from top to bottom.

    Raises
    ------
    ValueError
        If the panels differ in their relations, or an interval does not lie around its accuracy.
    """
    names = list(next(iter(panels.values())))
    with styled_figure(size, font_size, len(panels)) as (figure, rows):
        for axes, (title, relations) in zip(rows, panels.items()):
            if set(relations) != set(names):
                raise ValueError(
                    f"panel {title!r} needs the relations {', '.join(names)}; got {', '.join(relations)}."
                )
            known = [
                (i, relations[name][3]) for i, name in enumerate(names) if relations[name][3] is not None
            ]
            if known:
                axes.barh(*zip(*known), height=0.84, color=_RIVAL, label="best offset (wide)")
            shares = [relations[name][0] for name in names]
            bar = bar_look(title)
            axes.barh(range(len(names)), shares, height=0.36, label="best head (thin)", **bar)
            for i, name in enumerate(names):
                accuracy, low, high, _ = relations[name]
                if not low <= accuracy <= high:
                    raise ValueError(
                        f"{name!r} in panel {title!r} needs low <= accuracy <= high; got {low}, {accuracy}, {high}."
                    )
                axes.plot([low, high], [i, i], color=INK, linewidth=2, label="_interval")
            axes.set_yticks(range(len(names)), names)
            axes.set_ylim(len(names) - 0.5, -0.5)
            axes.set(xlim=(0, 100), xticks=(0, 50, 100))
            axes.set_title(title, loc="left", fontsize=font_size)
            axes.set_xlabel("per cent right")
        figure.get_layout_engine().set(wspace=0.06)  # or the 100 of one axis would run into the 0 of the next
        for axes in rows[1:]:  # the names stand at the left once
            for label in axes.get_yticklabels():
                label.set_visible(False)
        key_above(figure, rows[-1])
        figure.legends[0].get_patches()[-1].set(facecolor=PAPER, edgecolor=INK)  # each panel has its model's
    return figure


def signed_gain(value: float, digits: int = 0) -> str:
    """A difference with its sign; zero has none.

    >>> signed_gain(2.6), signed_gain(-0.2), signed_gain(-3.14, 1)
    ('+3', '0', '−3.1')
    """
    text = f"{value:+.{digits}f}"
    return text[1:] if float(text) == 0 else text.replace("-", "−")
