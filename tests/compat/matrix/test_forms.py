"""Forms of the report of a matrix."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

from mcp_gen.compat.matrix.forms import json_matrix, junit_matrix, markdown_matrix
from mcp_gen.compat.matrix.model import (
    BrokenRule,
    Cell,
    Conversation,
    MatrixReport,
    PeerFacts,
)
from mcp_gen.compat.matrix.page import html_matrix
from mcp_gen.compat.report.model import Finding, Outcome, Verdict

HOSTILE = "<script>alert(1)</script> | `x` @all \x1b[31m"
OLD, NEW = "2025-11-25", "2026-07-28"


def cell(client: str, revision: str, verdict: Verdict, why: str = "") -> Cell:
    failed = (Conversation(name="call", verdict="failed", why=HOSTILE),)
    return Cell(
        server="s",
        client=client,
        transport="stdio",
        revision=revision,
        verdict=verdict,
        why=why,
        conversations=failed if verdict == "failed" else (),
    )


def report() -> MatrixReport:
    outcome = Outcome(
        requirement="base:frames:valid",
        level="must",
        says="Frames are valid.",
        revision=NEW,
        link="https://example.org/specification",
        verdict="failed",
        findings=(Finding(expected="a valid message", came=HOSTILE),),
    )
    broken = BrokenRule(side="server", outcome=outcome)
    cells = (
        cell("a", OLD, "passed"),
        cell("a", NEW, "failed"),
        cell("b", OLD, "not tested", "it offers nothing"),
        Cell(
            server="s",
            client="b",
            transport="stdio",
            revision=NEW,
            verdict="failed",
            broken=(broken,),
        ),
    )
    return MatrixReport(
        source="matrix.toml",
        version="1",
        took_s=2.0,
        servers=(PeerFacts(key="s", title=f"S {HOSTILE}"),),
        clients=(PeerFacts(key="a", title="A"), PeerFacts(key="b", title="B", missing="no node")),
        revisions=(OLD, NEW),
        transports=("stdio",),
        cells=cells,
    )


def test_json_has_every_cell() -> None:
    made = json.loads(json_matrix(report()))
    assert [one["verdict"] for one in made["cells"]] == [
        "passed",
        "failed",
        "not tested",
        "failed",
    ]
    assert json_matrix(report()).isascii()


def test_junit_has_a_suite_per_transport_and_revision() -> None:
    root = ET.fromstring(junit_matrix(report()))
    assert [one.get("name") for one in root] == [f"stdio {OLD}", f"stdio {NEW}"]
    assert [one.get("failures") for one in root] == ["0", "2"]
    assert [one.get("message") for one in root.iter("skipped")] == ["it offers nothing"]


def test_markdown_has_a_row_per_pair_and_every_reason() -> None:
    made = markdown_matrix(report())
    assert "| ` A ` | ✓ | ✗ |" in made
    assert "the server broke base:frames:valid" in made
    assert f"at {OLD}" in made


def test_texts_of_peers_are_no_markup() -> None:
    page = html_matrix(report())
    assert "<script>alert" not in page
    assert "\x1b" not in page + markdown_matrix(report())


def test_the_page_has_a_cell_per_revision_and_what_it_opens() -> None:
    page = html_matrix(report())
    assert page.count('<td class="cell"><button') == 4
    assert page.count(f'<div data-revision="{NEW}" hidden>') == 2
