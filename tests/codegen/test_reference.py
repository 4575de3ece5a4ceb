"""Reference pages: complete, linked, and in agreement with the revisions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from codegen.__main__ import main, read
from codegen.emit.reference import reference
from codegen.model import ir
from codegen.model.docs import NO_DOCS, documented_types
from codegen.model.overlay import Overlay
from tests.codegen.tiny import CAPABILITY, REVISION, STRING, checkout, ref, struct, union
from tests.support.checks.failures import failures

REPOSITORY = Path(__file__).parents[2]
REFERENCE = REPOSITORY / "docs" / "reference"
NO_TYPES = {"README", "methods"}
BAR = re.compile(r"(?<!\\)\|")
ALWAYS_THERE = ("refused", "const", "always")


@cache
def published() -> tuple[ir.Revision, ...]:
    overlay = Overlay(REPOSITORY / "schema" / "overlay.toml")
    folders = sorted((REPOSITORY / "schema").glob("*/schema.json"))
    return tuple(read(path.parent, overlay) for path in folders)


def documented() -> set[str]:
    return {name for revision in published() for name in documented_types(revision)}


def tables(text: str) -> list[list[list[str]]]:
    """Return the cells of every table: the head, the rule under it, the rows."""
    found: list[list[list[str]]] = []
    before = ""
    for line in text.splitlines():
        if line.startswith("|"):
            if not before.startswith("|"):
                found.append([])
            found[-1].append([cell.strip() for cell in BAR.split(line)[1:-1]])
        before = line
    return found


def table(text: str, title: str) -> list[dict[str, str]]:
    """Return the rows of the table under a title, keyed by its head."""
    _, found, below = text.partition(f"\n## {title}\n")
    if not found:
        return []
    under = tables(below.partition("\n## ")[0])
    return [dict(zip(under[0][0], row, strict=True)) for row in under[0][2:]] if under else []


def name_in(cell: str) -> str:
    """Return the first text in backticks of a cell."""
    return re.findall(r"`([^`]+)`", cell)[0]


@cache
def page(name: str) -> str:
    return (REFERENCE / f"{name}.md").read_text("utf-8")


def marks(row: dict[str, str]) -> dict[str, str]:
    return {revision.name: row[revision.name] for revision in published()}


EVERY_PAGE = sorted(path.stem for path in REFERENCE.glob("*.md"))
EVERY_TYPE = [name for name in EVERY_PAGE if name not in NO_TYPES]


def test_every_documented_type_has_a_page_and_nothing_else_has() -> None:
    assert set(EVERY_PAGE) == documented() | NO_TYPES


def test_the_folder_has_nothing_but_pages() -> None:
    assert {path.suffix for path in REFERENCE.rglob("*") if path.is_file()} == {".md"}


def broken(target: str) -> bool:
    """Return True if a relative link leads to no page, or to no title of it."""
    file, _, anchor = target.partition("#")
    name = file.removesuffix(".md")
    if not anchor and "/" in file:
        return not (REFERENCE / file).is_file()
    titles = re.findall(r"^## (.+)$", page(name), re.MULTILINE) if name in EVERY_PAGE else []
    return name not in EVERY_PAGE or (
        bool(anchor) and anchor not in {title.lower() for title in titles}
    )


def test_relative_links_lead_to_a_page_and_a_title_there() -> None:
    links = {name: re.findall(r"\]\(([^)]+)\)", page(name)) for name in EVERY_PAGE}
    relative = [
        (name, target)
        for name, targets in links.items()
        for target in targets
        if not target.startswith("https://")
    ]
    assert relative
    assert [(name, target) for name, target in relative if broken(target)] == []


def test_the_rows_of_a_table_are_as_long_as_its_head() -> None:
    widths = {name: [{len(r) for r in rows} for rows in tables(page(name))] for name in EVERY_PAGE}
    wrong = [name for name, found in widths.items() if any(len(width) != 1 for width in found)]
    assert wrong == []


def test_every_page_is_tidy() -> None:
    untidy = {name: found for name in EVERY_PAGE if (found := [*blemishes(page(name))])}
    assert untidy == {}


def blemishes(text: str) -> Iterator[str]:
    """Yield what an editor would tidy in a page."""
    yield from (line for line in text.splitlines() if line != line.rstrip())
    if "\n\n\n" in text:
        yield "two empty lines"
    if text[-2:].count("\n") != 1:
        yield "no end of line at the end, or several"


def test_availability_agrees_with_the_revisions() -> None:
    assert failures(EVERY_TYPE, availability_agrees) == {}


def availability_agrees(name: str) -> None:
    stated = {
        row["Revision"]: row["Kind"].split(",")[0] for row in table(page(name), "Availability")
    }
    unions = ("tag", "pick", "typing")
    assert stated == {
        one.name: "struct"
        if name in one.structs
        else "absent"
        if name not in one.aliases
        else "union"
        if one.aliases[name].strategy in unions
        else "alias"
        for one in published()
    }


def test_the_fields_agree_with_the_revisions() -> None:
    assert failures(EVERY_TYPE, fields_agree) == {}


def fields_agree(name: str) -> None:
    stated = {name_in(row["Wire name"]): marks(row) for row in table(page(name), "Fields")}
    expected: dict[str, dict[str, str]] = {}
    for revision in published():
        struct_ = revision.structs.get(name)
        for field in struct_.fields if struct_ else ():
            mark = "required" if field.absent in ALWAYS_THERE else "optional"
            expected.setdefault(field.wire, {})[revision.name] = mark
        if struct_ and struct_.tag:
            expected.setdefault(struct_.tag.wire, {})[revision.name] = "required"
    assert stated == {
        wire: {one.name: found.get(one.name, "-") for one in published()}
        for wire, found in expected.items()
    }


def test_the_arms_agree_with_the_revisions() -> None:
    assert failures(EVERY_TYPE, arms_agree) == {}


def arms_agree(name: str) -> None:
    stated = {
        (revision, name_in(row["Arm"]))
        for row in table(page(name), "Arms")
        for revision, mark in marks(row).items()
        if mark == "yes"
    }
    assert stated == {
        (revision.name, arm)
        for revision in published()
        if name in revision.aliases and revision.aliases[name].strategy in ("tag", "pick", "typing")
        for arm in ir.arm_names(revision.aliases[name].type)
    }


@pytest.mark.parametrize("kind", ["request", "notification"])
def test_the_methods_agree_with_the_revisions(kind: str) -> None:
    stated = {
        (revision, name_in(row["Method"]))
        for row in table(page("methods"), f"{kind.title()}s")
        for revision, mark in marks(row).items()
        if mark != "-"
    }
    assert stated == {
        (revision.name, method.wire)
        for revision in published()
        for method in revision.methods
        if method.kind == kind
    }


def test_the_index_names_every_type_once() -> None:
    rows = [row[0] for found in tables(page("README")) for row in found[2:]]
    assert sorted(map(name_in, rows)) == EVERY_TYPE


def test_the_index_names_what_has_no_page() -> None:
    _, _, below = page("README").partition("\n## Without a page\n")
    there = {name for one in published() for name in (*one.structs, *one.aliases)}
    assert set(re.findall(r"`(\w+)`", below)) == there - documented()


# --- single pages ---


def test_a_tool_has_icons_from_2025_11_25() -> None:
    (row,) = (row for row in table(page("Tool"), "Fields") if row["Wire name"] == "`icons`")
    assert list(marks(row).values()) == ["-", "-", "-", "optional", "optional"]


def test_a_field_that_is_assumed_when_absent_says_so() -> None:
    (row,) = (r for r in table(page("ListToolsResult"), "Fields") if r["Wire name"] == "`ttlMs`")
    assert row["Meaning"].endswith("Absent is read as `0`.")


def test_the_arms_of_contents_say_which_key_tells_them_apart() -> None:
    rows = table(page("AnyResourceContents"), "Arms")
    assert [row["Told apart by"] for row in rows] == ["`text` is there", "`blob` is there"]


def test_the_arms_of_content_say_which_tag_tells_them_apart() -> None:
    rows = table(page("ContentBlock"), "Arms")
    assert rows[0]["Told apart by"] == '`type` is `"text"`'


def test_a_deprecated_type_says_what_to_do_and_since_when() -> None:
    line = "**Deprecated** (2026-07-28): Call a model provider's API from the server."
    assert line in page("SamplingMessage").splitlines()


def test_a_bar_in_a_table_is_escaped() -> None:
    (row,) = table(page("RequestId"), "Definition")
    assert row["Definition"] == "`str` \\| `int`"


# --- the stage ---


def regenerate(root: Path, *more: str) -> int:
    return main(["--root", str(root), *more])


def pages(root: Path) -> dict[str, bytes]:
    folder = root / "docs" / "reference"
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_a_type_that_is_gone_loses_its_page(tmp_path: Path) -> None:
    regenerate(checkout(tmp_path, {"Cursor": STRING}))
    before = pages(tmp_path)
    regenerate(checkout(tmp_path))
    assert before.keys() - pages(tmp_path).keys() == {"Cursor.md"}


def test_check_shows_a_changed_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    regenerate(checkout(tmp_path))
    changed = tmp_path / "docs" / "reference" / "EchoResult.md"
    changed.write_text(changed.read_text().replace("# EchoResult", "# Echo"))
    capsys.readouterr()
    code = regenerate(tmp_path, "--check")
    said = capsys.readouterr()
    assert (code, "+# EchoResult\n" in said.out, said.err.splitlines()[-1]) == (
        1,
        True,
        "docs/reference/ is out of date: run `nox -s regen`",
    )


def test_a_union_that_is_new_has_a_page_with_its_arms(tmp_path: Path) -> None:
    picked = """
    [[pick]]
    name = "Shape"
    arms = [{ type = "Circle", when = ["r", "kind=round"] }, { type = "Square", when = [] }]
    reason = "a test"
    """
    (tmp_path / "tiny").mkdir()
    capability = (checkout(tmp_path / "tiny") / "schema" / "overlay.toml").read_text()
    shapes = {
        "Circle": struct(r=STRING, kind=STRING),
        "Square": struct(side=ref("Shape")),
        "Shape": union("Circle", "Square"),
    }
    regenerate(checkout(tmp_path, shapes, overlay=capability + picked))
    text = (tmp_path / "docs" / "reference" / "Shape.md").read_text()
    assert [list(row.values()) for row in table(text, "Arms")] == [
        ["[`Circle`](Circle.md)", '`r` is there and `kind` is `"round"`', "yes"],
        ["[`Square`](Square.md)", "otherwise", "yes"],
    ]


def test_a_type_that_keeps_other_keys_says_so_and_no_other_does(tmp_path: Path) -> None:
    row = '[[extra]]\nnames = ["Box"]\nreason = "a test"\n'
    schemas = checkout(tmp_path, {"Box": struct(a=STRING)}, overlay=CAPABILITY + row) / "schema"
    overlay = Overlay(schemas / "overlay.toml")
    made = reference([read(schemas / REVISION, overlay)], overlay, NO_DOCS)
    line = "Other keys are kept: `extra` has them, and `with_extra` adds them."
    assert [path.stem for path in sorted(made) if line in made[path].splitlines()] == ["Box"]
