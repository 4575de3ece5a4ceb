"""Servers that break the rules of the lifecycle, and their twins."""

from __future__ import annotations

from contextlib import suppress

from mcp_gen.compat.json_values import Json, is_object, member
from mcp_gen.compat.reference.call import Failure, ReferenceCall, Unanswered
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.reference.tasks import ReferenceTask
from mcp_gen.compat.zoo.zoo import breaks, keeps


@breaks("lifecycle:initialize:first")
class Hasty(ReferenceServer):
    """Answers everything before the handshake."""

    def __init__(self, revision: str) -> None:
        super().__init__(revision)
        self._is_open = True


@keeps("lifecycle:initialize:first")
class Patient(ReferenceServer):
    """Lets what comes before the handshake wait for ever."""

    async def answer(self, call: ReferenceCall) -> Json:
        if not self._is_open and call.method not in self._first():
            raise Unanswered
        return await super().answer(call)

    def _first(self) -> set[str]:
        methods = (self.profile.handshake, self.profile.ping)
        return {method.name for method in methods if method is not None}


@breaks("lifecycle:initialize:answered")
class Nameless(ReferenceServer):
    """Does not say in the answer to the handshake what it is called."""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        if "serverInfo" in result:
            result = {**result, "serverInfo": {"version": "1.0.0"}}
        return super().result_frame(call, result)


@keeps("lifecycle:initialize:answered")
class Unassuming(ReferenceServer):
    """Calls itself nothing."""

    def info(self) -> Json:
        return {"name": "", "version": ""}


class _Greeting(ReferenceServer):
    """Sends something as soon as it has answered the handshake."""

    async def run(self, call: ReferenceCall) -> None:
        await super().run(call)
        if self.profile.handshake is not None and call.method == self.profile.handshake.name:
            await self.greet()

    async def greet(self) -> None:
        """Send something."""


@breaks("lifecycle:initialize:server-quiet")
class AsksAtOnce(_Greeting):
    """Asks for the roots before the client is ready."""

    async def greet(self) -> None:
        if "roots" in self.client_capabilities:
            with suppress(Failure):
                await self.ask(self.question_frame("list_roots", {}))


@keeps("lifecycle:initialize:server-quiet")
class PingsAtOnce(_Greeting):
    """Pings, and logs, before the client is ready."""

    async def greet(self) -> None:
        self.tell("logging_message", {"level": "info", "data": "hello"})
        ping = self.profile.ping
        assert ping is not None
        await self.ask({"jsonrpc": "2.0", "method": ping.name})


# --- after the handshake ---


class _OfOtherRevisions(ReferenceServer):
    """Gives the first tool members that other revisions have."""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        if "tools" in result:
            first, *rest = result["tools"]
            result = {**result, "tools": [{**first, **self.members()}, *rest]}
        return super().result_frame(call, result)

    def members(self) -> Json:
        """Return the members."""
        return {}


@breaks("lifecycle:operation:revision-early")
class ToolsWithTitles(_OfOtherRevisions):
    """Sends titles of tools, as later revisions do."""

    def members(self) -> Json:
        return {"title": "A title"}


@keeps("lifecycle:operation:revision-early")
class SchemasWithTitles(_OfOtherRevisions):
    """Sends titles in the schemas of tools, where everything may stand."""

    def members(self) -> Json:
        return {"inputSchema": {"type": "object", "title": "A title"}}


@breaks("lifecycle:operation:revision")
class ListsWithHints(ReferenceServer):
    """Says how long the list of tools is good for, as later revisions do."""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        if "resourceTemplates" in result:
            result = {**result, "ttlMs": 1, "cacheScope": "private", "resultType": "complete"}
        return super().result_frame(call, result)


@keeps("lifecycle:operation:revision")
class TitledSchemas(_OfOtherRevisions):
    """Sends in the schemas of tools, where everything may stand, what later revisions have."""

    def members(self) -> Json:
        return {"inputSchema": {"type": "object", "title": "A title", "icons": []}}


