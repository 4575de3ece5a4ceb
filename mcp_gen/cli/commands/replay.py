"""`mcp-gen replay`: play a recording again, and show what differs."""

from __future__ import annotations

import asyncio
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import typer

from mcp_gen.cli.console.output import fail, print_json
from mcp_gen.cli.console.server_options import (
    INTERRUPTED,
    UNREACHED,
    Config,
    Env,
    Header,
    read_server,
)
from mcp_gen.cli.logins.automatic import with_stored_token
from mcp_gen.core.errors import McpGenError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_gen.compat.doctor.targets import Over
    from mcp_gen.compat.recordings.replaying.replay import ReplayReport
    from mcp_gen.manager.config import ServerConfig

__all__ = ["replay"]

DEFAULT_TIMEOUT_S = 5.0


def replay(
    file: Annotated[str, typer.Argument(help="A recording of `mcp-gen record`.", metavar="FILE")],
    to: Annotated[
        str,
        typer.Option(
            help="The server: `file.py`, `file.py:name`, `module:name`, a command line in quotes, "
            "a URL; or with --config a name in it.",
            metavar="TARGET",
        ),
    ],
    as_revision: Annotated[
        str | None,
        typer.Option("--as", help="Restate the conversation at this revision.", metavar="REVISION"),
    ] = None,
    over: Annotated[
        Literal["stdio", "http", "memory"] | None,
        typer.Option(
            help="How Python code is reached: run over stdio (the default) or http, or loaded into "
            "this process (memory)."
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            help="A JSON pointer to what may differ in messages of the server, such as "
            "`/result/structuredContent/elapsed`. Can be given more than once.",
            metavar="POINTER",
        ),
    ] = None,
    fill: Annotated[
        list[str] | None,
        typer.Option(
            help="`3=VALUE` sends VALUE in the place of `<redacted-3>`. Can be given more than "
            "once.",
            metavar="NUMBER=VALUE",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")] = False,
    config: Config = None,
    header: Header = None,
    env: Env = None,
    timeout: Annotated[
        float, typer.Option(help="Seconds that a message may take.", min=0.1)
    ] = DEFAULT_TIMEOUT_S,
) -> None:
    """Play the client's side of a recording against a server, and show what differs.

    The messages of the recorded client are sent in their order, each once the server has sent what
    it had sent before. Ids, times, cursors, request states and session ids are those of the live
    server, and do not differ. There is one line for each difference: the line of the recording, the
    message, the JSON path, what was expected, what came. The exit code is 0 if nothing differs, and
    1 otherwise.

    **Examples**

    * `mcp-gen replay talk.jsonl --to server.py` plays it against a new version of a server
    * `mcp-gen replay talk.jsonl --to http://127.0.0.1:8000/mcp` plays it over HTTP
    * `mcp-gen replay talk.jsonl --to server.py --as 2025-06-18` as a client of that revision
    """
    try:
        found = with_stored_token(read_server(to, config, header, env))
        filled = _filled(fill or [])
        report = asyncio.run(_replay(file, found, over, as_revision, ignore or [], filled, timeout))
    except UsageError as error:
        fail("replay", error)
    except McpGenError as error:
        fail("replay", error, UNREACHED)
    except KeyboardInterrupt:
        fail("replay", "interrupted", INTERRUPTED)
    if as_json:
        print_json({**msgspec.to_builtins(report), "equal": report.is_equal})
    else:
        # Imported here so that `mcp-gen --help` stays fast.
        from mcp_gen.compat.report.texts import visible_lines

        print(visible_lines(str(report)))
    raise typer.Exit(0 if report.is_equal else 1)


async def _replay(
    file: str,
    config: ServerConfig,
    over: Over | None,
    revision: str | None,
    ignored: Sequence[str],
    filled: dict[str, str],
    timeout_s: float,
) -> ReplayReport:
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.compat.doctor.targets import open_target
    from mcp_gen.compat.recordings.replaying.replay import replay

    # The prints of a server in this process are no report.
    with redirect_stdout(sys.stderr):
        async with open_target(config, over) as opened:
            return await replay(
                file,
                opened.opens,
                revision=revision,
                timeout_s=timeout_s,
                ignored=ignored,
                filled=filled,
            )


def _filled(given: Sequence[str]) -> dict[str, str]:
    filled: dict[str, str] = {}
    for one in given:
        number, equals, value = one.partition("=")
        if not equals:
            raise UsageError("--fill: expected `NUMBER=VALUE`, as in `3=s3cret`")
        filled[number] = value
    return filled
