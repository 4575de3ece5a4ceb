"""Questions of a server, put to whoever sits at the terminal; declined where nobody does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from mcp_wire import latest

if TYPE_CHECKING:
    from mcp_gen.client.callbacks.callbacks import Action
    from mcp_gen.core.errors import UrlElicitation

__all__ = ["Asks", "Filling"]


class Asks(Protocol):
    """Somebody who can be told and asked; a `Screen` is one."""

    @property
    def can_ask(self) -> bool: ...

    def say(self, text: str, style: str = "") -> None: ...

    async def ask(self, prompt: str) -> str: ...


class Filling:
    """Fills in forms, one field after the other, and asks before a page is opened."""

    def __init__(self, user: Asks) -> None:
        self._user = user

    async def form(self, session: Any, form: latest.ElicitRequestFormParams) -> latest.ElicitResult:
        """The user's answers; `decline` without a user, `cancel` at the end of input."""
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
        """Whether the user goes to a page, which is shown and not opened."""
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
        """One answer; None for none."""
        choices = _choices(field)
        if field.description:
            self._user.say(field.description, "dim")
        for value, title in choices.items():
            self._user.say(f"  {value}" + (f"  {title}" if title != value else ""))
        default: Any = field.default
        hint = "" if default is None else f" [{_shown(default)}]"
        hint = hint or ("" if needed else " (empty for none)")
        while True:
            said = (await self._user.ask(f"{field.title or key}{hint}: ")).strip()
            if not said and (default is not None or not needed):
                return default
            try:
                return _read(field, choices, said)
            except ValueError as error:
                self._user.say(str(error), "red")


def _choices(field: Any) -> dict[str, str]:
    """What may be answered, with its title; empty where anything may."""
    source: Any = getattr(field, "items", None) or field
    options: Any = getattr(source, "one_of", None) or getattr(source, "any_of", None)
    if options:
        return {one.const: one.title for one in options}
    values: list[str] = getattr(source, "enum", None) or []
    titles: list[str] = getattr(source, "enum_names", None) or values
    return dict(zip(values, titles, strict=False))


def _read(field: Any, choices: dict[str, str], said: str) -> Any:
    """The answer as the field wants it.

    Raises:
        ValueError: it does not fit; the message says what does.
    """
    if field.type == "array":
        picked = [one.strip() for one in said.split(",") if one.strip()]
        for one in picked:
            _pick(one, choices)
        return picked
    if choices:
        return _pick(said, choices)
    if field.type == "boolean":
        return _boolean(said)
    if field.type in ("integer", "number"):
        return _number(field, said)
    if not said:
        raise ValueError("expected an answer")
    if field.min_length is not None and len(said) < field.min_length:
        raise ValueError(f"expected at least {field.min_length} characters")
    if field.max_length is not None and len(said) > field.max_length:
        raise ValueError(f"expected at most {field.max_length} characters")
    return said


def _pick(said: str, choices: dict[str, str]) -> str:
    if said in choices:
        return said
    for value, title in choices.items():
        if said.lower() in (value.lower(), title.lower()):
            return value
    raise ValueError(f"expected one of {', '.join(choices)}")


def _boolean(said: str) -> bool:
    found = {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}
    if said.lower() not in found:
        raise ValueError("expected yes or no")
    return found[said.lower()]


def _number(field: Any, said: str) -> float:
    try:
        value = int(said) if field.type == "integer" else float(said)
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
