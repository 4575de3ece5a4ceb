"""`mcp-gen inspect`: everything that a server has, at a revision."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from mcp_gen.cli.commands.tools import brief, signature
from mcp_gen.cli.console.content import plain
from mcp_gen.cli.console.output import console, fail, plain_table, plain_text, print_json
from mcp_gen.cli.console.progress import strip_control
from mcp_gen.cli.console.server_command import ServerCommand, list_items, list_templates
from mcp_gen.cli.console.server_options import (
    DEFAULT_TIMEOUT_S,
    Config,
    Env,
    Header,
    Json,
    Revision,
    ServerName,
    Timeout,
)

if TYPE_CHECKING:
    from mcp_gen.cli.console.progress import Screen
    from mcp_gen.client.session.session import ClientSession

__all__ = ["inspect"]


class ServerContents(NamedTuple):
    """Everything that a server has, as wire values of one revision."""

    revision: str
    server: Any
    capabilities: Any
    instructions: str | None
    tools: Sequence[Any]
    resources: Sequence[Any]
    resource_templates: Sequence[Any]
    prompts: Sequence[Any]


class Section(NamedTuple):
    """A kind of items: its title, its columns, and the cells of an item."""

    title: str
    kind: str
    columns: tuple[str, ...]
    row: Callable[[Any], tuple[str, ...]]


def inspect(
    server: ServerName,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown, as for a README.")
    ] = False,
    config: Config = None,
    revision: Revision = None,
    header: Header = None,
    env: Env = None,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    as_json: Json = False,
) -> None:
    """Show everything that a server has: capabilities, instructions, tools, resources, prompts.

    `?` marks optional arguments. --json has whole schemas, as the server sends them at the
    revision.

    Exit code 1 if the server refuses, 2 for a mistake in the command line, 3 if the server cannot
    be reached.

    **Examples**

    * `mcp-gen inspect server.py` shows the server of a Python file
    * `mcp-gen inspect https://example.org/mcp --revision 2024-11-05` shows what older clients see
    * `mcp-gen inspect server.py --markdown > SERVER.md` writes a page about it
    """
    if markdown and as_json:
        fail("inspect", "--json and --markdown are two ways to print; give one of them")
    command = ServerCommand.of(
        "inspect",
        server,
        config=config,
        revision=revision,
        header=header,
        env=env,
        timeout=timeout,
        as_json=as_json or markdown,
    )
    contents = command.ask(_contents)
    if as_json:
        print_json(_as_json(contents))
    elif markdown:
        print("\n".join(_markdown(contents)))
    else:
        _print_tables(contents)


async def _contents(session: ClientSession, screen: Screen) -> ServerContents:
    return ServerContents(
        session.revision,
        session.server_info,
        session.server_capabilities,
        session.instructions,
        await list_items(session, screen, "tools"),
        await list_items(session, screen, "resources"),
        await list_templates(session, screen),
        await list_items(session, screen, "prompts"),
    )


def _as_json(contents: ServerContents) -> dict[str, Any]:
    instructions = {} if contents.instructions is None else {"instructions": contents.instructions}
    return {
        "protocolVersion": contents.revision,
        "serverInfo": plain(contents.server),
        "capabilities": plain(contents.capabilities),
        **instructions,
        "tools": [plain(one) for one in contents.tools],
        "resources": [plain(one) for one in contents.resources],
        "resourceTemplates": [plain(one) for one in contents.resource_templates],
        "prompts": [plain(one) for one in contents.prompts],
    }


def _about(item: Any) -> str:
    return item.description or getattr(item, "title", None) or ""


def _resource(item: Any) -> tuple[str, ...]:
    return item.uri, item.name, item.mime_type or "", _about(item)


def _template(item: Any) -> tuple[str, ...]:
    return item.uri_template, item.name, item.mime_type or "", _about(item)


def _tool(item: Any) -> tuple[str, ...]:
    output: Any = getattr(item, "output_schema", None)
    return item.name, signature(item), "" if output is None else brief(output), _about(item)


def _prompt(item: Any) -> tuple[str, ...]:
    arguments = (one.name if one.required else f"{one.name}?" for one in item.arguments or ())
    return item.name, ", ".join(arguments), _about(item)


_SECTIONS = (
    Section("Tools", "tools", ("tool", "arguments", "result", "description"), _tool),
    Section("Resources", "resources", ("resource", "name", "type", "description"), _resource),
    Section(
        "Resource templates",
        "resource_templates",
        ("template", "name", "type", "description"),
        _template,
    ),
    Section("Prompts", "prompts", ("prompt", "arguments", "description"), _prompt),
)


def _capabilities(contents: ServerContents) -> str:
    """Return the names of the capabilities, each with what it has in brackets."""
    found: dict[str, Any] = plain(contents.capabilities)
    return ", ".join(
        f"{name} ({', '.join(value)})" if value else name for name, value in found.items()
    )


def _title(contents: ServerContents) -> str:
    server = contents.server
    name = (getattr(server, "title", None) or server.name) if server else "a server without a name"
    return f"{name} {server.version}" if server else name


def _print_tables(contents: ServerContents) -> None:
    out = console()
    facts = {
        "server": _title(contents),
        "revision": contents.revision,
        "capabilities": _capabilities(contents) or "none",
        "instructions": contents.instructions or "none",
    }
    table = plain_table("", "")
    table.show_header = False
    for name, value in facts.items():
        table.add_row(plain_text(name, "bold"), plain_text(strip_control(value)))
    out.print(table)
    for section in _SECTIONS:
        items: Sequence[Any] = getattr(contents, section.kind)
        if not items:
            continue
        table = plain_table(*section.columns, title=section.title)
        for one in items:
            name, *rest = map(strip_control, section.row(one))
            table.add_row(plain_text(name, "bold"), *map(plain_text, rest))
        out.print(table)


def _markdown(contents: ServerContents) -> Iterator[str]:
    yield f"# {_cell(_title(contents))}"
    capabilities = _capabilities(contents) or "none"
    yield f"\nProtocol version {contents.revision}. Capabilities: {capabilities}."
    if contents.instructions:
        yield f"\n{strip_control(contents.instructions)}"
    for section in _SECTIONS:
        items: Sequence[Any] = getattr(contents, section.kind)
        if not items:
            continue
        yield f"\n## {section.title}\n"
        yield f"| {' | '.join(section.columns)} |"
        yield f"|{'---|' * len(section.columns)}"
        for one in items:
            name, *rest = map(_cell, section.row(one))
            yield f"| {' | '.join((f'`{name}`', *rest))} |"


def _cell(text: str) -> str:
    """Return text for one cell: a line, in which nothing ends the cell."""
    return " ".join(strip_control(text).split()).replace("|", "\\|")
