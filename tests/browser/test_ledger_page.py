"""The page of all claims in a browser: its filter works without a script, its links lead to claims, it fits and prints."""

from __future__ import annotations

import pytest
from render.test_render_claims import NAN, verdict

from bertlook_course.claims import FAILS, HOLDS, OPEN, RecordedVerdict
from bertlook_course.render import claims_page


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    several = [verdict(0.2), verdict(0.9, result=HOLDS), verdict(NAN, result=OPEN, lesson="04", n=0)]
    file = tmp_path_factory.mktemp("ledger") / "claims.html"
    recorded = RecordedVerdict(
        "03-back", 0.7, 0.6, 0.8, 0.0, 0.0, 0.1, 99, HOLDS, "", 0.5
    )  # the widest table
    file.write_text(
        claims_page(several, about=["A model."], recorded={"03-back": recorded}), encoding="utf-8"
    )
    context = browser.new_context(viewport={"width": 1280, "height": 720}, java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    yield page
    context.close()


def test_the_filter_shows_the_claims_of_one_verdict(page):
    rows = page.locator("tr.claim")
    seen = lambda: [rows.nth(i).is_visible() for i in range(rows.count())]
    assert seen() == [True, True, True]
    for name, expected in (
        (HOLDS, [False, True, False]),
        (FAILS, [True, False, False]),
        (OPEN, [False, False, True]),
    ):
        page.get_by_label(name).check()
        assert seen() == expected
    page.get_by_label(name).press("ArrowRight")  # by key, around to the first
    assert seen() == [True, True, True]


def test_the_summary_leads_to_a_lesson(page):
    page.get_by_role("link", name="Lesson 04").press("Enter")
    assert page.url.endswith("#lesson-04")


def test_nothing_is_cut_at_the_width_of_a_laptop_or_of_paper(page):
    for wide in (1280, 1024):
        page.set_viewport_size({"width": wide, "height": 720})
        assert all(box["width"] <= wide for box in [page.locator("main").bounding_box()])
        tables = page.locator("table.claims")
        assert all(tables.nth(i).bounding_box()["width"] <= wide for i in range(tables.count()))
    assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF-")
