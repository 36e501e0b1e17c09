"""BertViz's head view, model view and neuron view, drawn from our arrays, with no request to anywhere.

BertViz (Vig, 2019) fetches three scripts from a CDN when it draws, so offline it shows nothing; in JupyterLab 4 it draws or
not depending on which script comes first; and its neuron view brings its own copy of old model code. Its drawing code
is sound. So the three views here are BertViz's own scripts (read from the installed package by scripts.py), given an
`Attention` of any encoder, and closed into a frame that may fetch nothing and cannot touch the page around it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from pathlib import Path

import numpy as np

from bertlook_course.render import checked_vectors
from bertlook_teach.disk import write_file
from bertlook_teach.model import check_weights
from bertlook_teach.views import as_array, checked_tokens, visible_token

from .calls import given_here, refuse_others
from .scripts import bertviz_script, d3_script, jquery_script

HEAD_VIEW_TOKENS = 64  # more take seconds to draw, and nobody can read them

MODEL_VIEW_TOKENS = 32

NEURON_VIEW_TOKENS = 32

STEPS = 1000  # numbers travel as whole thousandths: three digits after the point, no point

_FRAME = Path(__file__).parent / "frame"

_TYPE = {"head_view": 18, "model_view": 24, "neuron_view": 24}  # pixels, before the frame is scaled

_WIDTH = {"head_view": 390, "model_view": 904, "neuron_view": 910}  # what the view needs, in the same pixels

_TALLEST = 440  # pixels: with a title and two lines of caption it stands on a slide of 1280 x 720

# Browsers draw the frame and leave out what stands in it; a front end that takes out the frame leaves the words.
_NO_FRAME = "Run this cell to see the view: this program shows frames only in notebooks that you have run."

_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"

FIGURE_STYLE = "body{margin:4px;background:#fff}select{font-size:inherit;margin:0 .6em .3em .2em}#vis svg{overflow:visible}"

FIGURE_STYLE += ":focus-visible{outline:3px solid #0072b2;outline-offset:1px}"

FIGURE_STYLE += "#vis rect:focus-visible{outline:none;opacity:1!important;stroke:#0072b2;stroke-width:3px}"

FIGURE_STYLE += "#vis .unseen:focus-visible{fill:none;pointer-events:all}"

_FILTERS = (("All", "", ""), *((f"Sentence {q} -> Sentence {k}", q, k) for q, k in ("AA", "BB", "AB", "BA")))

_NEURON_FILTERS = ("all", "aa", "bb", "ab", "ba")  # the same, as the neuron view names them


@dataclass(frozen=True)
class BertVizView:
    """One of BertViz's views: a frame in a notebook, a page of its own with ``page``, a name elsewhere."""

    page: str = field(repr=False)
    sentence: str
    height: int

    def _repr_html_(self) -> str:
        source = self.page.replace("&", "&amp;").replace('"', "&quot;")
        sentence = escape(self.sentence)
        # allow-scripts alone: what runs inside can reach neither the notebook nor its cookies.
        return (
            '<figure class="bertlook-bertviz" style="margin:0">'
            f'<iframe title="{sentence}" sandbox="allow-scripts" width="100%" height="{self.height}" '
            f'style="border:0;display:block;background:#fff" srcdoc="{source}">{_NO_FRAME}</iframe>'
            f'<figcaption dir="auto">{sentence}</figcaption></figure>'
        )

    def save(self, path: str | Path) -> None:
        """Write a page that any browser opens, without network."""
        write_file(path, self.page)

    def __repr__(self) -> str:
        return f"BertVizView: {self.sentence}"


