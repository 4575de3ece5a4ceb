"""Taps: record what passes between client and server. Imported by cli."""
