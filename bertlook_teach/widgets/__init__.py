"""Live views of attention for JupyterLab, slides and saved pages. The only place that imports ipywidgets."""

from .explorer import HeadExplorer, TextBox, default_measures
from .head_map import HeadMap
from .head_view import HeadView
from .links import link_heads, link_traits
from .neuron_view import NeuronView
from .saved_page import save_page
from .six_lenses import LensView, SixLenses
from .training_film import TrainingFilm
from .weighted_text import WeightedText

__all__ = [
    "HeadExplorer",
    "HeadMap",
    "HeadView",
    "LensView",
    "NeuronView",
    "SixLenses",
    "TextBox",
    "TrainingFilm",
    "WeightedText",
    "default_measures",
    "link_heads",
    "link_traits",
    "save_page",
]
