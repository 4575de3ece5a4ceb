"""Notes: resources that clients read, a prompt, completions, and a tool that asks the user."""

from dataclasses import dataclass
from typing import Literal

from mcp_gen import Accepted, Context, ResourceNotFound, Server

server = Server("notes", "1.0.0", instructions="Short notes, by name.")
notes = {"shopping": "bolts, nuts", "birthdays": "Ada: 10 December"}


@server.resource("note://{name}", mime_type="text/plain")
async def note(name: str) -> str:
    """One note."""
    if name not in notes:
        raise ResourceNotFound
    return notes[name]


@server.completion("note://{name}", "name")
async def names(value: str) -> list[str]:
    return [name for name in notes if name.startswith(value)]


@server.prompt
def summarise(name: str, tone: Literal["plain", "cheerful"] = "plain") -> str:
    """Ask for a summary of a note."""
    return f"Summarise the note {name!r} in a {tone} tone: {notes[name]}"


@dataclass
class Reason:
    why: Literal["done", "wrong"]


@server.tool
async def delete(name: str, ctx: Context) -> str:
    """Delete a note, once the user has said why."""
    answer = await ctx.elicit(f"Why delete {name}?", Reason)
    if not isinstance(answer, Accepted):
        return f"{name} is still there"
    notes.pop(name, None)
    server.notify.resource_updated(f"note://{name}")
    return f"{name} is gone: {answer.content.why}"


if __name__ == "__main__":
    server.run("stdio")
