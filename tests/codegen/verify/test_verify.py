"""Self-test of the generator: what differs from the schema is named, whatever went wrong."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from codegen.__main__ import generate, main
from codegen.model.overlay import Overlay
from codegen.verify import command
from codegen.verify.command import run, subject
from codegen.verify.judge import Tally
from codegen.verify.known import KNOWN
from codegen.verify.report import as_json, as_text, differences
from codegen.verify.run import Part, Subject, judged, verify
from tests.codegen.tiny import CAPABILITY, REVISION, STRING, checkout, const, ref, struct
from tests.wire.revisions import kept

OVERLAY = f"""{CAPABILITY}
[[unchecked]]
names = ["maximum"]
reason = "a test"

[[reads]]
rule = "null"
reason = "a test"

[[reads]]
rule = "constant"
reason = "a test"

[[reads]]
rule = "integer"
reason = "a test"

[[reads]]
rule = "unknown key"
reason = "a test"
"""

SIZE = {"type": "integer", "maximum": 3}
NOTED = {"type": "object", "properties": {"note": STRING, "size": SIZE, "text": STRING}}

DEFINITIONS = {
    "Detailed": {"allOf": [ref("EchoResult"), {**NOTED, "required": ["note"]}]},
    "EchoResult": {**NOTED, "required": ["text"]},
    "Loud": struct(kind=const("loud"), level={"type": "integer", "maximum": 10}),
    "Quiet": struct(kind=const("quiet")),
}

COUNT = 1500


def without_note(there: dict[str, Any]) -> None:
    del there["EchoResult"]["properties"]["note"]


def without_required(there: dict[str, Any]) -> None:
    there["Detailed"]["allOf"][1]["required"] = []


def without_constant(there: dict[str, Any]) -> None:
    there["Loud"]["properties"]["kind"] = STRING


def with_bound(there: dict[str, Any]) -> None:
    # As the generator would check it: by the values that there may be.
    there["Loud"]["properties"]["level"] = {"type": "integer", "enum": [0, 1]}


MISTAKES: dict[str, tuple[Callable[[dict[str, Any]], None], set[tuple[str, str]]]] = {
    "a field is dropped": (without_note, {("EchoResult", "lost `note`")}),
    "a fold loses what is required": (without_required, {("Detailed", "accepted")}),
    "a constant is ignored": (without_constant, {("Loud", "accepted")}),
    "a bound is checked": (with_bound, {("Loud", "refused")}),
}


@cache
def verified(folder: Path, *mistakes: str) -> Tally:
    """Generate what a generator with these mistakes would, and verify it by the true schema."""
    wrong = copy.deepcopy(DEFINITIONS)
    for mistake in mistakes:
        MISTAKES[mistake][0](wrong)
    root = checkout(folder, wrong, overlay=OVERLAY)
    for path, text in generate(root).package.items():
        target = folder / "generated" / "mcp_wire" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
    return verify([true_subject(folder)], folder / "generated", COUNT)[REVISION]


def true_subject(folder: Path) -> Subject:
    root = checkout(folder, DEFINITIONS, overlay=OVERLAY)
    schema = root / "schema" / REVISION / "schema.json"
    return subject(schema, REVISION, Overlay(root / "schema" / "overlay.toml"))


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> Tally:
    return verified(tmp_path_factory.mktemp("right"))


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Tally:
    return verified(tmp_path_factory.mktemp("wrong"), *MISTAKES)


def test_what_is_generated_right_differs_by_rows_alone(right: Tally) -> None:
    assert right.unexplained == 0, as_text({REVISION: right}, 0, 0)
    assert right.instances == COUNT
    assert right.instances == right.accepted + right.refused + right.differing
    assert right.never_accepted == set()


def test_each_row_that_explains_a_difference_is_counted(right: Tally) -> None:
    assert right.explained.keys() == {
        "unchecked",
        "reads constant",
        "reads integer",
        "reads null",
        "reads unknown key",
    }


@pytest.mark.parametrize("surface", ["msgspec", "pydantic"])
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_of_the_generator_is_named(mistake: str, surface: str, wrong: Tally) -> None:
    named = {(one.definition, one.what) for _, one in told(wrong) if one.surface == surface}
    _, expected = MISTAKES[mistake]
    assert expected <= named


def told(tally: Tally) -> list[tuple[int, Any]]:
    return differences({REVISION: tally})


def test_a_difference_is_told_with_its_shortest_instance_and_both_verdicts(wrong: Tally) -> None:
    found = {(one.definition, one.surface, one.what): one for _, one in told(wrong)}
    one = found["Detailed", "msgspec", "accepted"]
    assert (json.loads(one.instance), one.published, one.expected, one.got) == (
        {"text": ""},
        "refused",
        "refused",
        'accepted as {"text":""}',
    )
    assert f"{REVISION} Detailed: msgspec accepted" in as_text({REVISION: wrong}, 0, 0)


def test_the_same_seed_finds_the_same(wrong: Tally, tmp_path: Path) -> None:
    again = verified(tmp_path, *MISTAKES)
    assert as_json({REVISION: again}, 0) == as_json({REVISION: wrong}, 0)


# --- The command ---


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_one_line_of_a_terminal_that_is_gone_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal, file = Terminal(), io.StringIO()
    for stderr in (terminal, file):
        monkeypatch.setattr("sys.stderr", stderr)
        for done in (1, 2):
            command._progress(done, 2)
    said = ("verifying: 1 of 2 parts\r", "verifying: 2 of 2 parts\r\033[K")
    assert (terminal.getvalue(), file.getvalue()) == ("".join(said), "")


def test_the_command_ends_with_one_if_something_is_unexplained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = checkout(tmp_path, DEFINITIONS, overlay=OVERLAY)
    assert main(["--root", str(root), "--verify", "300", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["revisions"][REVISION]["instances"] == 300
    (root / "schema" / "overlay.toml").write_text(OVERLAY.replace("unknown key", "another rule"))
    assert run_again(root) == 1
    assert "EchoResult: msgspec lost `com.example/extra`" in capsys.readouterr().out


def run_again(root: Path) -> int:
    """Verify what was generated by other rows, and return the exit code."""
    schema = root / "schema" / REVISION / "schema.json"
    again = subject(schema, REVISION, Overlay(root / "schema" / "overlay.toml"))
    return run([again], root / "generated", 2 * COUNT, 0, json=False)


@pytest.mark.parametrize("option", [["--seed", "1"], ["--json"]])
def test_an_option_of_the_self_test_needs_it(
    option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(option) == 1
    assert capsys.readouterr().err == "codegen: --seed and --json go with --verify\n"


# --- The table of the pydantic surface ---


def test_every_known_difference_of_the_models_is_met() -> None:
    there = kept("2025-11-25")
    subject = Subject(there.revision, there.document, there.deviations)
    tally = judged(Part(subject, ["ModelPreferences", "RequestId"], 400, 0))
    assert tally.known.keys() == {entry.name for entry in KNOWN}
    assert tally.unexplained == 0
