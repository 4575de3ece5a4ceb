"""Checks of tools."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mcp_gen.compat.checks.check import probe
from mcp_gen.compat.checks.found import NotTested

if TYPE_CHECKING:
    from mcp_gen.compat.checks.trial import ServerTrial


@probe("tools:names:unique")
async def names_are_unique(trial: ServerTrial) -> None:
    client = await trial.having("tools")
    tools = await client.list_all("list_tools")
    if not tools:
        raise NotTested("the server has no tools")
    for name, times in Counter(str(tool.get("name")) for tool in tools).items():
        if times > 1:
            trial.broken("each name is that of one tool", f"{times} tools are called {name!r}")
