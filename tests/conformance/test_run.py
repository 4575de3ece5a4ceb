"""What the run of the conformance suite calls a failure, shown with a suite that is played."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.conformance.run import Cell, ServerUnderTest, Suite, Unusable

CELL = Cell("ping", "2025-11-25", "0.1.16")
SUCCESS = {"id": "ping", "status": "SUCCESS", "description": "It answers."}
NODE = """#!{python}
import json, pathlib, sys
words = sys.argv[1:]
if words == ["--version"]:
    print({version!r})
elif "list" in words:
    print({listed!r})
elif {checks!r}:
    (pathlib.Path(words[-1]) / "checks.json").write_text({checks!r})
else:
    print("it broke")
"""


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    return Play(tmp_path, monkeypatch)


class Play:
    """Makes suites that a script plays, instead of Node."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        monkeypatch.setenv("PATH", str(folder))

    def __call__(
        self, *checks: dict[str, str], version: str = "v24.0.0", listed: str = ""
    ) -> Suite:
        said = json.dumps(checks) if checks else ""
        node = self.folder / "node"
        script = NODE.format(python=sys.executable, version=version, listed=listed, checks=said)
        node.write_text(script)
        node.chmod(0o700)
        return Suite(self.folder)


def test_a_check_that_passes_is_no_fault(played: Play) -> None:
    information = {**SUCCESS, "status": "INFO"}
    assert played(SUCCESS, information).outcome(CELL, "http://127.0.0.1/mcp").faults == []


@pytest.mark.parametrize("status", ["FAILURE", "WARNING"])
def test_a_check_that_fails_or_warns_is_a_fault(played: Play, status: str) -> None:
    outcome = played(SUCCESS, {**SUCCESS, "status": status}).outcome(CELL, "http://127.0.0.1/mcp")
    assert [fault.split(":")[0] for fault in outcome.faults] == [f"{status} ping"]


def test_a_scenario_that_breaks_is_a_fault(played: Play) -> None:
    (fault,) = played().outcome(CELL, "http://127.0.0.1/mcp").faults
    assert fault == "nothing has passed: it broke\n"


def test_a_scenario_that_only_skips_is_a_fault(played: Play) -> None:
    skipped = played({**SUCCESS, "status": "SKIPPED"})
    assert skipped.outcome(CELL, "http://127.0.0.1/mcp").faults


def test_a_scenario_is_run_at_every_revision_that_it_is_about(played: Play) -> None:
    listed = "Server scenarios:\n  - ping [2025-06-18,2025-11-25]\n  - tasks-all [extension]\n"
    assert played(listed=listed).cells("0.1.16") == [Cell("ping", "2025-06-18", "0.1.16"), CELL]


@pytest.mark.parametrize("about", ["", " [extension]"])
def test_what_is_left_out_without_a_reason_stops_the_run(played: Play, about: str) -> None:
    listed = f"  - ping [2025-11-25]\n  - unheard-of{about}\n"
    with pytest.raises(Unusable, match="why unheard-of is not run"):
        played(listed=listed).cells("0.1.16")


def test_a_suite_without_scenarios_stops_the_run(played: Play) -> None:
    with pytest.raises(Unusable, match="expected a list of scenarios"):
        played().cells("0.1.16")


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
