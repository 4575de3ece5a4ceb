"""`python -m codegen --verify`: the revisions it verifies, and its report."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from codegen.model.overlay import Overlay
from codegen.schema.json_values import Object, is_object
from codegen.schema.structure import parse_schema, without_prose
from codegen.verify.report import as_json, as_text
from codegen.verify.rows import Rows
from codegen.verify.run import Subject, verify


def subject(schema: Path, revision: str, overlay: Overlay) -> Subject:
    """Return a revision to verify, from its schema as it is published or kept.

    Raises:
        CodegenError: not a schema.
    """
    document = without_prose(parse_schema(schema.read_bytes()))
    made: Object = document if is_object(document) else {}
    return Subject(revision, made, Rows.of(overlay, revision))


def run(subjects: Sequence[Subject], package: Path, count: int, seed: int, *, json: bool) -> int:
    """Verify, print the report, and return the exit code: 1 if a difference is unexplained.

    Raises:
        CodegenError: a surface cannot be imported, or no instance of a definition can be made.
    """
    started = time.perf_counter()
    tallies = verify(subjects, package, count, seed, progress=_progress)
    seconds = time.perf_counter() - started
    sys.stdout.write(as_json(tallies, seed) if json else as_text(tallies, seed, seconds))
    return 1 if any(tally.unexplained for tally in tallies.values()) else 0


def _progress(done: int, parts: int) -> None:
    if sys.stderr.isatty():
        end = "\r" if done < parts else "\r\033[K"
        print(f"verifying: {done} of {parts} parts", end=end, file=sys.stderr, flush=True)
