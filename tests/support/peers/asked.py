"""A request of a test's client, and what a client may be asked."""

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
"""Takes a question's params, and gives its result as JSON; may be async, may raise Refused."""

SILENCE = object()
"""What a handler gives that never answers."""

CAPABILITIES: dict[str, tuple[str, dict[str, Any]]] = {
    "elicitation/create": ("elicitation", {"form": {}, "url": {}}),
    "sampling/createMessage": ("sampling", {"tools": {}, "context": {}}),
    "roots/list": ("roots", {"listChanged": True}),
}


class Refused(Exception):
    """The other side answered with an error: `error` is it, as it came."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error: dict[str, Any] = {"code": code, "message": message}
        if data is not None:
            self.error["data"] = data

    @property
    def code(self) -> int:
        return int(self.error["code"])

    @property
    def data(self) -> Any:
        return self.error.get("data")


@dataclass
class Asked:
    """One request of ours: what came for it."""

    id: Any
    answer: asyncio.Future[dict[str, Any]]
    notices: list[dict[str, Any]] = field(default_factory=list)
    """The notifications that came between the request and its answer."""

    async def result(self) -> dict[str, Any]:
        """The result. Raises Refused for an error."""
        async with asyncio.timeout(WAIT_S):
            frame = await asyncio.shield(self.answer)
        if "error" in frame:
            error = frame["error"]
            raise Refused(error["code"], error["message"], error.get("data"))
        result: dict[str, Any] = frame["result"]
        return result


def declared(revision: str, methods: Iterable[str]) -> dict[str, Any]:
    """The capabilities of a client that answers these methods, as the revision knows them."""
    kind = mcp_wire.types(revision).ClientCapabilities
    given = dict(CAPABILITIES[method] for method in methods if method in CAPABILITIES)
    # What the revision does not name is dropped on the way.
    known = mcp_wire.decode(kind, msgspec.json.encode(given))
    found: dict[str, Any] = msgspec.json.decode(mcp_wire.encode(known))
    return found
