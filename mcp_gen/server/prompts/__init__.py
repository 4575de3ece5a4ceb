"""Prompts and completion.

Imported by: api, dispatch, mounting.
"""
