"""What handlers get besides their arguments: made for one call, and cleaned up behind it."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from types import UnionType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, Union, get_args, get_origin

from msgspec import Struct

from mcp_gen.core.errors import UsageError
from mcp_gen.server.context.blocking import BlockingContext, call_in_thread
from mcp_gen.server.context.context import Context
from mcp_gen.server.context.threads import in_thread
from mcp_gen.server.functions.function import NO_DEFAULT, FunctionInfo, inspect_function
from mcp_gen.server.functions.json_types import bare, metadata

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

__all__ = ["Depends", "Plan", "context_for", "context_kind", "depends_of", "plan_of"]

T = TypeVar("T")
CleanUp: TypeAlias = "Callable[[asyncio.Future[Any]], Awaitable[None]]"

_closing: set[asyncio.Task[None]] = set()
"""What is cleaned up for calls that have been given up; held, or it could be collected."""


class Depends(Struct, frozen=True):
    """Says where a parameter comes from: `db: Annotated[Db, Depends(open_db)]`.

    `factory` is a function, or a class. Its own parameters are the `Context`, further dependencies,
    or have defaults. It may be async. If it yields, what it yields is the value, and the rest of it
    runs when the call is over; `contextlib.contextmanager` around it makes no difference. Instances
    of a class that are context managers are entered and left likewise. What another function
    returns belongs to whoever made it, and is not closed.

    In one call each factory runs once, unless `cached` is false. One that is not async runs in a
    thread, as handlers do, unless `run_in_thread` is false: then it must not block.
    """

    factory: Callable[..., Any]
    cached: bool = True
    run_in_thread: bool | None = None


class _Step:
    """One factory in one call: where its arguments come from, and how it is opened."""

    def __init__(self, depends: Depends, found: FunctionInfo) -> None:
        self.name = found.name
        self.run_in_thread = depends.run_in_thread
        self.contexts: list[tuple[str, Any]] = []
        self.needs: list[tuple[str, _Step]] = []
        factory: Any = depends.factory
        if isinstance(factory, type):
            later, now = hasattr(factory, "__aenter__"), hasattr(factory, "__enter__")
        else:
            written = inspect.unwrap(factory)
            later, now = inspect.isasyncgenfunction(written), inspect.isgeneratorfunction(written)
        self.is_async = later or found.is_async
        self.enters = later or now
        if inspect.isasyncgenfunction(factory):
            factory = contextlib.asynccontextmanager(factory)
        elif inspect.isgeneratorfunction(factory):
            factory = contextlib.contextmanager(factory)
        self._open: Callable[..., Any] = factory

    def threaded(self, by_default: bool) -> bool:
        """Whether it runs in a thread."""
        if self.is_async:
            return False
        return by_default if self.run_in_thread is None else self.run_in_thread

    def call(self, ctx: Context, values: Mapping[_Step, Any]) -> Any:
        """Call the factory, whose own dependencies are there already."""
        named = {name: context_for(kind, ctx) for name, kind in self.contexts}
        for name, step in self.needs:
            named[name] = values[step]
        return self._open(**named)


class Plan:
    """The dependencies of one function, each behind those it needs."""

    def __init__(self, name: str, wanted: Mapping[str, _Step], steps: Sequence[_Step]) -> None:
        self._name = name
        self._wanted = wanted
        self._steps = steps

    async def run(
        self,
        ctx: Context,
        function: Callable[..., Any],
        named: dict[str, Any],
        *,
        on_loop: bool,
        threads: bool,
    ) -> Any:
        """Call the function with its dependencies, and clean up behind it.

        Unless `on_loop`, it runs in a thread, in one go with the dependencies that do; `threads`
        is where dependencies run that do not say it themselves.
        """
        late = () if on_loop else self._late(threads)
        early = [step for step in self._steps if step not in late]
        values: dict[_Step, Any] = {}
        if not early:
            call = partial(self._call, ctx, function, named, values, late)
            return await call_in_thread(ctx, call, {})
        async with contextlib.AsyncExitStack() as stack:
            for step in early:
                values[step] = await _opened(step, ctx, values, stack, threads)
            if not on_loop:
                call = partial(self._call, ctx, function, named, values, late)
                return await _shielded(call_in_thread(ctx, call, {}), partial(_kept_open, stack))
            made = function(**named, **self._given(values))
            return await made if inspect.iscoroutine(made) else made
        raise self._swallowed()

    def _call(
        self,
        ctx: Context,
        function: Callable[..., Any],
        named: dict[str, Any],
        values: dict[_Step, Any],
        late: Iterable[_Step],
    ) -> Any:
        """The part of a call that runs in a thread."""
        with contextlib.ExitStack() as stack:
            for step in late:
                made = step.call(ctx, values)
                values[step] = stack.enter_context(made) if step.enters else made
            return function(**named, **self._given(values))
        raise self._swallowed()

    def _given(self, values: Mapping[_Step, Any]) -> dict[str, Any]:
        return {name: values[step] for name, step in self._wanted.items()}

    def _late(self, threads: bool) -> Sequence[_Step]:
        """What can be opened in the function's own thread: nothing on the loop needs it."""
        late: list[_Step] = []
        needed: set[_Step] = set()
        for step in reversed(self._steps):
            if step.threaded(threads) and step not in needed:
                late.insert(0, step)
            else:
                needed.update(one for _, one in step.needs)
        return late

    def _swallowed(self) -> RuntimeError:
        return RuntimeError(f"{self._name} failed, and a dependency has swallowed the error")


