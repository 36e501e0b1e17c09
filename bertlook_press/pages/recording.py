"""Ask Python for its answer to every choice a reader could make, so that a saved page can give it without a kernel.

Runs in the kernel of a deck that is being exported. A control that is linked in the page (`link_traits`) works there anyway.
Other controls and views (`PictureMenu`, `HeadPictures`) are redrawn by Python: each of their values is set in turn, what
changed is written down, and the first value is put back. A control with too many values, or an open one such as a line of
text, cannot be written down and is left to say so.
"""

from __future__ import annotations

import base64
import contextlib
import itertools
from collections.abc import Iterable, Sequence

import anywidget
import ipywidgets
import numpy as np

MIME = "application/vnd.bertlook.recording+json"

MOST_CHOICES = 400  # of one control, or of several that change the same picture

# Of an anywidget whose own half of Python does something with what the page reports; may be set on a class.
NEEDS = "needs_kernel"

_LISTENS = "What is done here is answered by Python, which this file does not have."


class RecordedStates:
    """What `record` finds, as the output of a cell, for the exporter to pick up."""

    def __init__(self, roots: Sequence[str]):
        self._found = record(roots)

    def _repr_mimebundle_(self, **kwargs):
        return {MIME: self._found, "text/plain": "recorded"}


def record(roots: Sequence[str]) -> dict:
    """All recordings of the displayed widgets, with what the page needs besides.

    Parameters
    ----------
    roots : sequence of str
        Model ids of what is displayed.

    Returns
    -------
    dict
        ``recordings``: list of {"inputs", "rows", "outputs", "answers", "values"}; a row holds one value an input, its
        answer one position in ``values`` an output. ``silent``: sentences of anywidgets that listen to the page in vain,
        by model id. ``computed``: what a page that holds the view's model can answer itself, see `HeadExplorer.in_page`. ``tables``: the numbers of each displayed picture as HTML tables, by model id; of a picture that is no
        widget by `picture_key`.
    """
    widgets = {id_: _instances()[id_] for id_ in roots if id_ in _instances()}
    reach = list(_reach(widgets.values()))
    bound = _links()
    with contextlib.ExitStack() as held:  # nobody looks on while each choice is tried
        for widget in reach:
            held.enter_context(widget.hold_sync())
        recordings = _recordings(reach, bound)
    answered = {tuple(place) for recording in recordings for place in recording["inputs"]}
    silent = {}
    for widget in reach:
        sentence = _listens(widget, bound, answered)
        if sentence:
            silent[widget.model_id] = sentence
    return {
        "recordings": recordings,
        "silent": silent,
        "computed": [found for one in reach if (found := getattr(one, "in_page", lambda: None)())],
        "tables": {id_: tables(widget) for id_, widget in widgets.items()} | picture_tables(),
    }


# --- what can be chosen -----------------------------------------------------------------------------------------------
def choices(widget) -> tuple[tuple[str, ...], list[tuple]] | None:
    """The traits of a control that a reader sets, and every setting; None where they cannot be counted."""
    if isinstance(widget, anywidget.AnyWidget):
        if all(widget.has_trait(name) for name in ("layer", "head", "shape")):
            layers, heads = widget.shape[:2]
            return ("layer", "head"), list(itertools.product(range(layers), range(heads)))
        return None
    if widget.has_trait("index") and widget.has_trait("_options_labels"):
        return ("index",), [(i,) for i in range(len(widget._options_labels))]
    if isinstance(widget, (ipywidgets.Checkbox, ipywidgets.ToggleButton)):
        return ("value",), [(False,), (True,)]
    if isinstance(widget, (ipywidgets.IntSlider, ipywidgets.FloatSlider)):
        n = round((widget.max - widget.min) / widget.step) + 1
        whole = isinstance(widget, ipywidgets.IntSlider)
        values = [widget.min + i * widget.step for i in range(n)]
        return ("value",), [(value if whole else round(value, 10),) for value in values]
    return None


