"""Request of a test's client, and the input requests that a client answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import msgspec

import mcp_wire

__all__ = ["SILENCE", "WAIT_S", "Answer", "Asked", "Refused", "declared"]

WAIT_S = 30.0

Answer: TypeAlias = "Callable[[dict[str, Any]], Any]"
"""Function of an input request's params that returns its result; may be async or raise Refused."""

SILENCE = object()
"""Result of a handler that never answers."""

CAPABILITIES: dict[str, tuple[str, dict[str, Any]]] = {
    "elicitation/create": ("elicitation", {"form": {}, "url": {}}),
    "sampling/createMessage": ("sampling", {"tools": {}, "context": {}}),
    "roots/list": ("roots", {"listChanged": True}),
}


class Refused(Exception):
    """Raised for an error response; `error` is the error as received."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error: dict[str, Any] = {"code": code, "message": message}
        if data is not None:
            self.error["data"] = data

    @property
    def code(self) -> int:
        """Error code as received."""
        return int(self.error["code"])

    @property
    def message(self) -> str:
        """Message of the error."""
        return str(self.error["message"])

    @property
    def data(self) -> Any:
        """Data of the error; None without any."""
        return self.error.get("data")


@dataclass
class Asked:
    """Request of ours, with the messages for it."""

    id: Any
    answer: asyncio.Future[dict[str, Any]]
    notices: list[dict[str, Any]] = field(default_factory=list)
    """Notifications between the request and its response."""

    async def result(self) -> dict[str, Any]:
        """Return the result. Raises Refused for an error."""
        async with asyncio.timeout(WAIT_S):
            frame = await asyncio.shield(self.answer)
        if "error" in frame:
            error = frame["error"]
            raise Refused(error["code"], error["message"], error.get("data"))
        result: dict[str, Any] = frame["result"]
        return result


def declared(revision: str, methods: Iterable[str]) -> dict[str, Any]:
    """Return the capabilities of a client that answers these methods, as in the revision."""
    kind = mcp_wire.types(revision).ClientCapabilities
    given = dict(CAPABILITIES[method] for method in methods if method in CAPABILITIES)
    # Members that the revision does not define are dropped.
    known = mcp_wire.decode(kind, msgspec.json.encode(given))
    found: dict[str, Any] = msgspec.json.decode(mcp_wire.encode(known))
    return found
