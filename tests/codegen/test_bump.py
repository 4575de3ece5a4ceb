"""A spec bump: one run tells all that a new revision asks; with its rows the next one is green."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from codegen.__main__ import Generated, Inputs, generate, main, read_revisions
from codegen.bump import left_out, renames, report
from codegen.errors import CodegenError, Stop
from codegen.model.overlay import Overlay
from tests.codegen.test_draft import python
from tests.codegen.test_regen import REPOSITORY
from tests.codegen.tiny import CAPABILITY, STRING, checkout, const, ref, struct, union

OLD, NEW = "2026-07-28", "2027-01-31"
HEAD = 'revision = "{0}"\nspec     = "https://modelcontextprotocol.io/specification/{0}"\n'

Change = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Checkout:
    """A checkout of the newest published revisions, with one more after them."""

    root: Path

    def read(self) -> Inputs:
        return read_revisions(self.root)

    def stops(self) -> list[Stop]:
        return list(self.read().stops)

    def paste(self, rows: str) -> None:
        """Write rows at the end of the overlay, as whoever follows the advice does."""
        overlay = self.root / "schema" / "overlay.toml"
        overlay.write_text(f"{overlay.read_text('utf-8')}\n{rows}", "utf-8")

    def copy_facts(self, *replaced: tuple[str, str]) -> None:
        """Copy the facts of the revision before, with the new head and some texts replaced."""
        text = (self.root / "schema" / OLD / "facts.toml").read_text("utf-8")
        for old, new in ((HEAD.format(OLD), HEAD.format(NEW)), *replaced):
            assert old in text
            text = text.replace(old, new)
        (self.root / "schema" / NEW / "facts.toml").write_text(text, "utf-8")

    def extend(self, stops: list[Stop]) -> None:
        """Write what the stops about extensions give over the line that they are about."""
        for stop in stops:
            if stop.pointer.startswith("schema/extensions/"):
                file = self.root / stop.pointer.partition(" ")[0]
                lines = file.read_text("utf-8").splitlines(keepends=True)
                made = [stop.row if one.startswith("revisions ") else one for one in lines]
                file.write_text("".join(made), "utf-8")


def bumped(folder: Path, change: Change | None = None) -> Checkout:
    """Return a checkout in which the newest published schema, changed, is a new revision."""
    schema = folder / "schema"
    shutil.copytree(REPOSITORY / "schema", schema)
    (folder / "mcp_gen").symlink_to(REPOSITORY / "mcp_gen")
    text = (schema / OLD / "schema.json").read_text("utf-8")
    if change is not None:
        document = json.loads(text)
        change(document["$defs"])
        text = json.dumps(document)
    (schema / NEW).mkdir()
    (schema / NEW / "schema.json").write_text(text, "utf-8")
    return Checkout(folder)


def rows(stops: list[Stop]) -> str:
    """Return the rows that the stops give to paste into the overlay."""
    return "\n".join(stop.row for stop in stops if stop.row.startswith("[["))


@pytest.fixture(autouse=True)
def _no_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the pydantic models empty: they take most of a run, and no test here reads them."""
    monkeypatch.setattr("codegen.emit.package.models", lambda *_: "")


# --- a revision that is the one before under a new name ---


