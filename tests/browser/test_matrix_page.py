"""The page of a matrix in a browser: cells, what they open, filters, and hostile texts."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from mcp_gen.compat.matrix.page import html_matrix
from tests.browser.chromium import chromium_page
from tests.compat.matrix.sample import NEW, OLD, sample_matrix

ROWS = "[...document.querySelectorAll('tr.check')].filter(one => one.offsetParent !== null)"
OPEN = "[...document.querySelectorAll('[data-revision]')].filter(one => one.offsetParent !== null)"
DETAIL = f"{OPEN}.filter(one => one.tagName === 'DIV').map(one => one.textContent)"
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
PAGE = Path(__file__).parents[2] / "docs/matrix.html"
IMAGE = Path(__file__).parents[2] / "docs/images/matrix.png"
MAX_IMAGE_BYTES = 300_000


def see(page: Path, *expressions: str, width: int = 1000) -> list[Any]:
    """Return the values of expressions in a page; nothing may go wrong in it."""

    async def values() -> list[Any]:
        async with asyncio.timeout(100), chromium_page() as browser:
            await browser.resize(width)
            await browser.open(page)
            found = [await browser.evaluate(one) for one in expressions]
            assert browser.problems == []
            return found

    return asyncio.run(values())


def sample(folder: Path) -> Path:
    page = folder / "matrix.html"
    page.write_text(html_matrix(sample_matrix()), "utf-8")
    return page


def click(label: str) -> str:
    return f"document.querySelector('[aria-label=\"{label}\"]').click()"


def test_a_cell_opens_its_conversations(tmp_path: Path) -> None:
    cell = click(f"A with s at {NEW}: failed")
    shown, before, _, after = see(sample(tmp_path), f"{ROWS}.length", DETAIL, cell, DETAIL)
    assert (shown, before) == (2, [])
    assert len(after) == 1
    assert "call: <script>alert(1)</script>" in after[0]


def test_a_filter_leaves_the_pairs_with_a_verdict(tmp_path: Path) -> None:
    box = "document.querySelector('input[value=\"{}\"]').click()"
    hide = [box.format(one) for one in ("passed", "failed")]
    names = f"{ROWS}.map(one => one.querySelector('th').textContent)"
    said = "document.querySelector('#shown').textContent"
    *_, shown, text = see(sample(tmp_path), *hide, names, said)
    assert (shown, text) == (["B"], "1 of 2 pairs")


def test_the_page_fits_a_narrow_screen(tmp_path: Path) -> None:
    cell = click(f"B with s at {OLD}: not tested")
    *_, overflow = see(sample(tmp_path), cell, OVERFLOW, width=400)
    assert overflow == 0


def test_the_page_of_the_guide_has_a_cell_for_each_pair_and_revision() -> None:
    (found,) = see(PAGE, "document.querySelectorAll('td.cell button').length")
    assert found == 4 * 4 * 2 * 5


def test_the_page_of_the_guide_is_shown_in_it() -> None:
    """Draws docs/images/matrix.png anew if it was deleted."""

    async def image() -> bytes:
        async with asyncio.timeout(100), chromium_page() as browser:
            await browser.resize(1000, 820)
            await browser.open(PAGE)
            await browser.evaluate("scrollTo(0, 0)")
            return await browser.screenshot()

    made = asyncio.run(image())
    assert len(made) < MAX_IMAGE_BYTES
    if not IMAGE.exists():
        IMAGE.write_bytes(made)
