"""Commands whose errors on unexpected words say how they are written."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

__all__ = ["AdvisingCommand"]

ARGUMENT = "an argument is `--arg NAME=value`"
QUOTES = 'a command line with arguments stands in quotes, as in `"python server.py"`'
ADVICE = {
    "call": f"{ARGUMENT}; {QUOTES}",
    "prompt": f"{ARGUMENT}; {QUOTES}",
    "read": QUOTES,
    "tools": QUOTES,
    "inspect": QUOTES,
    "demo": QUOTES,
    "doctor": QUOTES,
    "schema": "a type is `--type NAME`",
    "methods": "one method is `mcp-gen types NAME`",
}
"""Advice on words and options that there are not, by command."""


class AdvisingCommand(TyperCommand):
    """Command of `mcp-gen` whose errors end in how an unexpected word is written."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words of a command line; add advice to the error on one too many."""
        try:
            return super().parse_args(ctx, args)
        except Exception as raised:
            # Typer has click inside or beside it: the class of the error is of either.
            error: Any = raised
            message = getattr(error, "message", None)
            advice = ADVICE.get(ctx.info_name)
            if isinstance(message, str) and advice is not None and _is_unexpected(message):
                error.message = f"{message.rstrip('.')}: {advice}"
            raise


def _is_unexpected(message: str) -> bool:
    return message.startswith(("Got unexpected extra", "No such option"))
