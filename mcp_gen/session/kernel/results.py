"""Encodes results, including pre-encoded and relayed ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw, Struct

import mcp_wire
from mcp_gen.core.bounds import bounded_fields
from mcp_gen.core.loose_json import as_object
from mcp_gen.core.text_encoding import LONG, long_field
from mcp_wire import encode

if TYPE_CHECKING:
    from mcp_gen.session.kernel.binding import RevisionBinding

__all__ = [
    "EncodedResult",
    "RelayedResult",
    "has_short_texts_only",
    "untyped_result",
    "with_identity",
    "with_own_identity",
]

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


# --- results of short texts alone, as most tools return ---


class _ListFields(dict[type[Any], str]):
    """By result type: the field with its blocks, if no bound is outside of it; else empty."""

    def __missing__(self, kind: Any) -> str:
        name = long_field(kind)
        own, reaching = bounded_fields(kind)
        made = self[kind] = "" if own or set(reaching) - {name} else name
        return made


class _TextTypes(dict[type[Any], bool]):
    """By type of a block: True if it is text, with no bounds but in its annotations."""

    def __missing__(self, kind: type[Any]) -> bool:
        fields: tuple[str, ...] = getattr(kind, "__struct_fields__", ())
        own, reaching = bounded_fields(kind)
        is_text = {"text", "annotations"} <= set(fields)
        made = self[kind] = is_text and not own and set(reaching) <= {"annotations"}
        return made


_list_fields = _ListFields()
_text_types = _TextTypes()


def has_short_texts_only(result: Any) -> bool:
    """Return True if a result has nothing but short texts in its blocks, and none outside of them.

    Such a result breaks no bound (`check_bounds`), and no value of it is encoded apart
    (`take_long_values`).
    """
    name = _list_fields[result.__class__]
    if not name:
        return False
    blocks: Any = getattr(result, name)
    if blocks.__class__ is not list:
        return False
    for block in blocks:
        if not _text_types[block.__class__] or block.annotations is not None:
            return False
        text: Any = block.text
        if text.__class__ is not str or len(text) >= LONG:
            return False
    return True
