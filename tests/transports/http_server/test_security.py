"""DNS-rebinding protection and CORS: Host and Origin are checked first."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_gen import Server, UsageError
from mcp_gen.transports.http_server.security import OriginGuard
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker
from tests.support.http.asgi import Reply, begin, end, headers_of, open_request, request
from tests.support.peers.talker import Talker
from tests.support.requirement import requirement

NEW, OLD = Speaker(PER_REQUEST), Speaker(HANDSHAKE)
LOCAL = ("127.0.0.1", 8000)
PUBLIC = ("192.0.2.7", 8000)


async def ask(headers: dict[str, str], server: Any = LOCAL, **options: Any) -> Reply:
    """Call a tool at this address with these headers."""
    app = Talker().server.asgi(**options)
    message = NEW.call(1, "echo", text="a")
    return await request(app, message, {**headers_of(NEW, message), **headers}, server=server)


async def admitted(headers: dict[str, str], server: Any = LOCAL, **options: Any) -> bool:
    reply = await ask(headers, server, **options)
    if reply.status == 200:
        return True
    assert reply.status == 403
    assert reply.json["error"]["code"] == -32600
    assert "id" not in reply.json
    return False


# --- over loopback ---


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "LocalHost"])
@pytest.mark.parametrize("port", ["", ":8000", ":1"])
async def test_over_loopback_its_names_are_served_on_any_port(
    address: str, host: str, port: str
) -> None:
    assert await admitted({"host": host + port}, (address, 8000))


@pytest.mark.parametrize(
    "host",
    [
        "evil.example.com",
        "evil.example.com:8000",
        "localhost.evil.example.com",
        "evil-localhost",
        "127.0.0.1.evil.example.com",
        "localhost:",
        "localhost.",
        "0.0.0.0",
        "192.0.2.7",
    ],
)
async def test_over_loopback_no_other_host_is_served(host: str) -> None:
    assert not await admitted({"host": host})


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1@evil.example.com",
        "localhost:8000:8000",
        "localhost:http",
        "::1",
        "",
        "localhost, evil.example.com",
        "localhost\xb2",
        None,
    ],
)
async def test_over_loopback_one_host_must_be_named(host: str | None) -> None:
    reply = await ask({} if host is None else {"host": host})
    assert (reply.status, reply.json["error"]["code"]) == (400, -32600)


@pytest.mark.parametrize(
    "origin",
    ["http://localhost", "http://localhost:6274", "https://127.0.0.1:1", "http://[::1]:8000"],
)
async def test_over_loopback_pages_of_this_machine_are_served(origin: str) -> None:
    assert await admitted({"host": "localhost", "origin": origin})


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example.com",
        "http://localhost.evil.example.com",
        "http://localhost@evil.example.com",
        "http://localhost:80@evil.example.com",
        "https://evil.example.com/localhost",
        "file://",
        "null",
        "",
        "localhost",
        "ftp://localhost",
        "http://localhost, http://evil.example.com",
    ],
)
async def test_over_loopback_no_other_page_is_served(origin: str) -> None:
    assert not await admitted({"host": "localhost", "origin": origin})


async def test_over_loopback_what_is_listed_is_served_as_well() -> None:
    lists = {"allowed_hosts": ["mcp.example.org"], "allowed_origins": ["https://example.org"]}
    assert await admitted({"host": "MCP.example.org", "origin": "https://example.org"}, **lists)
    assert await admitted({"host": "localhost", "origin": "http://localhost"}, **lists)
    assert not await admitted({"host": "localhost", "origin": "https://example.org:444"}, **lists)


@pytest.mark.parametrize("method", ["GET", "DELETE", "OPTIONS", "POST"])
async def test_every_method_is_refused_to_a_foreign_page(method: str) -> None:
    app = Talker().server.asgi(cors=True)
    headers = {"host": "localhost", "origin": "http://evil.example.com"}
    reply = await request(app, headers=headers, method=method, server=LOCAL)
    assert reply.status == 403
    assert not [name for name in reply.headers if name.startswith("access-control")]


async def reached(revision: str, origin: str) -> dict[tuple[str, str], Reply]:
    """Return the status of each endpoint for a page of this origin, by method and path."""
    profile = Speaker(revision).profile
    paired = profile.http_transport == "sse_pair"
    endpoints = [("GET", "/sse"), ("POST", "/sse/messages")] if paired else [("POST", "/mcp")]
    if profile.session_header:
        endpoints += [("GET", "/mcp"), ("DELETE", "/mcp")]
    app = Talker().server.asgi(legacy_sse_path="/sse")
    headers = {"host": "localhost", "origin": origin}
    found: dict[tuple[str, str], Reply] = {}
    for method, path in endpoints:
        opened = open_request(app, b"{}", headers, method=method, path=path, server=LOCAL)
        found[method, path] = await opened.head()
        opened.hang_up()
        await opened.ended()
    await app.aclose()
    return found


@requirement("http:origin")
async def test_the_origin_of_every_connection_is_checked(revision: str) -> None:
    ours = await reached(revision, "http://localhost:6274")
    others = await reached(revision, "http://evil.example.com")
    assert 403 not in {reply.status for reply in ours.values()}
    assert {reply.status for reply in others.values()} == {403}


@requirement("http:origin:refused")
async def test_a_foreign_page_is_told_why_it_is_refused(revision: str) -> None:
    for reply in (await reached(revision, "http://evil.example.com")).values():
        assert (reply.status, reply.json["error"]["code"]) == (403, -32600)
        assert "id" not in reply.json


# --- from elsewhere ---


@pytest.mark.parametrize("server", [PUBLIC, None, ("/run/server.sock", None)])
async def test_from_elsewhere_any_host_is_served_unless_some_are_listed(server: Any) -> None:
    assert await admitted({"host": "mcp.example.org"}, server)
    assert await admitted({}, server)


@pytest.mark.parametrize(
    ("host", "served"),
    [
        ("mcp.example.org", True),
        ("mcp.example.org:8443", True),
        ("other.example.org:8443", True),
        ("other.example.org", False),
        ("other.example.org:443", False),
        ("localhost", False),
        ("evil.example.com", False),
    ],
)
async def test_from_elsewhere_listed_hosts_are_served(host: str, *, served: bool) -> None:
    listed = ["mcp.example.org", "other.example.org:8443"]
    assert await admitted({"host": host}, PUBLIC, allowed_hosts=listed) is served


@pytest.mark.parametrize("origin", ["http://localhost", "https://mcp.example.org", "null"])
async def test_from_elsewhere_no_page_is_served_that_is_not_listed(origin: str) -> None:
    assert not await admitted({"host": "mcp.example.org", "origin": origin}, PUBLIC)


async def test_from_elsewhere_listed_pages_are_served() -> None:
    listed = ["https://app.example.org"]
    headers = {"host": "mcp.example.org", "origin": "https://app.example.org"}
    assert await admitted(headers, PUBLIC, allowed_origins=listed)


# --- the lists ---


@pytest.mark.parametrize("hosts", [["*"], ["*.example.org"], ["https://a.org"], [""], "a.org"])
def test_hosts_are_listed_by_their_names(hosts: Any) -> None:
    with pytest.raises(UsageError, match="allowed_hosts"):
        Server("hosts").asgi(allowed_hosts=hosts)


@pytest.mark.parametrize(
    "origins",
    [["*"], ["https://*.a.org"], ["a.org"], ["https://a.org/"], ["null"], "https://a.org"],
)
def test_origins_are_listed_as_browsers_send_them(origins: Any) -> None:
    with pytest.raises(UsageError, match="allowed_origins"):
        Server("origins").asgi(allowed_origins=origins)


@pytest.mark.parametrize(
    ("more_bytes", "remembered"), [(0, 1), (1, 0)], ids=["at the limit", "above it"]
)
def test_a_check_is_remembered_by_the_length_of_both_headers(
    more_bytes: int, remembered: int
) -> None:
    guard, host = OriginGuard(None, None), b"localhost"
    origin = b"http://" + b"x" * (256 - len(host) - len(b"http://") + more_bytes)
    guard.check(("127.0.0.1", 80), host, origin)
    assert len(guard._known) == remembered


def test_what_was_asked_before_is_remembered_within_limits() -> None:
    guard = OriginGuard(None, None)
    for number in range(3000):
        assert guard.check(LOCAL, b"host%d" % number, None)
    assert guard.check(LOCAL, b"h" * 300, None)
    assert 0 < len(guard._known) <= 1024
    assert max(len(host or b"") for _, host, _ in guard._known) < 300


# --- pages of other origins ---


PAGE = {"host": "localhost", "origin": "http://localhost:6274"}


async def test_a_page_may_read_answers_if_the_server_wants_it() -> None:
    reply = await ask(PAGE, cors=True)
    assert reply.headers["access-control-allow-origin"] == PAGE["origin"]
    assert "mcp-session-id" in reply.headers["access-control-expose-headers"]
    assert reply.headers["vary"] == "origin"


async def test_a_page_may_read_refusals_and_streams() -> None:
    app = Talker().server.asgi(cors=True)
    session = await begin_on(app)
    for reply in (
        await request(app, headers=PAGE, method="PUT", server=LOCAL),
        await request(app, b"nonsense", PAGE, server=LOCAL),
        await request(app, b"", PAGE, path="/other", server=LOCAL),
        await request(app, OLD.call(1, "say", words=["a"]), {**PAGE, **session}, server=LOCAL),
    ):
        assert reply.headers["access-control-allow-origin"] == PAGE["origin"]
    await request(app, headers={**PAGE, **session}, method="DELETE", server=LOCAL)


async def begin_on(app: Any) -> dict[str, str]:
    reply = await request(app, OLD.initialize(0), PAGE, server=LOCAL)
    return {"mcp-session-id": reply.headers["mcp-session-id"]}


async def test_a_page_is_told_nothing_unless_the_server_wants_it() -> None:
    reply = await ask(PAGE)
    assert not [name for name in reply.headers if name.startswith("access-control")]


async def test_a_browser_that_asks_beforehand_is_told_what_a_page_may_send() -> None:
    app = Talker().server.asgi(cors=True)
    asked = "content-type, MCP-Session-Id, mcp-method, mcp-param-region, x-secret"
    headers = {
        **PAGE,
        "access-control-request-method": "POST",
        "access-control-request-headers": asked,
    }
    reply = await request(app, headers=headers, method="OPTIONS", server=LOCAL)
    assert (reply.status, reply.body) == (204, b"")
    assert reply.headers["access-control-allow-origin"] == PAGE["origin"]
    assert reply.headers["access-control-allow-methods"] == "GET, POST, DELETE"
    granted = reply.headers["access-control-allow-headers"].split(", ")
    assert granted == ["content-type", "mcp-session-id", "mcp-method", "mcp-param-region"]


@pytest.mark.parametrize("end", ["\x01", "\xff", "a b", ":"])
async def test_what_cannot_be_a_header_does_not_come_back_in_one(end: str) -> None:
    app = Talker().server.asgi(cors=True)
    headers = {**PAGE, "access-control-request-headers": f"mcp-param-{end}, content-type"}
    reply = await request(app, headers=headers, method="OPTIONS", server=LOCAL)
    assert reply.headers["access-control-allow-headers"] == "content-type"


# --- headers of a POST ---


@pytest.mark.parametrize(
    "kind",
    ["application/json", "application/json; charset=utf-8", "Application/JSON", None],
)
async def test_a_message_is_json(kind: str | None) -> None:
    headers = {"content-type": kind} if kind else {}
    assert (await ask(headers, PUBLIC)).status == 200


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonx",
        "",
        "multipart/form-data",
    ],
)
async def test_what_is_not_said_to_be_json_is_refused(kind: str) -> None:
    reply = await ask({"content-type": kind}, PUBLIC)
    assert (reply.status, reply.json["error"]["code"]) == (415, -32600)


@pytest.mark.parametrize("accept", ["text/html", "image/*", "application/json;q=0", ""])
async def test_a_client_must_take_one_of_the_two_kinds_of_answers(accept: str) -> None:
    reply = await ask({"accept": accept}, PUBLIC)
    assert (reply.status, reply.json["error"]["code"]) == (406, -32600)


async def test_refusals_leave_sessions_alone() -> None:
    app = Talker().server.asgi()
    session = await begin(app, OLD)
    foreign = {**session, "origin": "http://evil.example.com"}
    assert (await request(app, headers=foreign, method="DELETE")).status == 403
    assert (await request(app, OLD.request(1, "ping"), session)).status == 200
    await end(app, session)
