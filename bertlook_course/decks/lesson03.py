"""What the slides of lesson 03 show: how much goes to neighbours, to special tokens and marks, and how widely heads look."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from bertlook_teach.measures import OFFSETS, Profile, profile_heads
from bertlook_teach.model import head_label
from bertlook_teach.views import Picture

from ..claims import SINKS, Resources
from ..claims.lessons.lesson03 import CLARK_LENGTH, halves, shown_measures
from ..corpora import load_pairs
from ..metrics import best_index, layer_difference
from ..published import published_layers, read_published
from ..render import (
    Estimate,
    TextTable,
    answer_picture,
    bootstrap_picture,
    figure_picture,
    interval_curves,
    map_beside,
    render_offset_bars,
    small_maps,
    zones_picture,
)
from .common import LessonDeck, letter, short_title, subject
from .pictures.lesson03 import DOGS, layers, said_ends, said_most, said_top

CLARK = "BERT-base, published"
SCALED = "BERT-base, published / ln 122"
_NEIGHBOURS = ("previous", "next")
_COUNTS = {"A": 1.0, "B": 4.0, "C": 10.0}  # heads that look at a neighbour: where each answer ends


# --- what our models do ----------------------------------------------------------------------------------------
def sink_of(profile: Profile) -> str:
    """The kind of token, a key of `SINKS`, that some layer gives most, by the mean over its heads."""
    return max(SINKS, key=lambda kind: profile.layer_mean(kind)[0].max())


def _even(profile: Profile, kind: str) -> float:
    """What uniform attention would give such tokens, in the texts as that model cuts them into pieces."""
    return float(profile.mean(f"{kind}, uniform").mean())


def _token(kind: str) -> str:
    """The same in Markdown."""
    return "full stops and commas" if kind == "punct" else f"`{SINKS[kind]}`"


class Deck(LessonDeck):
    """The slides of lesson 03, on all shipped pairs of texts.

    Attributes
    ----------
    halves : (Profile, Profile)
        Of the pairs to choose heads on, and of those to report on.
    profile, other : Profile
        Of all pairs: of the deck's model, and of the one beside it, or None.
    """

    lesson = "03"

    def __init__(self, encoder, twin, beside=None):
        super().__init__(
            encoder, twin, Resources(limit=40), beside
        )  # for the ledger; more would take minutes
        self.quantities = shown_measures()
        self.halves = halves(encoder)
        self.profile = self.halves[0].merge(self.halves[1])
        self.other = None
        if self.beside is not None:
            first, second = halves(self.beside)
            self.other = first.merge(second)
        self.best_previous = best_index(self.profile.mean("previous"))

    @cached_property
    def twin_halves(self) -> tuple[Profile, Profile]:
        """Of the twin, without what needs no model: offsets and uniform attention."""
        plain = (name for name in self.quantities if "offset" not in name and "uniform" not in name)
        return halves(self.twin, only=tuple(plain))

    @cached_property
    def twin_profile(self) -> Profile:
        return self.twin_halves[0].merge(self.twin_halves[1])

    @cached_property
    def lengths(self) -> np.ndarray:
        """Tokens of each pair."""
        return np.array([len(self.encoder.tokenizer(*pair)["input_ids"]) for pair in load_pairs()])

    def layer_picture(
        self,
        measure: str,
        ylabel: str,
        printed,
        name: str = CLARK,
        uniform: str = "",
        say=said_top,
        aside=None,
    ) -> Picture:
        """A measure by layer: of the models and the twin with intervals, of BERT-base as printed, and of uniform attention.

        ``aside(figure)`` draws more beside the curves, and says what; ``say(ylabel, curves)`` is how the caption begins.
        """
        ours = {self.name: self.profile.layer_mean(measure)}
        curves = {self.subject: self.profile.layer_mean(measure)[0]}
        if self.other is not None:
            ours[short_title(self.beside)] = self.other.layer_mean(measure)
            curves[subject(self.beside)] = self.other.layer_mean(measure)[0]
        ours["random twin"] = self.twin_profile.layer_mean(measure)
        level = float(self.profile.mean(uniform).mean()) if uniform else None
        line = ("uniform attention", level) if uniform else None
        figure = interval_curves(ours, published={name: printed}, baseline=line, ylabel=ylabel)
        curves |= {"BERT-base": printed}
        bands = f" Bands: 95 %, n = {self.profile.n} texts" + (f"; uniform {level:.3f}." if uniform else ".")
        source = " BERT-base: Clark et al. 2019." if name == CLARK else ""
        more = f" {aside(figure)}" if aside else ""
        return figure_picture(figure, f"{say(ylabel, curves)}.{bands}{source}{more}")

    # ---- neighbours -------------------------------------------------------------------------------------------

    def corpus_table(self) -> TextTable:
        """On what Clark et al. (2019) measured, and on what we do."""
        clark = {row.quantity: row.value for row in read_published("clark_text_claims")}
        n, lengths, model = len(self.lengths), self.lengths, self.encoder
        segments = f"{clark['segments analysed (paper)']} (released: {clark['segments in released data']})"
        return TextTable(
            ["what", "Clark et al. 2019", "here"],
            [
                [
                    "model",
                    "BERT-base: 12 layers of 12 heads",
                    f"{self.name}: {model.n_layers} layers of {model.n_heads} heads",
                ],
                ["texts", segments, str(n)],
                [
                    "tokens a text",
                    f"mean {CLARK_LENGTH:.0f}, at most {clark['maximum segment length']}",
                    f"mean {lengths.mean():.0f}, from {lengths.min()} to {lengths.max()}",
                ],
                ["source", "Wikipedia", "written for this course"],
            ],
        )

    @cached_property
    def neighbour_heads(self) -> list[tuple[str, str, Estimate]]:
        """(head, "previous" or "next", share) of each head that gives one neighbour more than half."""
        return [
            (head_label(layer, head), name, _of_head(self.profile, name, layer, head))
            for name in _NEIGHBOURS
            for layer, head in np.argwhere(self.profile.mean(name) > 0.5)
        ]

    def neighbour_picture(self, *, voted: bool = True) -> Picture:
        """How many these are on the axis of the vote, and which; or the axis alone."""
        zones = _COUNTS | {"D": float(self.encoder.n_layers * self.encoder.n_heads)}
        if not voted:
            return zones_picture(zones, {}, "number of heads")
        found = letter(len(self.neighbour_heads), list(_COUNTS.values()))
        each = ", ".join(f"{head} {share.value:.3f} to the {to}" for head, to, share in self.neighbour_heads)
        said = f"{found}: {each or 'none'}. n = {self.profile.n}; uniform {self.profile.mean('previous, uniform').mean():.3f}."
        count = Estimate(len(self.neighbour_heads), form=".0f", after=" heads")
        return zones_picture(zones, {self.name: count}, said)

    def neighbour_maps(self) -> Picture:
        """What every head gives the previous and the next token, and the head that comes nearest to half without reaching it."""
        maps, below = {}, {}
        for name in _NEIGHBOURS:
            shares = self.profile.mean(name)
            found = [f"{head} {share.value:.2f}" for head, to, share in self.neighbour_heads if to == name]
            maps[f"to the {name} token"] = shares, "over half: " + (", ".join(found) or "none")
            under = np.where(shares < 0.5, shares, 0)
            below[under.max()] = (
                f"{head_label(*best_index(under))} just misses half: {under.max():.3f} to the {name} token"
            )
        said = f"A cell is a head: layers down, heads across; darker is more. Head {below[max(below)]}."
        square = self.encoder.n_layers == self.encoder.n_heads
        words = [str(k + 1) for k in range(self.encoder.n_heads)] if square else ()
        return small_maps(maps, said, words=words, size=(9.8, 4.2))

    def position_maps(self) -> dict[str, np.ndarray]:
        """What each head gives its neighbours and the token itself, for a head map."""
        names = {"to the previous token": "previous", "to the next token": "next", "to itself": "self"}
        return {title: self.profile.mean(name) for title, name in names.items()}

    def profile_picture(self, layer: int, head: int) -> Picture:
        """What a head gives each offset."""
        near = {-1: "previous", 0: "self", 1: "next"}
        values = [self.profile.mean(near.get(o, f"offset{o:+d}"))[layer, head] for o in OFFSETS]
        title = f"{self.name}, head {head_label(layer, head)} (n = {self.profile.n})"
        even = float(self.profile.mean("self, uniform").mean())
        return render_offset_bars(np.array(values), title=title, baseline=even)

    def twin_table(self) -> TextTable:
        """The best heads for both neighbours, of the model and of its twin, chosen on half of the texts."""
        body = []
        for name in _NEIGHBOURS:
            row = [name]
            for chosen, reported in (self.halves, self.twin_halves):
                head = best_index(chosen.mean(name))
                label = head_label(*head).replace("-", "‑")
                row.append(replace(_of_head(reported, name, *head), after=f", {label}"))
            even = self.halves[1].mean(name + ", uniform").mean()
            body.append([*row, Estimate(even, form=".4f")])
        return TextTable(
            ["to", f"{self.name}, best head", "random twin, best head", "uniform (baseline)"],
            body,
            f"{self._said_learnt()} Heads chosen on {self.halves[0].n} texts, share [95 %] on {self.halves[1].n} others.",
        )

    def _said_learnt(self) -> str:
        """Whether it takes training to look at a neighbour."""
        *_, twin, learnt = self._learnt_next()
        even = self.profile.mean("next, uniform").mean()
        found = letter(twin, [1.5 * even, 0.5], "CBA")
        much = {"A": "over half", "B": "more than chance", "C": "about as much as chance"}[found]
        ours = f"those of {self.subject} have {'' if learnt else 'not '}learnt to look there"
        return f"{found}: the twin's best heads give a neighbour {much}; {ours}."

    def _learnt_next(self) -> tuple[float, float, float, float, bool]:
        """What the best next-token heads give, chosen elsewhere: the model's, with its interval, the twin's, and whether that is learnt."""
        where, where_twin = (best_index(half[0].mean("next")) for half in (self.halves, self.twin_halves))
        best, twin = self.halves[1].mean("next")[where], self.twin_halves[1].mean("next")[where_twin]
        low, high = (end[where] for end in self.halves[1].interval("next"))
        return best, low, high, twin, low > 2 * twin

    # ---- special tokens and marks -----------------------------------------------------------------------------

    def baseline_table(self) -> TextTable:
        """What uniform attention would give special tokens and marks, in our texts and in the paper's."""
        rows = (
            ("[CLS]", "cls", "1 of 128: 0.008"),
            ("[SEP], both", "sep", "2 of 128: 1/64 = 0.016"),
            (". and ,", "punct", "not printed"),
        )
        return TextTable(
            ["keys", f"uniform attention, our {self.profile.n} texts", "in Clark's 128 tokens"],
            [
                [name, Estimate(self.profile.mean(key + ", uniform").mean(), form=".3f"), example]
                for name, key, example in rows
            ],
            f"Our texts have {self.lengths.mean():.0f} tokens on average. For two [SEP] in 128 tokens "
            "Clark et al. print 1/64 = 0.016.",
        )

    def special_pictures(self, recording) -> dict[str, Picture]:
        """What goes to [SEP], [CLS] and to marks, by layer, for a menu; and to [SEP] in a recorded BERT-base."""
        keys = {"[SEP]": "sep", "[CLS]": "cls", ". and ,": "punct"}
        pictures = {
            title: self.layer_picture(key, f"to {title}", published_layers(key), uniform=f"{key}, uniform")
            for title, key in keys.items()
        }
        return pictures | {"[SEP], recorded": self._recorded_picture(recording)}

    def _on_recorded_texts(self, model, recording) -> Profile:
        wanted = {name: self.quantities[name] for name in ("sep", "sep, uniform")}
        return profile_heads(model, list(recording), wanted)

    def _recorded_picture(self, recording) -> Picture:
        """What goes to [SEP] in a recorded BERT-base and in the deck's model on the same short inputs."""
        n, base = len(recording), self._on_recorded_texts(recording, recording)
        level = float(base.mean("sep, uniform").mean())
        figure = interval_curves(
            {
                f"{recording.badge}, {n} inputs": base.layer_mean("sep"),
                f"{self.name}, the same inputs": self._on_recorded_texts(self.encoder, recording).layer_mean(
                    "sep"
                ),
            },
            published={"Clark et al. 2019": published_layers("sep")},
            baseline=("uniform, these inputs", level),
            ylabel="to [SEP]",
        )
        over = ", ".join(layers(base.layer_mean("sep")[0] > 0.5)) or "none"
        return figure_picture(
            figure,
            f"BERT-base, recorded, gives over half to [SEP] in layers {over}. "
            f"Bands: 95 %, n = {n} inputs; uniform {level:.3f}.",
        )

    def sink_question(self) -> str:
        """How much does the layer give that gives one kind of token most?"""
        kind = sink_of(self.profile)
        rivals = " or ".join(_token(other) for other in SINKS if other != kind)
        return (
            f"In {self.subject}, {_token(kind)} {'get' if kind == 'punct' else 'gets'} more attention than {rivals}. "
            "How much goes there in the layer that gives most?"
        )

    def sink_choices(self) -> dict[str, str]:
        """The answers to choose from."""
        even = _even(self.profile, sink_of(self.profile))
        return {
            "A": f"about chance ({f'{even:.2f}'.lstrip('0')})",
            "B": "two to ten times chance",
            "C": "over ten times chance, but not half",
            "D": "over half",
        }

    def sink_picture(self, *, voted: bool = True) -> Picture:
        """How much it is on the axis of the vote; or the axis alone."""
        even = _even(self.profile, sink_of(self.profile))
        zones = {"A": round(2 * even, 2), "B": round(10 * even, 2), "C": 0.5, "D": 1.0}
        if not voted:
            return zones_picture(zones, {}, "share, logarithmic", least=0.01)
        kind = sink_of(self.profile)
        found = self.profile.layer_mean(kind)
        layer = found[0].argmax()
        top = Estimate(*(values[layer] for values in found), ".3f")
        answer = next((one for one, end in zones.items() if top.value < end), "D")
        said = f"{answer}: layer {layer + 1}, {top.value / even:.0f} times uniform attention (n = {self.profile.n} texts)."
        return zones_picture(zones, {self.name: top}, said, least=0.01)

    def sep_pictures(self, recording) -> dict[str, Picture]:
        """Who looks at [SEP], by layer, for a menu; beside it a recorded map of BERT-base's layer where [SEP] does most."""
        layer, seen = int(published_layers("sep_to_sep").argmax()), recording[DOGS]
        weights = seen.weights[layer].mean(axis=0)
        sep = np.array(seen.tokens) == "[SEP]"
        own = weights[np.ix_(sep, sep)].sum(axis=1).mean()

        def draw(figure) -> str:
            named = [token if hidden else "" for token, hidden in zip(seen.tokens, seen.special)]
            map_beside(figure, weights, named, f"BERT-base, layer {layer + 1}")
            figure.set_figheight(figure.get_figheight() - 0.2)  # room for what is said of the map
            return f"Map: one recorded input, mean of the layer's heads; its two [SEP] give [SEP] {own:.2f}."

        return {
            title: self.layer_picture(
                key, title, published_layers(key), uniform="sep, uniform", say=said_most, aside=draw
            )
            for title, key in (("SEP → SEP", "sep_to_sep"), ("other → SEP", "other_to_sep"))
        }

    # ---- how widely heads look --------------------------------------------------------------------------------

    @property
    def sharpest(self) -> tuple[int, int]:
        """Layer and head with the smallest normalised entropy."""
        return best_index(-self.profile.mean("entropy_normalized"))

    def focus_maps(self) -> dict[str, np.ndarray]:
        """Entropies of each head, for an explorer."""
        names = {
            "entropy / ln n": "entropy_normalized",
            "entropy (nats)": "entropy",
            "entropy from [CLS] (nats)": "entropy_from_cls",
        }
        return {title: self.profile.mean(name) for title, name in names.items()}

    def focus_pictures(self) -> dict[str, Picture]:
        """Normalised entropy by layer, of all tokens and from [CLS], for a menu."""
        base = {
            name: published_layers(name) / np.log(CLARK_LENGTH)
            for name in ("entropy_clark", "entropy_from_cls")
        }
        return {
            "all tokens": self.layer_picture(
                "entropy_normalized",
                "entropy / ln n",
                base["entropy_clark"],
                SCALED,
                say=said_ends,
            ),
            "from [CLS]": self.layer_picture(
                "cls_normalized", "entropy from [CLS] / ln n", base["entropy_from_cls"], SCALED
            ),
        }

    # ---- the answer -------------------------------------------------------------------------------------------

    def answer(self) -> Picture:
        """The lesson's answer."""
        n_heads = self.encoder.n_layers * self.encoder.n_heads
        best, low, high, twin, learnt = self._learnt_next()
        marks, even = (_to_marks(self.profile, end) for end in ("", ", uniform"))
        to_marks = {f"{self.name}, all heads": Estimate(*marks)}
        if self.other is not None:
            to_marks[f"{short_title(self.beside)}, all heads"] = Estimate(*_to_marks(self.other))
        head = head_label(*best_index(self.halves[0].mean("next")))
        wide, one = np.exp(self.profile.mean("entropy")), ".0f"
        return answer_picture(
            {
                f"{len(self.neighbour_heads)} of {n_heads} heads look mostly at a neighbour{', and that is learnt' if learnt else ''}.": {
                    f"{self.name}, {head}, next token": Estimate(best, low, high),
                    "random twin, best head": Estimate(twin),
                },
                f"In {self.subject} {'most' if marks[0] > 0.5 else 'much'} goes to special tokens and punctuation.": {
                    **to_marks,
                    "baseline: uniform": Estimate(even[0]),
                },
                "Some look narrowly, some broadly.": {
                    f"{self.name}, sharpest head": Estimate(wide.min(), form=".1f", after=" tokens"),
                    f"{self.name}, broadest head": Estimate(wide.max(), form=one, after=" tokens"),
                    "baseline: the whole text": Estimate(self.lengths.mean(), form=one, after=" tokens"),
                },
            },
            f"n = {self.profile.n} texts; first row: {self.halves[1].n}. The largest share of a single layer "
            f"goes to {self._said_sinks()}.".replace("`", ""),
        )

    def _said_sinks(self) -> str:
        other = self.other and f" and to {_token(sink_of(self.other))} in {subject(self.beside)}"
        return f"{_token(sink_of(self.profile))} in {self.subject}{other or ''}"

    # ---- behind the end ---------------------------------------------------------------------------------------

    def segment_picture(self) -> Picture:
        """What goes to [SEP] by layer, with segment ids and with zeros in their place."""
        zeros = halves(self.encoder, segments="zeros", only=("sep",))
        zeros = zeros[0].merge(zeros[1])
        difference, low, high = layer_difference(self.profile, zeros, "sep")
        moved = int(np.abs(difference).argmax())
        curves = {
            f"{self.name}, segments A and B": self.profile.layer_mean("sep"),
            f"{self.name}, all zeros": zeros.layer_mean("sep"),
        }
        largest = Estimate(difference[moved], low[moved], high[moved], ".3f")
        return figure_picture(
            interval_curves(curves, ylabel="to [SEP]"),
            f"{'Hardly' if np.abs(difference).max() < 0.02 else 'It does'}: the largest change, in layer {moved + 1}, is {largest}, "
            f"paired over n = {self.profile.n} texts; {int(((low > 0) | (high < 0)).sum())} of {self.encoder.n_layers} layers "
            "change beyond chance.",
        )

    def resampling_picture(self) -> Picture:
        """`bertlook_course.render.bootstrap_picture` of twelve texts, of what the best previous-token head gives."""
        measure = {"previous": self.quantities["previous"]}
        few = (profile_heads(self.encoder, [pair], measure) for pair in load_pairs()[:12])
        shares = [float(one.mean("previous")[self.best_previous]) for one in few]
        label = head_label(*self.best_previous)
        return bootstrap_picture(shares, axis=f"{self.name}, head {label}: attention to the previous token")


def _to_marks(profile: Profile, end: str = "") -> list[float]:
    """What all heads together give special tokens and marks, with its interval."""
    sums = sum(profile.sums[key + end] for key in ("cls", "sep", "punct")).mean(axis=(1, 2), keepdims=True)
    return [float(value[0]) for value in replace(profile, sums={"marks": sums}).layer_mean("marks")]


def _of_head(profile: Profile, measure: str, layer: int, head: int) -> Estimate:
    low, high = profile.interval(measure)
    return Estimate(profile.mean(measure)[layer, head], low[layer, head], high[layer, head], ".3f")
