"""`mcp-gen record`: pass a conversation on, and record it without secrets."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcp_gen.cli.console.output import fail
from mcp_gen.core.errors import McpGenError, UsageError

if TYPE_CHECKING:
    from mcp_gen.compat.recordings.writer import RecordingWriter

__all__ = ["OPTIONS", "record"]

OPTIONS = {"context_settings": {"allow_interspersed_args": False}}
"""Options of the command: words after the first one are the server's."""

MIB = 1024 * 1024


def record(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            help="After `--`: the command of the server. The client starts this command instead.",
            metavar="COMMAND...",
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            help="Record a server over HTTP instead: its URL. The client connects to a URL of this "
            "machine, which is printed.",
            metavar="URL",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The file; if it is there, a number is added to its name. Without one: "
            "`mcp-<time>.jsonl` in this folder.",
            metavar="FILE",
        ),
    ] = None,
    redact: Annotated[
        list[str] | None,
        typer.Option(
            help="A JSON pointer to what is replaced in each message, such as "
            "`/params/arguments/body`; `*` stands for every member. Can be given more than once.",
            metavar="POINTER",
        ),
    ] = None,
    port: Annotated[
        int,
        typer.Option(help="With --to: the port to listen on; 0 for a free one.", min=0, max=65535),
    ] = 0,
    max_size: Annotated[
        int,
        typer.Option(help="Maximum size of the file, in MiB; what comes later is left out.", min=1),
    ] = 64,
) -> None:
    """Record the conversation of a client and a server, without secrets.

    The messages pass as they are. The recording has a line of JSON for each: the time, the side,
    the revision, the message, and over HTTP the method, the status and the headers. Credentials,
    cookies, session ids, queries of URLs, request states, and values named like a token, secret,
    password or key are replaced by `<redacted-1>` and so on, the same value by the same text.

    **Examples**

    * `mcp-gen record -o talk.jsonl -- python server.py` is what the client starts
    * `mcp-gen record --redact /params/arguments/body -- python server.py` replaces one thing more
    * `mcp-gen record -o talk.jsonl --to http://127.0.0.1:8000/mcp` prints what it connects to
    """
    words = command or []
    if bool(words) == (to is not None):
        fail(
            "record",
            "name a command, as in `mcp-gen record -- python server.py`, or a URL with --to",
        )
    path = output or Path(f"mcp-{datetime.now():%Y-%m-%dT%H-%M-%S}.jsonl")
    try:
        code = _record(words, to, path, redact or [], port, max_size * MIB)
    except McpGenError as error:
        fail("record", error)
    raise typer.Exit(code)


def _record(
    words: Sequence[str],
    to: str | None,
    path: Path,
    pointers: Sequence[str],
    port: int,
    max_bytes: int,
) -> int:
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.compat.recordings.redactor import Redactor
    from mcp_gen.compat.recordings.secret_names import is_secret_name
    from mcp_gen.compat.recordings.writer import RecordingWriter, new_file
    from mcp_gen.core.redaction import command_secrets, shown_command, shown_url, url_secrets

    if to is not None:
        # Imported here so that `mcp-gen --help` stays fast.
        from mcp_gen.transports.http_client.pool import origin_of

        origin_of(to)
        known, server = url_secrets(to), shown_url(to)
    else:
        if shutil.which(words[0]) is None:
            raise UsageError(f"there is no program {words[0]!r}")
        variables = {name: value for name, value in os.environ.items() if is_secret_name(name)}
        known, server = command_secrets(words, variables), shown_command(words)
    redactor = Redactor(pointers, known)
    file, path = new_file(path)
    writer = RecordingWriter(
        file,
        redactor,
        transport="stdio" if to is None else "http",
        server=server,
        pointers=pointers,
        max_bytes=max_bytes,
    )
    try:
        if to is None:
            # Imported here so that `mcp-gen --help` stays fast.
            from mcp_gen.compat.recordings.taps.command import tap_command

            return tap_command(words, writer)
        asyncio.run(_serve(to, writer, port, path))
        return 0
    except UsageError:
        # Nothing has passed: the file would hold nothing.
        path.unlink(missing_ok=True)
        raise
    finally:
        writer.aclose()
        if writer.problem:
            print(f"mcp-gen record: {path}: {writer.problem}", file=sys.stderr)


async def _serve(to: str, writer: RecordingWriter, port: int, path: Path) -> None:
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.compat.recordings.taps.http import tap_url

    async with tap_url(to, writer, port=port, has_signals=True) as (url, serving):
        print(f"{url} is recorded to {path}; Ctrl-C ends it", file=sys.stderr, flush=True)
        await serving
