"""Targets of an examination: each kind is reached, and what was started is ended."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from mcp_gen.client.client import Client
from mcp_gen.compat.doctor.http_program import http_program, printing_program
from mcp_gen.compat.doctor.targets import open_target
from mcp_gen.compat.reference.client import ReferenceClient
from mcp_gen.core.errors import TransportError, UsageError
from mcp_gen.manager.config import ServerConfig
from mcp_wire import LATEST

SERVER = Path(__file__).parents[3] / "examples/server.py"
RUN = [sys.executable, "-c", "from mcp_gen.cli import main; main()", "run"]


async def opened_name(config: ServerConfig, **options: str) -> object:
    """Return the name that the server of a target gives itself."""
    async with open_target(config, **options) as target:  # type: ignore[arg-type]
        client = ReferenceClient(target.opens(LATEST), LATEST, timeout_s=20.0)
        reply = await client.open()
        await client.aclose()
    assert reply.result is not None
    assert client.profile.server_info_key is not None
    return reply.result["_meta"][client.profile.server_info_key]["name"]


async def test_code_is_loaded_for_memory() -> None:
    assert await opened_name(ServerConfig(target=str(SERVER)), over="memory") == "inventory"


async def test_code_is_run_for_stdio() -> None:
    assert await opened_name(ServerConfig(target=str(SERVER)), over="stdio") == "inventory"


async def test_a_command_has_its_folder_and_its_variables(tmp_path: Path) -> None:
    (tmp_path / "named.py").write_text(
        "import os\nfrom mcp_gen import Server\nServer(os.environ['NAMED']).run()\n"
    )
    config = ServerConfig(
        command=sys.executable,
        args=["named.py"],
        cwd=str(tmp_path),
        env={"NAMED": "by env", "PYTHONPATH": os.environ.get("PYTHONPATH", "")},
    )
    assert await opened_name(config) == "by env"


async def test_the_last_lines_on_stderr_are_kept(tmp_path: Path) -> None:
    script = tmp_path / "failing.py"
    script.write_text("import sys\nsys.exit('x' * 9000 + ' the end')\n")
    config = ServerConfig(command=sys.executable, args=[str(script)])
    async with open_target(config) as target:
        client = ReferenceClient(target.opens(LATEST), LATEST, timeout_s=20.0)
        reply = await client.open()
        await client.aclose()
        lines = target.last_lines()
    assert reply.closing is not None
    assert lines.endswith(" the end")
    assert len(lines) <= 4096


async def test_a_program_over_http_listens_while_it_is_needed() -> None:
    with tempfile.TemporaryFile() as stderr:
        async with http_program([*RUN, str(SERVER)], stderr) as url, Client("test") as client:
            session = await client.connect(url)
            assert session.server_info is not None
            assert session.server_info.name == "inventory"
        stderr.seek(0)
        assert url.encode() in stderr.read()
    async with Client("test") as client:
        with pytest.raises(TransportError):
            await client.connect(url, timeout_s=5.0)


async def test_a_program_that_ends_before_it_listens_says_why(tmp_path: Path) -> None:
    said = r"ended before it listened: .*no such file"
    with tempfile.TemporaryFile() as stderr, pytest.raises(TransportError, match=said):
        async with http_program([*RUN, str(tmp_path / "none.py")], stderr):
            raise AssertionError("it cannot listen")


PRINTS_FIRST = """
import socket, sys, time
taken = socket.socket()
taken.bind(("127.0.0.1", 0))
print(f"http://127.0.0.1:{taken.getsockname()[1]}/mcp", flush=True)
"""
# It sleeps in its own process: long enough to be tried before it listens, then until it is ended.
LISTENS_LATE = PRINTS_FIRST + "time.sleep(0.3)\ntaken.listen()\ntime.sleep(60)\n"


async def test_a_program_that_prints_its_url_first_is_reached_once_it_listens() -> None:
    with tempfile.TemporaryFile() as stderr:
        async with printing_program([sys.executable, "-c", LISTENS_LATE], stderr) as url:
            parts = urlsplit(url)
            _, writer = await asyncio.open_connection(parts.hostname, parts.port)
            writer.close()


async def test_a_program_that_prints_its_url_and_ends_says_why() -> None:
    fails = PRINTS_FIRST + "raise SystemExit('no more room')"
    said = "ended before it listened: no more room"
    with tempfile.TemporaryFile() as stderr, pytest.raises(TransportError, match=said):
        async with printing_program([sys.executable, "-c", fails], stderr):
            raise AssertionError("it does not listen")


@pytest.mark.parametrize(
    ("config", "over", "said"),
    [
        (ServerConfig(target="tcp:localhost:1"), None, "a socket is not examined"),
        (ServerConfig(command="python"), "http", "--over is for Python code"),
        (ServerConfig(target="none_here.py"), None, "no such file: none_here.py"),
    ],
)
async def test_what_cannot_be_examined_is_refused(
    config: ServerConfig, over: str | None, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        async with open_target(config, over):  # type: ignore[arg-type]
            raise AssertionError("it cannot be opened")
