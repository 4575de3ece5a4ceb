"""CodegenError, the error type of the generator."""


class CodegenError(Exception):
    """The generator cannot continue; the message names the place and the remedy."""
