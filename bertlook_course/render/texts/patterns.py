"""A pattern on a slide: the expression, what it says in English, and how the heads follow it."""

from __future__ import annotations

from bertlook_teach.model import parse_head_label
from bertlook_teach.views import content, growing, render_head_map

from ...analyses.patterns import Pattern, PatternScore
from ...storage import with_interval
from ..drawing.text_table import TextTable


def render_pattern(pattern: Pattern) -> str:
    """HTML of a pattern: the expression as code, its sentence below; every word escaped.

    >>> from bertlook_course.analyses.patterns import key
    >>> print(render_pattern(key.next("<")))
    <p class="bl-pattern"><code>key.next("&lt;")</code><br>The key is the next "&lt;" after the query.</p>
    """
    return f'<p class="bl-pattern"><code>{content(repr(pattern))}</code><br>{content(pattern.in_words())}</p>'


def pattern_table(score: PatternScore, measure: str = "accuracy", unit: str = "texts") -> TextTable:
    """What a slide says of one measure: the best head beside everything it must be read with; ``unit`` names what was read."""
    row = score[measure]
    rows = [
        [f"best head ({' / '.join(row.heads)})", with_interval(row.value, row.low, row.high)],
        [f"best rule ({' / '.join(row.rules)})", f"{100 * row.rule:.1f}"],
        ["gain over the rule", with_interval(row.gain, row.gain_low, row.gain_high)],
        ["chance", f"{100 * row.chance:.1f}"],
    ]
    if row.twin is not None:
        rows.append(["random twin's best head", with_interval(row.twin, row.twin_low, row.twin_high)])
    caption = f"{row.n} cases in {row.n_texts} {unit}; chosen on one half, scored on the other, both ways."
    return TextTable([measure, "% [95 %]"], rows, caption)


def render_pattern_score(score: PatternScore, measure: str = "accuracy", unit: str = "texts") -> str:
    """HTML: the pattern, the table of one measure, and that measure of every head beside it; the best head of one half is framed."""
    best, values = score[measure].heads[0], score.head_maps()[measure]
    heads = render_head_map(
        values,
        title=f"{measure}; framed: {best}",
        vmin=0,
        vmax=1,
        selected=parse_head_label(best),
        numbers=False,  # each stands in its cell's tooltip; so the map fits beside the table unshrunk
        font_size=30 if len(values) <= 8 else 24,
    )
    # Side by side on every screen, the map as much larger as the screen is wider than 1280 pixels; the table breaks its lines.
    return (
        f'{render_pattern(score.pattern)}<div style="display:flex;gap:1em;align-items:center">'
        f'<div style="flex:1 1 0;min-width:0">{pattern_table(score, measure, unit)._repr_html_()}</div>'
        f'<div style="flex:none;max-width:50%">{heads.at(growing(heads.width)).svg}</div></div>'
    )
