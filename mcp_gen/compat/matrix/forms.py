"""JSON, JUnit and Markdown forms of the report of a matrix."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from xml.etree import ElementTree as ET

import msgspec

from mcp_gen.compat.matrix.model import Cell, MatrixReport, matrix_totals
from mcp_gen.compat.report.encoding import FORMAT
from mcp_gen.compat.report.markdown import code
from mcp_gen.compat.report.model import Verdict
from mcp_gen.compat.report.summary import SYMBOLS
from mcp_gen.compat.report.texts import visible, visible_lines

__all__ = ["HEADINGS", "grouped_reasons", "json_matrix", "junit_matrix", "markdown_matrix"]

HEADINGS: dict[str, Verdict] = {"Failed": "failed", "Not tested": "not tested"}
MAX_CHARS = 60_000
"""Maximum length of the Markdown form: GitHub takes comments of 65,536 characters."""


def json_matrix(report: MatrixReport) -> str:
    """Return the report as indented JSON in ASCII; its members are those of `MatrixReport`."""
    return json.dumps({"format": FORMAT, **msgspec.to_builtins(report)}, indent=2) + "\n"


def junit_matrix(report: MatrixReport) -> str:
    """Return the report as JUnit XML: a suite per transport and revision, a case per pair."""
    root = ET.Element("testsuites", _counts(report.cells), name=f"mcp-gen matrix {report.source}")
    for transport in report.transports:
        for revision in report.revisions:
            cells = [
                one
                for one in report.cells
                if one.transport == transport and one.revision == revision
            ]
            name = f"{transport} {revision}"
            suite = ET.SubElement(root, "testsuite", _counts(cells), name=name)
            suite.extend(map(_case, cells))
    for element in root.iter():
        # XML has no way to write most control characters.
        element.attrib = {name: visible(value) for name, value in element.attrib.items()}
        element.text = visible_lines(element.text or "")
    ET.indent(root)
    return ET.tostring(root, "unicode", xml_declaration=True) + "\n"


def markdown_matrix(report: MatrixReport) -> str:
    """Return the report as Markdown: a table per transport, then what failed and why."""
    lines = [f"## MCP matrix of {code(report.source)}", "", f"{matrix_totals(report)}.", ""]
    for transport in report.transports:
        lines += [f"### Over {transport}", ""]
        lines += [f"| server | client | {' | '.join(report.revisions)} |"]
        lines += [f"|---|---|{'---|' * len(report.revisions)}"]
        for server in report.servers:
            for client in report.clients:
                cells = report.row(server.key, client.key, transport)
                shown = " | ".join(SYMBOLS[one.verdict] for one in cells)
                lines.append(f"| {code(server.title)} | {code(client.title)} | {shown} |")
        lines.append("")
    text = "\n".join(lines)
    for heading, verdict in HEADINGS.items():
        lines = [
            f"* {code(why)}: {pairs}, at {revisions}"
            for why, pairs, revisions in grouped_reasons(report, verdict)
        ]
        if lines:
            text = _with_lines(text, [f"\n### {heading}\n", *lines])
    return f"{text}\n"


def reasons_of(cell: Cell) -> Iterator[str]:
    """Yield why a cell did not pass, a line each."""
    if cell.why:
        yield cell.why
    for one in cell.failed():
        yield f"{one.name}: {one.why}"
    for rule in cell.breaks("must"):
        first = rule.outcome.findings[0]
        where = f" at {first.where}" if first.where else ""
        yield f"the {rule.side} broke {rule.outcome.requirement}: {first.came}{where}"


def grouped_reasons(report: MatrixReport, verdict: Verdict) -> Iterator[tuple[str, str, str]]:
    """Yield each reason for a verdict, with the pairs and the revisions for which it holds.

    Args:
        report: The report.
        verdict: The verdict.
    """
    grouped: dict[str, list[Cell]] = {}
    for cell in report.cells:
        if cell.verdict == verdict:
            for why in reasons_of(cell):
                grouped.setdefault(why, []).append(cell)
    for why, cells in grouped.items():
        revisions = [one for one in report.revisions if any(one == c.revision for c in cells)]
        yield why, "; ".join(_pairs(report, cells)), ", ".join(revisions)


def _pairs(report: MatrixReport, cells: Iterable[Cell]) -> Iterator[str]:
    """Yield one text per server: the transports, and the clients unless they are all."""
    clients: dict[tuple[str, str], list[str]] = {}
    for cell in cells:
        met = clients.setdefault((cell.server, cell.transport), [])
        if cell.client not in met:
            met.append(cell.client)
    for (server, transport), names in clients.items():
        are_all = len(names) == len(report.clients)
        yield f"{server} ({transport}) with {'every client' if are_all else ', '.join(names)}"


def _with_lines(text: str, lines: Iterable[str]) -> str:
    for number, line in enumerate(lines):
        if len(text) + len(line) > MAX_CHARS:
            return f"{text}\n\nMore is left out; the other forms have it." if number else text
        text += f"\n{line}"
    return text


def _counts(cells: Iterable[Cell]) -> dict[str, str]:
    verdicts = [one.verdict for one in cells]
    return {
        "tests": str(len(verdicts)),
        "failures": str(verdicts.count("failed")),
        "skipped": str(verdicts.count("not tested")),
        "errors": "0",
    }


def _case(cell: Cell) -> ET.Element:
    case = ET.Element(
        "testcase",
        classname=f"{cell.transport}.{cell.revision}",
        name=f"{cell.client} with {cell.server}",
        time=f"{cell.took_s:.3f}",
    )
    if cell.verdict == "not tested":
        ET.SubElement(case, "skipped", message=cell.why)
    elif cell.verdict == "failed":
        why = list(reasons_of(cell))
        failure = ET.SubElement(case, "failure", message=why[0] if why else "failed")
        failure.text = "\n".join(why)
    return case
