"""Clients that break the rules of opening, negotiation and time limits, and their twins."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import UNSET
from msgspec.structs import replace

import mcp_wire
from mcp_gen.compat.json_values import entries, member
from mcp_gen.compat.reference.client_script import ClientScript, ScriptFailure
from mcp_gen.compat.zoo.zoo import breaks, keeps
from mcp_gen.core.revisions import per_request
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.json_values import Json
    from mcp_gen.compat.reference.client import ServerReply
    from mcp_gen.compat.transcript import WireEvent

OLDEST = "0.9"
"""A version that sorts before the first revision."""


class _Opening(ClientScript):
    """Opens the connection in steps."""

    async def open(self) -> ServerReply:
        """Open the connection; see `ReferenceClient`."""
        handshake = self.profile.handshake
        if handshake is None:
            return await super().open()
        await self.wire.open()
        await self.before()
        frame = self.request_frame(handshake.name, self.handshake_params())
        asked = await self.send(self.handshake_message(frame))
        await self.between(frame)
        self.opening = await self.reply_to(asked)
        if self.opening.result is not None:
            await self.ready()
        return self.opening

    async def ping(self) -> None:
        """Ping the server."""
        assert self.profile.ping is not None
        await self.ask(self.profile.ping)

    async def before(self) -> None:
        """Do something before the handshake."""

    def handshake_message(self, frame: Json) -> Any:
        """Return the message with the handshake."""
        return frame

    async def between(self, frame: Json) -> None:
        """Do something before the handshake is answered."""

    async def ready(self) -> None:
        """Tell the server that the client is ready."""
        assert self.profile.initialized is not None
        await self.tell(self.profile.initialized)


@breaks("lifecycle:client:initialize")
class AsksFirst(_Opening):
    """Asks for the tools before the handshake."""

    async def before(self) -> None:
        await self.ask("list_tools")


@keeps("lifecycle:client:initialize")
class PingsFirst(_Opening):
    """Pings before the handshake."""

    async def before(self) -> None:
        await self.ping()


@breaks("lifecycle:client:initialized")
class NeverReady(_Opening):
    """Goes on without a word after the handshake."""

    async def ready(self) -> None:
        pass


@keeps("lifecycle:client:initialized")
class PingsBeforeReady(_Opening):
    """Pings before it says that it is ready."""

    async def ready(self) -> None:
        if self.agreed == self.profile.revision:
            await self.ping()
        await super().ready()


@breaks("lifecycle:client:quiet")
class Impatient(_Opening):
    """Asks for the tools before the handshake is answered."""

    async def between(self, frame: Json) -> None:
        await self.ask("list_tools")


@keeps("lifecycle:client:quiet")
class PingsMeanwhile(_Opening):
    """Pings before the handshake is answered."""

    async def between(self, frame: Json) -> None:
        await self.ping()


@breaks("lifecycle:client:not-in-batch")
class OpensInBatches(_Opening):
    """Sends the handshake in a batch."""

    def handshake_message(self, frame: Json) -> Any:
        return [frame]

    async def reply_to(
        self, asked: WireEvent, *, id: Any = UNSET, within_s: float | None = None
    ) -> ServerReply:
        first = entries(asked.message)[0]
        return await super().reply_to(replace(asked, message=first), within_s=within_s)


@keeps("lifecycle:client:not-in-batch")
class PingsInBatches(_Opening):
    """Sends a ping in a batch, before the handshake."""

    async def before(self) -> None:
        assert self.profile.ping is not None
        await self.send([self.request_frame(self.profile.ping.name)])


@breaks("cancellation:client:handshake")
class CancelsTheHandshake(_Opening):
    """Cancels the handshake, and goes on."""

    async def ready(self) -> None:
        assert self.opening is not None
        await self.tell("cancelled", {"requestId": member(self.opening.asked.message, "id")})
        await super().ready()


@keeps("cancellation:client:handshake")
class WaitsForTheHandshake(_Opening):
    """Waits for a moment before it expects an answer."""

    async def between(self, frame: Json) -> None:
        await asyncio.sleep(0)


# --- versions ---


@breaks("lifecycle:client:versions:supported")
class AsksForTheUnspoken(_Opening):
    """Disconnects when it is offered what it asked for."""

    async def ready(self) -> None:
        raise ScriptFailure(f"the client does not speak {self.agreed}")


@keeps("lifecycle:client:versions:supported")
class LeavesWhenReady(ClientScript):
    """Leaves right after the handshake."""

    async def use(self) -> None:
        pass


@breaks("lifecycle:client:versions:latest")
class AsksForTheOldest(ClientScript):
    """Asks for an older version than it speaks."""

    def handshake_params(self) -> Json:
        return {**super().handshake_params(), "protocolVersion": OLDEST}


@keeps("lifecycle:client:versions:latest")
class AsksForTheNewest(ClientScript):
    """Asks for the newest revision with a handshake, whatever it gets."""

    def handshake_params(self) -> Json:
        newest = [one for one in mcp_wire.REVISIONS if profile_of(one).handshake][-1]
        return {**super().handshake_params(), "protocolVersion": newest}


class _Unoffered(_Opening):
    """Does something of its own when it is offered what it does not speak."""

    async def ready(self) -> None:
        if self.agreed != self.profile.revision:
            await self.go_wrong()
        await super().ready()

    async def go_wrong(self) -> None:
        """Do it."""
        raise NotImplementedError


@breaks("lifecycle:client:versions:must-disconnect")
class AsksAllTheSame(_Unoffered):
    """Asks for the tools of a server whose revision it does not speak."""

    async def go_wrong(self) -> None:
        await self.ask("list_tools")


@keeps("lifecycle:client:versions:must-disconnect")
class LeavesAtOnce(_Unoffered):
    """Disconnects without a word."""

    async def go_wrong(self) -> None:
        await self.wire.aclose()
        raise ScriptFailure("another revision")


@breaks("lifecycle:client:versions:disconnects")
class StaysConnected(_Unoffered):
    """Does nothing more, and stays."""

    async def go_wrong(self) -> None:
        await asyncio.get_running_loop().create_future()


@keeps("lifecycle:client:versions:disconnects")
class LeavesLater(_Unoffered):
    """Disconnects after a moment."""

    async def go_wrong(self) -> None:
        await asyncio.sleep(0.01)
        raise ScriptFailure("another revision")


class _AsksTheUndeclared(ClientScript):
    """Asks for completions of a server that has declared nothing."""

    async def use(self) -> None:
        """Use what there is, and ask."""
        await super().use()
        if not self.server_capabilities:
            await self.ask("list_prompts")


@breaks("lifecycle:client:operation")
class AsksForTheUndeclared(_AsksTheUndeclared):
    """Asks for what the server has not declared."""


@breaks("lifecycle:client:operation:early")
class AsksForTheUndeclaredEarly(_AsksTheUndeclared):
    """Asks for what the server has not declared."""


class _PingsTheBare(ClientScript):
    """Pings a server that has declared nothing."""

    async def use(self) -> None:
        """Use what there is, and ping."""
        await super().use()
        assert self.profile.ping is not None
        await self.ask(self.profile.ping)


@keeps("lifecycle:client:operation")
class AsksForTheDeclared(_PingsTheBare):
    """Pings, which needs no capability."""


@keeps("lifecycle:client:operation:early")
class AsksForTheDeclaredEarly(_PingsTheBare):
    """Pings, which needs no capability."""


# --- several lifecycles ---


def _newest_handshake() -> str:
    return [one for one in mcp_wire.REVISIONS if profile_of(one).handshake][-1]


class _Both(ClientScript):
    """Speaks the newest revision with a handshake, too."""

    async def shake_hands(self) -> ServerReply:
        """Send the handshake of that revision on the same connection, and return the answer."""
        revision = _newest_handshake()
        handshake = profile_of(revision).handshake
        assert handshake is not None
        frame: Json = {"jsonrpc": "2.0", "id": "handshake", "method": handshake.name}
        params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": self.info()}
        return await self.ask_frame({**frame, "params": params})


@breaks("lifecycle:client:probe")
class ShakesHandsFirst(_Both):
    """Tries the handshake first."""

    async def open(self) -> ServerReply:
        await self.wire.open()
        await self.shake_hands()
        assert self.profile.discover is not None
        self.opening = await self.ask(self.profile.discover)
        return self.opening


@keeps("lifecycle:client:probe")
class AsksForMore(_Both):
    """Asks twice what the server speaks."""

    async def use(self) -> None:
        assert self.profile.discover is not None
        await self.ask(self.profile.discover)
        await super().use()


class _FallsBack(_Opening, _Both):
    """Asks for the newest revision first. It shakes hands after some errors, and leaves then."""

    codes: ClassVar[tuple[str, ...]] = ()
    """Names of the errors after which it does."""

    async def before(self) -> None:
        newest = profile_of(per_request()[-1])
        assert newest.discover is not None
        assert newest.protocol_version_key is not None
        meta = {newest.protocol_version_key: newest.revision}
        frame = {"jsonrpc": "2.0", "id": "probe", "method": newest.discover.name}
        await self.ask_frame({**frame, "params": {"_meta": meta}})

    async def connect(self) -> None:
        """Open the connection, in one way or the other."""
        try:
            await super().connect()
        except ScriptFailure:
            known = [getattr(self.profile.errors, one) for one in self.codes]
            if self.profile.handshake is None and self.opening and self.opening.code in known:
                await self.shake_hands()
            raise


@breaks("lifecycle:client:fallback")
class FallsBackAtOneCode(_FallsBack):
    """Shakes hands only with a server that does not know the method, or lists what it speaks."""

    codes = ("method_not_found", "unsupported_protocol_version")


@keeps("lifecycle:client:fallback")
class FallsBackAtAny(_FallsBack):
    """Shakes hands with a server that refuses for reasons of its own, too."""

    codes = ("method_not_found", "internal_error", "unsupported_protocol_version")


@breaks("lifecycle:client:versions:selected")
class IgnoresTheList(_FallsBack):
    """Does not look at the revisions that a refusal lists."""

    codes = ("method_not_found", "internal_error")


@keeps("lifecycle:client:versions:selected")
class TakesFromTheList(_FallsBack):
    """Takes one of the revisions that a refusal lists."""

    codes = ("internal_error", "unsupported_protocol_version")


# --- extensions ---


class _DeclaresExtensions(ClientScript):
    """Declares an extension."""

    extension: ClassVar[str] = ""

    def request_meta(self) -> Json:
        """Return the metadata with the extension."""
        meta = super().request_meta()
        key = self.profile.client_capabilities_key or ""
        return {**meta, key: {**meta[key], "extensions": {self.extension: {}}}}


@breaks("lifecycle:client:extensions:names")
class BareExtension(_DeclaresExtensions):
    """Declares an extension without a prefix."""

    extension = "weather"


@keeps("lifecycle:client:extensions:names")
class PrefixedExtension(_DeclaresExtensions):
    """Declares an extension with the shortest prefix."""

    extension = "x/y"


@breaks("lifecycle:client:extensions:one-sided")
class NeedsToKnowExtensions(ClientScript):
    """Leaves a server whose extensions it does not know."""

    async def use(self) -> None:
        if "extensions" in self.server_capabilities:
            raise ScriptFailure("unknown extensions")
        await super().use()


@keeps("lifecycle:client:extensions:one-sided")
class ReadsExtensions(ClientScript):
    """Reads the extensions of a server."""

    async def use(self) -> None:
        assert member(self.server_capabilities, "extensions") != {}
        await super().use()


# --- time limits ---


@breaks("lifecycle:client:timeouts:sent")
class StopsWaitingSilently(ClientScript):
    """Stops waiting for an answer without a word."""

    async def stop_waiting(self, reply: ServerReply) -> None:
        pass


@keeps("lifecycle:client:timeouts:sent")
class StopsWaitingWithReasons(ClientScript):
    """Says why it stops waiting."""

    async def stop_waiting(self, reply: ServerReply) -> None:
        id = member(reply.asked.message, "id")
        await self.tell("cancelled", {"requestId": id, "reason": "too late"})
