"""A server with some of everything: for trying out a client, and for reading.

    python examples/everything_server.py
    mcp-gen run examples/everything_server.py:server --http

Each handler is written once. What a client's revision lacks is left out, restated or refused on the
way, and questions reach the client in whatever form its revision has for them.
"""

from __future__ import annotations

import asyncio
import logging
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any, Literal, get_args

from msgspec import Meta

from mcp_gen import Accepted, Context, McpError, Server, ToolError, assistant, content, user
from mcp_gen.types import (
    Annotations,
    AudioContent,
    EmbeddedResource,
    ImageContent,
    LoggingLevel,
    ResourceLink,
    TextContent,
    Tool,
    ToolAnnotations,
)

PIXEL = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
SILENCE = b64decode("UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=")
CITIES = ["Amsterdam", "Athens", "Berlin", "Bern", "Lima", "Lisbon", "London", "Oslo", "Paris"]
USERS = {"1": "Ada", "2": "Grace", "3": "Barbara"}

server = Server(
    "everything",
    "1.0.0",
    title="Everything",
    description="Some of everything that a server can offer.",
    website_url="https://example.org/everything",
    instructions="Tools, resources and prompts of every kind, to try a client with.",
)

# --- tools: what they return ---


@server.tool(annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=True))
async def echo(text: str) -> str:
    """Return a text as it came."""
    return text


@server.tool(title="Add", annotations=ToolAnnotations(read_only_hint=True))
async def add(
    a: Annotated[int, Meta(description="The first number")],
    b: Annotated[int, Meta(description="The second number")],
) -> int:
    """Add two numbers: one value, as structured content and as text."""
    return a + b


@dataclass
class Weather:
    city: str
    celsius: float
    sky: Literal["clear", "clouds", "rain"]


@server.tool
async def weather(city: str, days: int = 1) -> list[Weather]:
    """Forecast the weather: structured content with a schema.

    Args:
        city: Where.
        days: For how long.
    """
    return [Weather(city, 20.0 + day, "clear") for day in range(days)]


@server.tool
async def picture() -> ImageContent:
    """A picture of one pixel."""
    return content.image(PIXEL, mime_type="image/png")


@server.tool
async def sound() -> AudioContent:
    """A sound that nobody hears."""
    return content.audio(SILENCE, mime_type="audio/wav")


@server.tool
async def document() -> EmbeddedResource:
    """A resource with its text."""
    return content.embedded("notes://welcome", welcome(), mime_type="text/plain")


@server.tool
async def link() -> ResourceLink:
    """A link to a resource."""
    return server.resource_link("notes://welcome")


@server.tool
async def mixture() -> list[TextContent | ImageContent | AudioContent | EmbeddedResource]:
    """Content of several kinds at once."""
    for_model = Annotations(audience=["assistant"], priority=0.5)
    return [
        content.text("Text, a picture, a sound and a document:", annotations=for_model),
        await picture(),
        await sound(),
        await document(),
    ]


async def dice(ctx: Context, arguments: dict[str, Any]) -> str:
    return f"{arguments['count']} times {arguments.get('sides', 6)}"


server.add_tool(
    Tool(
        name="dice",
        description="A tool that brings its own JSON Schema.",
        input_schema={
            "type": "object",
            "properties": {
                "count": {"type": "integer", "minimum": 1, "maximum": 10},
                "sides": {"enum": [4, 6, 8, 12, 20]},
            },
            "required": ["count"],
            "additionalProperties": False,
        },
    ),
    dice,
)


# --- tools: what goes wrong ---


@server.tool
async def fail(reason: str) -> str:
    """Fail in a way that a model can read."""
    raise ToolError(reason)


@server.tool
async def refuse(reason: str) -> str:
    """Answer with a protocol error."""
    raise McpError(-1, reason, {"retry": False})


# --- tools: what they tell while they run ---


@server.tool
async def count(
    ctx: Context, to: Annotated[int, Meta(ge=1, le=100)] = 3, pause_s: float = 0.05
) -> str:
    """Count, and report each number as progress."""
    for number in range(1, to + 1):
        await ctx.report_progress(number, to, f"{number} of {to}")
        # Some clients forget a report that comes together with the answer.
        await asyncio.sleep(pause_s)
    return f"counted to {to}"


@server.tool
async def chatter(ctx: Context) -> str:
    """Send a log message of every level; the client gets those that it wants to hear."""
    for level in get_args(LoggingLevel):
        await ctx.log(level, {"said": level}, logger="chatter")
    return "said it all"


@server.tool
async def wait(ctx: Context, seconds: float = 60.0) -> str:
    """Do nothing for a while: to be cancelled."""
    await ctx.report_progress(0, seconds, "waiting")
    await asyncio.sleep(seconds)
    return "waited"


# --- tools: what they ask the client ---


class Meal(Enum):
    breakfast = "breakfast"
    lunch = "lunch"
    dinner = "dinner"


@dataclass
class Booking:
    """A form: every kind of field that one can have."""

    name: Annotated[str, Meta(title="Your name", min_length=1)]
    email: Annotated[str, Meta(extra_json_schema={"format": "email"})]
    guests: Annotated[int, Meta(ge=1, le=12)] = 2
    budget: float = 50.0
    meal: Meal = Meal.dinner
    terrace: bool = False


@server.tool
async def book(ctx: Context) -> str:
    """Ask the user to fill in a form."""
    answer = await ctx.elicit("What may we book for you?", Booking)
    if isinstance(answer, Accepted):
        form = answer.content
        return f"{form.meal.value} for {form.guests}, {form.name} <{form.email}>"
    return f"nothing booked: {answer.action}"


