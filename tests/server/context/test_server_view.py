"""`ctx.server` has every public method of a server that handlers may call, with its signature."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, get_overloads

import pytest

from mcp_gen import Server
from mcp_gen.server.api.lists import SessionFeatures
from mcp_gen.server.context.server_view import Notifications, ServerView, SessionView

NOT_FOR_HANDLERS = {
    # serving
    "aclose",
    "asgi",
    "connect",
    "end_sessions",
    "per_connection",
    "run",
    "run_async",
    "serve",
    "serve_tcp",
    "serve_unix",
    # set up before serving
    "add_extension",
    "add_middleware",
    "add_sending_middleware",
    "add_ui_resource",
    "cache_hints",
    "method",
    "middleware",
    "mount",
    "notification",
    "sending_middleware",
    "ui_resource",
    "unmount",
}


def methods(kind: type) -> dict[str, Callable[..., Any]]:
    """Return the public methods of a class and its bases."""
    found = {name: getattr(kind, name) for name in dir(kind) if not name.startswith("_")}
    return {name: one for name, one in found.items() if inspect.isfunction(one)}


def overloads(kind: type, name: str) -> Sequence[Callable[..., Any]]:
    """Return the overloads of a method; those of a Protocol lack the implementation."""

    def method() -> None: ...

    home = next(one for one in kind.__mro__ if name in vars(one))
    method.__module__, method.__qualname__ = home.__module__, f"{home.__qualname__}.{name}"
    return get_overloads(method) or [getattr(kind, name)]


def spelled(kind: type, name: str) -> list[list[tuple[str, Any, Any]]]:
    """Return names, kinds and defaults of a method's parameters, by overload."""
    return [
        [(one.name, one.kind, one.default) for one in inspect.signature(way).parameters.values()]
        for way in overloads(kind, name)
    ]


def test_every_method_of_a_server_is_for_handlers_or_is_known_not_to_be() -> None:
    assert methods(ServerView).keys() | NOT_FOR_HANDLERS == methods(Server).keys()
    assert not methods(ServerView).keys() & NOT_FOR_HANDLERS


@pytest.mark.parametrize("name", methods(ServerView))
def test_a_method_of_the_view_has_the_signature_of_the_servers(name: str) -> None:
    assert spelled(ServerView, name) == spelled(Server, name)


@pytest.mark.parametrize("name", methods(SessionView))
def test_a_method_of_a_sessions_view_has_the_signature_of_its_features(name: str) -> None:
    assert spelled(SessionView, name) == spelled(SessionFeatures, name)


@pytest.mark.parametrize("name", methods(Notifications))
def test_a_notification_of_the_view_has_the_signature_of_the_servers(name: str) -> None:
    notify = type(Server("one").notify)
    assert spelled(Notifications, name) == spelled(notify, name)


def test_what_is_no_method_is_there_too() -> None:
    server = Server("one")
    for name in ("info", "instructions", "name", "hooks", "notify", "tools"):
        assert hasattr(server, name)
