"""Independent reading of what a client sends: which answers it asks for.

It uses none of the code that it judges. Where JSON or JSON-RPC leave a choice (a key that comes
twice, numbers beyond 64 bits, half a surrogate pair, very deep nesting) an answer is allowed and
not demanded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.fuzz.values import is_array, is_object

__all__ = ["OPEN_ENDED", "Reading", "id_key", "read"]

CANCELLED = "notifications/cancelled"
OPEN_ENDED = ("subscriptions/listen",)
"""Methods whose answer comes when the client ends them."""

DEEP = 100
"""Depth from which on a reader may refuse a message."""
MAX_BATCH = 1000

_IDS = re.compile(rb'"id"\s*:\s*(-?\d+|"(?:[^"\\]|\\.)*")')
_CANCELS = re.compile(rb'"requestId"\s*:\s*(-?\d+|"(?:[^"\\]|\\.)*")')


class Unclear(Exception):
    """The message can be read in two ways."""


class Odd:
    """A number that readers may refuse or round."""

    def __init__(self, text: str) -> None:
        self.text = text


@dataclass
class Reading:
    """Answers that a message asks for.

    Args:
        must: Ids that need exactly one answer each.
        may: Ids that may have an answer.
        anonymous: Most errors without an id.
        cancels: Ids that need no answer any more.
    """

    must: list[str] = field(default_factory=list[str])
    may: list[str] = field(default_factory=list[str])
    anonymous: int = 0
    cancels: list[str] = field(default_factory=list[str])


def id_key(id: Any) -> str:
    """Return an id as text: 1 and "1" are two ids."""
    return json.dumps(id, sort_keys=True, default=lambda odd: odd.text)


def read(data: bytes, *, batches: bool | None) -> Reading:
    """Return what a message asks for.

    Args:
        data: One message or batch.
        batches: True if the session takes batches; None if that is not known.
    """
    try:
        value = json.loads(
            data.decode(),
            parse_int=_integer,
            parse_float=_float,
            parse_constant=_refuse,
            object_pairs_hook=_members,
        )
        _check_depth(data)
    except (ValueError, RecursionError, Unclear):
        return _unclear(data)
    found = Reading()
    if not is_array(value):
        _read_one(value, found)
    elif batches is True and 0 < len(value) <= MAX_BATCH:
        for entry in value:
            _read_one(entry, found)
    elif batches is None:
        return _unclear(data, len(value) or 1)
    else:
        found.anonymous = 1
    return found


def _read_one(value: Any, found: Reading) -> None:
    if not is_object(value):
        found.anonymous += 1
        return
    id, has_method = value.get("id"), "method" in value
    if not has_method and ("result" in value or "error" in value):
        return  # A response gets no answer, however wrong it is.
    if value.get("method") == CANCELLED and is_object(value.get("params")):
        cancelled = value["params"].get("requestId")
        found.cancels.append(id_key(_rounded(cancelled)))
    if "id" not in value and isinstance(value.get("method"), str):
        if value.get("jsonrpc") != "2.0":
            found.anonymous += 1
        return
    if isinstance(id, Odd) or (type(id) is int and not -(2**63) <= id < 2**63):
        found.may.append(id_key(_rounded(id)))
        found.anonymous += 1
    elif type(id) in (str, int):
        # What is neither a request nor a response may answer a request of the server.
        asks = has_method and value["method"] not in OPEN_ENDED
        (found.must if asks else found.may).append(id_key(id))
    else:
        found.anonymous += 1


def _unclear(data: bytes, anonymous: int = 1) -> Reading:
    found = Reading(anonymous=anonymous)
    for pattern, into in ((_IDS, found.may), (_CANCELS, found.cancels)):
        for text in pattern.findall(data):
            try:
                into.append(id_key(json.loads(text.decode("utf-8", "replace"), strict=False)))
            except ValueError:
                continue
    return found


def _members(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Unclear
    for key, value in pairs:
        if _has_half_pair(key) or (isinstance(value, str) and _has_half_pair(value)):
            raise Unclear
    return found


def _has_half_pair(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= one <= "\udfff" for one in text)


def _integer(text: str) -> int | Odd:
    # Minus zero is a float in some readers.
    return Odd(text) if len(text) > 20 or text == "-0" else int(text)


def _float(text: str) -> Odd:
    return Odd(text)


def _refuse(text: str) -> Any:
    raise ValueError(text)


def _rounded(value: Any) -> Any:
    """Return an odd number as the integer that some readers take it for."""
    if not isinstance(value, Odd):
        return value
    try:
        return int(value.text)
    except ValueError:
        pass
    try:
        return int(float(value.text))
    except (ValueError, OverflowError):
        return value.text


def _check_depth(data: bytes) -> None:
    if data.count(b"[") + data.count(b"{") <= DEEP:
        return
    depth = most = 0
    for one in data:
        if one in b"[{":
            depth += 1
            most = max(most, depth)
        elif one in b"]}":
            depth -= 1
    if most > DEEP:
        raise Unclear
