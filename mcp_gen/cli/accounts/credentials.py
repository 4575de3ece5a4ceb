"""Options and output of the commands about credentials: `login`, `logout`, `whoami`."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

import typer

from mcp_gen.cli.accounts.status import status_json, status_rows
from mcp_gen.cli.console.output import console, fail, plain_text, print_json
from mcp_gen.cli.console.progress import Screen, strip_control
from mcp_gen.cli.console.server_options import INTERRUPTED, REFUSED, UNREACHED, read_server
from mcp_gen.cli.logins.automatic import ALLOW_HOSTS_VARIABLE, STORE_VARIABLE
from mcp_gen.core.errors import AuthError, McpGenError, UsageError
from mcp_gen.core.redaction import shown_url

if TYPE_CHECKING:
    from mcp_gen.auth.client.authorizer import TokenAuthorizer
    from mcp_gen.auth.client.credentials import AuthorizationStatus
    from mcp_gen.cli.accounts.login_command import LoginCommand

__all__ = [
    "AllowHost",
    "Credentials",
    "RemoteServer",
    "Store",
    "about_credentials",
    "print_status",
]

T = TypeVar("T")

RemoteServer: TypeAlias = Annotated[
    str,
    typer.Argument(help="A URL; or with --config a name in it.", metavar="SERVER"),
]
AllowHost: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="An authorization server that may have an address inside a company; can be given more "
        "than once.",
        envvar=ALLOW_HOSTS_VARIABLE,
        metavar="HOST",
    ),
]
Store: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Where tokens are: a file, or `keyring`; without one a file in your data folder.",
        envvar=STORE_VARIABLE,
        metavar="PATH",
    ),
]


@dataclass(frozen=True)
class Credentials:
    """One run of a command about the credentials for a server.

    Args:
        name: The name of the command.
        command: What does it.
        next_step: The command line that logs in.
        quiet: True shows nothing but questions on stderr.
    """

    name: str
    command: LoginCommand
    next_step: str
    quiet: bool

    @property
    def url(self) -> str:
        """The URL of the server."""
        return self.command.url

    @property
    def shown(self) -> str:
        """The URL without its secrets."""
        return shown_url(self.command.url)

    def ask(
        self, work: Callable[[TokenAuthorizer], Awaitable[T]], *, browser: bool | None = None
    ) -> T:
        """Run some work with the credentials, and return its result; exits on errors.

        Args:
            work: The work.
            browser: True opens a browser to log in, False shows the link; None: nobody logs in.
        """
        try:
            with Screen(quiet=self.quiet) as screen:
                return self.command.run(work, screen, browser=browser)
        except KeyboardInterrupt:
            fail(self.name, "interrupted", INTERRUPTED)
        except UsageError as error:
            fail(self.name, error)
        except AuthError as error:
            fail(self.name, error, REFUSED)
        except McpGenError as error:
            fail(self.name, error, UNREACHED)


def about_credentials(
    name: str,
    server: str,
    config: str | None,
    *,
    as_json: bool,
    secret_env: str | None = None,
    allow_hosts: list[str] | None = None,
    **settings: Any,
) -> Credentials:
    """Parse the options of a command; exits with code 2 if they are invalid.

    Args:
        name: The name of the command.
        server: The URL, or a name in the file of `config`.
        config: The path of a configuration file; None for none.
        as_json: True prints JSON.
        secret_env: The variable with the secret of the client.
        allow_hosts: Hosts that may have private addresses.
        settings: Other settings of `AuthSettings`; None: not given.
    """
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.cli.accounts.login_command import LoginCommand, secret_in

    try:
        changes = {
            **settings,
            "client_secret": secret_in(secret_env),
            "allow_hosts": tuple(allow_hosts) if allow_hosts else None,
        }
        command = LoginCommand(read_server(server, config, None, None), changes)
    except UsageError as error:
        fail(name, error)
    again = shown_url(server) if config is None else f"{server} --config {config}"
    store = settings.get("store")
    if store is not None and store != os.environ.get(STORE_VARIABLE):
        again += f" --store {store}"
    return Credentials(name, command, f"mcp-gen login {again}", as_json)


def print_status(url: str, status: AuthorizationStatus | None, as_json: bool) -> None:
    """Print the state of credentials.

    Args:
        url: The URL of the server.
        status: The state; None if nobody is logged in.
        as_json: True prints JSON.
    """
    if as_json or status is None:
        print_json(status_json(url, status))
        return
    for label, text in status_rows(status):
        console().print(plain_text(f"{label:<14}{strip_control(text)}"), soft_wrap=True)
