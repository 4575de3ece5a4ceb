"""Server that speaks first: it does something as soon as its client is ready."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, ClassVar

from mcp_gen.compat.scenarios.staged import StagedServer

if TYPE_CHECKING:
    from mcp_gen.compat.json_values import Json
    from mcp_gen.compat.reference.call import ReferenceCall

__all__ = ["ReadyServer"]


class ReadyServer(StagedServer):
    """Calls `when_ready` once, and answers nothing else before that has ended.

    So the client is still there to hear of it. After `patience_s` the server goes on.
    """

    patience_s: ClassVar[float] = 1.0

    def __init__(self, revision: str) -> None:
        super().__init__(revision)
        self._readying: asyncio.Task[None] | None = None
        self._answered = 0

    async def when_ready(self) -> None:
        """Do the special thing, such as to ask the client something."""
        raise NotImplementedError

    def send(self, message: Json | list[Any]) -> None:
        """Send anything that belongs to no request."""
        # A batch goes out like a frame; see `ReferenceServer.receive_batch`.
        self._to_client(message)  # type: ignore[arg-type]

    def receive_notification(self, frame: Json) -> None:
        """Begin after the handshake."""
        super().receive_notification(frame)
        initialized = self.profile.initialized
        if initialized is not None and frame["method"] == initialized.name:
            self._begin()

    async def answer(self, call: ReferenceCall) -> Json:
        """Begin with the second request where there is no handshake; wait until all is done."""
        if self.profile.handshake is None and self._answered:
            self._begin()
        self._answered += 1
        if self._readying is not None:
            await asyncio.wait([self._readying], timeout=self.patience_s)
        return await super().answer(call)

    def _begin(self) -> None:
        if self._readying is None:
            self._readying = asyncio.get_running_loop().create_task(self.when_ready())
            self.calls["ready"] = self._readying
