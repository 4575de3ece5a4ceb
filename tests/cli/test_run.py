"""Tests of `mcp-gen run`: serves a server of a file or a module on stdio or over HTTP."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Server
from mcp_gen.cli.running.settings import RunSettings
from mcp_gen.client.connecting.python_code import load
from mcp_gen.client.connecting.target_text import parse_code
from mcp_gen.cluster import MemoryCluster
from mcp_gen.core.errors import UsageError
from mcp_gen.server.serving.per_connection import PerConnection
from mcp_gen.transports.http_server.app import AsgiApp
from tests.cli.running import complaint, run
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker, each_lifecycle
from tests.support.http.asgi import request
from tests.support.ports import free_port
from tests.support.processes.child import Child, started

WAIT_S = 30.0
ONE = """
from __future__ import annotations
from mcp_gen import Context, Server

server = Server("one")

@server.tool
async def color(ctx: Context) -> str:
    return "red"

if __name__ == "__main__":
    raise SystemExit("run as a program")
"""
SEVERAL = """
from mcp_gen import Server
first, second = Server("first"), Server("second")
same = first
number = 5
each = Server.per_connection(lambda: Server("each"))
"""

Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Write a file of code; modules imported from it are unloaded afterwards."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)

    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    yield write
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture(autouse=True)
def usual_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep commands out of asyncio's debug mode: there stderr says what took long."""
    monkeypatch.delenv("PYTHONASYNCIODEBUG", raising=False)


def mcp_gen(*words: str | Path) -> list[str]:
    """Start the command as a process."""
    return [sys.executable, "-c", "from mcp_gen.cli import main; main()", *map(str, words)]


# --- options of HTTP ---


@pytest.mark.parametrize(
    ("options", "at"),
    [
        ([], ("127.0.0.1", 8000)),
        (["--port", "0"], ("127.0.0.1", 0)),
        (["--host", "::1", "--port", "9000"], ("::1", 9000)),
    ],
)
def test_a_server_listens_where_it_is_told_and_at_8000_of_this_machine_otherwise(
    options: list[str], at: tuple[str, int], write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    listened: list[tuple[str, int]] = []

    def run_http(app: Any, host: str, port: int, **more: Any) -> None:
        listened.append((host, port))

    monkeypatch.setattr("mcp_gen.server.serving.http.run_http", run_http)
    ran = run("run", str(write("inventory.py", ONE)), "--http", *options)
    assert (ran.exit_code, listened) == (0, [at])


# --- access tokens ---

ISSUER = ["--auth-issuer", "https://as.example"]


@pytest.mark.parametrize(
    ("options", "resource"),
    [
        ([], "http://127.0.0.1:8000/mcp"),
        (["--port", "9000"], "http://127.0.0.1:9000/mcp"),
        (["--host", "0.0.0.0", "--auth-audience", "https://api.example/mcp"], None),
    ],
)
def test_a_server_with_an_issuer_asks_for_its_tokens(
    options: list[str], resource: str | None, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    apps: list[AsgiApp] = []
    monkeypatch.setattr(
        "mcp_gen.server.serving.http.run_http", lambda app, *at, **more: apps.append(app)
    )
    path = str(write("inventory.py", ONE))
    ran = run("run", path, "--http", *ISSUER, "--auth-scope", "mcp", *options)
    assert ran.exit_code == 0
    refused = asyncio.run(request(apps[0], b"{}"))
    assert refused.status == 401
    assert "mcp" in refused.headers["www-authenticate"]
    path = "/.well-known/oauth-protected-resource/mcp"
    told = asyncio.run(request(apps[0], b"", method="GET", path=path))
    assert told.json["authorization_servers"] == ["https://as.example"]
    assert told.json["resource"] == (resource or "https://api.example/mcp")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([*ISSUER, "--host", "0.0.0.0"], "--auth-issuer: which URL do clients and tokens name?"),
        ([*ISSUER, "--port", "0"], "--auth-issuer: which URL do clients and tokens name?"),
        ([*ISSUER, "--reload"], "--auth-issuer is not for --reload: leave out one of them"),
        (["--auth-scope", "mcp"], "--auth-scope goes with --auth-issuer: add that"),
        (["--auth-audience", "https://a.example"], "--auth-audience goes with --auth-issuer"),
        (["--auth-issuer", "ftp://as.example"], "issuer: 'ftp://as.example': expected"),
    ],
)
def test_what_cannot_ask_for_tokens_says_what_to_add(
    options: list[str], said: str, write: Write
) -> None:
    path = write("one.py", ONE)
    assert complaint("run", str(path), "--http", *options).startswith(f"mcp-gen run: {said}")


