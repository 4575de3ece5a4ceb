"""Debian's Chromium without a window, driven through the DevTools protocol over a WebSocket."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import os
import re
import shutil
import signal
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

__all__ = ["ChromiumPage", "chromium_page"]

PROGRAM = "/usr/bin/chromium"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Any free port: the first line on stderr has it.
    "--remote-debugging-port=0",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
START_S = 60.0
ANSWER_S = 60.0
END_S = 10.0


class ChromiumPage:
    """One page of a browser, and all that was reported of it.

    Args:
        connection: The WebSocket of the page.
    """

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._ids = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._loaded = asyncio.Event()
        self.problems: list[str] = []
        """Errors and warnings of the console, exceptions, and refused scripts."""

    async def read(self) -> None:
        """Take what comes, until the browser is gone."""
        with suppress(ConnectionClosed):
            async for text in self._connection:
                message: dict[str, Any] = json.loads(text)
                if "id" in message:
                    self._answers.pop(message["id"]).set_result(message)
                else:
                    self._heard(message["method"], message["params"])
        for answer in self._answers.values():
            answer.set_exception(ConnectionError("the browser is gone"))

    def _heard(self, method: str, params: dict[str, Any]) -> None:
        if method == "Page.loadEventFired":
            self._loaded.set()
        elif method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(params["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.problems.append(json.dumps(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.problems.append(params["entry"]["text"])

    async def ask(self, method: str, **params: Any) -> Any:
        """Call a method of the DevTools protocol, and return its result."""
        id = next(self._ids)
        answer = self._answers[id] = asyncio.get_running_loop().create_future()
        await self._connection.send(json.dumps({"id": id, "method": method, "params": params}))
        async with asyncio.timeout(ANSWER_S):
            message: dict[str, Any] = await answer
        assert "error" not in message, message
        return message["result"]

    async def open(self, file: Path) -> None:
        """Load a file, and wait until it is loaded."""
        for domain in ("Page", "Runtime", "Log"):
            await self.ask(f"{domain}.enable")
        self._loaded.clear()
        await self.ask("Page.navigate", url=file.as_uri())
        async with asyncio.timeout(ANSWER_S):
            await self._loaded.wait()

    async def evaluate(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        found = await self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    async def resize(self, width: int, height: int = 800, *, is_dark: bool = False) -> None:
        """Set the size of the page, in pixels, and its colours."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        await self.ask("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        await self.ask("Emulation.setEmulatedMedia", features=[scheme])

    async def screenshot(self) -> bytes:
        """Return what is seen of the page, as PNG."""
        found = await self.ask("Page.captureScreenshot", format="png")
        return base64.b64decode(found["data"])


@asynccontextmanager
async def chromium_page() -> AsyncGenerator[ChromiumPage]:
    """Start a browser with a profile of its own, and end it afterwards."""
    folder = tempfile.mkdtemp(prefix="chromium-")
    process = await asyncio.create_subprocess_exec(
        PROGRAM,
        *FLAGS,
        f"--user-data-dir={folder}",
        "about:blank",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "HOME": folder},
        start_new_session=True,
    )
    assert process.stderr is not None
    try:
        port = await _port(process.stderr)
        copying = asyncio.create_task(_drain(process.stderr))
        async with connect(await _address(port), max_size=None) as connection:
            page = ChromiumPage(connection)
            reading = asyncio.create_task(page.read())
            yield page
            # Its answer may come or not.
            with suppress(ConnectionError):
                await page.ask("Browser.close")
            await reading
        await copying
    finally:
        await _end(process)
        shutil.rmtree(folder, ignore_errors=True)


async def _port(lines: asyncio.StreamReader) -> int:
    async with asyncio.timeout(START_S):
        async for line in lines:
            found = re.search(rb"DevTools listening on ws://127\.0\.0\.1:(\d+)/", line)
            if found:
                return int(found[1])
    raise AssertionError("the browser ended")


async def _address(port: int) -> str:
    """Return the address of the only page."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET /json/list HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: ?(\d+)", head)
    assert length
    targets = json.loads(await reader.readexactly(int(length[1])))
    writer.close()
    await writer.wait_closed()
    (address,) = (one["webSocketDebuggerUrl"] for one in targets if one["type"] == "page")
    return str(address)


async def _drain(lines: asyncio.StreamReader) -> None:
    while await lines.read(65_536):
        pass


async def _end(process: asyncio.subprocess.Process) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(END_S):
            await process.wait()
    if process.returncode is None:
        # It leads a group of its own.
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
