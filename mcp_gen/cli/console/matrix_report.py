"""Report of a matrix in a terminal: a table per transport, then what failed."""

from __future__ import annotations

from rich.text import Text

from mcp_gen.cli.console.output import console, plain_table, plain_text
from mcp_gen.compat.matrix.forms import HEADINGS, grouped_reasons
from mcp_gen.compat.matrix.model import Cell, MatrixReport, matrix_totals
from mcp_gen.compat.report.bounds import cut
from mcp_gen.compat.report.model import Verdict
from mcp_gen.compat.report.summary import SYMBOLS
from mcp_gen.compat.report.texts import visible

__all__ = ["print_matrix"]

STYLES: dict[Verdict, str] = {"passed": "green", "failed": "bold red", "not tested": "dim"}
MAX_WHY_CHARS = 160


def print_matrix(report: MatrixReport) -> None:
    """Print the report of a matrix on stdout."""
    out = console()
    for transport in report.transports:
        out.print(plain_text(f"Over {transport}", "bold"))
        table = plain_table("server", "client", *report.revisions)
        for server in report.servers:
            for client in report.clients:
                cells = report.row(server.key, client.key, transport)
                names = (plain_text(visible(one.title)) for one in (server, client))
                table.add_row(*names, *map(_cell, cells))
        out.print(table)
    for heading, verdict in HEADINGS.items():
        table = plain_table("why", "pairs", "at")
        for why, pairs, revisions in grouped_reasons(report, verdict):
            shown = plain_text(cut(visible(why), MAX_WHY_CHARS))
            table.add_row(shown, plain_text(visible(pairs)), plain_text(revisions, "dim"))
        if table.row_count:
            out.print(plain_text(heading, "bold"))
            out.print(table)
    out.print(plain_text(matrix_totals(report), "bold"))


def _cell(cell: Cell) -> Text:
    counts = [one.verdict for one in cell.conversations].count("passed")
    shown = f"{SYMBOLS[cell.verdict]} {counts}/{len(cell.conversations)}"
    return Text(shown if cell.conversations else SYMBOLS[cell.verdict], STYLES[cell.verdict])