async def _opened(
    step: _Step,
    ctx: Context,
    values: Mapping[_Step, Any],
    stack: contextlib.AsyncExitStack,
    threads: bool,
) -> Any:
    if not step.threaded(threads):
        made = step.call(ctx, values)
        if not step.enters:
            return await made if inspect.iscoroutine(made) else made
        if step.is_async:
            return await stack.enter_async_context(made)
        return stack.enter_context(made)
    call = partial(step.call, ctx, values)
    if step.enters:
        return await stack.enter_async_context(_Threaded(await in_thread(call)))
    made = await in_thread(call)
    return await made if inspect.iscoroutine(made) else made


class _Threaded:
    """A context manager that blocks, entered and left in threads."""

    def __init__(self, inner: AbstractContextManager[Any]) -> None:
        self._inner = inner

    async def __aenter__(self) -> Any:
        return await _shielded(in_thread(self._inner.__enter__), lambda: self._leave)

    async def __aexit__(self, *error: Any) -> bool | None:
        return await in_thread(partial(self._inner.__exit__, *error))

    async def _leave(self, entered: asyncio.Future[Any]) -> None:
        if entered.exception() is None:
            await self.__aexit__(None, None, None)


def _kept_open(stack: contextlib.AsyncExitStack) -> CleanUp:
    """Take everything off a stack, to be closed when a thread needs it no more."""
    kept = stack.pop_all()

    async def close(ended: asyncio.Future[Any]) -> None:
        ended.exception()  # nobody else looks at it
        await kept.aclose()

    return close


async def _shielded(running: Coroutine[Any, Any, T], given_up: Callable[[], CleanUp]) -> T:
    """Wait for a thread. If the waiting is given up, clean up when the thread has ended."""
    task = asyncio.ensure_future(running)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        closing = asyncio.ensure_future(_after(task, given_up()))
        _closing.add(closing)
        closing.add_done_callback(_closing.discard)
        raise


async def _after(task: asyncio.Task[Any], clean_up: CleanUp) -> None:
    await asyncio.wait([task])
    if not task.cancelled():
        await clean_up(task)


# --- Reading annotations ---


def context_for(kind: Any, ctx: Context) -> Any:
    """What a parameter of that kind gets: the context, or the one for threads."""
    return ctx.blocking if kind is BlockingContext else ctx


def depends_of(hint: Any) -> Depends | None:
    """The `Depends` in an annotation."""
    found = metadata(hint)
    return next((one for one in found if isinstance(one, Depends)), None) if found else None


def plan_of(name: str, wanted: Mapping[str, Depends]) -> Plan:
    """Everything that a function's dependencies need.

    Raises:
        UsageError: a factory that needs what nobody gives, or itself.
    """
    graph = _Graph()
    steps = {key: graph.step(depends, (name,)) for key, depends in wanted.items()}
    return Plan(name, steps, graph.steps)


class _Graph:
    def __init__(self) -> None:
        self.steps: list[_Step] = []
        self._shared: dict[Any, _Step] = {}

    def step(self, depends: Depends, path: tuple[Any, ...]) -> _Step:
        if depends.cached and depends.factory in self._shared:
            return self._shared[depends.factory]
        found = inspect_function(depends.factory, classes=True)
        if depends.factory in path:
            raise UsageError(f"{path[0]}: the dependency {found.name} depends on itself")
        made = _Step(depends, found)
        for parameter in found.parameters:
            self._add(made, parameter, found, (*path, depends.factory))
        self.steps.append(made)
        if depends.cached:
            self._shared[depends.factory] = made
        return made

    def _add(
        self, step: _Step, parameter: inspect.Parameter, found: FunctionInfo, path: tuple[Any, ...]
    ) -> None:
        hint = found.hints.get(parameter.name)
        depends = depends_of(hint)
        kind = context_kind(hint)
        if depends is not None:
            step.needs.append((parameter.name, self.step(depends, path)))
        elif kind is not None:
            step.contexts.append((parameter.name, kind))
        elif parameter.default is NO_DEFAULT and parameter.kind not in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        ):
            raise UsageError(
                f"{path[0]}: nobody gives the dependency {found.name} its {parameter.name}: "
                "annotate it as Context or with Depends, or give it a default"
            )


def context_kind(hint: Any) -> Any:
    """Which context a parameter asks for; None if it asks for none.

    Raises:
        UsageError: a subclass, which nobody makes.
    """
    kind = bare(hint)
    union = get_origin(kind) in (Union, UnionType)
    for arm in map(bare, get_args(kind)) if union else (kind,):
        if arm is Context or arm is BlockingContext:
            return arm
        if isinstance(arm, type) and issubclass(arm, Context):
            raise UsageError(f"{arm.__name__}: annotate it as Context, which is what comes")
    return None
