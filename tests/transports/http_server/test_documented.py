"""Checks that the programs in docs/http.md run as documented."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

from starlette.testclient import TestClient

from mcp_gen import Server
from mcp_gen.core.stores.sessions import MemorySessionStore
from mcp_gen.server.serving.http import HttpOptions
from tests.docs.programs import program
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker
from tests.support.http.asgi import headers_of, surfing

PAGE = (Path(__file__).parents[3] / "docs" / "http.md").read_text("utf-8")


def test_a_mounted_server_answers_where_the_page_says() -> None:
    with program("http", "app") as shown:
        app = shown.app
    speaker = Speaker(PER_REQUEST)
    message = speaker.request(1, "server/discover")
    with TestClient(app, base_url="http://127.0.0.1") as client:
        reply = client.post("/tools/mcp", content=message, headers=headers_of(speaker, message))
    assert reply.json()["result"]["supportedVersions"] == [PER_REQUEST]


async def test_a_store_that_is_given_keeps_the_sessions() -> None:
    store = MemorySessionStore()
    async with surfing(Server("inventory").asgi(session_store=store), HANDSHAKE):
        assert len(store) == 1


def test_what_the_contracts_are_called_is_there() -> None:
    found = re.findall(r"\[`(\w+)`\]\(\.\./(.*?)\.py\)", PAGE)
    assert [name for name, _ in found] == ["EventStore", "SessionStore"]
    for name, path in found:
        assert hasattr(import_module(path.replace("/", ".")), name)


def test_the_limits_of_sessions_are_those_of_the_page() -> None:
    options = HttpOptions()
    assert "`max_sessions` (10 000)" in PAGE.replace("\u202f", " ").replace("\u00a0", " ")
    assert options.max_sessions == 10_000
    assert (options.session_idle_s, options.session_lifetime_s) == (30 * 60, 24 * 60 * 60)


def test_the_page_has_every_option_of_the_app() -> None:
    table = PAGE.partition("| option of `asgi` |")[2].partition("\n\n")[0]
    cells = [row.split("|")[1] for row in table.splitlines()[2:]]
    named = re.findall(r"`(\w+)`", " ".join(cells))
    options = [one for one in inspect.signature(Server.asgi).parameters if one != "self"]
    assert sorted(named) == sorted(options)
