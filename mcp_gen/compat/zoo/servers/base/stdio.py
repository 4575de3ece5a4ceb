"""Servers that break the rules of stdio, and their twins."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from mcp_gen.compat.json_values import Json
from mcp_gen.compat.method_names import method_of
from mcp_gen.compat.reference.call import Outlet, ReferenceCall
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.zoo.zoo import breaks, keeps


class _OtherLines(ReferenceServer):
    """Writes something beside the answer to a list of tools."""

    async def run(self, call: ReferenceCall) -> None:
        await super().run(call)
        if call.method == method_of(self.profile, "list_tools").name:
            self.write(call.outlet)

    def write(self, outlet: Outlet) -> None:
        """Write something."""


@breaks("stdio:stdout-clean")
class Prints(_OtherLines):
    """Prints to stdout."""

    def write(self, outlet: Outlet) -> None:
        outlet(_as_it_is(b"Listing the tools ..."))


@keeps("stdio:stdout-clean")
class EmptyLists(_OtherLines):
    """Sends a message with nothing but what must be there."""

    def write(self, outlet: Outlet) -> None:
        if self.profile.log_level_key is None:
            outlet(self.notification_frame("logging_message", {"level": "emergency", "data": ""}))


@breaks("stdio:lines")
class PrettyPrints(_OtherLines):
    """Writes a message with line breaks, so that people can read it."""

    def write(self, outlet: Outlet) -> None:
        frame = self.notification_frame("tool_list_changed", {})
        outlet(_as_it_is(msgspec.json.format(msgspec.json.encode(frame), indent=2)))


@keeps("stdio:lines")
class LineBreaksInTexts(ReferenceServer):
    """Sends texts with line breaks, which JSON escapes."""

    async def run_echo(self, call: ReferenceCall, arguments: Json) -> Json:
        return {"content": [{"type": "text", "text": "one\r\ntwo\u2028three\n"}]}


@breaks("stdio:exit")
class Lingers(ReferenceServer):
    """Goes on when its client is gone."""

    async def aclose(self) -> None:
        await super().aclose()
        await asyncio.sleep(60)


@keeps("stdio:exit")
class TidiesUp(ReferenceServer):
    """Takes a moment to tidy up when its client is gone."""

    async def aclose(self) -> None:
        await super().aclose()
        await asyncio.sleep(0.1)


def _as_it_is(text: bytes) -> Any:
    """Return bytes as a frame that is written as they are."""
    return msgspec.Raw(text)
