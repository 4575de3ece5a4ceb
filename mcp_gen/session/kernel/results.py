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
    """A result that is encoded already, with what every result of its revision has."""

    json: Raw


class RelayedResult(Struct, gc=False):
    """A result of the revision as another server has written it, to be passed on as it is."""

    json: Raw


def with_identity(answer: bytes, binding: RevisionBinding[Any]) -> bytes:
    """Return an answer whose result came encoded and has no `_meta`, with the identity added."""
    if not binding.identity:
        return answer
    # Every result of these revisions begins with its type, so there is a member to follow.
    return b'%b,"_meta":%b}}' % (answer[: -len(b"}}")], encode(binding.identity))


def with_own_identity(result: Raw, binding: RevisionBinding[Any]) -> Raw:
    """Return another server's result with this server's identity; the rest is kept."""
    if not binding.identity:
        return result
    members = _members.decode(result)
    meta = _members.decode(members.get("_meta") or b"{}")
    members["_meta"] = Raw(encode({**meta, **binding.identity}))
    # First, where readers look for it; and there, though those who wrote it may have left it out.
    kind = members.pop("resultType", _COMPLETE)
    return Raw(encode({"resultType": kind, **members}))


def untyped_result(binding: RevisionBinding[Any], result: dict[str, Any]) -> dict[str, Any]:
    """Return a result of a custom method with the members every result of the revision has."""
    common: dict[str, Any] = msgspec.to_builtins(mcp_wire.types(binding.profile.revision).Result())
    meta = {**binding.identity, **(as_object(result.get("_meta")) or {})}
    return {**common, **result, "_meta": meta} if meta else {**common, **result}
