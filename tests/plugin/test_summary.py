"""The summary: also with workers, in a file, and for whom nothing was judged."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from mcp_gen.compat.plugin.judged_test import TestRow
from mcp_gen.compat.plugin.run_report import reports_of, write_html
from mcp_gen.compat.plugin.summary import summary_lines
from mcp_gen.compat.report.model import Finding, Outcome, Report
from tests.plugin.running import ANYIO, run

TESTS = """
    import pytest

    pytestmark = [pytest.mark.anyio, pytest.mark.mcp_revisions("all")]


    async def test_adds(mcp_session):
        assert await mcp_session.call_tool("add", {"a": 1, "b": 2}, returns=int) == 3

    @pytest.mark.mcp_revisions("2025-06-18")
    async def test_lists(mcp_session):
        assert [tool.name async for tool in mcp_session.tools()] == []
"""
SETTINGS = "mcp_server = server.py"
MATRIX = [
    ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"],
    ["test_it.py::test_adds[asyncio]", *5 * ["passed"]],
    ["test_it.py::test_lists[asyncio]", "-", "-", "FAILED", "-", "-"],
]


def broken(revision: str, level: str = "must", number: int = 1) -> Outcome:
    found = tuple(Finding(expected="one", came=f"{one} others") for one in range(number))
    return Outcome(
        requirement="tools:names:unique",
        level="must" if level == "must" else "should",
        says="Names are unique.",
        revision=revision,
        link="https://example.com",
        verdict="failed",
        findings=found,
    )


def test_each_test_is_a_line_and_each_revision_a_column(tmp_path: Path) -> None:
    ran = run(tmp_path, TESTS, settings=SETTINGS)
    assert ran.matrix == MATRIX, ran.text


def test_workers_of_xdist_report_theirs(tmp_path: Path) -> None:
    ran = run(tmp_path, TESTS, "-n", "2", plugins=(*ANYIO, "xdist"), settings=SETTINGS)
    assert ran.counts == {"passed": 5, "failed": 1}, ran.text
    assert sorted(ran.matrix) == MATRIX, ran.text


def test_nothing_is_said_where_nothing_was_judged(tmp_path: Path) -> None:
    ran = run(tmp_path, "def test(): pass")
    assert ran.counts == {"passed": 1}
    assert "MCP" not in ran.text


def test_of_many_tests_those_are_shown_that_did_not_pass() -> None:
    rows = [
        TestRow(test=f"test_{number}", revision="2025-06-18", verdict="passed")
        for number in range(60)
    ]
    rows.append(TestRow(test="test_it", revision="2025-06-18", verdict="failed"))
    assert list(summary_lines(rows)) == [
        "         2025-06-18",
        "test_it  FAILED",
        "and 60 more that passed everywhere",
    ]


def test_the_findings_of_a_requirement_are_one_line_of_all_tests() -> None:
    rows = [
        TestRow(
            test=test,
            revision=revision,
            verdict="failed",
            broken={"server": (broken(revision),)},
        )
        for test in ("test_a", "test_b")
        for revision in ("2025-11-25", "2026-07-28")
    ]
    assert list(summary_lines(rows))[4:] == [
        "MUST tools:names:unique (the server), 4 tests: Names are unique.",
        "  2025-11-25, 2026-07-28  https://example.com",
    ]


def test_the_report_has_every_rule_at_every_revision_of_the_tests() -> None:
    rows = [
        TestRow(
            test="test_a",
            revision="2025-11-25",
            verdict="failed",
            target="server.py",
            transport="memory",
            broken={"server": (broken("2025-11-25", number=2),)},
        ),
        TestRow(
            test="test_b",
            revision="2025-11-25",
            verdict="passed",
            target="server.py",
            transport="stdio",
            passed={"server": ("base:frames:valid",)},
        ),
    ]
    (report,) = reports_of(rows)
    assert (report.target, report.side, report.transport) == (
        "server.py",
        "server",
        "memory, stdio",
    )
    assert [(one.asked, one.answer) for one in report.openings] == [
        ("2025-11-25", "2 tests, 1 failed")
    ]
    verdicts = {one.requirement: one.verdict for one in report.outcomes}
    assert verdicts["base:frames:valid"] == "passed"
    assert verdicts["base:notifications:no-id"] == "not tested"


def test_of_one_test_the_report_speaks_in_the_singular() -> None:
    row = TestRow(
        test="test_a",
        revision="2025-11-25",
        verdict="failed",
        target="server.py",
        transport="memory",
        broken={"server": (broken("2025-11-25"),)},
    )
    (report,) = reports_of([row])
    assert [one.answer for one in report.openings] == ["1 test, 1 failed"]


def html_of(report: Report) -> str:
    """Return a page that names the side alone."""
    return f"<p>{report.side}"


def test_the_reports_are_pages_beside_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = ModuleType("page")
    monkeypatch.setattr(page, "html_report", html_of, raising=False)
    monkeypatch.setitem(sys.modules, "mcp_gen.compat.report.html", page)
    rows = [
        TestRow(test="a", revision="2025-11-25", verdict="passed", target="a", side=side)
        for side in ("client", "server")
    ]
    written = write_html(rows, tmp_path / "new/report.html")
    assert [path.name for path in written] == ["report.html", "report-client.html"]
    assert [path.read_text("utf-8") for path in written] == ["<p>server", "<p>client"]


def test_without_judged_tests_there_is_no_report(tmp_path: Path) -> None:
    ran = run(tmp_path, "def test(): pass", "--mcp-html=report.html")
    assert "no test was judged: report.html was not written" in ran.text
    assert not (tmp_path / "report.html").exists()


def test_a_report_that_cannot_be_written_is_told_after_the_tests(tmp_path: Path) -> None:
    (tmp_path / "report.html").mkdir()
    ran = run(tmp_path, TESTS, "--mcp-html=report.html", settings=SETTINGS)
    assert ran.counts == {"passed": 5, "failed": 1}, ran.text
    assert "no report: [Errno 21] Is a directory" in ran.text


def test_tests_of_clients_have_a_report_of_their_own() -> None:
    rows = [
        TestRow(
            test="test_a", revision="2025-11-25", verdict="passed", target="a", transport="stdio"
        ),
        TestRow(
            test="test_b",
            revision="2025-11-25",
            verdict="passed",
            target="b",
            side="client",
            transport="memory",
        ),
        TestRow(test="test_c", revision="", verdict="error"),
    ]
    assert [(one.side, one.target) for one in reports_of(rows)] == [
        ("server", "a"),
        ("client", "b"),
    ]
