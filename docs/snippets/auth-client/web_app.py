"""A web application whose users log in at an MCP server in their own browsers."""

import asyncio
from typing import Any
from urllib.parse import parse_qs, urlsplit

from mcp_gen import Client
from mcp_gen.auth import AuthorizationRequest, MemoryTokenStore, OAuth
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

store = MemoryTokenStore()
calls: set[asyncio.Task[str]] = set()
logins: dict[str, asyncio.Future[str]] = {}
"""Logins that wait for their browser, by the `state` of their links."""


async def whoami(user: str, asked: "asyncio.Future[AuthorizationRequest]") -> str:
    """Call a tool for a user of this application, who may have to log in."""

    async def on_authorize(request: AuthorizationRequest) -> str:
        state = parse_qs(urlsplit(request.url).query)["state"][0]
        logins[state] = asyncio.get_running_loop().create_future()
        asked.set_result(request)
        try:
            return await logins[state]
        finally:
            del logins[state]

    auth = OAuth(
        client_name="web app",
        redirect_uri="http://127.0.0.1:8002/callback",
        on_authorize=on_authorize,
        store=store,
        account=user,
    )
    async with Client("web-app", "1.0.0") as client:
        session = await client.connect("http://127.0.0.1:8000/mcp", auth=auth)
        return await session.call_tool("whoami", returns=str)


async def home(request: Request) -> Response:
    """Show the result; or what the user has to see before a login, and its link."""
    asked: asyncio.Future[AuthorizationRequest] = asyncio.get_running_loop().create_future()
    # A real application knows its user by a cookie of its own.
    call = asyncio.create_task(whoami("ada", asked))
    calls.add(call)
    call.add_done_callback(calls.discard)
    either: list[asyncio.Future[Any]] = [call, asked]
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    if not asked.done():
        return PlainTextResponse(f"you are {call.result()}\n")
    login = asked.result()
    return PlainTextResponse(
        f"{login.client_name} asks for: {' '.join(login.scopes or ['anything'])}\n"
        f"at the server: {login.resource}\n"
        f"log in at: {login.issuer}\n{login.url}\n"
    )


async def callback(request: Request) -> Response:
    """Hand the whole address on; `OAuth` checks it."""
    # A real application checks by its cookie that this is the user who began the login.
    waiting = logins.get(request.query_params.get("state", ""))
    if waiting is None or waiting.done():
        return PlainTextResponse("this login is over: begin again\n", 400)
    waiting.set_result(str(request.url))
    return RedirectResponse("/")


app = Starlette(routes=[Route("/", home), Route("/callback", callback)])
