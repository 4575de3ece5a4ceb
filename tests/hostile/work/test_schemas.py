"""Hostile JSON Schemas stop neither a client nor a server: other calls are answered meanwhile."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import mcp_wire
from mcp_gen import (
    Client,
    ClientSession,
    Context,
    InvalidResult,
    McpError,
    PeerLimits,
    ProtocolError,
    Server,
    UncheckedResult,
    UsageError,
)
from mcp_gen.client.callbacks.answers import CallbackAnswers
from mcp_gen.client.callbacks.callbacks import ClientCallbacks
from mcp_gen.core.transport.header_params import MARK, marked_params
from mcp_wire import latest
from tests.client.scripted import CannedServer
from tests.hostile.work.hostile_schemas import (
    BAD,
    FITS,
    GIVEN_UP,
    HOSTILE,
    MISFITS,
    HostileSchema,
)
from tests.support.frames import PER_REQUEST

DEADLINE_S = 0.3
"""Time limit of a check that may be given up."""
ENDS_S = 5.0
"""The same of a check that must end with one outcome, also on a busy machine."""
WAIT_S = 10.0
"""Bound of each wait: the deadline, starts of a worker on a busy machine, and more."""
MOST_FELT_S = 0.5
"""Most that another client may feel: without a worker it is as long as the explosion."""

each_hostile = pytest.mark.parametrize("hostile", HOSTILE, ids=lambda one: one.name)


def own_time_s() -> float:
    """Return the time, without what this thread has waited for a processor of a busy machine.

    Waits for a lock or for another process count: that is what a client would feel.
    """
    _, waited_ns, _ = Path("/proc/thread-self/schedstat").read_text().split()
    return time.perf_counter() - int(waited_ns) / 1e9


class Bystander:
    """A client that calls another server of this process all the while."""

    def __init__(self) -> None:
        self.slowest_s = 0.0
        self.called = asyncio.Event()

    async def run(self) -> None:
        """Call, until cancelled."""
        server = Server("other")

        @server.tool
        async def add(a: int, b: int) -> int:
            return a + b

        async with Client("bystander") as client:
            session = await client.connect(server)
            while True:
                began = own_time_s()
                await session.call_tool("add", {"a": 1, "b": 2})
                self.slowest_s = max(self.slowest_s, own_time_s() - began)
                self.called.set()
                await asyncio.sleep(0.001)


@asynccontextmanager
async def bystander() -> AsyncGenerator[Bystander]:
    """Have another client call meanwhile; at the end it must have felt nothing."""
    other = Bystander()
    calling = asyncio.get_running_loop().create_task(other.run())
    try:
        async with asyncio.timeout(WAIT_S):
            await other.called.wait()
        yield other
    finally:
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
    assert other.slowest_s < MOST_FELT_S


def deadline_s(hostile: HostileSchema) -> float:
    """Return the time limit of a check by a hostile schema."""
    return DEADLINE_S if GIVEN_UP in hostile.outcomes else ENDS_S


async def outcome_of(call: Awaitable[Any]) -> str:
    """Return the outcome of a call with `returns=`."""
    try:
        async with asyncio.timeout(WAIT_S):
            await call
    except UncheckedResult:
        return GIVEN_UP
    except InvalidResult:
        return MISFITS
    except ProtocolError as error:
        return BAD if "the server's schema is none" in str(error) else str(error)
    return FITS


MANY = 10**7
"""Keys and items that a message may have: else very long values are refused before."""


@each_hostile
async def test_a_client_checks_a_result_by_a_hostile_schema(hostile: HostileSchema) -> None:
    tool = {"name": "t", "inputSchema": {"type": "object"}, "outputSchema": hostile.schema}
    server = CannedServer(PER_REQUEST)
    listed = {"tools": [tool], "ttlMs": 0, "cacheScope": "private"}
    server.on("tools/list", server.complete(listed))
    result: dict[str, Any] = {"content": [], "structuredContent": hostile.value}
    server.on("tools/call", server.complete(result))
    limits: Any = {"schema_timeout_s": deadline_s(hostile), "max_values": MANY}
    async with Client("test", **limits) as client, bystander():
        session = await client.connect(server)
        outcome = await outcome_of(session.call_tool("t", returns=dict[str, Any]))
    assert outcome in hostile.outcomes


def offering(timeout_s: float = DEADLINE_S, **schemas: Any) -> Server:
    """Return a server with a tool of these schemas, which returns its arguments.

    Raises:
        UsageError: A schema is refused.
    """
    limits = PeerLimits(max_values=MANY)
    server = Server("hostile", schema_timeout_s=timeout_s, peer_limits=limits)

    async def echo(ctx: Context, arguments: dict[str, Any]) -> Any:
        return arguments

    described: dict[str, Any] = {"input_schema": {"type": "object"}, **schemas}
    server.add_tool(latest.Tool(name="t", **described), echo)
    return server


async def called(server: Server, arguments: Any) -> str:
    """Return the outcome of a call of the tool."""
    async with Client("test", max_values=MANY) as client, bystander():
        session = await client.connect(server)
        async with asyncio.timeout(WAIT_S):
            try:
                result = await session.call_tool("t", arguments)
            except McpError as error:
                # An input schema that is none is an internal error.
                return BAD if error.code == ProtocolError.code else str(error)
    if not result.is_error:
        return FITS
    text: Any = result.content[0]
    if "was not checked" in text.text:
        return GIVEN_UP
    return BAD if "no valid schema" in text.text else MISFITS


# Both roles end in the same check; a schema that takes too long takes that of a processor.
@pytest.mark.few_cases(len(HOSTILE))
@pytest.mark.unchecked("some schemas are none")
@each_hostile
@pytest.mark.parametrize("role", ["input_schema", "output_schema"])
async def test_a_server_checks_by_a_hostile_schema(hostile: HostileSchema, role: str) -> None:
    try:
        server = offering(deadline_s(hostile), **{role: hostile.schema})
    except UsageError:
        return  # refused at registration: by its size, or as it is no schema
    assert await called(server, hostile.value) in hostile.outcomes


# --- forms ---


def text(**limits: Any) -> Any:
    """Return a field for text."""
    return latest.StringSchema(**limits)


def choice(count: int) -> Any:
    """Return a field with as many options."""
    return latest.UntitledSingleSelectEnumSchema(enum=[f"option {at}" for at in range(count)])


FORMS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a huge choice": ({"v": choice(50_000)}, {"v": "option 49999"}),
    "many choices": ({f"v{at}": choice(100) for at in range(500)}, {"v0": "option 1"}),
    "many fields": ({f"v{at}": text() for at in range(20_000)}, {"v0": "x"}),
    "a huge limit": ({"v": text(max_length=2**53)}, {"v": "x"}),
    "names like keywords": ({"$ref": text(), "anyOf": text(), "$id": text()}, {"$ref": "#"}),
}


@pytest.mark.parametrize("name", FORMS)
async def test_a_client_checks_the_answers_to_a_hostile_form(name: str) -> None:
    fields, given = FORMS[name]

    def answer(session: ClientSession, form: latest.ElicitRequestFormParams) -> dict[str, Any]:
        return given

    answers = CallbackAnswers(
        ClientCallbacks(elicitation=answer, schema_timeout_s=WAIT_S),
        mcp_wire.profile(mcp_wire.LATEST),
    )
    schema = latest.ElicitationSchema(properties=fields)
    asked = latest.ElicitRequestFormParams(message="?", requested_schema=schema)
    session: Any = None  # the handler does not use it
    async with bystander(), asyncio.timeout(WAIT_S):
        answered = await answers.elicit(session, asked)
    assert answered.content == given


# --- the worker ---

UNGUARDED = """
import asyncio
from pathlib import Path
from mcp_gen.schemas.process import WORKER
from mcp_gen.schemas.schema import JsonSchema

