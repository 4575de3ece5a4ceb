"""Revision negotiation: the newest common revision, or the pinned one."""

from __future__ import annotations

import asyncio
from itertools import chain, combinations
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Client, McpError, ProtocolError, RequestTimeout, Server, SessionLost, UsageError
from mcp_gen.core.errors import InvalidParams, InvalidResult, MethodNotFound
from tests.client.scripted import CannedServer, Recorded, connected, violations
from tests.support.frames import HANDSHAKE, PER_REQUEST, every_revision, with_handshake

ALL = mcp_wire.REVISIONS
UNKNOWN = "2099-01-01"

SUBSETS = [
    *chain.from_iterable(combinations(ALL, count) for count in range(1, len(ALL) + 1)),
]
each_subset = pytest.mark.parametrize("offered", SUBSETS, ids=" ".join)


def server_of(*revisions: str) -> Server:
    server = Server("server", "2.0.0", instructions="Be kind.", revisions=revisions)

    @server.tool
    async def echo(text: str) -> str:
        return text

    return server


def shakes_hands(revision: str) -> bool:
    return mcp_wire.profile(revision).handshake is not None


# --- with servers of our own ---


@each_subset
async def test_the_newest_revision_that_a_server_offers_is_spoken(offered: tuple[str, ...]) -> None:
    async with connected(server_of(*offered)) as (session, recorded):
        await session.call_tool("echo", {"text": "a"})
        assert session.revision == offered[-1]
        assert violations(session.revision, recorded.frames) == []


@pytest.mark.parametrize(
    ("offered", "revision"),
    [
        pytest.param(offered, one, id=f"{one} of {' '.join(offered)}")
        for offered in SUBSETS
        for one in offered
    ],
)
async def test_a_pinned_revision_is_spoken_where_it_is_offered(
    offered: tuple[str, ...], revision: str
) -> None:
    async with connected(server_of(*offered), revision=revision) as (session, recorded):
        await session.call_tool("echo", {"text": "a"})
        assert session.revision == revision
        assert violations(session.revision, recorded.frames) == []


@pytest.mark.parametrize(
    ("offered", "revision"),
    [
        pytest.param(offered, one, id=f"{one} of {' '.join(offered)}")
        for offered in SUBSETS
        for one in ALL
        if one not in offered
    ],
)
async def test_a_pinned_revision_that_is_not_offered_is_refused(
    offered: tuple[str, ...], revision: str
) -> None:
    async with Client("test") as client:
        with pytest.raises((ProtocolError, McpError)):
            await client.connect(server_of(*offered), revision=revision)


async def test_a_pinned_revision_that_is_not_offered_is_named_with_what_is_spoken_instead() -> None:
    wanted = f"asked for {ALL[0]}, the server answers at {ALL[2]}"
    async with Client("test") as client:
        with pytest.raises(ProtocolError, match=wanted):
            await client.connect(server_of(ALL[1], ALL[2]), revision=ALL[0])


async def test_a_pinned_revision_without_handshake_says_that_the_server_does_not_speak_it() -> None:
    async with Client("test") as client:
        with pytest.raises(ProtocolError, match=f"{PER_REQUEST}, which the server does not speak"):
            await client.connect(server_of(HANDSHAKE), revision=PER_REQUEST)


@with_handshake
async def test_a_pinned_handshake_begins_at_once(revision: str) -> None:
    async with connected(server_of(*ALL), revision=revision) as (_, recorded):
        assert recorded.asked("server/discover") == []


@every_revision
async def test_what_the_server_says_of_itself_is_there(revision: str) -> None:
    async with connected(server_of(*ALL), revision=revision) as (session, _):
        said = (session.server_info.name, session.server_info.version, session.instructions)
        assert said == ("server", "2.0.0", "Be kind.")
        assert session.server_capabilities.tools is not None


@every_revision
async def test_one_client_may_have_sessions_at_different_revisions(revision: str) -> None:
    async with Client("test") as client:
        one = await client.connect(server_of(*ALL), revision=revision)
        other = await client.connect(server_of(*ALL))
        assert (one.revision, other.revision) == (revision, ALL[-1])


@pytest.mark.parametrize("revision", [UNKNOWN, "", "latest"])
async def test_a_revision_that_there_is_not_is_refused_before_anything_is_started(
    revision: str,
) -> None:
    server = Recorded(server_of(*ALL))
    async with Client("test") as client:
        with pytest.raises(UsageError, match="no revision"):
            await client.connect(server, revision=revision)
    assert server.frames == []


