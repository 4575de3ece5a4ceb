"""Checks the examples that mount a server beside other routes."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from tests.support.frames import PER_REQUEST, Speaker
from tests.support.http.asgi import headers_of, request

EXAMPLES = Path(__file__).parents[1] / "examples"
NEW = Speaker(PER_REQUEST)


@pytest.mark.parametrize("example", ["starlette_app", "fastapi_app"])
async def test_a_server_is_mounted_beside_other_routes(example: str) -> None:
    app: Any = runpy.run_path(str(EXAMPLES / f"{example}.py"))["app"]
    home = await request(app, method="GET", path="/")
    assert b"/tools/mcp" in home.body
    message = NEW.call(1, "count", item="bolt")
    reply = await request(app, message, headers_of(NEW, message), path="/tools/mcp")
    assert reply.json["result"]["structuredContent"] == 4
