"""`session.state` of a session that several nodes have: values that are JSON."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
from msgspec import Raw

from mcp_gen.core.errors import UsageError

__all__ = ["JsonState"]

_log = logging.getLogger("mcp_gen.server")


class JsonState(dict[str, Any]):
    """Values of a session, which the store has as JSON.

    Raises:
        UsageError: a key that is no text, or a value that is no JSON.
    """

    def __setitem__(self, key: str, value: Any) -> None:
        self._check(key, value)
        super().__setitem__(key, value)

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return the value of a key, which is set to the default if there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, *given: Any, **values: Any) -> None:
        """Set several values."""
        for key, value in dict(*given, **values).items():
            self[key] = value

    def encoded(self) -> dict[str, Raw]:
        """Return the values as JSON; one that has become something else is left out and logged."""
        found: dict[str, Raw] = {}
        for key, value in self.items():
            try:
                found[key] = Raw(msgspec.json.encode(value))
            except (TypeError, ValueError) as error:
                _log.error("session.state[%r] is not kept: %s", key, error)
        return found

    def replace(self, stored: dict[str, Raw]) -> None:
        """Take over the values of the store."""
        self.clear()
        for key, value in stored.items():
            super().__setitem__(key, msgspec.json.decode(value))

    def _check(self, key: Any, value: Any) -> None:
        if not isinstance(key, str):
            raise UsageError(f"session.state: expected a text as key, got {key!r}")
        try:
            msgspec.json.encode(value)
        except (TypeError, ValueError) as error:
            raise UsageError(
                f"session.state[{key!r}]: in a cluster expected a value that is JSON, as other "
                f"nodes get it: {error}"
            ) from None
