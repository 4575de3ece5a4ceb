"""requestState: signed, and valid for its own request alone."""

from __future__ import annotations

import base64
import builtins
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from mcp_gen import Accepted, Context, InvalidParams, Server, UsageError
from mcp_gen.core.stores.once import MemoryOnceStore
from mcp_gen.server.context.context import origin_of
from mcp_gen.server.input_requests.request_state import RequestState, RequestStateSealer
from tests.support.frames import Speaker
from tests.support.http import asgi
from tests.support.peers.answering import AnsweringClient, accept, answering, in_results
from tests.support.requirement import requirement

INVALID_PARAMS = -32602
KEY, OTHER = "k" * 32, "o" * 32
BOUND = b"b" * 32


def state(**more: Any) -> RequestState:
    return RequestState(round=2, expires=int(time.time()) + 60, **more)


def sealed_and_opened(
    states: RequestStateSealer, given: RequestState, bound_to: bytes = BOUND
) -> RequestState:
    return states.open(states.seal(given, BOUND), bound_to)


# --- Sealing ---


@pytest.mark.parametrize(
    "keys", [[], [KEY], [KEY.encode()]], ids=["signed", "encrypted", "encrypted with bytes"]
)
def test_a_state_comes_back_as_it_was(keys: list[str | bytes]) -> None:
    given = state(
        asked=["a"], answers={"b": msgspec.Raw(b'{"x":1}')}, state="mine", once_store_id="id"
    )
    again = sealed_and_opened(RequestStateSealer(keys, 60), given)
    assert msgspec.json.encode(again) == msgspec.json.encode(given)


@pytest.mark.parametrize("keys", [[], [KEY]], ids=["signed", "encrypted"])
def test_no_character_of_a_state_can_be_changed(keys: list[str]) -> None:
    states = RequestStateSealer(keys, 60)
    sealed = states.seal(state(state="mine"), BOUND)
    for place, character in enumerate(sealed):
        other = "A" if character != "A" else "B"
        with pytest.raises(InvalidParams):
            states.open(sealed[:place] + other + sealed[place + 1 :], BOUND)


@pytest.mark.parametrize("keys", [[], [KEY]], ids=["signed", "encrypted"])
@pytest.mark.parametrize(
    "change",
    [
        lambda text: "",
        lambda text: text[:-1],
        lambda text: text + "A",
        lambda text: text + "=",
        lambda text: text[1:],
        lambda text: text[:1],
        lambda text: text[:5],
        lambda text: "é" + text,
        lambda text: text.replace(".", ""),
        lambda text: "s." + text,
    ],
)
def test_what_is_no_state_is_refused(keys: list[str], change: Callable[[str], str]) -> None:
    states = RequestStateSealer(keys, 60)
    sealed = states.seal(state(), BOUND)
    if change(sealed) == sealed:
        return
    with pytest.raises(InvalidParams) as caught:
        states.open(change(sealed), BOUND)
    assert str(caught.value) == (
        "this server gave no such state for this request: make the request anew, without it - "
        "at `$.requestState`"
    )


@pytest.mark.parametrize("keys", [[], [KEY]], ids=["signed", "encrypted"])
def test_a_state_is_good_for_nothing_else(keys: list[str]) -> None:
    states = RequestStateSealer(keys, 60)
    with pytest.raises(InvalidParams):
        sealed_and_opened(states, state(), b"c" * 32)


@pytest.mark.parametrize("keys", [[], [KEY]], ids=["signed", "encrypted"])
def test_a_state_expires(keys: list[str]) -> None:
    given = RequestState(round=2, expires=int(time.time()) - 1)
    with pytest.raises(InvalidParams, match="the state has expired: make the request anew"):
        sealed_and_opened(RequestStateSealer(keys, 60), given)


def test_processes_without_a_key_do_not_open_each_others_states() -> None:
    with pytest.raises(InvalidParams):
        RequestStateSealer([], 60).open(RequestStateSealer([], 60).seal(state(), BOUND), BOUND)


def test_the_first_key_seals_and_every_key_opens() -> None:
    before, during, after = (
        RequestStateSealer([OTHER], 60),
        RequestStateSealer([KEY, OTHER], 60),
        RequestStateSealer([KEY], 60),
    )
    assert during.open(before.seal(state(), BOUND), BOUND).round == 2
    assert after.open(during.seal(state(), BOUND), BOUND).round == 2
    with pytest.raises(InvalidParams):
        before.open(during.seal(state(), BOUND), BOUND)