# --- servers with older revisions ---


@with_handshake
async def test_a_server_that_does_not_know_the_question_is_asked_for_a_handshake(
    revision: str,
) -> None:
    no = {"error": {"code": MethodNotFound.code, "message": "Method not found"}}
    async with connected(CannedServer(revision).on("server/discover", no)) as (session, _):
        assert session.revision == revision


@pytest.mark.parametrize("code", [-32600, -32602, -32603, -32000, 0, 1])
async def test_no_particular_error_code_is_needed_to_fall_back(code: int) -> None:
    no = {"error": {"code": code, "message": "What?", "data": ["any"]}}
    async with connected(CannedServer(HANDSHAKE).on("server/discover", no)) as (session, _):
        assert session.revision == HANDSHAKE


@with_handshake
async def test_a_silent_server_is_asked_for_a_handshake(revision: str) -> None:
    async with connected(CannedServer(revision), probe_timeout_s=0.01) as (session, _):
        assert session.revision == revision


REFUSED_HANDSHAKES = {
    "lists what it speaks": {"code": -32022, "message": "no", "data": {"supported": [PER_REQUEST]}},
    "does not know it": {"code": MethodNotFound.code, "message": "Method not found"},
    "wants other params": {"code": InvalidParams.code, "message": "`_meta` is missing"},
}


@pytest.mark.parametrize("refusal", REFUSED_HANDSHAKES.values(), ids=REFUSED_HANDSHAKES)
async def test_a_server_that_only_starts_slowly_is_asked_again_where_its_refusal_of_a_handshake(
    refusal: dict[str, Any],
) -> None:
    recorded = Recorded(slow_to_start(refusal))
    async with Client("test") as client:
        session = await client.connect(recorded, probe_timeout_s=0.02)
    assert session.revision == PER_REQUEST
    assert len(recorded.asked("server/discover")) == 2


async def test_a_handshake_at_a_revision_that_a_refusal_of_one_lists_follows_silence() -> None:
    older = CannedServer(ALL[0])
    whole = older.replies["initialize"]
    data = {"supported": [ALL[0]], "requested": HANDSHAKE}
    refusal = {"error": {"code": InvalidParams.code, "message": "no", "data": data}}

    def reply(params: Any) -> Any:
        return whole(params) if params["protocolVersion"] == ALL[0] else refusal

    older.on("initialize", reply)
    async with connected(older, probe_timeout_s=0.02) as (session, _):
        assert session.revision == ALL[0]


async def test_a_refusal_of_the_handshake_that_is_about_something_else_is_raised() -> None:
    server = Recorded(slow_to_start({"code": -32000, "message": "not today"}))
    async with Client("test") as client:
        with pytest.raises(McpError, match="not today"):
            await client.connect(server, probe_timeout_s=0.02)
    assert len(server.asked("server/discover")) == 1


async def test_a_refusal_of_the_handshake_is_raised_where_there_is_no_other_way() -> None:
    server = CannedServer(HANDSHAKE).on(
        "initialize", {"error": {"code": -32602, "message": "not you"}}
    )
    async with Client("test") as client:
        with pytest.raises(McpError, match="not you"):
            await client.connect(server, probe_timeout_s=0.02)


def slow_to_start(refusal: dict[str, Any]) -> CannedServer:
    """Server without handshakes that does not answer the first probe."""
    server = CannedServer(PER_REQUEST).on("initialize", {"error": refusal})
    later, asked = server.replies["server/discover"], 0

    def reply(params: Any) -> dict[str, Any] | None:
        nonlocal asked
        asked += 1
        return later(params) if asked > 1 else None

    return server.on("server/discover", reply)


async def test_the_question_is_not_cancelled_when_the_server_stays_silent() -> None:
    async with connected(CannedServer(HANDSHAKE), probe_timeout_s=0.01) as (_, recorded):
        assert recorded.asked("notifications/cancelled") == []


async def test_an_answer_to_the_question_that_comes_too_late_is_passed_over() -> None:
    late = CannedServer(HANDSHAKE)
    late.on("tools/list", late.complete({"tools": []}))
    async with connected(late, probe_timeout_s=0.01) as (session, recorded):
        (asked,) = recorded.asked("server/discover")
        late.send(id=asked["id"], result={"supportedVersions": [PER_REQUEST]})
        assert (await session.list_tools()).tools == []


