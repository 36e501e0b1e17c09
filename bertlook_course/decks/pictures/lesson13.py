"""Pictures of the essay's trial: what each claim has to reach, what it reached, and both models' verdicts side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bertlook_teach.views import (
    INK,
    MUTED,
    OKABE_ITO,
    PAPER,
    RULE,
    Picture,
    coordinate,
    text,
    with_minus,
)

from ...claims import FAILS, HOLDS, OPEN
from ...render import (
    OUTCOMES,
    TYPE,
    WIDE,
    ClaimPicture,
    broken_lines,
    compared_table,
    draw_interval,
    draw_sign,
    has_twin,
    model_name,
    needs_text,
    outcome_p,
    outcome_table,
    outcome_value,
    register_table,
)

_WIDTH, _EM = WIDE, TYPE

# The essay's images: who, what of them, and its lines from the token that looks to the one that is looked at.
TOKENS = ("[CLS]", "the", "cat", "sat", ".", "[SEP]")
IMAGES = (
    ("Insiders (the, be, to)", "one constant relation, narrow", ((1, 2),)),
    ("The hunter [CLS]", "looks far and wide", ((0, 1), (0, 2), (0, 3), (0, 4), (0, 5))),
    ("The haven [SEP]", "where heads with nothing to do rest", ((1, 5), (2, 5), (3, 5))),
    ("Drifters (. , [MASK])", "their gaze drives the deep layers", ((4, 1), (4, 2), (4, 3))),
)
# What was not tried as it was registered, or shows less than it seems to, by claim and by whether it was published.
_REMARKS = {
    (
        "13-sep-haven",
        False,
    ): "the unit was changed after the lock (by sentences an earlier specimen left it undecided)",
    ("13-drifters", False): "[MASK] was not tested",
    ("13-three-phases", True): "smooth curves beat shuffling, too (slide 12)",
    ("13-looks-where-it-matters-less", True): "12 layer means were tested, not heads",
}

_NO_TWIN = {"13-sep-haven": " (it has no head for a relation)"}

# Which image of the essay each claim belongs to: its place in `IMAGES`, or "phases" or "clauses".
_IMAGE_OF = {
    "13-insiders-narrow": 0,
    "13-cls-hunter": 1,
    "13-sep-haven": 2,
    "13-haven-empty": 2,
    "13-drifters": 3,
    "13-deep-clauses": "clauses",
    "13-three-phases": "phases",
    "13-looks-where-it-matters-less": 2,
    "13-insider-dependents": 0,
    "13-syntax-in-the-middle": "phases",
    "13-phases-learn": "phases",
}

# What each claim that has no slide of its own measures, as short as its line; in the register's order.
_SHORT = [
    "−correlation",
    "",
    "AUC",
    "less change",
    "log ratio",
    *[""] * 3,
    "correlation",
    "excess share",
    "smallest step",
]


def register_picture(claims: Sequence, statistics: Mapping[str, str] | None = None) -> Picture:
    """Each claim beside the line that its number has to pass; the side that would refute it is shaded.

    Parameters
    ----------
    claims : sequence of Claim
    statistics : mapping of a claim's key to str, optional
        What is measured, in words. Without it a row has the claim's sentence.
    """
    c, em, line, left = coordinate, _EM, 820.0, 130.0
    body, top = [], 40.0
    for x, side in (((line + 740) / 2, "refuted"), ((line + _WIDTH) / 2, "supported")):
        body.append(text(x, 16, side, anchor="middle", extra=' font-weight="600"'))
    for claim in claims:
        if statistics is None:
            said = broken_lines(f"{claim.number} {claim.sentence}", em, 735)
            lines = [(said_line, INK, "") for said_line in said]
        else:
            said = broken_lines(statistics[claim.key], em, 735)
            lines = [
                (claim.name, INK, ' font-weight="600"'),
                *((said_line, MUTED, "") for said_line in said),
            ]
        short = "" if statistics else _SHORT[claim.number - 1]
        needs = broken_lines(f"{short} {_needs(claim)}".strip(), em, 245)
        high = 30.0 * max(len(lines), len(needs)) + (6 if statistics is None else 22)
        middle = top + high / 2
        body.append(f'<path d="M0 {c(top)}H{_WIDTH:.0f}" stroke="{RULE}" stroke-width="1"/>')
        body += draw_icon(claim.key, middle)
        first = middle - 15 * (len(lines) - 1)
        body += [
            text(left, first + 30 * k, words, fill=ink, extra=look)
            for k, (words, ink, look) in enumerate(lines)
        ]
        body += [
            f'<rect x="740" y="{c(top + 7)}" width="{c(line - 740)}" height="{c(high - 14)}" fill="{RULE}" opacity="0.6"/>',
            f'<path d="M{c(line)} {c(top + 5)}V{c(top + high - 5)}" stroke="{INK}" stroke-width="3" stroke-dasharray="3 5"/>',
            text((740 + line) / 2, middle, _needs(claim, opposite=True).replace("_", " "), anchor="middle"),
            *(
                text(line + 16, middle + 30 * k - 15 * (len(needs) - 1), said.replace("_", " "))
                for k, said in enumerate(needs)
            ),
        ]
        top += high
    said = " ".join(
        f"{claim.name}: supported {needs_text(claim)}; refuted if {claim.refuted_if}." for claim in claims
    )
    caption = (
        "Supported: the p, corrected for eleven claims, is below .05, and the random twin, if it has a value, lies below the interval. "
        "Refuted: the p of the opposite is below .05. Otherwise undecided."
    )
    return Picture(
        body,
        _WIDTH,
        top,
        "What each claim needs",
        said,
        em,
        numbers=(register_table(claims),),
        caption=caption,
        wide=True,
    )


def _needs(claim, opposite: bool = False) -> str:
    """What the claim needs, or what would refute it, with a stroke in place of the blank, where no line may break."""
    said = needs_text(claim).replace(" ", "_")
    return said.translate(str.maketrans("<>", "><")) if opposite else said


def sealed_picture(
    sheets: Sequence[tuple[Sequence[str], str]], caption: str, *, changed: str = ""
) -> Picture:
    """Sheets of paper with what is written on them, each beside an envelope that bears the beginning of its digest.

    Parameters
    ----------
    sheets : sequence of (lines, digest)
    caption : str
    changed : str, optional
        The line that is framed.
    """
    c, accent, body, top = coordinate, OKABE_ITO["vermillion"], [], 18.0
    for lines, digest in sheets:
        high = 34.0 * len(lines) + 30
        middle = top + high / 2
        body.append(
            f'<rect x="3" y="{c(top)}" width="470" height="{c(high)}" fill="{PAPER}" stroke="{MUTED}" stroke-width="2"/>'
        )
        for k, line in enumerate(lines):
            y = top + 32 + 34 * k
            body.append(text(22, y, line))
            if line == changed:
                body.append(
                    f'<rect x="12" y="{c(y - 18)}" width="450" height="36" rx="4" fill="none" stroke="{accent}" stroke-width="4"/>'
                )
        body += [
            f'<path d="M490 {c(middle)}H556m-14 -10l16 10l-16 10" fill="none" stroke="{INK}" stroke-width="3"/>',
            f'<rect x="580" y="{c(middle - 74)}" width="440" height="148" rx="6" fill="{PAPER}" stroke="{INK}" stroke-width="3"/>',
            f'<path d="M580 {c(middle - 72)}L800 {c(middle - 4)}L1020 {c(middle - 72)}" fill="none" stroke="{INK}" stroke-width="3"/>',
            text(
                800,
                middle + 42,
                f"{digest[:16]} …",
                anchor="middle",
                extra=' font-weight="600" font-family="monospace" font-size="32"',
            ),
        ]
        top += max(high, 150) + 26
    said = " ".join(f"{'; '.join(lines)}: the digest begins {digest[:16]}." for lines, digest in sheets)
    return Picture(body, _WIDTH, top - 16, "Sealed sheets", said, _EM, caption=caption, wide=True)


def outcome_picture(outcomes: Sequence, told: str = "") -> Picture:
    """One row a claim: its interval and the random twin's beside its line, its value, the verdict, and the corrected p.

    Parameters
    ----------
    outcomes : sequence of Verdict
        From ``decide(REGISTER, encoder, correct="holm")`` or `bertlook_course.claims.try_published`. `outcome_table` of them goes along.
    told : str, optional
        What the caption says first.
    """
    c, em, table = coordinate, _EM, outcome_table(outcomes)
    high, body = (74.0 if len(outcomes) < 6 else 66.0), []
    for number, outcome in enumerate(outcomes):
        top = high * number
        y = top + high / 2
        if number:
            body.append(f'<path d="M0 {c(top)}H{_WIDTH:.0f}" stroke="{RULE}" stroke-width="1"/>')
        body.append(text(0, y, outcome.claim.name))
        body.append(text(424, y, needs_text(outcome.claim), anchor="end", fill=MUTED))
        body += draw_interval(outcome, 524, 80, y, radius=6)
        body.append(text(622, y, with_minus(outcome_value(outcome))))
        p, star = outcome_p(outcome), "*" * bool(_remark(outcome, bar=True))
        against = "against: " * (outcome.verdict == FAILS)
        body.append(draw_sign(outcome.verdict, 840, y, "")[0])
        body.append(text(866, y - 15, OUTCOMES[outcome.verdict]))
        body.append(text(866, y + 15, f"{against}{'no p' if p == '-' else f'p {p}'}{star}", fill=MUTED))
    twin = "; grey square: random twin" if any(map(has_twin, outcomes)) else ""
    caption = (
        f"{told} Bar: 95 % interval of {model_name(outcomes)}{twin}; dotted: the line; each row has its own scale. {table.caption}"
        f"{_without_twin(outcomes)}{_starred(outcomes, bar=True)}"
    ).strip()
    said = " ".join(f"{outcome.claim.name}: {OUTCOMES[outcome.verdict]}." for outcome in outcomes)
    return ClaimPicture(
        body, _WIDTH, high * len(outcomes), "Outcomes", said, em, numbers=(table,), caption=caption, wide=True
    )


def _without_twin(outcomes: Sequence) -> str:
    """Which claims were supported without a twin."""
    if all("published" in one.model for one in outcomes):
        return " Published numbers have no twin: p alone decides."
    alone = [one for one in outcomes if one.verdict == HOLDS and not has_twin(one)]
    return "".join(
        f" Claim {one.claim.number}: the twin has no value{_NO_TWIN.get(one.claim.key, '')}." for one in alone
    )


def trial_picture(
    ours: Sequence,
    published: Sequence,
    name: str,
    decided: str = "",
) -> Picture:
    """The claims that are decided on a model of this name or from BERT-base's published numbers, with both verdicts, and how many others there are.

    Each undecided one has its reason; ``decided`` is what the caption says first.
    """
    em, high, first = _EM, 50.0, 42.0
    table = compared_table(ours, published, (name, "BERT-base"))
    pairs = [pair for pair in zip(ours, published) if {one.verdict for one in pair} != {OPEN}]
    rest = [str(a.claim.number) for a, b in zip(ours, published) if a.verdict == b.verdict == OPEN]
    heads = ((515, name), (755, "BERT-base, published"))
    body = [text(x, 18, who, extra=' font-weight="600"') for x, who in heads]
    for number, pair in enumerate(pairs):
        y = first + high * (number + 0.5)
        body.append(_rule(y - high / 2))
        body += draw_icon(pair[0].claim.key, y)
        body.append(text(122, y, pair[0].claim.name))
        for x, verdict in zip((530, 770), pair):
            star = "*" * bool(_remark(verdict))
            body += draw_sign(verdict.verdict, x, y, f"{why_short(verdict)}{star}", radius=13)
    if rest:
        y = first + high * (len(pairs) + 0.5)
        body += [
            _rule(y - high / 2),
            text(122, y, f"{len(rest)} {'other' if len(rest) == 1 else 'others'}: {', '.join(rest)}"),
        ]
        for x in (530, 770):
            body += draw_sign(OPEN, x, y, OUTCOMES[OPEN], radius=13)
    said = " ".join(
        f"{a.claim.name}: {OUTCOMES[a.verdict]} on {name}, {OUTCOMES[b.verdict]} for BERT-base."
        for a, b in zip(ours, published)
    )
    shown = [one for side in zip(*pairs) for one in side]
    line = "; “on the line”: the interval contains the line" * any(
        why_short(one) == "on the line" for one in shown
    )
    caption = (
        f"{decided} A question mark means undecided, with the reason{line}. "
        f"p is corrected for eleven claims.{_starred(shown, bar=True, short=True)}"
    ).strip()
    return Picture(
        body,
        _WIDTH,
        first + high * (len(pairs) + bool(rest)),
        "Verdicts on two models",
        said,
        em,
        numbers=(table,),
        caption=caption,
        wide=True,
    )


def _rule(y: float) -> str:
    return f'<path d="M0 {coordinate(y)}H{_WIDTH:.0f}" stroke="{RULE}" stroke-width="1"/>'


def sorted_picture(sides: Mapping[str, Sequence], caption: str) -> Picture:
    """The claims of each side, a model's name and its verdicts, in three columns: supported, refuted, undecided."""
    c, body, top = coordinate, [], 44.0
    columns = ((HOLDS, 0.0), (FAILS, 428.0), (OPEN, 876.0))
    for verdict, x in columns:
        body += draw_sign(verdict, x + 14, 16, OUTCOMES[verdict], radius=12)
    for name, outcomes in sides.items():
        found = {verdict: [one for one in outcomes if one.verdict == verdict] for verdict, _ in columns}
        rows = max(2, len(found[HOLDS]), len(found[FAILS]))
        body.append(f'<path d="M0 {c(top)}H{_WIDTH:.0f}" stroke="{RULE}" stroke-width="1"/>')
        body.append(text(0, top + 24, name, extra=' font-weight="600"'))
        for verdict, x in columns[:2]:
            for k, one in enumerate(found[verdict]):
                y = top + 62 + 38 * k
                body += [f'<g transform="translate({c(x)} 0)">{"".join(draw_icon(one.claim.key, y))}</g>']
                body.append(text(x + 119, y, one.claim.name + "*" * bool(_remark(one))))
            if not found[verdict]:
                body.append(text(x, top + 62, "none", fill=MUTED))
        numbers = ", ".join(str(one.claim.number) for one in found[OPEN])
        body += [
            text(columns[2][1], top + 62 + 34 * k, line)
            for k, line in enumerate(broken_lines(numbers, _EM, 190))
        ]
        top += 48 + 38 * rows
    said = " ".join(
        f"{name}: {'; '.join(f'{one.claim.name}: {OUTCOMES[one.verdict]}' for one in outcomes)}."
        for name, outcomes in sides.items()
    )
    decided = [one for outcomes in sides.values() for one in outcomes if one.verdict != OPEN]
    if any(map(_remark, decided)):
        caption += " *\N{NO-BREAK SPACE}With a reservation: slide 14 has it."
    return Picture(body, _WIDTH, top, "Which claims survive", said, _EM, caption=caption, wide=True)


