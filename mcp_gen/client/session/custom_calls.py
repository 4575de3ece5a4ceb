"""Requests and notifications of a session beside the protocol: custom ones, and of extensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

import msgspec

from mcp_gen.client.tools.typed_results import read_as
from mcp_gen.core.errors import UsageError
from mcp_gen.core.extensions.extensions import exists_at, owner_of
from mcp_gen.session.messages.custom_methods import (
    as_params,
    check_name,
    notification_row,
    request_row,
)
from mcp_gen.session.messages.sender import RevisionAdapter
from mcp_wire.hook_machinery import HookPoint

if TYPE_CHECKING:
    from mcp_gen.client.requests.sender import ClientRequestSender
    from mcp_gen.client.requests.settings import SessionOptions
    from mcp_gen.client.session.recovery import Recovery
    from mcp_gen.session.duplex.client import ClientConnection
    from mcp_wire.method import Method
    from mcp_wire.peer_calls import OnProgress

__all__ = ["CustomCalls"]

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")


class CustomCalls(RevisionAdapter):
    """Base of `ClientSession` that sends messages beside the protocol."""

    _connection: ClientConnection
    _options: SessionOptions
    _recovery: Recovery
    _sender: ClientRequestSender

    @overload
    async def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
    ) -> R: ...

    @overload
    async def request(
        self,
        method: str,
        params: Any = None,
        *,
        returns: type[T],
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
    ) -> T: ...

    @overload
    async def request(
        self,
        method: str,
        params: Any = None,
        *,
        returns: None = None,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
    ) -> dict[str, Any]: ...

    async def request(
        self,
        method: Any,
        params: Any = None,
        *,
        returns: Any = None,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
    ) -> Any:
        """Send a request beside the protocol: a custom one by its name, or one of an extension.

            found = await session.request("acme/search", {"text": "tea"}, returns=Found)

        For typed calls of an extension use `ToServer(session)` of its package.

        Args:
            method: Name of the custom method, or the method from the extension's package.
            params: Its params: for a custom method a mapping or a value that msgspec encodes as a
                JSON object, None for none.
            returns: Type of the result of a custom method: a dataclass, TypedDict, msgspec Struct
                or pydantic model. None: the JSON object.
            timeout_s: Seconds that the answer may take; None: the default of the session.
            progress: Called with each progress notification.

        Returns:
            The result.

        Raises:
            UsageError: The client was created without the extension, the negotiated revision does
                not support it, a custom method has a name of the protocol, or its params are no
                JSON object.
            InvalidResult: The result of a custom method does not fit `returns`.
            McpError: The server returned an error.
            RequestTimeout: The server did not answer in time.
            SessionLost: The server disconnected.
        """
        row = method
        if isinstance(method, str):
            row, params = self._custom_request(method), as_params(method, params)
        self._check_carried(row)
        connection = self._connection
        if connection.is_lost:
            await self._recovery.restart(connection)
            self._check_carried(row)
        result: Any = await self._sender.request(
            row,
            self._with_meta(params),
            timeout_s=self.default_timeout_s if timeout_s is None else timeout_s,
            progress=progress,
        )
        return result if returns is None else read_as(row.name, result, returns)

    @overload
    async def notify(self, method: Method[P, None], params: P) -> None: ...

    @overload
    async def notify(self, method: str, params: Any = None) -> None: ...

    async def notify(self, method: Any, params: Any = None) -> None:
        """Send a notification beside the protocol: a custom one by its name, or an extension's.

        Args:
            method: Name of the custom notification, or the method from the extension's package.
            params: Its params; see `request`.

        Raises:
            UsageError: The client was created without the extension, the negotiated revision does
                not support it, a custom notification has a name of the protocol, or its params are
                no JSON object.
        """
        if isinstance(method, str):
            check_name(method)
            params = as_params(method, params)
            method = notification_row(method, dict)
        self._check_carried(method)
        await self._sender.notify(method, params)

    def _custom_request(self, name: str) -> Method[Any, Any]:
        check_name(name)
        outbound = self._connection.hooks.outbound
        if name not in outbound.points:
            HookPoint[Any, Any](outbound, name)  # for the hooks of any request
        return request_row(name, dict)

    def _check_carried(self, method: Method[Any, Any]) -> None:
        if method.params is dict:
            return  # a custom method: the program knows what the server has
        if not exists_at(owner_of(self._options.extensions, method), self.profile):
            raise UsageError(f"{self.revision} has no {method.name}")

    def _with_meta(self, params: Any) -> Any:
        if params.__class__ is dict:
            meta = self._with_identity(params.get("_meta"))
            return params if meta is None else {**params, "_meta": meta}
        return msgspec.structs.replace(params, meta=self._with_identity(params.meta))
