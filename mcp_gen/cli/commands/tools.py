"""`mcp-gen tools`: list the tools of a server (`tools/list`)."""

from __future__ import annotations

from functools import partial
from typing import Any

from mcp_gen.cli.console.progress import strip_control
from mcp_gen.cli.console.server_command import ServerCommand, list_items
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

__all__ = ["brief", "signature", "tools"]


def tools(
    server: ServerName,
    config: Config = None,
    revision: Revision = None,
    header: Header = None,
    env: Env = None,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    as_json: Json = False,
) -> None:
    """List the tools of a server with their arguments; `?` marks optional ones.

    Exit code 1 if the server refuses, 2 for a mistake in the command line, 3 if the server cannot
    be reached.

    **Examples**

    * `mcp-gen tools server.py` lists the tools of the server in a Python file
    * `mcp-gen tools package.module:server` lists those of a module's
    * `mcp-gen tools unix:/run/server.sock` lists those of a server that listens on a socket
    * `mcp-gen tools https://example.org/mcp` lists the tools of a remote server
    * `mcp-gen tools "uvx mcp-server-time" --revision 2024-11-05` starts a command, pins a revision
    * `mcp-gen tools files --config servers.json --json` prints the schemas of one in a file
    """
    command = ServerCommand.of(
        "tools",
        server,
        config=config,
        revision=revision,
        header=header,
        env=env,
        timeout=timeout,
        as_json=as_json,
    )
    found = command.ask(partial(list_items, kind="tools"))
    command.print_items(
        found,
        ("tool", "arguments", "description"),
        lambda tool: (tool.name, signature(tool), tool.description or tool.title or ""),
        "no tools",
    )


def signature(tool: Any) -> str:
    """Return the arguments of a tool in short: `count: integer, sides?: 4 | 6`."""
    return brief(tool.input_schema)


def brief(schema: dict[str, Any]) -> str:
    """Return the properties of an object's schema in short, `?` after optional ones."""
    required: list[str] = schema.get("required") or []
    properties: dict[str, Any] = schema.get("properties") or {}
    return strip_control(
        ", ".join(
            f"{name}{'' if name in required else '?'}: {_kind(one)}"
            for name, one in properties.items()
        )
    )


def _kind(schema: Any) -> str:
    if schema.__class__ is not dict:
        return "any"
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    declared: Any = schema.get("type")
    if declared is None:
        parts: list[Any] = schema.get("anyOf") or schema.get("oneOf") or []
        return " | ".join(dict.fromkeys(map(_kind, parts))) or "any"
    if declared == "array":
        return f"{_kind(schema.get('items'))}[]"
    return " | ".join(map(str, declared)) if declared.__class__ is list else str(declared)
