"""Tests of `mcp-gen doctor` as a user runs it: reports, options, exit code."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import mcp_wire
from mcp_gen.compat.checks import judging
from mcp_gen.compat.checks.check import checks
from mcp_gen.compat.requirements.manifest import requirements
from mcp_gen.compat.scenarios import scenario
from tests.cli.running import complaint, run
from tests.support.processes.held_connection import held_connection

SERVER = str(Path(__file__).parents[3] / "examples/server.py")
REVISION = mcp_wire.LATEST
IN_MEMORY = ("--over", "memory", "--revision", REVISION)

FEW = {"base:frames:valid", "base:notifications:no-id", "tools:names:unique"}
FEW_SCENARIOS = ("strict", "base:client:supported", "http:client:refusals")


@pytest.fixture(autouse=True)
def few_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Examine by a few checks and scenarios: all are tried elsewhere, and take their time."""
    few = {
        id: check
        for id, check in checks().items()
        if id in FEW
        or check.requirement.transport == "http"
        or (check.side == "client" and not scenario.has_scenario(id))
        or id in FEW_SCENARIOS
    }
    scenarios = {id: scenario.scenario_of(id) for id in FEW_SCENARIOS}
    monkeypatch.setattr(judging, "checks", lambda: few)
    monkeypatch.setattr(scenario, "_scenarios", scenarios)


BREAKING = """
import asyncio
from mcp_gen.compat.reference.serving import DuplexServing
from mcp_gen.compat.zoo.zoo import zoo
from mcp_gen.transports.stdio import StdioTransport

peer = zoo()["{id}"].breaks("{revision}")
asyncio.run(DuplexServing(peer, "stdio").serve(StdioTransport()))
"""


def breaking(folder: Path, id: str) -> str:
    """Return the command of the server that breaks a requirement."""
    script = folder / "peer.py"
    script.write_text(BREAKING.format(id=id, revision=REVISION))
    return f"{sys.executable} {script}"


def level_of(id: str) -> str:
    return requirements()[id].level


def verdicts(text: str) -> dict[str, str]:
    return {one["requirement"]: one["verdict"] for one in json.loads(text)["outcomes"]}


# --- a good server ---


def test_a_good_server_exits_with_0_and_ends_in_the_totals() -> None:
    ran = run("doctor", SERVER, *IN_MEMORY)
    assert ran.exit_code == 0, ran.stdout
    assert ran.stdout.splitlines()[0] == f"{SERVER} (inventory 1.0.0) over memory"
    assert "checks at 1 revision: " in ran.stdout.splitlines()[-1]


def test_code_is_run_by_mcp_gen_run_over_stdio() -> None:
    ran = run("doctor", SERVER, "--revision", REVISION, "--json")
    assert ran.exit_code == 0, ran.stderr
    assert json.loads(ran.stdout)["transport"] == "stdio"
    assert set(verdicts(ran.stdout).values()) >= {"passed"}


def test_code_is_served_over_http_at_a_port_of_its_own() -> None:
    ran = run("doctor", SERVER, "--over", "http", "--revision", REVISION, "--json")
    report = json.loads(ran.stdout)
    assert (report["transport"], report["name"]) == ("http", "inventory 1.0.0")
    assert any(one.startswith("http:") for one in verdicts(ran.stdout))


def test_a_client_is_examined_by_its_command() -> None:
    command = f"{sys.executable} -m tests.compat.own_client {{command}}"
    ran = run("doctor", "--client", command, "--revision", REVISION, "--json")
    report = json.loads(ran.stdout)
    assert (ran.exit_code, report["side"], report["name"]) == (0, "client", "own 1.0.0")
    assert verdicts(ran.stdout)["base:client:supported"] == "passed"


SMALL_CLIENT = """
import asyncio
import sys
from mcp_gen import Client

async def main(url):
    async with Client("small", "1.0.0") as client:
        session = await client.connect(url)
        [tool async for tool in session.tools()]

asyncio.run(main(sys.argv[1]))
"""


def test_a_client_is_examined_over_http_by_a_command_with_a_url(tmp_path: Path) -> None:
    script = tmp_path / "client.py"
    script.write_text(SMALL_CLIENT)
    command = f"{sys.executable} {script} {{url}}"
    ran = run("doctor", "--client", command, "--revision", REVISION, "--json")
    report = json.loads(ran.stdout)
    assert (ran.exit_code, report["transport"], report["name"]) == (0, "http", "small 1.0.0")
    found = verdicts(ran.stdout)
    assert (found["base:client:json-rpc"], found["base:client:supported"]) == ("passed", "passed")


