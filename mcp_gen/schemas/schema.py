"""A JSON Schema: checks values in this process where that is cheap, else asks for the worker."""

from __future__ import annotations

from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import msgspec

from mcp_gen.core.errors import SchemaNotChecked
from mcp_gen.schemas.messages import shorten
from mcp_gen.schemas.vetting import Vetted, vet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jsonschema_rs import Validator

__all__ = [
    "UNEXPLAINED",
    "UNREADABLE",
    "BadSchema",
    "JsonSchema",
    "Misfit",
    "NeedsWorker",
    "compile_schema",
    "explain",
    "is_schema",
]

MAX_WORK = 2_000_000
"""Most work of a check in this process: bytes of the value, times `Vetted.work`. At most 100 ms."""
MAX_EXPLAINED_WORK = 4_000
"""Most work of an error text in this process, where it can hold many errors."""

UNEXPLAINED = "the value does not fit the schema"
"""Error text where a better one takes too long to find."""
UNREADABLE = "the value is nested too deeply, or has a number that is too large"
"""Error text where the validator cannot take a value; what it takes depends on its version."""

_BROKEN_OFF = frozenset({"BacktrackLimitExceeded", "RegexEngineFailure"})


class BadSchema(ValueError):
    """The schema is not valid, or refers to another document."""


class Misfit(ValueError):
    """A value that does not fit its schema.

    Args:
        message: What is wrong.
        where: Path of the part it is about, without the root: `.a[0]`.
    """

    def __init__(self, message: str, where: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where

    def at(self, root: str = "$") -> str:
        """Return the message with the path of the part, below a root."""
        return f"{self.message} - at `{root}{self.where}`"


class NeedsWorker(Exception):
    """The check is not made in this process; see `mcp_gen.schemas.process.check_in_worker`."""


class JsonSchema:
    """A JSON Schema of dialect 2020-12, or the one that `$schema` names.

    It may refer to its own parts, but not to other documents: nothing is fetched. It is vetted at
    once, and compiled at the first check.

    Args:
        schema: The schema as plain JSON; must not be changed afterwards.

    Attributes:
        schema: The schema.
        vetted: What is known about its cost.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/basic#json-schema-usage
    """

    def __init__(self, schema: Any) -> None:
        self.schema = schema
        self.vetted: Vetted = vet(schema)
        in_process = not self.vetted.reason
        self._most_bytes = MAX_WORK // self.vetted.work if in_process else -1
        explained = MAX_WORK if self.vetted.explains else MAX_EXPLAINED_WORK
        self._most_explained = -1 if self.vetted.recursive else explained // self.vetted.work

    @property
    def slow(self) -> str:
        """Reason why every check is made by the worker; empty for most schemas."""
        return self.vetted.reason

    @property
    def because(self) -> str:
        """Continuation of an error text: why checks of this schema are slow, if it is known."""
        return f"; {self.vetted.reason}" if self.vetted.reason else ""

    @cached_property
    def _validator(self) -> Validator:
        return compile_schema(self.schema, linear=True)

    def compile(self) -> None:
        """Compile the schema now, in this process: for schemas of the author, not of a peer.

        Raises:
            BadSchema: The schema is not valid.
        """
        if self.vetted.reason:
            compile_schema(self.schema, linear=False)
        else:
            _ = self._validator

    def check(self, value: Any) -> None:
        """Check plain JSON in this process. Only the first mismatch is reported.

        Raises:
            Misfit: The value does not fit.
            NeedsWorker: The worker has to check the value, or to find the error text.
            BadSchema: The schema is not valid.
        """
        size = len(encoded(value))
        if size > self._most_bytes:
            raise NeedsWorker
        # `is_valid` first: an error text can take exponentially longer than the verdict.
        validator = self._validator
        try:
            if validator.is_valid(value):
                return
        except (ValueError, OverflowError):
            raise Misfit(UNREADABLE) from None
        if size > self._most_explained:
            raise NeedsWorker
        raise explain(validator, value)

    @cached_property
    def encoded(self) -> bytes:
        """The schema as JSON."""
        return encoded(self.schema)

    @cached_property
    def key(self) -> str:
        """Digest of the schema, under which the worker keeps it."""
        return blake2b(self.encoded, digest_size=16).hexdigest()


def encoded(value: Any) -> bytes:
    """Return plain JSON as bytes.

    Raises:
        Misfit: The value is no JSON.
    """
    try:
        return msgspec.json.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise Misfit("the value is no JSON") from None


def compile_schema(schema: Any, *, linear: bool, formats: bool | None = None) -> Validator:
    """Compile a schema.

    Args:
        schema: Plain JSON.
        linear: Match patterns in linear time; others are no valid patterns.
        formats: Check `format` too; None: as the dialect of the schema demands.

    Raises:
        BadSchema: The schema is not valid, or refers to another document.
    """
    # Loaded when the first schema is compiled.
    import jsonschema_rs

    options = jsonschema_rs.RegexOptions() if linear else None
    try:
        return jsonschema_rs.validator_for(
            schema,
            retriever=_refuse,
            mask="the value",
            ignore_unknown_formats=True,
            pattern_options=options,
            validate_formats=formats,
        )
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        message = shorten(getattr(error, "message", None) or str(error))
        if isinstance(error, jsonschema_rs.ValidationError):
            message = f"{message} - at `${shorten(_path(error.instance_path))}`"
        raise BadSchema(message) from None


def is_schema(schema: Any) -> bool:
    """Return True if plain JSON is a valid schema of its dialect, nested at most 255 deep."""
    # Loaded when the first schema is compiled.
    import jsonschema_rs

    try:
        return jsonschema_rs.meta.is_valid(schema)
    except (jsonschema_rs.ReferencingError, ValueError):
        return False


def explain(validator: Validator, value: Any) -> Misfit:
    """Return the first error of a value that is not valid.

    Raises:
        SchemaNotChecked: A pattern was not matched to its end.
    """
    # Loaded already: the schema is compiled.
    import jsonschema_rs

    try:
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:
        if type(error.kind).__name__ in _BROKEN_OFF:
            raise SchemaNotChecked("a pattern of the schema takes too many steps") from None
        return Misfit(shorten(error.message), shorten(_path(error.instance_path)))
    except ValueError:
        pass  # an error cannot hold a value that is nested deeply
    return Misfit(UNEXPLAINED)


def _path(steps: Sequence[str | int]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)


def _refuse(uri: str) -> Any:
    raise ValueError(f"{uri} is another document")
