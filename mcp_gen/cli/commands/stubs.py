"""`mcp-gen stubs`: write a typed client of a server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from mcp_gen.cli.console.output import fail
from mcp_gen.cli.console.server_options import (
    Config,
    Env,
    Header,
    Revision,
    ServerName,
    Timeout,
    ask_server,
    options_of,
)
from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from mcp_gen.cli.console.progress import Screen
    from mcp_gen.client.session.session import ClientSession
    from mcp_gen.compat.stubs.offer import ServerOffer

__all__ = ["stubs"]

DEFAULT_TIMEOUT_S = 60.0
MAX_SHOWN = 20
"""Maximum number of changes that are printed."""


def stubs(
    server: ServerName,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The file; stdout without one.", metavar="FILE"),
    ] = None,
    models: Annotated[
        Literal["msgspec", "pydantic"],
        typer.Option(help="The library of the classes: msgspec Structs or pydantic models."),
    ] = "msgspec",
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Write nothing; exit with code 1 if the file is not up to date."
        ),
    ] = False,
    config: Config = None,
    revision: Revision = None,
    header: Header = None,
    env: Env = None,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
) -> None:
    """Write a typed client of a server: a function for each tool and prompt, classes of objects.

    The functions have the arguments, types and descriptions that the server lists. Type checkers
    and editors then know what a server takes and returns.

    **Examples**

    * `mcp-gen stubs server.py -o shelf.py` writes a module
    * `mcp-gen stubs "npx -y some-server" -o some.py --models pydantic` with pydantic models
    * `mcp-gen stubs server.py -o shelf.py --check` fails in CI once the server has changed
    """
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.compat.stubs.python_module import module_text

    if check and output is None:
        fail("stubs", "--check needs the file: name it with -o")
    options = options_of("stubs", server, config, revision, header, env, timeout)
    text = module_text(ask_server("stubs", options, _read, quiet=True), models)
    if output is None:
        print(text, end="")
    elif check:
        _check(output, text)
    else:
        try:
            output.write_text(text, "utf-8")
        except OSError as error:
            fail("stubs", f"{output} cannot be written: {error.strerror}")


async def _read(session: ClientSession, screen: Screen) -> ServerOffer:
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.compat.stubs.offer import read_offer

    return await read_offer(session)


def _check(output: Path, text: str) -> None:
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.compat.stubs.staleness import changed_names

    try:
        changed = changed_names(output.read_text("utf-8"), text)
    except OSError as error:
        fail("stubs", f"{output} cannot be read: {error.strerror}; write it without --check", 1)
    except (UsageError, UnicodeDecodeError) as error:
        fail("stubs", f"{output}: {error}; write it again without --check", 1)
    if changed:
        for one in changed[:MAX_SHOWN]:
            print(one)
        if len(changed) > MAX_SHOWN:
            print(f"and {len(changed) - MAX_SHOWN} more")
        print(f"{output} is stale; write it again without --check", file=sys.stderr)
        raise typer.Exit(1)
