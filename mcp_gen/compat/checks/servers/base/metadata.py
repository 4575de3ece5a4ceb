"""Checks of `_meta`, of result types, and of what each request says of its client."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mcp_gen.compat.checks.check import probe, rule
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.checks.servers.base.supported import came_of, harmless
from mcp_gen.compat.json_values import Json, is_array, is_object, member
from mcp_gen.compat.known_extensions import tasks_extension
from mcp_gen.compat.views.reading import answers, placed
from mcp_gen.compat.views.task_traffic import server_declared
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.checks.trial import ServerTrial
    from mcp_gen.compat.reference.client import ReferenceClient, ServerReply
    from mcp_gen.compat.transcript import Transcript
    from mcp_gen.compat.views.reading import AnswerFrame
    from mcp_wire.method import Method

NO_RESULT = "no result came"
CORE_TYPES = frozenset({"complete", "input_required"})
RESERVED_KEY = "tools.mcp.com/unheard-of"
"""Key of `_meta` that is reserved, whichever revision is asked, and that none defines."""
VALUES: tuple[Any, ...] = ("text", 1, None, [], {"unheard": "of"})
FREE = frozenset(
    {"arguments", "structuredContent", "inputSchema", "outputSchema", "requestedSchema", "data"}
    | {"experimental", "extensions", "settings", "metadata"}
)
"""Members whose values belong to tools and users: `_meta` in them is none of the protocol's."""
LABEL = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
KEY = re.compile(
    rf"(?P<prefix>{LABEL}(?:\.{LABEL})*/)?(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?"
)
"""Key of `_meta`: labels before a slash, and a name, of which either may be missing."""


def results(transcript: Transcript) -> Iterator[tuple[AnswerFrame, Json]]:
    """Yield the answers of the server with a result, and the result."""
    for answer in answers(transcript):
        result = answer.frame.get("result")
        if is_object(result):
            yield answer, result


# --- result types ---


@rule("base:result-type:present", unseen=NO_RESULT)
def results_say_of_which_type_they_are(transcript: Transcript, found: Found) -> None:
    for answer, result in results(transcript):
        found.saw()
        if not isinstance(result.get("resultType"), str):
            came = "it is no string" if "resultType" in result else "there is none"
            where = f"{answer.where}.result"
            found.broken("a result has a `resultType`", came, *answer.events, where=where)


@rule("base:result-type:known", unseen=NO_RESULT)
def results_are_of_types_that_are_known(transcript: Transcript, found: Found) -> None:
    for answer, result in results(transcript):
        kind = result.get("resultType")
        if not isinstance(kind, str):
            continue
        found.saw()
        if is_of_tasks(kind, transcript):
            continue  # A rule of the extension tells of it.
        if kind not in CORE_TYPES and not declares_extensions(answer, transcript):
            expected = "a type of the protocol, where the client has declared no extension"
            where = f"{answer.where}.result"
            found.broken(expected, f"{kind!r}", *answer.events, where=where)


def is_of_tasks(kind: str, transcript: Transcript) -> bool:
    """Return True for the type of new tasks, of a server that has declared their extension."""
    extension = tasks_extension()
    tags = {one.__struct_config__.tag for arms in extension.arms.values() for one in arms}
    declared = member(server_declared(transcript), "extensions", extension.identifier)
    return kind in tags and is_object(declared)


def declares_extensions(answer: AnswerFrame, transcript: Transcript) -> bool:
    """Return True if the client has declared an extension with its request."""
    key = profile_of(transcript.revision).client_capabilities_key
    asked = answer.asked and member(answer.asked.frame, "params", "_meta")
    return bool(member(asked, str(key), "extensions"))


# --- `_meta` of the server ---


@rule("base:meta:key-names", unseen="no `_meta` came")
def keys_of_meta_are_well_formed(transcript: Transcript, found: Found) -> None:
    for event, where, frame in placed(transcript, "server"):
        for path, meta in metas(frame, where):
            found.saw()
            for key in meta:
                if not KEY.fullmatch(key):
                    expected = "a key is a name, or labels with dots, a slash and a name"
                    found.broken(expected, f"{key!r}", event, where=f"{path}._meta")


def metas(value: Any, path: str) -> Iterator[tuple[str, Json]]:
    """Yield the `_meta` objects in a frame, and the paths of the objects that have them."""
    if is_array(value):
        for number, one in enumerate(value):
            yield from metas(one, f"{path}[{number}]")
    elif is_object(value):
        for name, one in value.items():
            if name == "_meta" and is_object(one):
                yield path, one
            elif name not in FREE:
                yield from metas(one, f"{path}.{name}")