@dataclass
class Choice:
    colour: Literal["red", "green", "blue"]


Extra = Literal["bow", "card", "ribbon"]


@dataclass
class Size:
    size: Literal["small", "large"]
    extras: list[Extra] = field(default_factory=list[Extra])


@server.tool
async def order(ctx: Context) -> str:
    """Ask twice: the second question depends on the first answer."""
    colour = await ctx.elicit("Which colour?", Choice)
    if not isinstance(colour, Accepted):
        return "no colour, no order"
    size = await ctx.elicit(f"Which size in {colour.content.colour}?", Size)
    if not isinstance(size, Accepted):
        return "no size, no order"
    return f"{size.content.size} and {colour.content.colour}"


@server.tool
async def sign(ctx: Context) -> str:
    """Send the user to a page."""
    answer = await ctx.elicit_url("Please sign here", "https://example.org/sign", key="page")
    return f"the user said: {answer.action}"


@server.tool
async def summarize(text: str, ctx: Context) -> str:
    """Ask the client's model."""
    result = await ctx.sample(
        f"Summarize in one sentence: {text}", max_tokens=100, system_prompt="Be brief."
    )
    said = result.content
    return said.text if isinstance(said, TextContent) else "no text came"


@server.tool
async def folders(ctx: Context) -> list[str]:
    """List the folders that the client works in."""
    return [root.uri for root in await ctx.list_roots()]


@server.tool
async def survey(ctx: Context) -> str:
    """Ask the user, the model and the client, all at once."""
    colour, sampled, roots = await ctx.ask_all(
        ctx.elicit("Which colour?", Choice),
        ctx.sample("Name a colour", max_tokens=10),
        ctx.list_roots(),
    )
    return f"{colour.action}, {sampled.model}, {len(roots)} folders"


@server.tool
def ask_from_a_thread(ctx: Context) -> str:
    """Ask the user from a function that content."""
    answer = ctx.blocking.elicit("Which colour?", Choice)
    return answer.content.colour if isinstance(answer, Accepted) else answer.action


# --- tools: what they change ---


async def extra() -> str:
    """A tool that comes and goes."""
    return "here"


@server.tool
async def show_more() -> str:
    """Add a tool, a resource and a prompt: clients are told that the lists have changed."""
    if "extra" not in [tool.name for tool in server.tools]:
        server.add_tool(extra)
        server.add_resource("notes://extra", "More to read", name="extra")
        server.add_prompt(farewell)
    return "there is more"


@server.tool
async def show_less() -> str:
    """Take them away again."""
    if "extra" in [tool.name for tool in server.tools]:
        server.remove_tool("extra")
        server.remove_resource("notes://extra")
        server.remove_prompt("farewell")
    return "there is less"


board = ["The board is empty"]


@server.tool
async def write(text: str) -> str:
    """Write on the board: who has subscribed to it is told."""
    board.append(text)
    server.notify.resource_updated("notes://board")
    return "written"


# --- resources ---


@server.resource("notes://welcome", title="Welcome", mime_type="text/plain")
def welcome() -> str:
    """A text that never changes."""
    return "Welcome to everything."


@server.resource("notes://logo", mime_type="image/png", size=len(PIXEL))
async def logo() -> bytes:
    """Binary contents."""
    return PIXEL


@server.resource("notes://settings", annotations=Annotations(priority=0.1))
async def settings() -> dict[str, Any]:
    """Whatever can be written as JSON."""
    return {"theme": "dark", "cities": CITIES}


@server.resource("notes://board", mime_type="text/plain")
async def read_board() -> str:
    """A text that the tool `write` adds to."""
    return "\n".join(board)


@server.resource("users://{id}/profile", title="Users")
async def profile(id: int) -> dict[str, Any] | None:
    """One of the users; of others there is no profile."""
    name = USERS.get(str(id))
    return {"id": id, "name": name} if name else None


@server.completion("users://{id}/profile", "id")
async def user_ids(value: str) -> list[str]:
    return [id for id in USERS if id.startswith(value)]


# --- prompts ---


@server.prompt
async def greet(name: str, style: Literal["formal", "friendly", "short"] = "friendly") -> str:
    """Greet somebody."""
    return f"Write a {style} greeting for {name}."


@server.prompt(title="Plan a trip")
async def trip(city: str, days: int = 3) -> list[Any]:
    """A conversation that has begun already."""
    return [
        user(f"I am going to {city} for {days} days."),
        assistant("What do you like?"),
        user("Museums, and this:"),
        user(content.image(PIXEL, mime_type="image/png")),
    ]


@server.completion("trip", "city")
async def cities(value: str, arguments: Mapping[str, str]) -> list[str]:
    return [city for city in CITIES if city.lower().startswith(value.lower())]


@server.prompt
async def review() -> list[Any]:
    """A prompt with a document and a sound in it."""
    return [user(await document()), user(await sound()), user("What do you think of these?")]


@server.prompt
async def introduce(ctx: Context) -> str:
    """A prompt that asks the user for what it lacks."""
    colour = await ctx.elicit("What is your favourite colour?", Choice)
    if isinstance(colour, Accepted):
        return f"Say something about {colour.content.colour}."
    return "Say something about colours."


async def farewell(name: str) -> str:
    """A prompt that comes and goes."""
    return f"Say good-bye to {name}."


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    server.run("stdio")
