"""Clients that break the rules of stdio, and their twins.

Memory stands for the pipes, but for clients that do something with the process of their server.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from mcp_gen.compat.reference.client_script import ClientScript, ScriptFailure
from mcp_gen.compat.zoo.process_client import OfProcess, send_signals
from mcp_gen.compat.zoo.zoo import breaks, keeps

if TYPE_CHECKING:
    from mcp_gen.compat.reference.client import ServerReply

A_MOMENT_S = 0.1
PATIENCE_S = 0.6
"""Seconds that a process gets to end when its stdin is closed."""


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


# --- processes ---


@breaks("stdio:client:restarts")
class GivesUpProcesses(ClientScript):
    """Does nothing more once its server has ended."""

    def has_lost_server(self, reply: ServerReply) -> bool:
        return False


@keeps("stdio:client:restarts")
class StartsAnewLater(ClientScript):
    """Starts its server anew after a moment."""

    async def restart(self) -> None:
        await asyncio.sleep(A_MOMENT_S)
        await super().restart()


class _Subscribes(ClientScript):
    """Asks to be told of changes on its first connection."""

    async def connect(self) -> None:
        await super().connect()
        await self.subscribe()

    async def subscribe(self) -> None:
        """Ask to be told of changes."""
        asked = {"notifications": {"toolsListChanged": True}}
        await self.send(self.request_frame(self.wire_name("subscriptions_listen"), asked))


@breaks("subscriptions:client:again")
class SubscribesOnce(_Subscribes):
    """Does not ask again on a new connection."""


@keeps("subscriptions:client:again")
class SubscribesAgain(_Subscribes):
    """Asks again on a new connection, after its next request."""

    async def restart(self) -> None:
        await super().restart()
        await self.ask("list_tools")
        await self.subscribe()


@breaks("stdio:client:stderr")
class FearsLogs(OfProcess):
    """Takes each line on stderr for an error."""

    def read_log(self, written: bytes) -> None:
        if written:
            raise ScriptFailure("the server has written errors")


@keeps("stdio:client:stderr")
class ShowsLogs(OfProcess):
    """Passes on what is written to stderr."""

    def read_log(self, written: bytes) -> None:
        sys.stderr.buffer.write(written)


class _Ends(OfProcess):
    """Ends the process with signals, some time after it has closed stdin."""

    names: ClassVar[tuple[str, ...]] = ()

    async def leave(self) -> None:
        ending = asyncio.ensure_future(self._end(self.process_id))
        await self.aclose()
        ending.cancel()

    async def _end(self, process_id: int | None) -> None:
        await asyncio.sleep(PATIENCE_S)
        await send_signals(process_id, *self.names)


@breaks("lifecycle:client:shutdown")
class TerminatesAtOnce(_Ends):
    """Ends the process with SIGTERM, and closes its stdin afterwards."""

    names = ("SIGKILL",)

    async def leave(self) -> None:
        await send_signals(self.process_id, "SIGTERM")
        await super().leave()


@keeps("lifecycle:client:shutdown")
class TerminatesInSteps(_Ends):
    """Closes stdin, waits, and sends SIGTERM, then SIGKILL."""

    names = ("SIGTERM", "SIGKILL")


@breaks("lifecycle:client:shutdown:sigterm")
class KillsAtOnce(_Ends):
    """Closes stdin, waits, and kills the process."""

    names = ("SIGKILL",)


@keeps("lifecycle:client:shutdown:sigterm")
class InterruptsFirst(_Ends):
    """Sends SIGINT before SIGTERM."""

    names = ("SIGINT", "SIGTERM", "SIGKILL")
