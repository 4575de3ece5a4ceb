"""Checks of a release that need no build: its version and its changelog section."""
