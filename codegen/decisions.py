"""Open questions of a new revision: decisions that its changes require of the runtime."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from codegen.model import ir
from codegen.model.methods import SENDERS
from codegen.model.names import constant
from codegen.model.overlay import Overlay


@dataclass(frozen=True)
class Told:
    """A row of the change table, with its effect."""

    kind: str
    path: str
    before: str
    after: str
    detail: str
    effect: str

    def __str__(self) -> str:
        if len(self.before) + len(self.after) > 60 and self.detail:
            return f"{self.path}: {self.detail}"
        shapes = " -> ".join(shape for shape in (self.before, self.after) if shape)
        return f"{self.path}: {shapes}" if shapes != "object" else self.path


_QUESTIONS: dict[str, str] = {
    "method removed": "`{path}` is gone: what does the runtime do instead?",
    "method changed": "`{path}` was a {before} and is a {after}: who answers it, who waits?",
    "sender removed": "`{path}` was sent {before}, now {after}: who still sends it?",
    "sender changed": "`{path}` was sent {before}, now {after}: where is it sent and answered?",
    "sender added": "`{path}` was sent {before}, now {after}: who answers it on the new side?",
    "result added": "`{path}` may be answered with {after}: what does the caller do with it?",
    "result removed": "`{path}` is no longer answered with {before}: who still sends that?",
    "required field added": "{path} ({after}) must be there: who fills it, and what stands there "
    "for a value of an older revision?",
    "made required": "{path} ({after}) must be there now: what if a value of an older revision "
    "leaves it out?",
    "value added": "{path} may be {after}: what do older revisions get instead?",
}


def decisions(
    newest: ir.Revision,
    draft: ir.Revision,
    overlay: Overlay,
    told: list[Told],
    runtime: Path | None,
) -> list[str]:
    """Return the questions that a schema raises, one line each: overlay first, then runtime.

    Args:
        newest: The revision before it.
        draft: The revision with the questions.
        overlay: The overlay.
        told: The changes between them.
        runtime: The folder of handwritten code in which names that are gone are looked for; None
            for a schema that does not succeed the newest revision: what it lacks is not gone.
    """
    questions = [
        *overlay.unmatched(),
        *_missing_rows(draft, overlay),
        *_new_methods(newest, draft),
        *(
            _QUESTIONS[one.kind].format_map(vars(one))
            for one in told
            if one.kind in _QUESTIONS and one.effect != "none"
        ),
        *_new_content(newest, draft),
    ]
    if runtime is None:
        return questions
    return [
        *overlay.unfit(),
        *_missing_roles(newest, draft, overlay),
        *questions,
        *_names_in_use(newest, draft, runtime),
    ]


def _missing_rows(draft: ir.Revision, overlay: Overlay) -> Iterator[str]:
    unions = (draft.aliases.get(union) for union in SENDERS)
    sent = {name for union in unions if union for name in ir.arm_names(union.type)}
    for method in draft.methods:
        if method.message not in sent:
            yield f"`{method.wire}`: no union says who sends it, so both sides may; add it to one"
        row = overlay.one("capability", draft.name, "method", method.wire)
        if method.kind == "request" and row is None:
            yield (
                f"`{method.wire}`: no capability row; add [[capability]] to the overlay, "
                'path = "" if nothing must be declared'
            )
        elif row and row["path"] != method.capability:
            yield f"`{method.wire}`: the schema has no capability `{row['path']}`; which is it now?"


def _missing_roles(newest: ir.Revision, draft: ir.Revision, overlay: Overlay) -> Iterator[str]:
    had, has = ({method.wire for method in one.methods} for one in (newest, draft))
    for row in overlay.rows("role", draft.name):
        if row["method"] in had - has:
            yield f"role `{row['name']}`: its method `{row['method']}` is gone; which has it now?"


def _new_methods(newest: ir.Revision, draft: ir.Revision) -> Iterator[str]:
    known = {method.wire for method in newest.methods}
    for method in draft.methods:
        if method.wire not in known:
            yield (
                f"`{method.wire}` is a new {method.kind} ({method.direction}) without a [[role]]: "
                "what does the runtime do with it?"
            )


def _new_content(newest: ir.Revision, draft: ir.Revision) -> Iterator[str]:
    for union in draft.unions:
        there = newest.aliases.get(union.name)
        if not there or union.strategy not in ("tag", "pick") or union.name in SENDERS:
            continue
        for arm in ir.arm_names(union.type):
            if arm not in ir.arm_names(there.type):
                what = "kind of content" if union.keeps_unknown else "arm"
                yield f"{union.name} has a new {what}, {arm}: what do older revisions get instead?"


def _names_in_use(newest: ir.Revision, draft: ir.Revision, runtime: Path) -> Iterator[str]:
    """Yield the removed names that handwritten code still uses, with the places."""
    types = {*newest.structs, *newest.aliases} - {*draft.structs, *draft.aliases}
    methods = {m.wire for m in newest.methods} - {m.wire for m in draft.methods}
    gone = types | methods | set(map(constant, methods))
    uses: dict[str, list[str]] = {}
    for path in sorted(runtime.rglob("*.py")):
        text = path.read_text("utf-8")
        if not gone & _all_spelled(text):
            continue
        for node in ast.walk(ast.parse(text)):
            for name in gone & set(_spelled(node)):
                line = getattr(node, "lineno", 0)
                place = f"{runtime.name}/{path.relative_to(runtime).as_posix()}:{line}"
                uses.setdefault(name, []).append(place)
    for name, places in sorted(uses.items()):
        yield f"{name} is gone, and handwritten code names it: {', '.join(dict.fromkeys(places))}"


@cache
def _all_spelled(text: str) -> frozenset[str]:
    """Return every name in a module: it is the same for each draft of a process."""
    return frozenset(name for node in ast.walk(ast.parse(text)) for name in _spelled(node))


def _spelled(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
            yield name
        case ast.Constant(value=str(name)):
            yield name
        case _:
            return
