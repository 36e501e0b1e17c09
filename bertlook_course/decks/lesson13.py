"""What the slides of lesson 13 show: eleven claims of an essay, decided on the deck's model and on what was published of BERT-base."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from bertlook_teach import stats
from bertlook_teach.views import INK, MUTED, OKABE_ITO, PAPER, RULE, Picture, text

from ..analyses.anatomy import attention_against_importance
from ..analyses.patterns import ScoreRow, score_pattern, word_maps
from ..claims import (
    FAILS,
    OPEN,
    REGISTER,
    Verdict,
    best_split,
    category_shares,
    collect_evidence,
    decide,
    explained_by_split,
    moved,
    register_digest,
    split_p,
    try_published,
)
from ..claims.lessons import lesson13
from ..published import published_heads
from ..render import (
    OUTCOMES,
    Estimate,
    TextTable,
    cards_picture,
    count_verdicts,
    draw_sign,
    figure_picture,
    joined,
    needs_text,
    outcome_p,
    phases_figure,
    render_arcs,
    why_lines,
)
from ..storage import with_interval
from .common import LessonDeck
from .pictures.lesson13 import (
    outcome_picture,
    register_picture,
    sealed_picture,
    sorted_picture,
    trial_picture,
)
from .pictures.lesson13_essay import clauses_picture, holm_figure

ON_SLIDES = (1, 5, 6, 7)  # claims 2, 6, 7, 8: those that the slides before the answer are about

# What these four measure, as a slide says it.
_MEASURED = {
    "13-cls-hunter": "entropy of [CLS]'s row minus the mean of all rows, in nats, in the deep layer where this is smaller",
    "13-deep-clauses": "attention that stays inside its clause minus attention inside moved boundaries, in the deep layers",
    "13-three-phases": "what the essay's cuts explain minus what the best other cuts explain",
    "13-looks-where-it-matters-less": "minus the rank correlation of the weight on [SEP] and its gradient, over heads, each minus its layer's mean",
}

CUTS = (4, 10)  # the layers after which the essay ends a phase


class Deck(LessonDeck):
    """The slides of lesson 13, on what a class has time for."""

    lesson = "13"

    def __init__(self, encoder, twin):
        super().__init__(encoder, twin, lesson13.class_resources())

    # ---- the register -------------------------------------------------------------------------------------

    @cached_property
    def outcomes(self) -> list[Verdict]:
        """What becomes of the registered claims on the model, corrected for their number."""
        return decide(REGISTER, self.encoder, twin=self.twin, resources=self.resources, correct="holm")

    @cached_property
    def printed(self) -> list[Verdict]:
        """The same from the published numbers of BERT-base."""
        return try_published()

    def outcomes_on_slides(self) -> Picture:
        """What becomes of the four claims that the slides are about."""
        four = [self.outcomes[i] for i in ON_SLIDES]
        return outcome_picture(four, told=_counted(four))

    def other_outcomes(self) -> Picture:
        """What becomes of the others."""
        return outcome_picture([one for i, one in enumerate(self.outcomes) if i not in ON_SLIDES])

    def published_outcomes(self) -> Picture:
        """What becomes of those that published numbers can decide."""
        return outcome_picture([one for one in self.printed if one.n])

    def both_outcomes(self) -> Picture:
        """Our verdicts and those from published numbers side by side."""
        same = all(a.verdict == b.verdict for a, b in zip(self.outcomes, self.printed))
        both = [
            f"{a.claim.title} is {_outcome(a)} on {self.subject} and {_outcome(b)} for BERT-base"
            for a, b in zip(self.outcomes, self.printed)
            if "undecided" not in (_outcome(a), _outcome(b))
        ]
        n = ("No claim is", "Only one claim is")[len(both)] if len(both) < 2 else f"{len(both)} claims are"
        decided = f"{'Yes' if same else 'No'}. {n} decided on both{': ' * bool(both)}{'; '.join(both)}."
        return trial_picture(self.outcomes, self.printed, self.name, decided=decided)

    def why_undecided(self) -> str:
        """Why some of the four are undecided, why the last came out as it did if none is, and what six layers cannot show."""
        four = [self.outcomes[i] for i in ON_SLIDES]
        open_ones = [one for one in four if _outcome(one) == "undecided"]
        above = [one for one in open_ones if one.why.startswith("the interval is above the line, but p")]
        rest = [one for one in open_ones if one not in above]
        names = joined([str(one.claim.number) for one in above])
        lies = (
            "lie above their lines, but their p do"
            if len(above) > 1
            else "lies above its line, but its p does"
        )
        lines = [f"- {names} {lies} not survive the correction."] * bool(above)
        lines += why_lines(rest or four[-1:] * (not above)).splitlines()
        lines += ["- Six layers can refute 7, but never support it (slide 24)."] * (
            self.encoder.n_layers == 6
        )
        return "\n".join(lines)

    # ---- weight against importance ------------------------------------------------------------------------

    @cached_property
    def importance(self) -> dict[str, Estimate]:
        """Rank correlation of what heads give to [SEP] and what a change there would cost, and what it loses given the norm."""
        evidence = collect_evidence("importance", self.encoder, self.resources)
        inputs = np.arange(evidence.n)

        def correlations(texts) -> np.ndarray:
            means = (
                evidence.values[f"{name}_sep"][texts].mean(axis=0) for name in ("weight", "grad", "norm")
            )
            layers, heads, given_norm = attention_against_importance(*means).values()
            return np.array([layers, heads, given_norm, abs(heads) - abs(given_norm)])

        n_layers, heads = self.encoder.n_layers, f"{self.encoder.n_layers * self.encoder.n_heads} heads"
        names = f"{n_layers} layers", heads, f"{heads} given norm", "lost"
        found = {name: [value] for name, value in zip(names, correlations(inputs))}
        for k, name in list(enumerate(names))[1:]:  # six layers are in one order in every sample
            found[name] += stats.resampled_interval(lambda texts, k=k: correlations(texts)[k], inputs)
        return {name: Estimate(*v, form=".2f" if name == "lost" else "+.2f") for name, v in found.items()}

    def importance_table(self) -> TextTable:
        """The correlations, and what was published of twelve layers."""
        rows = [[f"{self.name}, {name}", found] for name, found in list(self.importance.items())[:3]]
        of_layers = Estimate(-self.printed[7].value, form="+.2f")
        return TextTable(
            ["weight against gradient on [SEP]", "rank correlation [95 %]"],
            [*rows, ["BERT-base, 12 layers", of_layers]],
            "The gradient of a weight is g · f(x): g is what the loss asks for, f(x) what [SEP] passes on. "
            "Given norm: the length of f(x) held fixed. BERT-base: published.",
        )

    def importance_elsewhere(self) -> str:
        """How much of the correlation is the length of a vector, and where slide 9 has another number."""
        n_inputs = collect_evidence("importance", self.encoder, self.resources).n
        _, rho, given_norm, lost = self.importance.values()
        only = "Perhaps" if given_norm.low <= 0 <= given_norm.high else "No"
        part = (
            "We cannot tell whether the length explains a part"
            if lost.low <= 0
            else "The length explains a part"
        )
        return (
            f"**{only}.** In {self.subject} the correlation is {rho.value:+.2f}; with the length held fixed it is {given_norm}. {part} (difference {lost}; "
            f"{n_inputs} inputs). Slide 9 shows the same correlation with the sign turned, on {self.outcomes[7].n} of the inputs."
        )

    # ---- what a trial cannot say --------------------------------------------------------------------------

    def limits(self) -> Picture:
        """Four limits of the trial, as small drawings."""
        n = self.encoder.n_layers
        columns = [
            (_readings(), "Our reading.", "The author may have meant another."),
            (_stacks(n), "One small model.", f"{n} layers, trained once: eleven verdicts on it alone."),
            (
                _no_way_across(),
                "Only here.",
                "Refuted here is not refuted for BERT-base. No verdict says why.",
            ),
            (
                _figure_then_register(),
                "Not innocent.",
                "Whoever wrote the register had seen Clark's figures.",
            ),
        ]
        return cards_picture(columns, "The drawings are schematic.", origin=(110, 85))

    # ---- a pattern of our own -----------------------------------------------------------------------------

    @cached_property
    def maps(self):
        """What the model's heads look at in each sentence of the treebank."""
        return word_maps(self.encoder, self.resources.treebank)

    @cached_property
    def twin_maps(self):
        """The same for the random twin."""
        return word_maps(self.twin, self.resources.treebank)

    def pattern_picture(self, pattern) -> Picture:
        """A short sentence in which the pattern asks for more than one distance, with a line for each of its pairs."""
        short = [one for one in self.maps.readings if len(one.words) < 15]
        reading = max(short, key=lambda one: len({k - q for q, k in np.argwhere(pattern.mask(one))}))
        words = [(place, word) for place, word in enumerate(reading.words) if not reading.special[place]]
        at = {place: number for number, (place, _) in enumerate(words)}
        arcs = [
            {"dependent": at[k], "governor": at[q], "relation": f"{k - q:+d}", "answer": None}
            for q, k in np.argwhere(pattern.mask(reading)).tolist()
            if q in at and k in at
        ]
        said = f"{pattern.in_words()} Numbers: how many words on."
        return replace(render_arcs({"words": [word for _, word in words], "arcs": arcs}), sentence=said)

    def pattern_row(self, pattern) -> ScoreRow:
        """How often the best head finds what a pattern asks for, beside the best distance, chance and the twin."""
        return score_pattern(pattern, self.maps, self.twin_maps)["accuracy"]

    # ---- the ledger and the answer ------------------------------------------------------------------------

    def verdicts_beside(self, row: ScoreRow) -> str:
        """How many claims hold alone and how many among eleven, and where another slide has more sentences."""
        [haven], [own] = self.verdicts_on("sep-haven"), self.verdicts_on("own-determiners")
        survive = sum(_outcome(one) == "supported" for one in self.outcomes)
        return (
            f"Row 1 {_becomes(haven)} (it is not compared with a twin). Row 2 {_becomes(own)} (slide 16 has the same question on {row.n_texts} "
            f"sentences). {count_verdicts(self.verdicts)} Corrected for eleven tests, {survive} are supported "
            f"(next slide). This deck takes {len(self.resources.pairs)} pairs of texts and {len(self.resources.treebank)} sentences; "
            f"`{self.claims_command}` takes all texts and can decide more."
        )

    def answer(self, row: ScoreRow) -> Picture:
        """The lesson's question, answered: which claims are supported, refuted, undecided; and what became of our own."""
        gain = f"{100 * row.gain:+.1f} points [{100 * row.gain_low:+.1f}, {100 * row.gain_high:+.1f}]"
        sides = {
            f"{self.name}, {len(self.outcomes)} claims": self.outcomes,
            "BERT-base, published numbers, seen before the lines were fixed": self.printed,
        }
        ours, printed = (sum(_outcome(one) == "supported" for one in side) for side in sides.values())
        return sorted_picture(
            sides,
            f"{ours} of {len(self.outcomes)} survive in {self.subject}, {printed} in BERT-base's published numbers. Our own claim, on determiners: {gain} over the best distance"
            f"{'' if row.gain_low > 0 or row.gain_high < 0 else ', undecided'}.",
        )