def bertviz_head_view(
    attention,
    tokens: Sequence[str] | None = None,
    sentence_b_start: int | None = None,
    *,
    layers: Sequence[int] | None = None,
    layer: int | None = None,
    heads: Sequence[int] | None = None,
    height: int | None = None,
    font_size: float = 24,
    **others,
) -> BertVizView:
    """BertViz's head view: lines from query to key, one colour a head, one layer at a time.

    Parameters
    ----------
    attention : Attention, or the attentions of a model of transformers
        Of one text or a pair of texts, at wordpiece or word level; at most 64 tokens.
    tokens, sentence_b_start : optional
        Of attentions that are not an Attention, as BertViz itself takes them.
    layers : sequence of int, optional
        The layers to carry along, from 0. All by default.
    layer : int, optional
        The layer in view at first; by default the first of ``layers``.
    heads : sequence of int, optional
        The heads in view at first. All by default.
    height : int, optional
        Of the frame, in pixels. By default what the text needs, at most 440; longer texts scroll.
    font_size : float
        Of the tokens, in pixels; smaller where the frame is too narrow.

    Raises
    ------
    TypeError
        If an option of BertViz is given that has another name here; says which.
    ValueError
        If there are more than 64 tokens, or a layer or head that is not there.

    References
    ----------
    Vig (2019), "A Multiscale Visualization of Attention in the Transformer Model". Two differences: of a pair of texts
    the weights travel once, not twice, and all weights are rounded to three digits.
    """
    refuse_others(others, "bertviz_head_view")
    attention = given_here(attention, tokens, sentence_b_start)
    weights, tokens, boundary = _read(attention, HEAD_VIEW_TOKENS, "head view")
    layers = _chosen(layers, len(weights), "layer")
    layer = layers[0] if layer is None else _one(layer, layers, "layer")
    heads = None if heads is None else _chosen(heads, weights.shape[1], "head")
    data = {
        "attention": _steps(weights[layers]),
        "tokens": tokens,
        "boundary": boundary,
        "layer": layer,
        "heads": heads,
        "include_layers": layers,
    }
    tall = (len(tokens) * 22.5 + 30 + 36, 24)
    sentence = (
        f"BertViz's head view: {_count(len(tokens), attention)}, {_layers(layers)}, {weights.shape[1]} heads a layer, counted from 0. "
        "Point at a token to see where it looks; double-click a colour to see that head alone. Keys: Tab, arrows, Shift+Enter."
    )
    return _view("head_view", data, sentence, font_size=font_size, height=height, tall=tall)


def bertviz_model_view(
    attention,
    tokens: Sequence[str] | None = None,
    sentence_b_start: int | None = None,
    *,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    height: int = 440,
    font_size: float = 24,
    **others,
) -> BertVizView:
    """BertViz's model view: every head of every layer as a small picture; a click enlarges one.

    Parameters
    ----------
    attention, tokens, sentence_b_start
        As in `bertviz_head_view`; at most 32 tokens.
    layers, heads : sequence of int, optional
        Which to draw, from 0. All by default.
    height : int
        Of the frame, in pixels. The small pictures are as tall as fits it.
    font_size : float
        Of the labels, in pixels; smaller where the frame is too narrow.

    Raises
    ------
    ValueError
        If there are more than 32 tokens, or a layer or head that is not there.
    """
    refuse_others(others, "bertviz_model_view")
    attention = given_here(attention, tokens, sentence_b_start)
    weights, tokens, boundary = _read(attention, MODEL_VIEW_TOKENS, "model view")
    layers, heads = _chosen(layers, len(weights), "layer"), _chosen(heads, weights.shape[1], "head")
    zoom = font_size / _TYPE["model_view"]
    controls = 40 if boundary else 0
    room = (height - 24) / zoom - controls - 62  # the axis takes 58
    data = {
        "attention": _steps(weights[np.ix_(layers, heads)]),
        "tokens": tokens,
        "boundary": boundary,
        "display_mode": "light",
        "include_layers": layers,
        "include_heads": heads,
        "total_heads": len(heads),  # ours: the small pictures share the width, also when heads are chosen
        "thumbnail_box_height": round(min(14.0, max(1.5, (room / len(layers) - 10) / len(tokens))), 2),
    }
    sentence = (
        f"BertViz's model view: {_count(len(tokens), attention)}, {_layers(layers)}, {_heads(heads)}, counted from 0. "
        "Click a head to enlarge it, and again to close it. Keys: Tab, arrows, Enter."
    )
    return _view("model_view", data, sentence, font_size=font_size, height=int(height))


