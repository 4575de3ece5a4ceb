"""The garbage collector of the process: only `run` freezes it unasked."""

from __future__ import annotations

import gc
import sys
from typing import Any, Literal

import pytest

from mcp_gen import Server
from tests.server.serving.test_running import running
from tests.support.frames import HANDSHAKE
from tests.support.http.asgi import surfing


class Counted:
    """Counter of calls of `gc.freeze`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.times = 0
        monkeypatch.setattr(gc, "freeze", self._freeze)

    def _freeze(self) -> None:
        self.times += 1


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(monkeypatch)


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize(("options", "times"), [({}, 1), ({"freeze_gc": False}, 0)])
@pytest.mark.parametrize("many", [False, True])
def test_run_freezes_unless_told_not_to(
    transport: Literal["stdio", "http"],
    options: dict[str, Any],
    times: int,
    many: bool,
    counted: Counted,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server: Any = Server.per_connection(lambda: Server("run")) if many else Server("run")
    # The end comes with the start: stdin is at its end, or the server is told to stop.
    monkeypatch.setattr(sys, "stdin", None)
    if transport == "http":
        import uvicorn

        startup = uvicorn.Server.startup

        async def stop(self: uvicorn.Server, sockets: Any = None) -> None:
            await startup(self, sockets)
            self.should_exit = True

        monkeypatch.setattr(uvicorn.Server, "startup", stop)
        server.run("http", port=0, announce=False, **options)
    else:
        from mcp_gen.transports.stdio import StdioTransport

        async def start(self: StdioTransport, receiver: Any) -> None:
            receiver.closed(None)

        monkeypatch.setattr(StdioTransport, "start", start)
        server.run("stdio", announce=False, **options)
    assert counted.times == times


@pytest.mark.parametrize(("options", "times"), [({}, 0), ({"freeze_gc": True}, 1)])
async def test_a_server_in_the_loop_of_a_program_freezes_if_it_is_told_to(
    options: dict[str, Any], times: int, counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(Server("beside"), monkeypatch, **options):
        assert counted.times == times


@pytest.mark.parametrize(("options", "times"), [({}, 0), ({"freeze_gc": True}, 1)])
@pytest.mark.parametrize("many", [False, True])
async def test_an_app_in_a_program_freezes_once_if_it_is_told_to(
    options: dict[str, Any], times: int, many: bool, counted: Counted
) -> None:
    server: Any = Server.per_connection(lambda: Server("app")) if many else Server("app")
    app = server.asgi(**options)
    for _ in range(2):
        async with surfing(app, HANDSHAKE):
            assert counted.times == times
        await app.aclose()
