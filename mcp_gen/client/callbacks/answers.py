"""Answers server requests with the client's callbacks, sent as requests or inside results."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import msgspec

import mcp_wire
from mcp_gen.client.callbacks.callbacks import as_root
from mcp_gen.client.session.incoming import HandledRequest, handled_request
from mcp_gen.core.checks.finite import check_plain
from mcp_gen.core.checks.sampling import find_unpaired_tool_use
from mcp_gen.core.errors import (
    InputRefused,
    InvalidParams,
    McpError,
    UrlElicitation,
    UsageError,
)
from mcp_gen.core.projection.project import restate
from mcp_gen.values.custom_types import to_plain
from mcp_wire import Wire, latest
from mcp_wire.handlers import ClientHandlers

if TYPE_CHECKING:
    from mcp_gen.client.callbacks.callbacks import ClientCallbacks
    from mcp_gen.client.session.session import ClientSession
    from mcp_wire import common
    from mcp_wire.profile import Profile

__all__ = ["CallbackAnswers"]


class CallbackAnswers(ClientHandlers["ClientSession"]):
    """Request handlers that adapt the callbacks (newest types) to the types of one revision."""

    def __init__(self, callbacks: ClientCallbacks, profile: Profile) -> None:
        self._callbacks = callbacks
        self._profile = profile

    def offers(self, name: str) -> bool:
        """Return True if the request with this Python name is answered."""
        callbacks = self._callbacks
        answered = {self.ping.__name__}
        if callbacks.answers_elicitation(self._profile):
            answered.add(self.elicit.__name__)
        if callbacks.sampling is not None:
            answered.add(self.create_message.__name__)
        if callbacks.has_roots:
            answered.add(self.list_roots.__name__)
        return name in answered

    async def ping(self, ctx: ClientSession, params: common.RequestParams) -> common.EmptyResult:
        """Answer `ping`."""
        return latest.EmptyResult()

    async def elicit(
        self, ctx: ClientSession, params: common.ElicitRequestParams
    ) -> common.ElicitResult:
        """Answer `elicitation/create`, in form or URL mode.

        Raises:
            InvalidParams: The client did not declare the mode.
            UsageError: The handler's answer does not fit the form.
        """
        request: Any = params
        handled_request.set(HandledRequest(ctx, getattr(request, "meta", None)))
        if hasattr(request, "url"):
            return await self._elicit_url(ctx, request)
        if self._callbacks.elicitation is None:
            raise InvalidParams("elicitation: this client shows no forms")
        form: latest.ElicitRequestFormParams = _newest(request)
        answer = await _resolve(self._callbacks.elicitation(ctx, form))
        if not isinstance(answer, latest.ElicitResult):
            answer = latest.ElicitResult(action="accept", content=_form_content(answer))
        if self._callbacks.declared is not None:
            return answer  # another client's: the server judges it
        timeout_s = self._callbacks.schema_timeout_s
        return await _with_defaults(
            form.requested_schema, _require_elicit_result(answer), timeout_s
        )

    async def _elicit_url(self, session: ClientSession, request: Any) -> latest.ElicitResult:
        if self._callbacks.url_elicitation is None:
            raise InvalidParams("elicitation: this client sends its user to no pages")
        page = UrlElicitation(
            request.message, request.url, getattr(request, "elicitation_id", None)
        )
        return await self.run_url_elicitation(session, page)

    async def run_url_elicitation(
        self, session: ClientSession, page: UrlElicitation
    ) -> latest.ElicitResult:
        """Return the user's answer to a URL elicitation; `cancel` if there is no handler."""
        handler = self._callbacks.url_elicitation
        if handler is None:
            return latest.ElicitResult(action="cancel")
        answer: Any = await _resolve(handler(session, page))
        if isinstance(answer, str):
            answer = msgspec.convert({"action": answer}, latest.ElicitResult)
        result = _require_elicit_result(answer)
        return latest.ElicitResult(action=result.action)  # URL mode has no content

    async def create_message(
        self, ctx: ClientSession, params: common.CreateMessageRequestParams
    ) -> common.CreateMessageResult:
        """Answer `sampling/createMessage`.

        Raises:
            InvalidParams: The client did not declare tools, or tool uses and tool results do not
                match.
            McpError, InputRefused: The user rejected the request.
        """
        handled_request.set(HandledRequest(ctx, getattr(params, "meta", None)))
        callbacks, request = self._callbacks, _newest(params)
        if callbacks.sampling is None:
            raise InvalidParams("sampling: this client has no model")
        if not callbacks.sampling_tools and (
            request.tools is not None or request.tool_choice is not None
        ):
            raise InvalidParams("sampling: this client has not declared `sampling.tools`")
        problem = find_unpaired_tool_use(request.messages)
        if problem:
            raise InvalidParams(f"sampling: {problem}")
        result: latest.CreateMessageResult | None = await _resolve(callbacks.sampling(ctx, request))
        if result is None:
            raise self._refused("sampling")
        if not isinstance(cast("Any", result), Wire):
            raise UsageError(
                f"sampling: expected CreateMessageResult, got {type(result).__name__}: write "
                '`CreateMessageResult(role="assistant", content=TextContent(text=...), model=...)`'
                ", with `from mcp_gen.types import CreateMessageResult, TextContent`"
            )
        return result

    def _refused(self, what: str) -> Exception:
        code = self._profile.errors.user_rejected
        if code is None:
            return InputRefused(f"{what}: the user said no")
        return McpError(code, f"the user rejected the {what} request")

    async def list_roots(
        self, ctx: ClientSession, params: common.RequestParams | common.ListRootsRequestParams
    ) -> common.ListRootsResult:
        """Answer `roots/list`."""
        callbacks = self._callbacks
        if callbacks.list_roots is not None:
            handled_request.set(HandledRequest(ctx, params.meta))
            roots: Any = await _resolve(callbacks.list_roots(ctx))
            return latest.ListRootsResult(roots=[as_root(root) for root in roots])
        return latest.ListRootsResult(roots=list((callbacks.roots or {}).values()))


