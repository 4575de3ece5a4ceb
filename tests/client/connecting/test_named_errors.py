"""Errors name what the user wrote: the target, the URL, the server."""

from __future__ import annotations

import socket
import sys
from typing import Any

import pytest

from mcp_gen import Client, TransportError, UsageError

WRITES = 'import sys; print("no paper", file=sys.stderr); sys.stderr.write("at all"); sys.exit(3)'


@pytest.mark.parametrize("target", [5, None, object()])
async def test_what_cannot_be_connected_to_is_told_what_can(target: Any) -> None:
    async with Client("test") as client:
        with pytest.raises(
            UsageError, match=r"a URL, .*, a command .*, a Server or a transport, got"
        ):
            await client.connect(target)


async def test_the_error_of_a_url_that_nobody_answers_names_it_without_its_secrets() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    async with Client("test") as client:
        with pytest.raises(TransportError) as caught:
            await client.connect(f"http://user:pass-word-1@127.0.0.1:{port}/mcp?key=secret-value")
    assert f"http://127.0.0.1:{port}/mcp?key=***" in str(caught.value)
    assert "secret-value" not in str(caught.value)


async def test_stderr_lines_of_a_command_begin_with_the_name_of_the_server(
    capfd: pytest.CaptureFixture[str],
) -> None:
    async with Client("test") as client:
        with pytest.raises(TransportError, match="at all"):
            await client.connect([sys.executable, "-S", "-c", WRITES], server_name="printer")
    lines = capfd.readouterr().err.splitlines()
    assert set(lines) == {"[printer] no paper", "[printer] at all"}
