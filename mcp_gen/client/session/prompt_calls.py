"""Prompts of a session: `prompts/get`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_gen.client.requests.argument_values import as_prompt_arguments
from mcp_gen.session.messages.sender import RevisionAdapter
from mcp_wire.peer_calls import ServerCaller

if TYPE_CHECKING:
    from mcp_gen.client.requests.argument_values import Arguments
    from mcp_wire import latest
    from mcp_wire.peer_calls import OnProgress

__all__ = ["PromptCalls"]


class PromptCalls(RevisionAdapter, ServerCaller):
    """Mixin of `ClientSession` that gets prompts."""

    async def get_prompt(
        self,
        name: str,
        arguments: Arguments | None = None,
        input_responses: latest.InputResponses | None = None,
        request_state: str | None = None,
        *,
        meta: dict[str, Any] | None = None,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
    ) -> latest.GetPromptResult:
        """Get a prompt (`prompts/get`).

        Args:
            name: Name of the prompt.
            arguments: Arguments by name, or an object with fields, such as a model or a dataclass.
                They are sent as text: a number or a date as it is written, an object or a list as
                JSON text. What is None is left out.
            input_responses: Responses to input requests, for a multi round-trip request
                (`input_required`) that the program continues itself.
            request_state: The `requestState` of that multi round-trip request.
            meta: More keys for the `_meta` of the request.
            timeout_s: Seconds that the answer may take, restarted by each progress notification;
                None: the default of the session.
            progress: Called with each progress notification.

        Returns:
            The messages for a model.

        Raises:
            UsageError: The arguments cannot be sent; the message ends in the path.
            McpError: The server returned an error.
            RequestTimeout: The server did not answer in time.
            SessionLost: The server disconnected.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/server/prompts
        """
        fields = {
            "name": name,
            "arguments": None if arguments is None else as_prompt_arguments(name, arguments),
            "input_responses": input_responses,
            "request_state": request_state,
        }
        result: latest.GetPromptResult = await self._request(
            ServerCaller.get_prompt.__name__,
            fields,
            meta=meta,
            timeout_s=timeout_s,
            progress=progress,
        )
        return result
