"""The server that a command examines: its configuration, and its text without secrets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcp_gen.cli.console.server_options import read_server
from mcp_gen.cli.logins.automatic import with_stored_token
from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from mcp_gen.manager.config import ServerConfig

__all__ = ["shown_target", "target_config"]

_IN_FILE = re.compile(r"(?P<file>.+\.json):(?P<name>.+)")


def target_config(
    command: str,
    target: str | None,
    config: str | None,
    header: list[str] | None,
    env: list[str] | None,
) -> ServerConfig:
    """Return the configuration of the server that a command line names; loads no code.

    A stored token for a URL is among its headers.

    Args:
        command: The command, for the text of an error.
        target: The server, `servers.json:NAME`, or its name in a configuration file.
        config: The path of the configuration file; None for none.
        header: HTTP headers.
        env: Variables for a command.

    Raises:
        UsageError: it names nothing, or an option is not for such a server.
        AuthError: the stored token has ended, and cannot be renewed.
    """
    if target is None:
        raise UsageError(f"name a server, as in `mcp-gen {command} server.py`")
    in_file = _IN_FILE.fullmatch(target)
    if config is None and in_file:
        return with_stored_token(read_server(in_file["name"], in_file["file"], header, env))
    return with_stored_token(read_server(target, config, header, env))


def shown_target(target: str) -> str:
    """Return a target without secrets."""
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.client.connecting.target_text import is_url
    from mcp_gen.core.redaction import command_secrets, hide, shown_url

    if is_url(target):
        return shown_url(target)
    return hide(target, command_secrets(["", *target.split()], {}))
