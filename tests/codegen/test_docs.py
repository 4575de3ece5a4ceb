"""Documentation of the wire types: complete, applicable, and more than the names."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from codegen.__main__ import generate, read
from codegen.errors import CodegenError
from codegen.model.docs import Docs
from codegen.model.ir import Revision
from codegen.model.overlay import Overlay
from codegen.model.text import MAX_CHARACTERS
from tests.codegen.tiny import CAPABILITY, STRING, checkout, const, struct, union

SCHEMA = Path(__file__).parents[2] / "schema"

ECHO = 'EchoRequestParams = "What to say back."\nEchoResult = "What was said."\n'
REST = 'ServerCapabilities = "What the server offers."\n'
FIELDS = '"*.text" = "The words."\n"ServerCapabilities.echo" = "Present if it answers."\n'


@cache
def published() -> tuple[Revision, ...]:
    """Return the five revisions as the generator reads them."""
    overlay = Overlay(SCHEMA / "overlay.toml")
    return tuple(read(path.parent, overlay) for path in sorted(SCHEMA.glob("*/schema.json")))


def ask_for_everything(docs: Docs, revisions: tuple[Revision, ...]) -> None:
    for revision in revisions:
        for name in (*revision.structs, *revision.aliases):
            docs.type(name)
        for each in revision.structs.values():
            for field in each.fields:
                docs.field(each.name, field.wire)


def written(folder: Path, text: str) -> Path:
    path = folder / "docs.toml"
    path.write_text(text)
    return path


def refused(folder: Path, text: str) -> str:
    """Return the error message for a file."""
    with pytest.raises(CodegenError) as caught:
        Docs.load(written(folder, text))
    return str(caught.value)


def refused_row(folder: Path, name: str, text: str) -> str:
    return refused(folder, f"[fields]\n'{name}' = '{text}'\n")


def tiny(folder: Path, **definitions: object) -> tuple[Revision, ...]:
    """Return the schema with one request, with these definitions added."""
    root = checkout(folder, definitions)
    return (read(root / "schema" / "2030-01-01", Overlay(root / "schema" / "overlay.toml")),)


# --- the file that is published ---


def test_nothing_that_should_be_documented_is_missing() -> None:
    assert Docs.load(SCHEMA / "docs.toml").undocumented(published()) == []


def test_every_row_belongs_to_a_type_or_field_of_some_date() -> None:
    docs = Docs.load(SCHEMA / "docs.toml")
    ask_for_everything(docs, published())
    assert list(docs.unused()) == []


def test_all_five_dates_are_looked_at() -> None:
    assert len(published()) == 5


# --- texts of rows ---


def test_a_type_has_the_text_of_its_row(tmp_path: Path) -> None:
    docs = Docs.load(written(tmp_path, '[types]\nTool = "A function."\n'))
    assert docs.type("Tool") == "A function."


def test_a_field_has_the_text_of_its_row(tmp_path: Path) -> None:
    docs = Docs.load(written(tmp_path, '[fields]\n"Tool.name" = "What a call uses."\n'))
    assert docs.field("Tool", "name") == "What a call uses."


def test_a_field_whose_wire_name_has_dots_has_the_text_of_its_row(tmp_path: Path) -> None:
    docs = Docs.load(written(tmp_path, '[fields]\n"Meta.io.x/level" = "How much to log."\n'))
    assert docs.field("Meta", "io.x/level") == "How much to log."


def test_a_shared_row_serves_every_type(tmp_path: Path) -> None:
    docs = Docs.load(written(tmp_path, '[fields]\n"*.icons" = "Pictures."\n'))
    assert docs.field("Tool", "icons") == docs.field("Prompt", "icons") == "Pictures."


def test_a_row_with_the_type_goes_before_the_shared_one(tmp_path: Path) -> None:
    rows = '[fields]\n"*.icons" = "Pictures."\n"Tool.icons" = "Small pictures."\n'
    assert Docs.load(written(tmp_path, rows)).field("Tool", "icons") == "Small pictures."


def test_what_has_no_row_has_an_empty_text(tmp_path: Path) -> None:
    docs = Docs.load(written(tmp_path, ""))
    assert (docs.type("Tool"), docs.field("Tool", "name")) == ("", "")


# --- unused rows ---


def test_a_type_that_no_revision_has_stops(tmp_path: Path) -> None:
    docs = Docs.load(written(tmp_path, '[types]\nNobody = "What is not there."\n'))
    ask_for_everything(docs, published())
    assert [*map(str, docs.unused())] == [
        "docs.toml: [types] Nobody: it matched nothing in any revision; remove it"
    ]


def test_a_field_that_no_revision_has_stops(tmp_path: Path) -> None:
    docs = Docs.load(written(tmp_path, '[fields]\n"Tool.price" = "What a call costs."\n'))
    ask_for_everything(docs, published())
    assert [stop.pointer for stop in docs.unused()] == ["[fields] Tool.price"]


def test_a_shared_row_that_every_type_overrides_stops(tmp_path: Path) -> None:
    rows = '[fields]\n"*.blob" = "Bytes."\n"BlobResourceContents.blob" = "The bytes."\n'
    docs = Docs.load(written(tmp_path, rows))
    ask_for_everything(docs, published())
    assert [stop.pointer for stop in docs.unused()] == ["[fields] *.blob"]


# --- undocumented types ---


def test_types_and_fields_without_a_row_are_listed(tmp_path: Path) -> None:
    docs = Docs.load(written(tmp_path, f"[types]\n{REST}"))
    assert docs.undocumented(tiny(tmp_path)) == [
        "EchoRequestParams",
        "EchoRequestParams.text",
        "EchoResult",
        "EchoResult.text",
        "ServerCapabilities.echo",
    ]


def test_a_shared_row_documents_the_field_of_every_type(tmp_path: Path) -> None:
    docs = Docs.load(written(tmp_path, f"[types]\n{ECHO}{REST}[fields]\n{FIELDS}"))
    assert docs.undocumented(tiny(tmp_path)) == []


def test_a_new_alias_is_listed(tmp_path: Path) -> None:
    docs = Docs.load(written(tmp_path, f"[types]\n{ECHO}{REST}[fields]\n{FIELDS}"))
    assert docs.undocumented(tiny(tmp_path, Cursor=STRING)) == ["Cursor"]


@pytest.mark.parametrize("name", ["JSONRPCRequest", "OtherResultResponse", "ClientResult"])
def test_frames_and_unions_of_messages_need_no_row(tmp_path: Path, name: str) -> None:
    docs = Docs.load(written(tmp_path, f"[types]\n{ECHO}{REST}[fields]\n{FIELDS}"))
    assert docs.undocumented(tiny(tmp_path, **{name: struct(a=STRING)})) == []


def test_messages_and_their_bases_need_no_row(tmp_path: Path) -> None:
    docs = Docs.load(written(tmp_path, f"[types]\n{ECHO}{REST}[fields]\n{FIELDS}"))
    assert docs.undocumented(tiny(tmp_path, Request=struct(method=STRING, a=STRING))) == []


def test_the_id_of_a_frame_needs_no_row_but_that_of_content_does(tmp_path: Path) -> None:
    docs = Docs.load(written(tmp_path, f"[types]\n{ECHO}{REST}[fields]\n{FIELDS}"))
    revisions = tiny(
        tmp_path,
        Broken=struct(jsonrpc=const("2.0"), id=STRING, error=STRING),
        ToolUse=struct(id=STRING),
    )
    assert docs.undocumented(revisions) == ["Broken", "Broken.error", "ToolUse", "ToolUse.id"]


# --- tags ---

DOCUMENTED = '\n[[documented]]\nnames = ["tags"]\nreason = "a test"\n'


def tagged(folder: Path, value: str, *, overlay: str) -> str:
    """Return the wire types of the tiny schema with a union of two constants, one of them this."""
    one, other = struct(kind=const(value)), struct(kind=const("other"))
    definitions = {"One": one, "Other": other, "Either": union("One", "Other")}
    files = generate(checkout(folder, definitions, overlay=overlay)).package
    return files[Path("v2030_01_01", "types.py")]


def test_a_tag_has_a_line_where_a_row_says_so(tmp_path: Path) -> None:
    types = tagged(tmp_path, "one", overlay=CAPABILITY + DOCUMENTED)
    assert '    """Always `one` on the wire; the class sets it."""\n' in types


def test_a_tag_has_no_line_without_the_row(tmp_path: Path) -> None:
    assert "the class sets it" not in tagged(tmp_path, "one", overlay=CAPABILITY)


@pytest.mark.parametrize("value", ['"""', "back\\slash", "two\nlines", "x" * 80, "\u202e"])
def test_a_tag_that_is_no_plain_word_is_not_repeated(tmp_path: Path, value: str) -> None:
    types = tagged(tmp_path, value, overlay=CAPABILITY + DOCUMENTED)
    ast.parse(types)
    assert '    """A constant on the wire; the class sets it."""\n' in types


