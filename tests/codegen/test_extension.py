"""Extension packages: output for a schema and facts, and where the generator stops."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from codegen.__main__ import main
from codegen.errors import CodegenError
from codegen.extensions.read import Extension, read_extension
from codegen.model.overlay import Overlay
from tests.codegen.tiny import const, ref, struct

REPOSITORY = Path(__file__).parents[2]
PARCELS = REPOSITORY / "tests" / "extensions" / "parcels"
TASKS = REPOSITORY / "schema" / "extensions" / "tasks"
PACKAGE = ["__init__.py", "handlers.py", "hooks.py", "methods.py", "requests.py", "types.py"]

Change = Callable[[dict[str, Any]], None]


def refused(tmp_path: Path, change: Change | None = None, facts: tuple[str, str] = ("", "")) -> str:
    """Return the error message for the invented extension with a change."""
    folder = shutil.copytree(PARCELS, tmp_path / "parcels")
    schema = json.loads((folder / "schema.json").read_text())
    if change:
        change(schema["$defs"])
    (folder / "schema.json").write_text(json.dumps(schema))
    text = (folder / "facts.toml").read_text()
    assert facts[0] in text
    (folder / "facts.toml").write_text(text.replace(*facts, 1))
    overlay = Overlay(REPOSITORY / "schema" / "overlay.toml")
    with pytest.raises(CodegenError) as caught:
        read_extension(folder, REPOSITORY, overlay, "parcels/schema.json")
    return str(caught.value)


# --- output ---


@pytest.mark.parametrize("given", [PARCELS, PARCELS / "schema.json"], ids=["folder", "file"])
def test_a_package_is_made_of_a_folder_or_its_schema(tmp_path: Path, given: Path) -> None:
    made = main(["--root", str(REPOSITORY), "--extension", str(given), "--out", str(tmp_path)])
    assert made == 0
    assert sorted(path.name for path in (tmp_path / "parcels").iterdir()) == PACKAGE


def test_a_package_can_be_inside_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "outer_of_parcels" / "wire"
    main(["--root", str(REPOSITORY), "--extension", str(PARCELS), "--out", str(home)])
    monkeypatch.syspath_prepend(tmp_path)
    package = import_module("outer_of_parcels.wire.parcels")
    assert package.EXTENSION.identifier == "org.example/parcels"
    for name in [name for name in sys.modules if name.startswith("outer_of_parcels")]:
        del sys.modules[name]


def test_types_of_the_revision_are_imported_and_not_made_again() -> None:
    from mcp_wire import v2026_07_28
    from mcp_wire.extensions.tasks import types

    assert types.Error is v2026_07_28.Error
    assert types.InputRequests is v2026_07_28.InputRequests


def test_the_tasks_extension_says_what_it_adds() -> None:
    from mcp_wire.extensions.tasks import EXTENSION, CreateTaskResult

    assert dict(EXTENSION.arms) == {"tools/call": (CreateTaskResult,)}
    assert set(EXTENSION.name_params.values()) == {"taskId"}
    assert EXTENSION.names["notifications/tasks"] == "task_status"


def read_here(folder: Path) -> Extension:
    overlay = Overlay(REPOSITORY / "schema" / "overlay.toml")
    return read_extension(folder, REPOSITORY, overlay, "schema.json")


def test_the_param_that_a_header_repeats_is_read_of_the_requests_that_have_one() -> None:
    assert read_here(PARCELS).name_params == {"parcels/track": "parcelId"}


def test_everything_of_an_extension_is_documented() -> None:
    tasks = read_here(TASKS)
    assert tasks.docs
    assert tasks.docs.undocumented([tasks.own]) == []


def test_a_type_whose_page_is_not_known_names_no_page(tmp_path: Path) -> None:
    folder = shutil.copytree(TASKS, tmp_path / "tasks")
    facts = (folder / "facts.toml").read_text()
    assert 'page  = "tasks.md#task-polling"' in facts
    (folder / "facts.toml").write_text(facts.replace('page  = "tasks.md#task-polling"\n', ""))
    overlay = Overlay(REPOSITORY / "schema" / "overlay.toml")
    pages = read_extension(folder, REPOSITORY, overlay, "schema.json").own.pages
    assert (pages["Task"], pages["GetTaskResult"]) == ("tasks.md#tasks", "")


def test_out_must_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--root", str(REPOSITORY), "--extension", str(PARCELS)]) == 1
    assert "--out" in capsys.readouterr().err


def test_a_folder_without_a_schema_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--extension", str(tmp_path), "--out", str(tmp_path)]
    assert main(["--root", str(REPOSITORY), *given]) == 1
    assert "no schema.json" in capsys.readouterr().err


# --- errors ---


def test_a_type_that_the_revision_has_is_not_defined_again(tmp_path: Path) -> None:
    def change(defs: dict[str, Any]) -> None:
        defs["Tool"] = struct(a=const("b"))

    assert "Tool is a name of 2026-07-28 too" in refused(tmp_path, change)


def test_a_reference_to_nothing_stops(tmp_path: Path) -> None:
    def change(defs: dict[str, Any]) -> None:
        defs["Stop"]["properties"]["place"] = ref("Place")

    assert "`#/$defs/Place` leads to nothing" in refused(tmp_path, change)


def test_a_reference_to_another_revision_stops(tmp_path: Path) -> None:
    def change(defs: dict[str, Any]) -> None:
        defs["Stop"]["properties"]["place"] = {"$ref": "2025-11-25/schema.json#/$defs/Icon"}

    assert "is not in the schema of 2026-07-28" in refused(tmp_path, change)


def test_a_result_without_metadata_stops(tmp_path: Path) -> None:
    def change(defs: dict[str, Any]) -> None:
        defs["TrackParcelResult"] = struct(state=ref("ParcelState"))

    assert "TrackParcelResult: expected an object with `_meta`" in refused(tmp_path, change)


def test_an_arm_without_a_tag_stops(tmp_path: Path) -> None:
    facts = ('results = ["ParcelResult"]', 'results = ["Stop"]')
    assert "Stop: expected an object whose `resultType`" in refused(tmp_path, facts=facts)


@pytest.mark.parametrize("tag", ["complete", "input_required"])
def test_an_arm_that_says_it_is_a_result_of_the_protocol_stops(tmp_path: Path, tag: str) -> None:
    def change(defs: dict[str, Any]) -> None:
        defs["ParcelResult"] = json.loads(
            json.dumps(defs["ParcelResult"]).replace('"parcel"', json.dumps(tag))
        )

    said = f"ParcelResult: another result has the `resultType` '{tag}'"
    assert said in refused(tmp_path, change)


@pytest.mark.parametrize("name", ["Agree", "Offers"])
def test_a_request_with_a_name_of_the_class_for_handlers_stops(tmp_path: Path, name: str) -> None:
    def change(defs: dict[str, Any]) -> None:
        renamed = json.loads(json.dumps(defs).replace("TrackParcel", name))
        defs.clear()
        defs.update(renamed)

    assert f"`{name.lower()}` is a name of Handlers" in refused(tmp_path, change)


@pytest.mark.parametrize("name", ["self", "timeout_s", "progress", "types", "methods"])
def test_a_parameter_with_a_name_of_the_calls_stops(tmp_path: Path, name: str) -> None:
    def change(defs: dict[str, Any]) -> None:
        text = json.dumps(defs["TrackParcelRequestParams"])
        more = text.replace('"properties": {', f'"properties": {{"{name}": {{}}, ')
        defs["TrackParcelRequestParams"] = json.loads(more)

    assert f"cannot have the name `{name}`" in refused(tmp_path, change)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("identifier", "identity", "unknown `identity`"),
        ('"2026-07-28"]', '"2031-01-01"]', "there is no revision 2031-01-01"),
        ('"client_to_server"', '"up"', "`direction` is one of"),
        ("server_to_client", "embedded", "`direction` is one of"),
        ('"parcelId"', '"parcel"', "its params have no `parcel`"),
        (
            '[methods."parcels/track"]',
            '[methods."parcels/trace"]',
            "`parcels/track`: who sends it?",
        ),
        (
            "[arms",
            '[methods."a/b"]\ndirection = "both"\nsource = "x"\n[arms',
            "has no such message",
        ),
        ('[methods."parcels/track"]', '[methods."tools/call"]', "is a method of 2025-11-25"),
        ('[arms."tools/call"]', '[arms."tools/make"]', "has no such request"),
        ('[arms."tools/call"]', '[arms."notifications/progress"]', "has no such request"),
        ('["2025-11-25", "2026-07-28"]', '"2026-07-28"', "`revisions` is no list; list the dates"),
        ("name_param", "name_parm", "unknown `name_parm`"),
        ("[listen]", '[listen]\ngranted = "ParcelFilter"', "[listen]: unknown `granted`"),
        ('wanted = "ParcelFilter"', 'wanted = "Filter"', "has no object Filter"),
        ('"ParcelSettings"', '"Settings"', "the schema has no Settings"),
        ('source    = "https://example.org/parcels#moved"', "", "add `source`"),
        ('direction  = "client_to_server"', 'direction = "server_to_client"', "no requests of"),
    ],
)
def test_facts_that_fit_nothing_stop(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert said in refused(tmp_path, facts=(old, new))