odd_results = pytest.mark.parametrize(
    "result", [{}, {"resultType": "complete"}, [], "yes"], ids=str
)


@odd_results
async def test_an_answer_of_the_wrong_shape_to_the_question_leaves_the_handshake(
    result: Any,
) -> None:
    sloppy = CannedServer(HANDSHAKE).on("server/discover", {"result": result})
    async with connected(sloppy) as (session, _):
        assert session.revision == HANDSHAKE


@odd_results
async def test_an_answer_of_the_wrong_shape_is_refused_where_there_is_no_handshake(
    result: Any,
) -> None:
    broken = CannedServer(PER_REQUEST).on("server/discover", {"result": result})
    broken.on("initialize", {"error": {"code": MethodNotFound.code, "message": "no"}})
    async with Client("test") as client:
        with pytest.raises(InvalidResult, match="server/discover: the server's result"):
            await client.connect(broken)


async def test_a_server_that_hangs_up_on_the_question_is_not_asked_again() -> None:
    silent = CannedServer(HANDSHAKE)

    async def serve_and_hang_up() -> None:
        await silent.next("server/discover")
        await silent.hang_up()

    async with Client("test") as client, asyncio.TaskGroup() as tasks:
        tasks.create_task(serve_and_hang_up())
        with pytest.raises(SessionLost, match="hung up"):
            await client.connect(silent)


# --- servers that list their revisions ---


def refuses_first(speaks: str, *listed: str) -> CannedServer:
    """Server that refuses the first probe and lists these revisions."""
    server = CannedServer(speaks)
    later = server.replies.get("server/discover")
    data = {"supported": [*listed], "requested": PER_REQUEST}
    refusal = {"code": -32022, "message": "Unsupported protocol version", "data": data}
    asked: list[Any] = []

    def reply(params: Any) -> dict[str, Any] | None:
        asked.append(params)
        return later(params) if later and len(asked) > 1 else {"error": refusal}

    return server.on("server/discover", reply)


async def test_a_refusal_that_lists_what_was_asked_for_is_asked_once_more() -> None:
    async with connected(refuses_first(PER_REQUEST, PER_REQUEST)) as (session, recorded):
        assert session.revision == PER_REQUEST
        assert len(recorded.asked("server/discover")) == 2


@with_handshake
async def test_a_revision_that_a_refusal_lists_is_spoken(revision: str) -> None:
    async with connected(refuses_first(revision, UNKNOWN, revision)) as (session, recorded):
        assert session.revision == revision
        (asked,) = recorded.asked("initialize")
        assert asked["params"]["protocolVersion"] == revision


async def test_the_newest_of_the_revisions_that_a_refusal_lists_is_spoken() -> None:
    server = refuses_first(ALL[2], ALL[2], ALL[0], ALL[1])
    async with connected(server) as (_, recorded):
        (asked,) = recorded.asked("initialize")
        assert asked["params"]["protocolVersion"] == ALL[2]


async def test_a_refusal_that_lists_only_unknown_revisions_leaves_the_handshake() -> None:
    # Servers may list only revisions without a handshake, and still accept a handshake.
    async with connected(refuses_first(HANDSHAKE, UNKNOWN)) as (session, _):
        assert session.revision == HANDSHAKE


@pytest.mark.parametrize("data", [None, [], {}, {"supported": PER_REQUEST}, {"supported": 1}])
async def test_a_refusal_without_a_list_is_no_reason_to_give_up(data: Any) -> None:
    refusal = {"error": {"code": -32022, "message": "no", "data": data}}
    server = CannedServer(HANDSHAKE).on("server/discover", refusal)
    async with connected(server) as (session, _):
        assert session.revision == HANDSHAKE


# --- failed handshakes ---


def counter_offers(offer: Any) -> CannedServer:
    server = CannedServer(HANDSHAKE)
    whole = server.replies["initialize"]

    def reply(params: Any) -> dict[str, Any]:
        answer = whole(params)
        assert answer is not None
        return {"result": {**answer["result"], "protocolVersion": offer}}

    return server.on("initialize", reply)


