"""Text in one line, whatever it holds."""


def printable(text: str) -> str:
    """Return the text in one line: what is not printable is escaped."""
    return "".join(
        character if character.isprintable() else ascii(character)[1:-1] for character in text
    )
