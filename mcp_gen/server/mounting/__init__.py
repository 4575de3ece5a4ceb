"""Servers inside of servers: what is mounted, in this process or at the end of a session."""
