import math
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

from bertlook_course.claims import (
    FAILS,
    HOLDS,
    OPEN,
    RECORDED_COLUMN,
    VERDICT_RULE,
    Claim,
    RecordedVerdict,
    Verdict,
)
from bertlook_course.render import (
    claim_table,
    claims_page,
    claims_text,
    count_verdicts,
    model_name,
)

NAN = float("nan")
ROOT = Path(__file__).resolve().parents[2]


def verdict(value, sentence="Heads look back", statistic=max, result=FAILS, model="specimen", **about):
    options = {"published": ".68", "exactness": "A", "why": "", "n": 50, "n_choice": 40, **about}
    options.setdefault("threshold", 0.5)
    published, why, n, n_choice = (options.pop(k) for k in ("published", "why", "n", "n_choice"))
    claim = Claim(
        key=f"{options.pop('lesson', '03')}-back",
        sentence=sentence,
        source="Clark et al. 2019",
        section="3.1",
        published=published,
        operational="share of the best head",
        refuted_if="no head does",
        evidence="surface",
        statistic=statistic,
        **options,
    )
    numbers = [NAN] * 6 if math.isnan(value) else [value, value - 0.01, value + 0.01, 0.0, -0.01, 0.01]
    return Verdict(
        claim=claim,
        published=published,
        **dict(zip(("value", "low", "high", "twin", "twin_low", "twin_high"), numbers)),
        n=n,
        n_choice=n_choice,
        verdict=result,
        why=why,
        model=model,
        twin_model=f"{model}-random",
    )


# --- on a slide --------------------------------------------------------------------------------------------


def test_a_row_holds_the_published_value_ours_the_twins_and_the_verdict():
    table = claim_table([verdict(0.25)])
    assert table.header == ["claim", "published", "needs", "specimen [95 %]", "twin", "verdict"]
    assert table.rows == [["Heads look back", ".68 (A)", "> .50", "0.25 [.24, .26]", "0.00", FAILS]]
    counts = "n = 50 inputs; heads and layers chosen on 40 others."
    assert table.caption == f"{counts} A: figure, read off. {VERDICT_RULE}"


def test_a_claim_that_something_is_small_shows_the_quantity_itself_and_needs_less():
    """The statistic is the negative of what is measured: -0.25 of the needed -0.1 is a quantity of 0.25 that should be below 0.1."""
    small = verdict(-0.25, threshold=-0.1, below=True)
    [row] = claim_table([small]).rows
    assert row[2:5] == ["< .10", "0.25 [.24, .26]", "0.00"]
    assert "share of the best head < .10" in claims_text([small])
    page = claims_page([small])
    assert '0.25 <span style="white-space:nowrap">[0.24, 0.26]</span>' in page and "&lt; .10" in page
    recorded = RecordedVerdict("03-back", -0.7, -0.8, -0.6, 0.0, 0.0, 0.1, 99, FAILS, "above", -0.1)
    assert last_cells(claims_page([small], recorded={"03-back": recorded})) == [
        "does not hold0.70 [0.60, 0.80]; n = 99"
    ]


def test_numbers_have_as_many_places_as_the_line_that_they_are_held_against():
    [row] = claim_table([verdict(0.0123, threshold=0.002)]).rows
    assert row[2:5] == ["> .002", "0.012 [.002, .022]", "0.000"]
    [row] = claim_table([verdict(0.5, threshold=0)]).rows
    assert row[2:4] == ["> 0", "0.50 [.49, .51]"]


def test_an_end_that_is_not_on_the_line_is_not_rounded_to_it():
    [row] = claim_table([verdict(0.112, threshold=0.1)]).rows
    assert row[2:5] == ["> .10", "0.112 [.102, .122]", "0.00"]
    [row] = claim_table([verdict(0.11, threshold=0.1)]).rows  # this end is on the line
    assert row[2:5] == ["> .10", "0.11 [.10, .12]", "0.00"]


def test_a_claim_without_control_has_no_twin_and_the_caption_says_so():
    alone, with_twin = verdict(0.9, control=False, result=HOLDS), verdict(0.2)
    table = claim_table([alone, with_twin])
    assert [row[4] for row in table.rows] == ["—", "0.00"]
    assert "—: no control by a random twin." in table.caption
    assert "no control" not in claim_table([with_twin]).caption
    assert "random twin no control" in claims_text([alone]) and "no control</td>" in claims_page([alone])
    assert ">\u2014<" in table._repr_html_() and "Twin \u2014: no control" in table.caption
    undecided = verdict(NAN, control=False, result=OPEN, n=0)
    assert claim_table([undecided]).rows[0][4] == "-"  # there is no number at all


def test_a_twin_without_a_number_is_not_taken_for_a_claim_without_control():
    lost = replace(verdict(0.9), twin=NAN)
    assert (
        claim_table([lost]).rows[0][4] == "not measured" and "no control" not in claim_table([lost]).caption
    )


