"""Offer of a server: the tools and prompts that a typed client is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from mcp_gen.compat.json_values import Json, is_object

if TYPE_CHECKING:
    from mcp_gen.client.session.session import ClientSession

__all__ = ["OfferedPrompt", "OfferedPromptArgument", "OfferedStub", "ServerOffer", "read_offer"]

MAX_ITEMS = 10_000
"""Maximum number of tools, and of prompts, that are read."""


class OfferedStub(Struct, frozen=True):
    """A tool as its server lists it.

    Args:
        name: The name.
        description: The description; empty for none.
        arguments: JSON Schema of the arguments.
        result: JSON Schema of the structured content; None for none.
    """

    name: str
    description: str
    arguments: Json
    result: Any = None


class OfferedPromptArgument(Struct, frozen=True):
    """An argument of a prompt: its name, its description, and if it must be given."""

    name: str
    description: str
    required: bool


class OfferedPrompt(Struct, frozen=True):
    """A prompt as its server lists it: its name, its description and its arguments."""

    name: str
    description: str
    arguments: tuple[OfferedPromptArgument, ...]


class ServerOffer(Struct, frozen=True):
    """Everything that a typed client is made of.

    Args:
        server: Name of the server.
        tools: Its tools, by name.
        prompts: Its prompts, by name.
    """

    server: str
    tools: tuple[OfferedStub, ...] = ()
    prompts: tuple[OfferedPrompt, ...] = ()


async def read_offer(session: ClientSession) -> ServerOffer:
    """Return what a server offers at the revision of a session.

    Args:
        session: The session.

    Raises:
        McpGenError: the server cannot list it.
    """
    declared = session.server_capabilities
    tools: dict[str, OfferedStub] = {}
    prompts: dict[str, OfferedPrompt] = {}
    if declared.tools is not None:
        async for tool in session.tools():
            schema: Any = tool.input_schema
            arguments: Json = schema if is_object(schema) else {}
            stub = OfferedStub(tool.name, tool.description or "", arguments, tool.output_schema)
            tools.setdefault(tool.name, stub)
            if len(tools) >= MAX_ITEMS:
                break
    if declared.prompts is not None:
        async for prompt in session.prompts():
            given = tuple(
                OfferedPromptArgument(one.name, one.description or "", bool(one.required))
                for one in prompt.arguments or ()
            )
            prompts.setdefault(
                prompt.name, OfferedPrompt(prompt.name, prompt.description or "", given)
            )
            if len(prompts) >= MAX_ITEMS:
                break
    info = session.server_info
    # By name: the order of a list may differ from one time to the next.
    return ServerOffer(
        "" if info is None else info.name,
        tuple(tools[name] for name in sorted(tools)),
        tuple(prompts[name] for name in sorted(prompts)),
    )
