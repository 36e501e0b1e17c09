"""What the slides of lesson 01 show: what the model learnt, and one head of it, followed with NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bertlook_teach.measures import offset_attention
from bertlook_teach.model import extract_attention, read
from bertlook_teach.stats import mean_interval
from bertlook_teach.views import Picture

from ..analyses.ablation import guess_masked
from ..analyses.probing import token_states
from ..claims.lessons.lesson01 import pretraining_scores
from ..corpora import load_texts
from ..metrics import BestHead, best_index, choose_head
from ..render import (
    Estimate,
    NumberTable,
    TextTable,
    beside,
    figure_picture,
    render_rise,
    rivals_figure,
)
from .common import LessonDeck, pretrained, short_title

SHORT = "The cat saw a bird."


class Habit(NamedTuple):
    """The head that gives the next token most, chosen on half of the texts; its mean on the others, with the interval."""

    head: BestHead
    low: float
    high: float


def length_table(tokens: Sequence[str], stream: np.ndarray, update: np.ndarray) -> TextTable:
    """How long the vectors of a text's words are, and what one head adds to them.

    Parameters
    ----------
    tokens : sequence of str
    stream, update : array of shape (token, dimension)
    """
    sizes = {
        token: (np.linalg.norm(before), np.linalg.norm(added))
        for token, before, added in zip(tokens, stream, update)
        if token.isalpha()
    }
    shorter = all(added < before for before, added in sizes.values())
    return TextTable(
        ["token", "stream x", "this head's update"],
        [[token, *(Estimate(length, form=".1f") for length in both)] for token, both in sizes.items()],
        "Length of the vectors." + " Each update is shorter than the vector that it is added to." * shorter,
    )


def walk_head(encoder) -> tuple[int, int]:
    """The head of layer 1 that the lesson walks through: 1-4, or the last one where there are fewer."""
    return 0, min(3, encoder.n_heads - 1)


def steps_table(tokens: Sequence[str], width: int, size: int) -> TextTable:
    """The six steps of a head, and the shape of what is held at each; ``width`` of the stream, ``size`` of a query."""
    n = len(tokens)
    steps = [
        ("embed each token", f"{n} tokens × {width} numbers"),
        ("make query, key, value", f"{n} × {size} each"),
        ("scores: every query · every key", f"{n} × {n}"),
        (f"divide by √{size}, softmax: weights", f"{n} × {n}, rows sum to 1"),
        ("average the values by the weights", f"{n} × {size}"),
        ("carry the result back and add it", f"{n} × {width}"),
    ]
    rows = [[str(number), *step] for number, step in enumerate(steps, 1)]
    return TextTable(["step", "what is done", "shape"], rows, f"For {n} tokens.")


class Deck(LessonDeck):
    """The slides of lesson 01, on all shipped texts."""

    lesson = "01"

    def to_next(self, model, text: str) -> np.ndarray:
        """What each head of a model gives the next token of a text: shape (layer, head)."""
        return np.asarray(offset_attention(extract_attention(model, text), +1))

    def most_to_next(self, text: str) -> tuple[int, int]:
        """Layer and head of the model that give the next token of a text most."""
        return best_index(self.to_next(self.encoder, text))

    @cached_property
    def guessers(self) -> tuple:
        """What guesses masked words, and its twin: the deck's models, or the specimen's where they have no head for that."""
        return pretrained(self.encoder, self.twin)

    @property
    def guesser(self):
        """The first of `guessers`."""
        return self.guessers[0]

    @cached_property
    def guesser_badge(self) -> str:
        """Whose guess a picture shows, where it is not the deck's model that guesses."""
        return "" if self.guesser is self.encoder else self.guesser.title

    def rise(self, text: str, opens: str = "") -> Picture:
        """The whole model in one picture, from the tokens of a text with a mask to what it guesses."""
        model, (sentence, guesses) = self.guesser, guess_masked(self.guesser, text, n=4)
        ids = np.array([read(model, text).ids])
        states = token_states(model, ids, np.ones_like(ids))[:, 0]
        attention = extract_attention(model, text)
        return render_rise(attention.tokens, sentence.masked, states, attention.weights, guesses, opens=opens)

    @cached_property
    def learnt(self) -> dict:
        """How well it does what it was trained for: `pretraining_scores`."""
        return pretraining_scores(self.guesser)

    def said_rival(self) -> str:
        """The rule that reads nothing."""
        return (
            f"A rival that reads nothing: **always “{self.learnt['commonest']}”**, the commonest piece, right for "
            f"{100 * self.learnt['always']:.0f} % of the pieces hidden in {self.learnt['n_texts']} sentences. And here?"
        )

    def training(self) -> Picture:
        """Both tasks, and how well the model, its twin and a rule that reads nothing do them."""
        ours, twin, who = self.learnt, pretraining_scores(self.guessers[1]), short_title(self.guesser)
        reach = 1.96 * np.sqrt(ours["follows"] * (1 - ours["follows"]) / ours["n_pairs"])
        rule = f"commonest, “{ours['commonest']}”"
        tasks = {
            "Which word is hidden?": {
                who: (ours["guessed"], ours["guessed_low"], ours["guessed_high"]),
                rule: (ours["always"],) * 3,
                "random twin": (twin["guessed"],) * 3,
            },
            "Does B follow A in the text?": {
                who: (ours["follows"], ours["follows"] - reach, ours["follows"] + reach),
                "guessing": (0.5,) * 3,
                "random twin": (twin["follows"],) * 3,
            },
        }
        panels = {
            task: {name: tuple(100 * share for share in shares) for name, shares in rivals.items()}
            for task, rivals in tasks.items()
        }
        return figure_picture(
            rivals_figure(panels, "per cent right; line: 95 % interval"),
            f"Left: 15 % of the pieces of {ours['n_texts']} sentences were chosen, most of them hidden. Right: {ours['n_pairs']} pairs; is "
            "the true next sentence preferred to one drawn from elsewhere?",
        )

    def both_maps(self) -> str:
        """What each head gives the next token of a short text: two tables beside each other, as HTML."""
        layers = [f"layer {i + 1}" for i in range(self.encoder.n_layers)]
        heads = range(1, self.encoder.n_heads + 1)
        tables = (
            NumberTable(
                self.to_next(model, SHORT),
                layers,
                heads,
                name=name,
                axes=("", "head"),
                shade=True,
                short=True,
                shape=False,
            )
            for name, model in self.models.items()
        )
        return beside(*(table.html() for table in tables))

    @cached_property
    def habits(self) -> dict[str, Habit]:
        """Of both models the head that gives the next token most."""
        found = {}
        for name, model in self.models.items():
            shares = np.stack([self.to_next(model, text) for text in load_texts()])
            best = choose_head(shares)
            found[name] = Habit(best, *mean_interval(shares[1::2, best.layer, best.head]))
        return found

    def habit_table(self) -> TextTable:
        """The same as a table."""
        n = self.habits[self.name].head.n
        return TextTable(
            ["head", "share"],
            [
                [f"{name}, {best.label}", Estimate(best.mean, low, high)]
                for name, (best, low, high) in self.habits.items()
            ],
            f"Mean and 95 % interval over the {n} sentences that had no part in the choice.",
        )

    def answer(self, same: bool) -> str:
        """The lesson's answer, a list in Markdown; ``same`` is whether the map made by hand is the model's."""
        (best, low, high), (chance, _, _) = self.habits.values()
        return (
            "- **Exactly what one head weighs, on one text:** our weights and the model's are "
            f"{'the same up to rounding' if same else 'not the same'}. Rows look and sum to 1; columns are looked at.\n"
            f"- **A habit only over many texts:** chosen on half of the sentences, head {best.label} gives the next token "
            f"{Estimate(best.mean, low, high)} on the {best.n} others, the twin's best head {chance.mean:.2f}. "
            "These are short, and the last token has no next one; slide 19 has paragraphs.\n"
            "- **Not that it matters:** a large weight may carry little, and what it carries may not be needed."
        )
