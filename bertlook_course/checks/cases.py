"""What the checks of several lessons share: what they try an answer on, the package's own measures in the form in which exercises ask for
them, checks made of others, and the two items that close each lesson.

A right answer is what the package computes: these functions only bring one row, or two, into the shape that its measures take.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace

import numpy as np

from bertlook_teach.measures import attention_entropy, js_between
from bertlook_teach.model import head_label, load_encoder

from ..claims import FAILS, HOLDS, OPEN, Resources, Verdict, decide, ledger
from ..metrics import auc, micro_f1
from .answers import Check, ChoiceCheck
from .feedback import Feedback, check_all

TRIAL_OPTIONS = (HOLDS, FAILS, OPEN)


def case_rows(*shape, seed=0) -> np.ndarray:
    """Weights for a case: rows sum to 1, no two entries alike."""
    return np.random.default_rng(seed).dirichlet(np.ones(shape[-1]), size=shape[:-1])


def case_attention(tokens, *heads, seed=0) -> SimpleNamespace:
    """An attention for a case, or in place of a recording: ``heads`` are its numbers of layers and of heads, [CLS] and [SEP] are special."""
    n, special = len(tokens), tuple(token in ("[CLS]", "[SEP]") for token in tokens)
    weights = case_rows(*heads, n, n, seed=seed)
    return SimpleNamespace(weights=weights, tokens=tokens, special=special, n_tokens=n, recorded="made up")


def words_of(text: str) -> list[str]:
    """The words of a text in which spaces stand between them."""
    return text.split()


def entropy(row) -> float:
    """Entropy of one row of shares, in nats."""
    return float(attention_entropy(_as_map(row))[0, 0])


def js_divergence(p, q) -> float:
    """Jensen-Shannon divergence of two rows of shares, in nats."""
    return float(js_between(_as_map(p), _as_map(q), smoothing=0)[0, 0])


def auc_above(above, below) -> float:
    """How often a number of the first group is larger than one of the second; ties count half."""
    return float(auc(np.concatenate([above, below]), np.arange(len(above) + len(below)) < len(above)))


def f1(gold, called) -> float:
    """F1 of a yes or no for each case; 0 where nothing is found."""
    gold, called = np.asarray(gold, bool), np.asarray(called, bool)
    return float(micro_f1((gold & called).sum(), (~gold & called).sum(), (gold & ~called).sum()))


def labels_of(chosen) -> set[str]:
    """The printed names of the heads at which an array of shape (layer, head) is True."""
    return {head_label(*place) for place in np.argwhere(chosen).tolist()}


def label_at(values, pick=np.argmax) -> str:
    """The printed name of the head at which `pick` finds what it looks for in values of shape (layer, head)."""
    return head_label(*(int(i) for i in np.unravel_index(pick(values), np.shape(values))))


def _as_map(row) -> np.ndarray:
    """The same row for every query of one head: shape (layer, head, query, key) = (1, 1, n, n)."""
    return np.tile(np.asarray(row, dtype=float), (len(row), 1))[None, None]


# --- checks made of others: several answers at once; a right answer that depends on what the notebook has run -------
@dataclass(frozen=True, eq=False, kw_only=True)
class PartsCheck(Check):
    """Several answers to one exercise; ``right`` is the tuple of their checks."""

    @property
    def answers(self) -> int:
        """How many answers it takes."""
        return len(self.right)

    def __call__(self, *answers) -> Feedback:
        said = [part(answer) for part, answer in zip(self.right, answers, strict=True)]
        return check_all(*said, learnt=self.learnt)


class RunCheck:
    """A check whose right answer depends on what was run: a function that makes the record from the run. Made by `of_run`.

    It is called with the student's answers first and the run after them.
    """

    def __init__(self, make: Callable[..., Check], example: Callable[[], tuple], answers: int):
        self.make, self.example, self.answers, self.asks = make, example, answers, make.__doc__ or ""
        names = ["answer"] if answers == 1 else [f"answer_{number}" for number in range(1, answers + 1)]
        first = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in names]
        self.__signature__ = inspect.Signature([*first, *inspect.signature(make).parameters.values()])

    def __call__(self, *arguments, **options) -> Feedback:
        return self.make(*arguments[self.answers :], **options)(*arguments[: self.answers])


def of_run(example: Callable[[], tuple] = lambda: (), *, answers: int = 1) -> Callable:
    """Make a check of a function that takes what was run and returns the record.

    Parameters
    ----------
    example : callable
        A small run, as a tuple of arguments, on which the tests try each wrong answer of the record.
    answers : int
        How many answers the student gives.

    Examples
    --------
    >>> from bertlook_course.checks import NumberCheck
    >>> @of_run(lambda: (4,))
    ... def check_even_share(n_keys):
    ...     return NumberCheck(1 / n_keys, tolerance=1e-6, wrong={"that is how many there are": n_keys}, learnt="Shares sum to 1.")
    >>> check_even_share(8, 8)
    Not right yet. Your answer is 8: that is how many there are.
    """
    return lambda make: RunCheck(make, example, answers)


def positive(contributions):
    """Negative contributions count as 0."""
    return np.maximum(contributions, 0)


# --- the bag of words, of one row --------------------------------------------------------------------------
def evenness(row):
    """How evenly the shares of a row are spread, 0 to 1."""
    return entropy(np.asarray(row, float) / np.sum(row)) / np.log(len(row))


def bag(row, own):
    """Mass in the own text times its evenness there: one row of `bertlook_teach.measures.bag_of_words`."""
    return row[own].sum() * evenness(row[own])


def bag_of_the_other(row, own):
    """The same of the other text."""
    return bag(row, ~own) if row[~own].any() else np.nan


def bag_of_raw_shares(row, own):
    """The same without making the own part sum to 1."""
    return row[own].sum() * -sum(p * np.log(p) for p in row[own] if p > 0) / np.log(own.sum())


# --- the last two of every lesson: a picture, and a claim on trial --------------------------------------
# Of each lesson: the options, what is wrong with each of them (the right one has None), and what was learnt.
_PICTURES: dict[str, tuple[dict[str, str | None], str]] = {
    "01": (
        {
            "a grammatical relation that somebody annotated": "nobody annotated anything: the arc is drawn from the weights, whatever they mean",
            "a weight: how much attention the word at the open end gives to the word at the dot": None,
            "how alike two words are": "a weight has a direction: one word looks, the other is looked at",
        },
        "An arc is one number of the map. It has a direction, and it says where a head looks, not why.",
    ),
    "02": (
        {
            "where one token looks": None,
            "who looks at one token": "that is a column; a row holds the weights that one token gives",
            "which tokens mean the same": "no meaning is drawn here, only weights",
        },
        "A row gives and sums to 1; a column receives and may sum to anything.",
    ),
    "03": (
        {
            "one token of one sentence": "the picture is a mean over 12 inputs; no single token is left in it",
            "one layer": "a layer is a row of 12 cells",
            "one head, and the mean share of its attention that goes to the kind of token named above": None,
        },
        "One cell for each head, layers down, heads across: with a mean in each cell you see all 144 heads at once, but no single sentence.",
    ),
    "04": (
        {
            "much attention goes to [SEP]": None,
            "[SEP] matters most to the model": "an arc is a weight. How much reaches the model depends on the vector that is weighted, too",
            "[SEP] carries the meaning of the sentence": "weights say where heads look, not what they find there",
        },
        "The picture shows only where heads look. Norms, gradients and zeroed values have to say whether anything is taken from [SEP].",
    ),
    "05": (
        {
            "one token looks at many others": "that would be a dark row; a row looks, a column is looked at",
            "many tokens look at one and the same token": None,
            "each token looks at its neighbour": "that is a line along the diagonal",
        },
        "A dark column is a token that everybody looks at, most often [CLS], [SEP] or a full stop.",
    ),
    "06": (
        {
            "that it finds the nouns of determiners": "for any head a sentence can be found that suits it. A treebank, a rival and a fair choice are missing",
            "that all heads of layer 8 do the same": "one head is drawn; its neighbours may look elsewhere",
            "where it looks in this one sentence": None,
        },
        "One sentence is a picture, not a measurement. The same head gets a number in the table of the lesson, beside the best fixed distance.",
    ),
    "07": (
        {
            "the nearest noun to the left": "the arc passes over nouns that stand nearer",
            "the same word, earlier in the text": None,
            "always the next word": "the two stand seven tokens apart",
        },
        "A rule of one line draws the same arc. A head has found an antecedent only where such rules fail.",
    ),
    "08": (
        {
            "what the distance alone would give": None,
            "the number of heads": "it makes the choice larger, but it is not a rule that could be right or wrong about a word",
            "the length of the sentence": "it is the same for all lines of the picture",
        },
        "Governors are often neighbours. A head that looks at neighbours is often right without knowing anything.",
    ),
    "09": (
        {
            "that they sit in the same layer": "the size of a point says how late its layer is; the place says which maps are alike",
            "that one of them can be removed": "nothing was switched off here. Heads whose maps are alike on 12 inputs need not do the same work",
            "that their maps are alike, as far as a plane can show": None,
        },
        "Near means alike, far means different, and the stress says how far to trust it. Axes and corners mean nothing.",
    ),
    "10": (
        {
            "what a layer knows about words": "weights say where heads look. A probe asks what vectors hold",
            "the mean of the maps of one layer's heads": None,
            "one head of each layer": "all 12 heads of a layer are in it; a mean hides each of them",
        },
        "A mean map is fair to all heads and like none of them.",
    ),
    "11": (
        {
            "the score rose": None,
            "the score fell": "blue is a fall; look at the words below the picture",
            "the head looked at other tokens": "nothing here says where a head looks, only what the task lost or won without it",
        },
        "Rises are published, too. Before one is believed, its interval and the number of heads that were tried belong beside it.",
    ),
    "12": (
        {
            "that the full stop is the key word": "it is looked at much. Whether looks point to key words is what the lesson tests, and this is a first doubt",
            "that nine heads look at it": "the numbers are per cent of attention, not heads",
            "that it receives 9 % of all attention, over all queries and heads": None,
        },
        "What receives most is often punctuation. A list by attention received has to beat such words, and a rule as simple as a word's length.",
    ),
    "13": (
        {
            "twice as much": "there are 16 tokens: 100 divided by 16 is a little over 6",
            "about five times as much": None,
            "as much": "there are 16 tokens: 100 divided by 16 is a little over 6",
        },
        "A share means something only beside what even attention would give: 6 of 100 here, and [SEP] gets 32.",
    ),
    "14": (
        {
            "in the last layers": None,
            "in the first layers": "layer 1 is the first line from the top, and it is light",
            "in all layers alike": "compare the first line with the last",
        },
        "The last layers change most, whatever is learnt: made-up labels change them too. That is why the lesson needs a control.",
    ),
}

# Of each lesson the claim that is put on trial: together they come out in all three ways.
_CLAIMS = {
    "01": "01-next",
    "02": "02-next-position",
    "03": "03-sep",
    "04": "04-norm-share",
    "05": "05-vertical-third",
    "06": "06-pobj",
    "07": "07-pronoun-beats-nearest",
    "08": "08-distance-rule",
    "09": "09-same-layer-closer",
    "10": "10-dep-rises",
    "11": "11-safety-net",
    "12": "12-beats-length",
    "13": "13-syntax-in-the-middle",
    "14": "14-heads-find-cues",
}


def close(lesson: str) -> tuple:
    """What a lesson's checks end with: ``PICTURE_OPTIONS``, ``check_picture``, ``on_trial``, ``TRIAL_OPTIONS``, ``check_trial``.

    The picture is that of the lesson's title slide, the claim one of the ledger, decided on the specimen while the reader waits.
    """
    wrong, learnt = _PICTURES[lesson]
    asks = "What the picture shows; one of ``PICTURE_OPTIONS``."
    picture = ChoiceCheck.among(wrong, asks=asks, learnt=learnt)

    def on_trial() -> Verdict:
        """One claim of the ledger with all that decides it, for `bertlook_course.render.claim_card`, which leaves the verdict out."""
        return _decided(lesson)

    @of_run()
    def trial():
        """The verdict on the claim; one of ``TRIAL_OPTIONS``."""
        found = _decided(lesson)
        said = _why(found)
        wrong = {option: None if option == found.verdict else said for option in TRIAL_OPTIONS}
        return ChoiceCheck.among(wrong, learnt=f"{said[0].upper()}{said[1:]}.")

    return picture.options, picture, on_trial, TRIAL_OPTIONS, trial


# Of a lesson that reads maps for its verdict: as many texts as its deck has time for. The others take all; what they find ships.
_TEXTS = {"09": 40}


@cache
def _decided(lesson: str) -> Verdict:
    [claim] = [claim for claim in ledger(lesson) if claim.key == _CLAIMS[lesson]]
    return decide([claim], load_encoder("specimen"), resources=Resources(limit=_TEXTS.get(lesson)))[0]


def _why(found: Verdict) -> str:
    """Why the verdict is what it is, in one sentence."""
    if found.verdict == HOLDS:
        beside = ", and that of the random twin lies apart and does not" if np.isfinite(found.twin) else ""
        return f"the whole interval meets what the claim needs{beside}"
    if found.verdict == FAILS:
        return "no part of the interval meets what the claim needs"
    return found.why
