"""Forms of pydantic models: the schema that is sent, and the answers as a model."""

from __future__ import annotations

import datetime
import enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
import pydantic.dataclasses
import pytest
from pydantic import Field

from mcp_gen.core.errors import InvalidResult, UsageError
from mcp_gen.server.input_requests.forms import elicitation_form
from tests.server.input_requests.test_forms import on_the_wire


class Size(enum.Enum):
    """Sizes of shirts."""

    SMALL = "s"
    EXTRA_LARGE = "xl"


class Order(pydantic.BaseModel):
    """An order."""

    name: str = Field(title="Your name", description="as on the card", min_length=1, max_length=9)
    count: int = Field(1, alias="howMany", gt=0, lt=10)
    weight: float | None = Field(None, ge=0.5, le=2)
    sure: bool = False
    born: datetime.date
    seen: datetime.datetime | None
    site: pydantic.AnyUrl | None = None
    at: Path = Path("/tmp")
    letter: Literal["b", "a"]
    size: Size = Size.SMALL
    sizes: Annotated[list[Size], Field(max_length=2)] = []
    letters: set[Literal["b", "a"]] = Field(set(), description="any of them")


SCHEMA: dict[str, Any] = {
    "name": {
        "type": "string",
        "title": "Your name",
        "description": "as on the card",
        "minLength": 1,
        "maxLength": 9,
    },
    "howMany": {"type": "integer", "minimum": 1, "maximum": 9, "default": 1},
    "weight": {"type": "number", "minimum": 0.5, "maximum": 2},
    "sure": {"type": "boolean", "default": False},
    "born": {"type": "string", "format": "date"},
    "seen": {"type": "string", "format": "date-time"},
    "site": {"type": "string", "format": "uri", "minLength": 1},
    "at": {"type": "string", "default": "/tmp"},
    "letter": {"type": "string", "enum": ["b", "a"]},
    "size": {
        "type": "string",
        "oneOf": [{"const": "s", "title": "Small"}, {"const": "xl", "title": "Extra large"}],
        "default": "s",
    },
    "sizes": {
        "type": "array",
        "items": {
            "anyOf": [{"const": "s", "title": "Small"}, {"const": "xl", "title": "Extra large"}]
        },
        "maxItems": 2,
    },
    "letters": {
        "type": "array",
        "items": {"type": "string", "enum": ["b", "a"]},
        "description": "any of them",
    },
}
ANSWERS: dict[str, Any] = {"name": "Ada", "born": "2000-01-02", "letter": "a"}


def test_a_form_has_the_fields_of_the_model() -> None:
    schema = on_the_wire(elicitation_form(Order).schema)
    assert schema == {
        "type": "object",
        "properties": SCHEMA,
        "required": ["name", "born", "letter"],
    }


def test_answers_become_the_model() -> None:
    answers = {**ANSWERS, "howMany": 3.0, "sizes": ["xl"], "at": "a", "odd": 1}
    order = elicitation_form(Order).read(answers)
    assert order.model_dump(exclude_defaults=True) == {
        "name": "Ada",
        "count": 3,
        "born": datetime.date(2000, 1, 2),
        "seen": None,
        "letter": "a",
        "at": Path("a"),
        "sizes": [Size.EXTRA_LARGE],
    }


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"howMany": 10}, "Input should be less than 10 - at `$.howMany`"),
        ({"born": "then"}, " - at `$.born`"),
        ({"sizes": ["s", "m"]}, " - at `$.sizes[1]`"),
        ({"site": "no"}, " - at `$.site`"),
    ],
)
def test_an_answer_that_the_model_refuses_is_named(answer: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidResult) as caught:
        elicitation_form(Order).read({**ANSWERS, **answer})
    assert str(caught.value).endswith(said)


@pydantic.dataclasses.dataclass
class Checked:
    name: str

    @pydantic.field_validator("name")
    @classmethod
    def whole(cls, value: str) -> str:
        if not value:
            raise ValueError("say something")
        return value


def test_the_validators_of_a_pydantic_dataclass_are_run() -> None:
    form = elicitation_form(Checked)
    assert form.read({"name": "a"}) == Checked("a")
    with pytest.raises(InvalidResult, match="say something"):
        form.read({"name": ""})


class Nested(pydantic.BaseModel):
    inner: Checked


class Patterned(pydantic.BaseModel):
    name: str = Field(pattern="a+")


class Stepped(pydantic.BaseModel):
    count: int = Field(multiple_of=2)


class Open(pydantic.BaseModel):
    weight: float = Field(gt=1)


class Numbered(pydantic.BaseModel):
    number: Literal[1, 2]


class Listed(pydantic.BaseModel):
    names: list[str]


class Mixed(pydantic.BaseModel):
    value: int | str


class Secret(pydantic.BaseModel):
    word: pydantic.SecretStr


class Root(pydantic.RootModel[list[int]]):
    pass


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (Nested, "Nested.inner: a field of a form is str, int"),
        (Patterned, "Patterned.name: forms have no `pattern`; say in `description`"),
        (Stepped, "Stepped.count: forms have no `multipleOf`"),
        (Open, "Open.weight: forms have no `exclusiveMinimum`"),
        (Numbered, "Numbered.number: what a form lets choose from are texts"),
        (Listed, "Listed.names: what a form lets choose from are texts"),
        (Mixed, "Mixed.value: a field of a form is"),
        (Secret, "Secret.word: forms have no format 'password'"),
        (Root, "Root: a form is a model with fields"),
    ],
)
def test_what_no_form_can_hold_is_refused_with_the_name_of_the_field(kind: Any, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        elicitation_form(kind)
    assert str(caught.value).startswith(said)
