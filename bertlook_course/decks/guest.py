"""What the slides of the guest lecture show: four steps of the course, for somebody else's class."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from bertlook_teach.views import Picture

from ..claims import HOLDS, Verdict, collect_evidence
from ..corpora import load_treebank
from ..published import published_layers, published_norm_share, published_table_1
from ..render import (
    Estimate,
    answer_picture,
    cards_picture,
    claim_picture,
    figure_picture,
    gain_figure,
    interval_curves,
    layer_curves,
    signed_gain,
    zones_picture,
)
from . import lesson06
from .common import LessonDeck, letter, subject
from .parts.lesson04_norms import KINDS, idle_head
from .pictures.sketches import draw_head_off, draw_map, draw_word

_MEANING = {  # of the labels of relations
    "dobj": "object of a verb",
    "det": "determiner",
    "pobj": "object of a preposition",
    "ccomp": "clause as an object",
    "mark": "word that opens a clause",
    "poss": "possessor",
    "nsubj": "subject",
    "auxpass": "auxiliary, passive",
    "aux": "auxiliary",
    "advmod": "adverb",
    "all": "all relations",
    "prt": "particle of a verb",
    "amod": "adjective",
    "prep": "preposition",
    "nn": "noun before a noun",
}
_FLATTERING = "25 cases"


def _plain(relation: str) -> str:
    """A relation in words, with its label."""
    return f"{_MEANING[relation]} ({relation})" if relation in _MEANING else relation


def explanation_picture() -> Picture:
    """What two papers say of attention as an explanation, and what is needed for one: a schematic, made of no data."""
    one, other = np.eye(4, k=-1) + 0.2, np.eye(4, k=1)[::-1] + 0.2
    pair = [
        f'<g transform="translate({x})">{"".join(draw_map(weights, 28, top=-56)[1])}</g>'
        for x, weights in ((-76, one), (76, other))
    ]
    cards = [
        (
            [*pair, draw_word("or", 34)],
            "Attention is not explanation",
            "Jain & Wallace 2019: other weights can give the same answer.",
        ),
        (
            draw_map(one, 34, top=-68)[1],
            "Attention is not not explanation",
            "Wiegreffe & Pinter 2019: that does not make these weights meaningless.",
        ),
        (
            draw_head_off(-118, -70),
            "To explain an answer, intervene",
            "Take the head away, and measure what is lost.",
        ),
    ]
    caption = "A schematic, made of no data. Both papers studied classifiers with one layer of attention on a recurrent network, not BERT's heads."
    return cards_picture(cards, caption)


class Deck(LessonDeck):
    """The slides of the guest lecture; the verdicts are those of lesson 06, on 300 sentences."""

    lesson = "06"

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """Verdicts on the claims of lesson 06."""
        return lesson06.Deck(self.encoder, self.twin, load_treebank()[:300]).verdicts

    def claims_picture(self, *keys: str) -> Picture:
        """Some claims with their verdicts; the caption begins with how many hold."""
        verdicts = self.verdicts_on(*keys)
        picture, hold = claim_picture(verdicts), sum(one.verdict == HOLDS for one in verdicts)
        said = "Both hold" if hold == len(verdicts) == 2 else f"{hold} of {len(verdicts)} hold"
        picked = f"{said} in {self.subject}; row 1: share found by the best head minus that by the best distance; row 2: share of all arcs that the best single head finds."
        return replace(picture, caption=f"{picked} {picture.caption}")

    def whose_guesses(self, guesser) -> str:
        """Whose guesses the slide shows."""
        kind = "the course's own small BERT" if guesser.name == "specimen" else "a model"
        return f"Here {subject(guesser)} guesses: {kind} of {guesser.n_layers} layers with {guesser.n_heads} heads."

    def said_looks(self, attention, layer: int, head: int) -> str:
        """Which word each *the* and *on* of a text gives most in a head, of all that it gives."""
        tokens, looks = attention.tokens, attention.head(layer, head)
        words = [i for i, token in enumerate(tokens) if not token.startswith("[")]
        most = {i: max(words, key=lambda key: looks[i, key]) for i in words if tokens[i] in ("the", "on")}
        the = [i for i in most if tokens[i] == "the"]
        named = {i: f"the {nth} *the*" for i, nth in zip(the, ("first", "second"))}
        said = ", ".join(
            f"{named.get(i, f'*{tokens[i]}*')} gives *{tokens[key]}* {100 * looks[i, key]:.0f} %"
            for i, key in most.items()
        )
        return f"{said[0].upper()}{said[1:]}, of all that it gives; the marks at both ends are not drawn."

    def det_picture(self, *, voted: bool) -> Picture:
        """How often the next word is the noun of a determiner, beside BERT-base's best head: the axis of the vote, or the answer on it."""
        row, zones = published_table_1()["det"], {"A": 30, "B": 50, "C": 70, "D": 100}
        if not voted:
            return zones_picture(zones, {}, "per cent right in news text")
        measured = {
            "baseline: next word": Estimate(row.baseline, form=".1f"),
            "BERT-base, 8-11": Estimate(row.accuracy, form=".1f"),
        }
        said = f"Head 8-11 of BERT-base finds {row.accuracy} %, {row.accuracy - row.baseline:.1f} points more (Clark et al. 2019)."
        return zones_picture(
            zones, measured, f"{letter(row.baseline, list(zones.values()))}: {row.baseline} %. {said}"
        )

    def gain_picture(self) -> Picture:
        """BERT-base's gains over the best fixed distance, as printed."""
        gains = lesson06.printed_gains()
        first, *_, low, last = gains
        most, less, least = (signed_gain(gains[name], 1) for name in (first, low, last))
        cases = [row.n for row in published_table_1().values() if row.relation in gains and row.n]
        figure = gain_figure(
            {"BERT-base, best of 288": {_plain(name): gain for name, gain in gains.items()}},
            [_plain(name) for name in gains],
        )
        figure.axes[0].set_xlabel("points above the best distance")  # the names leave no room for more
        return figure_picture(
            figure,
            f"For all but {last} ({least} points): the others gain {less} to {most}. The {len(gains)} rows of the paper's table, by the output of the "
            f"authors' code (Clark et al. 2019); {min(cases):,} to {max(cases):,} cases a relation, no intervals.",
        )

    def best_picture(self, *, voted: bool) -> Picture:
        """What the best of 288 heads that are right in one case of ten seems to reach: the axis of the vote, or the answer on it."""
        zones = {"A": 15, "B": 25, "C": 40}
        if not voted:
            return zones_picture(zones, {}, "per cent right, on the 25 cases")
        seems = 100 * lesson06.flattery()[_FLATTERING][-1]
        measured = {
            "by chance, best of 288": Estimate(seems, form=".0f"),
            "the same head, new cases": Estimate(10, form=".0f"),
        }
        said = f"{letter(seems, list(zones.values()))}: {seems:.0f} %. Nobody cheats: the maximum of many noisy numbers is large."
        return zones_picture(zones, measured, said)

    def flattery_picture(self) -> Picture:
        """The same for fewer heads and for more cases."""
        few, _, many = (100 * curve[-1] for curve in lesson06.flattery().values())
        said = f"The best of 288 seems to reach {few:.0f} % on 25 cases, {many:.0f} % on 1000. On new cases: 10 %."
        return lesson06.flattery_picture(said)

    def said_idle(self, recording) -> str:
        """What *cross* gives to [SEP] in the recorded head that gives it most."""
        street = next(one for text, one in recording.items() if "cross the street" in text)
        layer, head = idle_head(recording)
        looks = street.head(layer, head)[street.tokens.index("cross")]
        share = float(sum(looks[i] for i, token in enumerate(street.tokens) if token == "[SEP]"))
        return f"**{letter(share, [0.5, 0.8])}: {100 * share:.0f} %**, in head {layer + 1}-{head + 1}."

    def sep_picture(self) -> Picture:
        """BERT-base's attention to [SEP] by layer, as published."""
        shares = published_layers("sep")
        figure = interval_curves(
            {}, published={"BERT-base, mean of 12 heads": shares}, size=(9.8, 2.3), ylabel="to [SEP]"
        )
        return figure_picture(
            figure,
            f"Over many texts, the heads of layer {shares.argmax() + 1} give it {100 * shares.max():.0f} % on average, the most of all layers (Clark et al. "
            "2019).",
        )

    def _in_base(self) -> tuple[str, str, int]:
        """[SEP]'s share of BERT-base's weights and of its weighted norms, in print, in the layer that gives it most, counted from 1."""
        weights, norms = (published_norm_share("sep", weights=w) for w in (True, False))
        top = int(weights.argmax())
        return f"{weights[top]:.2f}", f"{norms[top]:.2f}", top + 1

    def share_picture(self) -> Picture:
        """[SEP]'s share of BERT-base's weights and of what is added, by layer."""
        curves = {
            "of the weights": published_norm_share("sep", weights=True),
            "of what is added (weight times length)": published_norm_share("sep"),
        }
        weights, norms, layer = self._in_base()
        return figure_picture(
            layer_curves(curves, ylabel="share of [SEP]", size=(9.8, 3.8), font_size=18),
            f"[SEP] in BERT-base (Kobayashi et al. 2020, read off a figure): {weights} of the weights in layer {layer}, but {norms} of the "
            "summed lengths of what the tokens hand over.",
        )

    def said_share(self) -> str:
        """The same of the deck's model, on all shipped texts, for the special token that gets most of its attention."""
        found = collect_evidence("norms", self.encoder)
        means = {
            name: {kind: found.values[f"{name}_{kind}"].mean(axis=(0, 2)) for kind in KINDS}
            for name in ("weight", "added")
        }
        sink = max(("cls", "sep"), key=lambda kind: means["weight"][kind].max())
        layer = int(means["weight"][sink].argmax())
        weight, norm = (one[sink][layer] / sum(one[kind][layer] for kind in KINDS) for one in means.values())
        return (
            f"In {self.subject} the same is true of `[{sink.upper()}]`, the mark {'at the beginning' if sink == 'cls' else 'after each text'}: "
            f"**{weight:.2f}** of the weights in layer {layer + 1}, but **{norm:.2f}** of the summed lengths (n = {found.n} texts)."
        )

    def answer(self) -> Picture:
        """What the lecture leaves with its audience."""
        (weights, norms, layer), row = self._in_base(), published_table_1()["dobj"]
        seems = lesson06.flattery()[_FLATTERING][-1]
        return answer_picture(
            {
                "A picture shows one head in one text. A habit needs many texts and a rule to compare with.": {
                    "BERT-base's best head, dobj": Estimate(row.accuracy / 100),
                    "baseline: best fixed distance": Estimate(row.baseline / 100),
                },
                "The best of many heads proves nothing until it is compared.": {
                    "by chance: the best of 288": Estimate(seems),
                    "by chance: each head": Estimate(0.1),
                },
                "Looking at a token is not taking from it.": {
                    "BERT-base, [SEP] of the weights": Estimate(float(weights)),
                    "BERT-base, of what is added": Estimate(float(norms)),
                },
            },
            f"dobj: objects of verbs (Clark et al. 2019). Row 2: 25 cases, simulated. [SEP] in layer {layer} (Kobayashi et al. 2020).",
        )
