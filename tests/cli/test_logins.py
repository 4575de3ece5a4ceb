"""Tests of `mcp-gen login`, `whoami`, `logout`, and of logins that other commands make."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from mcp_gen.cli.app import app
from mcp_gen.cli.console.progress import Screen
from mcp_gen.cli.logins import automatic
from mcp_gen.cli.logins.automatic import with_stored_token
from mcp_gen.core.errors import UsageError
from mcp_gen.manager.config import ServerConfig
from tests.cli.running import complaint, printed_json, run
from tests.support.frames import PER_REQUEST
from tests.support.http.protected import Protected, ThreadedBrowser, in_thread, redirect_of

ROOT = Path(__file__).parents[2]
WAIT_S = 60.0


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Path of the token file of this test."""
    path = tmp_path / "tokens.json"
    monkeypatch.setenv("MCP_GEN_TOKEN_STORE", str(path))
    return path


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> ThreadedBrowser:
    found = ThreadedBrowser()
    monkeypatch.setattr("webbrowser.open", found.open)
    return found


@pytest.fixture
def no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(url: str) -> bool:
        raise AssertionError("a browser was opened")

    monkeypatch.setattr("webbrowser.open", refuse)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Screen, "can_ask", property(lambda screen: True))


@pytest.fixture(scope="module")
def world() -> Iterator[Protected]:
    with in_thread() as made:
        yield made


def test_five_commands_log_in_show_it_call_and_log_out(
    world: Protected, store: Path, browser: ThreadedBrowser
) -> None:
    logged_in = run("login", world.url)
    assert logged_in.exit_code == 0, logged_in.stderr
    assert browser.shown.wait(WAIT_S)
    assert "<h1>You are logged in</h1>" in browser.pages[0]
    shown = run("whoami", world.url)
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert f"server        {world.url}\n" in shown.stdout
    assert f"logged in at  {world.authorization.issuer}\n" in shown.stdout
    assert "scopes        mcp\n" in shown.stdout
    called = run("call", world.url, "who")
    assert (called.exit_code, called.stdout) == (0, "demo ['mcp']\n"), called.stderr
    left = run("logout", world.url)
    assert (left.exit_code, left.stdout) == (0, f"logged out of {world.url}\n")
    again = run("whoami", world.url)
    assert (again.exit_code, again.stdout) == (1, "")
    assert again.stderr == (
        f"mcp-gen whoami: nobody is logged in at {world.url}; `mcp-gen login {world.url}` logs in\n"
    )


def test_what_is_asked_for_is_shown_before_the_browser_opens(
    world: Protected, store: Path, browser: ThreadedBrowser
) -> None:
    ran = run("login", world.url)
    shown, _, rest = ran.stderr.partition("A browser opens.")
    assert f"  server     {world.url}\n" in shown
    assert f"  log in at  {world.authorization.issuer}\n" in shown
    assert "  scopes     mcp\n" in shown
    assert "  client     mcp-gen (" in shown
    # The link is whole, however long it is.
    assert f"\n{browser.opened[0]}\n" in rest


def test_the_tokens_are_in_a_file_that_only_the_user_can_read(
    world: Protected, store: Path, browser: ThreadedBrowser
) -> None:
    run("login", world.url)
    assert stat.S_IMODE(store.stat().st_mode) == 0o600
    (found,) = json.loads(store.read_bytes())["credentials"].values()
    assert found["issuer"] == world.authorization.issuer


def test_no_command_prints_a_token(world: Protected, store: Path, browser: ThreadedBrowser) -> None:
    outputs = [run("login", world.url, "--json")]
    (found,) = json.loads(store.read_bytes())["credentials"].values()
    outputs += [run(*words) for words in (("whoami", world.url), ("logout", world.url))]
    for one in outputs:
        for secret in (found["access_token"], found["refresh_token"]):
            assert secret not in one.output


def test_scripts_get_json(world: Protected, store: Path, browser: ThreadedBrowser) -> None:
    before = run("whoami", world.url, "--json")
    assert (before.exit_code, json.loads(before.stdout)) == (
        1,
        {"server": world.url, "logged_in": False},
    )
    found = printed_json("login", world.url, "--scope", "files:read")
    assert found["logged_in"] is True
    assert set(found["scopes"]) >= {"files:read"}
    assert found["expires_at"].endswith("Z")
    assert printed_json("whoami", world.url) == found
    assert printed_json("logout", world.url) == {
        "server": world.url,
        "was_logged_in": True,
        "revoked": True,
    }


