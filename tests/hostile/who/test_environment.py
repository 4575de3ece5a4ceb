"""A command gets basic variables and those that it was given; all of them only if asked."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mcp_gen import Client, ClientManager, ServerConfig, SessionLost, UsageError
from mcp_gen.cli.app import app
from mcp_gen.manager.config import servers_from
from mcp_gen.transports import environment
from mcp_gen.transports.command import CommandTransport
from mcp_gen.transports.environment import Environment, command_environment

SERVER = """
import os
from mcp_gen import Server

server = Server("environment")

@server.tool
def variables() -> dict[str, str]:
    return dict(os.environ)

server.run("stdio")
"""
PASSED = (
    *("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR"),
    *("TZ", "HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"),
    *("NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"),
    *("CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
)
KEPT = (
    *("AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "PYTHONPATH", "LD_PRELOAD", "SSH_AUTH_SOCK"),
    *("home", "path", "LCX", "PATH_OF_OURS", "BASH_FUNC_x%%", "USERPROFILE"),
)


class TestTheList:
    """The variables that a command gets without being given any."""

    @pytest.fixture(autouse=True)
    def _as_outside_of_tests(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(environment, "PREFIXES", ("LC_",))

    @pytest.mark.parametrize("name", PASSED)
    def test_has_what_programs_need(self, name: str) -> None:
        assert command_environment(None, {name: "value"}, windows=False) == {name: "value"}

    @pytest.mark.parametrize("name", KEPT)
    def test_has_nothing_else(self, name: str) -> None:
        assert command_environment(None, {name: "value"}, windows=False) == {}

    @pytest.mark.parametrize("name", ["APPDATA", "PATH", "PATHEXT", "SYSTEMROOT", "USERPROFILE"])
    def test_on_windows_has_what_programs_need_there(self, name: str) -> None:
        assert command_environment(None, {name: "value"}, windows=True) == {name: "value"}

    @pytest.mark.parametrize("name", ["HOME", "SHELL", "GITHUB_TOKEN"])
    def test_on_windows_has_nothing_else(self, name: str) -> None:
        assert command_environment(None, {name: "value"}, windows=True) == {}

    def test_has_no_shell_function(self) -> None:
        of = {"TERM": "() { echo; }", "HTTP_PROXY": "() { :; }; echo", "TZ": "UTC"}
        assert command_environment(None, of, windows=False) == {"TZ": "UTC"}

    def test_is_added_to_by_what_is_given_and_yields_to_it(self) -> None:
        given = {"TZ": "CET", "GITHUB_TOKEN": "()"}
        found = command_environment(given, {"TZ": "UTC", "USER": "me"}, windows=False)
        assert found == {"TZ": "CET", "USER": "me", "GITHUB_TOKEN": "()"}

    def test_is_not_used_if_all_variables_are_asked_for(self) -> None:
        of = {"GITHUB_TOKEN": "a", "BASH_FUNC_x%%": "() { :; }"}
        assert command_environment("inherit", of) == of

    def test_is_asked_for_by_no_other_word(self) -> None:
        word: Any = "all"
        with pytest.raises(UsageError, match='expected a mapping of names to values, or "inherit"'):
            CommandTransport(["any"], env=word)


async def by_client(words: list[str], env: Environment) -> dict[str, str]:
    async with Client("test") as client:
        session = await client.connect(words, env=env)
        return await session.call_tool("variables", returns=dict[str, str])


async def by_command_line(words: list[str], env: Environment) -> dict[str, str]:
    async with Client("test") as client:
        session = await client.connect(shlex.join(words), env=env)
        return await session.call_tool("variables", returns=dict[str, str])


async def by_transport(words: list[str], env: Environment) -> dict[str, str]:
    async with Client("test") as client:
        session = await client.connect(CommandTransport(words, env=env))
        return await session.call_tool("variables", returns=dict[str, str])


async def by_manager(words: list[str], env: Environment) -> dict[str, str]:
    config = ServerConfig(command=words[0], args=words[1:], env=env)
    async with ClientManager({"one": config}) as manager:
        session = await manager.session("one")
        return await session.call_tool("variables", returns=dict[str, str])


async def by_file(words: list[str], env: Environment) -> dict[str, str]:
    entry = {"command": words[0], "args": words[1:], **({} if env is None else {"env": env})}
    async with ClientManager({"mcpServers": {"one": entry}}) as manager:
        session = await manager.session("one")
        return await session.call_tool("variables", returns=dict[str, str])


Starts = Callable[[list[str], Environment], Awaitable[dict[str, str]]]
WAYS: tuple[Starts, ...] = (by_client, by_command_line, by_transport, by_manager, by_file)


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the command of a server that tells its variables; set one that is not basic."""
    script = tmp_path / "server.py"
    script.write_text(SERVER, "utf-8")
    monkeypatch.setenv("OURS", "ours")
    return [sys.executable, str(script)]


