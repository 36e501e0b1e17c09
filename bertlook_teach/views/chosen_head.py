"""What every view of heads has: a chosen layer and head, a type size, and a picture for pages without a kernel."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from difflib import get_close_matches

import traitlets

from ..model import parse_head_label
from .assets import mime_bundle

_OF_IPYWIDGETS = ("comm", "model_id")


def refuse_unknown(view: type, given: Iterable[str], *, traits: bool = True) -> None:
    """Say which option was meant; ipywidgets takes any name and does nothing with it.

    Parameters
    ----------
    view : type
        Its options are the arguments of its ``__init__`` and of those it hands on to.
    given : iterable of str
    traits : bool
        Whether traits, such as ``layout``, are options too.

    Raises
    ------
    TypeError
        If there is no such option.
    """
    own = {name for one in view.__mro__ if "__init__" in vars(one) for name in _arguments(one)}
    known = own | set(view.class_trait_names() if traits else ())
    for name in given:
        if name in known or (traits and (name in _OF_IPYWIDGETS or name.startswith("_"))):
            continue
        public = sorted(option for option in known if not option.startswith("_"))
        near = get_close_matches(name, public, n=1, cutoff=0.7)
        meant = f" Did you mean {near[0]!r}?" if near else f" Its options are {', '.join(sorted(own))}."
        raise TypeError(f"{view.__name__} has no option {name!r}.{meant}")


def _arguments(view: type) -> list[str]:
    if not view.__module__.startswith("bertlook_"):
        return []
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = inspect.signature(view.__init__).parameters.items()
    return [name for name, parameter in parameters if parameter.kind in named and name != "self"]


class InPage(traitlets.HasTraits):
    """A view that carries what its panel's ``in_page()`` gives, for ``js/page_answers.js`` to find it in Jupyter; empty where a page cannot answer."""

    _in_page = traitlets.Dict().tag(sync=True)


class ChosenHead(InPage):
    """One layer and one head are chosen, counted from 0; a view with this has a ``shape`` that begins with (layers, heads).

    The choice is linked with other views in the browser and reported to Python. ``font_size`` is in pixels; 0 follows the page.
    """

    layer = traitlets.Int(0).tag(sync=True)
    head = traitlets.Int(0).tag(sync=True)
    font_size = traitlets.Float(0).tag(sync=True)

    def __init__(self, *args, **options):
        refuse_unknown(type(self), options)
        if isinstance(options.get("head"), str):  # a printed name, "3-2"
            layer, head = parse_head_label(options["head"])
            if options.get("layer", 0) not in (0, layer):
                raise ValueError(
                    f"head {options['head']!r} names its layer, and layer={options['layer']} is another; give one of them."
                )
            options |= {"layer": layer, "head": head}
        super().__init__(*args, **options)

    def limits(self) -> dict[str, int]:
        """How many there are to choose from, by the name of the choice."""
        return dict(zip(("layer", "head"), self.shape))

    def check_choice(self, proposal) -> int:
        """A choice counts from 0 to its limit; views with more choices than layer and head validate them by this too."""
        name, value = proposal["trait"].name, proposal["value"]
        limit = self.limits()[name]
        if not 0 <= value < limit:
            raise traitlets.TraitError(f"{name} counts from 0 to {limit - 1}; got {value}.")
        return value

    _a_head = traitlets.validate("layer", "head")(check_choice)

    def take(self, state: dict[str, object]) -> None:
        """Show other data, keeping the chosen head where it still exists; call it while updates are held."""
        for trait, content in state.items():
            setattr(self, trait, content)
        self.layer = min(self.layer, self.shape[0] - 1)
        self.head = min(self.head, self.shape[1] - 1)

    def _repr_mimebundle_(self, **kwargs):
        return mime_bundle(self, [self.picture()])


class DrawnHead(ChosenHead):
    """The map of the chosen head is drawn: ``height`` is in pixels, 0 for what the text takes; ``badge`` says which model it is."""

    badge = traitlets.Unicode("").tag(sync=True)
    height = traitlets.Float(0).tag(sync=True)