def test_what_was_published_in_another_unit_is_a_footnote():
    first = verdict(
        0.2, published="+0.38", exactness="D", original="65 against 27 %", erratum="not in Table 1"
    )
    second = verdict(0.2, published="", exactness="N", original="+1.2 points")
    table = claim_table([first, second])
    assert [row[1] for row in table.rows] == ["+0.38 (D)¹", "-²"]
    assert "¹ Published: 65 against 27 %. Not in Table 1. ² Published: +1.2 points (N)." in table.caption
    assert "D: derived, N: from notes." in table.caption
    assert "published +0.38 (D), from 65 against 27 %;" in claims_text([first])
    assert "<small>Published: +1.2 points (N).</small>" in claims_page([second])


def test_the_rule_has_one_wording():
    """Guide, help, glossary and pages say it in the words that stand beside `decide`; asterisks may mark the verdicts."""
    assert claim_table([verdict(0.2)]).caption.endswith(VERDICT_RULE) and VERDICT_RULE in claims_page(
        [verdict(0.2)]
    )
    for name in ("teaching.md", "glossary.md", "decisions.md"):
        text = (ROOT / "docs" / name).read_text(encoding="utf-8").replace("*", "")
        assert " ".join(text.split()).count(VERDICT_RULE) == 1, name
    sources = [file for file in ROOT.glob("bertlook_teach/**/*.py") if file.name != "verdicts.py"]
    for file in [*ROOT.glob("docs/*.md"), ROOT / "README.md", *sources]:
        said = " ".join(file.read_text(encoding="utf-8").replace("*", "").split()).replace(VERDICT_RULE, "")
        assert not re.search(r"(?i)holds\W{1,3}(if |means:? )?the whole", said), file


def test_the_column_is_headed_by_the_name_of_the_model():
    assert model_name([verdict(0.2, model="bert-base-uncased")]) == "bert-base-uncased"
    assert model_name([verdict(0.2, model="/somewhere/models/mine")]) == "mine"
    assert model_name([verdict(0.2, model="C:\\models\\mine")]) == "mine"
    assert model_name([verdict(0.2, model="google/" + "x" * 60)]) == "x" * 23 + "…"


def test_a_rounded_nothing_has_no_minus_but_a_negative_number_keeps_it():
    rows = claim_table([verdict(-0.001), verdict(-0.3)]).rows
    assert [row[3] for row in rows] == ["0.00 [-.01, .01]", "-0.30 [-.31, -.29]"]


def test_only_a_zero_before_the_point_is_left_out():
    [row] = claim_table([verdict(10.0)]).rows
    assert row[3] == "10.00 [9.99, 10.01]"


def test_an_erratum_becomes_a_footnote_and_two_claims_may_share_one():
    first, again = (verdict(0.2, erratum="layer 10 is 0.48", sentence=text) for text in ("one", "other"))
    second = verdict(0.2, erratum="not layer 1")
    table = claim_table([first, verdict(0.2), second, again])
    assert [row[1] for row in table.rows] == [".68 (A)¹", ".68 (A)", ".68 (A)²", ".68 (A)¹"]
    assert table.caption.endswith(f"¹ Layer 10 is 0.48. ² Not layer 1. {VERDICT_RULE}")


def test_counts_that_differ_are_a_range_and_no_choice_is_not_mentioned():
    several = [verdict(0.2, n=50, n_choice=0), verdict(0.2, n=12, n_choice=0), verdict(NAN, n=0, result=OPEN)]
    assert claim_table(several).caption.startswith("n = 12 to 50 inputs. ")


def test_what_cannot_be_tested_shows_no_number_and_no_line():
    untested = verdict(NAN, statistic=None, result=OPEN, n=0, n_choice=0, published="", exactness="")
    table = claim_table([untested])
    assert table.rows == [["Heads look back", "-", "-", "-", "-", OPEN]]
    assert table.caption == ""
    assert "measured: share of the best head\n" in claims_text([untested])
    assert "measured: share of the best head > .50\n" in claims_text([verdict(0.2)])


def test_verdicts_are_counted():
    three = [verdict(0.9, result=HOLDS), verdict(0.2), verdict(0.1)]
    assert count_verdicts(three) == "Of 3 claims 1 holds, 2 do not hold."
    assert count_verdicts(three[:1] * 2) == "All 2 claims hold."


# --- in a terminal and as a page -------------------------------------------------------------------------------


def test_the_terminal_shows_claim_numbers_verdict_and_reason():
    text = claims_text([verdict(0.25, why="below"), verdict(0.9, result=HOLDS, why="above", lesson="04")])
    assert "Lesson 03\n  03-back: Heads look back\n    published .68 (A); here 0.25 [.24, .26], n=50;" in text
    assert (
        "    measured: share of the best head > .50\n    does not hold: below" in text and "Lesson 04" in text
    )


