"""`/healthz` and `/readyz` beside the endpoint."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from mcp_gen import Server, UsageError
from mcp_gen.transports.health import HealthChecks
from tests.support.frames import PER_REQUEST, Speaker
from tests.support.http.asgi import headers_of, request
from tests.support.http.gated import FakeGate

STATE = {"healthz": b'{"status":"ok"}', "readyz": b'{"status":"ready"}'}


async def get(app: Any, path: str, **more: Any) -> tuple[int, bytes]:
    reply = await request(app, method="GET", path=path, **more)
    return reply.status, reply.body


@pytest.mark.parametrize("path", STATE)
async def test_a_server_that_runs_is_well_and_ready(path: str) -> None:
    app = Server("shop").asgi(health=True)
    reply = await request(app, method="GET", path=f"/{path}")
    assert (reply.status, reply.body) == (200, STATE[path])
    assert reply.headers == {
        "content-length": str(len(STATE[path])),
        "content-type": "application/json",
        "cache-control": "no-store",
    }
    await app.aclose()


@pytest.mark.parametrize("path", STATE)
async def test_there_are_no_health_checks_unless_they_are_asked_for(path: str) -> None:
    app = Server("shop").asgi()
    assert await get(app, f"/{path}") == (404, b"")
    await app.aclose()


@pytest.mark.parametrize("path", STATE)
async def test_health_checks_need_no_token_and_no_host(path: str) -> None:
    app = Server("shop").asgi(health=True, auth=FakeGate(), allowed_hosts=["mcp.example.org"])
    refused = await request(app, b"{}", {"host": "mcp.example.org"})
    assert refused.status == 401
    found = await get(app, f"/{path}", headers={"host": "10.0.0.7"}, server=("10.0.0.7", 80))
    assert found == (200, STATE[path])
    await app.aclose()


@pytest.mark.parametrize("path", STATE)
async def test_health_checks_are_below_the_path_of_a_mount(path: str) -> None:
    app = Server("shop").asgi(health=True)
    site: Any = Starlette(routes=[Mount("/api", app)])
    assert await get(site, f"/api/{path}") == (200, STATE[path])
    assert (await get(site, f"/{path}"))[0] == 404
    await app.aclose()


async def test_head_gets_the_status_alone() -> None:
    app = Server("shop").asgi(health=True)
    reply = await request(app, method="HEAD", path="/readyz")
    assert (reply.status, reply.body) == (200, b"")
    await app.aclose()


async def test_other_methods_have_no_answer_there() -> None:
    reply = await request(Server("shop").asgi(health=True), b"{}", path="/readyz")
    assert (reply.status, reply.headers["allow"]) == (405, "GET, HEAD")


async def test_a_server_whose_lifespan_fails_is_well_and_not_ready(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def connect() -> None:
        raise OSError("no database at db.internal")

    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[None]:
        connect()
        yield

    app = Server("shop", lifespan=lifespan).asgi(health=True)
    for _ in range(3):
        assert await get(app, "/readyz") == (503, b'{"status":"not started"}')
    assert (await get(app, "/healthz"))[0] == 200
    logged = [record for record in caplog.records if record.name == "mcp_gen.server"]
    assert len(logged) == 1
    assert "no database" in caplog.text


async def test_a_server_that_no_lifespan_event_has_started_is_started_by_its_first_check() -> None:
    entered = list[str]()

    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[None]:
        entered.append(server.name)
        yield

    app = Server("shop", lifespan=lifespan).asgi(health=True)
    assert (await get(app, "/healthz"))[0] == 200
    assert entered == []
    for _ in range(2):
        assert (await get(app, "/readyz"))[0] == 200
    assert entered == ["shop"]
    await app.aclose()


async def test_a_server_that_drains_is_well_and_not_ready() -> None:
    server = Server("shop")
    app = server.asgi(health=True)
    assert (await get(app, "/readyz"))[0] == 200
    await app.drain()
    assert await get(app, "/readyz") == (503, b'{"status":"draining"}')
    assert (await get(app, "/healthz"))[0] == 200
    message = Speaker(PER_REQUEST).request(1, "server/discover")
    answered = await request(app, message, headers_of(Speaker(PER_REQUEST), message))
    assert answered.status == 200
    await app.aclose()


async def test_a_server_whose_store_is_down_is_not_ready_until_it_is_back() -> None:
    up = False
    checks = HealthChecks(lambda: up)

    async def ready() -> tuple[int, bytes]:
        answer = await checks.answer("GET", "/readyz", None, draining=False)
        return answer.status, answer.body

    assert await ready() == (503, b'{"status":"store down"}')
    up = True
    assert await ready() == (200, b'{"status":"ready"}')


@pytest.mark.parametrize("path", STATE)
def test_an_endpoint_at_the_path_of_a_health_check_is_refused(path: str) -> None:
    with pytest.raises(UsageError, match=f"path '/{path}': health=True answers there"):
        Server("shop").asgi(f"/{path}", health=True)
