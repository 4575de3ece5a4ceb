"""Errors of resource definitions, and their messages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from mcp_gen import Context, Server, UsageError


@dataclass
class Point:
    x: int


def nothing() -> str: ...
def of_id(id: str) -> str: ...
def of_number(number: int) -> str: ...
def of_id_and_more(id: str, more: str) -> str: ...
def of_default(id: str = "a") -> str: ...
def of_point(id: Point) -> str: ...
def of_complex(id: complex) -> str: ...
def of_dict(id: dict[str, str]) -> str: ...
def of_list(id: list[str]) -> str: ...
def of_points(id: list[Point]) -> str: ...
def without_type(id) -> str: ...  # type: ignore[no-untyped-def]
def of_any_number(*id: str) -> str: ...
def gives_nothing(id: str) -> None: ...


@pytest.mark.parametrize(
    ("uri", "function", "says"),
    [
        ("u://{id}", nothing, r"no parameter `id`; add it, or take \{id\} out"),
        ("u://{id}", of_number, "no parameter `id`"),
        ("u://{id}", of_id_and_more, r"needs `more`, which is no variable: add \{more\}"),
        ("u://{id}{?more}", of_id_and_more, r"give `more` of of_id_and_more a default"),
        ("u://x", of_id, r"has no variables, but of_id needs `id`: write the URI with \{id\}"),
        ("u://{id}", of_point, "text, which .*Point.* is not made of: use str, int"),
        ("u://{id}", of_complex, "JSON has nothing for complex"),
        ("u://{id}", of_dict, "is not made of"),
        ("u://{id*}", of_points, "is not made of"),
        ("u://{id}", of_list, r"is a list: write \{id\*\}"),
        ("u://{id}", without_type, "annotate id"),
        ("u://{id}", of_any_number, "name each parameter"),
        ("u://{id}", gives_nothing, "returns None"),
        ("u://{id", of_id, "a brace without its other half"),
        ("u://id}", of_id, "a brace without its other half"),
        ("u://{id}{id}", of_id, "nothing divides"),
        ("u", nothing, "begins with a scheme, such as `config://u`"),
        ("", nothing, "begins with a scheme"),
        ("7://u", nothing, "begins with a scheme"),
        ("u/{id}", of_id, "begins with a scheme, such as `config://u/`"),
        ("u://a b", nothing, "write %20"),
        ("u://é", nothing, "write %C3%A9"),
    ],
)
def test_what_does_not_go_together_is_refused_with_what_to_do(
    uri: str, function: Callable[..., Any], says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        Server("resources").resource(uri)(function)


@pytest.mark.parametrize("uri", ["u://x", "u://{id}", "u://{id}{?more}", "u://x{?id}"])
def test_parameters_with_defaults_need_not_be_variables(uri: str) -> None:
    def f(ctx: Context, id: str = "a", more: int = 1, flag: bool = False) -> str: ...

    Server("resources").resource(uri)(f)


@pytest.mark.parametrize("uri", ["u://x", "u://{id}"])
def test_a_second_one_under_the_same_uri_is_refused(uri: str) -> None:
    server = Server("resources")
    server.resource(uri)(of_default)
    with pytest.raises(UsageError, match="is there already"):
        server.resource(uri)(of_default)


def test_a_resource_without_its_uri_is_refused() -> None:
    misused: Any = Server("resources").resource
    with pytest.raises(UsageError, match=r'write `@server\.resource\("config://app"\)`'):
        misused(nothing)


@pytest.mark.parametrize("source", [None, 7, {"a": 1}])
def test_what_is_neither_a_function_nor_content_is_refused(source: Any) -> None:
    with pytest.raises(UsageError, match="expected a function, str or bytes"):
        Server("resources").add_resource("u://x", source)


def test_a_template_of_fixed_content_is_refused() -> None:
    with pytest.raises(UsageError, match="expected a function, got 'text'"):
        Server("resources").add_resource_template("u://{id}", "text")  # type: ignore[arg-type]


def test_a_template_has_no_size() -> None:
    with pytest.raises(UsageError, match="`size` is that of one resource"):
        Server("resources").resource("u://{id}", size=7)(of_id)


def test_what_nobody_knows_of_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="no option `nme`: did you mean `name`"):
        Server("resources").resource("u://x", nme="x")(nothing)  # type: ignore[call-arg]


@pytest.mark.parametrize("remove", ["remove_resource", "remove_resource_template"])
def test_what_is_not_there_cannot_be_removed(remove: str) -> None:
    with pytest.raises(UsageError, match="there is no resource"):
        getattr(Server("resources"), remove)("u://x")


def test_the_function_stays_what_it_was() -> None:
    assert Server("resources").resource("u://{id}")(of_id) is of_id
