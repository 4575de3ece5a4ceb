"""Keeps one server of a manager connected: detects disconnects, and reconnects."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from mcp_gen.core.errors import (
    HttpError,
    McpError,
    McpGenError,
    ProtocolError,
    RequestTimeout,
    SessionLost,
    TransportError,
)
from mcp_gen.manager.catalog import Catalog, ListName
from mcp_gen.manager.events import ManagerEvent

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager
    from types import TracebackType

    from mcp_gen.auth.client.oauth import OnAuthorize, RedirectReceiver
    from mcp_gen.client.client import Client
    from mcp_gen.client.session.session import ClientSession
    from mcp_gen.core.transport.authorizing import RequestAuthorizer
    from mcp_gen.manager.config import ServerConfig
    from mcp_gen.manager.events import EventDispatcher, Kind, Reconnect
    from mcp_wire import latest

__all__ = ["ConnectionSupervisor", "ReconnectPolicy", "State"]

State: TypeAlias = Literal["connecting", "connected", "reconnecting", "failed", "disabled"]

RETRIED_STATUSES = (408, 429)
"""HTTP statuses below 500 that are transient: timeout, and too many requests."""
PING_TIMEOUT_S = 10.0
WATCH_PAUSE_S, LONGEST_WATCH_PAUSE_S = 0.5, 60.0
"""Shortest and longest pause, in seconds, before an ended change stream is opened again."""
WATCH_WAIT_S = 1.0
"""Seconds to wait for the subscription to be acknowledged, before going on without it."""

_log = logging.getLogger("mcp_gen.client")


@dataclass(frozen=True)
class ReconnectPolicy:
    """Options of a manager that apply to each of its servers. See ClientManager."""

    reconnect: Reconnect | None
    connect_timeout_s: float
    probe_timeout_s: float
    wait_s: float
    list_timeout_s: float
    list_ttl_s: float
    list_pause_s: float
    on_authorize: OnAuthorize | RedirectReceiver | None
    redirect_uri: str | None
    at_once: dict[str, asyncio.Semaphore]
    """Limits of concurrent connection attempts, by kind of server."""


class ConnectSlot:
    """One of the connection attempts that are allowed at a time, with its time limit.

    Args:
        at_once: The limit of attempts at a time.
        limit_s: Seconds that the attempt may take; a login is no part of it.
    """

    def __init__(self, at_once: asyncio.Semaphore, limit_s: float) -> None:
        self._at_once = at_once
        self._limit_s = limit_s
        self._timeout = asyncio.timeout(None)
        self._held = False
        self._logins = 0

    async def __aenter__(self) -> ConnectSlot:
        await self._acquire()
        try:
            await self._timeout.__aenter__()
        except BaseException:
            self._release()
            raise
        self._restart()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._release()
        await self._timeout.__aexit__(kind, error, trace)

    @asynccontextmanager
    async def login(self) -> AsyncGenerator[None, None]:
        """Leave the slot to other servers while a user logs in; wait for it afterwards."""
        self._logins += 1
        self._reschedule(None)
        self._release()
        try:
            yield
        finally:
            self._logins -= 1
        if not self._logins:
            if not self._held:
                await self._acquire()
            self._restart()

    def _restart(self) -> None:
        self._reschedule(asyncio.get_running_loop().time() + self._limit_s)

    def _reschedule(self, when: float | None) -> None:
        # The attempt may be over, and this request about to be cancelled.
        with contextlib.suppress(RuntimeError):
            self._timeout.reschedule(when)

    async def _acquire(self) -> None:
        await self._at_once.acquire()
        self._held = True

    def _release(self) -> None:
        if self._held:
            self._held = False
            self._at_once.release()


class ConnectionSupervisor:
    """Connects to a server, and reconnects whenever it disconnects, until it is given up."""

    def __init__(
        self,
        name: str,
        part: str,
        config: ServerConfig | None,
        client: Client,
        policy: ReconnectPolicy,
        events: EventDispatcher,
        problem: Exception | None = None,
    ) -> None:
        self.name = name
        self.part = part
        """The server's part of qualified names."""
        self.config = config
        self.error: Exception | None = problem
        """Error of the last attempt; None while connected."""
        self.attempt = 0
        """Number of the current or last attempt to reconnect."""
        self.session: ClientSession | None = None
        self.tells: frozenset[ListName] = frozenset()
        """Lists for which the server sends `list_changed`."""
        self.tried = asyncio.Event()
        """Set once the first attempt has ended, with or without success."""
        self.lists = Catalog(
            part,
            ttl_s=policy.list_ttl_s,
            timeout_s=policy.list_timeout_s,
            pause_s=policy.list_pause_s,
        )
        self.state: State = "connecting"
        self._client = client
        self._policy = policy
        self._events = events
        self._reopen: Callable[[], Awaitable[ClientSession]] | None = None
        self._settled = asyncio.Event()
        self._wanted = asyncio.Event()
        self._watched = asyncio.Event()
        self._lost: asyncio.Future[Exception] | None = None
        self._unstable = 0
        self._was_connected = False
        self._task: asyncio.Task[None] | None = None
        self._slot: ConnectSlot | None = None
        self._auth: RequestAuthorizer | None = None
        """What logs in; kept over reconnects, for it has the tokens."""

    # --- connection loop ---

    async def _supervise(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            self.attempt, self._unstable = 0, 0
            self._set_state("connecting")
            await self._keep_connected()

    async def _keep_connected(self) -> None:
        """Connect, and reconnect after each disconnect, until the server is given up."""
        while True:
            try:
                await self._connect()
            except Exception as error:
                if not self._may_continue(error):
                    return
            else:
                self.error = await self._until_lost()
                if self._reopen is None or self._policy.reconnect is None:
                    self._give_up(self.error)
                    return
                self.attempt = 1
                self._set_state("reconnecting")
            assert self._policy.reconnect
            delay_s = self._policy.reconnect.delay_s(self.attempt, self._unstable)
            self._emit("reconnecting", error=self.error, attempt=self.attempt, delay_s=delay_s)
            with contextlib.suppress(TimeoutError):
                # `reconnect` ends the delay.
                async with asyncio.timeout(delay_s):
                    await self._wanted.wait()
                self._wanted.clear()

    def _may_continue(self, error: Exception) -> bool:
        """Record a failed attempt; return True if there is to be another."""
        if not isinstance(error, McpGenError):
            _log.exception("%s: connecting failed in a way it should not", self.name)
        self.error = error
        if not self._was_connected and self.attempt == 0:
            self._emit("connect_failed", error=error)
        policy = self._policy.reconnect
        if policy is None or self.attempt >= policy.limit or not self._is_transient(error):
            self._give_up(error)
            return False
        self.attempt += 1
        self._set_state("reconnecting")
        self.tried.set()
        return True

    def _give_up(self, error: Exception) -> None:
        if self.attempt or self._was_connected:
            self._emit("reconnect_failed", error=error, attempt=self.attempt)
        self._set_state("failed")
        self.tried.set()

    def _is_connected(self) -> None:
        self.error = None
        self._set_state("connected")
        self._emit("reconnected" if self._was_connected else "connected", attempt=self.attempt)
        self._was_connected = True
        self.attempt = 0
        self.tried.set()

    def _is_transient(self, error: Exception) -> bool:
        """Return True if a later attempt may succeed."""
        if isinstance(error, HttpError):
            return error.status >= 500 or error.status in RETRIED_STATUSES
        if isinstance(error, SessionLost | RequestTimeout):
            return True
        assert self.config
        # A command that cannot be started will not start later either.
        return isinstance(error, TransportError) and self.config.kind != "command"

    async def _connect(self) -> None:
        assert self.config
        config, policy = self.config, self._policy
        limit_s = config.connect_timeout_s or policy.connect_timeout_s
        self._slot = ConnectSlot(policy.at_once[config.kind], limit_s)
        try:
            async with self._slot:
                await self._open(config)
        except TimeoutError:
            raise RequestTimeout(f"{self.name}: not connected within {limit_s:g} s") from None
        finally:
            self._slot = None

    def _login(self) -> AbstractAsyncContextManager[None] | None:
        return None if self._slot is None else self._slot.login()

    async def _open(self, config: ServerConfig) -> None:
        session = self.session
        if session is not None and not session.is_lost and await self._is_alive(session):
            return
        self.lists.invalidate_all()
        if session is not None and self._reopen is not None:
            await self._reopen()
        else:
            await self._disconnect()
            if config.auth is not None:
                config = replace(config, auth=self._authorizer(config))
            target, options = config.connect_target(self._policy.probe_timeout_s, self.name)
            self.session = session = await self._client.connect(
                target,
                revision=config.revision,
                probe_timeout_s=self._policy.probe_timeout_s,
                server_name=self.name,
                **options,
            )
            # From now on only this loop reconnects, with back-off; calls of the session do not.
            self._reopen, session.connect_again = session.connect_again, None
        if config.timeout_s is not None:
            session.default_timeout_s = config.timeout_s

    def _authorizer(self, config: ServerConfig) -> RequestAuthorizer:
        # Loaded only with an authorizer.
        from mcp_gen.auth.configuring.patient import PatientAuthorizer

        if self._auth is None:
            self._auth = config.authorizer(
                client_name=self._client.name,
                on_authorize=self._policy.on_authorize,
                redirect_uri=self._policy.redirect_uri,
            )
        assert self._auth is not None
        return PatientAuthorizer(self._auth, self._login)

    async def _close_authorizer(self) -> None:
        if (
            self._auth is not None
            and self.config is not None
            and self._auth is not self.config.auth
        ):
            await self._auth.aclose()
        self._auth = None

    async def _is_alive(self, session: ClientSession) -> bool:
        """Return True if a server that failed a request still answers in the same session.

        Raises:
            TransportError, RequestTimeout: it does not answer.
        """
        ask = session.ping if session.profile.ping else session.discover
        try:
            await ask(timeout_s=PING_TIMEOUT_S)
        except HttpError as error:
            if error.status >= 500:
                raise
            return False
        except (McpError, ProtocolError):
            return False
        return True

    async def _until_lost(self) -> Exception:
        """Serve the connection until it is lost; return the error that ended it."""
        loop = asyncio.get_running_loop()
        self._lost = loop.create_future()
        since = loop.time()
        self._watched.clear()
        watching = loop.create_task(self._watch())
        try:
            # Lists fetched from now on are cached: subscribe to their changes first.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(WATCH_WAIT_S):
                    await self._watched.wait()
            # It may have been lost, or given up by `reconnect`, before it was ready.
            if not self._lost.done():
                self._is_connected()
            return await self._lost
        finally:
            watching.cancel()
            await asyncio.wait([watching])
            self.tells = frozenset()
            reconnect = self._policy.reconnect
            stable = reconnect is not None and loop.time() - since >= reconnect.stable_s
            self._unstable = 0 if stable else self._unstable + 1

    async def _watch(self) -> None:
        """Subscribe to list changes, and detect the end of the connection."""
        session = self.session
        assert session
        pause_s = WATCH_PAUSE_S
        while True:
            try:
                async with session.watch(tools=True, prompts=True, resources=True) as changes:
                    self.tells = _watched_lists(changes.honoured)
                    if self._watched.is_set():
                        # A new stream: changes since the last one were missed.
                        self.lists.invalidate_all()
                    self._watched.set()
                    async for _ in changes:
                        pause_s = WATCH_PAUSE_S  # the hooks of the manager handle the change
            except TransportError as error:
                if session.is_lost:
                    self._break(error)
                    return
            except RequestTimeout:
                pass
            except McpGenError as error:
                _log.debug("%s does not tell of changes: %s", self.name, error)
                self._watched.set()
                return
            # The stream ended: no `list_changed` until there is another.
            self.tells = frozenset()
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, LONGEST_WATCH_PAUSE_S)

    def _break(self, error: Exception) -> None:
        """Mark the connection as lost: calls wait for the next one."""
        if self._lost is not None and not self._lost.done():
            self._set_state("reconnecting")
            self._watched.set()
            self._lost.set_result(error)

    async def _disconnect(self) -> None:
        session = self.session
        if session is not None:
            await session.aclose()

    def _set_state(self, state: State) -> None:
        self.state = state
        if state in ("connecting", "reconnecting"):
            self._settled.clear()
        else:
            self._settled.set()

    def _emit(self, kind: Kind, **about: Any) -> None:
        self._events.emit(ManagerEvent(kind, self.name, **about))


def _watched_lists(honoured: latest.SubscriptionFilter) -> frozenset[ListName]:
    found: set[ListName] = set()
    if honoured.tools_list_changed:
        found.add("tools")
    if honoured.prompts_list_changed:
        found.add("prompts")
    if honoured.resources_list_changed:
        found |= {"resources", "resource_templates"}
    return frozenset(found)
