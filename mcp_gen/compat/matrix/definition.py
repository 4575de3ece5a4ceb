"""The file of a matrix: which servers, clients, revisions and transports."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

import mcp_wire
from mcp_gen.compat.matrix.model import MatrixTransport
from mcp_gen.core.errors import UsageError
from mcp_gen.core.revisions import select

__all__ = [
    "ClientDefinition",
    "Matrix",
    "Packages",
    "ServerDefinition",
    "peers_folder",
    "read_matrix",
]

TRANSPORTS: tuple[MatrixTransport, ...] = ("stdio", "http")
TIMEOUT_S = 120.0
"""Default of the longest time of all conversations of one cell, in seconds."""
DEFINITIONS = "definitions.toml"
SERVER_COMMANDS = ("stdio", "http", "sse", "url")
CLIENT_COMMANDS = ("stdio", "http", "sse")


class Packages(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Packages that a peer needs, each with its exact version.

    Args:
        pip: Requirements of a virtual environment of its own.
        npm: Folder with a `package.json` and the programs; it is copied before it is installed.
    """

    pip: tuple[str, ...] = ()
    npm: str = ""


class PeerDefinition(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Common keys of servers and clients.

    Args:
        title: Name for people.
        packages: What is to be installed.
        use: Key of a definition of mcp_gen that is taken instead.
        folder: Folder in which its commands run: that of the file.
    """

    title: str = ""
    packages: Packages = Packages()
    use: str = ""
    folder: str = ""


class ServerDefinition(PeerDefinition, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One server.

    In a command, `{revision}` stands for the revision, `{python}` and `{node}` for the interpreter,
    `{folder}` for the folder in which it runs, `{peers}` for that of the definitions of mcp_gen.

    Args:
        stdio: Command that serves on stdin and stdout.
        http: Command that prints the URL of its endpoint and serves there.
        sse: The same for the HTTP+SSE transport of the oldest revision; the URL is of the stream.
        url: Endpoint of a server that is running already.
    """

    stdio: str = ""
    http: str = ""
    sse: str = ""
    url: str = ""


class ClientDefinition(PeerDefinition, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One client; see `ServerDefinition` for the words of its commands.

    Args:
        stdio: Command in which `{command}` stands for the command line of the server, or
            `{command_json}` for a JSON array of its words.
        http: Command in which `{url}` stands for the endpoint.
        sse: The same for the HTTP+SSE transport of the oldest revision.
    """

    stdio: str = ""
    http: str = ""
    sse: str = ""


PeerT = TypeVar("PeerT", bound=PeerDefinition)


class Matrix(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole file.

    Args:
        servers: The servers by their keys.
        clients: The clients by their keys.
        revisions: The revisions; all by default.
        transports: The transports; both by default.
        timeout_s: Longest time of all conversations of one cell, in seconds.
    """

    servers: dict[str, ServerDefinition]
    clients: dict[str, ClientDefinition]
    revisions: tuple[str, ...] = mcp_wire.REVISIONS
    transports: tuple[MatrixTransport, ...] = TRANSPORTS
    timeout_s: float = TIMEOUT_S


def read_matrix(path: Path) -> Matrix:
    """Read the file of a matrix.

    Args:
        path: The file.

    Returns:
        The matrix, in which each `use` is replaced by the definition that it names.

    Raises:
        UsageError: there is no such file, or something in it is wrong; the message says where.
    """
    try:
        made: Any = tomllib.loads(path.read_text("utf-8"))
        matrix = msgspec.convert(made, Matrix)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; see `mcp-gen matrix --help`") from None
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}") from None
    if not matrix.servers or not matrix.clients:
        raise UsageError(f"{path}: needs at least one server and one client")
    if matrix.timeout_s <= 0:
        raise UsageError(f"{path}: timeout_s: expected seconds, got {matrix.timeout_s:g}")
    try:
        revisions = select(matrix.revisions)
    except UsageError as error:
        raise UsageError(f"{path}: revisions: {error}") from None
    known = _definitions()
    folder = str(path.resolve().parent)
    servers = {
        key: _filled(f"{path}: servers.{key}", one, known.servers, SERVER_COMMANDS, folder)
        for key, one in matrix.servers.items()
    }
    clients = {
        key: _filled(f"{path}: clients.{key}", one, known.clients, CLIENT_COMMANDS, folder)
        for key, one in matrix.clients.items()
    }
    return msgspec.structs.replace(matrix, revisions=revisions, servers=servers, clients=clients)


def peers_folder() -> Path:
    """Return the folder of the programs that come with mcp_gen.

    It is beside this module in a wheel, and under examples/ in a checkout.

    Raises:
        UsageError: it is in neither place.
    """
    here = Path(__file__).parent
    for folder in (here / "peers", here.parents[2] / "examples/matrix/peers"):
        if (folder / DEFINITIONS).is_file():
            return folder
    raise UsageError("the programs of the matrix are not installed: install mcp-gen again")


class _Definitions(Struct, frozen=True, forbid_unknown_fields=True):
    servers: dict[str, ServerDefinition]
    clients: dict[str, ClientDefinition]


def _definitions() -> _Definitions:
    """Return the definitions that come with mcp_gen."""
    text = (peers_folder() / DEFINITIONS).read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), _Definitions)


def _filled(
    place: str, given: PeerT, known: Mapping[str, PeerT], commands: Sequence[str], folder: str
) -> PeerT:
    """Return a definition with what it takes from elsewhere."""
    if given.use:
        if given.use not in known:
            raise UsageError(f"{place}: no definition {given.use!r}; there are {', '.join(known)}")
        if any(getattr(given, name) for name in commands) or given.packages != Packages():
            raise UsageError(f"{place}: `use` stands alone, or beside `title`")
        title = given.title or known[given.use].title
        return msgspec.structs.replace(known[given.use], title=title, folder="")
    if not any(getattr(given, name) for name in commands):
        raise UsageError(f"{place}: expected `use`, or one of {', '.join(commands)}")
    for name in commands:
        try:
            shlex.split(getattr(given, name))
        except ValueError as error:
            raise UsageError(f"{place}.{name}: {error}") from None
    return msgspec.structs.replace(given, folder=given.folder or folder)
