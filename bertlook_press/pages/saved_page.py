"""One view as one HTML file that stays live without a kernel and without a network."""

from __future__ import annotations

import base64
import html
import json
import re
import zlib
from pathlib import Path

from bertlook_course.render import STYLES as LENS_STYLES
from bertlook_course.widgets import (
    ArcView,
    DistanceMap,
    FamilyExplorer,
    LensView,
    NeuronView,
    RecordedView,
    SixLenses,
    TrainingFilm,
    WeightedText,
    module_source,
)
from bertlook_teach.disk import write_file
from bertlook_teach.views import (
    LEVELS,
    QUANTITIES,
    STYLES,
    HeadExplorer,
    HeadMap,
    HeadView,
    asset,
    static_page,
)

from .page_models import FOLDER, model_source

# Each view's module in js/; what is set by controls inside the view is not repeated above it.
_MODULES = {
    HeadView: "head_view",
    HeadMap: "head_map",
    LensView: "six_lenses",
    ArcView: "arc_view",
    DistanceMap: "distance_map",
    NeuronView: "neuron_view",
    WeightedText: "weighted_text",
    TrainingFilm: "training_film",
    RecordedView: "recorded_view",
}

_BOXES = (HeadExplorer, SixLenses, FamilyExplorer)  # of views tied together in the page

_SHARED = ("layer", "head", "pair")

_KEPT = (
    "layer",
    "head",
    "measure",
    "style_index",
    "level_index",
    "quantity_index",
    "hide_special",
    "query",
    "key",
    "sentence",
)  # what a reader chooses: it stands in the address of the page

_PICTURE_UP_TO = 64  # tokens: a still picture for readers without scripts may not weigh more than the view

_EXPORT = re.compile(r"^export default \{", re.MULTILINE)


def save_page(view, path, *, title: str | None = None) -> Path:
    """Write a view as one HTML file with everything in it. Choosing, pointing and keys work as in the notebook.

    Parameters
    ----------
    view : HeadView, HeadMap, LensView, ArcView, AntecedentView, DistanceMap, NeuronView,
        RecordedView, WeightedText or TrainingFilm.
        Or a box of such views tied together: HeadExplorer, SixLenses, FamilyExplorer; their text boxes stay out,
        because a new sentence needs the model.
    path : str or Path
        Ends in .html; missing folders are made.
    title : str, optional
        The page's heading. By default the text in view, or what kind of view it is.

    Returns
    -------
    Path
        Where it was written. The same view gives the same bytes.

    Raises
    ------
    TypeError
        If the view is answered by Python.
    ValueError
        If the view does not hold all layers, or the path does not end in .html.
    OSError
        If the file cannot be written; the message says where.

    Examples
    --------
    >>> from bertlook_teach.views import HeadMap
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = save_page(HeadMap([[0.1, 0.9]], name="a share"), f"{folder}/map.html")
    ...     "http" in page.read_text(encoding="utf-8").replace("http-equiv", "").replace("http://www.w3.org", "")
    False
    """
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"a saved page is an .html file; got {path.name!r}.")
    return write_file(path, page_source(view, title=title))


def page_source(view, *, title: str | None = None) -> str:
    """What `save_page` writes."""
    views = _views_of(view)
    title = title or _title(view, views)
    alone = [i for i, one in enumerate(views) if isinstance(one, RecordedView)]
    styles, live = live_views(views, alone=alone, controls=_controls(views))
    still = _still(views)
    small = all(len(picture.svg) < 200_000 for picture in still) and not _long(views)
    without_scripts = (
        static_page(*still)
        if small
        else "".join(f"<p>{html.escape(picture.beneath)}</p>" for picture in still)
    )
    policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="generator" content="bertlook_teach">',
            '<link rel="icon" href="data:,">',
            f"<title>{html.escape(title)}</title>",
            f"<style>{styles}</style></head>",
            f'<body><main><h1 dir="auto">{html.escape(title)}</h1>',
            '<div id="bertlook-controls"></div><div id="bertlook-views"></div>',
            f"<noscript>{without_scripts}</noscript></main>",
            f"<footer>{html.escape(precision_note(views))} This page asks nothing of the network; a new sentence needs the notebook.</footer>",
            live,
            "</body></html>",
            "",
        ]
    )


