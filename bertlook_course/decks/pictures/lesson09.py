"""Pictures of lesson 09 that draw a table of its deck: rows and their mixture, heads by kind and by nearest head, sorted distances, same maps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from bertlook_teach import extract_attention, measures
from bertlook_teach.views import BADGES, MISSING, Picture, model_of

from ...metrics import metric_mds, procrustes
from ...published import published_map
from ...render import (
    Estimate,
    TextTable,
    figure_picture,
    render_head_kinds,
    row_pairs_figure,
    same_maps_figure,
    shepard_figure,
    small_maps,
    sorted_distances_figure,
    stress_figure,
    token_sums_figure,
)
from ..common import short_title
from ..lesson09 import SENTENCE, Deck, closest_pair, nearest_heads

_SHORT = "We saw the small bird."
_STORE = (
    "i went to the store.",
    "at the store, i bought fresh strawberries.",
)  # with marks, or none could be looked at


def _wide(figure, sentence: str, numbers: tuple | None = None) -> Picture:
    """A figure as wide as its slide."""
    return replace(figure_picture(figure, sentence, numbers), wide=True)


# --- distances ----------------------------------------------------------------------------------------------
def rows_picture(divergence: Callable) -> Picture:
    """Three pairs of rows with their mixture, and how far apart they are by the function that the slide shows."""
    first, second, half = np.array([[1, 0, 0], [0, 1, 0], [0.5, 0.5, 0]])
    table = divergence_table(divergence)
    pairs = {
        str(name): (first, other, f"{cell} nats")
        for (name, cell), other in zip(table.rows, (first, half, second), strict=True)
    }
    return _wide(row_pairs_figure(pairs), f"{table.caption} Line: the mixture of both.", (table,))


def token_picture(deck: Deck, text: str = _SHORT) -> Picture:
    """How far two heads are apart at each token of one text: a near pair of different layers, and the pair that is farthest apart."""
    seen = extract_attention(deck.encoder, text)
    near, far = deck.nearest_of_two_layers(), np.unravel_index(deck.distances.argmax(), deck.distances.shape)
    pairs = {f"{deck.names[a]} and {deck.names[b]}": _by_token(seen, a, b) for a, b in (near, far)}
    said = "; ".join(f"{name}: {values.sum():.2f} nats" for name, values in pairs.items())
    return figure_picture(
        token_sums_figure(seen.tokens, pairs, limit=np.log(2)),
        f"{deck.Subject}, one sentence: {said}.",
    )


def _by_token(seen, one: int, other: int) -> np.ndarray:
    """The divergence of two heads at each token, as `measures.js_distances` adds it up; heads numbered layer by layer."""
    n = len(seen.tokens)
    rows = seen.weights.reshape(-1, n, n)[[one, other]].astype(float)
    p, q = (1 - measures.SMOOTHING) * rows + measures.SMOOTHING / n
    return sum((r * np.log(r / ((p + q) / 2))).sum(axis=-1) for r in (p, q)) / 2


def shepard_picture(deck: Deck) -> Picture:
    """Measured distances against those on the map."""
    return _wide(
        shepard_figure(deck.distances, deck.map.points),
        f"{deck.Subject}'s {len(deck.upper[0])} pairs of heads on the map of the next slide. On the dotted line a distance is "
        f"drawn as measured; the stress, {deck.map.stress:.3f}, measures how far the points lie from that line.",
    )


def stress_picture(deck: Deck) -> Picture:
    """What maps of one to four dimensions cannot keep."""
    table = deck.stress_table()
    curves = {
        name: [row[k].numbers[0] for row in table.rows] for k, name in enumerate(table.header[1:], start=1)
    }
    return _wide(
        stress_figure(curves, [str(row[0]) for row in table.rows], ("poor above", 0.2)),
        table.caption,
        (table,),
    )


# --- neighbours and kinds -----------------------------------------------------------------------------------
def own_layer_picture(deck: Deck) -> Picture:
    """Of each model the heads whose nearest head is in their own layer."""
    table = deck.nearest_table()
    sides = {deck.name: (deck.distances, deck.encoder), "its random twin": (deck.twin_distances, deck.twin)}
    if deck.other is not None:
        sides[short_title(deck.beside)] = (deck.other_means["distance"], deck.beside)
    shapes = {name: (model.n_layers, model.n_heads) for name, (_, model) in sides.items()}
    matrices = {name: matrix for name, (matrix, _) in sides.items()}
    base = "BERT-base, on its map"
    shapes[base], matrices[base] = (12, 12), deck.published.distances
    panels = {}
    for name, share, chance in table.rows:
        n_layers, n_heads = shapes[name]
        layers = np.repeat(np.arange(n_layers), n_heads)
        own = layers[nearest_heads(matrices[name])] == layers
        kinds = np.where(own, "own layer", "another layer").reshape(n_layers, n_heads)
        panels[name] = kinds, [_in_per_cent(share), f"chance {_in_per_cent(chance)}"]
    return render_head_kinds(
        panels,
        f"Rows: layers. Dark: the nearest head is in the same layer. {table.caption}",
        lambda title, kind: (MISSING if kind == "another layer" else _colour(title), ""),
        high=170,
        numbers=(table,),
    )


def _in_per_cent(cell: Estimate) -> str:
    value, low, high = cell.numbers
    interval = "" if cell.low is None else f" [{100 * low:.0f}, {100 * high:.0f}]"
    return f"{100 * value:.0f} %{interval}"


def _colour(title: str) -> str:
    return BADGES.get(model_of(title) or "", BADGES["specimen"])[1]


def base_kinds_picture(deck: Deck) -> Picture:
    """What each head of BERT-base does, as published."""
    labels = deck.published.labels
    return render_head_kinds(
        {"BERT-base (Fig. 6)": (labels, ())},
        "BERT-base, published (Clark et al. 2019, Figure 6): one row for each layer, one cell for each head.",
        key=_kinds_of(labels),
        across=36,
        high=132,
        numbers=(deck.labels_table(),),
    )


def _kinds_of(*labels: np.ndarray) -> list[str]:
    """The kinds that occur, in the order of the rules."""
    order = [label for label, _ in measures.THRESHOLDS.values()] + ["linguistic", "unlabelled"]
    return [kind for kind in order if any((found == kind).any() for found in labels)]


def kinds_picture(deck: Deck) -> Picture:
    """What each head does, in all models."""
    sides = {deck.name: deck.labels}
    if deck.other is not None:
        sides[short_title(deck.beside)] = deck.other_labels
    sides |= {"BERT-base (Fig. 6)": deck.published.labels, "random twin": deck.twin_labels}
    table = deck.labels_table()
    panels = {
        name: (labels, [f"no label: {100 * (labels == 'unlabelled').mean():.0f} %"])
        for name, labels in sides.items()
    }
    return render_head_kinds(panels, table.caption, key=_kinds_of(*sides.values()), numbers=(table,))


def rules_picture(recording) -> Picture:
    """For each rule a recorded map of BERT-base: of the heads that have its label, the one that shows it most on this input."""
    seen = recording[_STORE]
    labels, values, maps = published_map().labels, measures.surface_measures(), {}
    for name, (label, line) in measures.THRESHOLDS.items():
        found = np.where(labels == label, np.asarray(values[name](seen)), -np.inf)
        layer, head = np.unravel_index(found.argmax(), found.shape)
        measure = "entropy / ln n" if name == "entropy_normalized" else label
        maps[f"{label}\n{layer + 1}-{head + 1}"] = seen.weights[layer, head], f"{measure}\nover {line:.2f}"
    drawn = small_maps(
        maps,
        f"{recording.badge}, on “{' / '.join(_STORE)}”: a head with each label. The rules of Figure 6 (Clark et al. 2019) ask for a mean over many texts.",
        size=(9.8, 3.3),
    )
    return replace(drawn, numbers=(thresholds_table(),))


def groups_picture(deck: Deck) -> Picture:
    """Distances sorted by layer and by behaviour, of the model and by layer of its twin."""
    table = deck.groups_table()
    labelled = deck.labels.ravel() != measures.UNLABELLED
    sides = {
        (deck.name, "layer"): (deck.distances, deck.layers),
        (deck.name, "behaviour"): (
            deck.distances[np.ix_(labelled, labelled)],
            deck.labels.ravel()[labelled],
        ),
        ("twin", "layer"): (deck.twin_distances, deck.layers),
    }
    panels = {}
    for (whose, by), (matrix, groups) in sides.items():
        if (test := deck.groups[whose, by]) is None:  # all heads in one group: there was no test
            continue
        said = f"within {test.within:.3f}\nbetween {test.between:.3f}\np {test.p:.3f}"
        panels[f"{whose}\nby {by}"] = matrix, groups, said
    return _wide(sorted_distances_figure(panels), table.caption, (table,))


# --- the same map -------------------------------------------------------------------------------------------
def same_maps_picture(deck: Deck, text: str = SENTENCE) -> Picture:
    """The maps of the two nearest heads on one sentence, and the cosine of what they add to each token."""
    pair = closest_pair(deck.distances)
    seen, cosines, others = deck.added_cosines(text)
    weights = seen.weights.reshape(-1, len(seen.tokens), len(seen.tokens))
    table = TextTable(
        ["token", "cosine"], [[token, f"{cosine:.2f}"] for token, cosine in zip(seen.tokens, cosines)]
    )
    return figure_picture(
        same_maps_figure({f"{deck.names[i]}": weights[i] for i in pair}, seen.tokens, cosines),
        f"{deck.Subject}'s nearest two heads, {deck.distances[pair]:.3f} nats a token, on one sentence: the maps agree. What they add to a token: "
        f"cosines from {cosines.min():.2f} to {cosines.max():.2f} (1: the same direction). Mean of all other pairs of heads: {others:.2f}.",
        (table,),
    )


def halves_picture(one: np.ndarray, other: np.ndarray) -> Picture:
    """Each distance on two halves of the texts."""
    return figure_picture(
        _halves_figure(one, other),
        f"{len(one)} distances, each on two halves of the texts: correlation {np.corrcoef(one, other)[0, 1]:.4f}. "
        "Dotted: the same on both.",
    )


def _halves_figure(one: np.ndarray, other: np.ndarray):
    """The same distances from two halves of the texts, beside the line on which they would be equal."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.8, 3.6), layout="constrained")
    axes = figure.subplots()
    axes.plot([0, one.max()], [0, one.max()], color="#555555", linestyle=":", linewidth=2)
    axes.plot(one, other, "o", color="#0072b2", markersize=5, alpha=0.5)
    axes.set_xlabel("distance on one half of the texts, nats a token", fontsize=18)
    axes.set_ylabel("on the other half", fontsize=18)
    axes.tick_params(labelsize=18)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def divergence_table(divergence: Callable) -> TextTable:
    """Three pairs of rows and how far apart they are, by the function that the slide shows."""
    first, second, half = np.array([[1, 0, 0], [0, 1, 0], [0.5, 0.5, 0]])
    rows = {"same row": first, "half in common": half, "no common key": second}
    return TextTable(
        ["two rows", "divergence"],
        [[name, Estimate(divergence(first, row), form=".3f")] for name, row in rows.items()],
        f"Three keys. One row gives all to key 1; the other gives key 1 all, a half, or nothing. ln 2 is {np.log(2):.3f}.",
    )


