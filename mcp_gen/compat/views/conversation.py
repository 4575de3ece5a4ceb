"""Reading of transcripts with clients: requests and answers of one revision."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

import mcp_wire
from mcp_gen.compat.json_values import Json, member
from mcp_gen.compat.method_names import openings
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.transcript import Transcript, WireFrame

__all__ = [
    "conversation",
    "id_key",
    "is_answer",
    "is_foreign",
    "is_meta_key",
    "is_notification_name",
    "is_request",
    "methods_of_any",
]


_LABEL = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_PREFIX = rf"{_LABEL}(?:\.{_LABEL})*/"
_NAME = r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?"


def is_meta_key(key: str, *, with_prefix: bool = False) -> bool:
    """Return True if a key is one that `_meta` may have: a prefix, and a name.

    Args:
        key: The key.
        with_prefix: Whether the prefix must be there, as in names of extensions.
    """
    return bool(re.fullmatch(_PREFIX + _NAME if with_prefix else rf"(?:{_PREFIX})?{_NAME}", key))


def conversation(transcript: Transcript) -> list[WireFrame]:
    """Return the frames of both sides, without probes for another revision and their answers.

    A client that speaks several revisions asks for the newest first: what it asks with has the
    form of that one.
    """
    return transcript.derived(_conversation)


def _conversation(transcript: Transcript) -> list[WireFrame]:
    probes: list[str] = []
    kept: list[WireFrame] = []
    for frame in transcript.frames():
        members = frame.members
        if frame.event.sender == "client" and is_foreign(members, transcript.revision):
            probes.append(id_key(members.get("id")))
        elif probes and frame.event.sender == "server" and is_answer(members):
            key = id_key(members.get("id"))
            if key in probes:
                probes.remove(key)
            else:
                kept.append(frame)
        else:
            kept.append(frame)
    return kept


def is_foreign(frame: Json, revision: str) -> bool:
    """Return True for what a client opens a connection with at other revisions alone."""
    method = frame.get("method")
    profile = profile_of(revision)
    if not isinstance(method, str) or method in profile.methods:
        if profile.protocol_version_key is not None:
            return False
        said = [member(frame, "params", "_meta", name) for name in _version_keys()]
        return any(one is not None for one in said)
    return method in openings()


def is_request(frame: Json) -> bool:
    """Return True for a request, of whatever kind its id is."""
    return "method" in frame and "id" in frame and not is_notification_name(frame["method"])


def is_answer(frame: Json) -> bool:
    """Return True for an answer, and for what is neither that nor anything else."""
    return "method" not in frame


def is_notification_name(method: Any) -> bool:
    """Return True for the name of a notification, also of one that no revision has."""
    return isinstance(method, str) and method.startswith("notifications/")


def id_key(id: Any) -> str:
    """Return an id as JSON: 1 and "1" identify two requests."""
    return msgspec.json.encode(id).decode()


@cache
def methods_of_any() -> frozenset[str]:
    """Return the names of the methods of all revisions."""
    return frozenset(name for profile in _profiles() for name in profile.methods)


@cache
def _profiles() -> tuple[Any, ...]:
    return tuple(profile_of(revision) for revision in mcp_wire.REVISIONS)


@cache
def _version_keys() -> tuple[str, ...]:
    """Return the keys of `_meta` at which requests say their revision."""
    return tuple(p.protocol_version_key for p in _profiles() if p.protocol_version_key)
