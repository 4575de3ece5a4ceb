"""Mistakes with tools: options, names, functions."""

from __future__ import annotations

from mcp_gen.types import Icon, Tool
from tests.everyday.mistakes.mistake import Mistake, add, server

__all__ = ["MISTAKES"]

ICON = 'write `icons=[Icon(src="https://...")]`, with `from mcp_gen.types import Icon`'


class Counter:
    """Something with a method."""

    def count(self, step: int) -> int:
        return step


def without_types(a, b) -> int:  # type: ignore[no-untyped-def]  # the mistake
    return 3


def with_plain_context(ctx, a: int) -> int:  # type: ignore[no-untyped-def]  # the mistake
    return a


def with_any_arguments(*numbers: int) -> int:
    return sum(numbers)


def twice() -> None:
    one = server()
    one.add_tool(add)
    one.add_tool(add)


MISTAKES = [
    Mistake(
        "an option of a tool that is misspelled",
        lambda: server().tool(titel="Add")(add),
        "tool add: no option `titel`: did you mean `title`?",
    ),
    Mistake(
        "an option of a tool in camel case",
        lambda: server().tool(outputSchema={})(add),
        "tool add: no option `outputSchema`: did you mean `output_schema`?",
    ),
    Mistake(
        "an option of a tool that other SDKs have",
        lambda: server().tool(structured_output=True)(add),
        "tool add: no option `structured_output`: the return annotation says so: data, or `str` "
        "for text alone",
    ),
    Mistake(
        "a timeout of a tool without its unit",
        lambda: server().tool(timeout=3)(add),
        "tool add: no option `timeout`: write `timeout_s=`, in seconds",
    ),
    Mistake(
        "a tool that is registered as disabled",
        lambda: server().tool(enabled=False)(add),
        "tool add: no option `enabled`: register the tool and call `server.disable_tool(name)`",
    ),
    Mistake(
        "an option of add_tool that is misspelled",
        lambda: server().add_tool(add, nam="plus"),
        "tool add: no option `nam`: did you mean `name`?",
    ),
    Mistake(
        "an option that a described tool says itself",
        lambda: server().add_tool(
            Tool(name="raw", input_schema={"type": "object"}), add, title="Raw"
        ),
        "tool raw: no option `title`; there are: immediate_message, retry, run_in_thread, scopes, "
        "tags, task, timeout_s, ui",
    ),
    Mistake(
        "a tool with two names",
        lambda: server().tool("plus", name="add")(add),
        "tool 'plus': it has two names: leave out name='add', or the first",
    ),
    Mistake(
        "a name with a space",
        lambda: server().tool("add numbers")(add),
        "tool 'add numbers': a name has 1 to 128 of letters, digits, `_`, `-` and `.`: give it "
        "one with name=",
    ),
    Mistake(
        "two tools of one name",
        twice,
        "tool 'add' is there already; give one of them another name, or remove the first",
    ),
    Mistake(
        "an icon that is a text",
        lambda: server().tool(icons=["https://x.y/z.png"])(add),
        f"tool add: icons: 'https://x.y/z.png' is no icon: {ICON}",
    ),
    Mistake(
        "an icon that is a dict",
        lambda: server().tool(icons=[{"src": "https://x.y/z.png"}])(add),
        f"tool add: icons: {{'src': 'https://x.y/z.png'}} is no icon: {ICON}",
    ),
    Mistake(
        "one icon instead of a list",
        lambda: server().tool(icons="https://x.y/z.png")(add),
        f"tool add: icons='https://x.y/z.png': {ICON}",
    ),
    Mistake(
        "an icon that clients show nowhere",
        lambda: server().tool(icons=[Icon(src="file:///z.png")])(add),
        "tool add: an icon's src starts with `https:` or `data:`, not `file`: clients show no "
        "others",
    ),
    Mistake(
        "annotations that are a dict",
        lambda: server().tool(annotations={"readOnlyHint": True})(add),
        "tool add: annotations={'readOnlyHint': True}: write "
        "`annotations=ToolAnnotations(read_only_hint=True)`",
    ),
    Mistake(
        "meta that is no dict",
        lambda: server().tool(meta="beta")(add),
        "tool add: meta='beta': write `meta={\"example.com/key\": 1}`",
    ),
    Mistake(
        "tags that are one text",
        lambda: server().tool(tags="beta")(add),
        "tool add: tags='beta': expected several texts: write ['beta']",
    ),
    Mistake(
        "a timeout that is a text",
        lambda: server().tool(timeout_s="3")(add),
        "tool add: timeout_s='3': expected seconds, more than 0",
    ),
    Mistake(
        "a task that is True",
        lambda: server().tool(task=True)(add),
        'tool add: task=True: expected "optional", "required" or None',
    ),
    Mistake(
        "an app that is no URI",
        lambda: server().tool(ui="clock")(add),
        "tool add: ui: expected a URI such as `ui://clock/face`, without variables",
    ),
    Mistake(
        "a function that was called",
        lambda: server().add_tool(add(1, 2)),
        "add(...) was called already: offer `add`, the function itself",
    ),
    Mistake(
        "a tool that is no function",
        lambda: server().add_tool(3),
        "3 cannot be called: offer a function; a class method as `Class.method`, when there is "
        "the class",
    ),
    Mistake(
        "a tool that is a dict",
        lambda: server().add_tool({"name": "add"}),
        "a dict cannot be called: offer a function, or a description of `mcp_gen.types`, such as "
        "`Tool(...)`, with its handler",
    ),
    Mistake(
        "a described tool without a handler",
        lambda: server().add_tool(Tool(name="raw", input_schema={"type": "object"})),
        "tool raw: give it a handler: `add_tool(tool, handler)`",
    ),
    Mistake(
        "a method without its object",
        lambda: server().tool(Counter.count),
        "count: a method has its self when its object is there: offer the bound method, as in "
        "`server.add_tool(thing.count)`",
    ),
    Mistake(
        "a class as a tool",
        lambda: server().tool(Counter),
        "Counter is a class: offer a function, or a bound method",
    ),
    Mistake(
        "a parameter without a type",
        lambda: server().tool(without_types),
        "without_types: annotate a, so that callers see its type",
    ),
    Mistake(
        "a context without a type",
        lambda: server().tool(with_plain_context),
        "with_plain_context: write `ctx: Context`, to get the context of the request",
    ),
    Mistake(
        "any number of arguments",
        lambda: server().tool(with_any_arguments),
        "with_any_arguments: *numbers: name each parameter instead",
    ),
    Mistake(
        "a tool to remove that there is not",
        lambda: server().remove_tool("ad"),
        "there is no tool 'ad' to remove; there are: none",
    ),
]
"""Mistakes with tools."""