@pytest.fixture(name="same", scope="module")
def _same(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    return bumped(tmp_path_factory.mktemp("same"))


@pytest.fixture(name="asked", scope="module")
def _asked(same: Checkout) -> list[Stop]:
    """Return the stops of the first run."""
    return same.stops()


@pytest.fixture(name="made", scope="module")
def _made(same: Checkout, asked: list[Stop]) -> Generated:
    """Return what is generated once the rows are pasted and the facts are copied."""
    same.paste(rows(asked))
    same.extend(asked)
    same.copy_facts()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("codegen.emit.package.models", lambda *_: "")
        return generate(same.root)


def test_every_row_that_is_for_the_revision_before_and_fits_is_asked_for(
    same: Checkout, asked: list[Stop]
) -> None:
    overlay = Overlay(REPOSITORY / "schema" / "overlay.toml")
    limited = {row.where for row in overlay.all() if OLD in row.revisions}
    told = {stop.pointer for stop in asked if not stop.pointer.startswith("schema/extensions/")}
    assert told == {*limited, "facts.toml"}
    assert len(limited) == 11


def test_every_extension_of_the_revision_before_is_asked_for(asked: list[Stop]) -> None:
    told = [stop for stop in asked if stop.pointer.startswith("schema/extensions/")]
    assert [stop.pointer for stop in told] == [
        "schema/extensions/tasks/facts.toml revisions",
        "schema/extensions/ui/facts.toml revisions",
    ]
    assert told[0].row == f'revisions = ["{OLD}", "{NEW}"]\nbase = "{OLD}"\n'


def test_the_extensions_exist_at_the_new_revision(made: Generated) -> None:
    for name in ("tasks", "ui"):
        assert NEW in made.package[Path("extensions", name, "__init__.py")]


def test_an_extension_that_is_refused_is_not_asked_for(tmp_path: Path) -> None:
    root = bumped(tmp_path).root
    for file in (root / "schema" / "extensions").glob("*/facts.toml"):
        file.write_text(f'refused = ["{NEW}"]\n{file.read_text("utf-8")}', "utf-8")
    assert list(left_out([OLD, NEW], root)) == []


def test_every_stop_has_a_row_to_paste(asked: list[Stop]) -> None:
    assert [stop.pointer for stop in asked if not stop.row] == []


def test_with_the_rows_the_new_modules_equal_the_old_ones_but_for_the_name(
    made: Generated,
) -> None:
    def named_alike(path: Path) -> str:
        text = made.package[path]
        return text.replace(NEW, OLD).replace("2027_01_31", "2026_07_28")

    old = {path for path in made.package if path.parts[0] == "v2026_07_28"}
    new = {path: Path("v2027_01_31", path.name) for path in old}
    assert old
    assert [path for path in old if named_alike(path) != named_alike(new[path])] == []


def test_a_revision_that_changes_nothing_has_no_changes_and_no_questions(
    same: Checkout, made: Generated
) -> None:
    inputs = same.read()
    told = str(report(inputs.revisions, inputs.overlay, REPOSITORY / "mcp_gen"))
    assert told == f"changes from {OLD} to {NEW}: none\n\nto decide: nothing"


# --- a revision with changes ---


def changed(definitions: dict[str, Any]) -> None:
    """Change a schema in each way that a revision may."""
    meta = {"_meta": ref("RequestMetaObject")}
    frame = {"id": ref("RequestId"), "jsonrpc": const("2.0")}
    definitions["PreviewToolRequest"] = struct(
        **frame, method=const("tools/preview"), params=ref("PreviewToolRequestParams")
    )
    definitions["PreviewToolRequestParams"] = struct(**meta, name=STRING)
    definitions["PreviewToolResult"] = struct(resultType=ref("ResultType"), text=STRING)
    definitions["PreviewToolResultResponse"] = struct(**frame, result=ref("PreviewToolResult"))
    definitions["ClientRequest"]["anyOf"].append(ref("PreviewToolRequest"))
    definitions["VideoContent"] = struct(type=const("video"), url=STRING)
    definitions["ContentBlock"]["anyOf"].append(ref("VideoContent"))
    definitions["Tool"]["properties"]["badge"] = STRING
    definitions["ListToolsResult"]["properties"]["total"] = {"type": "integer"}
    definitions["ListToolsResult"]["required"].append("total")
    definitions["LoggingLevel"]["enum"].append("trace")
    del definitions["Resource"]["properties"]["size"]
    definitions["PromptParameter"] = definitions.pop("PromptArgument")
    definitions["Prompt"]["properties"]["arguments"]["items"] = ref("PromptParameter")


@pytest.fixture(name="evolved", scope="module")
def _evolved(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    return bumped(tmp_path_factory.mktemp("evolved"), changed)


@pytest.fixture(name="printed", scope="module")
def _printed(evolved: Checkout) -> list[str]:
    """Return what the first run prints."""
    output = StringIO()
    with redirect_stdout(output), redirect_stderr(output):
        assert main(["--root", str(evolved.root), "--out", str(evolved.root / "generated")]) == 1
    return output.getvalue().splitlines()


@pytest.fixture(name="first_run", scope="module")
def _first_run(evolved: Checkout, printed: list[str]) -> tuple[list[Stop], list[str]]:
    """Return the stops and the questions of the first run."""
    assert printed
    inputs = evolved.read()
    told = report(inputs.revisions, inputs.overlay, REPOSITORY / "mcp_gen")
    return list(inputs.stops), told.asked


@pytest.fixture(name="speaking", scope="module")
def _speaking(
    evolved: Checkout, first_run: tuple[list[Stop], list[str]], tmp_path_factory: Any
) -> Path:
    """Return the folder of the package that the second run writes."""
    renamed = f'[[renamed]]\nold = "PromptArgument"\nnew = "PromptParameter"\nsince = "{NEW}"\n'
    evolved.paste(rows(first_run[0]) + renamed + 'reason = "a test"\n')
    evolved.extend(first_run[0])
    evolved.copy_facts(
        ('"emergency",\n', '"emergency", "trace",\n'),
        ("PromptArgument ", "PromptParameter "),
        ('"PromptArgument"', '"PromptParameter"'),
        ('"size", ', ""),
    )
    out: Path = tmp_path_factory.mktemp("speaking")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("codegen.emit.package.models", lambda *_: "")
        assert main(["--root", str(evolved.root), "--out", str(out)]) == 0
    return out


def test_the_documented_output_is_what_the_first_run_prints(printed: list[str]) -> None:
    page = (REPOSITORY / "docs" / "spec-bump.md").read_text("utf-8")
    _, _, block = page.partition("$ nox -s regen\n")
    documented = [line for line in block.partition("```")[0].splitlines() if line != "…"]
    assert len(documented) > 30
    assert [line for line in documented if line not in printed] == []


def test_the_first_run_stops_at_all_that_a_row_must_decide(
    first_run: tuple[list[Stop], list[str]],
) -> None:
    stops, _ = first_run
    own = [
        stop.pointer
        for stop in stops
        if not stop.pointer.startswith(("overlay.toml/", "schema/extensions/"))
    ]
    assert own == [
        "facts.toml",
        "facts.toml [fields] Resource",
        "facts.toml [fields] PromptArgument",
        "facts.toml [enums] LoggingLevel",
        "#/$defs/PromptArgument",
        "#/$defs/PreviewToolRequest",
        "ListToolsResult/total",
    ]


def test_the_first_run_lists_what_the_runtime_must_decide(
    first_run: tuple[list[Stop], list[str]],
) -> None:
    _, questions = first_run
    assert [one.split(" ")[0] for one in questions] == [
        "`tools/preview`:",
        "`tools/preview`",
        "ListToolsResult.total",
        "LoggingLevel",
        "ContentBlock",
        "PromptArgument",
        "PromptArgument",
    ]


def test_a_type_that_is_gone_is_told_with_the_places_that_name_it(
    first_run: tuple[list[Stop], list[str]],
) -> None:
    _, questions = first_run
    (told,) = (one for one in questions if "handwritten code" in one)
    assert "mcp_gen/server/prompts/registry.py:" in told


def test_a_rename_is_suggested_with_its_row(first_run: tuple[list[Stop], list[str]]) -> None:
    _, questions = first_run
    assert questions[-1].startswith(
        "PromptArgument is gone, and PromptParameter has most of its fields: is it PromptArgument "
        'renamed?\n      [[renamed]]\n      old = "PromptArgument"\n      new = "PromptParameter"\n'
    )


def test_server_and_client_speak_the_new_revision(speaking: Path) -> None:
    program = """
import asyncio, mcp_wire
from mcp_gen import Client, Server
server = Server("s")

@server.tool
def add(a: int, b: int) -> int:
    return a + b

async def main():
    async with Client("c") as client:
        session = await client.connect(server)
        listed = await session.list_tools()
        called = await session.call_tool("add", {"a": 1, "b": 2})
        print(session.revision, listed.total, called.structured_content)

asyncio.run(main())
"""
    assert python(speaking, program) == f"{NEW} 0 3"


def test_the_change_table_tells_of_the_new_revision(speaking: Path) -> None:
    program = f"""
from mcp_wire.changes import changes
for one in changes("{OLD}", "{NEW}"):
    if one.effect != "none":
        print(one.path, one.breaks)
"""
    assert python(speaking, program).splitlines() == [
        "tools/preview ()",
        "ContentBlock ('client', 'server')",
        "ListToolsResult.total ('server',)",
        "LoggingLevel ('client', 'server')",
        "Resource.size ('server',)",
        "Tool.badge ()",
    ]


# --- what other files than the schema say ---


def claiming(definitions: dict[str, Any]) -> None:
    """Change a schema so that two methods of the tasks extension are methods of the protocol."""
    meta = {"_meta": ref("RequestMetaObject")}
    frame = {"id": ref("RequestId"), "jsonrpc": const("2.0")}
    definitions["UpdateTaskRequest"] = struct(
        **frame, method=const("tasks/update"), params=ref("UpdateTaskRequestParams")
    )
    definitions["UpdateTaskRequestParams"] = struct(**meta, taskId=STRING)
    definitions["UpdateTaskResult"] = struct(resultType=ref("ResultType"), status=STRING)
    definitions["ClientRequest"]["anyOf"].append(ref("UpdateTaskRequest"))
    definitions["TaskNotification"] = struct(
        jsonrpc=const("2.0"), method=const("notifications/tasks"), params=ref("TaskParams")
    )
    definitions["TaskParams"] = struct(taskId=STRING)
    definitions["ServerNotification"]["anyOf"].append(ref("TaskNotification"))


def replace_in(file: Path, old: str, new: str) -> None:
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), "utf-8")


