"""Runs of a matrix with real processes: our definitions, a user's own, and what is missing."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable
from pathlib import Path
from time import monotonic

import pytest

import mcp_wire
from mcp_gen.compat.matrix.definition import read_matrix
from mcp_gen.compat.matrix.model import Cell, MatrixReport
from mcp_gen.compat.matrix.running import run_matrix
from mcp_gen.core.errors import UsageError
from tests.support.processes.held_connection import held_connection

OLDEST, LATEST = mcp_wire.REVISIONS[0], mcp_wire.LATEST
OURS = """
[servers.ours]
use = "mcp-gen"
[clients.ours]
use = "mcp-gen"
"""


async def ran(folder: Path, text: str) -> MatrixReport:
    """Return the report of a file."""
    path = folder / "matrix.toml"
    path.write_text(text)
    return await run_matrix(read_matrix(path), source="matrix.toml", into=folder)


def verdicts(cells: Iterable[Cell]) -> dict[tuple[str, str], str]:
    return {(one.transport, one.revision): one.verdict for one in cells}


async def test_our_client_and_our_server_have_every_conversation(tmp_path: Path) -> None:
    began_s = monotonic()
    report = await ran(tmp_path, f'revisions = ["{OLDEST}", "{LATEST}"]\n{OURS}')
    assert 0 < report.took_s <= monotonic() - began_s
    # First, as they say why.
    assert [rule for cell in report.cells for rule in cell.broken] == []
    assert [one for cell in report.cells for one in cell.failed()] == []
    kinds = [(kind, one) for kind in ("stdio", "http") for one in (OLDEST, LATEST)]
    assert verdicts(report.cells) == dict.fromkeys(kinds, "passed")
    newest = next(one for one in report.cells if one.revision == LATEST)
    assert {one.verdict for one in newest.conversations} == {"passed"}


async def test_a_client_and_a_server_of_the_user_run_in_the_folder_of_the_file(
    tmp_path: Path,
) -> None:
    (tmp_path / "server.py").write_text("from mcp_gen import Server\nServer('mine').run()\n")
    (tmp_path / "client.py").write_text(
        "import asyncio, shlex, sys\n"
        "from mcp_gen import Client\n"
        "async def main():\n"
        "    async with Client('mine') as client:\n"
        "        session = await client.connect(shlex.split(sys.argv[1]))\n"
        "        print(session.server_info.name, file=sys.stderr)\n"
        "        sys.exit(3)\n"
        "asyncio.run(main())\n"
    )
    text = f"""
    revisions = ["{LATEST}"]
    [servers.mine]
    stdio = "{sys.executable} server.py"
    [clients.mine]
    stdio = "{sys.executable} client.py {{command}}"
    """
    over_stdio, over_http = (await ran(tmp_path, text)).cells
    assert over_stdio.failed()[0].why == "the client ended with exit code 3: mine"
    assert (over_http.verdict, over_http.why) == ("not tested", "mine has no command for http")


async def test_a_peer_that_cannot_be_installed_is_not_tested(tmp_path: Path) -> None:
    text = f"""
    revisions = ["{LATEST}"]
    transports = ["stdio"]
    {OURS}
    [clients.broken]
    packages.npm = "nowhere"
    stdio = "{{node}} client.mjs {{command}}"
    """
    report = await ran(tmp_path, text)
    assert [one.verdict for one in report.cells] == ["passed", "not tested"]
    assert report.cells[1].why.startswith("broken is not installed: there is no ")
    assert report.clients[1].missing


async def test_a_client_that_cannot_be_started_fails_its_own_cells_alone(tmp_path: Path) -> None:
    text = f"""
    revisions = ["{LATEST}"]
    transports = ["stdio"]
    {OURS}
    [clients.nobody]
    stdio = "no-such-program {{command}}"
    """
    ours, nobody = (await ran(tmp_path, text)).cells
    assert (ours.verdict, nobody.verdict) == ("passed", "failed")
    why = "'no-such-program' cannot be started: No such file or directory"
    assert nobody.failed()[0].why == why


async def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    text = f'{OURS}[clients.a]\npackages.pip = ["a==1"]\nstdio = "a"'
    (tmp_path / "matrix.toml").write_text(text)
    matrix = read_matrix(tmp_path / "matrix.toml")
    with pytest.raises(UsageError, match="file cannot be written: Not a directory"):
        await run_matrix(matrix, source="", into=tmp_path / "file")


@pytest.mark.parametrize(
    ("server", "said"),
    [
        ("print('no URL')", "the server ended before it listened: no URL"),
        ("raise SystemExit('cannot start')", "the server ended before it listened: cannot start"),
    ],
)
async def test_a_server_that_does_not_listen_fails_its_cells(
    tmp_path: Path, server: str, said: str
) -> None:
    (tmp_path / "server.py").write_text(server)
    text = f"""
    revisions = ["{LATEST}"]
    transports = ["http"]
    [servers.mine]
    http = "{sys.executable} server.py"
    [clients.ours]
    use = "mcp-gen"
    """
    (cell,) = (await ran(tmp_path, text)).cells
    assert (cell.verdict, cell.failed()[0].why) == ("failed", said)


async def test_a_matrix_that_is_terminated_ends_the_processes_of_its_cells(tmp_path: Path) -> None:
    (tmp_path / "matrix.toml").write_text(
        f"""
        revisions = ["{LATEST}"]
        transports = ["http"]
        [servers.mine]
        http = "{sys.executable} server.py"
        [clients.ours]
        use = "mcp-gen"
        """
    )
    command = [sys.executable, "-c", "from mcp_gen.cli import main; main()", "matrix"]
    async with held_connection() as held, asyncio.timeout(60):
        (tmp_path / "server.py").write_text(held.holding)
        process = await asyncio.create_subprocess_exec(*command, "matrix.toml", cwd=tmp_path)
        await held.began.wait()
        process.terminate()
        assert await process.wait() == 130
        await held.ended.wait()