class TestEachWay:
    """Each way to start a command passes the same."""

    @pytest.mark.parametrize("starts", WAYS)
    async def test_without_variables(self, starts: Starts, words: list[str]) -> None:
        found = await starts(words, None)
        assert found["PATH"] == os.environ["PATH"]
        assert "OURS" not in found

    @pytest.mark.parametrize("starts", WAYS)
    async def test_with_a_variable(self, starts: Starts, words: list[str]) -> None:
        found = await starts(words, {"ADDED": "added"})
        assert (found["PATH"], found["ADDED"]) == (os.environ["PATH"], "added")
        assert "OURS" not in found

    @pytest.mark.parametrize("starts", WAYS)
    async def test_with_all(self, starts: Starts, words: list[str]) -> None:
        found = await starts(words, "inherit")
        assert (found["PATH"], found["OURS"]) == (os.environ["PATH"], "ours")

    @pytest.mark.parametrize(
        ("starts", "ours", "added"),
        [
            ((), None, None),
            (("--env", "ADDED=a=b"), None, "a=b"),
            (("--env", "OURS"), "ours", None),
            (("--env", "inherit"), "ours", None),
            (("--env", "inherit", "--env", "ADDED=x", "--env", "OURS=mine"), "mine", "x"),
        ],
    )
    def test_on_the_command_line(
        self, starts: tuple[str, ...], ours: str | None, added: str | None, words: list[str]
    ) -> None:
        ran = CliRunner().invoke(app, ["call", shlex.join(words), "variables", "--json", *starts])
        found = json.loads(ran.stdout)["structuredContent"]
        assert (found.get("OURS"), found.get("ADDED")) == (ours, added)
        assert found["PATH"] == os.environ["PATH"]


class TestRefusals:
    """Refused: variables for other targets, and values that are no variables."""

    @pytest.mark.parametrize("target", ["http://127.0.0.1:9/mcp", CommandTransport(["any"])])
    async def test_variables_are_for_commands(self, target: Any) -> None:
        async with Client("test") as client:
            with pytest.raises(UsageError, match="environment variables are for commands"):
                await client.connect(target, env="inherit")

    def test_a_file_names_no_other_word(self) -> None:
        entry = {"command": "any", "env": "all"}
        (problem,) = servers_from({"one": entry}).problems
        assert str(problem) == 'servers.one.env: expected an object of strings, or "inherit"'

    @pytest.mark.parametrize(
        ("server", "env", "why"),
        [
            ("http://127.0.0.1:9/mcp", "inherit", "--env is for commands and Python code"),
            ("python", "=x", "--env: expected `NAME=value`, `NAME` or `inherit`"),
            ("python", "NO_SUCH_VARIABLE", "--env: the environment has no `NO_SUCH_VARIABLE`"),
        ],
    )
    def test_the_command_line_says_what_it_takes(self, server: str, env: str, why: str) -> None:
        ran = CliRunner().invoke(app, ["tools", server, "--env", env])
        assert (ran.exit_code, ran.stderr) == (2, f"mcp-gen tools: {why}\n")


ENDS = [sys.executable, "-S", "-c", "import os; os.environ['NEEDED']"]
HINT = 'its environment was not inherited (`env="inherit"` passes all of it)'


class TestACommandThatEnds:
    """The error of a command that ends at its start says that the environment was not inherited."""

    async def test_it_says_how_to_ask_for_all(self) -> None:
        async with Client("test") as client:
            with pytest.raises(SessionLost) as ended:
                await client.connect(ENDS)
        assert str(ended.value).endswith(f"'NEEDED'\n{HINT}")

    async def test_it_says_nothing_of_it_if_all_were_passed(self) -> None:
        async with Client("test") as client:
            with pytest.raises(SessionLost) as ended:
                await client.connect(ENDS, env="inherit")
        assert str(ended.value).endswith("'NEEDED'")

    async def test_it_says_nothing_of_it_once_it_has_answered(self, tmp_path: Path) -> None:
        script = tmp_path / "server.py"
        script.write_text(SERVER.replace("return dict(os.environ)", "os._exit(3)"), "utf-8")
        async with Client("test") as client:
            session = await client.connect([sys.executable, str(script)], env=dict(os.environ))
            with pytest.raises(SessionLost, match=r"status 3$"):
                await session.call_tool("variables")

    def test_the_command_line_says_how_to_ask_for_it(self) -> None:
        ran = CliRunner().invoke(app, ["tools", shlex.join(ENDS)])
        assert ran.exit_code == 3
        assert ran.stderr.endswith(
            f"{HINT}; `--env NAME` passes a variable, `--env inherit` all of them\n"
        )
