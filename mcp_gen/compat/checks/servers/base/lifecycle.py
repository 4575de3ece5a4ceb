"""Checks of the lifecycle: the handshake, what holds after it, discovery, extensions."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

import mcp_wire
from mcp_gen.compat.checks.check import probe, rule
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.checks.servers.base.metadata import CORE_TYPES, KEY
from mcp_gen.compat.checks.servers.base.supported import came_of, harmless
from mcp_gen.compat.frame_check import FrameChecker
from mcp_gen.compat.json_values import is_array, is_object, member
from mcp_gen.compat.method_names import methods_of
from mcp_gen.compat.views.reading import answers, placed
from mcp_wire import profile as profile_of
from mcp_wire.extensions import IDENTIFIERS

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.checks.trial import ServerTrial
    from mcp_gen.compat.transcript import Transcript, WireEvent
    from mcp_wire.extension import Extension

LISTS = {"tools": "list_tools", "prompts": "list_prompts", "resources": "list_resources"}
UNKNOWN_EXTENSION = "com.example/unheard-of"


# --- the handshake ---


@probe("lifecycle:initialize:first")
async def nothing_comes_before_the_handshake(trial: ServerTrial) -> None:
    declared = (await trial.main()).server_capabilities
    name = next((name for capability, name in LISTS.items() if capability in declared), None)
    if name is None:
        raise NotTested("the server has nothing that could be asked for")
    has_sessions = trial.transport == "http" and trial.profile.session_header is not None
    if has_sessions and (await trial.main()).session_id is None:
        raise NotTested("without sessions no request comes before a handshake")
    client = trial.unopened()
    await client.wire.open()
    reply = await client.ask(name)
    if reply.result is not None:
        expected = "before the handshake nothing is answered with a result but pings"
        trial.broken(expected, "a result", *reply.events)


@rule("lifecycle:initialize:answered", unseen="no handshake was answered")
def the_handshake_is_answered_with_all_that_belongs_to_it(
    transcript: Transcript, found: Found
) -> None:
    handshake = profile_of(transcript.revision).handshake
    for answer in answers(transcript):
        if answer.asked is None or handshake is None or "result" not in answer.frame:
            continue
        if answer.asked.frame.get("method") != handshake.name:
            continue
        found.saw()
        result = answer.frame["result"]
        missing = [
            name
            for name, value in (
                ("protocolVersion", member(result, "protocolVersion")),
                ("serverInfo.name", member(result, "serverInfo", "name")),
                ("serverInfo.version", member(result, "serverInfo", "version")),
            )
            if not isinstance(value, str)
        ]
        if not is_object(member(result, "capabilities")):
            missing.append("capabilities")
        if missing:
            came = f"no {' and no '.join(f'`{name}`' for name in missing)}"
            expected = "the handshake is answered with version, capabilities, name and version"
            where = f"{answer.where}.result"
            found.broken(expected, came, *answer.events, where=where)


@probe("lifecycle:initialize:server-quiet")
async def the_server_is_quiet_before_its_client_is_ready(trial: ServerTrial) -> None:
    profile = trial.profile
    assert profile.handshake is not None
    client = trial.unopened()
    await client.wire.open()
    opening = await client.ask(profile.handshake, client.handshake_params())
    await client.settle()
    for event, where, frame in placed(client.transcript, "server"):
        name = frame.get("method")
        if "id" in frame and isinstance(name, str) and name != harmless(trial).name:
            expected = "the server asks nothing but pings before its client says it is ready"
            trial.broken(expected, f"{name!r}", *opening.events, event, where=where)


# --- after the handshake ---


def of_other_revisions(transcript: Transcript) -> Iterator[tuple[WireEvent, str, str, str]]:
    """Yield what another revision has, and the one of the transcript has not.

    Returns:
        The event, the JSON path, what is wrong there, and a revision where it is right.
    """
    mine = transcript.derived(wrong_places, transcript.revision)
    if not mine:
        return
    others = [one for one in reversed(mcp_wire.REVISIONS) if one != transcript.revision]
    theirs = {
        one: {(event.number, path) for event, path, _ in transcript.derived(wrong_places, one)}
        for one in others
    }
    unknown = {one: transcript.derived(of_unknown_methods, one) for one in others}
    for event, path, what in mine:
        if event.sender != "server":
            continue
        for revision in others:
            if event.number in unknown[revision]:
                continue
            wrong = (at for number, at in theirs[revision] if number == event.number)
            if not any(path.startswith(at) for at in wrong):
                yield event, path, what, revision
                break


def wrong_places(transcript: Transcript, revision: str) -> list[tuple[WireEvent, str, str]]:
    """Return the places in a transcript that a revision does not have, and what is wrong there."""
    checker = FrameChecker(profile_of(revision))
    return [
        (event, violation.path, violation.what)
        for event in transcript.messages()
        for violation in checker.check(event.data, event.sender)
    ]


def of_unknown_methods(transcript: Transcript, revision: str) -> frozenset[int]:
    """Return the numbers of the messages about methods that a revision does not have.

    What such a message may hold is not known there, so nothing in it is of that revision.
    """
    known = methods_of(profile_of(revision))
    asked: set[tuple[str, str]] = set()
    numbers: set[int] = set()
    for event, frame in transcript.frames():
        id = repr(frame.get("id"))
        method = frame.get("method")
        if method is None:
            asker = "client" if event.sender == "server" else "server"
            is_unknown = (asker, id) in asked
        else:
            is_unknown = method not in known
            if is_unknown:
                asked.add((event.sender, id))
        if is_unknown:
            numbers.add(event.number)
    return frozenset(numbers)


@rule("lifecycle:operation:revision", unseen="no message came", is_general=True)
@rule("lifecycle:operation:revision-early", unseen="no message came", is_general=True)
def nothing_of_other_revisions_is_sent(transcript: Transcript, found: Found) -> None:
    if any(True for _ in transcript.messages("server")):
        found.saw()
    for event, where, what, revision in of_other_revisions(transcript):
        if where in ("$", ""):
            # A batch: whether there are any is a matter of the form of messages.
            continue
        expected = "what the agreed revision has"
        found.broken(expected, f"{what}; {revision} has it", event, where=where)


@rule("lifecycle:operation:capabilities", unseen="the server asked nothing", is_general=True)
@rule("lifecycle:operation:capabilities-early", unseen="the server asked nothing", is_general=True)
def clients_are_asked_for_what_they_have_declared(transcript: Transcript, found: Found) -> None:
    profile = profile_of(transcript.revision)
    declared: Any = None
    for event, where, frame in placed(transcript):
        method = profile.methods.get(str(frame.get("method")))
        if method is None:
            continue
        if event.sender == "client":
            if method is profile.handshake:
                declared = member(frame, "params", "capabilities")
            continue
        if method.kind != "request" or not method.capability or declared is None:
            continue
        found.saw()
        if member(declared, *method.capability.split(".")) is None:
            expected = f"{method.name!r} only where the client has declared `{method.capability}`"
            found.broken(expected, "it has not declared it", event, where=where)


# --- discovery ---


@probe("lifecycle:discover:implemented", needs_opening=False)
async def a_server_says_what_it_speaks_and_offers(trial: ServerTrial) -> None:
    discover = trial.profile.discover
    assert discover is not None
    client = trial.unopened()
    await client.wire.open()
    reply = await client.ask(discover)
    result = reply.result
    if result is None:
        other = await client.ask(LISTS["tools"])
        if member(other.result, "resultType") is None:
            raise NotTested(f"the server does not speak {trial.revision}: {came_of(reply)}")
        expected = f"{discover.name!r} is answered, as other requests are"
        trial.broken(expected, came_of(reply), *other.events, *reply.events)
        return
    versions = result.get("supportedVersions")
    if not is_array(versions) or trial.revision not in versions:
        expected = f"`supportedVersions` has {trial.revision}, which the server speaks"
        trial.broken(expected, f"{versions!r}", *reply.events, where="$.result.supportedVersions")
    if not is_object(result.get("capabilities")):
        expected = "the answer has `capabilities`"
        trial.broken(expected, "it has none", *reply.events, where="$.result")


# --- extensions ---


@rule("lifecycle:extensions:names", unseen="the server declares no extensions")
def names_of_extensions_are_well_formed(transcript: Transcript, found: Found) -> None:
    discover = profile_of(transcript.revision).discover
    for answer in answers(transcript):
        if answer.asked is None or discover is None:
            continue
        names = member(answer.frame, "result", "capabilities", "extensions")
        if answer.asked.frame.get("method") != discover.name or not is_object(names):
            continue
        found.saw()
        for name in names:
            read = KEY.fullmatch(name)
            if read is None or not read["prefix"] or name.endswith("/"):
                expected = "the name of an extension has a prefix, a slash and a name"
                where = f"{answer.where}.result.capabilities.extensions"
                found.broken(expected, f"{name!r}", *answer.events, where=where)


@probe("lifecycle:extensions:one-sided")
async def extensions_of_the_client_alone_do_no_harm(trial: ServerTrial) -> None:
    capabilities = (await trial.main()).all_capabilities()
    client = trial.unopened(capabilities={**capabilities, "extensions": {UNKNOWN_EXTENSION: {}}})
    await client.wire.open()
    reply = await client.ask(harmless(trial))
    if not reply.frame:
        expected = "a request that declares an unknown extension is answered or refused"
        trial.broken(expected, came_of(reply), *reply.events)
    kind = member(reply.result, "resultType")
    if reply.result is not None and kind not in CORE_TYPES:
        expected = "an extension that the server does not know changes no result"
        trial.broken(expected, f"a result of type {kind!r}", *reply.events, where="$.result")


@probe("lifecycle:extensions:off")
async def requests_of_undeclared_extensions_are_unknown(trial: ServerTrial) -> None:
    client = await trial.main()
    declared = client.server_capabilities.get("extensions")
    asked = 0
    for identifier, methods in requests_of_extensions().items():
        if is_object(declared) and identifier in declared:
            continue
        for name in methods:
            asked += 1
            reply = await client.ask_frame(client.request_frame(name, {"taskId": "unheard-of"}))
            if reply.result is not None:
                expected = f"{name!r} is refused where `{identifier}` is not declared"
                trial.broken(expected, "a result", *reply.events)
    if not asked:
        raise NotTested("the server declares every extension that has requests of its own")


def requests_of_extensions() -> dict[str, list[str]]:
    """Return the names of requests that extensions add, by identifier."""
    found: dict[str, list[str]] = {}
    for identifier, package in IDENTIFIERS.items():
        extension: Extension = import_module(f"mcp_wire.extensions.{package}").EXTENSION
        names = [
            name
            for name, row in extension.methods.items()
            if row.kind == "request" and row.from_client
        ]
        if names:
            found[identifier] = names
    return found
