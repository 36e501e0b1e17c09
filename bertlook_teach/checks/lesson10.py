"""Checks of lesson 10: what each layer knows, and what a layer number says."""

from __future__ import annotations

import numpy as np

from ..model import softmax
from .answers import check_choice, check_function, check_number
from .cases import close, closing_examples, f1
from .feedback import args
from .sheet import keep_sheet


# --- 1: the scalar mix -----------------------------------------------------------------------------------
def _mix(hidden, a, gamma):
    return gamma * np.tensordot(softmax(a), np.asarray(hidden, float), axes=1)


def check_mix(function):
    """``mix(hidden, a, gamma)``: gamma times the layers weighted by the softmax of a."""
    rng = np.random.default_rng(10)
    cases = []
    for layers, words, gamma in ((3, 2, 1.0), (4, 3, 2.5), (7, 1, 0.5)):
        hidden, a = rng.normal(size=(layers, words, 5)), rng.normal(size=layers)
        cases.append(((hidden, a, gamma), _mix(hidden, a, gamma)))
    return check_function(
        function,
        cases,
        axes=("word", "dim"),
        mistakes=[
            (
                lambda h, a, g: g * np.tensordot(a, h, axes=1),
                "the scores are used as they are; their softmax gives shares that sum to 1",
            ),
            (
                lambda h, a, g: np.tensordot(softmax(a), h, axes=1),
                "gamma is missing: it scales the whole mix",
            ),
            (lambda h, a, g: g * h.mean(axis=0), "all layers count alike here; the shares are learned"),
            (
                lambda h, a, g: g * h[int(np.argmax(a))],
                "that is the layer with the largest share alone; a mix takes of all",
            ),
            (
                lambda h, a, g: g * np.tensordot(a / a.sum(), h, axes=1),
                "dividing by the sum is not a softmax: scores may be negative",
            ),
        ],
        learnt="Seven shares and one scale: with so little to learn, the mix can be read as an answer.",
    )


# --- 2: centre of gravity --------------------------------------------------------------------------------
def _centre(shares):
    return float(np.arange(len(shares)) @ np.asarray(shares, float))


def check_centre(function):
    """``centre(shares)``: sum of layer times share, layer 0 the embeddings."""
    cases = [((np.array(s),), _centre(s)) for s in ([1.0, 0.0, 0.0], [0.25, 0.25, 0.5], [0.1, 0.2, 0.3, 0.4])]
    return check_function(
        function,
        cases,
        mistakes=[
            (lambda s: _centre(s) + 1, "layer 0 is the embeddings and counts as 0; you count from 1"),
            (
                lambda s: float(np.argmax(s)),
                "that is the layer with the largest share; the centre weighs all of them",
            ),
            (lambda s: _centre(s) / len(s), "divide by nothing: the shares sum to 1 already"),
        ],
        learnt="It answers: where does a probe that sees all layers read?",
    )


# --- 3: expected layer -----------------------------------------------------------------------------------
def _expected(f1):
    gains = np.diff(np.asarray(f1, float))
    return float(np.arange(1, len(gains) + 1) @ gains / gains.sum())


def check_expected(function):
    """``expected(f1)``: mean layer, weighted by what each layer adds; losses stay in."""
    cases = [
        ((np.array(f),), _expected(f)) for f in ([0.5, 0.7, 0.7, 0.9], [0.6, 0.9, 0.8, 0.85], [0.2, 0.5, 0.9])
    ]

    def clipped(f):
        gains = np.clip(np.diff(f), 0, None)
        return float(np.arange(1, len(gains) + 1) @ gains / gains.sum())

    return check_function(
        function,
        cases,
        mistakes=[
            (lambda f: _expected(f) - 1, "the first gain belongs to layer 1, not to layer 0"),
            (clipped, "losses are clipped here; the expected layer keeps them (K(Delta) does not)"),
            (
                lambda f: float(np.arange(len(f)) @ f / np.sum(f)),
                "these are the scores; what counts is what each layer *adds*",
            ),
            (lambda f: float(np.diff(f) @ np.arange(1, len(f))), "divide by the whole gain"),
            (lambda f: float(np.diff(f).argmax() + 1), "that is the layer with the largest gain alone"),
        ],
        learnt="It answers: from which depth on is the label readable? It may even leave the model, where a layer loses.",
    )


# --- 4: K, in bits ---------------------------------------------------------------------------------------
def _bits(shares):
    shares = np.asarray(shares, float)
    used = shares[shares > 0]
    return float(np.log2(len(shares)) + (used * np.log2(used)).sum())


def check_bits(function):
    """``bits(shares)``: divergence from equal shares, in bits."""
    cases = [((np.array(s),), _bits(s)) for s in ([0.25] * 4, [0.5, 0.25, 0.25], [0.7, 0.1, 0.1, 0.05, 0.05])]

    def entropy(s):
        return float(np.log2(len(s)) - _bits(s))

    return check_function(
        function,
        cases,
        mistakes=[
            (lambda s: _bits(s) * np.log(2), "that is in nats; the paper counts bits: log2"),
            (entropy, "that is the entropy; K says how far it is from its largest possible value"),
            (lambda s: -_bits(s), "the sign is turned; a divergence is never negative"),
        ],
        learnt="0 bits: flat, and then the centre of gravity says nothing about a place.",
    )


# --- 5: flat or middle -----------------------------------------------------------------------------------
FLAT_OPTIONS = (
    "SPR is processed in the middle layers",
    "the mix is almost flat, so there is no place to speak of",
    "SPR is processed in layer 12 or 13",
)