HOSTILE = "<script>alert('x')</script> & \"q\""


def test_the_page_is_escaped_and_asks_nobody():
    page = claims_page(
        [verdict(0.2, sentence=HOSTILE, why=HOSTILE, model=HOSTILE, erratum=HOSTILE, published=HOSTILE)],
        about=[HOSTILE],
    )
    assert "<script" not in page
    assert not re.search(r"\b(src|srcset|action)=|@import|url\(|https?:", page)
    assert not re.search(r'href="(?!#)', page)  # only to places of its own
    assert "default-src 'none'" in page
    assert page.count("&lt;script&gt;") >= 5


def test_the_page_is_tables_that_can_be_heard():
    page = claims_page(
        [verdict(0.2, why="below"), verdict(NAN, result=OPEN, why="no [SEP]", lesson="04", n=0)]
    )
    body = page[page.index("<main>") : page.index("</main>") + len("</main>")]
    main = ElementTree.fromstring(body)  # well-formed
    tables = [table for table in main.iter("table") if table.get("class") == "claims"]
    assert [h2.get("id") for h2 in main.iter("h2")] == ["lesson-03", "lesson-04"]
    assert all(table.find("caption").text for table in main.iter("table"))
    for table in tables:
        assert [th.get("scope") for th in table.find("thead").iter("th")] == ["col"] * 6
        for row in table.find("tbody"):
            assert row[0].tag == "th" and row[0].get("scope") == "row" and len(row) == 6
    regions = [div for div in main.iter("div") if div.get("role") == "region"]
    assert len(regions) == 2 and all(region.get("tabindex") == "0" for region in regions)
    assert len({region.get("aria-label") for region in regions}) == 2
    assert '<html lang="en">' in page and "nan" not in body.lower().replace("nan ", "")
    assert "no [SEP]" in body and "cannot be decided here" in body  # in words, not by colour alone


def test_a_column_holds_the_verdicts_on_the_recording():
    again = RecordedVerdict("03-back", 0.7, 0.6, 0.8, 0.0, 0.0, 0.1, 99, HOLDS, "above", 0.5)
    several = [verdict(0.2), verdict(0.3, lesson="04")]
    cells = last_cells(claims_page(several, recorded={"03-back": again}))
    assert cells == ["holds0.70 [0.60, 0.80]; n = 99", "-"]
    elsewhere = again._replace(threshold=0.4)  # the claim's line has moved since
    assert last_cells(claims_page(several, recorded={"03-back": elsewhere})) == ["-", "-"]
    without = again._replace(value=NAN, verdict=OPEN, why=HOSTILE)
    page = claims_page(several, recorded={"03-back": without})
    assert last_cells(page)[0] == f"{OPEN}{HOSTILE}" and "<script" not in page
    assert RECORDED_COLUMN in page and RECORDED_COLUMN not in claims_page(several)


def last_cells(page):
    main = ElementTree.fromstring(page[page.index("<main>") : page.index("</main>") + len("</main>")])
    tables = [table for table in main.iter("table") if table.get("class") == "claims"]
    assert all(len(row) == 7 for table in tables for row in table.find("tbody"))
    return ["".join(row[-1].itertext()) for table in tables for row in table.find("tbody")]


def test_the_summary_counts_the_verdicts_of_each_lesson_and_leads_to_them():
    several = [verdict(0.2), verdict(0.9, result=HOLDS), verdict(0.9, result=HOLDS)]
    several += [verdict(NAN, result=OPEN, lesson="04", n=0)]
    page = claims_page(several)
    main = ElementTree.fromstring(page[page.index("<main>") : page.index("</main>") + len("</main>")])
    rows = [["".join(cell.itertext()) for cell in row] for row in main.find("nav/table").iter("tr")]
    assert rows[0] == ["lesson", HOLDS, FAILS, OPEN, "claims"]
    assert [row[1:] for row in rows[1:]] == [["2", "1", "0", "3"], ["0", "0", "1", "1"], ["2", "1", "1", "4"]]
    assert rows[1][0] == "Lesson 03 · Where heads look: position, special tokens, focus"
    ids = {element.get("id") for element in main.iter() if element.get("id")}
    assert {a.get("href")[1:] for a in main.iter("a")} <= ids
    labels = ["".join(label.itertext()).strip() for label in main.find("fieldset").iter("label")]
    assert labels == ["all claims (4)", f"{HOLDS} (2)", f"{FAILS} (1)", f"{OPEN} (1)"]


def test_a_single_lesson_needs_no_summary():
    page = claims_page([verdict(0.2)])
    assert "<nav" not in page and 'id="lesson-03"' in page
