"""BertViz's own calls, understood: its arguments, and what its options are called here."""

from __future__ import annotations

from bertlook_teach.views import given_attention

_NAMES_HERE = {  # BertViz's options, and what does it here
    "include_layers": "layers=",
    "include_heads": "heads=",
    "html_action": "view.save(path), which writes a page, and view.page, its text",
    "prettify_tokens": "nothing to set: marks of pieces are always shown as the spaces they stand for",
    "display_mode": "nothing to set: the page is light",
    "display_head": "head=",
    "encoder_attention": "HeadView(attention, tokens, key_tokens), which shows attention between two texts too",
}
_NAMES_HERE |= dict.fromkeys(
    ("decoder_attention", "cross_attention", "encoder_tokens", "decoder_tokens"),
    _NAMES_HERE["encoder_attention"],
)


def refuse_others(others: dict[str, object], name: str) -> None:
    for given in others:
        here = f"; here it is {_NAMES_HERE[given]}" if given in _NAMES_HERE else ""
        raise TypeError(f"{name} has no option {given}{here}.")


def given_here(attention, tokens, sentence_b_start):
    """What has its tokens already, or what BertViz's own call gives: attentions, tokens, and where the second text begins."""
    if hasattr(attention, "tokens") and tokens is None and sentence_b_start is None:
        return attention
    return given_attention(attention, tokens, sentence_b_start=sentence_b_start)
