"""The page of a report in a browser: cells, evidence, filters, and a hostile peer."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from mcp_gen.compat.report.html import html_report
from mcp_gen.compat.report.model import Report
from tests.browser.chromium import ChromiumPage, chromium_page
from tests.browser.zoo_report import zoo_report
from tests.compat.report.hostile import MARK, hostile_report
from tests.compat.report.sample import REVISIONS, sample_report

IMAGE = Path(__file__).parents[2] / "docs/images/doctor.png"
MAX_IMAGE_BYTES = 300_000
NARROW = 400

SHOWN = "[...document.querySelectorAll('tr.check')].filter(one => one.offsetParent !== null)"
NAMES = f"{SHOWN}.map(one => one.querySelector('code').textContent)"
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


async def opened(page: ChromiumPage, report: Report, folder: Path) -> None:
    file = folder / "report.html"
    file.write_text(html_report(report), "utf-8")
    await page.open(file)


def click(label: str) -> str:
    """Return the expression that clicks on a cell."""
    return f"document.querySelector('[aria-label=\"{label}\"]').click()"


def see(folder: Path, report: Report, *expressions: str, width: int = 1000) -> list[Any]:
    """Return the values of expressions in the page of a report; nothing may go wrong in it."""

    async def values() -> list[Any]:
        async with asyncio.timeout(100), chromium_page() as page:
            await page.resize(width)
            await opened(page, report, folder)
            found = [await page.evaluate(one) for one in expressions]
            assert page.problems == []
            return found

    return asyncio.run(values())


def test_each_check_has_a_cell_for_each_of_its_revisions(tmp_path: Path) -> None:
    cells = "document.querySelectorAll('td.cell button').length"
    (found, names) = see(tmp_path, sample_report(), cells, NAMES)
    assert found == len(sample_report().outcomes)
    assert names == ["base:answers:id", "base:progress", "tools:icons", "tools:names:unique"]


def test_a_cell_opens_its_evidence_and_closes_it_again(tmp_path: Path) -> None:
    label = f"tools:names:unique at {REVISIONS[0]}: failed"
    text = "document.body.innerText"
    before, _, opened, _, closed = see(
        tmp_path, sample_report(), text, click(label), text, click(label), text
    )
    for part in ("2 tools are called 'add'", "$.result.tools[1].name", '"tools": []'):
        assert (part in before, part in opened, part in closed) == (False, True, False)
    assert f"failed at {REVISIONS[0]}" in opened
    assert f"failed at {REVISIONS[1]}" not in opened, "each cell shows its own revision"


def box(value: str) -> str:
    return f"document.querySelector('input[value=\"{value}\"]').click()"


def test_filters_hide_rows_by_verdict_and_by_level(tmp_path: Path) -> None:
    passed, no_should = box("passed"), box("should")
    report = sample_report()
    _, without_passed, _, without_should = see(tmp_path, report, passed, NAMES, no_should, NAMES)
    assert without_passed == ["base:progress", "tools:icons", "tools:names:unique"]
    assert without_should == ["base:progress", "tools:names:unique"]


def test_the_search_shows_rows_with_all_words(tmp_path: Path) -> None:
    search = (
        "search.value = 'UNIQUE called'; search.dispatchEvent(new Event('input')); "
        "document.querySelector('#shown').textContent"
    )
    told, names = see(tmp_path, sample_report(), search, NAMES)
    assert (told, names) == ("1 of 4 checks", ["tools:names:unique"])


@pytest.mark.parametrize("report", [sample_report, hostile_report], ids=["sample", "hostile"])
def test_nothing_is_cut_off_on_a_narrow_screen(report: Any, tmp_path: Path) -> None:
    open_all = "document.querySelectorAll('td.cell button').forEach(one => one.click())"
    made = report()
    before, _, after = see(tmp_path, made, OVERFLOW, open_all, OVERFLOW, width=NARROW)
    assert (before, after) == (0, 0)


def test_no_script_of_a_hostile_peer_runs(tmp_path: Path) -> None:
    open_all = "document.querySelectorAll('td.cell button').forEach(one => one.click())"
    elements = "document.querySelectorAll('script, img, iframe, svg').length"
    text = "document.body.innerText"
    _, title, scripts, shown = see(
        tmp_path, hostile_report(), open_all, "document.title", elements, text
    )
    assert (title, scripts) == ("MCP compatibility of hostile server", 1)
    assert f"{MARK}</script><script>" in shown, "the texts are there, as texts"


def test_a_script_that_gets_into_the_page_is_refused_by_its_policy(tmp_path: Path) -> None:
    page_text = html_report(sample_report())
    attack = "<script>document.title='ran'</script><img src=x onerror=\"document.title='ran'\">"
    file = tmp_path / "attacked.html"
    file.write_text(page_text.replace("<h1>", f"{attack}<h1>"), "utf-8")

    async def seen() -> tuple[str, list[str]]:
        async with asyncio.timeout(100), chromium_page() as page:
            await page.open(file)
            return await page.evaluate("document.title"), page.problems

    title, problems = asyncio.run(seen())
    assert title == "MCP compatibility of server.py"
    assert any("Content Security Policy" in one for one in problems)


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
def test_texts_have_enough_contrast(is_dark: bool, tmp_path: Path) -> None:
    async def ratios() -> list[list[Any]]:
        async with asyncio.timeout(100), chromium_page() as page:
            await page.resize(1000, is_dark=is_dark)
            await opened(page, sample_report(), tmp_path)
            found: list[list[Any]] = await page.evaluate(CONTRAST)
            return found

    found = asyncio.run(ratios())
    assert len(found) > 20
    assert [one for one in found if one[1] < 4.5] == []


CONTRAST = """
(() => {
  const light = (text) => {
    const parts = text.match(/[\\d.]+/g).map(Number).slice(0, 3).map((one) => {
      const part = one / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const back = (one) => {
    for (; one; one = one.parentElement) {
      const colour = getComputedStyle(one).backgroundColor;
      if (!colour.endsWith(", 0)")) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const own = (one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  return [...document.querySelectorAll("body *")].filter((one) => one.offsetParent && own(one))
    .map((one) => {
      const pair = [light(getComputedStyle(one).color), light(back(one))].sort((a, b) => b - a);
      return [one.className + one.textContent.slice(0, 20), (pair[0] + 0.05) / (pair[1] + 0.05)];
    });
})()
"""


def test_the_page_is_shown_in_the_guide(tmp_path: Path) -> None:
    """Draws docs/images/doctor.png anew if it was deleted."""

    async def image() -> bytes:
        report = await zoo_report()
        async with asyncio.timeout(100), chromium_page() as page:
            await page.resize(1000, 820)
            await opened(page, report, tmp_path)
            for verdict in ("passed", "not tested"):
                await page.evaluate(box(verdict))
            await page.evaluate(click("base:notifications:no-id at 2025-11-25: failed"))
            await page.evaluate("scrollTo(0, 0)")
            return await page.screenshot()

    made = asyncio.run(image())
    assert len(made) < MAX_IMAGE_BYTES
    if not IMAGE.exists():
        IMAGE.write_bytes(made)
