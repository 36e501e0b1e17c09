"""What holds for the claims of every lesson; those tried on made-up values fall on the side of their line that they should."""

import re
from importlib import import_module

import pytest
from test_lesson08 import CASES as CASES_08
from test_lesson10 import CASES as CASES_10
from test_lesson12 import CASES as CASES_12

from bertlook_teach.claims import ledger

LESSONS = {"09": 6, "11": 10, "14": 7}  # and how many claims at least
OPEN = {
    "09-dropout-redundancy",
    "11-rte-without-layer-1",
    "11-faster",
    "14-large-no-better",
}  # nothing here could decide them
CLAIMS = {claim.key: claim for claim in ledger()}
CASES = {"08": CASES_08, "10": CASES_10, "12": CASES_12}
TRIED = [(f"{lesson}-{key}", *values) for lesson, cases in CASES.items() for key, *values in cases]


@pytest.mark.parametrize("key, passing, failing", TRIED, ids=[case[0] for case in TRIED])
def test_a_claim_holds_above_its_line_and_not_below(key, passing, failing):
    claim = CLAIMS[key]
    assert claim.statistic(passing, passing) > claim.threshold > claim.statistic(failing, failing)


def test_every_claim_of_these_lessons_that_can_be_decided_was_tried_above():
    decidable = {key for key, claim in CLAIMS.items() if key[:2] in CASES and claim.statistic is not None}
    assert {case[0] for case in TRIED} == decidable and len(decidable) >= 30


@pytest.mark.parametrize("lesson", LESSONS)
def test_the_claims_of_a_lesson_use_all_its_evidence_and_say_how_exact_a_printed_value_is(lesson):
    module = import_module(f"bertlook_teach.claims.lessons.lesson{lesson}")
    claims = ledger(lesson)
    assert tuple(module.CLAIMS) == claims and len(claims) >= LESSONS[lesson]
    assert {claim.evidence for claim in claims} == set(module.EVIDENCE)
    assert {claim.key for claim in claims if claim.statistic is None} == {
        key for key in OPEN if key[:2] == lesson
    }


@pytest.mark.parametrize("key", CLAIMS)
def test_a_printed_value_says_how_exact_it_is_and_words_have_no_exactness(key):
    claim = CLAIMS[key]
    assert bool(re.search(r"\d|better", claim.published_text() + claim.original_text())) == bool(
        claim.exactness
    )


@pytest.mark.parametrize("key", [key for key, claim in CLAIMS.items() if claim.statistic is not None])
def test_the_operational_text_names_the_quantity_that_tables_show(key):
    """A claim that something is small names what is small, and not its negative; the register of lesson 13 is locked as it was written."""
    claim = CLAIMS[key]
    if claim.lesson != "13":
        assert not re.match(r"(.*: )?minus ", claim.operational)
        turned = claim.threshold < 0 and not re.search(r"minus|rank correlation", claim.operational)
        assert claim.below or not turned