def check_flat(answer):
    """What 12.72 of 24 with K(s) = .01 says."""
    return check_choice(
        answer,
        FLAT_OPTIONS[1],
        options=FLAT_OPTIONS,
        mistakes=[
            (FLAT_OPTIONS[0], "equal shares over layers 0 to 24 have their centre at 12, too; look at K(s)"),
            (FLAT_OPTIONS[2], "a mean is not a place where anything has to be; look at K(s)"),
        ],
        learnt="Near L / 2 with a small K(s) means flat, not middle.",
    )


# --- 6: F1 of the positive label -------------------------------------------------------------------------
def check_f1(function):
    """``f1(gold, said)``: F1 of "the same thing"; pairs rightly called different count nothing."""
    rng = np.random.default_rng(6)
    cases = []
    for n in (12, 20, 30):
        gold = rng.random(n) < 0.3
        said = np.where(rng.random(n) < 0.7, gold, ~gold)
        gold[0] = said[0] = gold[1] = True
        said[1], gold[2], said[2] = False, False, True
        cases.append(((gold, said), f1(gold, said)))
    return check_function(
        function,
        cases,
        mistakes=[
            (
                lambda g, s: float((g == s).mean()),
                "that is accuracy: it is paid for every pair that is different anyway",
            ),
            (
                lambda g, s: float((g & s).sum() / s.sum()),
                "that is precision; those that were missed are not in it",
            ),
            (lambda g, s: float((g & s).sum() / g.sum()), "that is recall; wrong finds are not in it"),
            (lambda g, s: f1(~g, ~s), "that is the F1 of the *other* label"),
        ],
        learnt="Who always says “the same” gets 2p / (1 + p), not 0: a baseline that belongs beside every number of coreference.",
    )


# --- 7: made-up labels -----------------------------------------------------------------------------------
def check_made_up(function):
    """``made_up(forms, draw)``: every form has one label, always: the first that was drawn for it."""

    def expected(forms, draw):
        known: dict = {}
        return [known.setdefault(form, label) for form, label in zip(forms, draw)]

    cases = [
        ((forms.split(), draw.split()), expected(forms.split(), draw.split()))
        for forms, draw in (
            ("the cat saw the dog", "A B A C B"),
            ("a a b a b", "X Y Y Z X"),
            ("on the mat on the hat", "A B C D E F"),
        )
    ]

    def last(forms, draw):
        known = dict(zip(forms, draw))
        return [known[form] for form in forms]

    return check_function(
        function,
        cases,
        mistakes=[
            (
                lambda f, d: list(d),
                "the same form has different labels; then nothing at all can be learnt, not even by a word list",
            ),
            (last, "a form keeps the *first* label that was drawn for it"),
        ],
        learnt="A word list can learn it, and nothing else can. What a probe scores here it has learnt itself.",
    )


# --- 8: two models ---------------------------------------------------------------------------------------
def check_share_of_depth(answer, expected, depth):
    """The expected layer of coreference in BERT-base as a share of its depth."""
    return check_number(
        answer,
        expected / depth,
        tolerance=0.005,
        mistakes=[
            (expected / 24, "24 is the depth of BERT-large; BERT-base has 12 layers"),
            (expected, "that is the layer; divide it by the depth of the model"),
            (expected / (depth + 1), "the embeddings are layer 0: the depth is the last layer's number"),
        ],
        learnt="A layer number means something only with the depth beside it, and the model's name.",
    )


# --- 9: what two runs say --------------------------------------------------------------------------------
NOISE_OPTIONS = (
    "layer 9 knows more than layer 8",
    "nothing: two runs at one layer differ by as much",
    "layer 8 and layer 9 know exactly the same",
)


def check_noise(answer):
    """A step of a tenth of a point where runs differ by three."""
    return check_choice(
        answer,
        NOISE_OPTIONS[1],
        options=NOISE_OPTIONS,
        mistakes=[
            (NOISE_OPTIONS[0], "another run may show the opposite: its difference is three times as large"),
            (NOISE_OPTIONS[2], "that no difference was seen does not mean that there is none"),
        ],
        learnt="First the noise, then the step. One curve without a second run has no steps at all.",
    )


# --- the last two: a picture, and a claim on trial ---------------------------------------------------------
PICTURE_OPTIONS, check_picture, on_trial, TRIAL_OPTIONS, check_trial = close("10")


# --- the checks' own proof -------------------------------------------------------------------------------
def EXAMPLES():
    """Right, wrong and unfilled answers of every check."""
    return {
        "check_mix": (_mix, lambda h, a, g: g * np.tensordot(a, h, axes=1), ...),
        "check_centre": (_centre, lambda s: _centre(s) + 1, ...),
        "check_expected": (_expected, lambda f: _expected(f) - 1, ...),
        "check_bits": (_bits, lambda s: _bits(s) * np.log(2), ...),
        "check_flat": (FLAT_OPTIONS[1], FLAT_OPTIONS[0], ...),
        "check_f1": (
            lambda g, s: float(2 * (g & s).sum() / (g.sum() + s.sum())),
            lambda g, s: float((g == s).mean()),
            ...,
        ),
        "check_made_up": (
            lambda f, d: [dict(reversed(list(zip(f, d))))[x] for x in f],
            lambda f, d: list(d),
            ...,
        ),
        "check_share_of_depth": (args(0.3, 3.6, 12), args(0.15, 3.6, 12), args(..., 3.6, 12)),
        "check_noise": (NOISE_OPTIONS[1], NOISE_OPTIONS[0], ...),
        **closing_examples("10"),
    }


sheet = keep_sheet(globals())  # what the checks above have said, as the last cell shows it
