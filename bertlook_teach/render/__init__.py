"""Arrays in, pictures out: SVG and HTML strings, plain text, matplotlib figures. Nothing here displays.

The same input gives the same bytes, every token is escaped, and each picture carries a sentence computed from
its data. matplotlib is imported only when a figure is made.
"""

from .attention import render_attention_grid, render_attention_lines
from .bertviz import bertviz_head_view, bertviz_model_view, bertviz_neuron_view
from .figures import describe_layers, layer_curves, scatter_by_layer
from .head_map import render_head_map, value_range
from .neurons import describe_neurons, neuron_picture, neuron_table, render_neurons
from .papers import caption_of, save_figure
from .sentences import describe_attention, describe_head_map, describe_token
from .tables import (
    attention_table,
    format_attention_grid,
    format_head_map,
    format_strongest_heads,
    head_map_table,
)

__all__ = [
    "attention_table",
    "bertviz_head_view",
    "bertviz_model_view",
    "bertviz_neuron_view",
    "caption_of",
    "describe_attention",
    "describe_head_map",
    "describe_layers",
    "describe_neurons",
    "describe_token",
    "format_attention_grid",
    "format_head_map",
    "format_strongest_heads",
    "head_map_table",
    "layer_curves",
    "neuron_picture",
    "neuron_table",
    "render_attention_grid",
    "render_attention_lines",
    "render_head_map",
    "render_neurons",
    "save_figure",
    "scatter_by_layer",
    "value_range",
]
