"""Examination of servers that want a token: of what everybody sees, and with a token of all."""

from __future__ import annotations

import mcp_wire
from mcp_gen import Server
from mcp_gen.auth import ResourceServer, StaticTokens
from mcp_gen.compat.doctor.server_examination import examine_server
from mcp_gen.compat.reference.http.endpoint import ReferenceEndpoint
from mcp_gen.compat.reference.http.exchanges import EndpointRequest, EndpointResponse
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.report.model import Report
from mcp_gen.compat.requirements.manifest import rows
from mcp_gen.compat.wire.openers import HttpOpener
from tests.compat.examining import HTTP_TIMEOUT_S
from tests.support.frames import HANDSHAKE, every_revision
from tests.support.http.loopback import serving

ISSUER = "https://login.example"
SEEN = {row.id for row in rows() if row.id.startswith("authorization:") and not row.unseen}
UNAUTHORIZED = "authorization:challenge:unauthorized"
TOKEN = {"Authorization": "Bearer token-of-ann"}


async def report_on(url: str, revision: str, **headers: str) -> Report:
    return await examine_server(
        HttpOpener(url, headers=headers),
        target="protected",
        transport="http",
        revisions=(revision,),
        timeout_s=HTTP_TIMEOUT_S,
        areas=("authorization", "base", "lifecycle", "tools"),
    )


def verdicts(report: Report) -> dict[str, str]:
    return {one.requirement: one.verdict for one in report.outcomes if one.requirement in SEEN}


def protected() -> Server:
    server = Server("protected")

    @server.tool
    async def add(a: int, b: int) -> int:
        return a + b

    return server


@every_revision
async def test_our_protected_server_breaks_no_rule_with_a_token_and_without(revision: str) -> None:
    gate = ResourceServer(
        ISSUER,
        audience="api",
        scopes=["mcp"],
        verifier=StaticTokens({"token-of-ann": {"sub": "ann", "scope": "mcp"}}),
    )
    async with serving(protected().asgi(auth=gate, legacy_sse_path="/sse")) as web:
        for headers in ({}, TOKEN):
            report = await report_on(web.url, revision, **headers)
            assert {one.requirement: one.findings for one in report.failed()} == {}
            assert set(verdicts(report).values()) <= {"passed"}
            agreed = report.openings[0].agreed
            assert (report.openings[0].answer, agreed) == (
                ("agreed", revision) if headers else ("status 401", None)
            ) or mcp_wire.profile(revision).http_transport == "sse_pair"


async def test_a_server_that_wants_no_token_is_not_judged_by_how_it_refuses() -> None:
    endpoint = ReferenceEndpoint(lambda: ReferenceServer(HANDSHAKE), HANDSHAKE)
    async with endpoint.serving() as url:
        report = await report_on(url, HANDSHAKE)
    reasons = {one.why for one in report.outcomes if one.requirement in SEEN}
    assert reasons == {"the server wants no token"}


class TrustsItsSessions(ReferenceEndpoint):
    """Wants a token to open a session, and none in it."""

    async def respond(self, request: EndpointRequest) -> EndpointResponse:
        is_outside = request.session is None or self.is_opening(request)
        if is_outside and "authorization" not in request.headers:
            line = 'Bearer scope="mcp"'
            return EndpointResponse(status=401, headers={"WWW-Authenticate": line})
        return await super().respond(request)


class GuardsItsOpening(ReferenceEndpoint):
    """Wants a token to open a session, and none for a request outside of one."""

    async def respond(self, request: EndpointRequest) -> EndpointResponse:
        if self.is_opening(request) and "authorization" not in request.headers:
            line = 'Bearer scope="mcp"'
            return EndpointResponse(status=401, headers={"WWW-Authenticate": line})
        if request.session is None and not self.is_opening(request):
            return EndpointResponse(status=200, body=b"{}")
        return await super().respond(request)


async def test_a_server_that_guards_nothing_but_its_opening_is_found_out() -> None:
    endpoint = GuardsItsOpening(lambda: ReferenceServer(HANDSHAKE), HANDSHAKE)
    async with endpoint.serving() as url:
        report = await report_on(url, HANDSHAKE)
    (found,) = [one for one in report.failed() if one.requirement == UNAUTHORIZED]
    came = [f"a {method} gets status 200" for method in ("POST", "GET")]
    assert [one.came for one in found.findings] == came


async def test_a_server_whose_session_stands_for_a_token_is_found_out_with_one() -> None:
    endpoint = TrustsItsSessions(lambda: ReferenceServer(HANDSHAKE), HANDSHAKE)
    async with endpoint.serving() as url:
        without = await report_on(url, HANDSHAKE)
        report = await report_on(url, HANDSHAKE, **TOKEN)
    assert verdicts(without)[UNAUTHORIZED] == "passed"
    (found,) = [one for one in report.failed() if one.requirement == UNAUTHORIZED]
    came = "in a session that was opened with one it gets status 200"
    assert [one.came for one in found.findings] == [came]


class NamesAnotherSite(TrustsItsSessions):
    """Says that its metadata are on another server."""

    at = ""

    async def respond(self, request: EndpointRequest) -> EndpointResponse:
        found = await super().respond(request)
        if found.status == 401:
            found.headers["WWW-Authenticate"] = f'Bearer resource_metadata="{self.at}"'
        return found


async def test_metadata_of_another_site_are_not_asked_for() -> None:
    endpoint = NamesAnotherSite(lambda: ReferenceServer(HANDSHAKE), HANDSHAKE)
    async with serving(Server("idle").asgi()) as web, endpoint.serving() as url:
        endpoint.at = f"{web.origin}/secret"
        report = await report_on(url, HANDSHAKE, **TOKEN)
        assert web.got == []
    reasons = {one.requirement: one.why for one in report.outcomes}
    assert reasons["authorization:metadata:found"].startswith("the metadata are at another origin")
