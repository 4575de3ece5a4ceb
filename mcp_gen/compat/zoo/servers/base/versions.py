"""Servers that break the agreement on a revision, and their twins."""

from __future__ import annotations

from typing import Any

from mcp_gen.compat.json_values import Json
from mcp_gen.compat.reference.call import Failure, ReferenceCall
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.zoo.zoo import breaks, keeps
from mcp_wire import REVISIONS
from mcp_wire import profile as profile_of

WITH_HANDSHAKE = tuple(one for one in REVISIONS if profile_of(one).handshake)


class _Offering(ReferenceServer):
    """Offers a revision in the answer to the handshake."""

    async def initialize(self, call: ReferenceCall) -> Json:
        found = await super().initialize(call)
        return {**found, "protocolVersion": self.offer(call.params["protocolVersion"])}

    def offer(self, asked: str) -> str:
        """Return what is offered to a client that asks for a revision."""
        return self.profile.revision

    @property
    def neighbour(self) -> str:
        """Another revision with a handshake."""
        return next(one for one in WITH_HANDSHAKE if one != self.profile.revision)


@breaks("lifecycle:versions:same")
class Contrary(_Offering):
    """Offers its revision to those who ask for another one, and another one to the others."""

    def offer(self, asked: str) -> str:
        return self.neighbour if asked == self.profile.revision else self.profile.revision


@keeps("lifecycle:versions:same")
class Settled(_Offering):
    """Offers its revision, whatever it is asked for."""


@breaks("lifecycle:versions:other")
class Agreeable(_Offering):
    """Agrees to any revision that it is asked for."""

    def offer(self, asked: str) -> str:
        return asked


@keeps("lifecycle:versions:other")
class AgreeableToKnown(_Offering):
    """Agrees to any revision that there is."""

    def offer(self, asked: str) -> str:
        return asked if asked in WITH_HANDSHAKE else WITH_HANDSHAKE[-1]


@breaks("lifecycle:versions:latest")
class Modest(_Offering):
    """Offers the oldest of all revisions, of which it speaks each."""

    def offer(self, asked: str) -> str:
        return asked if asked in WITH_HANDSHAKE else WITH_HANDSHAKE[0]


@keeps("lifecycle:versions:latest")
class NearlyModest(_Offering):
    """Offers the oldest of all revisions, or its own, and speaks no other."""

    def offer(self, asked: str) -> str:
        return self.profile.revision


# --- without a handshake ---


class _Refusing(ReferenceServer):
    """Changes the error for a revision that it does not speak."""

    def check_metadata(self, call: ReferenceCall) -> None:
        try:
            super().check_metadata(call)
        except Failure as failure:
            if failure.code != self.profile.errors.unsupported_protocol_version:
                raise
            raise self.other(failure) from None

    def other(self, failure: Failure) -> Failure:
        """Return the error."""
        return failure


@breaks("lifecycle:versions:unsupported")
class SilentAboutRevisions(_Refusing):
    """Refuses a revision, and does not say which others there are."""

    def other(self, failure: Failure) -> Failure:
        return Failure(failure.code, "Unsupported", {**failure.data, "supported": []})


@keeps("lifecycle:versions:unsupported")
class NamesOthersToo(_Refusing):
    """Names revisions that nobody knows beside its own."""

    def other(self, failure: Failure) -> Failure:
        supported = [*failure.data["supported"], "unheard-of"]
        return Failure(failure.code, "", {**failure.data, "supported": supported})


class _ToldToOlder(ReferenceServer):
    """Changes the error for a handshake."""

    def error_frame(self, id: Any, failure: Failure) -> Json:
        if failure.data == {"supported": [self.profile.revision]}:
            failure = self.told()
        return super().error_frame(id, failure)

    def told(self) -> Failure:
        """Return the error."""
        return Failure(self.profile.errors.method_not_found, "Method not found")


@breaks("lifecycle:versions:told-to-older")
class TellsNothing(_ToldToOlder):
    """Says nothing of its revisions in the error for a handshake."""


@keeps("lifecycle:versions:told-to-older")
class TellsInPassing(_ToldToOlder):
    """Names its revision in the message of the error for a handshake."""

    def told(self) -> Failure:
        text = f"Use {self.profile.revision}"
        return Failure(self.profile.errors.method_not_found, text)