def refuse(root: Path, extension: str) -> None:
    file = root / "schema" / "extensions" / extension / "facts.toml"
    file.write_text(f'refused = ["{NEW}"]\n{file.read_text("utf-8")}', "utf-8")


def test_a_first_run_tells_of_extensions_and_lines_of_documentation_too(tmp_path: Path) -> None:
    there = bumped(tmp_path, claiming)
    schema = there.root / "schema"
    replace_in(schema / "profile.toml", "[errors]\n", '[errors]\nNOBODY = "An error of none."\n')
    replace_in(
        schema / "extensions" / "ui" / "docs.toml",
        "[types]\n",
        '[types]\nNobody = "Not a sentence"\n',
    )
    first = there.stops()
    clash = f"choose another name, or add {NEW} to a list `refused`"
    told = [str(stop) for stop in first if not stop.row]
    assert told == [
        f"extension tasks: facts.toml: `notifications/tasks` is a method of {NEW}; {clash}",
        f"extension tasks: facts.toml: `tasks/update` is a method of {NEW}; {clash}",
        "docs.toml: [types] Nobody: end it with one full stop",
        "profile.toml: [errors] NOBODY: no revision states it; remove the line",
    ]
    assert "#/$defs/UpdateTaskRequest" in [stop.pointer for stop in first]
    # The second run is green.
    there.paste(rows(first))
    there.copy_facts()
    there.extend([stop for stop in first if "/ui/" in stop.pointer])
    refuse(there.root, "tasks")
    for place in ("profile.toml", "extensions/ui/docs.toml"):
        shutil.copy(REPOSITORY / "schema" / place, schema / place)
    assert generate(there.root).package


