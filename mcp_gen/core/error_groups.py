"""ExceptionGroup helpers: leaf errors, and one error or one sentence to report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from mcp_gen.core.errors import McpError, McpGenError, ProtocolError

__all__ = ["describe", "flatten", "primary_error"]


def flatten(error: BaseException) -> Iterator[BaseException]:
    """Yield the leaf errors of a group and of nested groups, in order.

    An error that is no group is yielded itself.
    """
    if not isinstance(error, BaseExceptionGroup):
        yield error
        return
    for inner in cast("BaseExceptionGroup[BaseException]", error).exceptions:
        yield from flatten(inner)


def primary_error(error: BaseException) -> BaseException:
    """Return the most useful leaf error of a group.

    An error that can be sent to a peer (`McpError`, `ProtocolError`) comes first, then any other
    `McpGenError`, then the first leaf error.
    """
    leaves = list(flatten(error))
    for kind in ((McpError, ProtocolError), McpGenError):
        for leaf in leaves:
            if isinstance(leaf, kind):
                return leaf
    return leaves[0]


def describe(error: BaseException) -> str:
    """Return the error's message, or its class name if the message is empty.

    For a group: the distinct messages of its leaf errors, joined with `; `.
    """
    messages = [str(leaf) or type(leaf).__name__ for leaf in flatten(error)]
    return "; ".join(dict.fromkeys(messages))
