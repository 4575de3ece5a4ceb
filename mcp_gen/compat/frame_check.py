"""Closed frame check: every key of a frame is one that its revision names.

Validating against the published schemas proves little, because they are open: the one of
2024-11-05 accepts a tool with icons. This check decodes each part of a frame with the revision's
types, encodes it again, and compares. Maps that the protocol leaves open (`_meta`, JSON Schema
documents, arguments and the like) are kept whole, so they never differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import msgspec

from mcp_gen.core.projection.closed import ClosedViolation, differences, violations
from mcp_wire import encode

if TYPE_CHECKING:
    from mcp_gen.core.extensions.extensions import Extensions
    from mcp_wire.method import Method
    from mcp_wire.profile import Profile

__all__ = ["ClosedViolation", "FrameChecker", "Sender", "differences"]

Sender: TypeAlias = Literal["client", "server"]

REMEMBERED = 4096
"""Number of parts whose violations are remembered."""
REMEMBERED_BYTES = 4096
"""Maximum length of such a part."""
_NEVER = object()
_REQUEST = {"jsonrpc", "id", "method", "params"}
_ANSWER = {"jsonrpc", "id", "result"}
_FAILURE = {"jsonrpc", "id", "error"}
_ERROR = {"code", "message", "data"}


class FrameChecker:
    """Checks the frames of one conversation, in the order in which they were sent.

    Args:
        profile: The revision of the conversation.
        extensions: The extensions that both sides may use; None for none.
    """

    def __init__(self, profile: Profile, extensions: Extensions | None = None) -> None:
        self._profile = profile
        rows: Mapping[str, Method[Any, Any]] = extensions.rows(profile) if extensions else {}
        self._methods = {**profile.methods, **rows}
        self._open_requests: dict[tuple[Sender, str], Method[Any, Any] | None] = {}
        """Open requests by sender and id; None for a method that the revision lacks."""

    def check(self, frame: bytes, sender: Sender) -> list[ClosedViolation]:
        """Return all violations of a frame; an empty list if it is valid.

        Args:
            frame: The JSON of a message, or of a batch.
            sender: Who sent it.
        """
        try:
            value: Any = msgspec.json.decode(frame)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return [ClosedViolation("$", f"not JSON: {error}")]
        return self.check_value(value, sender)

    def check_value(self, value: Any, sender: Sender) -> list[ClosedViolation]:
        """Return all violations of a frame that is decoded already; see `check`."""
        if value.__class__ is not list:
            return list(self._check_frame(value, sender, "$"))
        if not self._profile.allows_batches:
            return [ClosedViolation("$", f"{self._profile.revision} has no batches")]
        entries: list[Any] = value
        return [
            v
            for i, entry in enumerate(entries)
            for v in self._check_frame(entry, sender, f"$[{i}]")
        ]

    def _check_frame(self, frame: Any, sender: Sender, path: str) -> Iterator[ClosedViolation]:
        if frame.__class__ is not dict:
            yield ClosedViolation(path, "expected an object")
            return
        members = cast("dict[str, Any]", frame)
        known = _REQUEST if "method" in members else _ANSWER if "result" in members else _FAILURE
        for key in members.keys() - known:
            yield ClosedViolation(f"{path}.{key}", "no member of this kind of frame")
        if members.get("jsonrpc") != "2.0":
            yield ClosedViolation(f"{path}.jsonrpc", 'expected "2.0"')
        if "method" in members:
            yield from self._check_call(members, sender, path)
        elif "result" in members:
            yield from self._check_result(members, sender, path)
        else:
            yield from self._check_error(members, sender, path)

    def _check_call(
        self, frame: dict[str, Any], sender: Sender, path: str
    ) -> Iterator[ClosedViolation]:
        name = frame["method"]
        method = self._methods.get(name) if isinstance(name, str) else None
        if "id" in frame:
            yield from self._record_request(frame["id"], method, sender, path)
        if method is None:
            yield ClosedViolation(f"{path}.method", f"{self._profile.revision} has no {name!r}")
            return
        if not (method.from_client if sender == "client" else method.from_server):
            yield ClosedViolation(f"{path}.method", f"{name!r} is not for a {sender} to send")
        if (method.kind == "request") != ("id" in frame):
            yield ClosedViolation(f"{path}.id", f"{name!r} is a {method.kind}")
        if "params" in frame:
            yield from self._check_part(method.params, frame["params"], f"{path}.params")
        elif method.params_required:
            yield ClosedViolation(f"{path}.params", "missing")

    def _record_request(
        self, id: Any, method: Method[Any, Any] | None, sender: Sender, path: str
    ) -> Iterator[ClosedViolation]:
        if id.__class__ not in (int, str):
            yield ClosedViolation(f"{path}.id", "expected a string or an integer")
        if (sender, _key(id)) in self._open_requests:
            yield ClosedViolation(f"{path}.id", "belongs to a request that is still open")
        self._open_requests[sender, _key(id)] = method

    def _check_result(
        self, frame: dict[str, Any], sender: Sender, path: str
    ) -> Iterator[ClosedViolation]:
        requester: Sender = "server" if sender == "client" else "client"
        key = (requester, _key(frame.get("id")))
        if key not in self._open_requests:
            yield ClosedViolation(f"{path}.id", "answers no request")
            return
        method = self._open_requests.pop(key)
        if method is None:
            yield ClosedViolation(f"{path}.result", "answers a method that the revision lacks")
            return
        found: list[list[ClosedViolation]] = []
        kinds = dict.fromkeys([method.result, *method.results])
        for kind in kinds:
            found.append(list(self._check_part(kind, frame["result"], f"{path}.result")))
            if not found[-1]:
                return
        yield from found[0]

    def _check_error(
        self, frame: dict[str, Any], sender: Sender, path: str
    ) -> Iterator[ClosedViolation]:
        requester: Sender = "server" if sender == "client" else "client"
        if (
            "id" in frame
            and self._open_requests.pop((requester, _key(frame["id"])), _NEVER) is _NEVER
        ):
            yield ClosedViolation(f"{path}.id", "answers no request")
        error: Any = frame.get("error")
        if error.__class__ is not dict:
            yield ClosedViolation(f"{path}.error", "expected an object")
            return
        for key in error.keys() - _ERROR:
            yield ClosedViolation(f"{path}.error.{key}", "no member of an error")
        if error.get("code").__class__ is not int or error.get("message").__class__ is not str:
            yield ClosedViolation(
                f"{path}.error", "expected an integer `code` and a string `message`"
            )

    def _check_part(self, kind: Any, value: Any, path: str) -> Iterator[ClosedViolation]:
        data = msgspec.json.encode(value)
        found = _remembered if len(data) <= REMEMBERED_BYTES else _found
        yield from found(kind, data, self._profile.revision, path)


def _found(kind: Any, data: bytes, revision: str, path: str) -> tuple[ClosedViolation, ...]:
    return tuple(violations(kind, data, revision, path))


_remembered = lru_cache(maxsize=REMEMBERED)(_found)
"""The same for small parts, which peers send again and again."""


def _key(id: Any) -> str:
    """Return an id as JSON: 1 and "1" identify two requests."""
    return encode(id).decode()
