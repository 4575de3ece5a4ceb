"""Errors for type checkers: exactly the lines that end in `# refused`. Never run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mcp_gen import Client, ClientSession, Retry, Server, UrlElicitation
from mcp_wire import latest


@dataclass
class Point:
    x: int


def wrong_mounts(client: Client, session: ClientSession) -> None:
    server = Server("outer")
    server.mount("far", client)  # refused
    server.mount("far", "https://example.org/mcp")  # refused
    server.mount(session, "far")  # refused


def wrong_handlers(client: Client) -> None:
    def of_a_form(session: ClientSession, params: latest.ElicitRequestFormParams) -> int:
        return 1

    def of_a_page(session: ClientSession, page: UrlElicitation) -> bool:
        return True

    def without_params(session: ClientSession) -> latest.CreateMessageResult:
        raise NotImplementedError

    def of_another(
        session: ClientSession, params: latest.ElicitRequestFormParams
    ) -> latest.CreateMessageResult:
        raise NotImplementedError

    client.elicitation(of_a_form)  # refused
    client.url_elicitation(of_a_page)  # refused
    client.sampling(without_params)  # refused
    client.sampling(of_another)  # refused
    client.sampling(tools="yes")  # refused
    Client("c", sampling=of_another)  # refused
    Client("c", elicitation=of_a_page)  # refused
    Client("c", validation="loose")  # refused
    Client("c", log_level="loud")  # refused
    Client("c", roots=[1])  # refused


async def wrong_calls(session: ClientSession) -> None:
    await session.call_tool("t", returns=0)  # refused
    number: str = await session.call_tool("t", returns=int)  # refused
    await session.call_tool("t", ["a"])  # refused
    await session.get_prompt("p", "a")  # refused
    session.watch(tools="yes")  # refused
    async with session.watch(b"a") as changes:  # refused
        del changes
    del number


def wrong_middleware_and_notifications(client: Client) -> None:
    def not_async(session: Any, method: str, params: Any, call_next: Any) -> int:
        return 1

    async def without_next(session: Any, method: str, params: Any) -> Any:
        return params

    async def of_text(session: ClientSession, params: str) -> None:
        raise NotImplementedError

    async def without_method(session: ClientSession, params: Any) -> None:
        raise NotImplementedError

    client.middleware(not_async)  # refused
    client.add_middleware(without_next)  # refused
    client.add_sending_middleware(Retry)  # refused
    client.notification("acme/moved", params=Point)(of_text)  # refused
    client.notification("acme/moved", params=Point(1))  # refused
    client.on_unknown_notification(without_method)  # refused
    Retry(first_delay="1")  # refused


async def wrong_custom_messages(client: Client, session: ClientSession) -> None:
    point: int = await session.request("acme/at", returns=Point)  # refused
    await session.request("acme/at", returns=1)  # refused
    await session.request(b"acme/at")  # refused
    await session.notify(b"acme/moved")  # refused
    names: list[str] = client.sessions()  # refused
    del point, names
