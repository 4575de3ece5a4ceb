"""Client of the zoo with answers and capabilities of its own."""

from __future__ import annotations

from typing import Any, ClassVar

from mcp_gen.compat.json_values import Json
from mcp_gen.compat.method_names import wire_names
from mcp_gen.compat.reference.client import Answers
from mcp_gen.compat.reference.client_script import ClientScript

__all__ = ["AnsweringClient"]


class AnsweringClient(ClientScript):
    """Script with other answers and capabilities."""

    answering: ClassVar[type[Answers]] = Answers
    """Answers the questions."""
    declares: ClassVar[Json] = {}
    """Capabilities in the place of those of the reference client, by name."""
    undeclared: ClassVar[str] = ""
    """A capability that is left out."""

    def __init__(self, *made: Any) -> None:
        super().__init__(*made)
        self.answers = self.answering()
        declared = {**self.capabilities, **self.declares}
        self.capabilities = {key: one for key, one in declared.items() if key != self.undeclared}

    def is_malformed(self, asked: Json) -> bool:
        """Return True also for a question to the user in a way that is not declared."""
        return not self.is_declared(asked) or super().is_malformed(asked)

    def is_declared(self, asked: Json) -> bool:
        """Return False for a question to the user in a way that is not declared."""
        ways: Json = self.capabilities.get("elicitation") or {"form": {}}
        return not self.is_about(asked, "elicit") or (
            asked.get("params", {}).get("mode", "form") in ways
        )

    def is_about(self, asked: Json, name: str) -> bool:
        """Return True for a question with a method, by its Python name."""
        return asked.get("method") in wire_names(name)
