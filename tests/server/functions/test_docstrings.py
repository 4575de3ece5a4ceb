"""Docstring parser: descriptions of parameters in three styles, and the remaining text."""

from __future__ import annotations

import pytest

from mcp_gen.server.functions.docstrings import DocstringInfo, parse_docstring

GOOGLE = """Move a file.

    Nothing is overwritten.

    Args:
        source: What to move.
        target (str, optional): Where to: a folder,
            or a new name.

        *more: Others.

    Returns:
        The new name.
    """

NUMPY = """Move a file.

    Nothing is overwritten.

    Parameters
    ----------
    source : str
        What to move.
    target, other : str, optional
        Where to: a folder,
        or a new name.

    Returns
    -------
    str
        The new name.
    """

REST = """Move a file.

    Nothing is overwritten.

    :param source: What to move.
    :param str target: Where to: a folder,
        or a new name.
    :type source: str
    :returns: The new name.
    """


@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, REST], ids=["google", "numpy", "rest"])
def test_each_parameter_has_its_text(docstring: str) -> None:
    found = parse_docstring(docstring).parameters
    assert found["source"] == "What to move."
    assert found["target"] == "Where to: a folder, or a new name."


@pytest.mark.parametrize(
    ("docstring", "end"),
    [
        (GOOGLE, "Returns:\n    The new name."),
        (NUMPY, "Returns\n-------\nstr\n    The new name."),
        (REST, ":returns: The new name."),
    ],
    ids=["google", "numpy", "rest"],
)
def test_the_rest_is_the_text(docstring: str, end: str) -> None:
    assert parse_docstring(docstring).text == f"Move a file.\n\nNothing is overwritten.\n\n{end}"


def test_several_parameters_may_share_a_text() -> None:
    assert parse_docstring(NUMPY).parameters["other"] == "Where to: a folder, or a new name."


def test_a_section_with_an_underline_may_be_the_last() -> None:
    found = parse_docstring("Add.\n\nParameters\n----------\na : int\n    One.\nb : int\n    Two.")
    assert found == DocstringInfo("Add.", {"a": "One.", "b": "Two."})


def test_stars_are_no_part_of_a_name() -> None:
    assert parse_docstring(GOOGLE).parameters["more"] == "Others."


@pytest.mark.parametrize("heading", ["Args", "Arguments", "Parameters", "Keyword Args"])
def test_a_section_has_one_of_several_headings(heading: str) -> None:
    assert parse_docstring(f"Do.\n\n{heading}:\n    a: One.").parameters == {"a": "One."}


@pytest.mark.parametrize("docstring", [None, "", "\n  \n", "\n    Args:\n        a: One."])
def test_a_docstring_without_other_text_has_none(docstring: str | None) -> None:
    assert parse_docstring(docstring).text is None


@pytest.mark.parametrize(
    "docstring",
    [
        "Use args: they help.",
        "Args: none.",
        "Parameters\nare many.",
        "A table:\n\na: One.",
        "See http://example.org/:param x: y",
    ],
)
def test_what_only_looks_like_a_section_is_text(docstring: str) -> None:
    assert parse_docstring(docstring) == DocstringInfo(docstring, {})


def test_a_line_in_a_section_that_names_nothing_is_left_out() -> None:
    found = parse_docstring("Do.\n\nArgs:\n    Some of these.\n    a: One.\n    see http://x\n")
    assert found == DocstringInfo("Do.", {"a": "One."})
