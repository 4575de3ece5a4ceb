"""Clients that break the rules of stdio, and their twins; memory stands for the pipes."""

from __future__ import annotations

from typing import Any

import msgspec

from mcp_gen.compat.reference.client_script import ClientScript, ScriptFailure
from mcp_gen.compat.zoo.zoo import breaks, keeps


@breaks("stdio:client:supported")
class SaysNothing(ClientScript):
    """Starts the server, and says nothing."""

    async def connect(self) -> None:
        await self.wire.open()
        raise ScriptFailure("nothing to say")


@keeps("stdio:client:supported")
class OnlyOpens(ClientScript):
    """Opens the connection, and leaves."""

    async def use(self) -> None:
        pass


class _Lines(ClientScript):
    """Writes lines of its own to the server."""

    async def write(self, *lines: bytes) -> None:
        """Write each."""
        for line in lines:
            await self.wire.send(line)


@breaks("stdio:client:lines")
class PrintsInManyLines(_Lines):
    """Writes a request in several lines."""

    async def complete(self) -> None:
        frame = self.request_frame(self.wire_name("list_prompts"))
        text = msgspec.json.format(msgspec.json.encode(frame), indent=1)
        await self.write(*text.splitlines())


@keeps("stdio:client:lines")
class PrintsInOneLine(_Lines):
    """Writes a request with white space in one line."""

    async def complete(self) -> None:
        frame = self.request_frame(self.wire_name("list_tools"))
        await self.write(msgspec.json.encode(frame).replace(b",", b" ,\t"))


@breaks("stdio:client:stdin-clean")
class WritesLogs(_Lines):
    """Writes a line of its log to the server."""

    async def complete(self) -> None:
        await self.write(b"INFO completing")


@keeps("stdio:client:stdin-clean")
class SendsLogs(ClientScript):
    """Sends a line of its log as metadata of a request."""

    def request_meta(self) -> dict[str, Any]:
        return {**super().request_meta(), "com.example/log": "INFO completing"}
