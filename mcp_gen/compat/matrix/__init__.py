"""Servers against clients: definitions, installation, runs and the report. Imported by cli."""