def bertviz_neuron_view(
    attention,
    *model,
    layers: Sequence[int] | None = None,
    layer: int | None = None,
    head: int = 0,
    query: int | None = None,
    height: int | None = None,
    font_size: float = 24,
    **others,
) -> BertVizView:
    """BertViz's neuron view: query and key vectors, their product, score and softmax, number by number.

    Parameters
    ----------
    attention : Attention
        With queries and keys, ``extract_attention(..., vectors=True)``; at most 32 tokens.
    layers : sequence of int, optional
        The layers to carry along. By default the one of ``layer``: each costs about 60 kB for ten tokens.
    layer, head : int
        The head in view at first.
    query : int, optional
        The token whose computation is in view at first; by default the picture opens with lines only, and the plus
        sign beside a token opens its computation.
    height, font_size
        As in `bertviz_head_view`.

    Raises
    ------
    ValueError
        If queries and keys are missing, there are more than 32 tokens, or a layer, head or token is not there.
    """
    if model:
        raise TypeError(
            "bertviz_neuron_view takes one attention with its vectors: bertviz_neuron_view(extract_attention(encoder, text, vectors=True)), "
            "with encoder = load_encoder(model, tokenizer) of a model in memory."
        )
    refuse_others(others, "bertviz_neuron_view")
    weights, tokens, boundary = _read(attention, NEURON_VIEW_TOKENS, "neuron view")
    queries, keys = checked_vectors(attention)
    if layers is None:
        layers = _chosen([0 if layer is None else layer], len(weights), "layer")
    else:
        layers = _chosen(layers, len(weights), "layer")
    layer = layers[0] if layer is None else _one(layer, layers, "layer")
    head = _one(head, range(weights.shape[1]), "head")
    query = None if query is None else _one(query, range(len(tokens)), "token")
    data = {
        "attention": _steps(weights[layers]),
        "queries": _steps(queries[layers]),
        "keys": _steps(keys[layers]),
        "tokens": tokens,
        "boundary": boundary,
        "default_filter": "all",
        "bidirectional": True,
        "display_mode": "light",
        "layer": layers.index(layer),  # BertViz counts the layers it is given
        "head": head,
        "include_layers": layers,
        "query": query,
    }
    tall = (len(tokens) * 28 + 48 + 36, 12)
    sentence = (
        f"BertViz's neuron view: {_count(len(tokens), attention)}, {_layers(layers)}, {weights.shape[1]} heads a layer, "
        f"counted from 0, {queries.shape[-1]} dimensions. Blue adds, orange takes away. A token's plus sign opens its sums. Keys: Tab, arrows, Enter."
    )
    return _view("neuron_view", data, sentence, font_size=font_size, height=height, tall=tall)


# ---- what goes in ---------------------------------------------------------------------------------------------


def _read(attention, limit: int, name: str) -> tuple[np.ndarray, list[str], int | None]:
    """Weights, tokens as BertViz shows them, and where the second text begins."""
    if getattr(attention, "key_tokens", None) is not None:
        raise ValueError(f"BertViz's {name} here is of one text; cross attention is shown by HeadView.")
    if not hasattr(attention, "tokens"):  # only of the neuron view
        raise TypeError(
            f"BertViz's {name} takes an Attention, such as Attention.from_arrays(outputs.attentions, tokens); got {type(attention).__name__}."
        )
    weights, tokens = as_array(attention.weights), checked_tokens(attention.tokens)
    n = len(tokens)
    if weights.ndim != 4 or weights.shape[2:] != (n, n):
        raise ValueError(
            f"{n} tokens need weights of shape (layer, head, {n}, {n}); got {weights.shape}. "
            "Pass what extract_attention returned."
        )
    if n > limit:
        raise ValueError(
            f"BertViz's {name} takes at most {limit} tokens here, and this text has {n}: with more, a browser takes seconds "
            "to draw what nobody can read. Shorten the text, or use HeadView, which takes any length."
        )
    check_weights(weights, tokens)
    segments = [int(segment) for segment in attention.segment_ids]
    boundary = segments.index(1) if 1 in segments else None
    # As BertViz does: the marks of byte-level and sentence pieces become the space they stand for.
    shown = [visible_token(re.sub("[Ġ▁]", " ", token).replace("</w>", "")) for token in tokens]
    return weights, shown, boundary


def _chosen(wanted: Sequence[int] | None, count: int, name: str) -> list[int]:
    if wanted is None:
        return list(range(count))
    wanted = [int(index) for index in wanted]
    if not wanted:
        raise ValueError(f"choose at least one {name}; got none.")
    if len(set(wanted)) < len(wanted):
        raise ValueError(f"each {name} can be chosen once; got {wanted}.")
    return [_one(index, range(count), name) for index in wanted]


def _one(index: int, among: Sequence[int], name: str) -> int:
    if index not in among:
        there = f"0 to {among[-1]}" if isinstance(among, range) else ", ".join(map(str, among))
        raise ValueError(f"there is no {name} {index}: {name}s here are {there}, counted from 0.")
    return int(index)


