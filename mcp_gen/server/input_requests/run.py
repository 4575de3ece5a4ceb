"""Runs a handler in rounds: with the answers of its client, until it asks nothing more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from mcp_gen.core.errors import UrlElicitationRequired, UsageError
from mcp_wire.latest import InputRequiredResult

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.input_requests.rounds import Handler, Rounds

__all__ = ["current_rounds", "previous_rounds", "run_with_rounds"]

P = TypeVar("P")
R = TypeVar("R")


def current_rounds(ctx: Context) -> Rounds:
    """The rounds of a request whose handler is running.

    Raises:
        UsageError: it is no tool, prompt or resource, or it has returned.
    """
    # Nothing but this module sets them.
    rounds = cast("Rounds | None", ctx.rounds)
    if ctx.asking is None and not (rounds and rounds.closed):
        raise UsageError(
            "the client can be asked in tools, prompts and resources only, "
            "and only until they return: await what you ask"
        )
    if rounds is None:
        rounds = ctx.rounds = _rounds(ctx, ctx.asking)
    return rounds


def _rounds(ctx: Context, params: Any) -> Rounds:
    # Imported here: a process that asks at one revision alone loads the rounds of that alone.
    if ctx.profile.asks_client == "input_required":
        from mcp_gen.server.input_requests.replayed_rounds import InputRequiredRounds

        return InputRequiredRounds(ctx, params)
    from mcp_gen.server.input_requests.live_rounds import ServerRequestRounds

    return ServerRequestRounds(ctx, params)


def previous_rounds(ctx: Context) -> Rounds | None:
    """The rounds of a request, if this is not its first or if it has asked something."""
    if ctx.rounds is None and getattr(ctx.asking, "input_responses", None) is not None:
        return current_rounds(ctx)
    return cast("Rounds | None", ctx.rounds)


async def run_with_rounds(ctx: Context, params: P, handler: Handler[P, R]) -> R:
    """Run a handler that may ask the client, and answer with its questions while it has any.

    A request that asks nothing pays for a few looks at its fields.
    """
    ctx.asking = params
    if getattr(params, "request_state", None) is not None:
        # Before anything is done for a client that may not have it from here.
        current_rounds(ctx)
    result: Any = None
    failure: BaseException | None = None
    try:
        answer = await handler(ctx, params)
        if ctx.rounds is None and type(answer) is not InputRequiredResult:
            return answer
        result = answer
    except (GeneratorExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        if ctx.rounds is None and not isinstance(error, UrlElicitationRequired):
            raise
        failure = error
    finally:
        ctx.asking = None
    rounds = ctx.rounds = cast("Rounds | None", ctx.rounds) or _rounds(ctx, params)
    settled: R = await rounds.end(handler, result, failure)
    return settled
