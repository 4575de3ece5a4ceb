from mcp_gen import ResourceNotFound, Server

server = Server("notes", "1.0.0")
notes = {"shopping": "bolts, nuts", "birthdays": "Ada: 10 December"}


@server.resource("note://{name}", mime_type="text/plain")
async def note(name: str) -> str:
    """One note."""
    if name not in notes:
        raise ResourceNotFound
    return notes[name]


if __name__ == "__main__":
    server.run("stdio")
