"""Mistakes with prompts, resources and completions."""

from __future__ import annotations

from typing import Any

from mcp_gen.types import Prompt
from tests.everyday.mistakes.mistake import Mistake, greet, server

__all__ = ["MISTAKES"]


async def config() -> str:
    return "blue"


async def profile(user: str) -> str:
    return user


async def no_arguments(ctx: Any) -> str:
    return ""


def twice(kind: str) -> None:
    one = server()
    for _ in range(2):
        if kind == "prompt":
            one.add_prompt(greet)
        else:
            one.add_resource("config://app", "blue")


MISTAKES = [
    Mistake(
        "an option of a prompt that is misspelled",
        lambda: server().prompt(titel="Greet")(greet),
        "prompt greet: no option `titel`: did you mean `title`?",
    ),
    Mistake(
        "the arguments of a prompt as an option",
        lambda: server().prompt(arguments=[])(greet),
        "prompt greet: no option `arguments`: they are the parameters of the function",
    ),
    Mistake(
        "a prompt with two names",
        lambda: server().prompt("hello", name="greet")(greet),
        "prompt 'hello': it has two names: leave out name='greet', or the first",
    ),
    Mistake(
        "two prompts of one name",
        lambda: twice("prompt"),
        "prompt 'greet' is there already; give one of them another name, or remove the first",
    ),
    Mistake(
        "a handler of a prompt that is no function",
        lambda: server().add_prompt(Prompt(name="greet"), "Hello"),
        "prompt 'greet': handler: expected a function of (ctx, arguments), got 'Hello'",
    ),
    Mistake(
        "a handler of a prompt that takes other arguments",
        lambda: server().add_prompt(Prompt(name="greet"), no_arguments),
        "prompt 'greet': handler: no_arguments(ctx) is called with (ctx, arguments): write "
        "`def no_arguments(ctx, arguments)`, async or not",
    ),
    Mistake(
        "an icon of a prompt that is a text",
        lambda: server().prompt(icons=["https://x.y/z.png"])(greet),
        "prompt greet: icons: 'https://x.y/z.png' is no icon: write "
        '`icons=[Icon(src="https://...")]`, with `from mcp_gen.types import Icon`',
    ),
    Mistake(
        "a resource without its URI",
        lambda: server().resource(config),
        'a resource needs its URI: write `@server.resource("config://app")`',
    ),
    Mistake(
        "an option of a resource in camel case",
        lambda: server().resource("config://app", mimeType="text/plain")(config),
        "resource 'config://app': no option `mimeType`: did you mean `mime_type`?",
    ),
    Mistake(
        "an option of a template that is misspelled",
        lambda: server().resource("users://{user}", desciption="Users")(profile),
        "URI template 'users://{user}': no option `desciption`: did you mean `description`?",
    ),
    Mistake(
        "annotations of a resource that are a dict",
        lambda: server().add_resource("config://app", "blue", annotations={"priority": 1}),
        "resource 'config://app': annotations={'priority': 1}: write "
        "`annotations=Annotations(priority=0.5)`",
    ),
    Mistake(
        "a URI without a scheme",
        lambda: server().add_resource("config", "blue"),
        "resource 'config': a URI begins with a scheme, such as `config://config`",
    ),
    Mistake(
        "two resources of one URI",
        lambda: twice("resource"),
        "resource 'config://app' is there already; give one of them another name, or remove the "
        "first",
    ),
    Mistake(
        "a resource that is neither a function nor its content",
        lambda: server().add_resource("config://app", {"colour": "blue"}),
        "resource 'config://app': expected a function, str or bytes, got {'colour': 'blue'}",
    ),
    Mistake(
        "a template whose function has another parameter",
        lambda: server().resource("users://{id}")(profile),
        "URI template 'users://{id}': profile has no parameter `id`; add it, or take {id} out",
    ),
    Mistake(
        "a resource to disable that there is not",
        lambda: server().disable_resource("config://app"),
        "there is no resource 'config://app' to disable; there are: none",
    ),
    Mistake(
        "a completion of what there is not",
        lambda: server().completion("greet", "name")(greet),
        "completion of `name` in 'greet': there is no prompt and no template of that name; add it "
        "first",
    ),
]
"""Mistakes with prompts and resources."""
