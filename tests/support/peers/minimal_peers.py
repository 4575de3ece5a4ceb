"""Peers that answer every request of every revision, each with its smallest result."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import mcp_wire
from mcp_gen import Context, Server
from mcp_gen.core.transport.protocols import Duplex
from mcp_gen.server.context.context import origin_of
from mcp_gen.session.duplex.server import ServerConnection
from mcp_gen.session.kernel.kernel import Kernel
from mcp_wire import latest
from mcp_wire.handlers import ClientHandlers, ServerHandlers
from mcp_wire.hook_machinery import HookPoint, HookSet, NoticePoint
from mcp_wire.hooks import ServerHooks
from mcp_wire.method import Method
from tests.wire.revisions import kept

__all__ = [
    "Everything",
    "answering",
    "client_handlers",
    "minimal_params",
    "notice_names",
    "request_names",
    "rows",
]


def rows(revision: str, *, kind: str, to: str) -> Iterator[Method[Any, Any]]:
    """Return the methods of one kind that a client or a server may receive."""
    for method in mcp_wire.profile(revision).methods.values():
        sent = method.from_client if to == "server" else method.from_server
        if method.kind == kind and sent:
            yield method


def request_names(hooks: HookSet) -> dict[str, str]:
    """Return the Python name of each request with hooks, by its wire name."""
    return {p.method: name for name, p in vars(hooks).items() if isinstance(p, HookPoint)}


def notice_names(hooks: HookSet) -> dict[str, str]:
    """Return the same for notifications: the decorator is `on_` plus the name."""
    points = [name for name, p in vars(hooks).items() if isinstance(p, NoticePoint)]
    wires = {id(point): wire for wire, point in hooks.notices.items()}
    return {wires[id(getattr(hooks, name))]: name.removesuffix("_notice") for name in points}


def minimal_params(revision: str, method: Method[Any, Any]) -> Any:
    """Return the smallest params, as JSON."""
    name = method.params.__name__.removesuffix("Arm")
    return kept(revision).minimal(name)


def minimal_result(revision: str, method: Method[Any, Any]) -> Any:
    """Return the smallest result, with the revision's type."""
    kind, profile = method.results[0], mcp_wire.profile(revision)
    value = {} if kind is dict else kept(revision).minimal(kind.__name__)
    if method is profile.handshake:
        value["protocolVersion"] = revision
    elif method is profile.listen:
        # The schema restricts this map, its type does not.
        value["_meta"] = {profile.subscription_id_key: 1}
    return mcp_wire.decode(kind, mcp_wire.encode(value))


def answering(base: Any, revision: str, hooks: HookSet, said: list[str]) -> Any:
    """Return handlers for every request that `base` names; each records its run first."""
    methods = mcp_wire.profile(revision).methods

    def handler(wire: str) -> Any:
        async def answer(self: Any, ctx: Any, params: Any) -> Any:
            said.append("handler")
            method = methods[wire]
            if method is mcp_wire.profile(revision).handshake:
                origin_of(ctx).session.agree(origin_of(ctx), mcp_wire.profile(revision))
            return minimal_result(revision, method)

        return answer

    named = {name: handler(wire) for wire, name in request_names(hooks).items()}
    made = type("Answering", (base,), named)()
    assert all(made.offers(name) for name in named)
    return made


class Everything:
    """Server that answers every request of one revision, with all capabilities."""

    def __init__(self, revision: str) -> None:
        self.said: list[str] = []
        self.hooks = ServerHooks(lambda: self.kernel.changed())
        handlers: ServerHandlers[Context] = answering(
            ServerHandlers, revision, self.hooks, self.said
        )
        capabilities = {
            method.capability
            for each in mcp_wire.REVISIONS
            for method in mcp_wire.profile(each).methods.values()
        }
        self.kernel: Kernel[Context] = Kernel(
            handlers=handlers,
            hooks=self.hooks,
            revisions=mcp_wire.REVISIONS,
            context=partial(Context, Server("everything")),
            offered=lambda: frozenset(capabilities),
            server_info=latest.Implementation(name="everything", version="1"),
        )
        self.sessions: list[ServerConnection[Context]] = []

    async def serve(self, transport: Duplex) -> None:
        session = ServerConnection(self.kernel, transport)
        self.sessions.append(session)
        await session.serve()


def client_handlers(revision: str, hooks: HookSet, said: list[str]) -> Any:
    """Return the same for the requests that a client may receive."""
    return answering(ClientHandlers, revision, hooks, said)
