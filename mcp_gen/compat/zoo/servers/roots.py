"""Servers that break the rules of roots, and their twins."""

from __future__ import annotations

from mcp_gen.compat.json_values import Json
from mcp_gen.compat.reference.call import Failure, ReferenceCall, Unanswered
from mcp_gen.compat.reference.features import text_result
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.zoo.zoo import breaks, keeps


@breaks("roots:capability")
class AsksEveryoneForRoots(ReferenceServer):
    """Asks for the roots without a look at what the client has declared."""

    async def run_ask_roots(self, call: ReferenceCall, arguments: Json) -> Json:
        await call.ask("list_roots", {})
        return text_result("the roots are known")


@keeps("roots:capability")
class WorksWithoutRoots(ReferenceServer):
    """Does without the roots of a client that has not declared them."""

    async def run_ask_roots(self, call: ReferenceCall, arguments: Json) -> Json:
        if "roots" not in self.client_capabilities:
            return text_result("no roots are needed")
        return await super().run_ask_roots(call, arguments)


@breaks("roots:unavailable")
class NeedsRoots(ReferenceServer):
    """Waits for roots that are gone."""

    async def run_ask_roots(self, call: ReferenceCall, arguments: Json) -> Json:
        if "roots" in self.client_capabilities:
            try:
                found = await call.ask("list_roots", {})
            except Failure:
                raise Unanswered from None
            if not found["roots"]:
                raise Unanswered
        return await super().run_ask_roots(call, arguments)


@keeps("roots:unavailable")
class RefusesWithoutRoots(ReferenceServer):
    """Answers with an error where roots are gone."""

    async def run_ask_roots(self, call: ReferenceCall, arguments: Json) -> Json:
        found = await super().run_ask_roots(call, arguments)
        if '"roots":[]' in found["content"][0]["text"]:
            raise Failure(self.profile.errors.internal_error, "The roots are gone")
        return found
