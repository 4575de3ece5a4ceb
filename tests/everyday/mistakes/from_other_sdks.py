"""Mistakes of readers of the guides who know another SDK."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import mcp_gen
from mcp_gen import Context, Depends, Server, SessionState, ToolError, text_of, transformed
from mcp_gen import middleware as batteries
from mcp_gen.middleware import RateLimit, ToolCache
from tests.everyday.mistakes.mistake import Mistake, add, called, server

__all__ = ["MISTAKES"]


@dataclass
class Answer:
    """A form."""

    name: str


def fill_in(*_: Any) -> dict[str, str]:
    """Answer a form."""
    return {"name": "Ada"}


def says_hello(*_: Any) -> str:
    """Answer in place of a model."""
    return "Hello"


async def elicits_by_response_type(ctx: Context) -> str:
    asked: Any = ctx.elicit
    return str(await asked("Your name?", response_type=Answer))


async def elicits_without_form(ctx: Context) -> str:
    asked: Any = ctx.elicit
    return str(await asked("Your name?"))


async def elicits_a_text(ctx: Context) -> str:
    return str(await ctx.elicit("Your name?", str))


async def elicits_choices(ctx: Context) -> str:
    asked: Any = ctx.elicit
    return str(await asked("Which?", ["a", "b"]))


async def reads_data_of_the_answer(ctx: Context) -> str:
    answer: Any = await ctx.elicit("Your name?", Answer)
    return str(answer.data.name)


async def samples_without_max_tokens(ctx: Context) -> str:
    asked: Any = ctx.sample
    return text_of(await asked("Hello"))


async def samples_with_the_name_of_a_model(ctx: Context) -> str:
    asked: Any = ctx.sample
    return text_of(await asked("Hello", max_tokens=9, model_preferences="small"))


async def samples(ctx: Context) -> str:
    return text_of(await ctx.sample("Hello", max_tokens=9))


async def samples_without_await(ctx: Context) -> str:
    asked: Any = ctx.sample("Hello", max_tokens=9)
    return text_of(asked)


async def logs_a_text_alone(ctx: Context) -> None:
    log: Any = ctx.log
    await log("hello")


async def logs_a_message_by_name(ctx: Context) -> None:
    log: Any = ctx.log
    await log(level="info", message="hello")


async def calls_a_tool_with_named_arguments(ctx: Context) -> None:
    call: Any = ctx.call_tool
    await call("add", a=1)


async def keeps_state_like_a_dict(ctx: Context) -> None:
    state: Any = ctx.state
    state["cart"] = []


async def in_session(tool: Callable[..., Any]) -> Any:
    one = server(session_state=SessionState(key=lambda ctx: "me"))
    one.add_tool(tool)
    async with mcp_gen.Client("demo") as client:
        session = await client.connect(one)
        return await session.call_tool(one.tools.names[0], returns=Any)


@contextmanager
def opens_without_async(server: Any) -> Generator[int]:
    yield 1


async def returns_what_it_opened(server: Any) -> int:
    return 1


@asynccontextmanager
async def opens(server: Any) -> AsyncGenerator[int]:
    yield 1


def settings() -> str:
    return "a"


async def needs_what_was_called(value: Annotated[str, Depends(fill_in)]) -> str:
    return value


async def needs_the_marker(value: Annotated[str, Depends]) -> str:
    return value


def with_add() -> Any:
    one = server()
    one.add_tool(add)
    return one


def untyped(function: Any) -> Any:
    """Return a function as users without a type checker have it."""
    return function


def taken(module: Any, name: str) -> Any:
    return getattr(module, name)


FORM = "str: a form is a dataclass, an attrs class, a Struct, a TypedDict or a pydantic model: "
MODELS = 'model_preferences=ModelPreferences(hints=[ModelHint(name="...")])'
seen = partial(Mistake, seen=True)

MISTAKES = [
    # --- asking ---
    seen(
        "a form by the name response_type",
        lambda: called(elicits_by_response_type, elicitation=fill_in),
        "ctx.elicit: no option `response_type`: the form stands second: write "
        "`await ctx.elicit(message, Form)`",
        ToolError,
    ),
    seen(
        "a question without a form",
        lambda: called(elicits_without_form, elicitation=fill_in),
        "ctx.elicit: `form` is missing: write `await ctx.elicit(message, Form)`",
        ToolError,
    ),
    seen(
        "a form that is a plain type",
        lambda: called(elicits_a_text, elicitation=fill_in),
        FORM + "write a class with a field for each answer",
        ToolError,
    ),
    seen(
        "a form that is a list of choices",
        lambda: called(elicits_choices, elicitation=fill_in),
        FORM.replace("str", "['a', 'b']", 1) + "write a class with a field for each answer",
        ToolError,
    ),
    seen(
        "the data of an answer",
        lambda: called(reads_data_of_the_answer, elicitation=fill_in),
        "'Accepted' object has no attribute 'data': write `answer.content`",
        ToolError,
    ),
    seen(
        "sampling without a limit of tokens",
        lambda: called(samples_without_max_tokens, sampling=fill_in),
        "ctx.sample: `max_tokens` is missing: write `await ctx.sample(messages, max_tokens=1000)`",
        ToolError,
    ),
    seen(
        "sampling with the name of a model",
        lambda: called(samples_with_the_name_of_a_model, sampling=fill_in),
        f"ctx.sample: model_preferences='small': write `{MODELS}`",
        ToolError,
    ),
    seen(
        "sampling that nobody awaits",
        lambda: called(samples_without_await, sampling=fill_in),
        "Context.sample(...) is not awaited: write `await` in front of it",
        ToolError,
    ),
    seen(
        "a model of the client that answers with a text",
        lambda: called(samples, sampling=says_hello),
        "sampling: expected CreateMessageResult, got str: write "
        '`CreateMessageResult(role="assistant", content=TextContent(text=...), model=...)`, with '
        "`from mcp_gen.types import CreateMessageResult, TextContent`",
    ),
    # --- context ---
    seen(
        "a log message without its level",
        lambda: called(logs_a_text_alone),
        'ctx.log: `data` is missing: write `await ctx.log("info", data)`',
        ToolError,
    ),
    seen(
        "a log message by name",
        lambda: called(logs_a_message_by_name),
        'ctx.log: no option `message`: the text stands second: write `await ctx.log("info", text)`',
        ToolError,
    ),
    seen(
        "a call of a tool with named arguments",
        lambda: called(calls_a_tool_with_named_arguments),
        'ctx.call_tool: no option `a`: write `await ctx.call_tool(name, {"a": 1})`',
        ToolError,
    ),
    seen(
        "state like a dict",
        lambda: in_session(keeps_state_like_a_dict),
        "ctx.state['cart']: write `await ctx.state.set('cart', value)`",
        ToolError,
    ),
    seen(
        "an option of the state that there is not",
        lambda: untyped(SessionState)(ttl=60),
        "SessionState: no option `ttl`: write `ttl_s=`, in seconds",
    ),
    # --- lifespan and dependencies ---
    seen(
        "a lifespan without async",
        lambda: server(lifespan=opens_without_async),
        "Server: lifespan=opens_without_async is a `contextmanager`: write "
        "`@contextlib.asynccontextmanager` above an `async def`",
    ),
    seen(
        "a lifespan that returns",
        lambda: server(lifespan=returns_what_it_opened),
        "Server: lifespan=returns_what_it_opened does not yield: write `yield value` in place of "
        "`return`, and `@contextlib.asynccontextmanager` above it",
    ),
    seen(
        "a dependency that was called",
        lambda: untyped(Depends)(settings()),
        "Depends('a'): expected a function or a class: write `Depends(function)`, without calling "
        "it",
    ),
    seen(
        "a dependency without its function",
        lambda: server().add_tool(needs_the_marker),
        "Depends: it needs its function: write `Annotated[T, Depends(function)]`",
    ),
    # --- server ---
    seen(
        "a server without any argument",
        lambda: untyped(Server)(),
        'Server: `name` is missing: write `Server("demo", "1.0.0", instructions="...")`',
    ),
    seen(
        "instructions without their name",
        lambda: untyped(Server)("demo", "1.0.0", "Be kind."),
        "Server: too many arguments without a name: write "
        '`Server("demo", "1.0.0", instructions="...")`',
    ),
    seen(
        "a port that is a text",
        lambda: server().run_async("http", port="8000x"),
        "port='8000x': expected a number from 0 to 65535, such as 8000",
    ),
    seen(
        "a port that is too high",
        lambda: server().run_async("http", port=70_000),
        "port=70000: expected a number from 0 to 65535, such as 8000",
    ),
    seen(
        "a completion without its argument",
        lambda: server().completion("todo://{id}"),
        "server.completion: `argument` is missing: write "
        '`@server.completion("prompt", "argument")`',
    ),
    seen(
        "a resource whose URI has a name",
        lambda: server().resource(uri="todo://all"),
        "server.resource: no option `uri`: the URI comes first, without a name: write "
        '`@server.resource("config://app")`',
    ),
    seen(
        "the tools of a server by a method",
        lambda: server().get_tools(),
        "'Server' object has no attribute 'get_tools': `server.tools` has them",
        AttributeError,
    ),
    seen(
        "tags that are disabled with disable",
        lambda: server().disable(tags={"admin"}),
        "'Server' object has no attribute 'disable': write `server.disable_tags(tag)`, or "
        "`disable_tool(name)` and its like",
        AttributeError,
    ),
    seen(
        "tags that are disabled as a list",
        lambda: server().disable_tags(["admin", "beta"]),
        "disable_tags(['admin', 'beta']): write `disable_tags('admin', 'beta')`",
    ),
    # --- mounts and transformed tools ---
    seen(
        "a mount whose prefix stands last",
        lambda: server().mount(server(), prefix="sub"),
        'server.mount: `prefix` is given twice: write `server.mount("prefix", other)`',
    ),
    seen(
        "a mount without a prefix",
        lambda: server().mount(server()),
        'server.mount: `other` is missing: write `server.mount("prefix", other)`',
    ),
    seen(
        "a transformed tool by its name",
        lambda: untyped(transformed)("add", name="plus"),
        "transformed('add'): expected a tool or a function: write `server.tools['add']`, or "
        "`server.transform_tool('add', ...)`",
    ),
    seen(
        "an argument of a transformed tool that is a dict",
        lambda: with_add().transform_tool("add", arguments={"a": {"name": "first"}}),
        "tool add: arguments={'a': {'name': 'first'}}: write `{'a': Argument(name=...)}`",
    ),
    # --- middleware ---
    seen(
        "a middleware whose decorator is called",
        lambda: server().middleware(),
        "server.middleware: `middleware` is missing: write `@server.middleware`",
    ),
    seen(
        "a rate limit with the option of another SDK",
        lambda: untyped(RateLimit)(max_requests_per_second=10),
        "RateLimit: no option `max_requests_per_second`: write `RateLimit(per_s=10)`",
    ),
    seen(
        "a rate limit that is a text",
        lambda: untyped(RateLimit)("10"),
        "RateLimit(per_s='10'): expected a number above 0",
    ),
    seen(
        "a cache with the option of another SDK",
        lambda: untyped(ToolCache)(ttl=60),
        "ToolCache: no option `ttl`: write `ToolCache(ttl_s=60)`",
    ),
    seen(
        "a cache of a tool that is a text",
        lambda: ToolCache(60, tools="add"),
        "ToolCache: tools='add': expected several texts: write ['add']",
    ),
    seen(
        "a rate limit of the top module",
        lambda: taken(mcp_gen, "RateLimit"),
        "mcp_gen has no RateLimit: write `from mcp_gen.middleware import RateLimit`",
        ImportError,
    ),
    seen(
        "a rate limit by the name of another SDK",
        lambda: taken(batteries, "RateLimitingMiddleware"),
        "mcp_gen.middleware has no RateLimitingMiddleware: the class is `RateLimit`",
        ImportError,
    ),
    seen(
        "the base class of middleware",
        lambda: taken(batteries, "Middleware"),
        "mcp_gen.middleware has no Middleware: write `@server.middleware` above an async function",
        ImportError,
    ),
    seen(
        "an argument by the name of another SDK",
        lambda: taken(mcp_gen, "ArgTransform"),
        "mcp_gen has no ArgTransform: the class is `Argument`: `from mcp_gen import Argument`",
        ImportError,
    ),
    seen(
        "a message of a prompt by its class",
        lambda: taken(mcp_gen, "Message"),
        "mcp_gen has no Message: write `user(text)` or `assistant(text)`: `from mcp_gen import "
        "assistant, user`",
        ImportError,
    ),
    seen(
        "the dependency for progress",
        lambda: taken(mcp_gen, "Progress"),
        "mcp_gen has no Progress: write `await ctx.report_progress(1, 3)`",
        ImportError,
    ),
]
