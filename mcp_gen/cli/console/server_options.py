"""Options, connection and error reporting of the commands that connect to a server.

Exit codes: 0 success, 1 the server refused or the tool failed, 2 a mistake in the command line,
3 the server cannot be reached or disconnected, 130 interrupted.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, TypeVar

import typer

from mcp_gen.cli.console.output import fail
from mcp_gen.cli.logins.automatic import logging_in
from mcp_gen.core.errors import (
    AuthError,
    CommandEnded,
    HttpError,
    McpError,
    McpGenError,
    ProtocolError,
    RequestTimeout,
    SessionLost,
    TransportError,
    UsageError,
)
from mcp_gen.core.redaction import command_secrets

if TYPE_CHECKING:
    from types import FrameType

    from mcp_gen.cli.console.progress import Screen
    from mcp_gen.client.connecting.target_text import CodeTarget
    from mcp_gen.client.session.session import ClientSession
    from mcp_gen.manager.config import ServerConfig

__all__ = [
    "Config",
    "Env",
    "Header",
    "Json",
    "Options",
    "Revision",
    "ServerName",
    "Timeout",
    "ask_server",
    "end_at_sigterm",
    "options_of",
    "read_server",
]

T = TypeVar("T")

REFUSED, UNREACHED, INTERRUPTED = 1, 3, 130
DEFAULT_TIMEOUT_S = 60.0
LONGEST_PROBE_S = 10.0
LISTING = {"prompt", "read"}
"""Commands that list what they are about when no name is given."""
INHERIT: Final = "inherit"

ServerName: TypeAlias = Annotated[
    str,
    typer.Argument(
        help="A URL, `file.py`, `file.py:name`, `module:name`, a command line in quotes, "
        "`unix:PATH`, `tcp:HOST:PORT`; or with --config a name in it.",
        metavar="SERVER",
    ),
]
Config: TypeAlias = Annotated[
    str | None, typer.Option(help="A JSON file of `mcpServers`, in which SERVER is a name.")
]
Revision: TypeAlias = Annotated[
    str | None, typer.Option(help="The protocol revision to speak; the newest without one.")
]
Header: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(help="`Name: value` with every HTTP request; can be given more than once."),
]
Env: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="`NAME=value`, or `NAME` of this environment, for a command; `inherit` passes all. "
        "Can be given more than once."
    ),
]
Timeout: TypeAlias = Annotated[
    float, typer.Option(help="Seconds that an answer may take; progress begins them anew.", min=0.1)
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]


@dataclass(frozen=True)
class Options:
    """Server of a command, and how to connect to it.

    Args:
        server: The server as it was named in the command line.
        config: How to reach it.
        revision: The protocol revision to use; None negotiates the newest.
        timeout_s: Seconds that a request may take; progress restarts it.
    """

    server: str = field(repr=False)
    config: ServerConfig
    revision: str | None
    timeout_s: float

    @property
    def again(self) -> str:
        """The server as it is written in a command line; `SERVER` if it may hold a secret."""
        # Command lines and URLs alike: the first word may be a URL.
        if command_secrets(["", *self.server.split()], {}):
            return "SERVER"
        return f'"{self.server}"' if " " in self.server else self.server


def options_of(
    command: str,
    server: str,
    config: str | None,
    revision: str | None,
    header: list[str] | None,
    env: list[str] | None,
    timeout: float,
) -> Options:
    """Parse the options that name a server; exits with code 2 if they are invalid."""
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.core.revisions import select

    try:
        found = _loaded(read_server(server, config, header, env))
        wanted = revision or found.revision
        if wanted is not None:
            select([wanted])
    except UsageError as error:
        fail(command, error)
    return Options(server, found, wanted, timeout)


def read_server(
    server: str, config: str | None, header: list[str] | None, env: list[str] | None
) -> ServerConfig:
    """Return the configuration of the server that a command line names; loads no code.

    Args:
        server: The server, or its name in a configuration file.
        config: The path of the configuration file; None for none.
        header: HTTP headers.
        env: Variables for a command; for code they are set in this process.

    Raises:
        UsageError: it names nothing, or an option is not for such a server.
    """
    found = _configured(config, server) if config is not None else _named(server)
    if header:
        found = _with_headers(found, header)
    return _with_variables(found, env or [])


def _named(server: str) -> ServerConfig:
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.client.connecting.target_text import parse_target
    from mcp_gen.manager.config import read_config

    try:
        parse_target(server)
    except UsageError as error:
        raise UsageError(f"SERVER: {error}") from None
    return read_config(server, "SERVER")[0]


def _configured(path: str, name: str) -> ServerConfig:
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.manager.config import read_servers

    servers = read_servers(path)
    for problem in servers.problems:
        if problem.server == name and problem.fatal:
            raise UsageError(str(problem))
        if problem.server == name:
            print(f"{problem}", file=sys.stderr)
    if name not in servers.configs:
        # Imported here so that `mcp-gen --help` stays fast.
        from mcp_gen.client.connecting.target_text import nearest

        near = nearest(name, list(servers.configs))
        known = ", ".join(servers.configs) or "none"
        raise UsageError(f"{path} has no server {name!r}; {near}there are {known}")
    return servers.configs[name]


def _with_headers(config: ServerConfig, lines: list[str]) -> ServerConfig:
    if config.url is None:
        raise UsageError("--header is for URLs")
    # Headers of a file or the command line are never a function.
    headers: dict[str, str] = {} if callable(config.headers) else dict(config.headers or {})
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise UsageError("--header: expected `Name: value`")
        headers[name.strip()] = value.strip()
    return replace(config, headers=headers)


def _with_variables(config: ServerConfig, given: list[str]) -> ServerConfig:
    if config.command is None:
        if given and _code(config) is None:
            raise UsageError("--env is for commands and Python code")
        os.environ.update(_variables(given))
        return config
    if not given:
        return config
    inherits = config.env == INHERIT or INHERIT in given
    variables = {} if config.env is None or isinstance(config.env, str) else dict(config.env)
    variables |= _variables(given)
    if not inherits:
        return replace(config, env=variables)
    return replace(config, env={**os.environ, **variables} if variables else INHERIT)


def _variables(given: list[str]) -> dict[str, str]:
    variables: dict[str, str] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not name:
            raise UsageError("--env: expected `NAME=value`, `NAME` or `inherit`")
        if not equals and name != INHERIT and name not in os.environ:
            raise UsageError(f"--env: the environment has no `{name}`")
        if equals or name != INHERIT:
            variables[name] = value if equals else os.environ[name]
    return variables


def _code(config: ServerConfig) -> CodeTarget | None:
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.client.connecting.target_text import CodeTarget, parse_target

    named = parse_target(config.target) if isinstance(config.target, str) else None
    return named if isinstance(named, CodeTarget) else None


def _loaded(config: ServerConfig) -> ServerConfig:
    """Return a configuration whose server is loaded, if it is Python code.

    It is loaded before there is an event loop, as by `mcp-gen run`, in this process.
    """
    code = _code(config)
    if code is None:
        return config
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.client.connecting.python_code import load

    with redirect_stdout(sys.stderr):
        return replace(config, target=load(code))


def ask_server(
    command: str,
    options: Options,
    work: Callable[[ClientSession, Screen], Awaitable[T]],
    *,
    quiet: bool = False,
) -> T:
    """Connect, run `work` with the session, and return its result; exits on errors in one line."""

    async def interruptible() -> T:
        _end_at_second_interrupt(command)
        return await _with_session(options, work, quiet=quiet)

    handler = signal.getsignal(signal.SIGINT)
    try:
        return asyncio.run(interruptible())
    except KeyboardInterrupt:
        fail(command, "interrupted", INTERRUPTED)
    except McpGenError as error:
        code, step = _next_step(error, options, command if command in LISTING else "tools")
        fail(command, f"{error}{step and '; '}{step}", code)
    except Exception as error:
        # What a server of this process raises before it serves, as its factory.
        if options.config.target is None:
            raise
        fail(command, f"{options.again} cannot be served: {type(error).__name__}: {error}", 3)
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)


def _end_at_second_interrupt(command: str) -> None:
    """Let the second Ctrl-C end the process, whatever code of a server in it refuses to end.

    The first one is handled as before: asyncio cancels the call.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    cancel = signal.getsignal(signal.SIGINT)
    seen = False

    def interrupted(number: int, frame: FrameType | None) -> None:
        nonlocal seen
        if seen:
            os.write(2, f"mcp-gen {command}: interrupted\n".encode())
            os._exit(INTERRUPTED)
        seen = True
        if callable(cancel):
            cancel(number, frame)

    signal.signal(signal.SIGINT, interrupted)


