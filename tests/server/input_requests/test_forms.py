"""Elicitation forms: schema from a type, and value from an answer."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec
import pytest
from msgspec import Meta

import mcp_wire
from mcp_gen import InvalidResult, ProjectionError, UsageError
from mcp_gen.core.projection.project import project
from mcp_gen.server.input_requests.forms import elicitation_form
from mcp_wire import encode
from tests.support.peers.answering import ASKS


class Size(enum.Enum):
    SMALL = "s"
    EXTRA_LARGE = "xl"


class Number(enum.Enum):
    ONE = 1


@dataclass
class Everything:
    name: Annotated[str, Meta(title="Name", description="Yours", min_length=1, max_length=9)]
    mail: Annotated[str, Meta(extra_json_schema={"format": "email"})]
    site: Annotated[str, Meta(extra_json_schema={"format": "uri"})]
    born: date
    seen: datetime
    age: Annotated[int, Meta(ge=0, le=150)]
    odd: Annotated[int, Meta(gt=0, lt=10)]
    weight: Annotated[float, Meta(ge=0.5)]
    sure: bool
    letter: Literal["b", "a"]
    size: Size
    letters: Annotated[list[Literal["b", "a"]], Meta(min_length=1, max_length=2)]
    sizes: set[Size]


EVERYTHING = {
    "name": {
        "type": "string",
        "title": "Name",
        "description": "Yours",
        "minLength": 1,
        "maxLength": 9,
    },
    "mail": {"type": "string", "format": "email"},
    "site": {"type": "string", "format": "uri"},
    "born": {"type": "string", "format": "date"},
    "seen": {"type": "string", "format": "date-time"},
    "age": {"type": "integer", "minimum": 0, "maximum": 150},
    "odd": {"type": "integer", "minimum": 1, "maximum": 9},
    "weight": {"type": "number", "minimum": 0.5},
    "sure": {"type": "boolean"},
    "letter": {"type": "string", "enum": ["b", "a"]},
    "size": {
        "type": "string",
        "oneOf": [{"const": "s", "title": "Small"}, {"const": "xl", "title": "Extra large"}],
    },
    "letters": {
        "type": "array",
        "items": {"type": "string", "enum": ["b", "a"]},
        "minItems": 1,
        "maxItems": 2,
    },
    "sizes": {
        "type": "array",
        "items": {
            "anyOf": [{"const": "s", "title": "Small"}, {"const": "xl", "title": "Extra large"}]
        },
    },
}


def on_the_wire(value: Any) -> Any:
    return msgspec.json.decode(encode(value))


def test_each_kind_of_field_has_its_schema() -> None:
    schema = on_the_wire(elicitation_form(Everything).schema)
    assert schema["properties"] == EVERYTHING
    assert schema["required"] == list(EVERYTHING)


def test_answers_become_the_type() -> None:
    made = elicitation_form(Everything).read(
        {
            "name": "Ada",
            "mail": "ada@example.org",
            "site": "https://example.org",
            "born": "1815-12-10",
            "seen": "2026-01-02T03:04:05Z",
            "age": 36.0,
            "odd": 7,
            "weight": 60,
            "sure": True,
            "letter": "a",
            "size": "xl",
            "letters": ["a", "b"],
            "sizes": ["s"],
            "unasked": "left out",
        }
    )
    assert made == Everything(
        name="Ada",
        mail="ada@example.org",
        site="https://example.org",
        born=date(1815, 12, 10),
        seen=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        age=36,
        odd=7,
        weight=60.0,
        sure=True,
        letter="a",
        size=Size.EXTRA_LARGE,
        letters=["a", "b"],
        sizes={Size.SMALL},
    )
    assert type(made.age) is int


@dataclass
class Defaults:
    name: str = "Ada"
    age: int | None = None
    size: Size = Size.SMALL
    born: date = date(1815, 12, 10)
    sizes: list[Size] = field(default_factory=lambda: [Size.SMALL])
    note: Annotated[str | None, Meta(title="Note")] = None


def test_a_field_with_a_default_need_not_be_filled_in() -> None:
    schema = on_the_wire(elicitation_form(Defaults).schema)
    assert "required" not in schema
    assert {name: one.get("default") for name, one in schema["properties"].items()} == {
        "name": "Ada",
        "age": None,
        "size": "s",
        "born": "1815-12-10",
        "sizes": ["s"],
        "note": None,
    }
    assert schema["properties"]["note"] == {"type": "string", "title": "Note"}
    assert elicitation_form(Defaults).read({}) == Defaults()


class Optional(msgspec.Struct, rename="camel"):
    last_name: str | None
    choice: Literal["a"] | None
    grade: Literal["b", None]


def test_a_field_that_may_be_none_need_not_be_filled_in_either() -> None:
    form = elicitation_form(Optional)
    schema = on_the_wire(form.schema)
    assert "required" not in schema
    assert list(schema["properties"]) == ["lastName", "choice", "grade"]
    assert form.read({"lastName": "L"}) == Optional(last_name="L", choice=None, grade=None)


class Typed(TypedDict):
    name: str
    age: NotRequired[int]


def test_a_typed_dict_stays_a_dict() -> None:
    form = elicitation_form(Typed)
    assert on_the_wire(form.schema)["required"] == ["name"]
    assert form.read({"name": "Ada", "more": 1}) == {"name": "Ada"}


@dataclass
class Nothing:
    pass


def test_a_form_without_fields_asks_for_consent() -> None:
    assert on_the_wire(elicitation_form(Nothing).schema) == {"type": "object", "properties": {}}
    assert elicitation_form(Nothing).read({}) == Nothing()


@dataclass
class Mail:
    mail: Annotated[str, Meta(extra_json_schema={"format": "email"})] = "a@b"
    site: Annotated[str, Meta(extra_json_schema={"format": "uri"})] = "a:b"
    day: Annotated[str, Meta(extra_json_schema={"format": "date"})] = "2026-01-01"
    age: Annotated[int, Meta(ge=18)] = 18


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"mail": "nobody"}, "expected email - at `$.mail`"),
        ({"site": "nowhere"}, "expected uri - at `$.site`"),
        ({"day": "someday"}, "expected date - at `$.day`"),
        ({"age": 17}, "Expected `int` >= 18 - at `$.age`"),
        ({"age": 18.5}, "Expected `int`, got `float` - at `$.age`"),
        ({"age": True}, "Expected `int`, got `bool` - at `$.age`"),
        ({"mail": None}, "Expected `str`, got `null` - at `$.mail`"),
    ],
    ids=repr,
)
def test_an_answer_that_does_not_fit_is_refused_with_its_path(
    content: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidResult) as caught:
        elicitation_form(Mail).read(content)
    assert str(caught.value) == message


@dataclass
class Nested:
    inner: Typed


@dataclass
class Listed:
    names: list[str]


@dataclass
class Mixed:
    value: int | str


@dataclass
class Numbered:
    number: Number


@dataclass
class Coded:
    code: Literal[1, 2]


@dataclass
class Patterned:
    name: Annotated[str, Meta(pattern="^a")]


@dataclass
class Open:
    weight: Annotated[float, Meta(gt=0)]


@dataclass
class Stepped:
    count: Annotated[int, Meta(multiple_of=5)]


@dataclass
class Formatted:
    name: Annotated[str, Meta(extra_json_schema={"format": "hostname"})]


@dataclass
class FormattedNumber:
    count: Annotated[int, Meta(extra_json_schema={"format": "email"})]


@dataclass
class Exemplary:
    name: Annotated[str, Meta(examples=["Ada"])]


class Tagged(msgspec.Struct, tag=True):
    name: str


class Array(msgspec.Struct, array_like=True):
    name: str


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Nested, "Nested.inner: a field of a form is str, int, float, bool"),
        (Listed, "Listed.names: a field of a form is"),
        (Mixed, "Mixed.value: a field of a form is"),
        (Numbered, "Numbered.number: what a form lets choose from are texts"),
        (Coded, "Coded.code: what a form lets choose from are texts"),
        (Patterned, "Patterned.name: forms have no patterns"),
        (Open, "Open.weight: forms have no open bounds; use `ge` and `le`"),
        (Stepped, "Stepped.count: forms have no `multiple_of`"),
        (Formatted, "Formatted.name: format 'hostname': expected one of email, uri, date"),
        (FormattedNumber, "FormattedNumber.count: the format 'email' is for texts"),
        (Exemplary, "Exemplary.name: forms have no `examples`"),
        (Tagged, "Tagged: a form has no tag"),
        (
            Array,
            "Array: a form is a dataclass, an attrs class, a Struct",
        ),
        (str, "str: a form is a dataclass, an attrs class, a Struct"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_no_form_can_hold_is_refused_with_the_name_of_the_field(
    kind: type, message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        elicitation_form(kind)
    assert str(caught.value).startswith(message)


@dataclass
class Single:
    letter: Literal["b", "a"]
    size: Size
    sure: bool = True


def test_choices_with_names_are_the_older_kind_where_there_is_no_newer() -> None:
    oldest = ASKS[0]
    schema = on_the_wire(project(elicitation_form(Single).schema, oldest).value)
    assert schema["properties"]["size"] == {
        "type": "string",
        "enum": ["s", "xl"],
        "enumNames": ["Small", "Extra large"],
    }


def test_several_choices_are_refused_with_their_path_where_a_revision_has_none() -> None:
    oldest = ASKS[0]
    with pytest.raises(ProjectionError) as caught:
        project(elicitation_form(Everything).schema, oldest)
    assert str(caught.value) == (
        f"{oldest} cannot ask for several values at once - at `$.properties.letters`"
    )


@pytest.mark.parametrize("revision", ASKS)
def test_a_form_is_valid_and_closed_where_it_is_used(revision: str) -> None:
    schema = on_the_wire(project(elicitation_form(Single).schema, revision).value)
    kind: Any = mcp_wire.types(revision).ElicitationSchema
    assert on_the_wire(mcp_wire.decoder(kind).decode(encode(schema))) == schema
