"""Elicitation at a terminal: a form field by field, a URL elicitation by its URL."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from mcp_gen.cli.console.elicitation import ElicitationPrompts
from mcp_gen.core.errors import UrlElicitation
from mcp_gen.types import ElicitationSchema, ElicitRequestFormParams, ElicitResult
from mcp_wire import decode

PAGE = UrlElicitation("Sign", "https://example.org/sign")


class User:
    """Types these lines, then ends the input."""

    def __init__(self, *lines: str, there: bool = True) -> None:
        self._lines = iter(lines)
        self.can_ask = there
        self.told: list[str] = []
        self.asked: list[str] = []

    def say(self, text: str, style: str = "") -> None:
        self.told.append(text)

    async def ask(self, prompt: str) -> str:
        self.asked.append(prompt)
        for line in self._lines:
            return line
        raise EOFError


def form(required: Iterable[str] = (), **fields: Any) -> ElicitRequestFormParams:
    schema = {"type": "object", "properties": fields, "required": list(required)}
    return ElicitRequestFormParams(
        message="Please", requested_schema=decode(ElicitationSchema, msgspec.json.encode(schema))
    )


async def fill(user: User, required: Iterable[str] = (), **fields: Any) -> Any:
    return await ElicitationPrompts(user).form(None, form(required, **fields))


ONE = {"type": "string", "enum": ["red", "green"]}
TITLED = {"type": "string", "oneOf": [{"const": "r", "title": "Red"}]}
SOME = {"type": "array", "items": {"type": "string", "enum": ["red", "green"]}}


@pytest.mark.parametrize(
    ("field", "typed", "answer"),
    [
        ({"type": "string"}, "Ada", "Ada"),
        ({"type": "integer"}, "5", 5),
        ({"type": "number"}, "0.5", 0.5),
        ({"type": "integer", "minimum": 2}, "2", 2),
        ({"type": "number", "maximum": 2}, "2", 2.0),
        ({"type": "boolean"}, "yes", True),
        ({"type": "boolean"}, "N", False),
        (ONE, "red", "red"),
        (TITLED, "red", "r"),
        (SOME, "red, green", ["red", "green"]),
        ({"type": "string", "default": "Ada"}, "", "Ada"),
        ({"type": "boolean", "default": False}, "", False),
    ],
)
async def test_what_is_typed_is_the_answer(field: Any, typed: str, answer: Any) -> None:
    result = await fill(User("y", typed), ["a"], a=field)
    # 5 and 5.0 are equal, but not the same JSON.
    assert repr(result) == repr(ElicitResult(action="accept", content={"a": answer}))


@pytest.mark.parametrize(
    ("field", "wrong", "said"),
    [
        ({"type": "integer"}, "five", "expected a whole number"),
        ({"type": "integer", "minimum": 2}, "1", "expected at least 2"),
        ({"type": "number", "maximum": 2}, "3", "expected at most 2"),
        ({"type": "boolean"}, "maybe", "expected yes or no"),
        ({"type": "string", "minLength": 2}, "a", "expected at least 2 characters"),
        ({"type": "string", "maxLength": 3}, "abcd", "expected at most 3 characters"),
        (ONE, "blue", "expected one of red, green"),
        (SOME, "red, blue", "expected one of red, green"),
        ({"type": "string"}, "", "expected an answer"),
    ],
)
async def test_what_does_not_fit_is_asked_again(field: Any, wrong: str, said: str) -> None:
    user = User("y", wrong)
    result = await fill(user, ["a"], a=field)
    assert (user.told[-1], len(user.asked), result.action) == (said, 3, "cancel")


async def test_what_need_not_be_answered_may_be_left_out() -> None:
    result = await fill(User("", "", "b"), a={"type": "string"}, b={"type": "string"})
    assert result.content == {"b": "b"}


async def test_a_question_says_what_it_is_for_and_what_an_empty_answer_means() -> None:
    user = User("y", "Ada")
    said = {"type": "string", "title": "Name", "description": "As in your passport"}
    await fill(
        user,
        ["needed"],
        needed=said,
        free={"type": "string"},
        known={"type": "string", "default": "here"},
    )
    assert user.told[-1] == "As in your passport"
    assert user.asked[1:] == ["Name: ", "free (empty for none): "]
    filled = User("y", "Ada", "", "")
    result = await fill(filled, ["needed"], needed=said, known={"type": "string", "default": "x"})
    assert (filled.asked[2], result.content) == ("known [x]: ", {"needed": "Ada", "known": "x"})


async def test_saying_no_declines() -> None:
    assert (await fill(User("n"), a=ONE)).action == "decline"


async def test_the_end_of_input_cancels() -> None:
    assert (await fill(User("y"), ["a"], a=ONE)).action == "cancel"


async def test_without_a_user_a_form_is_declined_and_that_is_said() -> None:
    user = User(there=False)
    assert (await fill(user, a=ONE)).action == "decline"
    assert user.told == ["declined, for nobody is here to answer: Please"]


@pytest.mark.parametrize(
    ("user", "action"),
    [
        (User("y"), "accept"),
        (User("n"), "decline"),
        (User(), "cancel"),
        (User(there=False), "decline"),
    ],
)
async def test_a_page_is_shown_and_gone_to_by_the_user(user: User, action: str) -> None:
    assert await ElicitationPrompts(user).page(None, PAGE) == action
    assert user.told == ["Sign\nhttps://example.org/sign"]
