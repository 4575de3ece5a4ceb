from dataclasses import dataclass

from mcp_gen import Server
from mcp_gen.apps import McpUiToolMeta

server = Server("clock")

HTML = """<!DOCTYPE html>
<html><body><p id="time"></p>
<script>/* shows `structuredContent`, and talks to the host */</script>
</body></html>"""


@dataclass
class Time:
    hour: int
    minute: int


@server.ui_resource("ui://clock/face", prefers_border=True)
def face() -> str:
    return HTML


@server.tool(ui="ui://clock/face")
async def time_in(city: str) -> Time:
    """Return the time in a city."""
    return Time(12, len(city))


@server.tool(ui=McpUiToolMeta(resource_uri="ui://clock/face", visibility=["app"]))
async def wind(minutes: int) -> Time:
    """Move the hands."""
    return Time(12, minutes)


if __name__ == "__main__":
    server.run("stdio")
