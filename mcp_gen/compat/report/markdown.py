"""Markdown form of a report, short enough for a comment on a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mcp_gen.compat.report.model import Report
from mcp_gen.compat.report.summary import CheckRow, SameFinding, areas, check_rows, failed_rows
from mcp_gen.compat.report.summary import totals as totals_of
from mcp_gen.compat.report.texts import pretty, visible, visible_lines

__all__ = ["code", "markdown_report"]

MAX_CHARS = 60_000
"""Maximum length: GitHub takes comments of 65,536 characters."""
MAX_FRAME_CHARS = 2_000
"""Maximum number of characters of a frame."""

MAX_FINDINGS = 5
"""Maximum number of findings of one requirement."""

_TICKS = re.compile(r"`+")


def markdown_report(report: Report) -> str:
    """Return a report as Markdown: a table of areas and revisions, then the findings.

    Texts of the peer stand in code: they are no markup, mention nobody and link to nothing.
    """
    text = "\n".join([*_head(report), *_table(report)])
    rows = failed_rows(report)
    for number, row in enumerate(rows):
        section = _section(row, MAX_CHARS - len(text))
        if not section:
            left_out = len(rows) - number
            text += f"\n\nLeft out: {left_out} more requirements with findings."
            break
        text += section
    return f"{text}\n"


def _head(report: Report) -> Iterator[str]:
    yield f"## MCP compatibility of {code(report.target)}"
    yield ""
    name = f"{code(report.name)}, " if report.name else ""
    yield f"{name}examined as a {report.side} over {report.transport} by mcp-gen {report.version}."
    yield ""
    yield f"{totals_of(report)}."
    yield ""


def _table(report: Report) -> Iterator[str]:
    revisions = report.revisions
    yield f"| area | {' | '.join(revisions)} |"
    yield f"|---|{'---|' * len(revisions)}"
    for area, rows in areas(check_rows(report)).items():
        cells = [_cell(rows, revision) for revision in revisions]
        yield f"| {area} | {' | '.join(cells)} |"
    yield ""
    yield "passed / failed / not tested"


def _cell(rows: list[CheckRow], revision: str) -> str:
    verdicts = [found.verdict for row in rows if (found := row.at(revision))]
    if not verdicts:
        return ""
    failed = verdicts.count("failed")
    shown = f"**{failed}**" if failed else "0"
    return f"{verdicts.count('passed')} / {shown} / {verdicts.count('not tested')}"


def _section(row: CheckRow, room: int) -> str:
    """Return the findings of a requirement, as many as there is room for; empty without room.

    Args:
        row: The outcomes of the requirement.
        room: Number of characters.
    """
    link = next(one.link for one in reversed(row.outcomes) if one.findings)
    text = (
        f"\n\n### {row.level.upper()}: `{row.requirement}`\n\n{row.says} ([specification]({link}))"
    )
    shown = 0
    for finding in row.findings[:MAX_FINDINGS]:
        more = "\n\n" + "\n".join(_finding(finding))
        if len(text) + len(more) > room:
            break
        text += more
        shown += 1
    left_out = len(row.findings) - shown
    if left_out:
        text += f"\n\nLeft out: {left_out} more findings."
    return text if shown else ""


def _finding(same: SameFinding) -> Iterator[str]:
    finding = same.finding
    where = f" at {code(finding.where)}" if finding.where else ""
    yield f"* expected: {code(finding.expected)}"
    yield f"* came: {code(finding.came)}{where}"
    yield f"* revisions: {', '.join(same.revisions)}"
    if finding.evidence:
        last = finding.evidence[-1]
        text = visible_lines(pretty(last.text))
        shown = text if len(text) <= MAX_FRAME_CHARS else f"{text[:MAX_FRAME_CHARS]}…"
        fence = "`" * max(3, _longest_run(shown) + 1)
        yield ""
        yield f"{fence}json"
        yield shown
        yield fence


def code(text: str) -> str:
    """Return a text as code on one line: it is no markup there."""
    shown = visible(text)
    ticks = "`" * (_longest_run(shown) + 1)
    # A space inside: the text may begin or end with a backtick.
    return f"{ticks} {shown} {ticks}" if shown.strip() else "` `"


def _longest_run(text: str) -> int:
    return max((len(run) for run in _TICKS.findall(text)), default=0)
