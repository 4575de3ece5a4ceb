"""A users' program: arguments of calls as models, Structs, dataclasses and attrs classes."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import TypedDict

import attrs
import msgspec
import pydantic

from mcp_gen import ClientManager, ClientSession, Server


class Model(pydantic.BaseModel):
    city: str


class Record(msgspec.Struct):
    city: str


@dataclass
class Data:
    city: str


@attrs.define
class Attrs:
    city: str


class Typed(TypedDict):
    city: str


async def calls(session: ClientSession, manager: ClientManager) -> None:
    await session.call_tool("weather", Model(city="Ulm"))
    await session.call_tool("weather", Record("Ulm"))
    await session.call_tool("weather", Data("Ulm"))
    await session.call_tool("weather", Attrs("Ulm"))
    await session.call_tool("weather", Typed(city="Ulm"))
    await session.call_tool("weather", {"day": datetime.date(2026, 1, 2), "at": Data("Ulm")})
    await session.start_tool("weather", Data("Ulm"))
    await session.get_prompt("ask", {"day": datetime.date(2026, 1, 2)})
    await session.get_prompt("ask", Model(city="Ulm"))
    await manager.call_tool("mcp__one__weather", Record("Ulm"))
    await manager.get_prompt("mcp__one__ask", Data("Ulm"))


server = Server("loose", unknown_arguments="ignore")


@server.tool(unknown_arguments="refuse")
async def weather(city: str, **more: int) -> Model:
    return Model(city=city)


@server.prompt(unknown_arguments="ignore")
def ask(day: datetime.date) -> str:
    return f"{day}"
