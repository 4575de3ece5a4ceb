"""Runs a handler in rounds, until it sends no more input requests."""

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
    """Return the rounds of a request whose handler is running; create them on first use.

    Raises:
        UsageError: The handler is no tool, prompt or resource, or it has returned.
    """
    # Only this module and tasks set them, always to a Rounds.
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
    # Imported here, so that a process loads only the mechanism of the revisions it serves.
    if ctx.profile.asks_client == "input_required":
        from mcp_gen.server.input_requests.replayed_rounds import InputRequiredRounds

        return InputRequiredRounds(ctx, params)
    # Loaded with the first request to a client.
    from mcp_gen.server.input_requests.live_rounds import ServerRequestRounds

    return ServerRequestRounds(ctx, params)


def previous_rounds(ctx: Context) -> Rounds | None:
    """Return the rounds of a request; None in its first round before any input request."""
    if ctx.rounds is None and getattr(ctx.asking, "input_responses", None) is not None:
        return current_rounds(ctx)
    return cast("Rounds | None", ctx.rounds)


async def run_with_rounds(ctx: Context, params: P, handler: Handler[P, R]) -> R:
    """Run a handler that may send input requests, and return the result of the request.

    A handler that sends none costs a few attribute checks.

    Raises:
        InvalidParams: The `requestState` of the request is not valid.
    """
    ctx.asking = params
    if getattr(params, "request_state", None) is not None:
        # Reject an invalid state before the handler has side effects.
        current_rounds(ctx)
    result: Any = None
    failure: BaseException | None = None
    try:
        returned = await handler(ctx, params)
        if ctx.rounds is None and type(returned) is not InputRequiredResult:
            return returned
        result = returned
    except (GeneratorExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        if ctx.rounds is None and not isinstance(error, UrlElicitationRequired):
            raise
        failure = error
    finally:
        ctx.asking = None
    rounds = ctx.rounds = cast("Rounds | None", ctx.rounds) or _rounds(ctx, params)
    response: R = await rounds.end(handler, result, failure)
    return response
