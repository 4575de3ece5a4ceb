"""Tests of `mcp-gen tools`, `call`, `read` and `prompt`."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import mcp_wire
from mcp_gen import Context, McpError, Server, ServerConfig, ToolError
from mcp_gen.cli.console import server_options
from mcp_gen.cli.console.content import save_media
from mcp_gen.cli.console.progress import Screen, strip_control
from mcp_gen.client.tools.result_content import Media
from mcp_gen.server.content import blocks
from tests.cli.running import complaint, lines, printed_json, run

ROOT = Path(__file__).parents[2]
EXAMPLE = str(ROOT / "examples/server.py")
PIXEL = b"\x89PNG and so on"


@dataclass
class Choice:
    colour: str


def a_server() -> Server:
    server = Server("cli")

    @server.tool
    async def add(a: int, b: int = 2) -> int:
        """Add two numbers."""
        return a + b

    @server.tool
    async def draw() -> list[Any]:
        return ["a picture", blocks.image(PIXEL, mime_type="image/png")]

    @server.tool
    async def fail() -> str:
        raise ToolError("it is broken")

    @server.tool
    async def refuse() -> str:
        raise McpError(-1, "not\ntoday")

    @server.tool
    async def ask(ctx: Context) -> str:
        return (await ctx.elicit("Which?", Choice)).action

    @server.tool
    async def wait() -> str:
        await asyncio.Event().wait()
        return ""

    @server.resource("notes://a", mime_type="text/plain")
    async def note() -> str:
        return "a note"

    @server.resource("notes://{name}")
    async def notes(name: str) -> str:
        return f"the note {name}"

    @server.resource("files://logo.png", mime_type="image/png")
    async def logo() -> bytes:
        return PIXEL

    @server.prompt
    def review(code: str, style: str = "kind") -> str:
        """Review some code."""
        return f"review {code}, be {style}"

    return server


@pytest.fixture(autouse=True)
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Serve the config entry `here` from this process."""
    named: Callable[[str], ServerConfig] = server_options._named

    def found(server: str) -> ServerConfig:
        return ServerConfig(target=a_server()) if server == "here" else named(server)

    monkeypatch.setattr(server_options, "_named", found)


# --- lists ---


def test_tools_are_listed_with_their_arguments() -> None:
    assert ["add", "a:", "integer,", "b?:", "integer", "Add", "two", "numbers."] in lines(
        "tools", "here"
    )


def test_tools_are_printed_as_json_with_their_schemas() -> None:
    add = printed_json("tools", "here")[0]
    assert (add["name"], add["inputSchema"]["required"]) == ("add", ["a"])


def test_resources_and_templates_are_listed() -> None:
    first = [line[0] for line in lines("read", "here")]
    assert first == ["resource", "notes://a", "files://logo.png", "notes://{name}"]
    found = printed_json("read", "here")
    assert [one["uriTemplate"] for one in found["resourceTemplates"]] == ["notes://{name}"]


def test_prompts_are_listed_with_their_arguments() -> None:
    assert lines("prompt", "here")[1][:3] == ["review", "code,", "style?"]
    assert printed_json("prompt", "here")[0]["arguments"][0]["name"] == "code"


@pytest.mark.parametrize("command", ["tools", "read", "prompt"])
def test_a_server_that_has_nothing_is_no_mistake(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_options, "_named", lambda _: ServerConfig(target=Server("empty")))
    ran = run(command, "empty")
    assert (ran.exit_code, ran.stdout.split()[0]) == (0, "no")


# --- using them ---


def test_a_tool_is_called_with_arguments_of_its_kinds() -> None:
    assert run("call", "here", "add", "--arg", "a=1", "--arg", "b=4").stdout == "5\n"


def test_arguments_are_given_as_json_too_and_single_ones_win() -> None:
    ran = run("call", "here", "add", "--args", '{"a": 1, "b": 5}', "--arg", "a=3")
    assert ran.stdout == "8\n"


@pytest.mark.parametrize("given", [("--arg", "aa=1"), ("--args", '{"aa": 1}')])
def test_an_argument_that_the_tool_does_not_have_is_not_sent(given: tuple[str, str]) -> None:
    said = "mcp-gen call: add: unknown argument 'aa': did you mean 'a'?; --no-check sends it anyway"
    assert complaint("call", "here", "add", *given) == said


