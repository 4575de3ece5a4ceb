"""Recordings of conversations: lines, redaction. Imported by taps, replaying, plugin, cli."""
