"""Base of the commands that connect to one server: options, requests, printing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_gen.cli.console.content import plain, show
from mcp_gen.cli.console.output import console, fail, plain_table, plain_text, print_json
from mcp_gen.cli.console.progress import strip_control
from mcp_gen.cli.console.server_options import ask_server, options_of
from mcp_gen.core.errors import McpError, McpGenError

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_gen.cli.console.progress import Screen
    from mcp_gen.cli.console.server_options import Options
    from mcp_gen.client.session.session import ClientSession

__all__ = ["ServerCommand", "list_items", "list_templates"]

T = TypeVar("T")


@dataclass(frozen=True)
class ServerCommand:
    """One run of a command that connects to a server.

    Args:
        name: The name of the command.
        options: The server and how to connect to it.
        as_json: True prints JSON.
    """

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
        env: list[str] | None,
        timeout: float,
        as_json: bool,
    ) -> ServerCommand:
        """Parse the command line options; exits with code 2 if they are invalid."""
        options = options_of(name, server, config, revision, header, env, timeout)
        return cls(name, options, as_json)

    def ask(self, work: Callable[[ClientSession, Screen], Awaitable[T]]) -> T:
        """Connect, run `work` with the session, and return its result; exits on errors."""
        return ask_server(self.name, self.options, work, quiet=self.as_json)

    def print_result(self, result: Any, save: Path | None) -> None:
        """Print a result, or its JSON; write what is not text to a folder."""
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
        """Print a list as a table, or as JSON.

        Args:
            items: The wire values.
            columns: The titles of the columns.
            row: Returns the cells of an item, the name first.
            nothing: The text for an empty list.
        """
        if self.as_json:
            print_json([plain(one) for one in items])
            return
        table = plain_table(*columns)
        for one in items:
            name, *rest = map(strip_control, row(one))
            table.add_row(plain_text(name, "bold"), *map(plain_text, rest))
        console().print(table if items else nothing)


async def list_items(session: ClientSession, screen: Screen, kind: str) -> list[Any]:
    """Return all tools, prompts or resources; none if the server does not declare them."""
    if getattr(session.server_capabilities, kind) is None:
        return []
    screen.begin(f"listing the {kind}")
    return [one async for one in getattr(session, kind)()]


async def list_templates(session: ClientSession, screen: Screen) -> list[Any]:
    """Return all resource templates; none if the server has resources without templates."""
    if session.server_capabilities.resources is None:
        return []
    screen.begin("listing the resource templates")
    try:
        return [one async for one in session.resource_templates()]
    except McpError:
        return []