def test_a_client_that_ends_at_once_exits_with_3_and_shows_what_it_wrote(tmp_path: Path) -> None:
    script = tmp_path / "client.py"
    script.write_text("import sys\nsys.exit('no licence')\n")
    ran = run("doctor", "--client", f"{sys.executable} {script}", "--revision", REVISION)
    assert ran.exit_code == 3
    assert "mcp-gen doctor: the client speaks none of the revisions: " in ran.stderr
    assert "no licence" in ran.stderr


def test_several_revisions_are_examined() -> None:
    first, last = mcp_wire.REVISIONS[0], mcp_wire.REVISIONS[-1]
    words = ("--over", "memory", "--revision", last, "--revision", first, "--json")
    report = json.loads(run("doctor", SERVER, *words).stdout)
    assert {one["revision"] for one in report["outcomes"]} == {first, last}


def test_a_server_of_a_configuration_file_is_named_with_the_file(tmp_path: Path) -> None:
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"shop": {"target": SERVER}}}))
    for words in ([f"{file}:shop"], ["shop", "--config", str(file)]):
        report = json.loads(run("doctor", *words, *IN_MEMORY, "--json").stdout)
        assert report["name"] == "inventory 1.0.0"


def test_what_the_code_prints_is_not_in_the_report(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text("from mcp_gen import Server\nprint('loaded')\nserver = Server('a')\n")
    ran = run("doctor", str(script), *IN_MEMORY, "--json")
    assert json.loads(ran.stdout)["side"] == "server"
    assert "loaded" in ran.stderr


# --- calls ---

CALLED = """
from pathlib import Path
from mcp_gen import Server
from mcp_gen.types import ToolAnnotations

server = Server("called")
kept = Path(__file__).with_name("calls")

def keep(name):
    with kept.open("a") as file:
        print(name, file=file)
    return name

@server.tool
def named(text: str) -> str:
    return keep(f"named {text}")

@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def reads() -> str:
    return keep("reads")

@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def reads_one(key: str) -> str:
    return keep("reads_one")

@server.tool
def writes() -> str:
    return keep("writes")
"""


def called(folder: Path, *words: str) -> set[str]:
    """Return the calls that the tools of a server got."""
    script = folder / "server.py"
    script.write_text(CALLED)
    ran = run("doctor", str(script), *IN_MEMORY, *words)
    assert ran.exit_code == 0, ran.stdout + ran.stderr
    kept = folder / "calls"
    return set(kept.read_text().splitlines()) if kept.exists() else set()


def test_no_tool_is_called_that_was_not_named(tmp_path: Path) -> None:
    assert called(tmp_path) == set()


def test_a_tool_is_called_with_the_arguments_that_were_given(tmp_path: Path) -> None:
    assert called(tmp_path, "--call", 'named:{"text": "a:{b}"}') == {"named a:{b}"}


def test_tools_that_say_they_only_read_and_need_no_arguments_are_called(tmp_path: Path) -> None:
    assert called(tmp_path, "--call-read-only") == {"reads"}


@pytest.mark.parametrize(
    "call", ["add:", "add:[]", 'add:{"a"', ':{"a": 1}', "", "add:1", '{"a": 1}']
)
def test_a_call_that_is_no_name_with_an_object_is_one_line(call: str) -> None:
    said = complaint("doctor", SERVER, *IN_MEMORY, "--call", call)
    assert said.startswith("mcp-gen doctor: --call: expected `NAME:{JSON}`")


# --- findings ---


def test_a_broken_should_exits_with_0_unless_it_is_to_fail(tmp_path: Path) -> None:
    assert level_of("tools:names:unique") == "should"
    command = breaking(tmp_path, "tools:names:unique")
    for words, code in (([], 0), (["--fail-on", "should"], 1)):
        ran = run("doctor", command, "--revision", REVISION, *words)
        assert ran.exit_code == code, ran.stdout + ran.stderr
        assert "SHOULD tools:names:unique" in ran.stdout
        assert "2 tools are called" in ran.stdout


@pytest.mark.parametrize(("words", "code"), [((), 1), (("--fail-on", "never"), 0)])
def test_a_broken_must_exits_with_1_unless_nothing_is_to_fail(
    words: tuple[str, ...], code: int, tmp_path: Path
) -> None:
    assert level_of("base:frames:valid") == "must"
    called = ("--call", 'echo:{"text": "a"}')
    command = breaking(tmp_path, "base:frames:valid")
    ran = run("doctor", command, "--revision", REVISION, *called, *words)
    assert ran.exit_code == code, ran.stdout + ran.stderr
    assert "MUST base:frames:valid" in ran.stdout


# --- forms ---


def test_each_form_is_written_to_its_file(tmp_path: Path) -> None:
    files = {name: tmp_path / f"report.{name}" for name in ("html", "junit", "markdown")}
    words = [word for name, file in files.items() for word in (f"--{name}", str(file))]
    ran = run("doctor", SERVER, *IN_MEMORY, *words)
    assert "not tested" in ran.stdout.splitlines()[-1], "the terminal has a report too"
    assert files["html"].read_text().startswith("<!doctype html>")
    assert ET.parse(files["junit"]).getroot().tag == "testsuites"
    assert files["markdown"].read_text().startswith("## MCP compatibility of ")


@pytest.mark.parametrize(
    ("form", "beginning"),
    [("html", "<!doctype html>"), ("junit", "<?xml"), ("markdown", "## MCP compatibility")],
)
def test_a_form_is_all_that_is_printed_if_it_goes_to_stdout(form: str, beginning: str) -> None:
    ran = run("doctor", SERVER, *IN_MEMORY, f"--{form}", "-")
    assert ran.stdout.startswith(beginning)
    assert (ran.exit_code, ran.stderr) == (0, "")


# --- mistakes ---


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name a server, as in `mcp-gen doctor server.py`"),
        (["none.py"], "no such file: none.py; "),
        (["python s.py", "--over", "http"], "--over is for Python code: a command and a URL say"),
        (["tcp:localhost:1"], "a socket is not examined; name Python code, a command or a URL"),
        ([SERVER, "--revision", "1999-01-01"], "no revision '1999-01-01'; there are 2024-11-05"),
        ([SERVER, "--json", "--html", "-"], "--json and --html print to stdout; give a file for"),
        ([SERVER, "--html", "none/a.html"], "--html: there is no folder none"),
        ([SERVER, "--header", "A: b"], "--header is for URLs"),
        ([SERVER, "--sse-url", "http://localhost/sse"], "--sse-url is for URLs"),
        ([SERVER, "--client", "python {command}"], "--client: options of servers are not for"),
        (["--client", "no-such-program-at-all"], "--client: there is no program 'no-such-program"),
        (["--client", "python 'x"], "--client: No closing quotation; check its quotes"),
        (["--client", "python {url} {command}"], "--client: give `{command}` (stdio) or `{url}`"),
        (["--client", ""], "--client: there is no program ''"),
    ],
)
def test_a_mistake_is_one_line(words: list[str], said: str) -> None:
    assert complaint("doctor", *words).startswith(f"mcp-gen doctor: {said}")


