"""A server bound to one revision: routes, lifecycle, identity."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from msgspec import Raw
from msgspec.structs import replace

from mcp_gen.session.kernel.limits import time_limit
from mcp_wire import encode

if TYPE_CHECKING:
    from mcp_gen.session.kernel.lifecycle import Lifecycle
    from mcp_wire.method import Route
    from mcp_wire.profile import Profile

__all__ = ["Handle", "RevisionBinding", "timed"]

C = TypeVar("C")
Handle: TypeAlias = Callable[[C, Any], Awaitable[Any]]


class RevisionBinding(Generic[C]):
    """One server at one revision: its routes and its lifecycle, built once."""

    __slots__ = ("identity", "lifecycle", "name_params", "profile", "routes")

    def __init__(
        self,
        profile: Profile,
        routes: dict[str, Route[C]],
        lifecycle: Lifecycle,
        identity: dict[str, Any],
        name_params: Mapping[str, tuple[str, str]],
    ) -> None:
        self.profile = profile
        self.name_params = name_params
        """What the requests of extensions are about, by method: see `Extensions.name_params`."""
        self.routes = routes
        self.lifecycle = lifecycle
        self.identity: dict[str, Any] = {key: Raw(encode(who)) for key, who in identity.items()}
        """What `_meta` of every answer holds: who the server is, where the revision wants that."""

    def whole(self, result: Any) -> Any:
        """A result of the revision, with its identity if it has one."""
        identity = self.identity
        meta: dict[str, Any] | None = result.meta
        return replace(result, meta=identity if meta is None else {**identity, **meta})


def timed(limit_s: float, method: str, call: Handle[C]) -> Handle[C]:
    """Return a handler that fails with RequestTimeout after `limit_s` seconds."""

    async def call_in_time(ctx: C, params: Any) -> Any:
        with time_limit(limit_s, method):
            return await call(ctx, params)

    return call_in_time
