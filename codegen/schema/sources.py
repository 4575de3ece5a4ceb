"""Reads `schema/sources.toml`: address of each published schema, sha256 of it and its structure."""

from __future__ import annotations

import re
import tomllib

import msgspec

from codegen.errors import CodegenError


class SourceRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Source of one published schema; `commit` is empty if pinned without one."""

    path: str
    commit: str
    sha256: str
    structure_sha256: str
    """Hash of the kept schema: the structure of the published one."""


class Sources(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Contents of `sources.toml`; `url` is a pattern over `repository`, `commit` and `path`."""

    repository: str
    url: str
    revisions: dict[str, SourceRow] = {}

    def url_of(self, source: SourceRow) -> str:
        """Return the address of the published file at its commit.

        Raises:
            CodegenError: the row has no commit.
        """
        if not source.commit:
            raise CodegenError("no commit to fetch from; give --from FILE, or --pin --commit SHA")
        return self.url.format(repository=self.repository, commit=source.commit, path=source.path)


def parse_sources(text: str) -> Sources:
    """Parse a `sources.toml`.

    Raises:
        CodegenError: not TOML, or a key is missing, unknown or of the wrong type.
    """
    try:
        return msgspec.convert(tomllib.loads(text), Sources)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise CodegenError(f"schema/sources.toml: {error}; put it right by hand") from error


def pin(text: str, revision: str, source: SourceRow) -> str:
    """Return the `sources.toml` in `text` with this row set; other rows and comments stay.

    Raises:
        CodegenError: the row is there, but not laid out as this function writes it.
    """
    before = parse_sources(text)
    edited = _with_row(text, f'[revisions."{revision}"]\n', msgspec.structs.asdict(source))
    # Edited as text, because tomllib only reads: so look whether the text now says what was meant.
    if parse_sources(edited).revisions != {**before.revisions, revision: source}:
        raise CodegenError("schema/sources.toml: the row has an unusual layout; edit it by hand")
    return edited


def _with_row(text: str, header: str, row: dict[str, str]) -> str:
    before, found, after = text.partition(header)
    if not found:
        lines = "".join(f'{key} = "{value}"\n' for key, value in row.items())
        return f"{text.rstrip()}\n\n{header}{lines}"
    body, *others = re.split(r"^(?=\[)", after, flags=re.MULTILINE)
    for key, value in row.items():
        body = re.sub(rf'^{key} = "[^"]*"', f'{key} = "{value}"', body, flags=re.MULTILINE)
    return "".join([before, header, body, *others])