# --- a cluster ---

SECRET = "redis://:pa55word@127.0.0.1:1/0"


@pytest.fixture
def apps(monkeypatch: pytest.MonkeyPatch) -> list[AsgiApp]:
    """Return the apps that are run, which are served by nobody."""
    found: list[AsgiApp] = []
    monkeypatch.setattr(
        "mcp_gen.server.serving.http.run_http", lambda app, *at, **more: found.append(app)
    )
    return found


@pytest.fixture
def addresses(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the addresses of clusters that are made; they are all in memory."""
    found: list[str] = []

    def redis(url: str) -> MemoryCluster:
        found.append(url)
        return MemoryCluster()

    monkeypatch.setattr("mcp_gen.cluster.Redis", redis, raising=False)
    return found


def test_a_server_shares_its_sessions_over_the_redis_that_is_named(
    apps: list[AsgiApp], addresses: list[str], write: Write
) -> None:
    path = str(write("inventory.py", ONE))
    ran = run("run", path, "--http", "--health", "--cluster", SECRET)
    assert (ran.exit_code, ran.output) == (0, "")
    assert addresses == [SECRET]
    ready = asyncio.run(request(apps[0], b"", method="GET", path="/readyz"))
    assert (ready.status, ready.body) == (200, b'{"status":"ready"}')


def test_the_address_of_redis_may_be_a_variable_which_the_option_replaces(
    apps: list[AsgiApp], addresses: list[str], write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(write("inventory.py", ONE))
    monkeypatch.setenv("MCP_GEN_CLUSTER", SECRET)
    assert run("run", path, "--http").exit_code == 0
    assert run("run", path, "--http", "--cluster", "redis://other").exit_code == 0
    assert addresses == [SECRET, "redis://other"]


def test_settings_show_no_address() -> None:
    assert "pa55word" not in repr(RunSettings(target="a.py", cluster=SECRET))


# --- finding the server ---


@pytest.mark.parametrize("target", ["{path}", "{path}:server", "inventory", "inventory:server"])
def test_a_server_is_found_in_a_file_and_in_a_module(target: str, write: Write) -> None:
    path = write("inventory.py", ONE)
    found = load(target.format(path=path))
    assert isinstance(found, Server)
    assert found.name == "one"


def test_a_server_is_found_in_a_module_of_a_package(write: Write) -> None:
    write("stock/__init__.py", "")
    write("stock/main.py", ONE)
    assert load("stock.main:server").name == "one"


@pytest.mark.parametrize("target", ["app", "app.py"])
def test_a_module_beside_the_server_hides_one_of_the_same_name_elsewhere(
    write: Write, tmp_path: Path, target: str
) -> None:
    write("elsewhere/names_of_both.py", "NAME = 'elsewhere'")
    sys.path.insert(0, str(tmp_path / "elsewhere"))
    write("names_of_both.py", "NAME = 'beside'")
    code = "from mcp_gen import Server\nimport names_of_both as names\ns = Server(names.NAME)"
    write("app.py", code)
    assert load(target).name == "beside"


def test_what_lies_beside_a_file_can_be_imported_by_it(write: Write) -> None:
    write("beside/names.py", "NAME = 'beside'")
    path = write(
        "beside/app.py", "from mcp_gen import Server\nimport names\ns = Server(names.NAME)"
    )
    assert load(str(path)).name == "beside"


def test_a_file_may_be_called_like_a_module_that_is_there(write: Write) -> None:
    assert load(str(write("json.py", ONE))).name == "one"
    assert json.loads("[1]") == [1]


def test_two_names_of_one_server_are_one_server(write: Write) -> None:
    path = write("two.py", "from mcp_gen import Server\na = b = Server('one')")
    assert load(str(path)).name == "one"


def test_one_server_for_each_connection_is_found_too(write: Write) -> None:
    assert isinstance(load(f"{write('several.py', SEVERAL)}:each"), PerConnection)


def test_the_folder_of_a_target_is_that_of_its_file_or_the_current_one(write: Write) -> None:
    path = write("sub/app.py", ONE)
    assert parse_code(f"{path}:server").folder == path.parent
    assert parse_code("app:server").folder == Path.cwd()


@pytest.mark.parametrize(
    ("name", "text", "target", "said"),
    [
        ("none.py", "", "missing.py", "no such file: missing.py; give a Python file, as in"),
        ("none.py", "x = 5", "none.py", "none.py has no Server; write `server = Server('name')`"),
        (
            "several.py",
            SEVERAL,
            "several.py",
            "several.py has several servers; name one: several.py:first, several.py:second",
        ),
        (
            "several.py",
            SEVERAL,
            "several.py:number",
            "several.py:number: expected a Server, found int; there is several.py:first",
        ),
        (
            "one.py",
            ONE,
            "one.py:nope",
            "one.py:nope: expected a Server, found nothing; there is one.py:server",
        ),
        ("one.py", ONE, "no_such_module:server", "no module 'no_such_module' here; give a file"),
        (
            "broken.py",
            "x = 1\n\n1 / 0\n",
            "broken.py",
            "broken.py cannot be run, broken.py line 3: ZeroDivisionError: division by zero; "
            "`python broken.py` shows all of it",
        ),
        (
            "wrong.py",
            "x = 1\nif x\n",
            "wrong.py",
            "wrong.py cannot be run, wrong.py line 2: SyntaxError: expected ':'",
        ),
        (
            "needs.py",
            "import no_such_thing",
            "needs:server",
            "needs cannot be run, needs.py line 1: ModuleNotFoundError: No module named "
            "'no_such_thing'; `python -m needs` shows all of it",
        ),
    ],
)
def test_what_cannot_be_run_is_said_in_one_line_with_what_to_do(
    name: str, text: str, target: str, said: str, write: Write
) -> None:
    write(name, text)
    assert complaint("run", target).startswith(f"mcp-gen run: {said}")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--reload"], "--reload"),
        (["--port", "1"], "--port"),
        (["--host", "h"], "--host"),
        (["--sse-path", "/sse"], "--sse-path"),
        (["--auth-issuer", "https://as.example"], "--auth-issuer"),
        (["--cluster", "redis://a"], "--cluster"),
        (["--workers", "2"], "--workers"),
        (["--stateless"], "--stateless"),
        (["--health"], "--health"),
        (["--drain", "1"], "--drain"),
        (["--drain-delay", "1"], "--drain-delay"),
    ],
)
def test_options_of_http_are_refused_without_it(
    options: list[str], named: str, write: Write
) -> None:
    path = write("one.py", ONE)
    said = complaint("run", str(path), *options)
    assert said == f"mcp-gen run: {named} is for HTTP: add --http"


def test_the_help_has_examples() -> None:
    shown = run("run", "--help").stdout
    assert "mcp-gen run server.py" in shown
    assert "--reload" in shown


def test_loading_fails_as_an_error_of_ours(write: Write) -> None:
    with pytest.raises(UsageError):
        load(str(write("none.py", "")))


def test_a_module_of_this_folder_is_found_before_others(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("other/stock.py", "")
    write("stock.py", ONE)
    monkeypatch.syspath_prepend(tmp_path / "other")
    monkeypatch.chdir(tmp_path)
    assert isinstance(load("stock"), Server)


# --- running it ---


@each_lifecycle
def test_a_server_runs_on_stdio_and_ends_with_its_client(revision: str, write: Write) -> None:
    speaker = Speaker(revision)
    with started(mcp_gen("run", write("one.py", ONE))) as process:
        process.send(*speaker.opening, speaker.call(1, "color"))
        assert process.answer(1)["result"]["content"][0]["text"] == "red"
        process.close_stdin()
        assert process.ended() == 0
        assert process.stderr == ""


def test_what_code_prints_while_it_is_imported_is_no_message(write: Write) -> None:
    speaker = Speaker(HANDSHAKE)
    with started(mcp_gen("run", write("one.py", ONE + "\nprint('imported')\n"))) as process:
        process.send(*speaker.opening, speaker.call(1, "color"))
        assert process.answer(1)["result"]["content"][0]["text"] == "red"
        process.close_stdin()
        assert (process.ended(), process.stderr) == (0, "imported\n")


def test_development_mode_says_what_blocks(write: Write) -> None:
    speaker = Speaker(HANDSHAKE)
    text = ONE.replace('    return "red"', '    __import__("time").sleep(0.2)\n    return "red"')
    with started(mcp_gen("run", write("one.py", text), "--dev")) as process:
        process.send(*speaker.opening, speaker.call(1, "color"))
        assert process.answer(1)["result"]["content"][0]["text"] == "red"
        process.says("tool 'color' blocked the event loop for ")


def test_nothing_is_said_of_what_blocks_unless_it_is_asked_for(write: Write) -> None:
    speaker = Speaker(HANDSHAKE)
    text = ONE.replace('    return "red"', '    __import__("time").sleep(0.2)\n    return "red"')
    with started(mcp_gen("run", write("one.py", text))) as process:
        process.send(*speaker.opening, speaker.call(1, "color"))
        assert process.answer(1)["result"]["content"][0]["text"] == "red"
        process.close_stdin()
        assert (process.ended(), process.stderr) == (0, "")


def test_a_lifespan_that_does_not_start_is_said_in_one_line(write: Write) -> None:
    path = write(
        "life.py",
        "from mcp_gen import Server\n"
        "from contextlib import asynccontextmanager\n"
        "@asynccontextmanager\n"
        "async def lifespan(server):\n"
        "    raise OSError('no database')\n"
        "    yield\n"
        "server = Server('life', lifespan=lifespan)\n",
    )
    with started(mcp_gen("run", path)) as process:
        assert process.ended() == 2
        assert process.stderr == (
            "mcp-gen run: server 'life': its lifespan did not start: OSError: no database\n"
        )


def asked(port: int) -> str:
    """Return the text of the tool of the server at a port, or the message of an error."""
    answer = posted(port)
    if "error" in answer:
        return str(answer["error"]["message"])
    return str(answer["result"]["content"][0]["text"])


def posted(port: int) -> Any:
    """Return the answer to a call at a port; retry until the port listens."""
    speaker = Speaker(PER_REQUEST)
    message = speaker.call(1, "color")
    profile = speaker.profile
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        str(profile.version_header): PER_REQUEST,
        str(profile.method_header): "tools/call",
        str(profile.name_header): "color",
    }
    deadline = time.monotonic() + WAIT_S
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
        try:
            connection.request("POST", "/mcp", message, headers)
            return json.loads(connection.getresponse().read())
        except (ConnectionError, http.client.HTTPException):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        finally:
            connection.close()


def ends(process: Child) -> None:
    process.signal(signal.SIGTERM)
    process.process.wait(WAIT_S)


def test_a_server_runs_over_http_and_says_where(write: Write) -> None:
    with started(mcp_gen("run", write("one.py", ONE), "--http", "--port", "0")) as process:
        process.says(")\n")
        dates = ", ".join(mcp_wire.REVISIONS)
        line = rf"one: http://127\.0\.0\.1:(\d+)/mcp \({dates}\)\n"
        said = re.fullmatch(line, process.stderr)
        assert said
        assert asked(int(said[1])) == "red"
        ends(process)


@dataclass(frozen=True)
class Reloaded:
    """Server of a file with `--reload`, whose tool returns a color."""

    path: Path
    port: int
    child: Child

    def says_at_last(self, color: str) -> None:
        """Wait until the tool returns this color."""
        deadline = time.monotonic() + WAIT_S
        while (last := asked(self.port)) != color:
            assert time.monotonic() < deadline, f"still {last}; {self.child.heard()}"
            time.sleep(0.05)  # there is no event for a checked file; bounded above


@pytest.fixture(scope="module")
def reloaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reloaded]:
    """Return a server that has started; each test changes it to a color of its own."""
    path, port = tmp_path_factory.mktemp("reloaded") / "one.py", free_port()
    path.write_text(ONE)
    command = mcp_gen("run", path, "--http", "--reload", "--port", str(port))
    with started(command) as process:
        server = Reloaded(path, port, process)
        server.says_at_last("red")
        yield server
        ends(process)


def test_a_server_is_started_anew_when_its_code_changes(reloaded: Reloaded) -> None:
    reloaded.path.write_text(ONE.replace("red", "green"))
    reloaded.says_at_last("green")


def test_an_older_copy_of_a_file_counts_as_a_change(reloaded: Reloaded) -> None:
    copy = reloaded.path.with_name("copy.txt")
    copy.write_text(ONE.replace("red", "tan"))
    os.utime(copy, (1e9, 1e9))
    copy.replace(reloaded.path)
    reloaded.says_at_last("tan")


def test_code_that_cannot_be_loaded_is_waited_for(reloaded: Reloaded) -> None:
    reloaded.path.write_text("server = (")
    reloaded.child.says("'(' was never closed")
    reloaded.path.write_text(ONE.replace("red", "blue"))
    reloaded.says_at_last("blue")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("server = (", "one.py cannot be run, one.py line 1: SyntaxError: '(' was never closed"),
        (
            "import no_such_thing",
            "one.py cannot be run, one.py line 1: ModuleNotFoundError: No module named "
            "'no_such_thing'",
        ),
        ("", "one.py has no Server; write `server = Server('name')` in it"),
        (
            ONE.replace('Server("one")', 'Server("one", lifespan=lambda server: 1 / 0)'),
            "server 'one': its lifespan did not start: ZeroDivisionError: division by zero",
        ),
    ],
    ids=["syntax", "import", "no server", "lifespan"],
)
def test_a_request_is_answered_with_why_the_code_cannot_be_served(
    text: str, said: str, reloaded: Reloaded
) -> None:
    reloaded.path.write_text(text)
    reloaded.child.says("; started anew when a file is saved\n")
    deadline = time.monotonic() + WAIT_S
    # The old process may still answer: it ends when its requests have.
    while "result" in (answer := posted(reloaded.port)):
        assert time.monotonic() < deadline, reloaded.child.heard()
        time.sleep(0.05)  # between two requests of a bounded wait: no event says that it ended
    assert answer["id"] == 1
    assert answer["error"]["code"] == -32603
    assert said in answer["error"]["message"]
    assert answer["error"]["message"].endswith("; started anew when a file is saved")
    color = f"color{len(text)}"
    reloaded.path.write_text(ONE.replace("red", color))
    reloaded.says_at_last(color)


def test_a_mistake_that_is_there_from_the_start_is_waited_for(write: Write) -> None:
    path, port = write("one.py", "server = ("), free_port()
    command = mcp_gen("run", path, "--http", "--reload", "--port", str(port))
    with started(command) as process:
        process.says("'(' was never closed")
        path.write_text(ONE)
        Reloaded(path, port, process).says_at_last("red")
        ends(process)


@pytest.mark.parametrize("options", [[], ["--reload"]])
def test_a_port_in_use_is_said_in_one_line(options: list[str], write: Write) -> None:
    write("one.py", ONE)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = complaint("run", "one.py", "--http", "--port", port, *options)
    assert said.startswith(f"mcp-gen run: port {port} of 127.0.0.1 is in use; end the program")


def test_a_file_that_is_not_there_is_not_waited_for(write: Write) -> None:
    write("one.py", ONE)
    said = complaint("run", "on.py", "--http", "--reload")
    assert said.startswith("mcp-gen run: no such file: on.py; did you mean one.py?")


def test_the_speaker_of_the_tests_has_a_handshake() -> None:
    assert Speaker(HANDSHAKE).opening
