"""Clients of a bridge as its upstream sessions see them: in a call, and outside of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from mcp_gen.core.errors import InvalidRequest, McpError
from mcp_gen.core.projection.project import restate
from mcp_gen.server.context.context import Context, origin_of, set_input_params
from mcp_gen.server.relaying.caller_relay import CallerRelay
from mcp_gen.session.peer.session import RequestOrigin
from mcp_wire import encode, latest

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from mcp_gen.server.server import Server
    from mcp_gen.session.peer.session import Session

__all__ = ["BridgeCaller", "SessionCaller", "StatelessCaller", "passed_on", "plain"]


def passed_on(
    declared: latest.ClientCapabilities, *, has_session: bool
) -> latest.ClientCapabilities:
    """Return the capabilities that are declared to the server for a client: its own.

    Tasks on the client's side are left out: the bridge has no store for them.

    Args:
        declared: Capabilities of the client.
        has_session: True if the client has a session. Changes of roots are left out without one:
            nobody tells of them, and a server must not keep the roots of one call for the next.
    """
    extra = {k: one for k, one in declared.extra.items() if k != "tasks"}
    found = declared.with_extra(extra) if len(extra) < len(declared.extra) else declared
    return found if has_session or not found.roots else replace(found, roots={})


def plain(declared: latest.ClientCapabilities, revision: str) -> dict[str, Any]:
    """Return capabilities at a revision, as plain JSON."""
    found: dict[str, Any] = msgspec.json.decode(encode(restate(declared, revision).value))
    return found


class BridgeCaller(CallerRelay):
    """Caller of a forwarded request, with all capabilities of the client.

    Args:
        ctx: The request.
        on_roots: Called with the roots that the client gives.
    """

    def __init__(self, ctx: Context, on_roots: Callable[[list[latest.Root]], None]) -> None:
        super().__init__(ctx)
        self._on_roots = on_roots

    def capabilities(self, revision: str) -> dict[str, Any]:
        """Return the capabilities of the client at a revision, as plain JSON."""
        origin = origin_of(self.ctx)
        if origin.capabilities.__class__ is dict and self.ctx.revision == revision:
            declared: dict[str, Any] = origin.capabilities
            return declared
        return plain(
            passed_on(origin.capabilities_read(), has_session=origin.session is not None), revision
        )

    async def request(self, role: Any, params: Any, elicitation_id: str | None = None) -> Any:
        """Send an input request of the server to the client, and return its result."""
        result = await super().request(role, params, elicitation_id)
        if isinstance(result, latest.ListRootsResult):
            self._on_roots(list(result.roots))
        return result


class SessionCaller:
    """Client of one session, for requests of the server outside of any call.

    Args:
        server: The server that clients of the bridge see.
        session: The session.
    """

    def __init__(self, server: Server, session: Session) -> None:
        self._server = server
        self._session = session

    @property
    def client(self) -> Hashable:
        """Identity of the client: its session."""
        return id(self._session)

    @property
    def is_ready(self) -> bool:
        """True: the client of a session can be asked at any time."""
        return True

    def _caller(self) -> BridgeCaller:
        known = self._session.origin
        if known is None:
            raise McpError(InvalidRequest.code, "the client has not ended its handshake")
        origin = RequestOrigin(known.profile, self._session.channel, self._session)
        origin.capabilities, origin.client_info = known.capabilities, known.client_info
        origin.ready = True
        ctx = Context(self._server, None, origin, None)
        set_input_params(ctx, self)
        return BridgeCaller(ctx, _forget)

    def capabilities(self, revision: str) -> dict[str, Any]:
        """Return the capabilities of the client at a revision, as plain JSON."""
        return self._caller().capabilities(revision)

    def log_level(self) -> str | None:
        """Return the log level that the client has set for its session."""
        return self._session.log_level

    async def request(self, role: str, params: Any, elicitation_id: str | None = None) -> Any:
        """Send a request of the server to the client, and return its result."""
        return await self._caller().request(role, params, elicitation_id)

    def log(self, level: Any, data: Any, logger: str | None) -> None:
        """Send a log message to the client."""
        self._caller().log(level, data, logger)


class StatelessCaller:
    """Clients of a revision without sessions, for requests of the server outside of any call.

    They cannot be asked: the bridge answers `roots/list` itself, with the roots that a client gave
    last, and refuses all others.
    """

    def __init__(self, declared: latest.ClientCapabilities) -> None:
        self._declared = declared
        self.roots: list[latest.Root] = []
        """Roots that a client gave last."""

    client: Hashable = None
    is_ready = True

    def capabilities(self, revision: str) -> dict[str, Any]:
        """Return the capabilities of the clients at a revision, as plain JSON."""
        return plain(self._declared, revision)

    def log_level(self) -> None:
        """Return None: log messages belong to calls."""
        return

    async def request(self, role: str, params: Any, elicitation_id: str | None = None) -> Any:
        """Answer `roots/list`; refuse the other requests.

        Raises:
            McpError: The client cannot be asked outside of a call.
        """
        if role == "list_roots":
            return latest.ListRootsResult(roots=self.roots)
        raise McpError(
            InvalidRequest.code,
            "the client of this call has a revision at which servers ask in results only, and no "
            "call is open that this question belongs to",
        )

    def log(self, level: Any, data: Any, logger: str | None) -> None:
        """Drop a log message: at this revision it would have to belong to a call."""


def _forget(roots: list[latest.Root]) -> None:
    """Keep no roots: this client can always be asked."""
