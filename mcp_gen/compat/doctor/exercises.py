"""Exercises: ordinary use of a server, whose transcripts the rules judge.

No argument is made up: tools are called as the user has said, prompts that need arguments are not
asked for, and completions begin with nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING

from mcp_gen.compat.checks.trial import CalledTool
from mcp_gen.compat.doctor.task_exercise import answer_with_tasks, follow_tasks
from mcp_gen.compat.json_values import Json, member, objects
from mcp_gen.compat.method_names import python_name
from mcp_gen.compat.reference.shaping import part_names, plain_capabilities
from mcp_gen.compat.views.dialogue import Dialogue
from mcp_gen.compat.views.exchanges import exchanges
from mcp_gen.compat.views.uris import variables

if TYPE_CHECKING:
    from mcp_gen.compat.checks.trial import TriedServer
    from mcp_gen.compat.reference.client import ReferenceClient
    from mcp_wire.profile import Profile

__all__ = ["EXERCISES"]

LISTS = {
    "list_tools": "tools",
    "list_prompts": "prompts",
    "list_resources": "resources",
    "list_resource_templates": "resources",
}
"""Capabilities by the lists that belong to them."""
MAX_ITEMS = 20
"""Maximum number of resources that are read, of prompts, and of completions that are asked for."""
EVERY_LIST = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}


async def listen_for_lists(server: TriedServer) -> None:
    """Ask to hear of changes of all lists, where that is asked for."""
    await _listen(await server.main(), EVERY_LIST)


async def list_everything(server: TriedServer) -> None:
    """List what the server declares."""
    client = await server.main()
    for name, capability in LISTS.items():
        if capability in client.server_capabilities:
            server.items[name] = await client.list_all(name)


async def subscribe(server: TriedServer) -> None:
    """Subscribe to the first resource, in the form of the revision, and listen for tools alone."""
    client = await server.main()
    uris = _texts(server, "list_resources", "uri")[:1]
    if client.profile.listen is not None:
        await _listen(client, {"toolsListChanged": True, "resourceSubscriptions": uris})
    elif uris and member(client.server_capabilities, "resources", "subscribe") is True:
        await client.ask("subscribe", {"uri": uris[0]})


async def read_resources(server: TriedServer) -> None:
    """Read the resources."""
    client = await server.main()
    for uri in _texts(server, "list_resources", "uri")[:MAX_ITEMS]:
        await client.ask("read_resource", {"uri": uri})


async def get_prompts(server: TriedServer) -> None:
    """Get the prompts that need no argument."""
    client = await server.main()
    free = [
        prompt["name"]
        for prompt in server.items.get("list_prompts", [])
        if isinstance(prompt.get("name"), str)
        and not any(one.get("required") for one in objects(prompt.get("arguments")))
    ]
    for name in free[:MAX_ITEMS]:
        await client.ask("get_prompt", {"name": name})


async def complete_arguments(server: TriedServer) -> None:
    """Complete the empty beginning of arguments, where the server offers it, or cannot say so."""
    client = await server.main()
    # The first revision has no capability for completions: to ask is the only way to know.
    is_unsaid = "completions" not in part_names(client.profile, "ServerCapabilities")
    if "completions" not in client.server_capabilities and not is_unsaid:
        return
    for params in list(_completions(server))[:MAX_ITEMS]:
        await client.ask("complete", params)


async def ask_with_other_ids(server: TriedServer) -> None:
    """Ask for what every server answers, with ids that are texts and look like numbers."""
    client = await server.main()
    harmless = client.profile.ping or client.profile.discover
    assert harmless is not None
    for id in ("7001", "7002.0", 0):
        await client.ask(harmless, id=id)


async def call_tools(server: TriedServer) -> None:
    """Call the tools that the user has named, and ask to hear of progress and to see the log."""
    client = await server.main()
    profile = client.profile
    if "logging" in client.server_capabilities and profile.log_level_key is None:
        await client.ask("set_level", {"level": "debug"})
    level = {profile.log_level_key: "debug"} if profile.log_level_key else {}
    for number, call in enumerate(server.calls):
        server.waits.begin(f"call of {call.name}")
        token = {profile.progress_token_key: f"progress-{number}"}
        start = len(client.transcript.events)
        reply = await client.call_through("call_tool", call.params, meta={**token, **level})
        dialogue = client.transcript.derived(Dialogue)
        asked = [one.asked for one in dialogue.questions() if one.event.number >= start]
        kinds = frozenset(str(one.get("method")) for one in asked)
        rounds = sum(one.asked.event.number >= start for one in dialogue.by_client)
        server.called.append(CalledTool(call, reply, kinds, rounds))
        if reply.timed_out and profile.cancelled is not None:
            await client.tell(profile.cancelled, {"requestId": member(reply.asked.message, "id")})


async def call_tools_declaring_less(server: TriedServer) -> None:
    """Call the tools as a client that declares nothing, and as one that declares no parts."""
    ended = [one.call for one in server.called if not one.reply.timed_out]
    if not ended:
        return
    declared: list[Json] = [{}]
    if server.profile.declares_sampling_parts:
        declared.append(plain_capabilities(server.profile))
    for capabilities in declared:
        client = server.client(capabilities=capabilities)
        try:
            await client.open()
            for call in ended:
                server.waits.begin(f"call of {call.name}")
                await client.call_through("call_tool", call.params)
        finally:
            await client.aclose()


async def list_again(server: TriedServer) -> None:
    """List everything once more, and wait for what the server has to tell of it."""
    client = await server.main()
    for name in server.items:
        await client.list_all(name)
    await client.settle()


async def unsubscribe(server: TriedServer) -> None:
    """End the subscriptions."""
    client = await server.main()
    if client.profile.listen is None:
        for exchange in exchanges(client.transcript, "subscribe"):
            await client.ask("unsubscribe", {"uri": exchange.params["uri"]})
        return
    # Over HTTP such a request ends with its response stream: here, when the connection is closed.
    if server.transport != "http":
        for exchange in exchanges(client.transcript, _name_of_listening(client.profile)):
            if exchange.answered is None:
                await client.tell("cancelled", {"requestId": exchange.request["id"]})


async def _listen(client: ReferenceClient, wanted: Json) -> None:
    """Open a listening request, and wait until it is acknowledged or answered."""
    listen, told = client.profile.listen, client.profile.subscription_acknowledged
    if listen is None or told is None:
        return
    asked = await client.send(client.request_frame(listen.name, {"notifications": wanted}))
    await client.transcript.first(
        lambda event: (
            event.sender == "server"
            and (
                event.kind in ("ended", "closed")
                or member(event.message, "id") == member(asked.message, "id")
                or member(event.message, "method") == told.name
            )
        ),
        client.timeout_s,
        start=asked.number,
    )


def _name_of_listening(profile: Profile) -> str:
    assert profile.listen is not None
    return python_name(profile.listen.name) or ""


def _texts(server: TriedServer, name: str, key: str) -> list[str]:
    found = [item.get(key) for item in server.items.get(name, [])]
    return [one for one in found if isinstance(one, str)]


def _completions(server: TriedServer) -> Iterator[Json]:
    """Yield the params of a completion for each argument that there is."""
    for prompt in server.items.get("list_prompts", []):
        for argument in objects(prompt.get("arguments")):
            if not isinstance(argument.get("name"), str) or not isinstance(prompt.get("name"), str):
                continue
            yield {
                "ref": {"type": "ref/prompt", "name": prompt.get("name")},
                "argument": {"name": argument.get("name"), "value": ""},
            }
    for template in _texts(server, "list_resource_templates", "uriTemplate"):
        for name in variables(template):
            yield {
                "ref": {"type": "ref/resource", "uri": template},
                "argument": {"name": name, "value": ""},
            }


EXERCISES: tuple[Callable[[TriedServer], Awaitable[None]], ...] = (
    ask_with_other_ids,
    listen_for_lists,
    list_everything,
    subscribe,
    read_resources,
    get_prompts,
    complete_arguments,
    call_tools,
    list_again,
    unsubscribe,
    call_tools_declaring_less,
    follow_tasks,
    answer_with_tasks,
)
