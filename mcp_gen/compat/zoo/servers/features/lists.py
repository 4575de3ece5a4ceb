"""Servers that break the rules of lists, and their twins."""

from __future__ import annotations

import base64
from typing import Any, ClassVar

from mcp_gen.compat.json_values import Json
from mcp_gen.compat.reference.call import Failure, ReferenceCall
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.zoo.zoo import breaks, keeps

MORE: dict[str, Json] = {
    "tools": {"name": "more", "inputSchema": {"type": "object"}},
    "prompts": {"name": "more"},
    "resources": {"uri": "reference://more", "name": "more", "mimeType": "text/plain"},
}


class Growing(ReferenceServer):
    """Has one more tool, prompt or resource, if it is told to."""

    KIND = ""

    def has_grown(self) -> bool:
        """Return True if there is one more."""
        raise NotImplementedError

    def grown(self, kind: str, items: list[Json]) -> list[Json]:
        """Return the items of a kind."""
        return [*items, MORE[kind]] if kind == self.KIND and self.has_grown() else items

    def tools(self) -> list[Json]:
        return self.grown("tools", super().tools())

    def prompts(self) -> list[Json]:
        return self.grown("prompts", super().prompts())

    def resources(self) -> list[Json]:
        return self.grown("resources", super().resources())

    async def prompt_more(self, arguments: Json) -> list[Json]:
        """Return no messages."""
        return []


# --- the same for all ---


class GrowingByUse(Growing):
    """Has more on a connection on which a tool was called."""

    is_used = False

    def has_grown(self) -> bool:
        return self.is_used

    async def run_echo(self, call: ReferenceCall, arguments: Json) -> Json:
        if not self.is_used:
            self.is_used = True
            self.announce(f"{self.KIND.removesuffix('s')}_list_changed")
        return await super().run_echo(call, arguments)


class GrowingForAll(Growing):
    """Has more for everybody, or less, after each call of a tool."""

    # It is the state of all connections: on a class of the zoo there is no other place for it.
    # Whoever examines two at once makes a class of its own for each.
    is_grown: ClassVar[bool] = False

    def has_grown(self) -> bool:
        return self.is_grown

    async def run_echo(self, call: ReferenceCall, arguments: Json) -> Json:
        # At the user's own call alone, once in an examination: not at calls of other connections.
        if call.progress_token == "progress-0":
            type(self).is_grown = not self.is_grown
            self.tell_of_growth()
        return await super().run_echo(call, arguments)

    def tell_of_growth(self) -> None:
        """Tell the client of the change."""
        self.announce(f"{self.KIND.removesuffix('s')}_list_changed")


@breaks("tools:list:same-for-all")
class ToolsByConnection(GrowingByUse):
    """Has one more tool for a client that has called one."""

    KIND = "tools"


@keeps("tools:list:same-for-all")
class ToolsByTime(GrowingForAll):
    """Has one more tool for everybody after a while."""

    KIND = "tools"


@breaks("prompts:list:same-for-all")
class PromptsByConnection(GrowingByUse):
    """Has one more prompt for a client that has called a tool."""

    KIND = "prompts"


@keeps("prompts:list:same-for-all")
class PromptsByTime(GrowingForAll):
    """Has one more prompt for everybody after a while."""

    KIND = "prompts"


@breaks("resources:list:same-for-all")
class ResourcesByConnection(GrowingByUse):
    """Has one more resource for a client that has called a tool."""

    KIND = "resources"


@keeps("resources:list:same-for-all")
class ResourcesByTime(GrowingForAll):
    """Has one more resource for everybody after a while."""

    KIND = "resources"


# --- news ---


class GrowingSilently(GrowingForAll):
    """Does not tell that there is more."""

    def tell_of_growth(self) -> None:
        """Tell nobody."""


class GrowingWithLateNews(GrowingForAll):
    """Tells that there is more only when the list is asked for."""

    is_due = False

    def tell_of_growth(self) -> None:
        self.is_due = True

    def page(self, call: ReferenceCall, member: str, items: list[Json]) -> Json:
        if self.is_due and member == self.KIND:
            self.is_due = False
            super().tell_of_growth()
        return super().page(call, member, items)


@breaks("tools:list:changed")
@breaks("tools:list:changed-listening")
class ToolsThatChangeSilently(GrowingSilently):
    """Does not tell that the list of tools has changed."""

    KIND = "tools"


@keeps("tools:list:changed")
@keeps("tools:list:changed-listening")
class ToolsThatChangeWithLateNews(GrowingWithLateNews):
    """Tells late that the list of tools has changed."""

    KIND = "tools"


@breaks("prompts:list:changed")
@breaks("prompts:list:changed-listening")
class PromptsThatChangeSilently(GrowingSilently):
    """Does not tell that the list of prompts has changed."""

    KIND = "prompts"


@keeps("prompts:list:changed")
@keeps("prompts:list:changed-listening")
class PromptsThatChangeWithLateNews(GrowingWithLateNews):
    """Tells late that the list of prompts has changed."""

    KIND = "prompts"


@breaks("resources:list:changed")
class ResourcesThatChangeSilently(GrowingSilently):
    """Does not tell that the list of resources has changed."""

    KIND = "resources"


@keeps("resources:list:changed")
class ResourcesThatChangeWithLateNews(GrowingWithLateNews):
    """Tells late that the list of resources has changed."""

    KIND = "resources"


# --- pages ---


@breaks("pagination:cursors:invalid")
class AnyCursor(ReferenceServer):
    """Begins anew at a cursor that it did not make."""

    def page(self, call: ReferenceCall, member: str, items: list[Json]) -> Json:
        if not call.params.get("cursor", "0").isdecimal():
            del call.params["cursor"]
        return super().page(call, member, items)


@keeps("pagination:cursors:invalid")
class UnknownCursorsWithData(ReferenceServer):
    """Refuses a cursor that it did not make with words and data of its own."""

    def page(self, call: ReferenceCall, member: str, items: list[Json]) -> Json:
        cursor = call.params.get("cursor", "0")
        if not cursor.isdecimal():
            raise Failure(self.profile.errors.invalid_params, "Begin anew", {"cursor": cursor})
        return super().page(call, member, items)


@breaks("pagination:cursors:stable")
class CursorsForOneUse(ReferenceServer):
    """Forgets a cursor when it was used, on whatever connection."""

    good: ClassVar[dict[str, str]] = {}

    def page(self, call: ReferenceCall, member: str, items: list[Json]) -> Json:
        cursor = call.params.get("cursor")
        if cursor is not None:
            # A cursor that is not there is none that the reference server would know.
            call.params["cursor"] = self.good.pop(cursor, "none")
        made = super().page(call, member, items)
        if "nextCursor" in made:
            once = f"once-{id(call):x}-{made['nextCursor']}"
            self.good[once] = made["nextCursor"]
            made["nextCursor"] = once
        return made


@keeps("pagination:cursors:stable")
class CursorsThatAreNew(ReferenceServer):
    """Gives the same place another cursor each time; all of them stay good."""

    turn = 0

    def page(self, call: ReferenceCall, member: str, items: list[Json]) -> Json:
        cursor: Any = call.params.get("cursor")
        if cursor is not None:
            try:
                call.params["cursor"] = base64.b64decode(cursor, validate=True).decode()[6:]
            except ValueError:
                raise Failure(self.profile.errors.invalid_params, "Unknown cursor") from None
        made = super().page(call, member, items)
        if "nextCursor" in made:
            self.turn += 1
            new = f"{self.turn:06}{made['nextCursor']}"
            made["nextCursor"] = base64.b64encode(new.encode()).decode()
        return made
