"""`mcp-gen matrix`: run servers against clients, at every revision and over every transport."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import msgspec
import typer

from mcp_gen.cli.console.output import fail
from mcp_gen.cli.console.report_forms import report_forms, write_forms
from mcp_gen.cli.console.server_options import INTERRUPTED, end_at_sigterm
from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from mcp_gen.compat.matrix.definition import Matrix
    from mcp_gen.compat.matrix.model import Cell, MatrixReport

__all__ = ["matrix"]

T = TypeVar("T")


def matrix(
    file: Annotated[
        Path,
        typer.Argument(help="The file that names the servers and the clients.", metavar="FILE"),
    ],
    server: Annotated[
        list[str] | None,
        typer.Option(help="Only this server of the file; can be given more than once."),
    ] = None,
    client: Annotated[
        list[str] | None,
        typer.Option(help="Only this client of the file; can be given more than once."),
    ] = None,
    revision: Annotated[
        list[str] | None, typer.Option(help="Only this revision; can be given more than once.")
    ] = None,
    transport: Annotated[
        Literal["stdio", "http"] | None, typer.Option(help="Only this transport.")
    ] = None,
    fail_on: Annotated[
        Literal["failed", "untested", "never"],
        typer.Option(
            help="Exit with code 1 for a failed cell, also for one that was not tested, or never."
        ),
    ] = "failed",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")] = False,
    html: Annotated[
        str | None, typer.Option(help="Write a page for a browser; `-` is stdout.", metavar="FILE")
    ] = None,
    junit: Annotated[
        str | None, typer.Option(help="Write JUnit XML for CI; `-` is stdout.", metavar="FILE")
    ] = None,
    markdown: Annotated[
        str | None,
        typer.Option(help="Write Markdown for a pull request; `-` is stdout.", metavar="FILE"),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            help="Folder that servers and clients are installed into; one of the user's cache "
            "without it.",
            metavar="DIR",
        ),
    ] = None,
) -> None:
    """Run servers against clients, at every revision and over both transports.

    Each cell is one client with one server at one revision over one transport: the conversations
    that the client had, and what either side broke in the messages that passed. Definitions of
    mcp_gen, `mcp`, `fastmcp` and `typescript` come with mcp_gen; their packages are installed once,
    with exact versions. What cannot be installed or does not speak a revision is not tested.

    Exit code 1 if a cell failed (see --fail-on), 2 for a mistake in the file or the command line.

    **Examples**

    * `mcp-gen matrix matrix.toml` runs every cell of the file
    * `mcp-gen matrix matrix.toml --html matrix.html` writes a page with the evidence
    * `mcp-gen matrix matrix.toml --server mine --transport stdio --fail-on never`
    """
    try:
        forms = report_forms(as_json, html=html, junit=junit, markdown=markdown)
        wanted = _matrix(file, server, client, revision, transport)
        report = asyncio.run(_run(wanted, str(file), folder))
        # Imported here so that `mcp-gen --help` stays fast.
        from mcp_gen.compat.matrix import forms as made
        from mcp_gen.compat.matrix.page import html_matrix

        write_forms(
            report,
            forms,
            {
                "json": made.json_matrix,
                "html": html_matrix,
                "junit": made.junit_matrix,
                "markdown": made.markdown_matrix,
            },
        )
    except UsageError as error:
        fail("matrix", error)
    except (KeyboardInterrupt, asyncio.CancelledError):
        fail("matrix", "interrupted", INTERRUPTED)
    if not any(one.is_printed for one in forms):
        # Imported here so that `mcp-gen --help` stays fast.
        from mcp_gen.cli.console.matrix_report import print_matrix

        print_matrix(report)
    failing = {"failed": {"failed"}, "untested": {"failed", "not tested"}}.get(fail_on, set())
    raise typer.Exit(1 if any(one.verdict in failing for one in report.cells) else 0)


def _matrix(
    file: Path,
    servers: list[str] | None,
    clients: list[str] | None,
    revisions: list[str] | None,
    transport: Literal["stdio", "http"] | None,
) -> Matrix:
    """Return the part of a file that is wanted."""
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.compat.matrix.definition import read_matrix
    from mcp_gen.core.revisions import select

    whole = read_matrix(file)
    return msgspec.structs.replace(
        whole,
        servers=_named("--server", servers, whole.servers),
        clients=_named("--client", clients, whole.clients),
        revisions=select(revisions) if revisions else whole.revisions,
        transports=(transport,) if transport else whole.transports,
    )


def _named(option: str, names: list[str] | None, known: Mapping[str, T]) -> dict[str, T]:
    for name in names or ():
        if name not in known:
            raise UsageError(f"{option}: the file has no {name!r}; it has {', '.join(known)}")
    return {name: known[name] for name in names or known}


async def _run(wanted: Matrix, source: str, folder: Path | None) -> MatrixReport:
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.cli.console.doctor_progress import DoctorProgress
    from mcp_gen.compat.matrix.installing import matrix_folder
    from mcp_gen.compat.matrix.running import run_matrix

    end_at_sigterm()  # the processes of the cells, too
    count = len(wanted.servers) * len(wanted.clients) * len(wanted.transports)
    with DoctorProgress(dict.fromkeys(wanted.revisions, count)) as progress:

        def done(cell: Cell) -> None:
            progress.advance(cell.revision, cell.verdict == "failed")

        return await run_matrix(
            wanted,
            source=source,
            into=folder or matrix_folder(),
            say=lambda text: print(f"mcp-gen matrix: {text}", file=sys.stderr),
            on_cell=done,
        )
