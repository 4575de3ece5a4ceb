"""The zoo for tests of clients: strict servers, and servers that break one rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from mcp_gen.compat.plugin.conversation import Conversation
from mcp_gen.compat.plugin.recorder import spoken_at
from mcp_gen.compat.plugin.sync_session import LoopThread
from mcp_gen.compat.plugin.zoo_server import ZooServer
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.requirements.manifest import requirements
from mcp_gen.compat.zoo.zoo import Pair, zoo
from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from mcp_gen.compat.plugin.judged_test import JudgedTest
    from mcp_gen.compat.report.model import Side

__all__ = ["McpZoo"]


class McpZoo:
    """Servers of one revision for a test of a client: the value of the fixture `mcp_zoo`.

    What the client says to them is judged. Of the strict server, both sides are.

    Args:
        test: The test that judges it.
        folder: Returns the folder for the transcripts of processes.
        skip: Skips the test with a reason.
    """

    def __init__(
        self, test: JudgedTest, folder: Callable[[], Path], skip: Callable[[str], NoReturn]
    ) -> None:
        self.revision = test.revision
        """The revision of the servers."""
        self._folder = folder
        self._skip = skip
        self._peers: list[tuple[str, ZooServer]] = []
        self._thread: LoopThread | None = None
        test.sources.append(self._said)

    def reference(self) -> ZooServer:
        """Return the strict server; see `reference_server` for what it offers."""
        return self._peer("the strict server", ReferenceServer)

    def breaking(self, requirement: str) -> ZooServer:
        """Return the server that breaks one requirement, and nothing else.

        Args:
            requirement: Id of the requirement. The test is skipped at revisions without it.

        Raises:
            UsageError: no server of the zoo breaks it.
        """
        return self._peer(f"breaks {requirement}", self._pair(requirement).breaks)

    def keeping(self, requirement: str) -> ZooServer:
        """Return the server that just keeps one requirement, at the edge of what is allowed.

        Args:
            requirement: Id of the requirement. The test is skipped at revisions without it.

        Raises:
            UsageError: the zoo has no such server.
        """
        return self._peer(f"keeps {requirement}", self._pair(requirement).keeps)

    def requirements(self) -> tuple[str, ...]:
        """Return the ids of the requirements that servers of the zoo break at the revision."""
        return tuple(
            id
            for id in zoo()
            if requirements()[id].applies == "server"
            and self.revision in requirements()[id].revisions
        )

    def close(self) -> None:
        """Stop serving over HTTP."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.close()

    def _loop_thread(self) -> LoopThread:
        if self._thread is None:
            self._thread = LoopThread()
        return self._thread

    def _pair(self, requirement: str) -> Pair:
        pair = zoo().get(requirement)
        if pair is None or requirements()[requirement].applies != "server":
            raise UsageError(
                f"mcp_zoo: no server breaks {requirement!r}; `mcp_zoo.requirements()` has the ids"
            )
        if self.revision not in requirements()[requirement].revisions:
            self._skip(f"{self.revision} does not have {requirement}")
        return pair

    def _peer(self, name: str, kind: type[Any]) -> ZooServer:
        folder = self._folder() / f"peer-{len(self._peers)}"
        peer = ZooServer(kind, self.revision, log=folder, thread=self._loop_thread)
        self._peers.append((name, peer))
        return peer

    def _said(self) -> Iterable[Conversation]:
        for name, peer in self._peers:
            sides: tuple[Side, ...] = ("client", "server") if peer.is_strict else ("client",)
            for whole in peer.transcripts:
                said = spoken_at(peer.revision, whole)
                yield Conversation(name, said.transport, said, sides)
