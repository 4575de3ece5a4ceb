"""Which servers are reached from where, and that nothing else is connected to."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager

import pytest

from mcp_gen.auth.flows.exchange import Flow, HttpAnswer, HttpAsk, Purpose
from mcp_gen.core.errors import AuthError, TransportError
from tests.auth.fetching.network import (
    ANOTHER_PUBLIC,
    PRIVATE,
    PUBLIC,
    Internet,
    client_tls,
    get,
    post,
    server_tls,
)
from tests.support.http.loopback import Got, Line, Web, scripted_web

RESOURCE = "https://mcp.example/mcp"


async def answer(got: Got, line: Line) -> None:
    await line.answer(200, b"{}")


@asynccontextmanager
async def internet(
    names: Mapping[str, Sequence[Sequence[str]]],
) -> AsyncGenerator[tuple[Internet, Web]]:
    """Every address that a name has is that of one server."""
    async with scripted_web(answer, server_tls()) as web:
        places = {one for answers in names.values() for found in answers for one in found}
        yield Internet(names, dict.fromkeys(places, web)), web


# --- by the address that is connected to, and the name that is meant ---


async def test_the_address_is_connected_to_and_host_and_certificate_are_of_the_name() -> None:
    async with internet({"as.example": [[PUBLIC]]}) as (net, web):
        await net.fetcher().run(get("https://as.example/x"))
        assert (net.connected, web.got[0].headers["host"]) == ([PUBLIC], "as.example")


async def test_a_server_with_the_certificate_of_another_name_receives_no_request() -> None:
    asyncio.get_running_loop().set_debug(False)
    async with internet({"as.test": [[PUBLIC]]}) as (net, web):
        with pytest.raises(TransportError, match=r"as\.test: cannot be reached: .*certificate"):
            await net.fetcher().run(get("https://as.test/"))
        assert web.got == []


async def test_a_name_is_resolved_once_so_that_its_next_address_does_not_matter() -> None:
    async with internet({"as.example": [[PUBLIC], [PRIVATE]]}) as (net, _):
        await net.fetcher().run(get("https://as.example/"))
        assert (net.resolved, net.connected) == (["as.example"], [PUBLIC])


async def test_a_name_that_moves_to_a_private_address_is_refused_from_then_on() -> None:
    async with internet({"as.example": [[PUBLIC], [PRIVATE]]}) as (net, _):
        fetcher = net.fetcher()
        await fetcher.run(get("https://as.example/"))
        with pytest.raises(AuthError, match=r"as\.example is at a private address"):
            await fetcher.run(post("https://as.example/token"))
        assert net.connected == [PUBLIC]


async def test_the_next_address_is_tried_if_one_does_not_accept() -> None:
    async with scripted_web(answer, server_tls()) as web:
        names = {"as.example": [[ANOTHER_PUBLIC, PUBLIC]]}
        net = Internet(names, {PUBLIC: web})
        await net.fetcher().run(get("https://as.example/"))
        assert net.connected == [ANOTHER_PUBLIC, PUBLIC]


async def test_a_host_without_an_address_is_named() -> None:
    async with internet({"as.example": [[]]}) as (net, _):
        with pytest.raises(TransportError, match=r"as\.example has no address"):
            await net.fetcher().run(get("https://as.example/"))


# --- from a public server ---


@pytest.mark.parametrize(
    "address",
    [PRIVATE, "127.0.0.1", "::1", "100.64.0.1", "fd00::1", "::ffff:10.0.0.1", "64:ff9b::10.0.0.1"],
)
@pytest.mark.parametrize("configured", [None, RESOURCE])
async def test_a_public_server_cannot_lead_to_private_addresses_and_loopback(
    address: str, configured: str | None
) -> None:
    names = {"as.example": [[address]], "mcp.example": [[PUBLIC]]}
    async with internet(names) as (net, web):
        with pytest.raises(AuthError, match=r'allow it: allow_hosts=\["as\.example"\]'):
            await net.fetcher().run(get("https://as.example/"), configured=configured)
        assert (net.connected, web.got) == ([], [])


@pytest.mark.parametrize("address", ["169.254.169.254", "fd00:ec2::254", "2002:a00:1::", "0.0.0.0"])
@pytest.mark.parametrize("configured", [None, RESOURCE, "https://as.example/mcp"])
async def test_nothing_is_sent_to_metadata_services_even_if_the_host_is_allowed(
    address: str, configured: str | None
) -> None:
    async with internet({"as.example": [[address]], "mcp.example": [[PRIVATE]]}) as (net, _):
        fetcher = net.fetcher(allow_hosts=["as.example"])
        with pytest.raises(AuthError, match="nothing is sent there"):
            await fetcher.run(post("https://as.example/"), configured=configured)
        assert net.connected == []


async def test_one_bad_address_among_good_ones_is_enough_to_refuse_a_host() -> None:
    async with internet({"as.example": [[PUBLIC, "10.0.0.1", ANOTHER_PUBLIC]]}) as (net, _):
        with pytest.raises(AuthError, match="private address"):
            await net.fetcher().run(get("https://as.example/"))
        assert net.connected == []


async def test_errors_do_not_tell_the_addresses_of_a_network() -> None:
    async with internet({"as.example": [[PRIVATE]]}) as (net, _):
        with pytest.raises(AuthError) as caught:
            await net.fetcher().run(get("https://as.example/?secret=1"))
        assert PRIVATE not in str(caught.value)
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize("addresses", [[PUBLIC], ["127.0.0.1", PUBLIC]])
async def test_http_to_a_name_of_loopback_that_is_elsewhere_is_refused(
    addresses: list[str],
) -> None:
    async with internet({"localhost": [addresses]}) as (net, _):
        with pytest.raises(AuthError, match="expected https: localhost is not on loopback"):
            await net.fetcher().run(get("http://localhost/"), configured="http://localhost/")


# --- from a server that was configured at such an address ---


async def test_an_internal_server_with_its_certificate_leads_to_internal_servers() -> None:
    names = {"mcp.corp.example": [[PRIVATE]], "as.corp.example": [["10.9.9.9"]]}
    async with internet(names) as (net, _):
        flow = get("https://as.corp.example/")
        answered = await net.fetcher().run(flow, configured="https://mcp.corp.example/mcp")
        assert answered.body == b"{}"


async def test_a_server_without_its_certificate_leads_to_no_internal_server() -> None:
    asyncio.get_running_loop().set_debug(False)
    # Public when the client connected, and private now.
    names = {"mcp.test": [[PRIVATE]], "as.example": [["10.9.9.9"]]}
    async with internet(names) as (net, web):
        with pytest.raises(AuthError, match="private address"):
            await net.fetcher().run(get("https://as.example/"), configured="https://mcp.test/mcp")
        assert (net.connected, web.got) == ([PRIVATE], [])


async def test_a_server_counts_for_nothing_if_certificates_are_not_verified() -> None:
    names = {"mcp.corp.example": [[PRIVATE]], "as.corp.example": [["10.9.9.9"]]}
    trusting = client_tls()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    async with internet(names) as (net, _):
        fetcher, configured = net.fetcher(ssl_context=trusting), "https://mcp.corp.example/mcp"
        with pytest.raises(AuthError, match="private address"):
            await fetcher.run(get("https://as.corp.example/"), configured=configured)
        assert net.connected == []


async def test_a_server_that_is_also_at_an_impossible_address_counts_for_nothing() -> None:
    names = {"mcp.corp.example": [["169.254.1.1", PRIVATE]], "as.corp.example": [["10.9.9.9"]]}
    async with internet(names) as (net, _):
        with pytest.raises(AuthError, match="private address"):
            await net.fetcher().run(
                get("https://as.corp.example/"), configured="https://mcp.corp.example/mcp"
            )
        assert net.connected == []


async def test_the_class_of_a_configured_server_is_learned_once_in_a_while() -> None:
    clock = [0.0]
    names = {"mcp.corp.example": [[PRIVATE]], "as.corp.example": [["10.9.9.9"]]}
    async with internet(names) as (net, _):
        fetcher = net.fetcher(clock=lambda: clock[0])
        url, configured = "https://as.corp.example/token", "https://mcp.corp.example/mcp"
        for clock[0] in (0.0, 59.0, 61.0):
            await fetcher.run(post(url), configured=configured)
        assert net.connected.count(PRIVATE) == 2


async def test_an_internal_server_does_not_lead_to_loopback() -> None:
    names = {"mcp.corp.example": [[PRIVATE]], "as.corp.example": [["127.0.0.1"]]}
    async with internet(names) as (net, web):
        with pytest.raises(AuthError, match="is at a loopback address"):
            await net.fetcher().run(
                get("https://as.corp.example/"), configured="https://mcp.corp.example/mcp"
            )
        # Its certificate was looked at, and nothing sent.
        await web.met(1)
        assert web.got == []


@pytest.mark.parametrize(
    "configured", ["http://localhost:3000/mcp", "http://127.0.0.1/mcp", "http://[::1]:8000/"]
)
async def test_a_server_on_loopback_leads_to_servers_on_loopback(configured: str) -> None:
    async with scripted_web(answer) as web:
        net = Internet({"localhost": [["::1", "127.0.0.1"]]}, {"127.0.0.1": web})
        await net.fetcher().run(get("http://localhost:9000/"), configured=configured)
        assert len(web.got) == 1


async def test_a_server_on_loopback_does_not_lead_to_internal_servers() -> None:
    async with internet({"as.corp.example": [[PRIVATE]]}) as (net, _):
        with pytest.raises(AuthError, match="private address"):
            await net.fetcher().run(
                get("https://as.corp.example/"), configured="http://localhost:3000/mcp"
            )


@pytest.mark.parametrize("address", [PRIVATE, "127.0.0.1"])
async def test_the_configured_server_itself_may_be_at_such_an_address(address: str) -> None:
    async with internet({"mcp.example": [[address]]}) as (net, web):
        await net.fetcher().run(get("https://mcp.example/.well-known/x"), configured=RESOURCE)
        assert len(web.got) == 1


@pytest.mark.parametrize("address", [PRIVATE, "127.0.0.1"])
async def test_an_allowed_host_may_be_at_such_an_address(address: str) -> None:
    async with internet({"idp.corp.example": [[address]]}) as (net, web):
        fetcher = net.fetcher(allow_hosts=["IdP.corp.example."])
        await fetcher.run(post("https://idp.corp.example:8443/token"), configured=RESOURCE)
        assert len(web.got) == 1


async def test_an_allowed_host_does_not_allow_hosts_below_it() -> None:
    async with internet({"x.corp.example": [[PRIVATE]]}) as (net, _):
        with pytest.raises(AuthError, match="private address"):
            await net.fetcher(allow_hosts=["corp.example"]).run(get("https://x.corp.example/"))


# --- what a flow sees ---


async def test_a_flow_may_go_on_after_a_request_that_could_not_be_sent() -> None:
    def flow() -> Flow[HttpAnswer]:
        try:
            return (yield HttpAsk("GET", "https://gone.example/", Purpose.SERVER_METADATA))
        except TransportError:
            return (yield HttpAsk("GET", "https://as.example/", Purpose.SERVER_METADATA))

    async with internet({"gone.example": [[]], "as.example": [[PUBLIC]]}) as (net, _):
        assert (await net.fetcher().run(flow())).status == 200


async def test_a_refused_address_ends_a_flow_that_goes_on_after_failures() -> None:
    def flow() -> Flow[HttpAnswer]:
        try:
            return (yield HttpAsk("GET", "https://inside.example/", Purpose.SERVER_METADATA))
        except TransportError:
            return (yield HttpAsk("GET", "https://as.example/", Purpose.SERVER_METADATA))

    async with internet({"inside.example": [[PRIVATE]], "as.example": [[PUBLIC]]}) as (net, _):
        with pytest.raises(AuthError, match=r'allow_hosts=\["inside\.example"\]'):
            await net.fetcher().run(flow())


async def test_a_flow_that_does_not_end_is_ended() -> None:
    def flow() -> Flow[None]:
        while True:
            yield HttpAsk("GET", "https://as.example/", Purpose.JWKS, {"cache-control": "no-cache"})

    async with internet({"as.example": [[PUBLIC]]}) as (net, web):
        with pytest.raises(AuthError, match=r"more than 3 requests were needed .*max_requests"):
            await net.fetcher(max_requests=3).run(flow())
        assert len(web.got) == 3


async def test_a_flow_is_closed_when_it_is_given_up() -> None:
    closed: list[bool] = []

    def endless() -> Flow[None]:
        try:
            while True:
                yield HttpAsk("GET", "https://as.example/", Purpose.SERVER_METADATA)
        finally:
            closed.append(True)

    async with internet({"as.example": [[PUBLIC]]}) as (net, _):
        flow = endless()
        with pytest.raises(AuthError):
            await net.fetcher(max_requests=1).run(flow)
        assert closed == [True]


async def test_a_header_with_a_line_break_is_not_sent_and_not_quoted() -> None:
    async with internet({"as.example": [[PUBLIC]]}) as (net, web):
        with pytest.raises(TransportError, match="character that is not allowed") as caught:
            await net.fetcher().run(get("https://as.example/", authorization="hunter2\r\nx: y"))
        assert ("hunter2" in str(caught.value), web.got) == (False, [])