def end_at_sigterm() -> None:
    """Cancel the current task at SIGTERM, so that it ends the processes that it has started."""
    if threading.current_thread() is not threading.main_thread():
        return
    running = asyncio.current_task()
    assert running is not None
    # Windows has no signal that could be handled.
    with suppress(NotImplementedError):
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)


async def _with_session(
    options: Options, work: Callable[[ClientSession, Screen], Awaitable[T]], *, quiet: bool
) -> T:
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.cli.console.progress import Screen

    screen = Screen(quiet=quiet)
    # The prints of a server in this process are no result, as little as over stdio.
    with redirect_stdout(sys.stderr), screen:
        return await _in_session(options, work, screen)


async def _in_session(
    options: Options, work: Callable[[ClientSession, Screen], Awaitable[T]], screen: Screen
) -> T:
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.cli.console.elicitation import ElicitationPrompts
    from mcp_gen.client.client import Client

    filling = ElicitationPrompts(screen)
    client = Client(
        "mcp-gen",
        elicitation=filling.form,
        url_elicitation=filling.page,
        tasks=True,
        timeout_s=options.timeout_s,
    )
    client.hooks.on_logging_message(screen.logged)
    probe_s = min(options.timeout_s, LONGEST_PROBE_S)
    async with client, logging_in(options.config, screen) as config:
        target, web = config.connect_target(probe_s)
        session = await client.connect(
            target,
            revision=options.revision,
            timeout_s=options.timeout_s,
            probe_timeout_s=probe_s,
            reconnect=False,
            **web,
        )
        return await work(session, screen)


