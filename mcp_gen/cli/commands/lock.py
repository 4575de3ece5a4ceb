"""`mcp-gen lock`: write what a server promises to a file, or compare the server with that file."""

from __future__ import annotations

import asyncio
import sys
from contextlib import ExitStack, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

import mcp_wire
from mcp_gen.cli.console.output import fail
from mcp_gen.cli.console.server_options import INTERRUPTED, UNREACHED, Config, Env, Header
from mcp_gen.cli.console.target_option import shown_target, target_config
from mcp_gen.core.errors import McpGenError, UsageError

if TYPE_CHECKING:
    from mcp_gen.compat.doctor.targets import Over
    from mcp_gen.contracts.changes import ContractChange
    from mcp_gen.contracts.lock import ServerLock
    from mcp_gen.manager.config import ServerConfig

__all__ = ["lock"]

DEFAULT_FILE = "mcp.lock.json"
DEFAULT_TIMEOUT_S = 5.0
STDOUT = "-"


def lock(
    target: Annotated[
        str | None,
        typer.Argument(
            help="`file.py`, `file.py:name`, `module:name`, a command line in quotes, a URL, "
            "`servers.json:NAME`; or with --config a name in it.",
            metavar="TARGET",
        ),
    ] = None,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            help="The lock: written, or compared with; `-` is stdout.",
            metavar="FILE",
        ),
    ] = DEFAULT_FILE,
    check: Annotated[
        bool,
        typer.Option("--check", help="Compare the server with the lock; write nothing."),
    ] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="With --check: fail too if descriptions, titles, annotations, icons, defaults or "
            "instructions have changed. Models read them.",
        ),
    ] = False,
    allow_unclear: Annotated[
        bool,
        typer.Option(
            "--allow-unclear",
            help="With --check: pass changes of which it cannot be told if they break callers.",
        ),
    ] = False,
    over: Annotated[
        Literal["stdio", "http", "memory"] | None,
        typer.Option(
            help="How Python code is reached: run by `mcp-gen run` over stdio (the default) or "
            "over http on a free port of this machine, or loaded into this process (memory)."
        ),
    ] = None,
    revision: Annotated[
        list[str] | None, typer.Option(help="Only this revision; can be given more than once.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="With --check: print JSON for scripts.")
    ] = False,
    markdown: Annotated[
        str | None,
        typer.Option(
            help="With --check: write Markdown for a pull request; `-` is stdout.", metavar="FILE"
        ),
    ] = None,
    config: Config = None,
    header: Header = None,
    env: Env = None,
    timeout: Annotated[
        float, typer.Option(help="Seconds that an answer may take.", min=0.1)
    ] = DEFAULT_TIMEOUT_S,
) -> None:
    """Write what a server promises to a file, or compare the server with that file.

    A lock has capabilities, tools with their schemas, resources, prompts and instructions of a
    server, at every revision that it speaks. It is made for version control: the same promises
    are the same bytes. No tool is called.

    --check compares: arguments may widen and results may narrow, proven by their JSON Schemas.
    Exit code 1 if a change breaks callers or may break them, 2 for a mistake in the command line,
    3 if the server cannot be reached.

    **Examples**

    * `mcp-gen lock server.py` writes `mcp.lock.json`
    * `mcp-gen lock server.py --check` compares the server with it
    * `mcp-gen lock "uvx mcp-server-time" -o time.lock.json` locks the server of somebody else
    * `mcp-gen lock server.py --check --strict --markdown -` is for a pull request
    """
    try:
        _check_options(check, strict or allow_unclear or as_json or markdown is not None, output)
        old = _old(output) if check else None
        revisions = _revisions(revision)
        named = target_config("lock", target, config, header, env)
        found = asyncio.run(_collect(named, over, revisions, timeout))
        if old is None:
            _write(found, output)
            return
        changes = _compared(old, found, revision)
        _report(changes, output, spoken=len(old.revisions), as_json=as_json, markdown=markdown)
    except UsageError as error:
        fail("lock", error)
    except McpGenError as error:
        fail("lock", error, UNREACHED)
    except KeyboardInterrupt:
        fail("lock", "interrupted", INTERRUPTED)
    passing = {"compatible": True, "changed": not strict, "cannot tell": allow_unclear}
    if not all(passing.get(one.verdict, False) for one in changes):
        _advise(output, target or "TARGET")
        raise typer.Exit(1)


