"""Generating a draft schema beside the published ones: output, messages and required decisions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from codegen.__main__ import main
from tests.codegen.test_regen import GENERATED, REPOSITORY, contents
from tests.codegen.tiny import const, ref, struct

NEWEST = "2026-07-28"
NAME = "2027-01-31"

STRING = {"type": "string"}
EMPTY_OVERLAY = ""


def invented() -> dict[str, Any]:
    """Return the newest kept schema with a method, content kind and required field more."""
    schema: dict[str, Any] = json.loads(
        (REPOSITORY / "schema" / NEWEST / "schema.json").read_text("utf-8")
    )
    there = schema["$defs"]
    call = there["CallToolRequest"]
    there["RateToolRequest"] = {
        **call,
        "properties": {
            **call["properties"],
            "method": const("tools/rate"),
            "params": ref("RateToolRequestParams"),
        },
        "description": "Prose, as a published file has it.",
    }
    there["RateToolRequestParams"] = struct(
        name=STRING, stars=STRING, _meta=ref("RequestMetaObject")
    )
    there["RateToolResult"] = there["CompleteResult"] | {
        "properties": {**there["CompleteResult"]["properties"], "average": {"type": "number"}}
    }
    del there["RateToolResult"]["properties"]["completion"]
    there["RateToolResult"]["required"] = ["resultType", "average"]
    there["ClientRequest"]["anyOf"].append(ref("RateToolRequest"))
    there["VideoContent"] = struct(type=const("video"), data=STRING, mimeType=STRING)
    there["ContentBlock"]["anyOf"].append(ref("VideoContent"))
    there["Tool"]["properties"]["version"] = STRING
    there["Tool"]["required"].append("version")
    del there["ToolAnnotations"]
    del there["Tool"]["properties"]["annotations"]
    return schema


@dataclass(frozen=True)
class Ran:
    """One run of the command: its output folder and its output."""

    out: Path
    said: str
    complained: str
    code: int

    @property
    def asked(self) -> list[str]:
        lines = self.said.partition("to decide: ")[2].splitlines()[1:]
        return [line.removeprefix("  - ") for line in lines]


@pytest.fixture
def draft(tmp_path: Path, newest_two: Path) -> Callable[..., Ran]:
    return partial(run_draft, tmp_path, root=newest_two)


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Return the invented revision beside all published ones, with its schema alone."""
    return run_draft(tmp_path_factory.mktemp("usual"))


