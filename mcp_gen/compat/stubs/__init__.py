"""Stubs: typed clients of servers that run, as Python modules. Imported by cli."""
