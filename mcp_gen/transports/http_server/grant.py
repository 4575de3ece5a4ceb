"""Grant: the admission of one request, which its response keeps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Collection

    from mcp_gen.core.transport.authorizing import Admission, Refusal, RequestGate
    from mcp_gen.transports.http_server.asgi import Scope

__all__ = ["Grant"]


class Grant(Struct, frozen=True):
    """Admission of one request, and the gate that gave it.

    Args:
        gate: The gate.
        scope: ASGI scope of the request.
        admission: What the gate admitted.
    """

    gate: RequestGate
    scope: Scope
    admission: Admission

    def __repr__(self) -> str:
        # Not the scope: its headers have the token.
        return f"Grant({self.admission!r})"

    @property
    def ends_at(self) -> float:
        """Time at which streams of the request end, in seconds since 1970; infinite for never."""
        token = self.admission.token
        if token is None or token.expires_at is None:
            return math.inf
        return token.expires_at + self.gate.leeway_s

    def forbid(self, missing: Collection[str]) -> Refusal:
        """Return the refusal of the request, whose token lacks scopes."""
        return self.gate.insufficient(self.scope, missing, self.admission)
