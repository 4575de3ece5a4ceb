"""Parser of targets: what a text names, as a user writes it in code, a command line or a file."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TypeAlias

from mcp_gen.core.errors import UsageError
from mcp_gen.core.redaction import shown_url

__all__ = [
    "CodeTarget",
    "CommandLine",
    "ParsedTarget",
    "TcpAddress",
    "UnixSocket",
    "Url",
    "is_url",
    "nearest",
    "parse_code",
    "parse_target",
]

EXPECTED = (
    "expected a URL, `file.py`, `file.py:name`, a module as in `package.module:name`, a command "
    "line, `unix:PATH` or `tcp:HOST:PORT`"
)

_URL_START = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_CODE_FILE = re.compile(r"(?P<place>.*\.py)(?::(?P<name>[^:/\\]*))?", re.DOTALL)
_HOST_AND_PORT = re.compile(r"[\w.-]+:[0-9]{1,5}(?:[/?].*)?")
_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")


@dataclass(frozen=True)
class Url:
    """A server behind HTTP."""

    url: str


@dataclass(frozen=True)
class CommandLine:
    """A server that is a program, started with its arguments."""

    words: tuple[str, ...]


@dataclass(frozen=True)
class UnixSocket:
    """A server that listens on a Unix socket."""

    path: str


@dataclass(frozen=True)
class TcpAddress:
    """A server that listens on a TCP port, without HTTP."""

    host: str
    port: int


@dataclass(frozen=True)
class CodeTarget:
    """A server in Python code.

    Args:
        place: Path of a Python file, or dotted name of a module.
        name: The name of the server in it; empty: the only one.
    """

    place: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.place}:{self.name}" if self.name else self.place

    @property
    def is_file(self) -> bool:
        """True if the place is the path of a file."""
        return self.place.endswith(".py") or "/" in self.place or "\\" in self.place

    @property
    def folder(self) -> Path:
        """The folder of the code: that of a file, and the current one for a module."""
        return Path(self.place).resolve().parent if self.is_file else Path.cwd()


ParsedTarget: TypeAlias = Url | CommandLine | UnixSocket | TcpAddress | CodeTarget


def is_url(target: str) -> bool:
    """Return True if a target is a URL, and no command line that has one as an argument."""
    return _URL_START.match(target) is not None


def parse_target(text: str) -> ParsedTarget:
    """Return what a target names.

    A single word that may be a module or a program is the module if the current folder has it,
    then the program, then an installed module.

    Args:
        text: A URL, Python code, a command line, or the address of a socket.

    Raises:
        UsageError: it is none of these, or what it names is in no place that was looked at.
    """
    text = text.strip()
    if not text:
        raise UsageError(f"{EXPECTED}, got nothing")
    socket = _socket(text)
    if socket is not None:
        return socket
    if is_url(text):
        return Url(text)
    code = _code_file(text)
    return code if code is not None else _words(text)


def parse_code(text: str) -> CodeTarget:
    """Return the Python code that a target names, where nothing else can be meant.

    Args:
        text: `file.py`, `file.py:name`, `module` or `module:name`.

    Raises:
        UsageError: it is a URL, an address or a command line.
    """
    text = text.strip()
    code = _code_file(text)
    if code is not None:
        return code
    place, _, name = text.partition(":")
    if _DOTTED.fullmatch(place) and (not name or _DOTTED.fullmatch(name)):
        return CodeTarget(place, name)
    # The rest of a command line or a URL may be a secret.
    given = shown_url(text) if is_url(text) else next(iter(text.split()), "nothing")
    raise UsageError(
        f"{given} is no Python code; give a file, as in `server.py:server`, or a module, as in "
        "`package.module:server`"
    )


def nearest(name: str, known: list[str]) -> str:
    """Return the start of an advice, `did you mean ...? `; empty if nothing known is similar."""
    # Imported here: only needed for an unknown name.
    import difflib

    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]}? " if near else ""


def _socket(text: str) -> UnixSocket | TcpAddress | None:
    kind, _, rest = text.partition(":")
    rest = rest.removeprefix("//")
    if kind == "unix":
        if not rest:
            raise UsageError(
                f"{text}: expected the path of a socket, as in `unix:/run/server.sock`"
            )
        return UnixSocket(os.path.expanduser(rest))
    if kind == "tcp":
        host, colon, port = rest.rpartition(":")
        if not colon or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65_536:
            raise UsageError(f"{text}: expected a host and a port, as in `tcp:127.0.0.1:9000`")
        return TcpAddress(host.strip("[]") or "127.0.0.1", int(port))
    return None


def _code_file(text: str) -> CodeTarget | None:
    """Return a Python file; a command line that begins or ends with one is no file."""
    found = _CODE_FILE.fullmatch(text)
    if found is None:
        return None
    place, name = found["place"], found["name"] or ""
    # A path may have spaces, and so may a command line: a file that is there was meant.
    if len(place.split()) > 1 and not Path(place).expanduser().is_file():
        return None
    return CodeTarget(os.path.expanduser(place), name)


def _words(text: str) -> CommandLine | CodeTarget:
    # Loaded only for command lines.
    import shlex

    try:
        words = shlex.split(text)
    except ValueError as error:
        # Not the line itself: it may hold a secret.
        raise UsageError(f"the command line: {error}; check its quotes") from None
    if len(words) != 1:
        return CommandLine(tuple(words))
    return _single(words[0])


def _single(word: str) -> CommandLine | CodeTarget:
    place, colon, name = word.partition(":")
    if colon and _DOTTED.fullmatch(place) and _DOTTED.fullmatch(name):
        return CodeTarget(place, name)
    if word.endswith(".json"):
        raise UsageError(f"{word} is no server; name one in it, as in `NAME --config {word}`")
    if _HOST_AND_PORT.fullmatch(word) and not Path(word).is_file():
        shown = shown_url(f"http://{word}")
        raise UsageError(f"{shown[7:]}: a URL has its scheme: `{shown}`")
    if not _DOTTED.fullmatch(word):
        return CommandLine((word,))
    # Loaded only for single words.
    from shutil import which

    if _has_module(word, [os.getcwd()]) and not Path(word).is_file():
        return CodeTarget(word)
    if which(word) is not None:
        return CommandLine((word,))
    if _has_module(word, None):
        return CodeTarget(word)
    files = [one.name for one in Path.cwd().glob("*.py")]
    raise UsageError(
        f"{word}: no module here, none that is installed, and no program on the PATH is called so; "
        f"{nearest(f'{word}.py', files)}{EXPECTED}"
    )


def _has_module(name: str, path: list[str] | None) -> bool:
    root, dot, _ = name.partition(".")
    found = PathFinder.find_spec(root, path)
    # Any folder is a namespace package: alone it is no module that has a server.
    return found is not None and (bool(dot) or found.origin is not None)