with Path(__file__).with_suffix(".log").open("a") as log:
    log.write(__name__)
asyncio.run(WORKER.check(JsonSchema({"type": "integer"}), 1, 10))
"""


def test_the_worker_does_not_import_the_main_program(tmp_path: Path) -> None:
    # Without the usual guard, as scripts of users are.
    program = tmp_path / "program.py"
    program.write_text(UNGUARDED, "utf-8")
    subprocess.run([sys.executable, str(program)], timeout=WAIT_S, check=True)
    assert program.with_suffix(".log").read_text("utf-8") == "__main__"


# --- other documents ---


async def test_no_other_document_is_ever_fetched() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        for schema in (
            {"$ref": f"{url}/schema.json"},
            {"$id": f"{url}/base.json", "$ref": "schema.json"},
            {"$schema": f"{url}/dialect.json"},
            {"$ref": f"{url}/schema.json", "pattern": "(?=a)"},
            {"properties": {"v": {"$dynamicRef": f"{url}/schema.json"}}},
        ):
            hostile = HostileSchema("other", {"type": "object", **schema}, {"v": 1}, (BAD,))
            await test_a_client_checks_a_result_by_a_hostile_schema(hostile)
        with pytest.raises(BlockingIOError):
            listening.accept()


# --- marks of headers ---


def test_the_marked_properties_of_a_tool_are_read_in_linear_time() -> None:
    described = {"type": "string"}
    properties = {f"p{at}": {**described, MARK: f"h{at}"} for at in range(20_000)}
    began = time.perf_counter()
    found = marked_params({"type": "object", "properties": properties})
    # Compared with each other they take twenty seconds.
    assert (len(found), time.perf_counter() - began < 2) == (20_000, True)
