"""Checks of JSON Schemas that a server sends: their dialects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mcp_gen.compat.checks.check import rule
from mcp_gen.compat.json_values import Json, is_object, member, objects
from mcp_gen.compat.views.reading import answers

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.transcript import Transcript
    from mcp_gen.compat.views.reading import AnswerFrame

DIALECT = "https://json-schema.org/draft/2020-12/schema"
NO_SCHEMA = "the server lists no tool"


def schemas(transcript: Transcript) -> Iterator[tuple[AnswerFrame, str, Json]]:
    """Yield the schemas of tools, with the answers that have them, and their JSON paths."""
    for answer in answers(transcript):
        for number, tool in enumerate(objects(member(answer.frame, "result", "tools"))):
            for name in ("inputSchema", "outputSchema"):
                if is_object(tool.get(name)):
                    yield answer, f"{answer.where}.result.tools[{number}].{name}", tool[name]


def names_another_dialect(schema: Json) -> bool:
    """Return True for a schema that names a dialect, and not the default one."""
    named = schema.get("$schema")
    return isinstance(named, str) and named.rstrip("#") != DIALECT


@rule("base:schemas:recommended", unseen=NO_SCHEMA, is_general=True)
def schemas_are_of_the_recommended_dialect(transcript: Transcript, found: Found) -> None:
    for answer, where, schema in schemas(transcript):
        found.saw()
        if names_another_dialect(schema):
            expected = f"a schema of {DIALECT}"
            came = f"one of {schema['$schema']}"
            found.broken(expected, came, *answer.events, where=f"{where}.$schema")


def judge(answer: AnswerFrame, where: str, schema: Json, found: Found) -> None:
    """Report a schema that is not valid in its dialect."""
    found.saw()
    # Loaded when there is a schema: the package takes its time.
    import jsonschema_rs

    try:
        jsonschema_rs.meta.validate(schema)
    except jsonschema_rs.ValidationError as error:
        expected = "a schema that is valid in its dialect"
        found.broken(expected, error.message, *answer.events, where=where)
    except (jsonschema_rs.ReferencingError, ValueError):
        # A dialect that we do not know: its schemas may be valid.
        return


@rule("base:schemas:2020-12", unseen=NO_SCHEMA, is_general=True)
def schemas_without_a_dialect_are_valid(transcript: Transcript, found: Found) -> None:
    for answer, where, schema in schemas(transcript):
        if "$schema" not in schema:
            judge(answer, where, schema, found)


@rule("base:schemas:dialect", unseen="no schema names its dialect", is_general=True)
def schemas_are_valid_in_their_dialects(transcript: Transcript, found: Found) -> None:
    for answer, where, schema in schemas(transcript):
        if "$schema" in schema:
            judge(answer, where, schema, found)
