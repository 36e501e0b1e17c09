"""Antecedents on a slide: Table 2 as printed, the same table of another model, both as points on one scale, the three rules at work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bertlook_teach.views import RULE, model_of

from ...analyses.coreference import BASELINES
from ...corpora import KINDS, CorefDocument, anaphors
from ..drawing.figures import styled_figure
from ..drawing.marks import line_looks
from ..drawing.text_table import Estimate, TextTable

COLUMNS = ("all", *KINDS)

PLURALS = {"all": "all", "pronoun": "pronouns", "proper": "names", "nominal": "nominals"}


def published_antecedents(table: Mapping) -> TextTable:
    """Rows of `bertlook_course.published.published_table_2`, as printed."""
    body = []
    for row in table.values():
        name = f"{row.predictor} ({row.head})" if row.head else row.predictor
        mark = "*" if row.note else ""
        values = (getattr(row, kind) for kind in COLUMNS)
        body.append(
            [name + mark, *("-" if value is None else Estimate(value, form=".0f") for value in values)]
        )
    notes = " ".join(f"* {row.note[0].upper()}{row.note[1:]}." for row in table.values() if row.note)
    caption = f"Per cent; BERT-base, CoNLL-2012, as printed; printed names: rule-based (four sieves), attention head (best head). {notes}"
    return TextTable(["Table 2", *(PLURALS[kind] for kind in COLUMNS)], body, caption.strip())


def antecedent_cells(
    rows: Sequence, *, twin: Sequence = (), kinds: Sequence[str] = COLUMNS, note: str = ""
) -> TextTable:
    """Predictors by kinds of mention, in per cent with their intervals: rows of `antecedent_table`, and a random twin's best head.

    Heads are named behind "best head", both where the halves chose different ones.
    """
    found = {(row.predictor, row.kind): row for row in rows}
    predictors = list(dict.fromkeys(row.predictor for row in rows))
    body = [
        [_named(found[name, kinds[0]]), *(_cell(found.get((name, kind))) for kind in kinds)]
        for name in predictors
    ]
    theirs = {row.kind: row for row in twin if row.heads}
    if theirs:
        body.append(["random twin's best", *(_cell(theirs.get(kind)) for kind in kinds)])
    sizes = [f"{found[predictors[0], k].n} {PLURALS[k]}" for k in kinds if (predictors[0], k) in found]
    caption = f"Per cent [95 %, over documents]. n = {', '.join(sizes)}. {note}"
    return TextTable(["predictor", *(PLURALS[kind] for kind in kinds)], body, caption.strip())


def _named(row) -> str:
    return f"best head {', '.join(dict.fromkeys(row.heads))}" if row.heads else row.predictor


def _cell(row) -> Estimate | str:
    return "-" if row is None else Estimate.per_cent(row.accuracy, row.low, row.high)


def mention_table(document: CorefDocument, *, limit: int = 8) -> TextTable:
    """The mentions of a text in order: what each refers to, its kind, and whether it refers back."""
    back = {(m.start, m.end) for m, _ in anaphors(document)}
    body = [
        [
            document.text(m),
            document.words[m.head],
            m.cluster,
            m.kind,
            "yes" if (m.start, m.end) in back else "no",
        ]
        for m in document.mentions[:limit]
    ]
    return TextTable(["mention", "head word", "thing", "kind", "refers back"], body)


def rule_answers(document: CorefDocument, *, limit: int = 4) -> TextTable:
    """What each rule answers for the first anaphors of a text; a tick where it is right."""
    body = []
    for mention, before in anaphors(document)[:limit]:
        right = {m.head for m in before if m.cluster == mention.cluster}
        cells = []
        for rule in BASELINES.values():
            answer = rule(document, mention, before)
            cells.append(
                "no answer ✗"
                if answer is None
                else f"{document.text(answer)} {'✓' if answer.head in right else '✗'}"
            )
        body.append([document.text(mention), *cells])
    return TextTable(["mention", *BASELINES], body)


def points_figure(
    panels: Mapping[str, Sequence[tuple]],
    *,
    xlabel: str = "accuracy, per cent",
    size: tuple[float, float] = (9.8, 3.9),
):
    """One panel a source, one line a predictor, all on one scale.

    Parameters
    ----------
    panels : mapping of title to sequence of (predictor, value, low, high)
        Shares; low and high are None where no interval is known. All panels name the same predictors in the same order; a value
        of None leaves its line empty. A title that begins with an ellipsis ("… on EWT") is the same model as the panel before.

    Returns
    -------
    matplotlib.figure.Figure
    """
    titles = list(panels)
    looks = line_looks(titles)
    for i, title in enumerate(titles[1:], 1):
        if title.startswith("…"):
            looks[i] = looks[i - 1]
    names = [[name for name, *_ in points] for points in panels.values()]
    if any(other != names[0] for other in names[1:]):
        raise ValueError(f"all panels need the same predictors in the same order; got {names}.")
    crowded = len(panels) > 2  # ticks of neighbours would meet
    with styled_figure(size, columns=len(panels), sharex=True, sharey=True) as (figure, all_axes):
        if crowded:
            figure.get_layout_engine().set(wspace=0.06)
        for i, (axes, (title, points)) in enumerate(zip(all_axes, panels.items())):
            for y, (name, value, low, high) in enumerate(points):
                # A row may be another model's; rules look as their panel.
                another = model_of(name) not in (None, "baseline")
                own = line_looks([name])[0] if another else looks[i]
                look = own | {"linestyle": "none", "markersize": 11}
                axes.axhline(y, color=RULE, linewidth=1, zorder=0)
                if value is None:
                    continue
                if low is not None:
                    axes.plot([100 * low, 100 * high], [y, y], color=look["color"], linewidth=3)
                axes.plot(100 * value, y, **look)
                axes.annotate(
                    f"{100 * value:.0f}",
                    (100 * value, y),
                    (0, 9),
                    textcoords="offset points",
                    ha="center",
                    fontsize=18,
                )
            axes.set_title(title, fontsize=18)
            axes.set_xlim(0, 100)
            if crowded:
                axes.set_xticks((0, 50, 100))
            axes.set_ylim(len(points) - 0.5, -0.7)
            axes.set_yticks(range(len(points)), names[0])
            axes.set_xlabel(xlabel)
    return figure