def thresholds_table() -> TextTable:
    """Above what a head gets a label."""
    return TextTable(
        ["measure (mean over texts)", "above", "label"],
        [
            [name.replace("_normalized", " / ln n"), f"{line:.2f}", label]
            for name, (label, line) in measures.THRESHOLDS.items()
        ],
    )


def turned_picture(deck: Deck) -> Picture:
    """The maps of two halves of the texts, one turned onto the other."""
    one, other = (metric_mds(deck.each[half::2].mean(axis=0), starts=20).points for half in (0, 1))
    fitted, disparity = procrustes(one, other, deck.names, deck.names)
    longer = np.argsort(
        -np.ptp(other, axis=0)
    )  # up and down mean nothing: the longer side lies along the slide
    return figure_picture(
        _turned_figure(fitted[:, longer], other[:, longer]),
        "Each head on two halves of the texts, a circle and a square, after turning. Left over: "
        f"{100 * disparity:.2f} % of the variance.",
    )


def _turned_figure(fitted: np.ndarray, other: np.ndarray):
    """Two maps of the same heads over each other, a line between the two places of each head; shape (head, 2)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.8, 3.6), layout="constrained")
    axes = figure.subplots()
    axes.plot(*np.transpose([fitted, other], (2, 0, 1)), color="#777777", linewidth=1.5)
    axes.plot(
        *other.T, "o", markersize=13, markerfacecolor="white", markeredgecolor="#0072b2", markeredgewidth=2
    )
    axes.plot(*fitted.T, "s", markersize=6, color="#d55e00")
    axes.set(xticks=[], yticks=[], aspect="equal")
    axes.spines[:].set_visible(False)
    return figure
