"""Draws schemas, generates from them, and compares what is decoded with a validator."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import jsonschema_rs
import msgspec

from codegen.emit.json_schema import json_schema
from codegen.errors import Stopped
from codegen.model import ir
from codegen.model.docs import NO_DOCS
from codegen.model.overlay import Overlay
from codegen.schema.json_values import Object, is_array, is_object
from codegen.schema.keywords import ANNOTATIONS, BOUNDS
from tests.codegen.hostile.grammar import instances, schemas
from tests.codegen.hostile.pipeline import Surfaces, model, surfaces

INSTANCES = 50
"""Values that each accepted schema is judged on."""
PYDANTIC_EVERY = 10
"""Of so many schemas one is also generated as pydantic models."""
_ROUNDS = 4
"""Runs of one schema: after each the rows that it asks for are pasted."""
_PASTED = ("[[name]]", "[[unchecked]]")
"""Kinds of rows that are: they deviate in nothing that is compared."""


@dataclass
class Report:
    """Outcome of a run: counts of schemas and instances, and a line for each fault."""

    outcomes: Counter[str] = field(default_factory=Counter[str])
    instances: Counter[str] = field(default_factory=Counter[str])
    faults: list[str] = field(default_factory=list[str])


def fuzz(seeds: Iterable[int], folder: Path) -> Report:
    """Generate from the schema of each seed, and judge what the types decode.

    Args:
        seeds: One schema is drawn from each.
        folder: Where the overlay of each schema is written.
    """
    report = Report()
    for number, seed in enumerate(seeds):
        random = Random(seed)
        definitions = schemas(random)
        try:
            made = _generated(definitions, folder / "overlay.toml")
            if made is None:
                report.outcomes["stopped"] += 1
                continue
            pydantic = number % PYDANTIC_EVERY == 0
            with surfaces(made, pydantic=pydantic) as there:
                values = [*instances(random, definitions, INSTANCES)]
                faults = [
                    *_judged(there, definitions, values, report.instances),
                    *_written(there, made, folder / "overlay.toml", definitions, values),
                ]
                report.faults += [f"seed {seed}: {what}" for what in faults]
            report.outcomes["generated, both surfaces" if pydantic else "generated"] += 1
        except Exception as error:
            report.faults.append(f"seed {seed}: {type(error).__name__}: {error}")
    return report


def _generated(definitions: dict[str, Any], overlay: Path) -> ir.Revision | None:
    """Return the model of a schema, with the rows that it asks for; None if it stops."""
    rows = f'[[unchecked]]\nnames = {json.dumps(ANNOTATIONS)}\nreason = "a test"\n'
    document = json.dumps({"$defs": definitions}).encode()
    for _ in range(_ROUNDS):
        overlay.write_text(rows)
        try:
            return model(document, overlay)
        except Stopped as stopped:
            placeless = [stop for stop in stopped.stops if not stop.pointer.startswith("#/")]
            if placeless:
                raise RuntimeError(f"no place: {placeless}") from stopped
            asked = {stop.row for stop in stopped.stops if stop.row.startswith(_PASTED)}
            if not asked:
                return None
            rows += "".join(for_any_revision(row) for row in sorted(asked))
    return None


def for_any_revision(row: str) -> str:
    """Return a row without its dates: each run here is a revision of its own."""
    return "\n".join(line for line in row.split("\n") if not line.startswith("revisions"))


def _judged(
    there: Surfaces, definitions: dict[str, Any], values: Iterable[Any], seen: Counter[str]
) -> Iterable[str]:
    """Yield the values on which the types and the judge do not agree."""
    schema = {"$defs": definitions, "$ref": "#/$defs/Top"}
    judge = jsonschema_rs.validator_for(schema)
    lenient = jsonschema_rs.validator_for(_without_bounds(schema))
    for value in values:
        data = json.dumps(value).encode()
        taken, back = _round_trip(there, data)
        read = _without_whole_floats(value)
        valid = lenient.is_valid(read)
        seen["valid" if valid else "invalid"] += 1
        if valid and not taken:
            yield f"msgspec refuses {value!r}"
        if taken and not valid and not lenient.is_valid(_as_read(read, back)):
            yield f"msgspec takes {value!r}"
        if taken and not lenient.is_valid(back):
            yield f"msgspec makes {back!r} of {value!r}"
        if there.models is not None:
            validated = there.validates("Top", data)
            if judge.is_valid(read) and not validated:
                yield f"pydantic refuses {value!r}"
            if validated and not taken:
                yield f"pydantic takes {value!r}"


def _written(
    there: Surfaces,
    made: ir.Revision,
    overlay: Path,
    definitions: dict[str, Any],
    values: Iterable[Any],
) -> Iterable[str]:
    """Yield the closed values on which the schema, with its bounds, and the written one differ."""
    unchecked = [row["names"] for row in Overlay(overlay).rows("unchecked", made.name)]
    words = {word for names in unchecked for word in names}
    schema = _without_bounds({"$defs": definitions, "$ref": "#/$defs/Top"}, words)
    judge = jsonschema_rs.validator_for(schema)
    written = json.loads(json_schema(made, NO_DOCS))
    ours = jsonschema_rs.validator_for({**written, "$ref": "#/$defs/Top"})
    for value in values:
        taken, closed = _round_trip(there, json.dumps(value).encode())
        if taken and judge.is_valid(closed) != ours.is_valid(closed):
            yield f"the written schema differs on {closed!r}"


def _round_trip(there: Surfaces, data: bytes) -> tuple[bool, Any]:
    try:
        return True, there.round_trip("Top", data)
    except msgspec.ValidationError:
        return False, None


def _as_read(value: Any, back: Any) -> Any:
    """Return a value as the overlay's rules of reading see it.

    A member that is null and was left out is absent, and a constant that was absent is there.
    """
    if is_object(value) and is_object(back):
        kept: Object = {
            key: _as_read(one, back[key]) if key in back else one
            for key, one in value.items()
            if key in back or one is not None
        }
        return kept | {key: one for key, one in back.items() if key not in value}
    if is_array(value) and is_array(back) and len(value) == len(back):
        return [_as_read(one, other) for one, other in zip(value, back, strict=True)]
    return value


def _without_whole_floats(value: Any) -> Any:
    """Return a value as both surfaces see it: 1.0 is no integer, whatever JSON Schema says."""
    if is_object(value):
        return {key: _without_whole_floats(one) for key, one in value.items()}
    if is_array(value):
        return [_without_whole_floats(one) for one in value]
    return value + 0.25 if isinstance(value, float) and value.is_integer() else value


def _without_bounds(schema: Any, words: Collection[str] = BOUNDS, *, names: bool = False) -> Any:
    """Return a schema without these bounds; `names`: the keys are names, not keywords."""
    if is_array(schema):
        return [_without_bounds(one, words) for one in schema]
    if not is_object(schema):
        return schema
    return {
        key: value
        if key in ("const", "enum") and not names
        else _without_bounds(value, words, names=key in ("properties", "$defs") and not names)
        for key, value in schema.items()
        if names or key not in words
    }
