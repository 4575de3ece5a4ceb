"""The one error of the generator: what stopped the run, and what to add."""


class CodegenError(Exception):
    """A run that cannot go on. The message names the place and what would settle it."""
