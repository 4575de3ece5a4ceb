"""The schema step: makes `schema/<revision>/schema.json` from the published file."""

from __future__ import annotations

import argparse
import hashlib
import http.client
import os
import re
import sys
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import msgspec

from codegen.errors import CodegenError
from codegen.schema.sources import SourceRow, parse_sources, pin
from codegen.schema.structure import definitions, parse_schema, print_schema, without_prose

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

REPOSITORY_ROOT: Final = Path(__file__).resolve().parents[2]
FETCH_TIMEOUT_S: Final = 30

EXAMPLES: Final = """\
examples:
  python -m codegen.schema.step 2025-11-25
      fetch the pinned file, check it, write schema/2025-11-25/schema.json
  python -m codegen.schema.step 2025-11-25 --from ~/specification/schema/2025-11-25/schema.json
      the same without network
  python -m codegen.schema.step 2027-01-31 --pin --commit SHA
      take up a new revision: fetch it at that commit and write its row
"""


class Options(msgspec.Struct, frozen=True):
    """The command line."""

    revision: str
    origin: str | None
    pin: bool
    commit: str | None
    root: Path


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the step and return the exit code; an error is one line on stderr."""
    try:
        print(run(parse_options(arguments)))
    except CodegenError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def parse_options(arguments: Sequence[str] | None) -> Options:
    """Parse the command line.

    Raises:
        CodegenError: the command line makes no sense.
    """
    parser = _Parser(
        prog="python -m codegen.schema.step",
        description="Keep the structure of a revision's published schema.json, checked by sha256.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("revision", metavar="REV", type=_revision, help="such as 2025-11-25")
    parser.add_argument(
        "--from",
        dest="origin",
        metavar="FILE_OR_URL",
        help="read the published file here (default: the pinned commit, from the network)",
    )
    parser.add_argument(
        "--pin",
        action="store_true",
        help="accept the file as it is: write its sha256, and its structure's, to sources.toml",
    )
    parser.add_argument(
        "--commit",
        metavar="SHA",
        type=_commit,
        help="with --pin: the commit of the specification's repository that holds the file",
    )
    parser.add_argument(
        "--root",
        metavar="DIR",
        type=Path,
        default=REPOSITORY_ROOT,
        help="the folder that holds schema/ (default: this repository)",
    )
    given = parser.parse_args(arguments)
    if given.commit and not given.pin:
        parser.error("--commit needs --pin")
    return msgspec.convert(vars(given), Options)


def run(options: Options) -> str:
    """Run the step and return a one-line summary; on failure no file has changed.

    Raises:
        CodegenError: the file cannot be had, is not the pinned one, or has an unknown keyword.
    """
    try:
        return _run(options)
    except CodegenError as error:
        raise CodegenError(f"{options.revision}: {error}") from error
    except OSError as error:
        raise CodegenError(f"{options.revision}: {error}; see --root") from error


def _run(options: Options) -> str:
    sources_file = options.root / "schema" / "sources.toml"
    sources_text = sources_file.read_text(encoding="utf-8")
    sources = parse_sources(sources_text)
    source = _wanted(options, sources.revisions.get(options.revision))

    published = read_published(options.origin or sources.url_of(source))
    sha256 = hashlib.sha256(published).hexdigest()
    if not options.pin:
        _check_pinned("sha256", source.sha256, sha256)
    schema = parse_schema(published)
    kept = print_schema(without_prose(schema))
    structure_sha256 = hashlib.sha256(kept).hexdigest()

    files: dict[Path, bytes] = {}
    if options.pin:
        row = _pinned(options, source, sha256, structure_sha256)
        files[sources_file] = pin(sources_text, options.revision, row).encode()
    else:
        _check_pinned("structure_sha256", source.structure_sha256, structure_sha256)
    files[options.root / "schema" / options.revision / "schema.json"] = kept
    write_all(files)

    size = f"{len(definitions(schema))} definitions, {len(published)} -> {len(kept)} bytes"
    told = "pinned" if options.pin else "ok"
    if options.revision not in sources.revisions:
        told += "; next, `nox -s regen` lists all that it asks"
    return f"{options.revision}: {size}, sha256 {told}"


def read_published(origin: str) -> bytes:
    """Return the bytes of a file, or of an http or https address.

    Raises:
        CodegenError: it cannot be read.
    """
    try:
        if not origin.startswith(("http://", "https://")):
            return Path(origin).read_bytes()
        with urllib.request.urlopen(origin, timeout=FETCH_TIMEOUT_S) as response:
            content: bytes = response.read()
            return content
    # A malformed address is a ValueError, a reply cut short an HTTPException, all else an OSError.
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise CodegenError(
            f"cannot read {origin} ({error}); give a copy with --from FILE"
        ) from error


def write_all(files: Mapping[Path, bytes]) -> None:
    """Write the files; none is replaced before the new contents of all are on disk."""
    fresh = {path: path.with_name(f".{path.name}.new") for path in files}
    try:
        for path, content in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            fresh[path].write_bytes(content)
        for path, new in fresh.items():
            os.replace(new, path)
    finally:
        for new in fresh.values():
            new.unlink(missing_ok=True)


def _wanted(options: Options, known: SourceRow | None) -> SourceRow:
    """Return the row to work from: the known one at the given commit, or a new one to pin."""
    if known is None and not options.pin:
        raise CodegenError("no such row in schema/sources.toml; to add it: --pin --commit SHA")
    row = known or SourceRow(f"schema/{options.revision}/schema.json", "", "", "")
    return msgspec.structs.replace(row, commit=options.commit or row.commit)


def _check_pinned(name: str, expected: str, got: str) -> None:
    if got != expected:
        raise CodegenError(
            f"expected {name} {expected}, got {got}; if the change is wanted, add --pin"
        )


def _pinned(options: Options, source: SourceRow, sha256: str, structure_sha256: str) -> SourceRow:
    # The old commit does not hold the new bytes: better none than a wrong one.
    stale = source.sha256 != sha256 and options.commit is None
    return msgspec.structs.replace(
        source,
        sha256=sha256,
        structure_sha256=structure_sha256,
        commit="" if stale else source.commit,
    )


def _revision(text: str) -> str:
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        raise argparse.ArgumentTypeError("expected a date such as 2025-11-25")
    return text


def _commit(text: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{40}", text):
        raise argparse.ArgumentTypeError("expected 40 hex digits")
    return text


class _Parser(argparse.ArgumentParser):
    """Argument parser that reports errors in one line, with exit code 1."""

    def error(self, message: str) -> NoReturn:
        raise CodegenError(f"{message}; see --help")


if __name__ == "__main__":
    sys.exit(main())
