"""Elicitation, sampling and roots requests with one call for every revision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_gen.core.errors import InvalidResult
from mcp_gen.core.mistakes.checks import check_type
from mcp_gen.server.context.answers import Accepted, Answer, Cancelled, Declined
from mcp_gen.server.context.context import origin_of
from mcp_gen.server.input_requests.capabilities import require_capability
from mcp_gen.server.input_requests.forms import elicitation_form
from mcp_gen.server.input_requests.rounds import InputKind, InputRequest
from mcp_gen.server.input_requests.run import current_rounds
from mcp_wire import Wire, encode, latest

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
    """Send `elicitation/create` in form mode; see `Context.elicit`."""
    fields = elicitation_form(form)
    params = latest.ElicitRequestFormParams(message=message, requested_schema=fields.schema)

    def read(result: latest.ElicitResult) -> Answer[T]:
        return _to_answer(result, fields.read)

    request = InputRequest(InputKind.ELICIT, params, as_task=task)
    return await _ask(ctx, request, key, read, timeout_s)


async def elicit_url(
    ctx: Context,
    message: str,
    url: str,
    elicitation_id: str | None,
    *,
    key: str | None,
    timeout_s: float | None,
) -> Answer[None]:
    """Send `elicitation/create` in URL mode; see `Context.elicit_url`."""
    params = latest.ElicitRequestURLParams(message=message, url=url)

    def read(result: latest.ElicitResult) -> Answer[None]:
        return _to_answer(result, lambda content: None)

    request = InputRequest(InputKind.ELICIT, params, elicitation_id)
    return await _ask(ctx, request, key, read, timeout_s)


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
    """Send `sampling/createMessage`; see `Context.sample`."""
    example = 'model_preferences=ModelPreferences(hints=[ModelHint(name="...")])'
    check_type("ctx.sample: model_preferences", params.get("model_preferences"), Wire, example)
    conversation = [messages] if isinstance(messages, str) else messages
    request_params = latest.CreateMessageRequestParams(
        messages=[_sampling_message(message) for message in conversation],
        max_tokens=max_tokens,
        **params,
    )

    def read(result: latest.CreateMessageResult) -> latest.CreateMessageResult:
        return result

    request = InputRequest(InputKind.CREATE_MESSAGE, request_params, as_task=task)
    return await _ask(ctx, request, key, read, timeout_s)


async def list_roots(
    ctx: Context, *, key: str | None, timeout_s: float | None
) -> Sequence[latest.Root]:
    """Send `roots/list`, or return the roots cached in the session; see `Context.list_roots`.

    The session caches roots only if the client declared `roots.listChanged`, and only if they are
    no larger than `PeerLimits.max_declared_bytes`.
    """
    request = InputRequest(InputKind.LIST_ROOTS)
    # Cached roots too are only for handlers that run.
    current_rounds(ctx)
    session = ctx.session
    if session is None:
        return await _ask(ctx, request, key, _read_roots, timeout_s)
    if session.roots is None:
        changes = session.roots_changes
        roots = await _ask(ctx, request, key, _read_roots, timeout_s)
        if not _sends_roots_changed(ctx) or session.roots_changes != changes:
            return roots
        if len(encode(roots)) > session.host.peer_limits.max_declared_bytes:
            return roots
        session.roots = roots
    return session.roots


async def elicitation_complete(ctx: Context, elicitation_id: str) -> None:
    """Send `notifications/elicitation/complete`; see `Context.elicitation_complete`.

    Does nothing at revisions without that notification.
    """
    if ctx.profile.elicitation_complete is not None:
        await ctx.client.notify_elicitation_complete(elicitation_id)
        if ctx.session is not None:
            ctx.session.elicitations.pop(elicitation_id, None)


async def _ask(
    ctx: Context,
    request: InputRequest,
    key: str | None,
    read: Callable[[Any], T],
    timeout_s: float | None,
) -> T:
    rounds = current_rounds(ctx)
    require_capability(ctx, request)
    return await rounds.request_input(request, key, read, timeout_s)


def _to_answer(result: latest.ElicitResult, read: Callable[[Any], T]) -> Answer[T]:
    if result.action == "accept":
        try:
            return Accepted(read(result.content or {}))
        except InvalidResult as error:
            raise InvalidResult(f"the client's answer does not fit the form: {error}") from None
    return Declined() if result.action == "decline" else Cancelled()


def _sampling_message(message: str | latest.SamplingMessage) -> latest.SamplingMessage:
    if isinstance(message, str):
        return latest.SamplingMessage(role="user", content=latest.TextContent(text=message))
    return message


def _read_roots(result: latest.ListRootsResult) -> tuple[latest.Root, ...]:
    return tuple(result.roots)


def _sends_roots_changed(ctx: Context) -> bool:
    """Return True if the client sends roots/list_changed, so that its roots can be cached."""
    roots: Any = getattr(origin_of(ctx).capabilities, "roots", None)
    return ctx.profile.roots_changed is not None and bool(getattr(roots, "list_changed", False))
