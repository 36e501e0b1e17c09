"""A pattern on a slide: the expression, and what it says in English."""

from __future__ import annotations

from ._svg import content


def render_pattern(pattern) -> str:
    """HTML of a pattern: the expression as code, its sentence below; every word escaped.

    >>> from bertlook_teach.pattern_language import key
    >>> print(render_pattern(key.next("<")))
    <p class="bl-pattern"><code>key.next("&lt;")</code><br>The key is the next "&lt;" after the query.</p>
    """
    return f'<p class="bl-pattern"><code>{content(repr(pattern))}</code><br>{content(pattern.in_words())}</p>'