def claims_on_slides() -> Picture:
    """The four claims that the slides are about: statistic, what it needs, and what would refute it."""
    return register_picture([REGISTER[i] for i in ON_SLIDES], _MEASURED)


def other_claims() -> Picture:
    """The register without these four."""
    return register_picture([one for i, one in enumerate(REGISTER) if i not in ON_SLIDES])


def two_digests() -> Picture:
    """The register and its digest, and both again with one line moved by a hundredth."""
    moved_one = moved(REGISTER[2], 0.49)
    sheets = []
    for third in (REGISTER[2], moved_one):
        register = [*REGISTER[:2], third, *REGISTER[3:]]
        lines = [f"{one.name}  {needs_text(one)}" for one in register[:3]]
        sheets.append(([*lines, f"… and {len(register) - 3} more"], register_digest(register)))
    same = sum(a == b for a, b in zip(sheets[0][1], sheets[1][1]))
    was, now = (one.line() for one in (REGISTER[2], moved_one))
    caption = (
        f"Claim 3's threshold moves by a hundredth ({was} to {now}): {len(sheets[0][1]) - same} of the {len(sheets[0][1])} characters of the digest "
        "change."
    )
    return sealed_picture(sheets, caption, changed=sheets[1][0][2])


def sealed_guess(guess: str, digest: str) -> Picture:
    """A letter for each of the four claims on a sheet, and the envelope with its digest."""
    names, letters = [REGISTER[i].name for i in ON_SLIDES], guess.split()
    one_each = len(letters) == len(names)
    lines = [f"{letter}   {name}" for letter, name in zip(letters, names)] if one_each else [guess]
    caption = f"The first four characters go on the board: {digest[:4]}. Another guess or another secret has another digest."
    return sealed_picture([(lines, digest)], caption)


