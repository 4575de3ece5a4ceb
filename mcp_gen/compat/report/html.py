"""HTML form of a report: one page that needs nothing else, and trusts no text of a peer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mcp_gen.compat.report.markup import Content, Markup, element, joined
from mcp_gen.compat.report.model import Offer, Outcome, Report
from mcp_gen.compat.report.page import (
    cell_button,
    filters,
    finding_markup,
    grid,
    grid_row,
    page,
    totals_list,
)
from mcp_gen.compat.report.summary import SYMBOLS, CheckRow, areas, check_rows

__all__ = ["html_report"]

NAMES_AT_ONCE = 12
"""Number of names of a kind that are shown before the rest is folded away."""


def html_report(report: Report) -> str:
    """Return a report as one HTML page.

    Checks stand by area in rows, revisions in columns; a click on a cell shows its findings and
    their evidence. The page loads nothing, and its content security policy runs no script but its
    own, which is allowed by its hash.
    """
    return page(f"MCP compatibility of {report.target}", *_body(report))


def _body(report: Report) -> Iterable[Content]:
    yield element("h1", f"MCP compatibility of {report.target}")
    yield element("p", _about(report), class_="faint")
    yield _totals(report)
    yield filters("checks", ("must", "should"))
    for area, rows in areas(check_rows(report)).items():
        body = (_check(row, report.revisions) for row in rows)
        yield grid(area, "check", report.revisions, body)
    yield _openings(report)
    yield _listings(report.listings)


def _about(report: Report) -> str:
    name = f"{report.name}; " if report.name else ""
    return (
        f"{name}examined as a {report.side} over {report.transport} by mcp-gen {report.version} "
        f"in {report.took_s:.1f} s"
    )


def _totals(report: Report) -> Markup:
    counts = report.counts()
    failed = {level: len(report.failed(level)) for level in ("must", "should")}
    return totals_list(
        (
            (counts["passed"], "passed", "passed"),
            (failed["must"], "failed, must", "failed"),
            (failed["should"], "failed, should", "failed should"),
            (counts["not tested"], "not tested", "untested"),
        )
    )


# --- the grid ---


def _check(row: CheckRow, revisions: Sequence[str]) -> Markup:
    title = (
        element("code", row.requirement),
        " ",
        element("span", row.level, class_="level"),
        element("br"),
        row.says,
    )
    cells = (_cell(row, revision) for revision in revisions)
    details = (_outcome(one) for one in row.outcomes)
    verdicts = [one.verdict for one in row.outcomes]
    return grid_row(title, cells, details, verdicts, row.level)


def _cell(row: CheckRow, revision: str) -> Markup:
    outcome = row.at(revision)
    if outcome is None:
        return element("td", class_="cell")
    return cell_button(revision, outcome.verdict, outcome.requirement, outcome.level)


def _outcome(outcome: Outcome) -> Markup:
    why = f": {outcome.why}" if outcome.why else ""
    # A report that was read from a file may have any text here.
    is_link = outcome.link.startswith("https://")
    link = element("a", "specification", href=outcome.link if is_link else None, rel="noreferrer")
    return element(
        "div",
        element("h4", f"{SYMBOLS[outcome.verdict]} {outcome.verdict} at {outcome.revision}{why}"),
        element("p", link),
        *(finding_markup(one) for one in outcome.findings),
        data_revision=outcome.revision,
        hidden=True,
    )


# --- the tables below it ---


def _openings(report: Report) -> Markup:
    rows = (
        element("tr", element("th", one.asked, scope="row"), element("td", one.answer))
        for one in report.openings
    )
    table = element("table", element("tbody", *rows), class_="facts")
    return element("section", element("h2", "Openings"), table)


def _listings(listings: Iterable[Offer]) -> Markup:
    return element("section", element("h2", "Listings"), *(_listing(one) for one in listings))


def _listing(listing: Offer) -> Markup:
    facts = {"capabilities": listing.capabilities, **listing.items}
    rows = (
        element("tr", element("th", kind, scope="row"), element("td", _names(names)))
        for kind, names in facts.items()
    )
    table = element("table", element("tbody", *rows), class_="facts")
    return joined(element("h3", listing.revision), table)


def _names(names: Sequence[str]) -> Markup:
    first = ", ".join(names[:NAMES_AT_ONCE]) or "none"
    rest = names[NAMES_AT_ONCE:]
    if not rest:
        return joined(first)
    folded = element("details", element("summary", f"{len(rest)} more"), ", ".join(rest))
    return joined(first, folded)
