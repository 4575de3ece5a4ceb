"""A server bound to one revision: routes, lifecycle, identity."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from msgspec import Raw
from msgspec.structs import replace

import mcp_wire
from mcp_gen.session.kernel.limits import time_limit
from mcp_wire import encode

if TYPE_CHECKING:
    from mcp_gen.session.kernel.lifecycle import Lifecycle
    from mcp_wire.method import Route
    from mcp_wire.profile import Profile

__all__ = ["Bindings", "Handle", "RevisionBinding", "timed"]

C = TypeVar("C")
Handle: TypeAlias = Callable[[C, Any], Awaitable[Any]]
"""Handler of a route: takes the context and decoded params, returns the result."""


class RevisionBinding(Generic[C]):
    """A server bound to one revision: its routes and its lifecycle, built once.

    Args:
        profile: Profile of the revision.
        routes: Route of each request, by method.
        lifecycle: Admission strategy of the revision.
        identity: Members of `_meta` in each result that name the server; empty where the revision
            has none.
        name_params: Parameter that the name header repeats, by method; see
            `Extensions.name_params`.
    """

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
        self.routes = routes
        self.lifecycle = lifecycle
        self.identity: dict[str, Any] = {key: Raw(encode(info)) for key, info in identity.items()}
        """Encoded members of `_meta` in each result that name the server; may be empty."""

    def with_identity(self, result: Any) -> Any:
        """Return a result of the revision with the server's identity in `_meta`."""
        identity = self.identity
        meta: dict[str, Any] | None = result.meta
        return replace(result, meta=identity if meta is None else {**identity, **meta})


class Bindings(dict[str, RevisionBinding[C]]):
    """Bindings of one server by revision; each is built when it is first looked up.

    Args:
        bind: Builds the binding of a revision from its profile.
    """

    def __init__(self, bind: Callable[[Profile], RevisionBinding[C]]) -> None:
        super().__init__()
        self._bind = bind

    def __missing__(self, revision: str) -> RevisionBinding[C]:
        made = self[revision] = self._bind(mcp_wire.profile(revision))
        return made


def timed(limit_s: float, method: str, call: Handle[C]) -> Handle[C]:
    """Return a handler that is cancelled and fails with RequestTimeout after a time limit.

    Args:
        limit_s: Seconds that a request may take.
        method: Name of the method, for the error text.
        call: Handler to limit.
    """

    async def call_in_time(ctx: C, params: Any) -> Any:
        with time_limit(limit_s, method):
            return await call(ctx, params)

    return call_in_time
