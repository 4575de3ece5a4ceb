"""Encodes results, including pre-encoded and relayed ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw, Struct

import mcp_wire
from mcp_gen.core.loose_json import as_object
from mcp_wire import encode

if TYPE_CHECKING:
    from mcp_gen.session.kernel.binding import RevisionBinding

__all__ = ["EncodedResult", "RelayedResult", "untyped_result", "with_identity", "with_own_identity"]

_members = msgspec.json.Decoder(dict[str, Raw])
_COMPLETE = Raw(b'"complete"')


class EncodedResult(Struct, gc=False):
    """A result that is already encoded, with all members its revision requires."""

    json: Raw


class RelayedResult(Struct, gc=False):
    """An encoded result of another server at the same revision, to be relayed unchanged."""

    json: Raw


def with_identity(answer: bytes, binding: RevisionBinding[Any]) -> bytes:
    """Return a response with the server's identity added to its result.

    Args:
        answer: Encoded response, whose result has no `_meta`.
        binding: Server bound to the revision of the result.
    """
    if not binding.identity:
        return answer
    # Each result of these revisions begins with its type, so a comma can follow.
    return b'%b,"_meta":%b}}' % (answer[: -len(b"}}")], encode(binding.identity))


def with_own_identity(result: Raw, binding: RevisionBinding[Any]) -> Raw:
    """Return another server's result with this server's identity in `_meta`.

    All other members are kept.

    Args:
        result: Encoded result of the other server.
        binding: This server bound to the revision of the result.
    """
    if not binding.identity:
        return result
    members = _members.decode(result)
    meta = _members.decode(members.get("_meta") or b"{}")
    members["_meta"] = Raw(encode({**meta, **binding.identity}))
    # First, where decoders expect it. The other server may have left it out.
    kind = members.pop("resultType", _COMPLETE)
    return Raw(encode({"resultType": kind, **members}))


def untyped_result(binding: RevisionBinding[Any], result: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a custom method with the members that each result of the revision has.

    Args:
        binding: Server bound to the revision of the result.
        result: Result of the handler, which wins over common members.
    """
    common: dict[str, Any] = msgspec.to_builtins(mcp_wire.types(binding.profile.revision).Result())
    meta = {**binding.identity, **(as_object(result.get("_meta")) or {})}
    return {**common, **result, "_meta": meta} if meta else {**common, **result}
