"""Converts wire names to Python names, constants and module names."""

import keyword
import re
import unicodedata
from collections.abc import Collection, Iterable

_OTHER = r"[^\W\x00-\x7f]"
"""A letter or digit outside ASCII; it continues a word."""
_WORD = re.compile(
    rf"[A-Z]+(?=[A-Z](?:[a-z]|{_OTHER}))|[A-Z]?(?:[a-z0-9]|{_OTHER})+|[A-Z]+", re.UNICODE
)


def snake(name: str) -> str:
    """Convert `mimeType` to `mime_type`, `_meta` to `meta`, `io.x/logLevel` to `log_level`."""
    last = name.rsplit("/", 1)[-1]
    words: list[str] = _WORD.findall(unicodedata.normalize("NFKC", last))
    # A letter may become two: a small one, and a mark that the generated models would leave out.
    made = "_".join("".join(filter(str.isalnum, word.lower())) for word in words)
    return f"{made}_" if keyword.iskeyword(made) else made


def attribute(wire: str) -> str:
    """Convert a property's name to an attribute: as `snake`, if that is a name in Python.

    `2fa` is `field_2fa`. A name without letters and digits goes by its code points: `$` is
    `field_24`; and the empty one is `field_`.
    """
    made = snake(wire)
    if made.isidentifier():
        return made
    return f"field_{made}" if made else "field_" + "_".join(f"{ord(one):x}" for one in wire)


def attributes(wires: Iterable[str], taken: Collection[str]) -> dict[str, str]:
    """Return the attribute of each property of one object: all are different.

    Of two properties that want one name, the one that is spelled as the name keeps it, and the
    others get a number, in the order of their spelling.

    Args:
        wires: The names of the properties.
        taken: Names that the class needs for something else; an underscore tells them apart.
    """
    made: dict[str, str] = {}
    for wire in sorted(wires, key=lambda wire: (wire_name(attribute(wire)) != wire, wire)):
        wanted = attribute(wire)
        name = f"{wanted}_" if wanted in taken else wanted
        number = 1
        while name in made.values():
            number += 1
            name = f"{wanted}_{number}"
        made[wire] = name
    return made


IRREGULAR = {"meta": "_meta", "schema": "$schema"}
"""Python names whose wire name is not their camelCase, the same in every type."""


def wire_name(name: str) -> str:
    """Convert an attribute to the wire name that it has unless its field says otherwise."""
    return IRREGULAR.get(name) or camel(name)


def camel(name: str) -> str:
    """Convert `structured_content` to `structuredContent`, as the generated base does."""
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)


def pascal(path: str) -> str:
    """Convert a path such as `Box/lid/items` to `BoxLidItems`, the name of a class."""
    words = (word for step in path.split("/") for word in _WORD.findall(step))
    made = unicodedata.normalize("NFKC", "".join(word[:1].upper() + word[1:] for word in words))
    return made if made.isidentifier() and made[0].isupper() else f"Type{made}"


def constant(name: str) -> str:
    """Convert `tools/call` to `TOOLS_CALL`; without letters and digits, to its code points."""
    parts = re.split(r"[/_\-]", unicodedata.normalize("NFKC", name))
    made = "_".join("_".join(_WORD.findall(part)) for part in parts).upper()
    return made if made.strip("_") else "_".join(f"X{ord(one):X}" for one in name) or "EMPTY"


def constants(wanted: Iterable[str], taken: set[str]) -> list[str]:
    """Return names that are not taken yet, and take them; a number tells equal ones apart."""
    made: list[str] = []
    for name in wanted:
        number, unique = 1, name
        while unique in taken:
            number += 1
            unique = f"{name}_{number}"
        taken.add(unique)
        made.append(unique)
    return made


def module(revision: str) -> str:
    """Convert `2025-11-25` to `v2025_11_25`."""
    return "v" + re.sub(r"\W", "_", revision)


_GENERATED = frozenset(
    {
        "AllowInfNan",
        "Any",
        "AnyJson",
        "AttributeError",
        "BaseModel",
        "ClassVar",
        "ConfigDict",
        "Discriminator",
        "Field",
        "Literal",
        "OpenModel",
        "OpenWire",
        "PROFILE",
        "Picked",
        "PlainValidator",
        "Raw",
        "Strict",
        "StrictBool",
        "StrictInt",
        "StrictStr",
        "Tag",
        "Tagged",
        "TypeAlias",
        "TypeAliasType",
        "TypeError",
        "UNSET",
        "UnknownContent",
        "UnsetType",
        "UntaggedUnion",
        "ValueError",
        "Wire",
        "WireModel",
    }
)
"""Names that the generated modules of one revision use for something else."""


def names_class(name: str) -> bool:
    """Return True if a definition of this name can be a class of the generated modules."""
    return (
        name.isidentifier()
        and name == unicodedata.normalize("NFKC", name)
        and not keyword.iskeyword(name)
        # datamodel-code-generator would call it something else.
        and name[0].isupper()
        and "_" not in name
        and name not in _GENERATED
    )
