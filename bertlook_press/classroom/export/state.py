"""The widgets of an executed deck, as an exported page takes them: named in order, each module once, nothing unused.

A notebook's widget state names models by chance and repeats the JavaScript of a view in each of its models. Here models are
named by their place in the deck, so that the same deck is the same bytes, and modules and style sheets are listed once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os.path import commonprefix

from ...pages import PageModel

STATE = "application/vnd.jupyter.widget-state+json"

VIEW = "application/vnd.jupyter.widget-view+json"

_PREFIX = "IPY_MODEL_"

# What page/host.js can show: (kind, the trait that a reader sets, or None).
VIEWS: dict[str, str | None] = {
    "BoxModel": None,
    "HBoxModel": None,
    "VBoxModel": None,
    "GridBoxModel": None,
    "HTMLModel": None,
    "HTMLMathModel": None,
    "LabelModel": None,
    "AnyModel": None,
    "DropdownModel": "index",
    "SelectModel": "index",
    "ToggleButtonsModel": "index",
    "RadioButtonsModel": "index",
    "SelectionSliderModel": "index",
    "IntSliderModel": "value",
    "FloatSliderModel": "value",
    "CheckboxModel": "value",
    "ToggleButtonModel": "value",
    "ButtonModel": "",  # it only tells Python
    "TextModel": "value",
    "TextareaModel": "value",
}

LINKS = ("LinkModel", "DirectionalLinkModel")

_KEPT = ("_dom_classes", "_options_labels")  # of the traits that begin with an underscore

_DROPPED = ("style", "tabbable", "description_allow_html")


@dataclass
class Live:
    """The widgets of one page.

    Attributes
    ----------
    names : dict
        From the notebook's name of a displayed model to the page's; those that cannot be shown live are not in it.
    static : dict
        Why a displayed model is not live, by the notebook's name.
    models, recordings, silent, computed, weights :
        What page/host.js reads; ``weights`` is what it is told of the files of the models that its views speak of.
    modules, styles : list of str
        Each text once.
    """

    names: dict[str, str] = field(default_factory=dict)
    static: dict[str, str] = field(default_factory=dict)
    models: dict[str, dict] = field(default_factory=dict)
    recordings: list[dict] = field(default_factory=list)
    silent: dict[str, str] = field(default_factory=dict)
    computed: list[dict] = field(default_factory=list)
    weights: list[dict] = field(default_factory=list)
    modules: list[str] = field(default_factory=list)
    styles: list[str] = field(default_factory=list)

    def page_data(self) -> dict:
        """What the page's script reads; what all modules begin with, the shared drawing code, stands there once."""
        shared = commonprefix(self.modules) if len(self.modules) > 1 else ""
        shared = shared[: shared.rfind("\n") + 1]
        return {
            "models": self.models,
            "shared": shared,
            "modules": [module[len(shared) :] for module in self.modules],
            "recordings": self.recordings,
            "silent": self.silent,
            "computed": self.computed,
            "weights": self.weights,
        }


def saved_state(notebook) -> dict[str, dict]:
    """The widget state a notebook carries; empty if it was saved without."""
    state: object = notebook.metadata
    for part in ("widgets", STATE, "state"):
        state = state.get(part) if isinstance(state, dict) else None
    return (
        state if isinstance(state, dict) else {}
    )  # none was saved, or a stranger wrote something else there


def displayed(outputs: Iterable[Mapping]) -> list[str]:
    """The model ids among outputs, each once, in order."""
    views = [output["data"][VIEW] for output in outputs if VIEW in output.get("data", {})]
    ids = [view.get("model_id") for view in views if isinstance(view, dict)]
    return list(dict.fromkeys(id_ for id_ in ids if isinstance(id_, str)))


