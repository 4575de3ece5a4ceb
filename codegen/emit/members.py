"""Fields of a struct as they stand on the wire."""

from codegen.model import ir


def members(struct: ir.Struct) -> dict[str, ir.Field]:
    """Return the fields of a struct by wire name, with the tag as a constant field."""
    tag = struct.tag
    tagged = [ir.Field(tag.wire, tag.name, ir.Choice((tag.value,)), "const")] if tag else []
    return {field.wire: field for field in [*tagged, *struct.fields]}


def required(field: ir.Field) -> bool:
    """Return True if the schema requires the field, even if decoding tolerates its absence."""
    return field.absent not in ("none", "unset")
