"""Modules of stubs, made and loaded for tests."""

from __future__ import annotations

import ast
import itertools
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from mcp_gen.compat.stubs.offer import ServerOffer
from mcp_gen.compat.stubs.python_module import Models, module_text

__all__ = ["RecordingSession", "loaded", "strange_code"]

_numbers = itertools.count()


class RecordingSession:
    """Session that keeps what is called, and answers with nothing."""

    def __init__(self) -> None:
        self.called: list[tuple[Any, ...]] = []

    async def call_tool(self, *arguments: Any, **options: Any) -> Any:
        self.called.append(arguments)

    async def get_prompt(self, *arguments: Any) -> Any:
        self.called.append(arguments)


@contextmanager
def loaded(offer: ServerOffer, models: Models = "msgspec") -> Generator[ModuleType]:
    """Make the module of an offer, and import it."""
    made = ModuleType(f"stubs_{next(_numbers)}")
    sys.modules[made.__name__] = made
    try:
        exec(compile(module_text(offer, models), made.__name__, "exec"), made.__dict__)
        yield made
    finally:
        del sys.modules[made.__name__]


def strange_code(text: str) -> list[str]:
    """Return the lines of a module that are none of what stubs consist of."""
    return [f"{node.lineno}: {ast.unparse(node)}" for node in _strange(ast.parse(text))]


def _strange(module: ast.Module) -> Iterator[Any]:
    for node in module.body:
        match node:
            case ast.Expr(ast.Constant(str())) | ast.ImportFrom():
                pass
            case ast.Assign([ast.Name("__all__")], ast.List(names)):
                yield from (one for one in names if not isinstance(one, ast.Constant))
            case ast.AnnAssign(ast.Name(), ast.Name("TypeAlias"), ast.Subscript()):
                yield from _calls(node)
            case ast.AnnAssign(ast.Name("_JSON")) | ast.AnnAssign(ast.Name("__all__")):
                pass
            case ast.ClassDef(decorator_list=[], body=body):
                yield from (one for each in body for one in _in_class(each))
            case ast.AsyncFunctionDef(decorator_list=[]):
                yield from _in_function(node)
            case _:
                yield node


def _in_class(node: ast.stmt) -> Iterator[Any]:
    match node:
        case ast.Expr(ast.Constant(str())):
            pass
        case ast.AnnAssign(ast.Name(), annotation, value):
            yield from _calls(annotation)
            for one in ast.walk(value) if value else ():
                if isinstance(one, ast.Call) and ast.unparse(one.func) not in ("field", "Field"):
                    yield one
        case ast.Assign([ast.Name("model_config")], ast.Call(ast.Name("ConfigDict"))):
            pass
        case _:
            yield node


def _in_function(function: ast.AsyncFunctionDef) -> Iterator[Any]:
    assert function.args.args[0].arg == "session"
    allowed = {"session.call_tool", "session.get_prompt", "_JSON.dump_python"}
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and ast.unparse(node.func) not in allowed:
            yield node
        known = ast.Expr | ast.AnnAssign | ast.Assign | ast.If | ast.Return | ast.AsyncFunctionDef
        if isinstance(node, ast.stmt) and not isinstance(node, known):
            yield node
        if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant):
            yield node


def _calls(node: ast.AST) -> Iterator[ast.AST]:
    yield from (one for one in ast.walk(node) if isinstance(one, ast.Call))