def test_a_server_that_ends_at_once_exits_with_3_and_shows_what_it_wrote(tmp_path: Path) -> None:
    script = tmp_path / "peer.py"
    script.write_text("import sys\nsys.exit('no licence \\x1b[2J')\n")
    ran = run("doctor", f"{sys.executable} {script}", "--revision", REVISION)
    assert ran.exit_code == 3
    assert "mcp-gen doctor: the server speaks none of the revisions: " in ran.stderr
    assert "no licence \\x1b[2J" in ran.stderr


def test_a_command_that_is_not_there_exits_with_3() -> None:
    ran = run("doctor", "no-such-program-at-all --x", "--revision", REVISION)
    assert ran.exit_code == 3
    assert "cannot start `no-such-program-at-all`" in ran.stderr


def test_a_secret_of_the_command_line_is_not_in_the_report(tmp_path: Path) -> None:
    command = breaking(tmp_path, "tools:names:unique")
    ran = run("doctor", f"{command} --token s3cr3tvalue", "--revision", REVISION, "--json")
    report: dict[str, Any] = json.loads(ran.stdout)
    assert report["target"].endswith("--token ***")


async def test_a_doctor_that_is_terminated_ends_the_server_that_it_started(tmp_path: Path) -> None:
    words = ("doctor", "server.py", "--over", "http", "--revision", REVISION)
    command = [sys.executable, "-c", "from mcp_gen.cli import main; main()", *words]
    async with held_connection() as held, asyncio.timeout(60):
        (tmp_path / "server.py").write_text(held.holding)
        process = await asyncio.create_subprocess_exec(*command, cwd=tmp_path)
        await held.began.wait()
        process.terminate()
        assert await process.wait() == 130
        await held.ended.wait()
