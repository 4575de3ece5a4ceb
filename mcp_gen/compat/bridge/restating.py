"""Restates forwarded values at the other side's revision, with every loss logged and in `_meta`."""

from __future__ import annotations

import logging
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

import mcp_wire
from mcp_gen.core.projection.project import restate

if TYPE_CHECKING:
    from mcp_gen.core.projection.project import Loss

__all__ = ["LOSSES_KEY", "LossLog", "connection_keys"]

LOSSES_KEY = "mcp-gen/losses"
"""Key of `_meta` with what the revision of the receiver cannot say: a list of path and reason."""
MAX_LOGGED = 1_000
"""Kinds of losses that are remembered because they were logged as a warning."""

_INDEX = re.compile(r"\[\d+\]")
_log = logging.getLogger("mcp_gen.bridge")


class LossLog:
    """Restates values, logs what is lost, and notes it in `_meta` of the value.

    The first loss of a kind is a warning; the same loss in a later message is logged at DEBUG.
    """

    def __init__(self) -> None:
        self._known: set[tuple[str, str]] = set()

    def restate(self, value: Any, revision: str, what: str) -> Any:
        """Return a value at a revision; `_meta` lists the losses, if there are any.

        Args:
            value: A params or result of any revision.
            revision: The revision of the receiver.
            what: Name of the message in the log.

        Raises:
            ProjectionError: The revision has no form for the value.
        """
        restated, losses = restate(value, revision)
        if not losses:
            return restated
        self.log(losses, what)
        noted = [{"path": loss.path, "reason": loss.reason} for loss in losses]
        return replace(restated, meta={**(restated.meta or {}), LOSSES_KEY: noted})

    def log(self, losses: list[Loss], what: str) -> None:
        """Log losses.

        Args:
            losses: The losses.
            what: Name of the message.
        """
        for path, reason in losses:
            kind = (what, _INDEX.sub("[]", path))
            level = logging.DEBUG
            if kind not in self._known and len(self._known) < MAX_LOGGED:
                self._known.add(kind)
                level = logging.WARNING
            _log.log(level, "%s: lost `%s`: %s", what, path, reason)


@cache
def connection_keys(revision: str) -> frozenset[str | None]:
    """Return the `_meta` keys of results that say who the server is: the bridge sets its own."""
    return frozenset({mcp_wire.profile(revision).server_info_key})
