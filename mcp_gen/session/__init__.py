"""Connections being driven: tasks, time limits and transports around the core."""
