"""Checks the example: a protected server, its authorization server and a client of both."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

from examples.oauth import protected_server
from examples.oauth.client import call
from mcp_gen.auth import MemoryTokenStore, OAuth
from tests.auth.client.over_sockets import REDIRECT, agree, serving_issuer
from tests.support.http.loopback import serving
from tests.support.ports import free_port


async def test_the_client_logs_in_once_for_its_notes_and_gets_only_its_own() -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    store = MemoryTokenStore()
    protected_server.notes["somebody else"].append("secret")
    async with serving_issuer() as issuer:
        app = protected_server.server.asgi(auth=protected_server.gate(issuer.issuer, url))
        async with serving(app, port=port):
            assert await call(url, login(store)) == ["buy bolts"]
            logins = len(issuer.received("authorize"))
            assert await call(url, login(store)) == ["buy bolts", "buy bolts"]
            assert len(issuer.received("authorize")) == logins
            scopes = issuer.received("authorize")[-1].query["scope"].split()
    assert sorted(scopes) == ["notes:read", "notes:write"]


def login(store: MemoryTokenStore) -> OAuth:
    """Return a new authorizer of a user who agrees, with what earlier ones have stored."""
    return OAuth(store=store, on_authorize=agree, redirect_uri=REDIRECT)


ROOT = Path(__file__).parents[2]


def imported(folder: Path) -> set[str]:
    """Return the packages that the modules of a folder import, without the standard library."""
    nodes = [
        node for file in folder.rglob("*.py") for node in ast.walk(ast.parse(file.read_text()))
    ]
    names = {one.name for node in nodes if isinstance(node, ast.Import) for one in node.names}
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in names} - sys.stdlib_module_names - {"examples"}


@pytest.mark.parametrize("page", ["docs/auth.md", "docs/auth-client.md"])
def test_a_page_says_what_the_authorization_server_needs_beside_the_package(page: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    installed = [*project["dependencies"], *project["optional-dependencies"]["auth"]]
    known = {"mcp_gen", *(re.split(r"[^a-z0-9-]", one)[0] for one in installed)}
    needed = imported(ROOT / "examples/oauth/authorization_server") - known
    told = re.findall(r"`pip install 'mcp-gen\[auth\]' ([^`]+)`", (ROOT / page).read_text())
    assert [set(one.split()) for one in told] == [needed]
