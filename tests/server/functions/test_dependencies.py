"""Dependency injection by annotation: created per call, shared within it, cleaned up after it."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Annotated, Any

import pytest

from mcp_gen import Context, Depends, Server, ToolError, UsageError
from mcp_gen.server.context.context import Context as SameContext
from tests.server.tools.calls import call, listed, texts, with_tool
from tests.support.frames import each_lifecycle, every_revision
from tests.support.peers.raw import talking

WAIT_S = 30.0
said: list[str] = []


@pytest.fixture(autouse=True)
def nothing_said() -> None:
    said.clear()


class Db:
    """Type that JSON cannot carry."""

    def __init__(self, name: str = "db") -> None:
        self.name = name
        self.thread = threading.get_ident()


def plain() -> Db:
    return Db("plain")


async def later() -> Db:
    return Db("later")


def opened() -> Iterator[Db]:
    said.append("open")
    try:
        yield Db("opened")
    finally:
        said.append("close")


async def opened_later() -> AsyncIterator[Db]:
    said.append("open")
    try:
        yield Db("opened later")
    finally:
        said.append("close")


managed = contextlib.contextmanager(opened)
managed_later = contextlib.asynccontextmanager(opened_later)


class Managed(Db):
    def __enter__(self) -> Managed:
        said.append("open")
        return self

    def __exit__(self, *error: object) -> None:
        said.append("close")


class ManagedLater(Db):
    async def __aenter__(self) -> ManagedLater:
        said.append("open")
        return self

    async def __aexit__(self, *error: object) -> None:
        said.append("close")


class Factory:
    def __call__(self) -> Db:
        return Db("object")

    def method(self) -> Db:
        return Db("method")


PLAIN: list[tuple[Any, str]] = [
    (plain, "plain"),
    (later, "later"),
    (Db, "db"),
    (Factory(), "object"),
    (Factory().method, "method"),
]
CLEANED: list[tuple[Any, str]] = [
    (opened, "opened"),
    (opened_later, "opened later"),
    (managed, "opened"),
    (managed_later, "opened later"),
    (Managed, "db"),
    (ManagedLater, "db"),
]
names = [str(getattr(one, "__name__", "object")) for one, _ in PLAIN + CLEANED]
every_factory = pytest.mark.parametrize(("factory", "name"), PLAIN + CLEANED, ids=names)
every_cleaned = pytest.mark.parametrize("factory", [one for one, _ in CLEANED], ids=names[5:])
THREADS: list[dict[str, Any]] = [{}, {"run_in_thread": False}]
in_and_out_of_threads = pytest.mark.parametrize("described", THREADS, ids=["thread", "loop"])


def using(factory: Any, kind: str, act: Callable[[Db], str] = lambda db: db.name) -> Any:
    """Return a tool function with that dependency, which records its use."""

    async def tool(a: int, db: Annotated[Db, Depends(factory)]) -> str:
        said.append("use")
        return act(db)

    def blocking(a: int, db: Annotated[Db, Depends(factory)]) -> str:
        said.append("use")
        return act(db)

    made = tool if kind == "async" else blocking
    made.__annotations__["db"] = Annotated[Db, Depends(factory)]
    made.__name__ = "tool"
    return made


both_kinds = pytest.mark.parametrize("kind", ["async", "def"])


@every_revision
@both_kinds
@every_factory
async def test_a_dependency_is_what_its_factory_gives(
    revision: str, kind: str, factory: Any, name: str
) -> None:
    assert texts(await call(with_tool(using(factory, kind)), revision, a=1)) == [name]


@both_kinds
async def test_a_dependency_is_no_argument(kind: str) -> None:
    schema = (await listed(with_tool(using(plain, kind)))).input_schema
    assert list(schema["properties"]) == ["a"]


@in_and_out_of_threads
@both_kinds
@every_cleaned
async def test_a_dependency_is_cleaned_up_behind_the_call(
    kind: str, factory: Any, described: dict[str, Any]
) -> None:
    described = {} if kind == "async" else described
    await call(with_tool(using(factory, kind), **described), a=1)
    assert said == ["open", "use", "close"]


@both_kinds
@every_cleaned
async def test_a_dependency_is_cleaned_up_behind_a_failure(kind: str, factory: Any) -> None:
    def fail(db: Db) -> str:
        raise ToolError("broken")

    result = await call(with_tool(using(factory, kind, fail)), a=1)
    assert (result.is_error, texts(result)) == (True, ["broken"])
    assert said == ["open", "use", "close"]


async def test_a_generator_sees_the_failure_of_the_call() -> None:
    def watching() -> Iterator[Db]:
        try:
            yield Db()
        except ValueError as error:
            said.append(f"saw {error}")
            raise

    def fail(db: Db) -> str:
        raise ValueError("broken")

    await call(with_tool(using(watching, "def", fail)), a=1)
    assert said == ["use", "saw broken"]


@both_kinds
@pytest.mark.parametrize("is_async", [True, False])
async def test_a_failure_that_a_dependency_swallows_is_one_all_the_same(
    kind: str, is_async: bool
) -> None:
    def swallowing() -> Iterator[Db]:
        with contextlib.suppress(ValueError):
            yield Db()

    async def swallowing_later() -> AsyncIterator[Db]:
        with contextlib.suppress(ValueError):
            yield Db()

    def fail(db: Db) -> str:
        raise ValueError("broken")

    factory = swallowing_later if is_async else swallowing
    result = await call(with_tool(using(factory, kind, fail)), a=1)
    assert (result.is_error, texts(result)) == (
        True,
        ["tool failed, and a dependency has swallowed the error"],
    )


@every_revision
@both_kinds
async def test_an_error_of_a_factory_is_a_failed_call(revision: str, kind: str) -> None:
    def broken() -> Db:
        raise ValueError("no database")

    result = await call(with_tool(using(broken, kind)), revision, a=1)
    assert (result.is_error, texts(result), said) == (True, ["no database"], [])


# --- parameters of dependencies ---


@every_revision
async def test_a_dependency_may_need_the_context_and_others(revision: str) -> None:
    async def inner(ctx: SameContext) -> str:
        return ctx.revision

    def outer(of: Annotated[str, Depends(inner)], more: str = "!") -> Iterator[str]:
        yield f"{of}{more}"

    async def tool(text) -> str:  # type: ignore[no-untyped-def]
        return str(text)

    outer.__annotations__["of"] = Annotated[str, Depends(inner)]
    tool.__annotations__["text"] = Annotated[str, Depends(outer)]
    assert texts(await call(with_tool(tool), revision)) == [f"{revision}!"]


class Made:
    """Counts its instances."""

    count = 0

    def __init__(self) -> None:
        type(self).count += 1


def first(made: Annotated[Made, Depends(Made)]) -> Made:
    return made


def second(made: Annotated[Made, Depends(Made)]) -> Made:
    return made


def apart(made: Annotated[Made, Depends(Made, cached=False)]) -> Made:
    return made


@pytest.fixture(autouse=True)
def nothing_made() -> None:
    Made.count = 0


async def test_in_one_call_a_factory_runs_once() -> None:
    async def tool(
        a: Annotated[Made, Depends(first)],
        b: Annotated[Made, Depends(second)],
        c: Annotated[Made, Depends(Made)],
    ) -> str:
        return str(a is b is c)

    server = with_tool(tool)
    assert texts(await call(server)) == ["True"]
    assert Made.count == 1
    await call(server)
    assert Made.count == 2


async def test_a_factory_that_is_not_cached_runs_for_each() -> None:
    async def tool(a: Annotated[Made, Depends(first)], b: Annotated[Made, Depends(apart)]) -> str:
        return str(a is b)

    assert texts(await call(with_tool(tool))) == ["False"]
    assert Made.count == 2


async def test_a_factory_that_is_not_cached_is_shared_with_nobody() -> None:
    async def tool(a: Annotated[Made, Depends(apart)], b: Annotated[Made, Depends(first)]) -> str:
        return str(a is b)

    assert texts(await call(with_tool(tool))) == ["False"]


async def test_what_was_opened_last_is_closed_first() -> None:
    def one() -> Iterator[str]:
        said.append("open one")
        yield "one"
        said.append("close one")

    async def two(of) -> AsyncIterator[str]:  # type: ignore[no-untyped-def]
        said.append("open two")
        yield of
        said.append("close two")

    def three(of) -> Iterator[str]:  # type: ignore[no-untyped-def]
        said.append("open three")
        yield of
        said.append("close three")

    two.__annotations__["of"] = Annotated[str, Depends(one)]
    three.__annotations__["of"] = Annotated[str, Depends(two)]

    def tool(text) -> str:  # type: ignore[no-untyped-def]
        return str(text)

    tool.__annotations__["text"] = Annotated[str, Depends(three)]
    assert texts(await call(with_tool(tool))) == ["one"]
    assert said == ["open one", "open two", "open three", "close three", "close two", "close one"]


# --- threads ---


def thread_of(db: Db) -> str:
    """Return the thread that created the object, relative to the current one."""
    here = threading.get_ident()
    return "the same" if db.thread == here else "another"


@pytest.mark.parametrize("factory", [plain, opened, Managed])
async def test_a_function_and_its_dependencies_run_in_one_thread(factory: Any) -> None:
    assert texts(await call(with_tool(using(factory, "def", thread_of)), a=1)) == ["the same"]


async def test_a_dependency_that_may_block_does_not_run_on_the_loop() -> None:
    assert texts(await call(with_tool(using(plain, "async", thread_of)), a=1)) == ["another"]


@pytest.mark.parametrize("factory", [plain, opened, Managed])
async def test_a_dependency_may_run_on_the_loop(factory: Any) -> None:
    async def tool(db) -> str:  # type: ignore[no-untyped-def]
        return thread_of(db)

    tool.__annotations__["db"] = Annotated[Db, Depends(factory, run_in_thread=False)]
    assert texts(await call(with_tool(tool))) == ["the same"]


async def test_a_server_may_run_all_of_it_on_the_loop() -> None:
    server = with_tool(using(plain, "async", thread_of))
    server.tools.run_in_threads = False
    assert texts(await call(server, a=1)) == ["the same"]


async def test_a_context_variable_that_an_async_dependency_sets_is_seen() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")

    async def setting() -> AsyncIterator[Db]:
        token = variable.set("set")
        yield Db()
        variable.reset(token)

    for kind in ("async", "def"):
        server = with_tool(using(setting, kind, lambda db: variable.get()))
        assert texts(await call(server, a=1)) == ["set"]


# --- cancelled calls ---


class Stages:
    """Synchronizes a test and a thread at a stage of a call."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.reached = asyncio.Event()
        self.go_on = threading.Event()
        self.closed = asyncio.Event()

    def stop_here(self) -> None:
        self.loop.call_soon_threadsafe(self.reached.set)
        assert self.go_on.wait(WAIT_S)

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.closed.set)


