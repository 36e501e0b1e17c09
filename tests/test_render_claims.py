import math

import pytest

from bertlook_teach.render.claims import claim_lines, claim_table
from bertlook_teach.surface_claims import FAILS, OPEN, Claim, Verdict

NAN = float("nan")


def verdict(value, sentence="Heads look back", statistic=max, result=FAILS):
    claim = Claim("back", sentence, "3.1", lambda: ".68", "share of the best head", statistic, 0.5)
    tested = (value, value - 0.01, value + 0.01, 0.0, 0.0, 0.0)
    return Verdict(claim, ".68", *([NAN] * 6 if math.isnan(value) else tested), 50, result, "")


def test_a_row_holds_the_published_value_ours_the_twins_and_the_verdict():
    table = claim_table([verdict(0.25)], chosen_on=40)
    assert table.rows == [["Heads look back", ".68", "0.25 [0.24, 0.26]", "0.00", FAILS]]
    assert table.caption == "n = 50 texts; heads and layers chosen on 40 others."


def test_a_rounded_nothing_has_no_minus_but_a_negative_number_keeps_it():
    rows = claim_table([verdict(-0.001), verdict(-0.3)], chosen_on=1).rows
    assert [row[2] for row in rows] == ["0.00 [-0.01, 0.01]", "-0.30 [-0.31, -0.29]"]


def test_what_cannot_be_tested_shows_no_number_and_no_threshold():
    untested = verdict(NAN, statistic=None, result=OPEN)
    assert claim_table([untested], chosen_on=1).rows == [["Heads look back", ".68", "-", "-", OPEN]]
    assert claim_lines([untested]) == "- *Heads look back*: share of the best head"
    assert claim_lines([verdict(0.2)]) == "- *Heads look back*: share of the best head > 0.5"


def test_no_verdict_is_refused():
    with pytest.raises(ValueError, match="at least one verdict"):
        claim_table([], chosen_on=1)
