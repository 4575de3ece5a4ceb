"""What a client answers when a server asks, whether by a request or inside of a result."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

import mcp_wire
from mcp_gen.client.callbacks.callbacks import as_root
from mcp_gen.core.errors import (
    InputRefused,
    InvalidParams,
    McpError,
    UrlElicitation,
    UsageError,
)
from mcp_gen.core.projection.project import project
from mcp_gen.core.sampling import find_unpaired_tool_use
from mcp_wire import latest
from mcp_wire.handlers import ClientHandlers

if TYPE_CHECKING:
    from mcp_gen.client.callbacks.callbacks import ClientCallbacks
    from mcp_gen.client.session.session import ClientSession
    from mcp_wire import common
    from mcp_wire.profile import Profile

__all__ = ["CallbackAnswers"]


class CallbackAnswers(ClientHandlers["ClientSession"]):
    """The program's handlers, between the types of one revision and the newest ones."""

    def __init__(self, offer: ClientCallbacks, profile: Profile) -> None:
        self._offer = offer
        self._profile = profile

    def offers(self, name: str) -> bool:
        """Whether the request of this Python name is answered."""
        offer = self._offer
        answered = {self.ping.__name__}
        if offer.answers_elicitation(self._profile):
            answered.add(self.elicit.__name__)
        if offer.sampling is not None:
            answered.add(self.create_message.__name__)
        if offer.has_roots:
            answered.add(self.list_roots.__name__)
        return name in answered

    async def ping(self, ctx: ClientSession, params: common.RequestParams) -> common.EmptyResult:
        """ping"""
        return latest.EmptyResult()

    async def elicit(
        self, ctx: ClientSession, params: common.ElicitRequestParams
    ) -> common.ElicitResult:
        """elicitation/create, by form or by URL.

        Raises:
            InvalidParams: a way to ask that was not declared.
            UsageError: the handler's answer does not fit the form.
        """
        asked: Any = params
        if hasattr(asked, "url"):
            return await self._elicit_url(ctx, asked)
        if self._offer.elicitation is None:
            raise InvalidParams("elicitation: this client shows no forms")
        form: latest.ElicitRequestFormParams = _newest(asked)
        answer = await _awaited(self._offer.elicitation(ctx, form))
        if isinstance(answer, Mapping):
            content: dict[str, Any] = {**answer}
            answer = latest.ElicitResult(action="accept", content=content)
        return _filled(form.requested_schema, _checked(answer))

    async def _elicit_url(self, session: ClientSession, asked: Any) -> latest.ElicitResult:
        if self._offer.url_elicitation is None:
            raise InvalidParams("elicitation: this client sends its user to no pages")
        page = UrlElicitation(asked.message, asked.url, getattr(asked, "elicitation_id", None))
        return await self.run_url_elicitation(session, page)

    async def run_url_elicitation(
        self, session: ClientSession, page: UrlElicitation
    ) -> latest.ElicitResult:
        """What the user said to a page; `cancel` where there is nobody to send there."""
        handler = self._offer.url_elicitation
        if handler is None:
            return latest.ElicitResult(action="cancel")
        answer: Any = await _awaited(handler(session, page))
        if isinstance(answer, str):
            answer = msgspec.convert({"action": answer}, latest.ElicitResult)
        result = _checked(answer)
        return latest.ElicitResult(action=result.action)  # a page has no content

    async def create_message(
        self, ctx: ClientSession, params: common.CreateMessageRequestParams
    ) -> common.CreateMessageResult:
        """sampling/createMessage

        Raises:
            InvalidParams: tools for a model that takes none, or that do not go with their results.
            McpError, InputRefused: the user said no.
        """
        offer, asked = self._offer, _newest(params)
        if offer.sampling is None:
            raise InvalidParams("sampling: this client has no model")
        if not offer.sampling_tools and (asked.tools is not None or asked.tool_choice is not None):
            raise InvalidParams("sampling: this client has not declared `sampling.tools`")
        wrong = find_unpaired_tool_use(asked.messages)
        if wrong:
            raise InvalidParams(f"sampling: {wrong}")
        said: latest.CreateMessageResult | None = await _awaited(offer.sampling(ctx, asked))
        if said is None:
            raise self._refused("sampling")
        return said

    def _refused(self, what: str) -> Exception:
        code = self._profile.errors.user_rejected
        if code is None:
            return InputRefused(f"{what}: the user said no")
        return McpError(code, f"the user rejected the {what} request")

    async def list_roots(
        self, ctx: ClientSession, params: common.RequestParams | common.ListRootsRequestParams
    ) -> common.ListRootsResult:
        """roots/list"""
        offer = self._offer
        if offer.list_roots is not None:
            roots: Any = await _awaited(offer.list_roots(ctx))
            return latest.ListRootsResult(roots=[as_root(root) for root in roots])
        return latest.ListRootsResult(roots=list((offer.roots or {}).values()))


def _newest(params: Any) -> Any:
    return project(params, mcp_wire.LATEST).value


async def _awaited(answer: Any) -> Any:
    return await answer if inspect.isawaitable(answer) else answer


def _checked(answer: Any) -> latest.ElicitResult:
    if isinstance(answer, latest.ElicitResult):
        return answer
    kind = type(answer).__name__
    raise UsageError(f"elicitation: expected ElicitResult, or the answers as a mapping, got {kind}")


def _filled(schema: latest.ElicitationSchema, result: latest.ElicitResult) -> latest.ElicitResult:
    """The answer with the form's defaults for what was left out; what is no answer has no content.

    Raises:
        UsageError: it does not fit the form.

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

    try:
        OutputSchema(msgspec.to_builtins(schema)).check(content)
    except OutputSchemaError as error:
        raise UsageError(f"elicitation: the answers do not fit the form: {error}") from None
    return latest.ElicitResult(action="accept", content=content)
