"""Parts of `login`, `logout` and `whoami`: options, settings, the state of credentials.

Imported by: cli/commands.
"""
