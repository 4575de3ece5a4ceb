"""The runner of the conformance suite reports every failure; scripts play the suite."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import authorization_leg, client_leg, server_leg
from tests.conformance.server_leg import ServerUnderTest
from tests.conformance.suite import Cell, Suite, Unusable

CELL = Cell("server", "ping", "2025-11-25", "0.1.16")
SUCCESS = {"id": "ping", "status": "SUCCESS", "description": "It answers."}
NODE = """#!{python}
import json, pathlib, sys
words = sys.argv[1:]
folder = pathlib.Path(words[-1]) / {into!r}
(pathlib.Path(__file__).parent / "words").write_text(" ".join(words[1:]))
if words == ["--version"]:
    print({version!r})
elif "list" in words:
    print({listed!r})
elif {checks!r}:
    folder.mkdir(exist_ok=True)
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
        into: str = "",
    ) -> Suite:
        script = NODE.format(
            python=sys.executable,
            version=version,
            listed=listed,
            checks=json.dumps(checks) if checks else "",
            complaint=complaint,
            said=said,
            status=status,
            into=into,
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


def authorized() -> list[Cell]:
    """Return the scenarios of authorization as the suite has them, by number."""
    plain = [
        Cell("client", f"auth/{number}", revision, suite)
        for suite, revisions in client_leg.AUTHORIZED.items()
        for revision, count in revisions.items()
        for number in range(count)
    ]
    extensions = sorted(client_leg.AUTH_EXTENSIONS)
    return plain + [
        Cell("client", name, "2025-11-25", suite)
        for suite, count in client_leg.AUTHORIZED_BY_EXTENSION.items()
        for name in extensions[:count]
    ]


def test_all_scenarios_of_authorization_are_as_many_as_are_known() -> None:
    whole = authorized()
    newest = [cell for cell in whole if cell.suite == "0.2.0-alpha.12"]
    assert (client_leg.miscounted(whole), len(newest)) == ([], 2 + 3 + 14 + 25 + 6)


def test_versions_that_are_not_run_lack_no_scenario() -> None:
    newest = [cell for cell in authorized() if cell.suite == "0.2.0-alpha.12"]
    assert client_leg.miscounted(newest, ["0.2.0-alpha.12"]) == []
    assert len(client_leg.miscounted(newest)) == 4


@pytest.mark.parametrize("place", range(0, 72, 7))
def test_a_scenario_of_authorization_that_is_missing_is_a_fault(place: int) -> None:
    whole = authorized()
    del whole[place]
    assert len(client_leg.miscounted(whole)) == 1


def test_a_new_scenario_of_authorization_is_a_fault() -> None:
    new = Cell("client", "auth/new", "2026-07-28", "0.2.0-alpha.12")
    assert client_leg.miscounted([*authorized(), new]) == [
        "0.2.0-alpha.12 at 2026-07-28: expected 25 scenarios of authorization, got 26"
    ]


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


AUTHORIZATION = "  - metadata [2025-06-18,2025-11-25]\n  - code [2025-11-25]\n"


def test_the_version_without_scenarios_for_authorization_servers_is_not_asked_for_them(
    played: Play,
) -> None:
    suite = played(listed=AUTHORIZATION)
    assert authorization_leg.cells(suite, "0.1.16") == []
    found = authorization_leg.cells(suite, "0.2.0-alpha.12")
    assert [(one.scenario, one.revision) for one in found] == [
        ("metadata", "2025-06-18"),
        ("metadata", "2025-11-25"),
        ("code", "2025-11-25"),
    ]


LED = Cell("authorization", "code", "2025-11-25", "0.2.0-alpha.12")


def test_scenarios_that_are_run_together_have_outcomes_of_their_own(played: Play) -> None:
    heard: list[str] = []
    cells = [replace(LED, scenario="metadata"), LED]
    suite = played(SUCCESS, said="a link", into="authorization-code-2026-01-01T00-00")
    found = suite.outcomes(cells, *URL, heard=heard.append)
    assert [one.faults for one in found.values()] == [["nothing has passed: a link\n"], []]
    assert heard == ["a link\n"]
    assert played.words[:5] == ["authorization", *URL, "--spec-version", "2025-11-25"]


def test_scenarios_that_hang_are_ended(played: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    suite = played(said="begun")
    monkeypatch.setattr("tests.conformance.suite.SCENARIO_S", 0.0)
    (played.folder / "node").write_text(f"#!{sys.executable}\nimport signal\nsignal.pause()\n")
    (found,) = suite.outcomes([LED], *URL, heard=lambda line: None).values()
    assert found.faults == ["nothing has passed: "]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_link_is_opened_once_the_suite_listens_for_the_answer(
    monkeypatch: pytest.MonkeyPatch, order: tuple[int, int]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(authorization_leg, "consent", opened.append)
    link = "http://127.0.0.1:9000/authorize?client_id=conformance"
    lines = [f"{link}\n", "Callback server started: http://127.0.0.1:3000\n"]
    opener = authorization_leg.Opener()
    opener(lines[order[0]])
    before = list(opened)
    opener(lines[order[1]])
    opener("Waiting\n")
    assert (before, opened) == ([], [link])
