"""What a manager is told of servers: by a program, or by a file of `mcpServers`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from mcp_gen.client.connecting.targets import ConnectTarget
from mcp_gen.core.errors import UsageError
from mcp_gen.manager.config_file import ConfigEntry, ConfigEntryError, UnknownField, read_entry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcp_gen.client.connecting.targets import Target
    from mcp_gen.core.transport.protocols import Duplex, Posts
    from mcp_gen.transports.http_client.endpoint import HeadersFrom

__all__ = [
    "ConfigProblem",
    "ServerConfig",
    "ServerLike",
    "ServersConfig",
    "read_servers",
    "servers_from",
]

ServerLike: TypeAlias = "ServerConfig | Target | Mapping[str, Any] | Callable[[], Duplex | Posts]"
"""A ServerConfig, what `Client.connect` takes, an entry of `mcpServers`, or what makes a
transport."""

_GROUPS = ("mcpServers", "servers")


@dataclass(frozen=True, kw_only=True)
class ServerConfig:
    """How a manager reaches one server: by a command, a URL, or an object of the program."""

    command: str | None = None
    """The program to start; `args` are its arguments."""
    args: Sequence[str] = ()
    env: Mapping[str, str] | None = None
    """Variables that it gets beside those of this process."""
    cwd: str | None = None
    """The folder that it is started in."""
    url: str | None = None
    """Where the server listens."""
    transport: Literal["http", "sse"] = "http"
    """With a URL: `sse` for the transport of two addresses, which is found out otherwise."""
    headers: HeadersFrom | None = None
    """With a URL: headers of every request, or a function that is called for them before each."""
    bearer_token: str | None = None
    """With a URL: a token."""
    http_client: Any = None
    """With a URL: an AsyncClient of httpx2 or httpx that sends everything."""
    target: Any = None
    """A Server of this process, a transport, or a function that makes one each time."""
    revision: str | None = None
    """The protocol revision to speak; without it the newest that both sides know."""
    timeout_s: float | None = None
    """How long a request may take; without it as the client has it."""
    connect_timeout_s: float | None = None
    """How long connecting may take; without it as the manager has it."""
    disabled: bool = False
    """Known, and not connected to."""

    @property
    def kind(self) -> Literal["command", "remote", "memory"]:
        """How it is reached, by which it is limited how many are connected to at a time."""
        if self.command is not None:
            return "command"
        return "remote" if self.url is not None else "memory"

    def reach(self, probe_timeout_s: float) -> tuple[Target, dict[str, Any]]:
        """What `Client.connect` takes, and the options that go with it."""
        if self.command is not None:
            return self._by_command([self.command, *self.args]), {}
        web = {
            "headers": self.headers,
            "bearer_token": self.bearer_token,
            "http_client": self.http_client,
        }
        if self.url is None:
            target: Any = self.target
            return ConnectTarget(target, is_reusable=True, restarts=True) if _makes_transports(
                target
            ) else target, {}
        if self.transport == "http":
            return self.url, web
        return self._by_sse(self.url, probe_timeout_s), {}

    def _by_command(self, words: list[str]) -> ConnectTarget:
        # Loaded for commands only.
        from mcp_gen.transports.command import CommandTransport

        cwd = None if self.cwd is None else os.path.expanduser(self.cwd)
        env = None if self.env is None else dict(self.env)
        key = (*words, cwd, tuple(sorted((env or {}).items())))
        return ConnectTarget(
            lambda: CommandTransport(words, env=env, cwd=cwd),
            is_reusable=True,
            restarts=True,
            key=key,
        )

    def _by_sse(self, url: str, endpoint_timeout_s: float) -> ConnectTarget:
        # HTTP clients take long to load: only for URLs.
        from mcp_gen.transports.http_client.legacy_sse import LegacySseTransport

        return ConnectTarget(
            lambda: LegacySseTransport(
                url,
                headers=self.headers,
                bearer_token=self.bearer_token,
                client=self.http_client,
                endpoint_timeout_s=endpoint_timeout_s,
            ),
            is_reusable=True,
            restarts=True,
            key=("sse", url),
        )


class ConfigProblem(NamedTuple):
    """Something in a configuration that is not as it should be: one line that says where."""

    where: str
    what: str
    server: str | None = None
    """The server that it is about."""
    fatal: bool = False
    """Whether the server cannot be used for it; the others can."""

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


class ServersConfig(NamedTuple):
    """The servers of a configuration by name, and what is wrong with it."""

    configs: dict[str, ServerConfig]
    problems: tuple[ConfigProblem, ...] = ()


def read_servers(
    path: str | os.PathLike[str], env: Mapping[str, str] | None = None
) -> ServersConfig:
    """The servers of a JSON file, under `mcpServers` or `servers`.

    `${VAR}`, `${VAR:-default}` and `${env:VAR}` are replaced from `env`, without one from the
    environment. A server that cannot be read, and a key that is not known, is a problem; the other
    servers are there.

    Raises:
        UsageError: the file cannot be read, is no JSON, or holds no servers.
    """
    name = os.fspath(path)
    try:
        text = Path(path).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise UsageError(f"{name}: cannot be read: {why}") from None
    twice: list[str] = []
    try:
        found: Any = json.loads(text, object_pairs_hook=lambda pairs: _object(pairs, twice))
    except json.JSONDecodeError as error:
        where = f"{name}, line {error.lineno} column {error.colno}"
        raise UsageError(f"{where}: expected JSON: {error.msg}") from None
    except RecursionError:
        raise UsageError(f"{name}: expected JSON, got brackets that are too deep") from None
    members: dict[str, Any] = found if found.__class__ is dict else {}
    group = next((one for one in _GROUPS if one in members), "")
    entries: Any = members.get(group)
    if entries.__class__ is not dict:
        raise UsageError(f'{name}: expected `{{"mcpServers": {{"name": {{...}}}}}}` at the top')
    servers = servers_from(entries, env, where=f"{name}: {group}")
    again = tuple(
        ConfigProblem(name, f"`{key}` stands twice in one object: the last one counts")
        for key in twice
    )
    return servers._replace(problems=again + servers.problems)


def servers_from(
    servers: Mapping[str, ServerLike],
    env: Mapping[str, str] | None = None,
    *,
    where: str = "servers",
) -> ServersConfig:
    """The servers of a mapping: configurations, targets, or entries as in a file."""
    servers = _whole(servers)
    configs: dict[str, ServerConfig] = {}
    problems: list[ConfigProblem] = []
    environment = os.environ if env is None else env
    for name, given in servers.items():
        place = f"{where}.{name}"
        try:
            configs[name], unknown = _config(given, environment, place)
        except ConfigEntryError as error:
            problems.append(ConfigProblem(error.where, error.what, name, fatal=True))
            continue
        problems += [ConfigProblem(one.where, one.what, name) for one in unknown]
    return ServersConfig(configs, tuple(problems))


def _whole(servers: Mapping[str, Any]) -> Mapping[str, ServerLike]:
    """The servers themselves, also of what was read from a file as it is."""
    for group in _GROUPS:
        held: Any = servers.get(group)
        if held.__class__ is dict and all(one.__class__ is dict for one in held.values()):
            entries: dict[str, ServerLike] = held
            return entries
    return servers


def config_of(given: ServerLike, name: str) -> tuple[ServerConfig, list[ConfigProblem]]:
    """One server's configuration.

    Raises:
        UsageError: it is none.
    """
    servers = servers_from({name: given})
    for problem in servers.problems:
        if problem.fatal:
            raise UsageError(str(problem))
    return servers.configs[name], list(servers.problems)


def _config(
    given: Any, env: Mapping[str, str], where: str
) -> tuple[ServerConfig, list[UnknownField]]:
    if isinstance(given, ServerConfig):
        _check(given, where)
        return given, []
    if isinstance(given, Mapping):
        entry, unknown = read_entry({**given}, env, where)
        return _from_entry(entry), unknown
    if isinstance(given, str) and "://" in given:
        return ServerConfig(url=given), []
    words = _words(given)
    if words is not None:
        if not words:
            raise ConfigEntryError(where, "expected a URL or a command, got nothing")
        return ServerConfig(command=words[0], args=words[1:]), []
    if given is None or isinstance(given, int | float):
        kind = type(given).__name__
        raise ConfigEntryError(where, f"expected an object with `command` or `url`, got {kind}")
    return ServerConfig(target=given), []


def _words(given: Any) -> list[str] | None:
    """The words of a command; None if it is none."""
    if isinstance(given, str):
        # Loaded for command lines only.
        import shlex

        return shlex.split(given)
    return list(map(str, given)) if given.__class__ in (list, tuple) else None


def _check(config: ServerConfig, where: str) -> None:
    ways = (config.command, config.url, config.target)
    if sum(one is not None for one in ways) != 1:
        raise ConfigEntryError(where, "expected one of `command`, `url` and `target`")


def _from_entry(entry: ConfigEntry) -> ServerConfig:
    return ServerConfig(
        command=entry.command,
        args=entry.args,
        env=entry.env,
        cwd=entry.cwd,
        url=entry.url,
        transport="sse" if entry.type == "sse" else "http",
        headers=entry.headers,
        revision=entry.revision,
        timeout_s=entry.timeout_s,
        disabled=entry.disabled,
    )


def _makes_transports(target: Any) -> bool:
    return callable(target) and not hasattr(target, "serve") and not hasattr(target, "start")


def _object(pairs: list[tuple[str, Any]], twice: list[str]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made:
            twice.append(key)
        made[key] = value
    return made
