"""Manager configuration: a dict, or a host's file with `mcpServers`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_gen import ClientManager, Server, ServerConfig, UsageError
from mcp_gen.manager.config import ConfigProblem, read_servers, servers_from

ROOT = Path(__file__).parents[2]
ENV = {"TOKEN": "s3cret", "EMPTY": ""}

Write = Callable[[Any], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(content: Any) -> Path:
        path = tmp_path / "servers.json"
        text = content if isinstance(content, str) else json.dumps({"mcpServers": content})
        path.write_text(text, "utf-8")
        return path

    return write


def one(entry: dict[str, Any]) -> ServerConfig:
    servers = servers_from({"a": entry}, ENV)
    assert servers.problems == ()
    return servers.configs["a"]


def problem(entry: Any) -> str:
    (found,) = servers_from({"a": entry}, ENV).problems
    assert (found.server, found.fatal) == ("a", True)
    return str(found)


# --- entries ---


def test_a_command_has_arguments_variables_and_a_folder() -> None:
    entry = {"command": "npx", "args": ["-y", "a"], "env": {"A": "1"}, "cwd": "/srv"}
    assert one(entry) == ServerConfig(command="npx", args=["-y", "a"], env={"A": "1"}, cwd="/srv")


def test_a_url_has_headers() -> None:
    found = one({"url": "https://h/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}})
    assert (found.url, found.headers) == ("https://h/mcp", {"Authorization": "Bearer s3cret"})


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        (ServerConfig(command="npx"), "command"),
        (ServerConfig(url="https://h/mcp"), "remote"),
        (ServerConfig(target=Server("here")), "memory"),
    ],
)
def test_the_kind_of_a_connection_is_that_of_what_it_leads_to(
    entry: ServerConfig, kind: str
) -> None:
    assert entry.kind == kind


@pytest.mark.parametrize("seconds", [0.5, 5])
def test_a_timeout_is_a_number_of_seconds(seconds: float) -> None:
    assert one({"command": "c", "timeout_s": seconds}).timeout_s == seconds


@pytest.mark.parametrize("key", ["url", "serverUrl", "httpUrl"])
def test_a_url_goes_by_several_names(key: str) -> None:
    assert one({key: "https://h/mcp"}).url == "https://h/mcp"


@pytest.mark.parametrize(
    ("type", "transport"),
    [("http", "http"), ("streamable-http", "http"), ("streamableHttp", "http"), ("sse", "sse")],
)
def test_the_type_says_which_transport_a_url_has(type: str, transport: str) -> None:
    assert one({"type": type, "url": "https://h/mcp"}).transport == transport


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${TOKEN}", "s3cret"),
        ("${env:TOKEN}", "s3cret"),
        ("a ${TOKEN} b ${TOKEN}", "a s3cret b s3cret"),
        ("${NONE:-here}", "here"),
        ("${NONE:-}", ""),
        ("${EMPTY:-here}", "here"),
        ("${EMPTY}", ""),
        ("${TOKEN:-other}", "s3cret"),
        ("$TOKEN", "$TOKEN"),
        ("${not a name}", "${not a name}"),
    ],
)
def test_variables_are_replaced(text: str, value: str) -> None:
    assert one({"command": "c", "args": [text]}).args == [value]


def test_a_disabled_server_needs_none_of_its_variables() -> None:
    config = one({"url": "${NONE}/mcp", "disabled": True})
    assert (config.disabled, config.url) == (True, "${NONE}/mcp")


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({}, "servers.a: expected `command` or `url`, got neither"),
        (
            {"command": "c", "url": "http://h"},
            "servers.a: expected `command` or `url`, got both",
        ),
        ({"command": 5}, "servers.a.command: expected a string, got a number"),
        (
            {"command": "c", "args": "x"},
            "servers.a.args: expected an array of strings, got a string",
        ),
        ({"command": "c", "args": [1]}, "servers.a.args[0]: expected a string, got a number"),
        ({"command": "c", "env": {"A": 1}}, "servers.a.env.A: expected a string, got a number"),
        ({"command": "c", "env": []}, "servers.a.env: expected an object of strings, got an array"),
        (
            {"command": "c", "disabled": "no"},
            "servers.a.disabled: expected true or false, got a string",
        ),
        ({"url": "ftp://h"}, "servers.a.url: expected a URL that begins with http:// or https://"),
        (
            {"url": "http://h", "type": "stdio"},
            "servers.a.type: expected a `command` with this type",
        ),
        ({"command": "c", "type": "sse"}, "servers.a.type: expected a `url` with this type"),
        (
            {"command": "c", "timeout_s": 0},
            "servers.a.timeout_s: expected a number of seconds above 0",
        ),
        (
            {"command": "c", "timeout_s": True},
            "servers.a.timeout_s: expected a number of seconds above 0",
        ),
        (
            {"command": "c", "timeout_s": "5"},
            "servers.a.timeout_s: expected a number of seconds above 0",
        ),
        (
            {"command": "c", "args": ["${NONE}"]},
            "servers.a.args[0]: the environment has no `NONE`; set it, or write `${NONE:-default}`",
        ),
        (None, "servers.a: expected an object with `command` or `url`, got NoneType"),
        ([], "servers.a: expected a URL or a command, got nothing"),
        (ServerConfig(), "servers.a: expected one of `command`, `url` and `target`"),
    ],
)
def test_what_is_wrong_with_an_entry_is_said_in_one_line_with_its_place(
    entry: Any, said: str
) -> None:
    assert problem(entry) == said


@pytest.mark.parametrize(("key", "value"), [("type", "carrier pigeon"), ("revision", "2020-01-01")])
def test_a_word_that_is_not_known_is_answered_with_those_that_are(key: str, value: str) -> None:
    assert problem({"url": "http://h", key: value}).startswith(f"servers.a.{key}: expected one of ")


def test_an_error_does_not_tell_what_a_variable_holds() -> None:
    assert "s3cret" not in problem({"url": "${TOKEN}"})


def test_keys_of_other_hosts_are_told_and_do_no_harm() -> None:
    servers = servers_from({"a": {"command": "c", "autoApprove": ["x"], "timeout": 5}})
    assert servers.configs["a"].command == "c"
    assert [(str(one), one.fatal) for one in servers.problems] == [
        (f"servers.a.{key}: this key is not known, and nothing is made of it", False)
        for key in ("autoApprove", "timeout")
    ]


# --- config from a program ---


@pytest.mark.parametrize(
    ("given", "config"),
    [
        ("https://h/mcp", ServerConfig(url="https://h/mcp")),
        ("npx to https://h/mcp", ServerConfig(command="npx", args=["to", "https://h/mcp"])),
        ("python 'my server.py'", ServerConfig(command="python", args=["my server.py"])),
        (("python", Path("s.py")), ServerConfig(command="python", args=["s.py"])),
        (ServerConfig(command="c"), ServerConfig(command="c")),
    ],
)
def test_a_program_gives_what_connect_takes(given: Any, config: ServerConfig) -> None:
    assert servers_from({"a": given}).configs == {"a": config}


def test_a_server_of_the_program_is_a_target() -> None:
    server = Server("a")
    assert servers_from({"a": server}).configs["a"].target is server


def test_what_was_read_from_a_file_may_be_given_as_it_is() -> None:
    whole = {"mcpServers": {"a": {"command": "c"}}}
    assert list(servers_from(whole).configs) == ["a"]


def test_a_server_may_be_called_as_the_file_calls_them_all() -> None:
    assert list(servers_from({"servers": {"command": "c"}}).configs) == ["servers"]


# --- files ---


def test_a_file_is_read_with_its_variables(write: Write) -> None:
    path = write({"a": {"command": "c", "env": {"A": "${TOKEN}"}}})
    assert read_servers(path, ENV).configs["a"].env == {"A": "s3cret"}


def test_a_file_may_begin_with_a_byte_order_mark(write: Write) -> None:
    path = write('\ufeff{"servers": {"a": {"command": "c"}}}')
    assert list(read_servers(path).configs) == ["a"]


def test_one_bad_entry_leaves_the_others(write: Write) -> None:
    servers = read_servers(write({"bad": {}, "good": {"command": "c"}}))
    assert list(servers.configs) == ["good"]
    assert [one.server for one in servers.problems] == ["bad"]


def test_a_name_that_stands_twice_is_told(write: Write) -> None:
    path = write('{"mcpServers": {"a": {"command": "c"}, "a": {"command": "d"}}}')
    servers = read_servers(path)
    assert servers.configs["a"].command == "d"
    assert str(servers.problems[0]).endswith("`a` stands twice in one object: the last one counts")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{\n "mcpServers": {,}}', "line 2 column 17: expected JSON: "),
        ("", "line 1 column 1: expected JSON: "),
        ("[" * 100_000, "expected JSON, got brackets that are too deep"),
        ("[]", 'expected `{"mcpServers": {"name": {...}}}` at the top'),
        ('{"mcpServers": []}', 'expected `{"mcpServers": {"name": {...}}}` at the top'),
        ('{"other": {}}', 'expected `{"mcpServers": {"name": {...}}}` at the top'),
    ],
)
def test_a_file_that_holds_no_servers_is_said_in_one_line_with_the_place(
    text: str, said: str, write: Write
) -> None:
    path = write(text)
    with pytest.raises(UsageError) as caught:
        read_servers(path)
    assert str(caught.value).startswith(str(path))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_servers(tmp_path / "none.json")


# --- in use ---


async def test_a_manager_of_a_file_knows_the_servers_that_cannot_be_used(write: Write) -> None:
    path = write(
        {
            "good": {
                "command": sys.executable,
                "args": ["${ROOT}/examples/server.py"],
                "env": {"A": "1"},
                "cwd": str(path_of_nothing_special()),
                "note": "",
            },
            "bad": {"command": "${NONE}"},
        }
    )
    manager = ClientManager.from_file(path, env={"ROOT": str(ROOT)})
    assert [one.server for one in manager.problems] == ["good", "bad"]
    async with manager:
        states = {name: one.state for name, one in manager.servers().items()}
        tools = [one.name for one in await manager.tools()]
        with pytest.raises(UsageError, match="no `NONE`"):
            await manager.reconnect("bad")
    assert states == {"bad": "failed", "good": "connected"}
    assert tools == ["mcp__good__count"]


def path_of_nothing_special() -> Path:
    return Path.home()


async def test_a_command_runs_in_its_folder_and_a_tilde_is_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here/server.py").write_text((ROOT / "examples/server.py").read_text("utf-8"))
    monkeypatch.setenv("HOME", str(tmp_path))
    entry = ServerConfig(command=sys.executable, args=["server.py"], cwd="~/here")
    async with ClientManager({"a": entry}) as manager:
        assert manager.servers()["a"].state == "connected"


def test_a_problem_says_where_and_what() -> None:
    assert str(ConfigProblem("here", "wrong")) == "here: wrong"


@pytest.mark.parametrize("target", ["server.py:server", "unix:/run/a.sock", "tcp:h:9000"])
@pytest.mark.parametrize("written", ["text", "object"])
def test_a_server_of_a_file_may_be_any_target(target: str, written: str, tmp_path: Path) -> None:
    path = tmp_path / "servers.json"
    entry = target if written == "text" else {"target": target}
    path.write_text(json.dumps({"mcpServers": {"a": entry}}))
    servers = read_servers(path)
    assert servers.problems == ()
    assert servers.configs == {"a": ServerConfig(target=target)}


@pytest.mark.parametrize(
    ("target", "config"),
    [
        ("https://h/mcp", ServerConfig(url="https://h/mcp", timeout_s=5.0)),
        ("uvx a-server", ServerConfig(command="uvx", args=["a-server"], timeout_s=5.0)),
        ("server.py", ServerConfig(target="server.py", timeout_s=5.0)),
    ],
)
def test_a_target_of_an_object_goes_with_its_other_keys(target: str, config: ServerConfig) -> None:
    made = one({"target": target, "timeout_s": 5})
    assert replace(made, args=made.args or ()) == config


def test_variables_of_a_target_are_replaced() -> None:
    assert one({"target": "${NONE:-server}.py"}).target == "server.py"


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"target": "s.py", "url": "http://h"}, "servers.a: expected `command` or `url`, got both"),
        ({"target": "tcp:h"}, "servers.a.target: tcp:h: expected a host and a port"),
        ({"target": "s.py", "env": {"A": "1"}}, "servers.a.env: expected a `command`"),
    ],
)
def test_a_target_that_cannot_be_used_is_a_problem_of_its_server(
    entry: dict[str, Any], said: str
) -> None:
    servers = servers_from({"a": entry})
    assert [str(problem)[: len(said)] for problem in servers.problems] == [said]