@pytest.fixture(scope="module")
def newest_two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a checkout of two published revisions: a draft is compared with the newest alone."""
    schema = tmp_path_factory.mktemp("newest_two") / "schema"
    for revision in ("2025-11-25", NEWEST):
        shutil.copytree(REPOSITORY / "schema" / revision, schema / revision)
    for name in ("overlay.toml", "docs.toml"):
        shutil.copy(REPOSITORY / "schema" / name, schema)
    return schema.parent


@pytest.fixture(scope="module")
def with_a_rated_tool(tmp_path_factory: pytest.TempPathFactory, newest_two: Path) -> Ran:
    """Return the invented revision, with the row that one of its questions asks for."""
    folder = tmp_path_factory.mktemp("with_a_rated_tool")
    return run_draft(folder, overlay=rate(path="tools"), root=newest_two)


@pytest.fixture(scope="module")
def of_an_extension(tmp_path_factory: pytest.TempPathFactory, newest_two: Path) -> Ran:
    """Return the draft of a schema that opens no connection."""
    folder = tmp_path_factory.mktemp("of_an_extension")
    return run_draft(folder, extension(), name="ext", root=newest_two)


def run_draft(
    folder: Path,
    schema: dict[str, Any] | None = None,
    *more: str,
    overlay: str = EMPTY_OVERLAY,
    name: str = NAME,
    root: Path = REPOSITORY,
) -> Ran:
    (folder / "schema.json").write_text(json.dumps(schema or invented()))
    (folder / "overlay.toml").write_text(overlay)
    out = folder / "out"
    arguments = ["--schema", str(folder / "schema.json"), "--revision", name, "--out", str(out)]
    also = ["--overlay", str(folder / "overlay.toml")] if overlay else []
    with redirect_stdout(StringIO()) as said, redirect_stderr(StringIO()) as complained:
        code = main([*arguments, *also, "--root", str(root), *more])
    return Ran(out, said.getvalue(), complained.getvalue(), code)


def python(out: Path, program: str) -> str:
    """Return the output of a program that imports the package below `out`."""
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(out), str(REPOSITORY)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


def rate(**values: str) -> str:
    rows = "".join(f'{key} = "{value}"\n' for key, value in values.items())
    return f'[[capability]]\nmethod = "tools/rate"\n{rows}reason = "a test"\n'


# --- output ---


def test_a_draft_is_a_module_beside_the_published_ones(usual: Ran) -> None:
    program = (
        "from mcp_wire import v2025_11_25, v2027_01_31 as new, encode\n"
        'print(encode(new.VideoContent(data="", mime_type="video/mp4")).decode())'
    )
    assert python(usual.out, program) == '{"type":"video","data":"","mimeType":"video/mp4"}'


def test_the_published_modules_are_the_same_bytes(usual: Ran) -> None:
    made = contents(usual.out / "mcp_wire")
    old = {path: text for path, text in contents(GENERATED).items() if path.startswith("v20")}
    assert {path: text for path, text in made.items() if path in old} == old


def test_a_draft_is_the_newest_revision(usual: Ran) -> None:
    program = "import mcp_wire; print(mcp_wire.LATEST, mcp_wire.REVISIONS[-2])"
    assert python(usual.out, program) == f"{NAME} {NEWEST}"


def test_a_client_and_a_server_speak_a_draft(usual: Ran) -> None:
    program = (
        "import asyncio, mcp_gen\n"
        "async def main():\n"
        "    server = mcp_gen.Server('s')\n"
        "    async with mcp_gen.Client('c') as client:\n"
        "        session = await client.connect(server)\n"
        "        print(session.revision)\n"
        "asyncio.run(main())\n"
    )
    assert python(usual.out, program) == NAME


def test_a_draft_may_be_called_by_a_word(draft: Callable[..., Ran]) -> None:
    out = draft(name="draft").out
    assert python(out, "from mcp_wire.vdraft import PROFILE; print(PROFILE.revision)") == "draft"


def test_a_draft_has_the_hooks_of_its_new_method(usual: Ran) -> None:
    program = (
        "from mcp_wire.hooks import ServerHooks; print(hasattr(ServerHooks(), 'before_rate_tool'))"
    )
    assert python(usual.out, program) == "True"


def test_the_types_of_a_draft_without_facts_stand_in_one_section_before_the_messages(
    usual: Ran,
) -> None:
    lines = (usual.out / "mcp_wire" / "v2027_01_31" / "types.py").read_text().splitlines()
    rules = [line for line in lines if line.startswith("# --- ")]
    assert rules[-3:] == ["# --- Other ---", "# --- Whole messages ---", "# --- Unions ---"]


def test_a_draft_without_facts_has_those_of_the_newest_revision(usual: Ran) -> None:
    program = f"import mcp_wire; print(mcp_wire.profile({NAME!r}).method_header)"
    assert python(usual.out, program) == "Mcp-Method"


def test_a_draft_with_facts_has_those(draft: Callable[..., Ran], tmp_path: Path) -> None:
    facts = (REPOSITORY / "schema" / NEWEST / "facts.toml").read_text("utf-8")
    file = tmp_path / "facts.toml"
    file.write_text(changed_facts(facts))
    out = draft(None, "--facts", str(file)).out
    program = f"import mcp_wire; print(mcp_wire.profile({NAME!r}).method_header)"
    assert python(out, program) == "Mcp-Way"


def changed_facts(facts: str) -> str:
    """Return the facts of the newest revision, changed to fit the invented one."""
    lines = facts.replace('"Mcp-Method"', '"Mcp-Way"').splitlines(keepends=True)
    kept = "".join(line for line in lines if not line.startswith("ToolAnnotations ="))
    tool = '"inputSchema", "outputSchema", "annotations", "_meta",\n]'
    kept = kept.replace(tool, tool.replace('"annotations", ', ""))
    return kept.replace('"ToolAnnotations", ', "").replace('"ToolAnnotations",', "")


def test_an_older_draft_below_the_folder_is_gone(draft: Callable[..., Ran]) -> None:
    out = draft(name="older").out
    draft(name="newer")
    drafts = {path.name for path in (out / "mcp_wire").iterdir() if path.name.endswith("er")}
    assert drafts == {"vnewer"}


def test_a_schema_that_opens_no_connection_is_a_module_and_no_revision(
    of_an_extension: Ran,
) -> None:
    program = (
        "import mcp_wire; from mcp_wire.vext import RateToolRequestParams\n"
        "print(mcp_wire.LATEST, 'ext' in mcp_wire.REVISIONS)"
    )
    said = of_an_extension.said.splitlines()[1]
    assert (python(of_an_extension.out, program), said) == (
        f"{NEWEST} False",
        "package: mcp_wire.vext (not in REVISIONS: no method of it has a "
        "[[role]] that opens a connection)",
    )


def extension() -> dict[str, Any]:
    """Return one request with its params and result, without a union for its sender."""
    return {
        "$defs": {
            "RateToolRequest": struct(
                method=const("tools/rate"), params=ref("RateToolRequestParams")
            ),
            "RateToolRequestParams": struct(name=STRING),
            "RateToolResult": struct(average=STRING),
        }
    }


# --- what is said ---


def test_it_is_said_where_the_facts_are_from(usual: Ran) -> None:
    assert f"\nfacts: inherited from {NEWEST}; give --facts FILE for its own\n" in usual.said


@pytest.mark.parametrize(
    "line",
    [
        "    method added             tools/rate: client_to_server",
        "    required field added     Tool.version: str",
        "    type removed             ToolAnnotations",
        "    widened                  ContentBlock: + VideoContent",
        "    optional field removed   Tool.annotations: ToolAnnotations?",
    ],
)
def test_a_change_since_the_newest_revision_is_said(usual: Ran, line: str) -> None:
    assert line in usual.said.splitlines()


def test_no_change_is_said_where_there_is_none(draft: Callable[..., Ran]) -> None:
    same = json.loads((REPOSITORY / "schema" / NEWEST / "schema.json").read_text("utf-8"))
    said = draft(same).said
    assert f"changes from {NEWEST} to {NAME}: none\n\nto decide: nothing\n" in said


# --- input requests ---


@pytest.mark.parametrize(
    "question",
    [
        "`tools/rate`: no capability row; add [[capability]] to the overlay, "
        'path = "" if nothing must be declared',
        "`tools/rate` is a new request (client_to_server) without a [[role]]: "
        "what does the runtime do with it?",
        "ContentBlock has a new kind of content, VideoContent: what do older revisions get "
        "instead?",
        "Tool.version (str) must be there: who fills it, and what stands there for a value of an "
        "older revision?",
    ],
)
def test_what_the_runtime_must_decide_is_asked(usual: Ran, question: str) -> None:
    assert question in usual.asked


def test_an_answered_question_is_not_asked_again(with_a_rated_tool: Ran) -> None:
    assert [one for one in with_a_rated_tool.asked if "no capability row" in one] == []


def test_a_row_that_is_given_is_in_the_method_table(with_a_rated_tool: Ran) -> None:
    program = "from mcp_wire.v2027_01_31.methods import TOOLS_RATE; print(TOOLS_RATE.capability)"
    assert python(with_a_rated_tool.out, program) == "tools"


def test_a_row_that_matches_nothing_is_told(draft: Callable[..., Ran]) -> None:
    overlay = rate(path="tools").replace("tools/rate", "tools/rte")
    assert (
        "overlay.toml: [[capability]] row 1: the row matched nothing"
        in draft(overlay=overlay).asked
    )


def test_a_row_that_is_given_goes_before_that_of_the_project(draft: Callable[..., Ran]) -> None:
    overlay = rate(path="prompts").replace("tools/rate", "tools/list")
    program = "from mcp_wire.v2027_01_31.methods import TOOLS_LIST; print(TOOLS_LIST.capability)"
    assert python(draft(overlay=overlay).out, program) == "prompts"


def test_a_patch_that_a_draft_has_no_use_for_is_told(draft: Callable[..., Ran]) -> None:
    schema = invented()
    schema["$defs"]["JSONValue"] = {}
    told = [one for one in draft(schema).asked if "does not fit" in one]
    assert told == [
        "overlay.toml: [[patch]] row 3 does not fit: the JSON lost null and non-integer numbers; "
        "any JSON value is meant"
    ]


def test_a_union_that_was_a_copy_and_is_no_more_is_taken_as_it_is(
    draft: Callable[..., Ran],
) -> None:
    schema = invented()
    there = schema["$defs"]
    there["ClientNotification"] = {
        "anyOf": [ref("CancelledNotification"), ref("ProgressNotification")]
    }
    program = f"import mcp_wire; print(mcp_wire.changes.shapes('ClientNotification')[{NAME!r}])"
    shape = python(draft(schema).out, f"import mcp_wire.changes; {program}")
    assert shape == "CancelledNotification | ProgressNotification"


def test_who_sends_a_method_is_asked_where_no_union_says(of_an_extension: Ran) -> None:
    assert of_an_extension.asked[0] == (
        "`tools/rate`: no union says who sends it, so both sides may; add it to one"
    )


def test_a_new_answer_to_a_method_is_asked_about(draft: Callable[..., Ran]) -> None:
    schema = invented()
    there = schema["$defs"]
    there["CompleteResultResponse"]["properties"]["result"] = {
        "anyOf": [ref("InputRequiredResult"), ref("CompleteResult")]
    }
    name = '[[name]]\npaths = ["CompleteResultResponse/result"]\nname = "AnyCompleteResult"\n'
    asked = draft(schema, overlay=f'{name}reason = "a test"\n').asked
    assert (
        "`completion/complete` may be answered with InputRequiredResult: "
        "what does the caller do with it?"
    ) in asked


def test_a_part_of_the_runtime_whose_method_is_gone_is_asked_for(draft: Callable[..., Ran]) -> None:
    schema = invented()
    there = schema["$defs"]
    del there["ProgressNotification"]
    there["ServerNotification"]["anyOf"].remove(ref("ProgressNotification"))
    question = "role `progress`: its method `notifications/progress` is gone; which has it now?"
    assert question in draft(schema).asked


def test_a_name_that_is_gone_is_looked_for_in_handwritten_code(
    draft: Callable[..., Ran], tmp_path: Path, newest_two: Path
) -> None:
    root = shutil.copytree(newest_two, tmp_path / "checkout")
    (root / "mcp_gen").mkdir()
    (root / "mcp_gen" / "tools.py").write_text(
        "from mcp_wire.latest import (\n    Tool,\n    ToolAnnotations,\n)\n\n"
        "EMPTY = ToolAnnotations()\n"
    )
    assert draft(root=root).asked[-1] == (
        "ToolAnnotations is gone, and handwritten code names it: "
        "mcp_gen/tools.py:3, mcp_gen/tools.py:6"
    )


def test_a_name_that_is_gone_is_looked_for_in_strings_too(
    draft: Callable[..., Ran], tmp_path: Path, newest_two: Path
) -> None:
    root = shutil.copytree(newest_two, tmp_path / "checkout")
    (root / "mcp_gen").mkdir()
    (root / "mcp_gen" / "rules.py").write_text('RULES = {"ToolAnnotations": None}\n')
    assert draft(root=root).asked[-1] == (
        "ToolAnnotations is gone, and handwritten code names it: mcp_gen/rules.py:1"
    )


def test_what_an_extension_does_not_repeat_is_not_gone(of_an_extension: Ran) -> None:
    assert " removed " not in of_an_extension.said


# --- errors ---


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        (NEWEST, f"{NEWEST} is under schema/ already; give --revision another name"),
        ("2026_07_28", f"{NEWEST} is under schema/ already; give --revision another name"),
        ("a/b", "'a/b' cannot name a module; give --revision a date or a word"),
        ("", "--schema needs --revision NAME and --out DIR, and no REV or --check"),
    ],
)
def test_a_name_that_will_not_do_stops(draft: Callable[..., Ran], name: str, problem: str) -> None:
    ran = draft(name=name)
    assert (ran.code, ran.complained) == (1, f"codegen: {problem}\n")


def test_a_draft_that_stops_writes_nothing(draft: Callable[..., Ran]) -> None:
    assert not draft(name=NEWEST).out.exists()


def test_an_object_without_a_name_stops_in_a_draft_too(draft: Callable[..., Ran]) -> None:
    schema = invented()
    schema["$defs"]["Box"] = struct(lid=struct(color=STRING))
    first, *rows = draft(schema).complained.splitlines()
    assert first == (
        f"codegen: {NAME}: #/$defs/Box/properties/lid: an object without a name; add a [[name]] row"
    )
    assert f'revisions = ["{NAME}"]' in rows


def test_a_schema_that_is_not_there_stops(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = tmp_path / "gone.json"
    code = main(["--schema", str(gone), "--revision", "x", "--out", str(tmp_path / "out")])
    assert (code, capsys.readouterr().err.count("\n")) == (1, 1)


@pytest.mark.parametrize("option", ["--revision", "--facts", "--overlay"])
def test_what_belongs_to_a_schema_stops_without_one(
    capsys: pytest.CaptureFixture[str], option: str
) -> None:
    code = main([option, "x", "--check"])
    assert (code, capsys.readouterr().err) == (
        1,
        "codegen: --revision, --facts and --overlay describe a --schema FILE; add it\n",
    )