def _steps(values: np.ndarray) -> list:
    return np.rint(np.asarray(values, dtype=np.float64) * STEPS).astype(int).tolist()


def _count(n: int, attention) -> str:
    unit = "word" if attention.level == "word" else "token"
    return f"{n} {unit}{'s' * (n != 1)}"


def _layers(layers: Sequence[int]) -> str:
    return f"layer {layers[0]}" if len(layers) == 1 else f"{len(layers)} layers"


def _heads(heads: Sequence[int]) -> str:
    return f"head {heads[0]}" if len(heads) == 1 else f"{len(heads)} heads a layer"


# ---- what comes out -------------------------------------------------------------------------------------------


def _view(
    name: str,
    data: dict[str, object],
    sentence: str,
    *,
    font_size: float = 24,
    height: int | None = None,
    tall: tuple[float, float] | None = None,
) -> BertVizView:
    """The frame of one view; without a height it is as ``tall`` as its text: what grows with the type, and what does not."""
    if not height and tall is not None:
        height = min(_TALLEST, int(font_size / _TYPE[name] * tall[0] + tall[1]))
    if not font_size > 0 or not height > 0:
        raise ValueError(f"font_size and height are pixels above 0; got {font_size} and {height}.")
    data.setdefault("default_filter", "0")
    data["root_div_id"] = "bertviz-view"  # BertViz draws a new one each time; here a frame holds one view
    unpack = (
        _own("unpack")
        .replace("NEURON_FILTERS", json.dumps(_NEURON_FILTERS))
        .replace("FILTERS", json.dumps(_FILTERS))
    )
    fit = _own("fit").replace("ZOOM", f"{font_size / _TYPE[name]:.6g}").replace("WIDTH", str(_WIDTH[name]))
    try:
        libraries, original = [_flat(jquery_script()), _flat(d3_script())], _flat(bertviz_script(name))
    except ModuleNotFoundError as missing:  # a frame that says so, or the rest of the lecture would not run
        return BertVizView(
            f'<!DOCTYPE html><html lang="en"><p>{escape(str(missing))}</p></html>', str(missing), 60
        )
    scripts = [
        *libraries,
        "{" + f"const data = {_json(data)};" + unpack.replace("STEPS", str(STEPS)) + "}",
        original,
        "{" + fit + "}",
        "{" + _own("keys") + "}",
    ]
    page = "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            # Whatever stood in a token: nothing is fetched, nothing but these scripts runs.
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            f"<title>{escape(sentence)}</title>",
            f"<style>{FIGURE_STYLE}span{{font-size:{_TYPE[name]}px}}</style></head><body>",
            _controls(name, data),
            *(f"<script>{script}</script>" for script in scripts),
            "</body></html>",
        ]
    )
    return BertVizView(page, sentence, height)


def _controls(name: str, data: dict[str, object]) -> str:
    """The same menus as BertViz's Python writes, with labels that belong to them."""
    menus = []
    if name != "model_view":
        menus.append('<label class="dropdown-label">Layer: <select id="layer"></select></label>')
    if name == "neuron_view":
        menus.append('<label class="dropdown-label">Head: <select id="att_head"></select></label>')
    if data["boundary"] is not None:
        values = _NEURON_FILTERS if name == "neuron_view" else range(len(_FILTERS))
        options = "".join(
            f'<option value="{value}">{escape(text)}</option>' for value, (text, *_) in zip(values, _FILTERS)
        )
        menus.append(
            f'<label class="dropdown-label">Attention: <select id="filter">{options}</select></label>'
        )
    return (
        f'<div id="{data["root_div_id"]}" style="font-family:\'Helvetica Neue\',Helvetica,Arial,sans-serif">'
        f'<span style="user-select:none">{"".join(menus)}</span><div id="vis"></div></div>'
    )


@cache
def _own(name: str) -> str:
    """A script of ours for the frame, without the comment it begins with."""
    text = (_FRAME / f"{name}.js").read_text(encoding="utf-8")
    return "\n" + re.sub(r"\A(?://.*\n)+", "", text)


@cache
def _flat(text: str) -> str:
    """A script without indentation: a saved notebook carries it."""
    return re.sub(r"(?m)^[ \t]+|\n(?=\n)", "", text).strip()


def _json(data: object) -> str:
    """JSON that can stand inside a script, whatever a token says."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text