def _recordings(reach, bound) -> list[dict]:
    """Sweep every control once, then those that change the same thing together."""
    found = []  # (control widgets, their outputs)
    seen: list[set] = []
    # maps before menus
    for widget in sorted(reach, key=lambda one: not isinstance(one, anywidget.AnyWidget)):
        settings = choices(widget)
        if settings is None or not 1 < len(settings[1]) <= MOST_CHOICES:
            continue
        kin = {bound.get((widget.model_id, trait), (widget.model_id, trait)) for trait in settings[0]}
        if any(kin <= other for other in seen):
            continue  # a menu tied to a map that has been swept already
        seen.append(kin)
        changed = _sweep([widget], reach, bound)
        if changed:
            found.append(([widget], set(changed)))
    recordings = []
    while found:
        controls, outputs = found.pop()
        together = [one for one in found if one[1] & outputs]
        if together:
            found = [one for one in found if one not in together]
            joined = [widget for one in (*together, (controls, outputs)) for widget in one[0]]
            found.append((joined, outputs.union(*(one[1] for one in together))))
            continue
        total = int(np.prod([len(choices(widget)[1]) for widget in controls]))
        if total <= MOST_CHOICES:
            recordings.append(_written(controls, reach, bound))
    return recordings[::-1]


def _sweep(controls, reach, bound, rows=None) -> dict[tuple[str, str], list]:
    """Set every combination; the traits that changed on the way, each with its value at every row."""
    inputs = [(widget, choices(widget)) for widget in controls]
    own = {
        bound.get((widget.model_id, trait), (widget.model_id, trait))
        for widget, (traits, _) in inputs
        for trait in traits
    }
    before = [{trait: getattr(widget, trait) for trait in traits} for widget, (traits, _) in inputs]
    start, states = _state(reach), []
    try:
        for row in itertools.product(*(settings for _, (_, settings) in inputs)):
            for (widget, (traits, _)), values in zip(inputs, row):
                _put(widget, dict(zip(traits, values)))
            states.append(_state(reach))
            if rows is not None:
                rows.append([value for values in row for value in values])
    finally:
        for (widget, _), values in zip(inputs, before):
            _put(widget, values)
    mine = {(widget.model_id, trait) for widget, (traits, _) in inputs for trait in traits}
    names = {widget.model_id for widget, _ in inputs}
    changed = {}
    for place in start:
        if place in mine or bound.get(place, place) in own:
            continue
        if place[0] in names and place[1] in ("value", "index", "label"):
            continue  # the control's own other names for the same choice
        values = [state[place] for state in states]
        if any(not _same(value, start[place]) for value in values):
            changed[place] = values
    return changed