# --- invalid rows ---


def test_a_row_may_be_as_long_as_a_docstring_line(tmp_path: Path) -> None:
    Docs("docs.toml", {"Tool": "x" * (MAX_CHARACTERS - 1) + "."}, {})
    line = f'    """{"x" * MAX_CHARACTERS}"""'
    assert len(line) == 100


def test_a_longer_row_stops(tmp_path: Path) -> None:
    assert refused_row(tmp_path, "Tool.name", "x" * MAX_CHARACTERS + ".") == (
        "docs.toml: [fields] Tool.name: 91 characters; make it 90 at most"
    )


@pytest.mark.parametrize("text", ["What a call uses", "What a call uses...", "What a call uses?"])
def test_a_row_without_one_full_stop_at_its_end_stops(tmp_path: Path, text: str) -> None:
    assert refused_row(tmp_path, "Tool.name", text) == (
        "docs.toml: [fields] Tool.name: end it with one full stop"
    )


@pytest.mark.parametrize("text", ["A <b>call</b>.", "See {@link Tool}.", 'The "call".', "A \\d."])
def test_markup_stops(tmp_path: Path, text: str) -> None:
    assert refused_row(tmp_path, "Tool.name", text).startswith(
        "docs.toml: [fields] Tool.name: one line of plain text"
    )


