"""Questions to the client, in one form for every revision: to the user, to the model, for roots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_gen.core.errors import InvalidParams
from mcp_gen.server.context.answers import Accepted, Answer, Cancelled, Declined
from mcp_gen.server.context.context import origin_of
from mcp_gen.server.input_requests.capabilities import require_capability
from mcp_gen.server.input_requests.forms import elicitation_form
from mcp_gen.server.input_requests.rounds import InputKind, InputRequest
from mcp_gen.server.input_requests.run import current_rounds
from mcp_wire import latest

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_gen.server.context.answers import Messages
    from mcp_gen.server.context.context import Context

__all__ = [
    "elicit",
    "elicit_url",
    "elicitation_complete",
    "list_roots",
    "sample",
]

T = TypeVar("T")


async def elicit(
    ctx: Context,
    message: str,
    form: type[T],
    *,
    key: str | None,
    timeout_s: float | None,
    task: bool = False,
) -> Answer[T]:
    """See `Context.elicit`."""
    fields = elicitation_form(form)
    params = latest.ElicitRequestFormParams(message=message, requested_schema=fields.schema)

    def read(result: latest.ElicitResult) -> Answer[T]:
        return _answer(result, fields.read)

    question = InputRequest(InputKind.ELICIT, params, as_task=task)
    return await _ask(ctx, question, key, read, timeout_s)


async def elicit_url(
    ctx: Context,
    message: str,
    url: str,
    elicitation_id: str | None,
    *,
    key: str | None,
    timeout_s: float | None,
) -> Answer[None]:
    """See `Context.elicit_url`."""
    params = latest.ElicitRequestURLParams(message=message, url=url)

    def read(result: latest.ElicitResult) -> Answer[None]:
        return _answer(result, lambda content: None)

    question = InputRequest(InputKind.ELICIT, params, elicitation_id)
    return await _ask(ctx, question, key, read, timeout_s)


async def sample(
    ctx: Context,
    messages: Messages,
    *,
    max_tokens: int,
    key: str | None,
    timeout_s: float | None,
    task: bool = False,
    **params: Any,
) -> latest.CreateMessageResult:
    """See `Context.sample`."""
    turns = [messages] if isinstance(messages, str) else messages
    asked = latest.CreateMessageRequestParams(
        messages=[_turn(turn) for turn in turns], max_tokens=max_tokens, **params
    )

    def read(result: latest.CreateMessageResult) -> latest.CreateMessageResult:
        return result

    question = InputRequest(InputKind.CREATE_MESSAGE, asked, as_task=task)
    return await _ask(ctx, question, key, read, timeout_s)


async def list_roots(
    ctx: Context, *, key: str | None, timeout_s: float | None
) -> Sequence[latest.Root]:
    """See `Context.list_roots`."""
    question = InputRequest(InputKind.LIST_ROOTS)
    current_rounds(ctx)
    require_capability(ctx, question)
    session = ctx.session
    if session is None:
        return await _ask(ctx, question, key, _roots, timeout_s)
    if session.roots is None:
        changes = session.roots_changes
        roots = await _ask(ctx, question, key, _roots, timeout_s)
        if not _tells_of_changes(ctx) or session.roots_changes != changes:
            return roots
        session.roots = roots
    return session.roots


async def elicitation_complete(ctx: Context, elicitation_id: str) -> None:
    """See `Context.elicitation_complete`."""
    if ctx.profile.elicitation_complete is not None:
        await ctx.client.notify_elicitation_complete(elicitation_id)
        if ctx.session is not None:
            ctx.session.elicitations.pop(elicitation_id, None)


async def _ask(
    ctx: Context,
    question: InputRequest,
    key: str | None,
    read: Callable[[Any], T],
    timeout_s: float | None,
) -> T:
    rounds = current_rounds(ctx)
    require_capability(ctx, question)
    return await rounds.ask(question, key, read, timeout_s)


def _answer(result: latest.ElicitResult, read: Callable[[Any], T]) -> Answer[T]:
    if result.action == "accept":
        try:
            return Accepted(read(result.content or {}))
        except InvalidParams as error:
            raise InvalidParams(f"the client's answer does not fit the form: {error}") from None
    return Declined() if result.action == "decline" else Cancelled()


def _turn(turn: str | latest.SamplingMessage) -> latest.SamplingMessage:
    if isinstance(turn, str):
        return latest.SamplingMessage(role="user", content=latest.TextContent(text=turn))
    return turn


def _roots(result: latest.ListRootsResult) -> tuple[latest.Root, ...]:
    return tuple(result.roots)


def _tells_of_changes(ctx: Context) -> bool:
    """Whether the client says when its roots are others: then they need not be asked for again."""
    roots: Any = getattr(origin_of(ctx).capabilities, "roots", None)
    return ctx.profile.roots_changed is not None and bool(getattr(roots, "list_changed", False))