@rule("base:metadata:server-info", unseen=NO_RESULT)
def results_say_which_server_made_them(transcript: Transcript, found: Found) -> None:
    key = str(profile_of(transcript.revision).server_info_key)
    for answer, result in results(transcript):
        found.saw()
        if not is_object(member(result, "_meta", key)):
            where = f"{answer.where}.result._meta"
            found.broken(f"a result has `{key}`", "there is none", *answer.events, where=where)


# --- `_meta` of the client ---


@probe("base:meta:unknown-reserved")
async def unknown_reserved_keys_are_taken(trial: ServerTrial) -> None:
    client = await trial.main()
    asked: list[Method[Any, Any]] = [harmless(trial)]
    if "tools" in client.server_capabilities:
        asked.append(trial.profile.methods[client.wire_name("list_tools")])
    for method in asked:
        if (await client.ask(method)).result is None:
            continue
        for value in VALUES:
            reply = await client.ask(method, meta={RESERVED_KEY: value})
            if reply.result is None:
                expected = f"a request with `{RESERVED_KEY}` in its `_meta` is answered as without"
                trial.broken(expected, came_of(reply), *reply.events)
                return


# --- what each request has to say ---


def bare(client: ReferenceClient, method: Method[Any, Any], *left_out: str | None) -> Json:
    """Return a request that leaves out members of its `_meta`."""
    frame = client.request_frame(method.name)
    meta: Json = frame["params"]["_meta"]
    kept = {key: value for key, value in meta.items() if key not in left_out}
    return {**frame, "params": {**frame["params"], "_meta": kept}}


def is_refused(trial: ServerTrial, reply: ServerReply) -> bool:
    """Return True if a request without its metadata was refused as it must be."""
    errors = trial.profile.errors
    # Over HTTP, a header that the body does not repeat is a reason, too.
    mismatch = errors.header_mismatch if trial.transport == "http" else None
    return reply.code is not None and reply.code in (errors.invalid_params, mismatch)


@probe("base:metadata:missing")
async def requests_without_their_metadata_are_refused(trial: ServerTrial) -> None:
    profile = trial.profile
    for key in (profile.client_capabilities_key, profile.protocol_version_key):
        client = trial.unopened()
        await client.wire.open()
        reply = await client.ask_frame(bare(client, harmless(trial), key))
        if reply.error is not None and not is_refused(trial, reply):
            # A server that speaks earlier revisions too takes a request that opens a connection
            # and names no revision as one of theirs: the main client has shown what it speaks.
            reply = await (await trial.main()).ask_frame(bare(client, harmless(trial), key))
        if not is_refused(trial, reply):
            wanted = profile.errors.invalid_params
            expected = f"a request without `{key}` is refused with error {wanted}"
            trial.broken(expected, came_of(reply), *reply.events)
            return


@probe("base:stateless:no-context")
async def earlier_requests_do_not_speak_for_later_ones(trial: ServerTrial) -> None:
    key = trial.profile.client_capabilities_key
    first = trial.unopened()
    await first.wire.open()
    alone = await first.ask_frame(bare(first, harmless(trial), key))
    if alone.error is None:
        raise NotTested("the server refuses no request that says too little")
    client = await trial.fresh()
    before = await client.ask(harmless(trial))
    if before.result is None:
        raise NotTested("the server answered no request that says everything")
    reply = await client.ask_frame(bare(client, harmless(trial), key))
    if reply.result is not None:
        expected = "what a request leaves out is not taken from an earlier one"
        came = f"a result, where it was error {alone.code} without the earlier request"
        trial.broken(expected, came, *before.events, *reply.events)


@probe("base:metadata:capability-missing")
async def a_capability_that_is_needed_and_missing_is_named(trial: ServerTrial) -> None:
    wanted = trial.profile.errors.missing_required_client_capability
    client = await trial.main()
    if not trial.calls:
        raise NotTested("no tool call was named")
    bare_client = await trial.fresh(capabilities={})
    needed = 0
    for call in trial.calls:
        params = {"name": call.name, "arguments": call.arguments}
        able = await client.ask("call_tool", params)
        if member(able.result, "resultType") != "input_required":
            continue
        reply = await bare_client.ask("call_tool", params)
        if reply.result is not None and not reply.result.get("isError"):
            # It can do without, or asks all the same: the latter is a rule of its own.
            continue
        needed += 1
        named = member(reply.error, "data", "requiredCapabilities")
        if reply.code != wanted:
            expected = f"a call that needs a capability is refused with error {wanted}"
            came = "a result that is an error" if reply.result else came_of(reply)
            trial.broken(expected, came, *able.events, *reply.events)
        elif not is_object(named) or not named:
            expected = "the error names the capabilities in `data.requiredCapabilities`"
            came = f"{named!r}"
            trial.broken(expected, came, *reply.events, where="$.error.data")
    if not needed:
        raise NotTested("no tool call that was named needs a capability of the client")
