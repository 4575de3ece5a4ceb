"""Frame of the commands that talk to one server: options, asking, printing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_gen.cli.console.content import plain, show
from mcp_gen.cli.console.output import console, fail, plain_table, print_json, shown
from mcp_gen.cli.console.progress import visible
from mcp_gen.cli.console.server_options import ask_server, options_of
from mcp_gen.core.errors import McpGenError

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_gen.cli.console.progress import Screen
    from mcp_gen.cli.console.server_options import Options
    from mcp_gen.client.session.session import ClientSession

__all__ = ["ServerCommand", "list_items"]

T = TypeVar("T")


@dataclass(frozen=True)
class ServerCommand:
    """One run of a command that talks to a server."""

    name: str
    options: Options
    as_json: bool

    @classmethod
    def of(
        cls,
        name: str,
        server: str,
        *,
        config: str | None,
        revision: str | None,
        header: list[str] | None,
        timeout: float,
        as_json: bool,
    ) -> ServerCommand:
        """Read the command line's options; ends the command where they make no sense."""
        return cls(name, options_of(name, server, config, revision, header, timeout), as_json)

    def ask(self, work: Callable[[ClientSession, Screen], Awaitable[T]]) -> T:
        """Return what `work` gives with a session; ends the command where something is wrong."""
        return ask_server(self.name, self.options, work, quiet=self.as_json)

    def print_result(self, result: Any, save: Path | None) -> None:
        """Print a result, as JSON if that is wanted; write what is not text to a folder."""
        if self.as_json:
            print_json(plain(result))
            return
        try:
            show(result, save)
        except McpGenError as error:
            fail(self.name, error)

    def print_items(
        self,
        items: Sequence[Any],
        columns: Sequence[str],
        row: Callable[[Any], Sequence[str]],
        nothing: str,
    ) -> None:
        """Print a list as a table, whose first column is the name; `nothing` if it is empty."""
        if self.as_json:
            print_json([plain(one) for one in items])
            return
        table = plain_table(*columns)
        for one in items:
            name, *rest = map(visible, row(one))
            table.add_row(shown(name, "bold"), *map(shown, rest))
        console().print(table if items else nothing)


async def list_items(session: ClientSession, screen: Screen, kind: str) -> list[Any]:
    """Return all `tools`, `prompts` or `resources`; none where the server does not declare them."""
    if getattr(session.server_capabilities, kind) is None:
        return []
    screen.begin(f"listing the {kind}")
    return [one async for one in getattr(session, kind)()]
