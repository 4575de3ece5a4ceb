"""Authorizers made from settings: of config files, of the command line, for a manager.

Imported by: manager, cli.
"""
