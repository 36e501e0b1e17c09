"""The picture of claims puts each interval on its side of the line, and says the verdict by shape and word."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from test_render_claims import verdict

from bertlook_course.claims import FAILS, HOLDS, OPEN
from bertlook_course.claims.evidence import evidence
from bertlook_course.render import claim_picture
from bertlook_course.render.pictures.verdict_picture import _MIDDLE, _REACH


def discs(svg: str) -> list[float]:
    return [float(x) for x in re.findall(r'<circle cx="([\d.]+)" cy="[\d.]+" r="9"', svg)]


@pytest.mark.parametrize("below", [False, True])
@pytest.mark.parametrize("value", [0.25, -0.25])
def test_a_value_lies_in_the_shade_if_the_claim_needs_it_and_larger_ones_to_the_right(value, below):
    """What is measured of a claim that needs less has its sign turned: so has the scale."""
    one = verdict(value)
    one = replace(one, claim=replace(one.claim, below=below))
    svg = claim_picture([one]).svg
    [x] = discs(svg)
    [(start, wide)] = re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)" height="46"', svg)
    meets = value > one.claim.threshold
    assert (float(start) < x < float(start) + float(wide)) == meets
    assert (x > _MIDDLE) == (meets != below) and abs(x - _MIDDLE) <= _REACH


@pytest.mark.parametrize(
    "said, word, filled, crossed",
    [(HOLDS, "holds", 1, 0), (FAILS, "does not hold", 0, 1), (OPEN, "undecided", 0, 0)],
)
def test_a_verdict_is_a_shape_and_a_word(said, word, filled, crossed):
    svg = claim_picture([replace(verdict(0.25), verdict=said)]).svg
    sign = re.search(r'<circle [^>]*r="15" fill="([^"]+)"', svg)[1]
    assert f">{word}</text>" in svg and (sign != "none") == bool(filled)
    assert svg.count("m0 -") == crossed and ("c0 -" in svg) == (not filled and not crossed)


def test_the_twin_is_a_grey_square_where_it_is_a_control():
    with_twin = replace(verdict(0.25), twin=0.1)
    svg = claim_picture([with_twin]).svg
    assert svg.count("random twin: ") == 1 and "grey square" in claim_picture([with_twin]).beneath
    alone = replace(with_twin, claim=replace(with_twin.claim, control=False))
    assert "random twin" not in claim_picture([alone]).svg


def test_a_claim_without_a_number_has_its_verdict_alone():
    lost = replace(verdict(0.25), value=float("nan"), verdict=OPEN)
    svg = claim_picture([lost]).svg
    assert discs(svg) == [] and ">undecided</text>" in svg


def test_the_table_goes_along_and_markup_stays_text():
    hostile = verdict(0.25)
    hostile = replace(
        hostile, claim=replace(hostile.claim, sentence="<script>alert(1)</script> " + "word " * 40)
    )
    picture = claim_picture([hostile, verdict(0.5)])
    assert "<script" not in picture.svg and "…" in picture.svg
    assert len(picture.numbers[0].rows) == 2
    with pytest.raises(ValueError, match="at least one verdict"):
        claim_picture([])


def test_the_caption_says_what_n_counts_and_which_rows_have_a_twin():
    def counts(unit, chose=50, control=True):
        one = replace(verdict(0.25), twin=0.1, n=30, n_choice=chose)
        collect = evidence("made up", version=1, unit=unit)(lambda encoder, resources: iter(()))
        return replace(one, claim=replace(one.claim, collect=collect, control=control))

    texts, pairs = counts("texts", chose=0, control=False), counts("pairs of texts")
    alike = claim_picture([pairs, pairs]).caption
    assert alike.startswith("n = 30 pairs of texts; heads and layers chosen on 50 others. A claim")
    assert "; grey square: random twin." in alike
    apart = claim_picture([texts, texts, pairs]).caption
    assert apart.startswith(
        "Rows 1 and 2: n = 30 texts. Row 3: n = 30 pairs of texts; heads and layers chosen"
    )
    assert "; grey square of row 3: random twin." in apart
    some = claim_picture([counts("texts", chose=0), counts("texts")]).caption
    assert some.startswith("n = 30 texts; heads and layers of row 2 chosen on 50 others. A claim")
