"""Answers elicitations at the terminal; declines them where nobody can answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from mcp_wire import latest

if TYPE_CHECKING:
    from mcp_gen.client.callbacks.callbacks import Action
    from mcp_gen.core.errors import UrlElicitation

__all__ = ["ElicitationPrompts", "Terminal"]


class Terminal(Protocol):
    """Terminal that can show text and ask for a line; `Screen` is one."""

    @property
    def can_ask(self) -> bool: ...

    def say(self, text: str, style: str = "") -> None: ...

    async def ask(self, prompt: str) -> str: ...


class ElicitationPrompts:
    """Elicitation handlers: prompt for each field of a form, confirm before a URL is opened."""

    def __init__(self, user: Terminal) -> None:
        self._user = user

    async def form(self, session: Any, form: latest.ElicitRequestFormParams) -> latest.ElicitResult:
        """Answer a form elicitation: `decline` without a terminal, `cancel` at end of input."""
        if not self._user.can_ask:
            self._user.say(f"declined, for nobody is here to answer: {form.message}", "yellow")
            return latest.ElicitResult(action="decline")
        self._user.say(form.message, "bold")
        required = form.requested_schema.required or []
        try:
            if not await self._agrees("Answer?"):
                return latest.ElicitResult(action="decline")
            content: dict[str, Any] = {}
            for key, field in form.requested_schema.properties.items():
                answer = await self._field(key, field, needed=key in required)
                if answer is not None:
                    content[key] = answer
        except EOFError:
            return latest.ElicitResult(action="cancel")
        return latest.ElicitResult(action="accept", content=content)

    async def page(self, session: Any, page: UrlElicitation) -> Action:
        """Answer a URL elicitation: show the URL and ask; it is not opened."""
        self._user.say(f"{page.message}\n{page.url}", "bold")
        if not self._user.can_ask:
            return "decline"
        try:
            agrees = await self._agrees("Open this page in a browser, then answer. Done?")
        except EOFError:
            return "cancel"
        return "accept" if agrees else "decline"

    async def _agrees(self, question: str) -> bool:
        answer = await self._user.ask(f"{question} [Y/n] ")
        return answer.strip().lower() in ("", "y", "yes")

    async def _field(self, key: str, field: Any, *, needed: bool) -> Any:
        """Prompt for one field until the answer is valid; None for no answer."""
        choices = _choices(field)
        if field.description:
            self._user.say(field.description, "dim")
        for value, title in choices.items():
            self._user.say(f"  {value}" + (f"  {title}" if title != value else ""))
        default: Any = field.default
        hint = "" if default is None else f" [{_shown(default)}]"
        hint = hint or ("" if needed else " (empty for none)")
        while True:
            text = (await self._user.ask(f"{field.title or key}{hint}: ")).strip()
            if not text and (default is not None or not needed):
                return default
            try:
                return _read(field, choices, text)
            except ValueError as error:
                self._user.say(str(error), "red")


def _choices(field: Any) -> dict[str, str]:
    """Return the allowed values with their titles; empty if any value is allowed."""
    source: Any = getattr(field, "items", None) or field
    options: Any = getattr(source, "one_of", None) or getattr(source, "any_of", None)
    if options:
        return {one.const: one.title for one in options}
    values: list[str] = getattr(source, "enum", None) or []
    titles: list[str] = getattr(source, "enum_names", None) or values
    return dict(zip(values, titles, strict=False))


def _read(field: Any, choices: dict[str, str], text: str) -> Any:
    """Convert an answer to the type of its field.

    Raises:
        ValueError: the answer does not fit; the message says what does.
    """
    if field.type == "array":
        picked = [one.strip() for one in text.split(",") if one.strip()]
        for one in picked:
            _pick(one, choices)
        return picked
    if choices:
        return _pick(text, choices)
    if field.type == "boolean":
        return _boolean(text)
    if field.type in ("integer", "number"):
        return _number(field, text)
    if not text:
        raise ValueError("expected an answer")
    if field.min_length is not None and len(text) < field.min_length:
        raise ValueError(f"expected at least {field.min_length} characters")
    if field.max_length is not None and len(text) > field.max_length:
        raise ValueError(f"expected at most {field.max_length} characters")
    return text


def _pick(text: str, choices: dict[str, str]) -> str:
    if text in choices:
        return text
    for value, title in choices.items():
        if text.lower() in (value.lower(), title.lower()):
            return value
    raise ValueError(f"expected one of {', '.join(choices)}")


def _boolean(text: str) -> bool:
    found = {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}
    if text.lower() not in found:
        raise ValueError("expected yes or no")
    return found[text.lower()]


def _number(field: Any, text: str) -> float:
    try:
        value = int(text) if field.type == "integer" else float(text)
    except ValueError:
        raise ValueError(f"expected {_article(field.type)}") from None
    if field.minimum is not None and value < field.minimum:
        raise ValueError(f"expected at least {field.minimum:g}")
    if field.maximum is not None and value > field.maximum:
        raise ValueError(f"expected at most {field.maximum:g}")
    return value


def _article(kind: str) -> str:
    return "a whole number" if kind == "integer" else "a number"


def _shown(default: Any) -> str:
    if isinstance(default, bool):
        return "yes" if default else "no"
    many: list[Any] = default if default.__class__ is list else [default]
    return ", ".join(map(str, many))
