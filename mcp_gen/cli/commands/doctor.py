"""`mcp-gen doctor`: judge a server or a client at every revision, and report what it breaks."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import mcp_wire
from mcp_gen.cli.console.output import fail
from mcp_gen.cli.console.report_forms import doctor_writers, report_forms, write_forms
from mcp_gen.cli.console.server_options import (
    INTERRUPTED,
    UNREACHED,
    Config,
    Env,
    Header,
    end_at_sigterm,
)
from mcp_gen.cli.console.target_option import shown_target, target_config
from mcp_gen.core.errors import McpGenError, UsageError

if TYPE_CHECKING:
    from mcp_gen.compat.checks.trial import ToolCall
    from mcp_gen.compat.doctor.targets import OpenTarget, Over
    from mcp_gen.compat.report.model import Report
    from mcp_gen.manager.config import ServerConfig

__all__ = ["doctor"]

DEFAULT_TIMEOUT_S = 5.0
DEFAULT_LIMIT_S = 30.0
_CALL = re.compile(r"(?P<name>[^{]+?):(?P<arguments>\{.*\})", re.DOTALL)


@dataclass(frozen=True)
class ServerWanted:
    """Options of the examination of a server.

    Args:
        config: How to reach the server.
        target: Its name in the report.
        over: How Python code is reached.
        sse_url: The endpoint of the stream, where a revision has two endpoints.
        revisions: The revisions to examine it at.
        calls: The tool calls that are allowed.
        call_read_only: True allows calls of tools that say they only read.
        timeout_s: Longest wait for an answer, in seconds.
    """

    config: ServerConfig
    target: str
    over: Over | None
    sse_url: str | None
    revisions: Sequence[str]
    calls: tuple[ToolCall, ...]
    call_read_only: bool
    timeout_s: float


def doctor(
    target: Annotated[
        str | None,
        typer.Argument(
            help="`file.py`, `file.py:name`, `module:name`, a command line in quotes, a URL, "
            "`servers.json:NAME`; or with --config a name in it.",
            metavar="TARGET",
        ),
    ] = None,
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
    call: Annotated[
        list[str] | None,
        typer.Option(
            help="`NAME:{JSON}`: a tool that may be called, with these arguments; can be given "
            "more than once. No other tool is called.",
        ),
    ] = None,
    call_read_only: Annotated[
        bool,
        typer.Option(
            "--call-read-only",
            help="Call tools that need no arguments and say `readOnlyHint`. It is a hint of the "
            "server, which may be wrong: use it with servers that you trust.",
        ),
    ] = False,
    fail_on: Annotated[
        Literal["must", "should", "never"],
        typer.Option(help="Exit with code 1 for a broken MUST, for a broken SHOULD too, or never."),
    ] = "must",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")] = False,
    html: Annotated[
        str | None, typer.Option(help="Write a page for a browser; `-` is stdout.", metavar="FILE")
    ] = None,
    junit: Annotated[
        str | None, typer.Option(help="Write JUnit XML for CI; `-` is stdout.", metavar="FILE")
    ] = None,
    markdown: Annotated[
        str | None,
        typer.Option(help="Write Markdown for a pull request; `-` is stdout.", metavar="FILE"),
    ] = None,
    config: Config = None,
    header: Header = None,
    env: Env = None,
    sse_url: Annotated[
        str | None,
        typer.Option(
            help="The endpoint of the stream of a URL, for the HTTP+SSE transport of the oldest "
            "revision; without one it is looked for at TARGET, and at `sse` beside it.",
            metavar="URL",
        ),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            help="Seconds that an answer may take (5), or with --client a run of the client (30).",
            min=0.1,
        ),
    ] = None,
    client: Annotated[
        str | None,
        typer.Option(
            help="Examine a client instead: a command line, in which `{command}` stands for the "
            "command line of the server that it is to start. It runs once per revision and "
            "scenario.",
            metavar="COMMAND",
        ),
    ] = None,
) -> None:
    """Judge a server or a client by the specification, at every revision.

    A server is asked what a client may ask, and what none should. Each answer is compared with
    the text of its revision. Tools are called only with --call and --call-read-only. A client is
    run with servers that do what a server may do, and what none should.

    Exit code 1 if a MUST is broken (see --fail-on), 2 for a mistake in the command line, 3 if the
    peer cannot be reached or speaks none of the revisions.

    **Examples**

    * `mcp-gen doctor server.py` examines the server of a Python file
    * `mcp-gen doctor "node server.js" --html report.html` writes a page with all the evidence
    * `mcp-gen doctor server.py --call 'add:{"a": 1, "b": 2}'` calls a tool too
    * `mcp-gen doctor "uvx mcp-server-time" --markdown - --fail-on should` is for a pull request
    * `mcp-gen doctor --client 'python my_client.py {command}'` examines a client
    """
    try:
        forms = report_forms(as_json, html=html, junit=junit, markdown=markdown)
        chosen = _revisions(revision)
        if client is not None:
            for_servers = (target, over, call, call_read_only, config, header, env, sse_url)
            report, last_lines = asyncio.run(_client(client, chosen, timeout, for_servers))
        else:
            wanted = ServerWanted(
                config=target_config("doctor", target, config, header, env),
                target=shown_target(target or ""),
                over=over,
                sse_url=sse_url,
                revisions=chosen,
                calls=tuple(map(_parse_call, call or ())),
                call_read_only=call_read_only,
                timeout_s=timeout or DEFAULT_TIMEOUT_S,
            )
            report, last_lines = asyncio.run(_examine(wanted))
        write_forms(report, forms, doctor_writers())
    except UsageError as error:
        fail("doctor", error)
    except McpGenError as error:
        fail("doctor", error, UNREACHED)
    except (KeyboardInterrupt, asyncio.CancelledError):
        fail("doctor", "interrupted", INTERRUPTED)
    if not any(one.is_printed for one in forms):
        # Imported here so that `mcp-gen --help` stays fast.
        from mcp_gen.cli.console.doctor_report import print_report

        print_report(report)
    raise typer.Exit(_exit_code(report, fail_on, last_lines))


def _revisions(names: list[str] | None) -> tuple[str, ...]:
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.core.revisions import select

    return select(names or mcp_wire.REVISIONS)


def _parse_call(text: str) -> ToolCall:
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.compat.checks.trial import ToolCall

    expected = "--call: expected `NAME:{JSON}`, as in `--call 'add:{\"a\": 1}'`"
    found = _CALL.fullmatch(text)
    if found is None:
        raise UsageError(expected)
    try:
        arguments: dict[str, Any] = json.loads(found["arguments"])
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{expected}: {error}") from None
    return ToolCall(found["name"], arguments)


async def _client(
    command: str,
    revisions: Sequence[str],
    limit_s: float | None,
    for_servers: tuple[object, ...],
) -> tuple[Report, str]:
    """Examine a client; return the report, and the last lines that it wrote to stderr."""
    end_at_sigterm()  # the process of the client, too
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.cli.console.doctor_progress import DoctorProgress
    from mcp_gen.compat.doctor.client_examination import examine_client
    from mcp_gen.compat.doctor.targets import client_stage
    from mcp_gen.compat.scenarios.scenario import scenarios

    if any(for_servers):
        raise UsageError("--client: options of servers are not for clients, nor is a TARGET")
    with client_stage(command) as opened:
        stage = opened.stage
        runs = {one: len(scenarios(one, stage.transport)) for one in revisions}
        with DoctorProgress(runs) as progress:
            report = await examine_client(
                stage,
                target=shown_target(command),
                revisions=revisions,
                limit_s=limit_s or DEFAULT_LIMIT_S,
                on_run=lambda run: progress.advance(run.revision),
            )
        return report, opened.last_lines()


async def _examine(wanted: ServerWanted) -> tuple[Report, str]:
    """Examine the server; return the report, and the last lines that it wrote to stderr."""
    end_at_sigterm()  # the process of the server, too
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.cli.console.doctor_progress import DoctorProgress
    from mcp_gen.compat.checks.judging import applicable
    from mcp_gen.compat.doctor.server_examination import examine_server
    from mcp_gen.compat.doctor.targets import open_target

    with ExitStack() as around:
        # The prints of a server in this process are no report, as little as over stdio.
        around.enter_context(redirect_stdout(sys.stderr))
        async with open_target(wanted.config, wanted.over, sse_url=wanted.sse_url) as opened:
            calls = wanted.calls + await _read_only_calls(wanted, opened)
            checks = {
                one: len(applicable("server", one, opened.transport)) for one in wanted.revisions
            }
            progress = around.enter_context(DoctorProgress(checks))
            report = await examine_server(
                opened.opens,
                target=wanted.target,
                transport=opened.transport,
                revisions=wanted.revisions,
                calls=calls,
                timeout_s=wanted.timeout_s,
                on_outcome=lambda one: progress.advance(one.revision, len(one.findings)),
            )
            return report, opened.last_lines()


async def _read_only_calls(wanted: ServerWanted, opened: OpenTarget) -> tuple[ToolCall, ...]:
    if not wanted.call_read_only:
        return ()
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.compat.doctor.read_only_tools import read_only_calls

    found = await read_only_calls(
        opened.opens, opened.transport, wanted.revisions, timeout_s=wanted.timeout_s
    )
    named = {one.name for one in wanted.calls}
    return tuple(one for one in found if one.name not in named)


def _exit_code(report: Report, fail_on: str, last_lines: str) -> int:
    levels = {"must": ("must",), "should": ("must", "should")}.get(fail_on, ())
    is_broken = any(one.level in levels for one in report.failed())
    if not any(one.agreed == one.asked for one in report.openings):
        for line in _why_unreached(report, last_lines):
            print(line, file=sys.stderr)
        # What everybody sees of a server that wants a token is judged.
        return 1 if is_broken and _wants_token(report) else UNREACHED
    return 1 if is_broken else 0


def _wants_token(report: Report) -> bool:
    return report.side == "server" and any(one.answer == "status 401" for one in report.openings)


def _why_unreached(report: Report, last_lines: str) -> Iterator[str]:
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.compat.report.texts import visible, visible_lines

    answers = dict.fromkeys(visible(one.answer) for one in report.openings)
    yield f"mcp-gen doctor: the {report.side} speaks none of the revisions: {'; '.join(answers)}"
    if _wants_token(report):
        yield (
            "mcp-gen doctor: it wants a token: its refusals and metadata were judged; for the "
            f"rest `mcp-gen login {report.target}` logs in, or give one with "
            '`--header "Authorization: Bearer TOKEN"`'
        )
    if last_lines:
        yield visible_lines(last_lines)