def _remark(verdict, bar: bool = False) -> str:
    """What was not tried as registered; beside its bar also why a published verdict is not what the interval seems to say."""
    published = "published" in verdict.model
    remark = _REMARKS.get((verdict.claim.key, published), "")
    told = published or verdict.model.startswith("specimen")  # what is bracketed happened to a specimen
    said = [remark if told else remark.partition(" (")[0]]
    crosses = verdict.low <= verdict.claim.threshold <= verdict.high
    if bar and published and not np.isnan(verdict.p) and (verdict.verdict == OPEN) != crosses:
        said.append("the interval just crosses the line, but p decides" if crosses else verdict.why)
    return ", and ".join(filter(None, said))


def _starred(outcomes: Sequence, *, bar: bool = False, short: bool = False) -> str:
    """What the stars mean, by the claim's number; short, without what is bracketed."""
    said = ((one.claim.number, _remark(one, bar)) for one in outcomes)
    found = [
        f"{number}, {remark.partition(' (')[0] if short else remark}" for number, remark in said if remark
    ]
    return f" Reservations (*): in claim {'; in '.join(found)}." if found else ""


def why_short(verdict) -> str:
    """The verdict; in place of *undecided*, what keeps it open.

    The whole reason stands in ``verdict.why``.
    """
    if verdict.verdict != OPEN:
        return OUTCOMES[verdict.verdict]
    if np.isnan(verdict.value):
        return "not published" if "published" in verdict.model else "not measured"
    if np.isnan(verdict.p):
        return f"n = {verdict.n}, no p"
    if verdict.low <= verdict.claim.threshold <= verdict.high:
        return "on the line"
    return f"p = {outcome_p(verdict)}"


