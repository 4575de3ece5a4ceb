"""Runs a handler in rounds, until it sends no more input requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from mcp_gen.core.errors import UrlElicitationRequired, UsageError
from mcp_gen.server.context.context import input_params_of, rounds_of, set_input_params, set_rounds
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
    rounds = cast("Rounds | None", rounds_of(ctx))
    if input_params_of(ctx) is None and not (rounds and rounds.closed):
        raise UsageError(
            "the client can be asked in tools, prompts and resources only, "
            "and only until they return: await what you ask"
        )
    if rounds is None:
        rounds = _rounds(ctx, input_params_of(ctx))
        set_rounds(ctx, rounds)
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
    rounds = cast("Rounds | None", rounds_of(ctx))
    if rounds is None and getattr(input_params_of(ctx), "input_responses", None) is not None:
        return current_rounds(ctx)
    return rounds


async def run_with_rounds(ctx: Context, params: P, handler: Handler[P, R]) -> R:
    """Run a handler that may send input requests, and return the result of the request.

    A handler that sends none costs a few attribute checks.

    Raises:
        InvalidParams: The `requestState` of the request is not valid.
    """
    set_input_params(ctx, params)
    if getattr(params, "request_state", None) is not None:
        # Reject an invalid state before the handler has side effects.
        await current_rounds(ctx).load_values()
    result: Any = None
    failure: BaseException | None = None
    try:
        returned = await handler(ctx, params)
        if rounds_of(ctx) is None and type(returned) is not InputRequiredResult:
            return returned
        result = returned
    except (GeneratorExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        if rounds_of(ctx) is None and not isinstance(error, UrlElicitationRequired):
            raise
        failure = error
    finally:
        set_input_params(ctx, None)
    rounds = cast("Rounds | None", rounds_of(ctx)) or _rounds(ctx, params)
    set_rounds(ctx, rounds)
    response: R = await rounds.end(handler, result, failure)
    return response
