"""A tool with a JSON Schema of its own: arguments arrive as a dict that fits it."""

from typing import Any

from mcp_gen import Context, Server
from mcp_gen.types import Tool

server = Server("dice", "1.0.0")

ROLL = Tool(
    name="roll",
    description="Describe a roll of dice.",
    input_schema={
        "type": "object",
        "properties": {
            "count": {"type": "integer", "minimum": 1, "maximum": 10},
            "sides": {"enum": [4, 6, 8, 12, 20]},
        },
        "required": ["count", "sides"],
    },
)


async def roll(ctx: Context, arguments: dict[str, Any]) -> str:
    return f"{arguments['count']}d{arguments['sides']}"


server.add_tool(ROLL, roll)

if __name__ == "__main__":
    server.run("stdio")
