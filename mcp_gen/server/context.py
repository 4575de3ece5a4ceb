"""What a handler may ask about the request it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_gen.core.envelope import RequestId
    from mcp_gen.session.lifecycle import Caller
    from mcp_wire.profile import Profile

__all__ = ["Context"]


class Context(Struct, eq=False):
    """One request being answered. Ask for it with a parameter annotated `Context`."""

    request_id: RequestId | None
    """The id of the request; None in a hook of a notification, which has none."""
    caller: Caller
    meta: dict[str, Any] | None
    """The request's `_meta`, as it came."""

    @property
    def profile(self) -> Profile:
        """The facts of the revision this request is answered at."""
        return self.caller.profile

    @property
    def revision(self) -> str:
        """The revision this request is answered at."""
        return self.caller.profile.revision

    @property
    def client_info(self) -> Any:
        """What the client says it is: a wire type, or plain JSON; None if it does not say.

        For display and logs only: nothing vouches for it.
        """
        return self.caller.client_info

    @property
    def client_capabilities(self) -> Any:
        """What the client declared: a wire type, or plain JSON."""
        return self.caller.capabilities

    @property
    def headers(self) -> Mapping[str, str] | None:
        """The HTTP headers, names in lower case; None where there is no HTTP."""
        return cast("Mapping[str, str] | None", self.caller.headers)