def holm_picture() -> Picture:
    """How often chance wins one of eleven tests, and four made-up p before and after Holm's correction."""
    tests, p = len(REGISTER), np.array([0.004, 0.03, 0.04, 0.2])
    corrected = stats.holm(np.concatenate([p, np.ones(tests - len(p))]))[: len(p)]
    left = (corrected < 0.05).sum()
    return figure_picture(
        holm_figure(p, corrected, tests),
        f"Left: of {tests} independent tests of false claims at least one passes in {100 * (1 - 0.95**tests):.0f} % of the cases. "
        f"Right: four made-up p; the other {tests - len(p)} are 1. Before the correction {(p < 0.05).sum()} are below .05, after it {left} (blue).",
    )


def two_heads() -> Picture:
    """Two made-up heads, one that looks near and one that stays in its clause, beside moved boundaries."""
    lengths = [3, 4]
    distance = np.arange(7)[None] - np.arange(7)[:, None]
    clause = np.repeat([0, 1], lengths)
    scores = {
        "looks near": np.exp(-np.abs(distance)),
        "stays in its clause": (clause[:, None] == clause).astype(float),
    }
    heads = {name: score / score.sum(axis=1, keepdims=True) for name, score in scores.items()}
    return clauses_picture(heads, lengths)


def phases_question() -> str:
    """How much do the best two cuts of a straight slope explain?"""
    share = explained_by_split(_bert_base_shares(), CUTS)
    return (
        f"In BERT-base the essay's cuts, after layers 4 and 10, explain **{100 * share:.0f} %** of how layers differ in their "
        "shares of `[CLS]`, `[SEP]`, punctuation and the rest. Is that impressive?\n\n"
        "Take a **straight slope** over 12 layers, with no phases at all. How much do *its* best two cuts explain?"
    )


