"""`scopes=`: what a token lacks is named in a challenge, before anything else is answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mcp_gen import (
    Client,
    Context,
    InsufficientScope,
    McpError,
    ResourceNotFound,
    Server,
    ToolError,
    UsageError,
    transformed,
)
from mcp_gen.types import Prompt, Tool
from mcp_wire.extensions.tasks import EXTENSION as TASKS
from tests.auth.serving.servers import ALICE, guarded
from tests.client.using import using
from tests.support.frames import (
    BATCHING,
    HANDSHAKE,
    PER_REQUEST,
    STREAMABLE,
    Speaker,
    each_lifecycle,
    every_revision,
)
from tests.support.http.asgi import headers_of, request
from tests.support.http.gated import Answered, GatedClient, access_token, bearer, gated_client

WRITER = access_token("alice", "files:read", "files:write")
ADMIN = access_token("alice", "files:read", "files:write", "admin")
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def refused(answered: Answered, *scopes: str, paired: bool = False) -> bool:
    """Return True if the refusal names exactly these scopes."""
    named = " ".join(scopes)
    error = answered.frame["error"]
    assert error["data"] == {"error": "insufficient_scope", "scope": named}
    assert error["code"] == -32600
    if paired:
        return answered.status == 202
    challenge = f'Bearer error="insufficient_scope", scope="{named}"'
    return (answered.status, answered.challenge) == (403, challenge)


def files(calls: list[str] | None = None) -> Server[Any]:
    server = Server("files")

    @server.tool(scopes=["files:write", "admin"])
    async def wipe(path: str) -> str:
        if calls is not None:
            calls.append(path)
        return "wiped"

    return server


@every_revision
async def test_a_call_is_refused_with_all_scopes_that_its_token_lacks(revision: str) -> None:
    calls: list[str] = []
    async with gated_client(guarded(files(calls), ALICE, ADMIN), revision, ALICE) as client:
        answered = await client.call("wipe", path="/")
        assert refused(answered, "admin", "files:write", paired=client.is_paired)
        assert answered.frame["id"] == 1
        assert calls == []
        client.token = ADMIN
        assert (await client.call("wipe", path="/")).text == "wiped"


@every_revision
async def test_only_the_scopes_that_are_missing_are_asked_for(revision: str) -> None:
    async with gated_client(guarded(files(), WRITER), revision, WRITER) as client:
        answered = await client.call("wipe", path="/")
        assert refused(answered, "admin", paired=client.is_paired)


@every_revision
async def test_scopes_are_asked_for_before_arguments_are_looked_at(revision: str) -> None:
    async with gated_client(guarded(files(), WRITER), revision, WRITER) as client:
        answered = await client.call("wipe", path=1, other="?")
        assert refused(answered, "admin", paired=client.is_paired)


# --- every kind of item ---


def _function(server: Server[Any]) -> None:
    def it(n: int) -> str:
        return "ok"

    server.add_tool(it, input_schema=SCHEMA, scopes=["admin"])


def _decorated(server: Server[Any]) -> None:
    @server.tool("it", scopes=("admin",))
    def it(n: int) -> str:
        return "ok"


def _schema(server: Server[Any]) -> None:
    described = Tool(name="it", input_schema=SCHEMA)
    server.add_tool(described, lambda ctx, arguments: "ok", scopes=["admin"])


def _of_another_server(server: Server[Any]) -> None:
    other = Server("other")
    _decorated(other)
    server.add_tool(other.tools["it"])


def _transformed(server: Server[Any]) -> None:
    other = Server("other")
    _decorated(other)
    server.add_tool(transformed(other.tools["it"], title="It"))


def _transformed_with_scopes(server: Server[Any]) -> None:
    other = Server("other")

    @other.tool
    def it(n: int) -> str:
        return "ok"

    server.add_tool(transformed(other.tools["it"], scopes=["admin"]))


def _transformed_twice(server: Server[Any]) -> None:
    _decorated(server)
    server.transform_tool("it", name="that")
    server.transform_tool("that", name="it", description="that again")


def _mounted(server: Server[Any]) -> None:
    inner = Server("inner")
    _decorated(inner)
    server.mount(None, inner)


def _mounted_twice(server: Server[Any]) -> None:
    middle = Server("middle")
    _mounted(middle)
    server.mount(None, middle)


def _mounted_and_transformed(server: Server[Any]) -> None:
    _mounted(server)
    server.transform_tool("it", title="It")


def _mounted_and_transformed_with_scopes(server: Server[Any]) -> None:
    inner = Server("inner")

    @inner.tool
    def it(n: int) -> str:
        return "ok"

    server.mount(None, inner)
    server.transform_tool("it", scopes=["admin"])


def _as_task(server: Server[Any]) -> None:
    @server.tool("it", task="optional", scopes=["admin"])
    async def it(n: int) -> str:
        return "ok"


KINDS_OF_TOOLS = [
    _function,
    _decorated,
    _schema,
    _of_another_server,
    _transformed,
    _transformed_with_scopes,
    _transformed_twice,
    _mounted,
    _mounted_twice,
    _mounted_and_transformed,
    _mounted_and_transformed_with_scopes,
    _as_task,
]


@each_lifecycle
@pytest.mark.parametrize("make", KINDS_OF_TOOLS, ids=lambda one: one.__name__[1:])
async def test_every_kind_of_tool_asks_for_its_scopes(
    revision: str, make: Callable[[Server[Any]], None]
) -> None:
    server = Server("kinds")
    make(server)
    async with gated_client(guarded(server, WRITER, ADMIN), revision, WRITER) as client:
        assert refused(await client.call("it", n=1), "admin")
        client.token = ADMIN
        assert (await client.call("it", n=1)).text == "ok"


@each_lifecycle
async def test_a_transformed_tool_asks_for_its_scopes_and_for_its_own(revision: str) -> None:
    server = files()
    server.transform_tool("wipe", scopes=["audit"])
    async with gated_client(guarded(server, ALICE), revision, ALICE) as client:
        assert refused(await client.call("wipe", path="/"), "admin", "audit", "files:write")


@each_lifecycle
async def test_a_transformed_tool_of_a_mount_asks_for_all_at_once(revision: str) -> None:
    server = Server("outer")
    server.mount(None, files(), scopes=["inner"])
    server.transform_tool("wipe", scopes=["audit"])
    async with gated_client(guarded(server, ALICE), revision, ALICE) as client:
        answered = await client.call("wipe", path="/")
        assert refused(answered, "admin", "audit", "files:write", "inner")


async def test_a_tool_of_one_session_asks_for_its_scopes() -> None:
    server = Server("own")

    @server.tool
    def add(ctx: Context) -> str:
        assert ctx.session is not None
        _decorated(ctx.server.for_session(ctx.session))  # type: ignore[arg-type]
        return "added"

    async with gated_client(guarded(server, WRITER, ADMIN), HANDSHAKE, WRITER) as client:
        assert (await client.call("add")).text == "added"
        assert refused(await client.call("it", n=1), "admin")
        client.token = ADMIN
        assert (await client.call("it", n=1)).text == "ok"


# --- resources and prompts ---


def library() -> Server[Any]:
    server = Server("library")

    @server.resource("shelf://all", scopes=["admin"])
    def shelf() -> str:
        return "books"

    @server.resource("book://{id}", scopes=["admin"], ttl_ms=60_000, cache_scope="public")
    def book(id: str) -> str:
        if id == "none":
            raise ResourceNotFound
        return f"book {id}"

    @server.prompt(scopes=["admin"])
    def review(code: int) -> str:
        return f"review {code}"

    described = Prompt(name="raw")
    server.add_prompt(described, lambda ctx, arguments: "raw", scopes=["admin"])

    @server.completion("review", "code")
    def codes(value: str) -> list[str]:
        return ["1"]

    @server.completion("book://{id}", "id")
    def ids(value: str) -> list[str]:
        return ["1"]

    return server


REQUESTS = [
    pytest.param("resources/read", {"uri": "shelf://all"}, id="a resource"),
    pytest.param("resources/read", {"uri": "book://1"}, id="a resource of a template"),
    pytest.param("resources/read", {"uri": "book://none"}, id="a resource that is not there"),
    pytest.param("prompts/get", {"name": "review", "arguments": {"code": "1"}}, id="a prompt"),
    pytest.param("prompts/get", {"name": "review"}, id="a prompt without its arguments"),
    pytest.param("prompts/get", {"name": "raw"}, id="a prompt with a handler"),
    pytest.param(
        "completion/complete",
        {
            "ref": {"type": "ref/prompt", "name": "review"},
            "argument": {"name": "code", "value": ""},
        },
        id="arguments of a prompt",
    ),
    pytest.param(
        "completion/complete",
        {
            "ref": {"type": "ref/resource", "uri": "book://{id}"},
            "argument": {"name": "id", "value": ""},
        },
        id="variables of a template",
    ),
]


@each_lifecycle
@pytest.mark.parametrize("mounted", [False, True], ids=["own", "mounted"])
@pytest.mark.parametrize(("method", "params"), REQUESTS)
async def test_resources_and_prompts_ask_for_their_scopes(
    method: str, params: dict[str, Any], mounted: bool, revision: str
) -> None:
    server = library()
    if mounted:
        server, inner = Server("outer"), server
        server.mount(None, inner)
    async with gated_client(guarded(server, WRITER, ADMIN), revision, WRITER) as client:
        assert refused(await client.ask(method, **params), "admin")
        client.token = ADMIN
        answered = await client.ask(method, **params)
        assert answered.status != 403
        assert "insufficient_scope" not in str(answered.frame)


async def test_what_needs_scopes_is_read_as_private() -> None:
    async with gated_client(guarded(library(), ADMIN), PER_REQUEST, ADMIN) as client:
        answered = await client.ask("resources/read", uri="book://1")
    assert answered.frame["result"]["cacheScope"] == "private"
    assert answered.frame["result"]["ttlMs"] == 60_000


async def test_a_subscription_asks_for_the_scopes_of_its_resource() -> None:
    async with gated_client(guarded(library(), WRITER, ADMIN), HANDSHAKE, WRITER) as client:
        assert refused(await client.ask("resources/subscribe", uri="shelf://all"), "admin")
        client.token = ADMIN
        assert (await client.ask("resources/subscribe", uri="shelf://all")).status == 200


async def test_listening_to_a_resource_asks_for_its_scopes() -> None:
    async with gated_client(guarded(library(), WRITER, ADMIN), PER_REQUEST, WRITER) as client:
        wanted = {"resourceSubscriptions": ["shelf://all", "book://1"]}
        assert refused(await client.ask("subscriptions/listen", notifications=wanted), "admin")
        client.token = ADMIN
        message = client.speaker.request(7, "subscriptions/listen", {"notifications": wanted})
        acknowledged = await client.post(message).frame()
        assert acknowledged["params"]["notifications"] == wanted


# --- mounts with scopes ---


class Mounted:
    """A server in which another one is mounted with scopes, twice deep."""

    def __init__(self, **options: Any) -> None:
        self.server, middle = Server("outer", **options), Server("middle")
        middle.mount(None, library(), scopes=["middle"])
        self.server.mount(None, middle, scopes=["outer"])


ALL = access_token("alice", "admin", "middle", "outer")


@each_lifecycle
@pytest.mark.parametrize(("method", "params"), REQUESTS)
async def test_scopes_of_mounts_and_of_what_is_in_them_are_asked_for_at_once(
    method: str, params: dict[str, Any], revision: str
) -> None:
    app = guarded(Mounted().server, WRITER, ALL)
    async with gated_client(app, revision, WRITER) as client:
        assert refused(await client.ask(method, **params), "admin", "middle", "outer")
        client.token = ALL
        assert (await client.ask(method, **params)).status != 403


@each_lifecycle
async def test_a_remote_server_is_mounted_with_scopes(revision: str) -> None:
    inner = Server("far")
    _decorated(inner)
    inner.tools["it"].scopes = frozenset()
    inner.add_resource("far://one", "text")
    inner.add_prompt(lambda: "text", name="ask")
    async with using(Client("gateway"), inner, None) as session:
        server = Server("outer", hide_unauthorized=True)
        server.mount("far", session, scopes=["far"])
        token = access_token("alice", "far")
        async with gated_client(guarded(server, WRITER, token), revision, WRITER) as client:
            requests: list[tuple[str, dict[str, Any]]] = [
                ("tools/call", {"name": "far_it", "arguments": {"n": 1}}),
                ("resources/read", {"uri": "far://one"}),
                ("resources/read", {"uri": "far://none"}),
                ("prompts/get", {"name": "far_ask"}),
            ]
            for method, params in requests:
                client.token = WRITER
                assert refused(await client.ask(method, **params), "far")
                client.token = token
                assert (await client.ask(method, **params)).status != 403
            for method, field in (("tools/list", "tools"), ("resources/list", "resources")):
                client.token = WRITER
                assert (await client.ask(method)).frame["result"][field] == []
                client.token = token
                assert len((await client.ask(method)).frame["result"][field]) == 1


@each_lifecycle
async def test_items_of_a_mount_are_hidden_with_its_scopes(revision: str) -> None:
    app = guarded(Mounted(hide_unauthorized=True).server, WRITER, ALL)
    async with gated_client(app, revision, WRITER) as client:
        assert (await client.ask("prompts/list")).frame["result"]["prompts"] == []
        client.token = ALL
        assert len((await client.ask("prompts/list")).frame["result"]["prompts"]) == 2


@pytest.mark.parametrize("mounted", [False, True], ids=["its items", "the mount"])
async def test_listening_to_a_resource_of_a_mount_asks_for_scopes(mounted: bool) -> None:
    server = Server("outer")
    server.mount(None, library(), scopes=["outer"] if mounted else [])
    async with gated_client(guarded(server, WRITER, ALL), PER_REQUEST, WRITER) as client:
        wanted = {"resourceSubscriptions": ["shelf://all", "book://1"]}
        answered = await client.ask("subscriptions/listen", notifications=wanted)
        assert refused(answered, *(["admin", "outer"] if mounted else ["admin"]))
        client.token = ALL
        message = client.speaker.request(7, "subscriptions/listen", {"notifications": wanted})
        acknowledged = await client.post(message).frame()
        assert acknowledged["params"]["notifications"] == wanted


async def test_listening_to_a_resource_that_no_server_of_this_process_has_needs_no_scopes() -> None:
    async with gated_client(guarded(Mounted().server, WRITER), PER_REQUEST, WRITER) as client:
        wanted = {"resourceSubscriptions": ["other://none"]}
        message = client.speaker.request(7, "subscriptions/listen", {"notifications": wanted})
        acknowledged = await client.post(message).frame()
        assert acknowledged["params"]["notifications"] == wanted


async def test_a_mount_with_scopes_needs_a_gate() -> None:
    server = Server("outer")
    server.mount("inner", Server("inner"), scopes=["inner"])
    with pytest.raises(UsageError, match=r"mount 'inner' has scopes="):
        await server.asgi().start()


# --- calls inside of calls, and errors of handlers ---


def nested() -> Server[Any]:
    server = files()

    @server.tool
    async def tidy(ctx: Context) -> str:
        return str(await ctx.call_tool("wipe", {"path": "/"}, returns=str))

    @server.tool
    async def tries(ctx: Context) -> str:
        try:
            await ctx.call_tool("wipe", {"path": "/"})
        except InsufficientScope as error:
            return " ".join(sorted(error.missing))
        return "wiped"

    @server.tool
    async def dynamic() -> str:
        raise InsufficientScope(["tenant:7"])

    @server.tool(run_in_thread=True)
    def grouped() -> str:
        raise ExceptionGroup("all", [InsufficientScope("a b")])

    return server


@each_lifecycle
async def test_a_call_in_a_handler_has_the_scopes_of_its_request(revision: str) -> None:
    async with gated_client(guarded(nested(), ALICE, ADMIN), revision, ALICE) as client:
        assert refused(await client.call("tidy"), "admin", "files:write")
        assert (await client.call("tries")).text == "admin files:write"
        client.token = ADMIN
        assert (await client.call("tidy")).text == "wiped"


@each_lifecycle
async def test_a_handler_may_ask_for_scopes_itself(revision: str) -> None:
    async with gated_client(guarded(nested(), ALICE), revision, ALICE) as client:
        assert refused(await client.call("dynamic"), "tenant:7")
        assert refused(await client.call("grouped"), "a", "b")


@each_lifecycle
async def test_where_a_stream_has_begun_the_refusal_is_its_last_message(revision: str) -> None:
    server = Server("late")

    @server.tool
    async def late(ctx: Context) -> str:
        await ctx.report_progress(1)
        raise InsufficientScope(["tenant:7"])

    async with gated_client(guarded(server, ALICE), revision, ALICE) as client:
        params = {"name": "late", "_meta": {"progressToken": 1}}
        answered = await client.ask_raw(client.speaker.request(5, "tools/call", params))
    assert (answered.status, answered.challenge) == (200, None)
    assert answered.frame["error"]["data"]["scope"] == "tenant:7"
    assert answered.frame["id"] == 5


@pytest.mark.parametrize("revision", STREAMABLE)
async def test_a_client_that_takes_only_streams_gets_the_refusal_with_its_status(
    revision: str,
) -> None:
    async with gated_client(guarded(files(), ALICE), revision, ALICE) as client:
        message = client.speaker.call(3, "wipe", path="/")
        reply = await client.post(message, accept="text/event-stream").whole()
    assert reply.status == 403
    assert reply.json["id"] == 3


@pytest.mark.parametrize("revision", [one for one in STREAMABLE if one != PER_REQUEST])
async def test_without_sessions_a_call_is_refused_with_its_status_too(revision: str) -> None:
    app, speaker = guarded(files(), ALICE, ADMIN, stateless=True), Speaker(revision)
    message = speaker.call(1, "wipe", path="/")
    reply = await request(app, message, headers_of(speaker, message) | bearer(ALICE))
    assert reply.status == 403
    assert 'scope="admin files:write"' in reply.headers["www-authenticate"]
    reply = await request(app, message, headers_of(speaker, message) | bearer(ADMIN))
    assert reply.status == 200


@pytest.mark.parametrize("revision", BATCHING)
async def test_in_a_batch_each_entry_has_its_refusal(revision: str) -> None:
    server = files()
    server.add_tool(lambda: "fine", name="fine")
    speaker = Speaker(revision)
    async with gated_client(guarded(server, ALICE), revision, ALICE) as client:
        entries = (speaker.call(1, "wipe", path="/"), speaker.call(2, "fine"))
        reply = await client.post_raw(b"[" + b",".join(entries) + b"]")
    frames = {frame["id"]: frame for frame in reply.json}
    assert reply.status == 200
    assert frames[1]["error"]["data"]["error"] == "insufficient_scope"
    assert frames[2]["result"]["content"][0]["text"] == "fine"


# --- tasks ---


def slow() -> Server[Any]:
    server = Server("slow", declare=["tasks"])

    @server.tool(task="required", scopes=["admin"])
    async def work() -> str:
        return "done"

    return server


@each_lifecycle
async def test_no_task_is_made_for_a_call_that_lacks_scopes(revision: str) -> None:
    server = slow()
    async with gated_client(guarded(server, WRITER, ADMIN), revision, WRITER) as client:
        params = _task_params(client)
        assert refused(await client.ask("tools/call", **params), "admin")
        assert server.runtime.tasks.manager is not None
        assert not server.runtime.tasks.manager.running
        client.token = ADMIN
        assert (await client.ask("tools/call", **params)).status == 200
        await server.aclose()


def _task_params(client: GatedClient) -> dict[str, Any]:
    if client.speaker.profile.tasks == "core":
        return {"name": "work", "task": {}}
    declared: dict[str, Any] = {"extensions": {TASKS.identifier: {}}}
    return {
        "name": "work",
        "_meta": {str(client.speaker.profile.client_capabilities_key): declared},
    }


def _id_of(made: Answered) -> str:
    result = made.frame["result"]
    id: str = (result.get("task") or result)["taskId"]
    return id


METHODS_OF_TASKS = {"core": ("get", "cancel", "result"), "extension": ("get", "cancel", "update")}


@each_lifecycle
async def test_a_task_is_refused_to_a_narrower_token_of_the_same_user(revision: str) -> None:
    server = slow()
    async with gated_client(guarded(server, WRITER, ADMIN), revision, ADMIN) as client:
        params = _task_params(client)
        id = _id_of(await client.ask("tools/call", **params))
        meta = {key: value for key, value in params.items() if key == "_meta"}
        client.token = WRITER
        for method in METHODS_OF_TASKS[client.speaker.profile.tasks]:
            given: dict[str, Any] = {"inputResponses": {}} if method == "update" else {}
            answered = await client.ask(f"tasks/{method}", taskId=id, **given, **meta)
            assert refused(answered, "admin"), method
        client.token = ADMIN
        assert (await client.ask("tasks/get", taskId=id, **meta)).status == 200
    await server.aclose()


async def test_a_list_of_tasks_leaves_out_what_the_token_lacks_scopes_for() -> None:
    server = slow()
    async with gated_client(guarded(server, WRITER, ADMIN), HANDSHAKE, ADMIN) as client:
        id = _id_of(await client.ask("tools/call", name="work", task={}))
        client.token = WRITER
        assert (await client.ask("tasks/list")).frame["result"]["tasks"] == []
        client.token = ADMIN
        found = (await client.ask("tasks/list")).frame["result"]["tasks"]
        assert [one["taskId"] for one in found] == [id]
    await server.aclose()


async def test_listening_to_a_task_needs_the_scopes_of_its_tool() -> None:
    server = slow()
    async with gated_client(guarded(server, WRITER, ADMIN), PER_REQUEST, ADMIN) as client:
        params = _task_params(client)
        id = _id_of(await client.ask("tools/call", **params))
        client.token = WRITER
        wanted = {"notifications": {"taskIds": [id]}, "_meta": params["_meta"]}
        assert refused(await client.ask("subscriptions/listen", **wanted), "admin")
    await server.aclose()


async def test_a_task_of_a_mounted_tool_needs_the_scopes_of_the_mount_as_well() -> None:
    outer = Server("outer", declare=["tasks"])
    inner = Server("inner")

    @inner.tool(task="required")
    async def work() -> str:
        return "done"

    outer.mount("in", inner, scopes=["admin"])
    async with gated_client(guarded(outer, WRITER, ADMIN), HANDSHAKE, ADMIN) as client:
        id = _id_of(await client.ask("tools/call", name="in_work", task={}))
        client.token = WRITER
        assert refused(await client.ask("tasks/result", taskId=id), "admin")
    await outer.aclose()


async def test_calls_of_a_task_have_the_scopes_of_the_call_that_made_it() -> None:
    server = Server("slow", declare=["tasks"])
    _decorated(server)

    @server.tool(task="required")
    async def work(ctx: Context) -> str:
        assert ctx.token is not None
        try:
            await ctx.call_tool("it", {"n": 1})
        except InsufficientScope:
            return f"lacks, with {sorted(ctx.token.scopes)}"
        return "called"

    async with gated_client(guarded(server, ALICE), HANDSHAKE, ALICE) as client:
        made = await client.ask("tools/call", name="work", task={})
        id = made.frame["result"]["task"]["taskId"]
        assert (await client.ask("tasks/result", taskId=id)).text == "lacks, with ['files:read']"
    await server.aclose()


# --- transports without tokens, and servers that verify none ---


async def test_in_the_process_there_are_no_tokens_and_scopes_are_not_asked_for() -> None:
    async with using(Client("app"), files(), None) as session:
        assert await session.call_tool("wipe", {"path": "/"}, returns=str) == "wiped"


async def test_without_a_gate_a_server_with_scopes_does_not_start_over_http() -> None:
    app = files().asgi()
    with pytest.raises(UsageError, match=r"tool 'wipe' has scopes=.*auth=ResourceServer"):
        await app.start()
    await guarded(files()).start()


async def test_scopes_of_a_mounted_server_need_a_gate_too() -> None:
    server = Server("outer")
    server.mount("inner", library())
    with pytest.raises(UsageError, match=r"resource 'shelf://all' has scopes=|prompt 'review'"):
        await server.asgi().start()


async def test_an_item_that_comes_later_is_refused_where_nothing_verifies_tokens() -> None:
    server, speaker = Server("late"), Speaker(PER_REQUEST)
    app = server.asgi()
    await app.start()
    _decorated(server)
    message = speaker.call(1, "it", n=1)
    reply = await request(app, message, headers_of(speaker, message))
    assert (reply.status, reply.headers.get("www-authenticate")) == (403, None)
    assert reply.json["error"]["data"]["scope"] == "admin"
    await app.aclose()


# --- options ---


@pytest.mark.parametrize("scopes", ["admin", ["a b"], [""], ['a"b'], [1], 7])
def test_what_is_no_list_of_scopes_is_refused(scopes: Any) -> None:
    server = Server("wrong")
    with pytest.raises(UsageError, match="scopes"):
        server.add_tool(lambda: "", name="it", scopes=scopes)
    with pytest.raises(UsageError, match="scopes"):
        server.add_resource("a://b", "text", scopes=scopes)
    with pytest.raises(UsageError, match="scopes"):
        server.add_prompt(lambda: "", name="it", scopes=scopes)


def test_missing_scopes_are_an_error_for_the_client() -> None:
    error = InsufficientScope("b a")
    assert isinstance(error, McpError)
    assert not isinstance(error, ToolError)
    assert (error.missing, str(error)) == (
        frozenset({"a", "b"}),
        "the token lacks the scope a b (-32600)",
    )
