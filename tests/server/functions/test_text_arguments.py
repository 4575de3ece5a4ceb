"""Text arguments, as those of prompts and templates, and calls without tools."""

from __future__ import annotations

import datetime
from typing import Annotated, Any, Literal

import msgspec
import pydantic
import pytest

from mcp_gen.server.functions.signature import Signature


class Order(pydantic.BaseModel):
    item: str
    count: int = 1


def taking(hint: Any, *default: Any) -> Signature:
    def f(value) -> Any:  # type: ignore[no-untyped-def]
        return value

    f.__annotations__["value"] = hint
    f.__defaults__ = default
    return Signature(f)


@pytest.mark.parametrize(
    ("hint", "given", "value"),
    [
        (str, "5", "5"),
        (int, "5", 5),
        (float, "0.5", 0.5),
        (bool, "true", True),
        (int | None, "null", None),
        (datetime.date, "2020-01-02", datetime.date(2020, 1, 2)),
        (Literal["a"], "a", "a"),
        (Annotated[int, pydantic.Field(ge=1)], "5", 5),
        (pydantic.AnyUrl, "https://a/", pydantic.AnyUrl("https://a/")),
    ],
    ids=str,
)
def test_a_text_may_stand_for_a_value(hint: Any, given: str, value: Any) -> None:
    made = taking(hint).convert({"value": given}, strict=False)
    assert made.value == value
    assert type(made.value) is type(value)


@pytest.mark.parametrize("hint", [int, Annotated[int, pydantic.Field(strict=True)]], ids=str)
def test_a_text_stands_for_itself_where_values_come_as_they_are(hint: Any) -> None:
    with pytest.raises(msgspec.ValidationError, match=r"at `\$\.value`"):
        taking(hint).convert({"value": "5"})


@pytest.mark.parametrize("hint", [int, Annotated[int, pydantic.Field(ge=1)]], ids=str)
def test_a_text_that_stands_for_no_such_value_is_told_with_its_path(hint: Any) -> None:
    with pytest.raises(msgspec.ValidationError, match=r"at `\$\.value`"):
        taking(hint).convert({"value": "five"}, strict=False)


def test_a_default_needs_no_reading() -> None:
    default = Order(item="a")
    made = taking(Order, default).convert({}, strict=False)
    assert made.value is default


def test_parameters_say_whether_they_are_required() -> None:
    def f(a: int, b: Annotated[str, "second"] = "") -> None: ...

    one, other = Signature(f).parameters
    assert (one.name, one.required, one.description) == ("a", True, None)
    assert (other.name, other.required, other.description) == ("b", False, "second")


def test_a_parameter_may_have_any_name() -> None:
    def f(function: int, values: int, ctx: int, self: int) -> list[int]:
        return [function, values, ctx, self]

    signature = Signature(f)
    values = signature.convert({"function": 1, "values": 2, "ctx": 3, "self": 4})
    nowhere: Any = None
    assert signature.invoke(values, nowhere) == [1, 2, 3, 4]
