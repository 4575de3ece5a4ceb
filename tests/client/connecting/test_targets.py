"""A target: what a text names, and that each kind of it leads to the same server."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mcp_gen import Client, Server, TransportError, UsageError
from mcp_gen.client.connecting.target_text import (
    CodeTarget,
    CommandLine,
    ParsedTarget,
    TcpAddress,
    UnixSocket,
    Url,
    parse_code,
    parse_target,
)
from tests.support.frames import every_revision

CODE = """
from mcp_gen import Server

print("a print of the code")
server = Server("shelf")

@server.tool
async def color() -> str:
    return "red"

def make() -> Server:
    return server

each = Server.per_connection(make)
"""

Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Write a file of code; modules imported from it are unloaded afterwards."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)

    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        # Another test may have left a module of this name.
        monkeypatch.delitem(sys.modules, path.stem, raising=False)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    yield write
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


# --- what a text names ---


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("https://example.org/mcp", Url("https://example.org/mcp")),
        ("server.py", CodeTarget("server.py")),
        ("server.py:app", CodeTarget("server.py", "app")),
        ("some/where/server.py:app", CodeTarget("some/where/server.py", "app")),
        ("C:\\code\\server.py:app", CodeTarget("C:\\code\\server.py", "app")),
        ("stock.main", CodeTarget("stock.main")),
        ("stock.main:app", CodeTarget("stock.main", "app")),
        ("none.here:app", CodeTarget("none.here", "app")),
        ("two words.py", CodeTarget("two words.py")),
        ("python server.py", CommandLine(("python", "server.py"))),
        (
            "python 'two words.py' --at x.py",
            CommandLine(("python", "two words.py", "--at", "x.py")),
        ),
        ("mcp-server-time", CommandLine(("mcp-server-time",))),
        ("sh", CommandLine(("sh",))),
        ("./program", CommandLine(("./program",))),
        ("unix:/run/a.sock", UnixSocket("/run/a.sock")),
        ("unix:///run/a.sock", UnixSocket("/run/a.sock")),
        ("tcp:example.org:9000", TcpAddress("example.org", 9000)),
        ("tcp://[::1]:9000", TcpAddress("::1", 9000)),
        ("tcp::9000", TcpAddress("127.0.0.1", 9000)),
    ],
)
def test_a_text_names_one_kind_of_server(text: str, named: ParsedTarget, write: Write) -> None:
    write("stock/__init__.py", "")
    write("two words.py", CODE)
    assert parse_target(text) == named


def test_a_module_of_this_folder_is_meant_before_a_program_that_is_called_so(write: Write) -> None:
    write("sh.py", CODE)
    assert parse_target("sh") == CodeTarget("sh")


def test_a_folder_that_is_called_like_a_program_is_no_module(write: Write) -> None:
    write("sh/notes.txt", "")
    assert parse_target("sh") == CommandLine(("sh",))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected a URL, `file.py`, "),
        (
            "serve",
            "serve: no module here, none that is installed, and no program on the PATH is called "
            "so; did you mean server.py? expected a URL",
        ),
        ("my-servers.json", "my-servers.json is no server; name one in it, as in `NAME --config"),
        ("tcp:host", "tcp:host: expected a host and a port, as in `tcp:127.0.0.1:9000`"),
        ("tcp:host:0", "tcp:host:0: expected a host and a port"),
        ("unix:", "unix:: expected the path of a socket"),
        ("a 'b", "the command line: No closing quotation; check its quotes"),
    ],
)
def test_a_text_that_names_nothing_is_refused_with_the_next_step(
    text: str, said: str, write: Write
) -> None:
    write("server.py", CODE)
    with pytest.raises(UsageError) as caught:
        parse_target(text)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("text", "shown"),
    [("https://h/mcp?key=secret", "https://h/mcp?key=***"), ("npx it --key=secret", "npx")],
)
def test_what_is_no_code_is_refused_without_its_secrets(text: str, shown: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_code(text)
    assert str(caught.value).startswith(f"{shown} is no Python code; give a file")


# --- connecting to each ---


async def color_of(client: Client, target: str | Path, **options: str) -> str:
    session = await client.connect(target, **options)
    found = await session.call_tool("color")
    return str(found.content[0].text)


@pytest.mark.parametrize(
    "target",
    [
        "shelf.py:server",
        "shelf.py:make",
        "shelf.py:each",
        "one.py",
        "shelf:server",
        "one",
        "{python} -m mcp_gen_run shelf.py:server",
    ],
)
@every_revision
async def test_code_is_served_however_it_is_named(target: str, revision: str, write: Write) -> None:
    write("shelf.py", CODE)
    write("one.py", "from shelf import server")
    write(
        "mcp_gen_run.py",
        "from mcp_gen.cli import main; import sys; sys.argv.insert(1, 'run'); main()",
    )
    async with Client("test") as client:
        options = {"env": "inherit"} if target.startswith("{") else {}
        named = target.format(python=sys.executable)
        assert await color_of(client, named, revision=revision, **options) == "red"


async def test_a_word_of_a_command_may_be_a_path(write: Write) -> None:
    path = write(
        "served.py", f"{CODE}\nserver.run('stdio')\n".replace('print("a print of the code")', "")
    )
    async with Client("test") as client:
        session = await client.connect([sys.executable, path], env="inherit")
        assert [one.name async for one in session.tools()] == ["color"]


async def test_a_path_is_a_python_file(write: Write) -> None:
    path = write("one.py", CODE.replace("each =", "_ = lambda:"))
    async with Client("test") as client:
        assert await color_of(client, path) == "red"


async def test_the_folder_of_code_is_imported_from_once(write: Write, tmp_path: Path) -> None:
    write("shelf.py", CODE)
    async with Client("test") as client:
        for target in ("shelf.py:server", "shelf:make"):
            assert await color_of(client, target) == "red"
    assert sys.path.count(str(tmp_path)) == 1


def shelf() -> Server:
    server = Server("shelf")

    @server.tool
    async def color() -> str:
        return "red"

    return server


@every_revision
async def test_a_server_on_a_unix_socket_is_a_target(revision: str, tmp_path: Path) -> None:
    path = tmp_path / "a.sock"
    async with shelf().serve_unix(path), Client("test") as client:
        assert await color_of(client, f"unix:{path}", revision=revision) == "red"


@every_revision
async def test_a_server_on_a_tcp_port_is_a_target(revision: str) -> None:
    async with shelf().serve_tcp() as listener, Client("test") as client:
        port = listener.sockets[0].getsockname()[1]
        assert await color_of(client, f"tcp:127.0.0.1:{port}", revision=revision) == "red"


async def test_a_socket_that_nobody_listens_on_is_named(tmp_path: Path) -> None:
    async with Client("test") as client:
        with pytest.raises(TransportError) as caught:
            await client.connect(f"unix:{tmp_path}/a.sock")
    assert (
        str(caught.value) == f"cannot connect to unix:{tmp_path}/a.sock: No such file or directory"
    )


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("shelv.py", "no such file: shelv.py; did you mean shelf.py? give a Python file"),
        ("shelf.py", "shelf.py has several servers; name one: shelf.py:server, shelf.py:each"),
        (
            "shelf.py:serve",
            "shelf.py:serve: expected a Server, found nothing; did you mean server?",
        ),
        ("empty.py", "empty.py has no Server; write `server = Server('name')` in it"),
        ("empty.py:make", "empty.py:make: expected a Server, found nothing; write `server = "),
        ("odd.py:number", "odd.py:number(): expected a Server, got int"),
        ("odd.py:needs", "odd.py:needs: expected a function without arguments: missing"),
        ("odd.py:later", "odd.py:later is an async function; expected a function that returns"),
        ("exits.py", "exits.py cannot be run, exits.py line 1: SystemExit: 3; `python exits.py`"),
        ("odd.py:fails", "odd.py cannot be run, odd.py line 8: KeyError: 'TOKEN'; `python odd.py`"),
    ],
)
async def test_code_without_the_server_is_refused_by_connect_with_the_next_step(
    target: str, said: str, write: Write
) -> None:
    write("shelf.py", CODE)
    write("empty.py", "")
    write("exits.py", "raise SystemExit(3)")
    write(
        "odd.py",
        "def number():\n    return 5\ndef needs(a):\n    return a\n"
        "async def later():\n    return 5\n"
        "def fails():\n    raise KeyError('TOKEN')\n",
    )
    async with Client("test") as client:
        with pytest.raises(UsageError) as caught:
            await client.connect(target)
    assert str(caught.value).startswith(said)


async def test_code_that_runs_its_server_while_it_is_imported_names_it_so(write: Write) -> None:
    path = write("runs.py", CODE + "\nserver.run()\nraise SystemExit('after it')\n")
    async with Client("test") as client:
        assert await color_of(client, path) == "red"


async def test_a_server_that_was_loaded_for_a_client_is_closed_with_it(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    text = CODE.replace("server = Server(", "server = Closing(")
    closing = (
        "from mcp_gen import Server\n"
        "class Closing(Server):\n"
        "    async def aclose(self) -> None:\n"
        "        await super().aclose()\n"
        "        print('closed')\n"
    )
    path = write("one.py", closing + text.replace("each =", "_ = lambda:"))
    async with Client("test") as client:
        assert await color_of(client, path) == "red"
        assert "closed" not in capsys.readouterr().out
    assert "closed" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["env", "headers"])
async def test_options_of_other_kinds_are_refused_for_code(option: str, write: Write) -> None:
    write("shelf.py", CODE)
    options: dict[str, dict[str, str]] = {option: {"a": "b"}}
    async with Client("test") as client:
        with pytest.raises(UsageError, match="are for"):
            await client.connect("shelf.py:server", **options)  # type: ignore[arg-type]
