"""The runner of the conformance suite reports every failure; scripts play the suite."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import client_leg, server_leg
from tests.conformance.server_leg import ServerUnderTest
from tests.conformance.suite import Cell, Suite, Unusable

CELL = Cell("server", "ping", "2025-11-25", "0.1.16")
SUCCESS = {"id": "ping", "status": "SUCCESS", "description": "It answers."}
NODE = """#!{python}
import json, pathlib, sys
words = sys.argv[1:]
folder = pathlib.Path(words[-1])
(pathlib.Path(__file__).parent / "words").write_text(" ".join(words[1:]))
if words == ["--version"]:
    print({version!r})
elif "list" in words:
    print({listed!r})
elif {checks!r}:
    (folder / "checks.json").write_text({checks!r})
    (folder / "stderr.txt").write_text({complaint!r})
    print({said!r})
else:
    print("it broke")
sys.exit({status})
"""
URL = ("--url", "http://127.0.0.1/mcp")


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    return Play(tmp_path, monkeypatch)


class Play:
    """Makes suites that a script plays, instead of Node."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        monkeypatch.setenv("PATH", str(folder))

    def __call__(
        self,
        *checks: dict[str, str],
        version: str = "v24.0.0",
        listed: str = "",
        complaint: str = "",
        said: str = "",
        status: int = 0,
    ) -> Suite:
        script = NODE.format(
            python=sys.executable,
            version=version,
            listed=listed,
            checks=json.dumps(checks) if checks else "",
            complaint=complaint,
            said=said,
            status=status,
        )
        node = self.folder / "node"
        node.write_text(script)
        node.chmod(0o700)
        return Suite(self.folder)

    @property
    def words(self) -> list[str]:
        """Return the arguments of the suite's last run."""
        return (self.folder / "words").read_text().split()


def test_a_check_that_passes_is_no_fault(played: Play) -> None:
    information = {**SUCCESS, "status": "INFO"}
    assert played(SUCCESS, information).outcome(CELL, *URL).faults == []


@pytest.mark.parametrize("status", ["FAILURE", "WARNING"])
def test_a_check_that_fails_or_warns_is_a_fault(played: Play, status: str) -> None:
    outcome = played(SUCCESS, {**SUCCESS, "status": status}).outcome(CELL, *URL)
    assert [fault.split(":")[0] for fault in outcome.faults] == [f"{status} ping"]


def test_a_scenario_that_breaks_is_a_fault(played: Play) -> None:
    (fault,) = played().outcome(CELL, *URL).faults
    assert fault == "nothing has passed: it broke\n"


def test_a_scenario_that_only_skips_is_a_fault(played: Play) -> None:
    skipped = played({**SUCCESS, "name": "Ping", "status": "SKIPPED"})
    assert skipped.outcome(CELL, *URL).faults


def test_a_run_that_ends_badly_for_no_reason_is_a_fault(played: Play) -> None:
    (fault,) = played(SUCCESS, status=3).outcome(CELL, *URL).faults
    assert fault.startswith("it ended with status 3")


@pytest.mark.parametrize("said", ["Client exited with code 7", "Client timed out after 30000ms"])
def test_a_client_that_does_not_end_in_order_is_a_fault(played: Play, said: str) -> None:
    assert played(SUCCESS, said=said).outcome(CELL, *URL).faults == [said]


def test_a_client_that_complains_is_a_fault(played: Play) -> None:
    (fault,) = played(SUCCESS, complaint="Task was destroyed").outcome(CELL, *URL).faults
    assert fault == "the client said: Task was destroyed"


@pytest.mark.parametrize(
    ("check", "tried"),
    [("ClientMcpMethodHeader_prompts_get", False), ("ClientMcpMethodHeader_initialize", True)],
)
def test_what_the_client_leaves_untried_is_a_fault_unless_it_cannot_be_tried(
    played: Play, check: str, tried: bool
) -> None:
    skipped = {"id": "header", "name": check, "status": "SKIPPED"}
    outcomes = client_leg.run(played(SUCCESS, skipped), [replace(CELL, leg="client")], [])
    assert [not one.faults for one in outcomes.values()] == [tried]


def test_a_scenario_is_run_at_every_revision_that_it_is_about(played: Play) -> None:
    listed = "Server scenarios:\n  - ping [2025-06-18,2025-11-25]\n  - sep-2640-skills-all [x]\n"
    cells = server_leg.cells(played(listed=listed), "0.1.16")
    assert cells == [replace(CELL, revision="2025-06-18"), CELL]


def test_a_scenario_of_an_extension_is_run_at_the_revision_that_has_it(played: Play) -> None:
    listed = "  - tasks-lifecycle [extension]\n  - tasks-status-notifications [extension]\n"
    cells = server_leg.cells(played(listed=listed), "0.2.0-alpha.12")
    tasks = Cell("server", "tasks-lifecycle", "2026-07-28", "0.2.0-alpha.12")
    assert cells == [tasks]


def test_a_scenario_of_an_extension_must_be_forced(played: Play) -> None:
    cell = Cell("server", "tasks-lifecycle", "2026-07-28", "0.2.0-alpha.12")
    server_leg.run(played(SUCCESS), [cell], [])
    assert "--force" in played.words


def test_a_client_is_also_held_to_the_revision_that_no_scenario_is_about(played: Play) -> None:
    listed = "  - ping [2025-11-25]\n  - tools_call [2025-06-18]\n"
    found = client_leg.cells(played(listed=listed), "0.1.16")
    older = Cell("client", "tools_call", "2025-03-26", "0.1.16")
    newer = replace(older, revision="2025-06-18")
    assert found == [older, replace(CELL, leg="client"), newer]


@pytest.mark.parametrize(
    ("revision", "pinned", "forced"),
    [("2025-03-26", True, True), ("2025-06-18", True, False), ("2025-11-25", False, False)],
)
def test_a_client_is_told_the_revision_that_it_would_not_choose(
    played: Play, revision: str, pinned: bool, forced: bool
) -> None:
    cell = Cell("client", "tools_call", revision, "0.2.0-alpha.12")
    client_leg.run(played(SUCCESS), [cell], [])
    assert (f"--revision {revision}" in " ".join(played.words)) is pinned
    assert ("--force" in played.words) is forced


@pytest.mark.parametrize("about", ["", " [extension]", " [draft]"])
@pytest.mark.parametrize("leg", [client_leg, server_leg])
def test_what_is_left_out_without_a_reason_stops_the_run(
    played: Play, about: str, leg: Any
) -> None:
    listed = f"  - ping [2025-11-25]\n  - unheard-of{about}\n"
    with pytest.raises(Unusable, match="why unheard-of is not run"):
        leg.cells(played(listed=listed), "0.1.16")


def test_a_suite_without_scenarios_stops_the_run(played: Play) -> None:
    with pytest.raises(Unusable, match="expected a list of scenarios"):
        server_leg.cells(played(), "0.1.16")


def test_an_old_node_stops_the_run(played: Play) -> None:
    with pytest.raises(Unusable, match="needs Node 22 or later, and finds v20"):
        played(version="v20.20.2")


def test_no_node_stops_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unusable, match="needs Node 22 or later, and finds none"):
        Suite(tmp_path)


def test_a_server_that_stops_when_told_to_is_no_fault(tmp_path: Path) -> None:
    assert ServerUnderTest(tmp_path / "log").end() == []


def test_a_server_that_died_is_a_fault(tmp_path: Path) -> None:
    server = ServerUnderTest(tmp_path / "log")
    server.process.kill()
    server.process.wait(10)
    assert server.end()[0] == "the server died with status -9"