def test_a_line_about_a_fact_whose_row_stops_is_not_told(tmp_path: Path) -> None:
    there = bumped(tmp_path)
    row = "[errors.HEADER_MISMATCH]\n"
    replace_in(there.root / "schema" / OLD / "facts.toml", row, f"{row}size = 1\n")
    there.copy_facts()
    told = [stop.pointer for stop in there.stops() if "header_mismatch" in str(stop).lower()]
    assert told == ["facts.toml [errors] HEADER_MISMATCH"] * 2


def test_what_stops_in_a_revision_is_told_once_though_extensions_extend_it(tmp_path: Path) -> None:
    there = bumped(tmp_path)
    file = there.root / "schema" / OLD / "schema.json"
    document = json.loads(file.read_text("utf-8"))
    document["$defs"]["Tool"]["not"] = {}
    file.write_text(json.dumps(document), "utf-8")
    told = [str(stop) for stop in there.stops()]
    assert [one for one in told if "`not`" in one] == [
        f"{OLD}: #/$defs/Tool: `not`, which no type says; write what is meant with a [[patch]] row"
    ]
    assert [one for one in told if "extension " in one and "exists at" not in one] == []


# --- rows with dates ---

FIRST, SECOND, THIRD = "2030-01-01", "2030-02-02", "2030-03-03"
BOX = {"Box": struct(lid=struct(size=STRING))}
NAMED = '[[name]]\npaths = ["Box/lid"]\nname = "Lid"\n{dates}\nreason = "a test"\n'


def three(folder: Path, dates: str) -> Checkout:
    """Return a checkout of three revisions with a box, and a row for its lid with these dates."""
    overlay = CAPABILITY + NAMED.format(dates=dates)
    for revision in (FIRST, SECOND, THIRD):
        checkout(folder, BOX, overlay=overlay, revision=revision)
    return Checkout(folder)


@pytest.mark.parametrize("dates", ["", f'since = "{FIRST}"'])
def test_a_row_without_an_end_holds_at_every_later_revision(tmp_path: Path, dates: str) -> None:
    assert three(tmp_path, dates).stops() == []


