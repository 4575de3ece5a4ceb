"""`Depends`: dependency injection per call, with cleanup after the call."""

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
from mcp_gen.server.functions.function import NO_DEFAULT, FunctionInfo, Passed, inspect_function
from mcp_gen.values.json_types import bare, cached_by_hint, metadata

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

__all__ = ["Depends", "Plan", "build_plan", "context_for", "context_kind", "dependency_in"]

T = TypeVar("T")
CleanUp: TypeAlias = "Callable[[asyncio.Future[Any]], Awaitable[None]]"

_pending_cleanups: set[asyncio.Task[None]] = set()
"""Cleanup tasks of cancelled calls. The references keep them from garbage collection."""


class Depends(Struct, frozen=True):
    """Dependency marker for an annotation: `db: Annotated[Db, Depends(open_db)]`.

    The factory's own parameters are the `Context` or `BlockingContext`, further dependencies, or
    parameters with defaults. The factory may be async. If it yields, the yielded value is injected
    and the rest of the factory runs when the call ends; a `contextlib.contextmanager` decorator
    around it makes no difference. Instances of a class that is a context manager are entered and
    exited in the same way. The return value of any other function is not closed: it belongs to
    the code that created it.

    Args:
        factory: Function or class that creates the value.
        cached: Call the factory once per call of the handler and share the value among its
            dependants. False: call it again for each dependant.
        run_in_thread: Run a factory that is not async in a thread. False: run it on the event
            loop, where it must not block. None: as the handler that it belongs to.
    """

    factory: Callable[..., Any]
    cached: bool = True
    run_in_thread: bool | None = None

    def __post_init__(self) -> None:
        if not callable(self.factory):
            raise UsageError(
                f"Depends({self.factory!r}): expected a function or a class: write "
                "`Depends(function)`, without calling it"
            )


class _Step:
    """One factory of a plan: its arguments and the way to open its value."""

    def __init__(self, depends: Depends, found: FunctionInfo) -> None:
        self.name = found.name
        self.run_in_thread = depends.run_in_thread
        self.contexts: list[tuple[str, Any]] = []
        self.needs: list[tuple[str, _Step]] = []
        factory: Any = depends.factory
        if isinstance(factory, type):
            opens_async, opens_sync = hasattr(factory, "__aenter__"), hasattr(factory, "__enter__")
        else:
            unwrapped = inspect.unwrap(factory)
            opens_async = inspect.isasyncgenfunction(unwrapped)
            opens_sync = inspect.isgeneratorfunction(unwrapped)
        self.is_async = opens_async or found.is_async
        self.enters = opens_async or opens_sync
        if inspect.isasyncgenfunction(factory):
            factory = contextlib.asynccontextmanager(factory)
        elif inspect.isgeneratorfunction(factory):
            factory = contextlib.contextmanager(factory)
        self._open: Callable[..., Any] = factory

    def threaded(self, by_default: bool) -> bool:
        """Return True if the factory runs in a thread."""
        if self.is_async:
            return False
        return by_default if self.run_in_thread is None else self.run_in_thread

    def call(self, ctx: Context, values: Mapping[_Step, Any]) -> Any:
        """Call the factory. Its own dependencies are in `values` already."""
        named = {name: context_for(kind, ctx) for name, kind in self.contexts}
        for name, step in self.needs:
            named[name] = values[step]
        return self._open(**named)


class Plan:
    """Dependencies of one function, ordered so that each follows the ones it needs."""

    def __init__(self, name: str, wanted: Mapping[str, _Step], steps: Sequence[_Step]) -> None:
        self._name = name
        self._by_parameter = wanted
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
        """Call a function with its dependencies, and clean them up afterwards.

        Args:
            ctx: Context of the request.
            function: Function to call.
            named: Keyword arguments other than the dependencies.
            on_loop: Call the function on the event loop. False: call it in a thread, together with
                the dependencies that can be opened in the same thread.
            threads: Default for dependencies that leave `run_in_thread` open.

        Returns:
            The result of the function, awaited if necessary.

        Raises:
            RuntimeError: A dependency suppressed an error of the function.
            Exception: Raised by the function or by a factory.
        """
        deferred = () if on_loop else self._deferrable(threads)
        eager = [step for step in self._steps if step not in deferred]
        values: dict[_Step, Any] = {}
        if not eager:
            call = partial(self._call, ctx, function, named, values, deferred)
            return await call_in_thread(ctx, call, {})
        async with contextlib.AsyncExitStack() as stack:
            for step in eager:
                values[step] = await _open_value(step, ctx, values, stack, threads)
            if not on_loop:
                call = partial(self._call, ctx, function, named, values, deferred)
                return await _shield_thread(
                    call_in_thread(ctx, call, {}), partial(_detach_stack, stack)
                )
            made = function(**named, **self._dependency_values(values))
            return await made if inspect.iscoroutine(made) else made
        raise self._suppressed_error()

    def _call(
        self,
        ctx: Context,
        function: Callable[..., Any],
        named: dict[str, Any],
        values: dict[_Step, Any],
        deferred: Iterable[_Step],
    ) -> Any:
        """Open the deferred dependencies and call the function, in one thread."""
        with contextlib.ExitStack() as stack:
            for step in deferred:
                made = step.call(ctx, values)
                values[step] = stack.enter_context(made) if step.enters else made
            return function(**named, **self._dependency_values(values))
        raise self._suppressed_error()

    def _dependency_values(self, values: Mapping[_Step, Any]) -> dict[str, Any]:
        return {name: values[step] for name, step in self._by_parameter.items()}

    def _deferrable(self, threads: bool) -> Sequence[_Step]:
        """Return the steps that the function's own thread can open: no eager step needs them."""
        deferred: list[_Step] = []
        needed: set[_Step] = set()
        for step in reversed(self._steps):
            if step.threaded(threads) and step not in needed:
                deferred.insert(0, step)
            else:
                needed.update(one for _, one in step.needs)
        return deferred

    def _suppressed_error(self) -> RuntimeError:
        return RuntimeError(f"{self._name} failed, and a dependency has swallowed the error")


