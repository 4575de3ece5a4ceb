"""Scenarios of tasks: those of the server, those of the client, and the extension."""