def test_a_row_holds_since_its_revision_and_not_before(tmp_path: Path) -> None:
    (stop,) = three(tmp_path, f'since = "{SECOND}"').stops()
    assert (stop.where, stop.construct) == (FIRST, "an object without a name")


def test_a_row_that_ends_although_it_would_fit_is_a_stop(tmp_path: Path) -> None:
    stops = three(tmp_path, f'revisions = ["{FIRST}", "{SECOND}"]').stops()
    assert [(stop.where, stop.pointer) for stop in stops] == [(THIRD, "overlay.toml/name/1")]
    assert stops[0].row == NAMED.format(dates=f'revisions = ["{THIRD}"]')


def test_a_row_is_asked_for_at_each_revision_that_it_leaves_out(tmp_path: Path) -> None:
    first, *_ = three(tmp_path, f'revisions = ["{FIRST}"]').stops()
    assert (first.where, first.pointer) == (SECOND, "overlay.toml/name/1")


def test_a_row_that_is_refused_is_not_asked_for(tmp_path: Path) -> None:
    dates = f'revisions = ["{FIRST}", "{SECOND}"]\nrefused = ["{THIRD}"]'
    (stop,) = three(tmp_path, dates).stops()
    assert (stop.where, stop.construct) == (THIRD, "an object without a name")


def test_a_row_with_two_beginnings_is_refused(tmp_path: Path) -> None:
    dates = f'revisions = ["{FIRST}"]\nsince = "{SECOND}"'
    with pytest.raises(CodegenError, match="`revisions` and `since` say the same"):
        three(tmp_path, dates).read()


@pytest.mark.parametrize(
    "dates", ['revisions = ["2030-01-10"]', 'since = "2030-01-10"', 'refused = ["2030-01-10"]']
)
def test_a_row_for_a_revision_that_is_none_is_refused(tmp_path: Path, dates: str) -> None:
    with pytest.raises(CodegenError, match="there is no revision 2030-01-10; there are 2030-01-01"):
        three(tmp_path, dates).read()


# --- facts ---


@pytest.mark.parametrize(
    ("head", "pointer", "pasted"),
    [
        ('spec = "https://a.test/2030-02-02"', "facts.toml revision", f'revision = "{SECOND}"\n'),
        (
            f'revision = "{FIRST}"\nspec = "https://a.test/2030-02-02"',
            "facts.toml revision",
            f'revision = "{SECOND}"\n',
        ),
        (
            f'revision = "{SECOND}"\nspec = "https://a.test/{FIRST}"',
            "facts.toml spec",
            f'spec = "https://modelcontextprotocol.io/specification/{SECOND}"\n',
        ),
        (
            f'revision = "{SECOND}"',
            "facts.toml spec",
            f'spec = "https://modelcontextprotocol.io/specification/{SECOND}"\n',
        ),
    ],
)
def test_facts_that_were_copied_from_another_revision_stop(
    tmp_path: Path, head: str, pointer: str, pasted: str
) -> None:
    checkout(tmp_path, revision=FIRST)
    checkout(tmp_path, revision=SECOND, facts=head)
    (stop,) = Checkout(tmp_path).stops()
    assert (stop.where, stop.pointer, stop.row) == (SECOND, pointer, pasted)


# --- results that the runtime makes ---

WIDE = {"EchoResult": struct(text=STRING, size={"type": "integer"})}


def two(folder: Path, after: dict[str, Any], overlay: str = CAPABILITY) -> Checkout:
    """Return a checkout of two revisions, the second one with these definitions."""
    checkout(folder, overlay=overlay, revision=FIRST)
    return Checkout(checkout(folder, after, overlay=overlay, revision=SECOND))


def test_a_field_that_a_result_needs_from_now_on_stops(tmp_path: Path) -> None:
    (stop,) = two(tmp_path, WIDE).stops()
    assert (stop.where, stop.pointer) == (SECOND, "EchoResult/size")
    assert stop.row.startswith('[[lenient]]\npath = "EchoResult/size"\nvalue = 0\n')


def test_a_field_inside_a_result_stops_too(tmp_path: Path) -> None:
    result = {"EchoResult": struct(box=ref("Box"))}
    checkout(tmp_path, {**result, "Box": struct(text=STRING)}, revision=FIRST)
    after = {**result, "Box": struct(text=STRING, size=STRING)}
    checkout(tmp_path, after, revision=SECOND)
    assert [stop.pointer for stop in Checkout(tmp_path).stops()] == ["Box/size"]


