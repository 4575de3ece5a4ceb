"""Secrets are planted everywhere, and no repr, error, log or event shows them."""

from __future__ import annotations

import asyncio
import base64
import logging
import sys
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import httpx2
import pytest
from typer.testing import CliRunner

from mcp_gen import (
    Client,
    ClientManager,
    CommandEnded,
    McpGenError,
    Reconnect,
    ServerConfig,
    TransportError,
)
from mcp_gen.cli.app import app
from mcp_gen.core.redaction import hide, url_secrets
from mcp_gen.manager.config import ServersConfig, servers_from
from mcp_gen.transports import command
from mcp_gen.transports.command import CommandTransport
from tests.support.http.loopback import Got, Line, scripted_web

WAIT_S = 30.0

PLANTED = "s3cret"
USER, PASSWORD, QUERY = f"{PLANTED}-user", f"{PLANTED}-password", f"{PLANTED}-query"
TOKEN, ARGUMENT, VALUE = f"{PLANTED}-token", f"{PLANTED}-argument", f"{PLANTED}-value"
BASIC = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
NOWHERE = f"http://{USER}:{PASSWORD}@127.0.0.1:9/mcp?key={QUERY}#{QUERY}"
HEADERS = {"X-Api-Key": TOKEN, "Cookie": f"id={TOKEN}"}
MISSING = ("/no/such/command", "--token", ARGUMENT, f"--url=https://{USER}:{PASSWORD}@h/?k={QUERY}")
ECHOES = "import os, sys; sys.stderr.write(' '.join([*sys.argv, os.environ['API_KEY']])); exit(3)"


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

    def oversized(self, limit_bytes: int) -> None:
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
    manager.on_event(lambda event: out.add(event, event.error))
    async with manager:
        out.add(manager.status())
        with pytest.raises(McpGenError) as refused:
            await manager.call_tool("mcp__one__any", {})
        out.add(refused.value)


async def reprs(out: Output) -> None:
    web = ServerConfig(url=NOWHERE, headers=HEADERS, bearer_token=TOKEN, http_client=HEADERS)
    called = ServerConfig(url="http://[" + PASSWORD, headers=lambda: HEADERS)
    words = ServerConfig(command="run", args=[ARGUMENT], env={"API_KEY": VALUE})
    for config in (web, called, words, ServerConfig(target=HEADERS)):
        out.add(config, [config], replace(config, disabled=True))
    out.add(words.connect_target(1)[0], web.connect_target(1)[0])
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
        patch.setattr(command, "_copy_to_stderr", len)
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
        await line.answer(status, b"no", "text/plain", {"location": "http://other.example/"})

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
        TOKEN,
    ]
    out.add(servers_from({f"server{i}": one for i, one in enumerate(entries)}, {"SET": VALUE}))


async def the_command_line(out: Output) -> None:
    def run(*words: str) -> None:
        ran = CliRunner().invoke(app, [*words, "--timeout", "1"])
        assert ran.exit_code != 0
        out.add(ran.output, ran.stderr, ran.exception)

    for server in (NOWHERE, " ".join(MISSING), f"http://{USER}:{PASSWORD}@host:{PASSWORD}/"):
        header = ["--header", f"Authorization: {TOKEN}"] if "://" in server[:8] else []
        await asyncio.to_thread(run, "tools", server, *header)
        await asyncio.to_thread(run, "call", server, "tool", *header)
    await asyncio.to_thread(run, "tools", NOWHERE, "--header", f"Authorization: {TOKEN}€")
    await asyncio.to_thread(run, "tools", NOWHERE, "--header", TOKEN)


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
    )
}


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
        assert [line for line in whole.splitlines() if PLANTED in line or BASIC in line] == []

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
