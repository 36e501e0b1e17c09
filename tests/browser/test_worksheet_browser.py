"""A worksheet prints on one page of A4, asks nobody for anything, and leaves no picture out."""

from __future__ import annotations

import re

import pytest

from bertlook_course.syllabus import find_root
from bertlook_press.classroom import render_worksheet


@pytest.mark.parametrize("number", ["06", "13"])
def test_a_worksheet_is_one_page(browser, tmp_path, number):
    path = tmp_path / "sheet.html"
    path.write_text(render_worksheet(find_root(), number), encoding="utf-8")
    context = browser.new_context(viewport={"width": 794, "height": 1123}, offline=True)
    page, asked = context.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(prefer_css_page_size=True))) == 1
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    drawn = page.locator(".picture :is(img, svg)").bounding_box()
    assert drawn["width"] > 300 and drawn["height"] > 150
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    context.close()
