"""The tools and the prompt of the suite that make input requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from mcp_gen import Accepted, Context, Server
from mcp_gen.types import (
    ElicitationSchema,
    ElicitRequest,
    ElicitRequestFormParams,
    EnumOption,
    InputRequiredResult,
    LegacyTitledEnumSchema,
    TextContent,
    TitledEnumItems,
    TitledMultiSelectEnumSchema,
    TitledSingleSelectEnumSchema,
    UntitledEnumItems,
    UntitledMultiSelectEnumSchema,
    UntitledSingleSelectEnumSchema,
)

__all__ = ["asking_tools"]

QUESTION = "What is the capital of France?"


@dataclass
class User:
    username: str
    email: str


@dataclass
class Name:
    name: str


@dataclass
class Colour:
    color: str


@dataclass
class Confirmation:
    ok: bool


@dataclass
class Subject:
    context: str


@dataclass
class Defaults:
    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: Literal["active", "inactive", "pending"] = "active"
    verified: bool = True


def asking_tools(server: Server) -> None:
    """Add the tools and the prompt that make input requests, live and in rounds."""
    _asking(server)
    _asking_in_rounds(server)

    @server.prompt
    async def test_input_required_result_prompt(ctx: Context) -> str:
        """A prompt that asks the user for its topic."""
        answer = await ctx.elicit("What context should be used?", Subject, key="user_context")
        return f"Prompt with context: {_said(answer)}"


def _asking(server: Server) -> None:
    @server.tool
    async def test_sampling(prompt: str, ctx: Context) -> str:
        """Ask the model."""
        result = await ctx.sample(prompt, max_tokens=100)
        said = result.content
        return f"LLM response: {said.text if isinstance(said, TextContent) else said}"

    @server.tool
    async def test_missing_capability(ctx: Context) -> str:
        """Ask the model; a client without sampling gets an error."""
        await ctx.sample("Anything", max_tokens=100)
        return "Success"

    @server.tool
    async def test_elicitation(message: str, ctx: Context) -> str:
        """Ask the user."""
        return f"User response: {_said(await ctx.elicit(message, User))}"

    @server.tool
    async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
        """Ask the user, with defaults."""
        answer = await ctx.elicit("Please review the defaults", Defaults)
        return f"Elicitation completed: {_said(answer)}"

    @server.tool
    async def test_elicitation_sep1330_enums(ctx: Context) -> str | InputRequiredResult:
        """Ask the user to choose, with every kind of choice; one has no Python type."""
        if ctx.input_responses is None:
            form = ElicitRequestFormParams(message="Please choose", requested_schema=_choices())
            return InputRequiredResult(input_requests={"choices": ElicitRequest(params=form)})
        answer = ctx.input_responses.get("choices")
        return f"Elicitation completed: {msgspec.json.encode(answer).decode()}"


def _choices() -> ElicitationSchema:
    options = ["option1", "option2", "option3"]
    values = [EnumOption(const=f"value{n}", title=f"Choice {n}") for n in (1, 2, 3)]
    return ElicitationSchema(
        properties={
            "untitledSingle": UntitledSingleSelectEnumSchema(enum=options),
            "titledSingle": TitledSingleSelectEnumSchema(one_of=values),
            "legacyEnum": LegacyTitledEnumSchema(
                enum=["opt1", "opt2", "opt3"],
                enum_names=["Option One", "Option Two", "Option Three"],
            ),
            "untitledMulti": UntitledMultiSelectEnumSchema(items=UntitledEnumItems(enum=options)),
            "titledMulti": TitledMultiSelectEnumSchema(items=TitledEnumItems(any_of=values)),
        }
    )


def _asking_in_rounds(server: Server) -> None:
    @server.tool
    async def test_input_required_result_elicitation(ctx: Context) -> str:
        """Ask for a name."""
        answer = await ctx.elicit("What is your name?", Name, key="user_name")
        return f"Hello, {_name(answer)}!"

    @server.tool
    async def test_input_required_result_sampling(ctx: Context) -> str:
        """Ask the model."""
        result = await ctx.sample(QUESTION, max_tokens=100, key="capital_question")
        return f"Sampling result: {result.content}"

    @server.tool
    async def test_input_required_result_list_roots(ctx: Context) -> str:
        """Ask for the client's folders."""
        roots = await ctx.list_roots(key="client_roots")
        return f"Client roots: {', '.join(root.uri for root in roots)}"

    @server.tool
    async def test_input_required_result_request_state(ctx: Context) -> str:
        """Ask for a confirmation; the request state is returned with it."""
        answer = await ctx.elicit("Please confirm", Confirmation, key="confirm")
        return f"state-ok: {_said(answer)}"

    @server.tool
    async def test_input_required_result_multiple_inputs(ctx: Context) -> str:
        """Ask for three things at once."""
        name, greeting, roots = await ctx.ask_all(
            ctx.elicit("What is your name?", Name, key="user_name"),
            ctx.sample("Generate a greeting", max_tokens=50, key="greeting"),
            ctx.list_roots(key="client_roots"),
        )
        return f"{_name(name)}, {greeting.model}, {len(roots)} roots"

    @server.tool
    async def test_input_required_result_multi_round(ctx: Context) -> str:
        """Ask twice, one after the other."""
        name = await ctx.elicit("Step 1: What is your name?", Name, key="step1")
        colour = await ctx.elicit("Step 2: What is your favorite color?", Colour, key="step2")
        return f"{_name(name)}: {_said(colour)}"

    @server.tool
    async def test_input_required_result_tampered_state(ctx: Context) -> str:
        """Ask for a confirmation; a changed request state is refused."""
        answer = await ctx.elicit("Please confirm", Confirmation, key="confirm")
        return f"state-ok: {_said(answer)}"

    @server.tool
    async def test_input_required_result_capabilities(ctx: Context) -> str:
        """Make the input requests whose capabilities the client has declared."""
        if ctx.client_capabilities.sampling is not None:
            result = await ctx.sample(QUESTION, max_tokens=100, key="sample")
            return f"Sampling result: {result.content}"
        answer = await ctx.elicit("What is your name?", Name, key="name")
        return f"Hello, {_name(answer)}!"


def _said(answer: Any) -> str:
    content = msgspec.json.encode(answer.content) if isinstance(answer, Accepted) else b"{}"
    return f"action={answer.action}, content={content.decode()}"


def _name(answer: Any) -> str:
    return answer.content.name if isinstance(answer, Accepted) else "nobody"
