"""Report on a peer in a terminal: counts, findings, what was not tested, totals."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from mcp_gen.cli.console.output import console, plain_table, plain_text
from mcp_gen.compat.report.bounds import cut
from mcp_gen.compat.report.model import Report
from mcp_gen.compat.report.summary import (
    CheckRow,
    SameFinding,
    areas,
    check_rows,
    failed_rows,
    reasons,
    totals,
)
from mcp_gen.compat.report.texts import pretty, visible, visible_lines

__all__ = ["print_report"]

MAX_FRAME_LINES = 20
"""Maximum number of lines of a frame; the other forms of the report have all of it."""
MAX_FINDINGS = 5
"""Maximum number of findings of one requirement."""
MAX_IDS = 4
"""Maximum number of requirements that are named for one reason."""
MAX_REASONS = 12
"""Maximum number of reasons why something was not tested."""

STYLES = {"must": "bold red", "should": "bold yellow"}


def print_report(report: Report) -> None:
    """Print a report on stdout."""
    out = console()
    _print_head(out, report)
    _print_table(out, report)
    for row in failed_rows(report):
        _print_findings(out, row)
    _print_untested(out, report)
    out.print(plain_text(totals(report), "bold"))


def _print_head(out: Console, report: Report) -> None:
    name = f" ({visible(report.name)})" if report.name else ""
    out.print(plain_text(f"{visible(report.target)}{name} over {report.transport}", "bold"))
    table = plain_table("opening", "answer")
    for one in report.openings:
        table.add_row(plain_text(visible(one.asked)), plain_text(visible(one.answer)))
    out.print(table)


def _print_table(out: Console, report: Report) -> None:
    revisions = report.revisions
    out.print(plain_text("Checks: passed / failed / not tested", "bold"))
    table = plain_table("area", *revisions)
    for area, rows in areas(check_rows(report)).items():
        table.add_row(plain_text(area, "bold"), *(_cell(rows, one) for one in revisions))
    out.print(table)


def _cell(rows: list[CheckRow], revision: str) -> Text:
    verdicts = [found.verdict for row in rows if (found := row.at(revision))]
    if not verdicts:
        return Text("-", style="dim")
    passed, failed = verdicts.count("passed"), verdicts.count("failed")
    return Text.assemble(
        (str(passed), "green" if passed else ""),
        " / ",
        (str(failed), "bold red" if failed else ""),
        " / ",
        (str(verdicts.count("not tested")), "dim"),
    )


def _print_findings(out: Console, row: CheckRow) -> None:
    link = next(one.link for one in reversed(row.outcomes) if one.findings)
    out.print(
        Text.assemble((row.level.upper(), STYLES[row.level]), " ", (row.requirement, "bold")),
        plain_text(row.says),
        plain_text(link, "dim"),
        sep="\n",
        soft_wrap=True,
    )
    for finding in row.findings[:MAX_FINDINGS]:
        _print_finding(out, finding)
    more = len(row.findings) - MAX_FINDINGS
    if more > 0:
        out.print(plain_text(f"  and {more} more"))
    out.print()


def _print_finding(out: Console, same: SameFinding) -> None:
    finding = same.finding
    facts = [("expected", finding.expected), ("came", finding.came), ("where", finding.where)]
    facts.append(("at", ", ".join(same.revisions)))
    table = plain_table("", "")
    table.show_header = False
    for name, value in facts:
        if value:
            table.add_row(plain_text(name, "dim"), plain_text(visible(value)))
    out.print(table, end="")
    if finding.evidence:
        lines = visible_lines(pretty(finding.evidence[-1].text)).splitlines()
        shown = [cut(line, 200) for line in lines[:MAX_FRAME_LINES]]
        if len(lines) > MAX_FRAME_LINES:
            shown.append(f"… {len(lines) - MAX_FRAME_LINES} more lines")
        out.print(Padding(plain_text("\n".join(shown), "dim"), (0, 0, 0, 4)))


def _print_untested(out: Console, report: Report) -> None:
    found = reasons(report)
    if not found:
        return
    out.print(plain_text("Not tested", "bold"))
    table = plain_table("why", "checks")
    for why, ids in list(found.items())[:MAX_REASONS]:
        names = ", ".join(list(ids)[:MAX_IDS])
        more = f" and {len(ids) - MAX_IDS} more" if len(ids) > MAX_IDS else ""
        table.add_row(plain_text(visible(why)), plain_text(f"{names}{more}"))
    out.print(table)
    left_out = len(found) - MAX_REASONS
    if left_out > 0:
        out.print(plain_text(f"and {left_out} more reasons, which the other forms have"))
