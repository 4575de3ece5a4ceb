"""JUnit form of a report, for continuous integration: one test case per check and revision."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree as ET

from mcp_gen.compat.report.model import Finding, Outcome, Report
from mcp_gen.compat.report.texts import visible, visible_lines

__all__ = ["junit_report"]


def junit_report(report: Report) -> str:
    """Return a report as JUnit XML: a suite per revision, a test case per check.

    A failed check is a failure whose type is the level of the requirement; one that was not tested
    is skipped, with the reason.
    """
    root = ET.Element(
        "testsuites", _counts(report.outcomes), name=f"mcp-gen doctor {report.target}"
    )
    for revision in report.revisions:
        outcomes = [one for one in report.outcomes if one.revision == revision]
        suite = ET.SubElement(root, "testsuite", _counts(outcomes), name=revision)
        for outcome in outcomes:
            suite.append(_case(outcome))
    for element in root.iter():
        # XML has no way to write most control characters.
        element.attrib = {name: visible(value) for name, value in element.attrib.items()}
        element.text = visible_lines(element.text or "")
    ET.indent(root)
    return ET.tostring(root, "unicode", xml_declaration=True) + "\n"


def _counts(outcomes: Iterable[Outcome]) -> dict[str, str]:
    verdicts = [one.verdict for one in outcomes]
    return {
        "tests": str(len(verdicts)),
        "failures": str(verdicts.count("failed")),
        "skipped": str(verdicts.count("not tested")),
        "errors": "0",
    }


def _case(outcome: Outcome) -> ET.Element:
    case = ET.Element(
        "testcase",
        classname=f"{outcome.revision}.{outcome.area}",
        name=outcome.requirement,
    )
    if outcome.verdict == "not tested":
        ET.SubElement(case, "skipped", message=outcome.why)
    elif outcome.verdict == "failed":
        failure = ET.SubElement(case, "failure", message=outcome.says, type=outcome.level)
        parts = [outcome.link, *map(_finding, outcome.findings)]
        failure.text = "\n\n".join(parts)
    return case


def _finding(finding: Finding) -> str:
    lines = [f"expected: {finding.expected}", f"came: {finding.came}"]
    if finding.where:
        lines.append(f"where: {finding.where}")
    lines += [f"{one.sender}: {one.text}" for one in finding.evidence]
    return "\n".join(lines)
