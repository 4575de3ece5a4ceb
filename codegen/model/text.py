"""Rules for one-line documentation: what it may consist of, and that it says more than a name."""

import re

from codegen.errors import CodegenError
from codegen.model.names import snake

MAX_CHARACTERS = 90
"""Characters that fit between the quotes of a docstring, indented by 4, in a line of 100."""

_NO_PLAIN_TEXT = re.compile(r'[<>"\\]|\{@|[^\S ]')
_STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        a an the any all one this that these those
        and or as at by for from if in of on than to with
        is are be can has have may will
        it its their them there who whose what which when where
        """,
    )
)


def is_plain_line(text: str) -> bool:
    """Return True if a text fits into one line of documentation, and is plain."""
    return len(text) <= MAX_CHARACTERS and text.isprintable() and not _NO_PLAIN_TEXT.search(text)


def check_line(where: str, name: str, text: object) -> None:
    """Check the documentation of what is called `name`.

    Raises:
        CodegenError: not one line of plain text, too long, or only a repetition of the name.
    """

    def stop(what: str) -> CodegenError:
        return CodegenError(f"{where}: {what}")

    if not isinstance(text, str):
        raise stop("expected a text in quotes; quote the name too if it has a dot")
    if _NO_PLAIN_TEXT.search(text):
        raise stop("one line of plain text, with backticks for what is typed; no other markup")
    if not text.endswith(".") or text.endswith((" .", "..")):
        raise stop("end it with one full stop")
    if len(text) > MAX_CHARACTERS:
        raise stop(f"{len(text)} characters; make it {MAX_CHARACTERS} at most")
    if _words(text) - _STOP_WORDS <= _words(name):
        raise stop("it only repeats the name; say what the name does not")


def _words(text: str) -> set[str]:
    """Return the words of a text or name, in lower case and singular."""
    parts = re.findall(r"-?\w+", text)
    return {word.removesuffix("s") for part in parts for word in snake(part).split("_") if word}
