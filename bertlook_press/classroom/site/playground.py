"""Pages that live without Python: the playground, and BERT-base as it was recorded."""

from __future__ import annotations

import json
from html import escape

from .frame import frame, site_file, to_page

FIRST = "the animal didn't cross the street because it was too tired."  # BERT-base was recorded on it too

_MENUS = (
    {"view": 1, "trait": "style_index", "label": "view", "options": ["lines", "grid", "rows"]},
    {"view": 1, "trait": "level_index", "label": "of", "options": ["wordpieces", "words"]},
    {"view": 1, "trait": "hide_special", "label": "hide special tokens", "options": None},
)


def recorded_page(name: str, place: str, names: tuple[str, ...], there: frozenset[str]) -> str:
    """Every input that a model was recorded on, live."""
    from bertlook_course.widgets import RecordedView
    from bertlook_teach.model import load_recording

    from ...pages import live_views, precision_note

    view = RecordedView(load_recording(name))
    styles, live = live_views([view], alone=[0])
    others = " ".join(
        f'<a href="{to_page(place, f"recorded/{other}.html")}">{escape(other)}</a>'
        for other in names
        if other != name
    )
    about = to_page(place, "read/data-bert-base.html")
    source = (
        f' <a href="{about}">Where the numbers come from.</a>' if "read/data-bert-base.html" in there else ""
    )
    body = (
        f"<h1>{escape(view.badge)}</h1><p>What the heads of the published model looked at in {len(view.names)} inputs: recorded, not computed "
        f"here.{source} Also recorded: {others}.</p>{_STAGE}{_WITHOUT}"
        f'<p class="quiet">{escape(precision_note([view]))}</p>{live}'
    )
    description = (
        f"What each attention head of {name} looks at in {len(view.names)} inputs, live in the page."
    )
    return frame(
        place, view.badge, description, body, there=there, head=f"<style>{styles}</style>\n", wide=True
    )


_STAGE = '<div class="sheet"><div id="bertlook-controls"></div><div id="bertlook-views"></div></div>'

_WITHOUT = "<noscript><p>The views of this page need JavaScript.</p></noscript>"


def playground_files(there: frozenset[str]) -> dict[str, str | bytes]:
    """The playground and the weights of the models that it computes with."""
    from bertlook_course.widgets import NeuronView, RecordedView
    from bertlook_teach.model import SHIPPED, extract_attention, load_encoder, load_recording
    from bertlook_teach.views import HeadMap, HeadView, default_measures, page_rules

    from ...pages import engine_source, live_views, page_model, precision_note

    encoder, recording = load_encoder("specimen"), load_recording("bert-base-uncased")
    attention = extract_attention(encoder, FIRST, vectors=True)
    measures = default_measures()
    maps = HeadMap({name: measure(attention) for name, measure in measures.items()})
    recorded = RecordedView(recording, sentence=FIRST)
    views = [maps, HeadView(attention, bits=16), recorded, NeuronView(attention)]
    styles, live = live_views(views, alone=[2], controls=_MENUS, kept=())  # its address is its own
    texts = [[text, ""] if isinstance(text, str) else list(text) for text in recording.texts]
    examples = "".join(
        f'<option value="{i}">{escape(" / ".join(filter(None, pair)))}</option>'
        for i, pair in enumerate(texts)
    )
    models = [page_model(name) for name in SHIPPED]
    told = [
        one.told(f"{one.file} is not beside this page.", "What it shows stays as it is.") for one in models
    ]
    choices = "".join(
        f'<option value="{one["name"]}">{escape(one["title"])} ({one["size"] / 1e6:.0f} MB, read when asked)</option>'
        for one in told
    )
    body = (
        site_file("playground.html")
        .replace("{first}", escape(FIRST, quote=True))
        .replace("{examples}", examples)
        .replace("{models}", choices)
        .replace("{note}", escape(precision_note(views)))
    )
    scripts = [
        live,
        f'<script id="recorded-texts" type="application/json">{_json(texts)}</script>',
        f'<script id="models" type="application/json">{_json(told)}</script>',
        f'<script id="rules" type="application/json">{_json(page_rules(measures))}</script>',
        f"<script>\n{engine_source()}\n</script>",
        f"<script>\n{site_file('playground.js')}\n</script>",
    ]
    head = f"<style>{styles}\n{site_file('playground.css')}</style>\n"
    description = "Type a sentence, choose a head, switch it off: a small BERT computes in the page, recorded BERT-base beside it."
    page = frame(
        "playground.html",
        "Playground",
        description,
        body + "\n".join(scripts),
        there=there,
        head=head,
        wide=True,
    )
    return {"playground.html": page, **{one.file: one.script for one in models}}


def _json(value) -> str:
    return json.dumps(value, ensure_ascii=True).replace("<", "\\u003c").replace("&", "\\u0026")