def test_arguments_are_sent_unchecked_where_that_is_wished_for() -> None:
    ran = run("call", "here", "add", "--arg", "a=1", "--arg", "c=1", "--no-check")
    assert (ran.exit_code, ran.stdout) == (1, "add: unknown argument 'c': there are 'a', 'b'\n")


def test_a_result_is_printed_as_json() -> None:
    found = printed_json("call", "here", "add", "--arg", "a=1")
    assert found["content"] == [{"type": "text", "text": "3"}]


@pytest.mark.parametrize("revision", mcp_wire.REVISIONS)
def test_a_revision_can_be_pinned(revision: str) -> None:
    ran = run("call", "here", "add", "--arg", "a=1", "--revision", revision)
    assert (ran.exit_code, ran.stdout) == (0, "3\n")


def test_a_picture_is_said_and_not_dumped() -> None:
    assert run("call", "here", "draw").stdout.splitlines() == [
        "a picture",
        "[image/png, 14 bytes; --save DIR writes it to a file]",
    ]


def test_a_picture_is_written_where_that_is_wished_for(tmp_path: Path) -> None:
    ran = run("call", "here", "draw", "--save", str(tmp_path / "new"))
    assert f"{tmp_path}/new/content.png" in ran.stdout
    assert (tmp_path / "new/content.png").read_bytes() == PIXEL


def test_a_resource_is_read(tmp_path: Path) -> None:
    assert run("read", "here", "notes://b").stdout == "the note b\n"
    assert run("read", "here", "files://logo.png", "--save", str(tmp_path)).exit_code == 0
    assert [one.name for one in tmp_path.iterdir()] == ["content.png"]


def test_a_prompt_is_filled_in() -> None:
    ran = run("prompt", "here", "review", "--arg", "code=a=1")
    assert ran.stdout == "user: review a=1, be kind\n"


def test_a_question_is_declined_where_there_is_no_terminal() -> None:
    ran = run("call", "here", "ask")
    assert ran.stdout == "decline\n"
    assert "declined, for nobody is here to answer: Which?" in ran.stderr


# --- naming the server ---


def test_a_python_file_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = run("call", EXAMPLE, "count", "--arg", "item=bolt", "--arg", "shelf=3")
    assert (ran.exit_code, ran.stdout) == (0, "12\n")


def test_a_server_of_a_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "servers.json"
    entry = {"command": sys.executable, "args": [EXAMPLE], "note": 1}
    path.write_text(json.dumps({"mcpServers": {"shelves": entry}}))
    ran = run("tools", "shelves", "--config", str(path), "--json")
    assert [one["name"] for one in json.loads(ran.stdout)] == ["count"]
    assert "mcpServers.shelves.note: this key is not known" in ran.stderr
    assert complaint("tools", "other", "--config", str(path)).endswith(
        "has no server 'other'; there are shelves"
    )


def test_headers_are_added_to_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "servers.json"
    entry = {"url": "http://127.0.0.1:9/mcp", "headers": {"a": "1", "b": "1"}}
    path.write_text(json.dumps({"mcpServers": {"web": entry}}))
    found = server_options.options_of("call", "web", str(path), None, ["b: 2", "C:3"], None, 1.0)
    assert found.config.headers == {"a": "1", "b": "2", "C": "3"}


# --- failures ---


def failed(*arguments: str) -> tuple[int, str]:
    """Return the exit code and the one line of the error message."""
    ran = run(*arguments)
    assert ran.stdout == ""
    return ran.exit_code, ran.stderr.rstrip("\n")


def test_a_tool_that_fails_is_exit_code_1_and_says_why() -> None:
    ran = run("call", "here", "fail")
    assert (ran.exit_code, ran.stdout) == (1, "it is broken\n")


def test_a_refusal_is_exit_code_1_in_one_line() -> None:
    assert failed("call", "here", "refuse") == (
        1,
        "mcp-gen call: not today (-1); `mcp-gen tools here` shows what there is",
    )


@pytest.mark.parametrize("command", ["read", "prompt"])
def test_what_a_command_does_not_find_is_listed_by_that_command(command: str) -> None:
    _, said = failed(command, "here", "nope://a")
    assert said.endswith(f"; `mcp-gen {command} here` shows what there is")


def test_a_server_that_takes_too_long_is_exit_code_3() -> None:
    code, said = failed("call", "here", "wait", "--timeout", "0.1")
    assert (code, said.endswith("; `--timeout 0.4` waits longer")) == (3, True)


def test_a_server_that_cannot_be_reached_is_exit_code_3() -> None:
    code, said = failed("tools", "http://127.0.0.1:9/mcp")
    assert (code, said.endswith("; check the URL")) == (3, True)