async def _open_value(
    step: _Step,
    ctx: Context,
    values: Mapping[_Step, Any],
    stack: contextlib.AsyncExitStack,
    threads: bool,
) -> Any:
    """Open the value of one step, on the event loop or in a thread."""
    if not step.threaded(threads):
        made = step.call(ctx, values)
        if not step.enters:
            return await made if inspect.iscoroutine(made) else made
        if step.is_async:
            return await stack.enter_async_context(made)
        return stack.enter_context(made)
    call = partial(step.call, ctx, values)
    if step.enters:
        return await stack.enter_async_context(_ThreadedContextManager(await in_thread(call)))
    made = await in_thread(call)
    return await made if inspect.iscoroutine(made) else made


class _ThreadedContextManager:
    """Async wrapper of a blocking context manager, entered and exited in threads."""

    def __init__(self, inner: AbstractContextManager[Any]) -> None:
        self._inner = inner

    async def __aenter__(self) -> Any:
        return await _shield_thread(in_thread(self._inner.__enter__), lambda: self._leave)

    async def __aexit__(self, *error: Any) -> bool | None:
        return await in_thread(partial(self._inner.__exit__, *error))

    async def _leave(self, entered: asyncio.Future[Any]) -> None:
        if entered.exception() is None:
            await self.__aexit__(None, None, None)


def _detach_stack(stack: contextlib.AsyncExitStack) -> CleanUp:
    """Detach everything from an exit stack, and return the function that closes it later."""
    detached = stack.pop_all()

    async def close(ended: asyncio.Future[Any]) -> None:
        ended.exception()  # mark as retrieved: asyncio logs errors that nobody reads
        await detached.aclose()

    return close


async def _shield_thread(running: Coroutine[Any, Any, T], on_cancel: Callable[[], CleanUp]) -> T:
    """Wait for a thread. On cancellation, clean up as soon as the thread has ended."""
    task = asyncio.ensure_future(running)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        closing = asyncio.ensure_future(_clean_up_after(task, on_cancel()))
        _pending_cleanups.add(closing)
        closing.add_done_callback(_pending_cleanups.discard)
        raise


async def _clean_up_after(task: asyncio.Task[Any], clean_up: CleanUp) -> None:
    await asyncio.wait([task])
    if not task.cancelled():
        await clean_up(task)


# --- Reading annotations ---


def context_for(kind: Any, ctx: Context) -> Any:
    """Return the context for a parameter of that kind: `ctx`, or its blocking variant."""
    return ctx.blocking if kind is BlockingContext else ctx


def dependency_in(hint: Any) -> Depends | None:
    """Return the `Depends` in an annotation, or None."""
    found = metadata(hint)
    if not found:
        return None
    if Depends in found:
        raise UsageError("Depends: it needs its function: write `Annotated[T, Depends(function)]`")
    return next((one for one in found if isinstance(one, Depends)), None)


def build_plan(name: str, wanted: Mapping[str, Depends]) -> Plan:
    """Build the plan of a function's dependencies.

    Args:
        name: Name of the function, for error messages.
        wanted: Dependencies by parameter name.

    Raises:
        UsageError: A factory depends on itself, or has a required parameter that is neither a
            context nor a dependency.
    """
    graph = _Graph()
    steps = {key: graph.step(depends, (name,)) for key, depends in wanted.items()}
    return Plan(name, steps, graph.steps)


class _Graph:
    """Builder of the steps of a plan. Cached factories have one step."""

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
        self, step: _Step, parameter: Passed, found: FunctionInfo, path: tuple[Any, ...]
    ) -> None:
        hint = found.hints.get(parameter.name)
        depends = dependency_in(hint)
        kind = context_kind(hint)
        if depends is not None:
            step.needs.append((parameter.name, self.step(depends, path)))
        elif kind is not None:
            step.contexts.append((parameter.name, kind))
        elif parameter.default is NO_DEFAULT and parameter.kind not in (
            inspect.Parameter.VAR_POSITIONAL,
            inspect.Parameter.VAR_KEYWORD,
        ):
            raise UsageError(
                f"{path[0]}: nobody gives the dependency {found.name} its {parameter.name}: "
                "annotate it as Context or with Depends, or give it a default"
            )


@cached_by_hint
def context_kind(hint: Any) -> Any:
    """Return the context class that an annotation asks for, or None.

    Raises:
        UsageError: The annotation names a subclass of `Context`, which is never created.
    """
    kind = bare(hint)
    union = get_origin(kind) in (Union, UnionType)
    for arm in map(bare, get_args(kind)) if union else (kind,):
        if arm is BlockingContext:
            return arm
        if arm is Context or get_origin(arm) is Context:
            return Context
        if isinstance(arm, type) and issubclass(arm, Context):
            raise UsageError(f"{arm.__name__}: annotate it as Context, which is what comes")
    return None