def test_a_signed_state_can_be_read() -> None:
    sealed = RequestStateSealer([], 60).seal(state(state="mine"), BOUND)
    body = sealed[1:].partition(".")[0]
    assert msgspec.json.decode(base64.urlsafe_b64decode(body + "=="))["state"] == "mine"


def test_an_encrypted_state_cannot_be_read() -> None:
    sealed = RequestStateSealer([KEY], 60).seal(state(state="mine" * 9), BOUND)
    assert b"mine" not in base64.urlsafe_b64decode(sealed[1:] + "==")
    assert sealed != RequestStateSealer([KEY], 60).seal(state(state="mine" * 9), BOUND)


def test_where_nothing_can_encrypt_a_state_is_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    there = builtins.__import__

    def absent(name: str, *arguments: Any, **more: Any) -> Any:
        if name.startswith("cryptography"):
            raise ImportError(name)
        return there(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", absent)
    states = RequestStateSealer([KEY], 60)
    sealed = states.seal(state(), BOUND)
    assert sealed.startswith("s")
    assert states.open(sealed, BOUND).round == 2
    with pytest.raises(InvalidParams):
        states.open("e" + sealed[1:], BOUND)


def test_a_server_that_asks_nothing_loads_nothing_that_encrypts() -> None:
    code = (
        "import sys; from mcp_gen import Server; Server('a', request_state_keys=['k' * 32]);"
        "sys.exit('cryptography' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_key_that_is_too_short_is_refused_when_the_server_is_made() -> None:
    with pytest.raises(UsageError, match="a key has at least 16 bytes"):
        Server("short", request_state_keys=["k" * 15])


def test_a_state_that_never_lives_is_refused_when_the_server_is_made() -> None:
    with pytest.raises(UsageError, match="lives for more than 0 s"):
        Server("short", request_state_ttl_s=0)


def test_a_request_without_any_round_is_refused_when_the_server_is_made() -> None:
    with pytest.raises(UsageError, match="at least 1 round"):
        Server("short", max_rounds=0)


# --- binding of the state ---


@dataclass
class Name:
    name: str


def asking(name: str = "asking", **options: Any) -> Server:
    server = Server(name, **options)

    async def tool(ctx: Context, text: str = "", number: float = 0) -> str:
        answer = await ctx.elicit("Name?", Name)
        assert isinstance(answer, Accepted)
        return answer.content.name

    server.add_tool(tool, name="one")
    server.add_tool(tool, name="other")
    return server


async def answered(client: AnsweringClient, params: dict[str, Any]) -> dict[str, Any]:
    """Return the params that answer the input requests of a result."""
    return client.answered(await client.once("tools/call", params))


@in_results
@pytest.mark.parametrize(
    ("changed", "good"),
    [
        ({"name": "one", "arguments": {"number": 1, "text": "a"}}, True),
        ({"name": "other", "arguments": {"text": "a", "number": 1}}, False),
        ({"name": "one", "arguments": {"text": "b", "number": 1}}, False),
        ({"name": "one", "arguments": {"text": "a"}}, False),
        ({"name": "one"}, False),
    ],
    ids=["in another order", "another tool", "another argument", "one less", "none"],
)
async def test_a_state_belongs_to_the_tool_and_the_arguments(
    revision: str, changed: dict[str, Any], good: bool
) -> None:
    params = {"name": "one", "arguments": {"text": "a", "number": 1}}
    async with answering(asking(), revision, lambda asked: accept(name="Ada")) as client:
        more = await answered(client, params)
        answer = await client.once("tools/call", {**changed, **more})
    assert ("content" in answer) == good
    assert good or answer["code"] == INVALID_PARAMS


@in_results
@pytest.mark.parametrize("arguments", [{}, {"arguments": {}}, {"arguments": None}], ids=repr)
async def test_no_arguments_may_be_written_in_any_way(
    revision: str, arguments: dict[str, Any]
) -> None:
    async with answering(asking(), revision, lambda asked: accept(name="Ada")) as client:
        more = await answered(client, {"name": "one"})
        answer = await client.once("tools/call", {"name": "one", **arguments, **more})
    assert answer["content"][0]["text"] == "Ada"


@in_results
async def test_a_state_belongs_to_the_one_who_asked(revision: str) -> None:
    who = ["ada"]
    server = asking()

    @server.hooks.before_call_tool
    async def be(ctx: Context, params: Any) -> None:
        origin_of(ctx).principal = who[-1]

    async with answering(server, revision, lambda asked: accept(name="Ada")) as client:
        more = await answered(client, {"name": "one"})
        who.append("eve")
        refused = await client.once("tools/call", {"name": "one", **more})
        who.append("ada")
        answer = await client.once("tools/call", {"name": "one", **more})
    assert refused["code"] == INVALID_PARAMS
    assert answer["content"][0]["text"] == "Ada"


@requirement("mrtr:state:principal")
async def test_over_http_too_a_state_belongs_to_the_one_who_asked(revision: str) -> None:
    speaker, app = Speaker(revision), asking().asgi()
    declared = {**speaker.meta, str(speaker.profile.client_capabilities_key): {"elicitation": {}}}

    async def call(who: str, **more: Any) -> Any:
        message = speaker.request(1, "tools/call", {"name": "one", "_meta": declared, **more})
        headers = asgi.headers_of(speaker, message)
        principal = {"mcp_gen.principal": who}
        return (await asgi.request(app, message, headers, **principal)).json

    asked = (await call("ada"))["result"]
    (key,) = asked["inputRequests"]
    more = {"requestState": asked["requestState"], "inputResponses": {key: accept(name="Ada")}}
    assert (await call("eve", **more))["error"]["code"] == INVALID_PARAMS
    assert (await call("ada", **more))["result"]["content"][0]["text"] == "Ada"


@in_results
@pytest.mark.parametrize(("name", "good"), [("asking", True), ("another", False)])
async def test_servers_of_one_name_and_key_go_on_for_each_other(
    revision: str, name: str, good: bool
) -> None:
    def give(asked: Any) -> Any:
        return accept(name="Ada")

    async with answering(asking(request_state_keys=[KEY]), revision, give) as client:
        more = await answered(client, {"name": "one"})
    async with answering(asking(name, request_state_keys=[KEY]), revision, give) as client:
        answer = await client.once("tools/call", {"name": "one", **more})
    assert ("content" in answer) == good


@in_results
async def test_an_expired_state_is_an_error(revision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with answering(asking(), revision, lambda asked: accept(name="Ada")) as client:
        more = await answered(client, {"name": "one"})
        later = time.time() + 3600
        monkeypatch.setattr("mcp_gen.server.input_requests.request_state.time.time", lambda: later)
        refused = await client.once("tools/call", {"name": "one", **more})
    assert refused["code"] == INVALID_PARAMS
    assert "expired" in refused["message"]


@in_results
async def test_a_bad_state_is_refused_though_the_tool_asks_nothing(revision: str) -> None:
    server = Server("quiet")
    ran: list[int] = []

    @server.tool
    async def quiet() -> str:
        ran.append(1)
        return "ran"

    async with answering(server, revision, lambda asked: None) as client:
        refused = await client.once("tools/call", {"name": "quiet", "requestState": ""})
    assert refused["code"] == INVALID_PARAMS
    assert ran == []


# --- once ---


async def test_what_is_kept_is_bounded_in_number() -> None:
    kept = MemoryOnceStore(60, time.monotonic, limit=2)
    names = [await kept.put(None, {"v": i}) for i in range(3)]
    assert [await kept.get(name) for name in names] == [{}, {"v": 1}, {"v": 2}]
    assert len(kept) == 2


async def test_what_is_kept_expires() -> None:
    now = [1.0]
    kept = MemoryOnceStore(60, lambda: now[0])
    name = await kept.put(None, {"v": 1})
    now[0] += 61
    assert await kept.get(name) == {}
    await kept.put(None, {"v": 2})
    assert len(kept) == 1


async def test_what_is_used_again_is_kept_longer() -> None:
    kept = MemoryOnceStore(60, time.monotonic, limit=2)
    first, second = await kept.put(None, {"v": 1}), await kept.put(None, {"v": 2})
    await kept.put(first, {"v": 1})
    await kept.put(None, {"v": 3})
    assert await kept.get(first) == {"v": 1}
    assert await kept.get(second) == {}
