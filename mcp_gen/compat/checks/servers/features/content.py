"""Faults of content: MIME types, base64, embedded resources."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any, NamedTuple

from mcp_gen.compat.json_values import Json, is_object
from mcp_gen.compat.views.uris import has_scheme

__all__ = ["ContentFault", "fault_of_data", "fault_of_resource", "is_base64"]

_TOKEN = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"
_MIME_TYPE = re.compile(rf"{_TOKEN}/{_TOKEN}\s*(;.*)?", re.DOTALL)


class ContentFault(NamedTuple):
    """Fault of a part of content: what it is, and its path below the content."""

    what: str
    where: str


def is_base64(value: Any) -> bool:
    """Return True for base64 of the standard alphabet, with its padding."""
    if not isinstance(value, str):
        return False
    try:
        base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def fault_of_data(block: Json) -> ContentFault | None:
    """Return the fault of an image or of a sound; None if it has none."""
    if "data" not in block:
        return ContentFault("no data", ".data")
    if not is_base64(block["data"]):
        return ContentFault("data that is no base64", ".data")
    return _fault_of_mime_type(block)


def fault_of_resource(resource: Any) -> ContentFault | None:
    """Return the fault of an embedded resource; None if it has none."""
    if not is_object(resource):
        return ContentFault("no resource", "")
    uri = resource.get("uri")
    if not isinstance(uri, str) or not has_scheme(uri):
        return ContentFault("no URI" if uri is None else f"{uri!r} is no URI", ".uri")
    if "text" not in resource and "blob" not in resource:
        return ContentFault("neither text nor a blob", "")
    if "blob" in resource and not is_base64(resource["blob"]):
        return ContentFault("a blob that is no base64", ".blob")
    return _fault_of_mime_type(resource)


def _fault_of_mime_type(holder: Json) -> ContentFault | None:
    found = holder.get("mimeType")
    if found is None:
        return ContentFault("no MIME type", ".mimeType")
    if not isinstance(found, str) or not _MIME_TYPE.fullmatch(found):
        return ContentFault(f"{found!r} is no MIME type", ".mimeType")
    return None
