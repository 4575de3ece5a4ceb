"""Groups of errors, as the one error or the one sentence that others are shown instead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from mcp_gen.core.errors import McpError, McpGenError, ProtocolError

__all__ = ["describe", "flatten", "primary_error"]


def flatten(error: BaseException) -> Iterator[BaseException]:
    """The errors in a group and in the groups in it, in order; an error that is no group itself."""
    if not isinstance(error, BaseExceptionGroup):
        yield error
        return
    for inner in cast("BaseExceptionGroup[BaseException]", error).exceptions:
        yield from flatten(inner)


def primary_error(error: BaseException) -> BaseException:
    """The error of a group that says most: what a peer is to be told, else ours, else the first."""
    found = list(flatten(error))
    for kind in ((McpError, ProtocolError), McpGenError):
        for one in found:
            if isinstance(one, kind):
                return one
    return found[0]


def describe(error: BaseException) -> str:
    """What an error says, or its name if it says nothing; of a group, what its errors say."""
    said = [str(one) or type(one).__name__ for one in flatten(error)]
    return "; ".join(dict.fromkeys(said))
