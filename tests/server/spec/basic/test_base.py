"""Spec tests of all messages: frames, errors, ids and metadata."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from mcp_gen import Server
from tests.server.spec.servers import TEXT, asking, bare, only, rich
from tests.support.peers.connect import Connect
from tests.support.peers.conversation import Conversation
from tests.support.requirement import requirement

BLUE = {"action": "accept", "content": {"colour": "blue"}}
LABEL = r"[a-zA-Z](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
META_KEY = re.compile(
    rf"(?:{LABEL}(?:\.{LABEL})*/)?(?:[a-zA-Z0-9](?:[a-zA-Z0-9._-]*[a-zA-Z0-9])?)?"
)


async def everything(client: Conversation) -> None:
    """Make the server send as many kinds of messages as there are."""
    for method, params in (
        ("tools/list", {}),
        ("tools/call", {"name": "echo", "arguments": {"text": TEXT}}),
        ("tools/call", {"name": "mirror", "arguments": {"point": {"x": 1}}}),
        ("tools/call", {"name": "fail", "arguments": {"reason": "none"}}),
        ("resources/list", {}),
        ("resources/templates/list", {}),
        ("resources/read", {"uri": "test://text"}),
        ("prompts/list", {}),
        ("prompts/get", {"name": "greet", "arguments": {"name": "Ada"}}),
    ):
        await client.request(method, params)
    for method, params in REFUSED:
        await client.refusal(method, params)


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("no/such/method", {}),
    ("tools/list", {"cursor": "none of yours"}),
    ("tools/call", {"name": "nope"}),
    ("tools/call", {"name": "refuse"}),
    ("tools/call", {"arguments": {}}),
    ("resources/read", {"uri": "test://nowhere"}),
    ("resources/read", {"uri": "test://broken"}),
    ("prompts/get", {"name": "nope"}),
    ("prompts/get", {"name": "greet"}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "nope"}}),
]


def answers(client: Conversation) -> list[dict[str, Any]]:
    return [frame for frame in client.frames if "method" not in frame]


def errors(client: Conversation) -> list[dict[str, Any]]:
    return [frame["error"] for frame in answers(client) if "error" in frame]


# --- messages ---


@requirement("base:json-rpc", "base:answers:result-or-error")
async def test_every_frame_is_a_message_and_every_answer_has_one_outcome(connect: Connect) -> None:
    async with connect(rich) as client:
        await everything(client)
    assert {frame["jsonrpc"] for frame in client.frames} == {"2.0"}
    assert all(("result" in frame) != ("error" in frame) for frame in answers(client))


@requirement("base:utf-8")
async def test_a_text_of_any_script_comes_back_as_it_was(connect: Connect) -> None:
    async with connect(rich) as client:
        assert await client.text("echo", text=TEXT) == TEXT


@requirement("base:supported")
async def test_a_server_that_offers_nothing_speaks_the_protocol_all_the_same(
    connect: Connect,
) -> None:
    async with connect(bare) as client:
        told = await client.server()
        await client.settled()
        refused = await client.refusal("tools/list")
    assert (told["serverInfo"]["name"], refused.code) == ("bare", -32601)


# --- server requests ---


@requirement("base:requests:id-kind", "base:requests:id-once")
async def test_the_server_numbers_its_requests(connect: Connect) -> None:
    root = {"uri": "file:///home"}
    async with connect(asking, answers={"roots/list": lambda _: {"roots": [root]}}) as client:
        await client.text("folders")
        await client.text("folders")
    ids = [frame["id"] for frame in client.frames if "method" in frame and "id" in frame]
    assert ids
    assert all(type(id) in (int, str) for id in ids)
    assert len(ids) == len(set(ids))


@requirement("base:requests:none-by-server")
async def test_a_server_with_questions_sends_no_request(connect: Connect) -> None:
    async with connect(asking, answers={"elicitation/create": lambda _: BLUE}) as client:
        assert await client.text("choose") == "blue"
    assert client.questions
    assert [frame for frame in client.frames if "method" in frame and "id" in frame] == []


# --- answers ---


@requirement("base:answers:id")
async def test_an_answer_has_the_id_of_its_request_letter_by_letter(connect: Connect) -> None:
    ids = [0, 7, "7", -1, 2**53 - 1, "", "a b", "é\n"]
    async with connect(rich) as client:
        for id in ids:
            await client.begin("tools/list", id=id).result()
    got = [frame["id"] for frame in answers(client)][-len(ids) :]
    assert [(type(id), id) for id in got] == [(type(id), id) for id in ids]


@requirement("base:answers:error-shape", "base:answers:error-code-kind")
async def test_an_error_has_an_integer_and_a_message(connect: Connect) -> None:
    async with connect(rich) as client:
        await everything(client)
    assert len(errors(client)) == len(REFUSED)
    assert all(type(error["code"]) is int and error["message"] for error in errors(client))


@requirement("base:answers:one-sentence")
async def test_the_message_of_an_error_is_one_line_and_not_long(connect: Connect) -> None:
    async with connect(rich) as client:
        await everything(client)
    messages = [error["message"] for error in errors(client)]
    assert messages
    assert [one for one in messages if "\n" in one or len(one) > 250] == []


# --- notifications ---


@requirement("base:notifications:no-id")
async def test_notifications_have_no_id(connect: Connect) -> None:
    async with connect(changing) as client:
        await client.listen(toolsListChanged=True)
        await client.text("add_one")
        await client.hears("notifications/tools/list_changed")
    told = [frame for frame in client.frames if "method" in frame]
    assert told
    assert [frame for frame in told if "id" in frame] == []


def changing() -> Any:
    server = bare()

    @server.tool
    async def add_one() -> str:
        async def another() -> str:
            return "here"

        server.add_tool(another)
        return "added"

    return server


@requirement("base:notifications:unanswered")
async def test_no_notification_is_answered(connect: Connect) -> None:
    async with connect(rich) as client:
        before = len(answers(client))
        client.notify("notifications/nonsense", {"a": [1]})
        client.notify("notifications/cancelled", {"requestId": "none", "reason": "none"})
        client.notify("notifications/cancelled", {"requestId": [1]})
        client.notify("tools/list")
        await client.settled()
    assert len(answers(client)) == before + 1


@requirement("base:batches:received")
async def test_each_request_in_a_batch_is_answered(connect: Connect) -> None:
    async with connect(rich) as client:
        first, one = client.prepare("tools/call", {"name": "echo", "arguments": {"text": "a"}})
        second, two = client.prepare("tools/call", {"name": "nope"})
        told = msgspec.json.encode({"jsonrpc": "2.0", "method": "notifications/nonsense"})
        client.send(b"[" + b",".join([one, told, two]) + b"]")
        (block,) = (await first.result())["content"]
        refused = await asyncio.wait_for(second.answer, 30)
    assert (block["text"], refused["error"]["code"]) == ("a", -32602)


# --- types of results ---


@requirement("base:result-type:present", "base:result-type:known")
async def test_every_result_says_of_which_type_it_is(connect: Connect) -> None:
    async with connect(rich) as client:
        await everything(client)
    results = [frame["result"]["resultType"] for frame in answers(client) if "result" in frame]
    assert set(results) == {"complete"}
    async with connect(asking, answers={"elicitation/create": lambda _: BLUE}) as client:
        await client.text("choose")
    results = [frame["result"]["resultType"] for frame in answers(client)]
    assert results == ["input_required", "complete"]


# --- codes of errors ---


async def all_errors(connect: Connect) -> list[int]:
    """Return as many error codes as a server can send."""
    async with connect(rich) as client:
        await everything(client)
        meta = client.meta
        key = str(client.profile.protocol_version_key)
        client.send(b"nonsense")
        client.send(b'{"jsonrpc":"2.0","id":null,"method":"tools/list"}')
        await client.settled()
        for wrong in ({}, {**meta, key: "1999-12-31"}, {**meta, key: 1}):
            frame = {"jsonrpc": "2.0", "method": "tools/list", "params": {"_meta": wrong}}
            asked, _ = client.prepare("tools/list")
            client.send(msgspec.json.encode({**frame, "id": asked.id}))
            await asyncio.wait_for(asked.answer, 30)
    async with connect(asking, capabilities={}) as poor:
        await poor.refusal("tools/call", {"name": "choose"})
    return [error["code"] for error in [*errors(client), *errors(poor)]]


@requirement("base:errors:legacy-codes", "base:errors:retired-codes", "base:errors:reserved-codes")
async def test_codes_are_of_the_revision_and_of_no_other(connect: Connect) -> None:
    codes = set(await all_errors(connect))
    assert {-32700, -32600, -32601, -32602, -32603} <= codes
    assert {code for code in codes if -32019 <= code <= -32000} == set()
    assert {code for code in codes if -32099 <= code <= -32020} == {-32021, -32022}
    assert codes & {-32002, -32042} == set()


# --- self-contained requests ---


@requirement("base:stateless:no-context")
async def test_what_one_request_declares_does_not_count_for_the_next(connect: Connect) -> None:
    async with connect(asking, answers={"elicitation/create": lambda _: BLUE}) as client:
        assert await client.text("choose") == "blue"
        client.capabilities = {}
        refused = await client.refusal("tools/call", {"name": "choose"})
    assert refused.code == -32021


@requirement("base:stateless:many-conversations")
async def test_requests_of_several_clients_are_told_apart_on_one_connection(
    connect: Connect,
) -> None:
    async with connect(asking) as client:
        able = client.begin(
            "tools/call",
            {"name": "choose"},
            meta={str(client.profile.client_capabilities_key): {"elicitation": {}}},
        )
        unable = client.begin("tools/call", {"name": "choose"})
        asks, refuses = await asyncio.gather(able.answer, unable.answer)
    assert asks["result"]["resultType"] == "input_required"
    assert refuses["error"]["code"] == -32021


@requirement("base:stateless:any-connection")
async def test_what_one_connection_has_learned_can_be_used_on_another(connect: Connect) -> None:
    async with connect(rich) as client:
        found = await client.request("server/discover")
        listed = await client.names("tools/list", "tools")
    assert connect.revision in found["supportedVersions"]
    async with connect(rich) as client:
        assert await client.text(listed[0], text="a") == "a"


@requirement("base:stateless:explicit-state")
async def test_rounds_go_on_from_the_state_that_the_client_sends(connect: Connect) -> None:
    async with connect(asking, answers={"elicitation/create": lambda _: BLUE}) as client:
        call = {"name": "choose_twice"}
        first = await client.begin("tools/call", call).result()
        given = await client.answers_to(first)
        again = await client.begin("tools/call", {**call, **given}).result()
        forgotten = await client.begin("tools/call", call).result()
    asked = [
        [one["params"]["message"] for one in result["inputRequests"].values()]
        for result in (again, forgotten)
    ]
    assert asked == [["Which size?"], ["Which colour?"]]


# --- metadata ---


@requirement("base:meta:unknown-reserved")
async def test_any_value_of_an_unknown_reserved_key_is_taken(connect: Connect) -> None:
    async with connect(rich) as client:
        values: list[Any] = [1, None, [{}], "text", {"a": True}]
        for value in values:
            meta = {"io.modelcontextprotocol/unknown": value, "modelcontextprotocol.io/x": value}
            result = await client.request("tools/list", meta=meta)
            assert result["tools"]


@requirement("base:meta:key-names")
async def test_the_servers_keys_of_meta_are_well_formed(connect: Connect) -> None:
    async with connect(rich) as client:
        await everything(client)
    assert [key for key in meta_keys(client.frames) if not META_KEY.fullmatch(key)] == []
    expected = {client.profile.server_info_key} - {None}
    assert set(meta_keys(client.frames)) == expected


def meta_keys(value: Any) -> list[str]:
    if isinstance(value, list):
        return [key for one in value for key in meta_keys(one)]
    if not isinstance(value, dict):
        return []
    own = list(value["_meta"]) if isinstance(value.get("_meta"), dict) else []
    return own + [key for one in value.values() for key in meta_keys(one)]


@requirement("base:metadata:missing")
async def test_a_request_that_does_not_say_who_asks_is_refused(connect: Connect) -> None:
    await refused_without_metadata(connect, partial(only, connect.revision))


@requirement("base:metadata:missing")
async def test_also_a_server_of_older_revisions_refuses_a_request_that_says_too_little(
    connect: Connect,
) -> None:
    await refused_without_metadata(connect, rich)


async def refused_without_metadata(connect: Connect, make: Callable[[], Server]) -> None:
    """Check that requests are refused that lack the revision, or the client's capabilities."""
    async with connect(make) as client:
        version, capabilities, _ = client.meta
        codes = []
        for left_out in (version, capabilities):
            meta = {key: value for key, value in client.meta.items() if key != left_out}
            params = {"params": {"_meta": meta}}
            asked, _ = client.prepare("tools/list")
            frame = {"jsonrpc": "2.0", "id": asked.id, "method": "tools/list", **params}
            client.send(msgspec.json.encode(frame))
            codes.append((await asked.answer)["error"]["code"])
    assert codes == [-32602, -32602]


@requirement("base:metadata:capability-missing")
async def test_the_error_names_the_capability_that_is_missing(connect: Connect) -> None:
    async with connect(asking, capabilities={}) as client:
        wanted = {}
        for tool in ("choose", "sample", "folders"):
            refused = await client.refusal("tools/call", {"name": tool})
            wanted[tool] = (refused.code, *refused.data["requiredCapabilities"])
    assert wanted == {
        "choose": (-32021, "elicitation"),
        "sample": (-32021, "sampling"),
        "folders": (-32021, "roots"),
    }


@requirement("base:metadata:server-info")
async def test_every_result_says_which_server_made_it(connect: Connect) -> None:
    async with connect(rich) as client:
        await everything(client)
    key = client.profile.server_info_key
    results = [frame["result"] for frame in answers(client) if "result" in frame]
    assert {one["_meta"][key]["name"] for one in results} == {"rich"}


@requirement("base:identity:no-behaviour")
async def test_what_a_client_calls_itself_changes_nothing(connect: Connect) -> None:
    said = []
    for name in ("conversation", "somebody else", ""):
        async with connect(rich) as client:
            client.client_info = {"name": name, "version": "7"}
            await everything(client)
        said.append(client.frames)
    assert said[0] == said[1] == said[2]
