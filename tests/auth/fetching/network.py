"""A small internet on loopback: names, addresses and certificates of a test's own."""

from __future__ import annotations

import datetime
import ssl
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpcore2
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from mcp_gen.auth.fetching.connecting import sockets
from mcp_gen.auth.fetching.fetcher import Fetcher
from mcp_gen.auth.flows.exchange import Flow, HttpAnswer, HttpAsk, Purpose
from tests.support.http.loopback import Web

__all__ = [
    "ANOTHER_PUBLIC",
    "PRIVATE",
    "PUBLIC",
    "Internet",
    "client_tls",
    "get",
    "post",
    "server_tls",
]

PUBLIC = "93.184.215.14"
ANOTHER_PUBLIC = "2606:2800:220:1:248:1893:25c8:1946"
PRIVATE = "10.1.2.3"
_NAMES = ("as.example", "mcp.example", "*.corp.example")


class Internet(httpcore2.AsyncNetworkBackend):
    """Resolves names and connects addresses to servers on loopback, and writes both down.

    Args:
        names: The addresses of each name: those of the first resolution, of the second, and so on;
            the last ones stay.
        places: The server at each address.
    """

    def __init__(
        self, names: Mapping[str, Sequence[Sequence[str]]], places: Mapping[str, Web]
    ) -> None:
        self._names = names
        self._places = places
        self.resolved: list[str] = []
        self.connected: list[str] = []

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """Return the next addresses of a host."""
        self.resolved.append(host)
        answers = self._names.get(host, [[host]])
        return answers[min(self.resolved.count(host), len(answers)) - 1]

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # httpcore2 says so
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the server at an address."""
        self.connected.append(host)
        if host not in self._places:
            raise httpcore2.ConnectError("nobody is there")
        web = self._places[host]
        return await sockets().connect_tcp("127.0.0.1", web.port, timeout)

    def fetcher(self, **options: Any) -> Fetcher:
        """Return a fetcher in this internet."""
        options.setdefault("ssl_context", client_tls())
        return Fetcher(resolver=self.resolve, network=self, **options)


def client_tls() -> ssl.SSLContext:
    """Return TLS settings of a client that trusts these servers."""
    return ssl.create_default_context(cadata=_certificate()[0])


def server_tls() -> ssl.SSLContext:
    """Return TLS settings of a server, with a certificate for the names above."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "server.pem"
        path.write_text("".join(_certificate()))
        context.load_cert_chain(path)
    return context


@cache
def _certificate() -> tuple[str, str]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "small internet")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName(list(map(x509.DNSName, _NAMES))), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, private = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    secret = key.private_bytes(pem, private, serialization.NoEncryption())
    return made.public_bytes(pem).decode(), secret.decode()


def get(url: str, purpose: Purpose = Purpose.SERVER_METADATA, **headers: str) -> Flow[HttpAnswer]:
    """Flow of one GET request. Header names are spelled with underscores."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return (yield HttpAsk("GET", url, purpose, named))


def post(url: str, purpose: Purpose = Purpose.TOKEN, body: bytes = b"x=1") -> Flow[HttpAnswer]:
    """Flow of one POST request."""
    return (yield HttpAsk("POST", url, purpose, {}, body))
