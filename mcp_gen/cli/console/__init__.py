"""Arguments, output and prompts of the command line.

Imported by: cli and cli/commands.
"""
