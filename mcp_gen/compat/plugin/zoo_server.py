"""One server of the zoo for a test of a client: in this process, as a command, and over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp_gen.compat.reference.http.endpoint import ReferenceEndpoint
from mcp_gen.compat.reference.peers import ServerPeer
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from mcp_gen.compat.plugin.sync_session import LoopThread
    from mcp_gen.compat.transcript import Transcript
    from mcp_gen.core.transport.protocols import Duplex

__all__ = ["ZooServer"]


class ZooServer(ServerPeer):
    """A server of exactly one revision; see `ServerPeer`. It also has a `url`.

    Args:
        kind: The class of the server, or of its HTTP endpoint.
        revision: The revision.
        log: Folder for the transcripts of processes.
        thread: Returns the thread in which it is served over HTTP.
    """

    def __init__(
        self, kind: type[Any], revision: str, *, log: Path, thread: Callable[[], LoopThread]
    ) -> None:
        self.is_of_http = issubclass(kind, ReferenceEndpoint)
        """True if what is special about it is its HTTP: it has a URL alone."""
        super().__init__(ReferenceServer if self.is_of_http else kind, revision, log=log)
        self._endpoint_kind = kind if self.is_of_http else ReferenceEndpoint
        self._thread = thread
        self._endpoint: ReferenceEndpoint | None = None
        self._url = ""

    @property
    def is_strict(self) -> bool:
        """True if it breaks no requirement."""
        return self.kind is ReferenceServer and not self.is_of_http

    @property
    def url(self) -> str:
        """URL of its endpoint on loopback, which serves until the end of the test.

        At a revision with two endpoints it is that of the stream.
        """
        if self._endpoint is None:
            endpoint = self._endpoint_kind(lambda: self.kind(self.revision), self.revision)
            self._url = self._thread().enter(endpoint.serving())
            self._endpoint = endpoint
        return self._url

    @property
    def command(self) -> list[str]:
        """The words of the command that serves one client on stdin and stdout.

        Raises:
            UsageError: it has a URL alone.
        """
        self._refuse_if_of_http()
        return super().command

    async def serve(self, transport: Duplex) -> None:
        """Serve one client until it disconnects; see `ServerPeer`.

        Raises:
            UsageError: it has a URL alone.
        """
        self._refuse_if_of_http()
        await super().serve(transport)

    @property
    def transcripts(self) -> list[Transcript]:
        """One transcript per client, over whatever transport."""
        found = super().transcripts
        if self._endpoint is not None:
            every = [self._endpoint.unknown, *(one.transcript for one in self._endpoint.clients)]
            found += [one for one in every if one.events]
        return found

    def _refuse_if_of_http(self) -> None:
        if self.is_of_http:
            raise UsageError("mcp_zoo: this server is one over HTTP: connect to its `url`")