def test_a_second_line_stops(tmp_path: Path) -> None:
    message = refused(tmp_path, '[types]\nTool = "A function.\\nOf the server."\n')
    assert message.startswith("docs.toml: [types] Tool: one line of plain text")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Tool.name", "The name."),
        ("Tool.name", "The name of the tool."),
        ("Tool.name", "Names of the tools."),
        ("ResourceTemplate.uriTemplate", "A URI template."),
        ("ListToolsResult.tools", "The list of tools in the result."),
        ("*.nextCursor", "The next cursor."),
        ("Tool.name", "."),
    ],
)
def test_a_row_that_only_repeats_the_name_stops(tmp_path: Path, name: str, text: str) -> None:
    assert refused_row(tmp_path, name, text) == (
        f"docs.toml: [fields] {name}: it only repeats the name; say what the name does not"
    )


def test_a_type_that_only_repeats_its_name_stops(tmp_path: Path) -> None:
    message = refused(tmp_path, '[types]\nListToolsResult = "The result of a list of tools."\n')
    assert message.endswith("it only repeats the name; say what the name does not")


@pytest.mark.parametrize("name", ["name", "Tool.", ".name", "Tool.input schema", "*"])
def test_a_row_that_names_no_field_stops(tmp_path: Path, name: str) -> None:
    assert refused_row(tmp_path, name, "What a call uses.") == (
        f"docs.toml: [fields] {name}: expected `Type.field` or `*.field`"
    )


def test_a_table_that_is_unknown_stops(tmp_path: Path) -> None:
    assert refused(tmp_path, "[methods]\n") == (
        "docs.toml: unknown table [methods]; known: types, fields"
    )


def test_a_table_that_is_none_stops(tmp_path: Path) -> None:
    assert refused(tmp_path, 'types = "Tool"\n') == ("docs.toml: `types` must be a table of rows")


def test_a_field_whose_name_is_not_quoted_stops(tmp_path: Path) -> None:
    assert refused(tmp_path, '[fields]\nTool.name = "What a call uses."\n') == (
        "docs.toml: [fields] Tool: expected a text in quotes; quote the name too if it has a dot"
    )


def test_a_file_that_is_not_there_stops(tmp_path: Path) -> None:
    with pytest.raises(CodegenError, match="no such file"):
        Docs.load(tmp_path / "docs.toml")
