"""Reference server: what requests have to say of their client, and results of the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mcp_wire
from mcp_gen.compat.json_values import Json, is_object
from mcp_gen.compat.reference.call import Failure
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.reference.call import ReferenceCall

__all__ = ["StatingServer", "text_content"]

NAME = "mcp-gen reference server"
HANDSHAKES = frozenset(
    method.name
    for method in (profile_of(revision).handshake for revision in mcp_wire.REVISIONS)
    if method is not None
)


class StatingServer:
    """The part of the reference server that states who speaks, and which revision.

    Args:
        revision: The revision.
    """

    def __init__(self, revision: str) -> None:
        super().__init__()
        self.profile = profile_of(revision)
        self.client_capabilities: Json = {}
        """Declared in the handshake, or in the request that is being answered."""

    def info(self) -> Json:
        """Return name and version of the server."""
        return {"name": NAME, "version": "1.0.0"}

    def check_metadata(self, call: ReferenceCall) -> None:
        """Refuse a request that does not say what each must, where there is no handshake."""
        profile = self.profile
        if profile.protocol_version_key is None or profile.client_capabilities_key is None:
            return
        version = call.meta.get(profile.protocol_version_key)
        capabilities = call.meta.get(profile.client_capabilities_key)
        if version is None or not is_object(capabilities):
            raise Failure(profile.errors.invalid_params, "Missing protocol version or capabilities")
        if version != profile.revision:
            assert profile.errors.unsupported_protocol_version is not None
            raise Failure(
                profile.errors.unsupported_protocol_version,
                "Unsupported protocol version",
                {"supported": [profile.revision], "requested": version},
            )
        self.client_capabilities = capabilities

    def advice(self, call: ReferenceCall) -> Json | None:
        """Return the data of the error for an unknown method.

        A client of an earlier revision can do nothing but show it to its user.
        """
        return {"supported": [self.profile.revision]} if call.method in HANDSHAKES else None

    def lacking(self, capability: str) -> Json:
        """Refuse a call that needs a capability which the client has not declared.

        Raises:
            Failure: the revision has an error for it.
        """
        text = f"the client has not declared {capability}"
        code = self.profile.errors.missing_required_client_capability
        if code is not None:
            raise Failure(code, text, {"requiredCapabilities": {capability: {}}})
        return {**text_content(text), "isError": True}

    def signed(self, result: Json) -> Json:
        """Return a result that says which server made it, where results do."""
        if self.profile.server_info_key is None:
            return result
        meta = {**result.get("_meta", {}), self.profile.server_info_key: self.info()}
        return {**result, "_meta": meta}


def text_content(text: str) -> Json:
    """Return the result of a tool that is a text."""
    return {"content": [{"type": "text", "text": text}]}
