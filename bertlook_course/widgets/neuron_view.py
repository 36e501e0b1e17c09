"""The neurons behind one token's weights, live: choose head, query and key; the numbers are in the page already."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import anywidget
import numpy as np
import traitlets

from bertlook_teach.model import check_weights, head_label
from bertlook_teach.views import DrawnHead, Picture, checked_tokens, style_source

from ..analyses.anatomy import HeadNeurons
from ..render import MOST, checked_vectors, describe_neurons, render_neurons
from .assets import module_source, view_style

_STEPS = 32767  # 16 bits with sign: a score of BERT-base is off by less than 0.01

_ALL_LAYERS_UP_TO = 1_500_000  # bytes: above it one layer travels, and Python sends another when it is chosen

_TOLERANCE = 5e-3  # softmax of what is drawn against the model's own weights


class NeuronView(DrawnHead, anywidget.AnyWidget):
    """See how one token's weights come about: query and keys, their products, the scores, the softmax.

    Left and right change the head, up and down the layer, Home and End go to the first and last head of the layer.
    Page Up and Page Down choose the query; a click, or Shift with up and down, chooses a key to be described; Escape lets it
    go. The letter A, or the box, shows all dimensions in place of the largest.

    Parameters
    ----------
    attention : Attention
        Of one text, with its vectors: ``extract_attention(encoder, text, vectors=True)``.
    layer, head : int
        The head in view, counted from 0.
    query : int
        The token that looks.
    key : int
        The token looked at that is described, or -1 for the one with the largest weight.
    most : int
        How many dimensions have a bar of their own, those that do most over all keys; the others are summed.
    layers : iterable of int, optional
        The layers that travel, counted from 0, so that a slide of a large model stays small; by default all, if they fit.
    all_dimensions : bool
        Give each dimension its own bar.
    badge : str, optional
        Which model this is, as a part of the picture. By default the ``badge`` of the attention.
    font_size, height : float
        In pixels; 0 follows the page's text size, and the length of the text.

    Notes
    -----
    Queries and keys travel as 16 bits a number; products, scores and softmax are computed in the page. Above 1.5 megabytes
    (BERT-base: 40 tokens) only the layer in view travels. With a kernel another layer follows when it is chosen; without one the
    view says which layer it has.

    Raises
    ------
    ValueError
        If the attention came without vectors, or they do not give its weights.
    traitlets.TraitError
        If a layer, head or token is set that is not there.
    """

    _esm = module_source("neuron_view")
    _css = style_source() + view_style("neuron_view")

    # What is in view. Linked with other views in the browser, reported to Python.
    query = traitlets.Int(0).tag(sync=True)
    key = traitlets.Int(-1).tag(sync=True)
    all_dimensions = traitlets.Bool(False).tag(sync=True)
    most = traitlets.Int(MOST, min=1).tag(sync=True)

    # Queries, then keys, of the layers carried: (layer, head, token, dim), each head with its own scale.
    data = traitlets.Bytes(b"").tag(sync=True)
    scales = traitlets.List([]).tag(sync=True)
    carried = traitlets.List(traitlets.Int(), []).tag(sync=True)
    shape = traitlets.List(traitlets.Int(), [1, 1, 1, 1]).tag(sync=True)
    tokens = traitlets.List(traitlets.Unicode(), []).tag(sync=True)
    special = traitlets.List(traitlets.Bool(), []).tag(sync=True)

    def __init__(
        self,
        attention,
        *,
        layer: int = 0,
        head: int = 0,
        query: int = 0,
        key: int = -1,
        most: int = MOST,
        layers: Iterable[int] | None = None,
        all_dimensions: bool = False,
        badge: str | None = None,
        font_size: float = 0,
        height: float = 0,
        **options,
    ):
        self._badge, self._layers = badge, None if layers is None else sorted(set(layers))
        super().__init__(
            **self._read(attention, layer),
            layer=layer,
            head=head,
            most=most,
            all_dimensions=all_dimensions,
            font_size=font_size,
            height=height,
            **options,
        )
        self.query, self.key = query, key

    def _read(self, attention, layer: int) -> dict[str, object]:
        queries, keys = checked_vectors(attention)
        tokens = checked_tokens(attention.tokens)
        weights = np.asarray(attention.weights)
        check_weights(weights, tokens)
        if queries.shape[2] != len(tokens):
            raise ValueError(f"{len(tokens)} tokens need as many queries and keys; got {queries.shape[2]}.")
        self._vectors = np.stack([queries, keys])  # (2, layer, head, token, dim)
        scales = np.abs(self._vectors).max(axis=(3, 4))
        self._scales = np.where(scales > 0, scales, 1.0)  # (2, layer, head)
        self._whole = 2 * self._vectors.size <= _ALL_LAYERS_UP_TO
        self._check(weights, tokens)
        layers = range(queries.shape[0])
        carried = list(layers) if self._whole else [layer] if layer in layers else [0]
        if self._layers is not None:
            carried = self._layers
            if not carried or not set(carried) <= set(layers):
                raise ValueError(f"layers count from 0 to {layers[-1]}; got {carried}.")
        return {
            "shape": list(queries.shape),
            "tokens": list(tokens),
            "special": [bool(flag) for flag in attention.special],
            "badge": getattr(attention, "badge", "") if self._badge is None else self._badge,
            **self._packed(carried),
        }

    def _check(self, weights, tokens) -> None:
        """What the page will compute is what the model did."""
        for layer in range(len(weights)):
            queries, keys = self._steps([layer])[:, 0] / _STEPS * self._scales[:, layer, :, None, None]
            scores = queries @ keys.swapaxes(-1, -2) / np.sqrt(queries.shape[-1])
            powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
            gaps = np.abs(powers / powers.sum(axis=-1, keepdims=True) - weights[layer])
            if gaps.max() > _TOLERANCE:
                head, query, _ = np.unravel_index(gaps.argmax(), gaps.shape)
                raise ValueError(
                    f"softmax of the scores differs by {gaps.max():.3f} from the attention of head {head_label(layer, head)}, "
                    f"query {query} ({tokens[query]!r}): the vectors do not belong to these weights. "
                    "Were the weights changed after extract_attention?"
                )

    def _steps(self, layers: list[int]) -> np.ndarray:
        vectors = self._vectors[:, layers] / self._scales[:, layers, :, None, None]
        return np.rint(vectors * _STEPS).astype("<i2")

    def _packed(self, carried: list[int]) -> dict[str, object]:
        return {
            "data": self._steps(carried).tobytes(),
            "scales": [
                [float(self._scales[side, i, h]) for side in (0, 1)]
                for i in carried
                for h in range(self._scales.shape[2])
            ],
            "carried": carried,
        }

    def set_attention(self, attention) -> None:
        """Show another text, keeping the head where it still exists."""
        state = self._read(attention, self.layer)
        with self.hold_sync(), self.hold_trait_notifications():
            self.take(state)
            self.query, self.key = 0, -1

    def limits(self) -> dict[str, int]:
        return super().limits() | {"query": self.shape[2], "key": self.shape[2]}

    @traitlets.validate("query", "key")
    def _a_token(self, proposal):
        nothing = proposal["trait"].name == "key" and proposal["value"] == -1
        return -1 if nothing else self.check_choice(proposal)

    @traitlets.observe("layer")
    def _send_layer(self, change):
        if self.carried and self.layer not in self.carried:
            with self.hold_sync():
                for trait, content in self._packed([self.layer]).items():
                    setattr(self, trait, content)

    @property
    def dimensions(self) -> int | None:
        """How many dimensions have a bar of their own; None for all."""
        return None if self.all_dimensions else self.most

    def neurons(self) -> HeadNeurons:
        """The row in view, computed from the numbers the page has."""
        vectors = (
            self._steps([self.layer])[:, 0, self.head]
            / _STEPS
            * self._scales[:, self.layer, self.head, None, None]
        )
        query, keys = vectors[0][self.query], vectors[1]
        products = query * keys
        scores = products.sum(axis=-1) / np.sqrt(len(query))
        powers = np.exp(scores - scores.max())
        return HeadNeurons(
            layer=self.layer,
            head=self.head,
            query=self.query,
            tokens=tuple(self.tokens),
            query_vector=query,
            key_vectors=keys,
            products=products,
            scores=scores,
            weights=powers / powers.sum(),
        )

    @property
    def sentence(self) -> str:
        """The caption in view, computed from the data."""
        return describe_neurons(self.neurons(), **self._choice())

    def picture(self) -> Picture:
        """The view as it stands now: a standalone SVG and its sentence."""
        drawn = render_neurons(self.neurons(), **self._choice())
        return replace(drawn, caption=self.sentence).with_badge(self.badge)

    def _choice(self) -> dict[str, object]:
        key = None if self.key < 0 else self.key
        return {"key": key, "dimensions": self.dimensions, "special": self.special}

    def __repr__(self) -> str:
        layers, heads, tokens, size = self.shape
        return (
            f"NeuronView({layers} x {heads} heads, head {head_label(self.layer, self.head)}, query {self.query} of "
            f"{tokens} tokens, {size} dimensions)"
        )
