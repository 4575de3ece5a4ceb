"""The everything-server with tools that return details of the call."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal

from mcp_gen import Context, Server
from mcp_gen.client.connecting.python_code import load

server = load(str(Path(__file__).parents[3] / "examples/everything_server.py"))
assert isinstance(server, Server)


@dataclass
class Place:
    city: str
    country: str = "Norway"


@server.tool
async def take(
    text: str,
    whole: int,
    share: float,
    sure: bool,
    size: Literal["small", "large"],
    words: list[str],
    counts: dict[str, int],
    place: Place,
    day: date,
    nothing: str | None,
    left_out: int = 7,
) -> dict[str, Any]:
    """Return arguments of every kind as they were decoded."""
    return {
        "text": text,
        "whole": whole,
        "share": share,
        "sure": sure,
        "size": size,
        "words": words,
        "counts": counts,
        "place": [place.city, place.country],
        "day": day.isoformat(),
        "nothing": nothing,
        "left out": left_out,
    }


@server.tool
async def header(name: str, ctx: Context) -> str:
    """Return a header of the request."""
    return (ctx.headers or {}).get(name, "no such header")


@server.tool
async def meta(ctx: Context) -> dict[str, Any]:
    """Return the `_meta` of the request."""
    return ctx.meta or {}


@server.tool
async def variable(name: str) -> str:
    """Return an environment variable of the server."""
    return os.environ.get(name, "no such variable")


@server.tool
async def folder() -> str:
    """Return the working directory of the server."""
    return os.getcwd()


if __name__ == "__main__":
    server.run("stdio")
