"""Checks of lesson 10: what each layer knows, and what a layer number says."""

from __future__ import annotations

import numpy as np

from ..analyses.anatomy import softmax
from .answers import ChoiceCheck, FunctionCheck, NumberCheck
from .cases import close, f1, of_run, words_of
from .sheet import keep_sheet


# --- 1: the scalar mix -----------------------------------------------------------------------------------
def _weighted(hidden, shares, gamma=1):
    return gamma * np.tensordot(shares, hidden, axes=1)


_DRAWN = np.random.default_rng(10)

check_mix = FunctionCheck(
    lambda hidden, a, gamma: _weighted(hidden, softmax(a), gamma),
    asks="``mix(hidden, a, gamma)``: gamma times the layers weighted by the softmax of a.",
    cases=[
        (_DRAWN.normal(size=(layers, words, 5)), _DRAWN.normal(size=layers), gamma)
        for layers, words, gamma in ((3, 2, 1.0), (4, 3, 2.5), (7, 1, 0.5))
    ],
    axes=("word", "dim"),
    wrong=[
        "the scores are used as they are; their softmax gives shares that sum to 1",
        _weighted,
        "gamma is missing: it scales the whole mix",
        lambda h, a, g: _weighted(h, softmax(a)),
        "all layers count equally here; the shares are learned",
        lambda h, a, g: g * h.mean(axis=0),
        "that is only the layer with the largest share; a mix takes something from every layer",
        lambda h, a, g: g * h[a.argmax()],
        "dividing by the sum is not a softmax: scores may be negative",
        lambda h, a, g: _weighted(h, a / a.sum(), g),
    ],
    learnt="Seven shares and one scale. What they say depends on the penalty, and on whether the fit has converged.",
)


# --- 2: centre of gravity --------------------------------------------------------------------------------
def _centre(shares):
    return np.arange(len(shares)) @ shares


check_centre = FunctionCheck(
    _centre,
    asks="``centre(shares)``: sum of layer times share, layer 0 the embeddings.",
    cases=[np.array(shares) for shares in ([1.0, 0.0, 0.0], [0.25, 0.25, 0.5], [0.1, 0.2, 0.3, 0.4])],
    wrong={
        "layer 0 is the embeddings and counts as 0; you count from 1": lambda s: _centre(s) + 1,
        "that is the layer with the largest share; the centre weighs all of them": np.argmax,
        "no division is needed: the shares sum to 1 already": lambda s: _centre(s) / len(s),
    },
    learnt="It answers: where does a probe that sees all layers read?",
)


# --- 3: expected layer -----------------------------------------------------------------------------------
def _expected(scores, gains=np.diff):
    gained = gains(scores)
    return np.arange(1, len(scores)) @ gained / gained.sum()


check_expected = FunctionCheck(
    _expected,
    asks="``expected(f1)``: mean layer, weighted by what each layer adds; losses stay in.",
    cases=[np.array(scores) for scores in ([0.5, 0.7, 0.7, 0.9], [0.6, 0.9, 0.8, 0.85], [0.2, 0.5, 0.9])],
    wrong=[
        "the first gain belongs to layer 1, not to layer 0",
        lambda f: _expected(f) - 1,
        "losses are clipped here; the expected layer keeps them (K(Delta) does not)",
        lambda f: _expected(f, lambda f: np.diff(f).clip(0)),
        "these are the scores; what counts is what each layer *adds*",
        lambda f: _centre(f) / f.sum(),
        "divide by the whole gain",
        lambda f: np.diff(f) @ np.arange(1, len(f)),
        "that is only the layer with the largest gain",
        lambda f: np.diff(f).argmax() + 1,
    ],
    learnt="It answers: at which depth, on average, is the score gained? If some layers lose, the number may even lie below layer 1 or above the last layer.",
)


# --- 4: K, in bits ---------------------------------------------------------------------------------------
def _bits(shares):
    used = shares[shares > 0]
    return np.log2(len(shares)) + (used * np.log2(used)).sum()


check_bits = FunctionCheck(
    _bits,
    asks="``bits(shares)``: divergence from equal shares, in bits.",
    cases=[
        np.array(shares)
        for shares in ([0.25] * 4, [0.5, 0.25, 0.25], [0.7, 0.1, 0.1, 0.05, 0.05], [0.5, 0.0, 0.5])
    ],
    wrong=[
        "that is in nats; the paper counts bits: log2",
        lambda s: _bits(s) * np.log(2),
        "that is the entropy; K says how far it is from its largest possible value",
        lambda s: np.log2(len(s)) - _bits(s),
        "the sign is reversed; a divergence is never negative",
        lambda s: -_bits(s),
    ],
    learnt="0 bits: flat, and then the centre of gravity says nothing about a place.",
)

