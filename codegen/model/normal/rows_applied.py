"""Applies the rows of the overlay that change definitions before types are made from them."""

import copy
import json
from typing import Any

from codegen.errors import Stop, Stopped
from codegen.model.normal.vocabulary import ANYTHING, AT, REF
from codegen.model.overlay import Overlay
from codegen.schema.json_values import Object
from codegen.schema.load import Source


def apply_patches(source: Source, given: Object, overlay: Overlay) -> None:
    """Apply the [[patch]] rows to definitions as they were published.

    A row that does not fit is added to `source.stops`.
    """
    for row in overlay.rows("patch", source.revision):
        with source.stops.collected():
            *parents, last = row["pointer"].strip("/").split("/")
            target: Any = given
            try:
                for step in parents:
                    target = target[_key(target, step)]
                found = target[_key(target, last)]
            except (LookupError, TypeError, ValueError):
                if row.passes_over(source.revision):
                    continue
                raise _stop(
                    source, row["pointer"], f"{row} points at nothing here", "correct or remove it"
                ) from None
            if found != row["old"]:
                if row.passes_over(source.revision):
                    continue
                raise _stop(
                    source,
                    row["pointer"],
                    f"{row} expects the old value {json.dumps(row['old'])}, "
                    f"found {json.dumps(found)}",
                    "check whether the patch is still wanted",
                )
            target[_key(target, last)] = row["new"]
            row.use("the row")


def apply_aliases(source: Source, given: Object, overlay: Overlay) -> None:
    """Apply the [[alias]] rows: a copied definition becomes a reference."""
    for row in overlay.rows("alias", source.revision):
        name, target = row["name"], row["target"]
        if name not in given:
            continue
        # A draft may have made it a type of its own, which a row for others must not undo.
        copied = given[name] == given.get(target)
        if not copied and row.passes_over(source.revision):
            continue
        row.use("the row")
        given[name] = {"$ref": REF + target}


def fix_constants(revision: str, name: str, schema: Object, overlay: Overlay) -> None:
    """Apply the [[const]] rows to a folded definition."""
    for row in overlay.rows("const", revision):
        only, but = row.values.get("only"), row.values.get("but", ())
        if (only is not None and name not in only) or name in but:
            continue
        known = schema.get("properties", {}).get(row["property"])
        # What says itself which value it has is an extension's, and has its own.
        if known is not None and "const" not in known:
            place = {AT: known[AT]} if AT in known else {}
            schema["properties"][row["property"]] = {
                "const": row["value"],
                "type": "string",
                **place,
            }
            row.use("the row")


def inject(revision: str, name: str, schema: Object, overlay: Overlay) -> None:
    """Apply the [[inject]] rows to the params of a folded message."""
    params = schema.get("properties", {}).get("params", {})
    if params.get("type") != "object" or "method" not in schema["properties"]:
        return
    for row in overlay.rows("inject", revision):
        if row["property"] not in params.get("properties", {}) and name.endswith(
            tuple(row["into"])
        ):
            params.setdefault("properties", {})[row["property"]] = copy.deepcopy(ANYTHING)
            row.use("the row")


def _key(container: Any, step: str) -> Any:
    if isinstance(container, list):
        return int(step)
    return step if step in container else step.replace("~1", "/").replace("~0", "~")


def _stop(source: Source, pointer: str, construct: str, advice: str) -> Stopped:
    return Stopped(Stop(source.revision, f"#/{source.container}{pointer}", construct, advice))
