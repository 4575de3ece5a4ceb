"""A server with an app: clients that show apps show what `mix` returns as a palette.

    python examples/apps_server.py
    mcp-gen run examples/apps_server.py:server --http

The sliders of the palette call `adjust`, which the model does not see. Other clients see `mix`
alone, and read what it says.
"""

from __future__ import annotations

import colorsys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from mcp_gen import Context, Server, Structured
from mcp_gen.apps import McpUiToolMeta, client_supports_apps

PALETTE = "ui://palette/palette.html"
FAMILIES = ["red", "yellow", "green", "cyan", "blue", "magenta"]

Share = Annotated[int, Meta(ge=0, le=255)]

server = Server("palette", "1.0.0")
server.add_ui_resource(PALETTE, Path(__file__).with_name("palette.html"), prefers_border=True)


@dataclass
class Colour:
    red: int
    green: int
    blue: int
    hex: str
    family: str


def colour(red: int, green: int, blue: int) -> Colour:
    hue, lightness, saturation = colorsys.rgb_to_hls(red / 255, green / 255, blue / 255)
    family = FAMILIES[round(hue * 6) % 6] if saturation and 0 < lightness < 1 else "grey"
    return Colour(red, green, blue, f"#{red:02x}{green:02x}{blue:02x}", family)


@server.tool(ui=PALETTE)
async def mix(red: Share, green: Share, blue: Share, ctx: Context) -> Structured[Colour]:
    """Mix a colour from its shares of red, green and blue, and show it."""
    mixed = colour(red, green, blue)
    text = f"{mixed.hex}, of the family of {mixed.family}"
    return Structured(mixed, [f"{text}; the user sees it" if client_supports_apps(ctx) else text])


@server.tool(ui=McpUiToolMeta(resource_uri=PALETTE, visibility=["app"]))
async def adjust(red: Share, green: Share, blue: Share) -> Colour:
    """The colour that the sliders stand at."""
    return colour(red, green, blue)


if __name__ == "__main__":
    server.run("stdio")
