"""One module per command.

Imported by: cli.
"""
