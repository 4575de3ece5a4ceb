"""Request forgery through metadata: clients and servers are led to addresses of others."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import pytest

from mcp_gen.auth import ClientCredentials, JwtVerifier, ResourceServer
from mcp_gen.core.errors import AuthError, TransportError
from tests.auth.fetching.network import (
    ANOTHER_PUBLIC,
    PRIVATE,
    PUBLIC,
    Internet,
    server_tls,
)
from tests.auth.server.requests import ask, bearer
from tests.hostile.auth.attack import PASSED, Attack, Case, attacks
from tests.hostile.auth.test_tokens import signed
from tests.hostile.auth.world import Clock, opened_world
from tests.support.http.loopback import Got, Line, Web, scripted_web

RESOURCE = "https://mcp.example/mcp"
ISSUER = "https://as.example"
LOCAL = "where a server elsewhere may not lead"
NEVER = "nothing is sent there"


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the proxies of the environment: through one, addresses are not checked."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("ALL_PROXY", raising=False)


class Site:
    """Both servers, at all addresses; attributes say what their documents are."""

    def __init__(self) -> None:
        self.issuer = ISSUER
        self.token_endpoint = f"{ISSUER}/token"
        self.location: Mapping[str, str] = {}
        """Redirects, by path."""
        self.challenge = ""

    async def __call__(self, got: Got, line: Line) -> None:
        host = got.headers["host"]
        if got.path in self.location:
            await line.answer(302, location=self.location[got.path])
        elif got.path == "/mcp":
            await line.answer(401, www_authenticate=f"Bearer {self.challenge}".strip())
        elif "oauth-protected-resource" in got.path:
            await self.json(line, {"resource": RESOURCE, "authorization_servers": [self.issuer]})
        elif "oauth-authorization-server" in got.path:
            # Of whoever is asked.
            known = self.issuer if self.issuer.partition("//")[2] == host else f"https://{host}"
            await self.json(line, {"issuer": known, "token_endpoint": self.token_endpoint})
        elif got.path == "/token":
            await self.json(line, {"access_token": "t", "token_type": "Bearer"})
        else:
            await line.answer(404)

    async def json(self, line: Line, document: Any) -> None:
        await line.answer(200, msgspec.json.encode(document))


def client(net: Internet, **options: Any) -> ClientCredentials:
    """Return a client that has its token from wherever the server says."""
    return ClientCredentials("machine", "its-secret", fetcher=net.fetcher(**options))


async def logged_in(net: Internet, **options: Any) -> str:
    auth = client(net, **options)
    try:
        await auth.login(RESOURCE)
    except (AuthError, TransportError) as error:
        return f"{type(error).__name__}: {error}"
    finally:
        await auth.aclose()
    return PASSED


def to_token(web: Web) -> list[str]:
    """Return the hosts that were asked for a token, with the secret."""
    return [got.headers["host"] for got in web.got if got.path == "/token"]


def internet(web: Web, names: Mapping[str, Sequence[Sequence[str]]]) -> Internet:
    places = {one for answers in names.values() for found in answers for one in found}
    usual = {PUBLIC, ANOTHER_PUBLIC, PRIVATE, "127.0.0.1"}
    return Internet(names, dict.fromkeys(places | usual, web))


GOOD = (PUBLIC,)


def address(name: str, *found: str, refusal: str = LOCAL) -> Attack[tuple[str, ...]]:
    return Attack(name, found, GOOD, refusal)


@attacks(
    "addresses of an authorization server",
    address("private", "10.0.0.1"),
    address("private, the second range", "172.16.0.1"),
    address("private, the third range", "192.168.1.1"),
    address("carrier-grade NAT", "100.64.0.1"),
    address("loopback", "127.0.0.1"),
    address("loopback beyond its first address", "127.8.8.8"),
    address("loopback of IPv6", "::1"),
    address("unique local", "fd00::1"),
    address("site local", "fec0::1"),
    address("mapped private", "::ffff:10.0.0.1"),
    address("mapped loopback", "::ffff:127.0.0.1"),
    address("private behind NAT64", "64:ff9b::10.0.0.1"),
    address("link-local", "169.254.1.1", refusal=NEVER),
    address("cloud metadata", "169.254.169.254", refusal=NEVER),
    address("mapped cloud metadata", "::ffff:169.254.169.254", refusal=NEVER),
    address("cloud metadata behind NAT64", "64:ff9b::a9fe:a9fe", refusal=NEVER),
    address("cloud metadata of Amazon at IPv6", "fd00:ec2::254", refusal=NEVER),
    address("cloud metadata of Google at IPv6", "fd20:ce::254", refusal=NEVER),
    address("cloud metadata of Alibaba", "100.100.100.200", refusal=NEVER),
    address("platform service of Azure", "168.63.129.16", refusal=NEVER),
    address("link-local of IPv6", "fe80::1", refusal=NEVER),
    address("this host", "0.0.0.0", refusal=NEVER),
    address("this host at IPv6", "::", refusal=NEVER),
    address("multicast", "224.0.0.1", refusal=NEVER),
    address("broadcast", "255.255.255.255", refusal=NEVER),
    address("6to4 of a private one", "2002:a00:1::", refusal=NEVER),
    address("Teredo", "2001:0:a00:1::", refusal=NEVER),
    address("IPv4-compatible", "::10.0.0.1", refusal=NEVER),
    address("one bad among good", PUBLIC, "10.0.0.1"),
    address("another NAT64 prefix", "64:ff9b:1::10.0.0.1", refusal=NEVER),
)
async def test_a_public_server_leads_nobody_into_a_network(case: Case[tuple[str, ...]]) -> None:
    async with scripted_web(Site(), server_tls()) as web:
        names = {"mcp.example": [[ANOTHER_PUBLIC]], "as.example": [list(case.given)]}
        net = internet(web, names)
        case.judge(await logged_in(net), to_token(web))
        assert set(net.connected) <= {ANOTHER_PUBLIC, PUBLIC}


def url(name: str, hostile: str, refusal: str) -> Attack[str]:
    return Attack(name, hostile, ISSUER, refusal)


@attacks(
    "URLs of an authorization server",
    url("an address", "https://10.0.0.1", LOCAL),
    url("loopback by name", "https://localhost", LOCAL),
    url("loopback by a name below", "https://a.localhost", LOCAL),
    url("loopback with a dot", "https://localhost.", LOCAL),
    url("loopback in brackets", "https://[::1]", LOCAL),
    url("mapped loopback", "https://[::ffff:7f00:1]", LOCAL),
    url("one number", "https://2130706433", f"{LOCAL}|{NEVER}|valid host"),
    url("a hexadecimal number", "https://0x7f000001", f"{LOCAL}|{NEVER}|valid host"),
    url("octal numbers", "https://0177.0.0.1", f"{LOCAL}|{NEVER}|valid host"),
    url("fewer numbers", "https://127.1", f"{LOCAL}|{NEVER}|valid host"),
    url("a zone", "https://[fe80::1%25eth0]", f"{NEVER}|valid host|is not safe"),
    url("http on loopback", "http://127.0.0.1:9", LOCAL),
    url("full-width digits", "https://\uff11\uff12\uff17.0.0.1", "not safe|valid host"),
    url("circled letters", "https://\u24dbocalhost", "not safe|valid host"),
    url("a file", "file:///etc/passwd", "is not safe"),
    url("gopher", "gopher://127.0.0.1:6379/_FLUSHALL", "is not safe"),
    url("a line break", f"{ISSUER}\r\nHost: 10.0.0.1", "is not safe"),
    url("a backslash", "https://as.example\\@10.0.0.1", "is not safe"),
)
async def test_no_spelling_of_an_address_leads_into_a_network(case: Case[str]) -> None:
    site = Site()
    site.issuer = case.given
    async with scripted_web(site, server_tls()) as web:
        names: dict[str, list[list[str]]] = {
            "mcp.example": [[ANOTHER_PUBLIC]],
            "as.example": [[PUBLIC]],
            # As the C library reads them.
            **{name: [["127.0.0.1"]] for name in ("2130706433", "0x7f000001", "0177.0.0.1")},
            **{name: [["127.0.0.1"]] for name in ("127.1", "localhost", "a.localhost")},
        }
        net = internet(web, names)
        case.judge(await logged_in(net), to_token(web))
        assert set(net.connected) <= {ANOTHER_PUBLIC, PUBLIC}


class Names(NamedTuple):
    """Addresses of the authorization server: of its first resolution, of the second, and so on."""

    answers: tuple[tuple[str, ...], ...]


@attacks(
    "answers of DNS that change",
    Attack(
        "private between metadata and token",
        Names(((PUBLIC,), ("10.0.0.1",))),
        Names(((PUBLIC,), (ANOTHER_PUBLIC,))),
        LOCAL,
    ),
    Attack(
        "cloud metadata between metadata and token",
        Names(((PUBLIC,), ("169.254.169.254",))),
        Names(((PUBLIC,), (PUBLIC,))),
        NEVER,
    ),
    Attack(
        "loopback at the first request",
        Names((("127.0.0.1",), (PUBLIC,))),
        Names(((PUBLIC,), (PUBLIC,))),
        LOCAL,
    ),
)
async def test_each_request_goes_to_an_address_that_was_checked_for_it(case: Case[Names]) -> None:
    async with scripted_web(Site(), server_tls()) as web:
        net = internet(web, {"mcp.example": [[ANOTHER_PUBLIC]], "as.example": case.given.answers})
        case.judge(await logged_in(net), to_token(web))
        assert set(net.connected) <= {ANOTHER_PUBLIC, PUBLIC}
        # One resolution for one connection: nothing is resolved behind the check.
        assert net.resolved.count("as.example") <= 2


@attacks(
    "a server that changes its own address",
    Attack("to lead to its class", True, False, LOCAL),
)
async def test_a_name_at_a_private_address_for_a_moment_opens_no_network(case: Case[bool]) -> None:
    """The configured host may lead within its own network: only with its certificate there."""
    site = Site()
    site.issuer = "https://as.corp.example" if case.given else ISSUER
    site.token_endpoint = f"{site.issuer}/token"
    async with scripted_web(site, server_tls()) as web:
        names = {
            "mcp.example": [[ANOTHER_PUBLIC], [ANOTHER_PUBLIC], ["10.0.0.1"]],
            "as.example": [[PUBLIC]],
            "as.corp.example": [[PRIVATE]],
        }
        net = Internet(names, dict.fromkeys((PUBLIC, ANOTHER_PUBLIC), web))
        case.judge(await logged_in(net), to_token(web))
        assert PRIVATE not in net.connected


@attacks(
    "redirects of metadata",
    Attack("to a private address", "https://10.0.0.1/x", "https://as.example/x", "redirect"),
    Attack("to a private name", "https://as.corp.example/x", "https://as.example/x", "redirect"),
    Attack("to loopback", "https://127.0.0.1/x", "https://as.example/x", "redirect"),
    Attack(
        "to cloud metadata",
        "https://169.254.169.254/latest/meta-data",
        "https://as.example/x",
        NEVER,
    ),
    Attack("to http", "http://as.example/x", "https://as.example/x", "https"),
    Attack("to http on loopback", "http://127.0.0.1/x", "https://as.example/x", "redirect"),
    Attack("to a file", "file:///etc/passwd", "https://as.example/x", "valid host"),
    Attack("to user info", "https://a:b@as.example/x", "https://as.example/x", "user"),
    Attack("to its own place", "/.well-known/oauth-authorization-server", "/x", "at most 3 times"),
)
async def test_a_redirect_leads_into_no_network(case: Case[str]) -> None:
    site = Site()
    site.location = {"/.well-known/oauth-authorization-server": case.given}
    documents = {"issuer": ISSUER, "token_endpoint": f"{ISSUER}/token"}

    async def script(got: Got, line: Line) -> None:
        if got.path == "/x":
            await site.json(line, documents)
        else:
            await site(got, line)

    async with scripted_web(script, server_tls()) as web:
        names = {
            "mcp.example": [[ANOTHER_PUBLIC]],
            "as.example": [[PUBLIC]],
            "as.corp.example": [[PRIVATE]],
        }
        net = internet(web, names)
        case.judge(await logged_in(net), to_token(web))
        assert set(net.connected) <= {ANOTHER_PUBLIC, PUBLIC}


@attacks(
    "endpoints in metadata",
    Attack("a token endpoint at a private address", "https://10.0.0.1/token", None, LOCAL),
    Attack("a token endpoint at a private name", "https://as.corp.example/token", None, LOCAL),
    Attack("a token endpoint on loopback", "http://127.0.0.1/token", None, LOCAL),
    Attack("a token endpoint at cloud metadata", "https://169.254.169.254/token", None, NEVER),
)
async def test_no_secret_is_sent_into_a_network(case: Case[str | None]) -> None:
    site = Site()
    site.token_endpoint = case.given or site.token_endpoint
    async with scripted_web(site, server_tls()) as web:
        names = {
            "mcp.example": [[ANOTHER_PUBLIC]],
            "as.example": [[PUBLIC]],
            "as.corp.example": [[PRIVATE]],
        }
        net = internet(web, names)
        case.judge(await logged_in(net), to_token(web))
        assert set(net.connected) <= {ANOTHER_PUBLIC, PUBLIC}


@attacks(
    "a challenge that names metadata in a network",
    Attack("at a private address", "https://10.0.0.1/prm", "https://as.example/prm", LOCAL),
    Attack("at cloud metadata", "https://169.254.169.254/prm", "https://as.example/prm", NEVER),
    Attack("over http", "http://as.example/prm", "https://as.example/prm", "is not safe"),
    Attack("in a file", "file:///etc/passwd", "https://as.example/prm", "is not safe"),
)
async def test_metadata_is_not_fetched_from_a_network(case: Case[str]) -> None:
    site = Site()
    site.challenge = f'resource_metadata="{case.given}"'

    async def script(got: Got, line: Line) -> None:
        if got.path == "/prm":
            await site.json(line, {"resource": RESOURCE, "authorization_servers": [ISSUER]})
        elif "oauth-protected-resource" in got.path:
            await line.answer(404)
        else:
            await site(got, line)

    async with scripted_web(script, server_tls()) as web:
        names = {"mcp.example": [[ANOTHER_PUBLIC]], "as.example": [[PUBLIC]]}
        net = internet(web, names)
        case.judge(await logged_in(net), to_token(web))
        assert set(net.connected) <= {ANOTHER_PUBLIC, PUBLIC}


@attacks(
    "hosts that are allowed by name",
    Attack("another name below", "https://as.corp.example", "https://idp.corp.example", LOCAL),
)
async def test_an_allowed_host_opens_no_other(case: Case[str]) -> None:
    site = Site()
    site.issuer, site.token_endpoint = case.given, f"{case.given}/token"
    async with scripted_web(site, server_tls()) as web:
        names = {
            "mcp.example": [[ANOTHER_PUBLIC]],
            "as.corp.example": [[PRIVATE]],
            "idp.corp.example": [[PRIVATE]],
        }
        net = internet(web, names)
        outcome = await logged_in(net, allow_hosts=["idp.corp.example"])
        case.judge(outcome, to_token(web))
        assert (PRIVATE in net.connected) != case.is_hostile


@attacks(
    "keys of a resource server",
    Attack("at a private address", "https://10.0.0.1/jwks", f"{ISSUER}/jwks", "^503"),
    Attack("at cloud metadata", "https://169.254.169.254/jwks", f"{ISSUER}/jwks", "^503"),
    Attack("on loopback", "http://127.0.0.1/jwks", f"{ISSUER}/jwks", "^503"),
    Attack("in a file", "file:///etc/passwd", f"{ISSUER}/jwks", "^503"),
)
async def test_a_resource_server_fetches_no_keys_from_a_network(case: Case[str]) -> None:
    async with opened_world() as world, asyncio.timeout(20):
        token = signed(world)

        async def script(got: Got, line: Line) -> None:
            if got.path == "/jwks":
                await line.answer(200, msgspec.json.encode(world.server.keys.public()))
            else:
                document = {"issuer": ISSUER, "jwks_uri": case.given}
                await line.answer(200, msgspec.json.encode(document))

        async with scripted_web(script, server_tls()) as web:
            net = internet(web, {"as.example": [[PUBLIC]]})
            verifier = JwtVerifier(ISSUER, fetcher=net.fetcher(), clock=Clock())
            gate = ResourceServer(
                ISSUER, audience="https://api.example/mcp", verifier=verifier, clock=Clock()
            )
            found: Any = await ask(gate, bearer(token))
            outcome = f"{found.status} {found.message}" if hasattr(found, "status") else PASSED
            case.judge(outcome, [got for got in web.got if got.path == "/jwks"])
            assert set(net.connected) == {PUBLIC}
            await gate.aclose()