def _check_options(check: bool, only_for_check: bool, output: str) -> None:
    if only_for_check and not check:
        raise UsageError("--strict, --allow-unclear, --json and --markdown go with --check")
    if check and output == STDOUT:
        raise UsageError("--check: name the lock with `-o FILE`")
    if not Path(output).parent.is_dir():
        raise UsageError(f"--output: there is no folder {Path(output).parent}")


def _old(path: str) -> ServerLock:
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.contracts.lock import read_lock

    return read_lock(path)


def _revisions(names: list[str] | None) -> tuple[str, ...]:
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.core.revisions import select

    return select(names or mcp_wire.REVISIONS)


async def _collect(
    named: ServerConfig, over: Over | None, revisions: tuple[str, ...], timeout_s: float
) -> ServerLock:
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.compat.doctor.targets import open_target
    from mcp_gen.compat.promises import collect_promises

    with ExitStack() as around:
        # The prints of a server in this process are no lock, as little as over stdio.
        around.enter_context(redirect_stdout(sys.stderr))
        async with open_target(named, over) as opened:
            try:
                return await collect_promises(
                    opened.opens, opened.transport, revisions, timeout_s=timeout_s
                )
            except McpGenError:
                last_lines = opened.last_lines()
                if last_lines:
                    # Imported here so that `mcp-gen --help` stays fast.
                    from mcp_gen.compat.report.texts import visible_lines

                    print(visible_lines(last_lines), file=sys.stderr)
                raise


def _write(found: ServerLock, output: str) -> None:
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.contracts.lock import encode_lock

    text = encode_lock(found)
    if output == STDOUT:
        print(text, end="")
        return
    try:
        Path(output).write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"--output: {output} cannot be written: {error.strerror}") from None
    count = len(next(iter(found.revisions.values())).tools)
    print(f"{output}: {count} {'tool' if count == 1 else 'tools'} at {', '.join(found.revisions)}")


def _compared(
    old: ServerLock, new: ServerLock, only: list[str] | None
) -> tuple[ContractChange, ...]:
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.contracts.changes import compare_locks
    from mcp_gen.contracts.lock import ServerLock

    if only:
        kept = {name: one for name, one in old.revisions.items() if name in only}
        old = ServerLock(old.server, kept)
    return compare_locks(old, new)


def _report(
    changes: tuple[ContractChange, ...],
    output: str,
    *,
    spoken: int,
    as_json: bool,
    markdown: str | None,
) -> None:
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.cli.console.lock_report import changes_json, changes_markdown, print_changes

    if as_json and markdown == STDOUT:
        raise UsageError("--json and --markdown print to stdout; give a file for --markdown")
    if markdown is not None:
        text = changes_markdown(changes, output)
        if markdown == STDOUT:
            print(text, end="")
        else:
            try:
                Path(markdown).write_text(text, "utf-8")
            except OSError as error:
                why = f"{markdown} cannot be written: {error.strerror}"
                raise UsageError(f"--markdown: {why}") from None
    if as_json:
        print(changes_json(changes), end="")
    elif markdown != STDOUT:
        print_changes(changes, output, spoken)


def _advise(output: str, target: str) -> None:
    shown = shown_target(target)
    words = ["mcp-gen lock", f'"{shown}"' if " " in shown else shown]
    words += ["-o", output] if output != DEFAULT_FILE else []
    print(
        f"mcp-gen lock: the server does not keep {output}; if that is meant, "
        f"`{' '.join(words)}` makes it again",
        file=sys.stderr,
    )
