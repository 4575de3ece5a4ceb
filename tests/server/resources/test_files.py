"""FileResources: listed, read, and confined to their folder."""

from __future__ import annotations

import asyncio
import base64
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Context, FileResources, Server, UsageError
from mcp_gen.server.resources import files
from mcp_wire import latest
from tests.server.resources.test_resources import asked, contents, read
from tests.support.frames import HANDSHAKE, PER_REQUEST, every_revision, with_handshake
from tests.support.peers.raw import talking

PNG = b"\x89PNG\r\n\x00\xff"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a folder with files, and one file outside that must not be readable."""
    folder = tmp_path / "docs"
    (folder / "guide").mkdir(parents=True)
    (folder / "readme.md").write_text("# Read me")
    (folder / "guide" / "a b.txt").write_text("é", encoding="utf-8")
    (folder / "picture.png").write_bytes(PNG)
    (folder / ".secret").write_text("hidden")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("hidden")
    (tmp_path / "outside.txt").write_text("outside")
    return folder


def serving(root: Path, *, page_size: int | None = 100, **options: Any) -> Server:
    server = Server("files", page_size=page_size)
    server.add_resources(FileResources(root, prefix="docs://", **options))
    return server


async def listed(server: Server, revision: str = HANDSHAKE) -> list[str]:
    """Return the URIs of all pages."""
    found: list[str] = []
    async with talking(server, revision) as client:
        params: dict[str, Any] = {}
        for id in range(1, 20):
            asking = client.speaker.request(id, "resources/list", params)
            page = (await client.ask(asking))["result"]
            found += [one["uri"] for one in page["resources"]]
            if "nextCursor" not in page:
                return found
            params = {"cursor": page["nextCursor"]}
    raise AssertionError("the list has no end")


# --- listing ---


@every_revision
async def test_files_are_listed_with_their_type_and_size(root: Path, revision: str) -> None:
    answer = await asked(serving(root), revision, "resources/list")
    assert answer["result"]["resources"] == [
        {
            "uri": "docs://guide/a%20b.txt",
            "name": "guide/a b.txt",
            "mimeType": "text/plain",
            "size": 2,
        },
        {"uri": "docs://picture.png", "name": "picture.png", "mimeType": "image/png", "size": 8},
        {"uri": "docs://readme.md", "name": "readme.md", "mimeType": "text/markdown", "size": 9},
    ]


@every_revision
async def test_what_is_listed_can_be_read(root: Path, revision: str) -> None:
    server = serving(root, hidden=True)
    uris = await listed(server, revision)
    assert len(uris) == 5
    for uri in uris:
        assert (await contents(server, revision, uri))["uri"] == uri


async def test_the_template_is_listed_and_described(root: Path) -> None:
    server = serving(root, name="docs", title="Documents")
    answer = await asked(server, HANDSHAKE, "resources/templates/list")
    (template,) = answer["result"]["resourceTemplates"]
    assert template["uriTemplate"] == "docs://{path*}"
    assert (template["name"], template["title"]) == ("docs", "Documents")


async def test_without_a_prefix_a_file_has_the_uri_that_it_has_on_this_machine(root: Path) -> None:
    server = Server("files")
    server.add_resources(FileResources(root))
    uri = (root / "guide" / "a b.txt").resolve().as_uri()
    assert uri in await listed(server)
    assert (await contents(server, HANDSHAKE, uri))["text"] == "é"


async def test_the_list_is_that_of_now(root: Path) -> None:
    server = serving(root)
    before = await listed(server)
    (root / "new.txt").write_text("new")
    (root / "readme.md").unlink()
    assert set(await listed(server)) ^ set(before) == {"docs://new.txt", "docs://readme.md"}


@every_revision
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6])
async def test_pages_go_over_from_what_was_added_to_files(
    root: Path, revision: str, size: int
) -> None:
    server = serving(root)
    server.add_resource("config://app", "text")
    server.add_resources(FileResources(root / "guide", prefix="guide://"))
    whole = await listed(server, revision)
    server.resources.listing.page_size = size
    assert await listed(server, revision) == whole
    assert len(whole) == 5
    answer = await asked(server, revision, "resources/list")
    assert len(answer["result"]["resources"]) == min(size, 5)


async def test_a_page_begins_where_the_last_one_ended_though_that_file_is_gone(root: Path) -> None:
    server = serving(root)
    server.resources.listing.page_size = 2
    async with talking(server, HANDSHAKE) as client:
        first = (await client.ask(client.speaker.request(1, "resources/list")))["result"]
        (root / "picture.png").unlink()
        params = {"cursor": first["nextCursor"]}
        second = await client.ask(client.speaker.request(2, "resources/list", params))
    assert [one["uri"] for one in second["result"]["resources"]] == ["docs://readme.md"]


@every_revision
@pytest.mark.parametrize("cursor", ["x", "", "WyJzb3VyY2UiLCJhIiwiYiJd"])
async def test_a_cursor_of_somebody_else_is_refused(root: Path, revision: str, cursor: str) -> None:
    answer = await asked(serving(root), revision, "resources/list", cursor=cursor)
    assert answer["error"]["code"] == -32602


async def test_a_list_without_pages_is_bounded(
    root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert len(await listed(serving(root, page_size=None, max_listed=2))) == 2
    assert "more than 2 files" in caplog.text


async def test_looking_for_files_is_bounded(
    root: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(files, "_SCANNED", 2)
    assert len(await listed(serving(root))) == 1
    assert "stopped looking" in caplog.text


async def test_a_list_in_pages_is_whole_however_few_are_listed_without_pages(root: Path) -> None:
    server = Server("files", page_size=1)
    server.add_resources(FileResources(root, prefix="docs://", max_listed=1))
    assert len(await listed(server)) == 3


async def test_files_that_are_removed_from_the_server_are_gone(root: Path) -> None:
    server = serving(root)
    server.remove_resource_template("docs://{path*}")
    assert await listed(server) == []
    assert "error" in await read(server, HANDSHAKE, "docs://readme.md")


async def test_a_filter_hides_single_files(root: Path) -> None:
    server = serving(root)
    server.resources.listing.filters.append(lambda ctx, one: not one.uri.endswith(".md"))
    assert await listed(server) == ["docs://guide/a%20b.txt", "docs://picture.png"]
    assert "error" in await read(server, HANDSHAKE, "docs://readme.md")
    assert "result" in await read(server, HANDSHAKE, "docs://picture.png")


@with_handshake
async def test_one_session_may_have_files_of_its_own(root: Path, revision: str) -> None:
    server = Server("files", declare=["resources"])
    async with talking(server, revision) as one, talking(server, revision) as other:
        mine = server.for_session(server.sessions()[0])
        mine.add_resources(FileResources(root / "guide", prefix="docs://"))
        lists, reads = list[Any](), list[Any]()
        for client in (one, other):
            lists.append(await client.ask(client.speaker.request(1, "resources/list")))
            asking = client.speaker.request(2, "resources/read", {"uri": "docs://a%20b.txt"})
            reads.append(await client.ask(asking))
    counts = [len(answer["result"]["resources"]) for answer in lists]
    assert sorted(counts) == [0, 1]
    assert ["result" in answer for answer in reads] == [count == 1 for count in counts]


# --- reading ---


@pytest.mark.parametrize(
    ("name", "data", "mime_type", "text"),
    [
        ("a.txt", b"text", "text/plain", "text"),
        ("a.md", b"# A", "text/markdown", "# A"),
        ("a.json", b"{}", "application/json", "{}"),
        ("a.svg", b"<svg/>", "image/svg+xml", "<svg/>"),
        ("a.toml", b"a = 1", "application/toml", "a = 1"),
        ("a.yaml", b"a: 1", "application/yaml", "a: 1"),
        ("Makefile", b"all:", "text/plain", "all:"),
        ("a.unknown", b"\xc3\xa9", "text/plain", "é"),
        ("empty", b"", "text/plain", ""),
        ("a.png", PNG, "image/png", None),
        ("ascii.png", b"text", "image/png", None),
        ("a.unknown", b"\xff", "application/octet-stream", None),
        ("nul", b"a\0b", "application/octet-stream", None),
        ("broken.txt", b"\xff", "text/plain", None),
        ("a.tar.gz", b"text", "application/gzip", None),
        ("a.txt.Z", b"text", "application/octet-stream", None),
    ],
)
async def test_type_and_content_decide_whether_a_file_is_text(
    tmp_path: Path, name: str, data: bytes, mime_type: str, text: str | None
) -> None:
    (tmp_path / name).write_bytes(data)
    part = await contents(serving(tmp_path), HANDSHAKE, f"docs://{name}")
    content = {"text": text} if text is not None else {"blob": base64.b64encode(data).decode()}
    assert part == {"uri": f"docs://{name}", "mimeType": mime_type, **content}


async def test_media_types_can_be_given(root: Path) -> None:
    server = serving(root, mime_types={".md": "text/x-notes"})
    assert (await contents(server, HANDSHAKE, "docs://readme.md"))["mimeType"] == "text/x-notes"


OUTSIDE = [
    "../outside.txt",
    "guide/../../outside.txt",
    "guide/../readme.md",
    "./readme.md",
    "guide/./a b.txt",
    "guide//a b.txt",
    "/readme.md",
    "readme.md/",
    "%2e%2e/outside.txt",
    "%2E%2E%2Foutside.txt",
    "..%2foutside.txt",
    "guide/%2e%2e/%2e%2e/outside.txt",
    "..\\outside.txt",
    "guide\\a b.txt",
    "..%5Coutside.txt",
    "%252e%252e/outside.txt",
    "readme.md%00",
    "readme.md%00.txt",
    "readme.md\0",
    "~/readme.md",
    "guide",
    "",
    ".",
    "..",
    "x" * 5000,
    "x" * 300,
    "readme.md/x",
    "%ff",
]


@pytest.mark.parametrize("path", OUTSIDE)
async def test_no_path_leads_out_of_the_folder(root: Path, path: str) -> None:
    error = (await read(serving(root, hidden=True), PER_REQUEST, f"docs://{path}"))["error"]
    assert error["code"] == -32602


@pytest.mark.parametrize("before", ["", "/", "//", "%2F", "guide/"])
async def test_no_absolute_path_leads_out_of_the_folder(root: Path, before: str) -> None:
    uri = f"docs://{before}{root.parent}/outside.txt"
    assert (await read(serving(root, hidden=True), PER_REQUEST, uri))["error"]["code"] == -32602


@every_revision
async def test_what_is_not_served_has_the_code_of_the_revision(root: Path, revision: str) -> None:
    error = (await read(serving(root), revision, "docs://../outside.txt"))["error"]
    assert error["code"] == mcp_wire.profile(revision).resource_not_found_code
    assert error["data"] == {"uri": "docs://../outside.txt"}


@every_revision
async def test_an_escaped_slash_is_a_slash(root: Path, revision: str) -> None:
    part = await contents(serving(root), revision, "docs://guide%2Fa%20b.txt")
    assert (part["uri"], part["text"]) == ("docs://guide%2Fa%20b.txt", "é")


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("out.txt", "../outside.txt"),
        ("out", ".."),
        ("absolute.txt", None),
        ("loop", "loop"),
        ("gone", "nowhere"),
        ("seen", ".secret"),
    ],
)
async def test_no_link_leads_out_of_the_folder(root: Path, link: str, target: str | None) -> None:
    (root / link).symlink_to(target or root.parent / "outside.txt")
    server = serving(root)
    for path in (link, f"{link}/outside.txt"):
        assert "error" in await read(server, HANDSHAKE, f"docs://{path}")
    assert not [uri for uri in await listed(server) if link in uri]


async def test_a_link_within_the_folder_is_followed(root: Path) -> None:
    (root / "link.md").symlink_to("readme.md")
    (root / "manual").symlink_to("guide")
    server = serving(root)
    assert "docs://link.md" in await listed(server)
    assert (await contents(server, HANDSHAKE, "docs://link.md"))["text"] == "# Read me"
    assert (await contents(server, HANDSHAKE, "docs://manual/a%20b.txt"))["text"] == "é"


async def test_the_folder_itself_may_be_a_link(root: Path) -> None:
    (root.parent / "link").symlink_to(root)
    server = serving(root.parent / "link")
    assert (await contents(server, HANDSHAKE, "docs://readme.md"))["text"] == "# Read me"


async def test_a_folder_that_is_swapped_for_a_link_at_the_last_moment_is_not_followed(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root.parent / "a b.txt").write_text("outside")
    locate = FileResources._locate

    def swap(self: FileResources, path: str) -> Path | None:
        found = locate(self, path)
        (root / "guide").rename(root / "old")
        (root / "guide").symlink_to("..")
        return found

    monkeypatch.setattr(FileResources, "_locate", swap)
    assert "error" in await read(serving(root), HANDSHAKE, "docs://guide/a%20b.txt")


async def test_a_file_that_is_swapped_for_a_pipe_at_the_last_moment_is_not_found(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locate = FileResources._locate

    def swap(self: FileResources, path: str) -> Path | None:
        found = locate(self, path)
        (root / "readme.md").unlink()
        os.mkfifo(root / "readme.md")
        return found

    monkeypatch.setattr(FileResources, "_locate", swap)
    error = (await read(serving(root), HANDSHAKE, "docs://readme.md"))["error"]
    assert error["code"] == mcp_wire.profile(HANDSHAKE).resource_not_found_code


async def test_a_file_whose_name_leads_out_on_other_systems_is_not_served(root: Path) -> None:
    (root / "..\\a.txt").write_text("odd")
    server = serving(root)
    assert len(await listed(server)) == 3
    assert "error" in await read(server, HANDSHAKE, "docs://..%5Ca.txt")


async def test_a_file_that_blocks_is_not_read(root: Path) -> None:
    os.mkfifo(root / "pipe")
    server = serving(root)
    assert "error" in await read(server, HANDSHAKE, "docs://pipe")
    assert "docs://pipe" not in await listed(server)


@every_revision
@pytest.mark.parametrize("path", [".secret", ".git/config"])
async def test_hidden_files_are_read_only_when_asked_for(
    root: Path, revision: str, path: str
) -> None:
    assert "error" in await read(serving(root), revision, f"docs://{path}")
    part = await contents(serving(root, hidden=True), revision, f"docs://{path}")
    assert part["text"] == "hidden"


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("**/*", ["guide/a%20b.txt", "picture.png", "readme.md"]),
        ("**", ["guide/a%20b.txt", "picture.png", "readme.md"]),
        ("*", ["picture.png", "readme.md"]),
        ("*.md", ["readme.md"]),
        ("**/*.txt", ["guide/a%20b.txt"]),
        ("guide/**", ["guide/a%20b.txt"]),
        ("**/guide/**/*", ["guide/a%20b.txt"]),
        ("*/*", ["guide/a%20b.txt"]),
        ("*.???", ["picture.png"]),
        ("guide", []),
    ],
)
async def test_a_pattern_says_what_is_listed_and_read(
    root: Path, pattern: str, paths: list[str]
) -> None:
    server = serving(root, pattern=pattern)
    assert await listed(server) == [f"docs://{path}" for path in paths]
    for path in ("guide/a%20b.txt", "picture.png", "readme.md"):
        answer = await read(server, HANDSHAKE, f"docs://{path}")
        assert ("result" in answer) == (path in paths)


async def test_a_pattern_takes_no_long_time(tmp_path: Path) -> None:
    server = serving(tmp_path, pattern="/".join(["**", "a"] * 20))
    assert "error" in await read(server, HANDSHAKE, f"docs://{'a/' * 2000}b")


@every_revision
async def test_a_file_that_is_too_large_is_refused_with_its_size(root: Path, revision: str) -> None:
    answer = await read(serving(root, max_bytes=8), revision, "docs://readme.md")
    assert answer["error"] == {
        "code": -32603,
        "message": "the file has 9 bytes, and at most 8 are served",
        "data": {"size": 9, "limit": 8},
    }
    assert "result" in await read(serving(root, max_bytes=9), revision, "docs://readme.md")


async def test_files_are_read_while_the_loop_goes_on(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, go_on = threading.Event(), threading.Event()
    load = FileResources._load

    def slow(self: FileResources, real: Path) -> bytes:
        reading.set()
        assert go_on.wait(5)
        return load(self, real)

    monkeypatch.setattr(FileResources, "_load", slow)
    async with talking(serving(root), HANDSHAKE) as client:
        client.send(client.speaker.request(1, "resources/read", {"uri": "docs://readme.md"}))
        assert await asyncio.to_thread(reading.wait, 5)
        assert "result" in await client.ask(client.speaker.request(2, "ping"))
        go_on.set()
        assert "result" in await client.answer(1)


# --- subscribing ---


@with_handshake
@pytest.mark.parametrize(
    ("path", "can"),
    [("readme.md", True), ("gone.md", False), ("guide", False), ("../outside.txt", False)],
)
async def test_there_is_subscribing_to_files_that_there_are(
    root: Path, revision: str, path: str, can: bool
) -> None:
    answer = await asked(serving(root), revision, "resources/subscribe", uri=f"docs://{path}")
    missing = None if can else mcp_wire.profile(revision).resource_not_found_code
    assert answer.get("error", {}).get("code") == missing


# --- within the client's roots ---


@pytest.fixture
def client_roots(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the client's roots as a list of URIs that tests fill."""
    uris: list[str] = []

    async def list_roots(self: Context) -> Sequence[latest.Root]:
        return [latest.Root(uri=uri) for uri in uris]

    monkeypatch.setattr(Context, "list_roots", list_roots)
    return uris


