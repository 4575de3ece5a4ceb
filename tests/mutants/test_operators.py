"""Mutation operators: each change alone, where it stands, and what is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutants.operators import changes, is_valid

ROOT = Path(__file__).parents[2]


def mutants(text: str) -> list[str]:
    source = text.encode()
    return [one.applied(source).decode() for one in changes(source)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = a == b\n", ["x = a != b\n"]),
        ("x = a < b\n", ["x = a <= b\n"]),
        ("x = a is not b\n", ["x = a is b\n"]),
        ("x = a not in b\n", ["x = a in b\n"]),
        ("x = a < b < c\n", ["x = a <= b < c\n", "x = a < b <= c\n"]),
        ("x = a and b\n", ["x = a or b\n"]),
        ("x = a or b or c\n", ["x = a and b or c\n", "x = a or b and c\n"]),
        ("x = a + b\n", ["x = a - b\n"]),
        ("x -= y\n", ["x += y\n"]),
        ("x = not a\n", ["x = a\n"]),
        ("x = 3\n", ["x = 4\n"]),
        ("x = True\n", ["x = False\n"]),
        ("f(x)\n", ["pass\n"]),
        ("for x in y:\n    break\n", ["for x in y:\n    continue\n"]),
        ("while x:\n    y = z\n", ["while False:\n    y = z\n"]),
        ("def f():\n    return x\n", ["def f():\n    return None\n"]),
        ("async def f():\n    await g()\n", ["async def f():\n    pass\n"]),
        ("x = [y for y in z if y]\n", ["x = [y for y in z if True]\n"]),
    ],
)
def test_each_operator_makes_its_changes(text: str, expected: list[str]) -> None:
    assert mutants(text) == expected


def test_a_condition_is_forced_and_negated() -> None:
    assert mutants("if a(b):\n    x = y\n") == [
        "if not (a(b)):\n    x = y\n",
        "if False:\n    x = y\n",
        "if True:\n    x = y\n",
    ]


def test_a_guard_of_a_match_is_a_condition() -> None:
    text = "match x:\n    case y if y:\n        z = y\n"
    assert [one.splitlines()[1].strip() for one in mutants(text)] == [
        "case y if not (y):",
        "case y if False:",
        "case y if True:",
    ]


@pytest.mark.parametrize(
    "text",
    [
        '"""Text with 1 + 1."""\n',
        "x: Literal[1]\n",
        "__all__ = [1]\n",
        'T = TypeVar("T", covariant=True)\n',
        "A: TypeAlias = Literal[1]\n",
        "assert x is not None\n",
        'x = f"{a + 1}"\n',
        '_log.debug("%d", 1)\n',
        "if TYPE_CHECKING:\n    x = 1\n",
        "class A(Protocol):\n    def f(self, x: int = 1) -> int: ...\n",
        "class A(Struct, frozen=True):\n    x: int\n",
        "@dataclass(frozen=True)\nclass A:\n    x: int\n",
        "@overload\ndef f(x: int = 1) -> int: ...\n",
        "def __repr__(self):\n    return self.x\n",
        'x = typer.Option(1, help="text")\n',
        "for x in zip(a, b, strict=True):\n    y = x\n",
        "x = 'a' + b\n",
        "def f(x=None):\n    return None\n",
        "def f():\n    return ()\n",
    ],
)
def test_what_is_no_behaviour_is_left_alone(text: str) -> None:
    assert mutants(text) == []


def test_what_type_checkers_do_not_see_is_behaviour() -> None:
    text = "if not TYPE_CHECKING:\n    x = 1\n"
    assert mutants(text) == [text.replace("1", "2")]


def test_an_operator_in_a_comment_is_not_taken_for_one() -> None:
    text = "x = (\n    a  # this and that\n    and b\n)\n"
    assert mutants(text) == [text.replace("    and b", "    or b")]


def test_positions_count_bytes() -> None:
    text = "x = 'é' if a == 'ü' else b == 'ö'\n"
    assert "x = 'é' if a == 'ü' else b != 'ö'\n" in mutants(text)


def test_a_change_in_a_function_is_reached_by_its_own_statement() -> None:
    source = b"def f(x):\n    if x:\n        g(\n            x\n        )\n    return x\n"
    assert {one.what: one.reach for one in changes(source)} == {
        "the condition is False": (2, 2),
        "the condition is True": (2, 2),
        "`not` is added": (2, 2),
        "the call is dropped": (3, 5),
        "None is returned": (6, 6),
    }


def test_a_default_is_reached_by_the_body_of_its_function() -> None:
    (change,) = changes(b"def f(\n    x=1,\n):\n    y = x\n    z = y\n")
    assert (change.line, change.reach) == (2, (4, 5))


def test_a_change_of_a_module_has_no_line_that_reaches_it() -> None:
    assert [one.reach for one in changes(b"X = 1\nclass A:\n    y = 2\n")] == [None, None]


def test_the_position_in_the_line_is_told_without_the_indentation() -> None:
    (change,) = changes(b"class A:\n    y = 2\n")
    assert (change.column, change.indentation) == (8, 4)


def test_a_change_that_compiles_to_the_same_code_is_not_valid() -> None:
    source = b"x = 'a' if not False else 'b'\n"
    same = [one.what for one in changes(source) if not is_valid(source, one)]
    assert same == ["the condition is True"]


def test_every_change_of_a_large_module_keeps_its_syntax() -> None:
    source = (ROOT / "mcp_gen/session/kernel/limits.py").read_bytes()
    found = changes(source)
    assert len(found) > 20
    assert [one for one in found if not is_valid(source, one)] == []
