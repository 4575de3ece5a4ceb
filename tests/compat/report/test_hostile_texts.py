"""The texts of a hostile peer do nothing in any form of the report, and are bounded."""

from __future__ import annotations

import io
import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console

from mcp_gen.cli.console import doctor_report
from mcp_gen.compat.checks import judging
from mcp_gen.compat.checks.check import checks
from mcp_gen.compat.report.encoding import decode_report, encode_report
from mcp_gen.compat.report.html import html_report
from mcp_gen.compat.report.junit import junit_report
from mcp_gen.compat.report.markdown import MAX_CHARS, markdown_report
from mcp_gen.compat.report.model import Report
from tests.compat.report.hostile import CONTROL, MARK, hostile_report, report_on_hostile_server

MAX_BYTES = 15_000_000
FORMS = {
    "html": html_report,
    "junit": junit_report,
    "markdown": markdown_report,
    "json": encode_report,
}


@pytest.fixture(scope="module")
def report() -> Report:
    return hostile_report()


@pytest.fixture(scope="module")
def large() -> Report:
    return hostile_report(areas=30, findings=20)


def printed(report: Report, monkeypatch: pytest.MonkeyPatch) -> str:
    out = io.StringIO()
    console = Console(file=out, width=100, force_terminal=False)
    monkeypatch.setattr(doctor_report, "console", lambda: console)
    doctor_report.print_report(report)
    return out.getvalue()


async def test_the_texts_of_a_server_are_bounded_in_its_report(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # All of them would read its megabytes many times.
    few = {id: checks()[id] for id in ("base:frames:named", "tools:names:unique")}
    monkeypatch.setattr(judging, "checks", lambda: few)
    report = await report_on_hostile_server()
    assert MARK in report.name
    assert any(MARK in one.came for outcome in report.failed() for one in outcome.findings)
    assert any(MARK in one.answer for one in report.openings)
    assert any(MARK in name for one in report.listings for name in one.items["tools"])
    assert len(encode_report(report)) < MAX_BYTES


@pytest.mark.parametrize("form", FORMS)
def test_no_form_holds_control_characters(form: str, report: Report) -> None:
    text = FORMS[form](report)
    assert MARK in text
    assert CONTROL.findall(text) == []


def test_the_terminal_gets_no_control_characters(
    report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = printed(report, monkeypatch)
    assert MARK in text
    assert CONTROL.findall(text) == []


@pytest.mark.parametrize("form", FORMS)
def test_the_size_of_a_form_is_bounded(form: str, large: Report) -> None:
    assert len(FORMS[form](large).encode()) < MAX_BYTES


def test_markdown_is_short_enough_for_a_comment_and_says_what_it_leaves_out(large: Report) -> None:
    text = markdown_report(large)
    assert MAX_CHARS * 0.8 < len(text) < MAX_CHARS + 200
    assert "more requirements with findings" in text


def test_the_terminal_gets_few_lines_of_a_finding(
    report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(printed(report, monkeypatch).splitlines()) < 1000


class Elements(HTMLParser):
    """Elements of a page, and the text in each kind."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: dict[str, int] = {}
        self.attributes: set[str] = set()
        self.links: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.attributes |= {name for name, _ in attrs}
        self.links |= {value or "" for name, value in attrs if name in ("href", "src")}


def test_a_page_has_no_element_and_no_attribute_of_the_peer(report: Report) -> None:
    page = Elements()
    page.feed(html_report(report))
    assert page.tags["script"] == page.tags["style"] == 1
    assert not page.tags.keys() & {"img", "iframe", "object", "link", "svg", "base", "form"}
    assert not [name for name in page.attributes if name.startswith("on") or name == "style"]
    assert {link for link in page.links if not link.startswith("https://modelcontext")} == set()


def test_a_page_allows_no_source_but_its_own(report: Report) -> None:
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', html_report(report))
    assert policy.startswith("default-src &#x27;none&#x27;; style-src &#x27;sha256-")
    assert "unsafe" not in policy


def test_markdown_has_the_texts_of_the_peer_in_code_alone(report: Report) -> None:
    text = markdown_report(report)
    without_fences = re.sub(r"^(`{3,})json\n.*?^\1$", "", text, flags=re.M | re.S)
    without_code = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", without_fences)
    assert MARK in text
    assert MARK not in without_code


def test_junit_is_xml_that_says_what_came(report: Report) -> None:
    root = ET.fromstring(junit_report(report))
    assert any(MARK in str(one.text) for one in root.iter("failure"))


def test_json_is_ascii_and_is_read_back(report: Report) -> None:
    text = encode_report(report)
    assert text.isascii()
    assert json.loads(text)["format"] == 1
    assert decode_report(text) == report