def _newest(params: Any) -> Any:
    return restate(params, mcp_wire.LATEST).value


async def _resolve(answer: Any) -> Any:
    return await answer if inspect.isawaitable(answer) else answer


def _form_content(answer: Any) -> dict[str, Any]:
    """Return the answers of a form: from a mapping, or from an object with fields."""
    try:
        content = to_plain(answer)
    except Exception as error:
        # Loaded when a value cannot be encoded.
        from mcp_gen.values.unserializable import not_json

        raise not_json(answer, "elicitation") or error from None
    check_plain(answer, "elicitation")
    if content.__class__ is not dict:
        kind = type(answer).__name__
        raise UsageError(
            "elicitation: expected ElicitResult, or the answers as a mapping, a model or a "
            f"dataclass, got {kind}"
        )
    made: dict[str, Any] = content
    if isinstance(answer, Mapping):
        return made
    # A field without an answer is None in an object, and absent in a form.
    return {key: value for key, value in made.items() if value is not None}


def _require_elicit_result(answer: Any) -> latest.ElicitResult:
    if isinstance(answer, latest.ElicitResult):
        return answer
    kind = type(answer).__name__
    raise UsageError(f"elicitation: expected ElicitResult, or the answers as a mapping, got {kind}")


async def _with_defaults(
    schema: latest.ElicitationSchema, result: latest.ElicitResult, timeout_s: float
) -> latest.ElicitResult:
    """Return the answer completed with the form's defaults; drop the content unless it is `accept`.

    Raises:
        UsageError: The answer does not fit the form.
        SchemaNotChecked: The form is so large that checking takes too long.

    Source: https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
    """
    if result.action != "accept":
        return latest.ElicitResult(action=result.action)
    defaults = {
        name: field.default
        for name, field in schema.properties.items()
        if field.default is not None
    }
    content = {**defaults, **(result.content or {})}
    # The validator is loaded with the first form.
    from mcp_gen.client.tools.output_schema import OutputSchema, OutputSchemaError

    checker = OutputSchema(msgspec.to_builtins(schema))
    try:
        if not checker.checked(content):
            await checker.check_in_worker(content, timeout_s)
    except OutputSchemaError as error:
        raise UsageError(f"elicitation: the answers do not fit the form: {error}") from None
    return latest.ElicitResult(action="accept", content=content)