async def test_a_counter_offer_that_is_known_is_taken() -> None:
    async with connected(counter_offers(ALL[0]), probe_timeout_s=0.01) as (session, _):
        assert session.revision == ALL[0]


@pytest.mark.parametrize("offer", [UNKNOWN, PER_REQUEST, ""])
async def test_a_counter_offer_that_no_handshake_can_mean_is_refused(offer: str) -> None:
    async with Client("test") as client:
        with pytest.raises(ProtocolError, match=f"the server wants to speak '{offer}'"):
            await client.connect(counter_offers(offer), probe_timeout_s=0.01)


async def test_no_ready_notification_follows_a_counter_offer_that_is_refused() -> None:
    server = Recorded(counter_offers(UNKNOWN))
    async with Client("test") as client:
        with pytest.raises(ProtocolError):
            await client.connect(server, probe_timeout_s=0.01)
    assert server.asked("notifications/initialized") == []


@with_handshake
async def test_a_handshake_that_is_answered_with_anything_says_where_it_is_wrong(
    revision: str,
) -> None:
    server = CannedServer(revision).on("initialize", {"result": {"protocolVersion": revision}})
    async with Client("test") as client:
        with pytest.raises(InvalidResult, match=r"initialize: .*`capabilities`"):
            await client.connect(server, revision=revision)


async def test_a_pinned_question_that_is_answered_with_anything_says_where_it_is_wrong() -> None:
    server = CannedServer(PER_REQUEST).on("server/discover", {"result": {"resultType": "complete"}})
    async with Client("test") as client:
        with pytest.raises(InvalidResult, match=r"server/discover: .*missing required field"):
            await client.connect(server, revision=PER_REQUEST)


async def test_a_handshake_that_is_refused_raises_the_refusal() -> None:
    refusal = {"error": {"code": -32602, "message": "not you", "data": {"why": 1}}}
    server = CannedServer(HANDSHAKE).on("initialize", refusal)
    async with Client("test") as client:
        with pytest.raises(McpError, match="not you") as caught:
            await client.connect(server, revision=HANDSHAKE)
    assert (caught.value.code, caught.value.data) == (-32602, {"why": 1})


@every_revision
async def test_a_server_that_never_answers_is_given_up_after_the_time_limit(revision: str) -> None:
    server = Recorded(CannedServer(revision, initialize=silent, **{"server/discover": silent}))
    async with Client("test") as client:
        with pytest.raises(RequestTimeout, match=r"no answer in 0\.01 s"):
            await client.connect(server, revision=revision, timeout_s=0.01)
    assert server.asked("notifications/cancelled") == []


def silent(params: Any) -> None:
    """Give no response."""


@with_handshake
async def test_a_counter_offer_is_refused_where_a_revision_is_pinned(revision: str) -> None:
    other = next(one for one in ALL if one != revision)
    async with Client("test") as client:
        with pytest.raises(ProtocolError, match=f"asked for {revision}, .* at {other}"):
            await client.connect(counter_offers(other), revision=revision)


# --- declared capabilities ---


@every_revision
async def test_a_server_without_tools_declares_none(revision: str) -> None:
    async with connected(Server("empty"), revision=revision) as (session, _):
        assert session.server_capabilities.tools is None


@pytest.mark.parametrize("revisions", [[], [UNKNOWN], [ALL[0], UNKNOWN]], ids=str)
def test_a_server_of_revisions_that_there_are_not_cannot_be_made(revisions: list[str]) -> None:
    with pytest.raises(UsageError, match=r"expected at least one|no revision"):
        Server("strange", revisions=revisions)


# --- invalid targets ---


@pytest.mark.parametrize("target", ["", "  ", []], ids=repr)
async def test_a_command_without_words_is_refused(target: Any) -> None:
    async with Client("test") as client:
        with pytest.raises(UsageError, match=r"expected a URL.* got nothing"):
            await client.connect(target)


@pytest.mark.parametrize("url", ["ftp://localhost/mcp", "http:///mcp", "http://localhost:port/"])
async def test_a_url_that_is_none_of_http_is_refused(url: str) -> None:
    async with Client("test") as client:
        with pytest.raises(UsageError, match="expected a URL"):
            await client.connect(url)


async def test_headers_for_what_has_none_are_refused() -> None:
    async with Client("test") as client:
        with pytest.raises(UsageError, match="are for URLs"):
            await client.connect(server_of(*ALL), bearer_token="token")
