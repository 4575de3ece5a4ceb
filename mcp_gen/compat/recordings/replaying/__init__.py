"""Replays: play a recording again, and compare. Imported by plugin, cli."""
