"""Typer app of `mcp-gen`: registers the commands of `cli.commands`."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from mcp_gen.cli.commands.bridge import bridge
from mcp_gen.cli.commands.call import call
from mcp_gen.cli.commands.demo import DEMO_EPILOG, demo
from mcp_gen.cli.commands.diff import diff
from mcp_gen.cli.commands.doctor import doctor
from mcp_gen.cli.commands.init import init
from mcp_gen.cli.commands.inspect import inspect
from mcp_gen.cli.commands.lock import lock
from mcp_gen.cli.commands.login import login
from mcp_gen.cli.commands.logout import logout
from mcp_gen.cli.commands.matrix import matrix
from mcp_gen.cli.commands.methods import methods
from mcp_gen.cli.commands.prompt import prompt
from mcp_gen.cli.commands.read import read
from mcp_gen.cli.commands.record import record
from mcp_gen.cli.commands.replay import replay
from mcp_gen.cli.commands.run import run
from mcp_gen.cli.commands.schema import schema
from mcp_gen.cli.commands.stubs import stubs
from mcp_gen.cli.commands.tools import tools
from mcp_gen.cli.commands.types import types
from mcp_gen.cli.commands.whoami import whoami
from mcp_gen.cli.commands.worker import worker
from mcp_gen.cli.console.advice import AdvisingCommand

__all__ = ["app"]

app = typer.Typer(
    name="mcp-gen",
    help="MCP for Python, generated from the specification.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(version("mcp-gen"))
        raise typer.Exit


@app.callback()
def common(
    show: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """MCP for Python, generated from the specification."""


app.command(cls=AdvisingCommand, epilog=DEMO_EPILOG)(demo)
app.command(cls=AdvisingCommand)(doctor)
app.command(cls=AdvisingCommand)(matrix)
app.command(cls=AdvisingCommand, context_settings={"allow_interspersed_args": False})(record)
app.command(cls=AdvisingCommand)(replay)
app.command(cls=AdvisingCommand)(stubs)
app.command(cls=AdvisingCommand)(lock)
app.command(cls=AdvisingCommand)(bridge)
app.command(cls=AdvisingCommand)(diff)
app.command(cls=AdvisingCommand)(types)
app.command(cls=AdvisingCommand)(methods)
app.command(cls=AdvisingCommand)(schema)
app.command(cls=AdvisingCommand)(init)
app.command(cls=AdvisingCommand)(run)
app.command(cls=AdvisingCommand)(worker)
app.command(cls=AdvisingCommand)(inspect)
app.command(cls=AdvisingCommand)(tools)
app.command(cls=AdvisingCommand)(call)
app.command(cls=AdvisingCommand)(read)
app.command(cls=AdvisingCommand)(prompt)
app.command(cls=AdvisingCommand)(login)
app.command(cls=AdvisingCommand)(whoami)
app.command(cls=AdvisingCommand)(logout)
