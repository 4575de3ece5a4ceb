"""Server configurations: given by a program, or read from an `mcpServers` file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast

from mcp_gen.client.connecting.target_text import CommandLine, Url, parse_target
from mcp_gen.client.connecting.targets import ConnectTarget, key_of
from mcp_gen.core.errors import UsageError
from mcp_gen.core.redaction import HIDDEN, shown_names, shown_url
from mcp_gen.manager.config_file import ConfigEntry, ConfigEntryError, UnknownField, read_entry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_gen.auth.configuring.auth_settings import AuthSettings
    from mcp_gen.client.connecting.targets import Target
    from mcp_gen.core.transport.authorizing import RequestAuthorizer
    from mcp_gen.core.transport.protocols import Duplex, Posts
    from mcp_gen.transports.environment import Environment
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
"""Server of a manager, in any form that it takes.

A ServerConfig, a target of `Client.connect`, an entry of `mcpServers`, or a function that
returns a transport.
"""

_GROUPS = ("mcpServers", "servers")


@dataclass(frozen=True, kw_only=True, repr=False)
class ServerConfig:
    """Configuration of one server: how to reach it, and limits of its own.

    Exactly one of `command`, `url` and `target` is given. Its repr shows no secrets.

    Args:
        command: The program to start.
        args: Its arguments.
        env: Environment variables for it, in addition to basic ones such as PATH and HOME;
            `"inherit"` passes all variables of this process.
        cwd: Its working directory; `~` is expanded. None: that of this process.
        url: The URL of a server.
        transport: With `url`: `http` for Streamable HTTP, or HTTP+SSE if the server answers so;
            `sse` for HTTP+SSE of 2024-11-05 from the start.
        headers: With `url`: headers of every request, or a function that is called before each.
        bearer_token: With `url`: a bearer token.
        auth: With `url`: logs in where the server asks for it; `OAuth()` or another one of
            `mcp_gen.auth`, or the settings of a config file. The login of one server holds up no
            other. What a program gives is not closed.
        http_client: With `url`: an AsyncClient of httpx2 or httpx that sends every request.
        target: A Server of this process, a transport, or a function that returns a new transport
            for each connection; or the text of any target of `Client.connect`, as `server.py:name`.
        revision: The protocol version (revision) to use; None negotiates the newest in common.
        timeout_s: Seconds that a request may take; None takes the default of the client.
        connect_timeout_s: Seconds that connecting may take; None takes that of the manager.
        disabled: True keeps the server known but unconnected, until `ClientManager.reconnect`.
    """

    command: str | None = None
    args: Sequence[str] = ()
    env: Environment = None
    cwd: str | None = None
    url: str | None = None
    transport: Literal["http", "sse"] = "http"
    headers: HeadersFrom | None = None
    bearer_token: str | None = None
    auth: RequestAuthorizer | AuthSettings | None = None
    http_client: Any = None
    target: Any = None
    revision: str | None = None
    timeout_s: float | None = None
    connect_timeout_s: float | None = None
    disabled: bool = False

    def __repr__(self) -> str:
        given = ((one.name, getattr(self, one.name), one.default) for one in fields(self))
        shown = (
            f"{name}={_SHOWN.get(name, repr)(value)}"
            for name, value, default in given
            if value is not default and value != default
        )
        return f"ServerConfig({', '.join(shown)})"

    @property
    def kind(self) -> Literal["command", "remote", "memory"]:
        """Kind of connection, each with its own limit of concurrent connection attempts."""
        if self.command is not None:
            return "command"
        return "remote" if self.url is not None else "memory"

    def authorizer(self, **options: Any) -> RequestAuthorizer | None:
        """Return what logs in; settings make a new one.

        Args:
            options: Options of `AuthSettings.tokens`.

        Raises:
            UsageError: The settings do not fit together.
        """
        auth: Any = self.auth
        if auth is None or hasattr(auth, "retry"):
            return cast("RequestAuthorizer | None", auth)
        return cast("AuthSettings", auth).authorizer(**options)

    def connect_target(
        self, probe_timeout_s: float, name: str | None = None
    ) -> tuple[Target, dict[str, Any]]:
        """Return the target of `Client.connect`, and the options that go with it.

        Args:
            probe_timeout_s: With the `sse` transport: seconds to wait for the `endpoint` event.
            name: Name that stands before the stderr lines of a command; None: no name.
        """
        if self.command is not None:
            return self._by_command([self.command, *self.args], name), {}
        web = {
            "headers": self.headers,
            "bearer_token": self.bearer_token,
            "auth": self.authorizer(),
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

    def _by_command(self, words: list[str], name: str | None) -> ConnectTarget:
        # Imported here because only commands need it.
        from mcp_gen.transports.command import CommandTransport

        cwd = None if self.cwd is None else os.path.expanduser(self.cwd)
        env = dict(self.env) if isinstance(self.env, Mapping) else self.env
        return ConnectTarget(
            lambda: CommandTransport(words, env=env, cwd=cwd, name=name),
            is_reusable=True,
            restarts=True,
            key=(*words, cwd, key_of(env)),
        )

    def _by_sse(self, url: str, endpoint_timeout_s: float) -> ConnectTarget:
        # Imported here because HTTP clients are slow to import, and only URLs need them.
        from mcp_gen.transports.http_client.legacy_sse import LegacySseTransport

        return ConnectTarget(
            lambda: LegacySseTransport(
                url,
                headers=self.headers,
                bearer_token=self.bearer_token,
                auth=self.authorizer(),
                client=self.http_client,
                endpoint_timeout_s=endpoint_timeout_s,
            ),
            is_reusable=True,
            restarts=True,
            key=("sse", url),
        )


def _shown_headers(headers: Any) -> str:
    return "<function>" if callable(headers) else shown_names(headers)


def _shown_auth(auth: object) -> str:
    return _shown_class(auth) if hasattr(auth, "retry") else repr(auth)


def _shown_class(value: object) -> str:
    return f"<{type(value).__name__}>"


_SHOWN: Mapping[str, Callable[[Any], str]] = {
    "args": lambda args: f"<{len(args)} hidden>",
    "env": lambda env: repr(env) if isinstance(env, str) else shown_names(env),
    "url": lambda url: repr(shown_url(url)),
    "headers": _shown_headers,
    "bearer_token": lambda _: f"<{HIDDEN}>",
    "auth": _shown_auth,
    "http_client": _shown_class,
    "target": _shown_class,
}
"""Texts for fields that may hold secrets, in a repr."""


class ConfigProblem(NamedTuple):
    """Problem in a configuration.

    `str` of it is one line that says where.

    Args:
        where: The file or path of the configuration value.
        what: What is wrong.
        server: The name of the server concerned; None for the file as a whole.
        fatal: True if this server cannot be used because of it; others can.
    """

    where: str
    what: str
    server: str | None = None
    fatal: bool = False

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


class ServersConfig(NamedTuple):
    """Server configurations by name, and the problems that were found."""

    configs: dict[str, ServerConfig]
    problems: tuple[ConfigProblem, ...] = ()


def read_servers(
    path: str | os.PathLike[str], env: Mapping[str, str] | None = None
) -> ServersConfig:
    """Read the servers of a JSON file, under `mcpServers` or `servers`.

    A server is an object as hosts have it, or the text of any target of `Client.connect`; the
    text can also be the `target` of an object. Relative paths are those of this process.

    A server that cannot be used, an unknown key and a repeated key are reported as problems; the
    other servers are returned.

    Args:
        path: The file, in UTF-8.
        env: Variables for `${VAR}`, `${VAR:-default}` and `${env:VAR}`; None takes the environment
            of this process.

    Raises:
        UsageError: the file cannot be read, is not valid JSON, or holds no servers.
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
    # A text is a target, whose variables are replaced as those of an object are.
    entries = {
        name: {"target": one} if one.__class__ is str else one for name, one in entries.items()
    }
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
    """Return the configurations of a mapping, from whatever its values give.

    Args:
        servers: ServerConfig objects, targets or file entries by name; also the whole content of
            an `mcpServers` file.
        env: Variables for file entries; None takes the environment of this process.
        where: Path of the mapping, for the texts of problems.
    """
    servers = _unwrap(servers)
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


