"""What the slides of lesson 01 show: what the model learnt, and one head of it, followed with NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bertlook_teach.measures import offset_attention
from bertlook_teach.model import extract_attention, head_label, model_title, read
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
    answer_picture,
    beside,
    cards_picture,
    describe_gallery,
    figure_picture,
    render_gallery,
    render_rise,
    rivals_figure,
    small_maps,
)
from .common import LessonDeck, pretrained, short_title, subject
from .pictures.sketches import draw_best_of_many, draw_head_off, draw_light_load, draw_texts, draw_twins

SHORT = "The cat saw a bird."


class Habit(NamedTuple):
    """The head that gives the next token most, chosen on half of the texts; its mean on the others, with the interval."""

    head: BestHead
    low: float
    high: float


def length_table(tokens: Sequence[str], stream: np.ndarray, update: np.ndarray, whose: str = "") -> TextTable:
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
        whose
        + (
            "Each update is shorter than the vector that it is added to."
            if shorter
            else "Length of the words' vectors."
        ),
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
        ("dot products: every query · every key", f"{n} × {n}"),
        (f"divide by √{size}: scores; softmax: weights", f"{n} × {n}, rows sum to 1"),
        ("average the values by the weights", f"{n} × {size}"),
        ("carry the result back and add it", f"{n} × {width}"),
    ]
    rows = [[str(k), f"{what}\u2003", shape] for k, (what, shape) in enumerate(steps, 1)]
    return TextTable(["step", "what is done", "shape"], rows, f"For {n} tokens.")


# --- a sentence under a picture: what to see in it ----------------------------------------------------------
def said_lines(attention, label: tuple[int, int], at: Sequence[int]) -> str:
    """Which word these tokens of a text look at most, with the weight; special tokens left out."""
    tokens, weights = attention.tokens, np.where(attention.special, 0.0, attention.head(*label))
    looking = [tokens[query] for query in at]
    order = [
        ("the second " if w in looking[:i] else "the first ") * (looking.count(w) > 1)
        for i, w in enumerate(looking)
    ]
    most = [
        f"{which}*{tokens[query]}* {'' if k else 'gives most '}to **{tokens[weights[query].argmax()]}** ({weights[query].max():.2f})"
        for k, (which, query) in enumerate(zip(order, at))
    ]
    said = ", ".join(most)
    return f"{said[0].upper()}{said[1:]}."


def said_scores(products: np.ndarray, tokens: Sequence[str], at: int, size: int, whose: str = "") -> str:
    """The largest dot product of a row, the score it makes in a head of this size, and the other way round: HTML."""
    best = int(np.delete(products[at], at).argmax())
    best += best >= at
    return (
        f"{whose}Framed: “{tokens[at]}” · “{tokens[best]}” is <b>{products[at, best]:.1f}</b>. Divided by √{size}, that is the score, "
        f"{products[at, best] / np.sqrt(size):.1f}.<br><br>The other way round, “{tokens[best]}” · “{tokens[at]}” is "
        f"{products[best, at]:.1f}: a score is not mutual."
    )


def said_weights(weights: np.ndarray, tokens: Sequence[str], at: int) -> str:
    """How a token shares out its attention: its two largest weights and the rest."""
    first, second = np.argsort(-weights[at])[:2]
    share = [round(100 * weights[at, key]) for key in (first, second)]
    return (
        f"framed: “{tokens[at]}” gives “{tokens[first]}” {share[0]} %, “{tokens[second]}” {share[1]} %, "
        f"the rest {100 - sum(share)} %"
    )


def said_division(divided: np.ndarray, plain: np.ndarray, tokens: Sequence[str]) -> str:
    """What a row's largest weight is with and without the division."""
    best, change = int(plain.argmax()), "More extreme" if plain.max() > divided.max() else "Not more extreme"
    return f"**{change}:** “{tokens[best]}” gets {plain[best]:.2f} without the division, {divided[best]:.2f} with it."


def said_columns(columns: np.ndarray, tokens: Sequence[str]) -> str:
    """The smallest and the largest sum of a column."""
    least, most = int(columns.argmin()), int(columns.argmax())
    return f"B: from {columns[least]:.2f} (“{tokens[least]}”) to {columns[most]:.2f} (“{tokens[most]}”)"


# --- small maps -----------------------------------------------------------------------------------------------
def same_picture(ours: np.ndarray, models: np.ndarray) -> Picture:
    """The map made by hand, the model's, and how far they are apart, on one scale."""
    apart = np.abs(ours - models)
    same = np.allclose(
        ours, models, rtol=0, atol=1e-5
    )  # how much less than that, each processor rounds for itself
    said = (
        "Yes: no weight differs by as much as 0.00001"
        if same
        else f"No: a weight differs by {apart.max():.5f}"
    )
    maps = {"by hand": (ours, ""), "the model": (models, ""), "difference": (apart, "")}
    return small_maps(maps, f"{said}. One scale for all three.")


def words_picture(by_piece, by_word, label: tuple[int, int]) -> Picture:
    """One head's map between wordpieces and between words."""
    maps = {
        f"{len(one.tokens) - sum(one.special)} {name},\n[CLS], [SEP]": (one.head(*label), "")
        for name, one in {"wordpieces": by_piece, "words and marks": by_word}.items()
    }
    return small_maps(maps, f"Head {head_label(*label)}, before and after.", size=(6.6, 2.4))