def phases_picture() -> Picture:
    """BERT-base's layers with the essay's cuts, beside what the best cuts explain there and on a straight slope."""
    shares = _bert_base_shares()
    (cuts, best), (ends, slope) = best_split(shares), best_split(_straight_slope())
    p, _ = split_p(shares, CUTS)
    registered = outcome_p(try_published()[6])
    return figure_picture(
        phases_figure(shares, CUTS, beside=("a straight slope", _straight_slope()[:, 0], ends)),
        f"BERT-base (Clark et al. 2019): cuts after layers {cuts[0]} and {cuts[1]} explain {100 * best:.1f} %; shuffled layers reach that with p = {p:.4f}. "
        f"The registered test is another one (these cuts against the best other cuts): p = {registered} after correction, slide 25. "
        f"A straight slope: {100 * slope:.1f} %, though it has no phases; bars: means.",
    )


def phases_answer() -> str:
    """The letter of the nearest answer, and the number."""
    share = best_split(_straight_slope())[1]
    nearest = "ABCD"[np.abs(np.array([0.25, 0.5, 0.75, 0.9]) - share).argmin()]
    return f"The answer: **{nearest}** ({100 * share:.0f} %). Shuffled layers are a weak null: anything *smooth* beats them."


def pattern_table(row: ScoreRow) -> TextTable:
    """Our own pattern: the best head, the best distance, guessing and the random twin."""

    def per_cent(*shares):
        return Estimate(*(100 * share for share in shares), form=".1f")

    return TextTable(
        ["accuracy of", "right, % [95 %]"],
        [
            [f"best head ({' / '.join(row.heads)})", per_cent(row.value, row.low, row.high)],
            [f"best fixed distance ({' / '.join(row.rules)})", per_cent(row.rule)],
            ["guessing", per_cent(row.chance)],
            ["best head of the random twin", per_cent(row.twin, row.twin_low, row.twin_high)],
        ],
        f"Gain over the distance: {with_interval(row.gain, row.gain_low, row.gain_high)} points{_beside_zero(row)}. {row.n} cases "
        f"in {row.n_texts} sentences; chosen on one half, scored on the other, both ways.",
    )