@pytest.mark.usefixtures("terminal")
def test_a_command_logs_in_by_itself_where_a_terminal_is(
    world: Protected, store: Path, browser: ThreadedBrowser
) -> None:
    first, second = run("tools", world.url), run("call", world.url, "who")
    assert (first.exit_code, second.stdout) == (0, "demo ['mcp']\n"), first.stderr
    assert "who" in first.stdout
    assert f"  server     {world.url}\n" in first.stderr
    assert len(browser.opened) == 1


@pytest.mark.usefixtures("terminal")
def test_a_tool_that_needs_more_asks_for_more(
    world: Protected, store: Path, browser: ThreadedBrowser
) -> None:
    run("login", world.url)
    called = run("call", world.url, "write")
    assert (called.exit_code, called.stdout) == (0, "written\n"), called.stderr
    assert "One more step" not in browser.pages[-1]
    assert set(printed_json("whoami", world.url)["scopes"]) == {"mcp", "files:write"}


@pytest.mark.usefixtures("no_browser")
@pytest.mark.parametrize(
    "words", [("tools",), ("call", "who"), ("read",), ("prompt",), ("inspect",)]
)
def test_without_a_terminal_the_next_step_is_told_in_one_line(
    world: Protected, store: Path, words: tuple[str, ...]
) -> None:
    command, *rest = words
    ran = run(command, world.url, *rest)
    assert (ran.exit_code, ran.stdout, ran.stderr.count("\n")) == (1, "", 1)
    assert f"mcp-gen login {world.url}" in ran.stderr
    assert not store.exists()


@pytest.mark.usefixtures("no_browser")
def test_a_token_of_the_command_line_is_used_as_it_is(world: Protected, store: Path) -> None:
    ran = run("tools", world.url, "--header", "Authorization: Bearer wrong")
    assert ran.exit_code == 3
    assert "HTTP status 401" in ran.stderr
    assert "give a token, as in --header" not in ran.stdout


def command(*words: str) -> subprocess.Popen[str]:
    """Start a command as a process of its own, without a terminal."""
    code = "from mcp_gen.cli.app import app; app(prog_name='mcp-gen')"
    return subprocess.Popen(
        [sys.executable, "-c", code, *words],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_without_a_browser_the_link_is_printed_and_the_redirect_is_pasted(
    world: Protected, store: Path
) -> None:
    with command("login", world.url, "--no-browser") as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith(world.authorization.issuer):
                break
        out, err = process.communicate(f"{redirect_of(line.strip())}\n", timeout=WAIT_S)
    assert process.returncode == 0, err
    assert f"logged in at  {world.authorization.issuer}\n" in out


def pasted(world: Protected, text: str) -> Result:
    """Log in with a text on stdin, in this process."""
    return CliRunner().invoke(app, ["login", world.url, "--no-browser"], input=text)


def test_a_pasted_redirect_of_another_login_is_refused(world: Protected, store: Path) -> None:
    ran = pasted(world, "http://127.0.0.1:1/callback?code=c&state=s\n")
    assert (ran.exit_code, ran.stdout) == (1, "")
    assert ran.stderr.splitlines()[-1].startswith("mcp-gen login: ")
    assert not store.exists()


def test_an_input_that_ends_is_an_error(world: Protected, store: Path) -> None:
    ran = pasted(world, "")
    assert ran.exit_code == 1
    assert "the input ended; run it where you can paste it" in ran.stderr


def test_two_processes_that_find_an_old_token_renew_it_once(
    store: Path, browser: ThreadedBrowser
) -> None:
    with in_thread() as world:
        run("login", world.url)
        file = json.loads(store.read_bytes())
        for one in file["credentials"].values():
            # The server would refuse it, and the clients know it.
            one["expires_at"] = time.time() - 60
        store.write_text(json.dumps(file))
        both = [command("call", world.url, "who") for _ in range(2)]
        ended = [one.communicate(timeout=WAIT_S) for one in both]
        grants = world.grants()
    assert [out for out, _ in ended] == ["demo ['mcp']\n"] * 2, ended
    assert grants == ["authorization_code", "refresh_token"]


def test_a_restart_needs_no_browser(store: Path, browser: ThreadedBrowser) -> None:
    with in_thread() as world:
        run("login", world.url)
        with command("call", world.url, "who") as process:
            out, err = process.communicate(timeout=WAIT_S)
    assert (process.returncode, out, err) == (0, "demo ['mcp']\n", "")


def test_a_login_that_is_denied_says_so(store: Path, browser: ThreadedBrowser) -> None:
    with in_thread(consent="denied") as world:
        ran = run("login", world.url)
        assert browser.shown.wait(WAIT_S)
    assert ran.exit_code == 1
    assert "access_denied" in ran.stderr
    assert "<h1>The login failed</h1>" in browser.pages[0]
    assert not store.exists()


def test_an_entry_of_a_config_file_has_the_settings_of_its_login(
    world: Protected, store: Path, tmp_path: Path, browser: ThreadedBrowser
) -> None:
    own = tmp_path / "own.json"
    entry = {"url": world.url, "auth": {"scopes": ["files:read"], "store": str(own)}}
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"notes": entry}}))
    run("login", "notes", "--config", str(file), "--store", str(own))
    assert set(
        printed_json("whoami", "notes", "--config", str(file), "--store", str(own))["scopes"]
    ) >= {"files:read"}
    called = run("call", "notes", "who", "--config", str(file))
    assert "files:read" in called.stdout, called.stderr
    assert not store.exists()


