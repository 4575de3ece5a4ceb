"""Prints results for people: text as it is, other content described or saved to files."""

from __future__ import annotations

import json
import mimetypes
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from mcp_gen.cli.console.progress import strip_control
from mcp_gen.client.tools.result_content import media_of
from mcp_gen.core.errors import UsageError
from mcp_wire import encode

if TYPE_CHECKING:
    from mcp_gen.client.tools.result_content import Media

__all__ = ["plain", "save_media", "show"]

_ENDINGS = {"audio/wav": ".wav", "audio/ogg": ".ogg", "image/webp": ".webp"}
"""File extensions that `mimetypes` does not know on every platform."""


def plain(value: Any) -> Any:
    """Return a wire value as plain JSON data."""
    return json.loads(encode(value))


def show(result: Any, folder: Path | None = None) -> None:
    """Print the content of a result; write what is not text to a folder, if one is given."""
    for message in getattr(result, "messages", None) or (result,):
        role: str | None = getattr(message, "role", None)
        held: Any = getattr(message, "content", None)
        if held is None:
            held = getattr(message, "contents", None) or []
        for block in held if held.__class__ is list else [held]:
            for line in _lines(block, folder):
                _print(f"{role}: {line}" if role else line)


def _lines(block: Any, folder: Path | None) -> Iterator[str]:
    part: Any = getattr(block, "resource", block)
    text: str | None = getattr(part, "text", None)
    if text is not None:
        yield text
        return
    uri: str | None = getattr(part, "uri", None)
    if getattr(part, "type", None) == "resource_link":
        yield f"[link: {uri}; `mcp-gen read SERVER {uri}` reads it]"
        return
    media = _media(part)
    if media is None:
        yield f"[{getattr(part, 'type', None) or 'something'} that is not known here]"
        return
    what = media.mime_type or "data"
    size = f"{len(media.data):,} bytes"
    if folder is None:
        yield f"[{what}, {size}; --save DIR writes it to a file]"
    else:
        yield f"[{what}, {size}: {save_media(media, folder)}]"


def _media(part: Any) -> Media | None:
    alone: Any = SimpleNamespace(contents=[part])
    found = media_of(alone)
    return found[0] if found else None


def save_media(media: Media, folder: Path) -> Path:
    """Write media to a new file in a folder, and return its path.

    The name is derived from the URI. An existing file is never overwritten: the name gets a number.

    Raises:
        UsageError: the folder cannot be written to.
    """
    kind = (media.mime_type or "").partition(";")[0].strip()
    ending = _ENDINGS.get(kind) or mimetypes.guess_extension(kind) or ".bin"
    # The server chooses the URI: keep the name, never its folders (path traversal).
    last = unquote(urlsplit(media.uri or "").path.rpartition("/")[2])
    name = re.sub(r"[^A-Za-z0-9._-]", "_", last).lstrip(".")[:100]
    stem, dot, given = name.rpartition(".")
    stem, ending = (stem, f".{given}") if dot and stem else (name or "content", ending)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(1, 10_000):
            path = folder / (f"{stem}{ending}" if number == 1 else f"{stem}-{number}{ending}")
            try:
                with path.open("xb") as file:
                    file.write(media.data)
            except FileExistsError:
                continue
            return path
    except OSError as error:
        raise UsageError(f"--save {folder}: {error.strerror or error}") from None
    raise UsageError(f"--save {folder}: there are too many files called {stem}")


def _print(text: str) -> None:
    print(strip_control(text) if sys.stdout.isatty() else text)