def live_views(views, *, alone=(), controls=(), kept=_KEPT) -> tuple[str, str]:
    """The style sheet and the scripts that bring views to life in a page with the elements bertlook-controls and bertlook-views.

    Parameters
    ----------
    views : sequence of views
        They show the same head, but for those whose positions stand in ``alone``.
    alone : sequence of int
    controls : sequence of dict
        Menus above the views: "view", "trait", "label", and "options" or None for a box to tick.
    kept : sequence of str
        Traits that stand in the address of the page.
    """
    modules = {_module(one): one for one in views}
    state = {
        "views": [{"module": _module(one), "state": _state(one)} for one in views],
        "shared": [name for name in _SHARED if len(views) > 1],
        "alone": list(alone),
        "controls": list(controls),
        "kept": list(kept),
    }
    scripts = [
        f'<script id="bertlook-saved" type="application/json">{_json(state)}</script>',
        *(_script(_registered(name), kind="module") for name in modules),
        _script(f"{model_source()}\n{asset('page.js', (FOLDER,))}", kind="module"),
    ]
    styles = dict.fromkeys([*(one._css for one in modules.values()), asset("page.css", (FOLDER,))])
    return "\n".join(styles), "\n".join(scripts)


def precision_note(views) -> str:
    """How exact the numbers on a saved page are, in a sentence for each way in which they are kept."""
    notes = []
    for view in views:
        if isinstance(view, HeadView):
            notes.append(
                f"{'Changes' if view.difference else 'Weights'} are kept in {view.bits} bits each, so one is off by at most {_half_step(view)}."
            )
        elif isinstance(view, RecordedView):
            notes.append(
                f"Recorded weights are kept in {view.bits} bits each, so one is off by at most {_half_step(view)}."
            )
        elif isinstance(view, LensView):
            notes.append(
                f"Lenses are kept in {view.bits} bits a number, so a number is off by at most {_half_step(view)} of what 100 is."
            )
        elif isinstance(view, NeuronView):
            notes.append("Queries and keys are kept in 16 bits a number.")
        elif isinstance(view, (HeadMap, DistanceMap, TrainingFilm)):
            notes.append("The map's numbers are kept in single precision.")
        elif isinstance(view, WeightedText):
            notes.append("The words' numbers are kept in single precision.")
        else:
            notes.append("What each head names is kept exactly.")
    return " ".join(dict.fromkeys(notes))


def _half_step(view) -> str:
    """Half of one step of 8 or 16 bits, written without an exponent; a difference has half as many steps each way."""
    half = 0.5 / ((2 ** (view.bits - 1) if getattr(view, "difference", False) else 2**view.bits) - 1)
    return f"{half:.3f}" if view.bits == 8 else f"{half:.6f}"


# --- parts of the page ------------------------------------------------------------------------------------------------
def _views_of(view) -> list:
    if isinstance(view, _BOXES):
        waiting, views = [view], []
        while waiting:
            one = waiting.pop(0)
            if isinstance(one, tuple(_MODULES)):
                views.append(one)
            waiting[:0] = list(getattr(one, "children", ()))
        return views
    if not isinstance(view, tuple(_MODULES)):
        names, parts = ", ".join(kind.__name__ for kind in (*_MODULES, *_BOXES)), " or ".join(_parts_of(view))
        raise TypeError(
            f"a saved page cannot hold a {type(view).__name__}. It can hold: {names}. {f'Give its {parts}, or export' if parts else 'Export'} the "
            "notebook that it stands in: `bertlook export`."
        )
    if isinstance(view, NeuronView) and len(view.carried) < view.shape[0]:
        raise ValueError(
            f"this view holds layer {view.carried[0] + 1} of {view.shape[0]} alone, because all would be too large; "
            "a saved page could show no other. Take a shorter text."
        )
    return [view]


def _parts_of(view) -> list[str]:
    """The names of the views in a box that a page can hold."""
    held, parts = (*_MODULES, *_BOXES), vars(view).items() if hasattr(view, "children") else ()
    lists = [
        (f"{name}[{i}]", one) for name, part in parts if isinstance(part, list) for i, one in enumerate(part)
    ]
    return [f".{name}" for name, part in (*parts, *lists) if isinstance(part, held)]


