"""Requests for results that are open at this node, through which tasks elsewhere reach clients."""

from __future__ import annotations

import asyncio
import secrets
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from mcp_gen.core.errors import InvalidParams, McpError, McpGenError
from mcp_gen.core.stores.failures import BusError, NodeGone
from mcp_gen.core.stores.tasks import NOTHING
from mcp_gen.server.tasks.nodes.messages import (
    NodeReply,
    Notify,
    RemoteError,
    Request,
    Responded,
    Withdraw,
)
from mcp_wire.method import Method

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mcp_gen.server.tasks.nodes.messages import Question
    from mcp_gen.session.messages.channel import Channel
    from mcp_wire.profile import Profile

__all__ = ["Attachments"]


class _Attachment:
    def __init__(self, channel: Channel, profile: Profile) -> None:
        self.channel = channel
        self.profile = profile
        self.loop = asyncio.get_running_loop()
        self.requests: dict[str, asyncio.Task[None]] = {}
        """All requests so far: the other node may ask again for one that is over."""
        self.was_refused = False
        """True if the other node takes it for ended, because the client was unreachable."""

    @property
    def is_open(self) -> bool:
        """True if the client can be reached."""
        return bool(getattr(self.channel, "reachable", True))


class Attachments:
    """Channels of requests at this node, by name.

    Args:
        ask: Asks a node; see `TaskNodes.ask`.
    """

    def __init__(self, ask: Callable[[str, Question], Awaitable[NodeReply]]) -> None:
        self._ask = ask
        self._open: dict[str, _Attachment] = {}

    def add(self, channel: Channel, profile: Profile) -> str:
        """Add the channel of a request, and return its name."""
        # Other nodes know the name, clients do not.
        name = secrets.token_urlsafe(12)
        self._open[name] = _Attachment(channel, profile)
        return name

    def must_attach_again(self, name: str) -> bool:
        """Return True once after the client has become reachable again."""
        attachment = self._open[name]
        again = attachment.was_refused and attachment.is_open
        if again:
            attachment.was_refused = False
        return again

    def remove(self, name: str) -> None:
        """Remove a request that ends, and cancel what was sent on it."""
        for sent in self._open.pop(name).requests.values():
            sent.cancel()

    def reply(self, node: str, question: Question) -> NodeReply:
        """Answer a question of the node that runs the task."""
        if not isinstance(question, Notify | Request | Withdraw):
            return NodeReply(is_known=False)
        attachment = self._open.get(question.attachment)
        if attachment is None or not attachment.is_open:
            if attachment is not None:
                attachment.was_refused = True
            return NodeReply(is_known=False)
        if isinstance(question, Notify):
            method = _row(attachment.profile, question.method)
            params = UNSET if question.params == NOTHING else method.decode_params(question.params)
            attachment.channel.notify(method, params)
        elif isinstance(question, Request):
            if question.request not in attachment.requests:
                sent = attachment.loop.create_task(self._send(attachment, node, question))
                attachment.requests[question.request] = sent
        elif question.request in attachment.requests:
            attachment.requests[question.request].cancel()
        return NodeReply()

    async def _send(self, attachment: _Attachment, node: str, asked: Request) -> None:
        """Send a request to the client, and its outcome to the node that asked."""
        result = NOTHING
        refusal: RemoteError | None = None
        try:
            method = _row(attachment.profile, asked.method)
            params = method.decode_params(asked.params)
            result = await attachment.channel.request(method, params)
        except McpError as error:
            refusal = RemoteError(error.code, error.message, error.data)
        except msgspec.DecodeError as error:
            refusal = RemoteError(InvalidParams.code, str(error))
        except McpGenError:
            # Lost: the task waits for another way to its client.
            pass
        await self._tell(node, Responded(asked.request, result, refusal))

    async def _tell(self, node: str, outcome: Responded) -> None:
        wait_s = 0.1
        while True:
            try:
                await self._ask(node, outcome)
                return
            except NodeGone:
                return
            except BusError:
                # The client does not answer twice: go on until the request for the result ends.
                await asyncio.sleep(wait_s)
                wait_s = min(2 * wait_s, 2.0)


@cache
def _rows(module: str) -> Mapping[str, Method[Any, Any]]:
    methods: dict[str, Method[Any, Any]] = vars(import_module(f"{module}.methods"))
    return {row.name: row for row in methods.values() if row.__class__ is Method}


def _row(profile: Profile, name: str) -> Method[Any, Any]:
    """Return the row of a method; of one that the revision does not name, a plain one."""
    found = _rows(profile.module).get(name)
    if found is not None:
        return found
    kind: Any = dict[str, Any]
    return Method(
        name, kind="request", direction="server_to_client", params=kind, params_required=False
    )
