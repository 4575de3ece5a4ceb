"""Live values: values of a recording, and what the live server has in their place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

import mcp_wire
from mcp_gen.compat.json_values import is_array, is_object
from mcp_gen.compat.recordings.secret_names import NUMBER, PLACEHOLDER

__all__ = ["TIMES", "LiveValues"]

_TIME = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
_UUID = r"[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}"
_NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_VARYING = re.compile(rf"(?P<hidden>{PLACEHOLDER.pattern})|(?P<time>{_TIME})|(?P<uuid>{_UUID})")
_OPAQUE = frozenset({"requestState", "nextCursor", "cursor", "taskId", "elicitationId"})
"""Members whose values the server makes, and the client repeats."""
TIMES = frozenset({"createdAt", "lastUpdatedAt", "lastModified"})
"""Members of the protocol that are times."""
MAX_PART_CHARS = 4096
"""Maximum length of what may stand in the place of a secret."""


class LiveValues:
    """Values that differ from one conversation to the next: ids, cursors, states, secrets.

    Args:
        filled: Values of placeholders that are known beforehand.
    """

    def __init__(self, filled: Mapping[str, str] | None = None) -> None:
        self._texts: dict[str, str] = dict(filled or {})
        """Live texts by placeholder or UUID."""
        self._opaque: dict[bytes, Any] = {}
        """Live values of opaque members by the recorded ones, as JSON."""
        self._request_ids: dict[bytes, Any] = {}
        profiles = [mcp_wire.profile(one) for one in mcp_wire.REVISIONS]
        self._names = _OPAQUE | {one.subscription_id_key for one in profiles}

    def is_opaque(self, name: str) -> bool:
        """Return True if the values of a member are made by a side, and mean nothing else."""
        return name in self._names

    def bind(self, recorded: Any, live: Any) -> None:
        """Note the live value of an opaque member."""
        self._opaque[msgspec.json.encode(recorded)] = live
        if isinstance(recorded, str) and isinstance(live, str) and _VARYING.fullmatch(recorded):
            self._texts.setdefault(recorded, live)

    def matches_number(self, recorded: Any, live: Any) -> bool:
        """Return True if a live number stands in the place of one that was replaced."""
        is_number = isinstance(live, int | float) and not isinstance(live, bool)
        if not is_number or not isinstance(recorded, str) or not NUMBER.fullmatch(recorded):
            return False
        text = msgspec.json.encode(live).decode()
        return self._texts.setdefault(recorded, text) == text

    def bind_request(self, recorded: Any, live: Any) -> None:
        """Note the live id of a request of the server."""
        self._request_ids[msgspec.json.encode(recorded)] = live

    def request_id(self, recorded: Any) -> Any:
        """Return the live id of a request of the server.

        Raises:
            KeyError: it has not come.
        """
        return self._request_ids[msgspec.json.encode(recorded)]

    def opaque(self, recorded: Any) -> Any:
        """Return the live value of an opaque member; the recorded one if there is none."""
        return self._opaque.get(msgspec.json.encode(recorded), recorded)

    def has_opaque(self, recorded: Any) -> bool:
        """Return True if there is a live value in the place of an opaque member."""
        return msgspec.json.encode(recorded) in self._opaque

    def live(self, value: Any, name: str = "") -> Any:
        """Return a recorded value with the live values in their places."""
        if is_object(value):
            return {key: self.live(one, key) for key, one in value.items()}
        if is_array(value):
            return [self.live(one) for one in value]
        if self.is_opaque(name):
            return self.opaque(value)
        if not isinstance(value, str):
            return value
        text = self.live_text(value)
        return _number(text) if NUMBER.fullmatch(value) else text

    def live_text(self, text: str) -> str:
        """Return a recorded text with the live values in their places.

        A number that is not known is the number of its placeholder: a text would be refused.
        """
        text = _VARYING.sub(lambda found: self._texts.get(found[0], found[0]), text)
        return NUMBER.sub(lambda found: found[1], text)

    def matches(self, recorded: str, live: str) -> bool:
        """Return True if a text is the recorded one, ids, times and secrets aside.

        What stands in the place of a secret or of a UUID is bound to it.
        """
        if recorded == live:
            return True
        made: list[str] = []
        unbound: list[str] = []
        at = 0
        for found in _VARYING.finditer(recorded):
            made.append(re.escape(recorded[at : found.start()]))
            at = found.end()
            if found["time"]:
                made.append(_TIME)
            elif found[0] in self._texts:
                made.append(re.escape(self._texts[found[0]]))
            elif NUMBER.fullmatch(found[0]):
                made.append(f"({_NUMBER})")
                unbound.append(found[0])
            else:
                made.append(f"({_UUID})" if found["uuid"] else f"([^\0]{{1,{MAX_PART_CHARS}}}?)")
                unbound.append(found[0])
        if at == 0:
            return False
        same = re.fullmatch("".join([*made, re.escape(recorded[at:])]), live)
        if same is None:
            return False
        return all(
            self._texts.setdefault(part, value) == value
            for part, value in zip(unbound, same.groups(), strict=True)
        )


def _number(text: str) -> Any:
    try:
        return msgspec.json.decode(text, type=int | float)
    except msgspec.DecodeError:
        return text
