"""Example authorization server, for tests and demos. It is no product: never run it for real users.

    server = AuthorizationServer(issuer="http://127.0.0.1:9000")
    uvicorn.run(server.app, port=9000)

It keeps everything in memory and knows a demo user; `python -m examples.oauth.authorization_server`
runs it. `Settings` lists its switches.
"""

from __future__ import annotations

from examples.oauth.authorization_server.clients import Client
from examples.oauth.authorization_server.errors import OAuthError
from examples.oauth.authorization_server.requests import Parameters, Received
from examples.oauth.authorization_server.server import AuthorizationServer
from examples.oauth.authorization_server.settings import Document, Settings

__all__ = [
    "AuthorizationServer",
    "Client",
    "Document",
    "OAuthError",
    "Parameters",
    "Received",
    "Settings",
]
