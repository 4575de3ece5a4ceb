"""Curves: how the cost of a call grows with tools, sessions, sizes, connections and more."""