async def given_up(server: Server, stages: Stages, revision: str) -> None:
    """Cancel a call that has reached its stage."""
    async with talking(server, revision) as client, asyncio.timeout(WAIT_S):
        client.send(client.speaker.call(1, "tool", a=1))
        await stages.reached.wait()
        client.send(client.speaker.cancel(1))
        await client.ask(client.speaker.request(2, "tools/list"))
        assert not stages.closed.is_set()
        stages.go_on.set()
        await stages.closed.wait()
    # A thread sets the event; tasks that wait for this thread end a little later.
    waiting = asyncio.all_tasks() - {asyncio.current_task()}
    if waiting:
        await asyncio.wait(waiting, timeout=WAIT_S)


@each_lifecycle
async def test_what_a_thread_uses_is_closed_when_the_thread_has_ended(revision: str) -> None:
    stages = Stages()

    async def open_db() -> AsyncIterator[Db]:
        yield Db()
        stages.close()

    def use(db: Db) -> str:
        stages.stop_here()
        return ""

    await given_up(with_tool(using(open_db, "def", use)), stages, revision)


@each_lifecycle
async def test_what_a_thread_is_opening_is_closed_when_it_is_open(revision: str) -> None:
    stages = Stages()

    def open_db() -> Iterator[Db]:
        stages.stop_here()
        yield Db()
        stages.close()

    await given_up(with_tool(using(open_db, "async")), stages, revision)


# --- errors of definitions ---


def circular(a: Annotated[int, Depends(lambda: 1)]) -> int:
    return a


circular.__annotations__["a"] = Annotated[int, Depends(circular)]


def wanting(a: int) -> int:
    return a


def written_as_default(db: Db = Depends(plain)) -> None:  # type: ignore[assignment]  # noqa: B008
    ...


class OwnContext(Context):
    pass


def of_own_context(ctx: OwnContext) -> None: ...


@pytest.mark.parametrize(
    ("factory", "said"),
    [
        (circular, "the dependency circular depends on itself"),
        (wanting, "nobody gives the dependency wanting its a: annotate it as Context"),
        (of_own_context, "OwnContext: annotate it as Context"),
        ("text", r"Depends\('text'\): expected a function or a class"),
    ],
)
def test_a_factory_that_cannot_be_called_so_is_a_usage_error(factory: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        with_tool(using(factory, "async"))


def test_a_dependency_written_as_default_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match=r"db: write `Annotated\[..., Depends\(...\)\]` instead"):
        with_tool(written_as_default)


def test_a_context_of_ones_own_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="OwnContext: annotate it as Context"):
        with_tool(of_own_context)
