"""Compares what a server promised with what it promises now, change by change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

from mcp_gen.contracts.annotations import annotation_changes, shown_value
from mcp_gen.contracts.lock import LISTS, PromisedList, RevisionPromise, ServerLock
from mcp_gen.contracts.subsumption.comparing import (
    CompareLimits,
    Direction,
    SchemaComparison,
    compare_schemas,
)
from mcp_gen.contracts.subsumption.document import Document, Part, meaning
from mcp_gen.contracts.subsumption.json_values import Unreadable, is_array, is_object, key_of
from mcp_gen.contracts.wording import finding_text

__all__ = [
    "CHANGE_VERDICTS",
    "ChangeVerdict",
    "ContractChange",
    "compare_items",
    "compare_locks",
]

ChangeVerdict: TypeAlias = Literal["breaks", "cannot tell", "changed", "compatible"]
"""Meaning of a change to callers, the worst first.

`changed` breaks no call, but changes what models or people read.
"""
CHANGE_VERDICTS: tuple[ChangeVerdict, ...] = get_args(ChangeVerdict)

Json = dict[str, Any]
_Compare: TypeAlias = Callable[[Any, Any, Direction], SchemaComparison]
_NO_SCHEMA: Json = {"type": "object"}


@dataclass(frozen=True)
class ContractChange:
    """One change.

    Args:
        verdict: What it means to callers.
        subject: What has changed: `tool add`, `capability tools`.
        says: What has changed in it.
        revisions: Revisions at which it has changed, the newest first.
        example: A value that shows it as JSON: arguments that are refused now, or a result that
            was not promised. Empty for none.
    """

    verdict: ChangeVerdict
    subject: str
    says: str
    revisions: tuple[str, ...] = ()
    example: str = ""


def compare_locks(
    old: ServerLock, new: ServerLock, limits: CompareLimits | None = None
) -> tuple[ContractChange, ...]:
    """Return what has changed, the worst first; changes at several revisions are one.

    Args:
        old: What was promised.
        new: What is promised now.
        limits: Limits of the work for each pair of schemas; None: the defaults.
    """
    compare = _remembering(limits)
    found: dict[ContractChange, list[str]] = {}
    for revision, promise in old.revisions.items():
        now = new.revisions.get(revision)
        changes: Iterator[ContractChange] = (
            iter([ContractChange("breaks", "protocol", "is not spoken at this revision any more")])
            if now is None
            else _of_promises(promise, now, compare)
        )
        for change in changes:
            found.setdefault(change, []).append(revision)
    spoken = ContractChange("compatible", "protocol", "is spoken at this revision too")
    for revision in new.revisions:
        if old.revisions.get(revision) is None:
            found.setdefault(spoken, []).append(revision)
    made = [replace(one, revisions=tuple(dict.fromkeys(at))) for one, at in found.items()]
    return tuple(sorted(made, key=lambda one: CHANGE_VERDICTS.index(one.verdict)))


def compare_items(
    one: PromisedList, name: str, old: Json, new: Json, limits: CompareLimits | None = None
) -> tuple[ContractChange, ...]:
    """Return what has changed in one item, such as a tool.

    Args:
        one: The list it is in.
        name: Its key.
        old: What was promised.
        new: What is promised now.
        limits: Limits of the work for each pair of schemas; None: the defaults.
    """
    return tuple(_of_item(one, name, old, new, _remembering(limits)))


def _remembering(limits: CompareLimits | None) -> _Compare:
    """Return a comparison of schemas that makes each once: revisions have most in common."""
    known: dict[tuple[str, str, str], SchemaComparison] = {}

    def compare(old: Any, new: Any, direction: Direction) -> SchemaComparison:
        try:
            key = (key_of(old), key_of(new), direction)
        except Unreadable:
            return compare_schemas(old, new, direction, limits)
        if key not in known:
            known[key] = compare_schemas(old, new, direction, limits)
        return known[key]

    return compare


def _of_promises(
    old: RevisionPromise, new: RevisionPromise, compare: _Compare
) -> Iterator[ContractChange]:
    yield from _of_capabilities(old.capabilities, new.capabilities, "")
    if old.instructions != new.instructions:
        yield _changed("instructions", "", old.instructions, new.instructions)
    for one in LISTS:
        before, after = old.items(one), new.items(one)
        for name in sorted(before.keys() | after.keys()):
            subject = f"{one.noun} {name}"
            if name not in after:
                yield ContractChange("breaks", subject, "is gone")
            elif name not in before:
                yield ContractChange("compatible", subject, "is new")
            else:
                yield from _of_item(one, name, before[name], after[name], compare)


def _of_capabilities(old: Json, new: Json, where: str) -> Iterator[ContractChange]:
    for name in sorted(old.keys() | new.keys()):
        subject = f"capability {where}{name}"
        before, after = old.get(name), new.get(name)
        if _has(before) and not _has(after):
            yield ContractChange("breaks", subject, "is not declared any more")
        elif _has(after) and not _has(before):
            yield ContractChange("compatible", subject, "is declared now")
        elif is_object(before) and is_object(after):
            yield from _of_capabilities(before, after, f"{where}{name}.")
        elif _differ(before, after):
            says = f"was {shown_value(before)}, and is {shown_value(after)}"
            yield ContractChange("cannot tell", subject, says)


def _has(capability: Any) -> bool:
    return capability is not None and capability is not False


# --- items ---


def _of_item(
    one: PromisedList, name: str, old: Json, new: Json, compare: _Compare
) -> Iterator[ContractChange]:
    subject = f"{one.noun} {name}"
    for member in sorted(old.keys() | new.keys()):
        before, after = old.get(member), new.get(member)
        if member not in _MEMBERS and _differ(before, after):
            yield _changed(subject, member, before, after)
    for member, judge in _MEMBERS.items():
        if _differ(old.get(member), new.get(member)):
            yield from judge(subject, old.get(member), new.get(member), compare)


def _of_arguments(subject: str, old: Any, new: Any, compare: _Compare) -> Iterator[ContractChange]:
    old, new = _NO_SCHEMA if old is None else old, _NO_SCHEMA if new is None else new
    yield from _of_schemas(subject, old, new, "arguments", compare)


def _of_results(subject: str, old: Any, new: Any, compare: _Compare) -> Iterator[ContractChange]:
    if new is None:
        yield ContractChange("breaks", subject, "does not promise structured results any more")
    elif old is None:
        yield ContractChange("compatible", subject, "promises structured results now")
    else:
        yield from _of_schemas(subject, old, new, "results", compare)


def _of_schemas(
    subject: str, old: Any, new: Any, direction: Direction, compare: _Compare
) -> Iterator[ContractChange]:
    compared = compare(old, new, direction)
    for finding in compared.findings:
        example = shown_value(finding.witness[0]) if finding.witness else ""
        yield ContractChange(
            "breaks" if finding.is_certain else "cannot tell",
            subject,
            finding_text(finding, direction),
            example=example,
        )
    told = list(annotation_changes(old, new))
    for change in told:
        where = f"{direction}{change.where}"
        text = f"{where}: {_from_to(change.keyword, change.old, change.new)}"
        yield ContractChange("changed", subject, text)
    if compared.verdict != "compatible":
        return
    gone, added = _names(old) - _names(new), _names(new) - _names(old)
    for name in sorted(gone):
        then = "may be ignored" if direction == "arguments" else "may be missing"
        says = f"{direction}.{name} is not declared any more, and {then}"
        yield ContractChange("changed", subject, says)
    for name in sorted(added):
        yield ContractChange("compatible", subject, f"{direction}.{name} is new")
    if not gone and not added and not _mean_the_same(old, new):
        says = "takes more arguments" if direction == "arguments" else "promises more of results"
        yield ContractChange("compatible", subject, f"{says}, or says the same otherwise")


def _mean_the_same(old: Any, new: Any) -> bool:
    """Return True if two schemas differ in annotations alone."""
    budget = CompareLimits().budget()
    try:
        one, other = (meaning(Part(Document(held), held), budget) for held in (old, new))
    except (Unreadable, RecursionError):
        return False
    return one == other


def _names(schema: Any) -> set[str]:
    named: Any = schema.get("properties") if is_object(schema) else None
    return set(named) if is_object(named) else set()


def _of_execution(subject: str, old: Any, new: Any, compare: _Compare) -> Iterator[ContractChange]:
    before, after = _task_support(old), _task_support(new)
    if before != after:
        lost = _TASKS.get(before, frozenset()) - _TASKS.get(after, frozenset())
        verdict: ChangeVerdict = "breaks" if lost else "compatible"
        says = f"calls as tasks were {before}, and are {after}"
        yield ContractChange(verdict, subject, says)
    rest = [
        {
            name: one
            for name, one in (held if is_object(held) else {}).items()
            if name != "taskSupport"
        }
        for held in (old, new)
    ]
    if _differ(*rest):
        yield _changed(subject, "execution", *rest)


_TASKS = {
    "forbidden": frozenset({"plain"}),
    "optional": frozenset({"plain", "task"}),
    "required": frozenset({"task"}),
}
"""Ways in which a tool may be called, by its `taskSupport`."""


def _task_support(execution: Any) -> str:
    held = execution if is_object(execution) else {}
    return str(held.get("taskSupport", "forbidden"))


def _of_prompt_arguments(
    subject: str, old: Any, new: Any, compare: _Compare
) -> Iterator[ContractChange]:
    before, after = _by_name(old), _by_name(new)
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name), after.get(name)
        argument = f"argument {name}"
        if now is None:
            yield ContractChange("changed", subject, f"{argument} is not declared any more")
            continue
        if now.get("required") is True and (was is None or was.get("required") is not True):
            yield ContractChange("breaks", subject, f"{argument} is required now")
        elif was is None:
            yield ContractChange("compatible", subject, f"{argument} is new, and optional")
        elif was.get("required") is True and now.get("required") is not True:
            yield ContractChange("compatible", subject, f"{argument} is optional now")
        for member in sorted((now if was is None else was).keys() | now.keys()):
            one = (was or {}).get(member)
            if member != "required" and was is not None and _differ(one, now.get(member)):
                yield _changed(subject, f"{argument}: {member}", one, now.get(member))


def _by_name(arguments: Any) -> dict[str, Json]:
    held = arguments if is_array(arguments) else []
    return {str(one.get("name")): one for one in held if is_object(one)}


def _of_media_type(subject: str, old: Any, new: Any, compare: _Compare) -> Iterator[ContractChange]:
    verdict: ChangeVerdict = "compatible" if old is None else "breaks"
    yield ContractChange(verdict, subject, _from_to("mimeType", _text(old), _text(new)))


_MEMBERS: dict[str, Callable[[str, Any, Any, _Compare], Iterator[ContractChange]]] = {
    "inputSchema": _of_arguments,
    "outputSchema": _of_results,
    "execution": _of_execution,
    "arguments": _of_prompt_arguments,
    "mimeType": _of_media_type,
}
"""Members of items that callers depend on; all others are read by people and models."""


# --- texts ---


def _changed(subject: str, member: str, old: Any, new: Any) -> ContractChange:
    return ContractChange("changed", subject, _from_to(member, _text(old), _text(new)))


def _from_to(member: str, old: str, new: str) -> str:
    """Return what has become of a text, with the part of it that differs."""
    named = f"{member} " if member else ""
    if not old:
        return f"{named}is new: {_cut(new, 0)}"
    if not new:
        return f"{named}is gone: it was {_cut(old, 0)}"
    same = next(
        (place for place, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]),
        min(len(old), len(new)),
    )
    return f"{named}was {_cut(old, same)}, and is {_cut(new, same)}"


MAX_SHOWN = 120


def _cut(text: str, at: int) -> str:
    """Return the part of a text around a place."""
    begin = max(0, at - MAX_SHOWN // 3) if at > MAX_SHOWN // 2 else 0
    end = begin + MAX_SHOWN
    return f"{'...' if begin else ''}{text[begin:end]}{'...' if end < len(text) else ''}"


def _text(value: Any) -> str:
    if value is None:
        return ""
    try:
        return key_of(value)
    except Unreadable:
        return "..."


def _differ(one: Any, other: Any) -> bool:
    return _text(one) != _text(other) or (one is None) != (other is None)
