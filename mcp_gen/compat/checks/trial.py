"""Trial of a server: its connections at one revision, and what one check may do with them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from msgspec import Struct

from mcp_gen.compat.checks.found import Found, NotTested
from mcp_gen.compat.json_values import Json, member
from mcp_gen.compat.patience import Patience, Waits
from mcp_gen.compat.reference.client import TIMEOUT_S, Answers, ReferenceClient, ServerReply
from mcp_gen.core.errors import McpGenError
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.transcript import Transcript, Transport, WireEvent
    from mcp_gen.compat.wire.wire import Wire

__all__ = ["NO_ANSWER", "CalledTool", "Opens", "ServerTrial", "ToolCall", "TriedServer", "shown"]

T = TypeVar("T")

NO_ANSWER = "the server did not answer"
"""Why a check was not made that rests on an answer; that there is none another check tells."""

Opens: TypeAlias = "Callable[[str], Wire]"
"""Makes a wire to the server for a revision, with an empty transcript; does not open it."""


class ToolCall(Struct, frozen=True):
    """A call of a tool that the user has named: what else may be called is not known.

    Args:
        name: The name of the tool.
        arguments: Its arguments.
    """

    name: str
    arguments: dict[str, Any]

    @property
    def params(self) -> Json:
        """Params of the call."""
        return {"name": self.name, "arguments": self.arguments}


class CalledTool(Struct, frozen=True):
    """A call that was made, and what came of it.

    Args:
        call: The call.
        reply: Its last reply.
        questions: Methods of the questions that were asked during it, by their names on the wire.
        rounds: Number of requests that it took.
    """

    call: ToolCall
    reply: ServerReply
    questions: frozenset[str]
    rounds: int


class TriedServer:
    """One server at one revision, whose checks share a connection.

    Args:
        opens: Makes the wires.
        revision: The revision.
        transport: What carries the messages.
        calls: The tool calls that are allowed.
        timeout_s: Longest wait for an answer, in seconds.
        patience: What examinations at other revisions know of the waits; None for none.
    """

    def __init__(
        self,
        opens: Opens,
        revision: str,
        transport: Transport,
        *,
        calls: tuple[ToolCall, ...] = (),
        timeout_s: float = TIMEOUT_S,
        patience: Patience | None = None,
    ) -> None:
        self.profile = profile_of(revision)
        self.transport: Transport = transport
        self.calls = calls
        self.waits = Waits(patience or Patience(timeout_s))
        self.called: list[CalledTool] = []
        """The calls of the first exercise, in order."""
        self.shared: dict[Any, Any] = {}
        """Facts that several checks use, by the function that finds them out."""
        self.transcripts: list[Transcript] = []
        self.items: dict[str, list[Json]] = {}
        """Items that were listed, by the Python name of the method, such as `list_tools`."""
        self._opens = opens
        self._main: ReferenceClient | None = None
        self._second: ReferenceClient | None = None

    def client(
        self,
        *,
        revision: str | None = None,
        capabilities: dict[str, Any] | None = None,
        answers: Answers | None = None,
        is_judged: bool = True,
        listens: bool = True,
    ) -> ReferenceClient:
        """Return a client of a new connection, which is not opened yet.

        Args:
            revision: The revision that the client speaks; None: that of the examination.
            capabilities: What it declares; None: all that the revision has.
            answers: Answers questions of the server; None: an `Answers`.
            is_judged: False: no rule is applied to the conversation, as it may end up at another
                revision.
            listens: False: the client opens no stream for what belongs to no request.
        """
        # What is asked at another revision is not judged as this one's.
        spoken = revision or self.profile.revision
        wire = self._opens(spoken)
        if is_judged and spoken == self.profile.revision:
            self.transcripts.append(wire.transcript)
        client = ReferenceClient(
            wire,
            spoken,
            capabilities=capabilities,
            answers=answers,
            waits=self.waits,
            listens=listens,
        )
        if self._main is not None:
            # Over HTTP a call repeats arguments that the tool's schema marks.
            client.tools.update(self._main.tools)
        return client

    @property
    def timeout_s(self) -> float:
        """Longest wait for an answer now, in seconds."""
        return self.waits.timeout_s

    async def answers(self) -> bool:
        """Return True if the server still answers, if only over a new connection."""
        harmless = self.profile.ping or self.profile.discover
        assert harmless is not None
        try:
            main = await self.main()
            if (await main.ask(harmless, within_s=self.waits.patience.shorter_s)).frame:
                return True
            self._main = None
            await main.aclose()
            main = await self.main()
            opening = main.opening
            if opening is not None and opening.frame:
                # How long it takes now: the connection before was lost, or too slow.
                await main.ask(harmless, within_s=self.waits.patience.longest_s)
        except McpGenError:
            return False
        return opening is not None and bool(opening.frame)

    async def main(self) -> ReferenceClient:
        """Return the client that all checks share; opened again if its connection has ended.

        Raises:
            TransportError: the connection cannot be opened.
        """
        main = self._main
        if main is None or main.transcript.is_closed:
            if main is not None:
                await main.aclose()
            self._main = main = self.client()
            await main.open()
        return main

    async def second(self) -> ReferenceClient:
        """Return a client beside the main one, which checks may disturb; opened again if it ended.

        Where each connection starts a process, opening one takes longer than most checks.

        Raises:
            TransportError: the connection cannot be opened.
        """
        second = self._second
        if second is None or second.transcript.is_closed:
            await self.drop_second()
            self._second = second = self.client()
            await second.open()
        return second

    async def drop_second(self) -> None:
        """Close the second connection: a check has found that something is wrong with it."""
        second, self._second = self._second, None
        if second is not None:
            await second.aclose()

    async def aclose(self) -> None:
        """Close the connections that the checks share."""
        await self.drop_second()
        if self._main is not None:
            await self._main.aclose()


class ServerTrial(Found):
    """One check of a server at one revision: what it may do, and its findings.

    Args:
        server: The server at one revision.
    """

    def __init__(self, server: TriedServer) -> None:
        super().__init__()
        self._server = server
        self._open = AsyncExitStack()
        self.profile = server.profile
        self.revision = server.profile.revision
        self.transport = server.transport
        self.calls = server.calls
        self.called = server.called

    @property
    def timeout_s(self) -> float:
        """Longest wait for an answer now, in seconds."""
        return self._server.timeout_s

    async def main(self) -> ReferenceClient:
        """Return the client that all checks share: leave its connection as it was."""
        return await self._server.main()

    def unopened(self, **named: Any) -> ReferenceClient:
        """Return a client of a new connection that is closed after the check; see `TriedServer`."""
        client = self._server.client(**named)
        self._open.push_async_callback(client.aclose)
        return client

    async def fresh(self, **named: Any) -> ReferenceClient:
        """Return a client of a new connection, opened, that is closed after the check."""
        client = self.unopened(**named)
        await client.open()
        return client

    async def second(self) -> ReferenceClient:
        """Return a client whose connection is not the main one, and that a check may disturb.

        Over HTTP it is new; elsewhere checks use it one after the other.
        """
        return await (self.fresh() if self.transport == "http" else self._server.second())

    async def once(self, find_out: Callable[[ServerTrial], Awaitable[T]]) -> T:
        """Return what a function finds out; it is called for the first of the checks that ask."""
        shared = self._server.shared
        if find_out not in shared:
            shared[find_out] = await find_out(self)
        found: T = shared[find_out]
        return found

    def answered(self, reply: ServerReply) -> ServerReply:
        """Return a reply that has an answer.

        Raises:
            NotTested: it has none: that is the finding of another check.
        """
        if not reply.frame:
            raise NotTested(NO_ANSWER)
        return reply

    async def having(self, capability: str) -> ReferenceClient:
        """Return the shared client if the server has declared a capability.

        Args:
            capability: Path of the capability, such as `resources.subscribe`.

        Raises:
            NotTested: it has not.
        """
        client = await self.main()
        found = member(client.server_capabilities, *capability.split("."))
        if found is None or found is False:
            raise NotTested(f"the server does not declare `{capability}`")
        return client

    def items(self, name: str) -> list[Json]:
        """Return what the server has listed; nothing if it has not declared the list.

        Args:
            name: The Python name of the method, such as `list_tools`.
        """
        return self._server.items.get(name, [])

    def has_listed(self, name: str) -> bool:
        """Return True if the server was asked for a list, because it has declared it."""
        return name in self._server.items

    def listed(self, name: str) -> list[Json]:
        """Return what the server has listed: at least one item; see `items`.

        Raises:
            NotTested: it has listed nothing.
        """
        found = self.items(name)
        if not found:
            raise NotTested(f"the server has no {name.removeprefix('list_').replace('_', ' ')}")
        return found

    async def end(self) -> None:
        """Close what the check has opened."""
        await self._open.aclose()


def shown(event: WireEvent) -> str:
    """Return the text of an event for a sentence, at most 200 characters."""
    text = event.data.decode("utf-8", "backslashreplace")
    return text if len(text) <= 200 else f"{text[:199]}…"
