"""Typing of input requests, for type checkers. `nox -s types` reads this; it is never run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict, assert_type

from mcp_gen import Accepted, Cancelled, Context, Declined
from mcp_wire import latest


@dataclass
class Name:
    name: str


class Age(TypedDict):
    age: int


async def an_answer_holds_the_form(ctx: Context) -> None:
    answer = await ctx.elicit("Name?", Name)
    assert_type(answer, Accepted[Name] | Declined | Cancelled)
    if isinstance(answer, Accepted):
        assert_type(answer.content, Name)
    else:
        assert_type(answer, Declined | Cancelled)
    match await ctx.elicit("Age?", Age):
        case Accepted(content):
            assert_type(content, Age)
        case Declined():
            pass
        case Cancelled():
            pass
    assert_type(await ctx.elicit_url("Go", "a:b"), Accepted[None] | Declined | Cancelled)


async def all_questions_at_once_keep_their_types(ctx: Context) -> None:
    name, said, roots = await ctx.ask_all(
        ctx.elicit("Name?", Name), ctx.sample("Hello", max_tokens=9), ctx.list_roots()
    )
    assert_type(name, Accepted[Name] | Declined | Cancelled)
    assert_type(said, latest.CreateMessageResult)
    assert_type(roots, Sequence[latest.Root])
    ages = await ctx.ask_all(*[ctx.elicit(f"Age of {who}?", Age) for who in "abcdef"])
    assert_type(ages, tuple[Accepted[Age] | Declined | Cancelled, ...])


def a_thread_knows_the_same(ctx: Context) -> None:
    assert_type(ctx.blocking.elicit("Name?", Name), Accepted[Name] | Declined | Cancelled)
    age, roots = ctx.blocking.ask_all(ctx.elicit("Age?", Age), ctx.list_roots())
    assert_type(age, Accepted[Age] | Declined | Cancelled)
    assert_type(roots, Sequence[latest.Root])
    assert_type(ctx.blocking.once("n", lambda: 1), int)


async def what_is_made_once_keeps_its_type(ctx: Context) -> None:
    async def later() -> str:
        return ""

    assert_type(await ctx.once("n", lambda: 1), int)
    assert_type(await ctx.once("s", later), str)
