"""Addresses of Redis, their clients, and reasons of failures without secrets."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias
from urllib.parse import unquote, urlsplit

from redis.asyncio import Redis as RedisClient
from redis.asyncio import RedisCluster as RedisClusterClient
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, AuthorizationError, NoPermissionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from mcp_gen.core.errors import UsageError

__all__ = [
    "AnyRedisClient",
    "ClientAddress",
    "ClusterAddress",
    "RedisAddress",
    "SentinelAddress",
    "ServerAddress",
]

AnyRedisClient: TypeAlias = RedisClient | RedisClusterClient

SCHEMES = ("redis", "rediss", "unix")
DEFAULT_PORT = 6379
MAX_REASON = 200
SECRET_OPTIONS = ("password", "ssl_password")
FIXED = {"decode_responses": False, "protocol": 2}
"""Options that decide how replies look."""


class RedisAddress:
    """Place of Redis, and how to connect. Its text has no password.

    Args:
        place: Host and port, for messages.
        secrets: Texts that no message may have.
    """

    def __init__(self, place: str, secrets: Sequence[str]) -> None:
        self._place = place
        self._secrets = [secret for secret in secrets if secret]
        self._options: dict[str, Any] = {}

    def add(self, options: Mapping[str, Any]) -> None:
        """Use these options of redis-py's connections."""
        self._options.update(options)
        self._secrets += [str(options[name]) for name in SECRET_OPTIONS if options.get(name)]

    def __repr__(self) -> str:
        return self._place

    def connect(self) -> AnyRedisClient:
        """Return a new client. It connects when it is used first."""
        raise NotImplementedError

    async def close(self, client: AnyRedisClient) -> None:
        """Close the connections of a client."""
        await client.aclose()
        if isinstance(client, RedisClusterClient):
            # If it could not connect to all servers, it takes itself for closed.
            await client.nodes_manager.aclose("startup_nodes")

    def limit(self, timeout_s: float) -> None:
        """Limit the time for connecting, where the user has not.

        There is no time-out for a reply: the callers have one. redis-py's own takes a task for each
        command, and until Python 3.12 it swallows a cancellation.

        Args:
            timeout_s: Seconds for connecting.
        """
        self._options.setdefault("socket_connect_timeout", timeout_s)
        self._options.setdefault("socket_timeout", None)

    def reason(self, error: BaseException) -> str:
        """Return why an operation failed, on one line and without secrets."""
        # redis-py's own errors of time-outs and refusals say less, or where they happened.
        if isinstance(error, TimeoutError | RedisTimeoutError | asyncio.CancelledError):
            return "no answer in time"
        if isinstance(error, NoPermissionError):
            text = f"the user lacks a permission ({error})"
        elif isinstance(error, AuthenticationError | AuthorizationError):
            text = f"user or password refused ({error})"
        else:
            text = str(error) or type(error).__name__
        text = " ".join(text.split())
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text[:MAX_REASON].rstrip(". ")

    def _connection_options(self) -> dict[str, Any]:
        # A command that is sent again may take effect twice, and its caller waits for both.
        return {**self._options, "retry": Retry(NoBackoff(), 0), **FIXED}


class ServerAddress(RedisAddress):
    """A server by its URL.

    Args:
        url: `redis://`, `rediss://` (TLS) or `unix://`, as redis-py reads it.
    """

    def __init__(self, url: str) -> None:
        super().__init__(*_read_url(url))
        self._url = url

    def connect(self) -> AnyRedisClient:
        """Return a new client; see `RedisAddress.connect`."""
        # Its options have no annotations.
        client_class: Any = RedisClient
        client: RedisClient = client_class.from_url(self._url, **self._connection_options())
        # The URL's own options come before those that are given.
        client.connection_pool.connection_kwargs.update(FIXED)
        return client


class ClusterAddress(ServerAddress):
    """A Redis Cluster by the URL of one of its servers."""

    def connect(self) -> AnyRedisClient:
        """Return a new client; see `RedisAddress.connect`."""
        return RedisClusterClient.from_url(self._url, **self._connection_options())


class SentinelAddress(RedisAddress):
    """The master of a service, which Sentinels know.

    Args:
        sentinels: Host and port of each Sentinel.
        service: Name of the service.
        sentinel_options: Options of redis-py's connections to the Sentinels.
    """

    def __init__(
        self,
        sentinels: Sequence[tuple[str, int]],
        service: str,
        sentinel_options: Mapping[str, Any],
    ) -> None:
        places = ", ".join(f"{host}:{port}" for host, port in sentinels)
        secret = str(sentinel_options.get("password") or "")
        super().__init__(f"{service} of the Sentinels {places}", [secret])
        self._sentinels = list(sentinels)
        self._service = service
        self._sentinel_options = dict(sentinel_options)
        self._clients: list[AnyRedisClient] = []

    def connect(self) -> AnyRedisClient:
        """Return a new client of the present master; see `RedisAddress.connect`."""
        options = self._connection_options()
        limits = {name: options[name] for name in ("socket_connect_timeout", "retry")}
        # It has no annotations.
        connect: Any = Sentinel
        sentinel = connect(
            self._sentinels,
            sentinel_kwargs={
                **limits,
                "socket_timeout": limits["socket_connect_timeout"],
                **self._sentinel_options,
            },
            **options,
        )
        self._clients = sentinel.sentinels
        client: AnyRedisClient = sentinel.master_for(self._service)
        return client

    async def close(self, client: AnyRedisClient) -> None:
        """Close the connections to the master and to the Sentinels."""
        for one in (client, *self._clients):
            await one.aclose()


class ClientAddress(RedisAddress):
    """A client that the user has made, and closes."""

    def __init__(self, client: AnyRedisClient) -> None:
        super().__init__("the address of its client", ())
        self._client = client

    def connect(self) -> AnyRedisClient:
        """Return the client, which from now on tries nothing twice."""
        self._client.set_retry(Retry(NoBackoff(), 0))
        return self._client

    async def close(self, client: AnyRedisClient) -> None:
        """Close its connections; it opens others when it is used."""
        if isinstance(client, RedisClusterClient):
            await super().close(client)
        else:
            await client.connection_pool.disconnect()


def _read_url(url: str) -> tuple[str, list[str]]:
    """Return the place that a URL names, and its secrets."""
    try:
        parts = urlsplit(url)
        port = parts.port or DEFAULT_PORT
    except ValueError:
        # Its text may be a part of a password that has an unquoted `/` or `@`.
        raise UsageError(
            "Redis: not a URL: expected redis://[user:password@]host[:port][/db], with `/`, `@` "
            "and `:` in user and password percent-encoded"
        ) from None
    if parts.scheme not in SCHEMES or not (parts.hostname or parts.path):
        raise UsageError(
            f"Redis: expected a URL that begins with one of {', '.join(SCHEMES)}, then `://` and "
            "a host"
        )
    place = parts.path if parts.scheme == "unix" else f"{parts.hostname}:{port}"
    secret = parts.password or ""
    return place, [secret, unquote(secret)]
