"""Checks of peers against the revisions: closed frame check, recorded conversations, the demo."""