def _written(controls, reach, bound) -> dict:
    rows: list[list] = []
    changed = _sweep(controls, reach, bound, rows)
    values, positions = [], {}

    def position(value):
        plain = {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value
        key = repr(plain)
        if key not in positions:
            positions[key] = len(values)
            values.append(plain)
        return positions[key]

    inputs = [[widget.model_id, trait] for widget in controls for trait in choices(widget)[0]]
    answers = [[position(told[i]) for told in changed.values()] for i in range(len(rows))]
    return {
        "inputs": inputs,
        "rows": rows,
        "outputs": [list(place) for place in changed],
        "answers": answers,
        "values": values,
    }


# --- the widgets of the kernel ----------------------------------------------------------------------------------------
def _instances() -> dict[str, ipywidgets.Widget]:
    try:
        return ipywidgets.widgets.widget._instances
    except AttributeError:  # ipywidgets 7
        return ipywidgets.Widget.widgets


def _reach(widgets: Iterable) -> Iterable:
    """Every widget on display, each once, parents first."""
    seen, waiting = set(), list(widgets)
    while waiting:
        widget = waiting.pop(0)
        if widget.model_id in seen:
            continue
        seen.add(widget.model_id)
        yield widget
        waiting[:0] = list(getattr(widget, "children", ()))


def _links() -> dict[tuple[str, str], tuple[str, str]]:
    """Each linked trait, with one name for all that are linked with it in the page."""
    names: dict[tuple[str, str], tuple[str, str]] = {}
    for widget in list(_instances().values()):
        if not isinstance(widget, (ipywidgets.widgets.widget_link.Link,)):
            continue
        source, target = ((one.model_id, trait) for one, trait in (widget.source, widget.target))
        old, new = names.setdefault(target, target), names.setdefault(source, source)
        names = {place: new if name == old else name for place, name in names.items()}
    return names


def _state(reach) -> dict[tuple[str, str], object]:
    return {
        (widget.model_id, trait): getattr(widget, trait)
        for widget in reach
        for trait in widget.keys
        if not trait.startswith("_") and trait not in ("layout", "style", "children")
    }


def _put(widget, values: dict) -> None:
    with widget.hold_trait_notifications():
        for trait, value in values.items():
            setattr(widget, trait, value)


def _same(a, b) -> bool:
    return a is b or a == b


def _listens(widget, bound, answered) -> str:
    """A sentence if Python listens to an anywidget and its answer could not be written down."""
    if not isinstance(widget, anywidget.AnyWidget):
        return ""
    said = getattr(type(widget), NEEDS, "")
    if said:
        return said
    if widget._msg_callbacks.callbacks:
        return _LISTENS
    for trait in widget.keys:
        if (widget.model_id, trait) in answered or trait.startswith("_"):
            continue
        for handler in widget._trait_notifiers.get(trait, {}).get("change", ()):
            name = getattr(handler, "__qualname__", "")
            # methods of the class itself have no such name here
            if name and not name.startswith("_pass_on."):
                tied = bound.get((widget.model_id, trait))
                if not (tied and any(bound.get(place) == tied for place in answered)):
                    return _LISTENS
    return ""


# --- numbers of the pictures ------------------------------------------------------------------------------------------
def picture_tables() -> dict[str, list[str]]:
    """The numbers of every picture that was shown and has some, by `picture_key` of its markup."""
    from bertlook_teach.views import SHOWN

    return {key: [table._repr_html_() for table in numbers] for key, numbers in SHOWN.items()}


def tables(widget) -> list[str]:
    """The numbers of each picture on display as an HTML table, in the order of the pictures."""
    from bertlook_course.render import TextTable, attention_table, head_map_table, is_right
    from bertlook_course.widgets import ArcView, DistanceMap, NeuronView
    from bertlook_teach.model import head_label
    from bertlook_teach.views import HeadMap, HeadView, number, signed_points

    found = []
    for one in _reach([widget]):
        if isinstance(one, HeadMap):
            about = f"{one.measure}, after minus before" if one.difference else one.measure
            found.append(head_map_table(one._values[one.measure], caption=about, difference=one.difference))
        elif isinstance(one, HeadView):
            norms = one.quantity == "norm"
            text, caption = one.texts[one.level], "Weights of the head in the picture"
            numbers = one.weighted_norms() if norms else one.weights()
            if one.difference:
                rows = [[token, *map(signed_points, row)] for token, row in zip(text["tokens"], numbers)]
                header = ["query, to key", *text["tokens"]]
                found.append(TextTable(header, rows, "Change in points, after minus before")._repr_html_())
            elif norms:  # a table of shares would refuse lengths
                rows = [[token, *(number(x) for x in row)] for token, row in zip(text["tokens"], numbers)]
                found.append(TextTable(["query, from key", *text["tokens"]], rows, "Norms")._repr_html_())
            else:
                found.append(attention_table(numbers, text["tokens"], caption=caption))
        elif isinstance(one, DistanceMap):
            index = one.layer * one.shape[1] + one.head
            near = one.nearest[index]
            rows = [
                [head_label(*divmod(i, one.shape[1])), one.groups[i], number(one._distances[index, i])]
                for i in near
            ]
            found.append(TextTable(["nearest head", "group", one.unit], rows)._repr_html_())
        elif isinstance(one, ArcView):
            arcs = one.arcs()
            words = arcs["words"]
            rows = [
                [
                    words[arc["dependent"]],
                    arc["relation"],
                    words[arc["governor"]],
                    "none" if arc["answer"] is None else words[arc["answer"]],
                    "right" if is_right(arc) else "wrong",
                ]
                for arc in arcs["arcs"]
            ]
            header = ["word", one.relation_name, "belongs to", "the head says", "that is"]
            found.append(TextTable(header, rows)._repr_html_())
        elif isinstance(one, NeuronView):
            seen = one.neurons()
            rows = [
                [token, f"{score:.2f}", f"{weight:.3f}"]
                for token, score, weight in zip(seen.tokens, seen.scores, seen.weights)
            ]
            found.append(TextTable(["key", "score", "weight"], rows)._repr_html_())
        elif callable(getattr(one, "table", None)):
            found.append(one.table()._repr_html_())
    return found