def draw_icon(key: str, y: float) -> list[str]:
    """The essay's image behind a claim, as small as a word."""
    c, image, accent = coordinate, _IMAGE_OF[key], OKABE_ITO["vermillion"]
    if image == "phases":
        parts = ((0, 34, PAPER), (36, 48, RULE), (86, 16, MUTED))
        return [
            f'<rect x="{8 + x}" y="{c(y - 11)}" width="{wide}" height="22" fill="{fill}" stroke="{MUTED}"/>'
            for x, wide, fill in parts
        ]
    if image == "clauses":
        return [
            f'<path d="M{x} {c(y - 8)}v16h{wide}v-16" fill="none" stroke="{accent}" stroke-width="3"/>'
            for x, wide in ((10, 44), (62, 46))
        ]
    at = [10 + 20 * k for k in range(6)]
    foot = y + 12
    dots = [f'<circle cx="{x}" cy="{c(foot)}" r="3" fill="{MUTED}"/>' for x in at]
    arcs = [
        f'<path d="M{at[a]} {c(foot)}C{at[a]} {c(foot - 7 * abs(b - a) ** 0.5 - 7)} {at[b]} '
        f'{c(foot - 7 * abs(b - a) ** 0.5 - 7)} {at[b]} {c(foot)}" fill="none" stroke="{accent}" stroke-width="2.5"/>'
        for a, b in IMAGES[image][2]
    ]
    return dots + arcs
