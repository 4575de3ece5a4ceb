"""Spec tests of pagination."""

from __future__ import annotations

import base64
from itertools import permutations
from typing import Any

from mcp_gen import Server
from tests.support.peers.connect import Connect
from tests.support.peers.conversation import Conversation
from tests.support.requirement import requirement

NAMES = ["a", "b", "c", "d", "e", "f"]
LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}


def paged() -> Server:
    """Return a server with four lists in pages of two, and a tool that changes them."""
    server = Server("paged", page_size=2)

    def add(name: str) -> None:
        server.add_tool(lambda: "text", name=name)
        server.add_prompt(lambda: "text", name=name)
        server.add_resource(f"test://{name}", "text", name=name)
        server.add_resource_template(f"test://{name}/{{id}}", of, name=name)

    def remove(name: str) -> None:
        server.remove_tool(name)
        server.remove_prompt(name)
        server.remove_resource(f"test://{name}")
        server.remove_resource_template(f"test://{name}/{{id}}")

    async def of(id: str) -> str:
        return id

    for name in NAMES:
        add(name)

    @server.tool
    async def change(gone: list[str], come: list[str]) -> str:
        for name in gone:
            remove(name)
        for name in come:
            add(name)
        return "changed"

    return server


async def page(client: Conversation, method: str, cursor: str | None) -> tuple[list[str], Any]:
    """Return the names on a page, and the cursor of the next."""
    result = await client.request(method, {} if cursor is None else {"cursor": cursor})
    names = [item["name"] for item in result[LISTS[method]] if item["name"] != "change"]
    return names, result.get("nextCursor")


@requirement("pagination:cursors:stable")
async def test_a_cursor_stays_good_while_items_come_and_go(connect: Connect) -> None:
    async with connect(paged) as client:
        second = {}
        for method in LISTS:
            first, second[method] = await page(client, method, None)
            assert first == ["a", "b"]
        # Remove the items up to the cursor, its own included, and add items at the end.
        await client.call("change", gone=["a", "b", "d"], come=["g"])
        for method, cursor in second.items():
            rest = []
            while cursor is not None:
                names, cursor = await page(client, method, cursor)
                rest += names
            assert rest == ["c", "e", "f", "g"], method


@requirement("pagination:cursors:stable")
async def test_a_cursor_can_be_used_again(connect: Connect) -> None:
    async with connect(paged) as client:
        for method in LISTS:
            _, cursor = await page(client, method, None)
            second = await page(client, method, cursor)
            assert second[0] == ["c", "d"]
            assert await page(client, method, cursor) == second


@requirement("pagination:cursors:invalid")
async def test_a_cursor_that_the_server_did_not_make_is_invalid_params(connect: Connect) -> None:
    async with connect(paged) as client:
        for method in LISTS:
            _, cursor = await page(client, method, None)
            made = [cursor[:-4], cursor + "AAAA", cursor[::-1], base64.b64encode(b"2").decode()]
            for other in ("", "1", "nonsense", "é", " ", *made, 7, {}):
                refused = await client.refusal(method, {"cursor": other})
                assert refused.code == -32602, (method, other)


@requirement("pagination:cursors:invalid")
async def test_a_cursor_of_another_list_is_invalid_params(connect: Connect) -> None:
    async with connect(paged) as client:
        for method, other in permutations(LISTS, 2):
            _, cursor = await page(client, other, None)
            refused = await client.refusal(method, {"cursor": cursor})
            assert refused.code == -32602, (method, other)
