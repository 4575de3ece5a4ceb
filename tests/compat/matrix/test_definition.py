"""Files of a matrix: what they take from definitions, and what is wrong in them."""

from __future__ import annotations

from pathlib import Path

import pytest

import mcp_wire
from mcp_gen.compat.matrix.definition import Matrix, read_matrix
from mcp_gen.core.errors import UsageError

OURS = """
[servers.ours]
use = "mcp-gen"
[clients.ours]
use = "mcp-gen"
"""


@pytest.fixture
def written(tmp_path: Path) -> Path:
    return tmp_path / "matrix.toml"


def read(written: Path, text: str) -> Matrix:
    written.write_text(text)
    return read_matrix(written)


def complaint(written: Path, text: str) -> str:
    """Return the error of a file, without the name of the file."""
    with pytest.raises(UsageError) as caught:
        read(written, text)
    return str(caught.value).removeprefix(f"{written}: ")


def test_a_definition_of_ours_has_commands_for_every_transport(written: Path) -> None:
    matrix = read(written, OURS)
    server, client = matrix.servers["ours"], matrix.clients["ours"]
    assert all((server.stdio, server.http, server.sse, client.stdio, client.http, client.sse))


def test_all_revisions_and_transports_are_run_by_default(written: Path) -> None:
    matrix = read(written, OURS)
    assert (matrix.revisions, matrix.transports) == (mcp_wire.REVISIONS, ("stdio", "http"))


def test_the_commands_of_a_file_run_in_its_folder(written: Path) -> None:
    text = OURS + '[servers.mine]\nstdio = "python server.py"\n'
    assert read(written, text).servers["mine"].folder == str(written.parent)


def test_a_definition_can_get_another_title(written: Path) -> None:
    text = OURS.replace('[clients.ours]\nuse = "mcp-gen"', '[clients.a]\nuse = "mcp"\ntitle = "A"')
    assert read(written, text).clients["a"].title == "A"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("servers = 1", "Expected `object`, got `int` - at `$.servers`"),
        ("[servers]\n[clients]", "needs at least one server and one client"),
        (OURS + "colour = 1", "Object contains unknown field `colour` - at `$.clients[...]`"),
        (
            OURS + '[servers.b]\nuse = "nobody"',
            "servers.b: no definition 'nobody'; there are mcp-gen, mcp, fastmcp, typescript",
        ),
        (OURS + "[servers.b]", "servers.b: expected `use`, or one of stdio, http, sse, url"),
        (
            OURS + '[servers.b]\nuse = "mcp"\nstdio = "a"',
            "servers.b: `use` stands alone, or beside `title`",
        ),
        (OURS + "[servers.b]\nstdio = 'a \"b'", "servers.b.stdio: No closing quotation"),
        ("timeout_s = 0" + OURS, "timeout_s: expected seconds, got 0"),
        ("revisions = ['2020-01-01']" + OURS, "revisions: no revision '2020-01-01'; there are "),
        ("servers", "Expected '=' after a key in a key/value pair (at end of document)"),
    ],
)
def test_a_mistake_in_a_file_is_told_with_its_place(written: Path, text: str, said: str) -> None:
    assert complaint(written, text).startswith(said)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.toml: No such file or directory"):
        read_matrix(tmp_path / "none.toml")
