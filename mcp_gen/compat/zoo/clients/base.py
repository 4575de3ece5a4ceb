"""Clients that break the base protocol, and their twins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_gen.compat.reference.client_script import ClientScript
from mcp_gen.compat.zoo.zoo import breaks, keeps

if TYPE_CHECKING:
    from mcp_gen.compat.json_values import Json


@breaks("base:client:frames:valid")
class NumbersAsNames(ClientScript):
    """Completes the name of a prompt that is a number."""

    async def complete(self) -> None:
        about = {"type": "ref/prompt", "name": 1}
        await self.ask("complete", {"ref": about, "argument": {"name": "name", "value": "A"}})


@keeps("base:client:frames:valid")
class NumbersInNames(ClientScript):
    """Completes an empty text of a prompt that is there."""

    async def complete(self) -> None:
        about = {"type": "ref/prompt", "name": "greet"}
        await self.ask("complete", {"ref": about, "argument": {"name": "name", "value": ""}})


@breaks("base:client:frames:named")
class UnknownParams(ClientScript):
    """Gives each call of a tool a member that no revision has."""

    def params(self, params: Json | None, meta: Json) -> Json:
        made = super().params(params, meta)
        return {**made, "urgent": True} if "arguments" in made else made


@keeps("base:client:frames:named")
class OwnParamsMetadata(ClientScript):
    """Says of its own in `_meta`, where everything may stand."""

    def request_meta(self) -> dict[str, Any]:
        return {**super().request_meta(), "com.example/urgent": True}
