"""HTML form of the report of a matrix: one page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mcp_gen.compat.matrix.model import BrokenRule, Cell, MatrixReport, PeerFacts
from mcp_gen.compat.report.markup import Content, Markup, element
from mcp_gen.compat.report.model import Verdict
from mcp_gen.compat.report.page import (
    cell_button,
    filters,
    finding_markup,
    grid,
    grid_row,
    page,
    totals_list,
)
from mcp_gen.compat.report.summary import SYMBOLS

__all__ = ["html_matrix"]

MAX_FINDINGS = 3
"""Maximum number of findings of one requirement in a cell."""


def html_matrix(report: MatrixReport) -> str:
    """Return the report of a matrix as one HTML page.

    A table per server and transport: clients in rows, revisions in columns. A click on a cell shows
    its conversations, and what either side broke.
    """
    return page(f"MCP matrix of {report.source}", *_body(report))


def _body(report: MatrixReport) -> Iterable[Content]:
    yield element("h1", f"MCP matrix of {report.source}")
    about = f"by mcp-gen {report.version} in {report.took_s:.0f} s"
    yield element("p", about, class_="faint")
    counts = report.counts()
    yield totals_list(
        (
            (counts["passed"], "cells passed", "passed"),
            (counts["failed"], "failed", "failed"),
            (counts["not tested"], "not tested", "untested"),
        )
    )
    yield filters("pairs")
    for transport in report.transports:
        for server in report.servers:
            rows = (
                _row(client, report.row(server.key, client.key, transport))
                for client in report.clients
            )
            yield grid(f"{server.title}, over {transport}", "client", report.revisions, rows)
    missing = [one for one in (*report.servers, *report.clients) if one.missing]
    if missing:
        yield _missing(missing)


def _row(client: PeerFacts, cells: Sequence[Cell]) -> Markup:
    buttons = (
        cell_button(one.revision, one.verdict, f"{client.title} with {one.server}") for one in cells
    )
    verdicts: list[Verdict] = [one.verdict for one in cells]
    return grid_row((client.title,), buttons, map(_detail, cells), verdicts)


def _detail(cell: Cell) -> Markup:
    why = f": {cell.why}" if cell.why else ""
    items = (
        element("li", f"{SYMBOLS[one.verdict]} {one.name}{f': {one.why}' if one.why else ''}")
        for one in cell.conversations
    )
    return element(
        "div",
        element("h4", f"{SYMBOLS[cell.verdict]} {cell.verdict} at {cell.revision}{why}"),
        element("ul", *items, class_="conversations") if cell.conversations else None,
        *(_broken(one) for one in cell.broken),
        data_revision=cell.revision,
        hidden=True,
    )


def _broken(rule: BrokenRule) -> Markup:
    outcome = rule.outcome
    is_link = outcome.link.startswith("https://")
    link = element("a", "specification", href=outcome.link if is_link else None, rel="noreferrer")
    return element(
        "div",
        element(
            "p",
            f"The {rule.side} broke ",
            element("code", outcome.requirement),
            " ",
            element("span", outcome.level, class_="level"),
            f" {outcome.says} ",
            link,
        ),
        *(finding_markup(one) for one in outcome.findings[:MAX_FINDINGS]),
    )


def _missing(peers: Iterable[PeerFacts]) -> Markup:
    rows = (
        element("tr", element("th", one.title, scope="row"), element("td", one.missing))
        for one in peers
    )
    table = element("table", element("tbody", *rows), class_="facts")
    return element("section", element("h2", "Not installed"), table)