def _unwrap(servers: Mapping[str, Any]) -> Mapping[str, ServerLike]:
    """Return the servers of a mapping, also from the whole content of a file."""
    for group in _GROUPS:
        held: Any = servers.get(group)
        # A server may be called `servers`, and its entry has texts.
        kinds = (dict, str) if group == _GROUPS[0] else (dict,)
        if held.__class__ is dict and all(one.__class__ in kinds for one in held.values()):
            entries: dict[str, ServerLike] = held
            return entries
    return servers


def read_config(given: ServerLike, name: str) -> tuple[ServerConfig, list[ConfigProblem]]:
    """Return the configuration of one server, and problems that are not fatal.

    Raises:
        UsageError: the configuration is invalid.
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
        return _from_entry(entry, where), unknown
    if isinstance(given, str):
        return _from_text(given, where), []
    if given.__class__ in (list, tuple):
        return _from_words(list(map(str, given)), where), []
    if given is None or isinstance(given, int | float):
        kind = type(given).__name__
        raise ConfigEntryError(where, f"expected an object with `command` or `url`, got {kind}")
    return ServerConfig(target=given), []


def _from_text(text: str, where: str) -> ServerConfig:
    try:
        named = parse_target(text)
    except UsageError as error:
        raise ConfigEntryError(where, str(error)) from None
    if isinstance(named, Url):
        return ServerConfig(url=named.url)
    if isinstance(named, CommandLine):
        return _from_words(list(named.words), where)
    # Code is loaded when the server is connected to.
    return ServerConfig(target=text)


def _from_words(words: Sequence[str], where: str) -> ServerConfig:
    if not words:
        raise ConfigEntryError(where, "expected a URL or a command, got nothing")
    return ServerConfig(command=words[0], args=words[1:])


def _check(config: ServerConfig, where: str) -> None:
    targets = (config.command, config.url, config.target)
    if sum(one is not None for one in targets) != 1:
        raise ConfigEntryError(where, "expected one of `command`, `url` and `target`")
    if config.auth is not None and config.url is None:
        raise ConfigEntryError(f"{where}.auth", "expected a `url` with this")


def _from_entry(entry: ConfigEntry, where: str) -> ServerConfig:
    named = ServerConfig(command=entry.command, args=entry.args, url=entry.url)
    if entry.target is not None:
        named = _from_text(entry.target, f"{where}.target")
    if entry.auth is not None and named.url is None:
        raise ConfigEntryError(f"{where}.auth", "expected a `url` with this")
    for name in ("env", "cwd", "headers"):
        if named.target is not None and getattr(entry, name):
            raise ConfigEntryError(f"{where}.{name}", "expected a `command` or a `url` with this")
    return replace(
        named,
        env=entry.env,
        cwd=entry.cwd,
        transport="sse" if entry.type == "sse" else "http",
        headers=entry.headers,
        auth=entry.auth,
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
