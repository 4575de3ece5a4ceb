"""Recordings hold no secret, wherever it had stood."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_gen.compat.plugin.listening import listening
from mcp_gen.compat.recordings.lines import read_recording
from mcp_gen.compat.recordings.redactor import Redactor
from mcp_gen.compat.recordings.secret_names import PLACEHOLDER
from mcp_gen.compat.recordings.secret_texts import credentials_of
from mcp_gen.compat.recordings.taps.http import tap_url
from mcp_gen.compat.wire.openers import HttpOpener
from tests.compat.recordings.talking import WAIT_S, writer_of

MCP_GEN = (sys.executable, "-c", "from mcp_gen.cli import main; main()")
ECHO = """
import sys
for line in sys.stdin:
    print(line, end="", flush=True)
    print("planted-on-stderr", file=sys.stderr)
"""
"""A server that sends back each line."""


class Planted:
    """Makes secrets, and knows them all."""

    def __init__(self) -> None:
        self.known: list[str] = []

    def __call__(self, place: str) -> str:
        """Return a new secret for a place."""
        self.known.append(f"planted-{place}-{len(self.known)}x")
        return self.known[-1]

    def found_in(self, text: str) -> list[str]:
        """Return the secrets that a text holds."""
        return [secret for secret in self.known if secret in text]


def request(**params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def frames(planted: Planted) -> Iterator[bytes]:
    """Yield messages with secrets in every place, also in text that is no message."""
    messages: list[Any] = [
        request(name="a", arguments={"apiKey": planted("arguments"), "Access_Token": planted("a")}),
        request(name="a", arguments={"deep": [{"x": {"client-secret": planted("deep")}}]}),
        request(name="a", arguments={"passwords": [planted("list"), {"of": planted("object")}]}),
        request(name="a", arguments={"note": "…"}, _meta={"com.example/KEY": planted("meta")}),
        request(name="a", arguments={"body": planted("pointer")}),
        request(name="a", requestState=planted("state"), inputResponses={}),
        request(inputResponses={"api_key": {"action": "accept", "content": {"v": planted("v")}}}),
        request(ref={}, argument={"name": "api_key", "value": planted("completed")}),
        request(url=f"https://u:{planted('user')}@h.example/a?code={planted('query')}&x=1"),
        request(url=f"https://h.example/a#{planted('fragment')}"),
        request(arguments={"text": json.dumps({"token": planted("json-text")})}),
        request(arguments={"text": f"password={planted('prose')}, and more"}),
        request(arguments={"text": f"Authorization: Bearer {planted('bearer')}"}),
        {"jsonrpc": "2.0", "id": 1, "result": {"structuredContent": {"key": planted("result")}}},
        {"jsonrpc": "2.0", "id": 1, "result": {"requestState": planted("result-state")}},
        {
            "jsonrpc": "2.0",
            "id": 1,
            "result": {
                "tools": [
                    {
                        "name": "a",
                        "inputSchema": {"properties": {"token": {"default": planted("default")}}},
                    }
                ]
            },
        },
        {
            "jsonrpc": "2.0",
            "id": 1,
            "error": {"code": 1, "message": f"secret: {planted('error')}", "data": {}},
        },
        [request(arguments={"token": planted("batch")}), request(arguments={"key": planted("b")})],
    ]
    for message in messages:
        yield json.dumps(message).encode()
    yield f'{{"params": {{"api_key": "{planted("cut")}", "b": "{planted.known[0]}'.encode()
    yield f'{{"to\\u006ben": "{planted("escaped")}", }}'.encode()
    yield f'{{"password": {{"of": ["{planted("brackets")}", 12345678]}}, '.encode()
    yield b'{"a": "\xff", "token": "' + planted("latin").encode() + b'"}'
    yield f'{{"body": "{planted("cut-pointer")}'.encode()
    # What was a secret once is one in later messages, wherever it stands.
    for secret in list(planted.known):
        yield json.dumps(request(arguments={"text": f"again {secret} again"})).encode()
    yield (f"no JSON: {planted.known[1]}").encode()


def test_a_recording_over_stdio_holds_none_of_the_planted_secrets(tmp_path: Path) -> None:
    planted = Planted()
    sent = list(frames(planted))
    path = tmp_path / "talk.jsonl"
    command = [*MCP_GEN, "record", "-o", str(path), "--redact", "/params/arguments/body", "--"]
    command += [sys.executable, "-S", "-c", ECHO, "--token", planted("argument")]
    ran = subprocess.run(
        command,
        input=b"\n".join(sent) + b"\n",
        capture_output=True,
        env={**os.environ, "SHELF_API_KEY": planted("variable")},
        timeout=WAIT_S,
        check=True,
    )
    text = path.read_text("utf-8")
    assert planted.found_in(text) == []
    assert "planted-on-stderr" not in text
    assert planted.known[0] in ran.stdout.decode("latin-1"), "the tap changes nothing"
    lines = [line for line in read_recording(path).lines if line.kind == "message"]
    assert len(lines) == 2 * len(sent)
    assert len(PLACEHOLDER.findall(text)) > len(sent)


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Send back the body of a request: as JSON, or as events of a stream with ids."""
    if scope["type"] != "http":
        return
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    query = scope["query_string"]
    is_stream = b"stream" in scope["path"].encode()
    kind = b"text/event-stream" if is_stream else b"application/json"
    headers = [
        (b"content-type", kind),
        (b"set-cookie", b"id=" + query.partition(b"=")[2] + b"; Path=/"),
        (b"mcp-session-id", b"session-" + query.partition(b"=")[2]),
        (b"location", b"/next?" + query),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    if is_stream:
        events = b"event: endpoint\ndata: /messages?" + query + b"\n\n"
        events += b": a comment\nid: 1\nretry: 5\n\n"
        events += b"id: 2\ndata: " + body.replace(b"\n", b"\ndata: ") + b"\n\n"
        for at in range(0, len(events), 7):
            chunk = events[at : at + 7]
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        body = b""
    await send({"type": "http.response.body", "body": body})


@pytest.mark.parametrize("path", ["/mcp", "/stream"])
def test_a_recording_over_http_holds_none_of_the_planted_secrets(path: str, tmp_path: Path) -> None:
    planted = Planted()
    sent = list(frames(planted))
    file = tmp_path / "talk.jsonl"
    headers = {
        "Authorization": f"Bearer {planted('authorization')}",
        "Cookie": f"a={planted('cookie')}; b={planted('cookie')}",
        "DPoP": planted("dpop"),
        "X-Api-Key": planted("key"),
        "X-Amz-Security-Token": planted("header"),
        "Mcp-Session-Id": planted("session"),
        "Mcp-Param-Region": planted.known[0],
        "Referer": f"https://h.example/?x={planted('referer')}",
    }

    async def run() -> list[bytes]:
        writer = writer_of(file, "http")
        async with listening(app, path) as url, tap_url(url, writer) as (own, _):
            wire = HttpOpener(f"{own}?state={planted('query')}")("2025-11-25")
            for message in sent:
                exchange = await wire.send(message, headers)
                assert await wire.ended(exchange, WAIT_S)
            await wire.aclose()
        writer.aclose()
        return [
            event.data
            for event in wire.transcript.events
            if event.sender == "server" and event.kind == "message"
        ]

    came = asyncio.run(run())
    text = file.read_text("utf-8")
    assert planted.found_in(text) == []
    assert any(planted.found_in(one.decode("latin-1")) for one in came), "the tap changes nothing"
    # A text without JSON in it is no message of HTTP.
    assert text.count('"from":"client","kind":"message"') >= len(sent) - 1
    if path == "/stream":
        assert came == sent
        assert text.count('"fields":{"id":"2"}') >= len(sent)


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


FORMS: list[tuple[Callable[[str], Any], bool]] = [
    (lambda it: {"X-Auth": it}, False),
    (lambda it: {"passphrase": it}, False),
    (lambda it: {"headers": [["Authorization", it], ["Accept", "*/*"]]}, False),
    (lambda it: {"headers": [{"key": "Authorization", "value": it}]}, False),
    (lambda it: {"args": ["serve", "--token", it]}, False),
    (lambda it: {"inputSchema": {"token": it}}, False),
    (lambda it: json.dumps({"a": f'{{"tok\\u0065n": "{it}"}}'}), True),
    (lambda it: f"Authorization: ApiKey {it}", True),
    (lambda it: f'Authorization: Digest username="ada", response="{it}"', True),
    (lambda it: f"curl -H 'Cookie: a=1; session={it}' https://h.example", True),
    (lambda it: f"curl -u ada:{it} https://h.example", True),
    (lambda it: f"serve --api-token {it} --quiet", True),
    (lambda it: f"HOME=/root\nAWS_SECRET_ACCESS_KEY=a/b,c;{it}&d\nPATH=/bin", True),
    (lambda it: f"DATABASE_URL=postgres://ada:{it}@h.example/items", True),
    (lambda it: f"redis://:{it}@h.example:6379/0", True),
    (lambda it: f'password="with \\" quotes {it}"', True),
    (lambda it: f'config["token"] = "{it}"', True),
    (lambda it: f"{{:token => '{it}'}}", True),
    (lambda it: f"<token>{it}</token>", True),
    (lambda it: f"incorrect API key provided: {it}.", True),
    (lambda it: f"invalid token '{it}'", True),
    (lambda it: f"-----BEGIN PRIVATE KEY-----\n{it}\n-----END PRIVATE KEY-----", True),
    (lambda it: f"signed in with eyJhbGciOi.eyJzdWIi.{it}", True),
    (lambda it: encoded(f"token={it}"), True),
    (lambda it: encoded(json.dumps({"password": it})), True),
]
"""Forms of secrets, and True for those in a text."""


@pytest.mark.parametrize(("made", "is_in_texts"), FORMS)
def test_a_secret_is_known_by_its_form(made: Callable[[str], Any], is_in_texts: bool) -> None:
    secret = "planted-91form"
    value = made(secret)
    message = request(arguments={"text": value} if is_in_texts else value)
    redactor = Redactor()
    shown = json.dumps(redactor.message(message))
    assert secret not in shown
    assert encoded(f"token={secret}") not in shown
    assert redactor.message(json.loads(shown)) == json.loads(shown)


def test_a_header_that_is_a_path_has_no_values_of_its_query() -> None:
    shown = Redactor().headers({"location": "/next?token=planted-91form", "accept": "*/*"})
    assert shown["location"].startswith("/next?token=")
    assert "planted-91form" not in shown["location"]
    assert shown["accept"] == "*/*"


def test_a_secret_that_is_known_is_found_in_base64() -> None:
    redactor = Redactor(known=["planted-91form"])
    blob = encoded("\0\1 of no encoding \xff and planted-91form")
    assert blob not in json.dumps(redactor.message({"blob": blob}))


@pytest.mark.parametrize("word", ["tools/call", "string", "resource", "description"])
def test_a_secret_that_is_a_word_of_the_protocol_spoils_no_later_message(word: str) -> None:
    redactor = Redactor()
    assert redactor.message(request(arguments={"sort_key": word})) != request(
        arguments={"sort_key": word}
    )
    later: dict[str, Any] = {
        "method": "tools/call",
        "content": [{"type": "resource"}],
        "tools": [{"description": "…", "inputSchema": {"properties": {"description": {}}}}],
    }
    assert redactor.message(later) == later


@pytest.mark.parametrize(
    "value",
    [
        request(name="a", _meta={"progressToken": "p-1234567"}),
        request(messages=[], maxTokens=100),
        {"tools": [{"inputSchema": {"properties": {"apiKey": {"type": "string"}}}}]},
        request(arguments={"requires_key": True, "token": None, "secret": ""}),
        {"inputRequests": {"api_key": {"method": "elicitation/create", "params": {"a": 1}}}},
        request(uri="shelf://items?page=2"),
        {"message": "KeyError: 'None'; the missing key 'shelf_name' is not in the list"},
        {"text": "use --token to name it; ssh://git@h.example/a.git"},
        {"data": encoded("no secret at all, nowhere")},
    ],
)
def test_what_only_looks_like_a_secret_stays(value: Any) -> None:
    assert Redactor().message(value) == value


def test_of_a_secret_object_or_array_the_leaves_are_hidden_and_its_form_stays() -> None:
    given = {"password": ["planted-1", {"x": "planted-2"}, None, True, "", 5]}
    assert Redactor().message(given) == {
        "password": ["<redacted-1>", {"x": "<redacted-2>"}, None, True, "", "<redacted-number-3>"]
    }


def test_a_secret_has_the_same_placeholder_throughout_and_another_has_another() -> None:
    redactor = Redactor()
    first = redactor.message({"token": "planted-1"})
    assert redactor.message({"token": "planted-2"}) != first
    assert redactor.message({"key": "planted-1"})["key"] == first["token"]
    assert redactor.message({"a": "x planted-1 y"}) == {"a": f"x {first['token']} y"}


@pytest.mark.parametrize("text", ["api_key=planted-1 and more", "api_key=planted-1;more&more"])
def test_an_echo_is_replaced_as_what_it_repeats(text: str) -> None:
    redactor = Redactor()
    shown = redactor.message({"text": text})["text"]
    assert redactor.message({"text": f"you said {text}"}) == {"text": f"you said {shown}"}


def test_a_value_is_redacted_once() -> None:
    redactor = Redactor()
    once = redactor.message({"token": "planted-1", "url": "https://h.example/?a=bcdefgh"})
    assert redactor.message(once) == once


@pytest.mark.parametrize(
    ("pointer", "expected"),
    [
        ("/params/arguments/body", {"body": "<redacted-1>", "list": [{"a": 1}, {"a": 2}]}),
        (
            "/params/arguments/list/1",
            {"body": "b", "list": [{"a": 1}, {"a": "<redacted-number-1>"}]},
        ),
        (
            "/params/arguments/list",
            {"body": "b", "list": [{"a": "<redacted-number-1>"}, {"a": "<redacted-number-2>"}]},
        ),
        (
            "/params/arguments/list/*/a",
            {"body": "b", "list": [{"a": "<redacted-number-1>"}, {"a": "<redacted-number-2>"}]},
        ),
        ("/params/nothing", {"body": "b", "list": [{"a": 1}, {"a": 2}]}),
    ],
)
def test_a_pointer_names_what_is_replaced(pointer: str, expected: Any) -> None:
    message = request(arguments={"body": "b", "list": [{"a": 1}, {"a": 2}]})
    assert Redactor([pointer]).message(message)["params"]["arguments"] == expected


@pytest.mark.parametrize(
    "text",
    [
        *("key" * 50_000, '"\\' * 50_000, '{"token":' * 20_000, 'key="' * 30_000, "a.-_" * 50_000),
        *('"key": "\\' * 20_000, "-key" * 30_000, "a://b:" * 20_000, "cookie:" * 20_000),
    ],
)
def test_a_hostile_text_takes_no_longer_than_its_length_allows(text: str) -> None:
    redacted = Redactor().text(text)
    assert len(redacted) <= len(text) * 4


IN_BASE64 = base64.b64encode(b"ada:planted-1").decode()


@pytest.mark.parametrize(
    ("name", "value", "secrets"),
    [
        ("authorization", f"Basic {IN_BASE64}", [IN_BASE64, "planted-1"]),
        ("authorization", "basic x", ["x"]),
        ("authorization", f"Bearer {IN_BASE64}", [IN_BASE64]),
        ("cookie", "a=planted-1; b=planted-2", ["planted-1", "planted-2"]),
        ("set-cookie", "a=planted-1; Path=/", ["planted-1"]),
    ],
)
def test_the_secrets_of_a_header_are_found_in_its_value(
    name: str, value: str, secrets: list[str]
) -> None:
    assert [*credentials_of(name, value)] == secrets