def test_the_doctor_examines_with_a_stored_token(
    world: Protected, store: Path, browser: ThreadedBrowser
) -> None:
    run("login", world.url)
    ran = run("doctor", world.url, "--revision", PER_REQUEST, "--json", "--fail-on", "never")
    assert ran.exit_code == 0, ran.stderr
    (found,) = json.loads(store.read_bytes())["credentials"].values()
    assert found["access_token"] not in ran.output
    assert json.loads(ran.stdout)["openings"][0]["answer"] == "agreed"


def test_the_doctor_tells_how_to_log_in(world: Protected, store: Path) -> None:
    ran = run("doctor", world.url, "--revision", PER_REQUEST)
    assert ran.exit_code == 3
    assert "status 401" in ran.stderr
    assert f"`mcp-gen login {world.url}` logs in" in ran.stderr


MISTAKES = [
    (("login", "server.py"), "SERVER: expected a URL; a command takes its credentials from"),
    (("login", "https://h/mcp", "--client-secret-env", "NOT_SET"), "has no `NOT_SET`"),
    (("login", "https://h/mcp", "--client-metadata-url", "x"), "expected an https URL"),
    (("login", "https://h/mcp", "--redirect-uri", "https://h/cb"), "expected http on loopback"),
    (("whoami", "ftp://h"), "SERVER: expected a URL that begins with https://"),
    (("login", "http://example.org/mcp"), "SERVER: expected a URL that begins with https://"),
    (("logout", "server.py"), "SERVER: expected a URL"),
]


@pytest.mark.parametrize(("words", "says"), MISTAKES, ids=lambda one: " ".join(one)[:50])
def test_a_mistake_in_the_command_line_is_one_line(
    words: tuple[str, ...], says: str, store: Path
) -> None:
    assert says in complaint(*words)


def test_a_token_file_that_others_may_read_is_refused(
    world: Protected, store: Path, browser: ThreadedBrowser
) -> None:
    run("login", world.url)
    store.chmod(0o644)
    for words in (("whoami", world.url), ("tools", world.url)):
        ran = run(*words)
        assert (ran.exit_code, ran.stderr.count("\n")) == (1, 1)
        assert "others may read it; run `chmod 600 " in ran.stderr


def test_logging_out_without_a_login_does_no_harm(world: Protected, store: Path) -> None:
    ran = run("logout", world.url)
    assert (ran.exit_code, ran.stdout) == (0, f"there was no login for {world.url}\n")


@pytest.mark.parametrize(
    "config",
    [
        ServerConfig(url="http://127.0.0.1:1/mcp", headers={"Authorization": "Basic Og=="}),
        ServerConfig(url="http://127.0.0.1:1/mcp", bearer_token="of-the-user"),
        ServerConfig(command="server"),
    ],
    ids=["header", "token", "no URL"],
)
def test_no_stored_token_is_added_to_what_the_user_gives(config: ServerConfig) -> None:
    assert with_stored_token(config) == config


@pytest.mark.parametrize("line", [(b"authorization", b"DPoP token"), (b"dpop", b"Bearer proof")])
def test_a_token_that_needs_more_than_a_header_is_refused(
    line: tuple[bytes, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    class BoundToKey:
        async def headers(self, method: str, url: str) -> list[tuple[bytes, bytes]]:
            return [line]

        async def aclose(self) -> None:
            pass

    monkeypatch.setattr(automatic, "automatic_login", lambda config, user: BoundToKey())
    with pytest.raises(UsageError, match="sends no proofs"):
        with_stored_token(ServerConfig(url="http://127.0.0.1:1/mcp"))