def _beside_zero(row: ScoreRow) -> str:
    """Where the interval of a gain lies."""
    if row.gain_low > 0:
        return ": yes"
    return ": no" if row.gain_high < 0 else ", and the interval contains 0: not decided"


def _bert_base_shares() -> np.ndarray:
    return category_shares({kind: published_heads(kind) for kind in ("cls", "sep", "punct")})


def _straight_slope() -> np.ndarray:
    return np.arange(12.0)[:, None]


def _becomes(verdict: Verdict) -> str:
    """What becomes of a claim of the ledger, after its name."""
    return "is undecided" if verdict.verdict == OPEN else verdict.verdict


def _counted(verdicts: list[Verdict]) -> str:
    """How many are supported, refuted, undecided, in a sentence: ``"Two are refuted, two undecided, none is supported."``"""
    words = ("none", "one", "two", "three", "four")
    counts = {
        said: sum(_outcome(one) == said for one in verdicts) for said in ("supported", "refuted", "undecided")
    }
    some = sorted((said for said in counts if counts[said]), key=lambda said: said == "undecided")
    first = f"{words[counts[some[0]]].capitalize()} {'is' if counts[some[0]] == 1 else 'are'} {some[0]}"
    others = [f"{words[counts[said]]} {said}" for said in some[1:]]
    return f"{', '.join([first, *others, *['none is supported'] * (not counts['supported'])])}."


def _outcome(verdict: Verdict) -> str:
    """The verdict as the tables of outcomes say it: "supported", "refuted" or "undecided"."""
    return OUTCOMES[verdict.verdict]


# --- small drawings, made of no data --------------------------------------------------------------------


def _readings() -> list[str]:
    """A sentence that can be read in three ways, of which one is tested."""
    body = [text(0, 85, "“…”", extra=' font-weight="650" font-size="44"')]
    for y, look in ((25, 'stroke-dasharray="6 6"'), (85, ""), (145, 'stroke-dasharray="6 6"')):
        colour, wide = (MUTED, 2) if look else (OKABE_ITO["vermillion"], 5)
        body.append(
            f'<path d="M82 85L130 {y}" stroke="{colour}" stroke-width="{wide}" {look}/>'
            f'<rect x="130" y="{y - 20}" width="80" height="40" rx="6" fill="{PAPER}" stroke="{colour}" stroke-width="{wide}" {look}/>'
        )
    return body


def _stacks(n_layers: int) -> list[str]:
    """As many layers as the model has, and beside them twelve that were not run."""
    return [
        f'<rect x="{left}" y="{152 - 13 * k}" width="80" height="11" fill="{fill}" stroke="{MUTED}"/>'
        for left, n, fill in ((10, n_layers, OKABE_ITO["blue"]), (120, 12, PAPER))
        for k in range(n)
    ]


def _no_way_across() -> list[str]:
    """A verdict, a wall, and a question mark behind it."""
    wall = f'<path d="M110 10V160" stroke="{INK}" stroke-width="7"/>'
    return [draw_sign(FAILS, 48, 85, "", radius=36)[0], wall, draw_sign(OPEN, 172, 85, "", radius=36)[0]]


def _figure_then_register() -> list[str]:
    """An arrow from a curve to a written sheet."""
    lines = "".join(f'<path d="M146 {y}h58" stroke="{MUTED}" stroke-width="4"/>' for y in (50, 72, 94, 116))
    return [
        f'<path d="M5 30V140H90" fill="none" stroke="{INK}" stroke-width="3"/>',
        f'<path d="M12 125C30 125 30 50 50 50S70 90 88 70" fill="none" stroke="{OKABE_ITO["vermillion"]}" stroke-width="5"/>',
        f'<path d="M98 85H126m-12 -9l14 9l-14 9" fill="none" stroke="{INK}" stroke-width="3"/>',
        f'<rect x="136" y="28" width="78" height="112" fill="{RULE}" opacity="0.4" stroke="{MUTED}"/>{lines}',
    ]