@every_revision
async def test_only_files_within_the_clients_roots_are_read_when_asked_so(
    root: Path, revision: str, client_roots: list[str]
) -> None:
    client_roots += [(root / "guide").as_uri(), "https://example.org/", "file:///nowhere"]
    server = serving(root, within_client_roots=True)
    assert (await contents(server, revision, "docs://guide/a%20b.txt"))["text"] == "é"
    error = (await read(server, revision, "docs://readme.md"))["error"]
    assert error["code"] == mcp_wire.profile(revision).resource_not_found_code


@pytest.mark.parametrize(
    ("uri", "inside"),
    [
        ("{root}", True),
        ("{root}/", True),
        ("{root}/readme.md", True),
        ("{root}/guide/..", True),
        ("{root}/../d%6Fcs", True),
        ("{link}", True),
        ("{root}/guide", False),
        ("{root}2", False),
        ("{root}%00", False),
        ("{root}%ff", False),
        ("", False),
        ("file://elsewhere{path}", False),
        ("FILE://{path}", True),
    ],
)
async def test_a_root_is_the_folder_that_its_uri_names(
    root: Path, client_roots: list[str], uri: str, inside: bool
) -> None:
    (root.parent / "link").symlink_to(root)
    (root.parent / "docs2").mkdir()
    link = (root.parent / "link").as_uri()
    client_roots.append(uri.format(root=root.as_uri(), link=link, path=root))
    answer = await read(serving(root, within_client_roots=True), HANDSHAKE, "docs://readme.md")
    assert ("result" in answer) == inside


async def test_files_within_the_clients_roots_are_not_listed(
    root: Path, client_roots: list[str]
) -> None:
    client_roots.append(root.as_uri())
    assert await listed(serving(root, within_client_roots=True)) == []


# --- definition ---


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be served"):
        FileResources(tmp_path / "nowhere")


def test_a_file_is_no_folder(root: Path) -> None:
    with pytest.raises(UsageError, match="is no folder"):
        FileResources(root / "readme.md")


@pytest.mark.parametrize(
    ("prefix", "says"),
    [("docs", "begins with a scheme"), ("docs://a b/", "%20"), ("docs://{a}/", "write %7B")],
)
def test_a_prefix_that_is_no_uri_is_refused(root: Path, prefix: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        FileResources(root, prefix=prefix)


def test_the_same_files_twice_are_refused(root: Path) -> None:
    server = serving(root)
    with pytest.raises(UsageError, match="is there already"):
        server.add_resources(FileResources(root, prefix="docs://"))