class _AsksAnyone(ReferenceServer):
    """Asks for the model also where the client has declared none."""

    def lacking(self, capability: str) -> Json:
        if capability == "sampling":
            return {}
        return super().lacking(capability)

    async def asked(self, call: ReferenceCall, capability: str, name: str, params: Json) -> Json:
        if self.lacking(capability) == {}:
            await call.ask(name, params)
            return {"content": []}
        return await super().asked(call, capability, name, params)


@breaks("lifecycle:operation:capabilities-early")
class AsksAnyoneEarly(_AsksAnyone):
    """Asks for the model also where the client has declared none."""


@breaks("lifecycle:operation:capabilities")
class AsksAnyone(_AsksAnyone):
    """Asks for the model also where the client has declared none."""


@keeps("lifecycle:operation:capabilities-early")
class AsksForTheModelEarly(ReferenceServer):
    """Asks for the model where the client has declared one."""


@keeps("lifecycle:operation:capabilities")
class AsksForTheModel(ReferenceServer):
    """Asks for the model where the client has declared one."""


# --- discovery ---


@breaks("lifecycle:discover:implemented")
class Undiscovered(ReferenceServer):
    """Answers everything but the question for its revisions."""

    async def discover(self, call: ReferenceCall) -> Json:
        raise Failure(self.profile.errors.method_not_found, "Method not found")


@keeps("lifecycle:discover:implemented")
class DiscoveredAmongOthers(ReferenceServer):
    """Names revisions that nobody knows beside its own."""

    async def discover(self, call: ReferenceCall) -> Json:
        found = await super().discover(call)
        return {**found, "supportedVersions": ["unheard-of", *found["supportedVersions"]]}


# --- extensions ---


class _Extended(ReferenceServer):
    """Declares extensions."""

    EXTENSIONS: tuple[str, ...] = ()

    def capabilities(self) -> Json:
        return {**super().capabilities(), "extensions": {name: {} for name in self.EXTENSIONS}}


@breaks("lifecycle:extensions:names")
class ExtensionWithoutPrefix(_Extended):
    """Declares an extension whose name has no prefix."""

    EXTENSIONS = ("favourites",)


@keeps("lifecycle:extensions:names")
class ExtensionOfOneLabel(_Extended):
    """Declares extensions whose prefixes are as short as they may be."""

    EXTENSIONS = ("a/b", "com.example/favourites-2")


def extensions_of(call: ReferenceCall) -> Json:
    """Return the extensions that the client of a request declares, and that nobody knows."""
    key = call.server.profile.client_capabilities_key
    found = member(call.meta, str(key), "extensions")
    names = found if is_object(found) else {}
    return {name: names[name] for name in names if name.startswith("com.")}


class WithoutExtensions(ReferenceServer):
    """Declares no extension."""

    def task_capabilities(self) -> Json:
        return {}


@breaks("lifecycle:extensions:one-sided")
class SilentAboutExtensions(ReferenceServer):
    """Leaves requests unanswered that declare an extension which it does not know."""

    async def answer(self, call: ReferenceCall) -> Json:
        if extensions_of(call):
            raise Unanswered
        return await super().answer(call)


@keeps("lifecycle:extensions:one-sided")
class RefusesExtensions(WithoutExtensions):
    """Refuses requests that declare an extension which it does not know."""

    async def answer(self, call: ReferenceCall) -> Json:
        if extensions_of(call):
            raise Failure(self.profile.errors.invalid_params, "Unknown extension")
        return await super().answer(call)


@breaks("lifecycle:extensions:off")
class UndeclaredExtension(WithoutExtensions):
    """Answers the requests of an extension that it does not declare."""

    def find_task(self, call: ReferenceCall) -> ReferenceTask:
        task = ReferenceTask(call, ttl_ms=1000)
        task.id = call.params["taskId"]
        return task


@keeps("lifecycle:extensions:off")
class RefusesTasks(WithoutExtensions):
    """Refuses the requests of an extension in its own words."""

    async def answer(self, call: ReferenceCall) -> Json:
        if "taskId" in call.params:
            raise Failure(self.profile.errors.method_not_found, "There are no tasks here")
        return await super().answer(call)
