"""Schema checks that the worker makes: a sync function is run again when they are done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from mcp_gen.server.context.context import runtime_of

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context

__all__ = ["CheckedByWorker", "PendingCheck", "outcome_of", "settled"]

T = TypeVar("T")


class CheckedByWorker(Protocol):
    """A schema that the worker can check."""

    what: str

    async def outcome(self, value: Any, path: str, timeout_s: float) -> Exception | None:
        """Have the worker validate plain JSON; return its error, or None."""
        ...


_OUTCOMES: ContextVar[Mapping[CheckedByWorker, Exception | None]] = ContextVar("_OUTCOMES")
"""Outcomes of the checks that the worker has made for the function that is run again."""


class PendingCheck(Exception):
    """A value that the worker has to check; `settled` has it done.

    Args:
        schema: The schema.
        value: Plain JSON.
        path: JSON path of the value, for error messages.
    """

    def __init__(self, schema: CheckedByWorker, value: Any, path: str) -> None:
        super().__init__(schema.what)
        self.schema = schema
        self.value = value
        self.path = path

    async def settle(self, ctx: Context, work: Callable[[], T]) -> T:
        """Run a function again that has raised this, with the check made by the worker.

        Args:
            ctx: Context of the request; its server limits the time that each check may take.
            work: The function; it checks the same value against the same schema again.

        Returns:
            What the function returns. It gets the errors of the check.

        Raises:
            Exception: Raised by the function.
        """
        timeout_s = runtime_of(ctx).kernel.limits.schema_timeout_s
        pending = self
        outcomes: dict[CheckedByWorker, Exception | None] = {}
        while True:
            schema = pending.schema
            outcomes[schema] = await schema.outcome(pending.value, pending.path, timeout_s)
            token = _OUTCOMES.set(outcomes)
            try:
                return work()
            except PendingCheck as other:
                pending = other
            finally:
                _OUTCOMES.reset(token)


def outcome_of(schema: CheckedByWorker, value: Any, path: str) -> None:
    """Apply what the worker found about a value.

    Raises:
        PendingCheck: It was not asked yet.
        InvalidValue: The value does not fit.
        SchemaNotChecked: The check took too long.
    """
    outcomes = _OUTCOMES.get({})
    if schema not in outcomes:
        raise PendingCheck(schema, value, path)
    outcome = outcomes[schema]
    if outcome is not None:
        raise outcome


async def settled(ctx: Context, work: Callable[[], T]) -> T:
    """Run a function whose schema checks may need the worker.

    Args:
        ctx: Context of the request.
        work: The function. It may run several times.

    Raises:
        Exception: Raised by the function.
    """
    try:
        return work()
    except PendingCheck as pending:
        return await pending.settle(ctx, work)
