"""Spec tests of roots."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from mcp_gen import Context, FileResources, McpError, Server
from tests.support.peers.asked import Answer, Refused
from tests.support.peers.connect import Connect
from tests.support.peers.conversation import Conversation
from tests.support.requirement import requirement

ASK = "roots/list"


def files(folder: str) -> Server:
    """Return a server of the files in a folder that are within the client's roots."""
    server = Server("files")
    server.add_resources(FileResources(folder, prefix="docs://", within_client_roots=True))

    @server.tool
    async def folders(ctx: Context) -> str:
        """Request the roots twice."""
        try:
            await ctx.list_roots()
            return " ".join(root.uri for root in await ctx.list_roots())
        except McpError:
            return "unavailable"

    return server


def at(tmp_path: Path) -> partial[Server]:
    """Return a folder with files in and beside it, and a function that makes its server."""
    for name in ("docs/in/a.txt", "docs/in/deep/b.txt", "docs/out/c.txt", "docs/in2/d.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "docs/in/link.txt").symlink_to(tmp_path / "docs/out/c.txt")
    (tmp_path / "docs/in/away").symlink_to(tmp_path / "docs/out")
    return partial(files, str(tmp_path / "docs"))


def working_in(*folders: Path) -> dict[str, Answer]:
    """Return the answers of a client with these roots."""
    return {ASK: lambda params: {"roots": [{"uri": folder.as_uri()} for folder in folders]}}


async def readable(client: Conversation, paths: Sequence[str]) -> list[str]:
    """Return the paths that can be read; the others must be answered as not found."""
    codes: dict[str, int] = {}
    for path in paths:
        try:
            await client.request("resources/read", {"uri": f"docs://{path}"})
        except Refused as refused:
            codes[path] = refused.code
    assert set(codes.values()) <= {client.profile.resource_not_found_code}
    return [path for path in paths if path not in codes]


PATHS = [
    *("in/a.txt", "in/deep/b.txt", "out/c.txt", "in2/d.txt", "in/link.txt", "in/away/c.txt"),
    *("in/../out/c.txt", "in/%2e%2e/out/c.txt", "in//a.txt", "../docs/in/a.txt", "nothing.txt"),
]


@requirement("roots:respected", "roots:paths-checked")
async def test_only_files_within_the_roots_are_read_whatever_the_path(
    connect: Connect, tmp_path: Path
) -> None:
    make = at(tmp_path)
    async with connect(make, answers=working_in(tmp_path / "docs/in")) as client:
        assert await readable(client, PATHS) == ["in/a.txt", "in/deep/b.txt"]


@requirement("roots:unavailable")
async def test_roots_that_are_gone_do_no_harm(connect: Connect, tmp_path: Path) -> None:
    make = at(tmp_path)
    roots: list[dict[str, Any]] = []
    answers: dict[str, Answer] = {ASK: lambda params: {"roots": roots}}
    # A client without `roots/list_changed` is asked each time.
    declared: dict[str, Any] = {"roots": {}}
    async with connect(make, answers=answers, capabilities=declared) as client:
        assert await readable(client, ["in/a.txt"]) == []
        roots.append({"uri": (tmp_path / "gone").as_uri()})
        assert await readable(client, ["in/a.txt"]) == []
        roots.append({"uri": (tmp_path / "docs/in").as_uri()})
        assert await readable(client, ["in/a.txt"]) == ["in/a.txt"]
        (tmp_path / "docs/in").rename(tmp_path / "docs/elsewhere")
        assert await readable(client, ["in/a.txt", "elsewhere/a.txt"]) == []


@requirement("roots:unavailable")
async def test_a_client_that_fails_to_list_its_roots_does_no_harm(
    connect: Connect, tmp_path: Path
) -> None:
    make = at(tmp_path)
    failing = True

    def roots(params: Any) -> Any:
        if failing:
            raise Refused(-32603, "the disk is on fire")
        return {"roots": [{"uri": (tmp_path / "docs/in").as_uri()}]}

    async with connect(make, answers={ASK: roots}) as client:
        if client.profile.handshake:
            assert await client.text("folders") == "unavailable"
            refused = await client.refusal("resources/read", {"uri": "docs://in/a.txt"})
            assert refused.code < 0
        else:
            # The client can only omit the answer.
            asked = await client.begin("tools/call", {"name": "folders", "arguments": {}}).result()
            assert asked["resultType"] == "input_required"
        failing = False
        assert await readable(client, ["in/a.txt", "out/c.txt"]) == ["in/a.txt"]


@requirement("roots:capability")
async def test_a_client_that_has_not_declared_roots_is_not_asked(
    connect: Connect, tmp_path: Path
) -> None:
    answers = working_in(tmp_path / "docs/in")
    async with connect(at(tmp_path), answers=answers, capabilities={}) as client:
        code = client.profile.errors.missing_required_client_capability
        assert await client.text("folders") == "unavailable" if code is None else True
        refused = await client.refusal("resources/read", {"uri": "docs://in/a.txt"})
        assert refused.data == {"requiredCapabilities": {"roots": {}}}
    assert client.questions == []


@requirement("roots:cached")
async def test_roots_are_asked_for_once_until_they_change(connect: Connect, tmp_path: Path) -> None:
    make, here, there = at(tmp_path), tmp_path / "docs/in", tmp_path / "docs/out"
    now = [here]
    answers: dict[str, Answer] = {ASK: lambda params: {"roots": [{"uri": now[0].as_uri()}]}}
    async with connect(make, answers=answers) as client:
        assert await client.text("folders") == here.as_uri()
        assert len(client.questions) == 1, "a request asks once"
        if client.profile.roots_changed is None:
            return  # requests are self-contained
        assert await client.text("folders") == here.as_uri()
        assert await readable(client, ["in/a.txt", "out/c.txt"]) == ["in/a.txt"]
        assert len(client.questions) == 1, "a session asks once"
        now[0] = there
        client.notify(client.profile.roots_changed.name)
        assert await client.text("folders") == there.as_uri()
        assert await readable(client, ["in/a.txt", "out/c.txt"]) == ["out/c.txt"]
        assert len(client.questions) == 2