@pytest.mark.parametrize(
    ("target", "why"),
    [("tcp:127.0.0.1:9", "Connection refused"), ("unix:/no.sock", "No such file or directory")],
)
def test_a_socket_that_nobody_listens_on_is_exit_code_3(target: str, why: str) -> None:
    assert failed("tools", target) == (
        3,
        f"mcp-gen tools: cannot connect to {target}: {why}; check the address, and that a server "
        "listens there",
    )


def test_a_command_that_is_not_there_is_exit_code_3() -> None:
    assert failed("tools", "no-such-command --at all") == (
        3,
        "mcp-gen tools: cannot start `no-such-command` (2 arguments): No such file or directory; "
        "check the command and its path",
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["call", "here", "ad", "--arg", "a=1"], "no tool 'ad'; did you mean 'add'? "),
        (["call", "here", "add", "--arg", "a"], "--arg: expected `name=value`, got 'a'"),
        (["call", "here", "add", "--arg", "a=b"], "--arg a: expected integer, got 'b'"),
        (["call", "here", "add", "--args", "[]"], "--args: expected a JSON object"),
        (["tools", "here", "--revision", "2020-01-01"], "no revision '2020-01-01'; there are"),
        (["tools", "here", "--header", "a: 1"], "--header is for URLs"),
        (["tools", "http://h/mcp", "--header", "a"], "--header: expected `Name: value`"),
        (["tools", "here", "--config", "none.json"], "none.json: cannot be read"),
        (["tools", " "], "SERVER: expected a URL, `file.py`, `file.py:name`, a module"),
        (["tools", "a 'b"], "SERVER: the command line: No closing quotation; check its"),
    ],
)
def test_a_mistake_in_the_command_line_is_exit_code_2_in_one_line(
    arguments: list[str], said: str
) -> None:
    assert complaint(*arguments).startswith(f"mcp-gen {arguments[0]}: {said}")


@pytest.mark.parametrize("command", ["tools", "call", "read", "prompt"])
def test_the_help_of_a_command_has_examples_and_exit_codes(command: str) -> None:
    told = run(command, "--help").stdout
    assert "Examples" in told
    assert "Exit code 1" in told


# --- output ---


def test_a_file_is_named_as_the_server_says_but_stays_in_its_folder(tmp_path: Path) -> None:
    media = Media(b"1", "text/plain", "file:///a/..%2F..%2Fetc%2Fpasswd")
    assert save_media(media, tmp_path).parent == tmp_path
    hidden = Media(b"1", "text/plain", "file:///a/.profile")
    assert save_media(hidden, tmp_path).name == "profile.txt"


def test_no_file_is_overwritten(tmp_path: Path) -> None:
    media = Media(b"1", "image/png", "file:///a/logo.png")
    names = [save_media(media, tmp_path).name for _ in range(2)]
    assert names == ["logo.png", "logo-2.png"]


def test_what_controls_a_terminal_is_not_shown_to_one() -> None:
    assert strip_control("a\x1b[2Jb\n\tc\u202e") == "a\ufffd[2Jb\n\tc\ufffd"


def test_progress_is_shown_on_a_terminal_and_nowhere_else() -> None:
    shown: list[str] = []
    for terminal in (True, False):
        file = io.StringIO()
        with Screen(console=Console(file=file, force_terminal=terminal, width=80)) as screen:
            screen.begin("counting")
            screen.report(1, 3, "one of three")
        shown.append(file.getvalue())
    assert "one of three" in shown[0]
    assert shown[1] == ""


async def test_a_line_is_read_without_stopping_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(console=Console(file=io.StringIO()))
    monkeypatch.setattr(screen.console, "input", lambda prompt: f"{prompt}Ada")
    assert await screen.ask("name: ") == "name: Ada"


async def test_the_end_of_input_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def end(prompt: Any) -> str:
        raise EOFError

    screen = Screen(console=Console(file=io.StringIO()))
    monkeypatch.setattr(screen.console, "input", end)
    with pytest.raises(EOFError):
        await screen.ask("name: ")


def test_a_log_message_is_shown_in_one_line() -> None:
    file = io.StringIO()
    message = type("Message", (), {"level": "info", "logger": "a", "data": {"b": 1}})
    Screen(console=Console(file=file, width=80)).logged(None, message)
    assert file.getvalue() == "[info] a: {'b': 1}\n"