def _next_step(error: McpGenError, options: Options, listed_by: str) -> tuple[int, str]:
    """Return the exit code, and advice on how to proceed.

    Args:
        error: The error.
        options: The server and how it was connected to.
        listed_by: The command that lists what there is.
    """
    if isinstance(error, UsageError):
        return 2, ""
    if isinstance(error, McpError):
        return REFUSED, f"`mcp-gen {listed_by} {options.again}` shows what there is"
    if isinstance(error, AuthError):
        login = f"mcp-gen login {options.again}"
        return REFUSED, "" if login in str(error) else f"`{login}` logs in"
    if isinstance(error, RequestTimeout):
        return UNREACHED, f"`--timeout {options.timeout_s * 4:g}` waits longer"
    return UNREACHED, _about_transport(error, options)


def _about_transport(error: McpGenError, options: Options) -> str:
    steps: dict[Any, str] = {
        401: "give a token, as in `--header 'Authorization: Bearer ...'`",
        403: "give other credentials with `--header`",
        404: "",  # the error says it
    }
    if isinstance(error, HttpError):
        return steps.get(error.status, "check the URL")
    if isinstance(error, SessionLost):
        return _about_end(error) if options.config.command else ""
    if isinstance(error, ProtocolError):
        return "another `--revision` may help" if options.revision else ""
    if isinstance(error, TransportError):
        if options.config.target is not None:
            return "check the address, and that a server listens there"
        return "check the URL" if options.config.url else "check the command and its path"
    return ""


def _about_end(error: SessionLost) -> str:
    said, cause = "what it wrote to stderr stands above", error.__cause__
    if not isinstance(cause, CommandEnded):
        return said
    advice = f"`--env NAME` passes a variable, `--env {INHERIT}` all of them" if cause.hint else ""
    if cause.at_start:
        return advice  # its last lines are in the error
    return f"{said}; {advice}" if advice else said
