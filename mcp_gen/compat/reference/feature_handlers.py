"""Handlers of the reference server for lists, resources, prompts, completions, subscriptions."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from mcp_gen.compat.json_values import Json, is_array, member, objects
from mcp_gen.compat.reference.call import Failure, ReferenceCall, Unanswered
from mcp_gen.compat.reference.features import CONTENT, PNG, PROMPTS, RESOURCES, TEMPLATES, TOOLS

if TYPE_CHECKING:
    from mcp_wire.profile import Profile

__all__ = ["FeatureHandlers"]

PAGE_ITEMS = 4
"""Number of items on a page of a list."""
FILTERS = {
    "tool_list_changed": "toolsListChanged",
    "prompt_list_changed": "promptsListChanged",
    "resource_list_changed": "resourcesListChanged",
}
"""Members of a listening request by the notification that they ask for."""


class FeatureHandlers:
    """Offers of the reference server, and the requests for them."""

    profile: Profile
    subscribed: set[str]
    listening: list[ReferenceCall]

    def tell(self, name: str, params: Json | None = None) -> None:
        """Send a notification that belongs to no request."""
        raise NotImplementedError

    def has_content(self, block: Json) -> bool:
        """Return True if the revision has content of a kind."""
        raise NotImplementedError

    # --- what it offers ---

    def capabilities(self) -> Json:
        """Return what the server declares, with the capabilities of all revisions."""
        return {
            "tools": {"listChanged": True},
            "prompts": {"listChanged": True},
            "resources": {"listChanged": True, "subscribe": True},
            "completions": {},
            "logging": {},
        }

    def tools(self) -> list[Json]:
        """Return the tools, with the members of all revisions."""
        return list(TOOLS)

    def prompts(self) -> list[Json]:
        """Return the prompts, with the members of all revisions."""
        return list(PROMPTS)

    def resources(self) -> list[Json]:
        """Return the resources, with the members of all revisions."""
        return list(RESOURCES)

    def templates(self) -> list[Json]:
        """Return the resource templates, with the members of all revisions."""
        return list(TEMPLATES)

    def page(self, call: ReferenceCall, member: str, items: list[Json]) -> Json:
        """Return one page of a list."""
        cursor = call.params.get("cursor", "0")
        if not cursor.isdecimal() or int(cursor) % PAGE_ITEMS or int(cursor) > len(items):
            raise Failure(self.profile.errors.invalid_params, "Unknown cursor")
        start, end = int(cursor), int(cursor) + PAGE_ITEMS
        more = {"nextCursor": str(end)} if end < len(items) else {}
        return {member: items[start:end], **more}

    # --- handlers, by Python name ---

    async def list_tools(self, call: ReferenceCall) -> Json:
        """Return a page of the tools."""
        return self.page(call, "tools", self.tools())

    async def list_prompts(self, call: ReferenceCall) -> Json:
        """Return a page of the prompts."""
        return self.page(call, "prompts", self.prompts())

    async def list_resources(self, call: ReferenceCall) -> Json:
        """Return a page of the resources."""
        return self.page(call, "resources", self.resources())

    async def list_resource_templates(self, call: ReferenceCall) -> Json:
        """Return a page of the resource templates."""
        return self.page(call, "resourceTemplates", self.templates())

    async def read_resource(self, call: ReferenceCall) -> Json:
        """Return the contents of a resource."""
        uri = call.params["uri"]
        found = next((one for one in self.resources() if one["uri"] == uri), None)
        if found is None and not uri.startswith("reference://items/"):
            code = self.profile.resource_not_found_code
            raise Failure(code, "Resource not found", {"uri": uri})
        if found and found["mimeType"].startswith("image/"):
            return {"contents": [{"uri": uri, "mimeType": found["mimeType"], "blob": PNG}]}
        return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": f"text of {uri}"}]}

    async def subscribe(self, call: ReferenceCall) -> Json:
        """Subscribe the client to a resource."""
        self.subscribed.add(call.params["uri"])
        return {}

    async def unsubscribe(self, call: ReferenceCall) -> Json:
        """End the subscription of the client to a resource."""
        self.subscribed.discard(call.params["uri"])
        return {}

    async def get_prompt(self, call: ReferenceCall) -> Json:
        """Return the messages of a prompt: those of the method `prompt_` plus its name."""
        prompt = self.named(self.prompts(), "name", call.params["name"], "prompt")
        arguments: Json = call.params.get("arguments") or {}
        for argument in objects(prompt.get("arguments")):
            if argument.get("required") and argument["name"] not in arguments:
                message = f"Missing argument: {argument['name']}"
                raise Failure(self.profile.errors.invalid_params, message)
        return {"messages": await self.messages(prompt["name"], arguments)}

    async def messages(self, name: str, arguments: Json) -> list[Json]:
        """Return the messages of a prompt."""
        made: list[Json] = await getattr(self, f"prompt_{name}")(arguments)
        return made

    async def prompt_greet(self, arguments: Json) -> list[Json]:
        """Greet someone."""
        text = {"type": "text", "text": f"Hello, {arguments['name']}."}
        return [{"role": "user", "content": text}]

    async def prompt_show(self, arguments: Json) -> list[Json]:
        """Return one message with each kind of content that the revision has."""
        return [{"role": "user", "content": one} for one in CONTENT if self.has_content(one)]

    async def complete(self, call: ReferenceCall) -> Json:
        """Return values that begin with what was typed."""
        self.check_completed(call)
        typed = call.params["argument"]["value"]
        return {"completion": self.completion(typed)}

    def check_completed(self, call: ReferenceCall) -> None:
        """Refuse to complete what there is not."""
        ref, name = call.params["ref"], call.params["argument"]["name"]
        if ref["type"] == "ref/prompt":
            prompt = self.named(self.prompts(), "name", ref["name"], "prompt")
            known = [one["name"] for one in objects(prompt.get("arguments"))]
        else:
            template = self.named(self.templates(), "uriTemplate", ref["uri"], "template")
            known = [name] if f"{{{name}}}" in template["uriTemplate"] else []
        if name not in known:
            raise Failure(self.profile.errors.invalid_params, f"Unknown argument: {name}")

    def completion(self, typed: str) -> Json:
        """Return names that begin with what was typed."""
        values = [name for name in ("Ada", "Alan", "Grace") if name.startswith(typed)]
        return {"values": values, "total": len(values), "hasMore": False}

    def named(self, items: list[Json], key: str, value: Any, kind: str) -> Json:
        """Return the item that a request names; refuse the request if there is none."""
        for item in items:
            if item[key] == value:
                return item
        raise Failure(self.profile.errors.invalid_params, f"Unknown {kind}")

    # --- news ---

    def announce(self, name: str, params: Json | None = None) -> None:
        """Send a notification of a change to the client, if it asked for it.

        Args:
            name: The Python name of the notification, such as `tool_list_changed`.
            params: Its params.
        """
        params = params or {}
        if self.profile.listen is not None:
            for call in list(self.listening):
                if self.wants(call, name, params):
                    self.tell_listener(call, name, params)
        elif name in FILTERS or params.get("uri") in self.subscribed:
            self.tell(name, params)

    def wants(self, call: ReferenceCall, name: str, params: Json) -> bool:
        """Return True if a listening request asks for a notification."""
        asked = member(call.params, "notifications", FILTERS.get(name, "resourceSubscriptions"))
        return params.get("uri") in asked if is_array(asked) else asked is True

    def tell_listener(self, call: ReferenceCall, name: str, params: Json) -> None:
        """Send a notification that belongs to a listening request."""
        call.tell(name, {**params, "_meta": {self.profile.subscription_id_key: call.id}})

    async def subscriptions_listen(self, call: ReferenceCall) -> Json:
        """Tell the client of changes until it cancels the request."""
        self.acknowledge(call)
        self.listening.append(call)
        try:
            await self.listen(call)
        finally:
            self.listening.remove(call)
        return {"_meta": {self.profile.subscription_id_key: call.id}}

    def acknowledge(self, call: ReferenceCall) -> None:
        """Tell the client that it will hear of all that it asked for."""
        told = {"notifications": call.params["notifications"]}
        self.tell_listener(call, "subscriptions_acknowledged", told)

    async def listen(self, call: ReferenceCall) -> None:
        """Wait until a subscription ends."""
        await asyncio.get_running_loop().create_future()
        raise Unanswered
