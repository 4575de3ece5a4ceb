"""Mutation operators for Python: every small change of a source file, found by syntax tree."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Change", "changes", "is_valid"]

SWAPS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {ast.Add: ("+", "-"), ast.Sub: ("-", "+")}
SILENT_NAMES = frozenset({"__all__", "__slots__", "__match_args__"})
"""Module and class attributes that say nothing about behaviour."""

TYPE_MAKERS = frozenset({"NewType", "ParamSpec", "TypeAliasType", "TypeVar", "TypeVarTuple"})
HELP_MAKERS = frozenset({"Argument", "Option"})
"""Calls that describe options of the command line to its users."""

UNTOUCHED_FUNCTIONS = frozenset({"__repr__", "__rich_repr__"})
LOGGERS = frozenset({"_log", "log", "logger", "_logger"})


@dataclass(frozen=True, slots=True)
class Change:
    """One small change of a source text: bytes `start` to `end` become `new`.

    Args:
        what: Description of the change, such as "`<` becomes `<=`".
        line: Line of the first byte, from 1.
        column: Bytes before it in its line.
        indentation: How many of them indent the line.
        reach: First and last line of the code that runs if the change does; None for code that
            runs when the module is imported.
    """

    start: int
    end: int
    new: bytes
    what: str
    line: int
    column: int
    indentation: int
    reach: tuple[int, int] | None

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.new + source[self.end :]


def changes(source: bytes) -> list[Change]:
    """Return every change of a module, in the order of the text."""
    found = _Finder(source)
    found.visit(ast.parse(source))
    return sorted(set(found.found), key=lambda one: (one.start, one.end, one.what))


def is_valid(source: bytes, change: Change) -> bool:
    """Return True if the changed text compiles to something else than before."""
    try:
        changed = compile(change.applied(source), "mutant", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return changed != compile(source, "mutant", "exec", dont_inherit=True)


class _Finder(ast.NodeVisitor):
    """Collects the changes of one module.

    Not changed are annotations, docstrings, f-strings, assertions, log calls, decorators, code for
    type checkers and the options of classes: no test of behaviour is about them.
    """

    def __init__(self, source: bytes) -> None:
        self.found: list[Change] = []
        self._source = source
        self._starts = [0]
        for line in source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._reach: tuple[int, int] | None = None
        self._functions = 0

    # --- Where a change can stand ---

    def _at(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            self._at(node.lineno, node.col_offset),
            self._at(node.end_lineno, node.end_col_offset),
        )

    def _text(self, node: ast.expr | ast.stmt) -> str:
        start, end = self._span(node)
        return self._source[start:end].decode()

    def _add(self, start: int, end: int, new: str, what: str) -> None:
        line = bisect_right(self._starts, start)
        begin = self._starts[line - 1]
        text = self._source[begin:start]
        indentation = len(text) - len(text.lstrip())
        changed = Change(
            start, end, new.encode(), what, line, start - begin, indentation, self._reach
        )
        self.found.append(changed)

    def _replace(self, node: ast.expr | ast.stmt, new: str, what: str) -> None:
        self._add(*self._span(node), new, what)

    def _between(self, left: ast.expr, right: ast.expr, old: str, new: str) -> None:
        """Change the operator that stands between two operands, beside brackets and comments."""
        start, end = self._span(left)[1], self._span(right)[0]
        pattern = r"\s+".join(re.escape(word) for word in old.split())
        edge = r"(?<!\w){}(?!\w)" if old[0].isalpha() else "{}"
        for match in re.finditer(r"#[^\n]*|" + edge.format(pattern), self._gap(start, end)):
            if not match[0].startswith("#"):
                self._add(
                    start + match.start(), start + match.end(), new, f"`{old}` becomes `{new}`"
                )
                return

    def _gap(self, start: int, end: int) -> str:
        # One character per byte, so that positions stay those of bytes.
        return self._source[start:end].decode("latin-1")

    # --- Statements ---

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.stmt) and self._functions:
            before, self._reach = self._reach, _own_lines(node)
            super().visit(node)
            self._reach = before
        else:
            super().visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if node.name in UNTOUCHED_FUNCTIONS or "overload" in map(_name, node.decorator_list):
            return
        before = self._reach
        # A default is made once, and works in each call.
        self._reach = _lines(node.body)
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        self._functions += 1
        for statement in node.body:
            self.visit(statement)
        self._functions -= 1
        self._reach = before

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit(node.body)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        if "Protocol" in map(_name, node.bases):
            return
        functions, self._functions = self._functions, 0
        for statement in node.body:
            self.visit(statement)
        self._functions = functions

    def visit_Assign(self, node: ast.Assign) -> None:
        names = {_name(target) for target in node.targets}
        if not names & SILENT_NAMES and _name(node.value) not in TYPE_MAKERS:
            self.visit(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None and _name(node.annotation) != "TypeAlias":
            self.visit(node.value)

    def visit_Assert(self, node: ast.Assert) -> None:
        """Leave assertions alone: they tell type checkers what is known."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave texts for people alone."""

    def visit_Expr(self, node: ast.Expr) -> None:
        call = node.value.value if isinstance(node.value, ast.Await) else node.value
        if not isinstance(call, ast.Call) or _is_log_call(call):
            return
        self._replace(node, "pass", "the call is dropped")
        self.visit(node.value)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is None:
            return
        falsy = isinstance(node.value, ast.Constant) and not node.value.value
        empty = isinstance(node.value, ast.Tuple | ast.List | ast.Dict) and not ast.unparse(
            node.value
        ).strip("()[]{}")
        if not falsy and not empty:
            self._replace(node.value, "None", "None is returned")
        self.visit(node.value)

    def visit_Break(self, node: ast.Break) -> None:
        self._replace(node, "continue", "`break` becomes `continue`")

    def visit_Continue(self, node: ast.Continue) -> None:
        self._replace(node, "break", "`continue` becomes `break`")

    def visit_If(self, node: ast.If) -> None:
        for_checkers = _name(node.test) == "TYPE_CHECKING"
        if for_checkers or ast.unparse(node.test) == "not TYPE_CHECKING":
            for statement in node.orelse if for_checkers else node.body:
                self.visit(statement)
            return
        if ast.unparse(node.test).startswith(("__name__ ==", "sys.version_info", "sys.platform")):
            return
        self._condition(node.test)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        if not isinstance(node.test, ast.Constant):
            # A loop without an end would only cost time.
            self._replace(node.test, "False", "the condition is False")
            self.visit(node.test)
        for statement in (*node.body, *node.orelse):
            self.visit(statement)

    # --- Expressions ---

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._condition(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._replace(test, "True", "the condition is True")
        self.generic_visit(node)

    def visit_match_case(self, node: ast.match_case) -> None:
        if node.guard is not None:
            self._condition(node.guard)
            self.visit(node.guard)
        for statement in node.body:
            self.visit(statement)

    def _condition(self, test: ast.expr) -> None:
        if isinstance(test, ast.Constant):
            return
        for value in ("True", "False"):
            self._replace(test, value, f"the condition is {value}")
        negated = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
        if not negated and not (isinstance(test, ast.Compare) and len(test.ops) == 1):
            self._replace(test, f"not ({self._text(test)})", "`not` is added")

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            start, end = self._span(node)
            text = self._gap(start, end)
            after = re.match(r"not\s*", text)
            if after is not None:
                # A bracket may follow at once: `not(x)`.
                self._add(start, start + after.end(), "", "`not` is dropped")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._between(left, right, old, new)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        for left, right, operator in zip(operands, operands[1:], node.ops, strict=False):
            self._between(left, right, *SWAPS[type(operator)])
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        pair = ARITHMETIC.get(type(node.op))
        if pair is not None and not any(map(_is_text, (node.left, node.right))):
            self._between(node.left, node.right, *pair)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        pair = ARITHMETIC.get(type(node.op))
        if pair is not None and not _is_text(node.value):
            # The target is a name, an attribute or an item: an expression with a position.
            self._between(node.target, node.value, *(f"{one}=" for one in pair))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._replace(node, str(not node.value), f"`{node.value}` becomes `{not node.value}`")
        elif isinstance(node.value, int):
            self._replace(node, str(node.value + 1), f"{node.value} becomes {node.value + 1}")

    def visit_Call(self, node: ast.Call) -> None:
        if _name(node.func) in HELP_MAKERS:
            return
        if _name(node.func) in ("cast", "TypeVar"):
            for value in node.args[1:]:
                self.visit(value)
            return
        # `zip(strict=True)` checks what the code around it has made sure of.
        keywords = [one for one in node.keywords if one.arg != "strict"]
        for part in (node.func, *node.args, *keywords):
            self.visit(part)


def _name(node: ast.expr) -> str:
    """Return the last part of a name, or of what is called or subscripted."""
    while isinstance(node, ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )


def _is_log_call(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Attribute) and _name(node.func.value) in LOGGERS


def _lines(body: list[ast.stmt]) -> tuple[int, int]:
    last = body[-1]
    return body[0].lineno, last.end_lineno or last.lineno


def _own_lines(node: ast.stmt) -> tuple[int, int]:
    """Return the lines of a statement, without those of the statements inside it."""
    inner: Iterator[int] = (
        one.lineno for one in ast.walk(node) if isinstance(one, ast.stmt) and one is not node
    )
    last = node.end_lineno or node.lineno
    return node.lineno, max(node.lineno, min((*inner, last + 1)) - 1)
