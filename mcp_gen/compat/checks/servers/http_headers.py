"""Checks of the headers that repeat a message, and of the statuses of errors."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import mcp_wire
from mcp_gen.compat.checks.check import probe, rule
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.checks.http_exchanges import asked_in_place, exchange_of, exchanges, http_of
from mcp_gen.compat.checks.servers.http_sessions import UNKNOWN_VERSION
from mcp_gen.compat.json_values import is_array, is_object, member, objects
from mcp_gen.compat.reference.http.header_checks import mismatch_of
from mcp_gen.core.errors import UsageError
from mcp_gen.core.transport.header_params import marked_params
from mcp_gen.core.transport.header_values import value_at
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.checks.http_exchanges import PeerExchange
    from mcp_gen.compat.checks.trial import ServerTrial
    from mcp_gen.compat.json_values import Json
    from mcp_gen.compat.reference.client import ReferenceClient
    from mcp_gen.compat.transcript import Transcript
    from mcp_wire.profile import Profile

UNKNOWN_METHOD = "com.example/nothing"
UNKNOWN_URI = "mcp-gen://nothing"
UNKNOWN_NAME = "mcp-gen-nothing"
FOREIGN = "é"
"""Letter that no header may have as it is."""


def spoken(client: ReferenceClient) -> list[Profile]:
    """Return the revisions that the server says it speaks, as far as they are known."""
    said = member(client.opening and client.opening.result, "supportedVersions")
    versions = said if is_array(said) else []
    return [profile_of(one) for one in mcp_wire.REVISIONS if one in versions]


def with_version(client: ReferenceClient, version: str) -> Json:
    """Return a harmless request that names another revision."""
    assert client.profile.discover is not None
    meta = {str(client.profile.protocol_version_key): version}
    return client.request_frame(client.profile.discover.name, meta=meta)


def header_of(name: str | None) -> str:
    """Return the name of a header that the revision has."""
    assert name is not None
    return name


# --- versions ---


@probe("http:version:unsupported-listed")
async def an_unsupported_version_gets_a_message(trial: ServerTrial) -> None:
    client = await trial.main()
    _, one = await asked_in_place(client, with_version(client, UNKNOWN_VERSION))
    if one.status < 400 and one.error is None:
        raise NotTested("the server takes any version")
    if one.error is None:
        expected = "an error that lists the versions that the server speaks"
        trial.broken(expected, f"{one.shown} without an error", *one.evidence)


@probe("http:version:mismatch")
async def two_versions_are_a_mismatch(trial: ServerTrial) -> None:
    client = await trial.main()
    header = header_of(trial.profile.version_header)
    frame = with_version(client, mcp_wire.REVISIONS[0])
    _, one = await asked_in_place(client, frame, {header: trial.revision})
    judge_refusal(trial, one)


@probe("http:version:missing")
async def a_request_without_a_version_is_refused(trial: ServerTrial) -> None:
    client = await trial.main()
    one = await without_version(trial, client)
    if one.status < 400 and one.error is None:
        trial.broken("a refusal: the header with the version is missing", one.shown, *one.evidence)


async def without_version(trial: ServerTrial, client: ReferenceClient) -> PeerExchange:
    """Send a request without the version header.

    Raises:
        NotTested: the server speaks revisions that do not have the header.
    """
    if any(profile.version_header is None for profile in spoken(client)):
        raise NotTested("the server speaks revisions without the header")
    header = header_of(trial.profile.version_header)
    _, one = await asked_in_place(client, client.harmless_frame(), {header: ""})
    return one


@rule("http:status-400", unseen="no version was refused")
def an_unsupported_version_gets_status_400(transcript: Transcript, found: Found) -> None:
    # The other errors with the same status have requirements of their own.
    code = profile_of(transcript.revision).errors.unsupported_protocol_version
    judge_status(transcript, found, code, 400)


def judge_status(transcript: Transcript, found: Found, code: int | None, status: int) -> None:
    """Report the errors with a code that did not come with a status."""
    for one in exchanges(transcript):
        for event, frame in one.frames:
            if code is not None and member(frame, "error", "code") == code:
                found.saw()
                if one.status != status:
                    came = f"status {one.status}"
                    expected = f"status {status} with the error {code}"
                    found.broken(expected, came, *one.evidence[:3], event)


@probe("http:unknown-method")
async def an_unknown_method_gets_status_404(trial: ServerTrial) -> None:
    client = await trial.main()
    _, one = await asked_in_place(client, client.request_frame(UNKNOWN_METHOD))
    not_found = trial.profile.errors.method_not_found
    if one.status < 400 and one.code not in (None, not_found):
        raise NotTested("the server answers with another error")
    if one.status != 404 or one.error is None:
        trial.broken(f"status 404 with the error {not_found}", one.shown, *one.evidence)


@probe("base:metadata:missing-status")
async def missing_metadata_gets_status_400(trial: ServerTrial) -> None:
    client = await trial.main()
    frame = client.harmless_frame()
    headers = client.headers(frame)
    bare = {name: value for name, value in frame.items() if name != "params"}
    _, one = await asked_in_place(client, {**bare, "params": {}}, headers)
    if one.status < 400 and one.error is None:
        raise NotTested("the server does not refuse it")
    if one.status != 400:
        trial.broken("status 400", one.shown, *one.evidence)


@probe("base:metadata:capability-status")
async def a_missing_capability_gets_status_400(trial: ServerTrial) -> None:
    client = await trial.fresh(capabilities={})
    code = trial.profile.errors.missing_required_client_capability
    has_seen = False
    for call in trial.calls:
        frame = client.request_frame(
            client.wire_name("call_tool"), {"name": call.name, "arguments": call.arguments}
        )
        _, one = await asked_in_place(client, frame)
        if one.code is not None and one.code == code:
            has_seen = True
            if one.status != 400:
                trial.broken("status 400", one.shown, *one.evidence)
    if not has_seen:
        raise NotTested("no call that was named needs a capability of its client")


# --- headers and body ---


async def named_request(
    trial: ServerTrial, client: ReferenceClient, end: str = ""
) -> tuple[Json, str]:
    """Return a request whose name is repeated in a header, and the name.

    Args:
        trial: The trial.
        client: The client.
        end: The end of a name that nothing has.

    Raises:
        NotTested: the server has nothing that is asked for by name.
    """
    declared = client.server_capabilities
    if "prompts" in declared:
        name = f"{UNKNOWN_NAME}{end}"
        return client.request_frame(client.wire_name("get_prompt"), {"name": name}), name
    if "resources" in declared:
        uri = f"{UNKNOWN_URI}{end}"
        return client.request_frame(client.wire_name("read_resource"), {"uri": uri}), uri
    raise NotTested("the server has neither prompts nor resources")


@probe("http:headers:decoded")
async def an_encoded_header_is_decoded(trial: ServerTrial) -> None:
    client = await trial.main()
    mismatch = trial.profile.errors.header_mismatch
    frame, name = await named_request(trial, client)
    _, plain = await asked_in_place(client, frame)
    if plain.code == mismatch:
        raise NotTested("the server refuses a header that is right")
    encoded = f"=?base64?{b64encode(name.encode()).decode()}?="
    again = {**frame, "id": client.next_id()}
    header = header_of(trial.profile.name_header)
    _, one = await asked_in_place(client, again, {header: encoded})
    if one.code == mismatch:
        trial.broken("an encoded header is decoded and compared", one.shown, *one.evidence)


@probe("http:headers:invalid")
async def a_header_with_other_characters_is_refused(trial: ServerTrial) -> None:
    client = await trial.main()
    frame, name = await named_request(trial, client, FOREIGN)
    _, encoded = await asked_in_place(client, frame)
    if encoded.code == trial.profile.errors.header_mismatch:
        raise NotTested("the server refuses a header that is right")
    again = {**frame, "id": client.next_id()}
    _, one = await asked_in_place(client, again, {header_of(trial.profile.name_header): name})
    if (one.status, one.code) == (encoded.status, encoded.code):
        expected = "a refusal of the header, which is not of visible ASCII"
        trial.broken(expected, f"{one.shown}, as for the encoded header", *one.evidence)


async def contradictions(
    trial: ServerTrial, client: ReferenceClient
) -> list[tuple[str, PeerExchange]]:
    """Send requests whose headers do not say what the body says."""
    profile = trial.profile
    method = header_of(profile.method_header)
    other = client.wire_name("list_tools")
    sent: list[tuple[str, Json, dict[str, str]]] = [
        (f"{method} names another method", client.harmless_frame(), {method: other}),
        (f"{method} is missing", client.harmless_frame(), {method: ""}),
    ]
    if "resources" in client.server_capabilities:
        for resource in (await client.list_all("list_resources"))[:1]:
            uri = {"uri": resource.get("uri")}
            frame = client.request_frame(client.wire_name("read_resource"), uri)
            name = header_of(profile.name_header)
            sent.append((f"{name} names another resource", frame, {name: UNKNOWN_URI}))
    return [(why, (await asked_in_place(client, frame, given))[1]) for why, frame, given in sent]


@probe("http:headers:compared")
async def headers_are_compared_with_the_body(trial: ServerTrial) -> None:
    client = await trial.main()
    for why, one in await contradictions(trial, client):
        if any("result" in frame for _, frame in one.frames):
            trial.broken(f"a refusal: {why}", "a result", *one.evidence)


@probe("http:headers:refusal")
async def a_mismatch_gets_its_status_and_error(trial: ServerTrial) -> None:
    client = await trial.main()
    refused = [
        one
        for _, one in await contradictions(trial, client)
        if not any("result" in frame for _, frame in one.frames)
    ]
    if not refused:
        raise NotTested("the server refuses no headers")
    for one in refused:
        judge_refusal(trial, one)


def judge_refusal(trial: ServerTrial, one: PeerExchange) -> None:
    """Report a refusal that is not that of headers."""
    code = trial.profile.errors.header_mismatch
    if (one.status, one.code) != (400, code):
        trial.broken(f"status 400 and error {code}", one.shown, *one.evidence)


def tools_of(transcript: Transcript) -> dict[str, Json]:
    """Return the tools that were listed, by name."""
    return {
        str(tool.get("name")): tool
        for _, frame in transcript.frames("server")
        for tool in objects(member(frame, "result", "tools"))
    }


def calls_that_leave_out(transcript: Transcript) -> Iterator[PeerExchange]:
    """Yield the calls, with all their headers, that lack an argument which a header repeats."""
    profile = profile_of(transcript.revision)
    call = profile.call_tool
    tools = tools_of(transcript)
    for one in exchanges(transcript):
        for request in one.requests:
            tool = tools.get(str(member(request, "params", "name")), {})
            if call is None or request["method"] != call.name or not are_marks_right(tool):
                continue
            schema: Any = tool.get("inputSchema")
            arguments = member(request, "params", "arguments")
            paths = marked_params(schema).values() if is_object(schema) else ()
            is_left_out = any(value_at(arguments, path) is None for path in paths)
            if is_left_out and not mismatch_of(profile, one.request.headers, request, [tool]):
                yield one


@rule("http:headers:absent", unseen="no call left out an argument that a header repeats")
def no_header_is_expected_for_what_is_not_there(transcript: Transcript, found: Found) -> None:
    mismatch = profile_of(transcript.revision).errors.header_mismatch
    for one in calls_that_leave_out(transcript):
        found.saw()
        if one.code == mismatch:
            expected = "an answer: every header that the request needs is there"
            found.broken(expected, one.shown, *one.evidence)


@probe("http:headers:case")
async def names_of_headers_are_compared_without_case(trial: ServerTrial) -> None:
    client = await trial.main()
    frame = client.harmless_frame()
    swapped = {name.swapcase(): value for name, value in client.headers(frame).items()}
    _, one = await asked_in_place(client, frame, swapped)
    if one.status >= 400:
        trial.broken("an answer, in whatever case the names are", one.shown, *one.evidence)


@probe("http:headers:numbers")
async def integers_are_compared_as_numbers(trial: ServerTrial) -> None:
    client = await trial.main()
    tools = tools_of(client.transcript)
    has_tried = False
    for call in trial.calls:
        for header, value in integers(trial.profile, tools.get(call.name, {}), call.arguments):
            has_tried = True
            params = {"name": call.name, "arguments": call.arguments}
            frame = client.request_frame(client.wire_name("call_tool"), params)
            _, one = await asked_in_place(client, frame, {header: f"{value}.0"})
            if one.code == trial.profile.errors.header_mismatch:
                expected = f"{value}.0 is the same number as {value}"
                trial.broken(expected, one.shown, *one.evidence)
    if not has_tried:
        raise NotTested("no call that was named has an integer that a header repeats")


def integers(profile: Profile, tool: Json, arguments: Json) -> Iterator[tuple[str, int]]:
    """Yield the headers that repeat integers, with their values."""
    schema: Any = tool.get("inputSchema")
    if is_object(schema) and are_marks_right(tool):
        for end, path in marked_params(schema).items():
            value = value_at(arguments, path)
            if type(value) is int:
                yield f"{profile.param_header_prefix}{end}", value


def are_marks_right(tool: Json) -> bool:
    """Return True if the marks of a tool for headers are as they must be."""
    schema = tool.get("inputSchema")
    try:
        marked_params(schema if is_object(schema) else {})
    except UsageError:
        return False
    return True


@rule("http:param-headers", unseen="the server has no tools")
def marks_for_headers_are_well_formed(transcript: Transcript, found: Found) -> None:
    for event, frame in transcript.frames("server"):
        for number, tool in enumerate(objects(member(frame, "result", "tools"))):
            found.saw()
            schema = tool.get("inputSchema")
            try:
                marked_params(schema if is_object(schema) else {})
            except UsageError as error:
                where = f"$.result.tools[{number}].inputSchema"
                found.broken("marks that every client can follow", str(error), event, where=where)


@probe("http:older-clients")
async def older_clients_can_understand_the_answers(trial: ServerTrial) -> None:
    client = await trial.main()
    if any(profile.handshake is not None for profile in spoken(client)):
        raise NotTested("the server speaks the revisions of older clients")
    for method in ("GET", "DELETE"):
        number = await http_of(client).exchange(method, headers=client.headers(b""))
        await http_of(client).response(number, trial.timeout_s)
        http_of(client).hang_up(number)
        one = exchange_of(client, number)
        if one.status != 405:
            trial.broken(f"status 405 for {method}", one.shown, *one.evidence)
    sessions = [profile_of(one).session_header for one in mcp_wire.REVISIONS]
    header = next(one for one in reversed(sessions) if one is not None)
    _, one = await asked_in_place(client, client.harmless_frame(), {header: UNKNOWN_NAME})
    if one.status >= 400 or (one.head and header.lower() in one.head.headers):
        trial.broken("the id of a session is ignored", one.shown, *one.evidence)