def readings_picture(attention) -> Picture:
    """The broadest head's map, the same if it could look back only, and the head that gives [SEP] most."""
    weights = attention.weights
    broad, sink = best_index(-weights.max(axis=(2, 3))), best_index(weights[:, :, :, -1].mean(axis=-1))
    both, share = weights[broad], weights[sink][:, -1].mean()
    back = np.tril(both) / np.tril(both).sum(axis=1, keepdims=True)
    maps = {
        "BERT looks both ways": (both, f"head {head_label(*broad)}"),
        "as in GPT: back only": (back, f"{head_label(*broad)}, later tokens hidden"),
        "A sink: [SEP]": (weights[sink], f"{head_label(*sink)}: {100 * share:.0f} % goes to [SEP]"),
    }
    who = "The specimen" if attention.model == "specimen" else model_title(attention.model)
    said = f"{who} on “{SHORT}”; rows look, columns are looked at."
    return small_maps(maps, said, size=(9.8, 3.2), aspect="auto")


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

    @property
    def walked(self) -> str:
        """The head of `walk_head` and whose it is, before what is said of it."""
        return f"{self.name[:1].upper()}{self.name[1:]}, head {head_label(*walk_head(self.encoder))}. "

    @cached_property
    def learnt(self) -> dict:
        """How well it does what it was trained for: `pretraining_scores`."""
        return pretraining_scores(self.guesser)

    def said_rival(self) -> str:
        """The rule that reads nothing."""
        return (
            f"The guess is {subject(self.guesser)}'s. A rival that reads nothing: **always “{self.learnt['commonest']}”**, the commonest piece, right for "
            f"{100 * self.learnt['always']:.0f} % of the pieces hidden in {self.learnt['n_texts']} sentences."
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
            f"BERT's two tasks, done by {subject(self.guesser)}. Left: 15 % of the pieces of {ours['n_texts']} sentences were chosen, most of them hidden. Right: {ours['n_pairs']} pairs; is "
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

    def said_maps(self) -> str:
        """What the two maps have, and what an even head would have."""
        ours, chance = (self.to_next(model, SHORT) for model in self.models.values())
        n, (layer, head) = len(read(self.encoder, SHORT).ids), best_index(ours)
        learnt = " So what stands out on the left was learnt." * bool(ours.max() > 2 * chance.max())
        return (
            f"On “{SHORT}” **all cells of the twin are alike**, {chance.min():.2f} to {chance.max():.2f}; a head that looks evenly "
            f"has {(n - 1) / n**2:.2f}. {self.Subject}'s head {head_label(layer, head)} has {ours[layer, head]:.2f}.{learnt}"
        )

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

    def answer(
        self, ours: np.ndarray, models: np.ndarray, lengths: np.ndarray, tokens: Sequence[str]
    ) -> Picture:
        """The lesson's answer: the map made by hand and the model's, a habit, and one weight beside what arrives.

        ``lengths`` are those of the vectors that a token hands over.
        """
        (best, low, high), (chance, twin_low, twin_high) = self.habits.values()
        carried = ours * lengths / (ours * lengths).sum(axis=1, keepdims=True)
        query, key = best_index(ours - carried)
        return answer_picture(
            {
                "It shows how one head shares out its attention on one text.": {
                    "largest weight": Estimate(models.max()),
                    "by hand − the model": Estimate(float(np.abs(ours - models).max())),
                },
                "It does not show a habit: that takes many texts.": {
                    f"{self.name}, {best.label}": Estimate(best.mean, low, high),
                    f"random twin, {chance.label}": Estimate(chance.mean, twin_low, twin_high, form=".3f"),
                },
                "A weight is not yet what arrives.": {
                    f"weight, {tokens[query]} → {tokens[key]}": Estimate(ours[query, key]),
                    "× length": Estimate(carried[query, key]),
                },
            },
            f"Row 2: attention to the next token in {best.n} short sentences that had no part in choosing the head; slide 19 has longer texts. Rows 1 and 3: “{SHORT}”, "
            f"head {head_label(*walk_head(self.encoder))}; row 3 is the weight that loses most once lengths count.",
            model=self.mark or "",
        )


def gallery(attention, framed: tuple[int, int], said: str = "") -> str:
    """The maps of all heads in their layers, one of them framed, and beside them what is ``said``, or else what they show: HTML."""
    small = attention.n_heads > 6
    picture = render_gallery(attention.weights, attention.tokens, selected=framed, size=19 if small else 54)
    drawn = picture.with_badge(attention.recorded) if attention.recorded else picture.at("max(456px, 40vw)")
    said = said or describe_gallery(attention.weights, attention.tokens)
    return beside(drawn.svg, f'<p style="max-width:{15 if small else 16}em">{said}</p>')


_CAUTIONS = (
    ("One text", "may be no habit at all (lesson 3)"),
    ("Best of many", "looks good: take a baseline (lessons 3, 6)"),
    ("A pattern", "may need no training: ask the twin"),
    ("A large weight", "may carry little content (lesson 4)"),
    ("A working head", "may not be needed (lesson 11)"),
)


def cautions_picture() -> Picture:
    """What a picture of one head does not prove, as five small drawings: a schematic, made of no data."""
    drawn = (draw_texts, draw_best_of_many, draw_twins, draw_light_load, draw_head_off)
    cards = [(draw(0, 0), strong, rest) for draw, (strong, rest) in zip(drawn, _CAUTIONS)]
    return cards_picture(cards, "A schematic: none of the five drawings is data.", high=95, origin=(118, 70))