def live_state(
    state: Mapping[str, Mapping],
    roots: Sequence[str],
    recording: Mapping | None = None,
    *,
    instead: str = "Open the notebook in Jupyter.",
    held: Collection[PageModel] = (),
    folder: str = "",
) -> Live:
    """Make the page's widgets of a notebook's.

    Parameters
    ----------
    state : mapping
        From `saved_state`.
    roots : sequence of str
        From `displayed`, in the order of the page.
    recording : mapping, optional
        From `bertlook_press.pages.record`.
    instead : str
        What to do where a kernel is needed; ends the sentence that a control shows.
    held : collection of PageModel
        The models that the page may compute with.
    folder : str
        Where the page finds their files: an address, by default its own folder.

    Returns
    -------
    Live
    """
    recording = recording or {"recordings": [], "silent": {}}
    live, new = Live(), {}
    for root in roots:
        reason = _reason(state, root)
        if reason:
            live.static[root] = reason
            continue
        for id_ in _below(state, root):
            new.setdefault(id_, f"m{len(new)}")
        live.names[root] = new[root]
    links = [
        id_
        for id_, model in state.items()
        if model["model_name"] in LINKS
        and all(_id(model["state"][end][0]) in new for end in ("source", "target"))
    ]

    def ends(id_):
        return [
            (new[_id(reference)], trait)
            for reference, trait in (state[id_]["state"][e] for e in ("source", "target"))
        ]

    tied = {end for id_ in links for end in ends(id_)}
    for place, id_ in enumerate(sorted(links, key=ends)):  # a saved notebook lists models by chance
        new[id_] = f"link{place}"
    for id_, name in new.items():
        live.models[name] = _model(state[id_], new, live)
    live.recordings = [_renamed(one, new) for one in recording["recordings"] if _shown(one, new)]
    fingerprints = {one.fingerprint for one in held}
    for one in recording.get("computed", ()):
        if one["fingerprint"] in fingerprints and all(id_ in new for id_ in one["places"].values()):
            live.computed.append({**one, "places": {name: new[id_] for name, id_ in one["places"].items()}})
    spoken = {one["fingerprint"] for one in live.computed}
    for one in held:
        if one.fingerprint in spoken:
            missing = f"{one.file}, with which this file computes a new text, is not beside it."
            live.weights.append(one.told(missing, instead, folder))
    live.silent = _silent(state, new, live, tied, recording["silent"], instead)
    return live


def _reason(state, root) -> str:
    """Why a displayed widget cannot be live, or nothing."""
    if root not in state:
        return "its state is not in the notebook"
    for id_ in _below(state, root):
        if id_ not in state:
            return "the state of a part is not in the notebook"
        kind = state[id_]["model_name"]
        if kind not in VIEWS and kind != "LayoutModel":
            return f"a {kind.removesuffix('Model')} has no view in an exported page"
        if any(len(buffer["path"]) != 1 for buffer in state[id_].get("buffers", [])):
            return "it holds bytes inside a list"
    return ""


def _below(state, root) -> list[str]:
    """A widget, its layout and its children, all the way down, in the order of the page."""
    found, waiting = [], [root]
    while waiting:
        id_ = waiting.pop(0)
        if id_ in found:
            continue
        found.append(id_)
        traits = state.get(id_, {}).get("state", {})
        layout = [traits["layout"]] if traits.get("layout") else []
        waiting[:0] = [_id(reference) for reference in (*layout, *traits.get("children", ()))]
    return found


def _model(saved, new, live) -> dict:
    traits = {
        name: _named(value, new)
        for name, value in saved["state"].items()
        if value is not None and name not in _DROPPED and (not name.startswith("_") or name in _KEPT)
    }
    model = {"kind": saved["model_name"], "state": traits}
    if saved.get("buffers"):
        model["bytes"] = {buffer["path"][0]: buffer["data"].strip() for buffer in saved["buffers"]}
    if saved["model_name"] == "AnyModel":
        model["module"] = _place(live.modules, saved["state"]["_esm"])
        if saved["state"].get("_css"):
            _place(live.styles, saved["state"]["_css"])
    return model


def _place(texts: list[str], text: str) -> int:
    if text not in texts:
        texts.append(text)
    return texts.index(text)


def _id(reference: str) -> str:
    return reference.removeprefix(_PREFIX)


def _named(value, new):
    """A trait with the page's names in it."""
    if isinstance(value, str) and value.startswith(_PREFIX):
        return new.get(_id(value), value)
    if isinstance(value, list):
        return [_named(one, new) for one in value]
    if isinstance(value, dict):
        return {key: _named(one, new) for key, one in value.items()}
    return value


def _shown(recording, new) -> bool:
    return all(id_ in new for id_, _ in (*recording["inputs"], *recording["outputs"]))


def _renamed(recording, new) -> dict:
    places = {key: [[new[id_], trait] for id_, trait in recording[key]] for key in ("inputs", "outputs")}
    return {**recording, **places}


def _silent(
    state: Mapping, new: Mapping[str, str], live: Live, tied: set, known: Mapping, instead: str
) -> dict:
    """What each control says that nothing in the page answers."""
    silent = {}
    told = tied | {tuple(place) for one in live.recordings for place in one["inputs"]}
    told |= {
        (one["places"][name], "value")
        for one in live.computed
        for name in ("text", "pair", "pattern")
        if name in one["places"]
    }
    answered = {name for one in live.computed for name in one["places"].values()}
    for id_, name in new.items():
        kind = state[id_]["model_name"]
        trait = VIEWS.get(kind)
        if trait is not None and (name, trait) not in told:
            what = (
                "a new text cannot be computed"
                if kind in ("TextModel", "TextareaModel")
                else "this cannot be computed"
            )
            silent[name] = f"This file works without Python, so {what}. {instead}"
        elif id_ in known and name not in answered:
            silent[name] = f"{known[id_]} {instead}"
    return silent
