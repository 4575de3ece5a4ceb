"""Secrets are planted everywhere, and no repr, error, log or event shows them."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import sys
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import httpx2
import pytest
from typer.testing import CliRunner

from mcp_gen import (
    Client,
    ClientManager,
    CommandEnded,
    ManagerEvent,
    McpGenError,
    Reconnect,
    Server,
    ServerConfig,
    TransportError,
    UsageError,
)
from mcp_gen.cli.app import app
from mcp_gen.cli.console.server_options import Options
from mcp_gen.core.redaction import hide, shown_url, url_secrets
from mcp_gen.manager.config import ServersConfig, servers_from
from mcp_gen.transports import command as command_module
from mcp_gen.transports.command import CommandTransport
from mcp_gen.transports.http_client.endpoint import HttpEndpoint
from tests.support.http.loopback import Got, Line, scripted_web, serving

WAIT_S = 30.0
QUICKSTART = Path(__file__).parents[3] / "examples/quickstart_server.py"

PLANTED = "s3cret"
USER, PASSWORD, QUERY = f"{PLANTED}-user", f"{PLANTED}-password", f"{PLANTED}-query"
TOKEN, ARGUMENT, VALUE = f"{PLANTED}-token", f"{PLANTED}-argument", f"{PLANTED}-value"
RANDOM = "a1b2c3d4e5f6a7b8"
BASIC = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
NOWHERE = f"http://{USER}:{PASSWORD}@127.0.0.1:9/mcp?key={QUERY}#{QUERY}"
HEADERS = {"X-Api-Key": TOKEN, "Cookie": f"id={TOKEN}"}
MISSING = ("/no/such/command", "--token", ARGUMENT, f"--url=https://{USER}:{PASSWORD}@h/?k={QUERY}")
ECHOES = (
    "import os, sys; sys.stderr.write(' '.join([*sys.argv, os.environ['API_KEY']])); sys.exit(3)"
)


@dataclass
class Output:
    """All that a row showed: texts of errors with their causes, reprs, and results."""

    texts: list[str] = field(default_factory=list[str])

    def add(self, *shown: object) -> None:
        """Take what was shown; of an error, all that a traceback shows."""
        for one in shown:
            self.texts += [repr(one), str(one)]
            if isinstance(one, BaseException):
                self.texts.append("".join(traceback.format_exception(one)))


class Deaf:
    """Receiver that takes nothing but the end."""

    def __init__(self) -> None:
        self.ended: asyncio.Future[BaseException | None] = (
            asyncio.get_running_loop().create_future()
        )

    def receive(self, message: bytes) -> None:
        """Drop the message."""

    def oversized(self, limit_bytes: int, beginning: bytes = b"", end: bytes = b"") -> None:
        """Drop the message."""

    def closed(self, error: BaseException | None) -> None:
        """Keep the error."""
        self.ended.set_result(error)


Shows = Callable[[Output], Awaitable[None]]


async def connect(out: Output, target: Any, **options: Any) -> None:
    """Connect a client; the error is part of the output."""
    async with Client("test") as client:
        with pytest.raises(McpGenError) as refused:
            await client.connect(target, **options)
        out.add(refused.value, refused.value.args)


async def manage(out: Output, given: Any) -> None:
    """Run a manager with one server; its events and its status are part of the output."""
    manager = ClientManager({"one": given}, reconnect=Reconnect(first_s=0, limit=1), wait_s=1)

    @manager.on_event
    def show(event: ManagerEvent) -> None:
        out.add(event, event.error)

    async with manager:
        out.add(manager.servers)
        with pytest.raises(McpGenError) as refused:
            await manager.call_tool("mcp__one__any", {})
        out.add(refused.value)


async def reprs(out: Output) -> None:
    web = ServerConfig(url=NOWHERE, headers=HEADERS, bearer_token=TOKEN, http_client=HEADERS)
    called = ServerConfig(url="http://[" + PASSWORD, headers=lambda: HEADERS)
    words = ServerConfig(command="run", args=[ARGUMENT], env={"API_KEY": VALUE})
    for config in (web, called, words, ServerConfig(target=HEADERS)):
        out.add(config, [config], replace(config, disabled=True))
    sse = replace(web, transport="sse")
    out.add(words.connect_target(1)[0], sse.connect_target(1)[0])
    out.add(ServersConfig({"one": web, "two": words}))


async def no_command(out: Output) -> None:
    await connect(out, MISSING)
    config = ServerConfig(command=MISSING[0], args=MISSING[1:], env={"API_KEY": VALUE})
    await manage(out, config)


async def a_command_that_the_system_does_not_take(out: Output) -> None:
    for words, env in (
        (["run", f"{ARGUMENT}\0"], {}),
        (["run", f"{ARGUMENT}\ud800"], {}),
        (["run"], {"API_KEY": f"{VALUE}\0"}),
        (["run"], {f"{VALUE}=": "x"}),
    ):
        with pytest.raises(TransportError) as refused:
            await CommandTransport(words, env=env).start(Deaf())
        out.add(refused.value)


async def a_command_that_repeats_them(out: Output) -> None:
    words = [sys.executable, "-S", "-c", ECHOES, *MISSING[1:]]
    deaf = Deaf()
    transport = CommandTransport(words, env={"API_KEY": VALUE})
    with pytest.MonkeyPatch.context() as patch:
        # The command's own output goes where it goes: here it is about our errors.
        patch.setattr(command_module, "_copy_to_stderr", len)
        await transport.start(deaf)
        error = await asyncio.wait_for(deaf.ended, WAIT_S)
        await transport.aclose()
    assert isinstance(error, CommandEnded)
    assert "***" in error.stderr
    out.add(error, error.stderr)


async def a_token_that_no_header_holds(out: Output) -> None:
    for token in (f"{TOKEN}€", f"{TOKEN}\n", f"{TOKEN}\x0b", f"{TOKEN}\x7f", f"{TOKEN}\ud800"):
        await connect(out, "http://127.0.0.1:9/mcp", bearer_token=token)
        await connect(out, "http://127.0.0.1:9/mcp", headers={"X-Api-Key": token})
        await connect(out, "http://127.0.0.1:9/mcp", headers={f"Authorization: {token}": ""})
        await connect(out, "http://127.0.0.1:9/mcp", headers=lambda t=token: {"X-Api-Key": t})
        await manage(out, ServerConfig(url="http://127.0.0.1:9/mcp", bearer_token=token))


async def a_server_that_is_not_there(out: Output) -> None:
    await connect(out, NOWHERE, headers=HEADERS)
    await manage(out, ServerConfig(url=NOWHERE, headers=HEADERS, bearer_token=TOKEN))
    await manage(out, ServerConfig(url=NOWHERE, transport="sse", bearer_token=TOKEN))


async def a_url_that_is_none(out: Output) -> None:
    for url in (
        f"http://{USER}:{PASSWORD}@host:{PASSWORD}/mcp",
        f"http://{USER}:{PASSWORD}@[::1/mcp?key={QUERY}",
        f"http://{USER}:{PASSWORD}@ho℀st/mcp?key={QUERY}",
        f"http://{PASSWORD}..ü/mcp?key={QUERY}",
        f"ftp://{USER}:{PASSWORD}@host/?key={QUERY}",
        f"http://{USER}:{PASSWORD}@",
    ):
        await connect(out, url)
        await manage(out, url)


async def a_server_that_refuses(out: Output) -> None:
    async def refuses(got: Got, line: Line) -> None:
        status = int(got.path.partition("?")[0].rpartition("/")[2])
        location = f"http://other.example/?key={QUERY}"
        await line.answer(status, b"no", "text/plain", location=location)

    async with scripted_web(refuses) as web:
        at = web.origin.replace("//", f"//{USER}:{PASSWORD}@")
        for status in (200, 202, 204, 307, 401, 403, 404, 500):
            await connect(out, f"{at}/{status}?key={QUERY}", bearer_token=TOKEN)


async def a_client_whose_errors_quote_requests(out: Output) -> None:
    class ConnectError(Exception):
        pass

    class Quoting:
        timeout = httpx2.Timeout(1)

        def build_request(self, *words: Any, **options: Any) -> Any:
            return words, options

        async def send(self, request: Any, **options: Any) -> Any:
            raise ConnectError(f"{request}") from ValueError(f"{request}")

    kinds: tuple[Literal["http", "sse"], ...] = ("http", "sse")
    for kind in kinds:
        config = ServerConfig(
            url=NOWHERE, transport=kind, headers=HEADERS, bearer_token=TOKEN, http_client=Quoting()
        )
        await manage(out, config)


async def a_file_with_mistakes(out: Output) -> None:
    url = f"https://{USER}:{PASSWORD}@host/?key={QUERY}"
    entries: list[Any] = [
        {"command": ARGUMENT, "url": url},
        {"command": "run", "args": ARGUMENT, "env": {"API_KEY": VALUE}},
        {"command": "run", "env": VALUE},
        {"command": "run", "env": {"API_KEY": [VALUE]}},
        {"url": f"ftp://{USER}:{PASSWORD}@host"},
        {"url": url, "type": TOKEN},
        {"url": url, "revision": TOKEN},
        {"url": url, "timeout_s": TOKEN},
        {"url": url, "headers": {"Authorization": "${NO_SUCH:-" + TOKEN + "}${NO_SUCH}"}},
        {"url": url, "headers": {"Authorization": TOKEN}, "unknown": TOKEN},
    ]
    out.add(servers_from({f"server{i}": one for i, one in enumerate(entries)}, {"SET": VALUE}))


def run(out: Output, exit_code: int, command: str, server: str, *options: str) -> None:
    """Run a command of `mcp-gen` that connects to a server, for people and for scripts."""
    words = [command, server, *([] if command == "tools" else ["any://thing"]), "--timeout", "20"]
    for more in ([], ["--json"]):
        ran = CliRunner().invoke(app, [*words, *options, *more])
        assert ran.exit_code == exit_code, ran.output
        out.add(ran.output, ran.stderr, ran.exception)


async def the_command_line(out: Output) -> None:
    header = ("--header", f"Authorization: {TOKEN}")
    for command in ("tools", "call", "read", "prompt"):
        await asyncio.to_thread(run, out, 3, command, NOWHERE, *header)
        await asyncio.to_thread(run, out, 3, command, " ".join(MISSING))
    broken = f"http://{USER}:{PASSWORD}@host:{PASSWORD}/"
    await asyncio.to_thread(run, out, 2, "tools", broken, *header)
    await asyncio.to_thread(run, out, 2, "tools", f"run '{ARGUMENT}")
    await asyncio.to_thread(run, out, 2, "tools", NOWHERE, "--header", f"Authorization: {TOKEN}€")
    await asyncio.to_thread(run, out, 2, "tools", NOWHERE, "--header", TOKEN)


def len_of(text: str) -> int:
    """Return the length."""
    return len(text)


async def the_command_line_of_a_server_that_refuses(out: Output) -> None:
    server = Server("refuses")
    server.tool(len_of)
    async with serving(server.asgi()) as web:
        at = web.url.replace("//", f"//{USER}:{PASSWORD}@") + f"?key={QUERY}"
        for command in ("call", "read", "prompt"):
            await asyncio.to_thread(run, out, 1, command, at, "--header", f"X-Api-Key: {TOKEN}")
        await asyncio.to_thread(run, out, 2, "call", at, "--arg", "a=1")
    words = f"{sys.executable} {QUICKSTART} --token={ARGUMENT}"
    await asyncio.to_thread(run, out, 2, "call", words, "--arg", "a=1")


def write_json(path: Path, value: object) -> str:
    """Write a file; return its path."""
    path.write_text(json.dumps(value), "utf-8")
    return str(path)


async def the_command_line_with_a_file(out: Output) -> None:
    url = f"https://{USER}:{PASSWORD}@127.0.0.1:9/?key={QUERY}"
    entries = {
        "web": {"url": url, "headers": {"Authorization": TOKEN}, "unknown": TOKEN},
        "words": {"command": MISSING[0], "args": MISSING[1:], "env": {"API_KEY": VALUE}},
        "wrong": {"command": "run", "args": ARGUMENT, "env": {"API_KEY": VALUE}},
    }
    with TemporaryDirectory() as folder:
        file = write_json(Path(folder, "servers.json"), {"mcpServers": entries})
        for name, exit_code in (("web", 3), ("words", 3), ("wrong", 2), ("none", 2)):
            options = ("--config", file)
            await asyncio.to_thread(run, out, exit_code, "tools", name, *options)


SHOWING: dict[str, Shows] = {
    one.__name__.replace("_", " "): one
    for one in (
        reprs,
        no_command,
        a_command_that_the_system_does_not_take,
        a_command_that_repeats_them,
        a_token_that_no_header_holds,
        a_server_that_is_not_there,
        a_url_that_is_none,
        a_server_that_refuses,
        a_client_whose_errors_quote_requests,
        a_file_with_mistakes,
        the_command_line,
        the_command_line_of_a_server_that_refuses,
        the_command_line_with_a_file,
    )
}


def shows_a_secret(line: str) -> bool:
    """Return True if a line of output shows what was planted."""
    # What the HTTP library logs of a response is the server's.
    return (PLANTED in line or BASIC in line) and "receive_response_headers" not in line


class TestSecrets:
    """Secrets are planted everywhere, and nothing shows them."""

    @pytest.mark.parametrize("shows", SHOWING.values(), ids=SHOWING)
    async def test_nothing_shows_them(
        self, shows: Shows, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
    ) -> None:
        caplog.set_level(logging.DEBUG)
        out = Output()
        await shows(out)
        printed = capfd.readouterr()
        whole = "\n".join([*out.texts, caplog.text, printed.out, printed.err])
        assert out.texts != []
        assert [line for line in whole.splitlines() if shows_a_secret(line)] == []

    def test_a_repr_names_what_is_not_secret(self) -> None:
        web = ServerConfig(
            url=f"https://{USER}:{PASSWORD}@h/mcp?key={QUERY}", headers=HEADERS, bearer_token=TOKEN
        )
        words = ServerConfig(command="run", args=[ARGUMENT], env={"API_KEY": VALUE}, timeout_s=2)
        assert repr(web) == (
            "ServerConfig(url='https://***@h/mcp?key=***', headers=<X-Api-Key, Cookie>, "
            "bearer_token=<***>)"
        )
        assert repr(words) == (
            "ServerConfig(command='run', args=<1 hidden>, env=<API_KEY>, timeout_s=2)"
        )

    def test_a_text_is_searched_for_each_form_of_a_secret(self) -> None:
        secrets = url_secrets(f"http://u%40ser:p%40ssword@h/?key={TOKEN}+1&on=1")
        text = f"u%40ser:p%40ssword, p@ssword and {TOKEN} 1, on=1"
        assert hide(text, secrets) == "***, *** and ***, on=1"

    @pytest.mark.parametrize(
        ("server", "shown"),
        [
            ("server.py", "server.py"),
            ("http://127.0.0.1:8000/mcp", "http://127.0.0.1:8000/mcp"),
            ("npx -y @scope/server-everything-2025 ./docs", None),
            ("https://h/mcp?key=1", "SERVER"),
            ("https://me@h/mcp", "SERVER"),
            (f"https://h/s/{RANDOM}/mcp", "SERVER"),
            ("run --api-key abc", "SERVER"),
            ("run --api-key=abc", "SERVER"),
            (f"run {RANDOM}", "SERVER"),
            ("env API_KEY=abc run", "SERVER"),
            (f"run https://{USER}:{PASSWORD}@h/", "SERVER"),
        ],
    )
    def test_the_next_step_names_the_server_unless_it_may_hold_a_secret(
        self, server: str, shown: str | None
    ) -> None:
        options = Options(server, ServerConfig(command="any"), None, 1)
        assert options.again == (f'"{server}"' if shown is None else shown)

    @pytest.mark.parametrize("value", ["a€", "a\nb", "a\r\nX: b", "a\0", "a\x0b", "\ud800"])
    def test_an_invalid_header_is_refused_by_its_name(self, value: str) -> None:
        with pytest.raises(UsageError, match=r"^header 'X-Api-Key': expected") as refused:
            HttpEndpoint("http://h/mcp", headers={"X-Api-Key": value})
        assert value not in str(refused.value)
        with pytest.raises(UsageError, match=r"^header 'authorization': expected"):
            HttpEndpoint("http://h/mcp", bearer_token=value)

    def test_a_random_part_of_a_path_is_hidden_and_a_name_is_not(self) -> None:
        assert shown_url(f"https://h/s/{RANDOM}/mcp") == "https://h/s/***/mcp"
        assert shown_url("https://h/streamable-http-v2/mcp") == "https://h/streamable-http-v2/mcp"
