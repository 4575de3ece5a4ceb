"""Tests of `mcp-gen matrix` as a user runs it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mcp_wire
from mcp_gen.compat.matrix import running
from mcp_gen.compat.matrix.definition import Matrix
from mcp_gen.compat.matrix.model import Cell, MatrixReport, PeerFacts
from tests.cli.running import complaint, run

FILE = """
[servers.ours]
use = "mcp-gen"
[servers.mcp]
use = "mcp"
[clients.ours]
use = "mcp-gen"
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "matrix.toml"
    path.write_text(FILE)
    return str(path)


@pytest.fixture(autouse=True)
def no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every cell of the server `mcp` fail, without a run."""

    async def made(
        matrix: Matrix, *, source: str, on_cell: Callable[[Cell], None], **others: Any
    ) -> MatrixReport:
        cells = [
            Cell(
                server=server,
                client=client,
                transport=transport,
                revision=revision,
                verdict="failed" if server == "mcp" else "not tested",
                why="" if server == "mcp" else "no reason",
            )
            for server in matrix.servers
            for client in matrix.clients
            for transport in matrix.transports
            for revision in matrix.revisions
        ]
        for cell in cells:
            on_cell(cell)
        return MatrixReport(
            source=source,
            version="1",
            took_s=1.0,
            servers=tuple(PeerFacts(key=one, title=one) for one in matrix.servers),
            clients=tuple(PeerFacts(key=one, title=one) for one in matrix.clients),
            revisions=matrix.revisions,
            transports=matrix.transports,
            cells=tuple(cells),
        )

    monkeypatch.setattr(running, "run_matrix", made)


def cells(*arguments: str) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = json.loads(run("matrix", *arguments, "--json").stdout)["cells"]
    return made


def test_a_failed_cell_is_exit_code_1(file: str) -> None:
    assert run("matrix", file).exit_code == 1


def test_cells_that_were_not_tested_fail_on_request_alone(file: str) -> None:
    codes = [
        run("matrix", file, "--server", "ours", "--fail-on", one).exit_code
        for one in ("never", "failed", "untested")
    ]
    assert codes == [0, 0, 1]


def test_options_name_the_cells_that_are_run(file: str) -> None:
    named = ("--server", "ours", "--revision", mcp_wire.LATEST, "--transport", "http")
    (one,) = cells(file, *named)
    assert (one["server"], one["revision"], one["transport"]) == ("ours", mcp_wire.LATEST, "http")


def test_every_revision_and_transport_is_run_without_options(file: str) -> None:
    assert len(cells(file)) == 2 * 2 * len(mcp_wire.REVISIONS)


def test_the_table_has_a_row_per_pair_and_transport(file: str) -> None:
    rows = [one for one in run("matrix", file).stdout.splitlines() if one.startswith(" mcp ")]
    assert len(rows) == 2


def test_forms_are_written(file: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run("matrix", file, "--html", str(page), "--fail-on", "never").exit_code == 0
    assert page.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--server", "b"), "--server: the file has no 'b'; it has ours, mcp"),
        (("--html", "-", "--json"), "--json and --html print to stdout; give a file for all but"),
    ],
)
def test_mistakes_are_told_in_one_line(file: str, arguments: tuple[str, ...], said: str) -> None:
    assert complaint("matrix", file, *arguments).startswith(f"mcp-gen matrix: {said}")


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert "No such file" in complaint("matrix", str(tmp_path / "none.toml"))
