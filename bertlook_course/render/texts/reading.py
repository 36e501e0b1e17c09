"""What the model reads, as a strip of tokens: position, wordpiece, segment, and which pieces make one word."""

from __future__ import annotations

from bertlook_teach.views import INK, MUTED, RULE, SEGMENT_A, SEGMENT_B, content

_NAMES = "AB"


def describe_reading(attention) -> str:
    """How many tokens there are, and where they come from.

    Parameters
    ----------
    attention : Attention
        At wordpiece level; any object with ``tokens``, ``word_ids``, ``segment_ids``, ``special`` and ``words``.
    """
    pieces: dict[int, int] = {}
    for word in attention.word_ids:
        if word is not None:
            pieces[word] = pieces.get(word, 0) + 1
    split = [attention.words[word] for word, count in pieces.items() if count > 1]
    n, special = len(attention.tokens), sum(attention.special)
    said = f"{_count(n, 'token')}: {_count(len(pieces), 'word')} and punctuation marks in {_count(n - special, 'wordpiece')}, and {_count(special, 'special token')}."
    if split:
        verb = "is" if len(split) == 1 else "are"
        said += f" {', '.join(f'“{word}”' for word in split)} {verb} cut into pieces."
    else:
        said += " No word is cut."
    return said


def render_reading(attention) -> str:
    """Draw the input of the model as a strip: over each token its position, under it its segment.

    Pieces of one word touch; the special tokens [CLS] and [SEP] stand on grey. The strip wraps where the page ends.

    Parameters
    ----------
    attention : Attention
        At wordpiece level, from `extract_attention`.

    Returns
    -------
    str
        HTML; every token is escaped. The sentence of `describe_reading` stands below.
    """
    chips = []
    for i, token in enumerate(attention.tokens):
        word, segment = attention.word_ids[i], attention.segment_ids[i]
        follows = i > 0 and word is not None and word == attention.word_ids[i - 1]
        line = f"solid {SEGMENT_A}" if segment == 0 else f"dashed {SEGMENT_B}"
        ground = "#eceff2" if attention.special[i] else "#ffffff"
        chips.append(
            f'<li style="list-style:none;text-align:center;margin:0 0 .35em {"0" if follows else ".35em"}">'
            f'<span style="display:block;color:{MUTED}">{i}</span>'
            f'<span dir="auto" style="display:block;padding:.1em .4em;background:{ground};color:{INK};border:1px solid {RULE};'
            f'border-bottom:.16em {line};{"border-left:1px dotted " + MUTED + ";" if follows else ""}white-space:pre;unicode-bidi:isolate">{content(token)}</span>'
            f'<span style="display:block;color:{MUTED}">{_NAMES[segment] if segment < 2 else segment}</span></li>'
        )
    return (
        '<div class="bertlook-reading">'
        '<ol style="display:flex;flex-wrap:wrap;margin:.2em 0;padding:0;line-height:1.3" aria-label="tokens with position and segment">'
        f'{"".join(chips)}</ol><p style="margin:.2em 0 0">{content(describe_reading(attention))}</p></div>'
    )


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