def _still(views) -> list[tuple[str, str]]:
    """The pictures in view: where there is a switch, those of the model that it stands on."""
    switch = next((one for one in views if isinstance(one, RecordedView)), None)
    if switch is None:
        return [one.picture() for one in views]
    if switch.shows or len(views) == 1:
        return switch.pictures()
    return [one.picture() for one in views if one is not switch]


def _module(view) -> str:
    return next(name for kind, name in _MODULES.items() if isinstance(view, kind))


def _title(box, views) -> str:
    recorded = next((view for view in views if isinstance(view, RecordedView)), None)
    if recorded is not None and len(views) > 1:
        return f"Attention: {recorded.other}; {recorded.badge}"
    typed = getattr(getattr(box, "text_box", None), "shown", None)
    if typed:
        return " / ".join(text for text in typed if text)
    if len(views) == 1 and isinstance(views[0], RecordedView):
        return f"{views[0].badge}: {views[0].names[views[0].sentence]}"
    layers, heads = views[0].shape[:2]
    what = {
        LensView: "Lenses",
        ArcView: "Arcs",
        NeuronView: "Neurons",
        DistanceMap: "Distances",
        WeightedText: "Words",
        TrainingFilm: "Training",
    }
    kind = next((name for kind, name in what.items() if isinstance(views[0], kind)), "Attention")
    return f"{kind} of {layers} x {heads} heads"


def _long(views) -> bool:
    return any(view.shape[2] > _PICTURE_UP_TO for view in views if isinstance(view, (HeadView, LensView)))


def _state(view) -> dict[str, object]:
    """Every synced trait of ours, in the order of their names; bytes as base64, and deflated where the view can."""
    state = {}
    for name in sorted(view.keys):
        if name.startswith("_") or name in ("layout", "tabbable", "tooltip"):
            continue
        value = getattr(view, name)
        state[name] = value
    if state.get("packing") == "plain" and len(state["data"]) > 4096:
        state["data"], state["packing"] = zlib.compress(state["data"], 6), "deflate"
    return {
        name: {"base64": base64.b64encode(value).decode("ascii")} if isinstance(value, bytes) else value
        for name, value in state.items()
    }


def _controls(views) -> list[dict[str, object]]:
    """What ipywidgets set in a notebook: menus and boxes above the views."""
    controls: list[dict[str, object]] = []

    def menu(view: int, trait: str, label: str, options) -> None:
        if len(options := [str(option) for option in options]) > 1:
            controls.append({"view": view, "trait": trait, "label": label, "options": options})

    first = next((i for i, view in enumerate(views) if not isinstance(view, RecordedView)), None)
    # these have menus of their own
    if first is not None and not isinstance(views[first], (ArcView, NeuronView, WeightedText, TrainingFilm)):
        layers, heads = views[first].shape[:2]
        menu(first, "layer", "layer", range(1, layers + 1))
        menu(first, "head", "head", range(1, heads + 1))
    for i, view in enumerate(views):
        if isinstance(view, HeadView):
            menu(i, "style_index", "view", STYLES)
            if len(view.texts) == len(LEVELS):
                menu(i, "level_index", "of", [f"{level}s" for level in LEVELS])
            if view.norms:
                menu(i, "quantity_index", "show", QUANTITIES)
            controls.append(
                {"view": i, "trait": "hide_special", "label": "hide special tokens", "options": None}
            )
        elif isinstance(view, LensView):
            menu(i, "style_index", "show", LENS_STYLES)
    return controls


def _registered(name: str) -> str:
    """A view's module that puts itself into a table, because a page opened from a disk can import no neighbour."""
    source, times = _EXPORT.subn(
        f"(globalThis.bertlookViews ??= {{}})[{json.dumps(name)}] = {{", module_source(name)
    )
    if times != 1:
        raise AssertionError(f"js/{name}.js must have one `export default {{`; it has {times}.")
    return source


def _script(source: str, *, kind: str) -> str:
    if "</script" in source.lower():
        raise AssertionError("a script on a page must not name its own end")
    return f'<script type="{kind}">\n{source}\n</script>'


def _json(value) -> str:
    """JSON that cannot end the script it stands in, whatever the tokens are."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), sort_keys=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
