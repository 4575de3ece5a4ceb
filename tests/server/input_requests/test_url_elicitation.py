"""URL elicitation: requested, required by an error, and completed by a notification."""

from __future__ import annotations

from typing import Any

import pytest

import mcp_wire
from mcp_gen import Context, Server, UrlElicitation, UrlElicitationRequired
from tests.support.frames import ALL, every_revision
from tests.support.peers.answering import EVERYTHING, IN_RESULTS, LIVE, answering

PAGE = "https://example.org/connect"
URLS = [one for one in ALL if mcp_wire.profile(one).url_elicitation != "none"]
LIVE_URLS = [one for one in URLS if one in LIVE]
ACCEPT, DECLINE = {"action": "accept"}, {"action": "decline"}

urls = pytest.mark.parametrize("revision", URLS)
live_urls = pytest.mark.parametrize("revision", LIVE_URLS)
urls_in_results = pytest.mark.parametrize("revision", [one for one in URLS if one in IN_RESULTS])
without_urls = pytest.mark.parametrize("revision", [one for one in ALL if one not in URLS])


def sending(elicitation_id: str | None = None) -> Server:
    server = Server("sending")

    @server.tool
    async def send(ctx: Context) -> str:
        answer = await ctx.elicit_url("Connect first", PAGE, elicitation_id=elicitation_id)
        return repr(answer)

    return server


@urls
@pytest.mark.parametrize(
    ("given", "text"),
    [
        (ACCEPT, "Accepted(content=None, action='accept')"),
        (DECLINE, "Declined(action='decline')"),
        ({"action": "cancel"}, "Cancelled(action='cancel')"),
    ],
    ids=["accept", "decline", "cancel"],
)
async def test_a_user_is_sent_to_a_page(revision: str, given: Any, text: str) -> None:
    async with answering(sending(), revision, lambda asked: given) as client:
        assert await client.text("send") == text
    (asked,) = client.asked
    elicitation_id = asked.params.pop("elicitationId", None)
    assert asked.params == {"mode": "url", "message": "Connect first", "url": PAGE}
    assert (elicitation_id is not None) == (revision in LIVE)


@live_urls
async def test_an_id_of_the_handlers_own_is_used(revision: str) -> None:
    async with answering(sending("mine"), revision, lambda asked: ACCEPT) as client:
        await client.text("send")
    assert client.asked[0].params["elicitationId"] == "mine"


# --- URL elicitation before a request ---


def insisting(done: list[str]) -> Server:
    server = Server("insisting")

    @server.tool
    async def insist(ctx: Context) -> str:
        if not done:
            raise UrlElicitationRequired(
                [UrlElicitation("Connect first", PAGE, "mine"), UrlElicitation("And pay", PAGE)],
                "two pages to go",
            )
        return "done"

    return server


@live_urls
async def test_a_handler_insists_on_pages_with_the_error_of_the_revision(revision: str) -> None:
    done: list[str] = []
    async with answering(insisting(done), revision, lambda asked: None) as client:
        error = await client.call("insist")
        done.append("there")
        assert await client.text("insist") == "done"
    made_up = error["data"]["elicitations"][1].pop("elicitationId")
    assert made_up not in ("mine", "")
    assert error == {
        "code": -32042,
        "message": "two pages to go",
        "data": {
            "elicitations": [
                {
                    "mode": "url",
                    "message": "Connect first",
                    "url": PAGE,
                    "elicitationId": "mine",
                },
                {"mode": "url", "message": "And pay", "url": PAGE},
            ]
        },
    }
    assert client.asked == []


@urls_in_results
async def test_a_handler_insists_on_pages_with_questions(revision: str) -> None:
    done: list[str] = []

    def give(asked: Any) -> Any:
        if len(client.asked) == 4:
            done.append("there")
        return ACCEPT

    async with answering(insisting(done), revision, give) as client:
        assert await client.text("insist") == "done"
    # The user was sent there twice: accepting a URL elicitation does not complete it.
    assert [one.message for one in client.asked] == ["Connect first", "And pay"] * 2
    assert {tuple(one.params) for one in client.asked} == {("mode", "message", "url")}


