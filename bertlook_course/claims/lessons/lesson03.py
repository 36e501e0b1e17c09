"""Lesson 03: the surface measures of every head on the shipped pairs of paragraphs; its deck chooses heads on every second pair."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bertlook_teach import __version__
from bertlook_teach.measures import (
    Profile,
    attention_entropy,
    cls_entropy,
    offset_attention,
    sep_to_sep,
    special_token_attention,
    surface_measures,
    token_masks,
    uniform_baseline,
)

from ...storage import cached
from ..evidence import evidence

CLARK_LENGTH = 122.1  # mean number of tokens of the released segments: 121,134 tokens / 992


@evidence("surface", version=2, unit="pairs of texts")
def surface(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """The surface measures of every head, shape (layer, head), for each pair of texts."""
    from bertlook_teach.model import iter_attention

    for attention in iter_attention(encoder, resources.pairs, truncate=True):
        yield surface_quantities(attention)


def surface_quantities(attention) -> dict[str, np.ndarray]:
    """What is undefined for this input, for want of a [CLS], a [SEP] or a full stop, is left out."""
    masks = token_masks(attention)
    found = {
        "next": offset_attention(attention, +1),
        "self": offset_attention(attention, 0),
        "entropy": attention_entropy(attention),
    }
    for kind in ("cls", "sep", "punct"):
        if masks[kind].any():
            found[kind] = special_token_attention(attention, kind)
    if masks["sep"].any():
        found["sep_to_sep"] = sep_to_sep(attention)
    if masks["cls"].any():
        found["entropy_from_cls"] = cls_entropy(attention)
    return found


EVIDENCE = {"surface": surface}


# --- what the lesson shows -----------------------------------------------------------------------------
# Named one by one: a measure that the package gains makes nothing of lesson 3 stale.
SHOWN = {"cls", "sep", "punct", "sep_to_sep", "other_to_sep", "previous", "next", "self"}
SHOWN |= {"entropy", "entropy_normalized", "entropy_clark", "entropy_from_cls"}
SHOWN |= {f"offset{offset:+d}" for offset in range(-8, 9)}

BASELINES = (
    "previous",
    "next",
    "self",
    "cls",
    "sep",
    "punct",
)  # measures of which the deck shows what even attention would give


def halves(encoder, *, segments: str = "standard", only: tuple[str, ...] = ()) -> tuple[Profile, Profile]:
    """Profiles of the pairs to choose heads on and of the pairs to report on, of which each may be merged with the other; kept.

    Parameters
    ----------
    encoder : Encoder
    segments : {"standard", "zeros"}
        As for `bertlook_teach.measures.profile_heads`.
    only : tuple of str
        Names of measures. Default: all of `shown_measures`.
    """
    found = cached(
        "03 profile", (encoder, segments, only), lambda: _measured(encoder, segments, only), version=1
    )
    values, n_tokens, truncated = found["values"], found["n_tokens"], found["truncated"]
    first = 0
    profiles = []
    for half in (slice(0, None, 2), slice(1, None, 2)):
        about = {
            "model": encoder.name,
            "fingerprint": encoder.fingerprint,
            "corpus": "pairs",
            "segments": segments,
        }
        profile = Profile(about | {"first": first, "version": __version__})
        profile.add_many({name: one[half] for name, one in values.items()}, n_tokens[half], truncated[half])
        profiles.append(profile)
        first += profile.n
    return tuple(profiles)


def shown_measures() -> dict:
    """What the deck shows of a map: name -> function(Attention) -> array of shape (layer, head)."""
    found = {name: measure for name, measure in surface_measures().items() if name in SHOWN}
    found["cls_normalized"] = lambda attention: cls_entropy(attention, normalized=True)
    return found | {f"{name}, uniform": uniform_baseline(found[name]) for name in BASELINES}


def _measured(encoder, segments: str, only: tuple[str, ...]) -> dict:
    from bertlook_teach.model import iter_attention

    from ...corpora import load_pairs

    measures = {name: measure for name, measure in shown_measures().items() if not only or name in only}
    values, n_tokens, truncated = {name: [] for name in measures}, [], []
    for attention in iter_attention(encoder, load_pairs(), segments=segments, truncate=True):
        for name, measure in measures.items():
            values[name].append(measure(attention))
        n_tokens.append(attention.n_tokens)
        truncated.append(attention.truncated)
    return {
        "values": {name: np.stack(found).astype(float) for name, found in values.items()},
        "n_tokens": n_tokens,
        "truncated": truncated,
    }