@pytest.mark.parametrize(
    "row",
    [
        '[[lenient]]\npath = "EchoResult/size"\nvalue = 0\nreason = "a test"\n',
        '[[filled]]\npath = "EchoResult/size"\nby = "schema/overlay.toml"\nreason = "a test"\n',
    ],
    ids=["by a default", "by a file"],
)
def test_a_field_that_somebody_fills_does_not_stop(tmp_path: Path, row: str) -> None:
    assert two(tmp_path, WIDE, CAPABILITY + row).stops() == []


def test_a_field_that_no_file_fills_stops(tmp_path: Path) -> None:
    row = '[[filled]]\npath = "EchoResult/size"\nby = "mcp_gen/gone.py"\nreason = "a test"\n'
    (stop,) = two(tmp_path, WIDE, CAPABILITY + row).stops()
    assert stop.construct == "[[filled]] row 1 names mcp_gen/gone.py, which does not exist"


def test_a_field_of_params_is_for_the_caller_to_give(tmp_path: Path) -> None:
    params = {"EchoRequestParams": struct(text=STRING, size=STRING)}
    assert two(tmp_path, params).stops() == []


def test_a_result_of_a_new_request_is_made_by_new_code(tmp_path: Path) -> None:
    bye = {
        "ClientRequest": union("EchoRequest", "ByeRequest"),
        "ByeRequest": struct(method=const("bye"), params=ref("EchoRequestParams")),
        "ByeResult": struct(text=STRING),
    }
    overlay = f'{CAPABILITY}\n[[capability]]\nmethod = "bye"\npath = ""\nreason = "a test"\n'
    assert two(tmp_path, bye, overlay).stops() == []


# --- renames ---


def test_a_type_with_most_of_the_fields_of_one_that_is_gone_may_be_it(tmp_path: Path) -> None:
    before = {"Box": struct(a=STRING, b=STRING, c=STRING)}
    after = {"Chest": struct(a=STRING, b=STRING, d=STRING, c=STRING), "Bag": struct(a=STRING)}
    checkout(tmp_path, before, revision=FIRST)
    checkout(tmp_path, after, revision=SECOND)
    inputs = read_revisions(tmp_path)
    assert list(renames(*inputs.revisions)) == [("Box", "Chest")]


def test_a_type_that_is_gone_and_like_no_other_is_none_renamed(tmp_path: Path) -> None:
    checkout(tmp_path, {"Box": struct(a=STRING, b=STRING)}, revision=FIRST)
    checkout(tmp_path, {"Chest": struct(a=STRING, c=STRING)}, revision=SECOND)
    inputs = read_revisions(tmp_path)
    assert list(renames(*inputs.revisions)) == []


# --- the command ---


def test_a_run_prints_every_stop_with_its_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    two(tmp_path, {**WIDE, "Crate": struct(lid=struct(a=STRING))})
    assert main(["--root", str(tmp_path), "--out", str(tmp_path / "out")]) == 1
    printed = capsys.readouterr().err.splitlines()
    assert [line for line in printed if line.startswith("codegen: ")] == [
        f"codegen: {SECOND}: #/$defs/Crate/properties/lid: an object without a name; "
        "add a [[name]] row",
        f"codegen: {SECOND}: EchoResult/size: a result needs `size` (int) from now on, and the "
        "runtime makes that result; say with a [[lenient]] row what to send if nothing else is "
        "known, or with a [[filled]] row which file fills it",
        "codegen: 2 stops; nothing is written before all are gone",
    ]
    rows = printed[printed.index("rows to paste into schema/overlay.toml, each with its reason:") :]
    assert 'paths = ["Crate/lid"]' in rows
    assert 'path = "EchoResult/size"' in rows


def test_a_run_for_a_revision_that_is_not_generated_yet_tells_what_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    two(tmp_path, {"EchoResult": {**WIDE["EchoResult"], "required": ["text"]}})
    assert main(["--root", str(tmp_path), "--out", str(tmp_path / "generated")]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == f"changes from {FIRST} to {SECOND}: 1 change on the wire"
    assert "to decide: nothing" in printed


def test_a_run_for_revisions_that_are_generated_tells_it_when_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    two(tmp_path, {"EchoResult": {**WIDE["EchoResult"], "required": ["text"]}})
    arguments = ["--root", str(tmp_path), "--out", str(tmp_path / "generated")]
    main(arguments)
    capsys.readouterr()
    main(arguments)
    assert "changes from" not in capsys.readouterr().out
    main([*arguments, "--report"])
    assert "changes from" in capsys.readouterr().out