@urls_in_results
async def test_a_user_who_refuses_a_page_ends_the_request(revision: str) -> None:
    async with answering(insisting([]), revision, lambda asked: DECLINE) as client:
        error = await client.call("insist")
    assert error == {"code": -32600, "message": "two pages to go; the user has refused"}
    assert len(client.rounds) == 1


@without_urls
async def test_a_handler_cannot_insist_where_there_are_no_pages(revision: str) -> None:
    async with answering(insisting([]), revision, lambda asked: None) as client:
        error = await client.call("insist")
    assert error["data"] == {"requiredCapabilities": {"elicitation": {"url": {}}}}


@urls
async def test_a_handler_cannot_insist_where_the_client_shows_none(revision: str) -> None:
    forms = {"elicitation": {}}
    async with answering(insisting([]), revision, lambda asked: None, capabilities=forms) as client:
        error = await client.call("insist")
    assert error["data"] == {"requiredCapabilities": {"elicitation": {"url": {}}}}


@every_revision
async def test_insisting_in_a_hook_is_an_invalid_request(revision: str) -> None:
    server = insisting(["done"])

    @server.hooks.before_call_tool
    async def before(ctx: Context, params: Any) -> None:
        raise UrlElicitationRequired([UrlElicitation("Connect first", PAGE)])

    async with answering(server, revision, lambda asked: None) as client:
        error = await client.call("insist")
    assert error == {
        "code": -32600,
        "message": "the user has to open a page before this can be done",
    }


# --- completed URL elicitations ---


@every_revision
async def test_a_client_is_told_that_its_user_is_done_where_there_is_a_word_for_it(
    revision: str,
) -> None:
    server = Server("telling")

    @server.tool
    async def tell(ctx: Context) -> str:
        await ctx.elicitation_complete("mine")
        return "told"

    async with answering(server, revision, lambda asked: None) as client:
        assert await client.text("tell") == "told"
    said = [{"elicitationId": "mine"}] if revision in LIVE_URLS else []
    assert [one["params"] for one in client.told] == said


@live_urls
async def test_only_the_client_whose_user_was_sent_there_is_told(revision: str) -> None:
    server = sending("mine")
    async with (
        answering(server, revision, lambda asked: ACCEPT) as client,
        answering(server, revision, lambda asked: ACCEPT) as other,
    ):
        await client.text("send")
        await server.notify.elicitation_complete("mine")
        await server.notify.elicitation_complete("mine")
        await server.notify.elicitation_complete("of nobody")
        for one in (client, other):
            await one.once("ping", {})
    assert [one["params"] for one in client.told] == [{"elicitationId": "mine"}]
    assert other.told == []


@live_urls
async def test_a_mounted_server_tells_the_client_whose_user_it_sent_there(revision: str) -> None:
    server, inner = Server("outer"), sending("mine")
    server.mount("in", inner)
    async with answering(server, revision, lambda asked: ACCEPT) as client:
        await client.text("in_send")
        await inner.notify.elicitation_complete("mine")
        await client.once("ping", {})
    assert [one["params"] for one in client.told] == [{"elicitationId": "mine"}]


@live_urls
async def test_a_client_is_told_of_a_page_that_was_insisted_on(revision: str) -> None:
    server = insisting([])
    async with answering(server, revision, lambda asked: None) as client:
        await client.call("insist")
        await server.notify.elicitation_complete("mine")
        await client.once("ping", {})
    assert [one["params"] for one in client.told] == [{"elicitationId": "mine"}]


@every_revision
async def test_telling_of_a_page_that_nobody_was_sent_to_is_nothing(revision: str) -> None:
    server = sending()
    async with answering(server, revision, lambda asked: ACCEPT, capabilities=EVERYTHING) as client:
        await server.notify.elicitation_complete("of nobody")
        await client.once("tools/list", {})
    assert client.told == []
