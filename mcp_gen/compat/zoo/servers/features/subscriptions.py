"""Servers that break the rules of subscriptions, and their twins."""

from __future__ import annotations

from mcp_gen.compat.json_values import Json, member
from mcp_gen.compat.reference.call import Failure, ReferenceCall
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.zoo.zoo import breaks, keeps


class NewsByCalls(ReferenceServer):
    """Tells that the lists of tools and prompts have changed when a tool is called."""

    async def run_echo(self, call: ReferenceCall, arguments: Json) -> Json:
        self.announce("tool_list_changed")
        self.announce("prompt_list_changed")
        return await super().run_echo(call, arguments)


@breaks("subscriptions:asked-only")
class NewsForAll(NewsByCalls):
    """Tells every listener everything."""

    def wants(self, call: ReferenceCall, name: str, params: Json) -> bool:
        return True


@keeps("subscriptions:asked-only")
class NewsForSome(NewsByCalls):
    """Tells each listener what it asked for, some of it twice."""

    def tell_listener(self, call: ReferenceCall, name: str, params: Json) -> None:
        super().tell_listener(call, name, params)
        if name == "tool_list_changed":
            super().tell_listener(call, name, params)


@breaks("subscriptions:acknowledged-first")
class LateAcknowledgments(ReferenceServer):
    """Tells of a change before it acknowledges the request for it."""

    def acknowledge(self, call: ReferenceCall) -> None:
        self.tell_listener(call, "tool_list_changed", {})
        super().acknowledge(call)


@keeps("subscriptions:acknowledged-first")
class NewsAtOnce(ReferenceServer):
    """Acknowledges a part of what was asked for, and tells of a change at once."""

    def acknowledge(self, call: ReferenceCall) -> None:
        told = {"notifications": {"toolsListChanged": True}}
        self.tell_listener(call, "subscriptions_acknowledged", told)
        self.tell_listener(call, "tool_list_changed", {})


@breaks("subscriptions:identified")
class NewsFromNowhere(NewsByCalls):
    """Does not say to which request its news belong."""

    def tell_listener(self, call: ReferenceCall, name: str, params: Json) -> None:
        if name == "tool_list_changed":
            call.tell(name, params)
        else:
            super().tell_listener(call, name, params)


@keeps("subscriptions:identified")
class NewsWithMore(NewsByCalls):
    """Says more than the id in the metadata of its news."""

    def notification_frame(self, name: str, params: Json) -> Json:
        frame = super().notification_frame(name, params)
        if member(frame, "params", "_meta"):
            frame["params"]["_meta"]["com.example/more"] = True
        return frame


class ShortSubscriptions(ReferenceServer):
    """Ends its subscriptions by itself."""

    async def listen(self, call: ReferenceCall) -> None:
        """End at once."""


@breaks("subscriptions:ends-gracefully")
class SubscriptionsThatFail(ShortSubscriptions):
    """Ends its subscriptions with an error."""

    async def listen(self, call: ReferenceCall) -> None:
        raise Failure(self.profile.errors.internal_error, "Shutting down")


@keeps("subscriptions:ends-gracefully")
class SubscriptionsThatEnd(ShortSubscriptions):
    """Ends its subscriptions with a result."""
