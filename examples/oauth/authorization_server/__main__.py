"""Runs the example authorization server: `python -m examples.oauth.authorization_server`.

It needs `pip install "mcp-gen[auth]" starlette`.
"""

from __future__ import annotations

import argparse
import signal
import sys
from types import FrameType

import uvicorn

from examples.oauth.authorization_server import AuthorizationServer, Client
from examples.oauth.authorization_server.fetching import DocumentFetcher

HOST = "127.0.0.1"


def stop(number: int, frame: FrameType | None) -> None:
    """End the program: a signal to stop is no error."""
    sys.exit(0)


def program(client_id: str, secret: str) -> Client:
    """Return a client that acts for itself."""
    return Client(
        client_id=client_id,
        secret=secret,
        auth_method="client_secret_basic",
        grant_types=frozenset({"client_credentials"}),
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="authorization_server", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--port", type=int, default=9000, help="default: 9000; loopback only")
    parser.add_argument("--issuer", help="default: http://127.0.0.1:PORT; may have a path")
    parser.add_argument("--scope", action="append", help="a supported scope; default: any")
    parser.add_argument(
        "--client",
        action="append",
        nargs=2,
        default=[],
        metavar=("ID", "REDIRECT_URI"),
        help="register a public client",
    )
    parser.add_argument(
        "--program",
        action="append",
        nargs=2,
        default=[],
        metavar=("ID", "SECRET"),
        help="register a client that acts for itself, with a secret",
    )
    parser.add_argument("--automatic", action="store_true", help="consent without a page")
    parser.add_argument(
        "--client-host",
        action="append",
        default=[],
        help="a host that metadata documents of clients are fetched from",
    )
    told = parser.parse_args()
    server = AuthorizationServer(
        issuer=told.issuer or f"http://{HOST}:{told.port}",
        scopes_supported=tuple(told.scope) if told.scope else None,
        fetch=DocumentFetcher(told.client_host) if told.client_host else None,
        consent="automatic" if told.automatic else "page",
    )
    for client_id, redirect_uri in told.client:
        server.clients.add(Client(client_id=client_id, redirect_uris=(redirect_uri,)))
    for client_id, secret in told.program:
        server.clients.add(program(client_id, secret))
    print("Example authorization server, for tests and demos only.")
    print(f"issuer: {server.issuer}")
    for user, password in server.users.items():
        print(f"user: {user}, password: {password}", flush=True)
    # uvicorn stops in order, and then passes the signal on.
    signal.signal(signal.SIGTERM, stop)
    uvicorn.run(server.app, host=HOST, port=told.port, log_level="warning")


if __name__ == "__main__":
    main()