# --- 5: flat or middle -----------------------------------------------------------------------------------
check_flat = ChoiceCheck.among(
    {
        "SPR is processed in the middle layers": "equal shares over layers 0 to 24 have their centre at 12, too; look at K(s)",
        "the mix is almost flat, so there is no place to speak of": None,
        "SPR is processed in layer 12 or 13": "a mean is not a place where anything has to be; look at K(s)",
    },
    asks="What 12.72 of 24 with K(s) = .01 says.",
    learnt="Near L / 2 with a small K(s) means flat, not middle.",
)
FLAT_OPTIONS = check_flat.options


# --- 6: F1 of the positive label -------------------------------------------------------------------------
def _pairs(n, rng):
    """What is the same thing, and what was called so: with at least one hit, one miss and one false alarm."""
    gold = rng.random(n) < 0.3
    said = np.where(rng.random(n) < 0.7, gold, ~gold)
    gold[0] = said[0] = gold[1] = True
    said[1], gold[2], said[2] = False, False, True
    return gold, said


_RNG = np.random.default_rng(6)

check_f1 = FunctionCheck(
    f1,
    asks='``f1(gold, said)``: F1 of "the same thing"; pairs rightly called different do not count.',
    cases=[_pairs(n, _RNG) for n in (12, 20, 30)],
    wrong={
        "that is accuracy: it gets credit for every pair that is different anyway": lambda g, s: (
            g == s
        ).mean(),
        "that is precision; those that were missed are not in it": lambda g, s: (g & s).sum() / s.sum(),
        "that is recall; false alarms are not in it": lambda g, s: (g & s).sum() / g.sum(),
        "that is the F1 of the *other* label": lambda g, s: f1(~g, ~s),
    },
    learnt="Whoever always says “the same” gets an F1 of 2p / (1 + p), where p is the share of pairs that are the same thing, and not 0: a baseline that belongs beside every coreference score.",
)


# --- 7: made-up labels -----------------------------------------------------------------------------------
def _first_drawn(forms, draw):
    known: dict = {}
    return [known.setdefault(form, label) for form, label in zip(forms, draw)]


def _last_drawn(forms, draw):
    known = dict(zip(forms, draw))
    return [known[form] for form in forms]


check_made_up = FunctionCheck(
    _first_drawn,
    asks="``made_up(forms, draw)``: every form has one label, always: the first that was drawn for it.",
    cases=[
        (words_of("the cat saw the dog"), list("ABACB")),
        (list("aabab"), list("XYYZX")),
        (words_of("on the mat on the hat"), list("ABCDEF")),
    ],
    wrong=[
        "the same form has different labels; then nothing at all can be learnt, not even by a word list",
        lambda f, d: d,
        "a form keeps the *first* label that was drawn for it",
        _last_drawn,
    ],
    learnt="There is nothing to learn but a list of forms and labels. What a probe scores here, it has learnt itself.",
)


# --- 8: two models ---------------------------------------------------------------------------------------
@of_run(lambda: (3.6, 12))
def check_share_of_depth(expected, depth):
    """The expected layer of coreference in BERT-base as a share of its depth."""
    return NumberCheck(
        expected / depth,
        tolerance=0.005,
        wrong={
            "24 is the depth of BERT-large; BERT-base has 12 layers": expected / 24,
            "that is the layer; divide it by the depth of the model": expected,
            "the embeddings are layer 0: the depth is the last layer's number": expected / (depth + 1),
        },
        learnt="A layer number means something only with the depth beside it, and the model's name.",
    )


# --- 9: what two runs say --------------------------------------------------------------------------------
check_noise = ChoiceCheck.among(
    {
        "layer 9 knows more than layer 8": "another run may show the opposite: two runs at one layer differ by three times as much",
        "nothing: two runs at one layer differ by more": None,
        "layer 8 and layer 9 know exactly the same": "that no difference was seen does not mean that there is none",
    },
    asks="A step of a tenth of a point where runs differ by three tenths.",
    learnt="First the noise, then the step. One curve without a second run has no steps at all.",
)
NOISE_OPTIONS = check_noise.options

# --- the last two: a picture, and a claim on trial ---------------------------------------------------------
PICTURE_OPTIONS, check_picture, on_trial, TRIAL_OPTIONS, check_trial = close("10")

sheet = keep_sheet(globals())  # what the checks above have said, as the last cell shows it
