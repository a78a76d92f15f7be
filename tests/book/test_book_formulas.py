"""The formula sheet of the built book: without proofs, short on paper."""

import re

import pytest
from browsing import soup

PAGES_A_CHAPTER = 1
MARGIN = dict.fromkeys(("top", "bottom", "left", "right"), "1.5cm")

pytestmark = pytest.mark.usefixtures("book")


def test_the_sheet_is_long_and_has_no_proof(visit):
    sheet = soup("chapters/formulas")
    assert len(sheet.select(".formula-name")) > 100
    assert not sheet.select("article :is(.proof, details, .cell)")
    assert "∎" not in sheet.select_one("article").get_text()
    printed = visit().open("chapters/formulas.html").pdf(format="A4", margin=MARGIN)
    pages = len(re.findall(rb"/Type\s*/Page\b", printed))
    assert 5 < pages <= PAGES_A_CHAPTER * len(sheet.select('section[id^="formulas-"]'))
