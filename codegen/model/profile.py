"""Documentation and order of the facts of a Profile, from `profile.toml`."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from codegen.errors import CodegenError, Stop, Stops
from codegen.model.text import check_line
from codegen.schema.json_values import Object, is_array, is_object
from codegen.schema.load import read_toml

OWN_FACTS: Mapping[str, str] = {
    "revision": "str",
    "spec": "str",
    "module": "str",
    "methods": "Mapping[str, Method[Any, Any]]",
    "errors": "ErrorCodes",
    "http_status": "Mapping[int, int]",
}
"""Facts that every revision has, whatever `facts.toml` states, with their types."""

OTHER = "Other"
"""Title of the group of facts that no group lists."""

Lines = Mapping[str, str]
"""The lines of facts or of error codes, by name."""


class ProfileDocs:
    """One line for every fact and error code of a Profile, the facts in groups."""

    def __init__(self, label: str, errors: Lines, groups: Mapping[str, Lines]) -> None:
        """Check the lines.

        Raises:
            CodegenError: a line that is no plain text, or a fact in two groups.
        """
        self._label = label
        self._errors = errors
        self._groups = groups
        homes: dict[str, str] = {}
        for title, lines in {"errors": errors, **groups}.items():
            for name, text in lines.items():
                check_line(f"{label}: [{title}] {name}", name, text)
        for title, lines in groups.items():
            for name in lines:
                if homes.setdefault(name, title) != title:
                    raise CodegenError(
                        f"{label}: {name} stands in {homes[name]} and in {title}; remove one"
                    )

    @classmethod
    def load(cls, path: Path) -> "ProfileDocs":
        """Read and check one file.

        Raises:
            CodegenError: not a table of errors and groups of facts, or as the constructor.
        """
        tables = read_toml(path)
        unknown = tables.keys() - {"errors", "group"}
        if unknown:
            raise CodegenError(
                f"{path.name}: unknown table [{min(unknown)}]; known: [errors], [[group]]"
            )
        errors = tables.get("errors", {})
        if not is_object(errors):
            raise CodegenError(f"{path.name}: `errors` must be a table")
        groups: dict[str, Lines] = {}
        for number, row in enumerate(_rows(tables.get("group", [])), 1):
            title = row.get("title")
            if not isinstance(title, str) or not is_object(row.get("facts")):
                raise CodegenError(f"{path.name}: [[group]] {number}: give `title` and `facts`")
            if title in groups:
                raise CodegenError(
                    f"{path.name}: [[group]] {number}: another group is called {title}; join them"
                )
            groups[title] = row["facts"]
        return cls(path.name, errors, groups)

    def __bool__(self) -> bool:
        return bool(self._errors or self._groups)

    def error(self, name: str) -> str:
        """Return the line of an error code, or an empty text."""
        return self._errors.get(name, "")

    def grouped(self, facts: Iterable[str]) -> list[tuple[str, list[tuple[str, str]]]]:
        """Return the title of each group with its facts and their lines; unlisted facts last."""
        listed = {name for lines in self._groups.values() for name in lines}
        others = [(name, "") for name in facts if name not in listed]
        groups = [(title, [*lines.items()]) for title, lines in self._groups.items()]
        return [*groups, *([(OTHER, others)] if others else [])]

    def undocumented(self, facts: Iterable[str], errors: Iterable[str]) -> list[str]:
        """Return the facts and error codes without a line, as `Profile.fact`."""
        listed = {name for lines in self._groups.values() for name in lines}
        return [
            *(f"Profile.{name}" for name in facts if name not in listed),
            *(f"ErrorCodes.{name}" for name in errors if name not in self._errors),
        ]

    def check_used(self, facts: Iterable[str], errors: Iterable[str]) -> None:
        """Check that every line is about a fact or an error code that some revision states.

        Raises:
            Stopped: lines about what no revision has.
        """
        stops = Stops()
        listed = [(title, {*facts}, lines) for title, lines in self._groups.items()]
        for title, stated, lines in [("errors", {*errors}, self._errors), *listed]:
            stops.add(
                Stop(self._label, f"[{title}] {name}", "no revision states it", "remove the line")
                for name in lines
                if name not in stated
            )
        stops.check()


NO_PROFILE_DOCS = ProfileDocs("profile.toml", {}, {})
"""Of a checkout without the file."""


def _rows(value: Any) -> list[Object]:
    return [row if is_object(row) else {} for row in value] if is_array(value) else [{}]
