"""Logins of the command line: settings, the terminal as the user's side, and what is stored.

Imported by: cli/console, cli/commands.
"""
