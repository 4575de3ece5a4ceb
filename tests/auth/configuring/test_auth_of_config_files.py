"""The `auth` member of a server in a config file: what it makes, and mistakes in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_gen.auth import ClientCredentials, DPoP, FileTokenStore, MemoryTokenStore, OAuth
from mcp_gen.auth.configuring.auth_settings import AuthSettings, token_store
from mcp_gen.manager.config import ServerConfig, read_servers, servers_from

URL = "https://api.example/mcp"
ENV = {"SECRET": "the-s3cret", "ISSUER": "https://as.example", "EMPTY": ""}
PROGRAM = {"type": "client_credentials", "client_id": "c", "client_secret_env": "SECRET"}


def config(auth: Any, **more: Any) -> ServerConfig:
    servers = servers_from({"a": {"url": URL, "auth": auth, **more}}, ENV)
    assert servers.problems == ()
    return servers.configs["a"]


def problem(auth: Any, **entry: Any) -> str:
    (found,) = servers_from({"a": {"url": URL, **entry, "auth": auth}}, ENV).problems
    assert (found.server, found.fatal) == ("a", True)
    return str(found)


def test_the_type_alone_is_enough() -> None:
    assert config("oauth").auth == config({}).auth == AuthSettings()
    assert isinstance(config("oauth").authorizer(), OAuth)


def test_members_are_read_with_their_variables() -> None:
    found = config(
        {
            "type": "oauth",
            "client_id": "c",
            "client_secret_env": "SECRET",
            "issuer": "${ISSUER}",
            "scopes": ["mcp", "files:read"],
            "allow_hosts": ["as.corp"],
            "redirect_uri": "http://localhost:8123/cb",
            "store": "memory",
            "account": "ann",
        }
    )
    assert found.auth == AuthSettings(
        client_id="c",
        client_secret="the-s3cret",
        issuer="https://as.example",
        scopes=("mcp", "files:read"),
        allow_hosts=("as.corp",),
        redirect_uri="http://localhost:8123/cb",
        store="memory",
        account="ann",
    )
    assert isinstance(found.authorizer(), OAuth)


def test_a_program_logs_in_with_its_secret() -> None:
    assert isinstance(config(PROGRAM).authorizer(), ClientCredentials)


def test_tokens_are_bound_to_a_key_where_it_is_wanted() -> None:
    assert isinstance(config({"dpop": True}).authorizer(), DPoP)


def test_tokens_are_stored_as_they_are_named(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    named, usual = token_store(str(path)), token_store(None)
    assert isinstance(named, FileTokenStore)
    assert isinstance(usual, FileTokenStore)
    assert (named.path, usual.path) == (path, FileTokenStore().path)
    assert isinstance(token_store("memory"), MemoryTokenStore)


def test_no_repr_has_a_secret() -> None:
    found = config(PROGRAM)
    shown = f"{found!r} {found.auth!r} {found.authorizer()!r}"
    assert "the-s3cret" not in shown
    assert "auth=AuthSettings(type='client_credentials', client_id='c')" in shown


MISTAKES = [
    (7, "servers.a.auth: expected an object such as"),
    ("token", "servers.a.auth.type: expected one of oauth, client_credentials"),
    ({"type": "basic"}, "servers.a.auth.type: expected one of oauth, client_credentials"),
    ({"clientId": "c"}, "servers.a.auth.clientId: expected one of type, client_id,"),
    ({"scopes": "mcp"}, "servers.a.auth.scopes: expected an array of strings"),
    ({"scopes": [1]}, "servers.a.auth.scopes[0]: expected a string, got a number"),
    ({"client_id": 1}, "servers.a.auth.client_id: expected a string, got a number"),
    ({"dpop": "yes"}, "servers.a.auth.dpop: expected true or false"),
    ({"issuer": "${NONE}"}, "servers.a.auth.issuer: the environment has no `NONE`"),
    (
        {"client_secret": "the-s3cret"},
        "servers.a.auth.client_secret: expected `client_secret_env`, the name of a variable",
    ),
    (
        {"client_secret_env": "the-s3cret"},
        "servers.a.auth.client_secret_env: expected the name of a variable",
    ),
    (
        {"client_secret_env": "EMPTY"},
        "servers.a.auth.client_secret_env: the environment has no such variable, or it is empty",
    ),
    ({"private_key_env": "SECRET"}, 'expected `"type": "client_credentials"` with this'),
    ({"type": "client_credentials"}, "servers.a.auth: expected `client_id` with this type"),
    (
        {"type": "client_credentials", "client_id": "c"},
        "expected one of `client_secret_env` and `private_key_env`",
    ),
    ({**PROGRAM, "private_key_env": "SECRET"}, "expected one of `client_secret_env`"),
    ({**PROGRAM, "store": "keyring"}, 'servers.a.auth.store: expected `"type": "oauth"`'),
]


@pytest.mark.parametrize(("auth", "says"), MISTAKES, ids=lambda one: str(one)[:60])
def test_a_mistake_is_said_in_one_line_with_its_place(auth: Any, says: str) -> None:
    said = problem(auth)
    assert says in said
    assert "\n" not in said
    assert "the-s3cret" not in said


def test_a_command_has_no_auth() -> None:
    servers = servers_from({"a": {"command": "x", "auth": "oauth"}}, ENV)
    assert [str(one) for one in servers.problems] == ["servers.a.auth: expected a `url` with this"]


def test_a_disabled_server_needs_none_of_its_variables() -> None:
    auth = {**PROGRAM, "client_secret_env": "NOT_SET"}
    assert config(auth, disabled=True).disabled


def test_a_file_has_auth_for_each_server(tmp_path: Path) -> None:
    path = tmp_path / "servers.json"
    entries = {"a": {"url": URL, "auth": {"scopes": ["x"]}}, "b": {"url": URL, "auth": PROGRAM}}
    path.write_text(json.dumps({"mcpServers": entries}))
    servers = read_servers(path, ENV)
    assert servers.problems == ()
    assert [type(one.authorizer()).__name__ for one in servers.configs.values()] == [
        "OAuth",
        "ClientCredentials",
    ]
