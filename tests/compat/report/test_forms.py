"""Contents of each form of a report."""

from __future__ import annotations

import io
import json
import re
from xml.etree import ElementTree as ET

import pytest
from msgspec.structs import replace
from rich.console import Console

from mcp_gen.cli.console import doctor_report
from mcp_gen.compat.report.encoding import decode_report, encode_report
from mcp_gen.compat.report.html import html_report
from mcp_gen.compat.report.junit import junit_report
from mcp_gen.compat.report.markdown import markdown_report
from mcp_gen.compat.report.model import Report
from tests.compat.report.sample import FINDING, REVISIONS, sample_report

OLD, NEW = REVISIONS


# --- JSON ---


def test_json_has_the_number_of_its_format_before_the_report() -> None:
    members = json.loads(encode_report(sample_report()))
    assert [*members][:3] == ["format", "target", "side"]
    assert members["format"] == 1


def test_json_is_read_back_as_the_same_report() -> None:
    assert decode_report(encode_report(sample_report())) == sample_report()


@pytest.mark.parametrize("text", ["{}", "[]", '{"format": 2}', '{"format": 1}', "{"])
def test_json_that_is_no_report_of_this_format_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"format|required|truncated"):
        decode_report(text)


# --- JUnit ---


def test_junit_has_a_suite_per_revision_with_its_counts() -> None:
    suites = [*ET.fromstring(junit_report(sample_report()))]
    counts = [
        (one.get("name"), one.get("tests"), one.get("failures"), one.get("skipped"))
        for one in suites
    ]
    assert counts == [(OLD, "3", "1", "1"), (NEW, "4", "2", "1")]


def test_junit_has_a_test_case_per_check_and_revision() -> None:
    cases = ET.fromstring(junit_report(sample_report())).iter("testcase")
    assert [(one.get("classname"), one.get("name")) for one in cases][:2] == [
        (f"{OLD}.tools", "tools:names:unique"),
        (f"{OLD}.base", "base:answers:id"),
    ]


def test_junit_tells_the_level_and_the_findings_of_a_failure() -> None:
    failure = next(ET.fromstring(junit_report(sample_report())).iter("failure"))
    assert failure.get("type") == "must"
    assert "came: 2 tools are called 'add'\nwhere: $.result.tools[1].name" in str(failure.text)


def test_junit_skips_what_was_not_tested_with_the_reason() -> None:
    skipped = next(ET.fromstring(junit_report(sample_report())).iter("skipped"))
    assert skipped.get("message") == "no progress came"


# --- Markdown ---


def test_markdown_has_a_table_of_areas_and_revisions() -> None:
    lines = markdown_report(sample_report()).splitlines()
    assert f"| area | {OLD} | {NEW} |" in lines
    assert "| base | 1 / 0 / 1 | 1 / 0 / 1 |" in lines
    assert "| tools | 0 / **1** / 0 | 0 / **2** / 0 |" in lines


def test_markdown_tells_a_finding_once_with_its_revisions() -> None:
    text = markdown_report(sample_report())
    section = text.partition("### MUST: `tools:names:unique`")[2].partition("###")[0]
    assert section.count("* came: ` 2 tools are called 'add' ` at ` $.result.tools[1].name `") == 1
    assert f"* revisions: {OLD}, {NEW}" in section


def test_markdown_tells_what_must_be_before_what_should() -> None:
    text = markdown_report(sample_report())
    assert re.findall(r"^### (\w+)", text, re.M) == ["MUST", "SHOULD"]


# --- HTML ---


def test_the_page_has_a_button_for_each_check_and_revision() -> None:
    labels = re.findall(r'aria-label="([^"]+ at [^"]+)"', html_report(sample_report()))
    assert len(labels) == len(sample_report().outcomes)
    assert f"tools:names:unique at {OLD}: failed" in labels


def test_the_page_shows_verdicts_as_symbols_too() -> None:
    buttons = re.findall(
        r'<button [^>]*class="(\w+) \w+"[^>]*>(.)</button>', html_report(sample_report())
    )
    assert dict(buttons) == {"passed": "✓", "failed": "✗", "untested": "–"}  # noqa: RUF001


def test_the_page_has_frames_with_line_ends_and_indentation() -> None:
    assert "&quot;result&quot;: {\n    &quot;tools&quot;: []" in html_report(sample_report())


def test_the_page_has_openings_and_listings() -> None:
    page = html_report(sample_report())
    assert "handshake without a version" in page
    assert "<td>a</td>" in page


def test_what_a_row_opens_is_as_wide_as_the_row() -> None:
    page = html_report(sample_report())
    rows = re.findall(r'<tr class="check"(.*?)<td colspan="(\d+)"', page, re.DOTALL)
    assert len(rows) == 4
    assert [width for row, width in rows if int(width) != len(re.findall("<t[hd]", row))] == []


# --- terminal ---


def in_terminal(report: Report, monkeypatch: pytest.MonkeyPatch) -> str:
    out = io.StringIO()
    console = Console(file=out, width=100)
    monkeypatch.setattr(doctor_report, "console", lambda: console)
    doctor_report.print_report(report)
    return out.getvalue()


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> str:
    return in_terminal(sample_report(), monkeypatch)


def test_the_terminal_shows_counts_by_area_and_revision(printed: str) -> None:
    (row,) = (line for line in printed.splitlines() if line.startswith(" tools"))
    assert re.sub(r" +", " ", row).strip() == "tools 0 / 1 / 0 0 / 2 / 0"


def test_the_terminal_shows_a_finding_without_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    silent = replace(FINDING, evidence=())
    outcomes = [
        replace(one, findings=(silent,) if one.findings else ()) for one in sample_report().outcomes
    ]
    printed = in_terminal(replace(sample_report(), outcomes=tuple(outcomes)), monkeypatch)
    assert "2 tools are called 'add'" in printed
    assert '"tools": []' not in printed


def test_the_terminal_shows_a_finding_once_with_its_revisions(printed: str) -> None:
    section = printed.partition("MUST tools:names:unique")[2].partition("SHOULD")[0]
    assert section.count("2 tools are called 'add'") == 1
    assert f"{OLD}, {NEW}" in section
    assert '"tools": []' in section


def test_the_terminal_shows_why_something_was_not_tested(printed: str) -> None:
    (row,) = (line for line in printed.splitlines() if "no progress came" in line)
    assert "base:progress" in row


def test_the_last_line_has_the_totals(printed: str) -> None:
    expected = (
        "4 checks at 2 revisions: 2 passed, 3 failed (2 must, 1 should), 2 not tested, in 2.0 s"
    )
    assert printed.splitlines()[-1] == expected
